"""SQLite as the store: one process's way to one file in WAL mode. What it offers is told by `service.database`.

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

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import structlog
from sqlalchemy import Connection

from service.database import DatabaseUnavailable, Job, OutcomeUnknown
from service.sqlite.connections import WORLD, begin_when_free, connected, driver_of, let_go, translated
from service.sqlite.schema import prepare_file
from service.sqlite.serve_lock import ServeLock

T = TypeVar("T")

GROUP_LIMIT_JOBS: Final = 512
GROUP_LIMIT_SECONDS: Final = 0.02  # of statements in one group; then the rest waits for the next
CHECKPOINT_EVERY_COMMITS: Final = 50
SLOW_READERS: Final = 2
SCRUB_TRIES: Final = 20
SCRUB_AGAIN_SECONDS: Final = 0.05
# How long a thread that comes back from the disk waits for the interpreter's lock. At Python's 5 ms it may never get it:
# a busy loop gives the lock up for an instant at each turn, which starts the wait anew.
SWITCH_SECONDS: Final = 0.0001

log = structlog.get_logger("service.sqlite")

_Waiting = tuple[Job[Any], asyncio.Future[Any]]
_Done = tuple[asyncio.Future[Any], Any, BaseException | None]


class SqliteDatabase:
    """One process's way to one SQLite file. `open` it on the event loop that will use it, and `close` it there."""

    def __init__(self, path: Path, lock: ServeLock | None) -> None:
        self.path = path
        self._lock = lock
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._writer = connected(path)
        self._reader = connected(path, read_only=True)
        self._write_driver = driver_of(self._writer)
        self._read_driver = driver_of(self._reader)
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
                await asyncio.to_thread(prepare_file, path, check=serving)
                opened = cls(path, lock)
            except WORLD as error:
                raise translated(error)  # noqa: B904 (it is its own cause, or has one)
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
            let_go(connection)
        with contextlib.suppress(sqlite3.Error):  # another process reads: the log stays, and is read at the next start
            self._write_driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let_go(self._writer)
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
            row = driver_of(self._own_connection()).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except WORLD as error:
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
        except WORLD as error:
            self._end_snapshot()
            raise translated(error)  # noqa: B904 (it is its own cause, or has one)

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
        except WORLD as error:
            raise translated(error) from None
        return _in_snapshot(connection, driver_of(connection), job)

    def _own_connection(self) -> Connection:
        """That of this slow reader's thread."""
        connection: Connection | None = getattr(self._slow_reader, "connection", None)
        if connection is None:
            connection = self._slow_reader.connection = connected(self.path, read_only=True)
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
            begin_when_free(self._write_driver)
        except sqlite3.Error as error:
            failed = error
        self._loop.call_soon_threadsafe(self._begun, failed)

    def _begun(self, failed: sqlite3.Error | None) -> None:
        group, self._waiting = self._waiting[:GROUP_LIMIT_JOBS], self._waiting[GROUP_LIMIT_JOBS:]
        if failed is not None:
            unavailable = translated(failed)
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
            return None, translated(error)

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
            driver_of(self._own_connection()).execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except WORLD as error:
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
    except WORLD as error:
        raise translated(error)  # noqa: B904 (it is its own cause, or has one)
