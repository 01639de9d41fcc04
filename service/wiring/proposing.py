"""The proposer: beside what serves, or in a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from service.clock import utc_now
from service.database import Store
from service.models import measured
from service.policy import Policies
from service.proposer.proposals import Proposals
from service.proposer.proposer import CALLS_AT_ONCE, REST_SECONDS, Proposer
from service.reading import Reader
from service.secrets import Secrets
from service.settings import Settings
from service.store import open_store
from service.wiring import Parts, health_of
from service.wiring.outside import model_of
from service.wiring.running import running


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
        return {"database": await health_of(self.database)}


@contextlib.asynccontextmanager
async def proposed(parts: Parts) -> AsyncIterator[None]:
    """A proposer over these parts runs within the block."""
    async with (
        proposer_of(parts, parts.proposals) as proposer,
        running(proposer.run(), proposer.stop),
    ):
        yield


@contextlib.asynccontextmanager
async def proposer_of(parts: Parts | ProposerParts, proposals: Proposals) -> AsyncIterator[Proposer]:
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


@contextlib.asynccontextmanager
async def proposing(settings: Settings, policies: Policies) -> AsyncIterator[tuple[ProposerParts, Proposer]]:
    """A proposer that is to be run, in a process of its own."""
    secrets = Secrets.load(settings)
    database = await open_store(settings)
    try:
        parts = ProposerParts(settings, policies, secrets, database)
        proposals = Proposals(database, policies, utc_now, settings.model)
        async with proposer_of(parts, proposals) as proposer:
            yield parts, proposer
    finally:
        await database.close()
