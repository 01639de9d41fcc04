"""Each tool is an operation of the API under its own name, and reads of one borrower only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from service.mcp.asking import Asking
from service.mcp.tool import Tool
from service.mcp.tools import TOOLS
from service.routes import borrowers, events, health, permits, resume
from service.web.calls import operations
from statemachine.volatility import Volatility, tool_volatility
from tests.service.api import api
from tests.service.decisions.agents import Agents
from tests.service.decisions.test_tools import use

KNOWN = operations([borrowers.router, events.router, permits.router, resume.router])
OURS = [tool for tool in TOOLS if tool.operation in KNOWN]


@pytest.mark.parametrize("tool", OURS, ids=lambda tool: tool.operation)
def test_a_tool_says_what_it_takes_and_whose_it_is(tool: Tool) -> None:
    asking = Asking(tool, KNOWN)
    Draft202012Validator.check_schema(asking.schema)
    assert asking.schema["type"] == "object"
    assert asking.schema["additionalProperties"] is False
    takes = asking.schema["properties"]
    assert "tenant" not in takes, "it comes from the key"
    names_somebody = {"borrower_id", "identifier", "loan_id"} & set(takes)
    assert "borrower_id" in asking.schema["required"] or len(names_somebody) == 3 or tool.whole, "owner scope"


def test_what_a_tool_reads_is_live_and_what_it_writes_happened() -> None:
    for tool in OURS:
        if tool.reads:
            assert tool_volatility(tool.operation) is Volatility.LIVE, tool.operation
    assert tool_volatility("post_event") is Volatility.EVENT


def test_no_two_tools_have_one_name_and_no_tool_reads_across_borrowers() -> None:
    names = [tool.operation for tool in TOOLS]
    assert len(set(names)) == len(names)
    assert not {"list_borrowers", "search"} & set(names)


def test_a_tool_over_no_operation_is_found_at_the_start() -> None:
    for operation in ("get_weather", "healthz"):
        with pytest.raises(LookupError, match=operation):
            Asking(Tool(operation=operation, title="", description="", reads=True), KNOWN | operations([health.router]))


@pytest.mark.parametrize(
    ("mode", "allow", "is_told"),
    [
        ("enabled", (), True),
        ({"voice": "disabled", "whatsapp": "enabled"}, (), True),
        ("enabled", ("B-1",), True),
        ("enabled", ("B-9",), False),
        ("shadow", (), False),
        ("disabled", (), False),
        ("On", (), False),
    ],
)
async def test_a_mode_governs_what_tools_hand_out_and_not_what_they_do(
    tmp_path: Path, mode: Any, allow: tuple[str, ...], is_told: bool
) -> None:
    """DESIGN 9: MCP reads are handed out; flags, permits and whatever is kept answer in every mode."""
    async with api(tmp_path, mode=mode, allow=frozenset(allow)) as service:
        await service.event("fact.stated", "B-1", kind="preferred_language", text="Marathi")
        assert (await service.told("B-1", 2, "whatsapp", summary="She asked for Marathi.")).status == 200
        decision = Agents(service).decision("D-1", conclusion="a plan in Marathi")
        assert (await use(service, "take_decision", **decision))[1]["status"] == "active"
        reads = {
            "get_briefing": {"channel": "whatsapp"},
            "get_facts": {},
            "get_decisions": {},
            "recall": {"query": "Marathi"},
            "context": {"channel": "whatsapp", "turn_id": "t-1", "question": "What now?"},
        }
        for name, arguments in reads.items():
            refused, told = await use(service, name, borrower_id="B-1", **arguments)
            assert (refused, "Marathi" in str(told)) == (False, is_told), name
        assert (await use(service, "get_decisions", borrower_id="B-1", purpose="history"))[1][
            "items"
        ] != [] or not is_told
        for name, arguments in (
            ("get_flags", {"borrower_id": "B-1"}),
            ("take_permit", {"borrower_id": "B-1", "action": "reminder", "channel": "whatsapp", "holder": "run"}),
            ("check_decision", {"decision_id": "D-1", "source_version": "v12"}),
        ):
            assert not (await use(service, name, **arguments))[0], name
        with_body = await service.client.request("GET", "/v1/borrowers/B-1/facts", content=b"{}")
        assert "Marathi" in with_body.text, "it is kept"
        assert "Marathi" in str((await service.get("/v1/borrowers/B-1/decisions")).document)


async def test_the_calls_that_tools_stand_for_are_the_applications(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        document = (await service.get("/openapi.json")).document
        there = {call["operationId"] for calls in document["paths"].values() for call in calls.values()}
        assert {tool.operation for tool in TOOLS} <= there
        assert "/mcp" not in document["paths"], "its contract is the protocol's"
