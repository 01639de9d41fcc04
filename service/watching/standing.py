"""How things stand across all tenants at this moment: what nobody counts as it happens, because it grows old by itself.

Functions of a connection, for whoever watches over the service as a whole. Each reads an index, or rows that are few as long as
all is well; nothing of a borrower is among what they tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, and_, func, literal_column, select

from service import keys
from service.intake.log import Behind
from service.intake.table_log import NAME as TABLE_LOG
from service.tables import (
    Chat,
    HookBody,
    Intake,
    IntakeHead,
    Outbox,
    SetAside,
    Started,
    WriterPartition,
    table_of,
)

_ASIDE: Final = table_of(SetAside)
_STARTED: Final = table_of(Started)
_CHAT: Final = table_of(Chat)
_BODY: Final = table_of(HookBody)
_INTAKE: Final = table_of(Intake)
_HEAD: Final = table_of(IntakeHead)
_FENCE: Final = table_of(WriterPartition)
_OUTBOX: Final = table_of(Outbox)


@dataclass(frozen=True, slots=True)
class Standing:
    """One look."""

    set_aside: Mapping[str, int]
    """By reason, what is open."""
    missing_reports: int
    chats: Behind
    """Chats of which a summary is due."""
    hook_bodies: int
    """Bodies that were answered for and are not read to their end."""
    outbox: Mapping[str, Behind]
    """By topic, what is durable here and not yet in Kafka."""
    partitions: Mapping[int, int]
    """The epoch of each partition that was ever taken."""
    owners: int
    """How many writers hold one."""


def standing(connection: Connection, now: datetime, log: str, missing_since: Callable[[str], datetime]) -> Standing:
    """`log`: whose partitions; `missing_since`: of a tenant, when a call must have begun whose report is missing by now."""
    every = keys.tenants(connection)
    aside: dict[str, int] = {}
    missing, chats = 0, Behind()
    for tenant in every:
        its = (_ASIDE.c.tenant == tenant, _ASIDE.c.status == "open")
        for reason, count in connection.execute(
            select(_ASIDE.c.reason, func.count()).where(*its).group_by(_ASIDE.c.reason)
        ):
            aside[reason] = aside.get(reason, 0) + count
        since = (_STARTED.c.tenant == tenant, _STARTED.c.started_at <= missing_since(tenant))
        missing += connection.execute(select(func.count()).select_from(_STARTED).where(*since)).scalar_one()
    due = select(func.count(), func.min(_CHAT.c.due_at)).where(_CHAT.c.try_at.is_not(None), _CHAT.c.due_at <= now)
    chats = _behind(now, *connection.execute(due).one())
    outbox = select(_OUTBOX.c.topic, func.count(), func.min(_OUTBOX.c.added_at)).group_by(_OUTBOX.c.topic)
    fences = connection.execute(
        select(_FENCE.c.partition, _FENCE.c.epoch, _FENCE.c.owner).where(_FENCE.c.log == log)
    ).all()
    unread = select(func.count()).select_from(_BODY).where(literal_column("NOT hook_body.is_done"))
    return Standing(
        set_aside=aside,
        missing_reports=missing,
        chats=chats,
        hook_bodies=connection.execute(unread).scalar_one(),
        outbox={topic: _behind(now, *of) for topic, *of in connection.execute(outbox)},
        partitions={row.partition: row.epoch for row in fences},
        owners=len({row.owner for row in fences}),
    )


def table_lag(connection: Connection, now: datetime) -> dict[int, Behind]:
    """Of each partition of the embedded log, what is accepted and not merged yet, of all tenants."""
    its = and_(_FENCE.c.log == TABLE_LOG, _FENCE.c.partition == _HEAD.c.partition)
    merged = select(_HEAD.c.partition, func.coalesce(_FENCE.c.next_offset, 0)).select_from(_HEAD.outerjoin(_FENCE, its))
    found = {}
    for partition, start in connection.execute(merged).all():
        waiting = (_INTAKE.c.partition == partition, _INTAKE.c.log_offset >= start)
        row = connection.execute(select(func.count(), func.min(_INTAKE.c.appended_at)).where(*waiting)).one()
        found[partition] = _behind(now, *row)
    return found


def _behind(now: datetime, count: int, oldest: datetime | None) -> Behind:
    return Behind(count, max(0.0, (now - oldest).total_seconds()) if oldest is not None else 0.0)
