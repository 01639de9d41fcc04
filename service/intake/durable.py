"""Making entries durable, and learning what became of them: what routes see of a log, whichever it is.

`TableIntake` is that of the embedded service, whose writer is in the same process; `kafka_intake` has the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlalchemy import Connection

from service.intake.log import Behind, Logged, Pending, Position, TableLike
from service.intake.table_log import NAME as TABLE_LOG
from service.writer import Outcome, Outcomes, Writer
from statemachine.stamps import Entry


@dataclass(frozen=True, slots=True)
class Waiting:
    """Accepted entries that are not merged yet, each with its partition, and behind which place there may be more."""

    entries: tuple[tuple[int, Logged], ...] = ()
    looked_up_to: tuple[int, int] | None = None


class Intake(Protocol):
    log_name: str
    """The name under which writers have the log's partitions."""

    async def append(self, items: Sequence[Pending], entries: Sequence[Entry | None]) -> list[asyncio.Future[Outcome]]:
        """Durable on return; where the outcome of each will be told. The entry is None of what was durable before, and is
        tried again. Raises `LogUnavailable`, `DatabaseUnavailable`."""

    def append_within(self, connection: Connection, items: Sequence[Pending]) -> list[Position]:
        """As part of the caller's transaction, durable with it; when it is committed, call `appended`."""

    def appended(self, positions: Sequence[Position]) -> None:
        """What `append_within` added is committed."""

    async def is_behind(self, tenant: str, borrower_id: str) -> bool:
        """Whether an accepted entry of this borrower may not be merged yet, beside what the tables tell in one look
        (`records.is_behind`). Waits a moment for it to be."""

    async def unmerged(self, tenant: str, now: datetime) -> tuple[int, float]:
        """How many accepted entries of this tenant are not merged yet, and the age of the oldest in seconds, beside what
        `records.unmerged` tells."""

    async def waiting(self, tenant: str, behind: tuple[int, int], limit: int) -> Waiting:
        """They, from behind this partition and offset on, beside what `watching.waiting` tells. Raises `LogUnavailable`,
        `LogChanged`, `DatabaseUnavailable`."""

    async def lag(self, now: datetime) -> Mapping[int, Behind] | None:
        """Of each partition what is not merged yet, of all tenants; None when the tables tell (`watching.standing.table_lag`).
        Raises `LogUnavailable`, `LogChanged`, `DatabaseUnavailable`."""

    def health(self) -> dict[str, str]:
        """What readiness rests on, each `ok` or what is wrong with it."""


class TableIntake:
    """The table log and a writer in this process."""

    log_name = TABLE_LOG

    def __init__(self, log: TableLike, outcomes: Outcomes, writer: Writer) -> None:
        self._log = log
        self._outcomes = outcomes
        self._writer = writer

    async def append(self, items: Sequence[Pending], entries: Sequence[Entry | None]) -> list[asyncio.Future[Outcome]]:
        for item, entry in zip(items, entries, strict=True):
            if entry is not None:
                self._writer.hand_over(item.value, item.tenant, entry)
        return [self._outcomes.expect(position) for position in await self._log.append(items)]

    def append_within(self, connection: Connection, items: Sequence[Pending]) -> list[Position]:
        return self._log.append_within(connection, items)

    def appended(self, positions: Sequence[Position]) -> None:
        self._log.appended(positions)

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
        return {"writer": self._writer.health()}
