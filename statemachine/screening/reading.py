"""A sentence as the rules see it: at a glance, with dates, ids and numbers marked (`Glance`), and what it itself asserts,
without what it hands on, supposes or plans (`Own`). It must not know the rules.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from statemachine import words as w
from statemachine.screening.orders import instructs
from statemachine.screening.patterns import (
    AN_ORDER,
    COUNTED,
    DATE,
    GONE,
    ID,
    KINDS,
    LARGE,
    ONLY_AN_AMOUNT,
    SMALL,
    any_of,
)
from statemachine.screening.sentences import Sentence
from statemachine.screening.voices import OWN, SAID, after_each, plans, supposes, supposes_ahead, voices_of

Numbers = Callable[[str], frozenset[Decimal]]
SMALLEST_AMOUNT = 100
"""A number below this is a count, a day or an hour, unless a currency or a scale stands beside it."""
DIGITS_OF_AN_AMOUNT = 10
"""A number with more digits is an id or a phone number."""

BARE = w.BARE_FILL | {LARGE, SMALL, DATE, ID}
_BARE_OR_MARK = BARE | w.MARKS

_MONTH = any_of(w.MONTHS)
_CURRENCY_SIGNS = str.maketrans({"₹": " rs ", "₨": " rs "})
_GLUED_CURRENCY = re.compile(r"\b(rs|inr)(?=\d)")
_FRACTION = re.compile(rf"(?<!\d)(\d{{1,3}})\s?/\s?(\d{{1,3}})(?=\s+(?:of\s+)?{COUNTED}\b)")
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_DATES = re.compile(
    rf"(?<![\d.])(?:(?:19|20)\d\d-\d\d?-\d\d?"
    rf"|{_DAY}[-/.]\d\d?[-/.](?:\d\d){{1,2}}"
    rf"|{_DAY}/\d\d?"
    rf"|{_DAY}(?:st|nd|rd|th)?(?:\s+of)?\s+{_MONTH}(?:,?\s+(?:19|20)\d\d)?"
    rf"|{_DAY}(?:st|nd|rd|th)"
    rf"|{_DAY}\s+(?:tarikh|tareekh|taarikh|tarik|तारीख|ko|को|tak|तक|se pehle)"
    rf"|\d\d?\s+\d\d\s?(?:am|pm|ist|hrs|baje|बजे)"
    rf"|\d\d?\s?(?:am|pm|ist|hrs|baje|bje|बजे|oclock))(?![\w.]?\d)(?!\w)"
    rf"|(?<!\w){_MONTH}\s+{_DAY}(?:st|nd|rd|th)?(?:,?\s+(?:19|20)\d\d)?(?![\w.]?\d)(?!\w)"
    rf"|(?<!\w){_MONTH},?\s+(?:19|20)\d\d(?!\w)"
    rf"|(?<!\w)(?:in|since|year)\s+(?:19|20)\d\d(?!\w)"
    rf"|(?<!\w)(?:by|on|till|until|before|from|since|after)\s+(?:the\s+)?{_DAY}"
    rf"(?!\w)(?!\.\d)(?!\s+(?:of\s|out\s|{COUNTED}\b|k\b|thousand|hundred|lakh|lac|crore|hazaar|hazar|sau|rs|rupees))"
)
_IDS = re.compile(
    r"(?<![\w-])(?!(?:rs|inr|due|dues|amt|emi|baki|baaki|total|bal|os|of|is|at)-?\d)[a-z]{1,6}-?(?=[\w-]*\d{3})\d[\w-]*"
    r"|\bending\s+(?:in\s+|with\s+)?\d+|(?:a/c|account|loan|utr|ref|id)\s+(?:no\s+|number\s+)?\d{6,}"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SCALED = re.compile(r"\d+(?:\.\d+)?(?:k|l|lac|lacs|lakh|lakhs|cr|crore|m|hazaar|hazar)")


@dataclass(frozen=True, slots=True)
class Own:
    """What a sentence itself asserts, as words separated by single blanks: `#` a number, `##` an amount, `~` a part that
    was taken out.

    `text`: all of it; `firm`: without what it supposes; `done`: also without what it plans; `unasked`: without what
    somebody asked for. `parts`: its clauses, each with its marked words and the words to read numbers from.
    """

    text: str
    firm: str
    done: str
    unasked: str
    parts: tuple[tuple[str, str], ...]
    held: int
    """Which words the sentence holds (`KINDS`)."""
    amounts_allowed: frozenset[Decimal]
    numbers: Numbers

    def amounts_in(self, spoken: str) -> frozenset[Decimal]:
        return frozenset(
            number for number in self.numbers(spoken) if SMALLEST_AMOUNT <= number < 10**DIGITS_OF_AN_AMOUNT
        )


@dataclass(frozen=True, slots=True)
class Glance:
    """A sentence before anybody asks who says what: its tokens, as what they are marked, whether it gives orders, and
    which words it holds (`KINDS`)."""

    told: tuple[str, ...]
    marked: tuple[str, ...]
    instructs: bool
    held: int


def _look(text: str) -> Glance:
    told = read(text)
    marked = _marked(told)
    orders = instructs(text)
    held = KINDS.held({*told, *marked})
    if orders:
        held |= AN_ORDER
    if _BARE_OR_MARK.issuperset(marked):
        held |= ONLY_AN_AMOUNT
    return Glance(told, tuple(marked), orders, held)


_kept_look = lru_cache(maxsize=w.CACHED_TEXTS)(_look)


def glance_at(text: str) -> Glance:
    return _kept_look(text) if len(text) <= w.CACHED_CHARACTERS else _look(text)


def own_of(sentence: Sentence, seen: Glance, amounts_allowed: frozenset[Decimal], numbers: Numbers) -> Own:
    told, marked = seen.told, seen.marked
    names = frozenset(NAME.findall(sentence.text))
    voices = voices_of(told, frozenset(name.casefold() for name in names))
    looks_ahead = not w.FUTURE_IN_A_SENTENCE.isdisjoint(told)
    supposed = after_each(told, supposes_ahead if looks_ahead else supposes)
    planned = after_each(told, plans)
    asserted = [voice != SAID for voice in voices]
    firm = [own and not only for own, only in zip(asserted, supposed, strict=True)]
    return Own(
        text=_line(marked, asserted),
        firm=_line(marked, firm),
        done=_line(marked, [own and not later for own, later in zip(firm, planned, strict=True)]),
        unasked=_line(marked, [voice == OWN for voice in voices]),
        parts=_parts(told, marked, asserted),
        held=seen.held,
        amounts_allowed=amounts_allowed,
        numbers=numbers,
    )


NAME = re.compile(r"\b[A-Z][a-z]+\b")


def read(text: str) -> tuple[str, ...]:
    """Words and marks, with dates, times and ids put out of the way of amounts."""
    told = w.plain(text if text.isascii() else text.translate(_CURRENCY_SIGNS))
    if _NUMBER.search(told) is not None:  # there is a number in each of these
        told = _GLUED_CURRENCY.sub(r"\1 ", told)
        told = _DATES.sub(f" {DATE} ", _FRACTION.sub(r"\1 of \2", told))
        told = _IDS.sub(f" {ID} ", told)
    return w.split_plain(told)


def _marked(told: Sequence[str]) -> list[str]:
    """The tokens with numbers as `#` or `##`."""
    marked: list[str] = []
    for at, token in enumerate(told):
        before = told[at - 1] if at else ""
        after = told[at + 1] if at + 1 < len(told) else ""
        money = before in w.CURRENCIES or after in w.CURRENCIES or after in w.SCALES
        if _NUMBER.fullmatch(token):
            large = money or len(token.partition(".")[0].lstrip("0")) > 2
            too_long = len(token.partition(".")[0]) >= DIGITS_OF_AN_AMOUNT
            marked.append(ID if too_long else LARGE if large else SMALL)
        elif _SCALED.fullmatch(token):
            marked.append(LARGE)
        elif token in w.COUNTS or (token in w.DO and (money or after in _COUNTED_WORDS)):
            marked.append(LARGE if money else SMALL)
        elif token in w.SCALES and marked and marked[-1] in (SMALL, LARGE):
            marked.append(LARGE)
        else:
            marked.append(token)
    return marked


_COUNTED_WORDS = frozenset(f"{w.DUES} {w.LOANS}".split())


def _line(marked: Sequence[str], shown: Sequence[bool]) -> str:
    line: list[str] = []
    for token, visible in zip(marked, shown, strict=True):
        if visible:
            line.append(token)
        elif not line or line[-1] != GONE:
            line.append(GONE)
    return " " + " ".join(line) + " "


def _parts(told: Sequence[str], marked: Sequence[str], asserted: Sequence[bool]) -> tuple[tuple[str, str], ...]:
    parts: list[tuple[list[str], list[str]]] = [([], [])]
    for at, (token, mark, own) in enumerate(zip(told, marked, asserted, strict=True)):
        after = told[at + 1] if at + 1 < len(told) else ""
        divides = token in w.SCOPE_ENDS or (token in w.JOINERS and after in w.NEW_CLAUSE_AFTER_A_JOINER)
        if not own or divides or token in (",", ";", ".", "?", "!"):
            parts.append(([], []))
        elif token not in w.MARKS:
            parts[-1][0].append(mark)
            parts[-1][1].append(token)
    return tuple((" " + " ".join(marks) + " ", " ".join(spoken)) for marks, spoken in parts if marks)
