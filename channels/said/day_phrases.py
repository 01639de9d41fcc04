"""Phrases for days: "25 tarikh", "25 ko", "5 Jan", "in 3 days", "kal".

Each function answers with the place after the phrase that begins at `at`, or with None. It must not know today's date:
what a phrase means on a given day is said in `days`.
"""

from __future__ import annotations

from decimal import Decimal

from channels.said import words
from channels.said.clock_phrases import delay, direction, is_asked_for
from channels.said.days import (
    FARTHEST_DAYS,
    Away,
    Dated,
    DayOfMonth,
    EitherWay,
    EndOfRange,
    Month,
    MonthsAway,
    NoSuchDay,
    When,
)
from channels.said.figures import Number
from channels.said.line import NOTHING, Line, Money
from channels.said.money_phrases import FIRST_YEAR, LAST_YEAR, SMALLEST_BARE_SUM
from channels.said.month_phrases import a_day, month_said, week_of_month, year_said
from channels.said.reading import Kind

LEAST_SUM_A_MONTH = 500
_BEFORE_A_MONTH = words.KE | words.KO | {"-", "/", ",", "."}
_AFTER_THE_VERB_MAY = frozenset({"be", "pay", "not", "give", "have"})
_DAY_AFTER_OR_BEFORE = {"after": 2, "before": -2}
_BEHIND_A_NEAR_DAY = (
    frozenset({NOTHING})
    | words.CLAUSE_ENDS
    | words.FILLERS
    | words.AT
    | words.UNTIL
    | words.KO
    | words.PARTS_OF_DAY.keys()
) - {"main", "mai", "i", "the"}
_JOINS_NEAR_DAYS = words.OR | words.NOT | words.TO | {",", "and", "but", "/", "no"}
_OF_ANOTHER_DAY = frozenset({"the", "every", "same", "one", "a", "next"})
_COUNTED_IN_ORDER = words.COUNTED | words.DAY | words.MONTH | words.HOUR | words.NOUNS_COUNTED_IN_ORDER
_MAKES_A_CHAIN_A_COUNT = (
    (words.MARKS_ANOTHER_ROLE - words.KO - words.UNTIL) | words.MONEY_AFTER_NUMBER | {"of", "payment", "amount"}
)


# -- a day of a month -------------------------------------------------------------------------------------------------


def slashed_date(line: Line, at: int) -> int | None:
    """ "5/1", "25-1" and "5 - 1 - 2027": day first, unless something after them counts ("2/3 din", "5-6 tarikh")."""
    sign, second = line.texts[at + 1], at + 2
    if sign not in ("/", "-") or not line.is_number(second):
        return None
    parts = [line.number(at), line.number(second)]
    days = [size for part in parts if (size := part.day_sized()) is not None and 1 <= size <= 31]
    if len(days) < 2 or any(part.worded or part.ordinal for part in parts):
        return None
    day, month = days
    line.numbers.update((*parts[0].values, *parts[1].values))
    if line.texts[second + 1] == sign and line.is_number(second + 2):
        year = line.number(second + 2).value
        if not FIRST_YEAR <= year <= LAST_YEAR:
            return None
        line.numbers.add(year)
        return line.add_day((Dated(day, month, int(year)),), at, second + 3)
    if not line.touch(at, second) or line.texts[second + 1] in _MAKES_A_CHAIN_A_COUNT:
        return None
    if 12 < month == day + 1 and (line.texts[second + 1] in words.KO or line.texts[second + 1] in words.UNTIL):
        return None  # "12/13 ko" is one day or the next
    written: When = DayOfMonth(day, Month(named=month)) if month <= 12 else NoSuchDay()
    if sign == "-":
        return _dashed_date(line, at, written, day, month)
    if (line.items[at].text, line.items[second].text) == ("24", "7"):
        return second + 1  # round the clock
    return line.add_day((written,), at, second + 1)


