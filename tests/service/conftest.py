"""The one hole of every test of what is stored: where. A file of SQLite's, or a database of a real PostgreSQL.

Each test begins with empty tables. On PostgreSQL the databases are made and migrated once and emptied for each test, because
making one takes longer than most tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from service import postgres
from service.tables import METADATA
from tests.together.postgres import Postgres, running

Where = Callable[..., Path | str]
"""Given a name of the test's own, a path, or a URL; the same name is the same place."""

EMPTIED = "; ".join(
    [f"DELETE FROM {table}" for table in METADATA.tables]
    + [
        f"ALTER SEQUENCE {table}_id_seq RESTART"
        for table, columns in METADATA.tables.items()
        if "id" in columns.columns
    ]
)


@dataclass
class Databases:
    """Migrated databases of one server, lent to one test after the other."""

    server: Postgres
    made: ExitStack
    urls: list[str] = field(default_factory=list)

    def lent(self, number: int) -> str:
        """An empty one."""
        if number == len(self.urls):
            self.urls.append(self.made.enter_context(self.server.database()))
            with ThreadPoolExecutor(1) as thread:  # this one has a loop that runs already
                thread.submit(asyncio.run, postgres.migrate(self.urls[-1])).result()
        else:
            self.server.sql(EMPTIED, self.urls[number])
        return self.urls[number]


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    with running() as server, ExitStack() as made:
        yield Databases(server, made)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.process)])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Where:
    if request.param == "sqlite":
        return lambda name="test": tmp_path / f"{name}.db"
    databases: Databases = request.getfixturevalue("databases")
    lent: dict[str, str] = {}

    def place(name: str = "test") -> str:
        if name not in lent:
            lent[name] = databases.lent(len(lent))
        return lent[name]

    return place


@pytest.fixture
def url(databases: Databases) -> str:
    """A migrated and empty database, for what only PostgreSQL does."""
    return databases.lent(0)
