"""Numbers in a text, in digits and in words, each as one item: "1,25,000", "15L", "dedh lakh", "twelve thousand five hundred".

It must not know what a number is of. Whether the 25 in "25 ko 5000 de dungi" is a day or money is decided in `grammar`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from channels.said import words
from channels.said.counts import JOINED_HUNDREDS, LONGEST_SCALED_DIGITS, NOT_PART_OF_A_SUM, Counts
from channels.said.figures import Number, plain
from channels.said.reading import Kind, Piece

LONGEST_SPELT_OUT = 20  # "nine zero zero zero ..." is read as one number up to this many digits

_NOTHING = ""
_LOOKAHEAD = 8


@dataclass(slots=True)
class Item:
    """A word, a sign, a date, a clock time, or a number (then `number` is set and `text` is what began it)."""

    kind: Kind
    text: str
    start: int
    end: int
    number: Number | None = None


def items(found: list[Piece]) -> list[Item]:
    """The pieces with every run that says a number made one item."""
    reader = _Reader(found)
    made: list[Item] = []
    after = 0
    for at, piece in enumerate(found):
        if at < after:  # it belongs to the number before
            continue
        kind, text, start, end = piece
        read = reader.number(at) if kind is Kind.FIGURE or (kind is Kind.WORD and text in _FIRST_WORDS) else None
        if read is None:
            made.append(Item(kind, text, start, end))
        else:
            number, after = read
            made.append(Item(Kind.FIGURE, text, start, found[after - 1].end, number))
    return made


_BEGINNINGS = (
    words.NUMBER_WORDS.keys()
    | words.ENGLISH_TENS.keys()
    | words.SCALES.keys()
    | words.HUNDRED
    | words.QUARTERS.keys()
    | words.ONE_AND_TWO_AND_A_HALF.keys()
    | words.HALF
    | words.QUARTER
    | words.POINT
    | words.ORDINALS.keys()
    | words.ARTICLE
)
_FIRST_WORDS = frozenset(_BEGINNINGS | JOINED_HUNDREDS.keys())
NUMBER_BEGINNINGS = _FIRST_WORDS - words.ARTICLE


class _Reader:
    """Reads numbers off a list of pieces; every method takes a place and answers with the place after what it read."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces
        self._words = [piece.text for piece in pieces] + [_NOTHING] * _LOOKAHEAD
        self._counts = Counts(pieces, self._words)

    def number(self, at: int) -> tuple[Number, int] | None:
        """The longest number that begins at `at`."""
        return self._ordinal(at) or self._spelt_out(at) or self._sum(at)

    # -- ordinals and digits one by one -------------------------------------------------------------------------------

    def _ordinal(self, at: int) -> tuple[Number, int] | None:
        word = self._words[at]
        if word in words.ENGLISH_TENS:
            after = at + 2 if self._words[at + 1] == "-" else at + 1
            unit = words.ORDINAL_UNITS.get(self._words[after])
            if unit is not None:
                value = Decimal(words.ENGLISH_TENS[word] + unit)
                return Number((value,), value, worded=True, ordinal=True), after + 1
        if word not in words.ORDINALS:
            return None
        if word in words.ORDINALS_THAT_ARE_WORDS and not self._ordinal_is_meant(at):
            return None
        value = Decimal(words.ORDINALS[word])
        return Number((value,), value, worded=True, ordinal=True), at + 1

    def _ordinal_is_meant(self, at: int) -> bool:
        follower = self._words[at + 1]
        if self._words[at] in words.ORDINALS_OF_WEEKS:
            return follower in words.WEEK
        return (
            follower in _AFTER_AN_ORDINAL
            or (
                at > 0
                and self._words[at - 1] in words.MONTHS
                and self._words[at - 1] != "may"
                and follower in _ENDS_A_DATE
            )
            or (
                at > 0
                and self._words[at - 1] in words.BEFORE_A_DATE | {"the"}
                and (
                    self._words[at] != "second"
                    or (self._words[max(0, at - 2)] in words.BEFORE_A_DATE and follower == _NOTHING)
                )
            )
            or len(self._pieces) == 1
        )

    def _spelt_out(self, at: int) -> tuple[Number, int] | None:
        """ "five zero zero zero": single digits in words with a zero among them are one number."""
        digits = ""
        after = at
        while len(digits) <= LONGEST_SPELT_OUT and 0 <= words.NUMBER_WORDS.get(self._words[after], -1) <= 9:
            digits += str(words.NUMBER_WORDS[self._words[after]])
            after += 1
        if len(digits) < 3 or "0" not in digits or self._words[after] in words.SCALES:
            return None
        value = Decimal(digits)
        return Number((value,), value, worded=True, digits=len(digits)), after

    # -- sums ---------------------------------------------------------------------------------------------------------

    def _sum(self, at: int) -> tuple[Number, int] | None:
        """Parts with falling scales add up: two lakh + fifty thousand + five hundred."""
        first = self._part(at)
        if first is None:
            return None
        number, after, scale = first
        number.scale = scale
        if scale is None:
            return number, after
        total, last_scale = number.value, scale
        readings: tuple[Decimal, ...] = (total,)
        while True:
            begin = after + 1 if self._words[after] in words.AND else after
            part = self._part(begin)
            if part is None:
                break
            extra, end, extra_scale = part
            if extra_scale is not None:
                if extra_scale >= last_scale:
                    break
                total, last_scale, after = total + extra.value, extra_scale, end
                readings = (total,)
                continue
            if self._belongs(extra, end, last_scale, joined=begin != after):
                readings = (total + extra.value,)
                if last_scale >= 10**5 and 1 <= extra.value < 100 and not self._is_currency(end):
                    # "ek lakh pachas" and "1 lakh 50" are 1,50,000 to many and 1,00,050 to the letter.
                    readings = (total + extra.value, total + extra.value * last_scale / 100)
                after = end
            break
        number.values = tuple(plain(reading) for reading in readings)
        number.coefficient = number.value / scale
        return number, after

    def _belongs(self, extra: Number, after: int, scale: Decimal, *, joined: bool) -> bool:
        """Whether an unscaled number right after a scaled one is the rest of it: "2 hazaar 500" is, "5 hazaar 25 ko" is not."""
        if extra.ordinal or extra.value >= scale or self._words[after] in NOT_PART_OF_A_SUM:
            return False
        if extra.worded or self._is_currency(after):
            return True
        return extra.value > 31 and not joined

    def _part(self, at: int) -> tuple[Number, int, Decimal | None] | None:
        """A count with its scale, if it has one: "dhai hazaar", "15L", "do sau pachas", "hazaar"."""
        counted = self._counts.count(at)
        if counted is None:
            return None
        number, after = counted
        after = self._counts.hundreds(number, after)
        scale: Decimal | None = None
        value = number.value
        while (step := self._scale(number, after, again=scale is not None)) is not None:
            value, after = value * step, after + 1
            scale = step if scale is None else scale * step
            if after - at > _LOOKAHEAD:
                break
        if scale is not None:
            extra = self._counts.and_a_part(after)
            if extra is not None and self._words[at] in words.ARTICLE | words.SCALES.keys():
                value, after = value + extra[0] * scale, extra[1]  # "a lakh and a half"
            number.coefficient = value / scale
            value = plain(value)
            number.values = (value,)
        elif self._words[at] in words.ARTICLE:
            if number.value < 100:
                return None
        elif self._words[at] in words.HALF:
            return None
        return number, after, scale

    def _scale(self, number: Number, at: int, *, again: bool) -> Decimal | None:
        """The scale word at `at`. A second one multiplies only as "lakh crore" does."""
        if number.ordinal or number.digits > LONGEST_SCALED_DIGITS:
            return None
        word = self._words[at]
        if word in words.SCALES:
            return words.SCALES[word] if not again or words.SCALES[word] >= 10**7 else None
        if again or word not in words.SCALE_LETTERS or not (number.digits or number.worded):
            return None
        if self._pieces[at - 1].end == self._pieces[at].start:
            return words.SCALE_LETTERS[word]
        if number.value >= 1000 or self._words[at + 1] in _AFTER_THE_LETTER_OF_KE:
            return None
        return words.SCALE_LETTERS[word]

    def _is_currency(self, at: int) -> bool:
        return self._words[at] in words.CURRENCIES


_AFTER_THE_LETTER_OF_KE = words.AFTER_HINDI_KE | words.DATE_WORDS | words.PARTS_OF_DAY.keys()
_ENDS_A_DATE = words.KO | words.UNTIL | words.CLAUSE_ENDS | {_NOTHING}
_AFTER_AN_ORDINAL = (
    words.DATE_WORDS
    | words.WEEK
    | words.KO
    | words.UNTIL
    | words.MONTHS.keys()
    | words.COUNTED
    | words.DAY
    | {"of", "half"}
)
