"""Connections that stay open, each for one job at a time, which runs in a greenlet on the event loop's thread."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Awaitable
from typing import Any, Final, NamedTuple, TypeVar

import structlog
from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from service.database import (
    DatabaseUnavailable,
    Job,
)
from service.postgres.engine import engine_of, unreachable
from service.postgres.failures import WORLD

T = TypeVar("T")

CONNECT_SECONDS: Final = 3.0
TURN_SECONDS: Final = 5.0  # for a connection that is free
WATCH_SECONDS: Final = 0.5

log = structlog.get_logger("service.postgres")


class _Done(NamedTuple):
    answer: Any
    error: BaseException | None


class _Runner(greenlet):  # type: ignore[misc]
    """A greenlet that runs one function after the other; to make one for each would take longer than most reads do.

    SQLAlchemy's `await_only` gives what is to be awaited to the parent of the greenlet that it is called in, if that says
    by this attribute that its parent awaits it.
    """

    __sqlalchemy_greenlet_provider__ = True

    def __init__(self) -> None:
        super().__init__(None, getcurrent())

    def run(self, job: Job[Any], connection: Connection) -> None:
        while True:
            try:
                done = _Done(job(connection), None)
            except Exception as error:  # noqa: BLE001 (whatever it is, it belongs to the one who asked, and goes there)
                done = _Done(None, error)
            except asyncio.CancelledError as error:
                done = _Done(None, error)
            del job
            job, connection = self.parent.switch(done)

    async def answer(self, job: Job[T], connection: Connection) -> T:
        self.gr_context = getcurrent().gr_context
        told: _Done | Awaitable[Any] = self.switch(job, connection)
        while not isinstance(told, _Done):
            try:
                result = await told
            except BaseException as error:  # noqa: BLE001 (it is raised where it was awaited)
                told = self.throw(error)
            else:
                told = self.switch(result)
        if told.error is not None:
            raise told.error
        answer: T = told.answer
        return answer


class Line:
    """One connection, for one job at a time."""

    def __init__(self, connection: AsyncConnection, driver: Any) -> None:
        self.driver = driver
        self.until = math.inf
        """When the watch cuts it, by the loop's clock."""
        self._connection = connection
        self._runner = _Runner()

    @property
    def is_lost(self) -> bool:
        return bool(self.driver.is_closed())

    async def run(self, job: Job[T]) -> T:
        connection = self._connection.sync_connection
        assert connection is not None, "it was closed"
        return await self._runner.answer(job, connection)

    def cut(self) -> None:
        """Whoever waits for an answer is told that there is none; the server undoes what was not committed."""
        self.driver.terminate()

    async def close(self) -> None:
        """What SQLAlchemy takes for its transaction was never one."""
        with contextlib.suppress(*WORLD, TimeoutError):
            await self._connection.close()


class Lines:
    """So many connections of one kind, each made when it is first needed. The one given back last is taken first."""

    def __init__(self, dsn: str, opening: str, most: int) -> None:
        self._engine = engine_of(dsn, opening)
        self._most = most
        self._loop: asyncio.AbstractEventLoop | None = None
        self._count = 0
        self._free: list[Line] = []
        self._busy: set[Line] = set()
        self._waiting: deque[asyncio.Future[Line | None]] = deque()
        self._watching: asyncio.TimerHandle | None = None
        self._is_away = False
        self._is_trying = False
        self._closing: set[asyncio.Task[None]] = set()

    async def take(self, seconds: float) -> Line:
        """A connection for one job, which is cut when that takes longer. Raises `DatabaseUnavailable`."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        line = self._found() or await self._made_or_awaited(loop)
        line.until = loop.time() + seconds
        self._busy.add(line)
        if self._watching is None:
            self._watching = loop.call_later(WATCH_SECONDS, self._watch)
        return line

    def give(self, line: Line) -> None:
        """Back. With one that is lost the others that lie idle are not trusted any more."""
        self._busy.discard(line)
        if not line.is_lost:
            self._hand_on(line)
            return
        self._drop(line)
        while self._free:
            idle = self._free.pop()
            idle.cut()
            self._drop(idle)
        self._hand_on(None)

    def _found(self) -> Line | None:
        while self._free:
            line = self._free.pop()
            if not line.is_lost:
                return line
            self._drop(line)
        return None

    async def _made_or_awaited(self, loop: asyncio.AbstractEventLoop) -> Line:
        until = loop.time() + TURN_SECONDS
        while self._count >= self._most:
            turn: asyncio.Future[Line | None] = loop.create_future()
            self._waiting.append(turn)
            try:
                async with asyncio.timeout_at(until):
                    line = await turn
            except TimeoutError:
                self._withdraw(turn)
                raise DatabaseUnavailable("all connections to the database are busy") from None
            except asyncio.CancelledError:
                self._withdraw(turn)
                raise
            if line is not None:
                return line
        return await self._make()

    async def _make(self) -> Line:
        if self._is_away and self._is_trying:
            raise DatabaseUnavailable("the database cannot be reached")
        self._is_trying = True
        self._count += 1
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await self._engine.connect()
                raw = await connection.get_raw_connection()
        except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
            self._count -= 1
            self._is_away = True
            self._hand_on(None)
            raise unreachable(error)  # noqa: B904 (it is its own cause, or has one)
        finally:
            self._is_trying = False
        self._is_away = False
        return Line(connection, raw.driver_connection)

    def _hand_on(self, line: Line | None) -> None:
        """To the next that waits; None is leave to make one."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(line)
                return
        if line is not None:
            self._free.append(line)

    def _withdraw(self, turn: asyncio.Future[Line | None]) -> None:
        """Whoever does not wait any more may have been given one in the same instant."""
        if turn.cancelled():
            with contextlib.suppress(ValueError):
                self._waiting.remove(turn)
        else:
            self._hand_on(turn.result())

    def _drop(self, line: Line) -> None:
        self._count -= 1
        task = asyncio.ensure_future(line.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _watch(self) -> None:
        assert self._loop is not None
        self._watching = None
        now = self._loop.time()
        for line in self._busy:
            if line.until < now:
                line.until = math.inf
                log.warning("connection_cut", why="a job took too long")
                line.cut()
        if self._busy:
            self._watching = self._loop.call_later(WATCH_SECONDS, self._watch)

    async def close(self) -> None:
        """When nobody has one any more."""
        if self._watching is not None:
            self._watching.cancel()
        while self._free:
            self._drop(self._free.pop())
        await asyncio.gather(*self._closing)
        await self._engine.dispose()
