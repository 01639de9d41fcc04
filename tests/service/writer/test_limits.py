"""What a writer may have in hand, and when it stops instead of setting aside whatever comes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from service import records
from service.intake.log import Logged
from service.writer.batch import Batch, Item
from service.writer.limits import REFUSED_ENTRIES, WINDOW_ENTRIES, NearlyAllRefused, Refusals, Room, within
from statemachine.merge import merge
from tests.service.conftest import Where
from tests.service.embedded import TENANT, Embedded, embedded, pending, promise, stamped

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def logged(size: int = 10, offset: int = 0) -> Logged:
    return Logged(offset, TENANT, "B-1", f"e-{offset}", b"x" * size, NOON)


def batch(*faults: str | None, is_foreign: bool = False) -> Batch:
    return Batch([Item(logged(), None, fault=fault, is_foreign=is_foreign) for fault in faults])


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_whole_window_is_looked_at_before_a_partition_stops() -> None:
    refusals = Refusals()
    refusals.check(batch(*["bad"] * (WINDOW_ENTRIES - 1)))
    with pytest.raises(NearlyAllRefused, match="nothing of this batch was set aside"):
        refusals.check(batch(*["bad"] * WINDOW_ENTRIES))


def test_what_was_saved_before_counts_too() -> None:
    refusals = Refusals()
    refusals.saved(batch(*["bad"] * (WINDOW_ENTRIES - 1)))
    refusals.check(batch(None))
    with pytest.raises(NearlyAllRefused, match=f"of {WINDOW_ENTRIES} entries {WINDOW_ENTRIES} cannot be merged"):
        refusals.check(batch("bad"))


def test_some_that_can_be_merged_keep_the_line_going() -> None:
    sound = [None] * (WINDOW_ENTRIES - REFUSED_ENTRIES + 1)
    refusals = Refusals()
    for _ in range(5):
        one = batch(*["bad"] * (REFUSED_ENTRIES - 1), *sound)
        refusals.check(one)
        refusals.saved(one)


def test_what_others_wrote_stops_nobody() -> None:
    Refusals().check(batch(*["not ours"] * 3 * WINDOW_ENTRIES, is_foreign=True))


async def test_a_version_that_can_merge_nothing_stops_and_the_next_one_goes_on(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with embedded(where(), partitions=1) as service:
        await service.post(promise("c-0", borrower_id="B-0"))
        monkeypatch.setattr("service.writer.folding.merge", lambda *_: 1 // 0)
        monkeypatch.setattr("service.writer.folding.MERGE_BACKOFF_SECONDS", 0.0001)
        entries = [pending(stamped(promise(f"c-{n}"), f"B-{n}", service.now)) for n in range(1, WINDOW_ENTRIES + 50)]
        await service.log.append(entries)
        async with asyncio.timeout(30):
            while service.writers[0][0].health() == "ok":  # noqa: ASYNC110 (health is asked for, by readiness too)
                await asyncio.sleep(0.01)
        assert "stopped: of 100 entries" in service.writers[0][0].health()
        assert await set_aside(service) == 0
        assert (await service.look(records.unmerged, service.now))[0] == len(entries)
        await service.stop_writing()
        monkeypatch.setattr("service.writer.folding.merge", merge)
        service.write(owner="mended")
        await service.settled()
        assert [await service.version(f"B-{n}") for n in (1, len(entries))] == [1, 1]
        assert await set_aside(service) == 0


async def set_aside(service: Embedded) -> int:
    return len((await service.look(records.set_aside, None, 500, None)).items)


# -- what is in hand ---------------------------------------------------------------------------------------------------


def test_a_batch_ends_before_the_entry_that_would_make_it_too_large() -> None:
    entries = [logged(40, n) for n in range(5)]
    assert within(entries, 100) == entries[:2]
    assert within(entries, 1_000) == entries
    assert within(entries, 10) == entries[:1], "one that is larger than any batch is one by itself"
    assert within([], 10) == []


async def test_batches_wait_for_room_and_the_largest_has_it_alone() -> None:
    room = Room(100)
    most: list[int] = []

    async def work(size: int) -> None:
        async with room.of(size):
            most.append(room.taken)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(size) for size in (60, 60, 30, 500, 90, 10)))
    assert max(taken for taken in most if taken != 500) <= 100
    assert 500 in most
    assert room.taken == 0


async def test_whoever_stops_waiting_leaves_room() -> None:
    room = Room(100)
    async with room.of(100):
        waiting = asyncio.ensure_future(room.of(50).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    assert room.taken == 0
