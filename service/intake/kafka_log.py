"""The intake log as a Kafka topic: it orders and carries; what is merged, and up to where, the database says.

One client reads, in one of two ways. *Alone* (no group): every partition may be read; for looking, and for tests. *Shared*:
as a member of the one group of writers, of which each has some partitions. Either way `read` names the offset it wants, and
the client is set to it; what Kafka remembers of the group's offsets is a hint for people and is never read back.

Theory of operation, mostly against aiokafka 0.14:

- A partition that is assigned is paused, and given a position, before anything is awaited: else entries come that nobody
  asked for, from wherever the group was.
- A `getmany` is never cancelled (its count of fetches would never fall again). Each is short and runs as a task of its own; a
  reader that leaves earlier leaves it to run, and the next reader waits for it and throws away what it brought.
- A reader that waited in vain asks where the log ends. Entries that are there and do not come for `STUCK_SECONDS` are a client
  that has died inside: `LogStuck`, and the process has to be started anew. So are a background task that has ended, and a
  rebalance that never does.
- What has not been read yet stays in the client, at most `FETCH_BYTES` a partition, and nothing more is fetched: that is the
  back-pressure.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition  # type: ignore[import-untyped]
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # type: ignore[import-untyped]
from aiokafka.errors import (  # type: ignore[import-untyped]
    ConsumerStoppedError,
    CorruptRecordException,
    IllegalStateError,
    KafkaError,
    OffsetOutOfRangeError,
    RecordTooLargeError,
)

from service.intake.kafka_client import check_alive, hold_back, options, stopped
from service.intake.kafka_messages import KIND, logged, message_of, name_of
from service.intake.kafka_producer import KafkaProducer
from service.intake.kafka_topics import Cluster, Topic, found
from service.intake.log import (
    PARTITIONER,
    Holder,
    LogChanged,
    Logged,
    LogStuck,
    LogUnavailable,
    Pending,
    Position,
    partition_of,
)

SLICE_SECONDS: Final = 0.5  # the longest of one `getmany`, so the longest that a new reader waits for an old one's
ASK_SECONDS: Final = 5.0  # for one answer about offsets, or to a commit
STUCK_SECONDS: Final = 30.0
WATCH_SECONDS: Final = 2.0
HINT_SECONDS: Final = 5.0
REBALANCE_SECONDS: Final = 30.0
POLL_LIMIT_SECONDS: Final = 600.0  # the client's own; ours is STUCK_SECONDS
SESSION_SECONDS: Final = 30.0
UNKNOWN: Final = ""
"""A cluster's id that is asked for when the log is shared; who only reads needs none."""


log = structlog.get_logger("service.kafka")


