"""Histories in few words, for what is told of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from service.narrative import Narrative, narrative, previous_step
from statemachine.conclusions import Cycle
from statemachine.elements import FactSaid
from statemachine.entries import EVENT_TYPES, Summary
from statemachine.merge import merge
from statemachine.stamps import Entry, PromiseTerms
from statemachine.state import BorrowerState, derive
from tests.statemachine.histories import POLICY, empty, hasher, stamped

T = datetime(2026, 11, 28, 13, 12, tzinfo=UTC)  # 18:42 on 28 November in India
DUE, LATER_DUE = date(2026, 12, 2), date(2026, 12, 6)


def event(kind: str, /, hours: float = 0, **own: Any) -> Entry:
    at = T + timedelta(hours=hours)
    body = {"event_id": f"{kind}@{hours}", "type": kind, "occurred_at": at, "borrower_id": "B-1", **own}
    fact = FactSaid(fact_id=f"f-{own['text']}", kind=own["kind"], text=own["text"]) if kind == "fact.stated" else None
    return stamped(EVENT_TYPES[kind].model_validate(body), at, fact=fact)


def told(
    conversation: str,
    prose: str | None = None,
    *,
    hours: float = 0,
    channel: str = "voice",
    outcome: str | None = "connected",
    promise: PromiseTerms | None = None,
    **more: Any,
) -> Entry:
    at = T + timedelta(hours=hours)
    stamps = {name: more.pop(name) for name in ("claim", "callback", "facts", "step") if name in more}
    body = Summary(
        channel=channel,  # type: ignore[arg-type]
        conversation_id=conversation,
        ended_at=at,
        outcome=outcome,
        summary=prose,
        **more,
    )
    return stamped(body, at, promise=promise, contact=outcome in ("connected", "transferred"), **stamps)


def promise(amount: int | None = 5000, due: date | None = DUE, status: Any = "proposed", **more: Any) -> PromiseTerms:
    money = None if amount is None else Decimal(amount)
    return PromiseTerms(amount=money, currency="INR", due_date=due, status=status, **more)


def confirmed(amount: int = 5000, due: date = DUE, **more: Any) -> PromiseTerms:
    return promise(amount, due, "confirmed", **more)


def opened(hours: float = -600, cycle: str = "CY-1", loan: str = "LN-1", amount: int = 12500) -> Entry:
    return event(
        "cycle.opened", hours, cycle_id=cycle, loan_id=loan, due_date="2026-12-05", amount_due=amount, currency="INR"
    )


def paid(amount: int, hours: float, ref: str = "P-1", **own: Any) -> Entry:
    return event("payment.confirmed", hours, payment_ref=ref, amount=amount, **{"currency": "INR", **own})


def inferred(kind: str, text: str, **more: Any) -> FactSaid:
    return FactSaid(fact_id=f"f-{text}", kind=kind, text=text, **more)


def state_of(history: Sequence[Entry], *, hours: float = 30) -> tuple[BorrowerState, Cycle, datetime]:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher)
    now = T + timedelta(hours=hours)
    state = derive(record, now, POLICY)
    return state, state.cycle_of(None), now


def briefing(*history: Entry, hours: float = 30) -> Narrative:
    state, cycle, now = state_of(history, hours=hours)
    return narrative(state, cycle, now=now)


def step(*history: Entry, hours: float = 30) -> str:
    state, cycle, now = state_of(history, hours=hours)
    return previous_step(state, cycle, now=now)


def unquoted(text: str) -> str:
    """What the briefing says itself, without what it quotes."""
    return re.sub("“[^”]*”", "“”", text)


STORY = (
    opened(cycle="2026-11"),
    event("fact.stated", -200, kind="preferred_language", text="prefers Hindi"),
    told("c-0", hours=-20, outcome="no_answer"),
    told("c-v", "Left a message about the dues", hours=-10, outcome="voicemail"),
    told(
        "c-1",
        "She said: ok I will pay 12,500 by the 2nd.",
        channel="whatsapp",
        direction="inbound",
        reached="negotiation",
        step="negotiate",
        promise=promise(12500, quote="ok I will pay 12,500 by the 2nd"),
    ),
    told(
        "c-2",
        "She agreed to the read-back. I have sent you the payment link. Her balance is 12,400.",
        hours=5,
        direction="outbound",
        promise=confirmed(12500),
        facts=(inferred("income_day", "salary on the 7th", quote="salary 7 ko aati hai", grounding="quoted"),),
    ),
    told("c-3", "She says she will see.", hours=6, channel="whatsapp"),
    event("reminder.sent", 7, channel="whatsapp", message_id="m-1", outcome="delivered"),
)
