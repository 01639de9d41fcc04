"""The one composition root: the only place that builds the concrete parts and puts them together (the store: `store`)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from service import modes
from service.chats.chats import Chats
from service.chats.sweeper import Sweeper
from service.clock import utc_now
from service.database import DatabaseUnavailable, Store
from service.decisions.corrections import Means, Measures
from service.decisions.decisions import Decisions
from service.decisions.reader import HttpReader, NoReader, SourceReader
from service.edge import RateLimit
from service.errors import Unavailable
from service.hooks.refused import Refusals
from service.hooks.registry import Hooks
from service.hooks.worker import HookWorker
from service.intake import envelope, kafka_topics
from service.intake.durable import Intake, TableIntake
from service.intake.kafka_intake import JournalWatch, KafkaIntake
from service.intake.kafka_log import UNKNOWN, KafkaLog
from service.intake.kafka_producer import KafkaProducer
from service.intake.log import LogUnavailable, Pending
from service.intake.outbox import CHANGES, INTAKE, Outbox
from service.intake.table_beside import TableBeside
from service.intake.table_log import TableLog
from service.keeper import Keeper
from service.keys import Keyring
from service.live import READS
from service.metrics import Counter, Gauge, Histogram
from service.metrics.deliveries import Deliveries
from service.metrics.standing import StandingGauges
from service.models import guarded, measured
from service.models.asking import Model
from service.models.guarded import Guarded
from service.pages.counts import Counts
from service.policy import Policies
from service.proposer.proposals import Proposals
from service.proposer.proposer import CALLS_AT_ONCE, REST_SECONDS, Proposer
from service.reading import Reader
from service.recall.corrected import CorrectedIndex
from service.recall.index import IndexedWords
from service.resuming.gists import Gists
from service.resuming.resumes import Resumes
from service.retention.job import Retention
from service.secrets import Secrets
from service.settings import Settings
from service.store import open_store
from service.summariser import Summariser
from service.writer import Outcome, Outcomes, Saved, Writer
from service.writer.batch import Batch
from statemachine.stamps import Entry

STOP_SECONDS = 10.0

log = structlog.get_logger("service")


@dataclass
class Parts:
    """What routes work with."""

    settings: Settings
    policies: Policies
    secrets: Secrets
    database: Store
    intake: Intake
    keyring: Keyring
    reader: Reader
    resumes: Resumes
    clock: Callable[[], datetime] = utc_now
    rate_limit: RateLimit = field(default_factory=RateLimit)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.chats = Chats(self.database, self.secrets, self.policies, self.clock)
        self.resumes.measure(self.registry)
        self.proposals = Proposals(self.database, self.policies, self.clock, self.settings.model)
        self.decisions = Decisions(
            Means(
                self.database,
                self.intake,
                self.secrets,
                self.policies,
                self.clock,
                _source_reader(self.settings),
                CorrectedIndex(self.database, self.reader, self.policies, self.clock, self.secrets.keyed_hash),
                Measures(self.registry),
            )
        )
        self.retention = Retention(self)
        self.deliveries = Deliveries(self.registry)
        self.models = measured.Measures(self.registry)
        self.standing = StandingGauges(self.database, self.intake, self.policies, self.clock, self.registry)
        self.permits = Counter(
            "borrower_memory_permits", "Permits by what was answered", ["action", "outcome"], registry=self.registry
        )
        self.live_values = Counter(
            "borrower_memory_live_values_withheld",
            "Live values that a last look found among what holds, and took out: to be 0",
            ["read"],
            registry=self.registry,
        )
        for read in READS:
            self.live_values.labels(read)
        self.hook_requests = Counter(
            "borrower_memory_hook_requests",
            "Requests of vendors by what was answered: taken, a start of a call, or why the signature was refused",
            ["vendor", "answer"],
            registry=self.registry,
        )
        self.hooks = Hooks(self.database, self.secrets)
        self.hook_refusals = Refusals(self.database)
        self.hook_worker = HookWorker(self)
        self.counts = Counts[Any]()
        """What the dashboard counted lately."""
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        """By method, route and status, what counts and what times: looking them up takes longer than counting."""
        self._requests = Counter(
            "borrower_memory_requests",
            "Answers by route and status",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "borrower_memory_request_seconds", "Time to answer", ["route"], registry=self.registry
        )
        self.unreadable = Counter(
            "borrower_memory_unreadable_reads",
            "Reads that met something stored that is damaged",
            ["route"],
            registry=self.registry,
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts an answer."""
        label = (method, route, status)
        counted = self._counted.get(label)
        if counted is None:
            counted = self._counted[label] = (
                self._requests.labels(method, route, str(status)),
                self._seconds.labels(route),
            )
        counted[0].inc()
        counted[1].observe(seconds)

    def keyed_hash(self, text: str, purpose: str) -> str:
        return self.secrets.keyed_hash(text, purpose)

    async def append(self, entries: Sequence[tuple[str, Entry]]) -> list[asyncio.Future[Outcome]]:
        """Makes entries durable, in order, and says for each where its outcome will be told. Raises `Unavailable`."""
        pending = [
            Pending(tenant, entry.stamps.borrower_id, entry.event_id, envelope.to_bytes(tenant, entry))
            for tenant, entry in entries
        ]
        return await self._append(pending, [entry for _, entry in entries])

    async def append_pending(self, pending: Sequence[Pending]) -> list[asyncio.Future[Outcome]]:
        """As `append`, of values that were durable before."""
        return await self._append(pending, [None] * len(pending))

    async def _append(
        self, pending: Sequence[Pending], entries: Sequence[Entry | None]
    ) -> list[asyncio.Future[Outcome]]:
        try:
            return await self.intake.append(pending, entries)
        except (LogUnavailable, DatabaseUnavailable):
            raise Unavailable from None

    async def checks(self) -> dict[str, str]:
        """What readiness rests on, each `ok` or what is wrong with it."""
        return {"database": await _health_of(self.database), **self.intake.health()}


