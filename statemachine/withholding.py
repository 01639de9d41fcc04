"""Texts that a person withheld: which they are, and a text without them (DESIGN 11, 16).

A sentence that somebody of the lender's judged wrong to repeat is told to no reader from then on: not in the conversation it was
found in, nor in a higher revision or a later conversation that says it again, nor as a fact, nor as the words that a promise, a
claim, an appointment or a fact is quoted with. The evidence stays as it came, so whoever withheld it may show it again; of one
text the last judgement counts. Texts are compared folded, sentence by sentence.

A quote is a piece of what was said, and a report's sentence repeats more or less of it: a quote goes as well where one of the two
says all of the other. What a quote stands for (terms, a day, a fact's own text) stays.

Which rule of screening a sentence breaks is another matter, and not known here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from statemachine.conclusions import Callback, Claim, Cycle, Promise, WithheldText
from statemachine.elements import TextJudged
from statemachine.screening.sentences import sentences_of
from statemachine.words import folded

NOTHING: frozenset[str] = frozenset()
PIECE_WORDS = 3
"""So many words of a text are a piece of it; fewer ("yes", "ok sir") are said in too many texts to be one's own."""

Q = TypeVar("Q", Promise, Claim, Callback)


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


def unquoted(quote: str | None, hidden: frozenset[str], *, is_terms: bool = False) -> str | None:
    """A quote without the sentences that say what is hidden; None when that leaves nothing. `is_terms`: words in which no more
    than a sum or a day is said, which stay while they say only a part of what is hidden."""
    if not quote or not hidden:
        return quote
    sentences = sentences_of(quote)
    kept = [one for one in sentences if not _says(folded(one.text), hidden, is_terms)]
    if len(kept) == len(sentences):
        return None if _says(folded(quote), hidden, is_terms) else quote
    return "".join(one.text + one.gap for one in kept).strip() or None


def _says(text: str, hidden: frozenset[str], is_terms: bool) -> bool:
    return any(text == one or _is_piece(one, text) or (not is_terms and _is_piece(text, one)) for one in hidden)


def _is_piece(piece: str, of: str) -> bool:
    return piece.count(" ") >= PIECE_WORDS - 1 and f" {piece} " in f" {of} "


def cycle_without(cycle: Cycle, hidden: frozenset[str]) -> Cycle:
    """The cycle with no promise and no claim in hidden words."""
    return msgspec.structs.replace(
        cycle,
        promise=cycle.promise and words_without(cycle.promise, hidden),
        counter_proposals=tuple(words_without(one, hidden) for one in cycle.counter_proposals),
        history=tuple(words_without(one, hidden) for one in cycle.history),
        payment_claim=cycle.payment_claim and words_without(cycle.payment_claim, hidden),
    )


def words_without(told: Q, hidden: frozenset[str]) -> Q:
    """What was promised, claimed or asked for, without hidden words; its terms stay."""
    words = "at_said" if isinstance(told, Callback) else "said"
    return msgspec.structs.replace(
        told,
        quote=unquoted(told.quote, hidden),
        **{words: unquoted(getattr(told, words), hidden, is_terms=True)},
    )
