"""Thousands of interleavings of the real writer, outbox and intake in seconds; the same seed always leads to the same one.

`TEST_SIMULATION_SEEDS=a..b` runs other seeds than the few of every day, one alone with `a..a`. What a seed finds wrong is
told with it. Mutants of the writer have to be caught within a budget of seeds: that is the proof that it can fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from service import records
from service.intake.kafka_intake import KafkaIntake
from service.intake.log import LogUnavailable, Pending, Position
from service.records import JOURNAL
from service.tables import WriterPartition, table_of
from service.writer import Fence, Writer
from service.writer.fence import entry_mark
from tests.conftest import FIGURES
from tests.service.simulation.fleet import simulate

NAMED = "TEST_SIMULATION_SEEDS"
EVERY_DAY = range(12)
WHILE_WORKING = range(3)
"""They prove less than those of every day: not that all there is was seen."""
MUTANTS_FROM_SEED = 13
BUDGET_SEEDS = 40
"""Within so many a mutant has to be caught."""
RARE = {
    "rolled back", "commit failed", "answer to a commit lost", "commit_was_in", "fence_lost", "evicted and not told",
    "frozen", "killed", "stopped in order", "database down", "Kafka down", "API killed", "send failed and arrived later",
    "delivered twice", "answer to a send lost", "kafka_takes_nothing", "503", "database slow",
}  # fmt: skip
"""What every run has to have seen: of what never happened nothing is proved."""


def _seeds() -> range:
    told = os.environ.get(NAMED)
    if not told:
        return EVERY_DAY if os.environ.get("CI") else WHILE_WORKING
    first, _, last = told.partition("..")
    return range(int(first), int(last or first) + 1)


def test_whatever_breaks_what_was_answered_is_merged_once(record_property: Callable[[str, object], None]) -> None:
    seen: Counter[str] = Counter()
    entries = steps = 0
    for seed in _seeds():
        run = simulate(seed)
        assert not run.faults, f"seed {seed} (alone: {NAMED}={seed}..{seed}): {run.faults[:5]} after {dict(run.seen)}"
        seen += run.seen
        entries += run.entries
        steps += run.steps
    record_property(FIGURES, {"seeds": len(_seeds()), "entries": entries, "steps": steps} | {n: seen[n] for n in RARE})
    if len(_seeds()) >= len(EVERY_DAY):
        assert not RARE - seen.keys(), "these never happened"


@pytest.mark.process
def test_a_seed_takes_the_same_steps_again_also_in_another_process() -> None:
    run = simulate(3)
    again = simulate(3)
    assert (again.trace, again.steps, again.seen) == (run.trace, run.steps, run.seen)
    assert simulate(4).trace != run.trace
    code = "from tests.service.simulation.fleet import simulate; print(simulate(3).trace)"
    env = os.environ | {"PYTHONHASHSEED": "11"}
    other = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=60
    )
    assert int(other.stdout.splitlines()[-1]) == run.trace


# -- mutants -----------------------------------------------------------------------------------------------------------

Patch = Callable[[Any, str, Any], None]


def _has_no_fence(patch: Patch) -> None:
    """Saves whoever owns the partition now."""

    def unfenced(self: Fence, connection: Connection, to: int, last_entry: str) -> None:
        rows = table_of(WriterPartition)
        where = rows.c.log == self.log, rows.c.partition == self.partition
        connection.execute(update(rows).where(*where).values(next_offset=to, last_entry=last_entry))

    patch(Fence, "advance", unfenced)


def _moves_the_position_before_it_saves(patch: Patch) -> None:
    save, advance = Writer._save, Fence.advance

    async def position_first(self: Writer, fence: Fence, batch: Any) -> Any:
        last = entry_mark(batch.items[-1].logged)
        await self._database.write(lambda c: advance(fence, c, batch.end, last))
        return await save(self, fence, batch)

    patch(Writer, "_save", position_first)
    patch(Fence, "advance", _nothing)


def _moves_the_position_after_it_saved(patch: Patch) -> None:
    save, advance = Writer._save, Fence.advance

    async def position_last(self: Writer, fence: Fence, batch: Any) -> Any:
        before = Fence(fence.log, fence.partition, fence.epoch, fence.next_offset, fence.last_entry)
        sent = await save(self, fence, batch)
        await self._database.write(lambda c: advance(before, c, batch.end, str(fence.last_entry)))
        return sent

    patch(Writer, "_save", position_last)
    patch(Fence, "advance", _nothing)


def _nothing(*_: Any) -> None:
    return None


def _knows_nothing_of_what_is_merged(patch: Patch) -> None:
    """Every delivery is an entry; what is in the journal already stays as it is there."""
    add = records.add_to_journal

    def added(connection: Connection, rows: Sequence[Any]) -> None:
        there = set(connection.execute(select(JOURNAL.c.event_id)).scalars())
        fresh = {row["event_id"]: row for row in reversed(rows) if row["event_id"] not in there}
        add(connection, list(fresh.values()))

    patch(records, "merged_entries", lambda *_: {})
    patch(records, "add_to_journal", added)


def _answers_for_what_nobody_took(patch: Patch) -> None:
    make_durable = KafkaIntake.make_durable

    async def careless(self: KafkaIntake, items: Sequence[Pending]) -> list[Position]:
        try:
            return await make_durable(self, items)
        except LogUnavailable:
            return [Position(0, -1) for _ in items]

    patch(KafkaIntake, "make_durable", careless)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "mutation",
    [
        _has_no_fence,
        _moves_the_position_before_it_saves,
        _moves_the_position_after_it_saved,
        _knows_nothing_of_what_is_merged,
        _answers_for_what_nobody_took,
    ],
    ids=lambda mutation: mutation.__name__.strip("_"),
)
def test_a_writer_is_caught_that(
    mutation: Callable[[Patch], None],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    mutation(monkeypatch.setattr)
    for tried, seed in enumerate(range(MUTANTS_FROM_SEED, MUTANTS_FROM_SEED + BUDGET_SEEDS), 1):
        faults = simulate(seed).faults
        if faults:
            record_property(FIGURES, {"caught by seed": seed, "tried": tried, "first": faults[0]})
            return
    pytest.fail(f"not caught within {BUDGET_SEEDS} seeds")
