"""A service that is started while no broker answers, and what is done to it by hand beside running writers."""

from __future__ import annotations

import asyncio
import json
import signal
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import httpx
import pytest

from service.intake.log import Pending
from tests.limits import PATIENCE_SECONDS
from tests.service import embedded
from tests.service.embedded import TENANT, pending, stamped
from tests.together import broker, postgres
from tests.together.fleet import PARTITIONS, Fleet, fleet
from tests.together.service import ago

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]


@pytest.fixture
def kafka_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "kafka"
    folder.mkdir()
    return folder


def until(is_so: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def promise(conversation: str, borrower: str = "B-1") -> dict[str, object]:
    terms = {"amount": "5000", "currency": "INR", "status": "proposed"}
    body = {"channel": "whatsapp", "conversation_id": conversation, "ended_at": ago(minutes=1), "outcome": "connected"}
    return body | {"borrower_id": borrower, "commitment": terms}


def test_api_and_writer_start_without_kafka_and_go_on_when_it_comes(tmp_path: Path, kafka_folder: Path) -> None:
    with (
        postgres.running() as server,
        server.database() as dsn,
        broker.running(kafka_folder, ours=True) as brokers,
    ):
        one = Fleet(tmp_path, brokers.bootstrap, dsn, f"t{uuid.uuid4().hex[:8]}")
        try:
            one.migrate()
            [node] = brokers.nodes
            brokers.stop(node)
            writer = one.write()
            one.start()
            with one.client() as client:
                answer = client.post("/v1/summaries", json=promise("c-1"))
                assert (answer.status_code, answer.json()["status"]) == (202, "accepted"), "it is durable in the spool"
                assert client.get("/readyz").json()["status"] == "ready"
                until(lambda: httpx.get(f"{writer.url}/readyz").status_code == 503, "the writer says that it waits")
                told = httpx.get(f"{writer.url}/readyz").json()
                assert told["checks"]["database"] == "ok"
                assert told["checks"]["writer"].startswith("waits for the log: Kafka cannot be reached at ")
                brokers.start(node)
                until(lambda: len(writer.partitions()) == PARTITIONS, "the writer joins by itself")
                until(lambda: httpx.get(f"{writer.url}/readyz").status_code == 200, "and is ready")
                one.merged_to_the_end(PATIENCE_SECONDS)
                assert client.get("/v1/borrowers/B-1").json()["record_version"] == 1
            assert writer.stop() == 0
            brokers.stop(node)
            assert one.write().stop(signal.SIGTERM) == 0, "one that waits can be stopped"
        finally:
            one.close()


def test_what_was_set_aside_is_tried_again_by_hand_beside_running_writers(tmp_path: Path, kafka_folder: Path) -> None:
    with (
        postgres.running() as server,
        server.database() as dsn,
        broker.running(kafka_folder) as brokers,
        fleet(tmp_path, brokers.bootstrap, dsn, f"t{uuid.uuid4().hex[:8]}") as one,
    ):
        now = datetime.now(UTC)
        entry = pending(stamped(embedded.promise("c-1", now - timedelta(hours=1), borrower_id="B-1"), "B-1", now))
        asyncio.run(_set_aside(dsn, entry, now))
        told = one.command("set-aside", "retry", "--tenant", TENANT, "1")
        assert told.returncode == 0, told.stderr
        item = json.loads(told.stdout)
        assert (item["status"], item["attempts"]) == ("merged", 2)
        assert [row["version"] for row in one.rows("SELECT version FROM borrower WHERE borrower_id = 'B-1'")] == [1]
        assert one.command("set-aside", "retry", "--tenant", TENANT, "99").returncode == 1


async def _set_aside(dsn: str, entry: Pending, now: datetime) -> None:
    """As a writer does that cannot merge it."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(
        "INSERT INTO set_aside (id, tenant, reason, detail, kind, borrower_id, event_id, body_hash, received_at, attempts,"
        " status, value) VALUES (1, $1, 'cannot_merge', 'x', 'summary', $2, $3, 'h', $4, 1, 'open', $5)",
        entry.tenant, entry.borrower_id, entry.event_id, now, entry.value,
    )  # fmt: skip
    await connection.close()
