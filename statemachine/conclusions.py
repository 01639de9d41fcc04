"""The shapes of what is concluded about a borrower; computed by `state`, never stored as truth, never merged back.

Fields bear the names of the API and go out as they are. Money is a `Decimal` with its currency's decimals; times are aware and
in UTC; dates are plain dates.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Literal

import msgspec

Status = Literal["open", "paid", "closed", "unknown"]
PromiseOutcome = Literal["open", "kept", "partly_kept", "broken", "retracted", "replaced"]
STAGES = ("empty", "negotiation", "committed", "reminded", "link_shared", "paid")
"""The journey as ops sees it; an answer's stage is the last of these that holds (API 5)."""


class Conclusion(msgspec.Struct, frozen=True):
    """A value that never changes. Dozens are made whenever a record is understood, and a struct is made in a fraction of the
    time that a frozen dataclass takes."""


class Promise(Conclusion, frozen=True):
    """A commitment in a cycle (API 6, 7). Two or more candidates and no value: unsettled, to be read back."""

    promise_id: str
    status: Literal["proposed", "confirmed"]
    amount: Decimal | None
    currency: str | None
    due_date: date | None
    amount_candidates: tuple[Decimal, ...]
    due_date_candidates: tuple[date, ...]
    outcome: PromiseOutcome
    overdue: bool
    channel: str
    conversation_id: str
    at: datetime
    grounding: Literal["quoted", "unchecked"]
    quote: str | None = None
    said: str | None = None
    kept_amount: Decimal | None = None
    """What was paid towards it by the end of its due date."""
    replaced_at: datetime | None = None
    replaced_by: str | None = None


class Evidence(Conclusion, frozen=True):
    event_id: str
    at: datetime
    channel: str | None
    message_id: str | None
    outcome: str | None


class Flag(Conclusion, frozen=True):
    value: bool
    evidence: Evidence | None


NOT_YET = Flag(False, None)


class Claim(Conclusion, frozen=True):
    """ "I have paid": to be checked before asking again, never a payment."""

    amount: Decimal | None
    currency: str | None
    paid_on: date | None
    quote: str | None
    said: str | None
    channel: str
    conversation_id: str
    at: datetime


class Callback(Conclusion, frozen=True):
    at: datetime | None
    at_said: str | None
    quote: str | None
    channel: str
    conversation_id: str


class Payment(Conclusion, frozen=True):
    payment_ref: str
    event_id: str
    at: datetime
    amount: Decimal
    received: Decimal
    currency: str
    settles: bool
    disputed_amounts: tuple[Decimal, ...]
    """Other amounts that were stated for the same reference."""


CYCLE_TERMS = (
    "cycle_id", "loan_id", "attempt", "status", "opened_at", "due_date", "amount_due", "received", "outstanding", "currency",
)  # fmt: skip


class Cycle(Conclusion, frozen=True):
    """One due of one loan, or an implicit one before any opening: then `cycle_id` is null."""

    cycle_id: str | None
    loan_id: str | None
    attempt: int
    status: Status
    opened_at: datetime | None
    due_date: date | None
    amount_due: Decimal | None
    received: Decimal
    outstanding: Decimal | None
    currency: str
    stage: str
    promise: Promise | None
    """The promise in force; null at rung none."""
    counter_proposals: tuple[Promise, ...]
    history: tuple[Promise, ...]
    payment_claim: Claim | None
    reminded: Flag
    payment_link_shared: Flag
    payment_confirmed: Flag
    contact_made: bool
    informed: bool
    contact_attempts: int
    broken_at: tuple[datetime, ...]
    """When its counted breaks took effect: attempt n + 1 starts at the n-th."""
    payments: tuple[Payment, ...]
    attempted_at: dict[str, datetime]
    """By action, when a message of this attempt was last tried of which nothing else is known yet."""
    reports: tuple[str, ...]
    """The ids of the events that tell of this attempt's messages: they settle its permits, and no others do."""
    promise_overdue_at: datetime | None
    """When a promise in force that is not kept goes past its due date, in the borrower's zone; never once all is paid."""

    @property
    def terms(self) -> dict[str, object]:
        """What answers call the cycle (API 6)."""
        return {name: getattr(self, name) for name in CYCLE_TERMS}

    @property
    def is_over(self) -> bool:
        """Paid, closed or unknown: nobody is asked for money in it."""
        return self.status != "open"

    @property
    def rung(self) -> str:
        return self.promise.status if self.promise else "none"

    @property
    def promise_stands(self) -> bool:
        """Not broken, not kept, its due date not past (DESIGN 8)."""
        return self.promise is not None and self.promise.outcome in ("open", "partly_kept") and not self.promise.overdue


class Identity(Conclusion, frozen=True):
    holds: bool
    verified_at: datetime | None
    expires_at: datetime | None
    method: str | None
    channel: str | None


NO_IDENTITY = Identity(False, None, None, None, None)


class KnownIdentifier(Conclusion, frozen=True):
    kind: str
    value: str
    verified_at: datetime | None
    expires_at: datetime | None


class Hold(Conclusion, frozen=True):
    kind: str
    reason: str | None
    loan_id: str | None
    placed_at: datetime
    until: datetime | None


class OptOut(Conclusion, frozen=True):
    channel: str
    purpose: str
    at: datetime


class KnownFact(Conclusion, frozen=True):
    fact_id: str
    kind: str
    text: str
    about: str
    source: Literal["stated", "inferred"]
    volatility: str
    observed_at: datetime
    expires_at: datetime | None
    conversation_id: str | None
    quote: str | None = None
    grounding: str = "unchecked"


class Conversation(Conclusion, frozen=True):
    """A conversation by its highest revision; `prose` while it is among the newest that are kept in words."""

    channel: str
    conversation_id: str
    event_id: str
    revision: int
    at: datetime
    outcome: str | None
    contact: bool
    disposition: str | None
    reached: str | None
    step: str | None
    third_party: str | None
    direction: str | None
    language: str | None
    agent: str | None
    resume_id: str | None
    entered_state: str | None
    prose: str | None
    amounts: tuple[Decimal, ...]
    loan_id: str | None
    cycle_id: str | None
    claiming: str | None = None
    """Prose that passes on decisions, in the place of `prose`: told by nobody who has not checked them (DESIGN 12)."""
    held_back: int = 0
    """So many of its sentences a person withheld; they are in neither."""


class WithheldText(Conclusion, frozen=True):
    """A text that a person withheld from every reader. Who and why are null when they were forgotten."""

    text: str
    by: str | None
    why: str | None
    at: datetime
    event_id: str


class StartedConversation(Conclusion, frozen=True):
    """Begun, and no summary has followed."""

    channel: str
    conversation_id: str
    event_id: str
    at: datetime
    direction: str | None
    loan_id: str | None
