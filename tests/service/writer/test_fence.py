"""One writer a partition: whoever lost it saves nothing (DESIGN 13)."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from service import records
from service.database import DatabaseUnavailable
from service.records import REPEAT
from service.sqlite import connections
from service.tables import WriterPartition, table_of
from service.writer import Fence, FenceLost, Outcomes, take_fence
from tests.limits import PATIENCE_SECONDS
from tests.service.conftest import Where
from tests.service.embedded import (
    NOON,
    TENANT,
    Embedded,
    embedded,
    pending,
    promise,
    stamped,
)
from tests.service.writer.conftest import (
    assert_records_are_the_fold_of_the_journal,
    count,
    statuses,
    trouble,
)


async def _two_writers(service: Embedded) -> None:
    """Two writers of one partition, each taking it from the other."""
    other = Outcomes()
    for number in range(24):
        if number % 4 == 0:
            service.write(owner=f"w-{number}", outcomes=other)
        await service.append(*(promise(f"c-{number}-{k}", borrower_id=f"B-{k}") for k in range(5)))
        if number % 8 == 7:
            writer_, running = service.writers.pop(0)
            await writer_.stop()
            await running


async def _journalled(service: Embedded) -> list[tuple[int, int]]:
    return [tuple(row) for row in await service.journal("log_offset", "epoch")]  # type: ignore[misc]


async def _interleaved(service: Embedded) -> bool:
    epochs = [epoch for _, epoch in await _journalled(service)]
    return epochs != sorted(epochs) or await count(service, REPEAT) > 0


async def test_two_writers_of_one_partition_never_interleave(where: Where) -> None:
    async with embedded(where(), writing=False, partitions=1) as service:
        await _two_writers(service)
        await service.settled()
        rows = await _journalled(service)
        assert [offset for offset, _ in rows] == list(range(120)), "each entry once, none left out"
        epochs = [epoch for _, epoch in rows]
        assert epochs == sorted(epochs)
        assert len(set(epochs)) > 1, "the partition changed hands"
        assert await count(service, REPEAT) == 0
        await assert_records_are_the_fold_of_the_journal(service)


async def test_without_the_fence_they_do(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: what the test above looks at goes wrong at once."""

    def unfenced(self: Fence, connection: Connection, to: int, last_entry: str) -> None:
        rows = table_of(WriterPartition)
        connection.execute(update(rows).where(rows.c.partition == self.partition).values(next_offset=to))

    monkeypatch.setattr(Fence, "advance", unfenced)
    async with embedded(where(), writing=False, partitions=1) as service:
        await _two_writers(service)
        # And not until all is merged: one may set the position back for ever.
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await _interleaved(service):  # noqa: ASYNC110 (no event tells of it)
                await asyncio.sleep(0.01)


async def test_a_save_of_somebody_who_lost_the_partition_is_undone(where: Where) -> None:
    async with embedded(where(), writing=False, partitions=1) as service:
        log = service.log

        def take(owner: str) -> Any:
            return service.database.write(lambda c: take_fence(c, log, 0, owner, NOON))

        one, other = await take("one"), await take("other")
        assert (one.epoch, other.epoch) == (1, 2)
        await service.database.write(lambda c: other.advance(c, 5, "x"))

        def late(connection: Connection) -> None:
            records.count_repeat(connection, TENANT, "e-1", NOON, is_conflict=False)
            one.advance(connection, 5, "x")

        with pytest.raises(FenceLost):
            await service.database.write(late)
        assert await count(service, REPEAT) == 0
        other.next_offset = 3
        with pytest.raises(FenceLost):
            await service.database.write(lambda c: other.advance(c, 6, "x"))
        assert await service.database.read(lambda c: other.stands_at(c, 5))
        assert not await service.database.read(lambda c: other.stands_at(c, 6))
        with pytest.raises(FenceLost):
            await service.database.read(lambda c: one.stands_at(c, 5))


async def test_a_commit_that_failed_is_looked_up_and_done_again(tmp_path: Path) -> None:
    async with embedded(tmp_path / "test.db") as service:
        await service.database.write(
            lambda c: [
                c.exec_driver_sql("CREATE TABLE parent (id INTEGER PRIMARY KEY)"),
                c.exec_driver_sql(
                    "CREATE TABLE child (of INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)"
                ),
            ]
        )
        writing = service.writers[0][0]
        spoiled = 0

        async def spoil() -> None:
            """What breaks a foreign key makes the COMMIT fail, and with it everybody's in that group."""
            nonlocal spoiled
            while spoiled < 3:
                with pytest.raises(DatabaseUnavailable):
                    await service.database.write(lambda c: c.exec_driver_sql("INSERT INTO child VALUES (7)"))
                spoiled += 1

        bodies = [promise(f"c-{n}", borrower_id=f"B-{n % 4}") for n in range(40)]
        entries = [pending(stamped(b, str(b.borrower_id), service.now)) for b in bodies]
        positions = await service.log.append(entries)
        await spoil()
        assert set(statuses(await service.told(positions))) == {"merged"}
        assert writing.health() == "ok"
        assert [v for (v,) in await service.journal("log_offset")] == sorted(
            p.offset for p in positions if p.partition == 0
        ) + sorted(p.offset for p in positions if p.partition == 1)
        await assert_records_are_the_fold_of_the_journal(service)


async def test_a_locked_database_stops_nothing_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_LIMIT_SECONDS", 0.02)
    async with embedded(tmp_path / "test.db", writing=False) as service:
        positions = await service.append(promise(borrower_id="B-1"))
        other = sqlite3.connect(tmp_path / "test.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        writing = service.write()
        await trouble(writing)
        assert "waits" in writing.health()
        other.execute("ROLLBACK")
        other.close()
        assert statuses(await service.told(positions)) == ["merged"]
        await service.post(promise("c-2", borrower_id="B-1"), promise("c-3", borrower_id="B-2"))
        assert writing.health() == "ok"