def _dashed_date(line: Line, at: int, written: When, day: int, month: int) -> int | None:
    """ "25-1" is the 25th of January; "5-6 ko" is the 5th or the 6th; "5-6" alone may be either; "9-6" may be hours."""
    if month > 12:
        return None
    after = at + 3
    padded = any(line.items[place].text[0] == "0" for place in (at, at + 2))
    marked = line.texts[after] in words.KO or line.texts[after] in words.UNTIL
    if padded or (day >= month and (marked or line.alone or line.before(at) in words.BEFORE_A_DATE)):
        return line.add_day((written,), at, after)
    if line.alone and line.alone <= {at, at + 2}:
        return line.add_day((DayOfMonth(day), DayOfMonth(month), written), at, after)
    return None


def day_of_month(line: Line, chain: list[int], numbers: list[Number], after: int) -> int | None:
    """Days by the marks around them: "25th", "25 tarikh", "25 ko", "by 25", "5 Jan", "5th of next month"."""
    days = [size for number in numbers if (size := number.day_sized()) is not None]
    if len(days) < len(numbers):
        return None
    ordinal = any(number.ordinal for number in numbers)
    follower = line.texts[after]
    if ordinal and follower in _COUNTED_IN_ORDER:
        return None
    if ordinal and follower in words.WEEK:
        return week_of_month(line, days, chain[0], after)
    month, end = _month_behind(line, after, ordinal=ordinal)
    if month is None:
        if not _marked_as_day(line, chain, after, ordinal=ordinal):
            return None
        month, end = Month(), line.skip(after, words.DATE_WORDS, 1)
    if any(not 1 <= day <= 31 for day in days):
        sure = ordinal or follower in words.DATE_WORDS or month.named is not None
        return line.add_day((NoSuchDay(),), chain[0], end) if sure else None
    if line.alone and not ordinal and month == Month() and end == after:
        line.money += [Money(number.values, None, chain[0], after) for number in numbers]  # a bare "25" may be either
    whens = [a_day(day, month) for day in days]
    if month == Month() and len(days) == 2 and days[0] < days[1] and _is_range(line, chain):
        whens.append(EndOfRange(DayOfMonth(days[0]), days[1]))
    return line.add_day(tuple(whens), chain[0], end)


def _is_range(line: Line, chain: list[int]) -> bool:
    return line.before(chain[0]) in words.BETWEEN or line.texts[chain[1] - 1] in words.TO


def _marked_as_day(line: Line, chain: list[int], after: int, *, ordinal: bool) -> bool:
    first = chain[0]
    follower, before = line.texts[after], line.before(first)
    if before in (":", "-") and first > 1 and line.texts[first - 2] in words.DATE_WORDS:
        before = line.texts[first - 2]  # "date: 5"
    if ordinal or follower in words.DATE_WORDS:
        return True
    if follower in words.MONEY_AFTER_NUMBER or follower == "/":
        return False
    if follower in words.KE and _of_a_day(line.texts[after + 1]):
        return True  # "25 ki date", "25 ki shaam"
    if (follower in words.PARTS_OF_DAY and line.texts[after + 1] in words.UNTIL) or (
        len(chain) > 1 and before == "either"
    ):
        return True
    if follower in words.KO or follower in words.UNTIL:
        return True
    if len(chain) > 1 and follower in words.KE and line.texts[after + 1] in words.BETWEEN:
        return True
    if follower in words.KE or follower in words.SINCE:  # "25 ke baad", "25 se pehle"
        return line.texts[after + 1] in words.LATER or line.texts[after + 1] in words.AGO
    if follower in words.NOT_A_BARE_NUMBER:
        return False
    if before in words.BEFORE_A_DATE or _in_place_of_a_denied_day(line, first):
        return True
    if line.corrects and line.alone.issuperset(chain):
        return True  # "bees nahi teis"
    return line.alone == frozenset(chain) and all(line.items[place].text.isdigit() for place in chain)


def _in_place_of_a_denied_day(line: Line, first: int) -> bool:
    """ "20 tarikh nahi 23", "kal nahi, 23"."""
    place = first - 1
    while place > 0 and line.texts[place] in words.CORRECTS:
        place -= 1
    if line.texts[place] not in words.NOT_IN_HINDI or not line.denied_days:
        return False
    denied = line.denied_days[-1]
    return denied.after <= place and line.skip(denied.after, _BEHIND_A_DAY, 3) == place


_BEHIND_A_DAY = words.KO | words.UNTIL | words.DATE_WORDS


def _of_a_day(word: str) -> bool:
    return word in words.DATE_WORDS or word in words.PARTS_OF_DAY


