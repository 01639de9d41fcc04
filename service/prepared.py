"""Core statements for paths that are walked thousands of times a second: written once, at import, and sent to the driver.

Past SQLAlchemy a statement takes a quarter of the time on SQLite and half of it on PostgreSQL. The same statement does on
either; a function of a connection need not know which one it was given. What is stored, this file must not know.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import asyncpg  # type: ignore[import-untyped]
from sqlalchemy import ARRAY, Column, Connection, Delete, Insert, Select, Table, Update, any_, bindparam
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.sql.base import Executable
from sqlalchemy.types import LargeBinary, TypeEngine
from sqlalchemy.util import await_only
from sqlmodel import UTCDateTime

MOST: Final = 256
"""So many texts are looked for by one statement of SQLite's."""

MANY: Final = 32
"""So many rows and more PostgreSQL takes by COPY, in two thirds of the time."""

_SQLITE: Final = SQLiteDialect_pysqlite(paramstyle="qmark")
_POSTGRES: Final = PGDialect_asyncpg()  # type: ignore[no-untyped-call]


class _Ready(NamedTuple):
    """A statement as a driver takes it."""

    sql: str
    order: tuple[str, ...]
    constants: Mapping[str, Any]
    into: tuple[tuple[int, Callable[[Any], Any]], ...]
    """By place in `order`, what turns a value into what the driver takes."""
    out: tuple[tuple[int, Callable[[Any], Any]], ...]
    """By column, what turns what the driver gives into ours."""
    at_once: str | None = None
    """Of an update or a delete on PostgreSQL: the same of many rows, given as one list for each of `order`."""


