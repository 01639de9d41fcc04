"""A turn as it was heard: its words, the clause each stands in, which clauses ask and which words deny."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from statemachine import words as w

BORROWER = "borrower"
AGENT = "agent"
SYSTEM = "system"


class Spoken(Protocol):
    """A turn of a conversation. `speaker`: borrower, agent, third_party or system."""

    @property
    def speaker(self) -> str: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Heard:
    """Words with the clause each stands in, which clauses ask, and which words deny.

    `joined` is the same without spaces, with the offsets where words begin and end.
    """

    words: tuple[str, ...]
    clause: tuple[int, ...]
    asking: frozenset[int]
    denying: frozenset[int]
    joined: str
    starts: Mapping[int, int]
    ends: Mapping[int, int]

    def same_clause(self, one: int, other: int) -> bool:
        return self.clause[one] == self.clause[other]

    def around(self, start: int, end: int) -> tuple[str, ...]:
        """All words of the clauses that the words from `start` to before `end` stand in."""
        first, last = self.clause[start], self.clause[end - 1]
        return tuple(word for word, clause in zip(self.words, self.clause, strict=True) if first <= clause <= last)


def heard_of(text: str) -> Heard:
    return _heard_cached(text) if len(text) <= w.CACHED_CHARACTERS else _hear(text)


def _hear(text: str) -> Heard:
    tokens = w.tokens(text)
    words: list[str] = []
    clause: list[int] = []
    asking: set[int] = set()
    number = 0
    conditional = False
    for place, token in enumerate(tokens):
        if token in w.MARKS:
            if token == "?":
                asking.add(number)
            number += token != '"'
            conditional = conditional and token == ","
            continue
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        before = words[-1] if words and clause[-1] == number else ""
        if (
            (token in w.CLAUSE_OPENERS and before not in w.MATRIX_VERBS)
            or (token in w.JOINERS and following in w.NEW_CLAUSE_AFTER_A_JOINER)
            or (token in w.THEN and conditional)
        ):
            number += 1
        conditional = conditional or token in w.CONDITIONS
        words.append(token)
        clause.append(number)
    run_together, starts, ends = joined(words)
    denying = _plain_denials(words, clause)
    return Heard(tuple(words), tuple(clause), frozenset(asking), denying, run_together, starts, ends)


_heard_cached = lru_cache(maxsize=w.CACHED_TEXTS)(_hear)


def joined(words: Sequence[str]) -> tuple[str, dict[int, int], dict[int, int]]:
    """Words without the spaces between them, so that "de dunga" is "dedunga"; two numbers stay two numbers."""
    parts: list[str] = []
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    length = 0
    for index, word in enumerate(words):
        if parts and parts[-1][-1].isdigit() and word[0].isdigit():
            parts.append(" ")
            length += 1
        starts[length] = index
        parts.append(word)
        length += len(word)
        ends[length] = index + 1
    return "".join(parts), starts, ends


_NO_DENIALS: frozenset[int] = frozenset()


def _plain_denials(words: Sequence[str], clause: Sequence[int]) -> frozenset[int]:
    """Where words deny, but for phrases that deny nothing ("no problem") and for tags ("de dunga na")."""
    if w.NEGATIONS.isdisjoint(words):
        return _NO_DENIALS
    harmless = w.HARMLESS_DENIALS.places(words)

    def is_a_tag(at: int) -> bool:
        if words[at] not in w.TAG_NO or at == 0 or clause[at] != clause[at - 1]:
            return False
        return words[at - 1] in w.TAGGED or is_finite(words[at - 1])

    return frozenset(
        at for at, word in enumerate(words) if word in w.NEGATIONS and at not in harmless and not is_a_tag(at)
    )


def is_finite(word: str) -> bool:
    return word in w.FINITE or word.endswith(w.FINITE_ENDINGS)
