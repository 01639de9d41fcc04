"""Reads of one named borrower, and the list across borrowers (API 7)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from sqlalchemy import Connection
from starlette.responses import Response

from service import naming, records
from service.anothers import MARK, is_anothers, wordless
from service.decisions import telling
from service.errors import (
    AmbiguousIdentifier,
    UnknownBorrower,
    UnknownIdentifier,
    UnknownLoan,
)
from service.exported import fact_answer
from service.live import without_live
from service.narrative import Narrative, Withheld, narrative, said_in_words
from service.policy import Policy
from service.reading import Known
from service.records.pages import page_of
from service.retention.reading import told
from service.routes.reads import (
    OfNothing,
    OfPage,
    after,
    cursor_of,
    going_on,
    paged,
    place_of,
    readable,
    time_and_id,
)
from service.strictjson import as_sent
from service.web.calls import Call, Parameters, answered, answered_as_sent, call, checked, routes
from statemachine.conclusions import STAGES, Cycle, KnownFact
from statemachine.entries import Named
from statemachine.ladder import RUNGS
from statemachine.state import UnknownLoan as NoSuchLoan
from statemachine.wire import HOLD_KINDS, AnyBorrowerId, Channel, Day, Id
from statemachine.withholding import hidden_by

router = routes("borrowers")


# -- query parameters ---------------------------------------------------------------------------------------------


def _yes(value: object) -> bool:
    if value not in ("true", "false"):
        raise PydanticCustomError("wrong_type", "true or false")
    return value == "true"


def _word(*words: str) -> BeforeValidator:
    def check(value: object) -> object:
        if value not in words:
            raise PydanticCustomError("not_in_enum", "one of {words}", {"words": ", ".join(words)})
        return value

    return BeforeValidator(check)


Yes = Annotated[bool, BeforeValidator(_yes)]
Stage = Annotated[str, _word(*STAGES)]
AnyRung = Annotated[str, _word(*RUNGS)]
Held = Annotated[str, _word("true", "false", *HOLD_KINDS)]


class OfLoan(Parameters):
    loan_id: Id | None = None
    after: Id | None = None


class OfChannel(OfLoan):
    channel: Channel | None = None


class OfList(OfPage):
    stage: Stage | None = None
    rung: AnyRung | None = None
    promise_due_from: Day | None = None
    promise_due_to: Day | None = None
    overdue: Yes | None = None
    reminded: Yes | None = None
    hold: Held | None = None


# -- one borrower -------------------------------------------------------------------------------------------------


class _InPath(Parameters):
    borrower_id: AnyBorrowerId


def path_id(call: Call) -> str:
    """The borrower of the path; raises `InvalidBody` for what can be no id."""
    return checked(_InPath, {"borrower_id": call.in_path("borrower_id")}).borrower_id


async def known(call: Call, wanted: OfLoan | OfNothing | OfPage) -> tuple[Known, Policy]:
    """The borrower of the path as it is now; raises `NotYetMerged` and `UnknownBorrower`."""
    borrower_id = path_id(call)
    await after(call, wanted.after)

    def look(conn: Connection) -> records.Stored | None:
        return records.stored(conn, call.tenant, records.resolve_id(conn, call.tenant, borrower_id))

    stored = await call.parts.database.read(look)
    if stored is None:
        raise UnknownBorrower
    policy = call.parts.policies.for_tenant(call.tenant)
    with readable(call):
        return call.parts.reader.known(call.tenant, stored, policy, call.parts.clock()), policy


def cycle_of(one: Known, loan_id: str | None) -> Cycle:
    """The cycle a read means; raises `UnknownLoan`."""
    try:
        return one.state.cycle_of(loan_id)
    except NoSuchLoan:
        raise UnknownLoan from None


@call(
    router, "GET", "/v1/borrowers/{borrower_id}", "get_borrower", scope="read", query=OfLoan,
    answers="200; 404 `unknown_borrower` or `unknown_loan`.",
)  # fmt: skip
async def get_borrower(call: Call) -> Response:
    """All that is concluded about one borrower."""
    wanted = call.query(OfLoan)
    one, policy = await known(call, wanted)
    cycle, state, now = cycle_of(one, wanted.loan_id), one.state, call.parts.clock()
    last, hidden = {c.channel: c for c in state.conversations}, hidden_by(state.withheld_texts)

    def look(conn: Connection) -> dict[str, dict[str, Any]]:
        bodies = records.bodies(conn, call.tenant, tuple(c.event_id for c in last.values()))
        return {
            channel: told(bodies[c.event_id], "summary", c.at, now, policy, hidden)
            for channel, c in last.items()
            if c.event_id in bodies
        }

    with readable(call):
        newest = await call.parts.database.read(look)
    handed_out = policy.hands_out(one.borrower_id)
    return answered(
        {
            "borrower_id": state.borrower_id,
            "provisional": one.is_provisional,
            "identifiers": state.identifiers,
            "cycle": cycle.terms,
            "cycles": [c.terms for c in state.cycles if c.cycle_id is not None or c is cycle],
            "commitment": cycle.promise,
            "counter_proposals": cycle.counter_proposals,
            "history": cycle.history,
            "payment_claim": cycle.payment_claim,
            "flags": {f: getattr(cycle, f).value for f in FLAGS},
            "stage": cycle.stage,
            "holds": state.holds,
            "opt_outs": state.opt_outs,
            "contact_attempts": cycle.contact_attempts,
            "conversations": {
                channel: as_sent({name: value for name, value in body.items() if name not in ("turns", "extra")})
                for channel, body in newest.items()
            },
            "facts": [fact_answer(f) for f in await _holding(call, one, "borrower")],
            "narrative": narrative(state, cycle, now=now).text if handed_out else "",
            "unplaced_payments": state.unplaced_payments,
            "record_version": one.version,
            "as_of": now,
        }
    )


FLAGS = ("reminded", "payment_link_shared", "payment_confirmed")


@call(
    router, "GET", "/v1/borrowers/{borrower_id}/briefing", "get_briefing", scope="read", query=OfChannel,
    answers="200: text of at most 4,000 characters, and what was withheld by which rule.",
)  # fmt: skip
async def get_briefing(call: Call) -> Response:
    """What an agent reads before it starts."""
    wanted = call.query(OfChannel)
    one, policy = await known(call, wanted)
    cycle, now = cycle_of(one, wanted.loan_id), call.parts.clock()
    channel = wanted.channel or "voice"
    if wanted.channel is not None:  # a read for a channel asks for the summary of chats that are open on another
        await call.parts.chats.open_for(call.tenant, one.borrower_id, channel, now)
    told = await _briefing(call, one, cycle) if policy.mode_for(channel, one.borrower_id) == "enabled" else None
    return answered(
        {
            "borrower_id": one.borrower_id,
            "text": told.text if told else "",
            "language": "en",
            "record_version": one.version,
            "as_of": now,
            "withheld": told.withheld if told else (),
        }
    )


async def _briefing(call: Call, one: Known, cycle: Cycle) -> Narrative:
    """With the decisions that are current at this reading, and no word that rests on one that is not (DESIGN 12)."""

    def look(conn: Connection) -> tuple[tuple[str, ...], telling.Rechecked]:
        decided = telling.decided_of(conn, call.tenant, one.borrower_id, one.state.time_zone)
        return decided, telling.rechecked(conn, call.tenant, one.state)

    decided, checked_ = await call.parts.database.read(look)
    told = narrative(checked_.state, cycle, now=call.parts.clock(), decided=decided)
    more = (Withheld(id_, rule) for id_, rule in checked_.withheld)
    return Narrative(told.text, (*told.withheld, *more))


async def _holding(call: Call, one: Known, read: str) -> list[KnownFact]:
    return await without_live(
        call.parts, call.tenant, one.borrower_id, read, one.state.facts, lambda fact: fact.volatility
    )


@call(
    router, "GET", "/v1/borrowers/{borrower_id}/facts", "get_facts", scope="read", query=OfPage,
    answers="200: what was stated and what was inferred, newest first, each with its source in words.",
)  # fmt: skip
async def get_facts(call: Call) -> Response:
    """What do you remember about me? Each fact with its source in words."""
    wanted = call.query(OfPage)
    one, policy = await known(call, wanted)
    whose = (one.borrower_id, path_id(call))
    with going_on():
        before = time_and_id(place_of(call, wanted, whose))
    is_withheld = call.is_a_tools and not policy.hands_out(one.borrower_id)
    facts = [] if is_withheld else await _holding(call, one, "facts")
    behind = [f for f in facts if before is None or (f.observed_at, f.fact_id) < before]
    shown = [fact_answer(f) | {"said": said_in_words(f, one.state)} for f in behind[: wanted.limit + 1]]
    page = page_of(shown, wanted.limit, lambda fact: (fact["observed_at"].isoformat(), fact["fact_id"]))
    goes_on = page.next_cursor and cursor_of(call, wanted, page.next_cursor, whose)
    return answered({"items": page.items, "next_cursor": goes_on})


@call(
    router, "GET", "/v1/borrowers/{borrower_id}/flags", "get_flags", scope="read", query=OfLoan,
    answers="200: each flag of the cycle's attempt with the event behind it.",
)  # fmt: skip
async def get_flags(call: Call) -> Response:
    """The yes and no facts of one cycle, with their evidence."""
    wanted = call.query(OfLoan)
    one, _ = await known(call, wanted)
    cycle = cycle_of(one, wanted.loan_id)
    flags = {name: getattr(cycle, name) for name in FLAGS}
    return answered(
        {
            "borrower_id": one.borrower_id,
            "loan_id": cycle.loan_id,
            "cycle_id": cycle.cycle_id,
            "attempt": cycle.attempt,
            "record_version": one.version,
            "as_of": call.parts.clock(),
            **flags,
        }
    )


@call(
    router, "GET", "/v1/borrowers/{borrower_id}/timeline", "get_timeline", scope="read", query=OfPage,
    answers="200: conversations and events, newest first, as they were posted.",
)  # fmt: skip
async def get_timeline(call: Call) -> Response:
    """Everything that was told of one borrower, on one line; but for what a person of the lender's withheld."""
    wanted = call.query(OfPage)
    one, policy = await known(call, wanted)
    now = call.parts.clock()

    def look(conn: Connection, place: str | None) -> records.Page:
        return records.timeline(conn, call.tenant, one.borrower_id, wanted.limit, place)

    page = await paged(call, wanted, look, (one.borrower_id, path_id(call)))
    items = [_item(call, one, item, now, policy) for item in page.items]
    return answered_as_sent({"items": items, "next_cursor": page.next_cursor})


