"""What a model costs a read: a stored proposal against none, and a model that hangs against none, each in one run.

What is asserted of the first is the server's own time for a request, which what else the machine does disturbs least; of the
second it is what callers wait, so figures for it are taken on a quiet machine. Sizes are those of `test_http.py`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from channels import CHANNELS
from service import records
from service.proposer.prompts import hash_of
from service.proposer.rows import PROPOSAL
from service.sqlite import SqliteDatabase
from tests.benchmarks import people, race
from tests.benchmarks.race import Side
from tests.benchmarks.test_http import BORROWERS, CONNECTIONS, NOW, ROUNDS, SECONDS, SECRET, store
from tests.together.model import ModelServer
from tests.together.service import Service

pytestmark = [pytest.mark.benchmark, pytest.mark.process, pytest.mark.timeout(1_800)]

MODEL = "scripted"
MOST_READS_PER_SECOND = 25_000
STORED_GOAL = 1.2
HANGING_GOAL, HANGING_FLOOR = 1.2, 2.0
"""Of the p99; the floor holds on a busy machine as well."""
HANGS_SECONDS = 60.0
ADDED_AT_ONCE = 2_000


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.otherwise = HANGS_SECONDS
        yield server


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with so many borrowers."""
    folder = tmp_path_factory.mktemp("seed")
    service = Service(folder, env={"BORROWER_MEMORY_SECRET_KEYS": SECRET})
    service.key()
    asyncio.run(store(folder / "memory.db"))
    return folder / "memory.db"


def service_of(seed: Path, folder: Path, model: ModelServer | None) -> Service:
    """A service of its own on a copy of these borrowers."""
    folder.mkdir()
    shutil.copy(seed, folder / "memory.db")
    env = {"BORROWER_MEMORY_SECRET_KEYS": SECRET}
    if model is not None:
        env |= {"BORROWER_MEMORY_LLM_BASE_URL": model.url, "BORROWER_MEMORY_LLM_MODEL": MODEL}
    return Service(folder, env=env)


async def propose(path: Path) -> None:
    """A current proposal for every borrower on voice, one that the floor grants."""
    borrower = records.BORROWER

    def add(connection: Connection) -> None:
        found = connection.execute(select(borrower.c.borrower_id, borrower.c.version)).all()
        of = {"tenant": people.TENANT, "channel": "voice", "flow_version": CHANNELS["voice"].flow.version,
              "prompt_hash": hash_of("voice", MODEL), "model": MODEL, "proposed": "negotiation", "asked_at": NOW, "latency_ms": 1,
              "expires_at": NOW.replace(year=NOW.year + 1)}  # fmt: skip
        rows = [
            of | {"borrower_id": id_, "loan_id": f"LN-{id_.removeprefix('B-')}", "record_version": version}
            for id_, version in found
        ]
        for start in range(0, len(rows), ADDED_AT_ONCE):
            connection.execute(insert(PROPOSAL), rows[start : start + ADDED_AT_ONCE])

    database = await SqliteDatabase.open(path)
    try:
        await database.write(add)
    finally:
        await database.close()


def reads() -> Iterator[str]:
    for place in range(sys.maxsize):
        who = {"identifier": {"kind": "phone", "value": people.phone((place * 61_803 + 7) % BORROWERS)}}
        yield "POST /v1/resume " + json.dumps(
            {"channel": "voice", "direction": "inbound", **who}, separators=(",", ":")
        )


def side(service: Service, name: str, mark: str) -> Side:
    assert service.process is not None
    headers = {"authorization": f"Bearer {service.key()}"}
    return Side(name, service.url, service.process.pid, reads(), mark, headers)


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def show(table: str) -> None:
        with capsys.disabled():
            sys.stdout.write(table)

    return show


def test_a_stored_proposal_against_none(
    seed: Path, model: ModelServer, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    without = service_of(seed, tmp_path / "without", None)
    stored = service_of(seed, tmp_path / "stored", model)
    asyncio.run(propose(stored.folder / "memory.db"))
    try:
        sides = [
            side(stored.start(), "resume by a stored proposal", '"proposed_by":"model"'),
            side(without.start(), "resume without a model", '"fallback":"no_model"'),
        ]
        raced(sides, tmp_path)
    finally:
        stored.stop()
        without.stop()
    cpu = [statistics.median(one.cpu_us) for one in sides]
    cost = cpu[0] / cpu[1]
    tell(race.told(f"a stored proposal, {BORROWERS:,} borrowers: cost {cost:.2f}", sides, STORED_GOAL / cost, 1.0))
    assert cost <= STORED_GOAL


def test_a_model_that_hangs_against_none(
    seed: Path, model: ModelServer, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    without = service_of(seed, tmp_path / "without", None)
    hangs = service_of(seed, tmp_path / "hangs", model)
    try:
        sides = [
            side(hangs.start(), "resume while the model hangs", '"found":true'),
            side(without.start(), "resume without a model", '"fallback":"no_model"'),
        ]
        raced(sides, tmp_path)
    finally:
        hangs.stop()
        without.stop()
    assert model.requests, "it is asked"
    moved = statistics.median(
        ours.p99_ms / bare.p99_ms for ours, bare in zip(sides[0].rounds, sides[1].rounds, strict=True)
    )
    tell(race.told(f"a model that hangs, {BORROWERS:,} borrowers: p99 {moved:.2f}", sides, HANGING_GOAL / moved, 1.0))
    assert moved <= HANGING_FLOOR


def raced(sides: list[Side], folder: Path) -> None:
    race.race(folder, sides, connections=CONNECTIONS, seconds=SECONDS, rounds=ROUNDS, most=MOST_READS_PER_SECOND)
