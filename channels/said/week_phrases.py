"""Phrases for weeks and weekdays: "next week", "is hafte", "weekend", "agle shukravar", "Friday next week".

Each function answers with the place after the phrase that begins at `at`, or with None. It must not know today's date.
"""

from __future__ import annotations

from channels.said import words
from channels.said.days import Week, Weekday, WeekdayInWeek
from channels.said.line import NUMBER, Line

WEEKEND = (5, 6)
END_OF_WEEK = (4, 6)  # Friday to some, Sunday to others
PERIODS_AWAY = {"over": 2, "next": 1, "coming": 1, "this": 0, "last": -1}

_SHORT_WEEKDAYS = frozenset(day for day in words.WEEKDAYS if len(day) <= 5)
_BEFORE_A_WEEKDAY = words.KE | words.INSIDE | {",", "on"}
_JOINING_WEEKDAYS = frozenset({"-", "/"})
_NEXT_TO_NEXT = frozenset({"to"}) | words.KE | words.SE


def week_phrase(line: Line, at: int) -> int | None:
    """ "next week", "is hafte", "weekend", "end of next week", "agle hafte shukravar"."""
    word = line.texts[at]
    if word in words.WEEKEND:
        return line.add_day((Week(0, *WEEKEND),), at, at + 1)
    if word in words.END and word != "last":
        away, end = _week(line, line.skip(at + 1, words.KE, 2), bare=True)
        return None if away is None else line.add_day((Week(away, *END_OF_WEEK),), at, end)
    said, unit = which(line, at)
    if said == "last" and line.texts[unit + 1] == "of":
        return None  # "last week of March"
    if said is not None and line.texts[unit] in words.WEEKEND:
        away = PERIODS_AWAY[said]
        # "Next weekend" is like "next Friday": this week's to some, next week's to others.
        weekends = (Week(0, *WEEKEND), Week(1, *WEEKEND)) if said == "next" else (Week(away, *WEEKEND),)
        return line.add_day(weekends, at, unit + 1)
    away, end = _week(line, at, bare=True)
    if away is None:
        return None
    if said is None and _after_next(line, end):
        return line.add_day((Week(2),), at, end + 2)
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
    said, unit = which(line, place)
    if line.texts[unit] in words.WEEK and (bare or said is not None):
        return 0 if said is None else PERIODS_AWAY[said], unit + 1
    return None, place


def which(line: Line, at: int) -> tuple[str | None, int]:
    """How a week, a month or a weekday is pointed at, and the place of the word for it."""
    word = line.texts[at]
    if word in words.COMING_FIRST_OF_TWO and line.texts[at + 1] in words.COMING_SECOND_OF_TWO:
        return "coming", at + 2
    if word in words.NEXT and line.texts[at + 1] in words.COMING_SECOND_OF_TWO:
        return "next", at + 2
    if word in words.NEXT and line.texts[at + 2] in words.NEXT and line.texts[at + 1] in _NEXT_TO_NEXT:
        return "over", at + 3
    for said, these in (("next", words.NEXT), ("this", words.THIS), ("coming", words.COMING), ("last", words.LAST)):
        if word in these:
            return said, at + 1
    return None, at


def weekday_phrase(line: Line, at: int) -> int | None:
    """ "Friday", "next Friday", "aane wale somwar", "Friday next week"."""
    said, place = which(line, at)
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
    if _after_next(line, after):
        return line.add_day((Weekday(words.WEEKDAYS[day], "over"),), at, after + 2)
    if said == "plain" and line.texts[after] in words.NEXT and line.texts[after + 1] not in words.UNITS_OF_TIME:
        return line.add_day((Weekday(words.WEEKDAYS[day], "next"),), at, after + 1)  # "Monday next"
    return line.add_day((Weekday(words.WEEKDAYS[day], said),), at, after)


def _after_next(line: Line, after: int) -> bool:
    """ "Friday after next", "the week after next"."""
    return line.texts[after] == "after" and line.texts[after + 1] in words.NEXT


def _weekday_is_meant(line: Line, at: int) -> bool:
    follower = line.texts[line.skip(at + 1, (",", "."), 1)]
    return (
        line.before(at) in words.BEFORE_A_DAY
        or follower in words.AFTER_A_DAY
        or (follower == NUMBER and line.texts[at] not in words.NUMBER_WORDS)
        or len(line.items) <= 2
        or (line.texts[at + 1] in _JOINING_WEEKDAYS and line.texts[at + 2] in words.WEEKDAYS)
        or (line.before(at) in _JOINING_WEEKDAYS and at > 1 and line.texts[at - 2] in words.WEEKDAYS)
    )
