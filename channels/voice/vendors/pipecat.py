"""Pipecat: the session summary that the operator's own agent posts, in our own shape (VENDORS A.6).

`own/pipecat-summary/1`: `session_id`, `transport` (from, to, direction, custom_parameters), `started_at`, `ended_at`, `turns`
(role, content that may be null, timestamp) and `flow` (start_node, end_node, and `state`: what the flow captured, a model's
word). A call over telephony comes in unless `transport.direction`, or an own number at its beginning, says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import Delivery, Item, Vendor, each, phone
from channels.resumed import Resumed
from channels.voice import starting
from channels.voice.call import Lines, Told, direction_of, other_side, report, spoke

NAME: Final = "pipecat"


def parse(delivery: Delivery) -> list[Item]:
    """The one item of a summary."""
    return each(NAME, [delivery.document()], lambda document, _: [_item(document, delivery)])


def _item(document: Mapping[str, Any], delivery: Delivery) -> Item:
    if "session_id" not in document:
        return Item(f"@{NAME}", ignored="no session summary")
    return report(_told(document, delivery), delivery)


def _told(session: Mapping[str, Any], delivery: Delivery) -> Told:
    transport, flow = fields.members(session.get("transport")), fields.members(session.get("flow"))
    zone = delivery.zone or "UTC"
    lines = Lines()
    for turn in fields.listed(session.get("turns")):
        at = fields.iso(fields.at(turn, "timestamp"), zone)
        for tool in fields.listed(fields.at(turn, "tools")):
            lines.tool(tool, fields.iso(fields.at(turn, "observed_at"), zone) or at)
        match fields.at(turn, "role"):
            case "assistant":
                lines.say("agent", fields.at(turn, "content"), at)
            case "user":
                lines.say("borrower", fields.at(turn, "content"), at)
    return Told(
        vendor=NAME,
        conversation_id=fields.an_id(session.get("session_id")),
        phase="",
        kind="session",
        modality="text" if transport.get("modality") == "text" else "speech",
        direction=(direction := _direction(transport, delivery)),
        their_number=other_side(direction, transport.get("from"), transport.get("to")),
        custom=(fields.members(transport.get("custom_parameters")), session),
        started_at=fields.iso(session.get("started_at"), zone),
        ended_at=fields.iso(session.get("ended_at"), zone),
        outcome="connected" if spoke(lines.turns) else None,
        turns=lines.turns,
        prose=session.get("summary"),
        captured=fields.members(flow.get("state")),
        agent=session.get("agent"),
        entered_state=flow.get("start_node"),
        extra={"carrier_call_id": transport.get("call_id"), "end_node": flow.get("end_node")},
    )


def _direction(transport: Mapping[str, Any], delivery: Delivery) -> str:
    told = direction_of(transport.get("direction"))
    if told is not None:
        return told
    ours = phone(transport.get("from"), delivery) is None and phone(transport.get("to"), delivery) is not None
    return "outbound" if ours and transport.get("from") else "inbound"


def started_at(answer: Resumed, node: str | None) -> dict[str, Any]:
    """What a flow is begun with: the node by the name of `node`, else of the state (null: hand over to a person); the task
    message that comes before the node's own; and the flow's state.

    The message stands in the node's own task messages, for a node that resets its context drops all else; and the node's name
    comes back as `flow.start_node`. The role belongs to the node: entered cold it has no other (VENDORS C).
    """
    return {
        "node": node or answer.state,
        "task_messages": [{"role": "developer", "content": starting.previous_step(answer)}],
        "state": {**answer.variables, **answer.stamps},
    }


VENDOR: Final = Vendor(NAME, "voice", signatures.bearer, parse)
