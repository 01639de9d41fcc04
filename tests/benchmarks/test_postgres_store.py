"""What the store costs on PostgreSQL, against a bare driver that sends the same bytes over connections that it holds.

Both sides take turns in one run; what is asked for is the median of the turns' ratios.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
import uvloop
from sqlalchemy import Connection

from service import postgres, records
from service.postgres import PostgresDatabase
from service.records import BORROWER, Save
from service.writer import Fence
from tests.together.postgres import running

pytestmark = [pytest.mark.benchmark, pytest.mark.process]

RECORDS = 2_000
RECORD_BYTES = 4_096
BATCH = 200
BODY = os.urandom(2_048)
TURNS = 6
NOW = datetime(2026, 11, 29, tzinfo=UTC)

Tell = Callable[[tuple[float, str]], float]
"""Shows the line, and gives back the ratio."""
Work = Callable[[int, int], Awaitable[Any]]
"""Given the number of the caller and of the piece of work."""


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    def show(found: tuple[float, str]) -> float:
        with capsys.disabled():
            sys.stdout.write(f"\n{found[1]}\n")
        return found[0]

    return show


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running() as server, server.database() as own:
        asyncio.run(postgres.migrate(own))
        yield own


async def _per_second(callers: int, pieces: int, work: Work) -> float:
    numbers = iter(range(pieces))

    async def call(caller: int) -> None:
        for number in numbers:
            await work(caller, number)

    began = time.perf_counter()
    await asyncio.gather(*(call(caller) for caller in range(callers)))
    return pieces / (time.perf_counter() - began)


async def _ratio(what: str, callers: int, pieces: int, ours: Work, bare: Work) -> tuple[float, str]:
    """Ours over bare, and the line that tells it. The first turn is for warming up."""
    turns = [(await _per_second(callers, pieces, ours), await _per_second(callers, pieces, bare)) for _ in range(TURNS)]
    ratio = statistics.median(one / other for one, other in turns[1:])
    rates = [statistics.median(side) for side in zip(*turns[1:], strict=True)]
    return ratio, f"{what:<44} {rates[0]:>8.0f}/s   bare {rates[1]:>8.0f}/s   ratio {ratio:.2f}"


def _row(number: int, version: int) -> dict[str, Any]:
    """A row of `borrower` but for its key."""
    return {
        "version": version, "record": os.urandom(RECORD_BYTES), "content_hash": "h", "redirected_to": None,
        "redirected_after": None, "time_zone": "Asia/Kolkata", "log": "bench", "partition": 0, "log_offset": number,
    }  # fmt: skip


async def _filled(store: PostgresDatabase) -> None:
    saves = [Save("acme", f"B-{n}", None, _row(n, 1)) for n in range(RECORDS)]
    await store.write(lambda c: [c.execute(BORROWER.delete()), records.save_each(c, saves)])
    await store.write(lambda c: c.exec_driver_sql("ANALYZE"))  # as the server does by itself, after a while


@pytest.mark.parametrize(("callers", "least"), [(1, 0.5), (8, 0.35)])
def test_a_read_against_a_bare_one(url: str, tell: Tell, callers: int, least: float) -> None:
    async def run() -> tuple[float, str]:
        store = await PostgresDatabase.open(url)
        await _filled(store)
        held = [await asyncpg.connect(url) for _ in range(callers)]
        sql = "SELECT borrower_id, version, record, provisional, redirected_to FROM borrower"
        sql += " WHERE tenant = $1 AND borrower_id = $2"

        async def ours(_: int, number: int) -> None:
            await store.read(lambda c: records.stored(c, "acme", f"B-{number % RECORDS}"))

        async def bare(caller: int, number: int) -> None:
            await held[caller].fetchrow(sql, "acme", f"B-{number % RECORDS}")

        ratio = await _ratio(f"a record of 4 KiB, {callers} at once", callers, 4_000, ours, bare)
        await store.close()
        await asyncio.gather(*(one.close() for one in held))
        return ratio

    assert tell(uvloop.run(run())) >= least


def test_a_transaction_of_one_row_against_a_bare_one(url: str, tell: Tell) -> None:
    async def run() -> tuple[float, str]:
        store = await PostgresDatabase.open(url)
        held = [await asyncpg.connect(url) for _ in range(postgres.WRITERS)]

        async def ours(_: int, number: int) -> None:
            await store.write(lambda c: records.count_repeat(c, "acme", f"e-{number}", NOW, is_conflict=False))

        async def bare(caller: int, number: int) -> None:
            await held[caller].execute("BEGIN")
            sql = "INSERT INTO repeat (tenant, event_id, at, is_conflict) VALUES ($1, $2, $3, false)"
            await held[caller].execute(sql, "acme", f"e-{number}", NOW)
            await held[caller].execute("COMMIT")

        ratio = await _ratio("a transaction of one row, 4 at once", postgres.WRITERS, 1_000, ours, bare)
        await store.close()
        await asyncio.gather(*(one.close() for one in held))
        return ratio

    assert tell(uvloop.run(run())) >= 0.5


def _journalled(number: int, partition: int) -> dict[str, Any]:
    return {
        "tenant": "acme", "event_id": f"e-{number}", "log": "bench", "partition": partition, "log_offset": number,
        "epoch": 1, "borrower_id": f"B-{number % RECORDS}", "type": "summary", "channel": "voice",
        "conversation_id": f"c-{number}", "revision": 1, "loan_id": None, "cycle_id": None, "effective_at": NOW,
        "received_at": NOW, "body": BODY, "stamps": b"{}", "body_hash": "h", "record_version": 1,
    }  # fmt: skip


class OurBatches:
    """Everything of the writer's steps 2 and 6, and nothing of what lies between."""

    def __init__(self, store: PostgresDatabase) -> None:
        self._store = store
        self._fence = Fence("bench", 0, 1, 0, None)
        self._versions = dict.fromkeys(range(RECORDS), 1)

    async def __call__(self, _: int, __: int) -> None:
        numbers = range(self._fence.next_offset, self._fence.next_offset + BATCH)
        await self._store.read(lambda c: self._load(c, numbers))
        await self._store.write(lambda c: self._save(c, numbers))
        self._fence.next_offset = numbers[-1] + 1
        for number in numbers:
            self._versions[number % RECORDS] += 1

    def _load(self, connection: Connection, numbers: Sequence[int]) -> None:
        ids = [f"B-{number % RECORDS}" for number in numbers]
        assert not records.merged_entries(connection, "acme", [f"e-{number}" for number in numbers])
        assert len(records.stored_each(connection, "acme", ids)) == BATCH
        records.stored_derived_each(connection, "acme", ids)

    def _save(self, connection: Connection, numbers: Sequence[int]) -> None:
        self._fence.advance(connection, numbers[-1] + 1, "x")
        records.add_to_journal(connection, [_journalled(number, 0) for number in numbers])
        read = [(number, self._versions[number % RECORDS]) for number in numbers]
        saves = [Save("acme", f"B-{number % RECORDS}", before, _row(number, before + 1)) for number, before in read]
        assert records.save_each(connection, saves)


