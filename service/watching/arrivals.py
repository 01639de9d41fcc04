"""Deliveries as they came in, listed by what became of them: merged, an event among them, come again, in conflict (DESIGN 16).

Functions of a connection. Lists are paged by key, along an index, and a count agrees with its list. What was set aside is a list
of its own (`operations`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, and_, func, select, tuple_

from service.records.journal import HIDDEN
from service.records.pages import Page, instant_in, page_of, place_in
from service.tables import SUMMARY, Journal, Repeat, table_of
from statemachine.stamps import INTERNAL_TYPES

JOURNAL: Final = table_of(Journal)
REPEAT: Final = table_of(Repeat)
LEFT_OUT: Final = {"merged": tuple(INTERNAL_TYPES), "events": (SUMMARY, *HIDDEN)}
"""Types of entries that are not of the list."""


def merged_count(connection: Connection, tenant: str, start: datetime, end: datetime) -> int:
    """Deliveries that arrived within this time and were merged as they came."""
    where = (JOURNAL.c.tenant == tenant, JOURNAL.c.received_at >= start, JOURNAL.c.received_at < end)
    wanted = select(JOURNAL.c.type, func.count()).where(*where).group_by(JOURNAL.c.type)
    return sum(int(count) for type_, count in connection.execute(wanted) if type_ not in LEFT_OUT["merged"])


def merged_page(
    connection: Connection, tenant: str, which: str, start: datetime, end: datetime, limit: int, cursor: str | None
) -> Page:
    """Those of `LEFT_OUT`, newest first: `at event_id type channel borrower_id`. Raises `BadCursor`."""
    order = (JOURNAL.c.received_at, JOURNAL.c.event_id)
    where = [
        JOURNAL.c.tenant == tenant,
        JOURNAL.c.received_at >= start,
        JOURNAL.c.received_at < end,
        JOURNAL.c.type.not_in(LEFT_OUT[which]),
    ]
    if cursor is not None:
        at, event_id = place_in(cursor, str, str)
        where.append(tuple_(*order) < tuple_(instant_in(at), event_id))
    columns = (JOURNAL.c.received_at.label("at"), JOURNAL.c.event_id, JOURNAL.c.type, JOURNAL.c.channel)
    wanted = select(*columns, JOURNAL.c.borrower_id).where(*where).order_by(*(column.desc() for column in order))
    items: list[dict[str, Any]] = [dict(row) for row in connection.execute(wanted.limit(limit + 1)).mappings()]
    return page_of(items, limit, lambda item: (item["at"].isoformat(), item["event_id"]))


def again_page(
    connection: Connection,
    tenant: str,
    start: datetime,
    end: datetime,
    limit: int,
    cursor: str | None,
    *,
    conflicts: bool,
) -> Page:
    """Deliveries of an id that was there, newest first, as `merged_page`; of an id that was never merged the type is null.
    Raises `BadCursor`."""
    order = (REPEAT.c.at, REPEAT.c.id)
    where = [
        REPEAT.c.tenant == tenant,
        REPEAT.c.at >= start,
        REPEAT.c.at < end,
        REPEAT.c.is_conflict.is_(conflicts),
    ]
    if cursor is not None:
        at, id_ = place_in(cursor, str, int)
        where.append(tuple_(*order) < tuple_(instant_in(at), id_))
    first = and_(JOURNAL.c.tenant == REPEAT.c.tenant, JOURNAL.c.event_id == REPEAT.c.event_id)
    columns = (*order, REPEAT.c.event_id, JOURNAL.c.type, JOURNAL.c.channel, JOURNAL.c.borrower_id)
    wanted = select(*columns).select_from(REPEAT.outerjoin(JOURNAL, first)).where(*where)
    rows = connection.execute(wanted.order_by(*(column.desc() for column in order)).limit(limit + 1)).mappings()
    items: list[dict[str, Any]] = [dict(row) for row in rows]
    return page_of(items, limit, lambda item: (item["at"].isoformat(), item["id"]))
