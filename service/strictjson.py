"""The one reader of JSON for everything that comes in, and the one writer for what goes out.

Strict where leniency changes meaning (API 1): bad UTF-8, NaN and Infinity, a number beyond a double, a key twice at any
depth, anything after the document, nesting without end are `MalformedJson`. Exact where it counts: integers stay `int`,
every other number is a `Decimal` with the digits that were sent. Kind where only a sign is broken: NUL and half a
surrogate, which no database and no UTF-8 can hold, become U+FFFD, and their places are told.

It is the standard library's scanner with hooks and not a faster parser, because those keep the last of two equal keys
without a word; a typical body of 2 KB takes a few microseconds either way, and two parsers would be two meanings.

This file must not know what a document means.
"""

import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn

import msgspec

from service.errors import MalformedJson

DEPTH_LIMIT_LEVELS: Final = 64
INTEGER_LIMIT_DIGITS: Final = 308  # the most that every double can hold
NUMBER_LIMIT_CHARS: Final = 1_000  # of one number with a point or an exponent
EXPONENT_LIMIT: Final = 400  # powers of ten, either way; no double reaches it
REPAIRS_LIMIT: Final = 1_000  # broken texts in one document; more is no text

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_BROKEN: Final = re.compile("[\x00\ud800-\udfff]")
# The escapes that may make a broken sign. Raw ones cannot be there: UTF-8 has no surrogates, JSON no bare NUL.
_SUSPECT: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


class _Refused(ValueError):
    """Carries the sentence why; never a piece of the document."""


def parse(raw: bytes) -> tuple[object, tuple[str, ...]]:
    """The document and the dotted paths of the texts that had to be repaired ("commitment.quote", "turns.3.text").

    Raises `MalformedJson`. A key is repaired as well; one that then equals its neighbour makes the document malformed.
    """
    try:
        text = raw.decode("utf-8")
        document = _DECODER.decode(text)
        if raw.count(b"{") + raw.count(b"[") > DEPTH_LIMIT_LEVELS:  # fewer cannot nest deeper, in strings or not
            _check_depth(document)
        if _SUSPECT.search(text) is None:
            return document, ()
        repaired: list[str] = []
        return _repair(document, "", repaired), tuple(repaired)
    except UnicodeDecodeError as error:
        raise MalformedJson(f"the body is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise MalformedJson(f"the body is not one JSON document: see character {error.pos}") from None
    except RecursionError:
        raise MalformedJson(_TOO_DEEP) from None
    except _Refused as error:
        raise MalformedJson(str(error)) from None


def is_json(content_type: str | None) -> bool:
    """Whether a Content-Type says JSON. None at all, or an empty one, does not say otherwise: the body says what it is."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if not media_type:
        return not content_type or not content_type.strip()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


def by_item(repaired: Iterable[str], name: str) -> dict[int, tuple[str, ...]]:
    """The repaired paths beneath each item of the list `name`, as seen from the item: for a batch of documents."""
    found: dict[int, list[str]] = {}
    for path in repaired:
        head, _, rest = path.partition(".")
        number, _, below = rest.partition(".")
        if head == name and number.isdigit():
            found.setdefault(int(number), []).append(below)
    return {number: tuple(paths) for number, paths in found.items()}


def dump(value: object) -> bytes:
    """An answer as JSON in UTF-8, keys in the order given. Decimals become texts in plain notation ("12500.00").

    A `Decimal` that is no number is a `ValueError`, half a surrogate a `UnicodeEncodeError`: both are faults of ours
    that must not leave the house. A float that is no number becomes null.
    """
    return _ENCODER.encode(value)


def dump_as_sent(value: object) -> bytes:
    """As `dump`, but a `Decimal` stays a JSON number, digit for digit: for what a client sent and gets back."""
    return _EXACT_ENCODER.encode(value)


def as_sent(value: object) -> msgspec.Raw:
    """A part of an answer that gives back what was posted, in the form of `dump_as_sent`, for `dump` to put in its place."""
    return msgspec.Raw(dump_as_sent(value))


# -- the hooks of the scanner ------------------------------------------------------------------------------------------

_BEYOND: Final = f"a number has an exponent beyond {EXPONENT_LIMIT}"
_TOO_DEEP: Final = f"the body nests deeper than {DEPTH_LIMIT_LEVELS} levels"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Refused("an object has the same key twice")
    return members


def _integer(digits: str) -> int:
    if len(digits) > INTEGER_LIMIT_DIGITS and len(digits.lstrip("-")) > INTEGER_LIMIT_DIGITS:
        raise _Refused(f"a number has more than {INTEGER_LIMIT_DIGITS} digits")
    return int(digits)


def _decimal(digits: str) -> Decimal:
    if len(digits) > NUMBER_LIMIT_CHARS:
        raise _Refused(f"a number has more than {NUMBER_LIMIT_CHARS} characters")
    if math.isinf(float(digits)):
        raise _Refused("a number is too large for a double")
    try:
        value = Decimal(digits)
    except InvalidOperation:  # an exponent that not even a Decimal holds
        raise _Refused(_BEYOND) from None
    if abs(value.adjusted()) > EXPONENT_LIMIT:
        raise _Refused(_BEYOND)
    return value


def _constant(name: str) -> NoReturn:
    raise _Refused("NaN and Infinity are not JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_decimal, parse_constant=_constant, strict=True
)


def _check_depth(document: object) -> None:
    """Level by level, so that it needs no stack of its own."""
    level: list[Any] = [document]
    for _ in range(DEPTH_LIMIT_LEVELS):
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return
    raise _Refused(_TOO_DEEP)


def _repair(value: object, path: str, repaired: list[str]) -> object:
    if isinstance(value, str):
        return _repair_text(value, path, repaired)
    if isinstance(value, list):
        return [
            _repair(item, f"{path}.{number}" if path else str(number), repaired) for number, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    members = {}
    for key, item in value.items():
        name = _BROKEN.sub(REPLACEMENT, key)
        below = f"{path}.{name}" if path else name
        if name != key:
            _note(below, repaired)
        members[name] = _repair(item, below, repaired)
    if len(members) != len(value):
        raise _Refused("two keys of an object differ in broken signs alone")
    return members


def _repair_text(text: str, path: str, repaired: list[str]) -> str:
    mended = _BROKEN.sub(REPLACEMENT, text)
    if mended != text:
        _note(path, repaired)
    return mended


def _note(path: str, repaired: list[str]) -> None:
    if len(repaired) >= REPAIRS_LIMIT:
        raise _Refused(f"more than {REPAIRS_LIMIT} texts hold NUL or half a surrogate")
    if not repaired or repaired[-1] != path:  # a key and its text are one place
        repaired.append(path)


def _plain(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError("a decimal of an answer is no number")
    return format(value, "f")


_ENCODER: Final = msgspec.json.Encoder(decimal_format=_plain)
_EXACT_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")
