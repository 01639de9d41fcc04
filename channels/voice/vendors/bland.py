"""Bland: one flat report after each call (VENDORS A.3).

provider's word   status, answered_by, completed, started_at, corrected_duration, call_length (minutes), to, from, inbound
a model's word    summary, analysis, disposition_tag: evidence, never a hard event
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import Delivery, Item, Vendor, each
from channels.voice.call import Lines, Told, other_side, report, spoke

NAME: Final = "bland"
ANSWERED_BY: Final = {"voicemail": "voicemail", "no-answer": "no_answer", "machine": "voicemail"}
STATUSES: Final = {
    "no-answer": "no_answer",
    "busy": "busy",
    "failed": "failed",
    "canceled": "failed",
    "cancelled": "failed",
}
LONGEST_CALL_SECONDS: Final = 86_400


def parse(delivery: Delivery) -> list[Item]:
    """The one item of a report."""
    return each(NAME, [delivery.document()], lambda document, _: [_item(document, delivery)])


def _item(document: Mapping[str, Any], delivery: Delivery) -> Item:
    if "call_id" not in document and "c_id" not in document:
        return Item(f"@{NAME}", ignored="no report of a call")
    return report(_told(document), delivery)


def _told(call: Mapping[str, Any]) -> Told:
    lines = Lines()
    for turn in fields.listed(call.get("transcripts")):
        at = fields.iso(fields.at(turn, "created_at"))
        match fields.at(turn, "user"):
            case "assistant" | "robot":
                lines.say("agent", fields.at(turn, "text"), at)
            case "user":
                lines.say("borrower", fields.at(turn, "text"), at)
            case "agent-action":
                lines.tool(fields.at(turn, "text"), at)
    began = fields.iso(fields.first(call.get("started_at"), call.get("created_at")))
    inbound = fields.truth(call.get("inbound"))
    direction = None if inbound is None else "inbound" if inbound else "outbound"
    variables = fields.members(call.get("variables"))
    return Told(
        vendor=NAME,
        conversation_id=fields.an_id(fields.first(call.get("call_id"), call.get("c_id"))),
        phase="post-call",
        direction=direction,
        their_number=other_side(direction, call.get("from"), call.get("to")),
        custom=(
            fields.members(call.get("metadata")),
            fields.members(call.get("request_data")),
            fields.members(variables.get("metadata")),
            variables,
        ),
        started_at=began,
        ended_at=_end(call, began),
        outcome=_outcome(call, spoke(lines.turns)),
        turns=lines.turns,
        prose=call.get("summary"),
        captured=fields.members(call.get("analysis")),
        disposition=call.get("disposition_tag"),
        agent=fields.first(call.get("pathway_id"), call.get("persona_id")),
        end_reason=fields.first(call.get("error_message"), call.get("call_ended_by")),
    )


def _end(call: Mapping[str, Any], began: datetime | None) -> datetime | None:
    """Start and length; `end_at` is only when it would have been cut."""
    seconds = fields.number(call.get("corrected_duration"))
    if seconds is None and (minutes := fields.number(call.get("call_length"))) is not None:
        seconds = minutes * 60
    if began is None or seconds is None or not 0 <= seconds <= LONGEST_CALL_SECONDS:
        return began
    return began + timedelta(milliseconds=int(seconds * 1_000 + Decimal("0.5")))


def _outcome(call: Mapping[str, Any], somebody_spoke: bool) -> str | None:
    answered = fields.label(call.get("answered_by")) or ""
    if answered.lower() in ANSWERED_BY:
        return ANSWERED_BY[answered.lower()]
    status = (fields.label(call.get("status")) or "").lower()
    if status in STATUSES:
        return STATUSES[status]
    if fields.label(call.get("transferred_to")) and somebody_spoke:
        return "transferred"
    if somebody_spoke:
        return "connected"
    return "failed" if fields.label(call.get("error_message")) else None


VENDOR: Final = Vendor(NAME, "voice", signatures.bland, parse)
