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

import asyncio
import contextlib
import math
import threading
from collections import deque
from collections.abc import Awaitable, Coroutine
from typing import Any, Final, NamedTuple, Self, TypeVar

import asyncpg  # type: ignore[import-untyped]
import structlog
from alembic import command
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]
from sqlalchemy import Connection, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from service.database import (
    DamagedDatabase,
    DatabaseUnavailable,
    InUse,
    Job,
    NotMigrated,
    OutcomeUnknown,
    alembic_config,
    newest_revision,
)
from service.errors import database_out_of_reach
from service.prepared import refuses_a_value

T = TypeVar("T")

READERS: Final = 8
WRITERS: Final = 4
SLOW_READERS: Final = 2
CONNECT_SECONDS: Final = 3.0
TURN_SECONDS: Final = 5.0  # for a connection that is free
READ_SECONDS: Final = 3.0
SLOW_READ_SECONDS: Final = 30.0
WRITE_SECONDS: Final = 15.0
PATIENT_SECONDS: Final = 600.0
WATCH_SECONDS: Final = 0.5
LOCK_MILLISECONDS: Final = 4_000
STATEMENT_MILLISECONDS: Final = 10_000
IDLE_MILLISECONDS: Final = 5_000  # so long a writer that stands still can hold up the one that takes over
MIGRATION_LOCK_MILLISECONDS: Final = 5_000  # everybody who uses the table waits behind a change of it
RERUNS: Final = 3
GUARD_SECONDS: Final = 1.0

ADVISORY: Final = 0x626D  # the first half of our advisory locks' keys
MIGRATING: Final = 1
SERVING: Final = 2

# So a server knows within some ten seconds that the machine behind a connection is gone, and lets go of its locks.
_ANY: Final = (
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;"
    " SET tcp_user_timeout = 10000"
)
_READER: Final = f"{_ANY}; SET default_transaction_read_only = on"
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
_BEGIN_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_AGAIN: Final = ("40001", "40P01")  # it stood in another transaction's way, and nothing else was wrong
_LOCK_NOT_AVAILABLE: Final = "55P03"
_STATEMENTS_LOST: Final = ("26000", "42P05")  # one that was prepared is not there, or another's is
_UNIQUE_VIOLATION: Final = "23505"
_WORLD: Final = (
    SQLAlchemyError,
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)

log = structlog.get_logger("service.postgres")


class PostgresDatabase:
    """One process's way to one database (a `Store`). `open` it on the event loop that will use it, and `close` it there."""

    def __init__(self, dsn: str) -> None:
        self._readers = _Lines(dsn, _READER, READERS)
        self._writers = _Lines(dsn, _ANY, WRITERS)
        self._slow = _SlowReads(dsn)
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
            if await opened.read(_checked) in ("off", "local"):
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

    def health(self) -> str:
        return self._guard.trouble or "ok"

    # -- reading

    async def read(self, job: Job[T]) -> T:
        with _Going(self):
            try:
                return await self._read(job)
            except _ConnectionLost:  # most likely long before, and only seen now
                return await self._read(job)

    async def _read(self, job: Job[T]) -> T:
        line = await self._readers.take(READ_SECONDS)
        try:
            return await line.run(job)
        except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
            raise _translated(error, line)  # noqa: B904 (it is its own cause, or has one)
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
                except _InTheWay as why:
                    log.info("transaction_run_again", sqlstate=why.sqlstate)
                except IntegrityError as why:
                    if _state(why) != _UNIQUE_VIOLATION:
                        raise
                    break
            return await self._write(job)

    async def _write(self, job: Job[T]) -> T:
        try:
            line = await self._begun()
        except _ConnectionLost:
            line = await self._begun()
        try:
            try:
                answer = await line.run(job)
            except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
                raise await _undone(line, error)  # noqa: B904 (it is its own cause, or has one)
            await _committed(line)
            return answer
        finally:
            self._writers.give(line)

    async def _begun(self) -> "_Line":
        line = await self._writers.take(self._write_seconds)
        try:
            await line.driver.execute(self._begin)
        except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
            line.cut()
            self._writers.give(line)
            raise _translated(error, line)  # noqa: B904 (it is its own cause, or has one)
        return line


async def _undone(line: "_Line", error: BaseException) -> BaseException:
    """The error in our words, when what was done before it is undone."""
    found = _translated(error, line)
    if not line.is_lost:
        try:
            await line.driver.execute("ROLLBACK")
        except (*_WORLD, TimeoutError):
            line.cut()
    return found


async def _committed(line: "_Line") -> None:
    """Raises `OutcomeUnknown` unless the server has told that it is in, or that it is not."""
    if line.is_lost:
        raise DatabaseUnavailable("the connection was lost before the commit")
    try:
        said = await line.driver.execute("COMMIT")
    except asyncpg.IntegrityConstraintViolationError as error:  # of a constraint that is looked at in the end
        raise _translated(error, line)  # noqa: B904 (it is its own cause, or has one)
    except BaseException as error:
        line.cut()
        if not isinstance(error, Exception):
            raise
        log.error("commit_unanswered", error=type(error).__name__)
        raise OutcomeUnknown("the commit was not answered") from error
    if said != "COMMIT":
        raise DatabaseUnavailable("the database undid the transaction")


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


