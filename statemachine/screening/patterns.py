"""How a rule is written: patterns over a line of words, and which words each cannot do without (`Kinds`).

A line is words separated by single blanks, with a number as `#`, an amount as `##`, a day as `ondate`, an id as `anid` and
a part that was taken out as `~`. The words that several families of rules look for are here too; a rule is not.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from statemachine import words as w

DATE, ID, SMALL, LARGE, GONE = "ondate", "anid", "#", "##", "~"

EXEMPT_WORDS = 5
"""How far before a finding an income may stand that it is about: "her salary is pending"."""


class Kinds:
    """Sets of words, each a bit: what a sentence holds is one number, and what a pattern needs another."""

    def __init__(self) -> None:
        self._bits: dict[frozenset[str], int] = {}
        self._of_word: dict[str, int] = {}

    def needed(self, *groups: str) -> int:
        """Of each of these groups of words, separated by blanks, one."""
        return sum({self._bit(frozenset(word for told in group.split() for word in _told(told))) for group in groups})

    def _bit(self, words: frozenset[str]) -> int:
        bit = self._bits.setdefault(words, 1 << len(self._bits))
        for word in words:
            self._of_word[word] = self._of_word.get(word, 0) | bit
        return bit

    def held(self, tokens: Iterable[str]) -> int:
        held = 0
        for token in tokens:
            held |= self._of_word.get(token, 0)
        return held


def _told(word: str) -> tuple[str, ...]:
    """A word as it stands in a line; `#` and `##` stand for themselves."""
    return w.words_of(word) or (word,)


KINDS = Kinds()
# No words of a text: whether it gives orders, and whether nothing but an amount stands in it.
AN_ORDER, ONLY_AN_AMOUNT = KINDS.needed("<order>"), KINDS.needed("<amount>")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern over a line of words that begins and ends between words, and which words it cannot do without.

    Most sentences hold none of them, and are then done with before anything is matched.
    """

    regex: re.Pattern[str]
    needs: int


def pattern(body: str, *needs: str) -> Pattern:
    """`needs`: groups of words, of each of which one stands in whatever the body matches; a test makes sure."""
    return Pattern(re.compile(rf"(?<= ){body}(?= )"), KINDS.needed(*needs))


def last_pattern(body: str, *needs: str) -> Pattern:
    """As `pattern`, at the end of the line."""
    return Pattern(re.compile(rf"(?<= ){body} $"), KINDS.needed(*needs))


def up_to(most: int, without: str = "") -> str:
    """Up to so many words in between, no end of a sentence and nothing taken out among them."""
    barred = f"(?!{without} )" if without else ""
    return rf"(?:{barred}[^ ~.;?!]+ ){{0,{most}}}"


def any_of(words: Iterable[str]) -> str:
    """One of these words or phrases, as a pattern over words separated by single blanks."""
    told = sorted({" ".join(w.words_of(word)) for word in words}, key=len, reverse=True)
    return "(?:" + "|".join(re.escape(word).replace(r"\ ", " ") for word in told) + ")"


def one_of(words: str) -> str:
    return any_of(words.split())


def possible(patterns: Sequence[Pattern], held: int) -> list[Pattern]:
    return [pattern for pattern in patterns if held & pattern.needs == pattern.needs]


def needs_of(*patterns: Sequence[Pattern]) -> tuple[int, ...]:
    """What one of these patterns needs at the least."""
    return tuple({pattern.needs for group in patterns for pattern in group})


def finds(patterns: Sequence[Pattern], line: str, held: int, *, unless: frozenset[str] = frozenset()) -> bool:
    """Whether a pattern stands in the line; one with such a word in it or shortly before it does not count."""
    for pattern in possible(patterns, held):
        for match in pattern.regex.finditer(line):
            near = line[: match.start()].rsplit(" ", EXEMPT_WORDS + 1)[-EXEMPT_WORDS - 1 :]
            if not unless.intersection(near) and not unless.intersection(match[0].split()):
                return True
    return False


# --- words of several families ----------------------------------------------------------------------------------------

NUMBER_MARKS = "# ##"
COUNTED = r"(?:loans?|emis?|installments?|instalments?|accounts?|cards?|payments?|dues|bills?|kists?)"
COUNTED_WORD = (
    "loan loans emi emis installment installments instalment instalments account accounts card cards payment payments dues "
    "bill bills kist kists"
)
EMI = one_of(w.DUES)
LOAN = one_of(w.LOANS)
MONEY = one_of(w.MONEY)
UNPAID = one_of(w.UNPAID)
BE = one_of(w.BE)
HINDI_BE = one_of(w.HINDI_BE)
NUMBER_MARK = r"(?:##|#)"
BEING = rf"(?:{BE} ){{0,3}}"
NO_PAYMENT = one_of(w.NOT_A_PAYMENT)
CLAUSE_END = rf"(?:[.,;:!?\"~]|from|since|for|at|as|till|until|by|with|and|but|{DATE}|now|yet|still|{HINDI_BE})"
