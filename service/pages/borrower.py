"""One borrower at a glance: who, where in the journey, what was promised and by which words, what happened, what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Final

from sqlalchemy import Connection
from starlette.responses import Response

from channels.said import numbers
from service import audit, records
from service.anothers import is_anothers, wordless
from service.narrative import BY_A_PERSON, Withheld, narrative, previous_step, said_in_words
from service.pages import reading
from service.pages.drawing import Page, day, hide, mask, money
from service.pages.page import Visit, page, pages
from service.pages.queries import OfOne, listed
from service.pages.reading import Seen, Start, cycle_of
from service.policy import Policy
from service.retention.reading import QUOTED
from service.retention.reading import told as lasting
from service.withheld import ID_PREFIX
from statemachine.conclusions import (
    STAGES,
    Callback,
    Claim,
    Cycle,
    Flag,
    Hold,
    KnownFact,
    KnownIdentifier,
    OptOut,
    Payment,
    Promise,
    StartedConversation,
    WithheldText,
)
from statemachine.ladder import RUNGS
from statemachine.screening import screened
from statemachine.screening.sentences import sentences_of
from statemachine.withholding import hidden_by
from statemachine.words import folded

router = pages()

TIMELINE_ROWS: Final = 30
AUDIT_ROWS: Final = 5
PROMISED: Final = ("status", "amount", "currency", "due_date")
SHOWN_FIELDS: Final = (
    "kind", "text", "amount", "amount_due", "due_date", "outcome", "message_id", "payment_ref", "method", "reason",
    "purpose", "until", "settles", "loan_id", "cycle_id", "conversation_id",
)  # fmt: skip
"""Of an event on the time line; whose number it names is masked where numbers are shown."""
MONEY: Final = frozenset({"amount", "amount_due"})
CODES: Final = frozenset({"kind", "outcome", "purpose", "method"})
"""Those of them that are read as words."""


@dataclass(frozen=True, slots=True)
class Told:
    """A flag of the attempt, with the event behind it."""

    name: str
    flag: Flag


@dataclass(frozen=True, slots=True)
class Remembered:
    """A fact, and where it comes from in words."""

    fact: KnownFact
    said: str


@dataclass(frozen=True, slots=True)
class Turn:
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a report with the blanks after it, and why no agent is told it: a rule, `BY_A_PERSON`, or null."""

    text: str
    withheld: str | None


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A text that a person withheld; `name` is what it is asked to be shown again by."""

    told: WithheldText
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the time line, as it was posted; what it does not have is null."""

    kind: str
    at: datetime
    event_id: str
    title: str
    channel: str | None
    conversation_id: str | None
    revisions: int
    disposition: str | None
    agent: str | None
    entered_state: str | None
    prose: tuple[Said, ...]
    has_words: bool
    """Whether there is a sentence of it that could be withheld, in prose or in a quote."""
    promised: Mapping[str, Any] | None
    turns: tuple[Turn, ...]
    details: tuple[tuple[str, str], ...]
    """Of an event: its own fields by name."""


def _item(
    told: Mapping[str, Any], hidden: frozenset[str], currencies: Mapping[str, str | None], now: datetime, policy: Policy
) -> Item:
    is_told = told["kind"] == "conversation"
    type_ = "summary" if is_told else told["entry"]["type"]
    entry = lasting(told["entry"], type_, told["at"], now, policy)
    promised = entry.get("commitment") if is_told else None
    return Item(
        kind=told["kind"],
        at=told["at"],
        event_id=told["event_id"],
        title=(entry.get("outcome") or "conversation") if is_told else entry["type"],
        channel=entry.get("channel"),
        conversation_id=entry.get("conversation_id"),
        revisions=told["revisions"],
        disposition=entry.get("disposition"),
        agent=entry.get("agent"),
        entered_state=entry.get("entered_state"),
        prose=_said(entry, hidden) if is_told else (),
        has_words=is_told and bool(entry.get("summary") or any((entry.get(n) or {}).get("quote") for n in QUOTED)),
        promised=_promised(promised, currencies.get(f"{entry.get('channel')}:{entry.get('conversation_id')}"))
        if promised
        else None,
        turns=tuple(Turn(turn["speaker"], turn["text"]) for turn in entry.get("turns") or ()),
        details=() if is_told else _details(entry),
    )


