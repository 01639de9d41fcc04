"""An agent that speaks the Model Context Protocol, by the protocol's own client, against a running service.

Whatever a tool answers is what the call answers over HTTP to the same key: its scopes, its tenant, its problems.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from service.mcp.tools import TOOLS
from service.web.edge import BODY_LIMIT_BYTES
from tests.together.conftest import Borrower, Tenant, confirmed, new_key

pytestmark = pytest.mark.process

FROM_NOW = frozenset({"resume_id", "as_of"})
"""What differs between two answers that say the same."""


@contextlib.asynccontextmanager
async def agent(tenant: Tenant, scopes: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    """A client with the tenant's own key, or with a new one of these scopes."""
    key = tenant.key if scopes is None else await asyncio.to_thread(new_key, tenant.service, tenant.name, scopes)
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http:
        transport = streamable_http_client(f"{tenant.service.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, raise_exceptions=True) as client:
            yield client


async def used(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool answers that is not refused."""
    told = await client.call_tool(tool, arguments)
    assert not told.is_error, told.structured_content
    return told.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> Any:
    """The problem of a call that is refused."""
    told = await client.call_tool(tool, arguments)
    assert told.is_error, told.structured_content
    return told.structured_content


def lasting(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in FROM_NOW}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_agent_finds_the_tools_and_reads_what_http_answers(borrower: Borrower, mode: str) -> None:
    borrower.opens()
    borrower.verify()
    borrower.says(
        "voice", confirmed("5000"), facts=[{"kind": "preferred_language", "text": "always Hindi", "confidence": 0.9}]
    )
    async with agent(borrower.tenant, mode=mode) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {tool.operation for tool in TOOLS}
        assert listed >= {"resume", "get_briefing", "get_facts", "get_flags", "take_permit", "post_event"}
        asked = {"channel": "voice", "identifier": borrower.phone}
        resumed = await used(client, "resume", **asked)
        assert lasting(resumed) == lasting(borrower.tenant.resume(**asked))
        assert (resumed["borrower_id"], resumed["state"]) == (borrower.id, "reminder")
        for tool, what in (("get_briefing", "briefing"), ("get_facts", "facts"), ("get_flags", "flags")):
            assert lasting(await used(client, tool, borrower_id=borrower.id)) == lasting(borrower.read(what)), tool


async def test_a_turns_prompt_and_what_is_recalled_are_those_of_the_calls(borrower: Borrower) -> None:
    fact = {"kind": "preferred_language", "text": "always Hindi", "confidence": 0.9}
    borrower.says("voice", confirmed("5000"), facts=[fact])
    reading = {"source": "dues", "text": "outstanding 12,400", "observed_at": "2026-11-20T10:05:00Z"}
    turn = {
        "channel": "whatsapp", "turn_id": "t-2", "question": "kitna baaki hai?",
        "readings": [reading | {"turn_id": "t-1"}, reading | {"turn_id": "t-2", "text": "outstanding 14,300"}],
    }  # fmt: skip
    asked = {"query": "Hindi"}
    path = f"/v1/borrowers/{borrower.id}"
    async with agent(borrower.tenant, "read") as client:
        told = await used(client, "context", borrower_id=borrower.id, **turn)
        called = borrower.tenant.post(f"{path}/context", turn)
        assert [(b["kind"], b["source"], b["text"]) for b in told["blocks"]] == [
            (b["kind"], b["source"], b["text"]) for b in called["blocks"]
        ]
        assert ("12,400" in told["text"], "14,300" in told["text"], "5,000" in told["text"]) == (False, True, True)
        assert [dropped["reason"] for dropped in told["dropped"]] == ["earlier_turn"]
        found = await used(client, "recall", borrower_id=borrower.id, **asked)
        assert found == borrower.tenant.post(f"{path}/recall", asked)
        assert found["items"]
        wrong = await refused(client, "context", borrower_id=borrower.id, channel="voice", turn_id="t-1")
        assert {"field": "question", "code": "missing"} in wrong["errors"]


async def test_an_agent_takes_a_permit_sends_and_tells_of_it(borrower: Borrower) -> None:
    borrower.opens()
    borrower.says("voice", confirmed("5000"))
    asked = {"borrower_id": borrower.id, "action": "reminder", "channel": "whatsapp", "holder": "run-1"}
    async with agent(borrower.tenant, "read,events:agent") as client:
        permit = await used(client, "take_permit", **asked)
        assert permit["borrower_id"] == borrower.id
        assert await used(client, "take_permit", **asked) == permit
        assert (await refused(client, "take_permit", **asked | {"holder": "run-2"}))["reason"] == "held_by_other"
        sent = {
            "event_id": f"e-{borrower.id}-sent",
            "type": "reminder.sent",
            "occurred_at": permit["granted_at"],
            "borrower_id": borrower.id,
            "channel": "whatsapp",
            "message_id": "m-mcp-1",
            "outcome": "delivered",
        }
        told = await used(client, "post_event", event=sent)
        assert told["status"] == "merged"
        assert (await used(client, "post_event", event=sent))["status"] == "duplicate"
        flags = await used(client, "get_flags", borrower_id=borrower.id, after=sent["event_id"])
        assert flags["reminded"]["evidence"]["event_id"] == sent["event_id"]
        conflict = await refused(client, "post_event", event=sent | {"outcome": "failed"})
        assert (conflict["code"], conflict["status"]) == ("id_conflict", 409)
    assert borrower.flags()["reminded"]


async def test_refusals_are_problems_with_their_codes(borrower: Borrower) -> None:
    borrower.says()
    async with agent(borrower.tenant) as client:
        unknown = await refused(client, "get_flags", borrower_id="B-nobody")
        assert (unknown["status"], unknown["code"]) == (404, "unknown_borrower")
        loan = await refused(client, "get_briefing", borrower_id=borrower.id, loan_id="LN-none")
        assert loan["code"] == "unknown_loan"
        for tool, arguments, field, code in (
            ("get_flags", {}, "borrower_id", "missing"),
            ("get_flags", {"borrower_id": 7}, "borrower_id", "wrong_type"),
            ("get_flags", {"borrower_id": "a/b"}, "borrower_id", "bad_id"),
            ("get_flags", {"borrower_id": borrower.id, "loan_id": 7}, "loan_id", "wrong_type"),
            ("get_flags", {"borrower_id": borrower.id, "paid": True}, "paid", "unknown_field"),
            ("get_briefing", {"borrower_id": borrower.id, "channel": "fax"}, "channel", "not_in_enum"),
            ("resume", {}, "channel", "missing"),
            ("resume", {"channel": "voice", "wait_ms": 9_999}, "wait_ms", "wrong_type"),
            ("take_permit", {"borrower_id": borrower.id, "action": "call"}, "action", "not_in_enum"),
            ("post_event", {}, "event", "missing"),
            ("post_event", {"type": "reminder.sent"}, "type", "unknown_field"),
            ("post_event", {"event": {"type": "no.such"}}, "type", "unknown_type"),
        ):
            problem = await refused(client, tool, **arguments)
            assert (problem["status"], problem["code"]) == (422, "invalid_body"), (tool, arguments)
            assert {"field": field, "code": code} in problem["errors"], (tool, arguments, problem)
        with pytest.raises(MCPError):
            await client.call_tool("forget_everything", {})


async def test_a_key_may_do_by_tools_what_it_may_do_by_calls(borrower: Borrower) -> None:
    borrower.opens()
    happened = {"event_id": f"e-{borrower.id}", "occurred_at": "2026-11-01T00:00:00Z", "borrower_id": borrower.id}
    link = {**happened, "type": "identifier.linked", "identifier": borrower.phone}
    async with agent(borrower.tenant, "read") as reader:
        await used(reader, "get_flags", borrower_id=borrower.id)
        permit = {"borrower_id": borrower.id, "action": "reminder", "channel": "whatsapp", "holder": "run-1"}
        problem = await refused(reader, "take_permit", **permit)
        assert (problem["status"], problem["code"], problem["scope"]) == (403, "missing_scope", "events:agent")
        assert (await refused(reader, "post_event", event=link))["code"] == "missing_scope"
    async with agent(borrower.tenant, "events:agent") as writer:
        for tool in ("get_flags", "get_facts", "get_briefing"):
            assert (await refused(writer, tool, borrower_id=borrower.id))["scope"] == "read"
        assert (await refused(writer, "resume", channel="voice", borrower_id=borrower.id))["scope"] == "read"
        assert (await refused(writer, "post_event", event=link))["scope"] == "events:ledger"


async def test_another_tenant_finds_nobody_by_any_tool(borrower: Borrower) -> None:
    borrower.opens()
    borrower.verify()
    service = borrower.tenant.service
    other = Tenant(service, "elsewhere", key=await asyncio.to_thread(new_key, service, "elsewhere"))
    async with agent(other) as stranger:
        resumed = await used(stranger, "resume", channel="voice", identifier=borrower.phone)
        assert (resumed["found"], resumed["source"], resumed["borrower_id"]) == (False, "cold_start", None)
        for tool in ("get_flags", "get_facts", "get_briefing"):
            assert (await refused(stranger, tool, borrower_id=borrower.id))["code"] == "unknown_borrower", tool
    other.close()


def test_nothing_is_read_without_a_key_and_no_more_than_the_edge_takes(acme: Tenant) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    stranger = acme.http.post("/mcp", json=listing, headers={**accept, "Authorization": "Bearer bm_no_key"})
    assert (stranger.status_code, stranger.json()["code"]) == (401, "unauthenticated")
    big = {**listing, "params": {"filler": "x" * BODY_LIMIT_BYTES}}
    large = acme.http.post("/mcp", json=big, headers=accept)
    assert (large.status_code, large.json()["code"]) == (413, "too_large")
    twice = acme.http.post("/mcp", content=b'{"id": 1, "id": 2}', headers=accept | {"Content-Type": "application/json"})
    assert (twice.status_code, twice.json()["code"]) == (400, "malformed_json")
    for method in ("GET", "DELETE"):
        answer = acme.http.request(method, "/mcp", headers=accept)
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert acme.http.post("/mcp", json=listing, headers=accept).status_code == 200
