"""The answer of a resume as whoever starts a conversation reads it: every field, each of its type, none left out (API 6).

What an agent starts from has often passed a relay: a dialler, a queue, a webhook of its own. A relay that copies a list of
fields drops the one that it does not know, and every call then starts cold while all looks well (AC-76). So the answer is read
as a whole: `read` names the first things that are missing, and nothing is started from half an answer.

It knows no vendor, no channel's flow and no storage. The service says the same shape in its document of the calls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

FIELDS_NAMED: Final = 5

Text = Annotated[str, Field(min_length=1)]
Answered = Literal["yes", "no"]


class IncompleteAnswer(ValueError):
    """An answer that lacks a field or holds another type; its sentence names up to five of them, and no value."""


class _Part(BaseModel):
    """A later version of the service may tell more; what is told here is always there."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Refusal(_Part):
    rule: str
    message: str


class Identity(_Part):
    holds: bool
    verified_at: datetime | None
    expires_at: datetime | None
    method: str | None
    channel: str | None


class Contact(_Part):
    """May they be contacted on this channel now; of an agent that places calls the first thing to look at."""

    allowed: bool
    reasons: tuple[str, ...]
    next_allowed_at: datetime | None
    time_zone: str


class Cycle(_Part):
    cycle_id: str | None
    loan_id: str | None
    attempt: int
    status: Literal["open", "paid", "closed", "unknown"]
    opened_at: datetime | None
    due_date: date | None
    amount_due: Decimal | None
    received: Decimal
    outstanding: Decimal | None
    currency: str


class Promised(_Part):
    promise_id: str
    status: Literal["proposed", "confirmed"]
    amount: Decimal | None
    currency: str | None
    due_date: date | None
    amount_candidates: tuple[Decimal, ...]
    due_date_candidates: tuple[date, ...]
    outcome: str
    overdue: bool
    channel: str
    conversation_id: str
    at: datetime
    grounding: Literal["quoted", "unchecked"]


class Claimed(_Part):
    amount: Decimal | None
    currency: str | None
    paid_on: date | None
    channel: str
    conversation_id: str
    at: datetime


class Appointment(_Part):
    at: datetime | None
    at_said: str | None
    channel: str
    conversation_id: str


class Hold(_Part):
    kind: str
    reason: str | None
    loan_id: str | None
    placed_at: datetime
    until: datetime | None


class OpenConversation(_Part):
    channel: str
    conversation_id: str
    since: datetime
    last_message_at: datetime | None
    last_speaker: str | None


class Flags(_Part):
    reminded: bool
    payment_link_shared: bool
    payment_confirmed: bool


class PreviousStep(_Part):
    text: str
    language: str
    speakable: bool


class Vars(_Part):
    """What templates of voice platforms read: texts, none of them empty, none of them missing."""

    found: Answered
    borrower_id: Text
    loan_id: Text
    other_loans: Text
    state: Text
    step: Text
    after_identity: Text
    identity_verified: Answered
    promise_status: Literal["none", "proposed", "confirmed"]
    promise_amount: Text
    promise_currency: Text
    promise_due_date: Text
    promise_overdue: Answered
    counter_proposal: Text
    payment_claimed: Answered
    reminded: Answered
    payment_link_shared: Answered
    payment_confirmed: Answered
    amount_received: Text
    amount_outstanding: Text
    contact_allowed: Answered
    contact_reason: Text
    on_hold: Answered
    language: Text
    speakable: Answered
    narrative: Text
    degraded: Answered


class Resumed(_Part):
    """Where a conversation starts and what is known for it. Times are UTC, amounts decimals with `currency` beside them."""

    resume_id: Text
    found: bool
    borrower_id: str | None
    loan_id: str | None
    other_loans: tuple[str, ...]
    state: str | None
    step: str | None
    after_identity: str | None
    source: Literal["classifier", "position", "cold_start"]
    position: str | None
    proposed: str | None
    proposed_by: Literal["caller", "model", "rules"] | None
    fallback: str | None
    refusals: tuple[Refusal, ...]
    identity: Identity
    contact: Contact
    cycle: Cycle | None
    commitment: Promised | None
    counter_proposals: tuple[Promised, ...]
    payment_claim: Claimed | None
    callback: Appointment | None
    holds: tuple[Hold, ...]
    open_conversations: tuple[OpenConversation, ...]
    flags: Flags
    previous_step: PreviousStep | None
    vars: Vars
    record_version: int | None
    as_of: datetime
    degraded: bool
    degraded_reason: str | None

    @property
    def variables(self) -> dict[str, str]:
        """The flat map, in the order of the contract."""
        return self.vars.model_dump()

    @property
    def stamps(self) -> dict[str, str]:
        """What a conversation takes along to say what it started from, and as of when; texts like the variables."""
        return {
            "resume_id": self.resume_id,
            "record_version": "none" if self.record_version is None else str(self.record_version),
            "as_of": self.as_of.isoformat().replace("+00:00", "Z"),
        }


def read(answer: Mapping[str, Any] | str | bytes) -> Resumed:
    """The answer, as a document or as the JSON that came. Raises `IncompleteAnswer`.

    Strictly: a relay that made `yes` of true, or text of a number, has changed what is read by it.
    """
    raw = answer if isinstance(answer, str | bytes) else json.dumps(answer)
    try:
        return Resumed.model_validate_json(raw, strict=True)
    except ValidationError as wrong:
        found = [
            f"{'.'.join(map(str, error['loc'])) or 'the answer'} ({error['type']})"
            for error in wrong.errors(include_url=False, include_input=False)
        ]
        more = f" and {len(found) - FIELDS_NAMED} more" if len(found) > FIELDS_NAMED else ""
        raise IncompleteAnswer(f"not a whole answer of resume: {', '.join(found[:FIELDS_NAMED])}{more}") from None
