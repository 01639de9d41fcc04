"""The one hole of every test of what is stored: where. A file of SQLite's, or a database of a real PostgreSQL.

Each test begins with empty tables. On PostgreSQL the databases are made and migrated once and emptied for each test, because
making one takes longer than most tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import asyncpg
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
    loop: asyncio.AbstractEventLoop
    """One that runs in a thread of its own: that of the test runs already when a database is asked for."""
    urls: list[str] = field(default_factory=list)
    held: dict[str, Any] = field(default_factory=dict)
    """A connection to each."""

    def lent(self, number: int) -> str:
        """An empty one."""
        if number == len(self.urls):
            self.urls.append(self.made.enter_context(self.server.database()))
            self._there(postgres.migrate(self.urls[-1]))
        else:
            self._there(self._empty(self.urls[number]))
        return self.urls[number]

    async def _empty(self, url: str) -> None:
        if url not in self.held or self.held[url].is_closed():
            self.held[url] = await asyncpg.connect(url)
        await self.held[url].execute(EMPTIED)

    def _there(self, work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(60)


@pytest.fixture(scope="package", autouse=True)
def no_authorities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody here speaks TLS to the world, and each client would take 30 ms to load all authorities that the machine trusts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("authorities")))
        yield


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="databases", daemon=True)
    thread.start()
    with running() as server, ExitStack() as made:
        lending = Databases(server, made, loop)
        yield lending
        for connection in lending.held.values():
            loop.call_soon_threadsafe(connection.terminate)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


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
