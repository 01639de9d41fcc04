"""LiveKit Agents: the session report that the operator's own agent posts, and the server's webhooks (VENDORS A.5).

The report has no telephone number and no result: the agent adds `x_collections` with `borrower_ref`, `sip` (the attributes of
the caller) and `outcome` (what it captured: a model's word). Items of the chat history that were seeded from memory
(`extra.source`), instructions and system messages are our own words coming back, and are no turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import Delivery, Item, Vendor, each
from channels.resumed import Resumed
from channels.voice import starting
from channels.voice.call import Lines, Told, direction_of, report, spoke

NAME: Final = "livekit"
LONGEST_CALL_MILLISECONDS: Final = 86_400_000
SPEAKERS: Final = {"user": "borrower", "assistant": "agent"}


def parse(delivery: Delivery) -> list[Item]:
    """The one item of a report, or of a webhook of the server."""
    return each(NAME, [delivery.document()], lambda document, _: [_item(document, delivery)])


def _item(document: Mapping[str, Any], delivery: Delivery) -> Item:
    if "job_id" in document or "chat_history" in document:
        return report(_told(document), delivery)
    event = fields.label(document.get("event")) or "?"
    return Item(f"{NAME}:event:{fields.an_id(document.get('id'))}", ignored=f"no report: {event}")


def _told(session: Mapping[str, Any]) -> Told:
    ours = fields.members(session.get("x_collections"))
    sip = fields.members(ours.get("sip"))
    lines = _lines(session)
    ended = fields.epoch(session.get("timestamp"), fields.SECONDS)
    reason = fields.label(session.get("close_reason"))
    connected = spoke(lines.turns)
    return Told(
        vendor=NAME,
        conversation_id=fields.an_id(session.get("job_id")),
        phase="session-report",
        kind="job",
        direction=direction_of(ours.get("direction")),
        their_number=sip.get("sip.phoneNumber"),
        custom=(ours, fields.members(ours.get("metadata"))),
        started_at=_began(ended, session),
        ended_at=ended,
        outcome="connected" if connected else "failed" if reason == "CR_ERROR" else None,
        turns=lines.turns,
        prose=ours.get("summary"),
        captured=fields.members(ours.get("outcome")),
        agent=session.get("agent_name"),
        end_reason=reason,
        extra={"carrier_call_id": sip.get("sip.callID"), "room": session.get("room")},
    )


def _began(ended: datetime | None, session: Mapping[str, Any]) -> datetime | None:
    length = fields.number(session.get("duration_ms"))
    if ended is None or length is None or not 0 <= length <= LONGEST_CALL_MILLISECONDS:
        return None
    return ended - timedelta(milliseconds=float(length))


def _lines(session: Mapping[str, Any]) -> Lines:
    lines = Lines()
    for item in fields.listed(fields.at(session, "chat_history", "items")):
        at = fields.epoch(fields.at(item, "created_at"), fields.SECONDS)
        kind = fields.at(item, "type")
        if kind in ("function_call", "function_call_output"):
            lines.tool(fields.at(item, "name"), at)
        speaker = SPEAKERS.get(str(fields.at(item, "role")))
        if kind == "message" and speaker is not None and fields.at(item, "extra", "source") is None:
            content = fields.at(item, "content")
            parts = [content] if isinstance(content, str) else fields.listed(content)
            lines.say(speaker, "\n".join(part for part in parts if isinstance(part, str)), at)
    return lines


def started_at(answer: Resumed, agent: str | None) -> dict[str, Any]:
    """What a session is begun with: the agent by the name of `agent`, else of the state (null: hand over to a person); a chat
    context for `ChatContext.from_dict`; and the session's user data. The context comes back in the report, so its item says
    that it was seeded, and is no turn there."""
    seeded = {
        "type": "message",
        "id": f"memory_{answer.resume_id}",
        "role": "system",
        "content": [starting.previous_step(answer)],
        "extra": {"source": starting.SOURCE},
    }
    return {
        "agent": agent or answer.state,
        "chat_ctx": {"items": [seeded]},
        "userdata": {**answer.variables, **answer.stamps},
    }


VENDOR: Final = Vendor(NAME, "voice", signatures.livekit_or_secret, parse)
