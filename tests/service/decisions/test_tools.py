"""The calls on decisions as tools of an agent: the same answers and problems (AC-61 over MCP)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.service.api import Api, api
from tests.service.decisions.agents import Agents


async def use(service: Api, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Whether it was refused, and what it answered."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream"}
    answer = await service.client.post("/mcp", json=call, headers=headers)
    result = answer.json()["result"]
    return bool(result.get("isError")), result["structuredContent"]


async def test_the_source_moved_on_and_no_tool_offers_it_again(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        agents = Agents(service)
        refused, taken = await use(service, "take_decision", **agents.decision("D-1"))
        assert (refused, taken["status"]) == (False, "active")
        refused, told = await use(service, "get_decisions", borrower_id="B-1")
        assert [item["decision_id"] for item in told["items"]] == ["D-1"]
        seen = {"source": "offers", "version": "v13", "observed_at": service.ago(minutes=1)}
        assert (await use(service, "report_source", **seen))[1]["stale_decisions"] == 1
        refused, problem = await use(service, "check_decision", decision_id="D-1", source_version="v12")
        assert (refused, problem["code"], problem["decision_status"]) == (True, "stale_context", "stale")
        assert (await use(service, "get_decisions", borrower_id="B-1"))[1]["items"] == []
        refused, told = await use(service, "get_decisions", borrower_id="B-1", purpose="history")
        assert [(item["decision_id"], item["status"]) for item in told["items"]] == [("D-1", "stale")]
        assert "waiver" not in str(await use(service, "get_briefing", borrower_id="B-1"))