def _month_behind(line: Line, after: int, *, ordinal: bool) -> tuple[Month | None, int]:
    """The month said after a day: "Jan", "of January 2027", "tarikh agle mahine"."""
    dated = line.skip(after, words.DATE_WORDS, 1)
    place = line.skip(dated, _BEFORE_A_MONTH, 3)
    word = line.texts[place]
    if word in words.MONTHS and not (word == "may" and line.texts[place + 1] in _AFTER_THE_VERB_MAY):
        year, end = year_said(line, place + 1)
        return Month(named=words.MONTHS[word], year=year), end
    if ordinal or dated > after or line.texts[after] in words.KO or line.texts[after] in words.KE:
        return month_said(line, place, bare=False)
    return None, after


# -- so many days away ------------------------------------------------------------------------------------------------


def relative_day(line: Line, at: int) -> int | None:
    """ "kal", "day after tomorrow", "aaj kal mein", "end of day"."""
    word, follower, third = line.texts[at : at + 3]
    if word in words.DAY:
        if follower == "after" and (third in words.TOMORROW or third == "tom"):
            return line.add_day((Away(2),), at, at + 3)
        if follower == "before" and third in words.YESTERDAY:
            return line.add_day((Away(-2),), at, at + 3)
        if follower in _DAY_AFTER_OR_BEFORE and _near_day_is_meant(line, at):
            return line.add_day((Away(_DAY_AFTER_OR_BEFORE[follower]),), at, at + 2)
        return None
    if word in words.TODAY:
        return _today(line, at)
    if word in words.TOMORROW:
        return line.add_day((Away(1),), at, at + 1)
    if word in words.YESTERDAY:
        return line.add_day((Away(-1),), at, at + 1)
    if word in words.EITHER_WAY:
        return line.add_day((EitherWay(words.EITHER_WAY[word]),), at, at + 1)
    if word in words.NEXT and follower in words.DAY:
        if _counted_from_elsewhere(line, at):
            return at + 2
        return line.add_day((Away(1),), at, at + 2)
    if word == "this" and follower in words.PARTS_OF_DAY:
        return line.add_day((Away(0),), at, at + 1)
    end = line.skip(at + 1, ("of", "the"), 2) if word == "end" else at
    if word in words.DAY_END or (word == "end" and line.texts[end] == "day"):
        line.end_of_day = True
        return end + 1
    return None


def _near_day_is_meant(line: Line, at: int) -> bool:
    """ "tomorrow or the day after", "I will pay day after": two days away, and not the day after something else."""
    if line.texts[at + 2] not in _BEHIND_A_NEAR_DAY and not _is_on_the_clock(line, at + 2):
        return False
    place = at - 1 - (line.before(at) == "the")
    while place > 0 and line.texts[place] in _JOINS_NEAR_DAYS:
        place -= 1
    if place >= 0 and (line.texts[place] in words.TOMORROW or line.texts[place] in words.YESTERDAY):
        return True
    if place >= 0 and words.EITHER_WAY.get(line.texts[place]) == 1:
        return True
    return line.before(at) not in _OF_ANOTHER_DAY and not line.days and not line.denied_days


def _is_on_the_clock(line: Line, place: int) -> bool:
    """ "3pm", "10:30", "4 baje"."""
    if place < len(line.items) and line.items[place].kind is Kind.CLOCK:
        return True
    follower = line.texts[place + 1]
    half = follower in words.BEFORE_NOON or follower in words.AFTER_NOON or follower in words.OCLOCK
    return line.is_number(place) and half


def _today(line: Line, at: int) -> int:
    follower = line.texts[at + 1]
    if words.EITHER_WAY.get(follower) == 1:
        if line.texts[at + 2] in words.INSIDE:
            return line.add_day((Away(0), Away(1)), at, at + 3)  # "aaj kal mein": today or tomorrow
        return at + 2  # "aaj kal": nowadays
    if line.is_number(at + 1) and line.number(at + 1).day_sized() is not None:
        dated = line.skip(at + 2, words.DATE_WORDS, 1)
        if line.texts[dated] in words.IT_IS:
            line.numbers.update(line.number(at + 1).values)
            return dated + 1  # "aaj 18 hai" tells the date
    if follower in words.WEEKDAYS and line.texts[at + 2] in words.IT_IS:
        return at + 3  # "aaj guruwar hai"
    if (follower in words.SINCE and line.is_number(at + 2)) or line.before(at) == "from":
        return at + 1  # "aaj se 3 din baad", "3 days from today"
    return line.add_day((Away(0),), at, at + 1)


