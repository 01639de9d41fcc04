"""The database as everybody else sees it: `write`, `read` and `read_slow`, each given a plain function of a connection.

Such a function is synchronous SQLAlchemy Core code, and it is a unit of work: its writes are in or out as a whole. It
runs on the event loop's own thread, so it must be short. `Store` is what both databases offer; here is SQLite, PostgreSQL
is in `service.postgres`.

Theory of operation, for SQLite in WAL mode:

    write   whatever was asked for while the last commit went on is one transaction: each job in a savepoint of its own,
            one COMMIT for all of them (group commit). The statements take microseconds and run here; the COMMIT waits
            for the disk and goes to a thread. A thread that ran the statements as well would have to win back the
            interpreter's lock after each of them, and a busy event loop does not give it up.
    read    at once, on a connection of its own; a reader in WAL mode waits for nobody. The reads of one turn of the event
            loop share a snapshot, because to begin and end one costs as much as a look-up. Who waited for a commit, here
            or in another process, is told of it in a later turn, and then reads it.
    slow    a read that takes milliseconds, in a thread.

Copying the log back into the file (a checkpoint) is done beside the writers, as far as it can be, and ended between two
commits, so that the log is used again from its beginning and no commit has to wait for the copying.

What is stored, this file must not know.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Protocol, Self, TypeVar

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from service.outage import database_out_of_reach

T = TypeVar("T")
Job = Callable[[Connection], T]

BUSY_LIMIT_SECONDS: Final = 5.0  # for another process that holds the write lock
GROUP_LIMIT_JOBS: Final = 512
GROUP_LIMIT_SECONDS: Final = 0.02  # of statements in one group; then the rest waits for the next
CHECKPOINT_EVERY_COMMITS: Final = 50
AUTOCHECKPOINT_PAGES: Final = 10_000  # only when the checkpoints beside the writers do not keep up
SLOW_READERS: Final = 2
SCRUB_TRIES: Final = 20
SCRUB_AGAIN_SECONDS: Final = 0.05
# How long a thread that comes back from the disk waits for the interpreter's lock. At Python's 5 ms it may never get it:
# a busy loop gives the lock up for an instant at each turn, which starts the wait anew.
SWITCH_SECONDS: Final = 0.0001
QUICK_CHECK_LIMIT_FAULTS: Final = 3
MIGRATIONS: Final = Path(__file__).parent / "migrations"

log = structlog.get_logger("service.database")
logging.getLogger("alembic").setLevel(logging.WARNING)  # it introduces itself at every start


class DatabaseUnavailable(ConnectionError):
    """The database cannot be reached or cannot write just now. Nothing of the job was stored; a retry can help."""


class OutcomeUnknown(DatabaseUnavailable):
    """The COMMIT itself failed: whether the job was stored has to be looked up."""


class InUse(Exception):
    """Another process serves from this database, or rebuilds it. The command ends with this sentence."""


class DamagedDatabase(Exception):
    """The database is not one of this service, or its file is damaged. The command ends with this sentence."""


class NotMigrated(Exception):
    """The database's tables are not yet those of this version. The command ends with this sentence."""


class Store(Protocol):
    """A database that is open."""

    async def read(self, job: Job[T]) -> T:
        """A short read of what is committed. Raises `DatabaseUnavailable` and what the job raises.

        Every statement sees one moment. That two of one job see the same one, only `read_slow` promises everywhere.
        """

    async def read_slow(self, job: Job[T]) -> T:
        """A read of many rows, in one snapshot and not on this thread; else as `read`."""

    async def write(self, job: Job[T]) -> T:
        """The job's answer once it is durable. What it raises undoes it alone and is raised here.

        `DatabaseUnavailable` when nothing was stored, `OutcomeUnknown` when that cannot be told. A job that got in
        another's way may be run again from its beginning, so it has no effect but its statements. A caller that is
        cancelled meanwhile leaves the job to be done or not.
        """

    async def scrub(self) -> bool:
        """After something was forgotten: its bytes go from the files too, as far as this store has files of its own. False
        when somebody reads what was there; then it is to be asked again."""

    def health(self) -> str:
        """`ok`, or what is wrong that no read would show."""

    async def close(self) -> None:
        """Ends what was asked for, and lets go. What is asked for later is `DatabaseUnavailable`."""


# -- the lock of the one process that serves ---------------------------------------------------------------------------


