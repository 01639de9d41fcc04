"""Connections to a file of SQLite's, and which of their failures are the world's."""

from __future__ import annotations

import sqlite3
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from service.database import DatabaseUnavailable
from service.outage import database_out_of_reach

BUSY_LIMIT_SECONDS: Final = 5.0  # for another process that holds the write lock
AUTOCHECKPOINT_PAGES: Final = 10_000  # only when the checkpoints beside the writers do not keep up

WORLD: Final = (sqlite3.Error, SQLAlchemyError, OSError)
"""Among these are the failures that are the world's and not the job's."""


_path: ContextVar[Path] = ContextVar("path")
"""Of the file that is being opened."""


def _opened() -> sqlite3.Connection:
    return sqlite3.connect(_path.get(), isolation_level=None, check_same_thread=False, timeout=0, cached_statements=512)


# One for all files and connections: an engine keeps what it has compiled, and each statement is compiled once in a process.
_ENGINE: Final = create_engine("sqlite://", creator=_opened, poolclass=NullPool, hide_parameters=True)


def connected(path: Path, *, read_only: bool = False, wait: bool = False) -> Connection:
    """A connection whose transactions are ours to open and end: SQLAlchemy sends neither BEGIN nor COMMIT."""
    opening = _path.set(path)
    try:
        connection = _ENGINE.connect()
    finally:
        _path.reset(opening)
    driver = driver_of(connection)
    try:
        driver.execute(f"PRAGMA busy_timeout = {BUSY_LIMIT_SECONDS * 1000 if wait or read_only else 0:.0f}")
        driver.execute("PRAGMA journal_mode = WAL")
        driver.execute("PRAGMA synchronous = FULL")
        driver.execute("PRAGMA foreign_keys = ON")
        driver.execute("PRAGMA secure_delete = ON")  # what was forgotten must not lie on in free pages
        driver.execute(f"PRAGMA wal_autocheckpoint = {AUTOCHECKPOINT_PAGES}")
        if read_only:
            driver.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        let_go(connection)
        raise
    return connection


def driver_of(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def begin_when_free(driver: sqlite3.Connection) -> None:
    """Opens a transaction that writes, once the process that holds the lock lets it go."""
    driver.execute(f"PRAGMA busy_timeout = {BUSY_LIMIT_SECONDS * 1000:.0f}")
    try:
        driver.execute("BEGIN IMMEDIATE")
    finally:
        driver.execute("PRAGMA busy_timeout = 0")


def let_go(connection: Connection) -> None:
    """Closes it. What SQLAlchemy takes for its transaction was never one."""
    connection.close()


def translated(error: BaseException) -> BaseException:
    """`DatabaseUnavailable` for what the world did; everything else as it is."""
    if isinstance(error, DatabaseUnavailable) or not database_out_of_reach(error):
        return error
    unavailable = DatabaseUnavailable("the database cannot be reached or written just now")
    unavailable.__cause__ = error
    return unavailable
