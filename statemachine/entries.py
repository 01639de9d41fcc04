"""What can arrive: summaries and hard events, exactly as they are posted, and the entry that carries one through the log.

A summary was *said* (by a model, after a conversation); a hard event *happened* (told by the system that did it). They
share nothing but the common fields: a summary has no field that could set a flag. The entry adds what intake stamps
once: when it arrived, whose it is, what its words mean. This file knows no storage, no clock and no channel's flow.

Times are aware and kept in UTC; money is a decimal with a currency; ids are compared exactly.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError, to_json

from statemachine.money import CURRENCIES, quantised

ID_CHARACTERS = 128
SUMMARY_CHARACTERS = 20_000
TEXT_CHARACTERS = 20_000
LABEL_CHARACTERS = 100
PERSON_CHARACTERS = 80
METHOD_CHARACTERS = 64
NAME_CHARACTERS = 200
TURNS = 500
EXTRA_BYTES = 16 * 1024
EVENT_AMOUNT_DIGITS = 18
YEAR_OF_FILLERS = 2000
"""Stamps before this year are fillers of telephony systems, not times (DESIGN 3)."""

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
_END = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
_LEAP_SECOND = re.compile(r":60(?=[.Z+-]|$)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DECIMAL = re.compile(r"\+?\d{1,18}(\.\d{1,6})?", re.ASCII)
_NUMERAL = re.compile(r"\+?\d+(\.\d+)?", re.ASCII)
_FORBIDDEN_IN_BORROWER_ID = frozenset("/\\?#%|")


# -- the words of the wire -----------------------------------------------------------------------------------


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("wrong_type", "text is needed")
    return value


def _id(value: object) -> str:
    text = _text(value)
    if not 1 <= len(text) <= ID_CHARACTERS or text != text.strip():
        raise PydanticCustomError("bad_id", "an id has 1 to 128 characters and no blanks at its ends")
    if not text.isprintable() and any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
        raise PydanticCustomError("bad_id", "an id has no control characters")
    return text


def _any_borrower_id(value: object) -> str:
    """Of a real borrower or a provisional one, whose id starts with `~`."""
    text = _id(value)
    if not _FORBIDDEN_IN_BORROWER_ID.isdisjoint(text):
        raise PydanticCustomError("bad_id", "a borrower id has none of / \\ ? # % |")
    return text


def _borrower_id(value: object) -> str:
    text = _any_borrower_id(value)
    if text[0] == "~":
        raise PydanticCustomError("bad_id", "a borrower id does not start with ~")
    return text


def instant(value: object) -> datetime:
    """An RFC 3339 time with its offset, as an aware time in UTC; `naive_timestamp` without an offset."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise PydanticCustomError("naive_timestamp", "a time needs its offset")
        return value.astimezone(UTC)
    text = _text(value)
    if not _TIME.fullmatch(text):
        raise PydanticCustomError("wrong_type", "a time in RFC 3339 is needed")
    try:
        read = datetime.fromisoformat(_LEAP_SECOND.sub(":59", text.upper()))
    except ValueError:
        raise PydanticCustomError("wrong_type", "a time in RFC 3339 is needed") from None
    try:
        at = None if read.tzinfo is None else read.astimezone(UTC)
    except OverflowError:  # within a day of the calendar's end: as far as our times go
        at = _BEGINNING if read.year == 1 else _END
    if at is None:
        raise PydanticCustomError("naive_timestamp", "a time needs its offset")
    return at


def _day(value: object) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    text = _text(value)
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError("not_a_date", "a date is YYYY-MM-DD") from None


def _day_as_said(value: object) -> str:
    """A date in a summary. A day that no calendar has is well-formed but implausible: kept as text, withheld later."""
    if isinstance(value, date):
        return value.isoformat()
    text = _text(value)
    if not _DATE.fullmatch(text):
        raise PydanticCustomError("not_a_date", "a date is YYYY-MM-DD")
    return text


