"""Ids of messages that hold somebody's number are known by their keyed hash only, whoever posts them (API 11).

A WhatsApp id (`wamid.`) is base64 around the other party's digits; one that holds none stays as it was posted. Everything that
takes a message's id passes it through here first, so that the same message has the same id in a posted event, in a provider's
status and in a chat.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Final, TypeVar

from statemachine.entries import ConversationMessage, Event, Message, Summary

KeyedHash = Callable[[str, str], str]
DIGITS: Final = 32
_WHATSAPP_ID: Final = re.compile(r"wamid\.([A-Za-z0-9+/=_-]+)", re.ASCII)
_NUMBER: Final = re.compile(rb"\d{7}")  # the shortest of anybody's, with its country
_STANDARD: Final = str.maketrans("-_", "+/", "=")
_QUARTET: Final = 4  # signs of base64 that are three bytes
_NAMED_NUMBER: Final = re.compile(r"tel:[^:]+")

B = TypeVar("B", Summary, Event, Summary | Event)


def hashed(text: str, keyed_hash: KeyedHash) -> str:
    """An id or key in which every WhatsApp id, and every number marked `tel:`, is its keyed hash."""
    if "wamid." not in text and "tel:" not in text:
        return text
    text = _WHATSAPP_ID.sub(
        lambda found: f"wamid:{keyed_hash(found[0], 'message')[:DIGITS]}" if _holds_a_number(found[1]) else found[0],
        text,
    )
    return _NAMED_NUMBER.sub(lambda found: f"tel-{keyed_hash(found[0], 'number')[:DIGITS]}", text)


def without_numbers(body: B, keyed_hash: KeyedHash) -> B:
    """The body with its message's id hashed, if it has one that holds a number."""
    changed: dict[str, str] = {}
    if isinstance(body, Message | ConversationMessage) and "wamid." in body.message_id:
        changed["message_id"] = hashed(body.message_id, keyed_hash)
    if isinstance(body, ConversationMessage) and body.replaces and "wamid." in body.replaces:
        changed["replaces"] = hashed(body.replaces, keyed_hash)
    return body.model_copy(update=changed) if changed else body


def _holds_a_number(encoded: str) -> bool:
    """Whether digits stand in it, as they are or in base64, from whichever sign on."""
    if _NUMBER.search(encoded.encode()):
        return True
    signs = encoded.translate(_STANDARD)
    for start in range(_QUARTET):
        rest = signs[start:]
        if _NUMBER.search(base64.b64decode(rest + "A" * (-len(rest) % _QUARTET))):
            return True
    return False
