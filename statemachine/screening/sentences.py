"""Prose taken apart into sentences, and whose line each stands in. It must not know what a sentence asserts."""

import re
from dataclasses import dataclass

from statemachine import words as w

_SENTENCE_ENDS = re.compile(r"([.!?।…]+[\"'”’)\]»]*)(\s+)|(\n\s*)")
_ABBREVIATIONS = frozenset(
    "rs mr mrs ms dr no approx amt inr st eg ie vs acct md mohd smt shri sri shr kum capt col lt maj prof adv sr jr".split()
)
_LAST_WORD = re.compile(r"[^\W\d_][^\s\d_.,;:!?]*$")
_LONGEST_LAST_WORD = 16
_LINE_GOES_ON = (":", ",", "=", "-", "–", "—", "(", "|")
PERSON = r"(?:the\s+)?(?:borrower|customer|client|user|caller|she|he|they)"
_BORROWER_LABEL = re.compile(rf"\W*{PERSON}\s*[:\-–—]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, the blanks after it, and whether its line is labelled as the borrower's."""

    text: str
    gap: str
    borrowers_line: bool


def sentences_of(text: str) -> list[Sentence]:
    """Where a sentence ends is told by its own last signs alone, so taking one out never changes its neighbours."""
    told = text.strip()
    found: list[Sentence] = []
    start = 0
    line_starts = True
    borrowers = False
    for end in _SENTENCE_ENDS.finditer(told):
        closing, gap = end[1] or "", end[2] or end[3]
        body = told[start : end.start()] + closing
        if _goes_on(told, end):
            continue
        if line_starts:
            borrowers = _BORROWER_LABEL.match(body) is not None
        if body.strip():
            found.append(Sentence(body, gap, borrowers))
        start = end.end()
        line_starts = "\n" in gap
    if told[start:]:
        borrowers = _BORROWER_LABEL.match(told[start:]) is not None if line_starts else borrowers
        found.append(Sentence(told[start:], "", borrowers))
    return found


def _goes_on(told: str, end: re.Match[str]) -> bool:
    """Whether the sentence goes on after this: an abbreviation, or a line broken in the middle of saying something."""
    before = told[max(end.start() - _LONGEST_LAST_WORD, 0) : end.start()]
    words = _LAST_WORD.search(before.rstrip())
    last = words[0].casefold() if words else ""
    if end[1] == ".":
        return bool(last) and not before[-1:].isspace() and (last in _ABBREVIATIONS or len(last) == 1)
    return end[1] is None and (before.rstrip().endswith(_LINE_GOES_ON) or (last in w.OPEN_ENDS))
