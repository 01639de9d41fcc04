"""Exotel: status callbacks of a call, and the Passthru applet's GET (VENDORS A.8).

Everything is the carrier's word about a leg: `completed` is an attempt without an outcome, for the carrier does not know who
spoke. Times have no zone and are Indian, numbers are national; `CustomField` is the one reliable link back. A Passthru is
asked for while the call goes on: its end is a filler of 1970, and its digits come in quote marks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import Delivery, Item, Vendor, each
from channels.voice.call import Told, direction_of, other_side, report, started

NAME: Final = "exotel"
ZONE: Final = "Asia/Kolkata"
ENDED: Final[Mapping[str, str | None]] = {
    "completed": None,
    "busy": "busy",
    "no-answer": "no_answer",
    "failed": "failed",
    "canceled": "failed",
}


def parse(delivery: Delivery) -> list[Item]:
    """The one item of a callback, or of a Passthru's query."""
    return each(NAME, [delivery.document()], lambda document, _: [_item(document, delivery)])


def _item(call: Mapping[str, Any], delivery: Delivery) -> Item:
    event = (fields.label(call.get("EventType")) or "").lower()
    status = (fields.label(fields.first(call.get("Status"), call.get("CallStatus"))) or "").lower()
    if event == "terminal" or (not event and status in ENDED and "CallFrom" not in call):
        return report(_told(call, delivery, event or "terminal", status), delivery)
    if event == "answered" or "CallFrom" in call:
        return started(_told(call, delivery, event or "passthru", status), delivery)
    return Item(
        f"{NAME}:call:{fields.an_id(call.get('CallSid'))}:{event or status}", ignored="no callback of an ended call"
    )


def _told(call: Mapping[str, Any], delivery: Delivery, phase: str, status: str) -> Told:
    zone = delivery.zone or ZONE
    direction = direction_of(call.get("Direction"))
    from_ = fields.first(call.get("From"), call.get("CallFrom"))
    to = fields.first(call.get("To"), call.get("CallTo"))
    custom = call.get("CustomField")
    linked = fields.members(custom) or ({"borrower_id": custom} if isinstance(custom, str) else {})
    digits = fields.label(call.get("digits"))
    return Told(
        vendor=NAME,
        conversation_id=fields.an_id(call.get("CallSid")),
        phase=phase,
        direction=direction,
        their_number=other_side(direction, from_, to),
        custom=(linked,),
        started_at=fields.iso(call.get("StartTime"), zone),
        ended_at=fields.iso(call.get("EndTime"), zone) or fields.iso(call.get("DateUpdated"), zone),
        outcome=ENDED.get(status),
        end_reason=status or None,
        extra={
            "talk_seconds": fields.first(call.get("ConversationDuration"), call.get("DialCallDuration")),
            "digits": digits.strip('"') if digits else None,
        },
        notes=() if status in ENDED or phase != "terminal" else ("unknown_end",),
    )


VENDOR: Final = Vendor(NAME, "voice", signatures.unsigned, parse, needs_secret=False, get="delivery")
