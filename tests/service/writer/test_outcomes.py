"""Who waits for an entry is told what became of it."""

from __future__ import annotations

import asyncio

import pytest

from service.intake.log import Position
from service.writer import Outcome, Outcomes


async def test_an_outcome_waits_for_whoever_asks_late_and_for_what_it_depends_on() -> None:
    outcomes = Outcomes()
    link, redirect, joined = Position(0, 1), Position(1, 7), Position(0, 2)

    def outcome(event_id: str) -> Outcome:
        return Outcome("merged", event_id, "B-1", 1)

    early = outcomes.expect(link)
    outcomes.tell(link, outcome("link"), after=redirect)
    outcomes.tell(redirect, outcome("redirect"), after=joined)
    await asyncio.sleep(0)
    assert not early.done()
    outcomes.tell(joined, outcome("joined"))
    assert (await early).event_id == "link"
    assert (await outcomes.expect(redirect)).event_id == "redirect"


async def test_whoever_stops_waiting_is_forgotten() -> None:
    outcomes = Outcomes()
    waiting = outcomes.expect(Position(0, 1))
    waiting.cancel()
    await asyncio.sleep(0)
    assert not outcomes._expected
    outcomes.tell(Position(0, 1), Outcome("merged", "e", "B", 1))
    assert (await outcomes.expect(Position(0, 1))).event_id == "e"


async def test_outcomes_nobody_asked_for_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.writer.outcomes.OUTCOMES_KEPT", 10)
    outcomes = Outcomes()
    for offset in range(25):
        outcomes.tell(Position(0, offset), Outcome("merged", f"e-{offset}", "B", 1))
    assert len(outcomes._told) == 10
    for offset in range(100, 125):
        outcomes.expect(Position(0, offset))
    assert len(outcomes._expected) == 10
