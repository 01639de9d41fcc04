"""What can arrive: summaries and hard events, exactly as they are posted, and the entry that carries one through the log.

A summary was *said* (by a model, after a conversation); a hard event *happened* (told by the system that did it). They
share nothing but the common fields: a summary has no field that could set a flag. The entry adds what intake stamps
once: when it arrived, whose it is, what its words mean. This file knows no storage, no clock and no channel's flow.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from statemachine.wire import (
    ID_CHARACTERS,
    IDENTIFIER_KINDS,
    TURNS,
    Amount,
    AmountAsSaid,
    BorrowerId,
    Channel,
    ChannelOrAll,
    Confidence,
    Currency,
    CurrencyAsSaid,
    Day,
    DayAsSaid,
    Direction,
    Extra,
    Flag,
    Frozen,
    HoldKind,
    Id,
    Instant,
    Label,
    MessageOutcome,
    Method,
    Modality,
    Name,
    Outcome,
    Person,
    Prose,
    Purpose,
    Reason,
    Revision,
    Rung,
    Speaker,
    Text,
    above_zero,
    bounded,
    one_of,
)

# -- a summary -----------------------------------------------------------------------------------------------


class Identifier(Frozen):
    """What leads to a borrower: a number, a business-scoped id, an e-mail, a CRM id."""

    kind: Annotated[str, one_of(*IDENTIFIER_KINDS)]
    value: Annotated[str, bounded(ID_CHARACTERS * 2)]


class Commitment(Frozen):
    """A promise as a channel's model captured it (API 3)."""

    amount: AmountAsSaid | None = None
    currency: CurrencyAsSaid | None = None
    due_date: DayAsSaid | None = None
    status: Rung | None = None
    amount_said: Text | None = None
    due_date_said: Text | None = None
    quote: Text | None = None
    read_back: Flag = False

    @property
    def is_empty(self) -> bool:
        """Nothing was captured: no terms, no words and no status, or the status that says so."""
        captured = (self.amount, self.due_date, self.status, self.amount_said, self.due_date_said, self.quote)
        return self.status == "none" or not any(captured)


class PaymentClaim(Frozen):
    """ "I have already paid": told to agents, sets no flag (DESIGN 4.10)."""

    amount: AmountAsSaid | None = None
    currency: CurrencyAsSaid | None = None
    paid_on: DayAsSaid | None = None
    paid_on_said: Text | None = None
    quote: Text | None = None


class Callback(Frozen):
    """An appointment they asked for."""

    at: Instant | None = None
    at_said: Text | None = None
    quote: Text | None = None


class Fact(Frozen):
    """Something a model inferred about the borrower, with the words it rests on."""

    kind: Label
    text: Text
    confidence: Confidence
    quote: Text | None = None
    about: Label | None = None


class Turn(Frozen):
    """One line of a conversation; an agent's may name the tools it was answered from and when those were read."""

    speaker: Speaker
    text: Text
    at: Instant | None = None
    tools: list[Name] = Field(default_factory=list)
    observed_at: Instant | None = None


class Named(Frozen):
    """Who it is about: at least one of the three (API 1)."""

    borrower_id: BorrowerId | None = None
    identifier: Identifier | None = None
    loan_id: Id | None = None


class Summary(Named):
    """What a channel says when a conversation ends: evidence, never authority (DESIGN 1, API 3)."""

    event_id: Id | None = None
    cycle_id: Id | None = None
    channel: Channel
    modality: Modality | None = None
    direction: Direction | None = None
    conversation_id: Id
    revision: Revision = 1
    started_at: Instant | None = None
    ended_at: Instant
    outcome: Outcome | None = None
    disposition: Label | None = None
    reached: Name | None = None
    summary: Prose | None = None
    commitment: Commitment | None = None
    payment_claim: PaymentClaim | None = None
    third_party: Person | None = None
    callback: Callback | None = None
    facts: list[Fact] = Field(default_factory=list)
    turns: Annotated[list[Turn], Field(max_length=TURNS)] = Field(default_factory=list)
    language: Name | None = None
    agent: Name | None = None
    resume_id: Name | None = None
    entered_state: Name | None = None
    extra: Extra | None = None

    @property
    def id(self) -> str:
        """The event id, by default `channel:conversation_id:revision`."""
        return self.event_id or f"{self.channel}:{self.conversation_id}:{self.revision}"

    @property
    def is_speech(self) -> bool:
        """Ceilings follow the modality, which defaults by channel (API 3)."""
        return (self.modality or ("speech" if self.channel == "voice" else "text")) == "speech"


# -- hard events ---------------------------------------------------------------------------------------------


