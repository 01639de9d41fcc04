"""The tables as the migrations make them are the tables as the code has them, on either database.

A migration runs beside writers of the release before, so what they knew of the tables must do after it as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, MetaData, Table, create_engine, delete, insert, inspect, select, text, update

from service import postgres
from service.database import (
    DamagedDatabase,
    DatabaseUnavailable,
    NotMigrated,
)
from service.migrations import alembic_config, newest_revision
from service.postgres import PostgresDatabase
from service.postgres.engine import engine_of
from service.sqlite import SqliteDatabase
from service.sqlite.schema import migrate
from service.tables import METADATA, IntakeHead, table_of
from tests.service.conftest import Databases

HEADS = table_of(IntakeHead)
Empty = Path | str


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.process)])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Empty]:
    """A database without any table."""
    if request.param == "sqlite":
        yield tmp_path / "test.db"
        return
    databases: Databases = request.getfixturevalue("databases")
    with databases.server.database() as url:
        yield url


async def migrated(where: Empty) -> str:
    return await (migrate(where) if isinstance(where, Path) else postgres.migrate(where))


async def with_connection(where: Empty, job: Any) -> Any:
    """What a function of a connection answers, in a transaction of its own, whatever the tables are."""
    if isinstance(where, Path):
        with create_engine(f"sqlite:///{where}").begin() as connection:
            return job(connection)
    engine = engine_of(where, "BEGIN")
    async with engine.connect() as own:
        answer = await own.run_sync(job)
        await own.exec_driver_sql("COMMIT")
    await engine.dispose()
    return answer


def tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names()) - {"alembic_version"}


async def step(where: Empty, direction: str, revision: str) -> None:
    await with_connection(where, lambda c: getattr(command, direction)(alembic_config(c), revision))


async def test_a_migrated_database_has_the_tables_of_the_code(empty: Empty) -> None:
    assert await migrated(empty) == newest_revision()

    def differences(connection: Connection) -> object:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        return compare_metadata(context, METADATA)

    assert await with_connection(empty, differences) == []
    assert await with_connection(empty, tables) == set(METADATA.tables)
    partial = {
        Path: "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%WHERE%'",
        str: "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexdef LIKE '%WHERE%'",
    }[Path if isinstance(empty, Path) else str]
    names = await with_connection(empty, lambda c: set(c.execute(text(partial)).scalars()))
    assert names == {
        i.name for t in METADATA.tables.values() for i in t.indexes if i.dialect_options["sqlite"]["where"] is not None
    }


async def test_texts_are_ordered_by_code_points(empty: Empty) -> None:
    """As the core orders ids; a PostgreSQL database made for a language would put a before B, and both before \u00e4."""
    await migrated(empty)
    names = ["B", "a", "Z-1", "\u00e4", "\u0928", "\U0001f600", "b", "_", "~"]

    def put(connection: Connection) -> None:
        connection.execute(
            insert(HEADS), [{"partition": n, "next_offset": 0, "identity": name} for n, name in enumerate(names)]
        )

    await with_connection(empty, put)
    ordered = select(HEADS.c.identity).order_by(HEADS.c.identity)
    assert await with_connection(empty, lambda c: list(c.execute(ordered).scalars())) == sorted(names)
    if isinstance(empty, str):
        of_others = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        of_others += " AND data_type = 'character varying' AND collation_name IS DISTINCT FROM 'C'"
        of_others += " AND table_name <> 'alembic_version'"
        assert await with_connection(empty, lambda c: c.execute(text(of_others)).all()) == []


def test_the_revisions_are_one_line() -> None:
    script = ScriptDirectory.from_config(alembic_config())
    assert len(script.get_heads()) == len(script.get_bases()) == 1


@pytest.mark.thorough
async def test_every_revision_goes_down_and_up_again(empty: Empty) -> None:
    await migrated(empty)
    revisions = list(ScriptDirectory.from_config(alembic_config()).walk_revisions())
    seen = [await with_connection(empty, schema)]
    for revision in revisions:
        await step(empty, "downgrade", str(revision.down_revision or "base"))
        seen.append(await with_connection(empty, schema))
    assert await with_connection(empty, tables) == set()
    for revision in reversed(revisions):
        assert await with_connection(empty, schema) == seen.pop()
        await step(empty, "upgrade", revision.revision)
    assert await with_connection(empty, schema) == seen.pop()


WRITERS_TABLES = (
    "writer_partition", "journal", "borrower", "journey", "identifier_link", "loan", "started", "set_aside", "repeat",
    "intake_head", "intake", "outbox", "awaited",
)  # fmt: skip
EARLIER = [script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()][1:]


@pytest.mark.parametrize(
    "earlier", [EARLIER[0], *(pytest.param(one, marks=pytest.mark.thorough) for one in EARLIER[1:])]
)
async def test_a_writer_of_an_earlier_release_goes_on_over_the_newest_tables(empty: Empty, earlier: str) -> None:
    """By the columns that it knew, it adds, finds, changes and removes rows; and after the way down again, too."""
    await step(empty, "upgrade", earlier)
    known = MetaData()
    await with_connection(empty, lambda c: known.reflect(c, only=lambda name, _: name in WRITERS_TABLES))
    assert "journal" in known.tables
    for where_to in ("upgrade", "downgrade"):
        await step(empty, where_to, "head" if where_to == "upgrade" else earlier)
        for number, table in enumerate(known.tables.values()):
            await with_connection(empty, lambda c, t=table, n=number: _used(c, t, n))


def _used(connection: Connection, table: Table, number: int) -> None:
    row = {column.name: _some(column, number) for column in table.columns}
    own = [column == row[column.name] for column in table.primary_key]
    connection.execute(insert(table).values(row))
    assert connection.execute(select(table).where(*own)).one() is not None
    others = {name: value for name, value in row.items() if name not in table.primary_key.columns}
    if others:
        assert connection.execute(update(table).where(*own).values(others)).rowcount == 1
    assert connection.execute(delete(table).where(*own)).rowcount == 1


def _some(column: Column[Any], number: int) -> Any:
    """A value of the column's kind."""
    kinds = {
        bytes: b"x",
        bool: False,
        int: number + 1,
        datetime: datetime(2026, 11, 29, tzinfo=UTC),
        date: date(2026, 11, 29),
    }
    kind = column.type.python_type
    if kind is datetime and not getattr(column.type, "timezone", False):
        return datetime(2026, 11, 29)  # noqa: DTZ001 (as SQLite keeps it)
    return kinds.get(kind, {"status": "open", "reason": "invalid", "kind": "event"}.get(column.name, "x"))


