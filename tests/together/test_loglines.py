"""No log line and no metric of any role repeats a word, a number or a name of a borrower, whatever is posted and goes wrong.

A borrower's whole story, right and wrong, is posted with words that stand nowhere else; then everything that every process has
said is searched for them. Ids that a tenant gives are ids, and may be there (STYLE, 25).
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.together import broker, postgres
from tests.together.fleet import PARTITIONS, Fleet
from tests.together.model import ModelServer
from tests.together.service import Service, Worker, ago, running, workers
from tests.vendors import SECRET, signed

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

QUIET = '[defaults]\ncontact_hours = ["00:00", "24:00"]\nquiet_minutes = 0.02\n'
SETTLED_SECONDS = 60
NUMBER = "9000000777"
NAMES = ("Qxmeenakshi", "Qxरमेश", "qxagentperson")
WORDS = ("zebraquilt", "पतंगबाज़")
AMOUNT, SAID = "48731", "48,731"
EMAIL = "qxperson@example.invalid"
OTHERS = ("qxwrongkey", "qxfield", "qxpath", "qxmodelsaid", "qxholder", "qxvendorsays", SECRET)
PLANTED = (NUMBER, NUMBER[2:], *NAMES, *WORDS, AMOUNT, SAID, EMAIL, *OTHERS)
TEXT = f"{NAMES[0]} {NAMES[1]} of +91 {NUMBER} said {WORDS[0]} {WORDS[1]}: she will pay {SAID} from {EMAIL}"
PHONE = {"kind": "phone", "value": f"+91{NUMBER}"}
ROLES = ("sweeper", "proposer")


# -- what is posted ------------------------------------------------------------------------------------------------------------


class Teller:
    """Posts to one service, and takes whatever it answers."""

    def __init__(self, service: Service) -> None:
        self.client = service.client()
        self.made = 0

    def post(self, path: str, body: Any, **how: Any) -> httpx.Response:
        return self.client.post(path, json=body, **how)

    def event(self, type_: str, **own: Any) -> httpx.Response:
        self.made += 1
        body = {"event_id": f"e-{self.made}", "type": type_, "occurred_at": ago(minutes=30), "borrower_id": "B-1"}
        return self.post("/v1/events", body | own)

    def summary(self, conversation: str, **own: Any) -> httpx.Response:
        body = {"channel": "voice", "conversation_id": conversation, "ended_at": ago(hours=1), "borrower_id": "B-1"}
        return self.post("/v1/summaries", body | {"outcome": "connected"} | own)


def told(one: Teller) -> None:
    """The story as it should go, with planted words in every text."""
    promise = {"amount": AMOUNT, "due_date_said": "kal", "status": "proposed", "quote": TEXT}
    said = {
        "summary": TEXT, "disposition": WORDS[0], "commitment": promise, "agent": NAMES[2], "language": "hi",
        "callback": {"at_said": "kal", "quote": TEXT}, "payment_claim": {"amount": AMOUNT, "quote": TEXT},
        "facts": [{"kind": "employment", "text": TEXT, "confidence": 0.9, "quote": TEXT}],
        "turns": [{"speaker": "borrower", "text": TEXT}, {"speaker": "agent", "text": f"outstanding {SAID}", "tools": ["x"]}],
        "extra": {WORDS[0]: TEXT},
    }  # fmt: skip
    granted = one.post("/v1/resume", {"channel": "voice", "identifier": PHONE, "proposal": {"state": TEXT}}).json()
    answers = [
        one.event("identifier.linked", identifier=PHONE),
        one.event("identifier.linked", identifier={"kind": "email", "value": EMAIL}),
        one.event("identity.verified", identifier=PHONE, method=WORDS[0]),
        one.event("fact.stated", kind="employment", text=TEXT),
        one.event("hold.placed", kind="other", reason=TEXT),
        one.event("hold.lifted", kind="other", reason=TEXT),
        one.event("promise.retracted", reason=TEXT),
        one.summary("c-1", **said, resume_id=granted["resume_id"], entered_state="dues"),
        one.summary("c-1", **said | {"summary": "another"}),
        one.summary("c-2", outcome="third_party", third_party=NAMES[0]),
        one.summary("c-3", borrower_id=None, identifier=PHONE, summary=TEXT),
    ]
    assert [a.json() for a in answers if a.status_code not in (200, 202, 409)] == []
    for number in range(3):
        message = {"channel": "whatsapp", "conversation_id": "w-1", "speaker": "borrower", "text": f"{TEXT} {number}"}
        assert one.event("conversation.message", message_id=f"wamid.{NUMBER}{number}", **message).is_success
    for channel in ("voice", "whatsapp"):
        asked = {"channel": channel, "identifier": PHONE, "proposal": {"state": WORDS[0]}, "wait_ms": 300}
        assert one.post("/v1/resume", asked).is_success
    for path in ("", "/briefing?channel=voice", "/facts", "/flags", "/timeline", "/decisions"):
        assert one.client.get(f"/v1/borrowers/B-1{path}").is_success, path
    assert one.post("/v1/borrowers/lookup", {"identifier": PHONE}).is_success
    assert one.post("/v1/borrowers/B-1/recall", {"query": TEXT}).is_success
    assert one.post("/v1/search", {"query": TEXT}).is_success
    given = {"source": WORDS[0], "text": TEXT}
    context = {"channel": "voice", "turn_id": "t-1", "instructions": [given], "question": TEXT, "readings": [],
               "conversation": [{"speaker": "borrower", "text": TEXT}]}  # fmt: skip
    assert one.post("/v1/borrowers/B-1/context", context).is_success
    permit = {"action": "reminder", "channel": "whatsapp", "holder": f"qxholder {NAMES[0]}"}
    assert one.post("/v1/borrowers/B-1/permits", permit).status_code in (201, 409)
    decision = {"decision_id": "d-1", "borrower_id": "B-1", "kind": "waiver", "conclusion": TEXT, "source": "offers",
                "source_version": "v1", "decided_at": ago(minutes=5), "agent": NAMES[2]}  # fmt: skip
    assert one.post("/v1/decisions", decision).status_code == 201
    assert one.post("/v1/decisions/d-1/check", {"source_version": "v2"}).status_code == 409


def spoilt(one: Teller) -> None:
    """What is refused or not understood, with planted words where it went wrong."""
    broken = f'{{"channel": "voice", "summary": "{TEXT}'.encode()
    json_type = {"content-type": "application/json"}
    assert one.client.post("/v1/summaries", content=broken, headers=json_type).status_code == 400
    assert (
        one.client.post("/v1/events", content=TEXT.encode(), headers={"content-type": "text/plain"}).status_code == 415
    )
    assert one.summary("c-9", **{"qxfield": TEXT}).status_code == 422
    assert one.summary("c-9", commitment={"amount": TEXT}).status_code in (200, 422)
    assert one.summary("c-9", summary=TEXT * 400).status_code == 413
    assert one.event(WORDS[0]).status_code == 422
    assert one.event("identifier.linked", identifier={"kind": "phone", "value": f"{NUMBER}{NUMBER}"}).status_code == 422
    assert one.post("/v1/resume", {"channel": WORDS[0], "identifier": PHONE}).status_code == 422
    assert one.client.get(f"/v1/borrowers/+91{NUMBER}").status_code == 404
    assert one.client.get(f"/v1/borrowers?stage={WORDS[0]}").status_code == 422
    assert one.client.get(f"/v1/ops/resumes?cursor={EMAIL}").status_code == 422
    assert one.client.get(f"/qxpath/{NUMBER}").status_code == 404
    assert one.client.delete(f"/v1/borrowers/{NAMES[0]}").status_code == 405
    assert one.client.get("/v1/ops/stats", headers={"authorization": f"Bearer qxwrongkey{NUMBER}"}).status_code == 401
    assert not one.client.post("/ops/sign-in", data={"key": f"qxwrongkey{NUMBER}"}).is_success
    assert one.post("/v1/borrowers/B-1/forget", {"term": WORDS[0], "reason": TEXT}).is_success
    assert one.post("/v1/mcp", {"jsonrpc": "2.0", "id": 1, "method": TEXT}).status_code < 500


def hooked(one: Teller, service: Service) -> None:
    """A vendor's report, one that cannot be read, and one that is not signed by him."""
    done = subprocess.run(
        [sys.executable, "-m", "service", "hooks", "create", "--tenant", "acme", "--channel", "voice", "--vendor", "vapi"],
        env=service.env, cwd=service.folder, capture_output=True, text=True, timeout=60, check=False, input=SECRET + "\n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    path = json.loads(done.stdout)["path"]
    report = {
        "type": "end-of-call-report", "endedReason": f"qxvendorsays {TEXT}", "summary": TEXT, "transcript": TEXT,
        "call": {"id": "call-1", "type": "outboundPhoneCall", "customer": {"number": f"+91{NUMBER}", "name": NAMES[0]}},
    }  # fmt: skip
    for content in (json.dumps({"message": report}).encode(), f"qxvendorsays {TEXT}".encode()):
        headers = {
            "authorization": "",
            **signed("voice", "vapi", content, datetime.now(UTC)),
            "content-type": "application/json",
        }
        assert one.client.post(path, content=content, headers=headers).status_code == 200
    answer = one.client.post(path, content=b"{}", headers={"authorization": f"Bearer qxwrongkey{NUMBER}"})
    assert answer.status_code == 401


# -- what is said --------------------------------------------------------------------------------------------------------------


def settled(one: Teller) -> None:
    """Until nothing waits for a writer or a sweeper."""
    end = time.monotonic() + SETTLED_SECONDS
    while True:
        stats = one.client.get("/v1/ops/stats").json()
        if not stats["unmerged"] and not stats["summaries_waiting"]:
            return
        assert time.monotonic() < end, stats
        time.sleep(0.2)


def found_in(text: str) -> set[str]:
    """The planted words that stand in it, as they are or escaped."""
    folded = text.casefold()
    return {word for word in PLANTED if word.casefold() in folded or json.dumps(word)[1:-1].casefold() in folded}


def lines_of(path: Path) -> list[dict[str, Any]]:
    """One JSON object to a line, but for the line that says where it listens."""
    lines = [line for line in path.read_text().splitlines() if line]
    said = [line for line in lines if not line.startswith("{")]
    assert all(line.startswith("listening on http://127.0.0.1:") for line in said), said
    return [json.loads(line) for line in lines if line.startswith("{")]


def searched(logs: dict[str, Path], metrics: dict[str, str]) -> None:
    for role, path in logs.items():
        assert found_in(path.read_text()) == set(), role
        lines = lines_of(path)
        assert all({"event", "level", "timestamp"} <= line.keys() for line in lines), role
    for role, text in metrics.items():
        assert "borrower_memory_" in text
        assert found_in(text) == set(), role


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """It answers what nobody can read, and now and then not at all."""
    with ModelServer() as server:
        said: list[str | int] = [f"qxmodelsaid {TEXT}", json.dumps({"state": TEXT, "reason": TEXT}), 500, "{"]
        server.decide = lambda text: said[len(server.requests) % len(said)]
        yield server


def env_of(model: ModelServer) -> dict[str, str]:
    return {
        "BORROWER_MEMORY_LLM_BASE_URL": model.url,
        "BORROWER_MEMORY_LLM_MODEL": "scripted",
        "BORROWER_MEMORY_LLM_API_KEY": "qxwrongkey",
        "BORROWER_MEMORY_LOG_LEVEL": "DEBUG",
    }


def played(service: Service, workers_: list[Worker], more: dict[str, str], model: ModelServer) -> dict[str, str]:
    """The metrics of all processes when all is told."""
    one = Teller(service)
    told(one)
    spoilt(one)
    hooked(one, service)
    settled(one)
    assert model.requests, "no model was asked"
    urls = {"serve": service.url, **{w.path.stem: w.url for w in workers_}, **more}
    return {role: httpx.get(f"{url}/metrics", timeout=10).text for role, url in urls.items()}


def test_nothing_planted_is_in_any_log_or_metric_of_the_embedded_service(tmp_path: Path, model: ModelServer) -> None:
    with running(tmp_path, policy=QUIET, env=env_of(model)) as service, ExitStack() as stack:
        beside = [w for role in ROLES for w in stack.enter_context(workers(service, role, role))]
        metrics = played(service, beside, {}, model)
        for worker in beside:
            worker.send(signal.SIGTERM)
        service.stop()
        logs = {"serve": service.folder / "log", **{w.path.stem: w.path for w in beside}}
        searched(logs, metrics)
        events = {line["event"] for line in lines_of(logs["serve"])}
        assert {"request", "merged", "hook", "partition_taken"} <= events
        requests = [line for line in lines_of(logs["serve"]) if line["event"] == "request"]
        assert {"method", "route", "status", "ms"} <= set.intersection(*(set(line) for line in requests))


def test_nothing_planted_is_in_any_log_or_metric_of_all_roles_over_kafka(tmp_path: Path, model: ModelServer) -> None:
    (tmp_path / "kafka").mkdir()
    with (
        broker.running(tmp_path / "kafka") as brokers,
        postgres.running() as server,
        server.database() as dsn,
        ExitStack() as stack,
    ):
        service = Fleet(tmp_path, brokers.bootstrap, dsn)
        stack.callback(service.close)
        (tmp_path / "policy.toml").write_text(QUIET)
        service.env |= env_of(model)
        service.migrate()
        writer = service.write()
        service.start()
        beside = [w for role in ROLES for w in stack.enter_context(workers(service, role, role))]
        metrics = played(service, beside, {"writer": writer.url}, model)
        assert "borrower_memory_log_readable 1.0" in metrics["serve"]
        assert f"borrower_memory_partitions {PARTITIONS}.0" in metrics["writer"]
        for partition in range(PARTITIONS):
            assert f'borrower_memory_lag_entries{{partition="{partition}"}} 0.0' in metrics["serve"]
        for worker in beside:
            worker.send(signal.SIGTERM)
        writer.stop()
        service.stop()
        logs = {"serve": service.folder / "log", "writer": writer.path, **{w.path.stem: w.path for w in beside}}
        searched(logs, metrics)
        assert "merged" in {line["event"] for line in lines_of(writer.path)}


def test_the_search_finds_what_is_planted() -> None:
    assert found_in(f'{{"event": "x", "why": "{TEXT}"}}') >= {NUMBER, *NAMES[:2], *WORDS, SAID, EMAIL}
    assert found_in(json.dumps({"why": TEXT})) >= {NAMES[1], WORDS[1]}
    assert found_in('{"event": "request", "ms": 4.8731}') == set()
