"""What only PostgreSQL does: several processes at once, connections that break, and a server that goes away."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import Connection, func, insert, select, text, update
from sqlalchemy.exc import DataError, IntegrityError

from service import keys, postgres, prepared, records, settings
from service.app import application
from service.database import DatabaseUnavailable, InUse, Job, OutcomeUnknown, Store
from service.intake import table_log
from service.intake.durable import TableIntake
from service.intake.log import Position
from service.keys import Keyring
from service.policy import Policies, Policy
from service.postgres import PostgresDatabase
from service.prepared import OfList, Prepared
from service.reading import Reader
from service.rebuild import rebuild
from service.records import BORROWER, SET_ASIDE, aside, beside, borrower, journal, operations, saving
from service.resuming import resumes
from service.resuming.resumes import Resumes
from service.tables import METADATA, IntakeHead, Permit, table_of
from service.wiring import Parts
from service.writer import fence, take_fence
from service.writer.saving import ASIDE_ID_CHARACTERS
from tests.limits import PATIENCE_SECONDS
from tests.service.embedded import (
    NOON,
    POLICIES,
    SECRETS,
    TENANT,
    Embedded,
    embedded,
    hours,
    linked,
    pending,
    promise,
    stamped,
)
from tests.service.writer.conftest import assert_records_are_the_fold_of_the_journal, statuses
from tests.together.postgres import Postgres, running
from tests.together.service import Service, ago

pytestmark = pytest.mark.process

HEADS, PERMIT = table_of(IntakeHead), table_of(Permit)


def add(number: int) -> Job[int]:
    def job(connection: Connection) -> int:
        connection.execute(insert(HEADS).values(partition=number, next_offset=0, identity="log"))
        return number

    return job


def numbers(connection: Connection) -> list[int]:
    return list(connection.execute(select(HEADS.c.partition).order_by(HEADS.c.partition)).scalars())


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresDatabase]:
    opened = await PostgresDatabase.open(url)
    yield opened
    await opened.close()


@pytest.fixture
async def other(url: str) -> AsyncIterator[PostgresDatabase]:
    """As another process has it."""
    opened = await PostgresDatabase.open(url)
    yield opened
    await opened.close()


async def cut_all(store: Store, but: str = "pg_backend_pid()") -> None:
    """Every connection to this database ends, as it does when somebody ends it."""
    others = (
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> {but}"
    )
    with contextlib.suppress(DatabaseUnavailable):
        await store.read_slow(lambda c: c.execute(text(others)).all())


class Gate:
    """A way to the server that is cut at a COMMIT: before it gets there, or with its answer on the way back."""

    def __init__(self, url: str) -> None:
        self._to = urlsplit(url)
        self._server: asyncio.Server | None = None
        self.cuts_before = 0
        self.cuts_after = 0
        self._pipes: set[asyncio.Task[None]] = set()

    async def open(self) -> str:
        """The URL that leads through it."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return self._to._replace(netloc=f"{self._to.username}:{self._to.password}@127.0.0.1:{port}").geturl()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for pipe in self._pipes:
            pipe.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer_: asyncio.StreamWriter) -> None:
        assert self._to.port is not None
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._to.port)
        ends = [writer_, to_writer]
        for pipe in (self._forth(reader, to_writer, ends), self._back(to_reader, writer_, ends)):
            task = asyncio.ensure_future(pipe)
            self._pipes.add(task)
            task.add_done_callback(self._pipes.discard)

    async def _forth(self, reader: asyncio.StreamReader, to: asyncio.StreamWriter, ends: list[Any]) -> None:
        while data := await self._read(reader):
            if b"COMMIT\0" in data and self.cuts_before > 0:
                self.cuts_before -= 1
                break
            to.write(data)
        self._cut(ends)

    async def _back(self, reader: asyncio.StreamReader, to: asyncio.StreamWriter, ends: list[Any]) -> None:
        while data := await self._read(reader):
            if b"COMMIT\0" in data and self.cuts_after > 0:
                self.cuts_after -= 1
                break
            to.write(data)
        self._cut(ends)

    @staticmethod
    async def _read(reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.read(65_536)
        except ConnectionError:
            return b""

    @staticmethod
    def _cut(ends: list[Any]) -> None:
        for end in ends:
            end.transport.abort()


@pytest.fixture
async def gate(url: str) -> AsyncIterator[tuple[Gate, str]]:
    gate_ = Gate(url)
    yield gate_, await gate_.open()
    await gate_.close()


# -- a commit that is not answered -------------------------------------------------------------------------------------


@pytest.mark.parametrize("got_there", [True, False])
async def test_a_commit_without_an_answer_is_told_as_such(
    gate: tuple[Gate, str], store: PostgresDatabase, got_there: bool
) -> None:
    way, url = gate
    through = await PostgresDatabase.open(url)
    way.cuts_after, way.cuts_before = int(got_there), int(not got_there)
    with pytest.raises(OutcomeUnknown):
        await through.write(add(1))
    assert await store.read(numbers) == ([1] if got_there else [])
    assert await through.write(add(2)) == 2, "it goes on afterwards"
    await through.close()


async def test_the_writer_looks_up_what_became_of_it(gate: tuple[Gate, str], url: str) -> None:
    way, through = gate
    async with embedded(through, writing=False) as service, embedded(url, writing=False) as direct:
        bodies = [promise(f"c-{n}", hours(n % 20), borrower_id=f"B-{n % 5}") for n in range(60)]
        positions = await direct.log.append([pending(stamped(b, str(b.borrower_id), direct.now)) for b in bodies[:30]])
        service.write()
        outcomes = []
        for cut in range(6):
            way.cuts_after, way.cuts_before = cut % 2, 1 - cut % 2
            more = [pending(stamped(b, str(b.borrower_id), direct.now)) for b in bodies[30 + cut * 5 : 35 + cut * 5]]
            positions += await direct.log.append(more)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while way.cuts_after or way.cuts_before:
                    service.log.appended([Position(0, 0), Position(1, 0)])
                    await asyncio.sleep(0.01)
        for partition in (0, 1):
            service.log.appended([Position(partition, 0)])
        outcomes = await service.told(positions)
        assert statuses(outcomes) == ["merged"] * 60
        assert sorted(e for (e,) in await direct.journal("event_id")) == sorted(f"voice:c-{n}:1" for n in range(60))
        await assert_records_are_the_fold_of_the_journal(direct)


# -- a connection that is lost -----------------------------------------------------------------------------------------


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


# -- limits ------------------------------------------------------------------------------------------------------------


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


# -- two at once -------------------------------------------------------------------------------------------------------


def _meeting(count: int) -> Callable[[], None]:
    """Makes transactions wait until so many are there, the first time each comes by."""
    there, all_there = 0, asyncio.Event()

    def meet() -> None:
        nonlocal there
        there += 1
        if there == count:
            all_there.set()
        prepared.await_only(asyncio.wait_for(all_there.wait(), PATIENCE_SECONDS))

    return meet


async def test_of_two_in_each_others_way_both_go_through(store: Store, other: Store) -> None:
    await store.write(lambda c: [add(n)(c) for n in (1, 2)])
    meet, runs = _meeting(2), []

    def both(order: tuple[int, int]) -> Job[None]:
        def job(connection: Connection) -> None:
            runs.append(order)
            for place, number in enumerate(order):
                more = update(HEADS).where(HEADS.c.partition == number).values(next_offset=HEADS.c.next_offset + 1)
                connection.execute(more)
                if place == 0:
                    meet()

        return job

    await asyncio.gather(store.write(both((1, 2))), other.write(both((2, 1))))
    assert len(runs) == 3, "one was undone, and run again"
    ends = await store.read(lambda c: c.execute(select(HEADS.c.next_offset)).scalars().all())
    assert list(ends) == [2, 2]


async def test_the_same_that_several_set_aside_at_once_is_one_item(store: Store, other: Store) -> None:
    item = records.Aside(
        tenant=TENANT, reason="id_conflict", detail="x", kind="event", received_at=NOON, value=b"{}", event_id="e-1",
        body_hash="h",
    )  # fmt: skip
    meet = _meeting(6)

    def put(connection: Connection) -> None:
        meet()
        records.put_aside(connection, item)

    await asyncio.gather(*(one.write(put) for one in (store, other) for _ in range(3)))
    rows = await store.read(lambda c: c.execute(select(SET_ASIDE.c.attempts)).scalars().all())
    assert list(rows) == [6]


async def test_whoever_holds_a_record_is_alone_with_it(url: str, other: Store) -> None:
    """Neither a writer nor another holder comes between what a holder reads and what it does."""
    async with embedded(url) as service:
        await service.post(promise(borrower_id="B-1"))
        held, done = asyncio.Event(), asyncio.Event()

        def holds(connection: Connection) -> int:
            assert records.held(connection, TENANT, "B-1") is not None
            held.set()
            prepared.await_only(done.wait())
            again = records.stored(connection, TENANT, "B-1")
            assert again is not None
            return again.version

        first = asyncio.ensure_future(other.write(holds))
        await held.wait()
        positions = await service.append(promise("c-2", hours(1), borrower_id="B-1"))
        second = asyncio.ensure_future(service.database.write(lambda c: records.held(c, TENANT, "B-1")))
        await asyncio.sleep(0.1)
        assert await service.version("B-1") == 1
        assert not second.done()
        done.set()
        assert await first == 1
        assert statuses(await service.told(positions)) == ["merged"]
        assert await second is not None


@contextlib.asynccontextmanager
async def _api(service: Embedded, key: str) -> AsyncIterator[httpx.AsyncClient]:
    """The API on this way to the database, as one of several processes has it."""
    parts = Parts(
        settings=settings.load({}),
        policies=Policies(Policy(contact_hours=("00:00", "24:00"))),
        secrets=SECRETS,
        database=service.database,
        intake=TableIntake(service.log, service.outcomes, service.writers[0][0] if service.writers else None),  # type: ignore[arg-type]
        keyring=Keyring(service.database, service.clock),
        reader=Reader(),
        resumes=Resumes(service.database),
        clock=service.clock,
    )
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    transport = httpx.ASGITransport(application(parts))
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
        yield client


async def test_of_all_who_ask_for_a_permit_at_once_one_gets_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes of the API, asked by ten; and the negative control, in which nobody holds the record."""

    async def granted() -> list[int]:
        async with embedded(url) as one, embedded(url, writing=False) as two, contextlib.AsyncExitStack() as stack:
            key, _ = await one.database.write(lambda c: keys.create(c, TENANT, keys.SCOPES, one.now))
            apis = [await stack.enter_async_context(_api(service, key)) for service in (one, two)]
            answers = []
            for n in range(4):
                await one.post(promise(f"c-{n}", borrower_id=f"B-{n}"))
                asked = {"action": "reminder", "channel": "whatsapp"}
                calls = [
                    apis[k % 2].post(f"/v1/borrowers/B-{n}/permits", json={**asked, "holder": f"run-{k}"})
                    for k in range(10)
                ]
                told = [answer.status_code for answer in await asyncio.gather(*calls)]
                assert set(told) <= {201, 409}, told
                answers.append(told.count(201))
            rows = await one.database.read(lambda c: c.execute(select(PERMIT.c.borrower_id)).scalars().all())
            assert len(rows) == sum(answers)
            await one.database.write(lambda c: c.execute(PERMIT.delete()))
            return answers

    assert await granted() == [1, 1, 1, 1]
    monkeypatch.setattr(records, "held", records.stored)
    assert max(await granted()) > 1


# -- what cannot be stored ---------------------------------------------------------------------------------------------


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


# -- one serves --------------------------------------------------------------------------------------------------------


async def test_a_second_serve_is_refused_and_a_command_is_not(url: str) -> None:
    first = await PostgresDatabase.open(url, serving=True)
    with pytest.raises(InUse, match="only one at a time"):
        await PostgresDatabase.open(url, serving=True)
    command = await PostgresDatabase.open(url)
    assert await command.write(add(1)) == 1
    await command.close()
    await first.close()
    await (await PostgresDatabase.open(url, serving=True)).close()


async def test_who_serves_takes_the_guard_again_when_its_connection_is_lost(
    url: str, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.postgres.serve_guard.GUARD_SECONDS", 0.02)
    first = await PostgresDatabase.open(url, serving=True)
    here = "(SELECT oid FROM pg_database WHERE datname = current_database())"
    guards = f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = {here}"

    held_by = f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = {here}"

    async def holders() -> set[int]:
        return set(await other.read(lambda c: c.execute(text(held_by)).scalars().all()))

    async def lost() -> set[int]:
        """Who held it and does so no longer."""
        before = await holders()
        await other.write(lambda c: c.execute(text(guards)).all())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while before & await holders():  # noqa: ASYNC110 (it is asked for)
                await asyncio.sleep(0.01)
        return before

    before = await lost()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await holders() - before:  # noqa: ASYNC110 (it is asked for)
            await asyncio.sleep(0.01)
    with pytest.raises(InUse):
        await PostgresDatabase.open(url, serving=True)
    assert first.health() == "ok"

    first._guard._keeping.cancel()  # type: ignore[union-attr]  (it looks away for a while)
    await lost()
    second = await PostgresDatabase.open(url, serving=True)
    first._guard._keeping = asyncio.create_task(first._guard._keep())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while first.health() == "ok":  # noqa: ASYNC110 (health is asked for)
            await asyncio.sleep(0.01)
    assert "another serve" in first.health()
    await second.close()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while first.health() != "ok":  # noqa: ASYNC110 (health is asked for)
            await asyncio.sleep(0.01)
    await first.close()


# -- rebuilding beside a writer ----------------------------------------------------------------------------------------


async def test_a_writer_goes_on_from_what_was_rebuilt_and_not_from_what_it_remembers(url: str) -> None:
    async with embedded(url) as service:
        for n in range(6):
            await service.post(promise(f"c-{n}", hours(n), borrower_id="B-1"), linked(f"l-{n}", "B-2", at=hours(n)))
        spoilt = (await service.record("B-2")).to_bytes().replace(b"B-2", b"B-1")
        await service.stop_writing()
        await service.database.write(
            lambda c: c.execute(update(BORROWER).where(BORROWER.c.borrower_id == "B-1").values(record=spoilt))
        )
        service.write()
        await service.post(
            linked("l-9", "B-1", "+919000000009", hours(9))
        )  # from now on the writer remembers what is wrong
        with pytest.raises(AssertionError):
            await assert_records_are_the_fold_of_the_journal(service)

        async def reads() -> None:
            while True:
                await service.version("B-1")

        reading = asyncio.ensure_future(reads())
        own = await PostgresDatabase.open(url, patient=True)
        found = await rebuild(own, SECRETS, POLICIES, lambda: NOON + timedelta(days=1), lambda done, of: None)
        await own.close()
        assert not reading.done(), "reads go on"
        reading.cancel()
        assert (found.changed, found.changed_ids) == (1, [(TENANT, "B-1")])
        await assert_records_are_the_fold_of_the_journal(service)
        assert statuses(await service.post(promise("c-9", hours(9), borrower_id="B-1"))) == ["merged"]
        await assert_records_are_the_fold_of_the_journal(service)


async def test_rebuilding_while_entries_are_merged_loses_none_of_them(url: str) -> None:
    async with embedded(url) as service:
        await service.post(*(promise(f"a-{n}", borrower_id=f"B-{n % 7}") for n in range(30)))

        async def posts() -> None:
            for n in range(20):
                await service.post(*(promise(f"c-{n}-{k}", hours(n), borrower_id=f"B-{k}") for k in range(7)))

        posting = asyncio.ensure_future(posts())
        own = await PostgresDatabase.open(url)
        rounds = 0
        while not posting.done():
            found = await rebuild(own, SECRETS, POLICIES, lambda: NOON + timedelta(days=1), lambda done, of: None)
            assert (found.changed, found.removed) == (0, 0)
            rounds += 1
        await posting
        await own.close()
        assert rounds > 1
        assert len(await service.journal("event_id")) == 170
        await assert_records_are_the_fold_of_the_journal(service)


# -- plans -------------------------------------------------------------------------------------------------------------

SMALL = ("intake_head", "writer_partition")
"""Tables with a row for each partition."""


ROWS = 3_000
TEXTS = {
    "tenant": "'acme'",
    "status": "CASE WHEN i < 5 THEN 'open' ELSE 'merged' END",
    "type": "'summary'",
    "reason": "'invalid'",
    "channel": "'voice'",
}
OF_ONE = {("decision", "status"): "CASE WHEN i < 5 THEN 'active' ELSE 'superseded' END"}
"""Of a table and column with words of its own."""
VALUES = {
    "BOOLEAN": "false",
    "BYTEA": "''::bytea",
    "DATE": "current_date + i % 30",
    "INTEGER": "i",
    "BIGINT": "i",
    "TIMESTAMP WITH TIME ZONE": "now() - i * interval '1 minute'",
}


def _fill(connection: Connection) -> None:
    """All of one tenant, so that to look for the tenant alone is to read everything."""
    for table in METADATA.sorted_tables:
        if table.name in SMALL:
            continue
        kinds = {
            column.name: column.type.compile(connection.dialect).partition(" COLLATE")[0] for column in table.columns
        }
        values = [
            OF_ONE.get((table.name, name)) or TEXTS.get(name) or VALUES.get(kind) or f"'{name}-' || i"
            for name, kind in kinds.items()
        ]
        rows = f"SELECT {', '.join(values)} FROM generate_series(1, {ROWS}) AS i"
        connection.exec_driver_sql(f"INSERT INTO {table.name} ({', '.join(kinds)}) {rows}")
        connection.exec_driver_sql(f"ANALYZE {table.name}")


async def test_a_prepared_statement_finds_its_rows_in_an_index(store: PostgresDatabase) -> None:
    """No statement of a hot path reads all of a tenant's rows."""
    found: dict[str, Prepared] = {}
    for module in (keys, aside, beside, borrower, journal, operations, saving, resumes, table_log, fence):
        for name, value in vars(module).items():
            for n, one in enumerate(value.values() if isinstance(value, dict) else [value]):
                if isinstance(one, OfList):
                    found[f"{module.__name__}.{name}.{n}"] = one._every
                elif isinstance(one, Prepared):
                    found[f"{module.__name__}.{name}.{n}"] = one
    assert len(found) > 25

    def plans(connection: Connection) -> dict[str, str]:
        _fill(connection)
        connection.execute(text("SET LOCAL plan_cache_mode = force_generic_plan"))
        told = {}
        for number, (name, statement) in enumerate(found.items()):
            ready = statement._prepare_for_postgres()
            connection.exec_driver_sql(f"PREPARE p{number} AS {ready.sql}")
            nulls = f"({', '.join(['NULL'] * len(ready.order))})" if ready.order else ""
            rows = connection.exec_driver_sql(f"EXPLAIN EXECUTE p{number}{nulls}").scalars()
            told[name] = "\n".join(rows)
            connection.exec_driver_sql(f"DEALLOCATE p{number}")
        return told

    slow = {name: plan for name, plan in (await store.write(plans)).items() if not _is_quick(plan)}
    assert not slow, "\n\n".join(f"{name}\n{plan}" for name, plan in slow.items())


def _is_quick(plan: str) -> bool:
    if any(f" on {table}" in plan for table in SMALL) or plan.startswith(("Insert", "Limit")):
        return True
    conditions = [line for line in plan.splitlines() if "Index Cond" in line]
    return "Seq Scan" not in plan and all(" AND " in one or "(key_id)" in one for one in conditions or [""])


# -- the commands ------------------------------------------------------------------------------------------------------

KEY = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="


@pytest.fixture
def empty(databases: Any) -> Iterator[str]:
    with databases.server.database() as own:
        yield own


def test_the_commands_from_an_empty_database_to_one_that_serves(tmp_path: Path, empty: str) -> None:

    where = {"BORROWER_MEMORY_DATABASE_URL": empty, "BORROWER_MEMORY_SECRET_KEYS": KEY}
    service = Service(tmp_path, env=where)

    def run(*words: str, code: int = 0) -> str:
        done = service.command(*words)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    for words in (["serve"], ["keys", "list", "--tenant", "acme"]):
        told = run(*words, code=1)
        assert told == "failed: the database has no tables yet: run `borrower-memory migrate` first\n"
    assert run("migrate") == "the database is at this version's tables\n"

    service.start()
    with service.client() as client:
        body = {
            "borrower_id": "B-1", "channel": "voice", "conversation_id": "c-1", "ended_at": ago(minutes=1),
            "outcome": "connected", "commitment": {"amount": "5000", "due_date": "2031-01-31", "status": "proposed"},
        }  # fmt: skip
        assert client.post("/v1/summaries", json=body).json()["status"] == "merged"
        assert client.post("/v1/summaries", json=body).json()["status"] == "duplicate"
        assert client.post("/v1/resume", json={"channel": "voice", "borrower_id": "B-1"}).json()["found"] is True
        assert client.get("/readyz").json() == {"status": "ready", "checks": {"database": "ok", "writer": "ok"}}
        assert "only one at a time" in run("serve", code=1)
        assert '"changed": 0' in run("rebuild"), "beside the service"
        assert client.post("/v1/resume", json={"channel": "voice", "borrower_id": "B-1"}).json()["found"] is True
        conflict = client.post("/v1/summaries", json=body | {"outcome": "busy"})
        assert conflict.status_code == 409
        [line] = run("set-aside", "list", "--tenant", "acme").splitlines()
        assert json.loads(line)["reason"] == "id_conflict"
    assert service.stop() == 0
    assert '"refused"' in run("set-aside", "retry", "--tenant", "acme", "1")


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"BORROWER_MEMORY_SECRET_KEYS": ""}, 2, "SECRET_KEYS is needed with PostgreSQL"),
        ({"BORROWER_MEMORY_DATABASE_URL": "WRONG PASSWORD"}, 1, "does not let us in"),
        ({"BORROWER_MEMORY_DATABASE_URL": "NO DATABASE"}, 1, "no database of this name"),
    ],
)
def test_what_keeps_a_command_from_its_database_is_told_without_the_password(
    tmp_path: Path, url: str, change: dict[str, str], code: int, says: str
) -> None:

    parts = urlsplit(url)
    urls = {
        "WRONG PASSWORD": url.replace(f":{parts.password}@", ":hidden@"),
        "NO DATABASE": url.rpartition("/")[0] + "/hidden",
    }
    given = {name: urls.get(value, value) for name, value in change.items()}
    where = {"BORROWER_MEMORY_DATABASE_URL": url, "BORROWER_MEMORY_SECRET_KEYS": KEY}
    done = Service(tmp_path, env=where | given).command("migrate")
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "hidden" not in done.stderr + done.stdout