def schema(connection: Connection) -> dict[str, Any]:
    """Tables with their columns, keys and indexes."""
    look = inspect(connection)
    return {
        name: (
            [(c["name"], str(c["type"]), c["nullable"]) for c in look.get_columns(name)],
            look.get_pk_constraint(name)["constrained_columns"],
            sorted((i["name"], i["column_names"], bool(i["unique"])) for i in look.get_indexes(name)),
        )
        for name in tables(connection)
    }


async def test_migrating_again_changes_nothing(empty: Empty) -> None:
    await migrated(empty)
    await with_connection(empty, lambda c: c.execute(insert(HEADS).values(partition=1, next_offset=2, identity="log")))
    await migrated(empty)
    assert await with_connection(empty, lambda c: c.execute(select(HEADS)).all()) == [(1, 2, "log")]


async def test_several_that_start_at_once_migrate_once(empty: Empty) -> None:
    assert await asyncio.gather(*(migrated(empty) for _ in range(4))) == [newest_revision()] * 4
    assert await with_connection(empty, tables) == set(METADATA.tables)


async def test_a_revision_that_fails_leaves_nothing_behind(empty: Empty) -> None:
    """The last table that the first revision makes is in the way."""
    await with_connection(empty, lambda c: c.exec_driver_sql("CREATE TABLE writer_partition (in_the_way int)"))
    with pytest.raises(Exception, match="already exists"):
        await migrated(empty)
    assert await with_connection(empty, tables) == {"writer_partition"}


