"""Sweepers as processes: several at once, one killed in the middle of its work, and no chat is told twice or not at all."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.together import broker, postgres
from tests.together.conftest import Tenant
from tests.together.fleet import fleet
from tests.together.model import ModelServer, chosen, wait_for
from tests.together.service import ago, running, workers

pytestmark = pytest.mark.process

QUIET = '[defaults]\ncontact_hours = ["00:00", "24:00"]\nquiet_minutes = 0.02\n'
CHATS = 24
ALL_TOLD_SECONDS = 45


def test_sweepers_share_the_work_and_one_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    with ModelServer() as model:
        model.pause_seconds = 0.4  # every chat is in somebody's hand for a while
        model.otherwise = chosen("The borrower wrote to us.")
        env = {"BORROWER_MEMORY_LLM_BASE_URL": model.url, "BORROWER_MEMORY_LLM_MODEL": "scripted"}
        with (
            running(tmp_path, policy=QUIET, env=env) as service,
            workers(service, "sweeper", "one", "two") as (one, two),
        ):
            acme = Tenant(service)
            events = [
                {"event_id": f"e-{n}", "type": "conversation.message", "occurred_at": ago(minutes=30), "borrower_id": f"B-{n}",
                 "channel": "whatsapp", "conversation_id": f"c-{n}", "message_id": "m", "speaker": "borrower", "text": "hello"}
                for n in range(CHATS)
            ]  # fmt: skip
            acme.post("/v1/events/batch", {"events": events})
            wait_for(model, 6)
            assert one.send(signal.SIGKILL) == -signal.SIGKILL
            end = time.monotonic() + ALL_TOLD_SECONDS
            while (stats := acme.get("/v1/ops/stats"))["conversations"] < CHATS or stats["summaries_waiting"]:
                assert time.monotonic() < end, stats
                time.sleep(0.2)
            for n in range(CHATS):
                items = acme.get(f"/v1/borrowers/B-{n}/timeline")["items"]
                told = [i for i in items if i["kind"] == "conversation"]
                assert [(i["revisions"], i["entry"]["summary"]) for i in told] == [(1, "The borrower wrote to us.")], n
            assert (stats["conversations"], stats["conflicts"], stats["set_aside"]) == (CHATS, 0, 0)
            ready = httpx.get(f"{two.url}/readyz", timeout=10)
            assert (ready.status_code, ready.json()["checks"]["sweeper"]) == (200, "ok")
            assert "borrower_memory_chats_summarised_total" in httpx.get(f"{two.url}/metrics", timeout=10).text
            assert two.send(signal.SIGTERM) == 0
            made = [by_whom(path) for path in (one.path, two.path, service.folder / "log")]
            assert sum(map(len, made)) <= CHATS
            assert len(set().union(*made)) == sum(map(len, made)), "no chat was finished twice"


def test_beside_kafka_a_sweeper_posts_what_writers_elsewhere_merge(tmp_path: Path) -> None:
    """What is due by itself, and what a read of another channel asks for, though API and sweeper are two processes."""
    (tmp_path / "kafka").mkdir()
    with (
        broker.running(tmp_path / "kafka") as brokers,
        postgres.running() as server,
        server.database() as dsn,
        fleet(tmp_path, brokers.bootstrap, dsn) as service,
        workers(service, "sweeper", "one", "two"),
    ):
        acme = Tenant(service, key=service.key())
        told = {"channel": "whatsapp", "speaker": "borrower", "text": "ok 25 ko 5000 de dungi"}
        for borrower, minutes in (("B-1", 40), ("B-2", 2)):
            message = {"message_id": f"m-{borrower}", "conversation_id": f"c-{borrower}", "borrower_id": borrower}
            acme.event("conversation.message", status=None, occurred_at=ago(minutes=minutes), **told, **message)
        end = time.monotonic() + ALL_TOLD_SECONDS
        while not all(acme.resume("voice", borrower_id=borrower)["commitment"] for borrower in ("B-1", "B-2")):
            assert time.monotonic() < end, [path.read_text()[-1500:] for path in tmp_path.glob("*.log")]
            time.sleep(0.3)
        rows = service.rows("SELECT conversation_id, revision FROM journal WHERE type = 'summary' ORDER BY 1")
        assert [tuple(row) for row in rows] == [("c-B-1", 1), ("c-B-2", 1)]


def by_whom(path: Path) -> set[int]:
    """The chats that a process says it has summarised."""
    lines = (json.loads(line) for line in path.read_text(errors="replace").splitlines() if line.startswith("{"))
    return {line["chat"] for line in lines if line.get("event") == "chat.summarised"}
