"""From raw text to pieces: one spelling for what looks alike, then words, marks and figures with their places.

It must not know what any word means. It reads any text of any length once, front to back, and never fails.
"""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a piece of text looks like, before anybody asks what it means."""

    WORD = 1
    MARK = 2  # one sign: a comma, a currency sign, a line end
    FIGURE = 3  # a number in digits, grouped or with decimals
    DATE = 4  # 2027-01-05 or 05/01/2027
    CLOCK = 5  # 10:30


class Piece(NamedTuple):
    """One piece of the folded text; `start` and `end` are offsets in it, so that `5k` and `5 k` can be told apart."""

    kind: Kind
    text: str
    start: int
    end: int


# Signs without width, joiners, direction marks, soft hyphens, emoji selectors, the enclosing keycap and the Devanagari
# dot below: people do not see them or do not type them, so two texts that differ in them say the same.
_UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe00-\ufe0f\u20e3\u0300-\u036f\u093c]"
)

# Before compatibility folding: it would turn a raised 2 into a digit of the number beside it, and a half into "1/2".
_BEFORE_FOLDING = str.maketrans(
    dict.fromkeys("¹²³⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", " ")
    | {"½": " and half ", "¼": " and quarter ", "¾": " and threequarters ", "\u2009": "\u202f"}
)
_AFTER_FOLDING = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u301c", "-")
    | dict.fromkeys("\u2018\u2019\u02bc\u2032", "'")
    | dict.fromkeys("\u0964\u0965\u3002\u06d4", ".")
    | {"\u066b": ".", "\u066c": ",", "\u060c": ",", "\u3001": ",", "\u066a": "%", "\u2044": "/", "\u0901": "\u0902"}
)
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_THIN_GROUPING = re.compile("(?<=\\d)\u202f(?=\\d{3}(?!\\d))")
# A nasal before a consonant of its own class is written as the consonant or as a dot: पन्द्रह, पंद्रह.
_HALF_NASAL = re.compile("[ङञणनम]\u094d(?=[क-ह])")


def fold(text: str) -> str:
    """`text` in the one form in which texts and the words of `words` are compared. Offsets may differ from `text`'s."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", _THIN_GROUPING.sub(",", text.translate(_BEFORE_FOLDING))).lower()
    text = _UNSEEN.sub("", text).translate(_AFTER_FOLDING)
    text = _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    return _HALF_NASAL.sub("\u0902", text)


_WORD = (
    r"a/c(?![a-z])|(?<!\d)2(?:day|mor+ow|moro|mrw)(?![a-z])|[a-z]+(?:'[a-z]+)?|[\u0900-\u0963\u0971-\u097f]+|[^\W\d_]+"
)
_WORDS = re.compile(_WORD)
_PIECE = re.compile(rf"({_WORD})|((?<![\w.])\.\d+|\d+(?:[.,:/-]\d+)*)|([^\s\w]|\n)")
_DIGIT = re.compile("[0-9]")
_FIGURE = re.compile(
    r"\.?\d+"
    r"|\d+\.\d+"
    r"|\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d{1,2})?"  # 1,25,000.50 and 125,000.50
    r"|\d{1,3}(?:,\d+)*,0\d*(?:,\d{2,})*"  # 50,00 and 10,0000: grouped wrongly, or with a decimal comma
    r"|\d{1,3},\d{3}(?:,\d{2,})+"  # 5,000,00
    r"|\d{4,},00"
    r"|\d{1,3}(?:\.\d{2,3})+\.\d{3}"  # 1.25.000
    r"|\d{1,3}(?:\.\d{3})+,\d{1,2}"  # 1.250,50
)
_DATE = re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})")
_CLOCK = re.compile(r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?")
_SEPARATORS = (re.compile("(-)"), re.compile("(/)"), re.compile("(:)"), re.compile("([.,])"))


def holds_digits(folded: str) -> bool:
    return _DIGIT.search(folded) is not None


def words_of(folded: str) -> list[str]:
    """The words among the pieces of a folded text, for a first glance."""
    return _WORDS.findall(folded)


def pieces(folded: str) -> list[Piece]:
    """The pieces of a folded text, in order. Blanks and underscores separate and are gone."""
    found: list[Piece] = []
    for match in _PIECE.finditer(folded):
        start, end = match.span()
        text = match[0]
        shape = match.lastindex
        if shape == 1:
            found.append(Piece(Kind.WORD, text, start, end))
        elif shape == 3:
            found.append(Piece(Kind.MARK, text, start, end))
        elif text.isdigit():
            found.append(Piece(Kind.FIGURE, text, start, end))
        else:
            _divide(text, start, 0, found)
    return found


def _divide(run: str, start: int, level: int, found: list[Piece]) -> None:
    """Digits joined by signs are one date, clock time or figure; else they are parted at the loosest sign."""
    end = start + len(run)
    if _DATE.fullmatch(run) and possible_parts(run):
        found.append(Piece(Kind.DATE, run, start, end))
    elif _CLOCK.fullmatch(run):
        found.append(Piece(Kind.CLOCK, run, start, end))
    elif _FIGURE.fullmatch(run):
        found.append(Piece(Kind.FIGURE, run, start, end))
    else:
        for part in _SEPARATORS[level].split(run):
            if not part:
                continue
            if part in _SIGNS:
                found.append(Piece(Kind.MARK, part, start, start + 1))
            else:
                _divide(part, start, level + 1, found)
            start += len(part)


_SIGNS = frozenset("-/:.,")


def possible_parts(written: str) -> bool:
    """Whether a written date can have been meant as one: 12-34-5678 is some other number."""
    day, month, _ = day_month_year(written)
    return 1 <= day <= 31 and 1 <= month <= 31


def day_month_year(written: str) -> tuple[int, int, int]:
    """The parts of a `Kind.DATE` piece, day first; a year of two digits is of this century."""
    first, second, third = (int(part) for part in re.split("[-/.]", written))
    if written[:4].isdigit():
        return third, second, first
    return first, second, third if third > 99 else 2000 + third
