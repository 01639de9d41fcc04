"""PostgreSQL as the store: what `service.database` is for SQLite, for as many processes as there are.

Theory of operation. A few connections of each kind stay open, and each runs one function of a connection at a time, in a
greenlet on the event loop's thread: SQLAlchemy and `Prepared` await the driver from within it.

    write   a transaction of its own, read committed. What two transactions must not both do is decided by rows: the
            fence, a record's version, a unique key, or a row that is locked first (`records.held`). One that was chosen
            to end a deadlock is run again from its beginning; so is, once, one that wrote a key which another had taken:
            now it sees that it is there.
    read    without a transaction: a statement is one moment, two statements may be two.
    slow    one snapshot for the whole function, in a thread with a loop and connections of its own.

Whoever holds locks and is not heard of any more must not stop the others for long, so a writing transaction limits what it
waits for, how long a statement takes, and how long it may stand idle. These limits, and all else that a session would keep,
are set with the transaction itself: behind a pooler a transaction is all that one has of a connection. The pooler must hand
on prepared statements: pgbouncer from 1.21 with `max_prepared_statements`, or pooling by session.

A COMMIT that was sent and not answered is `OutcomeUnknown`. A connection that is lost is not used again, nor are those that
lie idle beside it; while the server is away one caller at a time tries to reach it, and the others are told at once.

What is stored, this file must not know.
"""

from __future__ import annotations

import asyncio
from typing import Final, Self, TypeVar

import structlog
from sqlalchemy.exc import IntegrityError

from service.database import (
    DatabaseUnavailable,
    Job,
)
from service.postgres.commits import committed, undone
from service.postgres.engine import ANY, READER
from service.postgres.failures import ConnectionLost, InTheWay, state_of, translated
from service.postgres.lines import Line, Lines
from service.postgres.schema import checked, migrate
from service.postgres.serve_guard import ServeGuard
from service.postgres.slow_reads import SlowReads

T = TypeVar("T")

READERS: Final = 8
WRITERS: Final = 4
READ_SECONDS: Final = 3.0
WRITE_SECONDS: Final = 15.0
PATIENT_SECONDS: Final = 600.0
LOCK_MILLISECONDS: Final = 4_000
STATEMENT_MILLISECONDS: Final = 10_000
IDLE_MILLISECONDS: Final = 5_000  # so long a writer that stands still can hold up the one that takes over
_BEGIN: Final = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
    f" SET LOCAL lock_timeout = {LOCK_MILLISECONDS};"
    f" SET LOCAL statement_timeout = {STATEMENT_MILLISECONDS};"
    f" SET LOCAL idle_in_transaction_session_timeout = {IDLE_MILLISECONDS}"
)
_PATIENT: Final = (
    f"; SET LOCAL statement_timeout = {PATIENT_SECONDS * 1000:.0f}"
    f"; SET LOCAL idle_in_transaction_session_timeout = {PATIENT_SECONDS * 1000:.0f}"
)
RERUNS: Final = 3
_UNIQUE_VIOLATION: Final = "23505"

log = structlog.get_logger("service.postgres")

__all__ = ["READERS", "WRITERS", "PostgresDatabase", "migrate"]


class PostgresDatabase:
    """One process's way to one database (a `Store`). `open` it on the event loop that will use it, and `close` it there."""

    def __init__(self, dsn: str) -> None:
        self._readers = Lines(dsn, READER, READERS)
        self._writers = Lines(dsn, ANY, WRITERS)
        self._slow = SlowReads(dsn)
        self._guard = ServeGuard(dsn)
        self._begin = _BEGIN
        self._write_seconds = WRITE_SECONDS
        self._closed = False
        self._going = 0
        self._idle = asyncio.Event()

    @classmethod
    async def open(cls, dsn: str, *, serving: bool = False, patient: bool = False) -> Self:
        """`dsn` is libpq's, `postgresql://…`. `serving` is for who runs the table log's writer: there is to be one.
        `patient` is for commands whose writes may take minutes.

        Raises `NotMigrated`, `DamagedDatabase`, `InUse`, `DatabaseUnavailable`.
        """
        opened = cls(dsn)
        try:
            if await opened.read(checked) in ("off", "local"):
                opened._begin += "; SET LOCAL synchronous_commit = on"
            if patient:
                opened._begin += _PATIENT
                opened._write_seconds = PATIENT_SECONDS
            if serving:
                await opened._guard.take()
        except BaseException:
            await opened.close()
            raise
        return opened

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._going:
            await self._idle.wait()
        await self._guard.release()
        await self._slow.close()
        await self._readers.close()
        await self._writers.close()

    async def scrub(self) -> bool:
        """The files are the server's: its vacuum ends what was deleted."""
        return True

    def health(self) -> str:
        return self._guard.trouble or "ok"

    # -- reading

    async def read(self, job: Job[T]) -> T:
        with _Going(self):
            try:
                return await self._read(job)
            except ConnectionLost:  # most likely long before, and only seen now
                return await self._read(job)

    async def _read(self, job: Job[T]) -> T:
        line = await self._readers.take(READ_SECONDS)
        try:
            return await line.run(job)
        except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
            raise translated(error, line)  # noqa: B904 (it is its own cause, or has one)
        finally:
            self._readers.give(line)

    async def read_slow(self, job: Job[T]) -> T:
        with _Going(self):
            return await self._slow.run(job)

    # -- writing

    async def write(self, job: Job[T]) -> T:
        with _Going(self):
            for _ in range(RERUNS):
                try:
                    return await self._write(job)
                except InTheWay as why:
                    log.info("transaction_run_again", sqlstate=why.sqlstate)
                except IntegrityError as why:
                    if state_of(why) != _UNIQUE_VIOLATION:
                        raise
                    break
            return await self._write(job)

    async def _write(self, job: Job[T]) -> T:
        try:
            line = await self._begun()
        except ConnectionLost:
            line = await self._begun()
        try:
            try:
                answer = await line.run(job)
            except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
                raise await undone(line, error)  # noqa: B904 (it is its own cause, or has one)
            await committed(line)
            return answer
        finally:
            self._writers.give(line)

    async def _begun(self) -> Line:
        line = await self._writers.take(self._write_seconds)
        try:
            await line.driver.execute(self._begin)
        except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
            line.cut()
            self._writers.give(line)
            raise translated(error, line)  # noqa: B904 (it is its own cause, or has one)
        return line


class _Going:
    """Counts what is going on, so that closing can wait for its end."""

    __slots__ = ("_of",)

    def __init__(self, of: PostgresDatabase) -> None:
        if of._closed:
            raise DatabaseUnavailable("the database is closed")
        self._of = of

    def __enter__(self) -> None:
        self._of._going += 1

    def __exit__(self, *_: object) -> None:
        self._of._going -= 1
        if self._of._closed and not self._of._going:
            self._of._idle.set()