def _amount_as_said(value: object) -> str:
    """An amount in a summary: any number or text; whether it is plausible is judged at intake, never refused."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PydanticCustomError("wrong_type", "an amount is a decimal as text or a number")
    return str(value) if isinstance(value, int) else format(Decimal(str(value)), "f")


def decimal_of(text: str) -> Decimal | None:
    """The decimal a text states, `None` when it states none; at most 18 digits before the point and 6 behind it."""
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def _amount(value: object) -> Decimal:
    """An amount in an event: a decimal above zero, else `wrong_type` (API 14)."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise PydanticCustomError("wrong_type", "an amount is a decimal above zero")
    if isinstance(value, str) and not _NUMERAL.fullmatch(value):
        raise PydanticCustomError("wrong_type", "an amount is a decimal above zero")
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise PydanticCustomError("wrong_type", "an amount is a decimal above zero") from None
    if not amount.is_finite() or amount <= 0 or amount.adjusted() >= EVENT_AMOUNT_DIGITS or amount.adjusted() < -6:
        raise PydanticCustomError("wrong_type", "an amount is a decimal above zero")
    return amount


def _above_zero(field: str, amount: Decimal, currency: str) -> None:
    """An amount that is nothing in the smallest unit of its currency is no amount."""
    if quantised(amount, currency) <= 0:
        raise PydanticCustomError("wrong_type", "an amount is a decimal above zero", {"field": field})


def _currency(value: object) -> str:
    text = _text(value)
    if not re.fullmatch(r"[A-Za-z]{3}", text) or text.upper() not in CURRENCIES:
        raise PydanticCustomError("not_in_enum", "a currency is a code of ISO 4217")
    return text.upper()


def _currency_as_said(value: object) -> str:
    text = _text(value)
    if len(text) > 8:
        raise PydanticCustomError("too_long", "a currency is a code of ISO 4217")
    return text.upper()


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise PydanticCustomError("wrong_type", "true or false is needed")
    return value


