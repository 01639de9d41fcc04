"""The parts of a context answer: a block with its provenance, and what was left out and why (API 10)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from statemachine.volatility import Volatility, Writer

Kind = Literal["instruction", "fact", "conversation", "reading", "question"]
KINDS: Final[tuple[Kind, ...]] = ("instruction", "fact", "conversation", "reading", "question")
"""In this order blocks stand."""
BYTES_OF_A_TOKEN: Final = 3
"""No model's own count: rather too many than too few, in Latin script as in Devanagari."""

Reason = Literal[
    "earlier_turn", "newer_reading", "no_turn", "same_reading", "system", "empty", "over_budget", "screened", "not_current",
]  # fmt: skip
"""Why something was left out:

    earlier_turn    a reading of another turn; a measurement is never replayed
    no_turn         a reading that says no turn
    newer_reading   read twice in this turn, and later
    same_reading    given twice
    system          a line of the conversation that nobody said
    empty           a text without words
    over_budget     it no longer fitted
    screened        a fact, or something in a report, that a rule of screening withholds
    not_current     words of a conversation that pass on a decision which does not hold any more
"""


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a prompt. `text` is what a model sees of it; `said` how it is told within the whole, if otherwise.

    `age_s`: whole seconds since it was observed, by the reader's clock; None while nobody says when. `fresh`: it may be
    repeated as it stands: of a reading, that it is of this very turn; of what the memory holds, that it is not live.
    """

    kind: Kind
    source: str
    subject: str | None
    turn_id: str | None
    observed_at: datetime | None
    text: str
    volatility: Volatility
    writer: Writer
    age_s: int | None
    fresh: bool
    tokens: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that is in no prompt. Of a turn of the conversation `subject` is its place, from "0"."""

    source: str
    subject: str | None
    turn_id: str | None
    reason: Reason


def tokens_of(text: str) -> int:
    """At most so many tokens a model makes of a text, in all likelihood."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_OF_A_TOKEN)


def age(observed_at: datetime | None, now: datetime) -> int | None:
    """Whole seconds; what is told to lie ahead is of now."""
    return None if observed_at is None else max(0, int((now - observed_at).total_seconds()))
