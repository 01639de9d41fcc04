"""Decisions through the API: taken once, checked before use, reported on, listed by purpose (API 9)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from service.keys import SCOPES, create
from tests.service.api import Answer, api
from tests.service.decisions.agents import Agents
from tests.service.embedded import TENANT


async def test_a_decision_is_answered_whole_and_the_same_again(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        body = agents.decision("D-1", entity="LN-1", agent="voice-agent", execution_id="run-1")
        first = await service.post("/v1/decisions", body)
        assert first.status == 201, first
        assert first.document == body | {
            "decided_at": "2026-11-21T11:00:00Z", "replaces": None, "status": "active", "reason": None, "stale_at": None,
            "observed_version": None, "superseded_by": None, "correction": None,
        }  # fmt: skip
        again = await service.post("/v1/decisions", body)
        assert (again.status, again.document) == (200, first.document)
        other = await service.post("/v1/decisions", body | {"conclusion": "no waiver"})
        assert (other.status, other["code"], other["decision_id"]) == (409, "id_conflict", "D-1")
        assert (await agents.listed())[0] == first.document
        assert await agents.listed() == [first.document]


async def test_of_many_at_once_one_is_new(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        answers = await asyncio.gather(*(agents.decide("D-1") for _ in range(10)))
        assert sorted(answer.status for answer in answers) == [200] * 9 + [201]


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"decision_id": None}, "decision_id", "missing"),
        ({"borrower_id": "~phone:1"}, "borrower_id", "bad_id"),
        ({"borrower_id": 7}, "borrower_id", "wrong_type"),
        ({"kind": " "}, "kind", "missing"),
        ({"conclusion": "x" * 2_001}, "conclusion", "too_long"),
        ({"source_version": 12}, "source_version", "wrong_type"),
        ({"decided_at": "2026-11-20T10:00:00"}, "decided_at", "naive_timestamp"),
        ({"decided_at": "2027-11-20T10:00:00Z"}, "decided_at", "time_in_future"),
        ({"status": "active"}, "status", "unknown_field"),
        ({"replaces": 7}, "replaces", "wrong_type"),
        ({"replaces": ["D-0", 7]}, "replaces.1", "wrong_type"),
        ({"replaces": ["D-0"] * 21}, "replaces", "too_many"),
    ],
)
async def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], field: str, code: str) -> None:
    async with api(tmp_path) as service:
        answer = await service.post("/v1/decisions", Agents(service).decision("D-1") | change)
        assert (answer.status, answer["code"]) == (422, "invalid_body"), answer
        assert answer["errors"] == [{"field": field, "code": code}]


async def test_a_source_is_reported_with_all_that_it_takes(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        answer = await service.post("/v1/sources", {"source": "offers", "version": 13})
        assert answer.status == 422
        assert {tuple(e.values()) for e in answer["errors"]} == {("version", "wrong_type"), ("observed_at", "missing")}
        assert (await Agents(service).see("v13"))["stale_decisions"] == 0


async def test_unknown_ones_are_404(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        answer = await Agents(service).check("D-1", "v12")
        assert (answer.status, answer["code"]) == (404, "unknown_decision")
        answer = await service.get("/v1/borrowers/B-9/decisions")
        assert (answer.status, answer["code"]) == (404, "unknown_borrower")
        answer = await service.get("/v1/borrowers/B-9/decisions?purpose=all")
        assert (answer.status, answer["errors"]) == (422, [{"field": "purpose", "code": "not_in_enum"}])
        answer = await service.get("/v1/borrowers/B-9/decisions?cursor=x")
        assert (answer.status, answer["errors"]) == (422, [{"field": "cursor", "code": "wrong_type"}])


def refused(answer: Answer) -> tuple[Any, ...]:
    assert (answer.status, answer["code"]) == (409, "stale_context"), answer
    return answer["decision_version"], answer["observed_version"], answer["decision_status"]


async def test_the_same_version_may_be_acted_upon_and_another_not(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        taken = await agents.decide("D-1")
        assert (await agents.check("D-1", "v12")).document == taken.document
        first = await agents.check("D-1", "v13", execution_id="run-2", action="grant")
        assert refused(first) == ("v12", "v13", "stale")
        assert first["correction"]["status"] == "done"
        assert set(first["correction"]["layers"]) == {
            "record", "index", "proposals", "open_conversations", "announcement",
        }  # fmt: skip
        assert None not in first["correction"]["layers"].values()
        again = await agents.check("D-1", "v13", execution_id="run-2", action="grant")
        assert (again.status, again.document) == (409, first.document)
        assert refused(await agents.check("D-1", "v12")) == ("v12", "v13", "stale")
        assert refused(await agents.check("D-1")) == ("v12", "v13", "stale")
        assert await agents.current() == set()


async def test_without_a_version_and_without_a_reader_nobody_may_act(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1")
        answer = await agents.check("D-1")
        assert (answer.status, answer["code"]) == (503, "source_unavailable")
        assert await agents.current() == {"D-1"}


async def test_what_an_agent_only_holds_is_no_report(tmp_path: Path) -> None:
    """It checks with the version it has, long after the source moved on: others' newer decisions stay as they are."""
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1", "v12", 60)
        await agents.see("v13", 30)
        await agents.decide("D-2", "v13", 20)
        assert refused(await agents.check("D-1", "v12")) == ("v12", "v13", "superseded")
        assert await agents.current() == {"D-2"}
        assert (await agents.check("D-2", "v13")).status == 200


