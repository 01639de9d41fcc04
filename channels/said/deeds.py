"""What a text does with money: whether it claims that some was paid, or undertakes to pay.

Theory of operation. A claim is a verb in the past that goes with paying, which nobody denies or asks and the other side did
not do. A promise is an offer in the first person, outright: a text that denies, asks, puts off or ties to an if anything at
all promises nothing, but for a day or a sum that is denied beside another. This module must not know dates or sums.
"""

from __future__ import annotations

from channels.said import asides, words
from channels.said.line import NOTHING, NUMBER, DayPhrase, Line, Money
from channels.said.tense import (
    FARTHEST_VERB_ITEMS,
    NEGATION_REACH_ITEMS,
    Tense,
    Verbs,
    first_from,
    is_future,
    last_before,
)

CONDITION_REACH_ITEMS = 6
FAILURE_REACH_ITEMS = 8
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


class Deeds:
    """The claims and promises of one line; `verbs` are its verbs."""

    def __init__(self, line: Line, verbs: Verbs | None = None) -> None:
        self._verbs = verbs or Verbs(line)
        self._texts = line.texts
        self._length = len(line.items)
        self._kept = sorted([*(phrase.after for phrase in line.days), *(phrase.after for phrase in line.money)])
        self._taken_back: tuple[DayPhrase | Money, ...] = (*line.denied_days, *line.denied_money)
        self._done = not _PAYING_DEEDS.isdisjoint(line.texts)

    def claim_payment(self) -> bool:
        """Whether the text says that money has been paid, and promises none."""
        places = range(self._length)
        return any(map(self._claim, places)) and not (any(map(self._promise, places)) or self.leaves_a_rest())

    def leaves_a_rest(self) -> bool:
        """ "abhi 500 kiye hai, baaki month end": a day for the rest, without a verb."""
        return any(map(self._rest_on_a_day, range(self._length)))

    def _rest_on_a_day(self, place: int) -> bool:
        if self._texts[place] not in words.REST:
            return False
        day = first_from(self._verbs.days, place, self._length)
        following = self._texts[place + 1 : place + 1 + CONDITION_REACH_ITEMS]
        if day == self._length or day > place + CONDITION_REACH_ITEMS:
            return False
        return words.PAST.isdisjoint(following) and _NOT_OF_MONEY.isdisjoint(following)

    def promise_payment(self) -> bool:
        """Whether the text promises money of the speaker's own: nothing denied, asked, put off or tied to an if."""
        texts = self._texts[: self._length]
        denials = [place for place in range(self._length) if self._denies(place)]
        if len(denials) > MOST_DENIALS or any(not self._spent(place) for place in denials):
            return False
        if (
            not words.PUT_OFF.isdisjoint(texts)
            or "?" in texts
            or asides.is_of_a_brother(self._texts)
            or asides.is_conditional(self._texts, self._length)
        ):
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
        return place < nearest.first or first_from(self._kept, nearest.after + 1, place + 1) > place

    def _refused(self, offer: int) -> bool:
        """ "nahi dunga", "dunga nahi"."""
        follower = self._texts[offer + 1]
        if follower in words.NOT and self._texts[offer + 2] not in words.OTHERWISE:
            return True
        spoken = last_before(self._kept, offer + 1, 0)
        return any(map(self._denies, range(max(spoken, offer - NEGATION_REACH_ITEMS), offer)))

    def is_paid(self, first: int, after: int) -> bool:
        """Whether what stands on the items from `first` up to `after` is said to have been paid: "2000 diya tha"."""
        if self._verbs.tense(first, after) is not Tense.PAST:
            return False
        begin = max(last_before(self._verbs.stops[0], first, -1) + 1, first - FARTHEST_VERB_ITEMS)
        end = min(first_from(self._verbs.stops[0], after, self._length), after + FARTHEST_VERB_ITEMS)
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
        before = self._verbs.recent(place, NEGATION_REACH_ITEMS)
        if not _NOT_OF_MONEY.isdisjoint(before) or self._texts[place + 1] in _NOT_OF_MONEY:
            return False
        if self._texts[place] == "going" and not words.PAST.isdisjoint(before):
            return False  # "I was going to pay"
        recently = self._verbs.recent(place, CONDITION_REACH_ITEMS)
        if self._texts[place].endswith("nge") and not _THEM.isdisjoint(recently):
            return False
        if self._texts[place] in words.WILL and self._verbs.will_be_elsewhere(
            place, min(self._length, place + FARTHEST_VERB_ITEMS)
        ):
            return False  # "my client will pay me"
        if self._promise(place):
            return True
        following = self._texts[place + 1 : place + 4]
        return self._texts[place] in words.CAN and not words.PAY.isdisjoint(following)

    def _promise(self, place: int) -> bool:
        """ "de dunga", "I will pay", "kar deta hu"; not "receipt bhej dunga"."""
        word, follower = self._texts[place : place + 2]
        if asides.is_word_given(self._texts, place):
            return False
        if words.FIRST_PERSON_WILL_PAY.match(word):
            return words.PAPERS.isdisjoint(self._verbs.recent(place, NEGATION_REACH_ITEMS))
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
            claimed = self._verbs.paying and not self._of_something_else(place)
        elif word == "did":  # "I did the payment"
            claimed = not words.PAYING_NOUN.isdisjoint(self._texts[place + 1 : place + 1 + NEGATION_REACH_ITEMS])
        else:
            claimed = word in words.GAVE_AFTER_STEM and (
                self._about_paying(place, word) or (word in words.DONE_WITH_A_SUM and follower in words.PAYING_NOUN)
            )
        if claimed and asides.is_the_other_sides(
            self._texts, max(last_before(self._verbs.stops[0], place, -1) + 1, place - FARTHEST_VERB_ITEMS), place
        ):
            return False
        if not claimed or (word in words.ENGLISH_PAST_PARTICIPLES and self._verbs.not_yet(place)) or self._asked(place):
            return False
        if not words.FAILED.isdisjoint(self._texts[place + 1 : place + 1 + FAILURE_REACH_ITEMS]):
            return False  # "payment kiya par fail ho gaya"
        if follower in words.UNREAL or follower in ("toh", "tau", "तो") or is_future(follower):
            return False
        return not self._denied(place, follower) and words.IF.isdisjoint(
            self._verbs.recent(place, CONDITION_REACH_ITEMS)
        )

    def _about_paying(self, place: int, word: str) -> bool:
        """ "kar di", "payment ho gaya", "payment done": the word before must be about paying, or the text must be."""
        before = self._texts[place - 1] if place else NOTHING
        if before in words.GOES_WITH_ANY_DEED:
            paying = self._done if before in words.COME_TO_BE else self._verbs.paying
            return not self._of_something_else(place) and (before in words.GIVES or paying)
        if before in words.SE or before in words.CUT:  # "google pay se kiya tha", "EMI kat gayi"; not "phone kat gaya"
            return self._verbs.paying and not self._of_something_else(place)
        if word in words.ENGLISH_PAST_PARTICIPLES:
            nearby = self._texts[max(0, place - CONDITION_REACH_ITEMS) : place + NEGATION_REACH_ITEMS]
            return not words.PAYING_NOUN.isdisjoint(nearby)
        if before == NUMBER or before in words.CURRENCIES:
            return word in words.DONE_WITH_A_SUM
        return before in words.PAYING_STEM

    def _of_something_else(self, place: int) -> bool:
        """ "bata diya", "mana kar diya", "receipt bhej diya", "payment fail ho gaya"."""
        before = self._verbs.recent(place, 2)
        if before[-1:] and before[-1] in words.COME_TO_BE and not words.LATE.isdisjoint(before):
            return True
        return not words.NOT_PAYING.isdisjoint(before) or not words.PAPERS.isdisjoint(before)

    def _asked(self, place: int) -> bool:
        """Whether the sentence is a question: "kya payment ho gaya", "is it paid?"; but "diya tha na?" is none."""
        stops = self._verbs.stops[1]
        end = first_from(stops, place, self._length)
        sentence = self._texts[last_before(stops, place, -1) + 1 : end]
        if not words.ASKING.isdisjoint(sentence):
            return True
        if sentence[0] in words.ASKING_FIRST and _NO_QUESTION_AFTER.isdisjoint(sentence[1:2]):
            return True  # "has my payment come"; but "have paid", "did pay", "is mahine ki EMI bhar di"
        return self._texts[end] == "?" and sentence[-1] not in words.IS_IT_NOT

    def _denied(self, place: int, follower: str) -> bool:
        return follower in words.NOT or any(
            text in words.NOT or text in words.NEVER or text.endswith("n't")
            for text in self._verbs.recent(place, NEGATION_REACH_ITEMS)
        )


_THEM = words.THEY | words.OF_AN_EMPLOYER
_PAYING_DEEDS = words.PAYING_NOUN - words.ONLY_A_SUM
