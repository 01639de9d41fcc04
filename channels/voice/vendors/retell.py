"""Retell: calls in two phases, chats through the same hook, and the question of an inbound call (VENDORS A.2).

    provider's word   disconnection_reason, timestamps, numbers, direction, transcript_object
    a model's word    call_analysis, chat_analysis, collected_dynamic_variables: evidence, never a hard event

`call_analyzed` is a higher revision of `call_ended`, so that either may come first. A chat is text, whatever the hook; one
by SMS is a conversation on `whatsapp`, for that is where texts to a number belong (API 11).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import CallStart, Delivery, Item, Vendor, each, phone
from channels.resumed import Resumed
from channels.voice.call import Lines, Told, direction_of, other_side, report, spoke, started

NAME: Final = "retell"
PHASES: Final = {"ended": 1, "analyzed": 2}
LONGEST_CALL_MILLISECONDS: Final = 86_400_000
NO_ONE: Final = {
    "voicemail_reached": "voicemail",
    "machine_detected": "voicemail",
    "ivr_reached": "no_answer",
    "dial_busy": "busy",
    "dial_no_answer": "no_answer",
    "dial_failed": "failed",
    "invalid_destination": "failed",
    "marked_as_spam": "failed",
    "call_transfer": "transferred",
}
ENDS: Final = (
    "user_hangup", "agent_hangup", "inactivity", "max_duration_reached", "user_requested_dnc", "user_requested_callback",
)  # fmt: skip


def parse(delivery: Delivery) -> list[Item]:
    """The items of one event."""
    return each(NAME, [delivery.document()], lambda document, _: [_item(document, delivery)])


def _item(document: Mapping[str, Any], delivery: Delivery) -> Item:
    event = fields.label(document.get("event")) or "?"
    thing, _, phase = event.partition("_")
    talk = fields.members(document.get(thing)) if thing in ("call", "chat") else {}
    if talk and phase in PHASES:
        return report(_told(talk, thing, event, PHASES[phase]), delivery)
    if talk and phase == "started":
        return started(_told(talk, thing, event, 1), delivery)
    return Item(f"{NAME}:{thing}:{fields.an_id(talk.get(f'{thing}_id'))}:{event}", ignored=f"no report: {event}")


def _told(talk: Mapping[str, Any], thing: str, phase: str, revision: int) -> Told:
    is_chat = thing == "chat"
    analysis = fields.members(talk.get("chat_analysis" if is_chat else "call_analysis"))
    lines = _lines(talk, is_chat)
    reason = fields.label(talk.get("disconnection_reason"))
    outcome, notes = _outcome(reason, spoke(lines.turns), analysis)
    direction = direction_of(talk.get("direction"))
    their_number = other_side(direction, talk.get("from_number"), talk.get("to_number"))
    is_analyzed = revision == PHASES["analyzed"]
    return Told(
        vendor=NAME,
        conversation_id=fields.an_id(talk.get("chat_id" if is_chat else "call_id")),
        phase=phase,
        revision=revision,
        channel="whatsapp" if is_chat else "voice",
        modality="text" if is_chat else "speech",
        direction=direction,
        their_number=their_number,
        custom=(fields.members(talk.get("metadata")), fields.members(talk.get("retell_llm_dynamic_variables"))),
        started_at=(began := fields.epoch(talk.get("start_timestamp"), fields.MILLISECONDS)),
        ended_at=fields.epoch(talk.get("end_timestamp"), fields.MILLISECONDS) or _end(began, talk),
        outcome=outcome if is_analyzed or outcome != "connected" else None,
        is_pending=not is_analyzed,
        turns=lines.turns,
        prose=analysis.get("chat_summary" if is_chat else "call_summary"),
        captured=fields.members(analysis.get("custom_analysis_data")),
        agent=_agent(talk),
        end_reason=reason,
        extra={"success": analysis.get("chat_successful" if is_chat else "call_successful")},
        opted_out=reason == "user_requested_dnc",
        notes=notes,
    )


def _end(began: datetime | None, talk: Mapping[str, Any]) -> datetime | None:
    """Of a report that tells no end: its length behind its start."""
    length = fields.number(talk.get("duration_ms"))
    if began is None or length is None or not 0 <= length <= LONGEST_CALL_MILLISECONDS:
        return began
    return began + timedelta(milliseconds=float(length))


def _agent(talk: Mapping[str, Any]) -> str | None:
    agent, version = fields.label(talk.get("agent_id")), fields.label(talk.get("agent_version"))
    return f"{agent}#{version}" if agent and version else agent


def _lines(talk: Mapping[str, Any], is_chat: bool) -> Lines:
    lines = Lines()
    turns = fields.first(
        talk.get("message_with_tool_calls") if is_chat else talk.get("transcript_with_tool_calls"),
        talk.get("transcript_object"),
    )
    for turn in fields.listed(turns):
        at = fields.epoch(fields.at(turn, "created_timestamp"), fields.MILLISECONDS)
        match fields.at(turn, "role"):
            case "agent":
                lines.say("agent", fields.at(turn, "content"), at)
            case "user":
                lines.say("borrower", fields.at(turn, "content"), at)
            case "tool_call_invocation":
                lines.tool(fields.at(turn, "name"), at)
    return lines


def _outcome(
    reason: str | None, somebody_spoke: bool, analysis: Mapping[str, Any]
) -> tuple[str | None, tuple[str, ...]]:
    if reason in NO_ONE:
        return NO_ONE[reason], ()
    if fields.truth(analysis.get("in_voicemail")) is True:
        return "voicemail", ()
    if somebody_spoke:
        return "connected", ()
    if reason is None:
        return None, ()
    if reason.startswith(("error_", "telephony_", "registered_call_timeout", "concurrency_limit", "no_valid_payment")):
        return "failed", ()
    return None, () if reason in ENDS else ("unknown_end",)


def started_at(answer: Resumed, agent: str | None) -> dict[str, Any]:
    """Of a call that is made: `agent` serves the state, else the call's agent branches on it right after the start."""
    begun = _begun("retell_llm_dynamic_variables", answer.variables, answer.stamps)
    return {**({"override_agent_id": agent} if agent else {}), **begun}


def _begun(name: str, variables: Mapping[str, str], stamps: Mapping[str, str]) -> dict[str, Any]:
    """The same under the name that the platform has for it: all variables are texts there."""
    return {name: dict(variables), "metadata": dict(stamps)}


def call_start(delivery: Delivery, query: Mapping[str, str]) -> CallStart | None:
    """A `call_inbound`: the phone rings until it is answered."""
    document = delivery.document()
    if document.get("event") != "call_inbound":
        return None
    asked = fields.members(document.get("call_inbound"))

    def answer(variables: Mapping[str, str], resume_id: str | None) -> dict[str, Any]:
        return {"call_inbound": _begun("dynamic_variables", variables, {"resume_id": resume_id} if resume_id else {})}

    return CallStart(fields.an_id(asked.get("call_id")), phone(asked.get("from_number"), delivery), answer)


VENDOR: Final = Vendor(NAME, "voice", signatures.retell, parse, call_start=call_start)
