"""What ops looks after: what came in, what came again, reports that are missing, what is not merged yet (API 12)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    bindparam,
    func,
    insert,
    select,
    tuple_,
)

from service.intake.table_log import NAME as TABLE_LOG
from service.prepared import Prepared
from service.records.beside import Row
from service.records.journal import HIDDEN
from service.records.pages import Page, instant_in, page_of, place_in
from service.tables import (
    SUMMARY,
    Intake,
    IntakeHead,
    Journal,
    Repeat,
    SetAside,
    Started,
    WriterPartition,
    table_of,
)
from statemachine.stamps import INTERNAL_TYPES

JOURNAL = table_of(Journal)
STARTED = table_of(Started)
SET_ASIDE = table_of(SetAside)
REPEAT = table_of(Repeat)
_INTAKE = table_of(Intake)
_HEAD = table_of(IntakeHead)
_FENCE = table_of(WriterPartition)


def counted(connection: Connection, tenant: str, start: datetime, end: datetime) -> dict[str, int]:
    """`deliveries repeats conflicts conversations events` that arrived from `start` until before `end` (API 12).

    A delivery is counted once: merged, a repeat, a conflict, or set aside and not merged since.
    """
    arrived = and_(JOURNAL.c.tenant == tenant, JOURNAL.c.received_at >= start, JOURNAL.c.received_at < end)
    again = and_(REPEAT.c.tenant == tenant, REPEAT.c.at >= start, REPEAT.c.at < end)
    aside = and_(
        SET_ASIDE.c.tenant == tenant,
        SET_ASIDE.c.received_at >= start,
        SET_ASIDE.c.received_at < end,
        SET_ASIDE.c.status != "merged",
        SET_ASIDE.c.reason != "id_conflict",
    )
    types = select(JOURNAL.c.type, func.count()).where(arrived).group_by(JOURNAL.c.type)
    by_type = _pairs(connection, types)
    conversations = (
        select(JOURNAL.c.channel, JOURNAL.c.conversation_id).where(arrived, JOURNAL.c.type == SUMMARY).distinct()
    )
    repeats = _pairs(connection, select(REPEAT.c.is_conflict, func.count()).where(again).group_by(REPEAT.c.is_conflict))
    merged = sum(count for type_, count in by_type.items() if type_ not in INTERNAL_TYPES)
    return {
        "deliveries": merged + sum(repeats.values()) + _count(connection, SET_ASIDE, aside),
        "repeats": repeats.get(False, 0),
        "conflicts": repeats.get(True, 0),
        "conversations": connection.execute(select(func.count()).select_from(conversations.subquery())).scalar_one(),
        "events": sum(count for type_, count in by_type.items() if type_ not in (SUMMARY, *HIDDEN)),
    }


def _pairs(connection: Connection, statement: Select[Any]) -> dict[Any, int]:
    rows: Any = connection.execute(statement).all()
    return dict(rows)


def _count(connection: Connection, table: FromClause, where: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(where)).scalar_one())


def count_repeat(connection: Connection, tenant: str, event_id: str, at: datetime, *, is_conflict: bool) -> None:
    """Another delivery of an id that was there."""
    _ADD_REPEAT.run(connection, tenant=tenant, event_id=event_id, at=at, is_conflict=is_conflict)


def count_repeats(connection: Connection, rows: Sequence[Row]) -> None:
    """As `count_repeat` of each: `tenant event_id at is_conflict`."""
    _ADD_REPEAT.run_each(connection, rows)


_ADD_REPEAT: Final = Prepared(
    insert(REPEAT).values({name: bindparam(name) for name in ("tenant", "event_id", "at", "is_conflict")})
)


def missing_reports(connection: Connection, tenant: str, since: datetime) -> int:
    """How many conversations began by then and have no summary."""
    return _count(connection, STARTED, and_(STARTED.c.tenant == tenant, STARTED.c.started_at <= since))


def missing_page(
    connection: Connection, tenant: str, since: datetime, now: datetime, limit: int, cursor: str | None
) -> Page:
    """They, the one that is missing longest first: `borrower_id channel conversation_id started_at age_seconds`.

    Raises `BadCursor`.
    """
    order = (STARTED.c.started_at, STARTED.c.borrower_id, STARTED.c.channel, STARTED.c.conversation_id)
    where = [STARTED.c.tenant == tenant, STARTED.c.started_at <= since]
    if cursor is not None:
        at, *rest = place_in(cursor, str, str, str, str)
        where.append(tuple_(*order) > tuple_(instant_in(at), *rest))
    rows = connection.execute(select(*order).where(*where).order_by(*order).limit(limit + 1))
    items = [
        {
            "borrower_id": borrower_id,
            "channel": channel,
            "conversation_id": conversation_id,
            "started_at": at,
            "age_seconds": (now - at).total_seconds(),
        }
        for at, borrower_id, channel, conversation_id in rows
    ]
    names = ("borrower_id", "channel", "conversation_id")
    return page_of(items, limit, lambda item: (item["started_at"].isoformat(), *(item[name] for name in names)))


# What of the embedded log is not merged yet, partition by partition: only what lies behind `next_offset` is read.
_MERGED_UP_TO: Final = Prepared(
    select(_HEAD.c.partition, func.coalesce(_FENCE.c.next_offset, 0)).select_from(
        _HEAD.outerjoin(_FENCE, and_(_FENCE.c.log == TABLE_LOG, _FENCE.c.partition == _HEAD.c.partition))
    )
)
_BEHIND: Final = (
    _INTAKE.c.partition == bindparam("of_partition"),
    _INTAKE.c.log_offset >= bindparam("start"),
    _INTAKE.c.tenant == bindparam("of_tenant"),
)
_WAITING: Final = Prepared(select(func.count(), func.min(_INTAKE.c.appended_at)).where(*_BEHIND))
_WAITS: Final = Prepared(
    select(_INTAKE.c.log_offset).where(*_BEHIND, _INTAKE.c.borrower_id == bindparam("of_borrower")).limit(1)
)


def merged_up_to(connection: Connection, log: str) -> dict[int, int]:
    """The next offset of each partition of a log that was ever taken up."""
    return {row[0]: row[1] for row in _FENCES.rows(connection, of_log=log)}


_FENCES: Final = Prepared(select(_FENCE.c.partition, _FENCE.c.next_offset).where(_FENCE.c.log == bindparam("of_log")))


def is_behind(connection: Connection, tenant: str, borrower_id: str) -> bool:
    """Whether an accepted entry of this borrower is not merged yet."""
    of = {"of_tenant": tenant, "of_borrower": borrower_id}
    return any(
        _WAITS.row(connection, **of, of_partition=partition, start=start) is not None
        for partition, start in _MERGED_UP_TO.rows(connection)
    )


def unmerged(connection: Connection, tenant: str, now: datetime) -> tuple[int, float]:
    """How many accepted entries are not merged yet, and the age of the oldest in seconds."""
    count, oldest = 0, now
    for partition, start in _MERGED_UP_TO.rows(connection):
        row = _WAITING.row(connection, of_tenant=tenant, of_partition=partition, start=start)
        if row is not None and row[0]:
            count, oldest = count + row[0], min(oldest, row[1])
    return count, (now - oldest).total_seconds()
