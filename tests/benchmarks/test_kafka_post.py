"""A POST that goes to a real Kafka against a bare producer's `send_and_wait` of the same bytes (issue 4).

The API and a writer are processes of their own; the answer comes when the entry is merged, as it does for every client. The
bare producer sends from this process, with as many callers, to the same topic. Both take turns in one run. Beside the rates
stands the processor time of the API's own process, for on a machine with few processors its callers, its writer, the broker and
PostgreSQL want the same ones. The floors hold on a busy machine; the goals stand in the README beside this file.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvloop
from aiokafka import AIOKafkaProducer

from service.intake.kafka_topics import Cluster, Topic, make
from tests.benchmarks.cycles import WORDS, cpu_seconds, summary
from tests.benchmarks.load import Load, Taken
from tests.together import broker, postgres
from tests.together.fleet import PARTITIONS, Fleet, fleet

pytestmark = [pytest.mark.benchmark, pytest.mark.process, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
CALLERS = 64
ROUNDS = 3
SECONDS = 3.0
MOST = 2_000
"""Requests made ready for one second."""
FLOOR_RATE = 0.002
FLOOR_CPU = 0.006
MOST_TAIL = 500.0

Call = Callable[[int], Awaitable[None]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder: Path = tmp_path_factory.mktemp("post")
    with (
        broker.running(tmp_path_factory.mktemp("kafka")) as brokers,
        postgres.running() as server,
        server.database() as dsn,
        fleet(folder, brokers.bootstrap, dsn, f"b{uuid.uuid4().hex[:8]}") as one,
    ):
        yield one


def body(number: int) -> str:
    ended = datetime.now(UTC) - timedelta(minutes=1)
    told = {
        "channel": "voice", "conversation_id": f"c-{number}", "ended_at": ended.isoformat(), "outcome": "connected",
        "borrower_id": f"B-{number % 400}", "loan_id": f"LN-{number % 400}", "summary": WORDS,
    }  # fmt: skip
    return json.dumps(told)


def posted(service: Fleet, folder: Path, first: int, rate: float = 0.0) -> tuple[Taken, float]:
    """So many a second, or as many as the callers can, by a load that is a process of its own; and what one took of the API."""
    file = folder / "requests"
    count = int(MOST * SECONDS)
    file.write_text("".join(f"POST /v1/summaries {body(n)}\n" for n in range(first, first + count)))
    address = urlsplit(service.url)
    headers = {"Authorization": f"Bearer {service.key()}", "Content-Type": "application/json"}
    mark = '"event_id":"voice:c-'
    load = Load(str(address.hostname), address.port or 0, headers, str(file), mark, CALLERS, SECONDS, rate)
    assert service.process is not None
    before = cpu_seconds(service.process.pid)
    command = [sys.executable, "-m", "tests.benchmarks.load"]
    told = subprocess.run(
        command, cwd=ROOT, input=json.dumps(asdict(load)), capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr[-2000:]
    taken = Taken(**json.loads(told.stdout))
    assert set(taken.statuses) <= {"200", "202"}, taken.statuses
    assert taken.marked == taken.answered
    return taken, (cpu_seconds(service.process.pid) - before) / taken.answered * 1e6


async def sent(call: Call) -> tuple[float, float]:
    """As many as the callers can: how many a second, and what one took of this process."""
    count = 0
    began, cpu = time.perf_counter(), time.process_time()
    end = began + SECONDS

    async def caller() -> None:
        nonlocal count
        while time.perf_counter() < end:
            await call(count)
            count += 1

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return count / (time.perf_counter() - began), (time.process_time() - cpu) / count * 1e6


async def at_rate(call: Call, rate: float) -> list[float]:
    """So many a second, each at its time: how long each took from then on."""
    took: list[float] = []
    begin = time.perf_counter()

    async def one(place: int) -> None:
        due = begin + place / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        await call(place)
        took.append(time.perf_counter() - due)

    await asyncio.gather(*(one(place) for place in range(max(20, int(rate * SECONDS)))))
    return took


def p99(took: list[float]) -> float:
    return sorted(took)[int(len(took) * 0.99)] * 1e3


def test_a_post_against_a_bare_producer(service: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value = summary(0).value

    async def run() -> tuple[list[tuple[float, float, float, float]], list[tuple[float, float]]]:
        rates, tails = [], []
        other = f"{service.topic}.bare"
        await make(Cluster((service.kafka,)), [Topic(other, PARTITIONS)], copies=1, retention_days=1)
        async with AIOKafkaProducer(bootstrap_servers=service.kafka, acks="all", enable_idempotence=True) as producer:

            async def send(number: int) -> None:
                await producer.send_and_wait(other, value, key=b"acme|B-1", partition=number % PARTITIONS)

            for turn in range(ROUNDS):
                taken, cpu = await asyncio.to_thread(posted, service, tmp_path, turn * 100_000)
                rates.append((taken.per_second, cpu, *await sent(send)))
            half = statistics.median(one[0] for one in rates[1:]) / 2
            for turn in range(ROUNDS, 2 * ROUNDS):
                taken, _ = await asyncio.to_thread(posted, service, tmp_path, turn * 100_000, half)
                tails.append((taken.p99_ms, p99(await at_rate(send, half))))
        return rates[1:], tails[1:]

    rates, tails = uvloop.run(run())
    rate = statistics.median(one[0] / one[2] for one in rates)
    cpu = statistics.median(one[3] / one[1] for one in rates)
    tail = statistics.median(ours / bare for ours, bare in tails)
    ours, ours_us, bare, bare_us = (statistics.median(side) for side in zip(*rates, strict=True))
    p_ours, p_bare = (statistics.median(side) for side in zip(*tails, strict=True))
    with capsys.disabled():
        sys.stdout.write(
            f"\nPOST, {CALLERS} callers, answered when merged {ours:>8.0f}/s {ours_us:>8.0f} us of the API's process"
            f"\nbare send_and_wait                        {bare:>8.0f}/s {bare_us:>8.0f} us of its process"
            f"\nratio {rate:.2f}, of processor time {cpu:.2f}, goal 0.40"
            f"\nat half that rate, p99: {p_ours:.1f} ms, bare {p_bare:.1f} ms, {tail:.1f} times, goal at most 2\n"
        )
    assert cpu >= FLOOR_CPU
    assert rate >= FLOOR_RATE
    assert tail <= MOST_TAIL
