"""The worlds in which decisions are tried: embedded on SQLite, and over Kafka and PostgreSQL with a writer of its own."""

from __future__ import annotations

import contextlib
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.together import broker, postgres
from tests.together.decisions.world import Source, World
from tests.together.fleet import Fleet
from tests.together.service import ALWAYS, Service

BACKENDS = ("embedded", "kafka")


@pytest.fixture(scope="package")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[broker.Brokers]:
    with broker.running(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(scope="package")
def server() -> Iterator[postgres.Postgres]:
    with postgres.running() as running:
        yield running


@contextlib.contextmanager
def opened(request: pytest.FixtureRequest, folder: Path, *, can_read: bool = True) -> Iterator[World]:
    """The backend is the fixture's parameter. `can_read`: whether the service may ask the source."""
    with Source() as source:
        env = source.env if can_read else {}
        if request.param == "embedded":
            service = Service(folder, policy=ALWAYS, env=env).start()
            try:
                yield World(service, source, service.kill, service.start)
            finally:
                service.kill()
            return
        brokers = request.getfixturevalue("brokers")
        with request.getfixturevalue("server").database() as dsn:
            fleet = Fleet(folder, brokers.bootstrap, dsn, f"d{uuid.uuid4().hex[:8]}")
            fleet.env |= env
            try:
                fleet.migrate()
                fleet.write()
                fleet.start()
                yield World(fleet, source, lambda: fleet.writers[-1].stop(signal.SIGKILL), fleet.write)
            finally:
                fleet.close()


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with opened(request, tmp_path) as one:
        yield one


@pytest.fixture(params=BACKENDS)
def reported(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Of which no source is asked: versions are known by what is reported alone."""
    with opened(request, tmp_path, can_read=False) as one:
        yield one


@pytest.fixture(params=BACKENDS, scope="module")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """For all tests of a file, each with borrowers and a source of its own."""
    with opened(request, tmp_path_factory.mktemp("shared")) as one:
        yield one
