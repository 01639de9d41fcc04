"""Forgetting over a real Kafka and a real PostgreSQL, as processes: the writer takes the words out, and the receipt says until
when the topic has its copy (DESIGN 11)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.together import broker, postgres
from tests.together.fleet import Fleet, fleet
from tests.together.service import ago

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]


@pytest.fixture
def kafka(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with (
        broker.running(tmp_path_factory.mktemp("kafka"), ours=True) as brokers,
        postgres.running() as server,
        server.database() as url,
        fleet(tmp_path, brokers.bootstrap, url, f"t{uuid.uuid4().hex[:8]}", writers=1) as running,
    ):
        yield running


def test_the_receipt_says_until_when_the_topic_has_its_copy(kafka: Fleet) -> None:
    with kafka.client() as http:
        said = {
            "event_id": "s-1", "channel": "voice", "conversation_id": "c-1", "borrower_id": "B-1", "ended_at": ago(minutes=5),
            "summary": "Her wife Zebulonia answers.", "turns": [{"speaker": "borrower", "text": "Zebulonia hai"}],
        }  # fmt: skip
        assert http.post("/v1/summaries", json=said).status_code in (200, 202)
        path = "/v1/borrowers/B-1"
        assert http.post(f"{path}/recall?after=s-1", json={"query": "Zebulonia"}).json()["items"]
        receipt = http.post(f"{path}/forget", json={"reason": "asked", "term": "zebulonia"}).json()
        assert (receipt["status"], receipt["removed"]["texts_cleaned"]) == ("forgotten", 1), receipt
        at, clear = (datetime.fromisoformat(receipt[name]) for name in ("at", "log_clear_after"))
        assert clear - at == timedelta(days=7)
        for read in ("", "/briefing", "/timeline", "/export"):
            assert "Zebulonia" not in json.dumps(http.get(f"{path}{read}").json()), read
        assert http.post(f"{path}/recall", json={"query": "Zebulonia"}).json()["items"] == []
