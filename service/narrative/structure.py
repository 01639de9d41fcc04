"""What the record holds in a cycle, sentence by sentence: due, stops, promise, offers, claims, payments, messages, attempts.

The structure is never cut: when people said more than fits, quotes and lists are shortened to what always fits. It must not
know facts, prose or requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from service.narrative.prose import end_of, is_live
from service.narrative.wording import WORDS
from statemachine.conclusions import Conversation, Cycle, Promise
from statemachine.screening import claims_sent
from statemachine.state import BorrowerState
from statemachine.volatility import Kind

HOLDS_TOLD: Final = 4
CACHED_CLAIMS: Final = 512
BORROWER: Final = "borrower"


@dataclass(frozen=True, slots=True)
class _Caps:
    """How much of the structure is told: characters of a quote, and how many of each list."""

    quote: int
    listed: int


FULL: Final = _Caps(quote=160, listed=3)
TIGHT: Final = _Caps(quote=40, listed=1)
"""With these the structure fits whatever the record holds; a test tries the largest there can be."""
STRUCTURE_CHARACTERS: Final = 3_000
"""Above this the structure is told with `TIGHT`, so that conversations have room."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the sentences are told from. `here`: the conversations that stand in the cycle, in the order they ended."""

    state: BorrowerState
    cycle: Cycle
    here: Sequence[Conversation]
    now: datetime | None
    """None: nothing is told that is true only when it is read."""
    zone: tzinfo
    quote: int
    listed: int
    asks: bool
    """Whether the borrower may be asked anything about money: the cycle is open and no hold is in force."""


Sentences = Iterator[str]


def structure_told(
    state: BorrowerState, cycle: Cycle, here: Sequence[Conversation], now: datetime, zone: tzinfo
) -> str:
    asks = not cycle.is_over and not state.holds_on(cycle.loan_id)
    told = ""
    for caps in (FULL, TIGHT):
        b = _Reading(state, cycle, here, now, zone, caps.quote, caps.listed, asks)
        told = "\n".join(sentence for sentences in STRUCTURE for sentence in sentences(b))
        if len(told) <= STRUCTURE_CHARACTERS:
            break
    return told


def structure_in_words(state: BorrowerState, cycle: Cycle) -> list[tuple[str, str]]:
    """What the record tells whatever the time, as the briefing does: of each part (`due`, `promise`, ...) its sentences.

    What is true only when it is read, what is open of a due or of a promise, is left out (DESIGN 10, 11).
    """
    here = [c for c in state.conversations if stands_in(c, state, cycle)]
    asks = not cycle.is_over and not state.holds_on(cycle.loan_id)
    b = _Reading(state, cycle, here, None, ZoneInfo(state.time_zone), FULL.quote, FULL.listed, asks)
    parts = ((part.__name__.removeprefix("_").removeprefix("the_"), " ".join(part(b))) for part in STRUCTURE)
    return [(name, sentences) for name, sentences in parts if sentences]


def _the_due(b: _Reading) -> Sentences:
    yield WORDS["due"](b.cycle)
    others = [loan for loan in b.state.loans if loan != b.cycle.loan_id]
    if others:
        yield WORDS["other_loans"](others[: b.listed], len(others[b.listed :]))


def _holds_and_stops(b: _Reading) -> Sentences:
    if b.state.holds:
        holds = b.state.holds_on(b.cycle.loan_id)
        for hold in holds[-HOLDS_TOLD:]:
            yield WORDS["hold"](hold, b)
        yield from further(holds[:-HOLDS_TOLD], "holds")
        if holds:
            yield WORDS["under_a_hold"]()
    for purpose in sorted({stop.purpose for stop in b.state.opt_outs}):
        yield WORDS["stops"](purpose, [stop for stop in b.state.opt_outs if stop.purpose == purpose], b)


def _the_promise(b: _Reading) -> Sentences:
    promise = b.cycle.promise
    if promise is None:
        return
    yield WORDS["promise"](promise, b)
    if promise.currency not in (None, b.cycle.currency):
        yield WORDS["foreign"](promise, b)
    if promise.outcome == "kept":
        yield WORDS["kept"](promise, b)
    elif b.cycle.payments and (paid := _paid_since(promise, b.cycle)):
        yield WORDS["paid_on_it"](promise, paid, _open_part(promise, paid, b.cycle) if b.asks and b.now else None, b)
    if promise.overdue and not b.cycle.is_over:
        yield WORDS["overdue"]()
    if b.asks and promise.amount is None:
        yield WORDS["ask_amount"](promise)
    if b.asks and promise.due_date is None:
        income = (f for f in b.state.facts if f.kind == Kind.INCOME_DAY and f.about == BORROWER and not is_live(f))
        yield WORDS["ask_date"](promise, next(income, None), b)


def _other_promises(b: _Reading) -> Sentences:
    for promise in b.cycle.counter_proposals[: b.listed]:
        yield WORDS["counter_proposal"](promise, b)
    yield from further(b.cycle.counter_proposals[b.listed :], "counter_proposals")
    if b.cycle.broken_at:
        yield WORDS["broken"](len(b.cycle.broken_at), _broken(b.cycle)[-b.listed :], b)
    if b.cycle.history:
        past = [p for p in b.cycle.history if p.outcome != "broken" and not _said_again(p, b.cycle.promise)]
        for promise in past[-b.listed :]:
            yield WORDS["earlier_promise"](promise, b)
        yield from further(past[: -b.listed], "promises")


