"""Numbers in a text, in digits and in words, each as one item: "1,25,000", "15L", "dedh lakh", "twelve thousand five hundred".

It must not know what a number is of. Whether the 25 in "25 ko 5000 de dungi" is a day or money is decided in `grammar`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from channels.said import words
from channels.said.reading import Kind, Piece

LONGEST_SCALED_DIGITS = 15  # a longer run of digits is an id, and no "lakh" after it makes it a sum
LONGEST_SPELT_OUT = 20  # "nine zero zero zero ..." is read as one number up to this many digits

_NOTHING = ""
_LOOKAHEAD = 8


@dataclass(slots=True)
class Number:
    """One number as said. `values` are its readings, one if it is clear; `scale` is its last lakh, hazaar and so on."""

    values: tuple[Decimal, ...]
    coefficient: Decimal
    scale: Decimal | None = None
    worded: bool = False
    ordinal: bool = False
    grouped: bool = False
    digits: int = 0

    @property
    def value(self) -> Decimal:
        return self.values[0]

    def day_sized(self) -> int | None:
        """The number as a whole number below a hundred, if it is one and was said without a scale."""
        if self.scale is None and not self.grouped and len(self.values) == 1 and 0 <= self.value < 100:
            whole = int(self.value)
            return whole if whole == self.value else None
        return None


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
    | words.ORDINALS.keys()
    | words.ARTICLE
)
# "paanchsau", "doso", "सातसौ": a hundred is often written onto its count.
_JOINED_HUNDREDS = {
    count + hundred: value * 100
    for count, value in words.NUMBER_WORDS.items()
    if 1 <= value <= 19
    for hundred in words.HUNDRED | words.HUNDRED_AFTER_HINDI
    if count.isascii() == hundred.isascii() and len(hundred) <= 3
}
_FIRST_WORDS = frozenset(_BEGINNINGS | _JOINED_HUNDREDS.keys())
NUMBER_BEGINNINGS = _FIRST_WORDS - words.ARTICLE

# After a small number without a scale of its own these say that it does not belong to the sum before it:
# "paanch hazaar pachees ko".
_NOT_PART_OF_A_SUM = words.MARKS_ANOTHER_ROLE | words.ORDINAL_ENDINGS
_COUNTABLE = (
    (_NOT_PART_OF_A_SUM | words.SCALES.keys() | words.HUNDRED | words.CURRENCIES.keys() | words.POINT)
    - words.KO
    - words.UNTIL
)
_JOINING = words.OR | words.TO


class _Reader:
    """Reads numbers off a list of pieces; every method takes a place and answers with the place after what it read."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces
        self._words = [piece.text for piece in pieces] + [_NOTHING] * _LOOKAHEAD

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
            or (at > 0 and self._words[at - 1] in words.BEFORE_A_DATE | {"the"} and self._words[at] not in {"second"})
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
                if last_scale >= 10**5 and extra.worded and 1 <= extra.value < 100 and not self._is_currency(end):
                    # "ek lakh pachas" is 1,50,000 to many and 1,00,050 to the letter.
                    readings = (total + extra.value, total + extra.value * last_scale / 100)
                after = end
            break
        number.values = tuple(plain(reading) for reading in readings)
        number.coefficient = number.value / scale
        return number, after

    def _belongs(self, extra: Number, after: int, scale: Decimal, *, joined: bool) -> bool:
        """Whether an unscaled number right after a scaled one is the rest of it: "2 hazaar 500" is, "5 hazaar 25 ko" is not."""
        if extra.ordinal or extra.value >= scale or self._words[after] in _NOT_PART_OF_A_SUM:
            return False
        if extra.worded or self._is_currency(after):
            return True
        return extra.value > 31 and not joined

    def _part(self, at: int) -> tuple[Number, int, Decimal | None] | None:
        """A count with its scale, if it has one: "dhai hazaar", "15L", "do sau pachas", "hazaar"."""
        counted = self._count(at)
        if counted is None:
            return None
        number, after = counted
        after = self._hundreds(number, after)
        scale: Decimal | None = None
        value = number.value
        while (step := self._scale(number, after, again=scale is not None)) is not None:
            value, after = value * step, after + 1
            scale = step if scale is None else scale * step
            if after - at > _LOOKAHEAD:
                break
        if scale is not None:
            extra = self._and_a_part(after)
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

    def _hundreds(self, number: Number, after: int) -> int:
        """Multiplies `number` by a following hundred and adds what is left below it."""
        said_hundred = self._words[after] in words.HUNDRED or (
            self._words[after] in words.HUNDRED_AFTER_HINDI
            and number.worded
            and number.value < 20
            and self._words[after - 1] not in words.ENGLISH_UNITS
        )
        if number.value >= 100 and number.worded and not said_hundred and number.value % 100 == 0:
            pass  # a hundred written onto its count
        elif said_hundred and 0 < number.value < 100:
            number.values = (plain(number.value * 100),)
            after += 1
        else:
            return after
        number.coefficient = number.value
        begin = after + 1 if self._words[after] in words.AND else after
        rest = self._small(begin) or self._bare_digits(begin)
        if rest is not None and 0 < rest[0] < 100 and self._words[rest[1]] not in _NOT_PART_OF_A_SUM | words.HUNDRED:
            follower = self._words[rest[1]]
            if follower in words.SCALES and begin != after:
                return after  # "five hundred and two thousand" is two numbers
            number.values = (number.value + rest[0],)
            number.coefficient = number.value
            return rest[1]
        return after

    def _bare_digits(self, at: int) -> tuple[Decimal, int] | None:
        word = self._words[at]
        if len(word) == 2 and word.isdigit() and word > "31":
            return Decimal(word), at + 1
        return None

    def _count(self, at: int) -> tuple[Number, int] | None:
        """What stands before a scale; a scale with nothing before it counts one."""
        word = self._words[at]
        if at < len(self._pieces) and self._pieces[at].kind is Kind.FIGURE:
            return self._figure(at)
        if word in words.QUARTERS:
            return self._quartered(at)
        if word in words.ONE_AND_TWO_AND_A_HALF:
            value = words.ONE_AND_TWO_AND_A_HALF[word]
            return Number((value,), value, worded=True), at + 1
        if word in words.HALF or word in words.ARTICLE:
            after = at + 2 if word in words.HALF and self._words[at + 1] in words.ARTICLE else at + 1
            if self._words[after] not in words.SCALES and (
                word in words.HALF or self._words[after] not in words.HUNDRED
            ):
                return None
            value = Decimal("0.5") if word in words.HALF else Decimal(1)
            return Number((value,), value, worded=True), after
        if word in _JOINED_HUNDREDS:
            value = Decimal(_JOINED_HUNDREDS[word])
            return Number((value,), value, worded=True), at + 1
        small = self._small(at)
        if small is not None:
            value, after = small
            return self._with_part(Number((value,), value, worded=True), after)
        if (word in words.SCALES or word in words.HUNDRED) and self._stands_for_one(at):
            return Number((Decimal(1),), Decimal(1), worded=True), at
        return None

    def _stands_for_one(self, at: int) -> bool:
        """ "hazaar rupaye" is a thousand; "kuch hazaar" and "thousands" are no number."""
        if at and self._pieces[at - 1].kind > Kind.MARK:
            return False  # it belongs to what stands before, whatever that is
        before = self._words[at - 1] if at else _NOTHING
        return before not in words.NOT_AN_EXACT_NUMBER and not self._words[at].endswith("s")

    def _figure(self, at: int) -> tuple[Number, int]:
        text = self._words[at]
        if text[0] == "." and self._words[at + 1] not in words.SCALES:
            text = text[1:]  # "Rs .500": the point belongs to the word before
        grouped = self._blank_grouped(at)
        if grouped is not None:
            return grouped
        readings = _readings(text)
        grouped_by_commas = text.count(",")
        digits = len(text) - grouped_by_commas - text.count(".")
        number = Number(readings, readings[0], grouped=grouped_by_commas > 0, digits=digits)
        if (
            at + 1 < len(self._pieces)
            and number.day_sized() is not None
            and self._words[at + 1] in words.ORDINAL_ENDINGS
        ):
            number.ordinal = True
            return number, at + 2
        return self._with_part(number, at + 1)

    def _blank_grouped(self, at: int) -> tuple[Number, int] | None:
        """ "5 000": a group that begins with zero is no number of its own."""
        text, after = self._words[at], at + 1
        if not (text.isdigit() and len(text) <= 3) or text[0] == "0" or (at and self._words[at - 1][-1:].isdigit()):
            return None
        while self._words[after].isdigit() and self._pieces[after].start == self._pieces[after - 1].end + 1:
            after += 1
        groups = self._words[at + 1 : after]
        if not 1 <= len(groups) <= 3 or any(len(group) != 3 for group in groups) or groups[-1][0] != "0":
            return None
        value = Decimal(text + "".join(groups))
        return Number((value,), value, grouped=True, digits=len(text) + 3 * len(groups)), after

    def _with_part(self, number: Number, after: int) -> tuple[Number, int]:
        """Adds "and a half" or "point five" to a count."""
        if number.value < 100 and (extra := self._and_a_part(after)) is not None:
            number.values = (number.value + extra[0],)
            number.coefficient = number.value
            return number, extra[1]
        if self._words[after] in words.POINT:
            digits, end = "", after + 1
            while len(digits) < LONGEST_SCALED_DIGITS:
                word = self._words[end]
                if 0 <= words.NUMBER_WORDS.get(word, -1) <= 9:
                    digits += str(words.NUMBER_WORDS[word])
                elif word.isdigit():
                    digits += word[:LONGEST_SCALED_DIGITS]
                else:
                    break
                end += 1
            if digits and number.value == int(number.value):
                number.values = (number.value + Decimal("0." + digits),)
                number.coefficient = number.value
                return number, end
        return number, after

    def _and_a_part(self, at: int) -> tuple[Decimal, int] | None:
        if self._words[at] not in words.AND:
            return None
        at += 2 if self._words[at + 1] in words.ARTICLE else 1
        part = words.PART_AFTER_AND.get(self._words[at])
        return None if part is None else (part, at + 1)

    def _quartered(self, at: int) -> tuple[Number, int] | None:
        """ "saadhe teen" is 3.5, "paune do" 1.75, and "sava" before a scale 1.25."""
        quarter = words.QUARTERS[self._words[at]]
        follower = self._words[at + 1]
        if follower in words.SCALES or follower in words.HUNDRED:
            if quarter == Decimal("0.5"):
                return None
            value, after = 1 + quarter, at + 1
        else:
            base = self._small(at + 1, after_quarter=True)
            if base is None and follower.isdigit() and len(follower) <= 2:
                base = Decimal(follower), at + 2
            if base is None:
                return None
            value, after = base[0] + quarter, base[1]
        return Number((value,), value, worded=True), after

    def _small(self, at: int, *, after_quarter: bool = False) -> tuple[Decimal, int] | None:
        """A whole number below a hundred in words."""
        word = self._words[at]
        if word in words.ENGLISH_TENS:
            after = at + 2 if self._words[at + 1] == "-" else at + 1
            unit = words.ENGLISH_UNITS.get(self._words[after])
            if unit is not None:
                return Decimal(words.ENGLISH_TENS[word] + unit), after + 1
            return Decimal(words.ENGLISH_TENS[word]), at + 1
        value = words.NUMBER_WORDS.get(word)
        if value is None:
            return None
        if word in words.NEED_SOMETHING_COUNTED and not after_quarter and not self._counts(at):
            return None
        if value == 1 and at and self._words[at - 1] in words.NOT_THE_NUMBER_ONE:
            return None
        return Decimal(value), at + 1

    def _counts(self, at: int) -> bool:
        """Whether something countable follows, so that "do" is two and not an imperative."""
        word, follower = self._words[at], self._words[at + 1]
        if follower in words.HUNDRED_AFTER_HINDI and word in words.NEED_SOMETHING_COUNTED:
            return True
        if word in words.SIXTY_OR_WITH:
            return follower in words.SCALES or follower in words.CURRENCIES
        if follower in _JOINING:
            return self._words[at + 2] in words.NUMBER_WORDS or self._words[at + 2].isdigit()
        if follower in words.ONE_AND_TWO_AND_A_HALF or (
            follower in words.NUMBER_WORDS and follower not in words.NEED_SOMETHING_COUNTED
        ):
            return self._words[at + 2] in _COUNTABLE
        return follower in _COUNTABLE or (len(self._pieces) == 1 and word in words.TWO)

    # -- scales -------------------------------------------------------------------------------------------------------

    def _scale(self, number: Number, at: int, *, again: bool) -> Decimal | None:
        """The scale word at `at`. A second one multiplies only as "lakh crore" does."""
        if number.ordinal or number.digits > LONGEST_SCALED_DIGITS:
            return None
        word = self._words[at]
        if word in words.SCALES:
            return words.SCALES[word] if not again or words.SCALES[word] >= 10**7 else None
        if again or not number.digits or word not in words.SCALE_LETTERS:
            return None
        if self._pieces[at - 1].end == self._pieces[at].start:
            return words.SCALE_LETTERS[word]
        if number.value >= 1000 or self._words[at + 1] in words.AFTER_HINDI_KE:
            return None
        return words.SCALE_LETTERS[word]

    def _is_currency(self, at: int) -> bool:
        return self._words[at] in words.CURRENCIES


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


def _readings(text: str) -> tuple[Decimal, ...]:
    """What a figure in digits may be. A point before three last digits is a decimal point or groups thousands."""
    if "," in text:
        if "." in text and text.rindex(",") > text.rindex("."):
            return (plain(Decimal(text.replace(".", "").replace(",", "."))),)
        joined = plain(Decimal(text.replace(",", "")))
        whole, _, decimals = text.partition(",")
        if len(decimals) == 2:
            return plain(Decimal(f"{whole}.{decimals}")), joined
        return (joined,)
    if text.count(".") > 1:
        return (plain(Decimal(text.replace(".", ""))),)
    whole, point, decimals = text.partition(".")
    if point and len(decimals) == 3 and len(whole) <= 3 and whole != "0":
        return Decimal(text), Decimal(whole + decimals)
    return (plain(Decimal(text)),)


def plain(value: Decimal) -> Decimal:
    """`value` without an exponent and, if it is whole, without decimals."""
    whole = value.to_integral_value()
    return whole if whole == value else value
