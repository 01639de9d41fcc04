"""Whether something was done or is to come: the verb that goes with a day.

Hindi puts its verb behind, English before; so the verb of a day is the next Hindi one, else the nearest one before it.
This module must not know dates or sums.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum
from itertools import pairwise

from channels.said import asides, words
from channels.said.line import Line

FARTHEST_VERB_ITEMS = 40  # a verb farther away belongs to something else
NEGATION_REACH_ITEMS = 3


class Tense(Enum):
    """What the verb of a day says about it.

    `OCCASION`: it is the day of something else, of the speaker's income ("salary 7 ko aati hai"), of a wedding, of a debit.
    `WORD`: on that day only a word is given, or the other side does something ("25 ko batata hu", "aap 25 ko call karoge").
    """

    PAST = "past"
    FUTURE = "future"
    OCCASION = "occasion"
    WORD = "word"
    NONE = "none"


class Verbs:
    """The verbs of one line, looked up once for all that is asked about it."""

    def __init__(self, line: Line) -> None:
        self.texts = line.texts
        self.length = len(line.items)
        self.days = sorted(phrase.first for phrase in (*line.days, *line.denied_days))
        said = set(line.texts)
        self._income = not (words.INCOME | words.TO_ME).isdisjoint(said) or (
            not words.RECEIVE.isdisjoint(said) and self._receives(line.texts)
        )
        self._of_money_alone = (
            not self._income and not words.ARRIVING_MONEY.isdisjoint(said) and words.ADDRESSED_ANYHOW.isdisjoint(said)
        )
        self._income = self._income or self._of_money_alone
        self.paying = not words.PAYING_NOUN.isdisjoint(said)
        self._told = not _TOLD.isdisjoint(said)
        places = range(self.length)
        self._verbs = [place for place in places if self._is_verb(place)]
        self._hindi_verbs = [place for place in self._verbs if self.texts[place] not in words.ENGLISH_VERBS]
        self.stops = tuple(
            [place for place in places if self.texts[place] in ends]
            for ends in (words.CLAUSE_ENDS, words.SENTENCE_ENDS)
        )

    def tense(self, first: int, after: int) -> Tense:
        """The tense of what stands on the items from `first` up to `after`, by its clause, else by its sentence."""
        for stops in self.stops:
            begin = max(last_before(stops, first, -1) + 1, first - FARTHEST_VERB_ITEMS)
            end = min(first_from(stops, after, self.length), after + FARTHEST_VERB_ITEMS)
            behind = first_from(self._hindi_verbs, after, end)
            if stops is self.stops[0] and self._is_of_something_else_told(begin, first, after, min(behind, end)):
                return Tense.OCCASION
            if self._told and self._is_only_told(begin, first, after, min(behind, end), end):
                return Tense.OCCASION
            if behind < end:
                if asides.is_only_there(self.texts, begin, behind):
                    return Tense.OCCASION
                return self._tense_at(behind, end)
            ahead = last_before(self._verbs, first, -1)
            if ahead >= begin and not self._is_of_another_day(ahead, begin, first):
                return self._tense_at(ahead, first)
            behind = first_from(self._verbs, after, end)
            if behind < end:
                return self._tense_at(behind, end)
            if stops is self.stops[0] and self._is_an_occasion(begin, end):
                return Tense.OCCASION
            if not words.PAY.isdisjoint(self.texts[begin:end]):
                return Tense.NONE  # "exam till 10th, pay on 11th"
        return Tense.NONE

    def _is_of_something_else_told(self, begin: int, first: int, after: int, verb: int) -> bool:
        """ "5 ko salary hai", "salary 5 ko hai, 6 ko dunga", "10 tak bahar hu 11 ko dunga": what is told without a verb beside
        an income or an occasion is its day."""
        following = min(verb, first_from(self.days, after, verb))
        if following == verb < self.length and verb in self._hindi_verbs:
            return False  # the verb is this day's own
        if verb < self.length:
            begin = max(begin, last_before(self.days, first, -1) + 1)
        if self._is_verb_between(begin, following):
            return False
        if following < verb and self._is_an_occasion(begin, following):
            return True
        return self._income and any(
            self.texts[place] in words.INCOME and self._names_the_day(place) for place in range(begin, following)
        )

    def _is_only_told(self, begin: int, first: int, after: int, verb: int, end: int) -> bool:
        """What others said of the day, a deadline, or "whether it comes or not"."""
        if asides.whether_or_not(self.texts, after, min(end, first_from(self.days, after, end))):
            return True
        if verb < end and words.FIRST_PERSON_WILL_PAY.match(self.texts[verb]):
            return False
        if asides.is_reported(self.texts, begin, first):
            return True
        return verb == end and (
            asides.is_a_deadline(self.texts, after, end)
            or asides.is_when_it_falls_due(self.texts, begin, first, after, end)
        )

    def _is_an_occasion(self, begin: int, end: int) -> bool:
        """ "25 ko shaadi hai", "25 ko doosre loan ki EMI hai"."""
        said = self.texts[begin:end]
        if not words.OCCASIONS.isdisjoint(said) or asides.lets_see(self.texts, begin, end):
            return True
        return any(word in words.ANOTHER and follower in words.OWED for word, follower in pairwise(said))

    def _is_verb_between(self, begin: int, end: int) -> bool:
        return first_from(self._verbs, begin, end) < end or not words.PAY.isdisjoint(self.texts[begin:end])

    def _names_the_day(self, income: int) -> bool:
        """Not in "salary ke baad 5 ko" and "salary se 5 ko"."""
        place = income + 1 + (self.texts[income + 1] in words.KE)
        return self.texts[place] not in words.LATER | words.SE and self.texts[income - 1 : income] != ["after"]

    def _is_of_another_day(self, verb: int, begin: int, first: int) -> bool:
        """ "salary 5 ko aati hai, 6 tak": what arrives in Hindi is told with the day before it, not with the next; and
        "salary aane ke baad 5 ko" is on the 5th."""
        between = self.texts[verb + 1 : first]
        if not words.NOW.isdisjoint(between) and last_before(self.days, first, -1) > verb:
            return True  # "earlier I said 20th but now 25th"
        if self.texts[verb + 1] in words.IN_THAT_CASE and verb in self._hindi_verbs:
            return True  # "25 ko nahi hua to 26 ko"
        if verb not in self._hindi_verbs or not (self._income and self._arrives(verb)):
            return False
        if self.texts[verb + 1] in words.KE and self.texts[verb + 2] in words.LATER:
            return True
        return last_before(self.days, verb, -1) >= begin and (words.OR | words.AND | words.AT_TIMES).isdisjoint(between)

    @staticmethod
    def _receives(texts: list[str]) -> bool:
        """ "I will get my money on the 25th"; but "I will get it done"."""
        return any(
            word in words.RECEIVE and texts[place + 1] not in words.IT
            for place, word in enumerate(texts[:-1])
            if word in words.EXPECTS or not words.MYSELF.isdisjoint(texts[max(0, place - NEGATION_REACH_ITEMS) : place])
        )

    def _is_verb(self, place: int) -> bool:
        word = self.texts[place]
        if word == "done" and not self.paying:  # "ok, 25th, done" agrees
            return not words.DOES.isdisjoint(self.recent(place, NEGATION_REACH_ITEMS))
        return (
            tense_of_word(word) is not None
            or word in words.HAPPENS
            or word in words.TELLS
            or (word in words.IS_TO_COME and self.texts[place + 1] in words.IT_IS)
            or (self._income and self._arrives(place))
        )

    def _tense_at(self, place: int, end: int) -> Tense:
        """The tense of the verbs from `place` on; the last decides: "diya jayega" is to come, "diya hota" unreal."""
        word = self.texts[place]
        if word in words.HAPPENS or word in words.IS_TO_COME or (self._income and self._arrives(place)):
            return Tense.OCCASION
        if tense_of_word(word) is not Tense.PAST and (
            asides.is_word_given(self.texts, place) or word.endswith(words.OF_THE_OTHER_SIDE)
        ):
            # "25 ko batata hu", "aap 25 ko aaoge"; but "25 ko bhar ke batata hu"
            return Tense.FUTURE if asides.is_paid_first(self.texts, place) else Tense.WORD
        if self._income and word in words.SOMEBODY_GIVES:
            return Tense.OCCASION  # "maalik 10 ko salary dega", "dost 10 ko dega mujhe"
        if word in words.WILL and (
            self.texts[place + 1] == "you" or asides.will_only_tell(self.texts[place + 1 : end])
        ):
            return Tense.WORD  # "will you call me on the 25th", "I will let you know on the 25th"
        if word in words.BE_MYSELF:
            return Tense.OCCASION  # "gaadi chala raha hounga"
        if word in words.WILL and self.will_be_elsewhere(place, end):
            return Tense.OCCASION
        if self.texts[place - 1 : place] == ["get"] and self.texts[place - 2 : place - 1] == ["i"]:
            return Tense.OCCASION  # "I get paid on the 5th"
        if word in words.ENGLISH_PAST_PARTICIPLES and self.not_yet(place):
            return Tense.OCCASION if self._never_came_to_it(place) else Tense.FUTURE
        tense = tense_of_word(word) or Tense.NONE
        while place + 1 < end and (further := tense_of_word(self.texts[place + 1])) is not None:
            if self.texts[place + 1] in words.REST:
                break  # "2000 diya tha baaki 5 ko dunga"
            place, tense = place + 1, further
        follower, beyond = self.texts[place + 1 : place + 3]
        if tense is Tense.PAST and follower in words.IN_THAT_CASE and beyond not in words.IT_IS:
            return Tense.NONE  # "10 tak ho gaya to theek"; but "diya to tha"
        return Tense.NONE if follower in words.UNREAL else tense

    def will_be_elsewhere(self, will: int, end: int) -> bool:
        """ "I will be out till the 25th", "they will pay me on the 25th"."""
        following = self.texts[will + 1 : end]
        if following[:1] == ["be"]:
            busy = following[1:2] != [] and following[1].endswith("ing") and following[1] not in words.IS_PAID
            return busy or not words.OCCASIONS.isdisjoint(following)  # "I'll be driving"
        if following[:1] == ["credit"] and words.MYSELF.isdisjoint(self.recent(will, 1)):
            return True  # "the company will credit on the 10th"
        mine = self.texts[will].endswith("'ll") or not words.MYSELF.isdisjoint(self.recent(will, 1))
        arrives = following[:1] != [] and following[0] in words.ARRIVES_IN_ENGLISH
        if arrives and not mine and words.ADDRESSED_ANYHOW.isdisjoint(following):
            return True  # "the claim will come by the 25th"
        return self.texts[will + 1] in words.PAY and following[1:2] in (["me"], ["us"])

    def _arrives(self, place: int) -> bool:
        """ "salary aayegi", "paise mil jayenge"; of money nobody says whose, only that it comes: "paise aayenge"."""
        arriving, stems = words.ARRIVES, words.ARRIVING_STEM
        if self._of_money_alone:
            arriving, stems = words.COMES, words.COMING_STEM
        mine = self.texts[place].endswith(words.OF_MYSELF)  # "paise leke aa jaunga"
        return self.texts[place] in arriving or (self.texts[place - 1] in stems and not mine)

    def not_yet(self, place: int) -> bool:
        """ "will be paid", "to be paid"; and "I have been paid" is money that came."""
        recent = self.recent(place, NEGATION_REACH_ITEMS)
        came = recent[-1:] == ["been"] and not words.MYSELF.isdisjoint(recent)
        return came or not words.NOT_YET.isdisjoint(recent)

    def _never_came_to_it(self, place: int) -> bool:
        """ "should have paid", "could have been paid"."""
        recent = self.recent(place, NEGATION_REACH_ITEMS)
        return "have" in recent and not words.UNREAL_MODALS.isdisjoint(recent)

    def recent(self, place: int, reach: int) -> list[str]:
        return self.texts[max(0, place - reach) : place]


_TOLD = words.NOT | words.NA | words.SAID | words.OF_A_DEADLINE | words.FALLS_DUE


def tense_of_word(word: str) -> Tense | None:
    if word in words.PAST:
        return Tense.PAST
    if word in words.FUTURE or word.endswith(("'ll", "'d")) or is_future(word):
        return Tense.FUTURE
    return None


def is_future(word: str) -> bool:
    if len(word) <= 3 or word[-1] not in words.FUTURE_LAST_LETTERS or word in words.NOT_FUTURE:
        return False
    return words.FUTURE_ENDING.search(word) is not None


def first_from(places: list[int], at: int, otherwise: int) -> int:
    """The first of the rising `places` that is not before `at`."""
    found = bisect_left(places, at)
    return places[found] if found < len(places) else otherwise


def last_before(places: list[int], at: int, otherwise: int) -> int:
    found = bisect_left(places, at)
    return places[found - 1] if found else otherwise
