"""The step just taken, in a sentence or two, so that a middle state can be entered cold (API 6). It must not know the flow."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from service.narrative.prose import end_of, judged, last_sentences
from service.narrative.structure import stands_in, unrecorded
from service.narrative.values import CLOCK, on_one_line, quoted, read_at
from service.narrative.wording import STEP
from statemachine.conclusions import Conversation, Cycle
from statemachine.state import BorrowerState

STEP_QUOTE_CHARACTERS: Final = 160
STEP_PROSE_CHARACTERS: Final = 240


def previous_step(state: BorrowerState, cycle: Cycle, *, now: datetime | None) -> str:
    """The step just taken in this cycle, in a sentence or two; never empty (API 6).

    `now`: None leaves `CLOCK` where the reader's clock goes, for a text that is kept; `told_at` puts it in.

    The first that there is: the promise in force, a payment, a broken promise, the last conversation with the borrower, a
    message of ours, an attempt.
    """
    zone = ZoneInfo(state.time_zone)
    if cycle.promise is not None:
        return STEP["promise"](cycle.promise, cycle, now, zone, STEP_QUOTE_CHARACTERS)
    if cycle.payment_confirmed.evidence is not None:
        return STEP["payment"](cycle.payment_confirmed.evidence.at, cycle, now, zone)
    if cycle.is_over:
        return STEP["over"](cycle)
    last = next((c for c in reversed(state.conversations) if c.contact and stands_in(c, state, cycle)), None)
    broken = next((p for p in reversed(cycle.history) if p.outcome == "broken"), None)
    if broken is not None and (last is None or last.at <= cycle.broken_at[-1]):
        return STEP["broken"](broken, cycle.broken_at[-1] if len(cycle.broken_at) == 1 else None, cycle, zone)
    if last is not None:
        return STEP["conversation"](last, _last_words(last, cycle), zone)
    for flag, is_link in ((cycle.payment_link_shared, True), (cycle.reminded, False)):
        if flag.evidence is not None:
            return STEP["message"](flag.evidence, zone, is_link)
    attempt = next((c for c in reversed(state.conversations) if stands_in(c, state, cycle)), None)
    if attempt is not None:
        return STEP["attempt"](attempt, zone)
    before = next((c for c in reversed(state.conversations) if c.contact), None)
    return STEP["nothing"](before, zone)


def told_at(text: str, now: datetime, time_zone: str) -> str:
    """A kept text as it reads now: an amount that came in is told with the reader's clock (DESIGN 11)."""
    return text.replace(CLOCK, read_at(now, ZoneInfo(time_zone))) if CLOCK in text else text


def _last_words(c: Conversation, cycle: Cycle) -> str:
    """The end of a report as a quotation, for a step just taken; empty when nothing of it may be shown, its last sentence is
    too long, or it tells of a message of which there is no record."""
    if not c.prose or unrecorded((c,), cycle):
        return ""
    told = judged(end_of(c.prose), c.amounts)
    words = last_sentences(on_one_line(told.text), STEP_PROSE_CHARACTERS)
    return quoted(words) if words else ""
