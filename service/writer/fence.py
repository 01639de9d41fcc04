"""The fence: what makes one writer of a partition the only one, whoever believes to be it (`service.writer`).

What an entry means is not known here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select, update

from service.intake.log import (
    IntakeLog,
    LogChanged,
    Logged,
)
from service.prepared import Prepared
from service.tables import WriterPartition, table_of

SHORT_HASH_DIGITS: Final = 32


class FenceLost(Exception):
    """Somebody else has taken the partition, or has moved its position."""


_FENCE_ROWS: Final = table_of(WriterPartition)
_OF: Final = (_FENCE_ROWS.c.log == bindparam("of_log"), _FENCE_ROWS.c.partition == bindparam("of_partition"))
_ADVANCE: Final = Prepared(
    update(_FENCE_ROWS)
    .where(*_OF, _FENCE_ROWS.c.epoch == bindparam("mine"), _FENCE_ROWS.c.next_offset == bindparam("expected"))
    .values(next_offset=bindparam("new"), last_entry=bindparam("last"))
)
_STANDING: Final = Prepared(select(_FENCE_ROWS.c.epoch, _FENCE_ROWS.c.next_offset).where(*_OF))


@dataclass(slots=True)
class Fence:
    """A partition as its writer holds it."""

    log: str
    partition: int
    epoch: int
    next_offset: int
    last_entry: str | None

    def advance(self, connection: Connection, to: int, last_entry: str) -> None:
        """The first statement of every save. Raises `FenceLost`."""
        of = {"of_log": self.log, "of_partition": self.partition}
        moved = _ADVANCE.run(connection, **of, mine=self.epoch, expected=self.next_offset, new=to, last=last_entry)
        if moved != 1:
            raise FenceLost(f"partition {self.partition} is not at epoch {self.epoch}, offset {self.next_offset}")

    def stands_at(self, connection: Connection, offset: int) -> bool:
        """Whether a save that moved it there is in, for when its commit was not answered. Raises `FenceLost`."""
        row = _STANDING.row(connection, of_log=self.log, of_partition=self.partition)
        if row is None or row[0] != self.epoch:
            raise FenceLost(f"partition {self.partition} is not at epoch {self.epoch} any more")
        return bool(row[1] == offset)


def take_fence(connection: Connection, log_: IntakeLog, partition: int, owner: str, now: datetime) -> Fence:
    """Takes the partition from whoever had it. Raises `LogChanged` for a log that is not the one that was left."""
    where = (_FENCE_ROWS.c.log == log_.name, _FENCE_ROWS.c.partition == partition)
    is_this = {"log_identity": log_.identity(), "partition_count": log_.partitions}
    row = connection.execute(select(_FENCE_ROWS).where(*where).with_for_update()).mappings().first()
    if row is None:
        fresh = {"log": log_.name, "partition": partition, "epoch": 1, "next_offset": 0, "last_entry": None}
        connection.execute(insert(_FENCE_ROWS).values({**fresh, **is_this, "owner": owner, "taken_at": now}))
        return Fence(log_.name, partition, 1, 0, None)
    if any(row[name] != value for name, value in is_this.items()):
        raise LogChanged(
            f"partition {partition} was left in log {row['log_identity']} of {row['partition_count']} partitions; this is"
            f" {is_this['log_identity']} of {is_this['partition_count']}"
        )
    epoch = row["epoch"] + 1
    connection.execute(update(_FENCE_ROWS).where(*where).values(epoch=epoch, owner=owner, taken_at=now))
    return Fence(log_.name, partition, epoch, row["next_offset"], row["last_entry"])


def entry_mark(logged: Logged) -> str:
    """By which the last merged entry is known again: whose it is and its id, for its words may be forgotten."""
    return short_hash("\n".join((logged.tenant, logged.borrower_id, logged.event_id)).encode("utf-8", "replace"))


def short_hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:SHORT_HASH_DIGITS]
