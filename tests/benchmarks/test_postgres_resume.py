"""`POST /v1/resume` on PostgreSQL against a bare driver that reads the stored bytes over connections that it holds (issue 4).

The service is a process of its own and is asked over HTTP, by a load in another; the bare driver reads from this process and
speaks no HTTP. Both have as many at once and take turns in one run. The floor holds on a busy machine; the goal stands in the
README beside this file.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg  # type: ignore[import-untyped]
import pytest
import uvloop

from service.policy import Policy
from service.postgres import PostgresDatabase
from service.secrets import Secrets
from tests.benchmarks import people
from tests.benchmarks.cycles import cpu_seconds
from tests.benchmarks.load import Load, Taken
from tests.benchmarks.race import ROOT
from tests.together.postgres import running
from tests.together.service import Service

pytestmark = [pytest.mark.benchmark, pytest.mark.process, pytest.mark.timeout(1_200)]

BORROWERS = min(20_000, int(os.environ.get("BENCH_BORROWERS", "20000")))
SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
AT_ONCE = 8
SEED_BATCH = 500
MOST_READS_PER_SECOND = 10_000
GOAL, FLOOR = 0.30, 0.02

SECRET = base64.urlsafe_b64encode(b"k" * 32).decode()
READ = "SELECT record FROM borrower WHERE tenant = $1 AND borrower_id = $2"


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    with running() as server, server.database() as url:
        yield url


@pytest.fixture(scope="module")
def service(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One with so many borrowers stored, without Kafka: reads do not go there."""
    env = {"BORROWER_MEMORY_DATABASE_URL": dsn, "BORROWER_MEMORY_SECRET_KEYS": SECRET}
    one = Service(tmp_path_factory.mktemp("resume"), env=env)
    migrated = one.command("migrate")
    assert migrated.returncode == 0, migrated.stderr
    asyncio.run(_store(dsn))
    yield one.start()
    one.kill()


async def _store(dsn: str) -> None:
    copies = people.Copies(Secrets([base64.urlsafe_b64decode(SECRET)]), Policy(), people.utc_now())
    database = await PostgresDatabase.open(dsn)
    try:
        for start in range(0, BORROWERS, SEED_BATCH):
            numbers = range(start, min(BORROWERS, start + SEED_BATCH))
            await database.write(lambda connection, numbers=numbers: copies.write(connection, numbers))  # type: ignore[misc]
        await database.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
    finally:
        await database.close()


def test_a_resume_on_postgresql_against_bare_reads_of_held_connections(
    dsn: str, service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _resumed(service, tmp_path)
    turns = [(_resumed(service, tmp_path), uvloop.run(_read(dsn))) for _ in range(ROUNDS)]
    ratio = statistics.median(ours.per_second / bare for (ours, _), bare in turns)
    ours = [taken for (taken, _), __ in turns]
    rate, p50, p99 = (statistics.median(getattr(t, name) for t in ours) for name in ("per_second", "p50_ms", "p99_ms"))
    cpu = statistics.median(cpu for (_, cpu), __ in turns)
    bare = statistics.median(bare for _, bare in turns)
    with capsys.disabled():
        sys.stdout.write(
            f"\nresume on PostgreSQL, {AT_ONCE} at once, {BORROWERS:,} borrowers: {rate:.0f}/s, p50 {p50:.2f} ms,"
            f" p99 {p99:.2f} ms, cpu {cpu:.0f} us; bare reads {bare:.0f}/s; ratio {ratio:.2f}, goal {GOAL:.2f}"
            f" (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors)\n"
        )
    assert ratio >= FLOOR


def _resumed(service: Service, folder: Path) -> tuple[Taken, float]:
    """By a load of its own: what became of it, and microseconds of the service's processor time for one."""
    file = folder / "requests"
    with file.open("w") as out:
        for number in people.spread(int(MOST_READS_PER_SECOND * SECONDS), BORROWERS):
            who = {"identifier": {"kind": "phone", "value": people.phone(number)}}
            asked = json.dumps({"channel": "voice", "direction": "inbound", **who}, separators=(",", ":"))
            out.write(f"POST /v1/resume {asked}\n")
    address = urlsplit(service.url)
    headers = {"authorization": f"Bearer {service.key()}"}
    load = Load(str(address.hostname), address.port or 0, headers, str(file), '"found":true', AT_ONCE, SECONDS)
    assert service.process is not None
    before = cpu_seconds(service.process.pid)
    command = [sys.executable, "-m", "tests.benchmarks.load"]
    told = subprocess.run(
        command, cwd=ROOT, input=json.dumps(asdict(load)), capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr[-2_000:]
    taken = Taken(**json.loads(told.stdout))
    assert set(taken.statuses) == {"200"}, taken.statuses
    assert taken.marked == taken.answered
    return taken, (cpu_seconds(service.process.pid) - before) / taken.answered * 1e6


async def _read(dsn: str) -> float:
    """As many as the connections can: how many a second."""
    held = [await asyncpg.connect(dsn) for _ in range(AT_ONCE)]
    count = 0
    began = time.perf_counter()
    end = began + SECONDS

    async def caller(connection: asyncpg.Connection, numbers: Iterator[int]) -> None:
        nonlocal count
        for number in numbers:
            if time.perf_counter() >= end:
                return
            assert await connection.fetchval(READ, people.TENANT, people.borrower(number))
            count += 1

    numbers = people.spread(sys.maxsize, BORROWERS)
    await asyncio.gather(*(caller(one, numbers) for one in held))
    took = time.perf_counter() - began
    await asyncio.gather(*(one.close() for one in held))
    return count / took
