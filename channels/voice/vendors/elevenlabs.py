"""ElevenLabs Agents: post-call reports of calls and of texts, failed starts, and the question of a call (VENDORS A.4).

    provider's word   metadata (times, phone_call, source, text_only), failure_reason, transcript
    a model's word    analysis.*: evidence, never a hard event

A chat comes through the same hook: what it was is read from the payload, never from the address.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import CallStart, Delivery, Item, Vendor, each, phone
from channels.resumed import Resumed
from channels.voice.call import Lines, Told, direction_of, other_side, report, spoke

NAME: Final = "elevenlabs"
REPORT: Final = "post_call_transcription"
FAILED: Final = "call_initiation_failure"
FAILURES: Final = {"busy": "busy", "no-answer": "no_answer", "no_answer": "no_answer"}
MESSENGERS: Final = ("whatsapp", "twilio_sms", "sms")
"""Sources that are texts to a number; a widget's text has none."""
LONGEST_CALL_SECONDS: Final = 86_400


def parse(delivery: Delivery) -> list[Item]:
    """The one item of an event."""
    return each(NAME, [delivery.document()], lambda document, _: [_item(document, delivery)])


def _item(document: Mapping[str, Any], delivery: Delivery) -> Item:
    kind, data = fields.label(document.get("type")) or "?", fields.members(document.get("data"))
    stamp = fields.epoch(document.get("event_timestamp"), fields.SECONDS)
    if kind == REPORT:
        return report(_told(data, stamp), delivery)
    if kind == FAILED:
        return report(_failed(data, stamp), delivery)
    return Item(f"{NAME}:conv:{fields.an_id(data.get('conversation_id'))}:{kind}", ignored=f"no report: {kind}")


def _told(data: Mapping[str, Any], stamp: datetime | None) -> Told:
    metadata, analysis = fields.members(data.get("metadata")), fields.members(data.get("analysis"))
    call = fields.members(metadata.get("phone_call"))
    opening = fields.members(data.get("conversation_initiation_client_data"))
    source = (fields.label(metadata.get("conversation_initiation_source")) or "").lower()
    began = fields.epoch(
        fields.first(metadata.get("accepted_time_unix_secs"), metadata.get("start_time_unix_secs")), fields.SECONDS
    )
    lines = _lines(data, began)
    is_messenger = source.startswith(MESSENGERS)
    is_text = is_messenger or fields.truth(metadata.get("text_only")) is True or _was_typed(data)
    return Told(
        vendor=NAME,
        conversation_id=fields.an_id(data.get("conversation_id")),
        phase=REPORT,
        kind="conv",
        channel="whatsapp" if is_messenger else "voice",
        modality="text" if is_text else "speech",
        direction=direction_of(call.get("direction")),
        their_number=fields.first(call.get("external_number"), fields.at(metadata, "whatsapp", "whatsapp_user_id")),
        custom=(fields.members(opening.get("dynamic_variables")), fields.members(opening.get("custom_llm_extra_body"))),
        started_at=began,
        ended_at=_end(began, metadata) or stamp,
        outcome="connected" if spoke(lines.turns) else None,
        turns=lines.turns,
        prose=analysis.get("transcript_summary"),
        captured=_captured(analysis),
        language=metadata.get("main_language"),
        agent=fields.first(data.get("agent_name"), data.get("agent_id")),
        end_reason=metadata.get("termination_reason"),
        extra={"carrier_call_id": call.get("call_sid"), "source": source, "success": analysis.get("call_successful")},
    )


def _was_typed(data: Mapping[str, Any]) -> bool:
    """Every word of the borrower's was typed."""
    media = [
        fields.at(turn, "source_medium")
        for turn in fields.listed(data.get("transcript"))
        if fields.at(turn, "role") == "user" and fields.text(fields.at(turn, "message"))
    ]
    return bool(media) and all(medium == "text" for medium in media)


