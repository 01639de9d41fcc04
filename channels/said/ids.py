"""Numbers that name something: phones, accounts, flats, sections of law. They are no sums, no days and no counts."""

from __future__ import annotations

from channels.said import words
from channels.said.numerals import Item
from channels.said.reading import Kind

SHORTEST_ID_DIGITS = 10
SHORTEST_DIGITS_AFTER_PLUS = 6
LONGEST_DAY_DIGITS = 2
DIGITS_OF_A_SECTION = 3  # "420 ka case"
DIGITS_OF_A_CARD = 4
SHORTEST_CODE_DIGITS, LONGEST_CODE_DIGITS = 4, 8


def ids(items: list[Item], texts: list[str]) -> frozenset[int]:
    """The places of such numbers among `items`; `texts` are their words and marks, padded at the end."""
    named: set[int] = set()
    codes_are_told = not words.CODES_TOLD.isdisjoint(texts)
    at = 0
    while at < len(items):
        if items[at].number is None:
            at += 1
            continue
        run = _digit_groups(items, texts, at)
        if not _is_money(items, texts, at, run[-1]):
            if _is_a_phone(items, texts, run):
                named.update(run)
            elif at and texts[at - 1] in words.CODES_TOLD:
                named.update(run)  # "otp 991 122"
            elif (
                (codes_are_told and _is_a_code(items, at))
                or _digits(items[at]) >= SHORTEST_ID_DIGITS
                or _has_a_name(items, texts, at)
            ):
                named.add(at)
        at = run[-1] + 1
    return frozenset(named)


def place_of_currency_before(texts: list[str], at: int) -> int | None:
    """Where the currency in front of a number stands: "Rs 500", "Rs. 500", "Rs: 500"."""
    place = at - 1
    if place > 0 and texts[place] in (".", ":", "-") and texts[place - 1] in words.CURRENCIES:
        place -= 1
    return place if place >= 0 and texts[place] in words.CURRENCIES else None


def _is_a_code(items: list[Item], at: int) -> bool:
    return SHORTEST_CODE_DIGITS <= _digits(items[at]) <= LONGEST_CODE_DIGITS and not items[at].text.endswith("00")


def _is_money(items: list[Item], texts: list[str], first: int, last: int) -> bool:
    if texts[last + 1] in words.CURRENCIES:
        return True
    place = place_of_currency_before(texts, first)
    if place is None:
        return False
    return place == 0 or items[place - 1].number is None or items[place].end == items[place + 1].start


def _is_a_phone(items: list[Item], texts: list[str], run: list[int]) -> bool:
    """Groups of digits that are long together, follow a plus, begin with a zero, or are three joined by dashes."""
    first = run[0]
    digits = sum(_digits(items[place]) for place in run)
    sums = all(items[place].text.endswith("00") and items[place].text[0] != "0" for place in run)  # "50000-60000"
    if len(run) > 1 and digits >= SHORTEST_ID_DIGITS and not sums:
        return True
    if first and texts[first - 1] == "+" and digits >= SHORTEST_DIGITS_AFTER_PLUS:
        return True
    text = items[first].text
    if _digits(items[first]) > LONGEST_DAY_DIGITS and text[0] == "0" and text.strip("0."):
        return True
    return len(run) > 2 and all(texts[place + 1] == "-" for place in run[:-1])


def _digits(item: Item) -> int:
    """How many bare digits an item has; a grouped, scaled or ordinal number has none."""
    number = item.number
    return 0 if number is None or number.grouped or number.scale is not None or number.ordinal else number.digits


def _digit_groups(items: list[Item], texts: list[str], at: int) -> list[int]:
    """Bare groups of two or more digits that follow each other: 90000 00001, 98765-43210, (022) 2345 6789."""
    run = [at]
    if _digits(items[at]) < 2:
        return run
    place = at + 1
    while place < len(items):
        step = place + 1 if texts[place] in ("-", ")") and place + 1 < len(items) else place
        if _digits(items[step]) < 2 or "." in items[step].text:
            break
        run.append(step)
        place = step + 1
    return run


def _has_a_name(items: list[Item], texts: list[str], at: int) -> bool:
    number = items[at].number
    if number is None or number.scale is not None or number.ordinal:
        return False
    return (
        _glued_to_letters(items, texts, at) or _follows_a_name(items, texts, at) or _precedes_a_name(items, texts, at)
    )


def _glued_to_letters(items: list[Item], texts: list[str], at: int) -> bool:
    """ "LN1234", "B-101"; but not "Jan-5" or "Friday-5000"."""
    place = at - 1
    dashed = place > 0 and texts[place] == "-" and items[place].end == items[at].start
    place -= dashed
    if place < 0 or items[place].kind is not Kind.WORD or items[place].number is not None:
        return False
    if items[place].end != items[place + 1].start or texts[place] in words.CURRENCIES or texts[place] in words.MONTHS:
        return False
    if texts[place] == "x":  # "2x2500"
        return False
    return not (dashed and (texts[place] in words.WEEKDAYS or texts[place] in words.PLAIN_DAYS))


def _follows_a_name(items: list[Item], texts: list[str], at: int) -> bool:
    """ "account 1234", "OTP is 1234", "loan no. 1234", "card ending 1234", "card ka last 7788", "#1234"."""
    place, linked = at - 1, False
    if place >= 0 and texts[place] == "last" and _digits(items[at]) >= DIGITS_OF_A_CARD:
        return not items[at].text.endswith("00")  # "my last 5000"
    if (
        place > 0
        and texts[place - 1] == "last"
        and _digits(items[place]) == 1
        and _digits(items[at]) >= DIGITS_OF_A_CARD
    ):
        return True  # "last 4 4455"
    while place >= 0 and at - place <= 3 and texts[place] in words.BETWEEN_NAME_AND_NUMBER:
        if texts[place] in words.NAME_ANY_NUMBER:
            return True
        linked = linked or texts[place] in words.LINK_NAME_AND_NUMBER
        place -= 1
    if place < 0:
        return False
    return texts[place] in words.NAMED_BY_NUMBER or (linked and texts[place] in words.NAMED_BY_LINKED_NUMBER)


def _precedes_a_name(items: list[Item], texts: list[str], at: int) -> bool:
    """ "482913 is the OTP", "100 number pe call", "138 ka case"."""
    if _digits(items[at]) == DIGITS_OF_A_SECTION and texts[at + 1] in words.KE and texts[at + 2] in words.CASES:
        return True
    if texts[at + 1] in words.ON_IT and texts[at + 2] in words.LIVES_OR_CALLS:
        return True  # "400053 me rehta hu", "1930 pe complaint"
    place = at + 1
    while place <= at + 3 and texts[place] in words.BEFORE_SUCH_A_NAME:
        place += 1
    if texts[place] not in words.NAMES_WHAT_STANDS_BEFORE:
        return False
    place += 1 + (texts[place + 1] in words.BETWEEN_NAME_AND_NUMBER)
    return place >= len(items) or items[place].number is None  # "5000 otp 1234": the name goes with what follows
