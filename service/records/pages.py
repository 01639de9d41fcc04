"""Lists in pages: where the rest of one begins is told by a cursor, which only we can read.

What is listed is not known here.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

CURSOR_CHARACTERS: Final = 3_000  # three ids of the longest kind, and a time
WHOLE_NUMBERS: Final = range(1 << 63)
"""Those that a database can hold."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some items of a list, and where the rest begins; null at its end."""

    items: list[dict[str, Any]]
    next_cursor: str | None


class BadCursor(ValueError):
    """A cursor that none of our answers gave."""


def page_of(items: list[dict[str, Any]], limit: int, place: Any) -> Page:
    """The first `limit` of items that were read one further than that."""
    if len(items) <= limit:
        return Page(items, None)
    return Page(items[:limit], cursor_at(place(items[limit - 1])))


def cursor_at(place: tuple[Any, ...]) -> str:
    """The cursor of what is behind this place."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def place_in(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """What a cursor holds; `BadCursor` when it is none of ours."""
    if len(cursor) > CURSOR_CHARACTERS:
        raise BadCursor("a cursor is shorter")
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        values = msgspec.json.decode(raw, type=list)
    except (ValueError, msgspec.MsgspecError):
        raise BadCursor("no cursor of ours") from None
    fits = (value in WHOLE_NUMBERS if type(value) is int else "\0" not in value for value in values)
    if [type(value) for value in values] != list(kinds) or not all(fits):
        raise BadCursor("no cursor of this list")
    return tuple(values)


def instant_in(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadCursor("no cursor of this list") from None
    if at.tzinfo is None:
        raise BadCursor("no cursor of this list")
    return at.astimezone(UTC)
