"""Each due and what became of it: its status, its promise and history, what was sent and paid (DESIGN 4.6, 5, 6).

Theory of operation. A `Calendar` of the openings known now (`attribution`) has placed each element in a cycle: by the cycle it
names, else by the loan it names and its time, else by its time alone. Within a cycle a break is a *mark*: it names the due date
of the promise it breaks, and the promises for that date and everything said before the first of them no longer count (`fate`).
What counts is then the strongest commitment.

Whether a break has an effect depends on payments and can only be undone, never caused, by another summary; that is what
keeps the fourth law (no summary lowers a rung or clears a flag).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter

from statemachine.attribution import Opening, Ref
from statemachine.conclusions import NOT_YET, Claim, Cycle, Evidence, Flag, Payment, Promise, PromiseOutcome, Status
from statemachine.elements import (
    CommitmentSaid,
    ConversationTold,
    Key,
    MessageReported,
    key_of,
)
from statemachine.fate import Fate, covers_a_promise, fate_of, is_counter, paid_towards, target_of
from statemachine.holding import ZERO, Holding, Received, end_of_day, start_of_day, when_of
from statemachine.ladder import Rung, rung_of
from statemachine.money import quantised

STANDING_OUTCOMES = ("sent", "delivered", "read")
_RANK = {"attempted": 0, "sent": 1, "failed": 2, "delivered": 3, "read": 4}


def conclude(
    ref: Ref,
    holding: Holding,
    opening: Opening | None,
    *,
    now: datetime,
    zone: str,
    currency: str,
    lost_up_to: datetime | None,
) -> Cycle:
    """All that is known of one cycle; `lost_up_to` is the newest evidence of its loan that was let go."""
    currency = opening.currency if opening else _currency_of(holding, currency)
    money = Received(holding.payments, currency)
    fate = fate_of(holding, money, opening, zone)
    force = fate.in_force
    status = _status(holding, money, fate, opening, lost_up_to)
    messages = _of_attempt(holding.messages, fate.broken_at[-1]) if fate.broken_at else holding.messages
    standing = _standing(messages)
    reminded, link = _message_flag(standing, "reminder"), _message_flag(standing, "payment_link")
    settled = status in ("paid", "closed")
    promise = _promise(force, money, opening, now, zone, settled=settled) if force else None
    counters = sorted([c for c in fate.alive if is_counter(c, force)], key=key_of, reverse=True) if force else []
    stage = _stage(
        status,
        link=link.value,
        reminded=reminded.value,
        promised=promise is not None,
        contact=holding.contact_made,
    )
    overdue_at = None
    if promise and promise.due_date and promise.outcome in ("open", "partly_kept") and not settled:
        overdue_at = end_of_day(promise.due_date, zone)
    return Cycle(
        cycle_id=ref[1],
        loan_id=ref[0],
        attempt=1 + len(fate.broken_at),
        status=status,
        opened_at=opening.key[0] if opening else None,
        due_date=opening.due_date if opening else None,
        amount_due=quantised(opening.amount_due, currency) if opening else None,
        received=quantised(money.total, currency),
        outstanding=quantised(max(ZERO, opening.amount_due - money.total), currency) if opening else None,
        currency=currency,
        stage=stage,
        promise=promise,
        counter_proposals=tuple([_promise(c, money, opening, now, zone, settled=settled) for c in counters]),
        history=_history(fate, money, opening, now, zone),
        payment_claim=_claim(holding.claims, status, holding.payments, zone) if holding.claims else None,
        reminded=reminded,
        payment_link_shared=link,
        payment_confirmed=_payment_flag(money.payments),
        contact_made=holding.contact_made,
        informed=holding.reached_inform or bool(holding.commitments),
        contact_attempts=holding.contact_attempts,
        broken_at=tuple(fate.broken_at),
        payments=tuple(money.payments if money.is_all else sorted(holding.payments, key=when_of)),
        attempted_at=_attempted(standing),
        reports=tuple([report.event_id for reports in messages for report in reports]),
        promise_overdue_at=overdue_at,
    )


def _status(
    holding: Holding, money: Received, fate: Fate, opening: Opening | None, lost_up_to: datetime | None
) -> Status:
    """`unknown` where evidence since it was opened was let go (DESIGN 3); paid when a payment settles, or what came in covers
    the due or, without one, the promise (DESIGN 5)."""
    if lost_up_to is not None and (opening is None or opening.key[0] <= lost_up_to):
        return "unknown"
    covered = money.total >= opening.amount_due if opening else covers_a_promise(holding, money, fate)
    if covered or any(payment.settles for payment in money.payments):
        return "paid"
    return "closed" if holding.closings and _is_closed(holding) else "open"


def rung(holding: Holding, opening: Opening | None, *, zone: str, currency: str) -> Rung:
    """That of the cycle as `conclude` would find it."""
    if not holding.commitments:
        return "none"
    money = Received(holding.payments, opening.currency if opening else _currency_of(holding, currency))
    force = fate_of(holding, money, opening, zone).in_force
    return rung_of(force) if force else "none"


def _promise(
    said: CommitmentSaid,
    money: Received,
    opening: Opening | None,
    now: datetime,
    zone: str,
    *,
    ended_as: PromiseOutcome | None = None,
    replaced_by: CommitmentSaid | None = None,
    settled: bool = False,
) -> Promise:
    """A commitment as it is told. One that ended, or whose cycle was paid or closed, is not overdue; one that was kept before
    it was replaced stays kept."""
    paid = paid_towards(said, money, zone)
    target = target_of(said, opening)
    kept = target is not None and paid >= target
    past = said.due_date is not None and end_of_day(said.due_date, zone) <= now
    currency = said.currency or (opening.currency if opening else None)
    return Promise(
        promise_id=f"{said.channel}:{said.conversation_id}",
        status=rung_of(said),  # type: ignore[arg-type]
        amount=None if said.amount is None else quantised(said.amount, currency or ""),
        currency=currency,
        due_date=said.due_date,
        amount_candidates=tuple(quantised(a, currency or "") for a in said.amount_candidates),
        due_date_candidates=said.due_date_candidates,
        outcome=_outcome(kept, paid, ended_as),
        overdue=past and not kept and ended_as is None and not settled,
        channel=said.channel,
        conversation_id=said.conversation_id,
        at=said.at,
        grounding=said.grounding,
        quote=said.quote,
        said=said.terms_said,
        kept_amount=quantised(paid, currency or ""),
        replaced_at=replaced_by.at if replaced_by else None,
        replaced_by=f"{replaced_by.channel}:{replaced_by.conversation_id}" if replaced_by else None,
    )


def _outcome(kept: bool, paid: Decimal, ended_as: PromiseOutcome | None) -> PromiseOutcome:
    if kept and ended_as in (None, "replaced"):
        return "kept"
    return ended_as or ("partly_kept" if paid > 0 else "open")


def _history(fate: Fate, money: Received, opening: Opening | None, now: datetime, zone: str) -> tuple[Promise, ...]:
    """Promises no longer in force, oldest first, each with what became of it."""
    ended: list[tuple[CommitmentSaid, PromiseOutcome, CommitmentSaid | None]] = [
        *((c, "broken", None) for c in fate.broken),
        *((c, "retracted", None) for c in fate.retracted),
        *((c, "replaced", by) for c, by in fate.replaced),
    ]
    ended.sort(key=lambda e: e[0].key)
    return tuple([_promise(c, money, opening, now, zone, ended_as=outcome, replaced_by=by) for c, outcome, by in ended])


def _claim(claims: Sequence[ConversationTold], status: Status, payments: Sequence[Payment], zone: str) -> Claim | None:
    """The last claim that no payment has answered; a payment made on the claimed day or later answers it."""
    if status in ("paid", "closed"):
        return None
    last = claims[-1]
    said = last.claim
    assert said is not None, "only conversations with a claim are placed as claims"
    at = said.at or last.at
    since = start_of_day(said.paid_on, zone) if said.paid_on else at
    if any(p.received > 0 and p.at >= since for p in payments):
        return None
    amount = None if said.amount is None else quantised(said.amount, said.currency or "")
    return Claim(amount, said.currency, said.paid_on, said.quote, said.said, last.channel, last.conversation_id, at)


def _is_closed(holding: Holding) -> bool:
    """Closed by the lender's word, until a reversal opens it again (DESIGN 6)."""
    closed_at = max((c.at for c in holding.closings), default=None)
    return closed_at is not None and not any(at >= closed_at for at in holding.reversed_at)