def _item(call: Call, one: Known, item: dict[str, Any], now: datetime, policy: Policy) -> dict[str, Any]:
    """An item of the time line as it may be told now, with the cycle and attempt in which it stands; what was somebody else's
    stands in none."""
    through, told_of = item.pop("through"), item["entry"]
    if is_anothers(one.state, through, item["at"], call.parts.keyed_hash):
        return item | {"loan_id": None, "cycle_id": None, "entry": wordless(told_of)} | MARK
    loan_id, cycle_id, attempt = one.state.place(item["loan_id"], item["cycle_id"], item["at"])
    type_ = "summary" if item["kind"] == "conversation" else told_of["type"]
    entry = told(told_of, type_, item["at"], now, policy, hidden_by(one.state.withheld_texts))
    return item | {"loan_id": loan_id, "cycle_id": cycle_id, "attempt": attempt, "entry": entry}


# -- across borrowers ---------------------------------------------------------------------------------------------


class Lookup(Named):
    """Who it is about; an id of a provisional borrower too."""

    borrower_id: AnyBorrowerId | None = None
    after: Id | None = None


@call(
    router, "POST", "/v1/borrowers/lookup", "lookup", scope="read", body=Lookup, query=OfNothing,
    examples={"by number": {"identifier": {"kind": "phone", "value": "09000000101"}}},
    answers="200 `{borrower_id, provisional}`; 404; 409 with `candidates`.",
)  # fmt: skip
async def lookup(call: Call) -> Response:
    """Whose identifier or loan is this?"""
    in_query = call.query(OfNothing)
    asked = await call.body(Lookup)
    await after(call, asked.after, in_query.after)
    policy = call.parts.policies.for_tenant(call.tenant)
    who = naming.called(asked.borrower_id, asked.identifier, asked.loan_id, policy)

    def look(conn: Connection) -> tuple[naming.Named, records.Stored | None]:
        named = naming.find(conn, call.tenant, who, call.parts.secrets)
        return named, records.stored(conn, call.tenant, named.borrower_id) if named.borrower_id else None

    named, stored = await call.parts.database.read(look)
    if named.candidates:
        raise AmbiguousIdentifier(named.candidates)
    if stored is None:
        if asked.borrower_id is not None:
            raise UnknownBorrower
        raise UnknownIdentifier if asked.identifier is not None else UnknownLoan
    return answered({"borrower_id": stored.borrower_id, "provisional": stored.provisional})


@call(
    router, "GET", "/v1/borrowers", "list_borrowers", scope="search:all", query=OfList,
    answers="200: one item for each loan of each borrower, its cycle last opened.",
)  # fmt: skip
async def list_borrowers(call: Call) -> Response:
    """Borrowers by where they stand."""
    wanted = call.query(OfList)
    await after(call, wanted.after)
    filters = {k: v for k, v in dict(wanted).items() if k not in ("limit", "cursor", "after")}
    now = call.parts.clock()

    def look(conn: Connection, place: str | None) -> records.Page:
        return records.borrowers(conn, call.tenant, filters, now, wanted.limit, place)

    page = await paged(call, wanted, look)
    return answered({"items": page.items, "next_cursor": page.next_cursor})