class ServeLock:
    """Held by `serve`, and by whatever must not run beside it. The kernel lets it go when its process ends."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + ".lock")
        self._handle: int | None = None

    def take(self) -> None:
        """Raises `InUse`."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(handle)
            raise InUse(
                f"the database {self._path.stem} is in use by process {holder}: with SQLite only one serve at a time, and"
                " rebuild only while it is stopped"
            ) from None
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._handle = handle

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


# -- SQLite ------------------------------------------------------------------------------------------------------------

_WORLD: Final = (sqlite3.Error, SQLAlchemyError, OSError)
"""Among these are the failures that are the world's and not the job's."""
_Waiting = tuple[Job[Any], asyncio.Future[Any]]
_Done = tuple[asyncio.Future[Any], Any, BaseException | None]


class Database:
    """One process's way to one SQLite file. `open` it on the event loop that will use it, and `close` it there."""

    def __init__(self, path: Path, lock: ServeLock | None) -> None:
        self.path = path
        self._lock = lock
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._writer = _connected(path)
        self._reader = _connected(path, read_only=True)
        self._write_driver = _driver(self._writer)
        self._read_driver = _driver(self._reader)
        self._reading = False  # a snapshot is open, until this turn of the loop ends
        self._slow = ThreadPoolExecutor(SLOW_READERS, thread_name_prefix="slow-reads")
        self._slow_reader = threading.local()
        self._opened: list[Connection] = []
        self._waiting: list[_Waiting] = []
        self._busy = False  # a group, or the end of a checkpoint, has the writing connection
        self._commits = 0  # since the last checkpoint
        self._checkpointing = False
        self._copied = False
        self._idle = asyncio.Event()  # once it is closed
        self._to_disk: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._follow, name="commits", daemon=True)
        self._thread.start()

    @classmethod
    async def open(cls, path: Path, *, serving: bool = False) -> Self:
        """Migrates the file, which is made when it is not there. `serving` takes the lock and checks the file first.

        Raises `InUse`, `DamagedDatabase`, `DatabaseUnavailable`.
        """
        with contextlib.ExitStack() as undo:
            lock = ServeLock(path) if serving else None
            if lock is not None:
                lock.take()
                undo.callback(lock.release)
            try:
                await asyncio.to_thread(_prepare_file, path, check=serving)
                opened = cls(path, lock)
            except _WORLD as error:
                raise _translated(error)  # noqa: B904 (it is its own cause, or has one)
            undo.pop_all()
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_SECONDS))
        return opened

    async def close(self) -> None:
        """Ends what was asked for, and lets go of the file. What is asked for later is `DatabaseUnavailable`."""
        if self._closed:
            return
        self._closed = True
        if self._busy or self._checkpointing:
            await self._idle.wait()
        self._to_disk.put(None)
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._slow.shutdown)
        for connection in (*self._opened, self._reader):
            _let_go(connection)
        with contextlib.suppress(sqlite3.Error):  # another process reads: the log stays, and is read at the next start
            self._write_driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _let_go(self._writer)
        if self._lock is not None:
            self._lock.release()

    async def scrub(self) -> bool:
        """Copies the log into the file, where what was deleted is overwritten (`secure_delete`), and cuts it to nothing."""
        self._refuse_when_closed()
        for _ in range(SCRUB_TRIES):
            if await self._loop.run_in_executor(self._slow, self._cut_log):
                return True
            await asyncio.sleep(SCRUB_AGAIN_SECONDS)
        log.warning("log_not_cut")
        return False

    def _cut_log(self) -> bool:
        """In a slow reader's thread. A writer that comes meanwhile waits for it."""
        try:
            row = _driver(self._own_connection()).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except _WORLD as error:
            log.warning("checkpoint_failed", error=type(error).__name__)
            return False
        return bool(row[0] == 0)

    def health(self) -> str:
        return "ok"

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("the database is closed")

    # -- reading

    async def read(self, job: Job[T]) -> T:
        """A short read in one snapshot of what is committed. Raises `DatabaseUnavailable` and what the job raises."""
        self._refuse_when_closed()
        try:
            if not self._reading:
                # First the end, then the beginning: whatever is committed later is told behind the end.
                self._loop.call_soon(self._end_snapshot)
                self._reading = True
                self._read_driver.execute("BEGIN")
            return job(self._reader)
        except _WORLD as error:
            self._end_snapshot()
            raise _translated(error)  # noqa: B904 (it is its own cause, or has one)

    def _end_snapshot(self) -> None:
        """That of this turn, unless it has ended."""
        if self._reading:
            self._reading = False
            if self._read_driver.in_transaction:  # a disk that fails may have ended it
                self._read_driver.execute("COMMIT")

    async def read_slow(self, job: Job[T]) -> T:
        """A read of many rows, in a thread; else as `read`."""
        self._refuse_when_closed()
        return await self._loop.run_in_executor(self._slow, self._read_in_thread, job)

    def _read_in_thread(self, job: Job[T]) -> T:
        try:
            connection = self._own_connection()
        except _WORLD as error:
            raise _translated(error) from None
        return _in_snapshot(connection, _driver(connection), job)

    def _own_connection(self) -> Connection:
        """That of this slow reader's thread."""
        connection: Connection | None = getattr(self._slow_reader, "connection", None)
        if connection is None:
            connection = self._slow_reader.connection = _connected(self.path, read_only=True)
            self._opened.append(connection)
        return connection

    # -- writing

    async def write(self, job: Job[T]) -> T:
        """The job's answer once it is on disk. What it raises undoes it alone and is raised here.

        `DatabaseUnavailable` when nothing was stored, `OutcomeUnknown` when that cannot be told. A caller that is
        cancelled meanwhile leaves the job to be done or not.
        """
        self._refuse_when_closed()
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.append((job, future))
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._begin)
        return await future

    def _begin(self) -> None:
        """Opens the transaction of the next group; in the thread while another process holds the lock."""
        try:
            self._write_driver.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                self._to_disk.put(self._begin_when_free)
            else:
                self._begun(error)
        else:
            self._begun(None)

    def _begin_when_free(self) -> None:
        failed = None
        try:
            self._write_driver.execute(f"PRAGMA busy_timeout = {BUSY_LIMIT_SECONDS * 1000:.0f}")
            try:
                self._write_driver.execute("BEGIN IMMEDIATE")
            finally:
                self._write_driver.execute("PRAGMA busy_timeout = 0")
        except sqlite3.Error as error:
            failed = error
        self._loop.call_soon_threadsafe(self._begun, failed)

    def _begun(self, failed: sqlite3.Error | None) -> None:
        group, self._waiting = self._waiting[:GROUP_LIMIT_JOBS], self._waiting[GROUP_LIMIT_JOBS:]
        if failed is not None:
            unavailable = _translated(failed)
            self._finish([(future, None, unavailable) for _, future in group])
            return
        done = self._run(group)
        self._to_disk.put(lambda: self._commit(done))

    def _run(self, group: list[_Waiting]) -> list[_Done]:
        done: list[_Done] = []
        until = time.perf_counter() + GROUP_LIMIT_SECONDS
        for place, (job, future) in enumerate(group):
            if future.cancelled():
                continue
            if done and time.perf_counter() > until:
                self._waiting[:0] = group[place:]
                break
            done.append((future, *self._run_one(job)))
            if not self._write_driver.in_transaction:
                # A full disk makes SQLite undo the whole transaction by itself: what the others wrote is gone too.
                lost = DatabaseUnavailable("the database undid the transaction")
                done = [(waiting, None, error or lost) for waiting, _, error in done]
                self._waiting[:0] = group[place + 1 :]
                break
        return done

    def _run_one(self, job: Job[Any]) -> tuple[Any, BaseException | None]:
        driver = self._write_driver
        try:
            driver.execute("SAVEPOINT job")
            answer = job(self._writer)
            driver.execute("RELEASE job")
            return answer, None
        except Exception as error:  # noqa: BLE001 (whatever it is, it belongs to the one who asked, and goes there)
            if driver.in_transaction:
                driver.execute("ROLLBACK TO job")
                driver.execute("RELEASE job")
            return None, _translated(error)

    def _commit(self, done: list[_Done]) -> None:
        """In the thread."""
        failed: sqlite3.Error | None = None
        try:
            if self._write_driver.in_transaction:
                self._write_driver.execute("COMMIT")
        except sqlite3.Error as error:
            failed = error
            with contextlib.suppress(sqlite3.Error):
                self._write_driver.execute("ROLLBACK")
        self._loop.call_soon_threadsafe(self._committed, done, failed)

    def _committed(self, done: list[_Done], failed: sqlite3.Error | None) -> None:
        if failed is not None:
            log.error("commit_failed", code=failed.sqlite_errorname)
            unknown = OutcomeUnknown("the commit failed")
            unknown.__cause__ = failed
            done = [(future, None, error or unknown) for future, _, error in done]
        self._commits += 1
        if self._commits >= CHECKPOINT_EVERY_COMMITS and not self._checkpointing and not self._closed:
            self._commits, self._checkpointing = 0, True
            self._slow.submit(self._copy_log)
        self._finish(done)

    def _finish(self, done: list[_Done]) -> None:
        for future, answer, error in done:
            if future.done():
                continue  # its caller went away
            if error is None:
                future.set_result(answer)
            else:
                future.set_exception(error)
        self._go_on()

    def _go_on(self) -> None:
        """The writing connection is free: the end of a checkpoint has it next, else whoever waits."""
        if self._copied:
            self._copied, self._busy = False, True
            self._to_disk.put(self._end_checkpoint)
        elif self._waiting:
            self._busy = True
            self._loop.call_soon(self._begin)
        else:
            self._busy = False
            if self._closed and not self._checkpointing:
                self._idle.set()

    def _follow(self) -> None:
        """The thread that waits for the disk."""
        while (step := self._to_disk.get()) is not None:
            step()

    # -- checkpoints

    def _copy_log(self) -> None:
        """In a slow reader's thread: copies the log into the file, beside the writers."""
        try:
            _driver(self._own_connection()).execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except _WORLD as error:
            log.warning("checkpoint_failed", error=type(error).__name__)
        self._loop.call_soon_threadsafe(self._log_copied)

    def _log_copied(self) -> None:
        self._copied = True
        if not self._busy:
            self._go_on()

    def _end_checkpoint(self) -> None:
        """In the thread of commits: what came during the copying, which is little. Then the log begins anew."""
        try:
            self._write_driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as error:
            log.warning("checkpoint_failed", error=type(error).__name__)
        self._loop.call_soon_threadsafe(self._checkpointed)

    def _checkpointed(self) -> None:
        self._checkpointing = False
        self._go_on()


