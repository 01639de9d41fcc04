"""The grammar: which phrases are looked for in a text, and in which order.

Every number gets one role. Days, clock times, percentages, counts and names take theirs first, because a mark beside them
says what they are ("25 ko", "6 pm", "2 EMIs"); what is left is money. So a day is never taken for a sum, nor a sum for a
day, whichever of them is asked for. This module must not know today's date, nor which way a day is looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, wraps
from typing import Final

from channels.said import words
from channels.said.clock_phrases import clock_item, clock_time, hour_in_words
from channels.said.day_phrases import (
    day_of_month,
    duration,
    length_without_number,
    relative_day,
    slashed_date,
)
from channels.said.days import Dated
from channels.said.line import Line
from channels.said.money_phrases import count, currency_before, is_negative, percentage, sum_of_money
from channels.said.month_phrases import month_phrase
from channels.said.numerals import NUMBER_BEGINNINGS, items
from channels.said.other_sums import leave_out_other_sums
from channels.said.reading import Kind, day_month_year, fold, holds_digits, pieces, words_of
from channels.said.taken_back import take_back
from channels.said.week_phrases import week_phrase, weekday_phrase

KEPT_LINES: Final = 1_024
"""One summary's words are asked for numbers, for days and for claims, several times each."""
KEPT_CHARACTERS: Final = 400


def _kept(read: Callable[[str], Line | None]) -> Callable[[str], Line | None]:
    """Remembers what short texts say. Nobody changes a line once it is made."""
    remembered = lru_cache(maxsize=KEPT_LINES)(read)

    @wraps(read)
    def reading(text: str) -> Line | None:
        return remembered(text) if len(text) <= KEPT_CHARACTERS else read(text)

    return reading


@_kept
def read_numbers(text: str) -> Line | None:
    """What `text` says, or None if it holds no number."""
    return _read(text, NUMBER_BEGINNINGS, figures=True)


@_kept
def read_days(text: str) -> Line | None:
    """What `text` says, or None if it holds neither a number nor a word for a day or a time."""
    return _read(text, _DAY_OR_NUMBER_BEGINNINGS, figures=True)


@_kept
def read_claims(text: str) -> Line | None:
    """What `text` says, or None if no word in it can claim a payment."""
    return _read(text, words.CLAIM_WORDS, figures=False)


def _read(text: str, beginnings: frozenset[str], *, figures: bool) -> Line | None:
    """Most texts say nothing of the kind, so that is found out before anything is built."""
    folded = fold(text)
    if (figures and holds_digits(folded)) or not beginnings.isdisjoint(words_of(folded)):
        return _kept_line(folded) if len(folded) <= KEPT_CHARACTERS else _line(folded)  # one for all that is asked
    return None


def _line(folded: str) -> Line:
    """The work grows with the length of the text and no faster."""
    line = Line(items(pieces(folded)))
    at = 0
    while at < len(line.items):
        item = line.items[at]
        if item.number is not None:
            at = _number_phrase(line, at)
        elif item.kind is Kind.CLOCK:
            at = clock_item(line, at)
        elif item.kind is Kind.DATE:
            day, month, year = day_month_year(item.text)
            line.numbers.update((Decimal(day), Decimal(month), Decimal(year)))
            at = line.add_day((Dated(day, month, year),), at, at + 1)
        elif line.texts[at] in _WORD_PHRASE_BEGINNINGS:
            at = _word_phrase(line, at)
        else:
            at += 1
    take_back(line)
    leave_out_other_sums(line)
    return line


_kept_line = lru_cache(maxsize=KEPT_LINES)(_line)


def _number_phrase(line: Line, at: int) -> int:
    """The roles in their order. The first that fits takes the number, and those chained to it if it fits them all."""
    line.numbers.update(line.number(at).values)
    if at in line.ids or is_negative(line, at):
        return at + 1
    if currency_before(line, at) is not None:
        return sum_of_money(line, at)
    if (end := slashed_date(line, at)) is not None:
        return end
    chain, after = line.chain(at)
    if len(chain) > 1 and line.texts[chain[1] - 1] == "," and line.denies_ahead(at):
        chain, after = chain[:1], at + 1  # "not on the 20th, 23rd"
    while chain:
        numbers = [line.number(place) for place in chain]
        end = (
            percentage(line, numbers, after)
            or clock_time(line, chain, numbers, after)
            or day_of_month(line, chain, numbers, after)
            or duration(line, chain, numbers, after)
            or count(line, numbers, after)
        )
        if end:
            for number in numbers:
                line.numbers.update(number.values)
            return end
        chain, after = (chain[:1], at + 1) if len(chain) > 1 else ([], after)
    return sum_of_money(line, at)


def _word_phrase(line: Line, at: int) -> int:
    return (
        relative_day(line, at)
        or week_phrase(line, at)
        or weekday_phrase(line, at)
        or month_phrase(line, at)
        or length_without_number(line, at)
        or hour_in_words(line, at)
        or at + 1
    )


_WORD_PHRASE_BEGINNINGS = (
    words.PLAIN_DAYS
    | words.WEEKDAYS.keys()
    | words.MONTHS.keys()
    | words.NEXT
    | words.THIS
    | words.COMING
    | words.COMING_FIRST_OF_TWO
    | words.LAST
    | words.END
    | words.START
    | words.DAY
    | words.WEEK
    | words.WEEKEND
    | words.MONTH
    | words.MONTH_END
    | words.DAY_END
    | words.HOUR
    | words.ARTICLE
    | words.HALF
    | {"noon", "quarter"}
)
_DAY_OR_NUMBER_BEGINNINGS = (
    (_WORD_PHRASE_BEGINNINGS - words.ARTICLE - {"is"}) | {"week's", "month's"} | NUMBER_BEGINNINGS
)
