"""Vapi: end-of-call reports, and the question how an inbound call shall begin (VENDORS A.1).

provider's word   endedReason, startedAt, endedAt, call.type, customer.number, artifact.messages
a model's word    artifact.structuredOutputs, analysis.*: evidence, never a hard event
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import CallStart, Delivery, Item, Vendor, each, phone
from channels.resumed import Resumed
from channels.voice.call import Lines, Told, direction_of, report, spoke, started

NAME: Final = "vapi"
REPORT: Final = "end-of-call-report"
NO_ONE: Final = {
    "customer-did-not-answer": "no_answer",
    "customer-busy": "busy",
    "voicemail": "voicemail",
    "assistant-forwarded-call": "transferred",
    "call.ringing.hook-executed-transfer": "transferred",
    "call.forwarding.operator-busy": "transferred",
}
ENDS: Final = (
    "customer-ended-call",
    "assistant-ended-call",
    "assistant-said-",
    "exceeded-max-duration",
    "silence-timed-out",
)


def parse(delivery: Delivery) -> list[Item]:
    """The items of one server message."""
    return each(NAME, [delivery.document()], lambda document, _: [_item(document, delivery)])


def _item(document: Mapping[str, Any], delivery: Delivery) -> Item:
    message = fields.members(document.get("message"))
    kind = fields.label(message.get("type")) or "?"
    call = fields.members(message.get("call"))
    call_id = fields.an_id(call.get("id"))
    if kind == REPORT:
        return report(_told(message, call, call_id), delivery)
    if kind == "status-update" and message.get("status") == "in-progress":
        return started(_told(message, call, call_id, phase="in-progress"), delivery)
    return Item(f"{NAME}:call:{call_id}:{kind}", ignored=f"no report: {kind}")


def _told(message: Mapping[str, Any], call: Mapping[str, Any], call_id: str | None, phase: str = REPORT) -> Told:
    artifact = fields.members(message.get("artifact"))
    analysis = fields.members(message.get("analysis"))
    customer = fields.members(message.get("customer")) or fields.members(call.get("customer"))
    overrides = fields.members(call.get("assistantOverrides"))
    variables = fields.members(overrides.get("variableValues")) | fields.members(artifact.get("variableValues"))
    lines = _lines(artifact)
    reason = fields.label(message.get("endedReason"))
    outcome, notes = _outcome(reason, spoke(lines.turns))
    ended = fields.first(message.get("endedAt"), call.get("endedAt"))
    stamp = message.get("timestamp")
    return Told(
        vendor=NAME,
        conversation_id=call_id,
        phase=phase,
        ended_at=fields.iso(ended) or fields.epoch(stamp, fields.MILLISECONDS) or fields.iso(stamp),
        started_at=fields.iso(fields.first(message.get("startedAt"), call.get("startedAt"))),
        direction=direction_of(call.get("type")),
        their_number=customer.get("number"),
        custom=(fields.members(call.get("metadata")), variables, fields.members(overrides.get("metadata"))),
        outcome=outcome,
        turns=lines.turns,
        prose=analysis.get("summary"),
        captured=_captured(artifact, analysis),
        agent=fields.first(call.get("assistantId"), call.get("squadId")),
        end_reason=reason,
        extra={"carrier_call_id": call.get("phoneCallProviderId"), "success": analysis.get("successEvaluation")},
        notes=notes,
    )


def _captured(artifact: Mapping[str, Any], analysis: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs by their names, because their ids differ in each environment; the older home beneath them."""
    found: dict[str, Any] = {}
    for output in fields.members(artifact.get("structuredOutputs")).values():
        result, name = fields.at(output, "result"), fields.label(fields.at(output, "name"))
        if isinstance(result, dict):
            found.update(result)
        elif name is not None:
            found[name] = result
    return fields.members(analysis.get("structuredData")) | found


def _lines(artifact: Mapping[str, Any]) -> Lines:
    lines = Lines()
    for message in fields.listed(artifact.get("messages")):
        at = fields.epoch(fields.at(message, "time"), fields.MILLISECONDS)
        match fields.at(message, "role"):
            case "bot" | "assistant":
                lines.say("agent", fields.at(message, "message"), at)
            case "user":
                lines.say("borrower", fields.at(message, "message"), at)
            case "tool_calls":
                for call in fields.listed(fields.at(message, "toolCalls")):
                    lines.tool(fields.at(call, "function", "name"), at)
            case "tool_call_result":
                lines.tool(fields.at(message, "name"), at)
    return lines


def _outcome(reason: str | None, somebody_spoke: bool) -> tuple[str | None, tuple[str, ...]]:
    """By family of the reason, because there are hundreds and more each month."""
    if reason in NO_ONE:
        return NO_ONE[reason], ()
    if somebody_spoke:
        return "connected", ()
    if reason is None:
        return None, ()
    if "error" in reason or "failed" in reason:
        return "failed", ()
    return None, () if reason.startswith(ENDS) else ("unknown_end",)


def started_at(answer: Resumed, assistant: str | None) -> dict[str, Any]:
    """Of a call that is made: `assistant` serves the state, else the assistant of the call branches on it. The platform's
    templates take any text for true, the empty one too: the variables say `yes` and `no`."""
    return _begun(answer.variables, answer.stamps, assistant)


def _begun(variables: Mapping[str, str], stamps: Mapping[str, str], assistant: str | None) -> dict[str, Any]:
    overrides = {"variableValues": dict(variables), **({"metadata": dict(stamps)} if stamps else {})}
    return {**({"assistantId": assistant} if assistant else {}), "assistantOverrides": overrides}


def call_start(delivery: Delivery, query: Mapping[str, str]) -> CallStart | None:
    """An `assistant-request`. Which assistant takes the call is in the request, or in the hook's address as the operator
    wrote it (`?assistantId=...`)."""
    message = fields.members(delivery.document().get("message"))
    if message.get("type") != "assistant-request":
        return None
    call = fields.members(message.get("call"))
    customer = fields.members(message.get("customer")) or fields.members(call.get("customer"))
    assistant = fields.first(
        query.get("assistantId"), call.get("assistantId"), fields.at(message, "phoneNumber", "assistantId")
    )

    def answer(variables: Mapping[str, str], resume_id: str | None) -> dict[str, Any]:
        return _begun(variables, {"resume_id": resume_id} if resume_id else {}, assistant)

    return CallStart(fields.an_id(call.get("id")), phone(customer.get("number"), delivery), answer)


VENDOR: Final = Vendor(NAME, "voice", signatures.vapi, parse, call_start=call_start)
