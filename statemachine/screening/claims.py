"""What an agent's prose says was sent: a reminder, a payment link (AC-52)."""

from collections.abc import Sequence
from typing import Literal

from statemachine import words as w
from statemachine.screening.reading import NAME, read
from statemachine.screening.sentences import sentences_of
from statemachine.screening.voices import OWN, SUBJECT_WORDS, voices_of

Claim = Literal["reminder", "payment_link"]


def claims_sent(text: str) -> frozenset[Claim]:
    """Which of a reminder and a payment link an agent's prose says was sent (AC-52). A plan or a wish is no claim."""
    return frozenset(claim for sentence in sentences_of(text) for claim in claims_of(sentence.text))


def claims_of(text: str) -> frozenset[Claim]:
    told = read(text)
    voices = voices_of(told, frozenset(name.casefold() for name in NAME.findall(text)))
    found: set[Claim] = set()
    sent = False
    for clause in _clauses(told, voices):
        verbs = [at for at in range(len(clause)) if w.SENT.at(clause, at)]
        # "..., and a reminder": a list goes on with what was sent.
        sent = (sent and not verbs and len(clause) <= SUBJECT_WORDS) or _is_sent(clause, verbs)
        if sent:
            found |= _objects(clause)
    return frozenset(found)


def _clauses(told: Sequence[str], voices: Sequence[int]) -> list[list[str]]:
    clauses: list[list[str]] = [[]]
    for at, token in enumerate(told):
        after = told[at + 1] if at + 1 < len(told) else ""
        divides = token in w.SCOPE_ENDS or (token in w.JOINERS and after in w.NEW_CLAUSE_AFTER_A_JOINER)
        if voices[at] != OWN or divides or (token in w.MARKS and token not in (":", '"')):
            clauses.append([])
        elif token not in w.MARKS:
            clauses[-1].append(token)
    return [clause for clause in clauses if clause]


def _is_sent(clause: Sequence[str], verbs: Sequence[int]) -> bool:
    if not verbs or any(word in w.NOT_YET for word in clause):
        return False
    harmless = w.HARMLESS_DENIALS.places(clause)
    if any(word in w.NEGATIONS and at not in harmless for at, word in enumerate(clause)):
        return False
    return any(_sent_by_us(clause, at) for at in verbs)


def _sent_by_us(clause: Sequence[str], verb: int) -> bool:
    place = verb - 1
    passive = False
    while place >= 0 and (clause[place] in w.BESIDE_A_VERB or clause[place] in w.PASSIVES):
        passive = passive or clause[place] in w.PASSIVES
        place -= 1
    before = clause[place] if place >= 0 else ""
    if before in w.NOT_DONE_BEFORE or "be" in clause[place + 1 : verb] or "being" in clause[place + 1 : verb]:
        return False
    in_hindi = any(word in w.PEOPLE and word.startswith(("us", "unh", "inh", "उ")) for word in clause[:verb])
    return passive or not (before in w.PEOPLE or before == "you" or in_hindi)


def _objects(clause: Sequence[str]) -> set[Claim]:
    found: set[Claim] = set()
    for at, word in enumerate(clause):
        if word in w.REMINDERS:
            found.add("reminder")
        if word in w.LINKS and not any(earlier in w.OTHER_LINKS for earlier in clause[max(at - 2, 0) : at]):
            found.add("payment_link")
    return found
