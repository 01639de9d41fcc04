"""Who says what in a sentence: the sentence itself, the borrower it reports, or something the borrower asked for; and what of
it is only supposed or planned. It must not know which words a rule withholds.
"""

from collections.abc import Callable, Sequence

from statemachine import words as w
from statemachine.screening.patterns import DATE

OWN, SAID, ASKED_FOR = 0, 1, 2
STRONG_MARKS = frozenset(".;?!")
SUBJECT_WORDS = 4
"""How far before its verb the one who speaks is looked for."""


def voices_of(told: Sequence[str], names: frozenset[str]) -> list[int]:
    """For each token whose word it is: the sentence's own, the borrower's, or something the borrower asked for."""
    voices = [OWN] * len(told)
    label = _label(told)
    if label and any(token in w.FIRST_PERSON for token in told[label:]):
        _mark(voices, label, len(told), SAID)
    for at in range(len(told)):
        if voices[at] == SAID:
            continue
        opened = _opened(told, at, names)
        if opened is None:
            continue
        start, voice = opened
        if voice == ASKED_FOR == voices[at]:
            continue
        if _is_trailing(told, at, start):
            _mark(voices, *_clause_before(told, at), voice)
        else:
            _mark(voices, start, _scope_end(told, start), voice)
    return voices


def _mark(voices: list[int], start: int, end: int, voice: int) -> None:
    for at in range(start, end):
        voices[at] = max(voices[at], voice) if voice == ASKED_FOR and voices[at] == SAID else voice


def _label(told: Sequence[str]) -> int:
    """Where the words after "Borrower:" begin; 0: no such label."""
    for colon in (1, 2):
        if len(told) > colon and told[colon] == ":" and told[colon - 1] in w.PEOPLE:
            return colon + 1
    return 0


def _opened(told: Sequence[str], at: int, names: frozenset[str]) -> tuple[int, int] | None:
    """If a voice opens at this token: where what it says begins, and which voice."""
    token = told[at]
    after = at + 1
    length = w.ACCORDING.at(told, at)
    if length:
        rest = told[at + length : at + length + 2]
        person = next((place for place, word in enumerate(rest) if word in w.PEOPLE | w.TOLD_TO_THE_BORROWER), None)
        return None if person is None else (at + length + person + 1, SAID)
    length = w.SPEAKING_HINDI.at(told, at)
    if length:
        return (at + length, SAID) if _speaker_before(told, at, names) else None
    if token not in _SPEECH or not _speaker_before(told, at, names):
        return None
    if token in w.REQUESTS:
        return after, ASKED_FOR
    following = told[after : after + 3]
    if token in w.ASKS:
        asked = next((place for place, word in enumerate(following) if word in w.ASKED_WHAT), None)
        return (after + asked, SAID) if asked is not None else (after, ASKED_FOR)
    if token in w.TELLS and following and (following[0] in w.TOLD_TO_THE_BORROWER or following[:1] == ("the",)):
        to_us = following[0] == "the" and len(following) > 1 and following[1] in w.TOLD_TO_US
        if not to_us:
            return None
    while after < len(told) and (told[after] in w.TOLD_TO_US or told[after] == DATE):
        after += 1
    if after < len(told) and told[after] in w.SAID_TO_OR_ABOUT:
        return None
    return after, SAID


_SPEECH = w.SAYS | w.TELLS | w.ASKS | w.REQUESTS


def _speaker_before(told: Sequence[str], at: int, names: frozenset[str]) -> bool:
    """Whether the one who speaks at this verb is the borrower or somebody near her, and not an agent or a system."""
    verb = told[at]
    place = at - 1
    while place >= 0 and (told[place] in w.BESIDE_A_VERB or told[place] in w.PASSIVES):
        if told[place] in w.PASSIVES and not verb.endswith("ing"):
            return False
        place -= 1
    if place < 0:
        return False
    head = told[place]
    if head not in w.PEOPLE and (head not in names or head in w.NOT_THE_BORROWER):
        return False
    for earlier in range(place, max(place - SUBJECT_WORDS, -1), -1):
        if told[earlier] in w.MARKS or told[earlier] in w.JOINERS or told[earlier] in w.SCOPE_ENDS:
            break
        if told[earlier] in w.NOT_THE_BORROWER and told[earlier] != "that":
            return False
    return True


def _scope_end(told: Sequence[str], start: int) -> int:
    """Where what somebody said ends: at the closing quote, else with the clause."""
    at = start
    while at < len(told) and told[at] in (",", ":", "-"):
        at += 1
    quoted = at < len(told) and told[at] == '"'
    if quoted:
        return next((end + 1 for end in range(at + 1, len(told)) if told[end] == '"'), len(told))
    if ":" in told[start:at]:
        return len(told)
    has_subject = at < len(told) and (told[at] in w.PEOPLE or told[at] in w.FIRST_PERSON)
    for end in range(at, len(told)):
        token = told[end]
        if token in STRONG_MARKS or token == "," or token in w.SCOPE_ENDS:
            return end
        if token in w.JOINERS and not (has_subject and end + 1 < len(told) and told[end + 1] in w.GOES_ON):
            return end
    return len(told)


def _is_trailing(told: Sequence[str], at: int, start: int) -> bool:
    """ "The payment is made, she says.": nothing follows, and a clause goes before."""
    end = start
    while end < len(told) and (told[end] == DATE or told[end] in w.BESIDE_A_VERB):
        end += 1
    ends = end == len(told) or told[end] in STRONG_MARKS or told[end] == ","
    return ends and "," in told[max(at - SUBJECT_WORDS, 0) : at]


def _clause_before(told: Sequence[str], at: int) -> tuple[int, int]:
    comma = max(place for place in range(max(at - SUBJECT_WORDS, 0), at) if told[place] == ",")
    start = comma
    while start and told[start - 1] not in STRONG_MARKS and told[start - 1] != ",":
        start -= 1
    return start, comma


def after_each(told: Sequence[str], opens: Callable[[Sequence[str], int], bool]) -> list[bool]:
    """For each token whether it stands, in its clause, at or after one that opens."""
    inside = False
    found: list[bool] = []
    for at, token in enumerate(told):
        after = told[at + 1] if at + 1 < len(told) else ""
        divides = token in STRONG_MARKS or token in (",", ":") or token in w.SCOPE_ENDS
        divides = divides or (token in w.JOINERS and after in w.NEW_CLAUSE_AFTER_A_JOINER)
        inside = (inside and not divides) or opens(told, at)
        found.append(inside)
    return found


def supposes(told: Sequence[str], at: int) -> bool:
    return told[at] in w.HYPOTHETICAL


def supposes_ahead(told: Sequence[str], at: int) -> bool:
    return told[at] in w.HYPOTHETICAL or told[at] in w.HYPOTHETICAL_AHEAD


def plans(told: Sequence[str], at: int) -> bool:
    if told[at] == "may" and at and told[at - 1] in w.BEFORE_A_MONTH:
        return False
    return told[at] in w.MODALS or (told[at] == "to" and at + 1 < len(told) and told[at + 1] in w.INFINITIVES)
