"""Decisions that change their mind, as processes: embedded on SQLite, and over Kafka and PostgreSQL with a writer of its own.

Writers and API are killed in the middle; nobody is ever told a decision as current whose source moved on, and in the end every
layer has answered. (API 9, AC-61, AC-62, AC-79)
"""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.together.decisions.world import SETTLED_SECONDS, SOURCE_KEY, World
from tests.together.fleet import Fleet

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]


def test_a_decision_from_taken_to_replaced(world: World) -> None:
    world.decide("D-1")
    world.acme.summary(
        borrower_id="B-1",
        summary="The agent told her that the waiver is hers.",
        extra={"claims": [{"decision_id": "D-1", "source": "offers", "version": "v12"}]},
    )
    assert "waiver is hers" in world.acme.get("/v1/borrowers/B-1/briefing")["text"]
    assert world.check("D-1", 200)["status"] == "active"
    assert world.source.keys == {f"Bearer {SOURCE_KEY}"}
    assert world.source.asked[0] == {"tenant": "acme", "source": "offers", "entity": None}
    before = world.acme.get("/v1/borrowers/B-1")["record_version"]

    # the source moved on; whoever acts is stopped, eight at once are told the same
    world.source.version = "v13"
    with ThreadPoolExecutor(8) as several:
        told = list(several.map(lambda _: world.check("D-1", 409, action="grant"), range(8)))
    assert {(t["decision_version"], t["observed_version"], t["decision_status"]) for t in told} == {
        ("v12", "v13", "stale")
    }
    (correction,) = world.settled()
    assert None not in correction["layers"].values()
    assert correction["source_read_at"] is not None
    assert world.acme.get("/v1/borrowers/B-1")["record_version"] == before + 1

    # a new session through the other channel, in other words
    assert world.current() == set()
    briefing = world.acme.get("/v1/borrowers/B-1/briefing", channel="voice")
    assert "waiver" not in briefing["text"]
    assert [w["rule"] for w in briefing["withheld"]] == ["claim_not_current"]
    assert "waiver" not in json.dumps(world.acme.resume("voice", borrower_id="B-1"))
    past = world.past("D-1")
    assert (past["reason"], past["uses_count"]) == ("source_moved", 9)

    # on v14 there is another; the news of v13, dated before, touches neither
    world.source.version = "v14"
    world.see("v14", 0)
    world.decide("D-2", "v14", minutes=0)
    assert world.see("v13", 30) == 0
    assert world.current() == {"D-2"}
    assert world.past("D-1")["superseded_by"] == "D-2"
    if isinstance(world.service, Fleet):
        world.service.merged_to_the_end(SETTLED_SECONDS)
        news = [json.loads(entry.value) for entry in world.service.entries(world.service.changes)]
        of_decisions = [(n["type"], n["data"]["decision_id"]) for n in news if n["type"].startswith("decision.")]
        assert of_decisions == [("decision.stale", "D-1"), ("decision.superseded", "D-1")]
        assert "waiver" not in json.dumps(news)


def test_a_writer_that_is_killed_delays_the_correction_and_nothing_else(world: World) -> None:
    borrowers = [f"B-{n}" for n in range(6)]
    for borrower in borrowers:
        world.decide(f"D-{borrower}", borrower=borrower)
    world.source.version = None  # and nobody can say what it is at
    if isinstance(world.service, Fleet):
        world.kill_writer()
        assert world.see("v13", 1) == len(borrowers)
        assert all(c["layers"]["record"] is None for c in world.corrections("pending"))
    else:
        assert world.see("v13", 1) == len(borrowers)
        world.kill_writer()  # one process is both, and it is gone right behind its answer
        world.start_writer()
    assert [world.current(borrower) for borrower in borrowers] == [set()] * len(borrowers)
    assert world.check("D-B-0", 409)["correction"]["status"] == "pending"
    if isinstance(world.service, Fleet):
        world.start_writer()
        world.service.kill()
        world.service.start()

    # every layer answers, but the source does not: stale and pending, and no decision is made up
    end = time.monotonic() + SETTLED_SECONDS
    while any(None in c["layers"].values() for c in world.corrections()):
        assert time.monotonic() < end, world.corrections()
        time.sleep(0.2)
    time.sleep(1.2)
    assert {c["status"] for c in world.corrections()} == {"pending"}
    assert {world.past(f"D-{b}", b)["status"] for b in borrowers} == {"stale"}
    assert all(len(world.acme.get(f"/v1/borrowers/{b}/decisions", purpose="history")["items"]) == 1 for b in borrowers)

    world.source.version = "v13"
    assert len(world.settled()) == len(borrowers)
    metrics = world.acme.http.get("/metrics").text
    assert (
        'shown_as_current_total{read="decisions"} ' not in metrics
        or 'shown_as_current_total{read="decisions"} 0' in metrics
    )


def test_an_api_that_is_killed_while_it_reports_leaves_all_of_it_or_nothing(world: World) -> None:
    """What was answered is so; what was not is so or not, and is never called current beside a newer version."""
    for number in range(40):
        world.decide(f"D-{number}", borrower=f"B-{number % 4}", kind=f"k{number}")
    answers: list[int] = []

    def report() -> None:
        try:
            answers.append(world.see("v13", 1))
        except Exception:  # noqa: BLE001 (it was killed)
            return

    reporting = threading.Thread(target=report)
    reporting.start()
    time.sleep(0.03)
    world.service.kill()
    reporting.join()
    world.service.start()
    again = world.see("v13", 1)
    assert again == 0 or not answers
    assert [world.current(f"B-{n}") for n in range(4)] == [set()] * 4
    world.source.version = "v13"
    assert len(world.settled()) == 40
