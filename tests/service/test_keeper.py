"""Who keeps copies of records a moment after they are saved: what comes to one copy, what is given up, and how long it rests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from service.database import DatabaseUnavailable
from service.keeper import Keeper
from service.writer import Saved
from statemachine.record import Record
from statemachine.state import BorrowerState, derive
from tests.limits import PATIENCE_SECONDS
from tests.service.embedded import NOON, POLICIES, TENANT, embedded


def saved(borrower: str, version: int = 1) -> Saved:
    record = Record.new(borrower)
    state = derive(record, NOON, POLICIES.for_tenant(TENANT))
    return Saved(TENANT, borrower, version, record, state)


@dataclass
class Names:
    """A kind of copy that tells what it was asked to keep."""

    name: str = "names"
    moment_seconds: float = 0.0
    rest: float = 0.0
    waiting_limit: int = 100
    at_once: int = 2
    work_seconds: float = 0.0
    failing: Sequence[Exception] = ()
    """One for each of the next transactions."""
    kept: list[list[str]] = field(default_factory=list)

    def of(self, tenant: str, version: int, state: BorrowerState) -> str:
        if state.borrower_id == "B-bad":
            raise ValueError
        end = time.perf_counter() + self.work_seconds
        while time.perf_counter() < end:
            pass
        return f"{state.borrower_id}:{version}"

    def keep(self, connection: Connection, copies: Sequence[str]) -> None:
        self.kept.append(list(copies))
        if self.failing:
            failed, *self.failing = self.failing
            raise failed


async def test_several_saves_of_one_record_come_to_one_copy(tmp_path: Path) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        keeper = Keeper(e.database, names := Names())
        keeper.saved([saved("B-1"), saved("B-2"), saved("B-3")])
        keeper.saved([saved("B-1", 2)])
        await keeper.flush()
        assert names.kept == [["B-2:1", "B-3:1"], ["B-1:2"]]


async def test_of_too_many_the_oldest_are_given_up(tmp_path: Path) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        keeper = Keeper(e.database, names := Names(waiting_limit=2))
        keeper.saved([saved(f"B-{number}") for number in range(5)])
        await keeper.flush()
        assert names.kept == [["B-3:1", "B-4:1"]]


@pytest.mark.parametrize("failure", [DatabaseUnavailable(), IntegrityError("", None, Exception())])
async def test_what_cannot_be_made_or_stored_costs_the_others_nothing(tmp_path: Path, failure: Exception) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        keeper = Keeper(e.database, names := Names(failing=[failure]))
        keeper.saved([saved("B-bad"), saved("B-1"), saved("B-2")])
        await keeper.flush()
        assert names.kept == [["B-1:1"], ["B-2:1"]]


async def test_it_rests_after_its_work_and_a_flush_does_not(tmp_path: Path) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        keeper = Keeper(e.database, names := Names(work_seconds=0.001, rest=100_000.0))
        keeper.saved([saved(f"B-{number}") for number in range(5)])
        for _ in range(50):
            await asyncio.sleep(0)
            await e.database.write(lambda c: None)
        assert names.kept == [["B-0:1", "B-1:1"]]
        async with asyncio.timeout(PATIENCE_SECONDS):
            await keeper.flush()
        assert len(names.kept) == 3
