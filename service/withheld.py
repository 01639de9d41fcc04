"""A person withholds one text of a borrower's from every reader, or lets it be told again (DESIGN 11, 16).

It is an entry (`text.withheld`) that goes through the log to the borrower's single writer, as a forget request does, and stands
in the record: so every reader has it at the record's next version, what was proposed before it dies, and a rebuild has it too.

    1 append   the entry, with who and why
    2 note     the audit line, once the entry is durable; it holds no word of the text and none of the reason
    3 wait     until it is merged: whoever asked may rely on it then

What readers leave out because of it is decided in `statemachine.withholding`, and which text it is by whoever asks.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from service import audit
from service.errors import FieldError, InvalidBody, NotYetMerged
from service.intake import envelope
from statemachine.stamps import Entry, Stamps, TextWithheld
from statemachine.words import folded

if TYPE_CHECKING:
    from service.wiring import Parts

ID_PREFIX: Final = " withheld:"
"""Begins with a blank, which no posted id may."""
TEXT_CHARACTERS: Final = 2_000
"""A longer sentence is none."""
WAIT_SECONDS: Final = 5.0


class _Kept(NotYetMerged):
    sentence = "it is kept and not merged yet: it holds from when it is"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is asked. `name` is made before it is asked, so that asking twice does it once; `after`: what it must outlast."""

    name: str
    borrower_id: str
    text: str
    why: str
    shown: bool
    time_zone: str
    after: datetime | None = None


async def judge(parts: Parts, tenant: str, by: str, asked: Judgement) -> None:
    """Raises `InvalidBody` for a text without a word, `Unavailable`, `DatabaseUnavailable`, `NotYetMerged`."""
    if not folded(asked.text) or len(asked.text) > TEXT_CHARACTERS:
        raise InvalidBody([FieldError("sentence", "too_long" if folded(asked.text) else "missing")])
    now = parts.clock()
    at = max(now, asked.after + timedelta(microseconds=1)) if asked.after is not None else now
    body = TextWithheld(
        by=by,
        event_id=f"{ID_PREFIX}{asked.name}",
        sentence=asked.text,
        shown=asked.shown,
        type="text.withheld",
        why=asked.why,
    )
    stamps = Stamps(
        borrower_id=asked.borrower_id, digest="", effective_at=at, received_at=now, time_zone=asked.time_zone
    )
    entry = Entry(body, stamps.changed(digest=envelope.entry_digest(body, stamps, parts.keyed_hash)))
    waits = await parts.append([(tenant, entry)])  # 1
    line = audit.Line(
        tenant, now, by, "text_shown_again" if asked.shown else "text_withheld", asked.borrower_id, asked.name
    )
    await parts.database.write(lambda conn: audit.add(conn, line))  # 2
    done = asyncio.gather(*waits)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(done), WAIT_SECONDS)  # 3
    if not done.done():
        raise _Kept
