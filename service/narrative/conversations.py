"""Conversations, in the order they ended: a line each, and the prose of as many as there is room for.

Each channel's latest is told in its own words before any other's. It must not know what was agreed: that is the structure's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from service.narrative.facts import NOTE_CHARACTERS
from service.narrative.prose import BY_A_PERSON, Withheld, end_of, judged, last_sentences, person_in_words
from service.narrative.structure import further, stands_in
from service.narrative.values import on_one_line, quoted
from service.narrative.wording import WORDS
from statemachine.conclusions import Conversation, Cycle
from statemachine.state import BorrowerState

PROSE_CHARACTERS: Final = 1_200
"""Of one conversation's report at most so much is told; the structure carries what was agreed."""
CONVERSATIONS_LISTED: Final = 12


def conversations_told(
    conversations: Sequence[Conversation], here: frozenset[str], zone: tzinfo, room: int, withheld: dict[Withheld, None]
) -> str:
    """Conversations in the order they ended: the newest a line each, then prose for as many as there is room for.

    `here`: the event ids of those that stand in the cycle. `withheld` takes what was not worded.
    """
    told = [c for c in conversations if _is_told(c)]
    if not told:
        return ""
    heading = WORDS["conversations_heading"]() + "\n"
    room -= len(heading) + NOTE_CHARACTERS
    lines: dict[int, str] = {}
    for at in range(len(told) - 1, max(len(told) - 1 - CONVERSATIONS_LISTED, -1), -1):
        c = told[at]
        line = WORDS["conversation"](
            c, c.event_id not in here, person_in_words(c.third_party) if c.outcome == "third_party" else None, zone
        )
        if len(line) >= room:
            break
        room -= len(line) + 1
        lines[at] = line
        if c.held_back:
            withheld[Withheld(c.conversation_id, BY_A_PERSON)] = None
    first, rest = _in_words_first(told, lines)
    for turn, at in enumerate((*first, *rest)):
        report = _report(told[at], room // (len(first) - turn) if turn < len(first) else room, withheld)
        room -= len(report)
        lines[at] += report
    earlier = further(told[: len(told) - len(lines)], "conversations")
    return heading + "\n".join((*earlier, *(lines[at] for at in sorted(lines))))


def conversations_in_words(
    state: BorrowerState, cycle: Cycle, *, listed: int
) -> list[tuple[Conversation, str, tuple[Withheld, ...]]]:
    """The newest conversations in the order they ended, a line each; each channel's latest also in its own screened words."""
    zone = ZoneInfo(state.time_zone)
    told = [c for c in state.conversations if _is_told(c)]
    newest = range(max(len(told) - listed, 0), len(told))
    in_words, _ = _in_words_first(told, newest)
    found = []
    for at in newest:
        c, withheld = told[at], dict[Withheld, None]()
        person = person_in_words(c.third_party) if c.outcome == "third_party" else None
        line = WORDS["conversation"](c, not stands_in(c, state, cycle), person, zone).removeprefix("- ")
        if at in in_words:
            line += _report(c, PROSE_CHARACTERS, withheld)
        found.append((c, line, tuple(withheld)))
    return found


def _is_told(c: Conversation) -> bool:
    """Whether it has a line of its own; an attempt without a word is only counted."""
    return c.contact or bool(c.prose) or c.outcome in (None, "voicemail", "third_party")


def _in_words_first(told: Sequence[Conversation], listed: Iterable[int]) -> tuple[list[int], list[int]]:
    """Which conversations are told in words before others: each channel's last, and its last with the borrower."""
    newest = sorted((at for at in listed if told[at].prose), reverse=True)
    last = {told[at].channel: at for at in reversed(newest)}
    last_contact = {told[at].channel: at for at in reversed(newest) if told[at].contact}
    first = {*last.values(), *last_contact.values()}
    return [at for at in newest if at in first], [at for at in newest if at not in first]


def _report(c: Conversation, room: int, withheld: dict[Withheld, None]) -> str:
    """What was reported of a conversation, in its own words: all of it or its last whole sentences; at most `room` long."""
    if not c.prose or room < NOTE_CHARACTERS:
        return ""
    end = end_of(c.prose)
    told = judged(end, c.amounts)
    for _, rule in told.withheld:
        withheld[Withheld(c.conversation_id, rule)] = None
    whole = on_one_line(told.text)
    words = last_sentences(whole, min(room - NOTE_CHARACTERS, PROSE_CHARACTERS))
    left_out = len(words) < len(whole) or len(end) < len(c.prose.strip())
    speaker = person_in_words(c.third_party) if c.outcome == "third_party" else None
    return WORDS["report"](quoted(words) if words else "", left_out, bool(told.withheld or c.held_back), speaker)
