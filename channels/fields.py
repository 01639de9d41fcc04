"""Reading what other people's systems send: a value of the right kind, or nothing (VENDORS 0, E 6 and E 15).

Vendors send numbers as text, truth as "false", times in four units and fields that are there today only. So each reader here
takes any value of a document and answers None for what is not of its kind; none raises. A text has no NUL and no half of a
surrogate, which neither a database nor UTF-8 can hold. No vendor, no clock and no borrower is known here.
"""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

from statemachine.wire import ID_CHARACTERS, TEXT_CHARACTERS, YEAR_OF_FILLERS

LAST_YEAR: Final = 2100
"""Behind it lie sentinels and wrong units, not times."""
NUMBER_LIMIT_CHARACTERS: Final = 40
MOST_FIELDS: Final = 2_000

_BROKEN: Final = re.compile("[\x00\ud800-\udfff]")
_CONTROLS: Final = ("Cc", "Cs")
_YES: Final = frozenset({"true", "yes", "y", "1", "on", "haan", "ha", "हाँ", "हां", "confirmed"})
_NO: Final = frozenset({"false", "no", "n", "0", "off", "nahi", "नहीं", "n/a", "na", "none", "null", ""})
_ISO: Final = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d*))?\s?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_GROUPED: Final = re.compile(r"\d{1,3}(,\d{2,3})+(\.\d+)?", re.ASCII)
_SIGN: Final = re.compile(r"^(?:₹|rs\.?|inr)\s*", re.IGNORECASE)


class Unreadable(ValueError):
    """A body that is no document of its content type. The sentence repeats nothing of it."""


# -- a document ---------------------------------------------------------------------------------------------------------


def json_document(raw: bytes) -> Any:
    """The document, with numbers as int or Decimal and NaN as null. Raises `Unreadable`.

    Kinder than the API's own reading: a vendor's report is final, so what can be read is read; of two equal keys the last
    counts.
    """
    try:
        document = json.loads(
            raw.decode("utf-8-sig"), parse_float=_decimal, parse_int=_integer, parse_constant=_nothing
        )
    except UnicodeDecodeError:
        raise Unreadable("the body is not UTF-8") from None
    except (ValueError, RecursionError):
        raise Unreadable("the body is not one JSON document") from None
    return document


def form_document(raw: bytes) -> dict[str, str]:
    """The fields of a form; of several of one name the last counts. Raises `Unreadable`."""
    try:
        pairs = parse_qsl(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="replace")
    except ValueError:
        raise Unreadable("the body is not a form") from None
    return dict(pairs)


def _decimal(digits: str) -> Decimal | None:
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return None
    return (
        number if len(digits) <= NUMBER_LIMIT_CHARACTERS and abs(number.adjusted()) <= NUMBER_LIMIT_CHARACTERS else None
    )


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= NUMBER_LIMIT_CHARACTERS else None


def _nothing(_: str) -> None:
    return None


def at(document: object, *path: str | int) -> Any:
    """What stands at a path of keys and places, or None."""
    for step in path:
        if isinstance(document, dict) and isinstance(step, str):
            document = document.get(step)
        elif isinstance(document, list) and isinstance(step, int) and 0 <= step < len(document):
            document = document[step]
        else:
            return None
    return document


def listed(value: object) -> list[Any]:
    """A list as it is; anything else is an empty one."""
    return value if isinstance(value, list) else []


def members(value: object) -> dict[str, Any]:
    """An object as it is, also one that was sent as text; anything else is an empty one."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = json_document(value.encode("utf-8", "replace"))
        except Unreadable:
            return {}
    return value if isinstance(value, dict) else {}


def first(*values: object) -> Any:
    """The first that is there."""
    return next((value for value in values if value is not None and value != ""), None)


# -- values -------------------------------------------------------------------------------------------------------------


def text(value: object, limit: int = TEXT_CHARACTERS) -> str | None:
    """A text that is not blank, without blanks at its ends; one that is too long is none: texts are never cut."""
    if not isinstance(value, str):
        return None
    mended = _BROKEN.sub("\N{REPLACEMENT CHARACTER}", value).strip()
    return mended if mended and len(mended) <= limit else None


def label(value: object, limit: int = 100) -> str | None:
    """A text on one line, or a number as one."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        value = str(value)
    found = text(value, limit)
    return " ".join(found.split()) if found else None


def an_id(value: object) -> str | None:
    """An id that our own bodies may carry (API 1)."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return None
    found = value.strip()
    if not 1 <= len(found) <= ID_CHARACTERS or any(unicodedata.category(sign) in _CONTROLS for sign in found):
        return None
    return found


def truth(value: object) -> bool | None:
    """Yes, no, or neither; "false" and "" are no (VENDORS E 12)."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return value == 1
    if not isinstance(value, str):
        return None
    word = value.strip().lower()
    return True if word in _YES else False if word in _NO else None


def number(value: object) -> Decimal | None:
    """A number, also as text, with a currency's sign and groups of digits."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal):
        return Decimal(value)
    if not isinstance(value, str) or len(value) > NUMBER_LIMIT_CHARACTERS:
        return None
    digits = _SIGN.sub("", value.strip())
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    return Decimal(digits) if _NUMBER.fullmatch(digits) else None


def day(value: object) -> date | None:
    """A day as `YYYY-MM-DD`, also in front of a time."""
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value.strip()[:10])
    except ValueError:
        return None


# -- times --------------------------------------------------------------------------------------------------------------


def iso(value: object, zone: str | None = None) -> datetime | None:
    """A time of ISO 8601 in UTC; one without an offset is read in `zone`, or is none. Any number of digits behind the
    seconds, none included ("05:40:00.Z")."""
    found = _ISO.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    day_, clock, fraction, offset = found.groups()
    if offset is None and zone is None:
        return None
    micros = f".{(fraction or '0')[:6]:0<6}"
    try:
        read = datetime.fromisoformat(f"{day_}T{clock}{micros}{'' if offset is None else offset.upper()}")
        return _plausible(read.replace(tzinfo=ZoneInfo(zone)) if offset is None and zone is not None else read)
    except ValueError:
        return None


def rfc2822(value: object) -> datetime | None:
    """A time as mails have it ("Sun, 22 Nov 2026 05:42:34 +0000")."""
    if not isinstance(value, str) or len(value) > NUMBER_LIMIT_CHARACTERS:
        return None
    try:
        read = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return _plausible(read if read.tzinfo else read.replace(tzinfo=UTC))


def epoch(value: object, unit: Decimal) -> datetime | None:
    """A time counted from 1970 in units of so many seconds, as a number or text."""
    counted = number(value)
    if counted is None or not abs(counted.adjusted()) <= 20:
        return None
    seconds = counted * unit
    if not 0 < seconds < 10**11:
        return None
    try:
        whole = int(seconds)
        micros = int((seconds - whole) * 1_000_000)
        return _plausible(datetime.fromtimestamp(whole, UTC).replace(microsecond=micros))
    except (ValueError, OverflowError, OSError):
        return None


SECONDS: Final = Decimal(1)
MILLISECONDS: Final = Decimal("0.001")


def _plausible(at_: datetime) -> datetime | None:
    """A filler of telephony (1970) or a wrong unit is no time."""
    if not YEAR_OF_FILLERS <= at_.year < LAST_YEAR:
        return None
    try:
        return at_.astimezone(UTC)
    except OverflowError:
        return None
