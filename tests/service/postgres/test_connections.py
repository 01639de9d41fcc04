"""Connections that are lost, limits of time and of waiting, and values that cannot be stored."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, func, insert, select, text, update
from sqlalchemy.exc import DataError, IntegrityError

from service import postgres, prepared, records
from service.database import DatabaseUnavailable, OutcomeUnknown, Store
from service.postgres import PostgresDatabase
from service.prepared import Prepared
from service.records import SET_ASIDE
from service.writer import take_fence
from service.writer.saving import ASIDE_ID_CHARACTERS
from tests.limits import PATIENCE_SECONDS
from tests.service.embedded import (
    NOON,
    TENANT,
    embedded,
    hours,
    promise,
)
from tests.service.postgres.conftest import HEADS, add, cut_all, numbers
from tests.service.writer.conftest import assert_records_are_the_fold_of_the_journal, statuses
from tests.together.postgres import Postgres, running

pytestmark = pytest.mark.process

# -- a connection that is lost ----------------------------------------------------------------------------------------


async def test_connections_that_were_ended_are_made_anew_without_a_word(store: PostgresDatabase, url: str) -> None:
    await asyncio.gather(*(store.write(add(n)) for n in range(8)), *(store.read(numbers) for _ in range(8)))
    for round_ in range(3):
        await cut_all(store)
        answers = await asyncio.gather(*(store.read(numbers) for _ in range(20)))
        assert {len(a) for a in answers} == {8 + round_}
        await cut_all(store)
        assert await store.write(add(10 + round_)) == 10 + round_


async def test_a_job_in_the_middle_of_which_it_is_lost_stored_nothing(store: PostgresDatabase, other: Store) -> None:
    def ends_itself(connection: Connection) -> None:
        add(1)(connection)
        connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    with pytest.raises(DatabaseUnavailable) as caught:
        await store.write(ends_itself)
    assert not isinstance(caught.value, OutcomeUnknown)
    assert await other.read(numbers) == []
    assert await store.write(add(2)) == 2


async def test_a_transaction_that_the_server_undid_is_no_success(store: PostgresDatabase) -> None:
    """A job that goes on after an error has lost what it wrote before."""

    def swallows(connection: Connection) -> None:
        add(1)(connection)
        with contextlib.suppress(IntegrityError):
            add(1)(connection)

    with pytest.raises(DatabaseUnavailable):
        await store.write(swallows)
    assert await store.read(numbers) == []


@pytest.fixture
def server() -> Iterator[Postgres]:
    """One to be broken."""
    with running(ours=True) as own:
        yield own


async def test_while_the_server_is_away_all_are_told_at_once_and_when_it_is_back_all_goes_on(server: Postgres) -> None:
    with server.database() as url:
        await postgres.migrate(url)
        async with embedded(url, writing=False) as service:
            positions = await service.append(*(promise(f"c-{n}", borrower_id=f"B-{n % 4}") for n in range(20)))
            writing = service.write()
            await service.told(positions)
            positions = await service.append(
                *(promise(f"c-{n}", hours(1), borrower_id=f"B-{n % 4}") for n in range(20, 90))
            )
            server.kill()
            async with asyncio.timeout(PATIENCE_SECONDS):
                for ask in (service.database.read, service.database.write, service.database.read_slow):
                    answers = await asyncio.gather(*(ask(numbers) for _ in range(30)), return_exceptions=True)
                    assert {isinstance(a, DatabaseUnavailable) for a in answers} == {True}
            async with asyncio.timeout(PATIENCE_SECONDS):
                while writing.health() == "ok":  # noqa: ASYNC110 (nothing tells of it)
                    await asyncio.sleep(0.01)
            await asyncio.to_thread(server.start)
            assert set(statuses(await service.told(positions))) == {"merged"}
            async with asyncio.timeout(PATIENCE_SECONDS):
                while writing.health() != "ok":  # noqa: ASYNC110 (nothing tells of it)
                    await asyncio.sleep(0.01)
            assert len(await service.journal("event_id")) == 90
            await assert_records_are_the_fold_of_the_journal(service)


async def test_prepared_statements_that_were_lost_stop_nothing_for_good(store: PostgresDatabase) -> None:
    """As they are behind a pooler that gives one transaction this connection and the next another."""
    count = Prepared(select(func.count()).select_from(HEADS))
    assert await store.read(count.rows)
    await store.read(lambda c: c.exec_driver_sql("DEALLOCATE ALL"))
    with pytest.raises(DatabaseUnavailable, match="prepared statements"):
        await store.read(count.rows)
    assert await store.read(count.rows)


# -- limits -----------------------------------------------------------------------------------------------------------


async def test_what_takes_too_long_is_cut_and_the_rest_goes_on(
    store: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "READ_SECONDS", 0.1)
    monkeypatch.setattr("service.postgres.lines.WATCH_SECONDS", 0.05)
    reads = [store.read(lambda c: c.execute(select(func.pg_sleep(300))).all()) for _ in range(postgres.READERS)]
    async with asyncio.timeout(PATIENCE_SECONDS):  # they would take 300 seconds
        answers = await asyncio.gather(*reads, return_exceptions=True)
    assert [type(a).__mro__[1] for a in answers] == [DatabaseUnavailable] * postgres.READERS
    assert await store.read(numbers) == []


async def test_a_lock_that_others_hold_is_not_waited_for_for_ever(
    store: PostgresDatabase, other: PostgresDatabase
) -> None:
    store._begin = store._begin.replace("lock_timeout = 4000", "lock_timeout = 100")
    held, done = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    await store.write(add(1))

    def holds(connection: Connection) -> None:
        connection.execute(select(HEADS).with_for_update()).all()
        held.set()
        prepared.await_only(done.wait())

    holding = loop.create_task(other.write(holds))
    await held.wait()
    with pytest.raises(DatabaseUnavailable):
        await store.write(lambda c: c.execute(update(HEADS).values(next_offset=5)))
    done.set()
    await holding
    assert (await store.write(lambda c: c.execute(update(HEADS).values(next_offset=5)))).rowcount == 1


async def test_a_writer_that_stands_still_is_ended_and_its_partition_taken(url: str) -> None:
    """A stopped process with an open transaction holds its locks; the server ends that (KAFKA_DB 1.3)."""
    async with (
        embedded(url, writing=False, partitions=1) as service,
        embedded(url, writing=False, partitions=1) as stuck,
    ):
        assert isinstance(stuck.database, PostgresDatabase)
        stuck.database._begin = stuck.database._begin.replace("session_timeout = 5000", "session_timeout = 300")
        fence = await stuck.database.write(lambda c: take_fence(c, stuck.log, 0, "stuck", NOON))
        inside, go_on = asyncio.Event(), asyncio.Event()

        def stands_still(connection: Connection) -> None:
            fence.advance(connection, 1, "x")
            inside.set()
            prepared.await_only(go_on.wait())

        late = asyncio.ensure_future(stuck.database.write(stands_still))
        await inside.wait()
        # The wait for its lock is shorter than this, and would be an error.
        async with asyncio.timeout(PATIENCE_SECONDS):
            taken = await service.database.write(lambda c: take_fence(c, service.log, 0, "next", NOON))
        assert (taken.epoch, taken.next_offset) == (fence.epoch + 1, 0)
        async with asyncio.timeout(PATIENCE_SECONDS):  # until its driver has heard of it
            while not all(line.is_lost for line in stuck.database._writers._busy):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        go_on.set()
        with pytest.raises(DatabaseUnavailable) as caught:
            await late
        assert not isinstance(caught.value, OutcomeUnknown), "it was known before the commit"


async def test_a_commit_is_durable_whatever_the_database_was_set_to(url: str) -> None:
    admin = await PostgresDatabase.open(url)
    name = urlsplit(url).path[1:]
    await admin.write(lambda c: c.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off")))
    await admin.close()
    told = await PostgresDatabase.open(url)
    assert await told.read(lambda c: c.execute(text("SHOW synchronous_commit")).scalar()) == "off"
    assert await told.write(lambda c: c.execute(text("SHOW synchronous_commit")).scalar()) == "on"
    await told.write(lambda c: c.execute(text(f"ALTER DATABASE {name} RESET synchronous_commit")))
    await told.close()


# -- what cannot be stored --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {"identity": "a \0 in it"},
        {"identity": "half an emoji \ud83d"},
        {"partition": 1 << 40},
        {"next_offset": 1 << 70},
    ],
)
async def test_a_value_that_cannot_be_stored_is_told_as_such(store: PostgresDatabase, values: dict[str, Any]) -> None:
    """By `DataError`, whichever way it goes and whoever notices: so the writer finds it by halves."""
    row = {"partition": 99, "next_offset": 0, "identity": "log", **values}
    put = Prepared(insert(HEADS))
    for job in (
        lambda c: c.execute(insert(HEADS).values(**row)),
        lambda c: c.execute(insert(HEADS), [row, row]),
        lambda c: put.run(c, **row),
        lambda c: put.run_each(c, [row]),
        lambda c: put.run_each(c, [{"partition": n, "next_offset": 0, "identity": "log"} for n in range(40)] + [row]),
    ):
        with pytest.raises((DataError, OverflowError, UnicodeError)):
            await store.write(job)
    assert await store.read(numbers) == []


async def test_a_key_that_is_too_long_for_its_index_is_a_value_that_cannot_be_stored(store: PostgresDatabase) -> None:
    noise = "".join(chr(0x4E00 + (n * 7919) % 20_000) for n in range(4_000))
    with pytest.raises(DataError):
        await store.write(lambda c: records.put_aside(c, _aside(noise)))


def _aside(event_id: str) -> records.Aside:
    given = {"reason": "cannot_merge", "detail": "x", "kind": "event", "received_at": NOON, "value": b""}
    return records.Aside(tenant=TENANT, event_id=event_id, body_hash="h", **given)  # type: ignore[arg-type]


class Foreign:
    """A log whose first entry was put there by somebody else, under a key that no column takes."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def read(self, *asked: Any) -> Any:
        noise = "".join(chr(0x4E00 + (n * 7919) % 20_000) for n in range(4_000))
        found = await self._log.read(*asked)
        foreign = {"tenant": f"{TENANT}\0", "borrower_id": "\ud83d" + noise, "event_id": noise, "value": b"\0\xff"}
        return [type(e)(**{**_fields(e), **(foreign if e.offset == 0 else {})}) for e in found]


def _fields(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


async def test_an_entry_under_a_key_that_no_column_takes_is_set_aside_all_the_same(url: str) -> None:
    async with embedded(url, writing=False, partitions=1) as service:
        positions = await service.append(*(promise(f"c-{n}", borrower_id=f"B-{n}") for n in range(4)))
        writing = service.write(log_=Foreign(service.log))
        assert statuses(await service.told(positions)) == ["set_aside", "merged", "merged", "merged"]
        assert writing.health() == "ok"
        [row] = await service.database.read(lambda c: c.execute(select(SET_ASIDE)).mappings().all())
        assert row["tenant"] == f"{TENANT}\N{REPLACEMENT CHARACTER}"
        assert len(row["event_id"]) == ASIDE_ID_CHARACTERS