async def _health_of(database: Store) -> str:
    try:
        await database.read(lambda conn: conn.exec_driver_sql("SELECT 1").scalar())
    except DatabaseUnavailable as fault:
        return str(fault)
    return database.health()


@contextlib.asynccontextmanager
async def embedded(settings: Settings, policies: Policies) -> AsyncIterator[Parts]:
    """All parts in one process without Kafka, with the writer running; stopped in order when the block ends."""
    secrets = Secrets.load(settings)
    database = await open_store(settings, serving=True)
    try:
        log = await TableLog.open(database)
        outcomes = Outcomes()
        owner = _owner()
        gists = Keeper(database, Gists(policies))
        words = Keeper(database, IndexedWords(secrets.keyed_hash))

        def saved(records: Sequence[Saved]) -> None:
            gists.saved(records)
            words.saved(records)
            parts.proposals.saved(records)

        def counted(batch: Batch) -> None:
            parts.deliveries.saved(batch)

        writer = Writer(
            database,
            log,
            secrets,
            policies,
            outcomes,
            utc_now,
            internal=log,
            owner=owner,
            saved=saved,
            counted=counted,
        )
        parts = Parts(
            settings=settings,
            policies=policies,
            secrets=secrets,
            database=database,
            intake=TableIntake(log, outcomes, writer),
            keyring=Keyring(database, utc_now),
            reader=Reader(),
            resumes=Resumes(database),
        )
        running = asyncio.create_task(writer.run())
        try:
            async with _swept(parts), _proposed(parts), _hooked(parts, alone=True), _corrected(parts), _noted(parts):
                yield parts
        finally:
            await writer.stop()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(running, STOP_SECONDS)
            await parts.proposals.close()
            await parts.resumes.flush()
            await gists.flush()
            await words.flush()
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def _running(work: Coroutine[Any, Any, None], stop: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """It runs within the block. What it has in hand when its time to stop is over is let go: a row tells of it, and whoever
    comes next takes it up."""
    running = asyncio.create_task(work)
    try:
        yield
    finally:
        await stop()
        _, late = await asyncio.wait([running], timeout=STOP_SECONDS)
        for task in late:
            task.cancel()


@contextlib.asynccontextmanager
async def _hooked(parts: Parts, *, alone: bool = False) -> AsyncIterator[None]:
    """The bodies of hooks are read within the block; `alone`: by no other process."""
    async with _running(parts.hook_worker.run(alone=alone), parts.hook_worker.stop):
        yield


@contextlib.asynccontextmanager
async def _corrected(parts: Parts) -> AsyncIterator[None]:
    """Corrections of decisions are kept at within the block."""
    corrections = parts.decisions.corrections
    try:
        async with _running(corrections.run(), corrections.stop):
            yield
    finally:
        await parts.decisions.close()


@contextlib.asynccontextmanager
async def _noted(parts: Parts) -> AsyncIterator[None]:
    """Switches of modes are noted within the block."""
    noting = asyncio.create_task(modes.keep_noting(parts.database, parts.policies, parts.clock))
    try:
        yield
    finally:
        noting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await noting


def _source_reader(settings: Settings) -> SourceReader:
    """Who is asked what version a source is at; nobody, when the settings name none."""
    if settings.source_url is None:
        return NoReader()
    key = settings.source_key
    return HttpReader(settings.source_url, key.get_secret_value() if key else None)


@contextlib.asynccontextmanager
async def _swept(parts: Parts) -> AsyncIterator[Sweeper]:
    """A sweeper over these parts that runs within the block."""
    async with sweeper_of(parts) as sweeper:
        try:
            async with _running(sweeper.run(), sweeper.stop):
                yield sweeper
        finally:
            await parts.chats.settle()


@contextlib.asynccontextmanager
async def sweeper_of(parts: Parts) -> AsyncIterator[Sweeper]:
    """A sweeper that is to be run, with the model of the settings."""
    model = model_of(parts.settings, parts.models.of("summariser"))
    try:
        yield Sweeper(parts, Summariser(model), f"{_owner()}:{uuid.uuid4().hex[:8]}")
    finally:
        if model is not None:
            await model.close()


@contextlib.asynccontextmanager
async def _proposed(parts: Parts) -> AsyncIterator[None]:
    """A proposer over these parts runs within the block."""
    async with (
        _proposer_of(parts, parts.proposals) as proposer,
        _running(proposer.run(), proposer.stop),
    ):
        yield


@contextlib.asynccontextmanager
async def _proposer_of(parts: Parts | ProposerParts, proposals: Proposals) -> AsyncIterator[Proposer]:
    """A proposer that is to be run, with the model of the settings."""
    asker = parts.models.of("proposer")
    model = model_of(parts.settings, asker, at_once=CALLS_AT_ONCE, rest_seconds=REST_SECONDS)
    try:
        yield Proposer(
            parts.database, parts.policies, parts.secrets, parts.reader, utc_now, proposals, model, parts.registry
        )
    finally:
        if model is not None:
            await model.close()


@dataclass
class ProposerParts:
    """What the process of a proposer works with: it appends nothing."""

    settings: Settings
    policies: Policies
    secrets: Secrets
    database: Store
    reader: Reader = field(default_factory=Reader)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.models = measured.Measures(self.registry)

    async def checks(self) -> dict[str, str]:
        """What readiness rests on, each `ok` or what is wrong with it."""
        return {"database": await _health_of(self.database)}


@contextlib.asynccontextmanager
async def proposing(settings: Settings, policies: Policies) -> AsyncIterator[tuple[ProposerParts, Proposer]]:
    """A proposer that is to be run, in a process of its own."""
    secrets = Secrets.load(settings)
    database = await open_store(settings)
    try:
        parts = ProposerParts(settings, policies, secrets, database)
        proposals = Proposals(database, policies, utc_now, settings.model)
        async with _proposer_of(parts, proposals) as proposer:
            yield parts, proposer
    finally:
        await database.close()


def model_of(
    settings: Settings,
    asker: measured.Asker,
    *,
    at_once: int = guarded.CALLS_AT_ONCE,
    rest_seconds: float = guarded.REST_SECONDS,
) -> Model | None:
    """The model that the settings name, within limits; None when they name none. What `asker` asks of it is counted."""
    if settings.llm_base_url is None or settings.llm_model is None:
        return None
    from service.models.endpoint import Endpoint  # its library takes half a second to import

    key = settings.llm_api_key
    endpoint = Endpoint(settings.llm_base_url, settings.llm_model, key.get_secret_value() if key else None)
    return Guarded(endpoint, at_once=at_once, rest_seconds=rest_seconds, measures=asker)


@contextlib.asynccontextmanager
async def beside(settings: Settings, policies: Policies) -> AsyncIterator[Parts]:
    """Parts of a process beside those that serve and write, which may append as they do. Raises as `beside_kafka`."""
    if settings.uses_kafka:
        async with beside_kafka(settings, policies) as parts:
            yield parts
        return
    secrets = Secrets.load(settings)
    database = await open_store(settings)
    try:
        intake = TableBeside(await TableLog.open(database), JournalWatch(database), secrets.keyed_hash)
        parts = Parts(
            settings=settings,
            policies=policies,
            secrets=secrets,
            database=database,
            intake=intake,
            keyring=Keyring(database, utc_now),
            reader=Reader(),
            resumes=Resumes(database),
        )
        try:
            yield parts
        finally:
            await parts.resumes.flush()
    finally:
        await database.close()


# -- beside Kafka ---------------------------------------------------------------------------------------------------


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
                keyring=Keyring(database, utc_now),
                reader=Reader(),
                resumes=Resumes(database),
            )
            _measure_kafka(parts.registry, kafka)
            Gauge("borrower_memory_spooling", "1 while Kafka takes no entries", registry=parts.registry).set_function(
                lambda: float(intake.spools)
            )
            try:
                async with _hooked(parts), _corrected(parts), _noted(parts):
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
        return {"database": await _health_of(self.database)}


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
                owner=_owner(),
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
    outbox = Outbox(database, producer, topics, f"{_owner()}:{uuid.uuid4().hex[:8]}", utc_now)
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


def _owner() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
