"""How values are written in a text that an agent reads: dates, clock times, names, quotations; each on one line.

Quotes are data: they stand within marks that they cannot close. It must not know records or templates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import MAXYEAR, date, datetime, tzinfo
from functools import lru_cache
from typing import Final, TypeVar

NAME_CHARACTERS: Final = 40
CANDIDATES_TOLD: Final = 3
CACHED_DAYS: Final = 2_048
CLOCK: Final = "\ufdd0"
"""No character of any text."""

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
# Line ends, control signs, direction marks and invisible tags: none of them may shape the briefing.
_SHAPING = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]+")
_MARKS = str.maketrans("“”„‟", "‘’‘‘")


def on_one_line(text: str) -> str:
    """A text that cannot leave its line, nor turn or hide what stands beside it."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    return _SHAPING.sub(" ", text).strip()


def quoted(text: str, limit: int | None = None) -> str:
    """The text as a quotation on one line, which it cannot close itself; longer than `limit` it ends in an ellipsis."""
    told = without_marks(on_one_line(text))
    return f"“{told if limit is None else shortened(told, limit)}”"


def without_marks(told: str) -> str:
    return told if told.isascii() else told.translate(_MARKS)


def shortened(told: str, limit: int) -> str:
    return told if len(told) <= limit else told[: limit - 1].rstrip() + "…"


def name(text: str) -> str:
    """An id or a label as it may stand in a sentence."""
    return shortened(without_marks(on_one_line(text)), NAME_CHARACTERS)


@lru_cache(maxsize=CACHED_DAYS)
def date_in_words(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _local(at: datetime, zone: tzinfo) -> datetime:
    # A hold until the end of time has no local time in a zone that is ahead.
    return at if at.year == MAXYEAR else at.astimezone(zone)


def day_in_words(at: datetime, zone: tzinfo) -> str:
    return date_in_words(_local(at, zone).date())


def clock_in_words(at: datetime, zone: tzinfo) -> str:
    local = _local(at, zone)
    return f"{local.hour:02}:{local.minute:02}"


def read_at(now: datetime | None, zone: tzinfo) -> str:
    return CLOCK if now is None else f"{clock_in_words(now, zone)} on {day_in_words(now, zone)}"


def moment_in_words(at: datetime, zone: tzinfo) -> str:
    return f"{day_in_words(at, zone)}, {clock_in_words(at, zone)}"


T = TypeVar("T")


def few(candidates: Sequence[T]) -> Sequence[T]:
    return candidates[:CANDIDATES_TOLD]


def many(candidates: Sequence[object]) -> bool:
    return len(candidates) > CANDIDATES_TOLD
