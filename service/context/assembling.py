"""One turn's prompt: what stands in it, in which order, and what is left out when there is no room (DESIGN 10, API 10).

    1 instructions   as they were given
    2 the memory     what holds whatever the time (`standing`), between its tags
    3 conversation   what was said, without what was true only when it was read (`turns`)
    4 readings       those of this turn (`readings`)
    5 the question   last, and never left out

The first two are the same, byte for byte, while the record's version stands. So what the memory may take is decided by the budget
and by itself alone: at most half of it, as long as question, instructions and readings leave that much.

There is room first for the question, then for instructions, this turn's readings, the memory, and of the conversation for the
newest turns. Tokens are counted as `blocks.tokens_of` does, the words around the parts included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from channels.summarise.told import LABELS
from service.context.blocks import Block, Dropped, Reason, age, tokens_of
from service.context.bodies import BUDGET_TOKENS, ContextAsked, Instruction, Reading
from service.context.readings import kept_readings
from service.context.standing import Standing
from service.context.turns import Seen
from service.narrative import TEMPLATES, on_one_line
from service.written import Piece, Written, rendered, written
from statemachine.volatility import Volatility, Writer

MEMORY_TOKENS: Final = 3_000
"""Of the memory in one prompt; the rest is named as left out."""
BETWEEN: Final = "\n\n"
LINE_TOKENS: Final = 4
"""Of the signs around one line: its dash, label or brackets."""
STRANGER: Final = "SOMEBODY ELSE"


@dataclass(frozen=True, slots=True)
class Context:
    """The answer's own part; `text` is the whole prompt."""

    blocks: tuple[Block, ...]
    dropped: tuple[Dropped, ...]
    text: Written


@dataclass(frozen=True, slots=True)
class Memory:
    """What was read for this turn: what holds, the turns as they may be seen, and the zone that times are told in."""

    standing: Sequence[Standing]
    turns: Sequence[Seen]
    dropped: Sequence[Dropped]
    zone: str


