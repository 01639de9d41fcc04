"""Phrases for days: "25 tarikh", "5 Jan", "agle shukravar", "month end", "in 3 days", "kal".

Each function answers with the place after the phrase that begins at `at`, or with None. It must not know today's date:
what a phrase means on a given day is said in `days`.
"""

from __future__ import annotations

from decimal import Decimal

from channels.said import words
from channels.said.clock_phrases import delay, direction
from channels.said.days import (
    FARTHEST_DAYS,
    Away,
    Dated,
    DayOfMonth,
    EitherWay,
    Month,
    MonthEnd,
    MonthsAway,
    NoSuchDay,
    PartOfMonth,
    Week,
    Weekday,
    WeekdayInWeek,
    When,
)
from channels.said.line import NUMBER, Line, Money
from channels.said.money_phrases import FIRST_YEAR, LAST_YEAR
from channels.said.numerals import Number

WEEKS_OF_MONTH = {1: (1, 7), 2: (8, 14), 3: (15, 21), 4: (22, 28)}
LAST_WEEK_OF_MONTH = (-7, 31)
START_OF_MONTH = (1, 7)
WHOLE_MONTH = (1, 31)
WEEKEND = (5, 6)
END_OF_WEEK = (4, 6)  # Friday to some, Sunday to others

_PERIODS_AWAY = {"next": 1, "coming": 1, "this": 0, "last": -1}
_SHORT_WEEKDAYS = frozenset(day for day in words.WEEKDAYS if len(day) <= 5)
_GLUE = words.KE | words.INSIDE
_BEFORE_A_WEEKDAY = _GLUE | {",", "on"}
_BEFORE_A_MONTH = words.KE | words.KO | {"-", "/", ",", "."}
_AFTER_A_MONTH = _GLUE | {"-", ",", "'"}
_BEFORE_A_BARE_MONTH = frozenset({"in", "by", "of", "till", "until", "before", "during"})
_AFTER_A_BARE_MONTH = (words.INSIDE - {"in", "main", "m"}) | words.UNTIL
_BEFORE_THE_VERB_MAY = frozenset({"i", "we", "you", "he", "she", "they", "it", "main", "mai"})
_AFTER_THE_VERB_MAY = frozenset({"be", "pay", "not", "give", "have"})
_COUNTED_IN_ORDER = words.COUNTED | words.DAY | words.MONTH | words.HOUR | words.NOUNS_COUNTED_IN_ORDER
_NOT_A_DAY_IN_MONTH = words.NOT_A_BARE_NUMBER - words.DATE_WORDS - words.KO - words.MONTHS.keys() - words.WEEK - {":"}
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
        return _week_of_month(line, days, chain[0], after)
    month, end = _month_behind(line, after, ordinal=ordinal)
    if month is None:
        if not _marked_as_day(line, chain, after, ordinal=ordinal):
            return None
        month, end = Month(), line.skip(after, words.DATE_WORDS, 1)
    if any(not 1 <= day <= 31 for day in days):
        sure = ordinal or follower in words.DATE_WORDS or month.named is not None
        return line.add_day((NoSuchDay(),), chain[0], end) if sure else None
    if line.alone and not ordinal and month == Month() and end == after:
        line.money += [Money(number.values, None) for number in numbers]  # a bare "25" may be either
    return line.add_day(tuple(_day(day, month) for day in days), chain[0], end)


def _day(day: int, month: Month) -> When:
    if month.named is not None and month.year is not None:
        return Dated(day, month.named, month.year)
    return DayOfMonth(day, month)


def _marked_as_day(line: Line, chain: list[int], after: int, *, ordinal: bool) -> bool:
    first = chain[0]
    follower, before = line.texts[after], line.before(first)
    if before in (":", "-") and first > 1 and line.texts[first - 2] in words.DATE_WORDS:
        before = line.texts[first - 2]  # "date: 5"
    if ordinal or follower in words.DATE_WORDS:
        return True
    if follower in words.MONEY_AFTER_NUMBER or follower == "/":
        return False
    if follower in words.KO or follower in words.UNTIL:
        return True
    if follower in words.KE or follower in words.SINCE:  # "25 ke baad", "25 se pehle"
        return line.texts[after + 1] in words.LATER or line.texts[after + 1] in words.AGO
    if follower in words.NOT_A_BARE_NUMBER:
        return False
    return before in words.BEFORE_A_DATE or (
        line.alone == frozenset(chain) and all(line.items[place].text.isdigit() for place in chain)
    )


def _month_behind(line: Line, after: int, *, ordinal: bool) -> tuple[Month | None, int]:
    """The month said after a day: "Jan", "of January 2027", "tarikh agle mahine"."""
    dated = line.skip(after, words.DATE_WORDS, 1)
    place = line.skip(dated, _BEFORE_A_MONTH, 3)
    word = line.texts[place]
    if word in words.MONTHS and not (word == "may" and line.texts[place + 1] in _AFTER_THE_VERB_MAY):
        year, end = _year(line, place + 1)
        return Month(named=words.MONTHS[word], year=year), end
    if ordinal or dated > after or line.texts[after] in words.KO or line.texts[after] in words.KE:
        return _month(line, place, bare=False)
    return None, after


