"""The database as everybody else sees it: `write`, `read` and `read_slow`, each given a plain function of a connection.

Such a function is synchronous SQLAlchemy Core code, and it is a unit of work: its writes are in or out as a whole. It
runs on the event loop's own thread, so it must be short. `Store` is what both databases offer: SQLite is in `service.sqlite`,
PostgreSQL in `service.postgres`.

What is stored, this file must not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")
Job = Callable[[Connection], T]


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
