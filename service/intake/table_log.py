"""The embedded log: a table in the same database.

Offsets are counted in `intake_head`, one row for each partition, in the transaction that inserts: so they become visible in
their order, whatever number of processes append, and nothing is ever appended before what a reader has seen. Appends that
arrive while one is on its way to disk go together in the next.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Self

from sqlalchemy import BigInteger, Connection, Integer, bindparam, func, insert, select, update

from service.database import DatabaseUnavailable, Store
from service.intake.log import (
    PARTITIONER,
    Change,
    Holder,
    LogChanged,
    Logged,
    LogUnavailable,
    Pending,
    Position,
    partition_of,
)
from service.prepared import Prepared
from service.tables import Intake, IntakeHead, WriterPartition, table_of

NAME: Final = "table"
PARTITIONS: Final = 4
"""A broken invariant stops a partition, so there is more than one; more would only make batches smaller."""
READ_BYTES: Final = 4 << 20  # of values; then a read gives less than it was asked for, but always one entry
POLL_SECONDS: Final = 1.0  # for what another process appends; what this one appends wakes its readers
TRIM_ROWS: Final = 500  # in one transaction, so that nobody waits long for it

_INTAKE, _HEAD, _FENCE = table_of(Intake), table_of(IntakeHead), table_of(WriterPartition)

_RESERVE = Prepared(
    update(_HEAD)
    .where(_HEAD.c.partition == bindparam("of"))
    .values(next_offset=_HEAD.c.next_offset + bindparam("count"))
)
_END = Prepared(select(_HEAD.c.next_offset).where(_HEAD.c.partition == bindparam("of")))
_INSERT = Prepared(insert(_INTAKE))
_LOGGED = tuple(_INTAKE.c[name] for name in ("log_offset", "tenant", "borrower_id", "event_id", "value", "appended_at"))
_ON = (_INTAKE.c.partition == bindparam("of"), _INTAKE.c.log_offset >= bindparam("start"))
_FROM = Prepared(select(*_LOGGED).where(*_ON).order_by(_INTAKE.c.log_offset).limit(bindparam("most")))
# The same where rows come all at once and so have to be counted there: those before which there are fewer bytes.
_SIZE = func.length(_INTAKE.c.value, type_=Integer)
_BEFORE = (func.sum(_SIZE, type_=BigInteger).over(order_by=_INTAKE.c.log_offset) - _SIZE).label("before")
_COUNTED = (
    select(*_LOGGED, _BEFORE).where(*_ON).order_by(_INTAKE.c.log_offset).limit(bindparam("most")).subquery("counted")
)
_FROM_WITHIN = Prepared(
    select(*(_COUNTED.c[column.name] for column in _LOGGED))
    .where(_COUNTED.c.before < bindparam("size"))
    .order_by(_COUNTED.c.log_offset)
)


_Append = tuple[Sequence[Pending], asyncio.Future[list[Position]]]


class TableLog:
    """Open it with `open`; it has no connection of its own and needs no closing."""

    name: str = NAME
    others_may_write = False
    anew = "Restore the whole database from one copy"

    def __init__(self, database: Store, partitions: int, identity: str, clock: Callable[[], datetime]) -> None:
        self.partitions = partitions
        self._database = database
        self._identity = identity
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Append] = []
        self._sending: asyncio.Task[None] | None = None
        self._arrivals = [0] * partitions
        self._readers: list[set[asyncio.Future[None]]] = [set() for _ in range(partitions)]
        self._interrupts = 0

    @classmethod
    async def open(
        cls, database: Store, *, partitions: int = PARTITIONS, clock: Callable[[], datetime] | None = None
    ) -> Self:
        """Begins the log when there is none. Raises `LogChanged` when it has another number of partitions."""

        def begin(connection: Connection) -> tuple[int, str]:
            found = connection.execute(select(_HEAD.c.identity)).scalars().all()
            if found:
                return len(found), found[0]
            identity = f"{NAME}:{uuid.uuid4().hex}:{PARTITIONER}"
            rows = [{"partition": number, "next_offset": 0, "identity": identity} for number in range(partitions)]
            connection.execute(insert(_HEAD), rows)
            return partitions, identity

        count, identity = await database.write(begin)
        if count != partitions:
            raise LogChanged(f"the embedded log has {count} partitions, not {partitions}")
        return cls(database, partitions, identity, clock or _now)

    def identity(self) -> str:
        return self._identity

    def partition_of(self, tenant: str, borrower_id: str) -> int:
        return partition_of(tenant, borrower_id, self.partitions)

    # -- appending

    async def append(self, items: Sequence[Pending]) -> list[Position]:
        """As `IntakeLog.append`: all of these or none."""
        if not items:
            return []
        future: asyncio.Future[list[Position]] = self._loop.create_future()
        self._waiting.append((items, future))
        if self._sending is None:
            self._sending = self._loop.create_task(self._send())
        return await future

    async def _send(self) -> None:
        """Everything that waits, together, until nothing waits."""
        while self._waiting:
            group, self._waiting = self._waiting, []
            if not await self._send_together(group):
                for one in group:
                    await self._send_together([one])
        self._sending = None

    async def _send_together(self, group: list[_Append]) -> bool:
        """False when something that is no failure of the world stopped several: then each has to answer for itself."""
        items = [item for items, _ in group for item in items]
        try:
            positions = await self._database.write(lambda connection: self.append_within(connection, items))
        except Exception as why:  # noqa: BLE001 (it goes to those who asked)
            world = isinstance(why, DatabaseUnavailable)
            if not world and len(group) > 1:
                return False
            for _, future in group:
                if not future.done():
                    future.set_exception(_unavailable(why) if world else why)
            return True
        start = 0
        for own, future in group:
            if not future.done():  # its caller may have gone away
                future.set_result(positions[start : start + len(own)])
            start += len(own)
        self.appended(positions)
        return True

    def append_within(self, connection: Connection, items: Sequence[Pending]) -> list[Position]:
        """As part of the caller's transaction; when it is committed, call `appended`."""
        if not items:
            return []
        now = self._clock()
        partitions = [self.partition_of(item.tenant, item.borrower_id) for item in items]
        ends = {
            partition: self._reserve(connection, partition, n) for partition, n in sorted(Counter(partitions).items())
        }
        rows: list[dict[str, Any]] = []
        positions = []
        for partition, item in zip(partitions, items, strict=True):
            positions.append(Position(partition, ends[partition]))
            rows.append(
                {
                    "partition": partition,
                    "log_offset": ends[partition],
                    "tenant": item.tenant,
                    "borrower_id": item.borrower_id,
                    "event_id": item.event_id,
                    "value": item.value,
                    "appended_at": now,
                }
            )
            ends[partition] += 1
        _INSERT.run_each(connection, rows)
        return positions

    @staticmethod
    def _reserve(connection: Connection, partition: int, count: int) -> int:
        """The first of so many offsets; the row stays locked until the commit, so they become visible in order."""
        if _RESERVE.run(connection, of=partition, count=count) != 1:
            raise LogChanged(f"partition {partition} of the embedded log is gone")
        end = _END.row(connection, of=partition)
        assert end is not None
        return int(end[0]) - count

    def taken_up_within(self, connection: Connection, tenant: str, event_ids: Sequence[str]) -> None:
        """Those who wait for an entry of a writer's own are told in this process."""

    def announce_within(self, connection: Connection, changes: Sequence[Change]) -> None:
        """Without Kafka there is nobody to tell."""

    def publish_within(self, connection: Connection, items: Sequence[Pending]) -> None:
        """As `announce_within`."""

    def appended(self, positions: Sequence[Position]) -> None:
        for partition in {position.partition for position in positions}:
            self._wake(partition)

    def _wake(self, partition: int) -> None:
        self._arrivals[partition] += 1
        for reader in self._readers[partition]:
            if not reader.done():
                reader.set_result(None)

    # -- reading

    async def read(self, partition: int, offset: int, limit: int, wait_seconds: float) -> list[Logged]:
        until, interrupts = self._loop.time() + wait_seconds, self._interrupts
        while True:
            arrivals = self._arrivals[partition]
            try:
                found = await self._database.read(lambda c: _from(c, partition, offset, limit))
            except DatabaseUnavailable as why:
                raise _unavailable(why) from why
            left = until - self._loop.time()
            if found or left <= 0 or self._interrupts != interrupts:
                return found
            if not await self._arrival(partition, arrivals, min(left, POLL_SECONDS)):
                return found

    async def _arrival(self, partition: int, seen: int, seconds: float) -> bool:
        """Waits for something that was not there yet; False when it was interrupted."""
        if self._arrivals[partition] != seen:
            return True
        reader: asyncio.Future[None] = self._loop.create_future()
        self._readers[partition].add(reader)
        try:
            await asyncio.wait([reader], timeout=seconds)
        finally:
            self._readers[partition].discard(reader)
        return not reader.cancelled()

    def interrupt(self) -> None:
        self._interrupts += 1
        for readers in self._readers:
            for reader in readers:
                reader.cancel()

    async def end_offset(self, partition: int) -> int:
        try:
            row = await self._database.read(lambda c: _END.row(c, of=partition))
        except DatabaseUnavailable as why:
            raise _unavailable(why) from why
        if row is None:
            raise LogChanged(f"partition {partition} of the embedded log is gone")
        return int(row[0])

    async def start_offset(self, partition: int) -> int:
        """What is trimmed is merged, and the last merged entry stays."""
        return 0

    # -- sharing it: one process has it all

    async def share(self, holder: Holder, until: asyncio.Event) -> None:
        holder.assigned(range(self.partitions))
        await until.wait()

    async def leave(self) -> None:
        """Nobody else waits for it."""

    def merged(self, partition: int, next_offset: int) -> None:
        """The fence says it, in the same database."""

    # -- keeping it short

    async def trim(self, before: datetime) -> int:
        """Removes what was appended before that and is merged, but for the last merged entry of each partition, by which a
        writer knows the log again. How many went. Raises `DatabaseUnavailable`."""
        return await trim(self._database, range(self.partitions), before)


