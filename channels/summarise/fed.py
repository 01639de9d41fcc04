"""Memory that was fed into a conversation and comes back in its transcript: known again and taken out (DESIGN 11).

What we hand out is known by the tags that whoever puts it into a prompt sets around it (`<borrower-memory>` and its end), and,
where they were lost on the way, by being word for word what we tell. So nothing that the memory says about a borrower becomes
evidence that the borrower said it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from channels.chats import Said
from statemachine.words import folded

OPENS: Final = "<borrower-memory>"
CLOSES: Final = "</borrower-memory>"
SENTENCE_WORDS: Final = 5
"""A sentence of fewer words is anybody's: "It is not confirmed yet." is no sign of us."""

_TAGGED: Final = re.compile(rf"{re.escape(OPENS)}.*?(?:{re.escape(CLOSES)}|\Z)", re.DOTALL | re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?।])\s+|\n+")


def without_memory(said: Sequence[Said], handed_out: Iterable[str]) -> tuple[Said, ...]:
    """The turns without what is tagged, and without sentences that stand in `handed_out` (briefing, previous step).

    A turn that has nothing else is gone. The borrower's own words are theirs even when they are ours as well, unless tagged.
    """
    known = frozenset(_known(handed_out))
    kept: list[Said] = []
    for turn in said:
        text = untagged(turn.text)
        if turn.speaker != "borrower" and known:
            text = _untold(text, known)
        if text.strip():
            kept.append(turn if text == turn.text else replace(turn, text=text.strip()))
    return tuple(kept)


def untagged(text: str) -> str:
    """The text without what stands between our tags; the text itself when nothing does."""
    return _TAGGED.sub(" ", text) if "<" in text else text


def _known(texts: Iterable[str]) -> Iterable[str]:
    for text in texts:
        for sentence in _SENTENCE_END.split(text):
            told = folded(sentence)
            if told.count(" ") + 1 >= SENTENCE_WORDS:
                yield told


def _untold(text: str, known: frozenset[str]) -> str:
    """The text without the sentences that are ours; as it was when there are none."""
    sentences = _SENTENCE_END.split(text)
    kept = [sentence for sentence in sentences if folded(sentence) not in known]
    return text if len(kept) == len(sentences) else " ".join(kept)
