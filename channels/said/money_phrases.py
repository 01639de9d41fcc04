"""Sums of money: the numbers that nothing beside them makes a day, a time, a count or a name.

It must not know days. Two sums that are offered as alternatives stay two; nothing here chooses between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from channels.said import words
from channels.said.figures import Number, plain
from channels.said.ids import place_of_currency_before
from channels.said.line import LONGEST_CHAIN, NUMBER, Line, Money, rough_range

SMALLEST_BARE_SUM = 100  # a smaller number is money only beside a word that goes with money
LAST_DAY = 31
WIDEST_RANGE = 20  # "25 to 5000" is no range
FIRST_YEAR, LAST_YEAR = 1900, 2199
OUR_CENTURY, LAST_YEAR_TOLD = 2000, 2040
ROUND_SUM = 50  # "2025 mein" is a year, "2000 mein ho jayega" a sum


def percentage(line: Line, numbers: list[Number], after: int) -> int | None:
    if len(numbers) > 1 and any(number.value > 100 for number in numbers):
        return None  # "5000 or 10%"
    if line.texts[after] in words.PERCENT:
        return after + 1
    return after + 2 if line.texts[after] == "per" and line.texts[after + 1] in ("cent", "hundred") else None


def count(line: Line, numbers: list[Number], after: int) -> int | None:
    """ "2 EMIs", "do baar", "2 x 5000"; but "5000 EMI" is what the EMI is."""
    place = line.skip(after, words.MORE, 1)
    if line.texts[place] not in words.COUNTED:
        return None
    if (
        any(number.value >= SMALLEST_BARE_SUM for number in numbers)
        and line.texts[place] not in words.COUNTED_IN_HUNDREDS
    ):
        return None
    if line.texts[place] == "x" and line.is_number(place + 1):
        return after if numbers[0].value < SMALLEST_BARE_SUM else None
    return place + 1


def is_negative(line: Line, at: int) -> bool:
    """ "-500", "-₹500", "minus 500": not a sum. A dash between two numbers, or one followed by a blank, is no sign."""
    before = line.before(at)
    if before in ("minus", "negative"):
        return True
    sign = at - 1
    if before in words.CURRENCIES and at > 1:
        sign, before = at - 2, line.texts[at - 2]
    if before != "-" or not line.touch(sign, sign + 1):
        return False
    if sign == 0 or line.texts[sign - 1] in words.CURRENCIES or line.texts[sign - 1] in ("(", "=", ":"):
        return True
    return not line.touch(sign - 1, sign) and line.texts[sign - 1] != NUMBER


_PARTS = words.HALF | words.QUARTER | words.PERCENT


@dataclass(slots=True)
class _Sum:
    """A sum while it is read: `marked` once something says that it is money, `after` the place after what was read."""

    values: tuple[Decimal, ...]
    after: int
    currency: str | None = None
    marked: bool = False


def sum_of_money(line: Line, at: int) -> int:
    """What no other role took; the place after it."""
    number = line.number(at)
    read = _Sum(number.values, at + 1, marked=number.scale is not None or number.grouped)
    _take_scale_of_the_denied(line, at, number, read)
    _take_marks(line, at, read)
    if not (line.texts[read.after] == "," and line.denies_ahead(at)):  # "not five, six thousand"
        _take_alternatives(line, at, number, read)
    _take_scale_of_what_is_denied_behind(line, number, read)
    _take_paise(line, read)
    denied = line.denied_at(read.after) or line.before(at) == "not"
    if not _is_shared(line, at, read.after) and (read.marked or _is_money_unmarked(line, at, read)):
        money = Money(tuple(map(plain, read.values)), read.currency, at, read.after)
        (line.denied_money if denied else line.money).append(money)
    return read.after


def _is_shared(line: Line, at: int, after: int) -> bool:
    """ "half of 10000", "a quarter of a lakh", "10000 ka aadha": a part of that number, which nobody works out here."""
    place = at - 1 - (currency_before(line, at) is not None)
    if place > 0 and line.texts[place] == "of" and line.texts[place - 1] in _PARTS:
        return True
    return line.texts[after] in words.KE and line.texts[after + 1] in words.HALF


def _is_money_unmarked(line: Line, at: int, read: _Sum) -> bool:
    before, after = line.before(at), line.texts[read.after]
    if all(value < SMALLEST_BARE_SUM for value in read.values):
        beside = before in words.BESIDE_MONEY or after in words.BESIDE_MONEY
        return bool(line.alone) or (beside and any(value > LAST_DAY for value in read.values))  # "28 kar do" is a day
    in_a_year = before in ("in", "year", "since", "sal", "saal")
    if read.values[0] % ROUND_SUM:
        in_a_year = in_a_year or before == "of" or before in words.MONTHS
        in_a_year = in_a_year or after in words.SE or (after in words.INSIDE and after not in ("andar", "under"))
    if after in words.KE and read.values[0] % ROUND_SUM:
        owed = line.texts[read.after + 1] in words.PAYING_NOUN and line.texts[read.after + 1] != "loan"
        in_a_year = in_a_year or (OUR_CENTURY < read.values[0] <= LAST_YEAR_TOLD and not owed)  # "2022 ka rule"
    return not (in_a_year and FIRST_YEAR <= read.values[0] <= LAST_YEAR)


def _take_marks(line: Line, at: int, read: _Sum) -> None:
    """The currency before or after the number at `at`, and signs such as "/-" and "only"."""
    before = currency_before(line, at)
    if before is not None:
        read.currency, read.marked = read.currency or before, True
    if _belongs_to_next(line, read.after):
        return
    if line.texts[read.after] in words.CURRENCIES:
        read.currency, read.marked = read.currency or words.CURRENCIES[line.texts[read.after]], True
        read.after += 1
        if line.texts[read.after] == "." and line.touch(read.after - 1, read.after):
            read.after += 1
    if (line.texts[read.after], line.texts[read.after + 1]) in (("/", "-"), ("/", "="), ("-", "/")):
        read.marked, read.after = True, read.after + 2
    if line.texts[read.after] in words.MONEY_WITHOUT_A_CURRENCY:
        read.marked, read.after = True, read.after + 1


def _take_scale_of_the_denied(line: Line, at: int, number: Number, read: _Sum) -> None:
    """ "5 hazaar nahi 4": what stands in the place of a denied sum is counted as that was."""
    place = at - 1 - (line.before(at) == ",")
    if number.lent is not None or number.value >= SMALLEST_BARE_SUM or not line.denied_money:
        return
    denied = line.denied_money[-1]
    lent = line.number(denied.first).lent
    if denied.after == place and line.texts[place] in words.NOT and lent is not None:
        read.values, read.marked = (plain(number.value * lent),), True
        line.numbers.update(read.values)


def _take_scale_of_what_is_denied_behind(line: Line, number: Number, read: _Sum) -> None:
    """ "thirty not thirteen thousand"; but "paanch nahi chhe hazaar" is six thousand."""
    place = read.after + 1
    if line.texts[read.after] != "not" or number.day_sized() is None or read.marked or not line.is_number(place):
        return
    lent = line.number(place).lent
    if lent is not None:
        read.values, read.marked = (plain(number.value * lent),), True
        line.numbers.update(read.values)


def currency_before(line: Line, at: int) -> str | None:
    """The currency said in front of the number at `at`, unless it belongs to the number before it: "5000 rs 25 ko"."""
    place = place_of_currency_before(line.texts, at)
    if place is None or (line.before(place) == NUMBER and not line.touch(place, at)):
        return None
    if line.texts[place] == "$" and place and line.touch(place - 1, place):
        return words.BEFORE_A_DOLLAR.get(line.texts[place - 1], "USD")
    return words.CURRENCIES[line.texts[place]]


def _belongs_to_next(line: Line, after: int) -> bool:
    """Whether the currency at `after` touches a number behind it: "25 Rs.5000"."""
    if line.texts[after] not in words.CURRENCIES:
        return False
    place = line.skip(after + 1, ".", 1)
    return line.is_number(place) and line.touch(after, place)


def _take_alternatives(line: Line, at: int, number: Number, read: _Sum) -> None:
    """Sums joined to this one, which share its scale: "5 or 6 thousand", "paanch chhe hazaar", "5 hazaar ya 6"."""
    last = number
    for _ in range(LONGEST_CHAIN):
        place = _joined_sum(line, at, read.after)
        if place is None:
            return
        other = line.number(place)
        shared = _alternatives(
            line, last, other, place, adjacent=place == read.after, between=_between(line, at, place)
        )
        if shared is None:
            return
        read.values = (*read.values[: -len(last.values)], *shared)
        read.marked = read.marked or other.scale is not None
        line.numbers.update((*other.values, *shared))
        last, read.after = other, place + 1
        _take_marks(line, place, read)


def _joined_sum(line: Line, at: int, after: int) -> int | None:
    place = line.joined(after, between=line.before(at) in words.BETWEEN)
    if place is None and (line.texts[after] in words.OR or line.texts[after] in words.TO):
        beyond = line.skip(after + 1, words.CURRENCIES.keys() | {"."}, 2)  # "₹4,000 to ₹5,000"
        return beyond if beyond > after + 1 and line.is_number(beyond) else None
    return place


def _between(line: Line, at: int, place: int) -> bool:
    return any(text in words.BETWEEN for text in (line.before(at), line.texts[place + 1], line.texts[place + 2]))


def _alternatives(
    line: Line, first: Number, second: Number, place: int, *, adjacent: bool, between: bool
) -> tuple[Decimal, ...] | None:
    """Both values, with one's scale lent to the other; None when the two are no alternatives to each other."""
    if second.ordinal or len(first.values) > 1 or len(second.values) > 1:
        return None
    if second.scale is None and line.texts[place + 1] in words.MARKS_ANOTHER_ROLE:
        return None
    joint = line.texts[place - 1]
    if second.lent is not None and first.lent is None and first.value < second.coefficient:
        if joint in words.AND and not between:
            return None
        if (adjacent or joint == ",") and not rough_range(first, second):
            return None
        return plain(first.value * second.lent), second.value
    if adjacent or joint == "," or (joint in words.AND and not between):
        return None
    if joint == "/":
        return (first.value, second.value) if first.value >= SMALLEST_BARE_SUM else None
    if first.scale is not None and second.scale is None and first.coefficient <= second.value < 10 * first.coefficient:
        return first.value, plain(second.value * first.scale)
    if joint in words.OR or first.value < second.value <= first.value * WIDEST_RANGE:
        return first.value, second.value
    return None


def _take_paise(line: Line, read: _Sum) -> None:
    """ "500 rupaye 50 paise", "50 paise"; but "5000 paise" is just "5000 of money"."""
    if line.texts[read.after] in words.PAISE:
        if read.currency is None and all(value < 100 for value in read.values):
            read.values, read.currency = tuple(value / 100 for value in read.values), "INR"
            line.numbers.update(read.values)
        read.marked, read.after = True, read.after + 1
    elif read.currency is not None and len(read.values) == 1 and line.is_number(read.after):
        paise = line.number(read.after)
        if line.texts[read.after + 1] in words.PAISE and paise.value < 100 and paise.scale is None:
            read.values, read.after = (read.values[0] + paise.value / 100,), read.after + 2
            line.numbers.update((*paise.values, *read.values))
