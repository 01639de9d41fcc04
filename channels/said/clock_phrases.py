"""Clock times and delays: "6 pm", "kal shaam 6 baje", "10:30", "half past 5", "2 ghante baad".

It must not know days. A time whose half of the day nobody said stays unclear; it is never guessed from the present hour.
"""

from __future__ import annotations

from decimal import Decimal

from channels.said import words
from channels.said.figures import Number
from channels.said.line import NOTHING, Line

LONGEST_DELAY_UNITS = 1_000  # "in 1000 minutes"

_BEFORE_A_PART_OF_DAY = words.KO | words.KE | words.INSIDE | {"in", "the", "this", ",", "-", "around", "by"}
_BEFORE_A_BOUND = words.KE | {"se", "से"}
_IN_FRONT_OF_THE_HOUR = _BEFORE_A_PART_OF_DAY | words.AT

# The hours that may be said with a part of the day, or with none. With none, 8 to 12 are those of the day, since nobody
# may be called before 08:00 or after 19:00 (DESIGN 18); 1 to 7 stay unclear.
_HOURS_SAID_WITH: dict[str | None, tuple[int, ...]] = {
    None: (8, 9, 10, 11, 12),
    "morning": (4, 5, 6, 7, 8, 9, 10, 11),
    "midday": (11, 12, 1, 2, 3, 4, 5),
    "evening": (3, 4, 5, 6, 7, 8, 9, 10, 11),
    "night": (7, 8, 9, 10, 11),
}


def clock_time(line: Line, chain: list[int], numbers: list[Number], after: int) -> int | None:
    """A clock time in numbers that something beside them makes one; the place after it."""
    if any(not 0 <= number.value <= 24 or number.scale is not None for number in numbers):
        return None
    half, end = _half_of_day(line, after)
    if half is None:
        end = line.skip(after, words.OCLOCK, 1)
        if end == after and not _hour_is_meant(line, chain[0], after):
            return None
        half, end = _part_of_day(line, chain[0], end)
    for place, number in zip(chain, numbers, strict=True):
        _take(line, _minutes(number, line.items[place].text, half), chain[0], end)
    return end


def clock_item(line: Line, at: int) -> int:
    """A time written with a colon; the place after it."""
    text = line.items[at].text
    hour, minute = (int(part) for part in text.split(":")[:2])
    line.numbers.update((Decimal(hour), Decimal(minute)))
    half, end = _half_of_day(line, at + 1)
    if half is None:
        half, end = _part_of_day(line, at, line.skip(at + 1, words.OCLOCK, 1))
    by_24_hours = half is None and text[0] == "0"  # "07:30"
    _take(line, hour * 60 + minute if by_24_hours else _on_the_clock(hour, minute, half), at, end)
    return end


def hour_in_words(line: Line, at: int) -> int | None:
    """ "noon", "half past 5", "quarter to 6", "half an hour", "aadhe ghante baad"; the place after it."""
    word = line.texts[at]
    if word == "noon":
        line.clocks.append(12 * 60)
        line.times.append(at)
        return at + 1
    if word in words.PART_AFTER_AND and line.texts[at + 1] in ("past", "to") and line.is_number(at + 2):
        number, shift = line.number(at + 2), words.PART_AFTER_AND[word]
        value = number.value + (shift if line.texts[at + 1] == "past" else -shift)
        if not 0 <= value < 24:
            return None
        half, end = _half_of_day(line, at + 3)
        if half is None:
            half, end = _part_of_day(line, at, end)
        line.numbers.update(number.values)
        _take(line, _minutes(Number((value,), value), NOTHING, half), at, end)
        return end
    if word in words.HALF:
        place = line.skip(at + 1, words.ARTICLE, 1)
        if line.texts[place] in words.HOUR:
            if direction(line, at, place + 1) > 0:
                line.delays.append(Decimal(30))
                line.times.append(at)
            return place + 1
    return None


def delay(line: Line, chain: list[int], numbers: list[Number], place: int) -> int:
    """ "2 ghante baad": hours or minutes, the unit at `place`; the place after it."""
    if len(numbers) == 1 and numbers[0].value < LONGEST_DELAY_UNITS and direction(line, chain[0], place + 1) > 0:
        line.delays.append(numbers[0].value * (60 if line.texts[place] in words.HOUR else 1))
        line.times.append(chain[0])
    return place + 1