async def test_an_observation_of_an_older_version_refuses_who_brings_it_and_changes_nothing(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.see("v14", 10)
        await agents.decide("D-2", "v14", 5)
        late = await agents.check("D-2", "v13", observed_at=service.ago(minutes=20))
        assert refused(late) == ("v14", "v13", "active")
        assert late["correction"] is None
        assert await agents.current() == {"D-2"}


async def test_scopes(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await agents.decide("D-1")
        for method, path, scope in (
            ("POST", "/v1/decisions", "events:agent"),
            ("POST", "/v1/decisions/D-1/check", "events:agent"),
            ("POST", "/v1/sources", "events:agent"),
            ("GET", "/v1/borrowers/B-1/decisions", "read"),
            ("GET", "/v1/ops/corrections", "ops"),
            ("GET", "/v1/ops/claims", "ops"),
        ):
            scopes = [other for other in SCOPES if other != scope]
            key, _ = await service.behind.database.write(lambda c, s=scopes: create(c, TENANT, s, service.now))  # type: ignore[misc]
            answer = await service.client.request(method, path, json={}, headers={"Authorization": f"Bearer {key}"})
            assert (answer.status_code, answer.json()["scope"]) == (403, scope)


async def test_pages_of_a_long_history(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        await asyncio.gather(*(agents.decide(f"D-{n}", "v12", 100 - n, kind=f"k-{n}") for n in range(7)))
        for purpose in ("current", "history"):
            path, found = f"/v1/borrowers/B-1/decisions?purpose={purpose}&limit=3", list[str]()
            cursor: str | None = ""
            while cursor is not None:
                page = await service.get(path + (f"&cursor={cursor}" if cursor else ""))
                found += [item["decision_id"] for item in page["items"]]
                cursor = page["next_cursor"]
            assert found == [f"D-{n}" for n in reversed(range(7))]


async def test_an_export_has_all_that_was_decided_and_what_became_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.decisions.decisions.READ_AT_ONCE", 2)
    async with api(tmp_path) as service:
        agents = Agents(service)
        assert (await service.told("B-1", 3, summary="She asked about her options.")).status == 200
        for number in range(5):
            await agents.decide(f"D-{number}", "v12", 100 - number, kind=f"k-{number}")
        await Agents(service, "B-2").decide("D-of-another")
        await agents.see("v13")
        document = await service.get("/v1/borrowers/B-1/export")
        assert document["decisions"] == await agents.listed("history")
        assert [one["decision_id"] for one in document["decisions"]] == [f"D-{number}" for number in reversed(range(5))]
        assert {one["status"] for one in document["decisions"]} == {"stale"}
