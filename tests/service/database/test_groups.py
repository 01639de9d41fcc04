"""A group of writes is in as a whole, and a world that fails takes nothing with it that was answered."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert
from sqlalchemy.exc import OperationalError

from service import sqlite as module
from service.database import DatabaseUnavailable, Job
from service.sqlite import SqliteDatabase, connections
from tests.service.database.conftest import (
    HEADS,
    add,
    files,
    log_bytes,
    numbers,
    stored,
)

# -- a group of SQLite's ----------------------------------------------------------------------------------------------


async def test_what_is_asked_for_together_is_committed_together(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GROUP_LIMIT_SECONDS", 60)
    seen: list[list[int]] = []

    def look(connection: Connection) -> None:
        add(len(seen))(connection)
        seen.append(stored(database))

    await asyncio.gather(*(database.write(look) for _ in range(20)))
    assert seen == [[]] * 20, "nobody else sees any of a group before all of it is on disk"
    assert stored(database) == list(range(20))


async def test_a_reader_sees_no_half_of_a_group(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUP_LIMIT_SECONDS", 60)
    writing = [asyncio.ensure_future(database.write(add(n))) for n in range(10)]
    sizes = {len(await database.read(numbers))}
    while not writing[-1].done():
        await asyncio.sleep(0)
        sizes.add(len(await database.read(numbers)))
    sizes.add(len(await database.read(numbers)))
    assert sizes == {0, 10}


async def test_reads_of_one_turn_see_one_moment_and_those_of_the_next_what_was_committed(
    database: SqliteDatabase,
) -> None:
    assert await database.read(numbers) == []
    with contextlib.closing(sqlite3.connect(database.path, isolation_level=None)) as other_process:
        other_process.execute("INSERT INTO intake_head (partition, next_offset, identity) VALUES (1, 0, 'log')")
    assert await database.read(numbers) == []
    await asyncio.sleep(0)
    assert await database.read(numbers) == [1]


async def test_whoever_is_told_that_it_is_stored_reads_it(database: SqliteDatabase) -> None:
    ended = False

    async def read_on() -> None:
        while not ended:
            await database.read(numbers)
            await asyncio.sleep(0)

    reading = asyncio.gather(*(read_on() for _ in range(3)))
    for n in range(60):
        await database.write(add(n))
        assert (await database.read(numbers))[-1] == n
    ended = True
    await reading


async def test_a_read_that_fails_leaves_the_next_ones_their_snapshot(database: SqliteDatabase) -> None:
    for _ in range(2):
        with pytest.raises(OperationalError):
            await database.read(lambda connection: connection.exec_driver_sql("SELECT nothing FROM nowhere"))
        assert await database.read(numbers) == []
    await database.write(add(1))
    assert await database.read(numbers) == [1]


async def test_a_file_that_is_let_go_is_one_file(tmp_path: Path) -> None:
    database = await SqliteDatabase.open(tmp_path / "test.db")
    await database.write(add(1))
    await database.close()
    assert files(tmp_path) == ["test.db"], "the write-ahead log is in the file"


# -- the world fails --------------------------------------------------------------------------------------------------


async def test_a_foreign_lock_is_waited_for_while_reads_go_on(database: SqliteDatabase) -> None:
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writing = asyncio.ensure_future(database.write(add(1)))
    for _ in range(20):
        await asyncio.sleep(0.002)
        assert await database.read(numbers) == []
    assert not writing.done()
    other.execute("ROLLBACK")
    assert await writing == 1
    other.close()


async def test_a_foreign_lock_that_stays_is_told_as_such(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_LIMIT_SECONDS", 0.05)
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answers = await asyncio.gather(*(database.write(add(n)) for n in range(3)), return_exceptions=True)
    assert [type(a) for a in answers] == [DatabaseUnavailable] * 3
    other.execute("ROLLBACK")
    other.close()
    assert await database.write(add(1)) == 1, "it goes on afterwards"


async def test_on_a_full_disk_what_was_answered_is_there_and_nothing_else(database: SqliteDatabase) -> None:
    def fills(number: int) -> Job[int]:
        def job(connection: Connection) -> int:
            connection.execute(insert(HEADS).values(partition=number, next_offset=0, identity="x" * 100_000))
            return number

        return job

    await database.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count = 120").all())
    answers = await asyncio.gather(*(database.write(fills(n)) for n in range(6)), return_exceptions=True)
    assert any(isinstance(a, DatabaseUnavailable) for a in answers)
    assert stored(database) == [a for a in answers if isinstance(a, int)]
    await database.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count = 100000").all())
    assert await database.write(fills(50)) == 50


async def test_a_busy_loop_does_not_starve_the_commits(database: SqliteDatabase) -> None:
    """With Python's usual switch interval a commit waits for more than a hundred turns of such a loop."""
    turns, stop = 0, False

    async def other_requests() -> None:
        nonlocal turns
        while not stop:
            turns += 1
            until = time.perf_counter() + 0.0003
            while time.perf_counter() < until:
                pass
            await asyncio.sleep(0)

    others = asyncio.ensure_future(other_requests())
    for number in range(40):
        await database.write(add(number))
    stop = True
    await others
    assert turns < 40 * 60


async def test_the_write_ahead_log_is_used_again_from_its_beginning(database: SqliteDatabase) -> None:
    def grow(connection: Connection) -> None:
        connection.execute(insert(HEADS).values(partition=next(count), next_offset=0, identity="x" * 50_000))

    count = iter(range(10_000))
    groups, of = 200, 3
    for _ in range(groups):
        await asyncio.gather(*(database.write(grow) for _ in range(of)))
    assert log_bytes(database) < groups * of * 50_000 * 2 / 3, "it would hold all of it"
    assert len(stored(database)) == groups * of
