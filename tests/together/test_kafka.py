"""The service over a real Kafka and a real PostgreSQL, as processes: what is posted is merged once, whatever breaks."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from service.demo import Story, play
from tests.together import broker, checker, postgres
from tests.together.fleet import PARTITIONS, SESSION_SECONDS, Fleet, WriterProcess, fleet
from tests.together.service import Service, ago
from tests.together.stream import Clients, Ledger, requests

pytestmark = [pytest.mark.process, pytest.mark.timeout(900)]

POSTS = 600
CLIENTS = 6
KILLS = 3
SETTLED_SECONDS = 60


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[broker.Brokers]:
    with broker.running(tmp_path_factory.mktemp("kafka"), ours=True) as running:
        yield running


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Postgres]:
    with postgres.running() as running:
        yield running


@pytest.fixture
def dsn(server: postgres.Postgres) -> Iterator[str]:
    with server.database() as url:
        yield url


@pytest.fixture
def two_writers(tmp_path: Path, brokers: broker.Brokers, dsn: str) -> Iterator[Fleet]:
    with fleet(tmp_path, brokers.bootstrap, dsn, f"t{uuid.uuid4().hex[:8]}", writers=2) as running:
        share(running.writers)
        yield running


@pytest.fixture
def one_writer(tmp_path: Path, brokers: broker.Brokers, dsn: str) -> Iterator[Fleet]:
    with fleet(tmp_path, brokers.bootstrap, dsn, f"t{uuid.uuid4().hex[:8]}", writers=1) as running:
        share(running.writers)
        yield running


def share(writers: list[WriterProcess]) -> float:
    """Waits until the running writers have all partitions between them, each at least one; how long it took."""
    began = time.monotonic()
    while True:
        held = [writer.partitions() for writer in writers if writer.running()]
        if all(held) and sorted(p for h in held for p in h) == list(range(PARTITIONS)):
            return time.monotonic() - began
        assert time.monotonic() < began + SETTLED_SECONDS, f"they do not share: {held}"
        time.sleep(0.05)


def tell(what: str, figures: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{what}: {json.dumps(figures)}\n")


# -- what is posted is merged ------------------------------------------------------------------------------------------


def test_the_story_is_true_over_kafka_and_postgresql(two_writers: Fleet) -> None:
    """The same posts and reads as of the embedded service, with the same answers."""
    told: list[str] = []
    play(Story(two_writers.url, two_writers.key(), say=told.append))
    assert told[-1].strip().endswith("Every answer was as it should be.")
    two_writers.merged_to_the_end(SETTLED_SECONDS)


def test_what_changed_is_announced(one_writer: Fleet) -> None:
    with one_writer.client() as client:
        answer = client.post("/v1/summaries", json=promise("c-1")).json()
        assert answer["status"] == "merged"
    one_writer.merged_to_the_end(SETTLED_SECONDS)
    [change] = one_writer.entries(one_writer.changes)
    assert change.key == b"acme|B-1"
    assert json.loads(change.value)["data"] == {
        "borrower_id": "B-1",
        "record_version": 1,
        "event_id": "whatsapp:c-1:1",
        "stage": "committed",
        "rung": "proposed",
    }


def promise(conversation: str, borrower: str = "B-1", **fields: Any) -> dict[str, Any]:
    terms = {"amount": "5000", "currency": "INR", "status": "proposed"}
    body = {"channel": "whatsapp", "conversation_id": conversation, "ended_at": ago(minutes=1), "outcome": "connected"}
    return body | {"borrower_id": borrower, "commitment": terms} | fields


def test_repeats_and_conflicts_are_answered_as_ever(one_writer: Fleet) -> None:
    body = promise("c-1")
    with one_writer.client() as client:
        first = client.post("/v1/summaries", json=body)
        again = client.post("/v1/summaries", json=body)
        other = client.post("/v1/summaries", json=body | {"summary": "Another one."})
        assert (first.status_code, first.json()["status"]) == (200, "merged")
        assert (again.status_code, again.json()["status"], again.json()["record_version"]) == (200, "duplicate", 1)
        assert (other.status_code, other.json()["code"]) == (409, "id_conflict")
        once = stop("e-1")
        results = client.post("/v1/events/batch", json={"events": [once, once, stop("e-2")]}).json()
        assert sorted(r["answer"]["status"] for r in results["results"]) == ["duplicate", "merged", "merged"]
        stats = client.get("/v1/ops/stats").json()
        assert (stats["unmerged"], stats["repeats"], stats["conflicts"]) == (
            0,
            1,
            1,
        )  # copies in one batch are one delivery


def stop(event_id: str) -> dict[str, Any]:
    at = {"event_id": event_id, "occurred_at": ago(minutes=2), "borrower_id": "B-1"}
    return at | {"type": "contact.opted_out", "channel": "whatsapp", "purpose": "marketing"}


def test_a_permit_is_granted_at_once_when_all_is_merged_and_refused_while_it_is_not(one_writer: Fleet) -> None:
    asked = {"action": "reminder", "channel": "whatsapp", "holder": "run-1"}
    with one_writer.client() as client:
        client.post("/v1/summaries", json=promise("c-1"))
        began = time.monotonic()
        assert client.post("/v1/borrowers/B-1/permits", json=asked).status_code == 201
        assert time.monotonic() - began < 5
        [writer] = one_writer.writers
        writer.send(signal.SIGSTOP)
        accepted = client.post("/v1/summaries", json=promise("c-2"))
        assert (accepted.status_code, accepted.json()["status"]) == (202, "accepted")
        refused = client.post("/v1/borrowers/B-1/permits", json=asked | {"action": "payment_link"})
        assert (refused.status_code, refused.json()["reason"]) == (409, "behind")
        assert client.get("/v1/ops/stats").json()["unmerged"] == 1
        writer.send(signal.SIGCONT)
        one_writer.merged_to_the_end(SETTLED_SECONDS)


# -- writers that end --------------------------------------------------------------------------------------------------


def test_a_killed_writers_partitions_are_taken_over_and_nothing_is_lost_or_doubled(
    two_writers: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    ledger = Ledger()
    clients = Clients(
        requests(POSTS, chance), lambda: two_writers.url, two_writers.key(), ledger, CLIENTS, seed
    )  # fmt: skip
    clients.start()
    took = []
    for kill in range(KILLS):
        while clients.taken < (kill + 1) * POSTS // (KILLS + 1) and clients.is_busy():
            time.sleep(0.005)
        victim = two_writers.writers[-2 if kill % 2 else -1]
        victim.stop(signal.SIGKILL)
        took.append(round(share(two_writers.writers), 2))
        two_writers.write()
        share(two_writers.writers)
    clients.join()
    two_writers.merged_to_the_end(SETTLED_SECONDS)
    tables = two_writers.tables()
    figures = {"seed": seed, "takeover seconds": took} | checker.figures(tables, ledger)
    tell("writers killed", figures, capsys)
    assert checker.faults(tables, ledger) == []
    assert max(fence["epoch"] for fence in tables.fences.values()) > KILLS
    assert max(took) < SESSION_SECONDS + 6


def test_a_writer_that_is_told_to_stop_finishes_and_lets_others_have_its_partitions(two_writers: Fleet) -> None:
    first, second = two_writers.writers
    with two_writers.client() as client:
        for n in range(20):
            assert client.post("/v1/summaries", json=promise(f"c-{n}", f"B-{n}")).json()["status"] == "merged"
        began = time.monotonic()
        assert first.stop() == 0
        share([second])
        assert time.monotonic() - began < SESSION_SECONDS + 5, "nobody waited for its session to end"
        for n in range(20):
            body = promise(f"d-{n}", f"B-{n}")
            assert client.post("/v1/summaries", json=body).json()["status"] in ("merged", "accepted")
    two_writers.merged_to_the_end(SETTLED_SECONDS)
    assert '"partition_stopped"' not in second.log()


# -- Kafka that is away ------------------------------------------------------------------------------------------------


def test_what_is_posted_while_kafka_is_down_is_accepted_and_merged_after(
    one_writer: Fleet, brokers: broker.Brokers, capsys: pytest.CaptureFixture[str]
) -> None:
    with one_writer.client() as client:
        assert client.post("/v1/summaries", json=promise("c-0")).json()["status"] == "merged"
        brokers.kill(1)
        answers, seconds = [], []
        try:
            for n in range(1, 13):
                began = time.monotonic()
                answers.append(client.post("/v1/summaries", json=promise(f"c-{n}", f"B-{n % 3}")))
                seconds.append(round(time.monotonic() - began, 2))
            assert [a.status_code for a in answers] == [202] * 12
            assert {a.json()["status"] for a in answers} == {"accepted"}
            assert max(seconds) < 6
            assert len(one_writer.rows("SELECT 1 FROM outbox WHERE topic = 'intake'")) == 12
            assert client.get("/readyz").status_code == 200
        finally:
            brokers.start(1)
        began = time.monotonic()
        one_writer.merged_to_the_end(SETTLED_SECONDS)
        tell("Kafka down", {"answered in": seconds, "drained in": round(time.monotonic() - began, 1)}, capsys)
        for n in range(1, 13):
            at = client.get("/v1/borrowers/B-1", params={"after": f"whatsapp:c-{n}:1"}).status_code
            assert at == 200
    by_borrower: dict[bytes, list[str]] = {}
    for entry in one_writer.entries():
        ids = by_borrower.setdefault(entry.key, [])
        event_id = dict(entry.headers)["event_id"].decode()
        if event_id not in ids:
            ids.append(event_id)
    assert by_borrower[b"acme|B-1"] == [f"whatsapp:c-{n}:1" for n in (0, 1, 4, 7, 10)], "none overtook another"


def test_with_neither_kafka_nor_postgresql_nothing_is_accepted(tmp_path: Path, brokers: broker.Brokers) -> None:
    with (
        postgres.running(ours=True) as own,
        own.database() as url,
        fleet(tmp_path, brokers.bootstrap, url, f"t{uuid.uuid4().hex[:8]}", writers=0) as running,
        running.client() as client,
    ):
        own.kill()
        try:
            answer = client.post("/v1/summaries", json=promise("c-1"))
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert int(answer.headers["Retry-After"]) > 0
        finally:
            own.start()


# -- what else stands in the topic -------------------------------------------------------------------------------------


def test_what_is_not_ours_in_the_topic_is_set_aside_and_stops_nothing(one_writer: Fleet) -> None:
    async def plant(values: list[tuple[bytes | None, bytes | None]]) -> None:
        async with AIOKafkaProducer(bootstrap_servers=one_writer.kafka) as producer:
            for key, value in values:
                for partition in range(PARTITIONS):
                    await producer.send_and_wait(one_writer.topic, value, key=key, partition=partition)

    with one_writer.client() as client:
        client.post("/v1/summaries", json=promise("c-1"))
        [own] = [e for e in one_writer.entries() if e.key == b"acme|B-1"]
        forged = json.loads(own.value)
        forged["id"] = forged["data"]["body"]["event_id"] = "forged"
        asyncio.run(
            plant(
                [
                    (None, b""),
                    (b"acme|B-1", None),
                    (b"acme|B-1", b"not JSON"),
                    (b"acme|B-1", b'{"specversion": "1.0"}'),
                    (b"acme|B-1", own.value.replace(b"borrower-memory.summary", b"borrower-memory.nonsense")),
                    (b"zeta|B-1", own.value),
                    (b"acme|B-1", json.dumps(forged).encode()),
                    (b"acme|B-1", b"\x00\xff" * 40),
                    (b"acme|B-1", b"[" * 100_000),
                ]
            )
        )
        for n in range(12):
            status = client.post("/v1/summaries", json=promise(f"d-{n}", f"B-{n}")).json()["status"]
            assert status in ("merged", "accepted")
        one_writer.merged_to_the_end(SETTLED_SECONDS)
        for n in range(12):
            read = client.get(f"/v1/borrowers/B-{n}", params={"after": f"whatsapp:d-{n}:1"})
            assert read.status_code == 200
        listed = client.get("/v1/ops/set-aside", params={"limit": 200}).json()["items"]
    aside = one_writer.rows("SELECT tenant, event_id, detail, reason FROM set_aside")
    assert {row["reason"] for row in aside} == {"cannot_merge", "unreadable"}
    coordinates = {row["event_id"] for row in aside if row["event_id"].startswith(f"{one_writer.topic}/")}
    assert len(coordinates) >= 4 * PARTITIONS
    details = {row["detail"] for row in aside}
    assert any("another tenant" in told for told in details)
    assert any("stamped" in told for told in details)
    assert {item["reason"] for item in listed} == {"cannot_merge", "unreadable"}
    assert not one_writer.rows("SELECT 1 FROM journal WHERE event_id = 'forged'")
    assert all(writer.running() for writer in one_writer.writers)


# -- settings and starts -----------------------------------------------------------------------------------------------


def test_a_service_that_finds_another_topic_than_it_was_told_of_does_not_start(one_writer: Fleet) -> None:
    other = {**one_writer.env, "BORROWER_MEMORY_KAFKA_PARTITIONS": str(PARTITIONS + 1)}
    service = Service(one_writer.folder, env=other)
    for command in ("writer", "serve", "migrate"):
        told = service.command(command)
        assert told.returncode == 1
        assert "a count is never changed" in told.stderr