def _currency_of(holding: Holding, default: str) -> str:
    """An implicit cycle is counted in the currency of its payments, else of its promise, else of the policy."""
    if holding.payments:
        return min(holding.payments, key=_ref).currency
    for said in holding.commitments:
        if said.currency:
            return said.currency
    return default


def _of_attempt(messages: Iterable[list[MessageReported]], since: datetime) -> list[list[MessageReported]]:
    """The messages that were first told of since the attempt began."""
    return [reports for reports in messages if reports[0].at >= since]


def _standing(messages: Iterable[list[MessageReported]]) -> list[MessageReported]:
    """Of each message the report at which it stands."""
    return [reports[0] if len(reports) == 1 else max(reports, key=_rank) for reports in messages]


def _rank(report: MessageReported) -> tuple[int, Key]:
    return (_RANK[report.outcome], report.key)


def _message_flag(standing: Iterable[MessageReported], action: str) -> Flag:
    """True while any message of the attempt stands at sent, delivered or read; the newest such message is the evidence."""
    sent = [e for e in standing if e.action == action and e.outcome in STANDING_OUTCOMES]
    if not sent:
        return NOT_YET
    top = max(sent, key=key_of)
    return Flag(True, Evidence(top.event_id, top.at, top.channel, top.message_id, top.outcome))


def _attempted(standing: Iterable[MessageReported]) -> dict[str, datetime]:
    """By action, the last message of the attempt that stands at `attempted`: nobody knows whether it went out."""
    last: dict[str, datetime] = {}
    for top in standing:
        if top.outcome == "attempted":
            last[top.action] = max(top.at, last.get(top.action, top.at))
    return last


def _payment_flag(payments: Sequence[Payment]) -> Flag:
    """`payments` in the order of their times."""
    newest = next((p for p in reversed(payments) if p.received > 0), None)
    if newest is None:
        return NOT_YET
    return Flag(True, Evidence(newest.event_id, newest.at, None, None, None))


def _stage(status: Status, *, link: bool, reminded: bool, promised: bool, contact: bool) -> str:
    """The first that is true (API 5)."""
    if status == "paid":
        return "paid"
    if link:
        return "link_shared"
    if reminded:
        return "reminded"
    if promised:
        return "committed"
    return "negotiation" if contact else "empty"


_ref = attrgetter("payment_ref")