class BareBatches:
    """The same rows by the driver alone: fence, lock and read, upsert, journal, commit."""

    ADVANCE = "UPDATE writer_partition SET next_offset = $1 WHERE log = 'bench' AND partition = 1 AND next_offset = $2"
    READ = "SELECT borrower_id, version, record FROM bare_borrower WHERE tenant = 'acme' AND borrower_id = ANY($1) FOR UPDATE"
    UPSERT = """
        INSERT INTO bare_borrower (tenant, borrower_id, version, record)
        SELECT 'acme', * FROM unnest($1::text[], $2::int[], $3::bytea[])
        ON CONFLICT (tenant, borrower_id) DO UPDATE SET version = excluded.version, record = excluded.record
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._next = 0

    async def __call__(self, _: int, __: int) -> None:
        numbers = range(self._next, self._next + BATCH)
        async with self._connection.transaction():
            assert await self._connection.execute(self.ADVANCE, numbers[-1] + 1, numbers[0]) == "UPDATE 1"
            before = await self._connection.fetch(self.READ, [f"B-{number % RECORDS}" for number in numbers])
            ids, versions = [row[0] for row in before], [row[1] + 1 for row in before]
            await self._connection.execute(self.UPSERT, ids, versions, [os.urandom(RECORD_BYTES) for _ in ids])
            rows = [tuple(_journalled(number, 1).values()) for number in numbers]
            columns = list(_journalled(0, 1))
            await self._connection.copy_records_to_table("bare_journal", records=rows, columns=columns)
        self._next = numbers[-1] + 1


def test_a_batch_that_is_loaded_and_saved_against_the_bare_cycle(url: str, tell: Tell) -> None:
    async def run() -> tuple[float, str]:
        store = await PostgresDatabase.open(url)
        held = await asyncpg.connect(url)
        for partition in (0, 1):
            fence = "INSERT INTO writer_partition VALUES ('bench', $1, 1, 0, 'x', 'x', 1, NULL, now())"
            await held.execute(fence, partition)
        await held.execute("CREATE TABLE bare_borrower (LIKE borrower INCLUDING DEFAULTS)")
        await held.execute("ALTER TABLE bare_borrower ADD PRIMARY KEY (tenant, borrower_id)")
        for column in ("content_hash", "provisional", "time_zone", "log", "partition", "log_offset"):
            await held.execute(f"ALTER TABLE bare_borrower ALTER {column} DROP NOT NULL")
        await _filled(store)
        await held.execute("INSERT INTO bare_borrower SELECT * FROM borrower")
        await held.execute("CREATE TABLE bare_journal (LIKE journal INCLUDING ALL)")
        ratio = await _ratio(f"batches of {BATCH}", 1, 8, OurBatches(store), BareBatches(held))
        await store.close()
        await held.close()
        return ratio

    assert tell(uvloop.run(run())) >= 0.4
