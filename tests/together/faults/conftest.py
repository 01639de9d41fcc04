"""One broker, one PostgreSQL and one fleet for the whole folder: to start them takes longer than most faults do.

What is posted meanwhile is one long stream under one ledger, and the checker looks at all of it after every fault.
"""

from __future__ import annotations

import contextlib
import random
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.conftest import FIGURES
from tests.together import broker, checker, postgres
from tests.together.faults.proxy import Proxy, Trap
from tests.together.fleet import PARTITIONS, SESSION_SECONDS, Fleet, WriterProcess, fleet
from tests.together.stream import Clients, Ledger, requests

CLIENTS = 4
SETTLED_SECONDS = 90
IDS_EACH = 10


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[broker.Brokers]:
    with broker.running(tmp_path_factory.mktemp("kafka"), ours=True) as running:
        yield running


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Postgres]:
    with postgres.running(ours=True) as running:
        yield running


@pytest.fixture
def dsn(server: postgres.Postgres) -> Iterator[str]:
    with server.database() as url:
        yield url


@pytest.fixture
def prefix() -> str:
    """Of topics of a test's own."""
    return f"t{uuid.uuid4().hex[:8]}"


class Field:
    """The fleet, its way to the database, and what was posted to it so far."""

    def __init__(self, fleet: Fleet, brokers: broker.Brokers, server: postgres.Postgres) -> None:
        self.fleet, self.brokers, self.server = fleet, brokers, server
        self.ways: dict[WriterProcess, Proxy] = {}
        """The way of each writer to its database."""
        self.ledger = Ledger()
        self.seed = random.SystemRandom().randrange(1 << 32)
        self.chance = random.Random(self.seed)
        self.made = 0
        self.record: Callable[[str, object], None] = lambda name, value: None

    # -- writers

    @property
    def writers(self) -> list[WriterProcess]:
        return [writer for writer in self.fleet.writers if writer.running()]

    def another(self, *alterations: str) -> WriterProcess:
        """One more, with a way to its database of its own."""
        parts = urlsplit(self.fleet.dsn)
        way = Proxy("127.0.0.1", parts.port or 5432)
        through = parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{way.port}").geturl()
        env = {"BORROWER_MEMORY_DATABASE_URL": through}
        writer = self.fleet.write(env=env, program=altered(*alterations))
        self.ways[writer] = way
        return writer

    def settle(self) -> None:
        """Two plain writers that share all partitions."""
        while len(self.writers) > 2:
            self.writers[-1].stop()
        while len(self.writers) < 2:
            self.another()
        share(self.writers)

    def owner(self) -> WriterProcess:
        """One that has partitions."""
        return next(writer for writer in self.writers if writer.partitions())

    def springs(self, trap: Trap) -> None:
        assert trap.sprung.wait(SETTLED_SECONDS), "no save came by"

    # -- load

    @contextlib.contextmanager
    def load(self, posts: int = 80) -> Iterator[Clients]:
        """Posts meanwhile; ends when all of them are answered."""
        stream = requests(posts, self.chance, made=self.made)
        self.made += posts * IDS_EACH
        url, key = self.fleet.url, self.fleet.key()
        clients = Clients(stream, lambda: url, key, self.ledger, CLIENTS, self.chance.randrange(1 << 32))
        clients.start()
        try:
            yield clients
            clients.join()
        finally:
            clients.stop()

    # -- proof

    def proved(self, **figures: Any) -> checker.Tables:
        """Everything is merged in time, and nothing is wrong with any of it."""
        began = time.monotonic()
        self.fleet.merged_to_the_end(SETTLED_SECONDS)
        tables = self.fleet.tables()
        told = {"seed": self.seed, "merged after": round(time.monotonic() - began, 1), "journal": len(tables.journal)}
        self.record(FIGURES, told | figures)
        assert checker.faults(tables, self.ledger) == []
        return tables

    def metric(self, name: str) -> float:
        """Of the API."""
        text = httpx.get(f"{self.fleet.url}/metrics", timeout=10).text
        return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(f"borrower_memory_{name}"))

    def logged(self, event: str) -> int:
        """How often any writer said so."""
        return sum(writer.log().count(f'"{event}"') for writer in self.fleet.writers)


def altered(*alterations: str) -> tuple[str, ...]:
    """The program that runs a writer so."""
    if not alterations:
        return ("-m", "service")
    return (str(Path(__file__).with_name("altered.py")), *alterations, "--")


def share(writers: list[WriterProcess]) -> float:
    """Waits until these have all partitions between them, each at least one; how long it took."""
    began = time.monotonic()
    while True:
        held = [writer.partitions() for writer in writers]
        if all(held) and sorted(p for h in held for p in h) == list(range(PARTITIONS)):
            return time.monotonic() - began
        assert time.monotonic() < began + SETTLED_SECONDS, f"they do not share: {held}"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def whole_field(
    tmp_path_factory: pytest.TempPathFactory, brokers: broker.Brokers, server: postgres.Postgres
) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("field")
    with server.database() as url, fleet(folder, brokers.bootstrap, url, "field", writers=0) as running:
        one = Field(running, brokers, server)
        yield one
    for way in one.ways.values():
        way.close()


@pytest.fixture
def field(whole_field: Field, record_property: Callable[[str, object], None]) -> Iterator[Field]:
    """Settled, and left so that the next fault finds it whole."""
    whole_field.record = record_property
    whole_field.settle()
    yield whole_field
    for writer in whole_field.writers:
        writer.send(signal.SIGCONT)


TAKEOVER_SECONDS = SESSION_SECONDS + 6
"""A session, a round of joining, and what a loaded machine takes for it."""
