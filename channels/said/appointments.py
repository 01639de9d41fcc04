"""Whether a time that stands in a text is asked for: not in "kal 5 baje call mat karna" nor in "kyu call karte ho 9 baje".

A wrong call costs more than one that nobody makes. So a time is not asked for where its own clause denies, excepts or asks
why, and where another clause forbids calls ("call mat karo, kal 5 baje ..."); what is denied of another day, or of now
("abhi baat nahi kar sakta kal 5 baje call karo"), is no matter. It must not know which day or hour was said.
"""

from __future__ import annotations

from collections.abc import Iterator

from channels.said import words
from channels.said.deeds import MOST_DENIALS
from channels.said.line import DayPhrase, Line, Money
from channels.said.taken_back import denies

REACH_ITEMS = 3  # "not on Friday", "25 ko nahi", "band karo call"
NOW_REACH_ITEMS = 5  # "abhi main baat nahi kar sakta"


def is_asked_for(line: Line) -> bool:
    denied: list[DayPhrase | Money] = [*line.denied_days, *line.denied_money]
    if len(denied) > MOST_DENIALS or (line.times and line.denied_days and not line.days):
        return False
    return not any(_is_ruled_out(line, denied, begin, end) for begin, end in _clauses(line))


def _clauses(line: Line) -> Iterator[tuple[int, int]]:
    begin = 0
    for place in range(len(line.items) + 1):
        if place == len(line.items) or line.texts[place] in words.CLAUSE_ENDS:
            yield begin, place
            begin = place + 1


def _is_ruled_out(line: Line, denied: list[DayPhrase | Money], begin: int, end: int) -> bool:
    """Whether the clause denies the time in it, or forbids calls at no time in particular."""
    said = line.texts[begin:end]
    times = [place for place in line.times if begin <= place < end]
    if times and not _RULING_OUT.isdisjoint(said):
        return True
    for place in range(begin, end):
        if not _is_denial(line, place) or _is_of_another_day(place, denied):
            continue
        now = not words.AT_PRESENT.isdisjoint(line.texts[max(begin, place - NOW_REACH_ITEMS) : place + REACH_ITEMS])
        if now and (not times or times[0] > place):
            continue
        if times or (
            _is_forbidding(line, place) and not words.CALLING.isdisjoint(said) and _NAMES_A_TIME.isdisjoint(said)
        ):
            return True
    return False


def _is_denial(line: Line, place: int) -> bool:
    word, follower = line.texts[place : place + 2]
    if word in words.STOPPING:
        return not words.CALLING.isdisjoint(line.texts[max(0, place - REACH_ITEMS) : place + 1 + REACH_ITEMS])
    if word == "no":
        return follower == "need" or follower in words.CALLING
    return denies(word) and follower not in words.OTHERWISE


def _is_forbidding(line: Line, place: int) -> bool:
    """ "mat karo", "don't", "do not", "stop"; not "nahi kar sakta"."""
    word = line.texts[place]
    return word in words.FORBIDDING or word in words.STOPPING or (word == "not" and line.before(place) == "do")


def _is_of_another_day(place: int, denied: list[DayPhrase | Money]) -> bool:
    """ "kal nahi, parso 6 baje", "not on Friday"."""
    return any(
        phrase.first - REACH_ITEMS <= place < phrase.first or phrase.after <= place < phrase.after + REACH_ITEMS
        for phrase in denied
    )


_RULING_OUT = words.WHY | words.EXCEPT
_NAMES_A_TIME = words.PARTS_OF_DAY.keys() | words.PLAIN_DAYS
