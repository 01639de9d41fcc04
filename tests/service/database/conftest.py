"""A file of SQLite's and a store on either database, with numbers that are stored in it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from service.database import Job, Store
from service.sqlite import SqliteDatabase
from service.tables import IntakeHead, table_of
from tests.service.conftest import Where
from tests.service.embedded import open_store

HEADS = table_of(IntakeHead)
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def add(number: int) -> Job[int]:
    def job(connection: Connection) -> int:
        connection.execute(insert(HEADS).values(partition=number, next_offset=0, identity="log"))
        return number

    return job


def numbers(connection: Connection) -> list[int]:
    return list(connection.execute(select(HEADS.c.partition).order_by(HEADS.c.partition)).scalars())


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    """SQLite's."""
    opened = await SqliteDatabase.open(tmp_path / "test.db")
    yield opened
    await opened.close()


@pytest.fixture
async def store(where: Where) -> AsyncIterator[Store]:
    """Either."""
    opened = await open_store(where())
    yield opened
    await opened.close()


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def log_bytes(database: SqliteDatabase) -> int:
    return os.path.getsize(f"{database.path}-wal")


def stored(database: SqliteDatabase) -> list[int]:
    """As another process sees it."""
    with sqlite3.connect(database.path) as own:
        return [row[0] for row in own.execute("SELECT partition FROM intake_head ORDER BY 1")]


async def seen_by_another(where: Where) -> list[int]:
    other = await open_store(where())
    try:
        return await other.read(numbers)
    finally:
        await other.close()
