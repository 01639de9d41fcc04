"""What a denial denies: how far it reaches ahead and back, and when a no is an answer and not a denial."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from statemachine import words as w
from statemachine.grounding.heard import Heard, is_finite

REACH_WORDS = 40
"""How many words away a denial can be from what it denies; people do not hold a sentence open for longer."""
DENIALS_LOOKED_AT = 4
"""So many denials, the nearest ones, are looked at on each side of a quote."""
ANSWER_WORDS = 6
"""A no that is repeated more often than this is no mere answer."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A word that denies: where it stands, and whether it denies what comes after it and what comes before it."""

    at: int
    ahead: bool
    back: bool


def denials_of(heard: Heard) -> tuple[Denial, ...]:
    return tuple(
        Denial(at, *_direction(at, heard))
        for at in sorted(heard.denying)
        if not _is_an_answer(at, heard) and not _is_otherwise(at, heard)
    )


def before(start: int, denials: Sequence[Denial]) -> Sequence[Denial]:
    place = bisect_left(denials, start, key=_at)
    return [denial for denial in denials[max(place - DENIALS_LOOKED_AT, 0) : place] if denial.at >= start - REACH_WORDS]


def behind(end: int, denials: Sequence[Denial]) -> Sequence[Denial]:
    place = bisect_left(denials, end, key=_at)
    return [denial for denial in denials[place : place + DENIALS_LOOKED_AT] if denial.at <= end + REACH_WORDS]


def _at(denial: Denial) -> int:
    return denial.at


def _is_an_answer(at: int, heard: Heard) -> bool:
    """ "nahi main de dunga", "no I will pay", "nahi nahi pakka": a no that stands first, before a subject or a promise."""
    words = heard.words
    if words[at] not in w.ANSWERING_NO:
        return False
    first, last = run_of(at, heard.words, w.ANSWERING_OR_CALLING, heard.clause)
    if last - first >= ANSWER_WORDS or (first and heard.same_clause(first - 1, at)):
        return False
    # A single "na" that stands first is "neither": "na main dunga na woh".
    if words[at] in w.TAG_NO and sum(word in w.ANSWERING_NO for word in words[first : last + 1]) < 2:
        return False
    following = last + 1
    if following == len(words) or not heard.same_clause(following, at):
        return False
    return words[following] in w.SUBJECTS or words[following] in w.ASSURANCES


def run_of(at: int, words: Sequence[str], of: frozenset[str], clause: Sequence[int] | None = None) -> tuple[int, int]:
    """The first and the last of the neighbouring words `of` a kind, `ANSWER_WORDS` to each side at most."""

    def goes_on(place: int) -> bool:
        return 0 <= place < len(words) and words[place] in of and (clause is None or clause[place] == clause[at])

    first = last = at
    while at - first < ANSWER_WORDS and goes_on(first - 1):
        first -= 1
    while last - at < ANSWER_WORDS and goes_on(last + 1):
        last += 1
    return first, last


def _is_otherwise(at: int, heard: Heard) -> bool:
    return heard.words[at] in w.HINDI_NO and at + 1 < len(heard.words) and heard.words[at + 1] in w.OTHERWISE


def _direction(at: int, heard: Heard) -> tuple[bool, bool]:
    words = heard.words
    before = words[at - 1] if at and heard.same_clause(at - 1, at) else ""
    after = words[at + 1] if at + 1 < len(words) and heard.same_clause(at + 1, at) else ""
    if words[at] in w.HINDI_NO and _is_a_term(after) and _is_a_term(_before_its_particles(at, heard)):
        return False, True  # "12500 nahi 5000", "aaj nahi kal": the first is denied, the second is meant
    if words[at] not in w.NEGATIONS_AHEAD:
        return True, True
    return True, after in w.DENYING_PREDICATES or (words[at] == "not" and before in w.AUXILIARIES)


def _is_a_term(word: str) -> bool:
    return word[:1].isdigit() or word in w.TIMES


def _before_its_particles(at: int, heard: Heard) -> str:
    """The word before `at` in its clause, past the "ko" of "25 ko"."""
    place = at - 1
    while place >= 0 and heard.words[place] in w.AFTER_A_TIME:
        place -= 1
    return heard.words[place] if place >= 0 and heard.same_clause(place, at) else ""


def reaches_ahead(denial: Denial, start: int, heard: Heard) -> bool:
    """Whether it denies what begins at `start`: in one clause, and no verb and no new subject between."""
    if not denial.ahead or denial.at >= start or not heard.same_clause(denial.at, start):
        return False
    words = heard.words
    between = words[denial.at + 1 : start]
    if any(word in w.MATRIX_VERBS for word in between):
        return True
    if any(is_finite(word) for word in between):
        return False
    never = any(word in w.NEVER_AN_ANSWER for word in words[max(denial.at - 1, 0) : denial.at + 1])
    neither = words[denial.at] in w.TAG_NO
    return never or neither or not any(word in w.SUBJECTS for word in (*between, words[start]))


def reaches_back(denial: Denial, start: int, end: int, heard: Heard) -> bool:
    """Whether it denies the words from `start` to before `end`: in one clause that was not complete before it."""
    if not denial.back or denial.at < end or not heard.same_clause(denial.at, end - 1):
        return False
    words = heard.words
    if all(word in w.EMPHASISING for word in words[end : denial.at]):
        return True
    between = words[end : denial.at]
    quoted = words[start:end]
    if is_finite(words[end - 1]) or any(is_finite(word) for word in between):
        return False
    has_subject = any(word in w.SUBJECTS for word in quoted)
    complete = any(word in w.AUXILIARIES or (has_subject and word in w.ENGLISH_VERBS) for word in quoted)
    return not complete or not any(word in w.SUBJECTS or word in w.JOINERS for word in between)
