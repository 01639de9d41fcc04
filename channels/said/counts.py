"""What stands before a lakh or a hazaar: figures, numbers below a hundred in words, halves and quarters, and hundreds.

It must not know what a number is of, nor scales above a hundred: those multiply in `numerals`.
"""

from __future__ import annotations

from decimal import Decimal

from channels.said import words
from channels.said.figures import Number, plain, readings
from channels.said.reading import Kind, Piece

LONGEST_SCALED_DIGITS = 15  # a longer run of digits is an id, and no "lakh" after it makes it a sum

_NOTHING = ""

# "paanchsau", "doso", "सातसौ": a hundred is often written onto its count.
JOINED_HUNDREDS = {
    count + hundred: value * 100
    for count, value in words.NUMBER_WORDS.items()
    if 1 <= value <= 19
    for hundred in words.HUNDRED | words.HUNDRED_AFTER_HINDI
    if count.isascii() == hundred.isascii() and len(hundred) <= 3
}
# After a small number without a scale of its own these say that it does not belong to the sum before it:
# "paanch hazaar pachees ko".
NOT_PART_OF_A_SUM = words.MARKS_ANOTHER_ROLE | words.ORDINAL_ENDINGS
_COUNTABLE = (
    (NOT_PART_OF_A_SUM | words.SCALES.keys() | words.HUNDRED | words.CURRENCIES.keys() | words.POINT)
    - words.KO
    - words.UNTIL
)
_JOINING = words.OR | words.TO


