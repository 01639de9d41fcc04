"""Facts and decisions, a line each: the stated apart from the inferred, what is true only when read in neither; and where one
comes from (DESIGN 11). It must not know the cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from service.narrative.prose import Withheld, is_live, judged
from service.narrative.structure import further
from service.narrative.values import on_one_line, quoted, shortened
from service.narrative.wording import WORDS
from statemachine.conclusions import KnownFact
from statemachine.state import BorrowerState
from statemachine.volatility import Volatility

FACT_CHARACTERS: Final = 160
FACT_LINE_CHARACTERS: Final = 60
NOTE_CHARACTERS: Final = 160
"""Room kept for the notes that something is left out or withheld."""


def facts_told(facts: Sequence[KnownFact], zone: tzinfo, room: int, withheld: dict[Withheld, None]) -> str:
    """Stated facts, then inferred ones, each newest first, as many as there is room for; `withheld` takes the others."""
    lines: list[str] = []
    left_out: list[KnownFact] = []
    room -= NOTE_CHARACTERS
    for source in ("stated", "inferred"):
        group = [f for f in facts if f.source == source and f.volatility != Volatility.LIVE]
        heading = WORDS["facts_heading"](source) + "\n" if group else ""
        for fact in group:
            if room < FACT_LINE_CHARACTERS:
                left_out.append(fact)
                continue
            told = judged(shortened(on_one_line(fact.text), FACT_CHARACTERS), ())
            for _, rule in told.withheld:
                withheld[Withheld(fact.conversation_id or fact.fact_id, rule)] = None
            if told.withheld:
                continue
            line = heading + WORDS["fact"](fact, quoted(told.text), zone)
            if len(line) >= room:
                left_out.append(fact)
                continue
            room -= len(line) + 1
            lines.append(line)
            heading = ""
    return "".join(f"{line}\n" for line in (*lines, *further(left_out, "facts")))


def fact_in_words(fact: KnownFact, time_zone: str) -> tuple[str, str | None]:
    """A fact as one line with its date and ground; empty, with the rule, when it may not be shown."""
    told = judged(shortened(on_one_line(fact.text), FACT_CHARACTERS), ())
    if told.withheld:
        return "", told.withheld[0][1]
    line = WORDS["fact"](fact, quoted(told.text), ZoneInfo(time_zone))
    return line.removeprefix("- "), None


def said_in_words(fact: KnownFact, state: BorrowerState | None = None) -> str:
    """Where a fact comes from, in words (API 7, `said`).

    The state names the channel and the borrower's day; without it no channel is named and the day is that of UTC, as it says.
    """
    if state is None:
        return WORDS["fact_source"](fact, None, UTC, True, is_live(fact))
    source = (fact.conversation_id, fact.observed_at)
    channel = next((c.channel for c in state.conversations if (c.conversation_id, c.at) == source), None)
    return WORDS["fact_source"](fact, channel, ZoneInfo(state.time_zone), False, is_live(fact))


def decisions_told(decided: Sequence[str], room: int) -> str:
    """As many as there is room for beside the structure; they are newest first."""
    if not decided or room < NOTE_CHARACTERS:
        return ""
    lines = [WORDS["decisions_heading"]()]
    room -= len(lines[0]) + NOTE_CHARACTERS // 2
    for line in decided:
        if len(line) >= room:
            break
        room -= len(line) + 1
        lines.append(line)
    lines += further(decided[len(lines) - 1 :], "decisions")
    return "".join(f"{line}\n" for line in lines)
