"""What an agent reads about a borrower: the briefing, the step just taken, and where a fact comes from (DESIGN 10, 11).

Theory of operation. The text is made when it is read, from the state and the reader's clock alone: no model, so the same
record at the same time gives the same text. The words stand in `templates/`; here is decided what is told:

    1 the structure: cycle, stops, promise, offers, claims, payments, messages, attempts, reports that never came
    2 facts, the stated apart from the inferred; what is true only when read is in none of them
    3 conversations, in the order they ended: a line each, and the prose of as many as there is room for

The whole is at most `NARRATIVE_CHARACTERS`. The structure is never cut: when people said more than fits, their quotes and
the lists are shortened, with a note, to what always fits (`TIGHT`). Then each channel's latest conversation is told in its
own words before any other's. Prose is screened at each reading, so that a rule added today hides yesterday's sentence.

Nothing here knows requests, storage or a model. Quotes and prose are data: they are put on one line, within marks that they
cannot close.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from service.narrative.conversations import conversations_in_words, conversations_told
from service.narrative.facts import decisions_told, fact_in_words, facts_told, said_in_words
from service.narrative.prose import BY_A_PERSON, Withheld
from service.narrative.step import previous_step, told_at
from service.narrative.structure import stands_in, structure_in_words, structure_told
from service.narrative.values import CLOCK, on_one_line
from service.narrative.wording import TEMPLATES
from statemachine.conclusions import Cycle
from statemachine.state import BorrowerState

__all__ = [
    "BY_A_PERSON",
    "CLOCK",
    "NARRATIVE_CHARACTERS",
    "TEMPLATES",
    "Narrative",
    "Withheld",
    "conversations_in_words",
    "fact_in_words",
    "narrative",
    "on_one_line",
    "previous_step",
    "said_in_words",
    "structure_in_words",
    "told_at",
]

NARRATIVE_CHARACTERS: Final = 4_000
FACTS_CHARACTERS: Final = 900
DECISIONS_CHARACTERS: Final = 800


@dataclass(frozen=True, slots=True)
class Narrative:
    """The briefing of one borrower: at most `NARRATIVE_CHARACTERS`, never empty."""

    text: str
    withheld: tuple[Withheld, ...]


def narrative(state: BorrowerState, cycle: Cycle, *, now: datetime, decided: Sequence[str] = ()) -> Narrative:
    """The whole briefing of one borrower, standing in this cycle. `now`: aware, the reader's clock. `decided`: decisions that
    are current at this reading, each a line with its version and date (`decisions.telling`)."""
    zone = ZoneInfo(state.time_zone)
    here = [c for c in state.conversations if stands_in(c, state, cycle)]
    head = structure_told(state, cycle, here, now, zone) + "\n"
    head += decisions_told(decided, min(DECISIONS_CHARACTERS, NARRATIVE_CHARACTERS - len(head)))
    withheld: dict[Withheld, None] = {}
    room = NARRATIVE_CHARACTERS - len(head)
    facts = facts_told(state.facts, zone, min(FACTS_CHARACTERS, room // 2), withheld)
    ids = frozenset(c.event_id for c in here)
    told = conversations_told(state.conversations, ids, zone, room - len(facts), withheld)
    text = (head + facts + told).strip()
    assert len(text) <= NARRATIVE_CHARACTERS, "the structure is bounded and the rest was fitted into what it leaves"
    return Narrative(text, tuple(withheld))
