"""A borrower's message as a provider told it, brought to one form: what the providers of WhatsApp share.

A stop or a start that is a whole message is a hard event beside the message (DESIGN 5). Who wrote it is a number where there is
one, else a business-scoped id; a message of nobody is kept for nobody, and set aside. A provider's module says where things
stand; this file knows no provider.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from channels import fields
from channels.delivery import NOBODY, Delivery, Item, Status, fitting, phone
from channels.messages import ChatMessage, MessageKind, Speaker
from channels.whatsapp.words import caption, choice
from channels.wishes import Wish, asked
from statemachine.entries import ContactOptedIn, ContactOptedOut, Identifier

CHANNEL: Final = "whatsapp"
WORDED: Final = ("text", "button", "edit", "media")
"""Kinds of messages that the borrower's own words come with: a caption, and what a message was edited into, say stop as well."""
_OURS: Final = re.compile(r"(reminder|link):([^:\s]{1,128}):([^:\s]{1,128})")
_INTERNAL: Final = re.compile(r"[^\s@:]+@[A-Za-z0-9.-]+|\d{15,30}", re.ASCII)
_PURPOSES: Final = {"reminder": "reminder.sent", "link": "payment_link.shared"}


@dataclass(slots=True)
class Said:
    """One message. `people` are the identifiers of whoever is on the other side, a number first."""

    provider: str
    key: str
    message_id: str | None
    people: tuple[tuple[str, str], ...]
    at: datetime
    text: str | None = None
    kind: MessageKind = "text"
    speaker: Speaker = "borrower"
    replaces: str | None = None
    answers: str | None = None
    media: str | None = None
    choice: str | None = None
    conversation_id: str | None = None
    wish: Wish | None = None
    """A stop or start that the provider itself tells."""


def people(delivery: Delivery, number: object, bsuid: object = None) -> tuple[tuple[str, str], ...]:
    """The identifiers of one person: the number where it can be one and is not ours, then the business-scoped id.

    An internal id of the messenger in the number's place is no number (DESIGN 7), and known as what it is.
    """
    found = phone(number, delivery)
    scoped = fields.an_id(bsuid)
    internal = (
        fields.an_id(number)
        if found is None and isinstance(number, str) and _INTERNAL.fullmatch(number.strip())
        else None
    )
    return (
        ((("phone", found.value),) if found else ())
        + ((("messenger", internal),) if internal else ())
        + ((("bsuid", scoped),) if scoped else ())
    )


def item(said: Said) -> Item:
    """The message, and the hard event that it is by itself."""
    if said.message_id is None:
        return Item(said.key, aside="the message has no usable id")
    if not said.people:
        return Item(said.key, aside=NOBODY)
    chosen = choice(said.choice)
    words = said.text or ""
    disposition = chosen.disposition or (caption(said.text) if said.kind == "media" else None)
    message = ChatMessage(
        provider=said.provider,
        channel=CHANNEL,
        message_id=said.message_id,
        speaker=said.speaker,
        text=words,
        at=said.at,
        kind=said.kind,
        identifier=said.people[0],
        also=said.people[1:],
        conversation_id=said.conversation_id,
        replaces=said.replaces,
        answers=said.answers,
        media=said.media,
        choice=said.choice,
        disposition=disposition,
        due_date=chosen.due_date,
    )
    wish = said.wish
    if wish is None and said.speaker == "borrower" and said.kind in WORDED:
        wish = asked(words) or asked(said.choice)
    bodies = (wished(said.key, wish, said.people, said.at),) if wish else ()
    return Item(said.key, bodies=bodies, messages=(message,))


def wished(key: str, wish: Wish, of: Sequence[tuple[str, str]], at: datetime) -> ContactOptedOut | ContactOptedIn:
    """A stop, or its end, as a hard event."""
    what, purpose = wish
    common: dict[str, Any] = {
        "event_id": fitting(f"{key}:{what}"),
        "occurred_at": at,
        "channel": CHANNEL,
        "purpose": purpose,
        "identifier": Identifier(kind=of[0][0], value=of[0][1]),
    }
    if what == "stop":
        return ContactOptedOut(type="contact.opted_out", **common)
    return ContactOptedIn(type="contact.opted_in", **common)


def status(
    key: str, ids: Sequence[str | None], outcome: str, at: datetime, of: Sequence[tuple[str, str]], ours: object = None
) -> Item:
    """What became of a message of ours; `ours` is our own text that came back, `reminder|link:LOAN:CYCLE`."""
    found = tuple(dict.fromkeys(id_ for id_ in ids if id_))
    if not found:
        return Item(key, aside="the status has no usable id of its message")
    told = _OURS.fullmatch(ours.strip()) if isinstance(ours, str) else None
    if told is None:
        return Item(key, status=Status(found, outcome, at, of[0] if of else None))
    purpose: Any = _PURPOSES[told[1]]
    return Item(key, status=Status(found, outcome, at, of[0] if of else None, purpose, told[2], told[3]))
