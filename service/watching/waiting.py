"""Entries of one tenant that were accepted and are not merged yet, as far as tables know them: what waits for Kafka, then the
embedded log. What stands in Kafka itself is listed by the intake (`intake.durable.Intake.waiting`).

Functions of a connection; pages by key.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, and_, func, select, tuple_

from service.intake.table_log import NAME as TABLE_LOG
from service.tables import Intake, IntakeHead, Outbox, WriterPartition, table_of

SPOOL: Final = -1
"""In the place of a partition: not in the log yet."""
_TOPIC: Final = "intake"

_OUTBOX: Final = table_of(Outbox)
_INTAKE: Final = table_of(Intake)
_HEAD: Final = table_of(IntakeHead)
_FENCE: Final = table_of(WriterPartition)


def waiting(connection: Connection, tenant: str, behind: tuple[int, int], limit: int) -> list[dict[str, Any]]:
    """At most `limit` from behind this partition and offset on, in that order: `partition offset event_id borrower_id
    appended_at`; in the spool the partition is `SPOOL`."""
    found: list[dict[str, Any]] = []
    if behind[0] == SPOOL:
        its = (_OUTBOX.c.tenant == tenant, _OUTBOX.c.topic == _TOPIC, _OUTBOX.c.id > behind[1])
        spooled = select(_OUTBOX.c.id, _OUTBOX.c.event_id, _OUTBOX.c.borrower_id, _OUTBOX.c.added_at)
        for row in connection.execute(spooled.where(*its).order_by(_OUTBOX.c.id).limit(limit)):
            found.append(_item(SPOOL, row.id, row.event_id, row.borrower_id, row.added_at))
    for partition, start in _merged(connection):
        if len(found) == limit:
            break
        key = (_INTAKE.c.partition, _INTAKE.c.log_offset)
        own = (_INTAKE.c.tenant == tenant, key[0] == partition, key[1] >= start, tuple_(*key) > tuple_(*behind))
        logged = select(*key, _INTAKE.c.event_id, _INTAKE.c.borrower_id, _INTAKE.c.appended_at)
        for entry in connection.execute(logged.where(*own).order_by(*key).limit(limit - len(found))):
            place = (entry.partition, entry.log_offset)
            found.append(_item(*place, entry.event_id, entry.borrower_id, entry.appended_at))
    return found


def _item(partition: int, offset: int, event_id: str, borrower_id: str, at: Any) -> dict[str, Any]:
    return {
        "partition": partition,
        "offset": offset,
        "event_id": event_id,
        "borrower_id": borrower_id,
        "appended_at": at,
    }


def _merged(connection: Connection) -> list[tuple[int, int]]:
    """Each partition of the embedded log and up to where it is merged."""
    its = and_(_FENCE.c.log == TABLE_LOG, _FENCE.c.partition == _HEAD.c.partition)
    wanted = select(_HEAD.c.partition, func.coalesce(_FENCE.c.next_offset, 0)).select_from(_HEAD.outerjoin(_FENCE, its))
    return sorted((int(partition), int(start)) for partition, start in connection.execute(wanted))
