"""The text that a model gets: a conversation within its budget, each line with its speaker, as quoted material.

A conversation that outgrows the budget is folded: its newest turns stay as they are, and of the older ones only the
borrower's lines that matter most are told, as far as they fit. Folding sees what the model would have seen, no more: live
turns are placeholders by then (`shown`). Words of a conversation cannot leave their line, so nobody can speak as another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from channels import said as words
from channels.chats import Said, within

CHARACTERS: Final = 12_000
"""Of a conversation in one request: some 4,000 tokens, more in Devanagari."""
RECENT_CHARACTERS: Final = 8_000
TURNS: Final = 200
LINE_CHARACTERS: Final = 1_000

LABELS: Final = {"borrower": "BORROWER", "agent": "AGENT", "third_party": "SOMEBODY ELSE"}


@dataclass(frozen=True, slots=True)
class Told:
    """`earlier` and `lines` are what stands in the prompt; `turns` are the same as turns, for judging the answer."""

    earlier: tuple[str, ...]
    lines: tuple[str, ...]
    turns: tuple[Said, ...]
    left_out: int


def told(shown: Sequence[Said]) -> Told:
    """`shown`: the turns as a model may see them."""
    start = within(shown, TURNS, RECENT_CHARACTERS)
    recent, older = shown[start:], shown[:start]
    room = CHARACTERS - RECENT_CHARACTERS
    kept: list[int] = []
    for place in sorted(range(len(older)), key=lambda place: (_weight(older[place]), place), reverse=True):
        size = min(len(older[place].text), LINE_CHARACTERS)
        if older[place].speaker == "borrower" and size <= room:
            kept.append(place)
            room -= size
    kept.sort()
    return Told(
        earlier=tuple(_line(older[place]) for place in kept),
        lines=tuple(_line(turn) for turn in recent),
        turns=(*(older[place] for place in kept), *recent),
        left_out=len(older) - len(kept),
    )


def _weight(turn: Said) -> int:
    """What a summary may not miss: a promise or a claim before other sums, and those before chatter."""
    if words.promises(turn.text) or words.in_past_tense(turn.text):
        return 2
    return 1 if words.amount(turn.text) is not None else 0


def _line(turn: Said) -> str:
    text = " ".join(turn.text.split())
    if len(text) > LINE_CHARACTERS:
        text = text[: LINE_CHARACTERS - 1] + "…"
    return f"{LABELS.get(turn.speaker, 'SOMEBODY ELSE')}: {text}"
