"""What the memory holds of a borrower whatever the time: the part of a prompt that stays the same, byte for byte, while the
record does (DESIGN 10).

In order, what may never be cut before what may: stops and the promise, the rest of the record, facts stated and inferred,
current decisions, reports of conversations. Each is dated; none says what was open when it was read, for that is a reading, and
a reading of an earlier turn is in no prompt. Prose is screened here as everywhere it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service.context.blocks import Dropped
from service.narrative import conversations_in_words, fact_in_words, structure_in_words
from statemachine.conclusions import Cycle, KnownFact
from statemachine.state import BorrowerState
from statemachine.volatility import Volatility, Writer

CONVERSATIONS: Final = 6
FIRST: Final = ("holds_and_stops", "promise")
"""Parts of the record that stand before its others: without them an agent may do harm."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One thing that the memory holds, as a line. `at`: when it was said or happened, if it has one time."""

    writer: Writer
    source: str
    subject: str
    text: str
    at: datetime | None
    volatility: Volatility


def standing(
    state: BorrowerState, cycle: Cycle, decisions: Sequence[Standing] = ()
) -> tuple[list[Standing], list[Dropped]]:
    """What is told of this borrower in this cycle, and the facts and conversations of which something is withheld."""
    told = _record(state, cycle)
    left_out: list[Dropped] = []
    for fact in _facts(state):
        line, rule = fact_in_words(fact, state.time_zone)
        if rule is not None:
            left_out.append(Dropped(fact.source, fact.kind, None, "screened"))
            continue
        volatility = Volatility(fact.volatility)
        told.append(Standing(Writer.FACT, fact.source, fact.kind, line, fact.observed_at, volatility))
    told.extend(decisions)
    for c, line, withheld in conversations_in_words(state, cycle, listed=CONVERSATIONS):
        name = f"{c.channel}:{c.conversation_id}"
        told.append(Standing(Writer.REPORT, "conversation", name, line, c.at, Volatility.EVENT))
        if withheld:
            left_out.append(Dropped("conversation", name, None, "screened"))
    return told, left_out


def _record(state: BorrowerState, cycle: Cycle) -> list[Standing]:
    times = _times(state, cycle)
    parts = [
        Standing(Writer.RECORD, "record", name, text, times.get(name), Volatility.EVENT)
        for name, text in structure_in_words(state, cycle)
    ]
    return sorted(parts, key=lambda part: FIRST.index(part.subject) if part.subject in FIRST else len(FIRST))


def _facts(state: BorrowerState) -> list[KnownFact]:
    """The stated before the inferred, each newest first, as the state has them; never one of a live kind."""
    kept = [fact for fact in state.facts if fact.volatility != Volatility.LIVE]
    return sorted(kept, key=lambda fact: fact.source != "stated")


def _times(state: BorrowerState, cycle: Cycle) -> dict[str, datetime | None]:
    """Of each part of the record, when the newest of what it tells was said or happened."""
    flags = (cycle.reminded, cycle.payment_link_shared)
    stops = [hold.placed_at for hold in state.holds_on(cycle.loan_id)] + [stop.at for stop in state.opt_outs]
    others = [promise.at for promise in (*cycle.counter_proposals, *cycle.history)]
    payments = [payment.at for payment in (*cycle.payments, *state.unplaced_payments)]
    messages = [flag.evidence.at for flag in flags if flag.evidence is not None] + list(cycle.attempted_at.values())
    return {
        "due": cycle.opened_at,
        "holds_and_stops": max(stops, default=None),
        "promise": cycle.promise.at if cycle.promise else None,
        "other_promises": max(others, default=None),
        "what_was_claimed_and_asked": cycle.payment_claim.at if cycle.payment_claim else None,
        "payments": max(payments, default=None),
        "messages": max(messages, default=None),
        "missing_reports": max((started.at for started in state.started), default=None),
    }