def direction(line: Line, first: int, after: int) -> int:
    """1 ahead, -1 back, 0 when a length of time points nowhere ("3 din se bimar hu")."""
    before = line.before(first)
    if before in words.ROUGHLY:
        before = line.before(first - 1)  # "in about two weeks"
    if before in words.EARLIER_ON:
        return 0
    place = line.skip(line.skip(after, words.MORE, 1), words.KE, 1)
    follower = line.texts[place]
    if follower in words.GRANTED and line.texts[place + 1] not in words.PAST:
        return 1  # "2 din do", "do din ruk jao"; not "2 din lag gaye"
    if follower in words.AHEAD or (follower == "from" and line.texts[place + 1] in words.FROM_NOW):
        return 1
    if follower in words.AGO:
        return -1
    if follower in words.SINCE:
        return 0
    if before in words.SE and first > 1 and line.texts[first - 2] in words.TODAY:
        return 1  # "aaj se 5 din"
    if is_asked_for(line, first):
        return 1
    return 1 if before in words.WITHIN or follower in words.UNTIL or line.alone or line.is_only_a_length() else 0


def is_asked_for(line: Line, first: int) -> bool:
    """ "give me 2 days", "need a week", "please wait for 2 days"."""
    before, earlier = line.before(first), line.texts[first - 2] if first > 1 else NOTHING
    return (
        before in words.ASKED_FOR
        or (before == "for" and earlier in words.ASKED_FOR)
        or (before in ("me", "us") and earlier == "give")
    )


def _take(line: Line, minutes: int | None, first: int, after: int) -> None:
    """Takes a time; "after 6 pm" and "6 baje se pehle" are times, but no clear ones."""
    place = line.skip(after, _BEFORE_A_BOUND, 2)
    after_a_day = first > 1 and line.texts[first - 2] in words.DAY  # "day after 3pm"
    bound = (
        (line.before(first) in ("after", "before") and not after_a_day)
        or line.texts[place] in words.LATER
        or line.texts[place] in words.AGO
    )
    line.clocks.append(None if bound else minutes)
    line.times.append(first)


def _half_of_day(line: Line, after: int) -> tuple[str | None, int]:
    """ "pm" and its spellings: what they say and the place after them."""
    word = line.texts[after]
    if word in words.BEFORE_NOON or word in words.AFTER_NOON:
        return ("am" if word in words.BEFORE_NOON else "pm"), after + 1
    if word in ("a", "p") and line.texts[after + 1] == "." and line.texts[after + 2] == "m":
        return ("am" if word == "a" else "pm"), line.skip(after + 3, ".", 1)
    return None, after


def _hour_is_meant(line: Line, at: int, after: int) -> bool:
    """ "at 6", "shaam 6": a small bare number there is a clock time, if nothing after it says otherwise."""
    if line.texts[after] in words.NOT_A_BARE_NUMBER:
        return False
    before = line.before(at)
    if before in words.AT:
        return True
    if before in _BEFORE_A_PART_OF_DAY and at > 1:
        before = line.texts[at - 2]
    follower = line.texts[after] if line.texts[after] != "in" else line.texts[after + 2]
    return before in words.PARTS_OF_DAY or follower in words.PARTS_OF_DAY


def _part_of_day(line: Line, at: int, end: int) -> tuple[str | None, int]:
    """The part of the day said after a time that ends at `end`, or before the one that begins at `at`."""
    place = line.skip(end, _BEFORE_A_PART_OF_DAY, 2)
    if line.texts[place] in words.PARTS_OF_DAY:
        return words.PARTS_OF_DAY[line.texts[place]], place + 1
    if line.texts[place] in words.PLAIN_DAYS and line.texts[place + 1] in words.PARTS_OF_DAY:
        return words.PARTS_OF_DAY[line.texts[place + 1]], end  # "6:30 tomorrow evening"
    place = at - 1
    while place > at - 3 and place > 0 and line.texts[place] in _IN_FRONT_OF_THE_HOUR:
        place -= 1
    return words.PARTS_OF_DAY.get(line.texts[place]) if place >= 0 else None, end


def _minutes(number: Number, written: str, half: str | None) -> int | None:
    whole, point, decimals = written.partition(".")
    if point and len(decimals) == 2 and int(decimals) < 60:  # "5.30 pm"
        return _on_the_clock(int(whole), int(decimals), half)
    hour = int(number.value)
    return _on_the_clock(hour, int((number.value - hour) * 60), half)


def _on_the_clock(hour: int, minute: int, half: str | None) -> int | None:
    """Minutes after midnight, or None."""
    if hour > 23:
        return None
    if hour > 12:
        return hour * 60 + minute
    if half in ("am", "pm"):
        return (hour % 12 + 12 * (half == "pm")) * 60 + minute
    if hour not in _HOURS_SAID_WITH[half]:
        return None
    after_noon = half in ("evening", "night") or (half == "midday" and hour < 11)
    return (hour + 12 * after_noon) * 60 + minute
