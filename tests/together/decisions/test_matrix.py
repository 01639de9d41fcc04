"""The matrix of a stale decision, each kind on both backends as processes: whatever happens on the way, nobody is told it as
current, and what is not its business stays as it was (DESIGN 12).

One world for all; each test has a borrower and a source of its own. What needs a process that is killed, as one that is delayed
by its writer, is in `test_lifecycle.py`.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.limits import PATIENCE_SECONDS
from tests.together.conftest import Json, phone
from tests.together.decisions.world import World
from tests.together.fleet import Fleet
from tests.together.service import ago

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

CASES = itertools.count(1)
PROSE = "The agent told her that the waiver is hers."


class Case:
    """One borrower of a world, and the source that their decisions rest on."""

    def __init__(self, world: World) -> None:
        self.world, self.number = world, next(CASES)
        self.borrower, self.source = f"M-{self.number}", f"source-{self.number}"
        self.acme = world.acme

    def decide(self, name: str = "D", version: str = "v12", minutes: float = 60, **own: Any) -> Json:
        return self.world.decide(
            f"{name}-{self.number}",
            version,
            minutes=minutes,
            **{"source": self.source, "borrower": self.borrower} | own,
        )

    def see(self, version: str = "v13", minutes: float = 0, **own: Any) -> int:
        told = {"source": self.source, "version": version, "observed_at": ago(minutes=minutes)} | own
        return int(self.acme.post("/v1/sources", told)["stale_decisions"])

    def check(self, status: int, name: str = "D", **body: Any) -> Json:
        return self.world.check(f"{name}-{self.number}", status, **body)

    def current(self) -> set[str]:
        return self.world.current(self.borrower)

    def past(self, name: str = "D") -> Json:
        return self.world.past(f"{name}-{self.number}", self.borrower)

    def corrections(self) -> list[Json]:
        return [one for one in self.world.corrections() if one["source"] == self.source]

    def passed_on(self, name: str = "D", **own: Any) -> Json:
        """A chat in which the agent told of the decision, with where it has it from."""
        claim = {"decision_id": f"{name}-{self.number}", "source": self.source, "version": "v12"}
        body = {"borrower_id": self.borrower, "summary": PROSE, "extra": {"claims": [claim]}}
        answer: Json = self.acme.summary(status=None, **body | own)
        path = f"/v1/borrowers/{answer['borrower_id']}"
        until(lambda: self.acme.http.get(path, params={"after": answer["event_id"]}).status_code == 200, lambda: answer)
        return answer

    def tool(self, name: str, **arguments: Any) -> Json:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {"Accept": "application/json, text/event-stream"}
        answer = self.acme.http.post("/mcp", json=call, headers=headers).raise_for_status()
        return answer.json()["result"]["structuredContent"]  # type: ignore[no-any-return]

    def told(self) -> str:
        """All that any agent is told of this borrower now, through both channels, in other words, and by tools. What was posted
        is evidence, and stands as it was said where somebody asks for that."""
        path, asked = f"/v1/borrowers/{self.borrower}", {"query": "chhoot kitni milegi, waiver, discount"}
        turn = {"channel": "voice", "turn_id": "t-1", "question": "Is there an offer for her?"}
        told = [
            *(self.acme.get(f"{path}/briefing", channel=channel) for channel in ("voice", "whatsapp")),
            *(self.acme.resume(channel, borrower_id=self.borrower) for channel in ("voice", "whatsapp")),
            self.acme.get(path)["narrative"],
            self.acme.get(f"{path}/decisions"),
            self.acme.post(f"{path}/recall", asked)["items"],
            self.acme.post(f"{path}/context", turn),
            self.tool("get_briefing", borrower_id=self.borrower),
            self.tool("get_decisions", borrower_id=self.borrower),
            self.tool("recall", borrower_id=self.borrower, query="waiver")["items"],
            self.tool("resume", channel="voice", borrower_id=self.borrower),
        ]
        return json.dumps(told)


def until(done: Callable[[], bool], why: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < end, why()
        time.sleep(0.1)


def corrected(case: Case) -> Json:
    """The one correction of a case, once every layer has answered."""
    case.world.source.version = case.world.source.version or "v13"
    until(lambda: all(None not in one["layers"].values() for one in case.corrections()), case.corrections)
    (one,) = case.corrections()
    return one


@pytest.fixture
def case(shared: World) -> Case:
    shared.source.version = "v13"
    return Case(shared)


def test_a_mismatch_is_detected_by_whoever_is_about_to_act(case: Case) -> None:
    """Whether the version is named, or the source itself is asked; before anybody has reported anything."""
    case.decide()
    case.decide("E", kind="plan", source=case.source + "b")
    refused = case.check(409, source_version="v13", action="grant", execution_id="run-1")
    assert (refused["code"], refused["decision_version"], refused["observed_version"]) == (
        "stale_context",
        "v12",
        "v13",
    )
    assert refused["decision_status"] == "stale"
    assert case.check(409, "E", action="grant")["observed_version"] == "v13"
    assert case.current() == set()
    past = case.past()
    assert [(use["action"], use["allowed"]) for use in past["uses"]] == [("grant", False)]
    layers = corrected_layers(case)
    assert set(layers) == {"record", "index", "proposals", "open_conversations", "announcement"}


def corrected_layers(case: Case) -> Json:
    layers: Json = corrected(case)["layers"]
    created = case.corrections()[0]["created_at"]
    assert all(at >= created for at in layers.values()), (created, layers)
    return layers


def test_processed_twice_it_is_corrected_once(case: Case) -> None:
    case.decide()
    version = case.acme.get(f"/v1/borrowers/{case.borrower}")["record_version"]
    with ThreadPoolExecutor(8) as several:
        told = list(several.map(lambda _: case.see(minutes=10), range(8)))
        answers = list(several.map(lambda _: case.check(409, source_version="v13"), range(4)))
    assert sorted(told) == [0] * 7 + [1]
    assert len({answer["correction"]["correction_id"] for answer in answers}) == 1
    corrected(case)
    assert case.acme.get(f"/v1/borrowers/{case.borrower}")["record_version"] == version + 1


def test_an_older_version_after_a_newer_one_changes_nothing(case: Case) -> None:
    case.world.source.version = "v14"
    case.decide()
    case.see("v14", 10)
    case.decide("E", "v14", 5)
    assert case.see("v13", 20) == 0
    assert case.check(409, "E", source_version="v13", observed_at=ago(minutes=20))["decision_status"] == "active"
    assert case.current() == {f"E-{case.number}"}
    assert (case.past()["status"], case.past()["superseded_by"]) == ("superseded", f"E-{case.number}")


def test_an_index_that_cannot_be_changed_holds_up_the_correction_and_tells_nothing(case: Case) -> None:
    case.decide()
    case.passed_on()
    with case.world.refusing("recall_indexed"):
        assert case.see() == 1
        until(lambda: case.corrections()[0]["layers"]["record"] is not None, case.corrections)
        time.sleep(1.5)
        (pending,) = case.corrections()
        assert (pending["status"], pending["layers"]["index"]) == ("pending", None)
        assert pending["last_reason"].startswith("index: ")
        assert case.acme.get("/v1/ops/stats")["corrections_open"] >= 1
        assert "waiver" not in case.told()
        found = case.acme.post("/v1/search", {"query": "waiver"})["items"]
        assert case.borrower not in {item["borrower_id"] for item in found}
    assert corrected_layers(case)["index"] is not None


def test_an_old_summary_is_not_found_by_other_words_in_a_new_session(case: Case) -> None:
    """The regression: the conclusion of a chat, asked for on the phone, in other words, after the source moved on."""
    case.decide(conclusion="10 % waiver, eligible")
    case.passed_on()
    before = case.told()
    assert "waiver is hers" in before
    assert "10 % waiver, eligible" in before
    case.see()
    assert "waiver" not in case.told()
    case.passed_on(summary="He was told of the waiver that he was told of before.")
    assert "waiver" not in case.told(), "a summary of a summary carries the same claim"
    copies = case.past()["copies"]
    assert len(copies) == 2
    assert all(copy["corrected_at"] for copy in copies)
    history = case.acme.post(f"/v1/borrowers/{case.borrower}/recall", {"query": "waiver", "purpose": "history"})[
        "items"
    ]
    assert [(item["kind"], item["status"]) for item in history] == [("decision", "stale")]


def test_what_replaces_it_rests_on_the_new_version(case: Case) -> None:
    case.decide()
    case.see("v13")
    assert case.decide("E", "v12", 5)["status"] == "stale", "on the old one nothing is replaced"
    assert case.past()["superseded_by"] is None
    assert case.decide("F", "v13", 4, kind="plan", replaces=f"D-{case.number}")["status"] == "active"
    assert case.past()["superseded_by"] == f"F-{case.number}"
    assert case.past("E")["superseded_by"] is None, "it is of another kind, and not named"
    assert case.current() == {f"F-{case.number}"}


def test_while_the_source_is_away_it_stays_pending_and_nothing_is_made_up(case: Case) -> None:
    case.decide()
    case.world.source.version = None
    assert case.check(503)["code"] == "source_unavailable"
    assert case.current() == {f"D-{case.number}"}, "nobody has seen another version"
    assert case.see("v13") == 1
    until(lambda: None not in case.corrections()[0]["layers"].values(), case.corrections)
    (pending,) = case.corrections()
    assert (pending["status"], pending["source_read_at"]) == ("pending", None)
    assert [
        one["status"] for one in case.acme.get(f"/v1/borrowers/{case.borrower}/decisions", purpose="history")["items"]
    ] == ["stale"]
    case.world.source.version = "v13"
    until(lambda: case.corrections()[0]["status"] == "done", case.corrections)
    assert case.current() == set()


def test_a_copy_that_another_agent_holds_is_refused_and_announced(case: Case) -> None:
    """It was told on a call that still goes on, and by a chat under a number that nobody knew."""
    case.decide()
    number = phone(f"+9190001{case.number:05d}")
    case.passed_on(borrower_id=None, identifier=number)
    case.acme.event(
        "conversation.started", borrower_id=case.borrower, channel="voice", conversation_id=f"call-{case.number}"
    )
    case.acme.event("identifier.linked", borrower_id=case.borrower, identifier=number)
    assert "waiver is hers" in case.told()
    case.see()
    refused = case.check(409, source_version="v12")
    assert (refused["decision_version"], refused["observed_version"]) == ("v12", "v13")
    assert "waiver" not in case.told()
    (copy,) = case.past()["copies"]
    assert copy["corrected_at"] is not None
    if isinstance(case.world.service, Fleet):
        corrected(case)
        news = (json.loads(entry.value) for entry in case.world.service.entries(case.world.service.changes))
        (one,) = (n for n in news if n["type"] == "decision.stale" and n["data"]["decision_id"] == f"D-{case.number}")
        assert one["data"]["open_conversations"] == [{"channel": "voice", "conversation_id": f"call-{case.number}"}]


def test_a_correction_that_cannot_be_committed_leaves_all_as_it_was(case: Case) -> None:
    """Version, status, correction and entry are in together or not at all; who reported is told that it is not taken."""
    case.decide()
    told = {"source": case.source, "version": "v13", "observed_at": ago(minutes=10)}
    with case.world.refusing("correction"):
        answer = case.acme.http.post("/v1/sources", json=told)
        assert answer.status_code >= 500
        assert case.current() == {f"D-{case.number}"}
        assert (
            case.acme.http.post(f"/v1/decisions/D-{case.number}/check", json={"source_version": "v13"}).status_code
            >= 500
        )
        assert (case.past()["status"], case.corrections()) == ("active", [])
    assert case.acme.post("/v1/sources", told)["stale_decisions"] == 1
    assert case.current() == set()
    corrected(case)


def test_a_change_that_has_nothing_to_do_with_them_leaves_others_alone(case: Case) -> None:
    case.decide(entity="LN-1")
    case.decide("E", kind="plan", entity="LN-2")
    case.decide("F", kind="rate", source=case.source + "b")
    other = Case(case.world)
    other.decide(source=case.source, entity="LN-2")
    version = case.acme.get(f"/v1/borrowers/{other.borrower}")["record_version"]
    assert case.see(entity="LN-1") == 1
    assert case.current() == {f"E-{case.number}", f"F-{case.number}"}
    assert other.current() == {f"D-{other.number}"}
    assert case.acme.get(f"/v1/borrowers/{other.borrower}")["record_version"] == version
    assert case.check(200, "F", source_version="v12")["status"] == "active"


def test_an_approval_that_waited_is_refused_when_it_comes(case: Case) -> None:
    """Checked when it was asked for, it waits for a person; the source moves on; the person says yes."""
    case.decide()
    asked = case.check(200, source_version="v12", action="ask for approval", execution_id="run-7")
    assert asked["status"] == "active"
    case.see()
    approved = case.check(409, source_version="v12", action="grant", execution_id="run-7")
    assert (approved["observed_version"], approved["decision_status"]) == ("v13", "stale")
    again = case.check(409, source_version="v12", action="grant", execution_id="run-7")
    assert [again[name] for name in ("code", "observed_version")] == ["stale_context", "v13"]
    uses = case.past()["uses"]
    assert [(use["execution_id"], use["action"], use["allowed"]) for use in reversed(uses)] == [
        ("run-7", "ask for approval", True),
        ("run-7", "grant", False),
        ("run-7", "grant", False),
    ]
    case.decide("E", "v13", 2)
    assert (
        case.check(409, source_version="v12", action="grant", execution_id="run-7")["decision_status"] == "superseded"
    )
    assert case.check(200, "E", source_version="v13", action="grant")["status"] == "active"
