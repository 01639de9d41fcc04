"""One line of a chat, as every messenger's adapter tells it and as an open chat is built from it (DESIGN 5).

The adapters make these from vendors' bodies, the service from `conversation.message`. Whose they are (the tenant) comes
with the credential and never with the message. This file knows no vendor, no storage and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

MessageKind = Literal["text", "media", "button", "edit", "revoke"]
Speaker = Literal["borrower", "agent"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of the borrower's or of our side, or a change to one.

    `edit` and `revoke` are about the message in `replaces`, which may arrive later; an edit's `text` takes the place of the
    original's, a revoked text is shown nowhere any more. A button's `text` is its title, which is translated; what was
    chosen stands in `choice`. A picture's `text` is its caption, and a voice note has none until somebody transcribes it.
    """

    provider: str
    """The hook's vendor (`meta`, `gupshup`, ...), or `api` when it was posted."""
    channel: str
    message_id: str
    """Unique for a tenant and provider; an id that holds a phone number is its keyed hash already (API 11)."""
    speaker: Speaker
    text: str
    at: datetime
    """When it was written, UTC; its arrival where the vendor tells no time."""
    kind: MessageKind = "text"
    identifier: tuple[str, str] | None = None
    """Kind and value of API 1, a phone in canonical form where there is one, else a business-scoped id."""
    also: tuple[tuple[str, str], ...] = ()
    """Further identifiers of the same person that the vendor named beside it; they link nothing by themselves."""
    borrower_id: str | None = None
    loan_id: str | None = None
    conversation_id: str | None = None
    """None when the vendor has no sessions: then the open chat of this borrower on this channel."""
    replaces: str | None = None
    answers: str | None = None
    """The id of the message that it replies to, when the vendor says so; hashed like `message_id`."""
    media: str | None = None
    """Of kind `media`: `image`, `audio`, `location`, `unreadable`, ...: what it is, never what it shows."""
    choice: str | None = None
    """Of kind `button`: the id of what was chosen."""
    disposition: str | None = None
    """What the choice or the caption stands for, by our own table: `PTP`, `PAID_CLAIMED`, `INABILITY_JOB_LOSS`, ..."""
    due_date: date | None = None
    """The day that a choice names (`pay_on_2026-11-25`)."""
