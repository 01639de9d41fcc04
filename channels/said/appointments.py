"""Whether a time that stands in a text is asked for: not in "kal 5 baje call mat karna" nor in "kyu call karte ho 9 baje".

A wrong call costs more than one that nobody makes: a text that forbids anything but another day or sum asks for no time. It
must not know which day or hour was said.
"""

from __future__ import annotations

from itertools import pairwise

from channels.said import words
from channels.said.deeds import MOST_DENIALS
from channels.said.line import DayPhrase, Line, Money
from channels.said.taken_back import denies

_NO_NEED = frozenset({("no", "need"), ("no", "call"), ("no", "calls")})
REACH_ITEMS = 3  # "not on Friday", "25 ko nahi"


def is_asked_for(line: Line) -> bool:
    """Whether nothing is forbidden, and nobody asks why."""
    if not (words.ASKING | words.WHY | words.STOPPING | words.EXCEPT).isdisjoint(line.texts):
        return False
    if any(pair in _NO_NEED for pair in pairwise(line.texts)):
        return False
    denied: list[DayPhrase | Money] = [*line.denied_days, *line.denied_money]
    denials = [
        place for place, word in enumerate(line.texts) if denies(word) and line.texts[place + 1] not in words.OTHERWISE
    ]
    return len(denials) <= MOST_DENIALS and all(_is_of_another_day(place, denied) for place in denials)


def _is_of_another_day(place: int, denied: list[DayPhrase | Money]) -> bool:
    """ "kal nahi, parso 6 baje", "not on Friday"."""
    return any(
        phrase.first - REACH_ITEMS <= place < phrase.first or phrase.after <= place < phrase.after + REACH_ITEMS
        for phrase in denied
    )
