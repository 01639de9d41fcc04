"""The one composition root: the only place that builds the concrete parts and puts them together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Histogram

from service.database import Database, DatabaseUnavailable, Store
from service.edge import RateLimit
from service.errors import Unavailable
from service.gists import GistKeeper
from service.intake import envelope
from service.intake.log import IntakeLog, LogUnavailable, Pending
from service.intake.table_log import TableLog
from service.keys import Keyring
from service.policy import Policies
from service.reading import Reader
from service.resumes import Resumes
from service.secrets import Secrets
from service.settings import Settings
from service.writer import Outcome, Outcomes, Writer
from statemachine.stamps import Entry

STOP_SECONDS = 10.0


def utc_now() -> datetime:
    """The service's clock; the core has none."""
    return datetime.now(UTC)


@dataclass
class Parts:
    """What routes work with."""

    settings: Settings
    policies: Policies
    secrets: Secrets
    database: Store
    log: IntakeLog
    writer: Writer
    outcomes: Outcomes
    keyring: Keyring
    reader: Reader
    resumes: Resumes
    clock: Callable[[], datetime] = utc_now
    rate_limit: RateLimit = field(default_factory=RateLimit)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self._requests = Counter(
            "borrower_memory_requests",
            "Answers by route and status",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "borrower_memory_request_seconds", "Time to answer", ["route"], registry=self.registry
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts an answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def keyed_hash(self, text: str, purpose: str) -> str:
        return self.secrets.keyed_hash(text, purpose)

    async def append(self, entries: Sequence[tuple[str, Entry]]) -> list[asyncio.Future[Outcome]]:
        """Makes entries durable, in order, and says for each where its outcome will be told. Raises `Unavailable`."""
        return await self.append_pending(
            [
                Pending(tenant, entry.stamps.borrower_id, entry.event_id, envelope.to_bytes(tenant, entry))
                for tenant, entry in entries
            ]
        )

    async def append_pending(self, pending: Sequence[Pending]) -> list[asyncio.Future[Outcome]]:
        """As `append`, of values that are made."""
        try:
            positions = await self.log.append(pending)
        except (LogUnavailable, DatabaseUnavailable):
            raise Unavailable from None
        return [self.outcomes.expect(position) for position in positions]

    async def checks(self) -> dict[str, str]:
        """What readiness rests on, each `ok` or what is wrong with it."""
        try:
            await self.database.read(lambda conn: conn.exec_driver_sql("SELECT 1").scalar())
            database = "ok"
        except DatabaseUnavailable as fault:
            database = str(fault)
        return {"database": database, "writer": self.writer.health()}


@contextlib.asynccontextmanager
async def embedded(settings: Settings, policies: Policies) -> AsyncIterator[Parts]:
    """All parts in one process on SQLite, with the writer running; stopped in order when the block ends."""
    path = settings.database.sqlite_path
    assert path is not None, "the embedded service stands on SQLite"
    secrets = Secrets.load(settings)
    database = await Database.open(path, serving=True)
    try:
        log = await TableLog.open(database)
        outcomes = Outcomes()
        owner = f"{socket.gethostname()}:{os.getpid()}"
        gists = GistKeeper(database, policies)
        writer = Writer(
            database, log, secrets, policies, outcomes, utc_now, internal=log, owner=owner, saved=gists.saved
        )
        parts = Parts(
            settings=settings,
            policies=policies,
            secrets=secrets,
            database=database,
            log=log,
            writer=writer,
            outcomes=outcomes,
            keyring=Keyring(database, utc_now),
            reader=Reader(),
            resumes=Resumes(database),
        )
        running = asyncio.create_task(writer.run())
        try:
            yield parts
        finally:
            await writer.stop()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(running, STOP_SECONDS)
            await parts.resumes.flush()
            await gists.flush()
    finally:
        await database.close()
