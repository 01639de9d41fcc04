"""The intake log on a real broker: the contract that the table keeps too, and what only Kafka has."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, RecordsToDelete
from aiokafka.structs import TopicPartition

from service.intake import kafka_log as kafka_log_module
from service.intake import kafka_producer, kafka_topics
from service.intake.kafka_log import KafkaLog
from service.intake.kafka_messages import NO_TENANT, message_of
from service.intake.kafka_producer import KafkaProducer
from service.intake.kafka_topics import Cluster, Topic
from service.intake.log import LogChanged, LogStuck, LogUnavailable
from tests.limits import PATIENCE_SECONDS
from tests.service.test_table_log import IntakeLogContract, all_entries, everything, item
from tests.together import broker

pytestmark = [pytest.mark.process, pytest.mark.timeout(900)]

SETTLED_SECONDS = float(PATIENCE_SECONDS)
NEVER_SECONDS = 30.0
"""The client by itself waits for 40 seconds, or for ever."""


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[broker.Brokers]:
    with broker.running(tmp_path_factory.mktemp("kafka"), ours=True, wire=True) as running:
        yield running


@pytest.fixture
def real(brokers: broker.Brokers) -> None:
    broker.needs_real(brokers, "second members of a group, and no asking or changing of topics")


needs_real = pytest.mark.usefixtures("real")


@pytest.fixture
def cluster(brokers: broker.Brokers) -> Cluster:
    return Cluster(tuple(brokers.bootstrap.split(",")))


@pytest.fixture
async def topic(cluster: Cluster, brokers: broker.Brokers) -> Topic:
    """A new one of three partitions."""
    made = Topic(f"{uuid.uuid4().hex[:8]}.intake", 3)
    if brokers.make is not None:
        brokers.make(made.name, made.partitions)
        return made
    await kafka_topics.make(cluster, [made], copies=None, retention_days=7)
    return made


@pytest.fixture
async def open_log(cluster: Cluster, topic: Topic) -> AsyncIterator[Callable[[], Any]]:
    async with AsyncExitStack() as stack:

        async def open_one(**how: Any) -> KafkaLog:
            log = await KafkaLog.open(cluster, topic, **how)
            stack.push_async_callback(log.close)
            return log

        yield open_one


class TestKafkaLog(IntakeLogContract):
    """The hole is filled by the fixture above."""

    @pytest.fixture
    def open_log(self, open_log: Callable[[], Any]) -> Callable[[], Any]:
        return open_log


class Hand:
    """A holder that notes what it has."""

    def __init__(self) -> None:
        self.has: set[int] = set()
        self.told: list[tuple[str, list[int]]] = []

    def assigned(self, partitions: Collection[int]) -> None:
        self.has |= set(partitions)
        self.told.append(("assigned", list(partitions)))

    async def revoked(self, partitions: Collection[int]) -> None:
        self.has -= set(partitions)
        self.told.append(("revoked", list(partitions)))


class Member:
    """One process of the group, as far as the log knows it."""

    def __init__(self, log: KafkaLog) -> None:
        self.log = log
        self.hand = Hand()
        self.until = asyncio.Event()
        self.running = asyncio.ensure_future(log.share(self.hand, self.until))

    async def leaves(self) -> None:
        self.until.set()
        await self.running
        await self.log.leave()


async def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SETTLED_SECONDS
    while not true():
        assert time.monotonic() < end, "it did not come to that"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def admin(cluster: Cluster) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(**cluster.client())
    await client.start()
    try:
        yield client
    finally:
        await client.close()


# -- the group ---------------------------------------------------------------------------------------------------------


@needs_real
async def test_members_share_the_partitions_as_they_come_and_go(open_log: Callable[..., Any]) -> None:
    one = Member(await open_log())
    await until(lambda: one.hand.has == {0, 1, 2})
    two = Member(await open_log())
    await until(lambda: len(one.hand.has) + len(two.hand.has) == 3 and len(two.hand.has) > 0)
    assert one.hand.has.isdisjoint(two.hand.has)
    theirs = min(two.hand.has)
    with pytest.raises(LogUnavailable, match="not this process's"):
        await one.log.read(theirs, 0, 10, 0.1)
    await two.leaves()
    await until(lambda: one.hand.has == {0, 1, 2})
    await one.leaves()


@needs_real
async def test_a_member_reads_from_where_it_asks_and_not_from_where_the_group_was(open_log: Callable[..., Any]) -> None:
    one = Member(await open_log())
    await until(lambda: one.hand.has == {0, 1, 2})
    positions = await one.log.append([item("B-1", f"e-{n}") for n in range(10)])
    partition = positions[0].partition
    assert len(await one.log.read(partition, 0, 100, 5.0)) == 10
    one.log.merged(partition, 10)
    await one.log._tell_kafka()
    two = Member(await open_log())
    await until(lambda: len(one.hand.has) + len(two.hand.has) == 3 and len(two.hand.has) > 0)
    holder = one if partition in one.hand.has else two
    for start in (3, 0, 7):
        read = await holder.log.read(partition, start, 100, 5.0)
        assert [e.event_id for e in read] == [f"e-{n}" for n in range(start, 10)]
    await one.leaves()
    await until(lambda: two.hand.has == {0, 1, 2})
    assert [e.offset for e in await two.log.read(partition, 4, 2, 5.0)] == [4, 5]
    await two.leaves()


@needs_real
async def test_nothing_is_lost_to_a_reader_that_left_over_a_change_of_members(open_log: Callable[..., Any]) -> None:
    """A fetch that a reader left behind must not take away what the next reader waits for."""
    one = Member(await open_log())
    await until(lambda: one.hand.has == {0, 1, 2})
    seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
    stop = asyncio.Event()

    async def follow(partition: int) -> None:
        offset = 0
        while not stop.is_set():
            with suppress(LogUnavailable):
                for entry in await one.log.read(partition, offset, 7, 0.3):
                    assert entry.offset == offset
                    seen[partition].append(entry.offset)
                    offset = entry.offset + 1
            await asyncio.sleep(0.01)

    readers = [asyncio.ensure_future(follow(p)) for p in range(3)]
    positions = []
    for round_ in range(3):
        two = Member(await open_log())
        for n in range(40):
            positions += await one.log.append([item(f"B-{n}", f"e-{round_}-{n}")])
        await until(lambda: bool(two.hand.has))  # noqa: B023
        await two.leaves()
        await until(lambda: one.hand.has == {0, 1, 2})
    await until(lambda: sum(map(len, seen.values())) == len(positions))
    stop.set()
    one.log.interrupt()
    await asyncio.gather(*readers)
    assert all(offsets == list(range(len(offsets))) for offsets in seen.values())
    await one.leaves()


@needs_real
async def test_what_is_merged_is_told_to_the_group(
    open_log: Callable[..., Any], cluster: Cluster, topic: Topic
) -> None:
    one = Member(await open_log())
    await until(lambda: one.hand.has == {0, 1, 2})
    await one.log.append([item("B-1", "e-1")])
    partition = one.log.partition_of("acme", "B-1")
    one.log.merged(partition, 1)
    await one.log._tell_kafka()
    async with admin(cluster) as asked:
        told = await asked.list_consumer_group_offsets(f"{topic.name}.writers")
    assert {place.partition: at.offset for place, at in told.items()} == {partition: 1}
    await one.leaves()


@needs_real
async def test_more_partitions_stop_every_member_loudly(
    open_log: Callable[..., Any], cluster: Cluster, topic: Topic
) -> None:
    log = await open_log()
    async with admin(cluster) as asked:
        await asked.create_partitions({topic.name: NewPartitions(4)})
    one = Member(log)
    with pytest.raises(LogChanged, match=r"more partitions than 3|4 partitions, KAFKA_PARTITIONS says 3"):
        await asyncio.wait_for(one.running, SETTLED_SECONDS)
    with pytest.raises(LogChanged, match="4 partitions, KAFKA_PARTITIONS says 3"):
        await open_log()


async def test_a_client_that_has_died_inside_is_noticed(
    open_log: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_log_module, "WATCH_SECONDS", 0.05)
    one = Member(await open_log())
    await until(lambda: one.hand.has == {0, 1, 2})
    one.log._consumer._fetcher._fetch_task.cancel()
    with pytest.raises(LogStuck, match="ended"):
        await asyncio.wait_for(one.running, SETTLED_SECONDS)


async def test_entries_that_are_there_and_do_not_come_are_noticed(
    open_log: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_log_module, "STUCK_SECONDS", 0.2)
    log = await open_log()
    [position] = await log.append([item("B-1", "e-1")])
    assert await log.read(position.partition, 0, 1, 5.0)
    # The background task of the client dies: it says nothing of it, and nothing comes any more (aiokafka #983).
    log._consumer._fetcher._fetch_task.cancel()
    await log.append([item("B-1", "e-2")])
    with pytest.raises(LogStuck, match="none comes"):
        await log.read(position.partition, 1, 1, 0.1)


# -- what is not as it was ---------------------------------------------------------------------------------------------


@needs_real
async def test_offsets_that_are_gone_are_not_passed_over(
    open_log: Callable[..., Any], cluster: Cluster, topic: Topic
) -> None:
    log = await open_log()
    positions = await log.append([item("B-1", f"e-{n}") for n in range(6)])
    partition = positions[0].partition
    assert await log.start_offset(partition) == 0
    async with admin(cluster) as asked:
        await asked.delete_records({TopicPartition(topic.name, partition): RecordsToDelete(4)})
    assert await log.start_offset(partition) == 4
    with pytest.raises(LogChanged, match="nothing at offset 2"):
        await log.read(partition, 2, 10, 5.0)
    assert await everything(log, partition, 4) == [(4, "e-4"), (5, "e-5")]


@needs_real
async def test_another_topic_is_another_log(open_log: Callable[..., Any], cluster: Cluster, topic: Topic) -> None:
    log = await open_log()
    assert log.identity().endswith(f":{topic.name}:crc32")
    missing = Topic(f"{topic.name}-2", 3)
    with pytest.raises(LogChanged, match="migrate"):
        await KafkaLog.open(cluster, missing)
    assert await kafka_topics.make(cluster, [topic, missing], copies=None, retention_days=7) == [missing.name]
    other = await KafkaLog.open(cluster, missing)
    assert other.identity() != log.identity()
    assert other.identity().split(":")[:2] == log.identity().split(":")[:2], "in one cluster"
    await other.close()


async def test_what_another_producer_wrote_is_given_as_it_is(
    open_log: Callable[..., Any], cluster: Cluster, topic: Topic
) -> None:
    log = await open_log()
    async with AIOKafkaProducer(**cluster.client()) as other:
        for key, value in [
            (None, b"x"),
            (b"\xff\xfe", None),
            (b"No tenant|B-1", b"{}"),
            (b"acme|B-9", b""),
            (b"acme|" + b"B" * 5000, b"{}"),
        ]:
            await other.send_and_wait(topic.name, value, key=key, partition=1, timestamp_ms=0)
    given = await all_entries(log, 1)
    assert [(e.tenant, e.borrower_id, e.value) for e in given] == [
        (NO_TENANT, "", b"x"),
        (NO_TENANT, "\N{REPLACEMENT CHARACTER}" * 2, b""),
        (NO_TENANT, "No tenant|B-1", b"{}"),
        ("acme", "B-9", b""),
        ("acme", "B" * 200, b"{}"),
    ]
    assert [e.event_id for e in given] == [f"{topic.name}/1/{n}" for n in range(5)]


async def test_an_entry_stands_there_as_a_cloud_event_under_its_borrowers_key(
    open_log: Callable[..., Any], cluster: Cluster, topic: Topic
) -> None:
    log = await open_log()
    [position] = await log.append([item("B-1", "e-1", b'{"specversion": "1.0"}')])
    async with AIOKafkaConsumer(**cluster.client(), auto_offset_reset="none") as consumer:
        place = TopicPartition(topic.name, position.partition)
        consumer.assign([place])
        consumer.seek(place, position.offset)
        record = await asyncio.wait_for(consumer.getone(), SETTLED_SECONDS)
    assert (record.key, record.value) == (b"acme|B-1", b'{"specversion": "1.0"}')
    assert dict(record.headers)["content-type"].startswith(b"application/cloudevents+json")


# -- brokers that are not there ----------------------------------------------------------------------------------------


async def test_a_missing_broker_is_said_in_time_and_never_waited_for_for_ever(
    cluster: Cluster, brokers: broker.Brokers, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_producer, "SEND_SECONDS", 1.0)
    monkeypatch.setattr(kafka_log_module, "ASK_SECONDS", 1.0)
    log = await KafkaLog.open(cluster, topic)
    [before] = await log.append([item("B-1", "before")])
    await asyncio.to_thread(brokers.pause, 1)
    try:
        began = time.monotonic()
        answers = await asyncio.gather(
            *(log.append([item("B-1", f"lost-{n}")]) for n in range(5)), return_exceptions=True
        )
        assert [type(answer) for answer in answers] == [LogUnavailable] * 5
        with pytest.raises(LogUnavailable):
            await log.end_offset(0)
        assert time.monotonic() - began < NEVER_SECONDS
        assert log._producer.rebuilt == 1
    finally:
        await asyncio.to_thread(brokers.resume, 1)
    end = time.monotonic() + SETTLED_SECONDS
    while True:
        try:
            [after] = await log.append([item("B-1", "after")])
            break
        except LogUnavailable:
            assert time.monotonic() < end
    read = [e for _, e in await everything(log, before.partition)]
    assert [e for e in read if not e.startswith("lost")] == ["before", "after"]
    assert after.offset > before.offset
    await log.close()


async def test_a_producer_that_never_found_its_broker_ends_in_time() -> None:
    producer = KafkaProducer(Cluster(("127.0.0.1:9",)))
    with pytest.raises(LogUnavailable):
        await producer.send([message_of("t", 3, item("B-1", "e-1"))])
    began = time.monotonic()
    await producer.close()
    assert time.monotonic() - began < NEVER_SECONDS
    with pytest.raises(LogUnavailable):
        await producer.send([])


@needs_real
async def test_a_topic_is_made_once_with_what_it_needs_and_checked_after_that(cluster: Cluster) -> None:
    prefix = uuid.uuid4().hex[:8]
    wanted = [kafka_topics.intake_topic(prefix, 2), kafka_topics.changes_topic(prefix, 2)]
    assert await kafka_topics.make(cluster, wanted, copies=None, retention_days=7) == [t.name for t in wanted]
    assert await kafka_topics.make(cluster, wanted, copies=None, retention_days=7) == []
    with pytest.raises(LogChanged, match="has 2 partitions"):
        await kafka_topics.make(cluster, [Topic(wanted[0].name, 3)], copies=None, retention_days=7)
    with pytest.raises(LogUnavailable, match="error 38"):  # three copies on one broker
        await kafka_topics.make(cluster, [Topic(f"{prefix}.none", 2)], copies=3, retention_days=7)
