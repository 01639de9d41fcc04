"""Counts of the room: kept in proportion to what they cost, made by one at a time, and no outage hidden behind an old one."""

from __future__ import annotations

import asyncio

import pytest

from service.pages.counts import OLD_SECONDS, REST, REST_LIMIT_SECONDS, Counts


class Counting:
    """Counts of one name, on a clock of its own; each takes `took` seconds of it and says how many were made."""

    def __init__(self, took: float) -> None:
        self.now, self.took, self.made, self.fault = 0.0, took, 0, False
        self.counts = Counts[int](lambda: self.now)

    async def make(self) -> int:
        await asyncio.sleep(0)
        self.now += self.took
        self.made += 1
        if self.fault:
            raise ConnectionError("the database is away")
        return self.made

    async def asked(self) -> int:
        return await self.counts.of("stages", self.make)

    async def settled(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.mark.parametrize(("took", "kept"), [(0.01, 0.01 * REST), (100.0, REST_LIMIT_SECONDS)])
async def test_a_count_is_kept_in_proportion_to_what_it_cost_and_at_most_a_minute(took: float, kept: float) -> None:
    counting = Counting(took)
    assert await counting.asked() == 1
    counting.now += kept * 0.99
    assert await counting.asked() == 1
    counting.now += kept * 0.02
    await counting.asked()
    await counting.settled()
    assert counting.made == 2


async def test_whoever_asks_while_it_is_made_waits_for_the_same() -> None:
    counting = Counting(0.01)
    assert await asyncio.gather(*(counting.asked() for _ in range(5))) == [1] * 5


async def test_nobody_waits_for_a_slow_count_while_there_is_one_that_is_not_too_old() -> None:
    counting = Counting(5.0)
    assert await counting.asked() == 1
    counting.now += REST_LIMIT_SECONDS + 1
    assert await counting.asked() == 1, "told at once, and made anew meanwhile"
    await counting.settled()
    assert await counting.asked() == 2
    counting.now += OLD_SECONDS + 1
    assert await counting.asked() == 3, "too old to be told"


async def test_an_outage_is_told_and_not_hidden_behind_what_was_counted_before_it() -> None:
    counting = Counting(5.0)
    assert await counting.asked() == 1
    counting.now += REST_LIMIT_SECONDS + 1
    counting.fault = True
    await counting.asked()
    await counting.settled()
    with pytest.raises(ConnectionError):
        await counting.asked()
    counting.fault = False
    assert await counting.asked() == 4
