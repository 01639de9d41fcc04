"""The words of the wire: what a field may hold, how it is read, and what is said when it cannot be (API 1, 3, 4, 14).

Each type reads JSON's own types strictly and names its refusal by a code of the contract. Times are aware and kept in UTC; money
is a decimal with a currency; ids are compared exactly. What stands in a summary or an event is `entries`' matter.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
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

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?[0-5]\d)?", re.ASCII)
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
_END = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
_LEAP_SECOND = re.compile(r":60(?=[.Z+-]|$)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DECIMAL = re.compile(r"\+?\d{1,18}(\.\d{1,24})?", re.ASCII)
_FINEST = Decimal("0.000001")
_NUMERAL = re.compile(r"\+?\d+(\.\d+)?", re.ASCII)
_FORBIDDEN_IN_BORROWER_ID = frozenset("/\\?#%|")
_CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of what ends a line or a text where it is read, and of half a sign. Other signs that are not seen (the joiners of
Indic scripts and of emoji) are part of an id like any other."""
_CONTROLS_OF_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Unicode's Bidi_Control: two ids that differ in these look the same, and one looks like another."""
_BLANKS_WITHOUT_WIDTH = "\u200b\u2060\ufeff"
""" "B-101" behind the mark of a file's byte order is nobody's id, and looks like hers."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("wrong_type", "text is needed")
    return value


def _id(value: object) -> str:
    text = _text(value)
    if not 1 <= len(text) <= ID_CHARACTERS or text != text.strip():
        raise PydanticCustomError("bad_id", "an id has 1 to 128 characters and no blanks at its ends")
    if not text.isprintable():
        if text != text.strip(_BLANKS_WITHOUT_WIDTH):
            raise PydanticCustomError("bad_id", "an id has 1 to 128 characters and no blanks at its ends")
        if any(unicodedata.category(c) in _CONTROLS or c in _CONTROLS_OF_DIRECTION for c in text):
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
    """The decimal a text states, `None` when it states none; at most 18 digits before the point.

    What a float adds behind six decimals ("12500.010000000002") says nothing of money.
    """
    if not _DECIMAL.fullmatch(text):
        return None
    stated = Decimal(text)
    return stated if len(text.partition(".")[2]) <= 6 else Decimal(format(stated.quantize(_FINEST).normalize(), "f"))


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


def above_zero(field: str, amount: Decimal, currency: str) -> None:
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


def bounded(characters: int) -> BeforeValidator:
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


def one_of(*words: str) -> BeforeValidator:
    known = frozenset(words)

    def check(value: object) -> str:
        text = value if type(value) is str else str(_text(value))
        if text not in known:
            raise PydanticCustomError("not_in_enum", "one of {words}", {"words": ", ".join(words)})
        return text

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
Text = Annotated[str, bounded(TEXT_CHARACTERS)]
Name = Annotated[str, bounded(NAME_CHARACTERS)]
Label = Annotated[str, bounded(LABEL_CHARACTERS)]
Person = Annotated[str, bounded(PERSON_CHARACTERS)]
Prose = Annotated[str, bounded(SUMMARY_CHARACTERS)]
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

Channel = Annotated[Literal["voice", "whatsapp"], one_of(*CHANNELS)]
ChannelOrAll = Annotated[Literal["voice", "whatsapp", "all"], one_of(*CHANNELS, "all")]
Purpose = Annotated[Literal["collections", "marketing"], one_of("collections", "marketing")]
Direction = Annotated[Literal["inbound", "outbound"], one_of("inbound", "outbound")]
Modality = Annotated[Literal["speech", "text"], one_of("speech", "text")]
Outcome = Annotated[str, one_of(*OUTCOMES)]
Rung = Annotated[Literal["none", "proposed", "confirmed"], one_of("none", "proposed", "confirmed")]
HoldKind = Annotated[str, one_of(*HOLD_KINDS)]
MessageOutcome = Annotated[str, one_of(*MESSAGE_OUTCOMES)]
Speaker = Annotated[
    Literal["borrower", "agent", "third_party", "system"], one_of("borrower", "agent", "third_party", "system")
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