class Counts:
    """Reads counts off a list of pieces; every method takes a place and answers with the place after what it read."""

    def __init__(self, pieces: list[Piece], texts: list[str]) -> None:
        self._pieces = pieces
        self._words = texts

    def count(self, at: int) -> tuple[Number, int] | None:
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
        if word in words.QUARTER or word in words.POINT:
            return self._fraction(at)
        if word in JOINED_HUNDREDS:
            value = Decimal(JOINED_HUNDREDS[word])
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
        if before in words.SIXTY_OR_WITH and self._words[at] in words.HUNDRED:
            return False  # "sath sau": seven hundred, or sixty
        if before == "of" and at > 1:
            before = self._words[at - 2]  # "a couple of thousand"
        return before not in words.NOT_AN_EXACT_NUMBER and not self._words[at].endswith("s")

    def _figure(self, at: int) -> tuple[Number, int]:
        text = self._words[at]
        if (
            text[0] == "."
            and self._words[at + 1] not in words.SCALES
            and self._words[at + 1] not in words.SCALE_LETTERS
        ):
            text = text[1:]  # "Rs .500": the point belongs to the word before
        grouped = self._blank_grouped(at)
        if grouped is not None:
            return grouped
        read = readings(text)
        grouped_by_commas = text.count(",")
        digits = len(text) - grouped_by_commas - text.count(".")
        number = Number(read, read[0], grouped=grouped_by_commas > 0, digits=digits)
        if (
            at + 1 < len(self._pieces)
            and number.day_sized() is not None
            and self._words[at + 1] in words.ORDINAL_ENDINGS
        ):
            number.ordinal = True
            return number, at + 2
        return self._with_part(number, at + 1)

    def _blank_grouped(self, at: int) -> tuple[Number, int] | None:
        """ "5 000", "1 25 000": a group that begins with zero is no number of its own."""
        text, after = self._words[at], at + 1
        if not (text.isdigit() and len(text) <= 3) or text[0] == "0" or (at and self._words[at - 1][-1:].isdigit()):
            return None
        while self._words[after].isdigit() and self._pieces[after].start == self._pieces[after - 1].end + 1:
            after += 1
        groups = self._words[at + 1 : after]
        if not 1 <= len(groups) <= 3 or len(groups[-1]) != 3 or groups[-1][0] != "0":
            return None
        if [len(group) for group in groups[:-1]] not in ([], [2], [3], [2, 2], [3, 3]):
            return None
        value = Decimal(text + "".join(groups))
        return Number((value,), value, grouped=True, digits=len(text) + sum(map(len, groups))), after

    def _with_part(self, number: Number, after: int) -> tuple[Number, int]:
        """Adds "and a half" or "point five" to a count."""
        if number.value < 100 and (extra := self.and_a_part(after)) is not None:
            number.values = (number.value + extra[0],)
            number.coefficient = number.value
            return number, extra[1]
        if self._words[after] in words.POINT:
            decimals, end = self._decimals(after + 1)
            if decimals and number.value == int(number.value):
                number.values = (number.value + decimals,)
                number.coefficient = number.value
                return number, end
        if self._words[after] in words.QUARTER and self._words[after + 1] in words.SCALES and number.value < 4:
            number.values = (number.value / 4,)  # "three quarter lakh"
            number.coefficient = number.value
            return number, after + 1
        return number, after

    def _fraction(self, at: int) -> tuple[Number, int] | None:
        """ "quarter lakh" and "point five lakh": less than one, and a number only before what scales it."""
        value, after = (Decimal("0.25"), at + 1) if self._words[at] in words.QUARTER else self._decimals(at + 1)
        if not value or self._words[after] not in words.SCALES:
            return None
        return Number((value,), value, worded=True), after

    def _decimals(self, at: int) -> tuple[Decimal, int]:
        """What is said behind a point, digit by digit; zero if nothing is."""
        digits, after = "", at
        while len(digits) < LONGEST_SCALED_DIGITS:
            word = self._words[after]
            if 0 <= words.NUMBER_WORDS.get(word, -1) <= 9:
                digits += str(words.NUMBER_WORDS[word])
            elif word.isdigit():
                digits += word[:LONGEST_SCALED_DIGITS]
            else:
                break
            after += 1
        return Decimal("0." + digits) if digits else Decimal(0), after

    def and_a_part(self, at: int) -> tuple[Decimal, int] | None:
        if self._words[at] not in words.AND:
            return None
        at += 2 if self._words[at + 1] in words.ARTICLE else 1
        part = words.PART_AFTER_AND.get(self._words[at])
        return None if part is None else (part, at + 1)

    def _quartered(self, at: int) -> tuple[Number, int] | None:
        """ "saadhe teen" is 3.5, "paune do" 1.75, and "sava" before a scale 1.25."""
        quarter = words.QUARTERS[self._words[at]]
        follower = self._words[at + 1]
        if follower in words.SCALES or follower in words.HUNDRED or follower in words.HOUR:
            if quarter == Decimal("0.5"):
                return None
            value, after = 1 + quarter, at + 1
        else:
            if follower in words.SIXTY_OR_WITH and self._words[at + 2] in words.HUNDRED:
                return None  # "paune sath sau": of seven hundred, or of sixty
            base = self._small(at + 1, after_quarter=True)
            if base is None and follower.isdigit() and len(follower) <= 2:
                base = Decimal(follower), at + 2
            if base is None:
                return None
            value, after = base[0] + quarter, base[1]
        return Number((value,), value, worded=True), after

    def hundreds(self, number: Number, after: int) -> int:
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
        number.coefficient, number.hundreds = number.value / 100, True
        begin = after + 1 if self._words[after] in words.AND else after
        rest = self._small(begin) or self._bare_digits(begin)
        if rest is not None and 0 < rest[0] < 100 and self._words[rest[1]] not in NOT_PART_OF_A_SUM | words.HUNDRED:
            follower = self._words[rest[1]]
            if follower in words.SCALES and begin != after:
                return after  # "five hundred and two thousand" is two numbers
            number.values = (number.value + rest[0],)
            number.coefficient, number.hundreds = number.value, False
            return rest[1]
        return after

    def _bare_digits(self, at: int) -> tuple[Decimal, int] | None:
        word = self._words[at]
        if len(word) == 2 and word.isdigit() and word > "31":
            return Decimal(word), at + 1
        return None

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
        if word in words.NEED_SOMETHING_COUNTED and not after_quarter and not self._counts_something(at):
            return None
        if value == 1 and at and self._words[at - 1] in words.NOT_THE_NUMBER_ONE:
            return None
        return Decimal(value), at + 1

    def _counts_something(self, at: int) -> bool:
        """Whether something countable follows, so that "do" is two and not an imperative."""
        word, follower = self._words[at], self._words[at + 1]
        if follower in words.HUNDRED_AFTER_HINDI and word in words.NEED_SOMETHING_COUNTED:
            return True
        if follower in words.SCALE_LETTERS:  # "two k"; but "bol do k kal dunga" is "tell them that ..."
            return word in words.ENGLISH_UNITS or not at or self._words[at - 1] in _JOINING
        if word in words.TWO and follower in words.OTHERWISE:
            return False  # "hata do to paanch hazaar dunga": Hindi says "do se paanch" for a range
        if word in words.SIXTY_OR_WITH:
            return follower in words.SCALES or follower in words.CURRENCIES
        if follower in _JOINING:
            return self._words[at + 2] in words.NUMBER_WORDS or self._words[at + 2].isdigit()
        if follower in words.ONE_AND_TWO_AND_A_HALF or (
            follower in words.NUMBER_WORDS and follower not in words.NEED_SOMETHING_COUNTED
        ):
            return self._words[at + 2] in _COUNTABLE or self._words[at + 2] in words.SCALE_LETTERS
        return follower in _COUNTABLE or (len(self._pieces) == 1 and word in words.TWO)
