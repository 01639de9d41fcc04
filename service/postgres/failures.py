"""What PostgreSQL and its driver raise, in the words of `service.database`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import asyncpg  # type: ignore[import-untyped]
from sqlalchemy.exc import DataError, DBAPIError, SQLAlchemyError

from service.database import (
    DatabaseUnavailable,
)
from service.outage import database_out_of_reach
from service.prepared import refuses_a_value

if TYPE_CHECKING:
    from service.postgres.lines import Line


_AGAIN: Final = ("40001", "40P01")  # it stood in another transaction's way, and nothing else was wrong
_LOCK_NOT_AVAILABLE: Final = "55P03"
_STATEMENTS_LOST: Final = ("26000", "42P05")  # one that was prepared is not there, or another's is
WORLD: Final = (
    SQLAlchemyError,
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


class ConnectionLost(DatabaseUnavailable):
    """Nothing was stored, and nothing was wrong but the connection."""


class InTheWay(DatabaseUnavailable):
    """Undone for the sake of another transaction; the same again may go through."""

    sqlstate = ""


def translated(error: BaseException, line: Line | None = None) -> BaseException:
    """`DatabaseUnavailable` for what the world did, `DataError` for a value that cannot be stored; else as it is."""
    if not isinstance(error, Exception):
        if line is not None:
            line.cut()  # it was stopped in the middle of something
        return error
    if isinstance(error, DatabaseUnavailable):
        return error
    found: DatabaseUnavailable
    driver, state = of_driver(error), state_of(error)
    if line is not None and isinstance(driver, asyncpg.InternalClientError):
        line.cut()  # the server's last words came in between; what it is in the middle of, nobody knows
    if line is not None and state in _STATEMENTS_LOST:
        line.cut()
        found = DatabaseUnavailable("a pooler before the database loses prepared statements: it must keep them")
    elif state in _AGAIN:
        found = InTheWay("the database undid the transaction for the sake of another")
        found.sqlstate = state
    elif line is not None and line.is_lost and isinstance(error, WORLD):
        found = ConnectionLost("the connection to the database was lost")
    elif refuses_a_value(driver):
        return error if isinstance(error, DataError) else DataError("", None, driver, hide_parameters=True)
    elif state == _LOCK_NOT_AVAILABLE or database_out_of_reach(error):
        found = DatabaseUnavailable("the database cannot be reached or written just now")
    else:
        return error
    found.__cause__ = error
    return found


def of_driver(error: BaseException) -> BaseException:
    """As the driver raised it; SQLAlchemy's adapter puts one of its own between."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        return error.orig.__cause__ or error.orig
    return error


def state_of(error: BaseException) -> str | None:
    return getattr(of_driver(error), "sqlstate", None)
