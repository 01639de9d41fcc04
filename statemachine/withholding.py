"""Texts that a person withheld: which they are, and a text without them (DESIGN 11, 16).

A sentence that somebody of the lender's judged wrong to repeat is told to no reader from then on: not in the conversation it was
found in, nor in a higher revision or a later conversation that says it again, nor as a fact. The evidence stays as it came, so
whoever withheld it may show it again; of one text the last judgement counts. Texts are compared folded, sentence by sentence.

Which rule of screening a sentence breaks is another matter, and not known here.
"""

from __future__ import annotations

from collections.abc import Iterable

from statemachine.conclusions import WithheldText
from statemachine.elements import TextJudged
from statemachine.screening.sentences import sentences_of
from statemachine.words import folded

NOTHING: frozenset[str] = frozenset()


def withheld_of(judged: Iterable[TextJudged]) -> tuple[WithheldText, ...]:
    """What is withheld now, in the order in which it was; at the same time withholding counts, and not showing again."""
    last: dict[str, TextJudged] = {}
    for element in judged:
        text = folded(element.sentence or "")
        if text and (text not in last or _rank(element) > _rank(last[text])):
            last[text] = element
    found = [
        WithheldText(text=e.sentence or "", by=e.by, why=e.why, at=e.at, event_id=e.event_id)
        for e in last.values()
        if not e.shown
    ]
    return tuple(sorted(found, key=lambda one: (one.at, one.event_id)))


def _rank(element: TextJudged) -> tuple[object, ...]:
    return (element.at, not element.shown, element.key)


def hidden_by(withheld: Iterable[WithheldText]) -> frozenset[str]:
    """The texts as `without` compares them."""
    return frozenset(folded(one.text) for one in withheld)


def without(text: str, hidden: frozenset[str]) -> tuple[str, int]:
    """The text without its hidden sentences, and how many they were."""
    sentences = sentences_of(text) if hidden else []
    kept = [one for one in sentences if folded(one.text) not in hidden]
    gone = len(sentences) - len(kept)
    return ("".join(one.text + one.gap for one in kept).strip(), gone) if gone else (text, 0)
