"""What a team lead asks at nine in the morning, counted and listed across a tenant's borrowers (DESIGN 16).

Functions of a connection. Lists are paged by key, along an index; a count reads no more than an index.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, literal_column, select, tuple_

from service.records.journeys import JOURNEY, journey_item
from service.records.pages import BadCursor, Page, instant_in, page_of, place_in
from service.resuming.crossed import CROSSED
from service.tables import BROKEN, SUMMARY, AskedCallback, Journal, Resume, table_of

JOURNAL = table_of(Journal)
RESUME = table_of(Resume)
CALLBACK = table_of(AskedCallback)


def stages(connection: Connection, tenant: str) -> dict[str, int]:
    """How many journeys stand at each stage."""
    wanted = select(JOURNEY.c.stage, func.count()).where(JOURNEY.c.tenant == tenant).group_by(JOURNEY.c.stage)
    return _pairs(connection, wanted)


def _pairs(connection: Connection, statement: Select[Any]) -> dict[Any, int]:
    rows: Any = connection.execute(statement).all()
    return dict(rows)


def conversations_by_channel(connection: Connection, tenant: str, start: datetime, end: datetime) -> dict[str, int]:
    """Conversations whose summary arrived within this time, each once, by channel."""
    told = (
        select(JOURNAL.c.channel, JOURNAL.c.conversation_id)
        .where(
            JOURNAL.c.tenant == tenant,
            JOURNAL.c.received_at >= start,
            JOURNAL.c.received_at < end,
            JOURNAL.c.type == SUMMARY,
        )
        .distinct()
        .subquery()
    )
    return _pairs(connection, select(told.c.channel, func.count()).group_by(told.c.channel))


def conversations_page(
    connection: Connection,
    tenant: str,
    channel: str | None,
    start: datetime,
    end: datetime,
    limit: int,
    cursor: str | None,
) -> Page:
    """They, each by the last of its reports that arrived, newest first: `received_at event_id borrower_id channel
    conversation_id revision effective_at`. Raises `BadCursor`."""
    later = JOURNAL.alias("later")
    its = ("tenant", "borrower_id", "channel", "conversation_id")
    is_later = tuple_(later.c.received_at, later.c.event_id) > tuple_(JOURNAL.c.received_at, JOURNAL.c.event_id)
    same = [later.c[name] == JOURNAL.c[name] for name in its]
    is_summary = later.c.type == literal_column(f"'{SUMMARY}'")
    reported_again = exists(
        select(literal_column("1")).select_from(later).where(*same, is_summary, is_later, later.c.received_at < end)
    )
    order = (JOURNAL.c.received_at, JOURNAL.c.event_id)
    where = [
        JOURNAL.c.tenant == tenant,
        JOURNAL.c.received_at >= start,
        JOURNAL.c.received_at < end,
        JOURNAL.c.type == SUMMARY,
        ~reported_again,
    ]
    if channel is not None:
        where.append(JOURNAL.c.channel == channel)
    if cursor is not None:
        at, event_id = place_in(cursor, str, str)
        where.append(tuple_(*order) < tuple_(instant_in(at), event_id))
    shown = [JOURNAL.c[name] for name in ("borrower_id", "channel", "conversation_id", "revision", "effective_at")]
    wanted = select(*order, *shown).where(*where).order_by(*(column.desc() for column in order)).limit(limit + 1)
    items: list[dict[str, Any]] = [dict(row) for row in connection.execute(wanted).mappings()]
    return page_of(items, limit, lambda i: (i["received_at"].isoformat(), i["event_id"]))


def crossed(connection: Connection, tenant: str, start: datetime, end: datetime) -> int:
    """How many resumes went on from another channel."""
    where = (RESUME.c.tenant == tenant, RESUME.c.at >= start, RESUME.c.at < end, CROSSED)
    return int(connection.execute(select(func.count()).select_from(RESUME).where(*where)).scalar_one())


# -- promises --------------------------------------------------------------------------------------------------------------


def _unpaid() -> ColumnElement[bool]:
    return and_(JOURNEY.c.rung != "none", JOURNEY.c.stage != "paid")


def promises_due_by_rung(connection: Connection, tenant: str, first: date, last: date) -> dict[str, int]:
    """Promises in force that fall due from the first to the last day and are not paid, by rung."""
    where = (JOURNEY.c.tenant == tenant, JOURNEY.c.promise_due_date.between(first, last), _unpaid())
    return _pairs(connection, select(JOURNEY.c.rung, func.count()).where(*where).group_by(JOURNEY.c.rung))


def promises_by_day(connection: Connection, tenant: str, first: date, last: date) -> dict[date, int]:
    """They, by the day they are due."""
    due = JOURNEY.c.promise_due_date
    where = (JOURNEY.c.tenant == tenant, due.between(first, last), _unpaid())
    return _pairs(connection, select(due, func.count()).where(*where).group_by(due))


def promises_overdue(connection: Connection, tenant: str, since: datetime, now: datetime) -> int:
    """Promises in force whose day ended between `since` and now without a payment that covers them."""
    where = (JOURNEY.c.tenant == tenant, JOURNEY.c.overdue_at > since, JOURNEY.c.overdue_at <= now, _unpaid())
    return int(connection.execute(select(func.count()).select_from(JOURNEY).where(*where)).scalar_one())


def promises_due_page(
    connection: Connection, tenant: str, first: date, last: date, now: datetime, limit: int, cursor: str | None
) -> Page:
    """They, in the order of their days. Items as `borrowers`. Raises `BadCursor`."""
    order = (JOURNEY.c.promise_due_date, JOURNEY.c.borrower_id, JOURNEY.c.loan_id)
    where = [JOURNEY.c.tenant == tenant, JOURNEY.c.promise_due_date.between(first, last), _unpaid()]
    if cursor is not None:
        day, *rest = place_in(cursor, str, str, str)
        try:
            where.append(tuple_(*order) > tuple_(date.fromisoformat(day), *rest))
        except ValueError:
            raise BadCursor("no cursor of this list") from None
    rows = connection.execute(select(JOURNEY).where(*where).order_by(*order).limit(limit + 1)).mappings()
    items = [journey_item(row, now) for row in rows]
    return page_of(items, limit, lambda i: (i["promise_due_date"].isoformat(), i["borrower_id"], i["loan_id"] or ""))


def promises_overdue_page(
    connection: Connection, tenant: str, since: datetime | None, now: datetime, limit: int, cursor: str | None
) -> Page:
    """They, newest first, at most as old as `since`: of what was paid late nobody need be asked. Items also have `overdue_at`."""
    order = (JOURNEY.c.overdue_at, JOURNEY.c.borrower_id, JOURNEY.c.loan_id)
    where = [JOURNEY.c.tenant == tenant, JOURNEY.c.overdue_at <= now, _unpaid()]
    if since is not None:
        where.append(JOURNEY.c.overdue_at > since)
    if cursor is not None:
        at, *rest = place_in(cursor, str, str, str)
        where.append(tuple_(*order) < tuple_(instant_in(at), *rest))
    wanted = select(JOURNEY).where(*where).order_by(*(column.desc() for column in order)).limit(limit + 1)
    items = [
        journey_item(row, now) | {"overdue_at": row["overdue_at"]} for row in connection.execute(wanted).mappings()
    ]
    return page_of(items, limit, lambda i: (i["overdue_at"].isoformat(), i["borrower_id"], i["loan_id"] or ""))


def _broken(tenant: str, since: datetime) -> list[ColumnElement[bool]]:
    return [JOURNAL.c.tenant == tenant, JOURNAL.c.type == literal_column(f"'{BROKEN}'"), JOURNAL.c.received_at >= since]


def broken(connection: Connection, tenant: str, since: datetime) -> int:
    """Breaks that the ledger reported since."""
    return int(
        connection.execute(select(func.count()).select_from(JOURNAL).where(*_broken(tenant, since))).scalar_one()
    )


def broken_page(connection: Connection, tenant: str, since: datetime, limit: int, cursor: str | None) -> Page:
    """They, newest first: `received_at event_id borrower_id loan_id effective_at`. Raises `BadCursor`."""
    order = (JOURNAL.c.received_at, JOURNAL.c.event_id)
    where = _broken(tenant, since)
    if cursor is not None:
        at, event_id = place_in(cursor, str, str)
        where.append(tuple_(*order) < tuple_(instant_in(at), event_id))
    wanted = select(*order, JOURNAL.c.borrower_id, JOURNAL.c.loan_id, JOURNAL.c.effective_at).where(*where)
    rows = connection.execute(wanted.order_by(*(c.desc() for c in order)).limit(limit + 1)).mappings()
    items: list[dict[str, Any]] = [dict(row) for row in rows]
    return page_of(items, limit, lambda i: (i["received_at"].isoformat(), i["event_id"]))


# -- callbacks -------------------------------------------------------------------------------------------------------------


def callbacks(connection: Connection, tenant: str, now: datetime, end: datetime) -> int:
    """Appointments that were asked for until `end`, those included that name no time, and that are not past."""
    until = func.coalesce(CALLBACK.c.at, now)
    where = (CALLBACK.c.tenant == tenant, CALLBACK.c.ends_at > now, until < end)
    return int(connection.execute(select(func.count()).select_from(CALLBACK).where(*where)).scalar_one())


def callbacks_page(
    connection: Connection, tenant: str, now: datetime, limit: int, cursor: str | None, end: datetime | None = None
) -> Page:
    """They, the next first, until `end` if there is one: `borrower_id at ends_at channel conversation_id`. Raises
    `BadCursor`."""
    order = (CALLBACK.c.ends_at, CALLBACK.c.borrower_id)
    where = [CALLBACK.c.tenant == tenant, CALLBACK.c.ends_at > now]
    if end is not None:
        where.append(func.coalesce(CALLBACK.c.at, now) < end)
    if cursor is not None:
        at, borrower_id = place_in(cursor, str, str)
        where.append(tuple_(*order) > tuple_(instant_in(at), borrower_id))
    shown = (CALLBACK.c.at, CALLBACK.c.channel, CALLBACK.c.conversation_id)
    rows = connection.execute(select(*order, *shown).where(*where).order_by(*order).limit(limit + 1)).mappings()
    items: list[dict[str, Any]] = [dict(row) for row in rows]
    return page_of(items, limit, lambda i: (i["ends_at"].isoformat(), i["borrower_id"]))