def duration(line: Line, chain: list[int], numbers: list[Number], after: int) -> int | None:
    """ "in 3 days", "do din baad", "3 days ago", "2 ghante mein". Without a sign of direction it is only a count."""
    place = line.skip(after, words.MORE, 1)
    unit = line.texts[place]
    if unit in words.HOUR or unit in words.MINUTE:
        return delay(line, chain, numbers, place)
    if not (unit in words.DAY or unit in words.WEEK or unit in words.MONTH) or _is_day_after(line, place, numbers):
        return None
    if unit not in words.DAY and any(number.value >= LEAST_SUM_A_MONTH for number in numbers):
        return None  # "5000 mahina" is what is paid every month
    ahead = direction(line, chain[0], place + 1)
    lengths = [number.value for number in numbers]
    if len(chain) > 1 and max(lengths) > FARTHEST_DAYS:
        return None
    if _counted_from_elsewhere(line, chain[0]):
        return place + 1
    if ahead and all(0 <= length <= FARTHEST_DAYS and length == int(length) for length in lengths):
        whens = tuple(_away(int(length) * ahead, unit) for length in lengths)
        if unit in words.DAY and line.before(chain[0]) in words.WEEK:
            whens += (_away(ahead, line.before(chain[0])),)  # "hafta das din": a week or ten days
        line.add_day(whens, chain[0], place + 1, open_ended=False)
    return place + 1


def _is_day_after(line: Line, place: int, numbers: list[Number]) -> bool:
    """ "3000 day after tomorrow", "3000 day after": the unit begins a phrase of its own."""
    if line.texts[place] not in words.DAY or line.texts[place + 1] not in _DAY_AFTER_OR_BEFORE:
        return False
    follower = line.texts[place + 2]
    near = follower in words.TOMORROW or follower == "tom" or follower in words.YESTERDAY
    return near or any(number.value >= SMALLEST_BARE_SUM for number in numbers)


def _counted_from_elsewhere(line: Line, first: int) -> bool:
    """ "uske 2 din baad", "pagar ke agle din": from a day that is not today; but "aaj ke 2 din baad"."""
    before = line.before(first)
    return before in words.AFTER_THAT or (
        before in words.KE and (first < 2 or line.texts[first - 2] not in words.TODAY)
    )


def length_without_number(line: Line, at: int) -> int | None:
    """ "in a week", "hafte baad", "within a month", "in an hour"."""
    article = line.texts[at] in words.ARTICLE
    place = at + 1 if article else at
    unit, before = line.texts[place].removesuffix("'s"), line.before(at)
    if before in words.ROUGHLY:
        before = line.before(at - 1)
    beyond = line.skip(place + 1, words.KE, 1)
    follower = line.texts[beyond]
    ahead = (
        (article and (before in words.WITHIN or is_asked_for(line, at) or len(line.items) == 2))
        or (follower in words.LATER and before != "the")
        or (article and follower == "from" and line.texts[beyond + 1] in words.FROM_NOW)
        or (follower in words.LASTING and line.texts[line.skip(beyond + 1, words.KE, 1)] in words.AHEAD)
    )
    ago = article and follower in words.AGO
    if not ahead and not ago:
        return None
    if line.before(at) in words.QUARTERS:
        return place + 1  # "sava mahine baad" is no day that anybody works out
    if unit in words.HOUR:
        return delay(line, [at], [_ONE], place) if ahead else place + 1
    if unit in words.WEEK or unit in words.MONTH or (article and unit in words.DAY):
        return line.add_day((_away(1 if ahead else -1, unit),), at, place + 1, open_ended=False)
    return None


def _away(count: int, unit: str) -> When:
    if unit in words.MONTH:
        return MonthsAway(count)
    return Away(count * 7 if unit in words.WEEK else count)


_ONE = Number((Decimal(1),), Decimal(1))
