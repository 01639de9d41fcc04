"""The cases behind a roll-out's measures: of one channel and period the conversations that are counted, in pages by key.

What counts is decided in `rollout`, and the same conversation counts here: by its highest revision, at the time when it ended,
among the reports that were looked at for the measures (`counted_from`). A page looks at a few thousand rows of the journal at
most, so a rare case costs no more than a frequent one; such a page may have fewer cases than it could, and still say where to
go on.

Functions of a connection; for `read_slow`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, literal_column, select, tuple_

from service.records.pages import Page, instant_in, page_of, place_in
from service.tables import SUMMARY, Borrower, Journal, Resume, Started, table_of
from service.watching import rollout
from service.watching.rollout import Conversation

LOOKED_AT: Final = 500
"""Rows in one look, and so many looks in a page."""
LOOKS: Final = 8
READ_AT_ONCE: Final = 100
"""Reports whose words are read together, until the page is full."""
AHEAD: Final = timedelta(minutes=5)
"""By so much a report may come before the time that it tells (`intake.stamping`)."""

_JOURNAL: Final = table_of(Journal)
_RESUME: Final = table_of(Resume)
_STARTED: Final = table_of(Started)
_BORROWER: Final = table_of(Borrower)


@dataclass(frozen=True, slots=True)
class Span:
    """A channel's period, the instant from which reports were counted, and that by which a report is missing."""

    channel: str
    start: datetime | None
    end: datetime | None
    counted_from: datetime | None
    missing_since: datetime

    @property
    def first(self) -> datetime | None:
        return max((at for at in (self.start, self.counted_from) if at is not None), default=None)


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation with what is measured of it; `days` until the next on another channel, null where there is none."""

    one: Conversation
    is_resumed: bool
    days: float | None


MEASURES: Final[Mapping[str, Callable[[Case], bool]]] = {
    "connected": lambda case: case.one.is_contact,
    "with_summary": lambda case: case.one.is_contact,
    "resumed": lambda case: case.is_resumed,
    "resumed_connected": lambda case: case.is_resumed and case.one.is_contact,
    "resumed_promises": lambda case: case.is_resumed and case.one.is_promise,
    "cold": lambda case: not case.is_resumed,
    "cold_connected": lambda case: not case.is_resumed and case.one.is_contact,
    "cold_promises": lambda case: not case.is_resumed and case.one.is_promise,
    "next_elsewhere": lambda case: case.days is not None,
}
"""`connected` has also those that began and were never reported; they are listed first."""


def cases(connection: Connection, tenant: str, span: Span, measure: str, limit: int, cursor: str | None) -> Page:
    """`at borrower_id channel conversation_id event_id is_contact is_promise days`; of one that was never reported `event_id` is
    null. Raises `BadCursor`, `UnreadableEntry`."""
    behind = None
    if cursor is not None:
        part, at, *ids = place_in(cursor, str, str, str, str)
        behind = (part, instant_in(at), *ids)
    items: list[dict[str, Any]] = []
    if measure == "connected" and (behind is None or behind[0] == _OPEN):
        items = list(_never_reported(connection, tenant, span, limit + 1, behind and behind[1:]))
        behind = None
    if len(items) <= limit:
        found, last = _reported(connection, tenant, span, measure, limit + 1 - len(items), behind and behind[1:])
        items += found
        if len(items) <= limit and last is not None:
            goes_on = page_of([{}, {}], 1, lambda _: (_TOLD, last[0].isoformat(), last[1], "")).next_cursor
            return Page([_shown(item) for item in items], goes_on)
    page = page_of(items, limit, lambda item: item["place"])
    return Page([_shown(item) for item in page.items], page.next_cursor)


_OPEN, _TOLD = "open", "told"


def _shown(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "place"}


def _never_reported(
    connection: Connection, tenant: str, span: Span, limit: int, behind: Sequence[Any] | None
) -> Iterator[dict[str, Any]]:
    order = (_STARTED.c.started_at, _STARTED.c.borrower_id, _STARTED.c.conversation_id)
    its: list[ColumnElement[bool]] = [_STARTED.c.tenant == tenant, _STARTED.c.started_at <= span.missing_since]
    its += _within(_STARTED.c.started_at, span)
    its.append(_STARTED.c.channel == span.channel)
    if behind is not None:
        its.append(tuple_(*order) > tuple_(*behind))
    for at, borrower_id, conversation_id in connection.execute(
        select(*order).where(*its).order_by(*order).limit(limit)
    ):
        yield {
            "at": at,
            "borrower_id": borrower_id,
            "channel": span.channel,
            "conversation_id": conversation_id,
            "event_id": None,
            "is_contact": True,
            "is_promise": False,
            "days": None,
            "place": (_OPEN, at.isoformat(), borrower_id, conversation_id),
        }


def _within(column: Any, span: Span) -> list[ColumnElement[bool]]:
    its: list[ColumnElement[bool]] = []
    if span.first is not None:
        its.append(column >= span.first)
    if span.end is not None:
        its.append(column < span.end)
    return its


# -- reported ------------------------------------------------------------------------------------------------------------


def _reported(
    connection: Connection, tenant: str, span: Span, measure: str, limit: int, behind: Sequence[Any] | None
) -> tuple[list[dict[str, Any]], tuple[datetime, str] | None]:
    """At most `limit` cases; and, when there is more to look at than was, the key of the last row that was looked at."""
    found: list[dict[str, Any]] = []
    for _ in range(LOOKS):
        wanted, last = _looked_at(connection, tenant, span, behind)
        for start in range(0, len(wanted), READ_AT_ONCE):
            rows = wanted[start : start + READ_AT_ONCE]
            for row, case in _cases_of(connection, tenant, span, rows, measure):
                if MEASURES[measure](case):
                    found.append(_item(row, case))
                    if len(found) == limit:
                        return found, None
        if last is None:
            return found, None
        behind = last
    return found, last


def _looked_at(
    connection: Connection, tenant: str, span: Span, behind: Sequence[Any] | None
) -> tuple[Sequence[Any], tuple[datetime, str] | None]:
    """The span's reports among so many rows, and the key of the last row when there may be more. Of a period that is over the
    oldest first, for what came long after it is of others; of the present one the newest."""
    order = (_JOURNAL.c.received_at, _JOURNAL.c.event_id)
    names = ("borrower_id", "type", "channel", "conversation_id", "revision", "effective_at")
    its = [_JOURNAL.c.tenant == tenant]
    if span.first is not None:
        its.append(_JOURNAL.c.received_at >= span.first - AHEAD)
    if span.counted_from is not None:
        its.append(_JOURNAL.c.received_at >= span.counted_from)
    is_over = span.end is not None
    if behind is not None:
        here = tuple_(behind[0], behind[1])
        its.append(tuple_(*order) > here if is_over else tuple_(*order) < here)

    def sorted_by(columns: Any) -> list[Any]:
        return [column if is_over else column.desc() for column in columns]

    looked = select(*order, *(_JOURNAL.c[name] for name in names)).where(*its).order_by(*sorted_by(order))
    seen = looked.limit(LOOKED_AT).subquery()
    of = [seen.c.type == SUMMARY, seen.c.channel == span.channel, *_within(seen.c.effective_at, span)]
    rows = connection.execute(select(seen).where(*of).order_by(*sorted_by((seen.c.received_at, seen.c.event_id)))).all()
    ends = select(*order).where(*its).order_by(*sorted_by(order)).offset(LOOKED_AT - 1).limit(1)
    last = connection.execute(ends).first()
    return rows, (last.received_at, last.event_id) if last is not None else None


def _cases_of(
    connection: Connection, tenant: str, span: Span, rows: Sequence[Any], measure: str
) -> Iterator[tuple[Any, Case]]:
    """Those of these reports that are the highest of their conversations, with what this is measured by."""
    only = None if measure == "next_elsewhere" else [row.conversation_id for row in rows]
    highest = _conversations(connection, tenant, span, {row.borrower_id for row in rows}, only)
    days = {(one.channel, one.conversation_id): days for one, days in rollout.next_elsewhere(highest.values())}
    own = [row for row in rows if highest[row.channel, row.conversation_id].event_id == row.event_id]
    ids = [row.conversation_id for row in own]
    starts = rollout.granted_starts(
        connection,
        _RESUME.c.tenant == tenant,
        _RESUME.c.channel == span.channel,
        _RESUME.c.conversation_id.in_(ids),
    )
    its = (_JOURNAL.c.tenant == tenant, _JOURNAL.c.event_id.in_([row.event_id for row in own]))
    bodies = _pairs(connection, select(_JOURNAL.c.event_id, _JOURNAL.c.body).where(*its))
    for row in own:
        key = (row.channel, row.conversation_id)
        highest[key].is_contact, highest[key].is_promise = rollout.went(bodies[row.event_id])
        yield row, Case(highest[key], starts.get(key, False), days.get(key))


@dataclass(slots=True)
class _Reported(Conversation):
    conversation_id: str = ""
    event_id: str = ""


def _conversations(
    connection: Connection, tenant: str, span: Span, people: Collection[str], only: Sequence[str] | None
) -> dict[tuple[str, str], _Reported]:
    """All conversations of these people on any channel, or only these of the span's, each by its highest revision and without
    its words."""
    its = (_BORROWER.c.tenant == tenant, _BORROWER.c.redirected_to.is_not(None))
    to = select(_BORROWER.c.borrower_id, _BORROWER.c.redirected_to)
    whose = _pairs(connection, to.where(*its, _BORROWER.c.borrower_id.in_(people)))
    owners = {whose.get(one, one) for one in people}
    whose |= _pairs(connection, to.where(*its, _BORROWER.c.redirected_to.in_(owners)))
    names = ("received_at", "event_id", "borrower_id", "channel", "conversation_id", "revision", "effective_at")
    of = [_JOURNAL.c.tenant == tenant, _JOURNAL.c.type == literal_column(f"'{SUMMARY}'")]
    of.append(_JOURNAL.c.borrower_id.in_({*people, *owners, *whose}))
    if only is not None:
        of += [_JOURNAL.c.channel == span.channel, _JOURNAL.c.conversation_id.in_(only)]
    # Asked for a time or an order, SQLite goes through all that arrived since rather than to what is of these people.
    rows = connection.execute(select(*(_JOURNAL.c[name] for name in names)).where(*of)).all()
    found: dict[tuple[str, str], _Reported] = {}
    for row in sorted(rows, reverse=True):
        if span.counted_from is not None and min(row.received_at, row.effective_at) < span.counted_from:
            continue
        key, owner = (row.channel, row.conversation_id), whose.get(row.borrower_id, row.borrower_id)
        if key not in found or row.revision > found[key].revision:
            found[key] = _Reported(
                row.channel,
                owner,
                row.effective_at,
                row.revision,
                conversation_id=row.conversation_id,
                event_id=row.event_id,
            )
    return found


def _pairs(connection: Connection, statement: Select[Any]) -> dict[Any, Any]:
    rows: Any = connection.execute(statement).all()
    return dict(rows)


def _item(row: Any, case: Case) -> dict[str, Any]:
    return {
        "at": row.effective_at,
        "borrower_id": case.one.borrower_id,
        "channel": row.channel,
        "conversation_id": row.conversation_id,
        "event_id": row.event_id,
        "is_contact": case.one.is_contact,
        "is_promise": case.one.is_promise,
        "days": case.days if case.days is None else round(case.days, 2),
        "place": (_TOLD, row.received_at.isoformat(), row.event_id, ""),
    }