def assembled(asked: ContextAsked, memory: Memory, now: datetime) -> Context:
    """The prompt of one turn. `now`: aware, the reader's clock."""
    own, stale = kept_readings(asked.readings, asked.turn_id)
    room = _Room(asked.token_budget or BUDGET_TOKENS)
    room.take(asked.question)
    instructions = [i for i in asked.instructions if i.text.strip() and room.fits(i.text)]
    newest_first = sorted(own, key=lambda reading: reading.observed_at or now, reverse=True)
    fitting = [r for r in newest_first if room.fits(_label(r) + r.text, frame="readings")]
    share = min(room.all // 2, room.left, MEMORY_TOKENS)
    shelf = _Room(share)
    standing = [s for s in memory.standing if shelf.fits(s.text, frame="memory")]
    room.left -= share - shelf.left
    turns = _newest(memory.turns, room)
    taken = {id(each) for each in (*instructions, *fitting, *standing)}
    readings = [r for r in own if id(r) in taken]
    dropped = (
        *_empty(asked.instructions),
        *(_left(i.source, None, "over_budget") for i in asked.instructions if i.text.strip() and id(i) not in taken),
        *stale,
        *(Dropped(r.source, r.subject, r.turn_id, "over_budget") for r in own if id(r) not in taken),
        *(_left(s.source, s.subject, "over_budget") for s in memory.standing if id(s) not in taken),
        *memory.dropped,
        *(_left(t.speaker, str(t.place), "over_budget") for t in memory.turns[: len(memory.turns) - len(turns)]),
    )
    blocks = (
        *(_block("instruction", i.source, i.text, Writer.INSTRUCTION, Volatility.STABLE, now) for i in instructions),
        *(_of_memory(s, now) for s in standing),
        *(_of_turn(t, now) for t in turns),
        *(_of_reading(r, now) for r in readings),
        _block("question", "question", asked.question, Writer.QUESTION, Volatility.EVENT, now, turn_id=asked.turn_id),
    )
    return Context(blocks, dropped, _text(instructions, standing, turns, readings, asked.question, memory.zone))


# -- room ----------------------------------------------------------------------------------------------------------------


class _Room:
    """So many tokens, and how many are left; the words around a part are paid for by its first line."""

    def __init__(self, tokens: int) -> None:
        self.all = self.left = tokens
        self._framed: set[str] = set()

    def take(self, text: str) -> None:
        """Whether there is room for it or not."""
        self.left = max(0, self.left - _cost(text))

    def fits(self, text: str, frame: str | None = None) -> bool:
        """Takes it if there is room."""
        cost = _cost(text)
        if frame is not None and frame not in self._framed:
            cost += _frame_tokens(frame)
        if cost > self.left:
            return False
        self.left -= cost
        if frame is not None:
            self._framed.add(frame)
        return True


def _cost(text: str) -> int:
    return tokens_of(text) + LINE_TOKENS


@lru_cache
def _frame_tokens(part: str) -> int:
    return tokens_of(BETWEEN + _parts()[part]([]))


def _newest(turns: Sequence[Seen], room: _Room) -> Sequence[Seen]:
    """The last turns that fit: of a conversation with a hole in it nobody can say what answered what."""
    start = len(turns)
    while start and room.fits(_speaker(turns[start - 1]) + turns[start - 1].text, frame="conversation"):
        start -= 1
    return turns[start:]


# -- blocks --------------------------------------------------------------------------------------------------------------


def _block(
    kind: str,
    source: str,
    text: str,
    writer: Writer,
    volatility: Volatility,
    now: datetime,
    *,
    subject: str | None = None,
    turn_id: str | None = None,
    at: datetime | None = None,
    fresh: bool = True,
) -> Block:
    return Block(
        kind=kind,  # type: ignore[arg-type]
        source=source,
        subject=subject,
        turn_id=turn_id,
        observed_at=at,
        text=text,
        volatility=volatility,
        writer=writer,
        age_s=age(at, now),
        fresh=fresh,
        tokens=tokens_of(text),
    )


def _of_memory(s: Standing, now: datetime) -> Block:
    return _block("fact", s.source, s.text, s.writer, s.volatility, now, subject=s.subject, at=s.at)


def _of_turn(t: Seen, now: datetime) -> Block:
    fresh = t.volatility is not Volatility.LIVE
    place = str(t.place)
    return _block("conversation", t.speaker, t.text, t.writer, t.volatility, now, subject=place, at=t.at, fresh=fresh)


def _of_reading(r: Reading, now: datetime) -> Block:
    return _block(
        "reading", r.source, r.text, Writer.READING, Volatility.LIVE, now,
        subject=r.subject, turn_id=r.turn_id, at=r.observed_at,
    )  # fmt: skip


def _left(source: str, subject: str | None, reason: Reason) -> Dropped:
    return Dropped(source, subject, None, reason)


def _empty(instructions: Sequence[Instruction]) -> list[Dropped]:
    return [_left(i.source, None, "empty") for i in instructions if not i.text.strip()]


# -- the text ------------------------------------------------------------------------------------------------------------


def _text(
    instructions: Sequence[Instruction],
    standing: Sequence[Standing],
    turns: Sequence[Seen],
    readings: Sequence[Reading],
    question: str,
    zone: str,
) -> Written:
    parts = [written(Writer.INSTRUCTION, i.text) for i in instructions]
    macros = _parts()
    if standing:
        lines = [written(s.writer, _line(s.text)) for s in standing]
        parts.append(rendered(Writer.FRAME, macros["memory"], lines))
    if turns:
        told = [[_speaker(t), written(t.writer, _line(t.text))] for t in turns]
        parts.append(rendered(Writer.FRAME, macros["conversation"], told))
    if readings:
        read = [
            [
                written(Writer.READING, _line(part)) if part else ""
                for part in (r.source, r.subject, _moment(r, zone), r.text)
            ]
            for r in readings
        ]
        parts.append(rendered(Writer.FRAME, macros["readings"], read))
    parts.append(written(Writer.QUESTION, _untagged(question)))
    pieces: list[Piece] = []
    for part in parts:
        if pieces:
            pieces.append(Piece(Writer.FRAME, BETWEEN))
        pieces.extend(part.pieces)
    return Written(pieces)


_TAG: Final = re.compile(r"<(?=\s*/?\s*borrower-memory)", re.IGNORECASE)


def _untagged(text: str) -> str:
    """Nobody but us opens or ends the memory."""
    return _TAG.sub("‹", text) if "<" in text else text


def _line(text: str) -> str:
    return on_one_line(_untagged(text))


def _speaker(turn: Seen) -> str:
    return LABELS.get(turn.speaker, STRANGER)


def _label(reading: Reading) -> str:
    """As much as stands before a reading's text."""
    return f"{reading.source}, {reading.subject or ''} (as of 00:00 on 00 September 0000): "


def _moment(reading: Reading, zone: str) -> str | None:
    if reading.observed_at is None:
        return None
    at = reading.observed_at.astimezone(ZoneInfo(zone))
    return f"{at:%H:%M} on {at.day} {at:%B %Y}"


@lru_cache
def _parts() -> dict[str, Callable[..., str]]:
    # Plain text: nothing is escaped, and a name that the template uses and nobody gives is an error.
    words = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return dict(vars(words.get_template("context.txt.j2").module))
