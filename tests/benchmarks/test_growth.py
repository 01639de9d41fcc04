"""How the time to read the longest texts grows with their length: as their length, whatever they are made of.

A ratio of two lengths in the same run, each the best of several, so that it does not depend on the machine. What of it is
work of our own is counted in the unit tests; this also sees what regular expressions do inside their engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from channels import said
from statemachine.grounding import agrees, quote_stands
from statemachine.screening import claims_sent, screened

pytestmark = pytest.mark.benchmark

LONG = 20_000
TIMES = 4
TRIES = 5
LINEAR_LIMIT = 8.0
"""Four times the text takes four times as long when it is read in linear time, sixteen times when in quadratic."""

SAID_AT = datetime(2026, 1, 28, 12, 30, tzinfo=UTC)

PROSE = [
    "balance ",
    "1,11,",
    "is is amount ",
    "a",
    ". ",
    "she said ",
    "x, she says, ",
    "link sent, ",
    '" ',
    "बकाया ",
    "\n",
    "2 of ",
]
SAYINGS = [
    "1,",
    "1-",
    "5 ko ",
    "kal, ",
    "ek lakh ",
    "kar diya ",
    "next Friday ",
    "5 to 6 ",
    "salary aayegi kal ",
    "5/1 ",
    "a1",
    "🙂",
]
TURNS = ["nahi ", "a", "haan ", "5,000 ", "na main dunga ", "x. "]


@dataclass(frozen=True)
class Turn:
    speaker: str
    text: str


def _seconds(work: Callable[[str], object], unit: str, characters: int) -> float:
    """The best of some tries, each of a text that nobody has kept from the one before."""
    best = float("inf")
    for attempt in range(TRIES):
        text = (f"{attempt} " + unit * characters)[:characters]
        began = time.perf_counter()
        work(text)
        best = min(best, time.perf_counter() - began)
    return best


def _ratio(work: Callable[[str], object], unit: str, long: int = LONG) -> float:
    return _seconds(work, unit, long) / _seconds(work, unit, long // TIMES)


@pytest.mark.parametrize("unit", PROSE)
def test_prose_is_screened_in_linear_time(unit: str) -> None:
    def screen(text: str) -> None:
        screened(text, amounts_allowed=frozenset(), numbers=said.numbers)
        claims_sent(text)

    assert _ratio(screen, unit) < LINEAR_LIMIT


@pytest.mark.parametrize("unit", TURNS)
def test_turns_are_searched_for_a_quote_in_linear_time(unit: str) -> None:
    def search(text: str) -> None:
        turns = [Turn("borrower", text)]
        quote_stands("haan ... nahi ... dunga", turns)
        quote_stands(unit.strip(), turns)
        agrees(text)

    assert _ratio(search, unit) < LINEAR_LIMIT


@pytest.mark.parametrize("unit", SAYINGS)
def test_what_words_mean_is_found_in_linear_time(unit: str) -> None:
    def understand(text: str) -> None:
        said.amount(text)
        said.due_date(text, SAID_AT, "Asia/Kolkata")
        said.moment(text, SAID_AT, "Asia/Kolkata")
        said.dates(text, SAID_AT, "Asia/Kolkata")
        said.in_past_tense(text)

    assert _ratio(understand, unit, long=4_000) < LINEAR_LIMIT