class Event(Named):
    """What every hard event has (API 4)."""

    senders: ClassVar[str] = ""
    """Who may send it, by the letters of API 4: A agent, L ledger, O ops."""

    event_id: Id
    type: str
    occurred_at: Instant
    cycle_id: Id | None = None
    channel: Channel | None = None
    conversation_id: Id | None = None
    extra: Extra | None = None

    @property
    def id(self) -> str:
        return self.event_id


class IdentityVerified(Event):
    senders = "ALO"
    type: Literal["identity.verified"]
    identifier: Identifier
    method: Method


class IdentityRevoked(Event):
    senders = "AO"
    type: Literal["identity.revoked"]
    reason: Reason


class Message(Event):
    """A message of ours, at one of its outcomes."""

    senders = "A"
    channel: Channel
    message_id: Id
    outcome: MessageOutcome


class ReminderSent(Message):
    type: Literal["reminder.sent"]


class PaymentLinkShared(Message):
    type: Literal["payment_link.shared"]


class PaymentConfirmed(Event):
    senders = "L"
    type: Literal["payment.confirmed"]
    payment_ref: Id
    amount: Amount
    currency: Currency
    settles: Flag = False

    @model_validator(mode="after")
    def _is_money(self) -> PaymentConfirmed:
        above_zero("amount", self.amount, self.currency)
        return self


class PaymentReversed(Event):
    senders = "L"
    type: Literal["payment.reversed"]
    payment_ref: Id
    reason: Annotated[str, one_of("bounced", "refunded", "chargeback", "correction")]
    amount: Amount | None = None
    currency: Currency | None = None


class PromiseBroken(Event):
    senders = "L"
    type: Literal["promise.broken"]
    due_date: Day | None = None


class PromiseRetracted(Event):
    senders = "O"
    type: Literal["promise.retracted"]
    reason: Reason


class CycleOpened(Event):
    senders = "L"
    type: Literal["cycle.opened"]
    borrower_id: BorrowerId
    cycle_id: Id
    loan_id: Id
    due_date: Day
    amount_due: Amount
    currency: Currency

    @model_validator(mode="after")
    def _is_money(self) -> CycleOpened:
        above_zero("amount_due", self.amount_due, self.currency)
        return self


class CycleClosed(Event):
    senders = "LO"
    type: Literal["cycle.closed"]
    cycle_id: Id
    loan_id: Id
    reason: Annotated[str, one_of("paid", "written_off", "recalled", "other")]


class ContactOptedOut(Event):
    senders = "ALO"
    type: Literal["contact.opted_out"]
    channel: ChannelOrAll  # type: ignore[assignment]
    purpose: Purpose = "collections"


class ContactOptedIn(Event):
    senders = "AO"
    type: Literal["contact.opted_in"]
    channel: Channel
    purpose: Purpose = "collections"


class HoldPlaced(Event):
    senders = "ALO"
    type: Literal["hold.placed"]
    kind: HoldKind
    reason: Reason
    until: Instant | None = None


class HoldLifted(Event):
    senders = "OL"
    type: Literal["hold.lifted"]
    kind: HoldKind
    reason: Reason


class IdentifierLinked(Event):
    senders = "LO"
    type: Literal["identifier.linked"]
    borrower_id: BorrowerId
    identifier: Identifier
    time_zone: Name | None = None


class IdentifierUnlinked(Event):
    senders = "LO"
    type: Literal["identifier.unlinked"]
    borrower_id: BorrowerId
    identifier: Identifier
    reason: Reason


class ConversationStarted(Event):
    senders = "A"
    type: Literal["conversation.started"]
    channel: Channel
    conversation_id: Id
    direction: Direction | None = None
    resume_id: Name | None = None
    entered_state: Name | None = None


class ConversationMessage(Event):
    senders = "A"
    type: Literal["conversation.message"]
    channel: Channel
    conversation_id: Id
    message_id: Id
    speaker: Speaker
    text: Text
    replaces: Id | None = None
    deleted: Flag = False


class ConversationEnded(Event):
    senders = "A"
    type: Literal["conversation.ended"]
    channel: Channel
    conversation_id: Id


class FactStated(Event):
    senders = "ALO"
    type: Literal["fact.stated"]
    kind: Label
    text: Reason


AnyEvent = (
    IdentityVerified
    | IdentityRevoked
    | ReminderSent
    | PaymentLinkShared
    | PaymentConfirmed
    | PaymentReversed
    | PromiseBroken
    | PromiseRetracted
    | CycleOpened
    | CycleClosed
    | ContactOptedOut
    | ContactOptedIn
    | HoldPlaced
    | HoldLifted
    | IdentifierLinked
    | IdentifierUnlinked
    | ConversationStarted
    | ConversationMessage
    | ConversationEnded
    | FactStated
)
HardEvent = Annotated[AnyEvent, Field(discriminator="type")]
EVENT_TYPES: dict[str, type[Event]] = {get_args(c.model_fields["type"].annotation)[0]: c for c in get_args(AnyEvent)}
