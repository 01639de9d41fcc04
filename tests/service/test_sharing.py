"""Partitions come and go while a writer runs: the batch in hand is finished, or abandoned as a whole."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypeVar

import pytest

from service import writer as writer_module
from service.database import Job, Store
from tests.limits import PATIENCE_SECONDS
from tests.service.embedded import Embedded, embedded, promise

T = TypeVar("T")


class Holding:
    """A database whose writes wait for `go`, once they are told to."""

    def __init__(self, database: Store) -> None:
        self._database = database
        self.holds = False
        self.waiting = asyncio.Event()
        self.go = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def write(self, job: Job[T]) -> T:
        if self.holds:
            self.waiting.set()
            await self.go.wait()
        return await self._database.write(job)


async def epochs(service: Embedded) -> list[int]:
    return [row[0] for row in await service.journal("epoch")]


async def test_a_partition_that_comes_back_is_taken_anew_and_goes_on(tmp_path: Path) -> None:
    async with embedded(tmp_path / "test.db", partitions=1) as service:
        writer = service.writers[0][0]
        await service.post(promise(borrower_id="B-1"))
        giving_up = asyncio.ensure_future(writer.revoked([0]))
        await asyncio.sleep(0)
        service.log.interrupt()  # as a log does whose partition is taken away
        await giving_up
        assert writer.partitions == frozenset()
        await service.append(promise("c-2", borrower_id="B-1"))
        await asyncio.sleep(0.05)
        assert await service.version("B-1") == 1, "nobody has it"
        writer.assigned([0])
        await service.settled()
        assert await service.version("B-1") == 2
        assert await epochs(service) == [1, 2]


async def test_giving_up_a_partition_finishes_the_batch_in_hand(tmp_path: Path) -> None:
    async with embedded(tmp_path / "test.db", writing=False, partitions=1) as service:
        database = Holding(service.database)
        writer = service.write(database=database)
        await service.post(promise(borrower_id="B-1"))
        database.holds = True
        await service.append(promise("c-2", borrower_id="B-1"))
        await database.waiting.wait()
        giving_up = asyncio.ensure_future(writer.revoked([0]))
        await asyncio.sleep(0.02)
        assert not giving_up.done()
        database.go.set()
        await asyncio.wait_for(giving_up, PATIENCE_SECONDS)
        assert await service.version("B-1") == 2


async def test_a_batch_that_takes_too_long_is_abandoned_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "GIVE_UP_SECONDS", 0.05)
    async with embedded(tmp_path / "test.db", writing=False, partitions=1) as service:
        database = Holding(service.database)
        slow = service.write(database=database)
        await service.post(promise(borrower_id="B-1"))
        database.holds = True
        await service.append(promise("c-2", borrower_id="B-1"), promise("c-3", borrower_id="B-1"))
        await database.waiting.wait()
        await asyncio.wait_for(slow.revoked([0]), PATIENCE_SECONDS)
        assert await service.version("B-1") == 1
        service.write(owner="two")
        await service.settled()
        assert await service.version("B-1") == 3
        assert await epochs(service) == [1, 2, 2]
