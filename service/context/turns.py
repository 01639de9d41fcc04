"""What a model may see of the conversation that goes on: what was said, without values that were true only when read.

An agent's turn that was answered from a live tool, or that states an amount which nobody promised, is replaced by a placeholder
that says when it was read (DESIGN 11 "Never shown"); the borrower's words stay. A turn has the worst volatility of its tools
and the time at which they were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from channels.channel import Channel
from channels.chats import Said
from channels.summarise.draft import promised_in
from channels.summarise.plain import plain
from channels.summarise.shown import is_live, placeholder
from statemachine.entries import Turn
from statemachine.volatility import Volatility, Writer, turn_volatility

WITHHELD_WITHOUT_A_TIME: Final = "[the agent told something that was true when it was read; it is withheld]"


@dataclass(frozen=True, slots=True)
class Seen:
    """A turn as a model may see it. `place`: which of the conversation it is, from 0. `at`: its reading's time, else its own."""

    place: int
    speaker: str
    text: str
    at: datetime | None
    volatility: Volatility
    writer: Writer


def seen(
    turns: Sequence[Turn], channel: Channel, now: datetime, zone: str, promised: Iterable[Decimal] = ()
) -> tuple[list[Seen], list[int]]:
    """The turns to be shown, in their order, and the places of those that nobody said.

    `promised`: amounts of the promise in force, which are no balance; those that are promised in these turns are found here.
    """
    said = [Said(t.speaker, t.text, t.at or now, tuple(t.tools), t.observed_at) for t in turns]
    here = plain([turn for turn in said if turn.speaker != "system"], channel, now, zone).commitment
    allowed = promised_in(here) | frozenset(promised)
    shown: list[Seen] = []
    unsaid: list[int] = []
    for place, (turn, words) in enumerate(zip(turns, said, strict=True)):
        if turn.speaker == "system":
            unsaid.append(place)
            continue
        at = turn.observed_at or turn.at
        if is_live(words, allowed):
            text = placeholder(words, zone) if at is not None else WITHHELD_WITHOUT_A_TIME
            shown.append(Seen(place, turn.speaker, text, at, Volatility.LIVE, Writer.WITHHELD))
            continue
        volatility = turn_volatility(turn.tools) if turn.tools else Volatility.EVENT
        shown.append(Seen(place, turn.speaker, turn.text, at, volatility, Writer.CONVERSATION))
    return shown, unsaid
