"""Whether something was done or is promised: the verb that goes with a day, and whether a text claims a payment.

Hindi puts its verb behind, English before; so the verb of a day is the next Hindi one, else the nearest one before it.
This module must not know dates or sums.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum
from itertools import pairwise

from channels.said import words
from channels.said.line import NOTHING, NUMBER, DayPhrase, Line, Money

FARTHEST_VERB_ITEMS = 40  # a verb farther away belongs to something else
NEGATION_REACH_ITEMS = 3
CONDITION_REACH_ITEMS = 6
MOST_DENIALS = 16  # who denies more often in one text promises nothing that is clear


_NOT_OF_MONEY = words.ADDRESSED | words.TALK | (words.NOT_PAYING - {"promise"})


_NO_QUESTION_AFTER = (
    words.CLAIM_WORDS
    | words.PAY
    | {"already"}
    | words.MONTH  # "is" is "this" in Hindi
    | words.WEEK
    | words.WEEKDAYS.keys()
    | words.TIMES_IN_HINDI
)


class Tense(Enum):
    """What the verb of a day says about it. `OCCASION`: it is the day of something
    else, of the speaker's income ("salary 7 ko aati hai"), of a wedding, of a debit."""

    PAST = "past"
    FUTURE = "future"
    OCCASION = "occasion"
    NONE = "none"


