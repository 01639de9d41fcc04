"""A process beside those that serve and write."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from service.intake.kafka_intake import JournalWatch
from service.intake.table_beside import TableBeside
from service.intake.table_log import TableLog
from service.policy import Policies
from service.secrets import Secrets
from service.settings import Settings
from service.store import open_store
from service.wiring import Parts
from service.wiring.kafka import beside_kafka


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
        )
        try:
            yield parts
        finally:
            await parts.resumes.flush()
    finally:
        await database.close()