def _month(line: Line, place: int, *, bare: bool) -> tuple[Month | None, int]:
    """ "next month", "is mahine", "March 2027"; `bare` also allows "month" alone."""
    place = line.skip(place, ("the",), 1)
    word = line.texts[place]
    if word in words.MONTHS:
        year, end = _year(line, place + 1)
        return Month(named=words.MONTHS[word], year=year), end
    said, unit = _which(line, place)
    if line.texts[unit] in words.MONTH and (bare or said is not None):
        return Month(away=None if said is None else _PERIODS_AWAY[said]), unit + 1
    return None, place


def _year(line: Line, place: int) -> tuple[int | None, int]:
    """The year at `place`, also after a comma, or of two digits after a sign: "2027", ", 2027", "'27", "-27"."""
    at = line.skip(place, words.KE | {",", "-", "/", "'"}, 1)
    if not line.is_number(at) or not line.items[at].text.isdigit():
        return None, place
    number, digits = line.number(at), len(line.items[at].text)
    if number.grouped or number.scale is not None or number.ordinal or line.texts[at + 1] in words.MONEY_AFTER_NUMBER:
        return None, place
    signed = at > place and line.texts[at - 1] in ("-", "/", "'") and line.touch(at - 1, at)
    if digits == 4 and FIRST_YEAR <= number.value <= LAST_YEAR:
        year = int(number.value)
    elif digits == 2 and signed:
        year = 2000 + int(number.value)
    else:
        return None, place
    line.numbers.add(number.value)
    return year, at + 1


def _week_of_month(line: Line, weeks: list[int], first: int, after: int) -> int | None:
    """ "first week of Feb", "pehle hafte mein"."""
    month, end = _month(line, line.skip(after + 1, _GLUE, 3), bare=True)
    if month is None:
        month, end = Month(), after + 1
    whens = tuple(PartOfMonth(month, *WEEKS_OF_MONTH[week]) for week in weeks if week in WEEKS_OF_MONTH)
    return line.add_day(whens, first, end) if whens else None


# -- months and weeks -------------------------------------------------------------------------------------------------


def month_phrase(line: Line, at: int) -> int | None:
    """ "month end", "end of next month", "agle mahine ki 5 tarikh", "Jan 5th", "march ke pehle hafte"."""
    word = line.texts[at]
    if word in words.MONTH_END:
        return line.add_day((MonthEnd(Month()),), at, at + 1)
    if (word in words.END or word in words.START) and (taken := _edge_before_month(line, at)) is not None:
        return taken
    month, after = _month(line, at, bare=True)
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
    if not sure and not (exist and (follower in words.KO or month != Month())):
        return None
    end = line.skip(after, words.DATE_WORDS, 1)
    if month.named is not None and month.year is None:
        year, end = _year(line, end)
        month = Month(named=month.named, year=year)
    return line.add_day(tuple(_day(day, month) for day in days) if exist else (NoSuchDay(),), at, end)


def _edge_before_month(line: Line, at: int) -> int | None:
    """ "end of the month", "last date of March", "start of next month"."""
    word, unit = line.texts[at], line.texts[at + 1]
    spelt_out = unit in words.DAY or unit in words.DATE_WORDS or unit in words.WEEK
    if word == "last" and not spelt_out and unit != "of":
        return None
    place = line.skip(at + 2 if spelt_out else at + 1, _GLUE, 3)
    month, end = _month(line, place, bare=True)
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


def week_phrase(line: Line, at: int) -> int | None:
    """ "next week", "is hafte", "weekend", "end of next week", "agle hafte shukravar"."""
    word = line.texts[at]
    if word in words.WEEKEND:
        return line.add_day((Week(0, *WEEKEND),), at, at + 1)
    if word in words.END and word != "last":
        away, end = _week(line, line.skip(at + 1, words.KE, 2), bare=True)
        return None if away is None else line.add_day((Week(away, *END_OF_WEEK),), at, end)
    said, unit = _which(line, at)
    if said == "last" and line.texts[unit + 1] == "of":
        return None  # "last week of March"
    if said is not None and line.texts[unit] in words.WEEKEND:
        away = _PERIODS_AWAY[said]
        # "Next weekend" is like "next Friday": this week's to some, next week's to others.
        weekends = (Week(0, *WEEKEND), Week(1, *WEEKEND)) if said == "next" else (Week(away, *WEEKEND),)
        return line.add_day(weekends, at, unit + 1)
    away, end = _week(line, at, bare=True)
    if away is None:
        return None
    closing = line.skip(end, words.KE, 1)
    if line.texts[closing] in words.END:
        return line.add_day((Week(away, *END_OF_WEEK),), at, closing + 1)
    if said is None:
        return None
    place = line.skip(end, _BEFORE_A_WEEKDAY, 3)
    if line.texts[place] in words.WEEKDAYS:
        return line.add_day((WeekdayInWeek(words.WEEKDAYS[line.texts[place]], away),), at, place + 1)
    return line.add_day((Week(away),), at, end)


