"""Sums that are told and not promised: a salary, a rent, a penalty. "salary 20000 hai, 5 ko dunga" names no sum to be paid.
Nor does what was spent, what is to be let off, and what the other side asks for where the speaker names another.

Such a sum stands beside the noun for it. It is meant all the same where it is offered: "late fee 200 bhi de dunga". This must
not know days, nor what a sum is worth.
"""

from __future__ import annotations

from channels.said import words
from channels.said.line import NUMBER, Line, Money
from channels.said.tense import is_future

FARTHEST_OFFER_ITEMS = 12
FARTHEST_ASKED_ITEMS = 6
WIDEST_GLUE_ITEMS = 3


def leave_out_other_sums(line: Line) -> None:
    """Takes the sums of something else out of what `line` says of money; they are denied by nobody either."""
    if line.money and not _NOUNS.isdisjoint(line.texts):
        line.money = [money for money in line.money if not _is_of_something_else(line, money)]
    if line.money and not _GONE.isdisjoint(line.texts):
        line.money = [money for money in line.money if not _is_spent_or_let_off(line, money)]
    if len(line.money) > 1 and not _OTHER_SIDE.isdisjoint(line.texts):
        line.money = [money for money in line.money if not _is_asked_of_the_speaker(line, money)] or line.money


def _is_of_something_else(line: Line, money: Money) -> bool:
    noun, told = _noun_before(line, money.first)
    after = money.after
    if noun is None:
        noun, after = _noun_behind(line, money.after)
    if noun is None or line.before(noun) in words.WITHOUT:
        return False
    if line.texts[noun] in words.BORROWED:  # "50000 ka loan tha"; not "loan ki 5000 EMI"
        place = line.skip(after, words.KE, 1)
        return told or line.texts[place] in words.IT_IS or line.texts[place] in words.GAVE_AFTER_STEM
    return told or line.texts[after] in words.IT_IS_BEHIND or not _is_offered(line, min(noun, money.first), after)


def _is_spent_or_let_off(line: Line, money: Money) -> bool:
    """ "50000 lag gaye", "50000 kharch hue", "I spent 50000", "2000 kam karo", "2000 ka discount do"; not "5000 se kam"."""
    place = line.skip(money.after, words.KE, 1)
    word, follower = line.texts[place : place + 2]
    if word in words.SPENT or (word in words.CAME_TO_BE_SPENT and follower in words.PAST):
        return True
    if word in words.LET_OFF:
        return not is_future(follower) and follower not in words.IT_IS
    return line.before(money.first) in words.SPENT


def _is_asked_of_the_speaker(line: Line, money: Money) -> bool:
    """ "aap 5000 maang rahe ho", "aapne 5000 bola", "you are asking 5000"."""
    before = line.texts[max(0, money.first - FARTHEST_ASKED_ITEMS) : money.first]
    for place in range(len(before) - 1, -1, -1):
        if before[place] in words.CLAUSE_ENDS or before[place] == NUMBER or before[place] in words.BY_ME:
            return False
        if before[place] in _OTHER_SIDE:
            near = (*before[place:], *line.texts[money.after : money.after + WIDEST_GLUE_ITEMS])
            return not words.ASKS.isdisjoint(near)
    return False


def _noun_before(line: Line, first: int) -> tuple[int | None, bool]:
    """ "salary 20000", "late fee of 500", "my rent is Rs 8000": its place, and whether the sum is told of it outright."""
    place, told = first - 1, False
    while place >= 0 and first - place <= WIDEST_GLUE_ITEMS and _is_glue(line.texts[place]):
        told = told or line.texts[place] in words.IT_IS
        place -= 1
    if place < 0 or not (line.texts[place] in words.EARNS or _is_noun(line, place)):
        return None, False
    return place, told or line.texts[place] in words.EARNS


def _noun_behind(line: Line, after: int) -> tuple[int | None, int]:
    """ "20000 salary", "500 ka penalty", "500 bounce charges": its place and the one after it."""
    place = line.skip(after, words.KE, 1)
    place = line.skip(place, words.OF_A_CHARGE, 1)
    return (place, place + 1) if _is_noun(line, place) else (None, after)


def _is_noun(line: Line, place: int) -> bool:
    """Also "bounce charge"; but "charge 5000 on the 5th" asks for it."""
    word = line.texts[place]
    if word == "charge":
        return line.before(place) in words.OF_A_CHARGE
    return word in words.TOLD_SUMS or word in words.INCOME or word in words.BORROWED


def _is_offered(line: Line, first: int, after: int) -> bool:
    """Whether a verb of the same clause gives it."""
    for place in range(after, min(len(line.items), after + FARTHEST_OFFER_ITEMS)):
        if line.texts[place] in words.CLAUSE_ENDS:
            break
        if _gives(line.texts[place]):
            return True
    for place in range(first - 1, max(-1, first - FARTHEST_OFFER_ITEMS), -1):
        if line.texts[place] in words.CLAUSE_ENDS:
            break
        if _gives(line.texts[place]):
            return True
    return False


def _gives(word: str) -> bool:
    return is_future(word) or word in words.WILL or word in words.PAY or word in words.HABITUAL or word.endswith("'ll")


def _is_glue(word: str) -> bool:
    return (
        word in words.IT_IS or word in words.KE or word in words.CURRENCIES or word in words.ROUGHLY or word in _SIGNS
    )


_SIGNS = frozenset(".:-")
_OTHER_SIDE = words.ADDRESSED_ANYHOW | words.BY_SOMEBODY
_GONE = words.SPENT | words.CAME_TO_BE_SPENT | words.LET_OFF
_NOUNS = words.TOLD_SUMS | words.INCOME | words.EARNS | words.BORROWED | {"charge"}