@dataclass(slots=True)
class _Slot:
    """One partition as this process reads it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    next_offset: int | None = None
    """Where the client is; None when that is not certain."""
    fetch: asyncio.Task[Any] | None = None
    waiting: set[asyncio.Future[None]] = field(default_factory=set)
    """Readers that can be interrupted."""

    def interrupt(self) -> None:
        for reader in self.waiting:
            reader.cancel()


class KafkaLog:
    """Open it with `open`, and `close` it. One event loop's."""

    others_may_write = True
    anew = "Begin under another KAFKA_TOPIC_PREFIX: what is merged stays, and senders send again what is not in the journal"

    def __init__(
        self,
        cluster: Cluster,
        topic: Topic,
        cluster_id: str,
        producer: KafkaProducer,
        session_seconds: float = SESSION_SECONDS,
    ) -> None:
        self.partitions = topic.partitions
        self.topic = topic.name
        self.name = name_of(topic.name)
        self._cluster = cluster
        self._cluster_id = cluster_id
        self._producer = producer
        self._session_seconds = session_seconds
        self._consumer: Any = None
        self._connecting = asyncio.Lock()
        self._slots = [_Slot() for _ in range(self.partitions)]
        self._held: set[int] = set()
        self._hints: dict[int, int] = {}
        self._fault: Exception | None = None
        self._unassigned_since: float | None = None
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def open(cls, cluster: Cluster, topic: Topic, *, session_seconds: float = SESSION_SECONDS) -> Self:
        """Looks at the topic first. Raises `LogUnavailable`; `LogChanged` when it is missing or of another shape."""
        there = await found(cluster, topic)
        return cls(cluster, topic, there.cluster_id, KafkaProducer(cluster), session_seconds)

    async def close(self) -> None:
        await self.leave()
        await self._producer.close()

    def identity(self) -> str:
        return f"{KIND}:{self._cluster_id}:{self.topic}:{PARTITIONER}"

    def partition_of(self, tenant: str, borrower_id: str) -> int:
        return partition_of(tenant, borrower_id, self.partitions)

    # -- appending

    async def append(self, items: Sequence[Pending]) -> list[Position]:
        if not items:
            return []
        messages = [message_of(self.topic, self.partitions, item) for item in items]
        offsets = await self._producer.send(messages)
        return [Position(m.partition, offset) for m, offset in zip(messages, offsets, strict=True)]

    # -- reading

    async def read(self, partition: int, offset: int, limit: int, wait_seconds: float) -> list[Logged]:
        """As `IntakeLog.read`; also raises `LogStuck`, and `LogChanged` when the log has nothing at that offset any more."""
        until = self._loop.time() + wait_seconds
        stuck_at: float | None = None
        slot = self._slots[partition]
        interrupted: asyncio.Future[None] = self._loop.create_future()
        slot.waiting.add(interrupted)
        try:
            await self._connected()
            async with slot.lock:
                while not interrupted.cancelled():
                    left = until - self._loop.time()
                    if left <= 0:
                        if await self.end_offset(partition) <= offset:
                            return []
                        stuck_at = stuck_at or self._loop.time() + STUCK_SECONDS
                        if self._loop.time() > stuck_at:
                            raise LogStuck(f"partition {partition} has entries from {offset} on, and none comes")
                    seconds = min(SLICE_SECONDS, left) if left > 0 else SLICE_SECONDS
                    if entries := await self._fetched(slot, partition, offset, limit, seconds, interrupted):
                        return entries
                return []
        finally:
            slot.waiting.discard(interrupted)

    async def _fetched(
        self,
        slot: _Slot,
        partition: int,
        offset: int,
        limit: int,
        seconds: float,
        interrupted: asyncio.Future[None],
    ) -> list[Logged]:
        """What one short fetch brings; nothing when it is interrupted, and then it is left to run."""
        if slot.fetch is not None:  # of a reader that left: what it brings is no one's
            await asyncio.wait([slot.fetch, interrupted], return_when=asyncio.FIRST_COMPLETED)
            if not slot.fetch.done():
                return []
            slot.fetch, slot.next_offset = None, None
        place = self._place(partition)
        if slot.next_offset != offset:
            self._consumer.seek(place, offset)
            slot.next_offset = offset
        self._consumer.resume(place)
        slot.fetch = asyncio.ensure_future(
            self._consumer.getmany(place, timeout_ms=int(seconds * 1000), max_records=limit)
        )
        slot.fetch.add_done_callback(_seen)
        await asyncio.wait([slot.fetch, interrupted], return_when=asyncio.FIRST_COMPLETED)
        if not slot.fetch.done():
            return []
        fetch, slot.fetch, slot.next_offset = slot.fetch, None, None
        entries = self._brought(fetch, partition, offset)
        slot.next_offset = entries[-1].offset + 1 if entries else offset
        return entries

    def _place(self, partition: int) -> TopicPartition:
        """Raises `LogUnavailable` for a partition that this process does not have, and what has stopped the client."""
        if self._fault is not None:
            raise self._fault
        if partition not in self._held:
            raise LogUnavailable(f"partition {partition} is not this process's now")
        return TopicPartition(self.topic, partition)

    def _brought(self, fetch: asyncio.Task[Any], partition: int, offset: int) -> list[Logged]:
        try:
            brought = fetch.result()
        except OffsetOutOfRangeError as why:
            raise LogChanged(f"partition {partition} of the topic has nothing at offset {offset} any more") from why
        except (CorruptRecordException, RecordTooLargeError) as why:
            raise LogChanged(f"partition {partition} of the topic cannot be read at offset {offset}") from why
        except (ConsumerStoppedError, IllegalStateError) as why:
            raise LogUnavailable("the client of the log has stopped") from why
        except KafkaError as why:
            raise LogStuck(f"the client of the log failed: {type(why).__name__}") from why
        return [logged(record) for records in brought.values() for record in records]

    async def end_offset(self, partition: int) -> int:
        return await self._offset(partition, "end_offsets")

    async def start_offset(self, partition: int) -> int:
        return await self._offset(partition, "beginning_offsets")

    async def _offset(self, partition: int, which: str) -> int:
        await self._connected()
        place = TopicPartition(self.topic, partition)
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return int((await getattr(self._consumer, which)([place]))[place])
        except (KafkaError, ConsumerStoppedError, OSError, KeyError) as why:
            raise LogUnavailable("Kafka does not say where its log begins and ends just now") from why

    def interrupt(self) -> None:
        for slot in self._slots:
            slot.interrupt()

    # -- alone

    async def _connected(self) -> None:
        """A client that may read every partition, unless this process is a member of the group already."""
        if self._consumer is not None:
            return
        async with self._connecting:
            if self._consumer is not None:
                return
            consumer = AIOKafkaConsumer(**options(self._cluster))
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    await consumer.start()
            except BaseException as why:
                await stopped(consumer)
                if not isinstance(why, KafkaError | OSError):
                    raise
                raise LogUnavailable("Kafka cannot be reached") from why
            places = [TopicPartition(self.topic, partition) for partition in range(self.partitions)]
            consumer.assign(places)
            hold_back(consumer, places)
            self._held = set(range(self.partitions))
            self._consumer = consumer

    # -- shared

    async def share(self, holder: Holder, until: asyncio.Event) -> None:
        """As `IntakeLog.share`. Instead of reading alone: a log that was read before it is shared is a fault of ours."""
        assert self._consumer is None, "a log is read alone or shared"
        self._cluster_id = (await found(self._cluster, Topic(self.topic, self.partitions))).cluster_id
        self._consumer = AIOKafkaConsumer(
            **options(self._cluster),
            group_id=f"{self.topic}.writers",
            partition_assignment_strategy=[RoundRobinPartitionAssignor],  # several: as many rounds of joining
            session_timeout_ms=int(self._session_seconds * 1000),
            heartbeat_interval_ms=int(self._session_seconds * 100),
            rebalance_timeout_ms=int(REBALANCE_SECONDS * 1000),
            max_poll_interval_ms=int(POLL_LIMIT_SECONDS * 1000),
        )
        self._consumer.subscribe([self.topic], listener=_Member(self, holder))
        self._unassigned_since = self._loop.time()
        try:
            async with asyncio.timeout(self._session_seconds + REBALANCE_SECONDS):
                await self._consumer.start()
        except (KafkaError, OSError) as why:
            raise LogUnavailable("the group of writers cannot be joined") from why
        told = self._loop.time()
        while not until.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WATCH_SECONDS):
                    await until.wait()
            await self._watch()
            if self._loop.time() > told + HINT_SECONDS:
                told = self._loop.time()
                await self._tell_kafka()

    async def leave(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is None:
            return
        self.interrupt()
        fetches = [slot.fetch for slot in self._slots if slot.fetch is not None]
        if fetches:
            await asyncio.wait(fetches, timeout=SLICE_SECONDS * 2)
        for slot in self._slots:
            slot.fetch, slot.next_offset = None, None
        self._held.clear()
        await stopped(consumer)

    def merged(self, partition: int, next_offset: int) -> None:
        self._hints[partition] = next_offset

    async def _tell_kafka(self) -> None:
        """The group's offsets, for those who look at its lag. Whether it works makes no difference to us."""
        hints = {TopicPartition(self.topic, p): n for p, n in self._hints.items() if p in self._held}
        self._hints.clear()
        if not hints:
            return
        try:
            async with asyncio.timeout(ASK_SECONDS):
                await self._consumer.commit(hints)
        except (KafkaError, IllegalStateError, OSError) as why:
            log.debug("kafka_offsets_not_told", why=type(why).__name__)

    def taken(self, partitions: Collection[int], holder: Holder) -> None:
        """The group gave these to us; they are held back already."""
        self._unassigned_since = None
        if any(partition >= self.partitions for partition in partitions):
            raise LogChanged(
                f"topic {self.topic} has got more partitions than {self.partitions}: a borrower's entries would go on in"
                " another one. Begin under another KAFKA_TOPIC_PREFIX; a count is never changed"
            )
        self._held = set(partitions)
        for partition in partitions:
            self._slots[partition].next_offset = None
        log.info("kafka_partitions_assigned", partitions=sorted(partitions))
        holder.assigned(sorted(partitions))

    async def given_up(self, partitions: Collection[int], holder: Holder) -> None:
        """The group takes these back, or has taken them already."""
        self._unassigned_since = self._loop.time()
        self._held -= set(partitions)
        for partition in partitions:
            if partition < self.partitions:
                self._slots[partition].interrupt()
        await holder.revoked(sorted(partitions))

    def failed(self, why: Exception) -> None:
        """The client swallows what its callbacks raise: it is raised by the next look instead."""
        self._fault = self._fault or why
        self.interrupt()

    async def _watch(self) -> None:
        """Raises what is wrong with the client, of whom no error is to be expected when it has died."""
        if self._fault is not None:
            raise self._fault
        check_alive(self._consumer)
        since = self._unassigned_since
        limit = self._session_seconds + 2 * REBALANCE_SECONDS
        if since is not None and self._loop.time() > since + limit:
            with contextlib.suppress(LogUnavailable):  # while no broker answers, it is the world that stands still
                await self.end_offset(0)
                raise LogStuck("the group of writers has been settling for too long")


class _Member(ConsumerRebalanceListener):  # type: ignore[misc]
    """What the group tells us. The first statement on assignment holds the partitions back, before anything is awaited."""

    def __init__(self, log_: KafkaLog, holder: Holder) -> None:
        self._log = log_
        self._holder = holder

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        hold_back(self._log._consumer, assigned)
        try:
            self._log.taken({place.partition for place in assigned}, self._holder)
        except Exception as why:  # noqa: BLE001 (the client would log it and go on)
            self._log.failed(why)

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        try:
            await self._log.given_up({place.partition for place in revoked}, self._holder)
        except Exception as why:  # noqa: BLE001 (the client would log it and go on)
            self._log.failed(why)


def _seen(fetch: asyncio.Task[Any]) -> None:
    if not fetch.cancelled():
        fetch.exception()
