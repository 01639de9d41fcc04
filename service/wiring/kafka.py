"""With Kafka as the intake log: the API alone, and a writer in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import structlog
from prometheus_client import CollectorRegistry

from service.clock import utc_now
from service.database import Store
from service.intake import kafka_topics
from service.intake.kafka_intake import JournalWatch, KafkaIntake
from service.intake.kafka_log import UNKNOWN, KafkaLog
from service.intake.kafka_producer import KafkaProducer
from service.intake.log import LogUnavailable
from service.intake.outbox import CHANGES, INTAKE, Outbox
from service.keeper import Keeper
from service.metrics import Counter, Gauge
from service.metrics.deliveries import Deliveries
from service.policy import Policies
from service.proposer.proposals import Proposals
from service.recall.index import IndexedWords
from service.resuming.gists import Gists
from service.secrets import Secrets
from service.settings import Settings
from service.store import open_store
from service.wiring import STOP_SECONDS, Parts, health_of, owner_name
from service.wiring.running import corrected, hooked, noted
from service.writer import Outcomes, Saved, Writer

log = structlog.get_logger("service")


@contextlib.asynccontextmanager
async def beside_kafka(settings: Settings, policies: Policies) -> AsyncIterator[Parts]:
    """The API alone: what it takes in goes to Kafka, and writers elsewhere merge it.

    It starts without Kafka as well, for it has the spool. Raises `LogChanged` when the topic is of another shape.
    """
    secrets = Secrets.load(settings)
    database = await open_store(settings)
    try:
        async with _kafka(settings, database) as kafka:
            try:
                await kafka_topics.found(kafka.cluster, kafka.topics[INTAKE])
            except LogUnavailable as why:
                log.warning("kafka_not_there", why=str(why))
            ends = KafkaLog(kafka.cluster, kafka.topics[INTAKE], UNKNOWN, kafka.producer)
            intake = KafkaIntake(
                database,
                kafka.producer,
                kafka.outbox,
                kafka.topics[INTAKE],
                ends,
                JournalWatch(database),
                secrets.keyed_hash,
            )
            parts = Parts(
                settings=settings,
                policies=policies,
                secrets=secrets,
                database=database,
                intake=intake,
            )
            _measure_kafka(parts.registry, kafka)
            Gauge("borrower_memory_spooling", "1 while Kafka takes no entries", registry=parts.registry).set_function(
                lambda: float(intake.spools)
            )
            try:
                async with hooked(parts), corrected(parts), noted(parts):
                    yield parts
            finally:
                await ends.leave()
                await parts.proposals.close()
                await parts.resumes.flush()
    finally:
        await database.close()


@dataclass
class WriterParts:
    """What the process of a writer works with."""

    settings: Settings
    database: Store
    writer: Writer
    registry: CollectorRegistry

    async def checks(self) -> dict[str, str]:
        """What readiness rests on, each `ok` or what is wrong with it."""
        return {"database": await health_of(self.database)}


@contextlib.asynccontextmanager
async def writing(settings: Settings, policies: Policies) -> AsyncIterator[WriterParts]:
    """A writer over Kafka that is to be run; it waits for a Kafka that is not there."""
    secrets = Secrets.load(settings)
    database = await open_store(settings)
    try:
        async with _kafka(settings, database) as kafka:
            topic, seconds = kafka.topics[INTAKE], settings.kafka_session_seconds
            intake_log = KafkaLog(kafka.cluster, topic, UNKNOWN, kafka.producer, seconds)
            registry = CollectorRegistry()
            saves = Counter("borrower_memory_records_saved", "Records saved", registry=registry)
            gists = Keeper(database, Gists(policies))
            words = Keeper(database, IndexedWords(secrets.keyed_hash))
            proposals = Proposals(database, policies, utc_now, settings.model)

            def saved(records: Sequence[Saved]) -> None:
                saves.inc(len(records))
                gists.saved(records)
                words.saved(records)
                proposals.saved(records)

            writer = Writer(
                database,
                intake_log,
                secrets,
                policies,
                Outcomes(),
                utc_now,
                internal=kafka.outbox,
                owner=owner_name(),
                saved=saved,
                counted=Deliveries(registry).saved,
            )
            _measure_kafka(registry, kafka)
            _measure_partitions(registry, writer)
            try:
                yield WriterParts(settings, database, writer, registry)
            finally:
                await proposals.close()
                await gists.flush()
                await words.flush()
    finally:
        await database.close()


@dataclass
class _Kafka:
    cluster: kafka_topics.Cluster
    topics: dict[str, kafka_topics.Topic]
    producer: KafkaProducer
    outbox: Outbox


@contextlib.asynccontextmanager
async def _kafka(settings: Settings, database: Store) -> AsyncIterator[_Kafka]:
    """The ways into Kafka, with the outbox being relayed."""
    cluster = kafka_topics.Cluster.of(settings)
    topics = topics_of(settings)
    producer = KafkaProducer(cluster)
    outbox = Outbox(database, producer, topics, f"{owner_name()}:{uuid.uuid4().hex[:8]}", utc_now)
    stopping = asyncio.Event()
    relaying = asyncio.create_task(outbox.relay(stopping))
    try:
        yield _Kafka(cluster, topics, producer, outbox)
    finally:
        stopping.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(relaying, STOP_SECONDS)
        await producer.close()


def topics_of(settings: Settings) -> dict[str, kafka_topics.Topic]:
    prefix, partitions = settings.kafka_topic_prefix, settings.kafka_partitions
    return {
        INTAKE: kafka_topics.intake_topic(prefix, partitions),
        CHANGES: kafka_topics.changes_topic(prefix, partitions),
    }


def _measure_kafka(registry: CollectorRegistry, kafka: _Kafka) -> None:
    relayed = Gauge("borrower_memory_outbox_relayed", "Entries sent from spool and outbox", registry=registry)
    relayed.set_function(lambda: float(kafka.outbox.relayed))
    rebuilt = Gauge("borrower_memory_kafka_producers_thrown_away", "After a failed send", registry=registry)
    rebuilt.set_function(lambda: float(kafka.producer.rebuilt))


def _measure_partitions(registry: CollectorRegistry, writer: Writer) -> None:
    held = Gauge("borrower_memory_partitions", "Partitions that this writer has", registry=registry)
    held.set_function(lambda: float(len(writer.partitions)))
    stopped = Gauge(
        "borrower_memory_writer_troubled", "1 while a partition stopped or waits for the world", registry=registry
    )
    stopped.set_function(lambda: float(writer.health() != "ok"))