def _what_was_claimed_and_asked(b: _Reading) -> Sentences:
    if b.cycle.payment_claim is not None:
        yield WORDS["claim"](b.cycle.payment_claim, b)
    if b.state.callback is not None:
        yield WORDS["callback"](b.state.callback, b)


def _payments(b: _Reading) -> Sentences:
    if not b.cycle.payments and not b.state.unplaced_payments:
        return
    paid, currency = b.cycle.payments, b.cycle.currency
    for sentence, payments in (
        ("received", [p for p in paid if p.currency == currency and p.received]),
        ("uncounted", [p for p in paid if p.currency != currency and p.received]),
        ("reversed", [p for p in paid if p.received < p.amount]),
        ("unplaced", [p for p in b.state.unplaced_payments if p.received]),
    ):
        if payments:
            yield WORDS[sentence](len(payments), max(payments, key=lambda p: (p.at, p.event_id)), b)


def _messages(b: _Reading) -> Sentences:
    for action, flag in (("payment_link", b.cycle.payment_link_shared), ("reminder", b.cycle.reminded)):
        if flag.evidence is not None:
            yield WORDS["message"](action, flag.evidence, b)
        elif action in b.cycle.attempted_at and not b.cycle.is_over:
            yield WORDS["unclear"](action, b.cycle.attempted_at[action], b)
    for conversation, actions in unrecorded(b.here, b.cycle):
        yield WORDS["unrecorded"](conversation, actions, b)


def _attempts(b: _Reading) -> Sentences:
    # One whose outcome is not known may yet turn out to have reached the borrower; it has a line of its own.
    attempts = [c for c in b.here if not c.contact and c.outcome is not None]
    if attempts:
        outcomes = Counter(c.outcome for c in attempts)
        yield WORDS["attempts"](len(attempts), outcomes.items(), attempts[-1], b)


def _missing_reports(b: _Reading) -> Sentences:
    for started in b.state.started[-b.listed :]:
        yield WORDS["no_report"](started, b)
    yield from further(b.state.started[: -b.listed], "unreported")
    if not b.state.conversations:
        yield WORDS["nothing_said"]()


STRUCTURE: Final[tuple[Callable[[_Reading], Sentences], ...]] = (
    _the_due,
    _holds_and_stops,
    _the_promise,
    _other_promises,
    _what_was_claimed_and_asked,
    _payments,
    _messages,
    _attempts,
    _missing_reports,
)
"""What is told, and in this order."""


def further(left_out: Sequence[object], what: str) -> Sentences:
    """How many of something are not told, where any are not."""
    if left_out:
        yield WORDS["further"](len(left_out), what)


def stands_in(c: Conversation, state: BorrowerState, cycle: Cycle) -> bool:
    return (cycle.loan_id, cycle.cycle_id) in state.calendar.place(c.loan_id, c.cycle_id, c.at)


def _said_again(past: Promise, promise: Promise | None) -> bool:
    """Replaced by the same terms, as when a call confirms what a chat proposed: one promise, not two."""
    terms = (past.amount, past.currency, past.due_date)
    return (
        past.outcome == "replaced"
        and promise is not None
        and terms == (promise.amount, promise.currency, promise.due_date)
    )


def _paid_since(promise: Promise, cycle: Cycle) -> Decimal:
    """What has come in since the promise was made, in time or not: nobody is to be asked for that again."""
    return sum((p.received for p in cycle.payments if p.currency == cycle.currency and p.at >= promise.at), Decimal(0))


def _open_part(promise: Promise, paid_since: Decimal, cycle: Cycle) -> Decimal | None:
    """What of a promise is still to come, never more than what is open of the due; `None` when nobody can say."""
    if promise.currency not in (None, cycle.currency):
        return None
    rest = None if promise.amount is None else max(Decimal(0), promise.amount - paid_since)
    return min((part for part in (rest, cycle.outstanding) if part is not None), default=None)


def _broken(cycle: Cycle) -> tuple[Promise, ...]:
    """One promise for each due date that was missed: of several for one date the last."""
    return tuple({p.due_date: p for p in cycle.history if p.outcome == "broken"}.values())


def unrecorded(here: Sequence[Conversation], cycle: Cycle) -> tuple[tuple[Conversation, tuple[str, ...]], ...]:
    """What the agent says was sent in this attempt while no event says so (AC-52), by the last conversation that says it."""
    recorded = {"reminder": cycle.reminded.value, "payment_link": cycle.payment_link_shared.value}
    missing = {a for a, known in recorded.items() if not known and a not in cycle.attempted_at}
    since = cycle.broken_at[-1] if cycle.broken_at else None
    found = []
    for c in reversed(here):
        if not missing or cycle.is_over or (since is not None and c.at < since):
            break
        if c.prose and (claimed := missing & _claims_sent(end_of(c.prose))):
            found.append((c, tuple(sorted(claimed))))
            missing -= claimed
    return tuple(reversed(found))


_claims_sent = lru_cache(maxsize=CACHED_CLAIMS)(claims_sent)