def _week(line: Line, place: int, *, bare: bool) -> tuple[int | None, int]:
    """How many weeks away, and the place after: "next week" is 1, "is hafte" 0; `bare` also allows "week" alone."""
    said, unit = _which(line, place)
    if line.texts[unit] in words.WEEK and (bare or said is not None):
        return 0 if said is None else _PERIODS_AWAY[said], unit + 1
    return None, place


def _which(line: Line, at: int) -> tuple[str | None, int]:
    """How a week, a month or a weekday is pointed at, and the place of the word for it."""
    word = line.texts[at]
    if word in words.COMING_FIRST_OF_TWO and line.texts[at + 1] in words.COMING_SECOND_OF_TWO:
        return "coming", at + 2
    for said, these in (("next", words.NEXT), ("this", words.THIS), ("coming", words.COMING), ("last", words.LAST)):
        if word in these:
            return said, at + 1
    return None, at


def weekday_phrase(line: Line, at: int) -> int | None:
    """ "Friday", "next Friday", "aane wale somwar", "Friday next week"."""
    said, place = _which(line, at)
    day = line.texts[place]
    if day not in words.WEEKDAYS:
        return None
    if said is None and day in words.WEEKDAYS_THAT_ARE_WORDS and not _weekday_is_meant(line, at):
        return None
    if said is None or line.texts[at] == "is":  # "is" is "this" in Hindi and a verb in English
        said = "plain"
    after = place + 1
    if line.texts[after] == "." and day in _SHORT_WEEKDAYS:
        after += 1
    away, end = _week(line, line.skip(after, words.KE, 2), bare=False)
    if away is not None and said == "plain":
        return line.add_day((WeekdayInWeek(words.WEEKDAYS[day], away),), at, end)
    return line.add_day((Weekday(words.WEEKDAYS[day], said),), at, after)


def _weekday_is_meant(line: Line, at: int) -> bool:
    follower = line.texts[line.skip(at + 1, (",", "."), 1)]
    return (
        line.before(at) in words.BEFORE_A_DAY
        or follower in words.AFTER_A_DAY
        or (follower == NUMBER and line.texts[at] not in words.NUMBER_WORDS)
        or len(line.items) <= 2
    )


# -- so many days away ------------------------------------------------------------------------------------------------


def relative_day(line: Line, at: int) -> int | None:
    """ "kal", "day after tomorrow", "aaj kal mein", "end of day"."""
    word, follower, third = line.texts[at : at + 3]
    if word in words.DAY:
        if follower == "after" and third in words.TOMORROW:
            return line.add_day((Away(2),), at, at + 3)
        if follower == "before" and third in words.YESTERDAY:
            return line.add_day((Away(-2),), at, at + 3)
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
        return line.add_day((Away(1),), at, at + 2)
    if word == "this" and follower in words.PARTS_OF_DAY:
        return line.add_day((Away(0),), at, at + 1)
    end = line.skip(at + 1, ("of", "the"), 2) if word == "end" else at
    if word in words.DAY_END or (word == "end" and line.texts[end] == "day"):
        line.end_of_day = True
        return end + 1
    return None


def _today(line: Line, at: int) -> int:
    follower = line.texts[at + 1]
    if words.EITHER_WAY.get(follower) == 1:
        if line.texts[at + 2] in words.INSIDE:
            return line.add_day((Away(0), Away(1)), at, at + 3)  # "aaj kal mein": today or tomorrow
        return at + 2  # "aaj kal": nowadays
    if (follower in words.SINCE and line.is_number(at + 2)) or line.before(at) == "from":
        return at + 1  # "aaj se 3 din baad", "3 days from today"
    return line.add_day((Away(0),), at, at + 1)


def duration(line: Line, chain: list[int], numbers: list[Number], after: int) -> int | None:
    """ "in 3 days", "do din baad", "3 days ago", "2 ghante mein". Without a sign of direction it is only a count."""
    place = line.skip(after, words.MORE, 1)
    unit = line.texts[place]
    if unit in words.HOUR or unit in words.MINUTE:
        return delay(line, chain, numbers, place)
    if not (unit in words.DAY or unit in words.WEEK or unit in words.MONTH):
        return None
    ahead = direction(line, chain[0], place + 1)
    lengths = [number.value for number in numbers]
    if len(chain) > 1 and max(lengths) > FARTHEST_DAYS:
        return None
    if ahead and all(0 <= length <= FARTHEST_DAYS and length == int(length) for length in lengths):
        whens = tuple(_away(int(length) * ahead, unit) for length in lengths)
        line.add_day(whens, chain[0], place + 1, open_ended=False)
    return place + 1


def length_without_number(line: Line, at: int) -> int | None:
    """ "in a week", "hafte baad", "within a month", "in an hour"."""
    article = line.texts[at] in words.ARTICLE
    place = at + 1 if article else at
    unit, before = line.texts[place], line.before(at)
    follower = line.texts[line.skip(place + 1, words.KE, 1)]
    ahead = (article and before in words.WITHIN) or (follower in words.LATER and before != "the")
    ago = article and follower in words.AGO
    if not ahead and not ago:
        return None
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
