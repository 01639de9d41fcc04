"""The writer's whole cycle, and the least that could do as much: Kafka in, PostgreSQL committed, batch after batch.

Both read one partition of a real topic and keep their rows in tables with the same columns and indexes. The bare one locks and
reads the records of its batch, decodes them and the entries, writes them back in one statement, copies the journal's rows and
moves its fence; what a record means it does not know. Neither announces what it saved to Kafka within its cycle.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from service.intake import envelope
from service.intake.kafka_log import KafkaLog
from service.intake.kafka_messages import message_of
from service.intake.kafka_producer import KafkaProducer
from service.intake.kafka_topics import Cluster, Topic, make
from service.intake.log import Pending
from service.intake.outbox import CHANGES, INTAKE, Outbox
from service.policy import Policies
from service.postgres import PostgresDatabase, migrate
from service.secrets import Secrets
from service.writer import Fence, Outcomes, Writer
from service.writer.limits import Refusals
from statemachine.entries import Summary
from statemachine.stamps import Entry, Stamps

TENANT = "acme"
PEOPLE = 400
HISTORY = 10
"""So many entries of each are merged before anything is measured; then a record is some 4 KB."""
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECRETS = Secrets([b"k" * 32])
WORDS = "We spoke about the instalment and the borrower asked for a few more days because of a wedding. " * 6


def summary(number: int) -> Pending:
    """One of a borrower's conversations; every third proposes a payment."""
    borrower, told = f"B-{number % PEOPLE}", number // PEOPLE
    ended = NOON + timedelta(minutes=told)
    terms = {"amount": str(1_000 + told), "currency": "INR", "status": "proposed", "due_date": "2026-12-05"}
    body = Summary.model_validate(
        {
            "channel": "voice", "conversation_id": f"c-{number}", "ended_at": ended, "outcome": "connected",
            "borrower_id": borrower, "loan_id": f"LN-{number % PEOPLE}", "summary": WORDS,
            **({"commitment": terms} if told % 3 == 0 else {}),
        }
    )  # fmt: skip
    stamps = Stamps(borrower_id=borrower, digest="", effective_at=ended, received_at=ended, time_zone="Asia/Kolkata")
    digest = envelope.entry_digest(body, stamps, SECRETS.keyed_hash)
    entry = Entry(body, stamps.changed(digest=digest))
    return Pending(TENANT, borrower, entry.event_id, envelope.to_bytes(TENANT, entry))


@dataclass
class Taken:
    """What a cycle took for one entry."""

    wall_us: float
    cpu_us: float
    """Of this process and of its connections' own processes of PostgreSQL, where these are on this machine."""
    own_us: float
    """Of this process alone."""


async def timed(entries: int, work: Coroutine[Any, Any, None], servers: Sequence[int]) -> Taken:
    """`servers`: the processes of PostgreSQL that work for it."""
    began, cpu, theirs = time.perf_counter(), time.process_time(), sum(map(cpu_seconds, servers))
    await work
    wall, own = time.perf_counter() - began, time.process_time() - cpu
    return Taken(*(t / entries * 1e6 for t in (wall, own + sum(map(cpu_seconds, servers)) - theirs, own)))


def cpu_seconds(pid: int) -> float:
    """Of a process of this machine, else 0."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Ours:
    """The service's own writer over one partition, led by hand, so that batches have the size that is asked for."""

    def __init__(self, store: PostgresDatabase, log: KafkaLog, producer: KafkaProducer, topic: Topic) -> None:
        self.store, self.log, self.producer, self.topic = store, log, producer, topic
        outbox = Outbox(store, producer, {INTAKE: topic, CHANGES: topic}, "bench", lambda: datetime.now(UTC))
        self.writer = Writer(
            store, log, SECRETS, Policies(), Outcomes(), lambda: datetime.now(UTC), internal=outbox, owner="bench"
        )
        self.writer._refusals[0] = Refusals()
        self.fence: Fence

    async def take(self) -> None:
        self.fence = await self.writer._take(0)

    async def servers(self) -> list[int]:
        pids = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'borrower-memory'"
        return list(await self.store.read(lambda c: c.exec_driver_sql(pids).scalars().all()))

    async def merge(self, entries: int, batch: int) -> None:
        """The next so many entries."""
        end = self.fence.next_offset + entries
        while self.fence.next_offset < end:
            await self.step(min(batch, end - self.fence.next_offset))

    async def step(self, most: int) -> int:
        """What is there, or the first that comes; how many."""
        before = self.fence.next_offset
        logged = await self.log.read(0, before, most, 5.0)
        if logged:
            await self.writer._merge(self.fence, logged)
        return self.fence.next_offset - before