async def of_next_year(where: Empty) -> None:
    await migrated(where)
    await with_connection(where, lambda c: c.exec_driver_sql("UPDATE alembic_version SET version_num = 'of-next-year'"))


async def test_tables_of_a_later_version_are_refused(empty: Empty) -> None:
    await of_next_year(empty)
    with pytest.raises(DamagedDatabase, match="another version"):
        await migrated(empty)
    with pytest.raises(DamagedDatabase, match="another version"):
        await (SqliteDatabase.open(empty) if isinstance(empty, Path) else PostgresDatabase.open(empty))


# -- SQLite migrates itself --------------------------------------------------------------------------------------------


async def test_several_that_open_a_file_at_once_migrate_it_once(tmp_path: Path) -> None:
    opened = await asyncio.gather(*(SqliteDatabase.open(tmp_path / "test.db") for _ in range(4)))
    await asyncio.gather(*(database.close() for database in opened))
    assert await with_connection(tmp_path / "test.db", tables) == set(METADATA.tables)


async def test_a_file_of_an_earlier_version_is_brought_up_with_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    await migrate(path)
    await step(path, "downgrade", "0001")
    with contextlib.closing(sqlite3.connect(path)) as own, own:
        own.execute(
            "INSERT INTO set_aside VALUES (1, 'acme', 'invalid', '', 'event', NULL, NULL, 'e', 'h', 'now', 1, 'open', '')"
        )
    await (await SqliteDatabase.open(path)).close()
    assert await with_connection(path, tables) == set(METADATA.tables)
    assert await with_connection(path, lambda c: c.exec_driver_sql("SELECT id, event_id FROM set_aside").all()) == [
        (1, "e")
    ]


# -- PostgreSQL has to be migrated -------------------------------------------------------------------------------------


@pytest.fixture
async def bare(databases: Databases) -> AsyncIterator[str]:
    with databases.server.database() as url:
        yield url


@pytest.mark.process
async def test_without_its_tables_a_postgresql_database_is_not_opened(bare: str) -> None:
    with pytest.raises(NotMigrated, match="run `borrower-memory migrate` first"):
        await PostgresDatabase.open(bare)
    await migrated(bare)
    await (await PostgresDatabase.open(bare)).close()
    await step(bare, "downgrade", "0001")
    with pytest.raises(NotMigrated, match=f"at revision 0001 and this version needs {newest_revision()}"):
        await PostgresDatabase.open(bare)


@pytest.mark.process
async def test_a_table_in_use_is_not_waited_for_for_long(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All who want to use it would wait behind the migration."""
    monkeypatch.setattr("service.postgres.schema.MIGRATION_LOCK_MILLISECONDS", 50)
    await migrated(bare)
    await step(bare, "downgrade", "0001")
    engine = engine_of(bare, "BEGIN")
    async with engine.connect() as other:
        await other.exec_driver_sql("LOCK TABLE set_aside IN ACCESS SHARE MODE")
        with pytest.raises(DatabaseUnavailable):
            await migrated(bare)
        assert await with_connection(bare, lambda c: MigrationContext.configure(c).get_current_revision()) == "0001"
    await engine.dispose()
    assert await migrated(bare) == newest_revision()


@pytest.mark.process
async def test_a_database_that_cannot_hold_every_text_is_refused(databases: Databases) -> None:
    name = "test_latin1"
    databases.server.sql(f"create database {name} encoding 'LATIN1' locale 'C' template template0")
    try:
        url = databases.server.url.rpartition("/")[0] + f"/{name}"
        with pytest.raises(DamagedDatabase, match="encoding UTF8"):
            await migrated(url)
        with pytest.raises(DamagedDatabase, match="encoding UTF8"):
            await PostgresDatabase.open(url)
    finally:
        databases.server.sql(f"drop database {name} with (force)")
