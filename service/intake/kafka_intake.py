"""How a process that has no writer takes entries in: into Kafka, else into the spool; and learns what became of them.

An append goes to Kafka, unless one of the borrower's entries waits in the spool, or Kafka did not take the last one: then into
the spool, which is durable as well. Only when neither can be reached is nothing taken.

What became of an entry the journal says. All who wait are looked up together, often at first and then less often, and nobody
longer than `FORGET_SECONDS`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

import structlog
from sqlalchemy import Connection

from service import records
from service.database import DatabaseUnavailable, Store
from service.intake import outbox as outbox_rows
from service.intake.durable import Waiting
from service.intake.envelope import KeyedHash, body_hash
from service.intake.kafka_messages import message_of, name_of
from service.intake.kafka_topics import Topic
from service.intake.log import Behind, LogBusy, LogChanged, Logged, LogUnavailable, Pending, Position, partition_of
from service.intake.outbox import Outbox, Sender
from service.writer import Outcome
from statemachine.stamps import Entry, Stamps

PATIENCE_SECONDS: Final = 5.0  # after Kafka took no entry, before one is held up by trying again
SOON_SECONDS: Final = 0.01  # between two looks while somebody came just now
LATER_SECONDS: Final = 0.05
JUST_NOW_SECONDS: Final = 0.25
FORGET_SECONDS: Final = 10.0
CATCH_UP_SECONDS: Final = 1.0
LOOK_AT: Final = 500

log = structlog.get_logger("service.kafka")


class Ends(Protocol):
    """What is asked of the log itself."""

    async def end_offset(self, partition: int) -> int: ...

    async def read(self, partition: int, offset: int, limit: int, wait_seconds: float) -> list[Logged]: ...


class KafkaIntake:
    """The appends of one process (`durable.Intake`)."""

    def __init__(
        self,
        database: Store,
        sender: Sender,
        outbox: Outbox,
        topic: Topic,
        ends: Ends,
        watch: JournalWatch,
        keyed_hash: KeyedHash,
    ) -> None:
        self._database = database
        self._sender = sender
        self._outbox = outbox
        self._topic = topic
        self.log_name = name_of(topic.name)
        self._ends = ends
        self._watch = watch
        self._keyed_hash = keyed_hash
        self._spools_until = 0.0
        self._loop = asyncio.get_running_loop()

    async def append(self, items: Sequence[Pending], entries: Sequence[Entry | None]) -> list[asyncio.Future[Outcome]]:
        await self.make_durable(items)
        waits = []
        for item, entry in zip(items, entries, strict=True):
            known = (entry.stamps.digest, body_hash(entry.body, self._keyed_hash)) if entry else (None, None)
            waits.append(self._watch.expect(item.tenant, item.event_id, *known))
        return waits

    def append_within(self, connection: Connection, items: Sequence[Pending]) -> list[Position]:
        """By the outbox: it is relayed in order once the transaction is committed."""
        return self._outbox.append_within(connection, items)

    def appended(self, positions: Sequence[Position]) -> None:
        self._outbox.appended(positions)

    async def make_durable(self, items: Sequence[Pending]) -> list[Position]:
        """Durable on return; an offset of -1 for what is in the spool. Raises `LogUnavailable`."""
        if not items:
            return []
        try:
            return await self._append(items)
        except DatabaseUnavailable as why:
            raise LogUnavailable("neither Kafka nor the spool takes entries just now") from why

    async def _append(self, items: Sequence[Pending]) -> list[Position]:
        borrowers = {(item.tenant, item.borrower_id) for item in items}
        behind = await self._database.read(lambda c: outbox_rows.holds(c, borrowers))
        if self.spools:
            behind = borrowers
        direct = [item for item in items if (item.tenant, item.borrower_id) not in behind]
        spooled = [item for item in items if (item.tenant, item.borrower_id) in behind]
        offsets: list[int] = []
        if direct:
            messages = [message_of(self._topic.name, self._topic.partitions, item) for item in direct]
            try:
                offsets = await self._sender.send(messages)
                self._spools_until = 0.0
            except LogBusy:
                raise  # the spool would only hold more of it in memory
            except LogUnavailable:
                self._spools_until = self._loop.time() + PATIENCE_SECONDS
                log.warning("kafka_takes_nothing", entries=len(direct))
                direct, spooled = [], list(items)
        if spooled:
            await self._outbox.spool(spooled)
        known = dict(zip(map(id, direct), offsets, strict=True))
        return [
            Position(partition_of(item.tenant, item.borrower_id, self._topic.partitions), known.get(id(item), -1))
            for item in items
        ]

    @property
    def spools(self) -> bool:
        """Whether Kafka is not tried just now: it took nothing a moment ago, and nothing has gone through since."""
        return self._loop.time() < self._spools_until or not self._outbox.reaches_kafka

    def health(self) -> dict[str, str]:
        """Without Kafka entries are taken all the same, so this process is ready; the metrics tell of it."""
        return {}

    # -- what is not merged yet

    async def is_behind(self, tenant: str, borrower_id: str) -> bool:
        """Whatever stands in the partition now may be this borrower's, so it is waited for; while Kafka does not say where
        the log ends, nobody knows."""
        until = self._loop.time() + CATCH_UP_SECONDS
        partition = partition_of(tenant, borrower_id, self._topic.partitions)
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                end = await self._ends.end_offset(partition)
        except (LogUnavailable, TimeoutError):
            return True

        def behind(connection: Connection) -> bool:
            if outbox_rows.holds(connection, {(tenant, borrower_id)}):
                return True
            return records.merged_up_to(connection, name_of(self._topic.name)).get(partition, 0) < end

        while await self._database.read(behind):
            if self._loop.time() > until:
                return True
            await asyncio.sleep(SOON_SECONDS)
        return False

    async def unmerged(self, tenant: str, now: datetime) -> tuple[int, float]:
        """Counted to the entry as long as few are left (`LOOK_AT`); of more, all that follow count as this tenant's. While
        Kafka does not answer, what waits in the spool."""
        count, oldest = await self._database.read(lambda c: outbox_rows.waiting(c, tenant))
        merged = await self._database.read(lambda c: records.merged_up_to(c, name_of(self._topic.name)))
        with contextlib.suppress(LogUnavailable, LogChanged):
            for partition in range(self._topic.partitions):
                start, end = merged.get(partition, 0), await self._ends.end_offset(partition)
                if end <= start:
                    continue
                entries = await self._ends.read(partition, start, LOOK_AT, 0)
                own = [entry.appended_at for entry in entries if entry.tenant == tenant]
                rest = end - (entries[-1].offset + 1) if entries else 0
                count += len(own) + max(0, rest)
                oldest = min([*own, *([oldest] if oldest else [])], default=None)
        return count, max(0.0, (now - oldest).total_seconds()) if oldest else 0.0

    async def waiting(self, tenant: str, behind: tuple[int, int], limit: int) -> Waiting:
        """Of each partition at most `LOOK_AT` entries are looked at in one go, of whichever tenants."""
        merged = await self._database.read(lambda c: records.merged_up_to(c, self.log_name))
        found: list[tuple[int, Logged]] = []
        for partition in range(max(behind[0], 0), self._topic.partitions):
            start, end = merged.get(partition, 0), await self._ends.end_offset(partition)
            start = max(start, behind[1] + 1) if partition == behind[0] else start
            entries = await self._ends.read(partition, start, LOOK_AT, 0) if end > start else []
            for entry in entries:
                found += [(partition, entry)] if entry.tenant == tenant else []
                if len(found) == limit:
                    return Waiting(tuple(found), (partition, entry.offset))
            if entries and entries[-1].offset + 1 < end:
                return Waiting(tuple(found), (partition, entries[-1].offset))
        return Waiting(tuple(found))

    async def lag(self, now: datetime) -> Mapping[int, Behind]:
        """What stands in the topic behind what is merged; what waits in the spool is told apart."""
        merged = await self._database.read(lambda c: records.merged_up_to(c, self.log_name))
        found: dict[int, Behind] = {}
        for partition in range(self._topic.partitions):
            start, end = merged.get(partition, 0), await self._ends.end_offset(partition)
            first = await self._ends.read(partition, start, 1, 0) if end > start else []
            age = (now - first[0].appended_at).total_seconds() if first else 0.0
            found[partition] = Behind(max(0, end - start), max(0.0, age))
        return found


# -- what became of it -------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Expected:
    """One delivery whose outcome somebody waits for. Without digest and hash (a retry) any entry of that id is it."""

    tenant: str
    event_id: str
    digest: str | None
    body_hash: str | None
    since: float
    future: asyncio.Future[Outcome] = field(repr=False)


class JournalWatch:
    """Where those wait who appended in this process, while a writer elsewhere merges."""

    def __init__(self, database: Store) -> None:
        self._database = database
        self._loop = asyncio.get_running_loop()
        self._expected: list[Expected] = []
        self._looking: asyncio.Task[None] | None = None

    def expect(
        self, tenant: str, event_id: str, digest: str | None = None, body_hash: str | None = None
    ) -> asyncio.Future[Outcome]:
        """Done when it is known. Whoever stops waiting cancels it, or just forgets it."""
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._expected.append(Expected(tenant, event_id, digest, body_hash, self._loop.time(), future))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        return future

    async def _look(self) -> None:
        while self._expected:
            now = self._loop.time()
            newest = max(one.since for one in self._expected)
            await asyncio.sleep(SOON_SECONDS if now - newest < JUST_NOW_SECONDS else LATER_SECONDS)
            try:
                waiting = list(self._expected)
                told = await self._database.read(lambda c, w=waiting: _told(c, w))  # type: ignore[misc]
            except DatabaseUnavailable:
                told = []
            merged: set[tuple[str, str]] = set()
            for one, first in told:
                if not one.future.done():
                    one.future.set_result(_outcome(one, first, merged))
            old = self._loop.time() - FORGET_SECONDS
            self._expected = [one for one in self._expected if not one.future.done() and one.since > old]


def _told(connection: Connection, waiting: Sequence[Expected]) -> list[tuple[Expected, records.Merged]]:
    """Those that are merged with all that follows from them, each with the entry that has its id."""
    ids: dict[str, set[str]] = defaultdict(set)
    for one in waiting:
        ids[one.tenant].add(one.event_id)
    merged = {tenant: records.merged_entries(connection, tenant, sorted(of)) for tenant, of in ids.items()}
    found = [(one, merged[one.tenant][one.event_id]) for one in waiting if one.event_id in merged[one.tenant]]
    return [
        (one, first) for one, first in found if not outbox_rows.is_awaited(connection, one.tenant, one.event_id)
    ]  # fmt: skip


def _outcome(one: Expected, first: records.Merged, merged: set[tuple[str, str]]) -> Outcome:
    """Of several that cannot be told apart, one was merged."""
    stamps = Stamps.model_validate_json(first.stamps)
    name = one.tenant, one.event_id
    if one.digest in (None, stamps.digest) and name not in merged:
        merged.add(name)
        return Outcome("merged", one.event_id, first.borrower_id, first.record_version, stamps.warnings)
    if one.body_hash in (None, first.body_hash):
        return Outcome("duplicate", one.event_id, first.borrower_id, first.record_version, stamps.warnings)
    return Outcome("conflict", one.event_id, first.borrower_id, None)
