"""Reads of many rows, in a thread whose loop and connections are its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from service.database import (
    Job,
)
from service.postgres.commits import undone
from service.postgres.engine import READER
from service.postgres.failures import ConnectionLost
from service.postgres.lines import Lines

T = TypeVar("T")

SLOW_READERS: Final = 2
SLOW_READ_SECONDS: Final = 30.0
_BEGIN_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class SlowReads:
    """Reads of many rows, in a thread whose loop and connections are its own, so that nobody else waits for them."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lines: Lines | None = None
        self._thread: threading.Thread | None = None

    async def run(self, job: Job[T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._lines = Lines(self._dsn, READER, SLOW_READERS)
            self._thread = threading.Thread(target=self._loop.run_forever, name="slow-reads", daemon=True)
            self._thread.start()
        return await self._there(self._run(job))

    async def _run(self, job: Job[T]) -> T:
        assert self._lines is not None
        try:
            return await self._in_snapshot(self._lines, job)
        except ConnectionLost:
            return await self._in_snapshot(self._lines, job)

    @staticmethod
    async def _in_snapshot(lines: Lines, job: Job[T]) -> T:
        line = await lines.take(SLOW_READ_SECONDS)
        try:
            await line.driver.execute(_BEGIN_SNAPSHOT)
            answer = await line.run(job)
            await line.driver.execute("COMMIT")
            return answer
        except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
            raise await undone(line, error)  # noqa: B904 (it is its own cause, or has one)
        finally:
            lines.give(line)

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def close(self) -> None:
        if self._loop is None or self._lines is None or self._thread is None:
            return
        await self._there(self._lines.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()
