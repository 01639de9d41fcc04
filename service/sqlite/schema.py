"""The file and its tables: there, sound, and of this version, before anybody reads it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import Final

from alembic import command
from alembic.runtime.migration import MigrationContext
from alembic.util.exc import CommandError
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from service.database import DamagedDatabase
from service.migrations import alembic_config, newest_revision
from service.sqlite.connections import WORLD, connected, driver_of, let_go, translated

QUICK_CHECK_LIMIT_FAULTS: Final = 3


async def migrate(path: Path) -> str:
    """Brings the tables to the newest revision, and names it. Two processes that start at once do it once.

    Raises `DamagedDatabase`, `DatabaseUnavailable`.
    """
    try:
        await asyncio.to_thread(prepare_file, path, check=False)
    except WORLD as error:
        raise translated(error)  # noqa: B904 (it is its own cause, or has one)
    return newest_revision()


def prepare_file(path: Path, *, check: bool) -> None:
    """For its owner alone, migrated, and sound."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    try:
        connection = connected(path, wait=True)
        try:
            if check:
                _check(connection)
            _migrate(connection)
        finally:
            let_go(connection)
    except (sqlite3.Error, DBAPIError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if getattr(cause, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise DamagedDatabase(f"{path.name} is damaged or is no SQLite file: restore it from a copy") from error
        raise


def _check(connection: Connection) -> None:
    faults = driver_of(connection).execute(f"PRAGMA quick_check({QUICK_CHECK_LIMIT_FAULTS})").fetchall()
    if faults != [("ok",)]:
        raise DamagedDatabase(f"the database is damaged: restore it from a copy ({faults[0][0]})")


def _migrate(connection: Connection) -> None:
    """In one transaction that holds the write lock from its beginning: whoever comes second finds it done."""
    driver = driver_of(connection)
    driver.execute("BEGIN IMMEDIATE")
    try:
        known = MigrationContext.configure(connection).get_current_revision()
        if known != newest_revision():
            command.upgrade(alembic_config(connection), "head")
        driver.execute("COMMIT")
    except BaseException as error:
        if driver.in_transaction:
            driver.execute("ROLLBACK")
        if isinstance(error, CommandError):
            raise DamagedDatabase(f"the tables are of another version of this service: {error}") from error
        raise
