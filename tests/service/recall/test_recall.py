"""Recall over one borrower and search across them (API 7; AC-49, 57, 59, 60), on both databases."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from service import audit
from service.database import DatabaseUnavailable
from service.recall import across, finding, index
from service.recall.notes import Note
from service.tables import Borrower, table_of
from tests.service.api import Answer, Api, api
from tests.service.conftest import Where
from tests.service.decisions.agents import Agents
from tests.service.embedded import TENANT


@pytest.fixture
async def service(where: Where, tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path, where=where()) as opened:
        yield opened


async def recalled(service: Api, borrower: str, query: str, **more: Any) -> list[dict[str, Any]]:
    answer = await service.post(f"/v1/borrowers/{borrower}/recall", {"query": query, **more})
    assert answer.status == 200, answer
    return list(answer["items"])


async def stated(service: Api, borrower: str, text: str, kind: str = "household", hours: float = 1) -> Answer:
    return await service.event("fact.stated", borrower, hours=hours, kind=kind, text=text)


async def test_facts_and_conversations_are_found_with_source_and_date(service: Api) -> None:
    await stated(service, "B-1", "call only after 6 pm", "preferred_contact_time", hours=30)
    told = await service.told(
        "B-1", channel="whatsapp", hours=2, summary="She asked us to call her mother. Balance 12,400."
    )
    assert told.status == 200
    fact, conversation = sorted(
        await recalled(service, "B-1", "call"), key=lambda item: str(item["kind"]), reverse=True
    )
    assert {n: v for n, v in fact.items() if n not in ("id", "score")} == {
        "kind": "fact", "text": "call only after 6 pm", "at": "2026-11-20T06:00:00Z", "channel": None,
        "volatility": "stable", "status": None,
    }  # fmt: skip
    assert (conversation["id"], conversation["channel"], conversation["volatility"]) == ("c-2", "whatsapp", "event")
    assert conversation["text"] == "She asked us to call her mother."
    assert await recalled(service, "B-1", "12400 balance") == [], "what is not shown is not found either"


async def test_nobody_elses_notes_are_found(service: Api) -> None:
    """AC-60."""
    await stated(service, "B-2", "call only after 6 pm", "preferred_contact_time")
    await stated(service, "B-1", "prefers Hindi", "preferred_language")
    assert await recalled(service, "B-1", "when may we call") == []
    assert [i["text"] for i in await recalled(service, "B-1", "Hindi")] == ["prefers Hindi"]


async def test_a_hit_of_somebody_else_never_leaves() -> None:
    note = Note("B-2", "fact", "f_1", "call after 6", finding.datetime.now(), None, "stable")
    with pytest.raises(finding.AnothersNote):
        finding.checked([(note, 1.0)], frozenset({"B-1"}))


async def test_of_one_value_the_newest_is_current_and_all_are_history(service: Api) -> None:
    await stated(service, "B-1", "prefers Tamil language", "preferred_language", hours=48)
    await stated(service, "B-1", "prefers Hindi language", "preferred_language", hours=2)
    for text in ("two children", "mother lives with her, no children of hers"):
        await stated(service, "B-1", text)
    assert [i["text"] for i in await recalled(service, "B-1", "language")] == ["prefers Hindi language"]
    history = await recalled(service, "B-1", "language", purpose="history")
    assert {i["text"] for i in history} == {"prefers Tamil language", "prefers Hindi language"}
    assert len(await recalled(service, "B-1", "children")) == 2, "several of a kind that a person has several of"


async def test_of_one_value_what_was_stated_is_current_also_when_something_else_is_inferred_later(service: Api) -> None:
    await stated(service, "B-1", "prefers Tamil language", "preferred_language", hours=48)
    words = "I always prefer Hindi language"
    inferred = {"kind": "preferred_language", "text": "prefers Hindi language", "confidence": 0.9, "quote": words}
    await service.told("B-1", hours=2, facts=[inferred], turns=[{"speaker": "borrower", "text": words}])
    assert [i["text"] for i in await recalled(service, "B-1", "language")] == ["prefers Tamil language"]
    assert len(await recalled(service, "B-1", "language", purpose="history")) == 2


async def test_what_expired_is_not_found(service: Api) -> None:
    await stated(service, "B-1", "wants a house", "goal")
    await service.told("B-1", summary="She spoke of a house.")
    assert len(await recalled(service, "B-1", "house")) == 2
    service.behind.now += timedelta(days=91)
    assert [i["kind"] for i in await recalled(service, "B-1", "house")] == ["conversation"]
    service.behind.now += timedelta(days=400)
    assert await recalled(service, "B-1", "house") == []


async def test_conversations_that_the_record_has_no_prose_of_are_found_in_the_journal(service: Api) -> None:
    for number in range(12):
        await service.told("B-1", hours=200 - number, summary=f"She named topic{number} and Martha.")
    assert [i["text"] for i in await recalled(service, "B-1", "topic0")] == ["She named topic0 and Martha."]
    assert len(await recalled(service, "B-1", "Martha", limit=50)) == 12
    assert len(await recalled(service, "B-1", "Martha")) == 10


async def test_decisions_are_found_for_their_purpose(service: Api) -> None:
    agents = Agents(service)
    await service.told("B-1")
    await agents.decide("D-1", "v12")
    assert [(i["kind"], i["id"], i["status"]) for i in await recalled(service, "B-1", "waiver")] == [
        ("decision", "D-1", "active")
    ]
    (hit,) = await recalled(service, "B-1", "waiver")
    assert "v12" in hit["text"]
    await agents.see("v13")
    assert await recalled(service, "B-1", "waiver") == []
    assert [(i["id"], i["status"]) for i in await recalled(service, "B-1", "waiver", purpose="history")] == [
        ("D-1", "stale")
    ]
    searched = (await service.post("/v1/search", {"query": "waiver", "purpose": "history"}))["items"]
    assert [(i["borrower_id"], i["id"]) for i in searched] == [("B-1", "D-1")]


@pytest.mark.parametrize("indexed", [False, True])
async def test_a_search_finds_whoever_has_the_words_and_writes_an_audit_line(service: Api, indexed: bool) -> None:
    for number, text in enumerate(("wife is Martha", "Martha pays", "prefers Hindi"), 1):
        await stated(service, f"B-{number}", text)
    if indexed:
        await service.parts.retention.run(by="test")
        assert await service.parts.database.read(lambda conn: index.behind(conn, 10)) == []
    answer = await service.post("/v1/search", {"query": "मार्था martha"})
    assert {(i["borrower_id"], i["text"]) for i in answer["items"]} == {
        ("B-1", "wife is Martha"),
        ("B-2", "Martha pays"),
    }
    await stated(service, "B-3", "Martha is her aunt")
    assert len((await service.post("/v1/search", {"query": "Martha"}))["items"]) == 3, (
        "an index that is behind misses nobody"
    )
    lines = (await service.parts.database.read(lambda conn: audit.page(conn, TENANT, None, 10, None))).items
    assert [line["action"] for line in lines if line["action"] == "search"] == ["search", "search"]
    assert "martha" not in json.dumps(lines, default=str).casefold()
    words = await service.parts.database.read(lambda conn: conn.execute(select(index.WORD.c.word)).scalars().all())
    assert all(len(word) == index.HASH_BYTES for word in words)


async def behind_with(service: Api) -> int:
    return len(await service.parts.database.read(lambda conn: index.behind(conn, 1_000)))


async def test_while_many_are_not_indexed_a_search_reads_them_and_recall_of_one_needs_no_index(
    service: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        await stated(service, f"B-{number:02}", "wife is Martha" if number % 5 == 0 else "prefers Hindi")
    monkeypatch.setattr(across, "READ_AT_ONCE", 5)
    monkeypatch.setattr(across, "KEPT_AT_ONCE", 4)
    assert await behind_with(service) == 12
    assert [i["text"] for i in await recalled(service, "B-10", "Martha")] == ["wife is Martha"]
    for _ in range(2):
        found = await service.post("/v1/search", {"query": "Martha"})
        assert [(i["borrower_id"], i["text"]) for i in found["items"]] == [
            (b, "wife is Martha") for b in ("B-00", "B-05", "B-10")
        ]
        assert set(found.document) == {"items", "next_cursor"}
    assert await behind_with(service) == 0, "who was read is indexed by it"


@pytest.mark.parametrize("why", [DatabaseUnavailable("it is away"), RuntimeError("a trigger refuses it")])
async def test_an_index_that_cannot_be_kept_costs_a_search_nothing(
    service: Api, monkeypatch: pytest.MonkeyPatch, why: Exception
) -> None:
    """The databases say it each in their own words."""

    def refuse(*_: object) -> None:
        raise why

    await stated(service, "B-1", "wife is Martha")
    monkeypatch.setattr(index, "keep_each", refuse)
    found = await service.post("/v1/search", {"query": "Martha"})
    assert [i["borrower_id"] for i in found["items"]] == ["B-1"]
    assert await behind_with(service) == 1


@pytest.mark.parametrize("indexed", [False, True])
async def test_of_more_than_a_search_looks_at_those_are_kept_in_whom_its_words_tell_most(
    service: Api, monkeypatch: pytest.MonkeyPatch, indexed: bool
) -> None:
    monkeypatch.setattr(across, "CANDIDATES", 3)
    for number in range(8):
        await stated(service, f"B-{number}", "wife is Martha" if number == 7 else "mother in hospital")
    if indexed:
        await service.parts.retention.run(by="test")
    found = await service.post("/v1/search", {"query": "mother hospital Martha", "limit": 1})
    assert [i["borrower_id"] for i in found["items"]] == ["B-7"]


async def test_what_cannot_be_read_in_time_is_no_answer_and_the_next_search_goes_on_from_there(
    service: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        await stated(service, f"B-{number}", "wife is Martha")
    monkeypatch.setattr(across, "READ_AT_ONCE", 4)
    monkeypatch.setattr(across, "READ_SECONDS", 0.0)
    late = await service.post("/v1/search", {"query": "Martha"})
    assert (late.status, late["code"]) == (503, "unavailable")
    assert await behind_with(service) == 2
    assert len((await service.post("/v1/search", {"query": "Martha"}))["items"]) == 6


@pytest.mark.parametrize("indexed", [False, True])
async def test_who_is_damaged_is_named_by_a_search_and_holds_up_nobody_else(service: Api, indexed: bool) -> None:
    for borrower in ("B-1", "B-2", "B-3"):
        await stated(service, borrower, "wife is Martha")
    if indexed:
        await service.parts.retention.run(by="test")
    its = table_of(Borrower)
    damage = update(its).where(its.c.borrower_id == "B-1").values(record=b"{")
    await service.parts.database.write(lambda conn: conn.execute(damage))
    found = await service.post("/v1/search", {"query": "Martha"})
    assert ({i["borrower_id"] for i in found["items"]}, found["unreadable"]) == ({"B-2", "B-3"}, ["B-1"])
    assert (await service.post("/v1/search", {"query": "Hindi"}))["items"] == []
    await stated(service, "B-4", "wife is Martha")
    await service.parts.retention.run(by="test")
    assert await behind_with(service) == (0 if indexed else 1), "the job goes past a damaged record too"


async def test_reports_that_pass_decisions_on_are_found_by_a_search_once_indexed(service: Api) -> None:
    agents = Agents(service)
    await service.told("B-1")
    await agents.decide("D-1", "v12")
    claim = {"decision_id": "D-1", "source": "offers", "version": "v12"}
    await service.told(
        "B-1", hours=1, summary="The agent told Martha that the waiver is hers.", extra={"claims": [claim]}
    )
    await service.parts.retention.run(by="test")
    for path in ("/v1/borrowers/B-1/recall", "/v1/search"):
        assert [i["text"] for i in (await service.post(path, {"query": "Martha"}))["items"]] == [
            "The agent told Martha that the waiver is hers."
        ], path


async def test_a_search_is_another_scope_and_another_tenant_is_nobody(service: Api) -> None:
    await stated(service, "B-1", "wife is Martha")
    from service.keys import create

    reader, _ = await service.parts.database.write(lambda c: create(c, TENANT, ["read"], service.now))
    stranger, _ = await service.parts.database.write(lambda c: create(c, "other", ["read", "search:all"], service.now))
    for key, path, wanted in (
        (reader, "/v1/search", (403, "missing_scope")),
        (stranger, "/v1/borrowers/B-1/recall", (404, "unknown_borrower")),
    ):
        answer = await service.client.post(path, json={"query": "Martha"}, headers={"Authorization": f"Bearer {key}"})
        assert (answer.status_code, answer.json()["code"]) == wanted
        assert "Martha" not in answer.text
    answer = await service.client.post(
        "/v1/search", json={"query": "Martha"}, headers={"Authorization": f"Bearer {stranger}"}
    )
    assert answer.json()["items"] == []


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({}, "query", "missing"),
        ({"query": "  "}, "query", "missing"),
        ({"query": 5}, "query", "wrong_type"),
        ({"query": "x" * 1001}, "query", "too_long"),
        ({"query": "x", "purpose": "all"}, "purpose", "not_in_enum"),
        ({"query": "x", "purpose": ["current"]}, "purpose", "not_in_enum"),
        ({"query": "x", "limit": 0}, "limit", "wrong_type"),
        ({"query": "x", "limit": 201}, "limit", "too_many"),
        ({"query": "x", "limit": True}, "limit", "wrong_type"),
        ({"query": "x", "limit": "5"}, "limit", "wrong_type"),
        ({"query": "x", "borrower_id": "B-2"}, "borrower_id", "unknown_field"),
        ({"query": "x", "owner": "*"}, "owner", "unknown_field"),
    ],
)
async def test_what_is_asked_wrongly_is_refused_by_field(tmp_path: Path, body: Any, field: str, code: str) -> None:
    async with api(tmp_path) as service:
        await service.told("B-1")
        for path in ("/v1/borrowers/B-1/recall", "/v1/search"):
            answer = await service.post(path, body)
            assert answer.status == 422
            assert {"field": field, "code": code} in answer["errors"]


async def test_nothing_is_handed_out_while_memory_is_off(tmp_path: Path) -> None:
    async with api(tmp_path, mode={"voice": "shadow", "whatsapp": "disabled"}) as service:
        await stated(service, "B-1", "wife is Martha")
        assert await recalled(service, "B-1", "Martha") == []
