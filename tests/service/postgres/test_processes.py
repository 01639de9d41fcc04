"""One process serves; a rebuild beside a writer; the commands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text, update

from service.database import InUse, Store
from service.postgres import PostgresDatabase
from service.rebuild import rebuild
from service.records import BORROWER
from tests.limits import PATIENCE_SECONDS
from tests.service.embedded import (
    NOON,
    POLICIES,
    SECRETS,
    TENANT,
    embedded,
    hours,
    linked,
    promise,
)
from tests.service.postgres.conftest import add
from tests.service.writer.conftest import assert_records_are_the_fold_of_the_journal, statuses
from tests.together.service import Service, ago

pytestmark = pytest.mark.process

# -- one serves -------------------------------------------------------------------------------------------------------


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


# -- rebuilding beside a writer ---------------------------------------------------------------------------------------


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


# -- the commands -----------------------------------------------------------------------------------------------------


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