class Bare:
    """The same bytes from the same topic into the same kinds of rows."""

    ADVANCE = "UPDATE bare_fence SET next_offset = $1 WHERE next_offset = $2"
    READ = "SELECT borrower_id, version, record FROM bare_borrower WHERE tenant = 'acme' AND borrower_id = ANY($1) FOR UPDATE"
    UPSERT = """
        INSERT INTO bare_borrower (tenant, borrower_id, version, record, content_hash, provisional, time_zone, log, partition,
            log_offset)
        SELECT 'acme', id, version, record, 'h', false, 'UTC', 'bare', 0, 0
        FROM unnest($1::text[], $2::int[], $3::bytea[]) AS t(id, version, record)
        ON CONFLICT (tenant, borrower_id) DO UPDATE SET version = excluded.version, record = excluded.record
    """
    JOURNAL = (
        "tenant", "event_id", "log", "partition", "log_offset", "epoch", "borrower_id", "type", "channel", "conversation_id",
        "revision", "loan_id", "cycle_id", "effective_at", "received_at", "body", "stamps", "body_hash", "record_version",
    )  # fmt: skip

    def __init__(self, connection: Any, consumer: AIOKafkaConsumer, place: TopicPartition) -> None:
        self._connection, self._consumer, self._place = connection, consumer, place
        self._next = 0

    async def servers(self) -> list[int]:
        return [await self._connection.fetchval("SELECT pg_backend_pid()")]

    async def begin(self, at: int) -> None:
        """From this offset on, with the records that the service has made up to there."""
        self._next = at
        run = self._connection.execute
        await run("CREATE TABLE bare_borrower (LIKE borrower INCLUDING ALL)")
        await run("CREATE TABLE bare_journal (LIKE journal INCLUDING ALL)")
        await run("INSERT INTO bare_borrower SELECT * FROM borrower")
        await run("CREATE TABLE bare_fence (next_offset bigint)")
        await run("INSERT INTO bare_fence VALUES ($1)", at)
        await run("ANALYZE")
        self._consumer.seek(self._place, at)

    async def merge(self, entries: int, batch: int) -> None:
        end = self._next + entries
        while self._next < end:
            await self.step(min(batch, end - self._next))

    async def step(self, most: int) -> int:
        before = self._next
        told = (await self._consumer.getmany(timeout_ms=5_000, max_records=most)).get(self._place, [])
        if told:
            await self._save(told)
        return self._next - before

    async def _save(self, told: Sequence[Any]) -> None:
        events = [msgspec.json.decode(message.value) for message in told]
        ids = [event["subject"] for event in events]
        async with self._connection.transaction():
            after = told[-1].offset + 1
            assert await self._connection.execute(self.ADVANCE, after, self._next) == "UPDATE 1"
            stored = {row[0]: (row[1], row[2]) for row in await self._connection.fetch(self.READ, list(set(ids)))}
            versions = {id_: version for id_, (version, _) in stored.items()}
            records = {id_: msgspec.json.decode(raw) for id_, (_, raw) in stored.items()}
            rows = []
            for message, event, id_ in zip(told, events, ids, strict=True):
                versions[id_] += 1
                body = msgspec.json.encode(event["data"])
                rows.append(
                    (
                        TENANT, event["id"], "bare", 0, message.offset, 1, id_, "summary", "voice", event["id"], 1, None, None,
                        NOON, NOON, body, b"{}", "h", versions[id_],
                    )
                )  # fmt: skip
            names = list(records)
            raws = [msgspec.json.encode(records[id_]) for id_ in names]
            await self._connection.execute(self.UPSERT, names, [versions[id_] for id_ in names], raws)
            await self._connection.copy_records_to_table("bare_journal", records=rows, columns=self.JOURNAL)
        self._next = after


Race = Callable[[Ours, Bare], Coroutine[Any, Any, Any]]


async def race(url: str, kafka: str, entries: int, run: Race) -> Any:
    """Fills a new topic with the history of all and so many entries more, lets ours merge the history, then runs."""
    await migrate(url)
    cluster, topic = Cluster((kafka,)), Topic(f"bench-{uuid.uuid4().hex[:8]}", 1)
    await make(cluster, [topic], copies=1, retention_days=1)
    log = await KafkaLog.open(cluster, topic)
    producer = KafkaProducer(cluster)
    for start in range(0, HISTORY * PEOPLE + entries, 500):
        end = min(start + 500, HISTORY * PEOPLE + entries)
        await producer.send([message_of(topic.name, 1, summary(number)) for number in range(start, end)])
    store = await PostgresDatabase.open(url)
    place = TopicPartition(topic.name, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka, auto_offset_reset="none", enable_auto_commit=False)
    held = await asyncpg.connect(url)
    try:
        await consumer.start()
        consumer.assign([place])
        ours, bare = Ours(store, log, producer, topic), Bare(held, consumer, place)
        await ours.take()
        await ours.merge(HISTORY * PEOPLE, 200)
        await bare.begin(HISTORY * PEOPLE)
        return await run(ours, bare)
    finally:
        await consumer.stop()
        await held.close()
        await store.close()
        await log.close()
        await producer.close()
        await asyncio.sleep(0)