class Verbs:
    """The verbs of one line, looked up once for all that is asked about it."""

    def __init__(self, line: Line) -> None:
        self._texts = line.texts
        self._length = len(line.items)
        self._kept = sorted([*(phrase.after for phrase in line.days), *(phrase.after for phrase in line.money)])
        self._taken_back: tuple[DayPhrase | Money, ...] = (*line.denied_days, *line.denied_money)
        self._days = sorted(phrase.first for phrase in (*line.days, *line.denied_days))
        said = set(line.texts)
        self._income = not (words.INCOME | words.TO_ME).isdisjoint(said) or (
            not words.RECEIVE.isdisjoint(said) and self._receives(line.texts)
        )
        self._of_money_alone = (
            not self._income and not words.ARRIVING_MONEY.isdisjoint(said) and words.ADDRESSED_ANYHOW.isdisjoint(said)
        )
        self._income = self._income or self._of_money_alone
        self._paying = not words.PAYING_NOUN.isdisjoint(said)
        places = range(self._length)
        self._verbs = [place for place in places if self._is_verb(place)]
        self._hindi_verbs = [place for place in self._verbs if self._texts[place] not in words.ENGLISH_VERBS]
        self._stops = tuple(
            [place for place in places if self._texts[place] in ends]
            for ends in (words.CLAUSE_ENDS, words.SENTENCE_ENDS)
        )

    # -- the verb of a day --------------------------------------------------------------------------------------------

    def tense(self, first: int, after: int) -> Tense:
        """The tense of what stands on the items from `first` up to `after`, by its clause, else by its sentence."""
        for stops in self._stops:
            begin = max(_last_before(stops, first, -1) + 1, first - FARTHEST_VERB_ITEMS)
            end = min(_first_from(stops, after, self._length), after + FARTHEST_VERB_ITEMS)
            behind = _first_from(self._hindi_verbs, after, end)
            if stops is self._stops[0] and self._is_of_something_else_told(begin, first, after, min(behind, end)):
                return Tense.OCCASION
            if behind < end:
                return self._tense_at(behind, end)
            ahead = _last_before(self._verbs, first, -1)
            if ahead >= begin and not self._is_of_another_day(ahead, begin, first):
                return self._tense_at(ahead, first)
            behind = _first_from(self._verbs, after, end)
            if behind < end:
                return self._tense_at(behind, end)
            if self._is_an_occasion(begin, end):
                return Tense.OCCASION
            if not words.PAY.isdisjoint(self._texts[begin:end]):
                return Tense.NONE  # "exam till 10th, pay on 11th"
        return Tense.NONE

    def _is_of_something_else_told(self, begin: int, first: int, after: int, verb: int) -> bool:
        """ "5 ko salary hai", "salary 5 ko hai, 6 ko dunga", "10 tak bahar hu 11 ko dunga": what is told without a verb beside
        an income or an occasion is its day."""
        following = min(verb, _first_from(self._days, after, verb))
        if following == verb < self._length and verb in self._hindi_verbs:
            return False  # the verb is this day's own
        if verb < self._length:
            begin = max(begin, _last_before(self._days, first, -1) + 1)
        if self._is_verb_between(begin, following):
            return False
        if following < verb and self._is_an_occasion(begin, following):
            return True
        return self._income and any(
            self._texts[place] in words.INCOME and self._names_the_day(place) for place in range(begin, following)
        )

    def _is_an_occasion(self, begin: int, end: int) -> bool:
        """ "25 ko shaadi hai", "25 ko doosre loan ki EMI hai"."""
        said = self._texts[begin:end]
        if not words.OCCASIONS.isdisjoint(said):
            return True
        return any(word in words.ANOTHER and follower in words.OWED for word, follower in pairwise(said))

    def _is_verb_between(self, begin: int, end: int) -> bool:
        return _first_from(self._verbs, begin, end) < end or not words.PAY.isdisjoint(self._texts[begin:end])

    def _names_the_day(self, income: int) -> bool:
        """Not in "salary ke baad 5 ko" and "salary se 5 ko"."""
        place = income + 1 + (self._texts[income + 1] in words.KE)
        return self._texts[place] not in words.LATER | words.SE and self._texts[income - 1 : income] != ["after"]

    def _is_of_another_day(self, verb: int, begin: int, first: int) -> bool:
        """ "salary 5 ko aati hai, 6 tak": what arrives in Hindi is told with the day before it, not with the next; and
        "salary aane ke baad 5 ko" is on the 5th."""
        between = self._texts[verb + 1 : first]
        if not words.NOW.isdisjoint(between) and _last_before(self._days, first, -1) > verb:
            return True  # "earlier I said 20th but now 25th"
        if verb not in self._hindi_verbs or not (self._income and self._arrives(verb)):
            return False
        if self._texts[verb + 1] in words.KE and self._texts[verb + 2] in words.LATER:
            return True
        return _last_before(self._days, verb, -1) >= begin and (words.OR | words.AND | words.AT_TIMES).isdisjoint(
            between
        )

    @staticmethod
    def _receives(texts: list[str]) -> bool:
        """ "I will get my money on the 25th"; but "I will get it done"."""
        return any(
            word in words.RECEIVE and texts[place + 1] not in words.IT
            for place, word in enumerate(texts[:-1])
            if not words.MYSELF.isdisjoint(texts[max(0, place - NEGATION_REACH_ITEMS) : place])
        )

    def _is_verb(self, place: int) -> bool:
        word = self._texts[place]
        if word == "done" and not self._paying:  # "ok, 25th, done" agrees
            return not words.DOES.isdisjoint(self._recent(place, NEGATION_REACH_ITEMS))
        return tense_of_word(word) is not None or word in words.HAPPENS or (self._income and self._arrives(place))

    def _tense_at(self, place: int, end: int) -> Tense:
        """The tense of the verbs from `place` on; the last decides: "diya jayega" is to come, "diya hota" unreal."""
        word = self._texts[place]
        if word in words.HAPPENS or (self._income and self._arrives(place)):
            return Tense.OCCASION
        if self._income and word in words.SOMEBODY_GIVES:
            return Tense.OCCASION  # "maalik 10 ko salary dega", "dost 10 ko dega mujhe"
        if word in words.WILL and self._will_be_elsewhere(place, end):
            return Tense.OCCASION
        if self._texts[place - 1 : place] == ["get"] and self._texts[place - 2 : place - 1] == ["i"]:
            return Tense.OCCASION  # "I get paid on the 5th"
        if word in words.ENGLISH_PAST_PARTICIPLES and self._not_yet(place):
            return Tense.FUTURE
        tense = tense_of_word(word) or Tense.NONE
        while place + 1 < end and (further := tense_of_word(self._texts[place + 1])) is not None:
            if self._texts[place + 1] in words.REST:
                break  # "2000 diya tha baaki 5 ko dunga"
            place, tense = place + 1, further
        return Tense.NONE if self._texts[place + 1] in words.UNREAL else tense

    def _will_be_elsewhere(self, will: int, end: int) -> bool:
        """ "I will be out till the 25th", "they will pay me on the 25th"."""
        following = self._texts[will + 1 : end]
        if following[:1] == ["be"]:
            return not words.OCCASIONS.isdisjoint(following)
        if following[:1] == ["credit"] and words.MYSELF.isdisjoint(self._recent(will, 1)):
            return True  # "the company will credit on the 10th"
        return following[:1] == ["pay"] and following[1:2] in (["me"], ["us"])

    def _arrives(self, place: int) -> bool:
        """ "salary aayegi", "paise mil jayenge"; of money nobody says whose, only that it comes: "paise aayenge"."""
        arriving, stems = words.ARRIVES, words.ARRIVING_STEM
        if self._of_money_alone:
            arriving, stems = words.COMES, words.COMING_STEM
        mine = self._texts[place].endswith(words.OF_MYSELF)  # "paise leke aa jaunga"
        return self._texts[place] in arriving or (self._texts[place - 1] in stems and not mine)

    def _not_yet(self, place: int) -> bool:
        """ "will be paid", "to be paid"; and "I have been paid" is money that came."""
        recent = self._recent(place, NEGATION_REACH_ITEMS)
        came = recent[-1:] == ["been"] and not words.MYSELF.isdisjoint(recent)
        return came or not words.NOT_YET.isdisjoint(recent)

    def _recent(self, place: int, reach: int) -> list[str]:
        return self._texts[max(0, place - reach) : place]

    # -- claims and promises ------------------------------------------------------------------------------------------

    def claim_payment(self) -> bool:
        """Whether the text says that money has been paid, and promises none."""
        return any(map(self._claim, range(self._length))) and not any(map(self._promise, range(self._length)))

    def promise_payment(self) -> bool:
        """Whether the text promises money of the speaker's own: nothing denied, asked, put off or tied to an if."""
        texts = self._texts[: self._length]
        denials = [place for place in range(self._length) if self._denies(place)]
        if len(denials) > MOST_DENIALS or any(not self._spent(place) for place in denials):
            return False
        if not words.PUT_OFF.isdisjoint(texts) or "?" in texts:
            return False
        return any(self._offer(place) and not self._refused(place) for place in range(self._length))

    def _denies(self, place: int) -> bool:
        text = self._texts[place]
        return text in words.NOT or text in words.NEVER or text.endswith("n't")

    def _spent(self, place: int) -> bool:
        """Whether a negation denied a day or a sum beside which another one stands: "kal nahi, parso dunga"."""
        denied = [phrase for phrase in self._taken_back if phrase.first - NEGATION_REACH_ITEMS <= place]
        if not denied or not words.KNOWING.isdisjoint(self._texts[max(0, place - 1) : place + 2]):
            return False
        nearest = max(denied, key=lambda phrase: phrase.first)
        return place < nearest.first or _first_from(self._kept, nearest.after + 1, place + 1) > place

    def _refused(self, offer: int) -> bool:
        """ "nahi dunga", "dunga nahi"."""
        follower = self._texts[offer + 1]
        if follower in words.NOT and self._texts[offer + 2] not in words.OTHERWISE:
            return True
        spoken = _last_before(self._kept, offer + 1, 0)
        return any(map(self._denies, range(max(spoken, offer - NEGATION_REACH_ITEMS), offer)))

    def is_paid(self, first: int, after: int) -> bool:
        """Whether what stands on the items from `first` up to `after` is said to have been paid: "2000 diya tha"."""
        if self.tense(first, after) is not Tense.PAST:
            return False
        begin = max(_last_before(self._stops[0], first, -1) + 1, first - FARTHEST_VERB_ITEMS)
        end = min(_first_from(self._stops[0], after, self._length), after + FARTHEST_VERB_ITEMS)
        return any(map(self._claim, range(begin, end)))

    def takes_up_a_day(self, after: int) -> bool:
        """Whether payment is promised for the day that was named before the item `after`: "..., tab de dungi"."""
        end = min(self._length, after + FARTHEST_VERB_ITEMS)
        return any(map(self._points_back, range(after, end))) and self.promise_payment()

    def _points_back(self, place: int) -> bool:
        word, follower = self._texts[place : place + 2]
        if word in words.ON_THAT_DAY:
            return True
        if word in words.THAT_DAY:
            return follower in words.DAY
        return word in words.THEN and (follower == NOTHING or follower in words.SENTENCE_ENDS)

    def _offer(self, place: int) -> bool:
        before = self._recent(place, NEGATION_REACH_ITEMS)
        if not _NOT_OF_MONEY.isdisjoint(before) or self._texts[place + 1] in _NOT_OF_MONEY:
            return False
        if self._texts[place] == "going" and not words.PAST.isdisjoint(before):
            return False  # "I was going to pay"
        if self._texts[place].endswith("nge") and not words.THEY.isdisjoint(self._recent(place, CONDITION_REACH_ITEMS)):
            return False
        if self._promise(place):
            return True
        following = self._texts[place + 1 : place + 4]
        return self._texts[place] in words.CAN and not words.PAY.isdisjoint(following)

    def _promise(self, place: int) -> bool:
        """ "de dunga", "I will pay", "kar deta hu"; not "receipt bhej dunga"."""
        word, follower = self._texts[place : place + 2]
        if words.FIRST_PERSON_WILL_PAY.match(word):
            return words.PAPERS.isdisjoint(self._recent(place, NEGATION_REACH_ITEMS))
        if word in words.REST:
            following = self._texts[place + 1 : place + 1 + CONDITION_REACH_ITEMS]
            return NUMBER in following and words.PAST.isdisjoint(following)
        if word in words.WILL:
            following = self._texts[place + 1 : place + 1 + CONDITION_REACH_ITEMS]
            return not words.PAY.isdisjoint(following[:3]) and words.PAPERS.isdisjoint(following)
        return word in words.HABITUAL and follower in words.AFTER_HABITUAL

    def _claim(self, place: int) -> bool:
        word, follower = self._texts[place : place + 2]
        if word in words.GAVE:
            claimed = not self._of_something_else(place)
        elif word in words.DID_IT:  # "kardiya payment"
            claimed = self._paying and not self._of_something_else(place)
        elif word == "did":  # "I did the payment"
            claimed = not words.PAYING_NOUN.isdisjoint(self._texts[place + 1 : place + 1 + NEGATION_REACH_ITEMS])
        else:
            claimed = word in words.GAVE_AFTER_STEM and (
                self._about_paying(place, word) or (word in words.DONE_WITH_A_SUM and follower in words.PAYING_NOUN)
            )
        if not claimed or (word in words.ENGLISH_PAST_PARTICIPLES and self._not_yet(place)) or self._asked(place):
            return False
        if follower in words.UNREAL or follower in ("toh", "tau", "तो") or is_future(follower):
            return False
        return not self._denied(place, follower) and words.IF.isdisjoint(self._recent(place, CONDITION_REACH_ITEMS))

    def _about_paying(self, place: int, word: str) -> bool:
        """ "kar di", "payment ho gaya", "payment done": the word before must be about paying, or the text must be."""
        before = self._texts[place - 1] if place else NOTHING
        if before in words.GOES_WITH_ANY_DEED:
            return not self._of_something_else(place) and (before in words.GIVES or self._paying)
        if before in words.SE or before in words.CUT:  # "google pay se kiya tha", "EMI kat gayi"; not "phone kat gaya"
            return self._paying and not self._of_something_else(place)
        if word in words.ENGLISH_PAST_PARTICIPLES:
            nearby = self._texts[max(0, place - CONDITION_REACH_ITEMS) : place + NEGATION_REACH_ITEMS]
            return not words.PAYING_NOUN.isdisjoint(nearby)
        if before == NUMBER or before in words.CURRENCIES:
            return word in words.DONE_WITH_A_SUM
        return before in words.PAYING_STEM

    def _of_something_else(self, place: int) -> bool:
        """ "bata diya", "mana kar diya", "receipt bhej diya", "payment fail ho gaya"."""
        before = self._recent(place, 2)
        if before[-1:] and before[-1] in words.COME_TO_BE and not words.LATE.isdisjoint(before):
            return True
        return not words.NOT_PAYING.isdisjoint(before) or not words.PAPERS.isdisjoint(before)

    def _asked(self, place: int) -> bool:
        """Whether the sentence is a question: "kya payment ho gaya", "is it paid?"; but "diya tha na?" is none."""
        stops = self._stops[1]
        end = _first_from(stops, place, self._length)
        sentence = self._texts[_last_before(stops, place, -1) + 1 : end]
        if not words.ASKING.isdisjoint(sentence):
            return True
        if sentence[0] in words.ASKING_FIRST and _NO_QUESTION_AFTER.isdisjoint(sentence[1:2]):
            return True  # "has my payment come"; but "have paid", "did pay", "is mahine ki EMI bhar di"
        return self._texts[end] == "?" and sentence[-1] not in words.IS_IT_NOT

    def _denied(self, place: int, follower: str) -> bool:
        return follower in words.NOT or any(
            text in words.NOT or text in words.NEVER or text.endswith("n't")
            for text in self._recent(place, NEGATION_REACH_ITEMS)
        )


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


def _first_from(places: list[int], at: int, otherwise: int) -> int:
    """The first of the rising `places` that is not before `at`."""
    found = bisect_left(places, at)
    return places[found] if found < len(places) else otherwise


def _last_before(places: list[int], at: int, otherwise: int) -> int:
    found = bisect_left(places, at)
    return places[found - 1] if found else otherwise
