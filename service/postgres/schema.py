"""The tables: brought to this version by `migrate`, and looked at when a process starts."""

from __future__ import annotations

import asyncio
from typing import Final

from alembic import command
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, text

from service.database import DamagedDatabase, NotMigrated
from service.migrations import alembic_config, newest_revision
from service.postgres.commits import committed, undone
from service.postgres.engine import ANY, CONNECT_SECONDS, engine_of, unreachable
from service.postgres.lines import Line

ADVISORY: Final = 0x626D  # the first half of our advisory locks' keys
MIGRATING: Final = 1
MIGRATION_LOCK_MILLISECONDS: Final = 5_000  # everybody who uses the table waits behind a change of it


async def migrate(dsn: str) -> str:
    """Brings the tables to the newest revision, and names it. Of two that do so at once the second finds it done.

    In one transaction, so it is done as a whole or not at all. Raises `DamagedDatabase`, `DatabaseUnavailable`.
    """
    engine = engine_of(dsn, ANY)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            connection = await engine.connect()
            driver = (await connection.get_raw_connection()).driver_connection
    except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
        await engine.dispose()
        raise unreachable(error)  # noqa: B904 (it has a cause)
    line = Line(connection, driver)
    try:
        await line.driver.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        await line.driver.execute(f"SELECT pg_advisory_xact_lock({ADVISORY}, {MIGRATING})")
        await line.driver.execute(f"SET LOCAL lock_timeout = {MIGRATION_LOCK_MILLISECONDS}")
        await line.run(_upgraded)
        await committed(line)
    except CommandError as error:
        raise DamagedDatabase(f"the tables are of another version of this service: {error}") from error
    except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
        raise await undone(line, error)  # noqa: B904 (it is its own cause, or has one)
    finally:
        await line.close()
        await engine.dispose()
    return newest_revision()


def _upgraded(connection: Connection) -> None:
    _check_encoding(connection)
    if MigrationContext.configure(connection).get_current_revision() != newest_revision():
        command.upgrade(alembic_config(connection), "head")


def checked(connection: Connection) -> str:
    """What `synchronous_commit` is, of a database that this version can use."""
    _check_encoding(connection)
    known = MigrationContext.configure(connection).get_current_revision()
    if known is None:
        raise NotMigrated("the database has no tables yet: run `borrower-memory migrate` first")
    if known != newest_revision():
        try:
            ScriptDirectory.from_config(alembic_config()).get_revision(known)
        except CommandError as error:
            raise DamagedDatabase(f"the tables are of another version of this service: {error}") from error
        raise NotMigrated(
            f"the tables are at revision {known} and this version needs {newest_revision()}: run"
            " `borrower-memory migrate` first"
        )
    return str(connection.execute(text("SHOW synchronous_commit")).scalar_one())


def _check_encoding(connection: Connection) -> None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise DamagedDatabase(f"the database's encoding is {encoding}: make one with the encoding UTF8")
