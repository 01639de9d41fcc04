"""Twilio's WhatsApp: inbound messages and status callbacks, one form each (VENDORS B.3).

A body tells no time: its arrival counts. `OptOutType` is the provider's own word that somebody opted out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import Delivery, Item, Vendor, each
from channels.whatsapp.said import Said, item, people, status
from channels.wishes import Wish

NAME: Final = "twilio"
OUTCOMES: Final = {
    "sent": "sent", "delivered": "delivered", "read": "read", "failed": "failed", "undelivered": "failed",
}  # fmt: skip
GOING_ON: Final = ("accepted", "scheduled", "queued", "sending", "receiving", "canceled")
WISHES: Final[Mapping[str, Wish]] = {"STOP": ("stop", "collections"), "START": ("start", "collections")}


def parse(delivery: Delivery) -> list[Item]:
    """The one item of a callback."""
    return each(NAME, [delivery.document()], lambda form, at: [_item(form, at, delivery)])


def _item(form: Mapping[str, Any], at: str, delivery: Delivery) -> Item:
    id_ = fields.an_id(fields.first(form.get("MessageSid"), form.get("SmsMessageSid"), form.get("SmsSid")))
    word = (fields.label(fields.first(form.get("MessageStatus"), form.get("SmsStatus"))) or "?").lower()
    if "MessageStatus" in form and word != "received":
        key = f"{NAME}:msg:{id_}:{word}" if id_ else at
        if word not in OUTCOMES:
            notes = () if word in GOING_ON else ("unknown_status",)
            return Item(key, ignored=f"no outcome: {word}", notes=notes)
        return status(key, [id_], OUTCOMES[word], delivery.received_at, people(delivery, form.get("To")))
    if "From" not in form and "WaId" not in form:
        return Item(at, ignored="no message")
    return item(_said(form, id_, at, delivery))


def _said(form: Mapping[str, Any], id_: str | None, at: str, delivery: Delivery) -> Said:
    said = Said(
        provider=NAME,
        key=f"{NAME}:msg:{id_}" if id_ else at,
        message_id=id_,
        people=people(delivery, fields.first(form.get("From"), form.get("WaId")), form.get("ExternalUserId")),
        at=delivery.received_at,
        text=fields.text(form.get("Body")),
        answers=fields.an_id(form.get("OriginalRepliedMessageSid")),
        wish=WISHES.get(str(form.get("OptOutType")).upper()),
    )
    if payload := fields.label(fields.first(form.get("ButtonPayload"), form.get("ListId"))):
        said.kind, said.choice = "button", payload
    elif (fields.number(form.get("NumMedia")) or 0) > 0:
        said.kind, said.media = "media", (fields.label(form.get("MediaContentType0")) or "media").partition("/")[0]
    elif form.get("Latitude"):
        said.kind, said.media, said.text = "media", "location", None
    return said


VENDOR: Final = Vendor(NAME, "whatsapp", signatures.twilio, parse)
