"""A store on a real PostgreSQL, another beside it, and a way to the server that is cut."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, insert, select, text

from service.database import DatabaseUnavailable, Job, Store
from service.postgres import PostgresDatabase
from service.tables import IntakeHead, Permit, table_of

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
