"""Whoever is alive and whatever fails, the records are the fold of the journal."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service import records, writer
from service.database import DatabaseUnavailable
from service.intake.log import Pending
from statemachine.stamps import Entry
from tests.service.conftest import Where
from tests.service.embedded import (
    TENANT,
    embedded,
    hours,
    linked,
    opened,
    pending,
    promise,
)
from tests.service.writer.conftest import (
    Stumbling,
    assert_records_are_the_fold_of_the_journal,
    statuses,
    trouble,
)
from tests.statemachine import histories


@given(
    stream=st.lists(histories.entries, min_size=1, max_size=25),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_repeated_rolled_back_or_restarted_the_records_are_the_fold_of_the_journal(
    tmp_path_factory: pytest.TempPathFactory, stream: list[Entry], seed: int
) -> None:
    chance = random.Random(seed)
    sent = [*stream, *chance.choices(stream, k=len(stream) // 2)]
    chance.shuffle(sent)

    async def run() -> None:
        async with embedded(tmp_path_factory.mktemp("stream") / "test.db", writing=False) as service:
            first: dict[str, bytes] = {}
            for part in (sent[: len(sent) // 2], sent[len(sent) // 2 :]):
                service.write(internal=Stumbling(service.log, _some_failures(chance)))
                items = [pending(_of_borrower(entry)) for entry in part]
                positions = [p for item in items for p in await service.log.append([item])]
                for item, outcome in zip(items, await service.told(positions), strict=True):
                    known = first.setdefault(item.event_id, item.value)
                    assert outcome.status in (
                        ("merged", "duplicate") if known == item.value else ("conflict", "duplicate")
                    )
                await service.stop_writing()
            sent_by_us = {row[0] for row in await service.journal("event_id") if not row[0].startswith(" ")}
            assert sent_by_us == set(first)
            await assert_records_are_the_fold_of_the_journal(service)

    asyncio.run(run())


def _of_borrower(entry: Entry) -> Entry:
    """One id, one borrower, however often it is sent."""
    borrower_id = f"B-{sum(entry.event_id.encode()) % 3}"
    return Entry(entry.body, entry.stamps.changed(borrower_id=borrower_id))


def _some_failures(chance: random.Random) -> Any:
    left = chance.randint(0, 3)

    def fails(_: Sequence[Pending]) -> Exception | None:
        nonlocal left
        if left and chance.random() < 0.5:
            left -= 1
            return DatabaseUnavailable("the world")
        return None

    return fails


async def test_a_batch_that_was_rolled_back_leaves_no_trace_and_is_merged_later(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        failing = True

        def fails(_: Sequence[Pending]) -> Exception | None:
            return DatabaseUnavailable("the world") if failing else None

        writing = service.write(internal=Stumbling(service.log, fails))
        positions = await service.append(promise(borrower_id="B-1"), linked("l-1"))
        waiting = asyncio.ensure_future(service.told(positions))
        await trouble(writing)
        assert await service.journal("event_id") == []
        assert await service.version("B-1") == 0
        assert await service.look(records.unmerged, service.now) == (2, 0.0), "and nothing was sent"
        failing = False
        assert statuses(await waiting) == ["merged", "merged"]
        await service.settled()
        assert writing.health() == "ok"
        await assert_records_are_the_fold_of_the_journal(service)


async def test_what_was_durable_and_not_merged_is_merged_after_a_restart(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        await service.append(promise(borrower_id="B-1"), promise("c-2", borrower_id="B-2"))
        assert await service.look(records.is_behind, "B-1")
        assert not await service.look(records.is_behind, "B-9")
    async with embedded(where()) as service:
        await service.settled()
        assert (await service.version("B-1"), await service.version("B-2")) == (1, 1)
        assert not await service.look(records.is_behind, "B-1")
        assert (await service.append(promise("c-3", borrower_id="B-1")))[0].offset >= 1


POSTS_UNTIL_KILLED = """
import asyncio, pathlib, sys
from tests.service.embedded import embedded, linked, promise

async def main():
    where = sys.argv[1] if "://" in sys.argv[1] else pathlib.Path(sys.argv[1])
    async with embedded(where) as service:
        async def post(number):
            for count in range(10_000):
                phone = f"+9190000000{count % 60:02}"
                bodies = [promise(f"c-{sys.argv[2]}-{number}-{count}", identifier={"kind": "phone", "value": phone})]
                if count % 7 == 3:
                    bodies.append(linked(f"l-{sys.argv[2]}-{number}-{count}", f"B-{count % 5}", phone))
                for outcome in await service.post(*bodies):
                    print("told", outcome.event_id, outcome.status, flush=True)
        await asyncio.gather(*(post(number) for number in range(8)))

asyncio.run(main())
"""


@pytest.mark.process
async def test_after_a_kill_everything_that_was_answered_is_there_once(where: Where) -> None:
    """Three lives of one database, each ended at some moment of its work."""
    path = where()
    told: list[str] = []
    for life in range(3):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", POSTS_UNTIL_KILLED, str(path), str(life), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        while len(told) < 40 * (life + 1) + 3 * life:
            line = (await process.stdout.readline()).decode().split()
            assert line, "it ended by itself"
            if line[0] == "told":
                assert line[2] == "merged"
                told.append(line[1])
        process.kill()
        await process.wait()
    async with embedded(path) as service:
        await service.settled()
        journalled = [row[0] for row in await service.journal("event_id")]
        assert set(told) <= set(journalled)
        assert len(journalled) == len(set(journalled))
        await assert_records_are_the_fold_of_the_journal(service)
        if isinstance(path, Path):
            quick = await service.database.read(lambda c: c.exec_driver_sql("PRAGMA integrity_check").scalar())
            assert quick == "ok"


async def test_the_cache_makes_no_difference(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "CACHE_BYTES", 1)
    async with embedded(where()) as service:
        for n in range(12):
            await service.post(promise(f"c-{n}", hours(n), borrower_id=f"B-{n % 3}"), opened(f"o-{n}", f"B-{n % 3}"))
        await assert_records_are_the_fold_of_the_journal(service)


async def test_whoever_goes_on_from_a_saved_record_is_told(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        told: list[writer.Saved] = []
        service.write(saved=told.extend)
        await service.post(promise(borrower_id="B-1"))
        [saved] = told
        assert (saved.tenant, saved.borrower_id, saved.version) == (TENANT, "B-1", 1)
        assert saved.state.cycle_of(None).rung == "proposed"
        assert saved.record.to_bytes() == (await service.record("B-1")).to_bytes()
