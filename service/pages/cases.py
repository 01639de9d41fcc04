"""The cases behind numbers that have no other list: of a roll-out's measures, of what is not merged or not read yet, of what a
model answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from sqlalchemy import Connection
from starlette.responses import Response

from service import records, rollout
from service.errors import FieldError, InvalidBody, Unreadable
from service.intake.durable import Waiting
from service.pages.drawing import Page
from service.pages.page import Visit, page, pages
from service.pages.queries import OfAnswers, OfCases, OfPage, OfWaiting, listed
from service.pages.rollout import WORDS, measured_once, mode_of, periods_of
from service.pages.tables import csv_of, wants_csv
from service.records.pages import page_of, place_in
from service.watching import machinery, rollout_cases, vendor_bodies
from service.watching import waiting as stored_waiting
from service.watching.rollout_cases import Span
from statemachine.stamps import UnreadableEntry

router = pages()

MODEL_MINUTES: Final = 60
LOOKS_FOR_A_FILE: Final = 60
"""At rows of the journal, of which a look has a limit: a file has all that are counted, and not what one look finds."""


# -- a roll-out ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cases(Page):
    """Conversations of one channel and period that a measure counts."""

    template: ClassVar[str] = "cases.html.j2"
    words: str
    channel: str
    period: str
    start: datetime | None
    end: datetime | None
    is_elsewhere: bool
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]


@page(router, "GET", "/ops/rollout/cases")
async def rollout_cases_of(visit: Visit) -> Response:
    wanted = visit.query(OfCases)
    found = await measured_once(visit)
    channel = next(one for one in found["channels"] if one["channel"] == wanted.channel)
    periods = periods_of(channel)
    if wanted.period >= len(periods):
        raise InvalidBody([FieldError("period", "not_in_enum")])
    period = periods[wanted.period]
    missing = rollout.missing_since(visit.parts, visit.tenant, found["as_of"])
    span = Span(wanted.channel, period["from"], period["to"], found["counted_from"], missing)

    def look(conn: Connection) -> records.Page:
        items: list[dict[str, Any]] = []
        cursor = wanted.cursor
        try:
            for _ in range(LOOKS_FOR_A_FILE if wanted.form == "csv" else 1):
                found = rollout_cases.cases(conn, visit.tenant, span, wanted.measure, wanted.limit - len(items), cursor)
                items += found.items
                cursor = found.next_cursor
                if cursor is None or len(items) == wanted.limit:
                    break
            return records.Page(items, cursor)
        except records.BadCursor:
            raise InvalidBody([FieldError("cursor", "wrong_type")]) from None

    try:
        listed_ = await visit.parts.database.read_slow(look)
    except UnreadableEntry as why:
        raise Unreadable from why
    if wants_csv(visit):
        columns = ("at", "borrower_id", "channel", "conversation_id", "event_id", "is_contact", "is_promise", "days")
        return csv_of(visit, "rollout-cases", columns, listed_.items)
    return visit.show(
        Cases(
            words=WORDS[wanted.measure],
            channel=wanted.channel,
            period=mode_of(period),
            start=period["from"],
            end=period["to"],
            is_elsewhere=wanted.measure == "next_elsewhere",
            items=tuple(listed_.items),
            next_cursor=listed_.next_cursor,
            filters=wanted.filters(),
        )
    )


# -- what is not merged yet ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NotMerged(Page):
    """Accepted, durable, and not in a record yet: this tenant's, in the order in which they will be."""

    template: ClassVar[str] = "not_merged.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]


@page(router, "GET", "/ops/system/waiting")
async def not_merged(visit: Visit) -> Response:
    wanted = visit.query(OfWaiting)
    limit, only = wanted.limit, wanted.partition
    behind = (stored_waiting.SPOOL, -1) if only is None else (only, -1)

    def look(conn: Connection) -> records.Page:
        place = place_in(wanted.cursor, int, int) if wanted.cursor is not None else None
        start = (place[0] + stored_waiting.SPOOL, place[1]) if place is not None else behind
        return records.Page([{"start": start}, *stored_waiting.waiting(conn, visit.tenant, start, limit + 1)], None)

    (begun, *items) = (await listed(visit, look)).items
    in_log = Waiting()
    if len(items) <= limit:
        in_log = await visit.parts.intake.waiting(visit.tenant, begun["start"], limit + 1 - len(items))
    items += [
        {
            "partition": partition,
            "offset": entry.offset,
            "event_id": entry.event_id,
            "borrower_id": entry.borrower_id,
            "appended_at": entry.appended_at,
        }
        for partition, entry in in_log.entries
    ]
    own = [item for item in items if only is None or item["partition"] == only]
    found = page_of(own, limit, lambda item: _place(item["partition"], item["offset"]))
    goes_on, up_to = found.next_cursor, in_log.looked_up_to
    if goes_on is None and up_to is not None and (only is None or up_to[0] == only):
        goes_on = page_of([{}, {}], 1, lambda _: _place(*up_to)).next_cursor
    if wants_csv(visit):
        return csv_of(
            visit, "not-merged", ("appended_at", "borrower_id", "event_id", "partition", "offset"), found.items
        )
    return visit.show(NotMerged(tuple(found.items), goes_on, wanted.filters()))


def _place(partition: int, offset: int) -> tuple[int, int]:
    """As a cursor has it: no number in one is below zero."""
    return partition - stored_waiting.SPOOL, offset


# -- what is not read yet, and what a model answered ----------------------------------------------------------------------


@dataclass(frozen=True)
class NotRead(Page):
    """Bodies of vendors that were answered for and are not read to their end."""

    template: ClassVar[str] = "not_read.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None


@page(router, "GET", "/ops/hooks/unread")
async def not_read(visit: Visit) -> Response:
    wanted = visit.query(OfPage)

    def look(conn: Connection) -> records.Page:
        return vendor_bodies.unread_page(conn, visit.tenant, wanted.limit, wanted.cursor)

    found = await listed(visit, look)
    if wants_csv(visit):
        return csv_of(visit, "not-read", ("id", "received_at", "vendor", "channel", "tries"), found.items)
    return visit.show(NotRead(tuple(found.items), found.next_cursor))


@dataclass(frozen=True)
class Answers(Page):
    """Answers of a model that are kept, newest first. Not a word of what it said but the state that was read in it."""

    template: ClassVar[str] = "answers.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]
    minutes: int


@page(router, "GET", "/ops/system/answers")
async def answers(visit: Visit) -> Response:
    wanted, now = visit.query(OfAnswers), visit.parts.clock()
    since, failure = now - timedelta(minutes=MODEL_MINUTES), "" if wanted.failure == "read" else wanted.failure

    def look(conn: Connection) -> records.Page:
        return machinery.model_answers_page(
            conn, visit.tenant, since, wanted.model, failure, wanted.limit, wanted.cursor
        )

    found = await listed(visit, look)
    if wants_csv(visit):
        columns = ("asked_at", "borrower_id", "channel", "loan_id", "model", "proposed", "failure", "why", "latency_ms")
        return csv_of(visit, "model-answers", columns, found.items)
    return visit.show(Answers(tuple(found.items), found.next_cursor, wanted.filters(), MODEL_MINUTES))