def _in_snapshot(connection: Connection, driver: sqlite3.Connection, job: Job[T]) -> T:
    try:
        driver.execute("BEGIN")
        try:
            return job(connection)
        finally:
            driver.execute("COMMIT")
    except _WORLD as error:
        raise _translated(error)  # noqa: B904 (it is its own cause, or has one)


def _translated(error: BaseException) -> BaseException:
    """`DatabaseUnavailable` for what the world did; everything else as it is."""
    if isinstance(error, DatabaseUnavailable) or not database_out_of_reach(error):
        return error
    unavailable = DatabaseUnavailable("the database cannot be reached or written just now")
    unavailable.__cause__ = error
    return unavailable


# -- the file ----------------------------------------------------------------------------------------------------------


def _connected(path: Path, *, read_only: bool = False, wait: bool = False) -> Connection:
    """A connection whose transactions are ours to open and end: SQLAlchemy sends neither BEGIN nor COMMIT."""
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={"isolation_level": None, "check_same_thread": False, "timeout": 0, "cached_statements": 512},
    )
    connection = engine.connect()
    driver = _driver(connection)
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
        _let_go(connection)
        raise
    return connection


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _let_go(connection: Connection) -> None:
    """Closes it, and what its engine holds. What SQLAlchemy takes for its transaction was never one."""
    connection.close()
    connection.engine.dispose()


