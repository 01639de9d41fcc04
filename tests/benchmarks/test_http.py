"""The service over HTTP against the least that could answer at all, under the same load in one run.

What is asserted is a floor that holds on a busy machine as well; the goal is printed beside what was reached. How to run it,
and what the last quiet run gave, says the README beside this file. Sizes are settings of the environment (`BENCH_*`).
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from service.policy import Policy
from service.secrets import Secrets
from service.sqlite import SqliteDatabase
from tests.benchmarks import people, race
from tests.benchmarks.race import Side
from tests.together.service import Service

pytestmark = [pytest.mark.benchmark, pytest.mark.process, pytest.mark.timeout(1_800)]

BORROWERS = int(os.environ.get("BENCH_BORROWERS", "100000"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
CONNECTIONS = int(os.environ.get("BENCH_CONNECTIONS", "32"))
SEED_BATCH = 2_000

MOST_READS_PER_SECOND = 25_000
MOST_POSTS_PER_SECOND = 8_000
SECRET = base64.urlsafe_b64encode(b"k" * 32).decode()
NOW = people.utc_now()

RESUME_GOAL, RESUME_FLOOR = 0.30, 0.10
POST_GOAL, POST_FLOOR = 0.50, 0.02


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One with so many borrowers stored."""
    folder = tmp_path_factory.mktemp("stored")
    own = Service(folder, env={"BORROWER_MEMORY_SECRET_KEYS": SECRET})
    asyncio.run(store(folder / "memory.db"))
    own.start()
    try:
        yield own
    finally:
        own.stop()


async def store(path: Path) -> None:
    policy = Policy(contact_hours=("00:00", "24:00"))  # as the service's own, so that gists hold
    copies = people.Copies(Secrets([base64.urlsafe_b64decode(SECRET)]), policy, NOW)
    database = await SqliteDatabase.open(path)
    try:
        for start in range(0, BORROWERS, SEED_BATCH):
            numbers = range(start, min(BORROWERS, start + SEED_BATCH))
            await database.write(lambda connection, numbers=numbers: copies.write(connection, numbers))  # type: ignore[misc]
    finally:
        await database.close()


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def show(table: str) -> None:
        with capsys.disabled():
            sys.stdout.write(table)

    return show


def numbers() -> Iterator[int]:
    """Of borrowers, without end."""
    return itertools.cycle(people.spread(BORROWERS, BORROWERS))


def ours(service: Service, name: str, requests: Iterator[str], mark: str) -> Side:
    assert service.process is not None
    return Side(name, service.url, service.process.pid, requests, mark, {"authorization": f"Bearer {service.key()}"})


def test_a_resume_against_reading_the_stored_bytes_by_key(
    service: Service, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    def ask(number: int) -> str:
        named = {"channel": "voice", "direction": "inbound"}
        who = {"identifier": {"kind": "phone", "value": people.phone(number)}}
        return "POST /v1/resume " + json.dumps({**named, **who}, separators=(",", ":"))

    with race.baseline("stored", str(service.folder / "memory.db"), people.TENANT) as (url, pid):
        sides = [
            ours(service, "resume", (ask(number) for number in numbers()), '"found":true'),
            Side("bytes by key", url, pid, (f"GET /{people.borrower(number)}" for number in numbers()), '"buckets"'),
        ]
        ratio = _raced(sides, tmp_path, MOST_READS_PER_SECOND)
    tell(race.told(f"resume, {BORROWERS:,} borrowers stored", sides, ratio, RESUME_GOAL))
    assert ratio >= RESUME_FLOOR


@pytest.mark.parametrize(
    ("path", "what", "body"),
    [
        ("summaries", "a summary with its turns", people.posted),
        ("events", "a hard event", people.happened),
    ],
)
def test_a_post_against_a_route_that_only_validates(
    service: Service,
    tmp_path: Path,
    tell: Callable[[str], None],
    path: str,
    what: str,
    body: Callable[[int, str, datetime], bytes],
) -> None:
    def posts(to: str) -> Iterator[str]:
        return (f"POST {to} {body(number, f'b{place}', NOW).decode()}" for place, number in enumerate(numbers()))

    with race.baseline("validated") as (url, pid):
        sides = [
            ours(service, f"POST {path}, merged", posts(f"/v1/{path}"), '"status":"merged"'),
            Side("validated", url, pid, posts(f"/{path}"), '"event_id"'),
        ]
        ratio = _raced(sides, tmp_path, MOST_POSTS_PER_SECOND)
    tell(race.told(f"{what}, {BORROWERS:,} borrowers stored", sides, ratio, POST_GOAL))
    assert ratio >= POST_FLOOR


def _raced(sides: list[Side], folder: Path, most: int) -> float:
    return race.race(folder, sides, connections=CONNECTIONS, seconds=SECONDS, rounds=ROUNDS, most=most)