def _end(began: datetime | None, metadata: Mapping[str, Any]) -> datetime | None:
    length = fields.number(metadata.get("call_duration_secs"))
    if began is None or length is None or not 0 <= length <= LONGEST_CALL_SECONDS:
        return began
    return began + timedelta(seconds=float(length))


def _lines(data: Mapping[str, Any], began: datetime | None) -> Lines:
    lines = Lines()
    for turn in fields.listed(data.get("transcript")):
        offset = fields.number(fields.at(turn, "time_in_call_secs"))
        at = (
            began + timedelta(seconds=float(offset)) if began and offset is not None and 0 <= offset <= 86_400 else None
        )
        for call in fields.listed(fields.at(turn, "tool_calls")):
            lines.tool(fields.at(call, "tool_name"), at)
        match fields.at(turn, "role"):
            case "agent":
                lines.say("agent", fields.at(turn, "message"), at)
            case "user":
                lines.say("borrower", fields.at(turn, "message"), at)
    return lines


def _captured(analysis: Mapping[str, Any]) -> dict[str, Any]:
    results = fields.members(analysis.get("data_collection_results"))
    return {name: fields.at(result, "value") for name, result in results.items()}


def _failed(data: Mapping[str, Any], stamp: datetime | None) -> Told:
    """Nobody was reached; the carrier's own words stand in `metadata.body`."""
    body = fields.members(fields.at(data, "metadata", "body"))
    reason = fields.label(data.get("failure_reason"))
    direction = direction_of(fields.first(body.get("Direction"), body.get("direction"))) or "outbound"
    from_ = fields.first(body.get("From"), body.get("from_number"), body.get("from"))
    to = fields.first(body.get("To"), body.get("to_number"), body.get("to"))
    opening = fields.members(data.get("conversation_initiation_client_data"))
    return Told(
        vendor=NAME,
        conversation_id=fields.an_id(data.get("conversation_id")),
        phase=FAILED,
        kind="conv",
        direction=direction,
        their_number=other_side(direction, from_, to),
        custom=(fields.members(opening.get("dynamic_variables")),),
        ended_at=fields.rfc2822(body.get("Timestamp")) or stamp,
        outcome=FAILURES.get((reason or "").lower(), "failed"),
        agent=data.get("agent_id"),
        end_reason=reason,
        extra={"carrier_call_id": fields.first(body.get("CallSid"), body.get("call_sid"))},
    )


def started_at(answer: Resumed, node: str | None) -> dict[str, Any]:
    """Of a conversation that is begun: `node` of the workflow serves the state, else the workflow branches on it. A variable
    that is named and missing ends the conversation, so all are always there."""
    return {**_begun(answer.variables, answer.stamps), **({"starting_workflow_node_id": node} if node else {})}


def _begun(variables: Mapping[str, str], stamps: Mapping[str, str]) -> dict[str, Any]:
    extra = {"custom_llm_extra_body": dict(stamps)} if stamps else {}
    return {"type": "conversation_initiation_client_data", "dynamic_variables": dict(variables), **extra}


def call_start(delivery: Delivery, query: Mapping[str, str]) -> CallStart | None:
    """A conversation initiation: flat, of `caller_id`, `agent_id`, `called_number` and `call_sid`. A variable that the agent
    names and the answer lacks would end the conversation, so all are always there."""
    document = delivery.document()
    if "caller_id" not in document or "type" in document:
        return None

    def answer(variables: Mapping[str, str], resume_id: str | None) -> dict[str, Any]:
        return _begun(variables, {"resume_id": resume_id} if resume_id else {})

    call_id = fields.an_id(fields.first(document.get("conversation_id"), document.get("call_sid")))
    return CallStart(call_id, phone(document.get("caller_id"), delivery), answer)


VENDOR: Final = Vendor(NAME, "voice", signatures.elevenlabs_or_secret, parse, call_start=call_start)
