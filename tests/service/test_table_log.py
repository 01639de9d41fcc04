"""The intake log: one contract with one hole, filled here by the table, on either database."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import DataError

from service.database import Store
from service.intake import table_log as table_log_module
from service.intake.log import IntakeLog, LogChanged, Logged, LogUnavailable, Pending, Position, partition_of
from service.intake.table_log import TableLog
from service.sqlite import connections
from service.tables import Intake, IntakeHead, WriterPartition, table_of
from tests.limits import PATIENCE_SECONDS
from tests.service.conftest import Where
from tests.service.embedded import open_store

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def item(borrower: str, event: str, value: bytes = b"{}", tenant: str = "acme") -> Pending:
    return Pending(tenant, borrower, event, value)


async def all_entries(log: IntakeLog, partition: int, start: int = 0) -> list[Logged]:
    """From `start` to the end, however many of them one read gives."""
    found: list[Logged] = []
    while entries := await log.read(partition, start, 1000, 0):
        found += entries
        start = entries[-1].offset + 1
    return found


async def everything(log: IntakeLog, partition: int, start: int = 0) -> list[tuple[int, str]]:
    return [(e.offset, e.event_id) for e in await all_entries(log, partition, start)]


class IntakeLogContract:
    """What the writer and intake rely on, whatever the log is made of. The hole is `open_log`."""

    @pytest.fixture
    def open_log(self) -> Callable[[], Any]:
        """Opens the same log of three partitions, each time as another process would."""
        raise NotImplementedError

    async def test_what_was_appended_is_read_as_it_was(self, open_log: Callable[[], Any]) -> None:
        log = await open_log()
        value = bytes(range(256)) + "नमस्ते".encode()
        [position] = await log.append([item("B-1", "e-1", value)])
        [entry] = await log.read(position.partition, position.offset, 10, 0)
        assert (entry.offset, entry.tenant, entry.borrower_id, entry.event_id) == (
            position.offset,
            "acme",
            "B-1",
            "e-1",
        )
        assert entry.value == value
        assert entry.appended_at.utcoffset() == timedelta(0)

    async def test_one_borrowers_entries_stand_in_one_partition_in_their_order(
        self, open_log: Callable[[], Any]
    ) -> None:
        log = await open_log()
        positions = await log.append([item(f"B-{n % 5}", f"e-{n}") for n in range(50)])
        assert len({p.partition for p in positions}) > 1
        for borrower in range(5):
            own = positions[borrower::5]
            assert {p.partition for p in own} == {log.partition_of("acme", f"B-{borrower}")}
            assert [p.offset for p in own] == sorted(p.offset for p in own)
            read = [e for _, e in await everything(log, own[0].partition) if int(e[2:]) % 5 == borrower]
            assert read == [f"e-{n}" for n in range(borrower, 50, 5)]

    async def test_every_append_has_a_position_of_its_own(self, open_log: Callable[[], Any]) -> None:
        log = await open_log()
        answers = await asyncio.gather(
            *(log.append([item(f"B-{n}", f"e-{n}-{k}") for k in range(3)]) for n in range(40))
        )
        positions = [p for answer in answers for p in answer]
        assert len(set(positions)) == 120
        for n, answer in enumerate(answers):
            for k, (partition, offset) in enumerate(answer):
                [entry] = await log.read(partition, offset, 1, 0)
                assert (entry.offset, entry.event_id) == (offset, f"e-{n}-{k}")

    async def test_two_processes_append_to_one_log(self, open_log: Callable[[], Any]) -> None:
        logs = [await open_log(), await open_log()]
        assert logs[0].identity() == logs[1].identity()
        jobs = [logs[n % 2].append([item("B-1", f"e-{n}")]) for n in range(60)]
        positions = [p for answer in await asyncio.gather(*jobs) for p in answer]
        assert len(set(positions)) == 60
        for log in logs:
            assert {e for _, e in await everything(log, positions[0].partition)} == {f"e-{n}" for n in range(60)}

    async def test_a_reader_never_misses_what_becomes_visible_late(self, open_log: Callable[[], Any]) -> None:
        """Reading on from the last offset seen gives everything, however the appends of others fall."""
        logs = [await open_log(), await open_log()]
        seen: list[str] = []

        async def follow() -> None:
            offset = 0
            while len(seen) < 80:
                for entry in await logs[0].read(partition_of("acme", "B-1", 3), offset, 7, 1.0):
                    seen.append(entry.event_id)
                    offset = entry.offset + 1

        reader = asyncio.ensure_future(follow())
        await asyncio.gather(*(logs[n % 2].append([item("B-1", f"e-{n}")]) for n in range(80)))
        await asyncio.wait_for(reader, PATIENCE_SECONDS)
        assert sorted(seen) == sorted(f"e-{n}" for n in range(80))

    async def test_a_waiting_reader_is_woken(
        self, open_log: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_log_module, "POLL_SECONDS", 300.0)
        log = await open_log()
        partition = log.partition_of("acme", "B-1")
        waiting = asyncio.ensure_future(log.read(partition, 0, 10, 300.0))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        await log.append([item("B-1", "e-1")])
        assert [e.event_id for e in await asyncio.wait_for(waiting, PATIENCE_SECONDS)] == ["e-1"]

    async def test_a_reader_waits_no_longer_than_it_said(self, open_log: Callable[[], Any]) -> None:
        log = await open_log()
        assert await asyncio.wait_for(log.read(0, 0, 10, 0.05), PATIENCE_SECONDS) == []

    async def test_a_waiting_reader_can_be_interrupted(self, open_log: Callable[[], Any]) -> None:
        log = await open_log()
        waiting = asyncio.ensure_future(log.read(0, 0, 10, 300.0))
        await asyncio.sleep(0.01)
        log.interrupt()
        assert await asyncio.wait_for(waiting, PATIENCE_SECONDS) == []

    async def test_no_more_is_read_than_asked_for(self, open_log: Callable[[], Any]) -> None:
        log = await open_log()
        positions = await log.append([item("B-1", f"e-{n}") for n in range(10)])
        first = await log.read(positions[0].partition, positions[0].offset, 4, 0)
        assert [e.event_id for e in first] == ["e-0", "e-1", "e-2", "e-3"]
        rest = await everything(log, positions[0].partition, first[-1].offset + 1)
        assert [e for _, e in rest] == [f"e-{n}" for n in range(4, 10)]

    async def test_the_end_is_behind_the_last_entry(self, open_log: Callable[[], Any]) -> None:
        log = await open_log()
        [position] = await log.append([item("B-1", "e-1")])
        assert await log.end_offset(position.partition) == position.offset + 1
        assert await log.read(position.partition, position.offset + 1, 10, 0) == []

    async def test_nothing_is_appended_for_nothing(self, open_log: Callable[[], Any]) -> None:
        log = await open_log()
        assert await log.append([]) == []

    async def test_tenants_do_not_share_a_key(self, open_log: Callable[[], Any]) -> None:
        log = await open_log()
        partitions = {log.partition_of(f"tenant-{n}", "B-1") for n in range(30)}
        assert partitions == {0, 1, 2}
        assert {partition_of(f"tenant-{n}", "B-1", 3) for n in range(30)} == partitions


class TestTableLog(IntakeLogContract):
    @pytest.fixture
    async def open_log(self, where: Where) -> AsyncIterator[Callable[[], Any]]:
        async with AsyncExitStack() as stack:

            async def open_one() -> TableLog:
                database = await open_store(where())
                stack.push_async_callback(database.close)
                return await TableLog.open(database, partitions=3)

            yield open_one


# -- what only the table has -------------------------------------------------------------------------------------------

INTAKE, HEADS, FENCES = table_of(Intake), table_of(IntakeHead), table_of(WriterPartition)


@asynccontextmanager
async def table(place: Path | str, **options: Any) -> AsyncIterator[tuple[Store, TableLog]]:
    database = await open_store(place)
    try:
        yield database, await TableLog.open(database, **{"partitions": 1, **options})
    finally:
        await database.close()


def test_where_a_borrower_stands_never_changes() -> None:
    """Another answer here would tear the entries of every borrower apart."""
    known = {("acme", "B-101"): 3, ("acme", "B-102"): 9, ("acme", "~phone:00ff"): 2, ("zeta-1", "B-101"): 10}
    assert {key: partition_of(*key, 12) for key in known} == known


async def test_another_number_of_partitions_is_another_log(where: Where) -> None:
    async with table(where(), partitions=2) as (database, _):
        with pytest.raises(LogChanged, match="2 partitions"):
            await TableLog.open(database, partitions=3)


async def test_an_append_is_durable_when_it_is_answered(where: Where) -> None:
    async with table(where()) as (_, log):
        await log.append([item("B-1", "e-1")])
        other = await open_store(where())
        assert await other.read(lambda c: c.execute(select(INTAKE.c.event_id)).scalars().all()) == ["e-1"]
        await other.close()


async def test_a_locked_database_is_a_log_that_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_LIMIT_SECONDS", 0.05)
    async with table(tmp_path / "test.db") as (_, log):
        other = sqlite3.connect(tmp_path / "test.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answers = await asyncio.gather(*(log.append([item("B-1", f"e-{n}")]) for n in range(3)), return_exceptions=True)
        assert [type(a) for a in answers] == [LogUnavailable] * 3
        other.execute("ROLLBACK")
        other.close()
        assert await log.append([item("B-1", "e-9")]) == [Position(0, 0)]
    with pytest.raises(LogUnavailable):
        await log.append([item("B-1", "e-10")])
    with pytest.raises(LogUnavailable):
        await log.read(0, 0, 10, 0)


async def test_what_cannot_be_stored_fails_alone(where: Where) -> None:
    async with table(where()) as (_, log):
        bad = item("B-1", "half an emoji \ud83d")
        jobs = [log.append([item("B-1", "e-1")]), log.append([bad]), log.append([item("B-1", "e-2")])]
        first, wrong, second = await asyncio.gather(*jobs, return_exceptions=True)
        assert isinstance(wrong, UnicodeError | DataError)
        assert [first, second] == [[Position(0, 0)], [Position(0, 1)]]
        assert await everything(log, 0) == [(0, "e-1"), (1, "e-2")]


async def test_a_caller_that_went_away_takes_nobody_along(where: Where) -> None:
    async with table(where()) as (_, log):
        gone = asyncio.ensure_future(log.append([item("B-1", "e-1")]))
        stays = asyncio.ensure_future(log.append([item("B-1", "e-2")]))
        await asyncio.sleep(0)
        gone.cancel()
        [position] = await stays
        assert [e.event_id for e in await log.read(0, position.offset, 1, 0)] == ["e-2"]


async def test_a_read_of_large_entries_ends_early_and_never_empty(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_log_module, "READ_BYTES", 1000)
    async with table(where()) as (_, log):
        await log.append([item("B-1", f"e-{n}", b"x" * size) for n, size in enumerate((400, 400, 400, 5000, 10))])
        offset, seen = 0, []
        while entries := await log.read(0, offset, 10, 0):
            seen.append([e.event_id for e in entries])
            offset = entries[-1].offset + 1
        assert seen == [["e-0", "e-1", "e-2"], ["e-3"], ["e-4"]]


async def test_what_is_sent_within_a_transaction_goes_with_it(where: Where) -> None:
    async with table(where()) as (database, log):

        def fails(connection: Connection) -> None:
            log.append_within(connection, [item("B-1", "never")])
            raise LookupError

        with pytest.raises(LookupError):
            await database.write(fails)
        positions = await database.write(lambda c: log.append_within(c, [item("B-1", "e-1"), item("B-1", "e-2")]))
        assert positions == [Position(0, 0), Position(0, 1)]
        assert await everything(log, 0) == [(0, "e-1"), (1, "e-2")]


async def test_what_is_old_and_merged_is_trimmed_but_for_the_last_of_it(where: Where) -> None:
    now = NOON

    async with table(where(), clock=lambda: now) as (database, log):
        await log.append([item("B-1", f"old-{n}") for n in range(1200)])
        now = NOON + timedelta(days=1)
        await log.append([item("B-1", "new")])
        assert await log.trim(now) == 0, "nothing is merged yet"
        row = {
            "log": log.name, "partition": 0, "epoch": 1, "next_offset": 1100, "owner": "one", "taken_at": NOON,
            "log_identity": log.identity(), "partition_count": 1,
        }  # fmt: skip
        await database.write(lambda c: c.execute(insert(FENCES).values(**row)))
        assert await log.trim(NOON) == 0, "nothing is older than that"
        assert await log.trim(now) == 1099
        left = await database.read(lambda c: c.execute(select(INTAKE.c.log_offset)).scalars().all())
        assert list(left) == list(range(1099, 1201))
        assert await log.append([item("B-1", "next")]) == [Position(0, 1201)], "an offset is never used twice"