def _prepare_file(path: Path, *, check: bool) -> None:
    """For its owner alone, migrated, and sound."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    try:
        connection = _connected(path, wait=True)
        try:
            if check:
                _check(connection)
            _migrate(connection)
        finally:
            _let_go(connection)
    except (sqlite3.Error, DBAPIError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if getattr(cause, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise DamagedDatabase(f"{path.name} is damaged or is no SQLite file: restore it from a copy") from error
        raise


def _check(connection: Connection) -> None:
    faults = _driver(connection).execute(f"PRAGMA quick_check({QUICK_CHECK_LIMIT_FAULTS})").fetchall()
    if faults != [("ok",)]:
        raise DamagedDatabase(f"the database is damaged: restore it from a copy ({faults[0][0]})")


# -- migrations --------------------------------------------------------------------------------------------------------


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's settings for our revisions, run on a connection that the caller has."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


async def migrate(path: Path) -> str:
    """Brings the tables to the newest revision, and names it. Two processes that start at once do it once.

    Raises `DamagedDatabase`, `DatabaseUnavailable`.
    """
    try:
        await asyncio.to_thread(_prepare_file, path, check=False)
    except _WORLD as error:
        raise _translated(error)  # noqa: B904 (it is its own cause, or has one)
    return newest_revision()


def newest_revision() -> str:
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert head is not None
    return head


def _migrate(connection: Connection) -> None:
    """In one transaction that holds the write lock from its beginning: whoever comes second finds it done."""
    driver = _driver(connection)
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
