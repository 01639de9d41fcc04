"""All of the service in one process, without Kafka."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from service.clock import utc_now
from service.intake.durable import TableIntake
from service.intake.table_log import TableLog
from service.keeper import Keeper
from service.policy import Policies
from service.recall.index import IndexedWords
from service.resuming.gists import Gists
from service.secrets import Secrets
from service.settings import Settings
from service.store import open_store
from service.wiring import STOP_SECONDS, Parts, owner_name
from service.wiring.proposing import proposed
from service.wiring.running import corrected, hooked, noted, swept
from service.writer import Outcomes, Saved, Writer
from service.writer.batch import Batch


@contextlib.asynccontextmanager
async def embedded(settings: Settings, policies: Policies) -> AsyncIterator[Parts]:
    """All parts in one process without Kafka, with the writer running; stopped in order when the block ends."""
    secrets = Secrets.load(settings)
    database = await open_store(settings, serving=True)
    try:
        log = await TableLog.open(database)
        outcomes = Outcomes()
        owner = owner_name()
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
        )
        running = asyncio.create_task(writer.run())
        try:
            async with swept(parts), proposed(parts), hooked(parts, alone=True), corrected(parts), noted(parts):
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
