"""Whether an error is an outage of the database: the world was not ready, and the same may succeed later.

It stands apart from the refusals in `errors`, because the stores need it and know nothing of HTTP.
"""

from __future__ import annotations

import sqlite3
from socket import gaierror
from typing import Final

import sqlalchemy.exc

_SQLITE_OUT_OF_REACH: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)
# SQLSTATE classes: connection, resources, operator intervention, system error, rollback that a retry cures, and a
# server that only reads.
_SQLSTATE_OUT_OF_REACH: Final = ("08", "53", "57", "58", "40", "25006")


def database_out_of_reach(error: BaseException) -> bool:
    """Whether the world and not the request was at fault, so that the same request may succeed later.

    Drivers are recognised by what they carry (`sqlite_errorcode`, `sqlstate`), so none has to be imported. A wrong
    statement is an operational error for SQLite as well, hence the codes.
    """
    if isinstance(error, (ConnectionError, TimeoutError, gaierror, sqlalchemy.exc.TimeoutError)):
        return True
    if isinstance(error, sqlalchemy.exc.DBAPIError):
        if error.connection_invalidated:
            return True
        cause = error.orig
        if cause is None:
            return False
        without_code = not hasattr(cause, "sqlite_errorcode") and not getattr(cause, "sqlstate", None)
        broken = isinstance(error, (sqlalchemy.exc.OperationalError, sqlalchemy.exc.InterfaceError))
        return (broken and without_code) or database_out_of_reach(cause)
    if isinstance(error, sqlite3.Error):
        extended: int = getattr(error, "sqlite_errorcode", 0)
        return extended & 0xFF in _SQLITE_OUT_OF_REACH
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state.startswith(_SQLSTATE_OUT_OF_REACH)