def _revision(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000_000:
        raise PydanticCustomError("wrong_type", "a whole number from 1 is needed")
    return value


def _confidence(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PydanticCustomError("wrong_type", "a number from 0 to 1 is needed")
    number = Decimal(str(value))
    if not number.is_finite() or abs(number.adjusted()) > 30:
        raise PydanticCustomError("wrong_type", "a number from 0 to 1 is needed")
    return number


def _extra(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PydanticCustomError("wrong_type", "an object is needed")
    if len(to_json(value)) > EXTRA_BYTES:
        raise PydanticCustomError("too_large", "at most {limit} bytes", {"limit": EXTRA_BYTES})
    return value


def _bounded(characters: int) -> BeforeValidator:
    def check(value: object) -> str:
        text = _text(value)
        if len(text) > characters:
            raise PydanticCustomError("too_long", "at most {limit} characters", {"limit": characters})
        return text

    return BeforeValidator(check)


def _filled(characters: int) -> BeforeValidator:
    def check(value: object) -> str:
        text = _text(value)
        if not text.strip():
            raise PydanticCustomError("missing", "a text that is not blank is needed")
        if len(text) > characters:
            raise PydanticCustomError("too_long", "at most {limit} characters", {"limit": characters})
        return text

    return BeforeValidator(check)


def _one_of(*words: str) -> BeforeValidator:
    def check(value: object) -> str:
        if _text(value) not in words:
            raise PydanticCustomError("not_in_enum", "one of {words}", {"words": ", ".join(words)})
        return str(value)

    return BeforeValidator(check)


Id = Annotated[str, BeforeValidator(_id)]
BorrowerId = Annotated[str, BeforeValidator(_borrower_id)]
AnyBorrowerId = Annotated[str, BeforeValidator(_any_borrower_id)]
"""What a read may name: a provisional borrower keeps answering under its id (API 1)."""
Instant = Annotated[datetime, BeforeValidator(instant)]
Day = Annotated[date, BeforeValidator(_day)]
DayAsSaid = Annotated[str, BeforeValidator(_day_as_said)]
AmountAsSaid = Annotated[str, BeforeValidator(_amount_as_said)]
Amount = Annotated[Decimal, BeforeValidator(_amount)]
Currency = Annotated[str, BeforeValidator(_currency)]
CurrencyAsSaid = Annotated[str, BeforeValidator(_currency_as_said)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Revision = Annotated[int, BeforeValidator(_revision)]
Confidence = Annotated[Decimal, BeforeValidator(_confidence)]
Extra = Annotated[dict[str, Any], BeforeValidator(_extra)]
Text = Annotated[str, _bounded(TEXT_CHARACTERS)]
Name = Annotated[str, _bounded(NAME_CHARACTERS)]
Label = Annotated[str, _bounded(LABEL_CHARACTERS)]
Person = Annotated[str, _bounded(PERSON_CHARACTERS)]
Prose = Annotated[str, _bounded(SUMMARY_CHARACTERS)]
Reason = Annotated[str, _filled(TEXT_CHARACTERS)]
Method = Annotated[str, _filled(METHOD_CHARACTERS)]

CHANNELS = ("voice", "whatsapp")
OUTCOMES = ("connected", "transferred", "third_party", "wrong_number", "voicemail", "no_answer", "busy", "failed")
CONTACT_OUTCOMES = frozenset({"connected", "transferred"})
NOBODY_OUTCOMES = frozenset({"third_party", "wrong_number", "voicemail", "no_answer", "busy"})
"""Outcomes in which the borrower was not there: no commitment, claim or fact comes from them (DESIGN 4.7)."""
STRANGER_OUTCOMES = frozenset({"third_party", "wrong_number"})
IDENTIFIER_KINDS = ("phone", "bsuid", "messenger", "email", "crm")
HOLD_KINDS = ("dispute", "deceased", "insolvency", "represented", "do_not_contact", "other")
MESSAGE_OUTCOMES = ("attempted", "sent", "failed", "delivered", "read")
"""In the order of DESIGN 5: a message stands at the highest it was reported at, whatever came first."""

Channel = Annotated[Literal["voice", "whatsapp"], _one_of(*CHANNELS)]
ChannelOrAll = Annotated[Literal["voice", "whatsapp", "all"], _one_of(*CHANNELS, "all")]
Purpose = Annotated[Literal["collections", "marketing"], _one_of("collections", "marketing")]
Direction = Annotated[Literal["inbound", "outbound"], _one_of("inbound", "outbound")]
Modality = Annotated[Literal["speech", "text"], _one_of("speech", "text")]
Outcome = Annotated[str, _one_of(*OUTCOMES)]
Rung = Annotated[Literal["none", "proposed", "confirmed"], _one_of("none", "proposed", "confirmed")]
HoldKind = Annotated[str, _one_of(*HOLD_KINDS)]
MessageOutcome = Annotated[str, _one_of(*MESSAGE_OUTCOMES)]
Speaker = Annotated[
    Literal["borrower", "agent", "third_party", "system"], _one_of("borrower", "agent", "third_party", "system")
]


class Frozen(BaseModel):
    """A value: unknown fields are refused by name, nothing is converted silently, nothing changes afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _nulls_are_absent(cls, value: Any) -> Any:
        """A field that is null is the same as one that is absent (API, first lines); `extra` is kept as it was sent."""
        if type(value) is dict and None in value.values():
            return {k: v for k, v in value.items() if v is not None}
        return value


# -- a summary -----------------------------------------------------------------------------------------------


class Identifier(Frozen):
    """What leads to a borrower: a number, a business-scoped id, an e-mail, a CRM id."""

    kind: Annotated[str, _one_of(*IDENTIFIER_KINDS)]
    value: Annotated[str, _bounded(ID_CHARACTERS * 2)]


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
        _above_zero("amount", self.amount, self.currency)
        return self


class PaymentReversed(Event):
    senders = "L"
    type: Literal["payment.reversed"]
    payment_ref: Id
    reason: Annotated[str, _one_of("bounced", "refunded", "chargeback", "correction")]
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
        _above_zero("amount_due", self.amount_due, self.currency)
        return self


class CycleClosed(Event):
    senders = "LO"
    type: Literal["cycle.closed"]
    cycle_id: Id
    loan_id: Id
    reason: Annotated[str, _one_of("paid", "written_off", "recalled", "other")]


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
