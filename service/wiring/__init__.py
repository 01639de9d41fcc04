"""The one composition root: the only place that builds the concrete parts and puts them together (the store: `store`).

Here is what routes work with; each way to run the service puts it together in a file of its own.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry

from service.chats.chats import Chats
from service.clock import utc_now
from service.database import DatabaseUnavailable, Store
from service.decisions.corrections import Means, Measures
from service.decisions.decisions import Decisions
from service.errors import Unavailable
from service.hooks.refused import Refusals
from service.hooks.registry import Hooks
from service.hooks.worker import HookWorker
from service.intake import envelope
from service.intake.durable import Intake
from service.intake.log import LogUnavailable, Pending
from service.keys import Keyring
from service.live import READS
from service.metrics import Counter, Histogram
from service.metrics.deliveries import Deliveries
from service.metrics.standing import StandingGauges
from service.models import measured
from service.pages.counts import Counts
from service.policy import Policies
from service.proposer.proposals import Proposals
from service.reading import Reader
from service.recall.corrected import CorrectedIndex
from service.resuming.resumes import Resumes
from service.retention.job import Retention
from service.secrets import Secrets
from service.settings import Settings
from service.web.edge import RateLimit
from service.wiring.outside import source_reader
from service.writer import Outcome
from statemachine.stamps import Entry

STOP_SECONDS = 10.0


@dataclass
class Parts:
    """What routes work with."""

    settings: Settings
    policies: Policies
    secrets: Secrets
    database: Store
    intake: Intake
    clock: Callable[[], datetime] = utc_now
    rate_limit: RateLimit = field(default_factory=RateLimit)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.keyring = Keyring(self.database, self.clock)
        self.reader = Reader()
        self.resumes = Resumes(self.database)
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
                source_reader(self.settings),
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
        return {"database": await health_of(self.database), **self.intake.health()}


async def health_of(database: Store) -> str:
    try:
        await database.read(lambda conn: conn.exec_driver_sql("SELECT 1").scalar())
    except DatabaseUnavailable as fault:
        return str(fault)
    return database.health()


def owner_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
