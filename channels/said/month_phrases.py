"""Phrases for months: "month end", "agle mahine ki 5 tarikh", "Jan 5th", "first week of Feb", "in March".

Each function answers with the place after the phrase that begins at `at`, or with None. It must not know today's date.
"""

from __future__ import annotations

from channels.said import words
from channels.said.days import Dated, DayOfMonth, Month, MonthEnd, NoSuchDay, PartOfMonth, When
from channels.said.line import Line
from channels.said.money_phrases import FIRST_YEAR, LAST_YEAR, OUR_CENTURY, ROUND_SUM
from channels.said.week_phrases import PERIODS_AWAY, which

WEEKS_OF_MONTH = {1: (1, 7), 2: (8, 14), 3: (15, 21), 4: (22, 28)}
LAST_WEEK_OF_MONTH = (-7, 31)
START_OF_MONTH = (1, 7)
WHOLE_MONTH = (1, 31)

_GLUE = words.KE | words.INSIDE
_AFTER_A_MONTH = _GLUE | {"-", ",", "'"}
_BEFORE_A_BARE_MONTH = frozenset({"in", "by", "of", "till", "until", "before", "during"})
_AFTER_A_BARE_MONTH = (words.INSIDE - {"in", "main", "m"}) | words.UNTIL
_BEFORE_THE_VERB_MAY = frozenset({"i", "we", "you", "he", "she", "they", "it", "main", "mai"})
_NOT_A_DAY_IN_MONTH = words.NOT_A_BARE_NUMBER - words.DATE_WORDS - words.KO - words.MONTHS.keys() - words.WEEK - {":"}


def month_phrase(line: Line, at: int) -> int | None:
    """ "month end", "end of next month", "agle mahine ki 5 tarikh", "Jan 5th", "march ke pehle hafte"."""
    word = line.texts[at]
    if word in words.MONTH_END:
        return line.add_day((MonthEnd(Month()),), at, at + 1)
    if (word in words.END or word in words.START) and (taken := _edge_before_month(line, at)) is not None:
        return taken
    month, after = month_said(line, at, bare=True)
    if month is None:
        return None
    place = line.skip(after, _AFTER_A_MONTH, 3)
    edge = line.texts[place]
    if edge in words.COUNTED:
        return place  # "this month's EMI" is no day
    if edge in words.END:
        closing = line.texts[place + 1]
        last_week = closing in words.WEEK
        when: When = PartOfMonth(month, *LAST_WEEK_OF_MONTH) if last_week else MonthEnd(month)
        spelt_out = last_week or closing in words.DAY or closing in words.DATE_WORDS
        return line.add_day((when,), at, place + 2 if spelt_out else place + 1)
    if edge in words.START:
        return line.add_day((PartOfMonth(month, *START_OF_MONTH),), at, place + 1)
    if edge in words.DATE_WORDS:
        place += 1
    if line.is_number(place) and (taken := _day_in_month(line, at, month, place)) is not None:
        return taken
    if month == Month() or (month.named is not None and not _month_is_meant(line, at, after)):
        return None
    return line.add_day((PartOfMonth(month, *WHOLE_MONTH),), at, after)


def _day_in_month(line: Line, at: int, month: Month, place: int) -> int | None:
    """The days behind a month: "Jan 5 or 6", "agle mahine ki 5 tarikh", "next month first week"."""
    if line.texts[at] == "may" and line.before(at) in _BEFORE_THE_VERB_MAY:
        return None
    chain, after = line.chain(place)
    taken = _days_in_month(line, at, month, chain, after)
    return taken if taken is not None or len(chain) == 1 else _days_in_month(line, at, month, chain[:1], place + 1)