async def trim(database: Store, partitions: Iterable[int], before: datetime) -> int:
    """As `TableLog.trim`, for whoever has no log of its own."""
    gone = 0
    for partition in partitions:
        while True:
            count = await database.write(lambda c, p=partition: _trimmed(c, p, before))  # type: ignore[misc]
            gone += count
            if count < TRIM_ROWS:
                break
    return gone


def _from(connection: Connection, partition: int, offset: int, limit: int) -> list[Logged]:
    if connection.dialect.name == "postgresql":
        rows = _FROM_WITHIN.rows(connection, of=partition, start=offset, most=limit, size=READ_BYTES)
        return [Logged(*row) for row in rows]
    found: list[Logged] = []
    size = 0
    for row in _FROM.each(connection, of=partition, start=offset, most=limit):
        found.append(Logged(*row))
        size += len(found[-1].value)
        if size >= READ_BYTES:
            break
    return found


def _trimmed(connection: Connection, partition: int, before: datetime) -> int:
    merged = select(func.coalesce(func.max(_FENCE.c.next_offset), 0)).where(
        _FENCE.c.log == NAME, _FENCE.c.partition == partition
    )
    old = (
        select(_INTAKE.c.log_offset)
        .where(
            _INTAKE.c.partition == partition,
            _INTAKE.c.appended_at < before,
            _INTAKE.c.log_offset < merged.scalar_subquery() - 1,
        )
        .order_by(_INTAKE.c.log_offset)
        .limit(TRIM_ROWS)
    )
    offsets = connection.execute(old).scalars().all()
    if not offsets:
        return 0
    of = _INTAKE.c.partition == partition
    connection.execute(_INTAKE.delete().where(of, _INTAKE.c.log_offset.between(offsets[0], offsets[-1])))
    return len(offsets)


def _unavailable(why: Exception) -> LogUnavailable:
    unavailable = LogUnavailable("the embedded log cannot be reached or written just now")
    unavailable.__cause__ = why
    return unavailable


def _now() -> datetime:
    return datetime.now(UTC)
