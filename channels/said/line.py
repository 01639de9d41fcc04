"""One text on its way to meaning: its items, the phrases found so far, and what every part of the grammar asks of it.

The grammar is spread over `money_phrases`, `day_phrases` and `clock_phrases`, which all write here, and `grammar`, which
says in what order they are asked. This module must not know any of their rules.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from channels.said import words
from channels.said.days import When
from channels.said.figures import Number
from channels.said.ids import ids
from channels.said.numerals import Item
from channels.said.reading import Kind

LONGEST_CHAIN = 6  # "1, 2, 3, 4, 5 or 6"
LONGEST_BARE_ANSWER = 8  # items in an answer that is only a number: "haan ji, 5 ya 6"

NOTHING = ""  # before the first item and after the last
NUMBER = "\0"  # stands in `texts` where the item is a number, a date or a clock time
_LOOKAHEAD = 8


@dataclass(frozen=True, slots=True)
class Money:
    """A sum: its readings, one if it is clear, and its currency if one was said. Its number stands on the items from
    `first` up to `after`."""

    values: tuple[Decimal, ...]
    currency: str | None
    first: int
    after: int


@dataclass(frozen=True, slots=True)
class DayPhrase:
    """The days one phrase may mean, as alternatives. It stands on the items from `first` up to `after`."""

    whens: tuple[When, ...]
    first: int
    after: int
    open_ended: bool = False  # "after the 25th" names no day


@dataclass(slots=True)
class Line:
    """All that one text says, in the order in which it says it."""

    items: list[Item]
    texts: list[str] = field(init=False)
    ids: frozenset[int] = field(init=False)
    alone: frozenset[int] = field(init=False)
    corrects: bool = field(init=False)
    denies_two: bool = field(init=False)  # "na 18 ko na 20 ko"

    money: list[Money] = field(default_factory=list)
    days: list[DayPhrase] = field(default_factory=list)
    denied_money: list[Money] = field(default_factory=list)
    denied_days: list[DayPhrase] = field(default_factory=list)
    # Minutes after midnight, None if the half of the day is not clear; and minutes from now: "in 2 hours".
    clocks: list[int | None] = field(default_factory=list)
    delays: list[Decimal] = field(default_factory=list)
    times: list[int] = field(default_factory=list)  # where clocks and delays begin
    numbers: set[Decimal] = field(default_factory=set)
    end_of_day: bool = False

    def __post_init__(self) -> None:
        self.texts = [
            item.text if item.number is None and item.kind in (Kind.WORD, Kind.MARK) else NUMBER for item in self.items
        ]
        self.texts += [NOTHING] * _LOOKAHEAD
        self.ids = ids(self.items, self.texts)
        self.denies_two = not words.NA.isdisjoint(self.texts) and sum(text in words.NA for text in self.texts) > 1
        self.corrects = len(self.items) <= LONGEST_BARE_ANSWER and self._takes_one_number_for_another()
        self.alone = self._bare_answer()

    # -- looking around -----------------------------------------------------------------------------------------------

    def before(self, at: int) -> str:
        return self.texts[at - 1] if at else NOTHING

    def skip(self, place: int, these: Container[str], most: int) -> int:
        """The first place from `place` on that holds none of `these`, at most `most` later."""
        end = place + most
        while place < end and self.texts[place] in these:
            place += 1
        return place

    def touch(self, first: int, last: int) -> bool:
        """Whether the items from `first` to `last` stand without a blank between them."""
        return all(self.items[place].end == self.items[place + 1].start for place in range(first, last))

    # -- numbers ------------------------------------------------------------------------------------------------------

    def is_number(self, at: int) -> bool:
        return at < len(self.items) and self.items[at].number is not None and at not in self.ids

    def number(self, at: int) -> Number:
        number = self.items[at].number
        assert number is not None
        return number

    def chain(self, at: int) -> tuple[list[int], int]:
        """The numbers joined to the one at `at` by "or", "to", a dash and the like, and the place after the last."""
        chain, after = [at], at + 1
        while len(chain) < LONGEST_CHAIN:
            step = self.joined(after, between=self.before(at) in words.BETWEEN)
            if step is None or (step == after and not rough_range(self.number(chain[-1]), self.number(step))):
                break
            chain.append(step)
            after = step + 1
        return chain, after

    def joined(self, after: int, *, between: bool) -> int | None:
        """The place of the number that is joined to the one before `after`; `between` when "between" stood before it."""
        joint = self.texts[after]
        if self.is_number(after):
            return after
        if joint in words.OR and self.texts[after + 1] in words.AFTER_OR and self.is_number(after + 2):
            return after + 2
        if joint in words.NOT and self.texts[after + 1] in words.OTHERWISE and self.is_number(after + 2):
            return after + 2  # "25 nahi to 26"
        if joint not in _JOINTS or not self.is_number(after + 1):
            return None
        if joint in words.AND and not between:
            follower = self.texts[after + 2]
            if follower not in _AFTER_TWO_JOINED_BY_AND and not self.number(after + 1).ordinal:
                return None
        return after + 1

    def _bare_answer(self) -> frozenset[int]:
        """The numbers of a text that says them, how they are joined and what is polite, and nothing else; else none."""
        if len(self.items) > LONGEST_BARE_ANSWER:
            return frozenset()
        said = self.texts[: len(self.items)]
        allowed = _IN_A_CORRECTION if self.corrects else _IN_A_BARE_ANSWER
        for before, text in pairwise((NOTHING, *said)):
            if text not in allowed and not (text in words.PLEASE_DO and before in _BEFORE_PLEASE_DO):
                return frozenset()
        return frozenset(place for place, item in enumerate(self.items) if item.number is not None)

    def _takes_one_number_for_another(self) -> bool:
        """ "20 nahi 23", "nahi, 20 nahi balki 23", "not 20 but 23", "20 mushkil hai 23 kar lo"."""
        numbers = [place for place, item in enumerate(self.items) if item.number is not None]
        if len(numbers) < 2 or any(self.number(place).day_sized() is None for place in numbers):
            return False
        first, second = numbers[:2]
        between = self.texts[first + 1 : second]
        if not between or any(text not in _BETWEEN_TWO_OF_A_CORRECTION for text in between):
            return False
        if words.NOT.isdisjoint(between) and words.HARD.isdisjoint(between):
            return self.before(first) == "not"
        return between[0] not in words.CORRECTS

    def is_only_a_length(self) -> bool:
        """ "sirf 2 din", "2 more days please": how long, and nothing else."""
        if len(self.items) > LONGEST_BARE_ANSWER:
            return False
        said = self.texts[: len(self.items)]
        return NUMBER in said and all(
            text in _IN_A_BARE_ANSWER or text in words.MORE or text in words.ONLY for text in said
        )

    # -- days ---------------------------------------------------------------------------------------------------------

    def add_day(self, whens: tuple[When, ...], first: int, after: int, *, open_ended: bool | None = None) -> int:
        """Takes a phrase for a day, as denied if it is so at once: "kal nahi", "not on the 25th". Answers `after`."""
        denied = self.denied_at(self.skip(after, _BEHIND_A_DAY, 3))
        if open_ended is None:
            open_ended = self._is_open(first, after)
        phrases = self.denied_days if denied or self.denies_ahead(first) else self.days
        phrases.append(DayPhrase(whens, first, after, open_ended))
        return after

    def is_offered_beside(self, earlier: DayPhrase | None, phrase: DayPhrase) -> bool:
        """Whether "or" joins it to the day before it: "this Friday or next Friday"."""
        if earlier is None or self.before(phrase.first) not in words.OR:
            return False
        return self.skip(earlier.after, words.KO, 1) == phrase.first - 1

    def denies_ahead(self, first: int) -> bool:
        """ "not 5000", "not on the 25th", "neither the 18th nor the 20th", "na 18 ko na 20 ko"."""
        before = first - 1
        while before > max(0, first - 3) and self.texts[before] in _IN_FRONT_OF_A_DAY:
            before -= 1
        if before < 0:
            return False
        word = self.texts[before]
        return word in _DENIES_AHEAD or (word in words.NA and before == first - 1 and self.denies_two)

    def denied_at(self, place: int) -> bool:
        """Whether a negation at `place` denies what it follows: not in "nahi to" and "5000, not more", nor in "5000 not 6000"."""
        follower = self.texts[place + 1]
        if self.texts[place] == "no" and (follower == NOTHING or follower in words.SENTENCE_ENDS - {"?"}):
            return True  # "the 25th no"; but "20th, no, 23rd" corrects, and "the 25th, no?" asks for a yes
        if self.texts[place] == "," and follower in words.NOT and self.texts[place + 2] in words.NOT:
            return True  # "25 ko, nahi nahi 26 ko"
        if self.texts[place] not in words.NOT:
            return False
        if follower in words.OTHERWISE or follower in words.MORE_OR_LESS:
            return False
        beyond = self.skip(place + 1, _IN_FRONT_OF_A_DAY, 2)
        return self.texts[place] != "not" or not (self.texts[beyond] == NUMBER or self.texts[beyond] in _DAY_NAMES)

    def _is_open(self, first: int, after: int) -> bool:
        """ "after the 25th", "25 ke baad", "since the 20th" and "kal se" name no day on which something is done."""
        before = first - 1 - (self.before(first) == "the")
        if before >= 0 and self.texts[before] in _BEFORE_AN_OPEN_END:
            return before == 0 or self.texts[before - 1] != "not"  # "not after the 10th" is by the 10th
        if self.texts[before] == "from":  # "from the 5th onwards", "a week from Friday"
            return self.texts[after] in _ONWARDS or (before > 0 and self.texts[before - 1] in words.UNITS_OF_TIME)
        if self.texts[after] in words.COMING_SECOND_OF_TWO:
            return True  # "25 wali EMI" is what fell due then
        place = self.skip(after, words.KE, 1)
        follower = self.texts[place + 1]
        if self.texts[place] in words.SE and follower not in words.AGO:
            return follower != NUMBER and follower not in _DAY_NAMES
        return self.texts[place] in words.LATER


def rough_range(first: Number, second: Number) -> bool:
    """Whether two counts said one after the other are a range: "paanch chhe", "das pandrah"; not "25 5" or "5000 5"."""
    return first.scale is None and first.value < second.coefficient <= first.value + max(Decimal(5), first.value)


_JOINTS = words.OR | words.TO | words.AND | {"/", ","}
_AFTER_TWO_JOINED_BY_AND = words.DATE_WORDS | words.BETWEEN | words.KE
_IN_A_BARE_ANSWER = (
    {NUMBER}
    | words.FILLERS
    | words.WRITE_IT
    | words.CURRENCIES.keys()
    | words.UNITS_OF_TIME
    | words.BETWEEN
    | (_JOINTS - {","})
)
_BETWEEN_TWO_OF_A_CORRECTION = words.NOT | words.CORRECTS | words.HARD | words.NOT_TO_BE_HAD | words.IT_IS
_IN_A_CORRECTION = _IN_A_BARE_ANSWER | _BETWEEN_TWO_OF_A_CORRECTION | words.TAKE_IT
_BEFORE_PLEASE_DO = words.WRITE_IT | words.TAKE_IT
_BEHIND_A_DAY = words.KO | words.UNTIL | words.DATE_WORDS | words.AGO | words.SE
_IN_FRONT_OF_A_DAY = frozenset({"on", "by", "before", "till", "until", "the"})
_DENIES_AHEAD = frozenset({"not", "neither", "nor"})
_ONWARDS = frozenset({"onwards", "onward"})
_DAY_NAMES = words.PLAIN_DAYS | words.WEEKDAYS.keys() | words.MONTHS.keys()
_BEFORE_AN_OPEN_END = frozenset({"after", "since"})