# -- what went wrong ---------------------------------------------------------------------------------------------------


class _ConnectionLost(DatabaseUnavailable):
    """Nothing was stored, and nothing was wrong but the connection."""


class _InTheWay(DatabaseUnavailable):
    """Undone for the sake of another transaction; the same again may go through."""

    sqlstate = ""


def _translated(error: BaseException, line: "_Line | None" = None) -> BaseException:
    """`DatabaseUnavailable` for what the world did, `DataError` for a value that cannot be stored; else as it is."""
    if not isinstance(error, Exception):
        if line is not None:
            line.cut()  # it was stopped in the middle of something
        return error
    if isinstance(error, DatabaseUnavailable):
        return error
    found: DatabaseUnavailable
    driver, state = _of_driver(error), _state(error)
    if line is not None and isinstance(driver, asyncpg.InternalClientError):
        line.cut()  # the server's last words came in between; what it is in the middle of, nobody knows
    if line is not None and state in _STATEMENTS_LOST:
        line.cut()
        found = DatabaseUnavailable("a pooler before the database loses prepared statements: it must keep them")
    elif state in _AGAIN:
        found = _InTheWay("the database undid the transaction for the sake of another")
        found.sqlstate = state
    elif line is not None and line.is_lost and isinstance(error, _WORLD):
        found = _ConnectionLost("the connection to the database was lost")
    elif refuses_a_value(driver):
        return error if isinstance(error, DataError) else DataError("", None, driver, hide_parameters=True)
    elif state == _LOCK_NOT_AVAILABLE or database_out_of_reach(error):
        found = DatabaseUnavailable("the database cannot be reached or written just now")
    else:
        return error
    found.__cause__ = error
    return found


def _of_driver(error: BaseException) -> BaseException:
    """As the driver raised it; SQLAlchemy's adapter puts one of its own between."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        return error.orig.__cause__ or error.orig
    return error


def _state(error: BaseException) -> str | None:
    return getattr(_of_driver(error), "sqlstate", None)


# -- connections -------------------------------------------------------------------------------------------------------


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


class _Line:
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
        with contextlib.suppress(*_WORLD, TimeoutError):
            await self._connection.close()


class _Lines:
    """So many connections of one kind, each made when it is first needed. The one given back last is taken first."""

    def __init__(self, dsn: str, opening: str, most: int) -> None:
        self._engine = _engine(dsn, opening)
        self._most = most
        self._loop: asyncio.AbstractEventLoop | None = None
        self._count = 0
        self._free: list[_Line] = []
        self._busy: set[_Line] = set()
        self._waiting: deque[asyncio.Future[_Line | None]] = deque()
        self._watching: asyncio.TimerHandle | None = None
        self._is_away = False
        self._is_trying = False
        self._closing: set[asyncio.Task[None]] = set()

    async def take(self, seconds: float) -> _Line:
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

    def give(self, line: _Line) -> None:
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

    def _found(self) -> _Line | None:
        while self._free:
            line = self._free.pop()
            if not line.is_lost:
                return line
            self._drop(line)
        return None

    async def _made_or_awaited(self, loop: asyncio.AbstractEventLoop) -> _Line:
        until = loop.time() + TURN_SECONDS
        while self._count >= self._most:
            turn: asyncio.Future[_Line | None] = loop.create_future()
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

    async def _make(self) -> _Line:
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
            raise _unreachable(error)  # noqa: B904 (it is its own cause, or has one)
        finally:
            self._is_trying = False
        self._is_away = False
        return _Line(connection, raw.driver_connection)

    def _hand_on(self, line: _Line | None) -> None:
        """To the next that waits; None is leave to make one."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(line)
                return
        if line is not None:
            self._free.append(line)

    def _withdraw(self, turn: "asyncio.Future[_Line | None]") -> None:
        """Whoever does not wait any more may have been given one in the same instant."""
        if turn.cancelled():
            with contextlib.suppress(ValueError):
                self._waiting.remove(turn)
        else:
            self._hand_on(turn.result())

    def _drop(self, line: _Line) -> None:
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


def _engine(dsn: str, opening: str) -> AsyncEngine:
    """One that neither pools nor begins or ends transactions: both are ours to do."""

    async def connected() -> Any:
        driver = await asyncpg.connect(
            dsn, timeout=CONNECT_SECONDS, server_settings={"application_name": "borrower-memory"}
        )
        try:
            await driver.execute(opening)
        except BaseException:
            driver.terminate()
            raise
        return driver

    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connected,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        hide_parameters=True,
    )


def _unreachable(error: BaseException) -> BaseException:
    """What kept us from connecting; a database that turns us away is told as such, without the server's words."""
    if not isinstance(error, Exception):
        return error
    found = DatabaseUnavailable("the database cannot be reached")
    driver = _of_driver(error)
    if isinstance(driver, asyncpg.InvalidAuthorizationSpecificationError):
        found = DatabaseUnavailable("the database does not let us in: see DATABASE_URL")
    elif isinstance(driver, asyncpg.InvalidCatalogNameError):
        found = DatabaseUnavailable("the database server has no database of this name: see DATABASE_URL")
    elif not isinstance(error, (*_WORLD, TimeoutError)):
        return error
    found.__cause__ = error
    return found


