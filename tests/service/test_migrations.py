"""The tables as the migrations make them are the tables as the code has them."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect

from service.database import DamagedDatabase, Database, alembic_config, migrate, newest_revision
from service.tables import METADATA


def tables(path: Path) -> set[str]:
    with create_engine(f"sqlite:///{path}").connect() as connection:
        return set(inspect(connection).get_table_names()) - {"alembic_version"}


def run(path: Path, step: str, revision: str) -> None:
    with create_engine(f"sqlite:///{path}").begin() as connection:
        getattr(command, step)(alembic_config(connection), revision)


async def test_a_migrated_database_has_the_tables_of_the_code(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    assert await migrate(path) == newest_revision()

    def differences(connection: Connection) -> object:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        return compare_metadata(context, METADATA)

    with create_engine(f"sqlite:///{path}").connect() as connection:
        assert differences(connection) == []
        partial = connection.exec_driver_sql(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%WHERE%'"
        ).scalars()
        assert set(partial) == {"borrower_redirected", "journal_conversation", "set_aside_open_event"}
    assert tables(path) == set(METADATA.tables)


def test_the_revisions_are_one_line(tmp_path: Path) -> None:
    script = ScriptDirectory.from_config(alembic_config())
    assert len(script.get_heads()) == len(script.get_bases()) == 1


async def test_every_revision_goes_down_and_up_again(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    await migrate(path)
    for revision in ScriptDirectory.from_config(alembic_config()).walk_revisions():
        run(path, "downgrade", str(revision.down_revision or "base"))
    assert tables(path) == set()
    run(path, "upgrade", "head")
    assert tables(path) == set(METADATA.tables)


async def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    await migrate(path)
    with sqlite3.connect(path) as own:
        own.execute("INSERT INTO intake_head VALUES (1, 2, 'log')")
    await migrate(path)
    with sqlite3.connect(path) as own:
        assert own.execute("SELECT * FROM intake_head").fetchall() == [(1, 2, "log")]


async def test_several_that_start_at_once_migrate_once(tmp_path: Path) -> None:
    opened = await asyncio.gather(*(Database.open(tmp_path / "test.db") for _ in range(4)))
    await asyncio.gather(*(database.close() for database in opened))
    assert tables(tmp_path / "test.db") == set(METADATA.tables)


async def test_a_revision_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "test.db"
    with sqlite3.connect(path) as own:
        own.execute("CREATE TABLE writer_partition (in_the_way int)")  # the last table that the first revision makes
    with pytest.raises(Exception, match="already exists"):
        await Database.open(path)
    assert tables(path) == {"writer_partition"}


async def test_tables_of_a_later_version_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    await migrate(path)
    with sqlite3.connect(path) as own:
        own.execute("UPDATE alembic_version SET version_num = 'of-next-year'")
    with pytest.raises(DamagedDatabase, match="another version"):
        await Database.open(path)
