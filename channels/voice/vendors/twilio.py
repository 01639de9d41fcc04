"""Twilio voice: status callbacks of a leg, and the action callback of ConversationRelay (VENDORS A.7).

    provider's word   CallStatus, AnsweredBy, SequenceNumber, Timestamp
    a model's word    HandoffData.outcome: evidence, never a hard event

`completed` says that the leg ended, not that anybody spoke: an attempt without an outcome. The relay's report of the same
call is a higher revision of it. It tells no time: that of the leg counts where it came before, else its arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import Delivery, Item, Vendor, each
from channels.voice.call import Lines, Told, direction_of, other_side, report, started

NAME: Final = "twilio"
ENDED: Final[Mapping[str, str | None]] = {
    "completed": None,
    "busy": "busy",
    "no-answer": "no_answer",
    "failed": "failed",
    "canceled": "failed",
}
SPEAKERS: Final = {"user": "borrower", "assistant": "agent", "borrower": "borrower", "agent": "agent"}


def parse(delivery: Delivery) -> list[Item]:
    """The one item of a callback."""
    return each(NAME, [delivery.document()], lambda document, _: [_item(document, delivery)])


def _item(form: Mapping[str, Any], delivery: Delivery) -> Item:
    status = (fields.label(form.get("CallStatus")) or "?").lower()
    if form.get("SessionId"):
        return report(_relay(form), delivery)
    told = _leg(form, status)
    if form.get(
        "ParentCallSid"
    ):  # whoever a call is put through to may be ours, and is in no case told from the borrower
        return Item(told.key, ignored="a leg of another call")
    if status in ENDED:
        return report(told, delivery)
    if status == "in-progress":
        return started(told, delivery)
    return Item(told.key, ignored=f"a leg that goes on: {status}" if form.get("CallSid") else "no callback of a call")


def _leg(form: Mapping[str, Any], status: str) -> Told:
    direction = direction_of(form.get("Direction"))
    machine = (fields.label(form.get("AnsweredBy")) or "").lower()
    outcome = ENDED.get(status)
    if outcome is None and machine.startswith(("machine", "fax")):
        outcome = "voicemail"
    sequence = fields.label(form.get("SequenceNumber"))
    return Told(
        vendor=NAME,
        conversation_id=fields.an_id(form.get("CallSid")),
        phase=f"{sequence}:{status}" if sequence else status,
        direction=direction,
        their_number=other_side(direction, form.get("From"), form.get("To")),
        custom=(form,),
        ended_at=fields.rfc2822(form.get("Timestamp")) if status in ENDED else None,
        started_at=fields.rfc2822(form.get("Timestamp")) if status not in ENDED else None,
        outcome=outcome,
        end_reason=status,
        extra={"answered_by": machine or None},
    )


def _relay(form: Mapping[str, Any]) -> Told:
    direction = direction_of(form.get("Direction"))
    handed = fields.members(form.get("HandoffData"))
    session = fields.an_id(form.get("SessionId"))
    status = (fields.label(form.get("SessionStatus")) or "ended").lower()
    lines = Lines()
    for turn in fields.listed(handed.get("turns")):
        speaker = SPEAKERS.get(str(fields.first(fields.at(turn, "role"), fields.at(turn, "speaker"))))
        if speaker is not None:
            said = fields.first(fields.at(turn, "content"), fields.at(turn, "text"))
            lines.say(speaker, said, fields.iso(fields.at(turn, "at")))
    captured = fields.members(handed.get("outcome"))
    return Told(
        vendor=NAME,
        conversation_id=fields.an_id(form.get("CallSid")) or session,
        inner_id=session,
        kind="relay",
        phase=status,
        revision=2,
        direction=direction,
        their_number=other_side(direction, form.get("From"), form.get("To")),
        custom=(handed, fields.members(handed.get("custom_parameters"))),
        ended_at=None,
        outcome="failed" if status == "failed" else "connected" if captured else None,
        turns=lines.turns,
        prose=handed.get("summary"),
        captured=captured,
        end_reason=status,
        extra={"session_id": session},
    )


VENDOR: Final = Vendor(NAME, "voice", signatures.twilio, parse)
