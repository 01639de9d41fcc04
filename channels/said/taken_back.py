"""What the rest of a sentence takes back from a day or a sum: "25 tarikh tak payment nahi kar paunga", "I can't pay 5000",
"25th won't work", "25 tak bahar hu, uske baad dunga".

What is denied at once ("kal nahi", "not 5000") the phrases see themselves. Hindi puts its verb and its "nahi" behind, so
they are looked for there first; English puts both before. It must not know dates, nor what a sum is worth.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from channels.said import words
from channels.said.line import NOTHING, DayPhrase, Line, Money
from channels.said.tense import NEGATION_REACH_ITEMS, is_future, tense_of_word

FARTHEST_DENIAL_ITEMS = 12  # a negation farther away belongs to something else
FARTHEST_DOUBT_ITEMS = 8


_DENYING = words.NOT | words.CANNOT | words.HARD
_MAY_DENY = _DENYING | words.NA | words.DOUBTING | words.MUCH | words.WHERE | {"no", "too", "forget"}
_AFTER_SOMETHING = words.AFTER_THAT | {"after"}


class _Verdict(Enum):
    DENIED = "denied"
    MEANT = "meant"
    OPEN = "open"


def take_back(line: Line) -> None:
    """Moves the days and sums that `line` denies out of what it says, and opens the end of "..., uske baad"."""
    said = set(line.texts)
    if line.days and not _AFTER_SOMETHING.isdisjoint(said):
        _open_ends(line)
    if _MAY_DENY.isdisjoint(said) and not any(word.endswith("n't") for word in said):
        return
    phrases = {days.first: days.after for days in (*line.days, *line.denied_days)}
    phrases |= {money.first: money.after for money in (*line.money, *line.denied_money)}
    sentence = _Sentence(line, phrases)
    days, money = line.days, line.money
    line.days = [phrase for phrase in days if not sentence.denies(phrase)]
    line.money = [phrase for phrase in money if not sentence.denies(phrase)]
    line.denied_days += [phrase for phrase in days if sentence.denies(phrase)]
    line.denied_money += [phrase for phrase in money if sentence.denies(phrase)]


def denies(word: str) -> bool:
    return word in _DENYING or word.endswith("n't")


class _Sentence:
    """One line and the places of its phrases, asked which of them it denies."""

    def __init__(self, line: Line, phrases: dict[int, int]) -> None:
        self._texts = line.texts
        self._length = len(line.items)
        self._phrases = phrases

    def denies(self, phrase: DayPhrase | Money) -> bool:
        first, after = phrase.first, phrase.after
        if self._doubted(first) or self._never_said(after):
            return True
        behind = self._behind(after)
        if behind is not _Verdict.OPEN:
            return behind is _Verdict.DENIED and not self._offered_before(first)
        return self._before(first) is _Verdict.DENIED

    def _behind(self, after: int) -> _Verdict:
        """What the first verb or negation behind the phrase says of it."""
        others = False
        for place in range(after, min(self._length, after + FARTHEST_DENIAL_ITEMS)):
            word, follower = self._texts[place : place + 2]
            if word in words.CLAUSE_ENDS:
                break
            others = others or place in self._phrases
            if self._is_too_much(place) and not others:
                return _Verdict.DENIED
            if word in words.NA and follower in words.GOES_WITH_ANY_DEED:
                return _Verdict.DENIED  # "18 ko na ho payega"
            if denies(word):
                if follower in words.OTHERWISE or self._limits(place) or (word == "not" and place + 1 in self._phrases):
                    return _Verdict.MEANT
                if others and place + 1 in self._phrases:
                    return _Verdict.MEANT  # "2000 kal nahi parso": the day between is denied, not the sum before it
                return _Verdict.DENIED
            if _is_verb(word):
                return _Verdict.DENIED if self._denied_at(place) else _Verdict.MEANT
        return _Verdict.OPEN

    def _never_said(self, after: int) -> bool:
        """ "25 ko dunga aisa maine nahi bola"."""
        for place in range(after, min(self._length, after + FARTHEST_DENIAL_ITEMS)):
            word, follower = self._texts[place : place + 2]
            if word in words.CLAUSE_ENDS:
                return False
            if word in words.NOT and follower in words.SAYING:
                between = self._texts[after:place]
                return not words.BY_ME.isdisjoint(between) or not words.SUCH.isdisjoint(between)
        return False

    def _is_too_much(self, place: int) -> bool:
        """ "the 25th is too early", "5000 bahut zyada hai", "5000 kahan se laun"; not "5000 se zyada hai"."""
        before, word, follower = self._texts[place - 1 : place + 2]
        if word == "too":
            return follower in words.TOO
        if word in words.MUCH:
            return follower in words.IT_IS and before not in words.SE
        return word in words.WHERE and follower in words.SE

    def _denied_at(self, verb: int) -> bool:
        """ "dunga nahi", "hoga ya nahi", "hoga ki nahi"; but "dunga nahi to", and "dunga nahi bhulunga" denies what follows."""
        place = verb + 1
        place += self._texts[place] in words.OR or self._texts[place] in words.THAT_IS_ASKED
        if self._texts[place] not in words.NOT:
            return False
        follower = self._texts[place + 1]
        return follower not in words.OTHERWISE and not _is_verb(follower)

    def _limits(self, place: int) -> bool:
        """ "5000 se zyada nahi", "5000, not more"."""
        behind = self._texts[place + 1]
        return self._texts[place - 1] in words.MORE_OR_LESS or behind in words.MORE_OR_LESS or behind == "after"

    def _rules_out_what_stands_before(self, place: int) -> bool:
        return self._texts[place + 1] in words.NOT_TO_BE_HAD and self._phrase_before(place)

    def _before(self, first: int) -> _Verdict:
        """What the nearest verb or negation before the phrase says of it."""
        others = verb = False
        for place in range(first - 1, max(-1, first - 1 - FARTHEST_DENIAL_ITEMS), -1):
            word = self._texts[place]
            if word in words.CLAUSE_ENDS or word in words.MYSELF or word in words.ONLY:
                break
            if word in words.AT_PRESENT:
                return _Verdict.MEANT  # "I can't talk now call tomorrow"
            others = others or place in self._phrases
            if word in words.NOT_IN_HINDI:
                # "aaj nahi ho payega kal pakka": the verb is of the day before it.
                return _Verdict.DENIED if verb and not self._phrase_before(place) else _Verdict.MEANT
            if denies(word):
                if self._limits(place) or self._rules_out_what_stands_before(place):
                    return _Verdict.MEANT  # "not later than the 5th", "5000 not possible 4000 ok"
                if word in words.HARD and self._texts[place + 1] != "to" and self._phrase_before(place):
                    return _Verdict.MEANT  # "20 mushkil hai 23 kar lo"
                return _Verdict.MEANT if others and not verb and word in words.NOT else _Verdict.DENIED
            if self._is_offer(place):
                return _Verdict.MEANT
            verb = verb or _is_verb(word) or word in words.PAY or word in words.INFINITIVES
        return _Verdict.OPEN

    def _phrase_before(self, place: int) -> bool:
        """Whether another phrase stands before `place` in its clause."""
        for earlier in range(place - 1, max(-1, place - 1 - FARTHEST_DENIAL_ITEMS), -1):
            if self._texts[earlier] in words.CLAUSE_ENDS:
                return False
            if earlier in self._phrases or self._texts[earlier] in words.AT_PRESENT:
                return True
        return False

    def _offered_before(self, first: int) -> bool:
        """ "I will pay on the 25th, don't worry": the offer before governs, not what follows."""
        for place in range(first - 1, max(-1, first - 1 - FARTHEST_DENIAL_ITEMS), -1):
            word = self._texts[place]
            if word in words.CLAUSE_ENDS or denies(word):
                return False
            if self._is_offer(place):
                return True
        return False

    def _is_offer(self, place: int) -> bool:
        word = self._texts[place]
        if is_future(word):
            before = self._texts[max(0, place - NEGATION_REACH_ITEMS) : place]
            denials = [nearest for nearest, text in enumerate(before) if text in words.NOT_IN_HINDI]
            return not denials or not words.CORRECTS.isdisjoint(before[denials[-1] :])  # "bhara nahi par bharunga"
        offered = word in words.WILL or word in words.CAN or word.endswith("'ll")
        return offered and not (place and denies(self._texts[place - 1]))  # "not going to pay"

    def _doubted(self, first: int) -> bool:
        """ "I don't think I can pay on the 25th", "pata nahi 25 ko hoga", "no way I can pay on the 25th"."""
        offered = False
        for place in range(first - 1, max(-1, first - 1 - FARTHEST_DOUBT_ITEMS), -1):
            word, follower = self._texts[place : place + 2]
            before = self._texts[place - 1] if place else NOTHING
            if word in words.CLAUSE_ENDS or word in words.CORRECTS:
                return False
            if word in words.DOUBTING or (word == "no" and follower in words.NO_PROSPECT):
                return True
            if word == "forget" and not denies(before):
                return True
            if word == "no" and follower in words.NO_MEANS and not offered:
                return True
            offered = offered or self._is_offer(place)
            if word in words.SAYING and denies(before):
                return True  # "maine nahi kaha ki 5000 dunga", "I never said 5000"
            if word in words.KNOWING and (denies(before) or denies(self._texts[place + 1])):
                return True
        return False


def _is_verb(word: str) -> bool:
    return tense_of_word(word) is not None


def _open_ends(line: Line) -> None:
    """ "25 tak bahar hu, uske baad dunga" promises no day: it names the end before which there is nothing."""
    texts, last = line.texts, -1
    for place in range(line.days[0].after, len(line.items)):
        while last + 1 < len(line.days) and line.days[last + 1].after <= place:
            last += 1
        then = texts[place] in words.AFTER_THAT and texts[place + 1 + (texts[place + 1] in words.KE)] in words.LATER
        if not then and not (texts[place] == "after" and texts[place + 1] == "that"):
            continue
        phrase = line.days[last]
        between = texts[phrase.after : min(place, phrase.after + FARTHEST_DENIAL_ITEMS)]
        if not any(map(is_future, between)) and words.SENTENCE_ENDS.isdisjoint(between):
            line.days[last] = replace(phrase, open_ended=True)
