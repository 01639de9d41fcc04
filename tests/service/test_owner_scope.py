"""Whose memory an answer is from: every call and every tool is tried with owners that are missing, blank, wild, alike or somebody
else's, and with filters that would widen it (DESIGN 11 "Owner scope"; AC-59, AC-60)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from service.keys import SCOPES, create
from service.mcp.tools import TOOLS
from tests.service.api import Api, api
from tests.service.embedded import TENANT

SECRET = "Zebulonia"
"""In what is known of B-1 of this tenant, and of its like of another."""
THEIRS = "Quillfeather"

ALIKE = ("B-10", "B-11", "B-", "B", "b-1", "B-1x", "xB-1", "B\u20111", "Ｂ-1", "B-1\u200b", "default_user", "null", "0")
WILD = (
    "*",
    "%25",
    "_",
    "B-_",
    "B-*",
    "B-%25",
    ".*",
    "?",
    "B-1,B-2",
    "B-1 OR 1=1",
    "' OR ''='",
    "..",
    "%2e%2e",
    "~",
    "~phone:*",
)
BLANK = ("%20", "%20%20", "%09", "%00", "%E2%80%83")
BODIES: dict[str, dict[str, Any]] = {
    "recall": {"query": f"wife {SECRET}"},
    "search": {"query": SECRET},
    "forget": {"reason": "r", "term": SECRET},
    "take_permit": {"action": "reminder", "channel": "whatsapp", "holder": "run"},
    "context": {
        "channel": "voice",
        "turn_id": "t-1",
        "instructions": [],
        "readings": [],
        "conversation": [],
        "question": "wife?",
    },
}
ACROSS = {"list_borrowers", "search"}
NAMES_IN_BODY = {"resume", "lookup", "post_summary", "post_event", "post_events", "take_decision"}
"""They say in their body whom they mean."""
OF_NO_BORROWER = {"report_source", "check_decision", "healthz", "readyz", "metrics"}


@dataclass
class Call:
    """An operation of the API."""

    operation: str
    method: str
    path: str

    @property
    def of_one(self) -> bool:
        return "{borrower_id}" in self.path


@dataclass
class World:
    """Somebody who is known, somebody whose id begins alike, and their namesake of another lender."""

    api: Api
    calls: list[Call]
    reader: str
    stranger: str

    async def ask(
        self, call: Call, borrower: str, key: str | None = None, query: str = "", **more: Any
    ) -> tuple[int, str]:
        body = {**BODIES.get(call.operation, {}), **more} if call.method == "POST" else None
        path = call.path.replace("{borrower_id}", borrower) + query
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        content = json.dumps(body) if body is not None else None
        answer = await self.api.client.request(call.method, path, content=content, headers=headers)
        return answer.status_code, answer.text


async def _plant(service: Api, borrower: str, word: str, headers: dict[str, str] | None = None) -> None:
    told = {
        "channel": "voice", "conversation_id": f"c-{word}-{borrower}", "borrower_id": borrower, "ended_at": service.ago(hours=1),
        "outcome": "connected", "summary": f"His wife {word} answers.",
        "facts": [{"kind": "household", "text": f"wife is {word}", "confidence": 0.9, "quote": f"wife is {word}"}],
    }  # fmt: skip
    answer = await service.client.post("/v1/summaries", content=json.dumps(told), headers=headers)
    assert answer.status_code == 200, answer.text


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with api(tmp_path) as service:
        keys = service.parts.database
        reader, _ = await keys.write(lambda c: create(c, TENANT, ["read"], service.now))
        stranger, _ = await keys.write(lambda c: create(c, "other", SCOPES, service.now))
        await _plant(service, "B-1", SECRET)
        await _plant(service, "B-10", THEIRS)
        await _plant(service, "B-1", THEIRS, {"Authorization": f"Bearer {stranger}"})
        document = (await service.get("/openapi.json")).document
        calls = [
            Call(call["operationId"], method.upper(), path)
            for path, methods in document["paths"].items()
            for method, call in methods.items()
        ]
        yield World(service, calls, reader, stranger)


async def test_every_call_is_of_one_borrower_or_is_known_not_to_be(world: World) -> None:
    """A new call that reads memory has to be put into one of these groups, and is then tried as they are."""
    rest = {call.operation for call in world.calls if not call.of_one and call.path.startswith("/v1/")}
    of_ops = {call.operation for call in world.calls if call.path.startswith("/v1/ops/")}
    assert rest - of_ops - ACROSS - NAMES_IN_BODY - OF_NO_BORROWER == set()
    assert len([call for call in world.calls if call.of_one]) >= 10


async def test_no_other_name_opens_a_memory(world: World) -> None:
    for call in (call for call in world.calls if call.of_one):
        for owner in (*ALIKE, *WILD, *BLANK):
            status, text = await world.ask(call, owner if "%" in owner else quote(owner, safe=""))
            assert SECRET not in text, (call.operation, owner)
            if owner != "B-10":
                assert 400 <= status < 500, (call.operation, owner, status)


async def test_without_an_owner_there_is_no_such_call(world: World) -> None:
    for call in (call for call in world.calls if call.of_one):
        status, text = await world.ask(call, "")
        assert 400 <= status < 500, call.operation
        assert SECRET not in text
        assert THEIRS not in text


async def test_a_namesake_of_another_lender_is_somebody_else(world: World) -> None:
    for call in (call for call in world.calls if call.of_one):
        _, text = await world.ask(call, "B-1", world.stranger)
        assert SECRET not in text, call.operation
        if call.operation != "forget":
            _, text = await world.ask(call, "B-1")
            assert THEIRS not in text, call.operation
    for path in ("/v1/search", "/v1/resume", "/v1/borrowers/lookup"):
        body = {"/v1/search": {"query": SECRET}}.get(path, {"channel": "voice", "borrower_id": "B-1"})
        headers = {"Authorization": f"Bearer {world.stranger}"}
        answer = await world.api.client.post(path, content=json.dumps(body), headers=headers)
        assert SECRET not in answer.text, path


FILTERS = (
    "borrower_id=B-1", "owner=*", "tenant=other", "tenant=acme", "user_id=B-1", "borrower_id=", "all=true", "scope=search:all",
    "purpose=*", "filter[borrower_id]=B-1", "or=1",
)  # fmt: skip


async def test_no_filter_widens_a_read(world: World) -> None:
    for call, filter_ in ((call, filter_) for call in world.calls if call.of_one for filter_ in FILTERS):
        status, text = await world.ask(call, "B-10", query=f"?{filter_}")
        assert status == 422, (call.operation, status)
        assert SECRET not in text
        if call.method == "POST":
            name, value = filter_.split("=", 1)
            status, text = await world.ask(call, "B-10", **{name: value})
            assert status == 422 or name == "purpose", (call.operation, status)
            assert SECRET not in text


async def test_who_may_read_one_borrower_may_not_read_across_them(world: World) -> None:
    for call in (call for call in world.calls if call.operation in ACROSS or call.path.startswith("/v1/ops/")):
        status, text = await world.ask(call, "", world.reader)
        assert (status, json.loads(text)["code"]) == (403, "missing_scope"), call.operation
        assert SECRET not in text


NOBODY: tuple[dict[str, Any], ...] = (
    {}, {"borrower_id": None}, {"borrower_id": ""}, {"borrower_id": "   "}, {"borrower_id": "default_user"},
    {"borrower_id": "*"}, {"borrower_id": ["B-1"]}, {"identifier": {"kind": "phone", "value": ""}}, {"loan_id": ""},
)  # fmt: skip


async def test_a_body_that_names_nobody_reads_nobody(world: World) -> None:
    calls: tuple[tuple[str, dict[str, Any]], ...] = (("/v1/borrowers/lookup", {}), ("/v1/resume", {"channel": "voice"}))
    for path, more, who in ((*call, who) for call in calls for who in NOBODY):
        answer = await world.api.post(path, {**more, **who})
        assert SECRET not in json.dumps(answer.document)
        if answer.status == 200:
            assert answer["found"] is False
        else:
            assert 400 <= answer.status < 500


async def test_no_tool_reads_without_its_owner(world: World) -> None:
    """AC-59, for agents that speak the protocol."""
    accept = {"Accept": "application/json, text/event-stream"}
    owners = (None, "", "   ", "default_user", "*", "B-10", "%")
    for tool, owner in ((tool, owner) for tool in TOOLS if tool.reads for owner in owners):
        arguments: dict[str, Any] = {**BODIES.get(tool.operation, {})}
        if tool.operation in NAMES_IN_BODY:
            arguments |= {"channel": "voice"}
        if owner is not None:
            arguments["borrower_id"] = owner
        params = {"name": tool.operation, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await world.api.client.post("/mcp", content=json.dumps(body), headers=accept)
        assert answer.status_code == 200
        assert SECRET not in answer.text, owner