# -- slow reads --------------------------------------------------------------------------------------------------------


class _SlowReads:
    """Reads of many rows, in a thread whose loop and connections are its own, so that nobody else waits for them."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lines: _Lines | None = None
        self._thread: threading.Thread | None = None

    async def run(self, job: Job[T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._lines = _Lines(self._dsn, _READER, SLOW_READERS)
            self._thread = threading.Thread(target=self._loop.run_forever, name="slow-reads", daemon=True)
            self._thread.start()
        return await self._there(self._run(job))

    async def _run(self, job: Job[T]) -> T:
        assert self._lines is not None
        try:
            return await self._in_snapshot(self._lines, job)
        except _ConnectionLost:
            return await self._in_snapshot(self._lines, job)

    @staticmethod
    async def _in_snapshot(lines: _Lines, job: Job[T]) -> T:
        line = await lines.take(SLOW_READ_SECONDS)
        try:
            await line.driver.execute(_BEGIN_SNAPSHOT)
            answer = await line.run(job)
            await line.driver.execute("COMMIT")
            return answer
        except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
            raise await _undone(line, error)  # noqa: B904 (it is its own cause, or has one)
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


# -- the one that serves -----------------------------------------------------------------------------------------------


class ServeGuard:
    """Held by `serve` while the log is a table: an advisory lock of the session, which ends with its connection.

    It keeps a second `serve` from starting. It is no fence: when the connection is lost it is taken again, and whoever
    has it meanwhile makes this one unwell, while the fence of each partition keeps them from doing anything twice.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._driver: Any = None
        self._keeping: asyncio.Task[None] | None = None
        self.trouble: str | None = None

    async def take(self) -> None:
        """Raises `InUse`, `DatabaseUnavailable`."""
        if not await self._taken():
            raise InUse("the database is in use by another serve: without Kafka only one at a time")
        self._keeping = asyncio.create_task(self._keep())

    async def release(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])
        if self._driver is not None:
            self._driver.terminate()
            self._driver = None

    async def _taken(self) -> bool:
        try:
            driver = await asyncpg.connect(
                self._dsn,
                timeout=CONNECT_SECONDS,
                command_timeout=CONNECT_SECONDS,
                server_settings={"application_name": "borrower-memory serve"},
            )
        except (*_WORLD, TimeoutError) as error:
            raise _unreachable(error)  # noqa: B904 (it has a cause)
        try:
            await driver.execute(_ANY)
            if await driver.fetchval(f"SELECT pg_try_advisory_lock({ADVISORY}, {SERVING})"):
                self._driver, driver = driver, None
                return True
            return False
        except (*_WORLD, TimeoutError) as error:
            raise _unreachable(error)  # noqa: B904 (it has a cause)
        finally:
            if driver is not None:
                driver.terminate()

    async def _keep(self) -> None:
        """Asks after the connection, for one that is lost does not tell of itself."""
        while True:
            await asyncio.sleep(GUARD_SECONDS)
            try:
                await self._driver.execute("SELECT 1")
                self.trouble = None
                continue
            except (*_WORLD, TimeoutError):
                self._driver.terminate()
            try:
                has_it = await self._taken()
            except DatabaseUnavailable:
                continue
            trouble = None if has_it else "another serve has taken the database"
            if trouble and trouble != self.trouble:
                log.critical("serve_guard_lost", why=trouble)
            self.trouble = trouble


# -- the tables --------------------------------------------------------------------------------------------------------


async def migrate(dsn: str) -> str:
    """Brings the tables to the newest revision, and names it. Of two that do so at once the second finds it done.

    In one transaction, so it is done as a whole or not at all. Raises `DamagedDatabase`, `DatabaseUnavailable`.
    """
    engine = _engine(dsn, _ANY)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            connection = await engine.connect()
            driver = (await connection.get_raw_connection()).driver_connection
    except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
        await engine.dispose()
        raise _unreachable(error)  # noqa: B904 (it has a cause)
    line = _Line(connection, driver)
    try:
        await line.driver.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        await line.driver.execute(f"SELECT pg_advisory_xact_lock({ADVISORY}, {MIGRATING})")
        await line.driver.execute(f"SET LOCAL lock_timeout = {MIGRATION_LOCK_MILLISECONDS}")
        await line.run(_upgraded)
        await _committed(line)
    except CommandError as error:
        raise DamagedDatabase(f"the tables are of another version of this service: {error}") from error
    except BaseException as error:  # noqa: BLE001 (it is raised, in our words)
        raise await _undone(line, error)  # noqa: B904 (it is its own cause, or has one)
    finally:
        await line.close()
        await engine.dispose()
    return newest_revision()


def _upgraded(connection: Connection) -> None:
    _check_encoding(connection)
    if MigrationContext.configure(connection).get_current_revision() != newest_revision():
        command.upgrade(alembic_config(connection), "head")


def _checked(connection: Connection) -> str:
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
