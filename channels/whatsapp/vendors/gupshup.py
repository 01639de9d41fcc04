"""Gupshup: its own form (version 2), and Meta's passed through (version 3) (VENDORS B.3).

A notice about a message of ours names it by Gupshup's id (`gsId`) and later by WhatsApp's as well; either may be what our
sender knows. Times inside a notice are seconds, outside milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import Delivery, Item, Vendor, each
from channels.whatsapp.said import Said, item, people, status, wished
from channels.whatsapp.vendors.meta import parse_document

NAME: Final = "gupshup"
OUTCOMES: Final = {
    "enqueued": "attempted", "sent": "sent", "delivered": "delivered", "read": "read", "failed": "failed", "mismatched": "failed",
}  # fmt: skip
MEDIA: Final = ("image", "file", "audio", "video", "contact", "location", "sticker")
BUTTONS: Final = ("button_reply", "list_reply", "quick_reply", "button")


def parse(delivery: Delivery) -> list[Item]:
    """The items of one notice, or of a post in Meta's form."""
    document = delivery.document()
    if "entry" in document:
        return parse_document(document, delivery, NAME)
    return each(NAME, [document], lambda notice, at: [_item(notice, at, delivery)])


def _item(notice: Mapping[str, Any], at: str, delivery: Delivery) -> Item:
    payload = fields.members(notice.get("payload"))
    match notice.get("type"):
        case "message":
            return _message(notice, payload, at, delivery)
        case "message-event":
            return _status(notice, payload, at, delivery)
        case "user-event":
            return _wish(notice, payload, at, delivery)
        case other:
            return Item(at, ignored=f"no notice for us: {fields.label(other) or '?'}")


def _message(notice: Mapping[str, Any], payload: Mapping[str, Any], at: str, delivery: Delivery) -> Item:
    sender, own = fields.members(payload.get("sender")), fields.members(payload.get("payload"))
    id_, kind = fields.an_id(payload.get("id")), fields.label(payload.get("type")) or "?"
    said = Said(
        provider=NAME,
        key=f"wa:msg:{id_}" if id_ else at,
        message_id=id_,
        people=people(delivery, fields.first(sender.get("phone"), payload.get("source")), sender.get("userId")),
        at=fields.epoch(notice.get("timestamp"), fields.MILLISECONDS) or delivery.received_at,
        answers=fields.an_id(fields.first(fields.at(payload, "context", "id"), fields.at(payload, "context", "gsId"))),
    )
    if kind == "reaction":
        return Item(said.key, ignored="says nothing: reaction")
    if kind == "text":
        said.text = fields.text(own.get("text"))
    elif kind in BUTTONS:
        said.kind, said.text = "button", fields.text(fields.first(own.get("title"), own.get("text")))
        said.choice = fields.label(
            fields.first(own.get("postbackText"), own.get("id"), own.get("reply"), own.get("text"))
        )
    else:
        said.kind, said.media = "media", kind if kind in MEDIA else "unreadable"
        said.text = fields.text(own.get("caption")) if kind in MEDIA else None
    return item(said)


def _status(notice: Mapping[str, Any], payload: Mapping[str, Any], at: str, delivery: Delivery) -> Item:
    word = fields.label(payload.get("type")) or "?"
    ids = [fields.an_id(payload.get(name)) for name in ("gsId", "id")] + [
        fields.an_id(fields.at(payload, "payload", "whatsappMessageId"))
    ]
    key = f"{NAME}:status:{ids[1] or ids[0]}:{word}" if ids[0] or ids[1] else at
    if word not in OUTCOMES:
        return Item(key, ignored=f"no outcome: {word}", notes=("unknown_status",))
    inner = fields.epoch(fields.at(payload, "payload", "ts"), fields.SECONDS)
    when = inner or fields.epoch(notice.get("timestamp"), fields.MILLISECONDS) or delivery.received_at
    return status(key, ids, OUTCOMES[word], when, people(delivery, payload.get("destination")))


def _wish(notice: Mapping[str, Any], payload: Mapping[str, Any], at: str, delivery: Delivery) -> Item:
    """A borrower who opted out or in at the provider."""
    word, them = fields.label(payload.get("type")) or "?", people(delivery, payload.get("phone"))
    when = fields.epoch(notice.get("timestamp"), fields.MILLISECONDS) or delivery.received_at
    key = f"{NAME}:user:tel:{them[0][1] if them else '?'}:{word}:{fields.label(notice.get('timestamp'))}"
    if word not in ("opted-out", "opted-in"):
        return Item(key, ignored=f"no notice for us: {word}")
    if not them:
        return Item(at, aside="a preference of nobody")
    return Item(key, bodies=(wished(key, ("stop" if word == "opted-out" else "start", "collections"), them, when),))


VENDOR: Final = Vendor(NAME, "whatsapp", signatures.unsigned, parse, needs_secret=False)
