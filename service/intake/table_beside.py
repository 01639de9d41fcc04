"""The table log for a process beside the one that writes: what it appends is merged by `serve`, and found in the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import Connection

from service.intake.durable import Waiting
from service.intake.envelope import body_hash
from service.intake.kafka_intake import JournalWatch
from service.intake.log import Pending, Position, TableLike
from service.intake.table_log import NAME as TABLE_LOG
from service.writer import Outcome
from statemachine.stamps import Entry


class TableBeside:
    """As `TableIntake`, with the writer in another process of the same database."""

    log_name = TABLE_LOG

    def __init__(self, log: TableLike, watch: JournalWatch, keyed_hash: Callable[[str, str], str]) -> None:
        self._log = log
        self._watch = watch
        self._keyed_hash = keyed_hash

    async def append(self, items: Sequence[Pending], entries: Sequence[Entry | None]) -> list[asyncio.Future[Outcome]]:
        await self._log.append(items)
        return [self._expected(item, entry) for item, entry in zip(items, entries, strict=True)]

    def _expected(self, item: Pending, entry: Entry | None) -> asyncio.Future[Outcome]:
        if entry is None:
            return self._watch.expect(item.tenant, item.event_id)
        its_hash = body_hash(entry.body, self._keyed_hash)
        return self._watch.expect(item.tenant, item.event_id, entry.stamps.digest, its_hash)

    def append_within(self, connection: Connection, items: Sequence[Pending]) -> list[Position]:
        return self._log.append_within(connection, items)

    def appended(self, positions: Sequence[Position]) -> None:
        """Whoever reads the log elsewhere looks by itself."""

    async def is_behind(self, tenant: str, borrower_id: str) -> bool:
        """The tables tell all of it."""
        return False

    async def unmerged(self, tenant: str, now: datetime) -> tuple[int, float]:
        return 0, 0.0

    async def waiting(self, tenant: str, behind: tuple[int, int], limit: int) -> Waiting:
        return Waiting()

    async def lag(self, now: datetime) -> None:
        """The tables tell."""

    def health(self) -> dict[str, str]:
        """What writes is elsewhere and tells its own."""
        return {}