class Prepared:
    """A Core statement to be run often. Every bound parameter is given by name; for lists there is `OfList`."""

    __slots__ = ("_ready", "_ready_for_postgres", "statement")

    def __init__(self, statement: Executable) -> None:
        self.statement = statement
        self._ready: _Ready | None = None
        self._ready_for_postgres: _Ready | None = None

    def row(self, connection: Connection, **values: Any) -> Sequence[Any] | None:
        """The first row, or None."""
        if _on_postgres(connection):
            ready = self._ready_for_postgres or self._prepare_for_postgres()
            first: Sequence[Any] | None = _awaited(connection, "fetchrow", ready.sql, *_arguments(ready, values))
            return first
        ready = self._ready or self._prepare()
        found = _driven(connection, ready, _arguments(ready, values)).fetchone()
        return found if found is None or not ready.out else _ours(found, ready)

    def rows(self, connection: Connection, **values: Any) -> Sequence[Sequence[Any]]:
        if _on_postgres(connection):
            ready = self._ready_for_postgres or self._prepare_for_postgres()
            every: Sequence[Sequence[Any]] = _awaited(connection, "fetch", ready.sql, *_arguments(ready, values))
            return every
        ready = self._ready or self._prepare()
        found = _driven(connection, ready, _arguments(ready, values)).fetchall()
        return [_ours(row, ready) for row in found] if ready.out else found

    def each(self, connection: Connection, **values: Any) -> Iterator[Sequence[Any]]:
        """The rows one after the other, for whoever may have enough before the last; of SQLite, which gives them so."""
        ready = self._ready or self._prepare()
        for row in _driven(connection, ready, _arguments(ready, values)):
            yield _ours(row, ready) if ready.out else row

    def run(self, connection: Connection, **values: Any) -> int:
        """How many rows it changed."""
        if _on_postgres(connection):
            ready = self._ready_for_postgres or self._prepare_for_postgres()
            told: str = _awaited(connection, "execute", ready.sql, *_arguments(ready, values))
            return int(told.rpartition(" ")[2])
        ready = self._ready or self._prepare()
        return _driven(connection, ready, _arguments(ready, values)).rowcount

    def run_each(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Once for each of the rows, in their order, without waiting for one before the next is sent; many at once, where no
        two may be of the same row of the table."""
        if not rows:
            return
        if _on_postgres(connection):
            ready = self._ready_for_postgres or self._prepare_for_postgres()
            arguments = [_arguments(ready, values) for values in rows]
            if len(rows) < MANY:
                _awaited(connection, "executemany", ready.sql, arguments)
            elif (table := _copied_into(self.statement, ready)) is not None:
                _awaited(connection, "copy_records_to_table", table, records=arguments, columns=ready.order)
            elif ready.at_once is not None:
                _awaited(connection, "execute", ready.at_once, *map(list, zip(*arguments, strict=True)))
            else:
                _awaited(connection, "executemany", ready.sql, arguments)
            return
        ready = self._ready or self._prepare()
        _driven(connection, ready, [_arguments(ready, values) for values in rows], many=True)

    def change_each(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        """As `run_each`, of an update or a delete: how many rows it changed in all."""
        if not rows:
            return 0
        if _on_postgres(connection):
            ready = self._ready_for_postgres or self._prepare_for_postgres()
            arguments = [_arguments(ready, values) for values in rows]
            if len(rows) >= MANY and ready.at_once is not None:
                done: str = _awaited(connection, "execute", ready.at_once, *map(list, zip(*arguments, strict=True)))
                return int(done.rpartition(" ")[2])
            return len(_awaited(connection, "fetchmany", f"{ready.sql} RETURNING 1", arguments))
        ready = self._ready or self._prepare()
        return _driven(connection, ready, [_arguments(ready, values) for values in rows], many=True).rowcount

    def _prepare(self) -> _Ready:
        compiled: Any = self.statement.compile(dialect=_SQLITE)  # type: ignore[attr-defined]
        order = tuple(compiled.positiontup)
        columns: Iterable[Any] = getattr(self.statement, "selected_columns", ())
        into = ((place, _stored(compiled.binds[name].type)) for place, name in enumerate(order))
        out = ((place, _read(column.type)) for place, column in enumerate(columns))
        self._ready = _Ready(
            sql=str(compiled),
            order=order,
            constants=_constants(compiled, order),
            into=tuple((place, step) for place, step in into if step is not None),
            out=tuple((place, step) for place, step in out if step is not None),
        )
        return self._ready

    def _prepare_for_postgres(self) -> _Ready:
        """Its driver takes and gives our types as they are; it would take a time without an offset as well."""
        compiled: Any = self.statement.compile(dialect=_POSTGRES)  # type: ignore[attr-defined]
        order = tuple(compiled.positiontup)
        kinds = [compiled.binds[name].type for name in order]
        self._ready_for_postgres = _Ready(
            sql=str(compiled),
            order=order,
            constants=_constants(compiled, order),
            into=tuple((place, _aware) for place, kind in enumerate(kinds) if isinstance(kind, UTCDateTime)),
            out=(),
            at_once=_at_once(self.statement, str(compiled), kinds),
        )
        return self._ready_for_postgres


class OfList:
    """A select of the rows whose `column` holds one of some texts. What else is bound is given by name."""

    __slots__ = ("_column", "_every", "_of_size", "_statement", "one")

    def __init__(self, statement: Select[Any], column: Column[Any]) -> None:
        self._statement = statement
        self._column = column
        self._of_size: dict[int, tuple[Prepared, tuple[str, ...]]] = {}
        self.one = Prepared(statement.where(column == bindparam("one")))
        self._every = Prepared(statement.where(column == any_(bindparam("every", type_=ARRAY(column.type)))))

    def rows(self, connection: Connection, texts: Sequence[str], **values: Any) -> Sequence[Sequence[Any]]:
        """In no order; those of a text that stands there twice may come twice."""
        if not texts:
            return ()
        if len(texts) == 1:
            return self.one.rows(connection, one=texts[0], **values)
        if _on_postgres(connection):
            return self._every.rows(connection, every=list(texts), **values)
        if len(texts) <= MOST:
            return self._listed(connection, texts, values)
        parts = (texts[start : start + MOST] for start in range(0, len(texts), MOST))
        return [row for part in parts for row in self._listed(connection, part, values)]

    def _listed(
        self, connection: Connection, texts: Sequence[str], values: Mapping[str, Any]
    ) -> Sequence[Sequence[Any]]:
        """On SQLite: by a statement whose list has the next power of two of places; the last text stands in those left over."""
        size = 1 << (len(texts) - 1).bit_length()
        prepared, places = self._of_size.get(size) or self._prepare_of(size)
        named = dict(values)
        named.update(zip(places, texts, strict=False))
        if len(texts) < size:
            named.update(dict.fromkeys(places[len(texts) :], texts[-1]))
        return prepared.rows(connection, **named)

    def _prepare_of(self, size: int) -> tuple[Prepared, tuple[str, ...]]:
        places = tuple(f"text_{place}" for place in range(size))
        listed = self._column.in_([bindparam(place, type_=self._column.type) for place in places])
        prepared = self._of_size[size] = Prepared(self._statement.where(listed)), places
        return prepared


# -- what both share ---------------------------------------------------------------------------------------------------


def _on_postgres(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def _constants(compiled: Any, order: tuple[str, ...]) -> dict[str, Any]:
    return {n: v for n, v in compiled.params.items() if n in order and not compiled.binds[n].required}


def _arguments(ready: _Ready, values: Mapping[str, Any]) -> list[Any]:
    if ready.constants:
        values = {**ready.constants, **values}
    arguments = [values[name] for name in ready.order]
    for place, step in ready.into:
        if arguments[place] is not None:
            arguments[place] = step(arguments[place])
    return arguments


# -- SQLite's driver ---------------------------------------------------------------------------------------------------


def _ours(row: Sequence[Any], ready: _Ready) -> tuple[Any, ...]:
    values = list(row)
    for place, step in ready.out:
        if values[place] is not None:
            values[place] = step(values[place])
    return tuple(values)


def _driven(connection: Connection, ready: _Ready, arguments: Any, *, many: bool = False) -> sqlite3.Cursor:
    driver: Any = connection.connection.driver_connection
    try:
        cursor: sqlite3.Cursor = (driver.executemany if many else driver.execute)(ready.sql, arguments)
    except sqlite3.Error as error:
        named = DBAPIError.instance(ready.sql, None, error, sqlite3.Error, hide_parameters=True, dialect=_SQLITE)
        raise named from error
    return cursor


def _stored(kind: TypeEngine[Any]) -> Callable[[Any], Any] | None:
    if isinstance(kind, UTCDateTime):
        return _time_to_text
    if isinstance(kind, LargeBinary):
        return None  # the driver takes bytes as they are
    return kind.dialect_impl(_SQLITE).bind_processor(_SQLITE)


def _read(kind: TypeEngine[Any]) -> Callable[[Any], Any] | None:
    if isinstance(kind, UTCDateTime):
        return _time_from_text
    if isinstance(kind, LargeBinary):
        return None
    return kind.dialect_impl(_SQLITE).result_processor(_SQLITE, None)


def _time_to_text(value: datetime) -> str:
    """As SQLAlchemy stores it, in a tenth of the time; a naive one is a fault of ours."""
    if value.tzinfo is not UTC:
        value = _aware(value).astimezone(UTC)
    return value.isoformat(" ", "microseconds")[:26]


def _time_from_text(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _aware(value: datetime) -> datetime:
    if value.utcoffset() is None:
        raise ValueError("a time without its offset cannot be stored")
    return value


# -- PostgreSQL's driver -----------------------------------------------------------------------------------------------


def _copied_into(statement: Executable, ready: _Ready) -> str | None:
    """The table of an insert that only names values by their columns: many rows of it can go by COPY."""
    if not isinstance(statement, Insert) or not isinstance(statement.table, Table) or ready.constants:
        return None
    table = statement.table
    return table.name if set(ready.order) <= set(table.columns.keys()) else None


_BOUND: Final = re.compile(r"\$([0-9]+)(?:::[A-Z]+(?:\([0-9]+\))?(?: WITH(?:OUT)? TIME ZONE)?)?")


def _at_once(statement: Executable, sql: str, kinds: Sequence[TypeEngine[Any]]) -> str | None:
    """The rows as a table of their own: one statement instead of one for each row. No two may be of the same row of the
    database's, for of two updates one would be done."""
    if not isinstance(statement, Update | Delete) or " WHERE " not in sql:
        return None
    head, _, rest = sql.partition(" WHERE ")
    names = [kind.compile(dialect=_POSTGRES).partition(" COLLATE")[0] for kind in kinds]
    lists = ", ".join(f"${place}::{name}[]" for place, name in enumerate(names, start=1))
    columns = ", ".join(f"c{place}" for place in range(1, len(names) + 1))
    does, which = (_BOUND.sub(lambda bound: f"sent.c{bound[1]}", part) for part in (head, rest))
    word = "FROM" if isinstance(statement, Update) else "USING"
    return f"{does} {word} unnest({lists}) AS sent ({columns}) WHERE {which}"


def _awaited(connection: Connection, call: str, sql: str, *arguments: Any, **named: Any) -> Any:
    """What the driver answers, awaited from within the greenlet that the job runs in (`service.postgres`)."""
    driver: Any = connection.connection.driver_connection
    try:
        return await_only(getattr(driver, call)(sql, *arguments, **named))
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        if isinstance(error, asyncpg.IntegrityConstraintViolationError):
            raise IntegrityError(sql, None, error, hide_parameters=True) from error
        if refuses_a_value(error):
            raise DataError(sql, None, error, hide_parameters=True) from error
        raise


def refuses_a_value(error: BaseException) -> bool:
    """Whether the database, or its driver on the way there, says that a value is none that it can store."""
    if isinstance(error, asyncpg.InterfaceError):
        return isinstance(error, ValueError)
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state.startswith(("22", "54"))  # 54: too long for an index, too many of anything
