"""The intake log: what came in, in order for each borrower, durable before anybody is answered.

One protocol, two backends: a table (`table_log`) and a Kafka topic. An entry's key is its tenant and borrower, so that one
borrower's entries stand in one partition; a partition has one reader, the writer. Offsets grow and may have gaps. What a
value means is not known here.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from sqlalchemy import Connection

PARTITIONER: Final = "crc32"
"""The name of `partition_of`, part of a log's identity: under another function a borrower's entries would stand elsewhere."""


class LogUnavailable(ConnectionError):
    """The log cannot take or give entries just now. Whether an entry was taken is not known; its id makes a retry safe."""


class LogBusy(LogUnavailable):
    """So much is being appended that this has to wait: nothing of it was taken, and nothing is wrong."""


class LogChanged(Exception):
    """The log is not the one that this database was filled from: another topic, another count of partitions, or cut."""


class LogStuck(Exception):
    """Entries are there and do not come, or a part of the client has died. Only a new process is sure to heal it."""


class Position(NamedTuple):
    partition: int
    offset: int
    """-1 where the log does not say it."""


@dataclass(frozen=True, slots=True)
class Behind:
    """Of something that waits: how many, and the age of the oldest in seconds, 0 when nothing waits."""

    count: int = 0
    oldest_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Pending:
    """What shall be appended. `borrower_id` and `event_id` say in whose order, and are for looking at; the value tells."""

    tenant: str
    borrower_id: str
    event_id: str
    value: bytes
    causes: tuple[str, ...] = ()
    """Of a writer's own: the events that it follows from, which are answered for with it."""


@dataclass(frozen=True, slots=True)
class Change:
    """A record that was saved, as it is announced (API 13). `event_id` is of the entry that was merged last."""

    tenant: str
    borrower_id: str
    record_version: int
    event_id: str
    stage: str
    rung: str


@dataclass(frozen=True, slots=True)
class Logged:
    """One entry of a partition."""

    offset: int
    tenant: str
    borrower_id: str
    event_id: str
    value: bytes
    appended_at: datetime
    is_marked: bool = True
    """Whether it looks as if our intake had appended it, before it is opened."""


class Holder(Protocol):
    """Whoever works on partitions of a log: the writer."""

    def assigned(self, partitions: Collection[int]) -> None:
        """These are the holder's from now on."""

    async def revoked(self, partitions: Collection[int]) -> None:
        """These are not any more. Returns when nothing of theirs is in hand, in time that is bounded."""


class IntakeLog(Protocol):
    name: str
    """Short, and other than any other log's: the journal keeps it with each entry."""
    partitions: int
    others_may_write: bool
    """Whether what stands there may come from elsewhere than from our intake."""
    anew: str
    """What people can do when it is not the log that was left, as a sentence without its end."""

    def identity(self) -> str:
        """Which log this is: the same as long as offsets mean the same entries."""

    def partition_of(self, tenant: str, borrower_id: str) -> int: ...

    async def append(self, items: Sequence[Pending]) -> list[Position]:
        """Durable on return, one borrower's entries in their order. Raises `LogUnavailable`."""

    async def read(self, partition: int, offset: int, limit: int, wait_seconds: float) -> list[Logged]:
        """The entries from `offset` on, at most `limit`; waits so long for the first. Raises `LogUnavailable`."""

    async def end_offset(self, partition: int) -> int:
        """One more than the last entry's. Raises `LogUnavailable`."""

    async def start_offset(self, partition: int) -> int:
        """The first that the log has not let go by itself, for its age. Raises `LogUnavailable`."""

    def interrupt(self) -> None:
        """Makes whoever waits in `read` answer at once; for a stop."""

    async def share(self, holder: Holder, until: asyncio.Event) -> None:
        """Gives the holder its partitions and takes them back as others come and go, until the event is set; what is held
        then is kept until `leave`. Raises `LogUnavailable` when that cannot begin, `LogStuck`, `LogChanged`."""

    async def leave(self) -> None:
        """Lets others have what this process held."""

    def merged(self, partition: int, next_offset: int) -> None:
        """A hint for whoever watches the log: up to there it is merged and committed."""


class InternalLog(Protocol):
    """How the writer sends entries of its own, and announces what it saved: as part of its transaction, so that they are
    sent if and only if it is committed. The table does the first by itself; a log elsewhere needs an outbox."""

    def append_within(self, connection: Connection, items: Sequence[Pending]) -> list[Position]:
        """The positions, or none where they are not known yet."""

    def taken_up_within(self, connection: Connection, tenant: str, event_ids: Sequence[str]) -> None:
        """These entries of a writer's own are merged now, or set aside. After the `append_within` of the same transaction."""

    def announce_within(self, connection: Connection, changes: Sequence[Change]) -> None: ...

    def publish_within(self, connection: Connection, items: Sequence[Pending]) -> None:
        """Announces these values as they are, beside the records."""

    def appended(self, positions: Sequence[Position]) -> None:
        """To be called once the transaction is committed: wakes who waits for it."""


class TableLike(IntakeLog, InternalLog, Protocol):
    """A log in the database itself: whoever has a transaction can append within it."""


def partition_of(tenant: str, borrower_id: str, partitions: int) -> int:
    """Our own function and not a client library's, so that every process and every log has the same."""
    return zlib.crc32(f"{tenant}|{borrower_id}".encode()) % partitions