def _promised(posted: Mapping[str, Any], currency: str | None) -> dict[str, Any]:
    """As it was posted; of an amount without a currency, that of the promise that became of it."""
    told = {name: posted.get(name) for name in PROMISED}
    return told | {"currency": told["currency"] or currency}


def _details(entry: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """An event's own fields that are shown; of an identifier, enough to tell two of one person apart."""
    shown = [(name, _detail(name, entry)) for name in SHOWN_FIELDS if entry.get(name) is not None]
    called = entry.get("identifier")
    return (*([(called["kind"], mask(called["value"], called["kind"]))] if called else []), *shown)


def _somebody_elses(told: Mapping[str, Any]) -> Item:
    """What came through a number that was never this borrower's: that it came, and none of what it says."""
    entry = wordless(told["entry"])
    return Item(
        kind=told["kind"],
        at=told["at"],
        event_id=told["event_id"],
        title="somebody else's: the number was not theirs",
        channel=entry.get("channel"),
        conversation_id=entry.get("conversation_id"),
        revisions=told["revisions"],
        disposition=None,
        agent=None,
        entered_state=None,
        prose=(),
        has_words=False,
        promised=None,
        turns=(),
        details=() if told["kind"] == "conversation" else (("type", entry["type"]),),
    )


def _detail(name: str, entry: Mapping[str, Any]) -> str:
    """A field of an event as it is read: money where its currency is, a day as days are written."""
    value = entry[name]
    if name in MONEY:
        return money(str(value), entry.get("currency"))
    if name == "due_date":
        return day(str(value))
    return str(value).replace("_", " ") if name in CODES else str(value)


def _said(entry: Mapping[str, Any], hidden: frozenset[str]) -> tuple[Said, ...]:
    """A report sentence by sentence, each with what withholds it now."""
    prose = entry.get("summary") or ""
    amount = (entry.get("commitment") or {}).get("amount")
    try:
        amounts = frozenset(() if amount is None else (Decimal(str(amount)),))
    except InvalidOperation:
        amounts = frozenset()
    rules = dict(screened(prose, amounts_allowed=amounts, numbers=numbers).withheld)
    said = tuple(
        Said(one.text + one.gap, BY_A_PERSON if folded(one.text) in hidden else rules.get(str(place)))
        for place, one in enumerate(sentences_of(prose))
    )
    whole = "".join(one.text for one in said)
    # A number that goes on over the end of a sentence would be masked in none of them.
    return said if hide(whole) == "".join(hide(one.text) for one in said) else (Said(whole, None),)


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of the journey, and whether it is behind."""

    name: str
    is_reached: bool
    is_here: bool


@dataclass(frozen=True)
class Borrower(Page):
    """The story of one borrower in one loan's cycle."""

    template: ClassVar[str] = "borrower.html.j2"
    borrower_id: str
    is_provisional: bool
    record_version: int
    time_zone: str
    loans: tuple[str, ...]
    cycle: Cycle
    cycles: tuple[Cycle, ...]
    journey: tuple[Step, ...]
    rungs: tuple[str, ...]
    promise: Promise | None
    counter_proposals: tuple[Promise, ...]
    history: tuple[Promise, ...]
    claim: Claim | None
    callback: Callback | None
    flags: tuple[Told, ...]
    payments: tuple[Payment, ...]
    unplaced_payments: tuple[Payment, ...]
    identifiers: tuple[KnownIdentifier, ...]
    revealed: bool
    holds: tuple[Hold, ...]
    opt_outs: tuple[OptOut, ...]
    facts: tuple[Remembered, ...]
    previous: str
    starts: tuple[Start, ...]
    withheld: tuple[Withheld, ...]
    held_back: tuple[HeldBack, ...]
    briefing: str
    missing: tuple[StartedConversation, ...]
    timeline: tuple[Item, ...]
    next_cursor: str | None
    is_first: bool
    audited: tuple[dict[str, Any], ...]


@page(router, "GET", "/ops/borrowers/{borrower_id}")
async def borrower(visit: Visit) -> Response:
    return visit.show(await _drawn(visit, await reading.seen(visit), revealed=False))


@page(router, "POST", "/ops/borrowers/{borrower_id}/reveal")
async def reveal(visit: Visit) -> Response:
    """Shows the numbers once, and keeps that somebody looked."""
    who = await reading.seen(visit)
    kinds = ", ".join(sorted({i.kind for i in who.one.state.identifiers}))
    line = audit.Line(
        visit.tenant, visit.parts.clock(), visit.person.who, "numbers_revealed", who.one.borrower_id, kinds
    )
    await visit.parts.database.write(lambda conn: audit.add(conn, line))
    return visit.show(await _drawn(visit, who, revealed=True))


async def _drawn(visit: Visit, who: Seen, *, revealed: bool) -> Borrower:
    wanted, one, now = visit.query(OfOne), who.one, visit.parts.clock()
    state, cycle = one.state, cycle_of(one, wanted.loan_id)

    def look(conn: Connection) -> records.Page:
        return records.timeline(conn, visit.tenant, one.borrower_id, TIMELINE_ROWS, wanted.cursor)

    told = await listed(visit, look)
    lines = await visit.parts.database.read(
        lambda conn: audit.page(conn, visit.tenant, one.borrower_id, AUDIT_ROWS, None)
    )
    briefing = narrative(state, cycle, now=now)
    currencies = {
        one.promise_id: one.currency
        for its in state.cycles
        for one in (*([its.promise] if its.promise else []), *its.counter_proposals, *its.history)
    }
    hidden, policy = hidden_by(state.withheld_texts), visit.parts.policies.for_tenant(visit.tenant)
    return Borrower(
        borrower_id=one.borrower_id,
        is_provisional=one.is_provisional,
        record_version=one.version,
        time_zone=state.time_zone,
        loans=state.loans,
        cycle=cycle,
        cycles=state.cycles,
        journey=_journey(cycle),
        rungs=RUNGS,
        promise=cycle.promise,
        counter_proposals=cycle.counter_proposals,
        history=cycle.history,
        claim=cycle.payment_claim,
        callback=state.callback,
        flags=tuple(Told(name, getattr(cycle, name)) for name in records.FLAGS),
        payments=cycle.payments,
        unplaced_payments=state.unplaced_payments,
        identifiers=state.identifiers,
        revealed=revealed,
        holds=state.holds,
        opt_outs=state.opt_outs,
        facts=tuple(Remembered(fact, said_in_words(fact, state)) for fact in state.facts),
        previous=previous_step(state, cycle, now=now),
        starts=await reading.starts(visit, who, cycle),
        withheld=tuple(one for one in briefing.withheld if one.rule != BY_A_PERSON),
        held_back=tuple(HeldBack(one, one.event_id.removeprefix(ID_PREFIX)) for one in state.withheld_texts),
        briefing=briefing.text,
        missing=state.started,
        timeline=tuple(
            _somebody_elses(item)
            if is_anothers(state, item["through"], item["at"], visit.parts.keyed_hash)
            else _item(item, hidden, currencies, now, policy)
            for item in told.items
        ),
        next_cursor=told.next_cursor,
        is_first=wanted.cursor is None,
        audited=tuple(lines.items),
    )


def _journey(cycle: Cycle) -> tuple[Step, ...]:
    """The stages up to where the cycle stands. A stage may be passed over: a link may go out before any reminder."""
    here = STAGES.index(cycle.stage)
    reached = {
        "empty": True,
        "negotiation": cycle.contact_made,
        "committed": cycle.promise is not None,
        "reminded": cycle.reminded.value,
        "link_shared": cycle.payment_link_shared.value,
        "paid": cycle.status == "paid",
    }
    return tuple(Step(name, reached[name], place == here) for place, name in enumerate(STAGES))