def _days_in_month(line: Line, at: int, month: Month, chain: list[int], after: int) -> int | None:
    numbers = [line.number(place) for place in chain]
    days = [size for number in numbers if (size := number.day_sized()) is not None]
    follower = line.texts[after]
    if len(days) < len(numbers) or follower in _NOT_A_DAY_IN_MONTH:
        return None
    for number in numbers:
        line.numbers.update(number.values)
    ordinal = any(number.ordinal for number in numbers)
    if ordinal and follower in words.WEEK:
        weeks = tuple(PartOfMonth(month, *WEEKS_OF_MONTH[week]) for week in days if week in WEEKS_OF_MONTH)
        return line.add_day(weeks, at, after + 1) if weeks else None
    exist = all(1 <= day <= 31 for day in days)
    sure = ordinal or follower in words.DATE_WORDS
    of_it = line.before(chain[0]) in words.KI  # "mahine ki 15"; not "mahine ke 5000"
    if not sure and not (exist and (follower in words.KO or of_it or month != Month())):
        return None
    end = line.skip(after, words.DATE_WORDS, 1)
    if month.named is not None and month.year is None:
        year, end = year_said(line, end)
        month = Month(named=month.named, year=year)
    return line.add_day(tuple(a_day(day, month) for day in days) if exist else (NoSuchDay(),), at, end)


def _edge_before_month(line: Line, at: int) -> int | None:
    """ "end of the month", "last date of March", "start of next month"."""
    word, unit = line.texts[at], line.texts[at + 1]
    spelt_out = unit in words.DAY or unit in words.DATE_WORDS or unit in words.WEEK
    if word == "last" and not spelt_out and unit != "of":
        return None
    place = line.skip(at + 2 if spelt_out else at + 1, _GLUE, 3)
    month, end = month_said(line, place, bare=True)
    if month is None:
        return None
    when: When = MonthEnd(month)
    if word in words.START:
        when = PartOfMonth(month, *START_OF_MONTH)
    elif unit in words.WEEK:
        when = PartOfMonth(month, *LAST_WEEK_OF_MONTH)
    return line.add_day((when,), at, end)


def _month_is_meant(line: Line, at: int, after: int) -> bool:
    """Whether a month without a day is said as a time: "in March", "Jan tak"; not "Jan ka EMI", "I may"."""
    return line.before(at) in _BEFORE_A_BARE_MONTH or line.texts[after] in _AFTER_A_BARE_MONTH or len(line.items) <= 2


def month_said(line: Line, place: int, *, bare: bool) -> tuple[Month | None, int]:
    """ "next month", "is mahine", "March 2027"; `bare` also allows "month" alone."""
    place = line.skip(place, ("the",), 1)
    word = line.texts[place]
    if word in words.MONTHS:
        year, end = year_said(line, place + 1)
        return Month(named=words.MONTHS[word], year=year), end
    said, unit = which(line, place)
    if line.texts[unit] in words.MONTH and (bare or said is not None):
        return Month(away=None if said is None else PERIODS_AWAY[said]), unit + 1
    return None, place


def year_said(line: Line, place: int) -> tuple[int | None, int]:
    """The year at `place`, also after a comma, or of two digits after a sign: "2027", ", 2027", "'27", "-27"."""
    at = line.skip(place, words.KE | {",", "-", "/", "'"}, 1)
    if not line.is_number(at) or not line.items[at].text.isdigit():
        return None, place
    number, digits = line.number(at), len(line.items[at].text)
    if number.grouped or number.scale is not None or number.ordinal or line.texts[at + 1] in words.MONEY_AFTER_NUMBER:
        return None, place
    signed = at > place and line.texts[at - 1] in ("-", "/", "'") and line.touch(at - 1, at)
    if digits == 4 and FIRST_YEAR <= number.value <= LAST_YEAR:
        if number.value % ROUND_SUM == 0 and not OUR_CENTURY < number.value < OUR_CENTURY + 100:
            return None, place  # "5 feb 2000" is a day and a sum
        year = int(number.value)
    elif digits == 2 and signed:
        year = 2000 + int(number.value)
    else:
        return None, place
    line.numbers.add(number.value)
    return year, at + 1


def week_of_month(line: Line, weeks: list[int], first: int, after: int) -> int | None:
    """ "first week of Feb", "pehle hafte mein"."""
    month, end = month_said(line, line.skip(after + 1, _GLUE, 3), bare=True)
    if month is None:
        month, end = Month(), after + 1
    whens = tuple(PartOfMonth(month, *WEEKS_OF_MONTH[week]) for week in weeks if week in WEEKS_OF_MONTH)
    return line.add_day(whens, first, end) if whens else None


def a_day(day: int, month: Month) -> When:
    if month.named is not None and month.year is not None:
        return Dated(day, month.named, month.year)
    return DayOfMonth(day, month)
