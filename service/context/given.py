"""What was given, in the order given: for a channel or a borrower that nothing is handed out to yet (DESIGN 9, API 10).

No word is changed, none is added and none is left out; only the provenance that was told stands beside each.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from service.context.assembling import Context
from service.context.blocks import Block, age, tokens_of
from service.context.bodies import ContextAsked
from service.written import Piece, Written
from statemachine.volatility import WRITERS, Volatility, Writer, turn_volatility

ORDER: Final = ("instructions", "readings", "conversation", "question")
"""As the contract lists them, for a body of which nobody says how it was ordered."""
BETWEEN: Final = "\n"


def given(asked: ContextAsked, now: datetime, fields: Sequence[str] = ORDER) -> Context:
    """`fields`: the members of the body in the order in which they were posted; others are passed over."""
    parts = {
        "instructions": [_block("instruction", i.source, i.text, Writer.INSTRUCTION, now) for i in asked.instructions],
        "readings": [
            _block(
                "reading", r.source, r.text, Writer.READING, now,
                subject=r.subject, turn_id=r.turn_id, at=r.observed_at, fresh=r.turn_id == asked.turn_id,
            )
            for r in asked.readings
        ],
        "conversation": [
            _block(
                "conversation", t.speaker, t.text, Writer.CONVERSATION, now,
                subject=str(place), at=t.observed_at or t.at,
                volatility=turn_volatility(t.tools) if t.tools else None,
            )
            for place, t in enumerate(asked.conversation)
        ],
        "question": [_block("question", "question", asked.question, Writer.QUESTION, now, turn_id=asked.turn_id)],
    }  # fmt: skip
    ordered = [name for name in dict.fromkeys((*fields, *ORDER)) if name in parts]
    blocks = tuple(block for name in ordered for block in parts[name])
    pieces: list[Piece] = []
    for block in blocks:
        if pieces:
            pieces.append(Piece(Writer.FRAME, BETWEEN))
        pieces.append(Piece(block.writer, block.text))
    return Context(blocks, (), Written(pieces))


def _block(
    kind: str,
    source: str,
    text: str,
    writer: Writer,
    now: datetime,
    *,
    subject: str | None = None,
    turn_id: str | None = None,
    at: datetime | None = None,
    fresh: bool = True,
    volatility: Volatility | None = None,
) -> Block:
    return Block(
        kind=kind,  # type: ignore[arg-type]
        source=source,
        subject=subject,
        turn_id=turn_id,
        observed_at=at,
        text=text,
        volatility=volatility or WRITERS[writer],
        writer=writer,
        age_s=age(at, now),
        fresh=fresh,
        tokens=tokens_of(text),
    )
