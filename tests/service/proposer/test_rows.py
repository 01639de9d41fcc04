"""Wants and proposals as rows, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from service.proposer import rows
from service.proposer.rows import BESIDE_SECONDS, LEASE_SECONDS, PROPOSAL, WANTED, Answered, Claimed, Key
from tests.service.conftest import Where
from tests.service.embedded import NOON, TENANT, Embedded, embedded, promise

VOICE, CHAT = (Key(TENANT, "B-1", channel, "") for channel in ("voice", "whatsapp"))
OTHER = Key("other", "B-1", "voice", "")
SETTLE = timedelta(seconds=1)


@pytest.fixture
async def store(where: Where) -> AsyncIterator[Embedded]:
    async with embedded(where()) as opened:
        yield opened


async def written(store: Embedded, job: Any) -> Any:
    return await store.database.write(job)


async def claimed(store: Embedded, seconds: float = 1.0, most: int = 9) -> list[Claimed]:
    found: list[Claimed] = await written(store, lambda c: rows.claim(c, NOON + timedelta(seconds=seconds), most))
    return found


async def count(store: Embedded, table: Any) -> int:
    return int(await store.database.read(lambda c: c.execute(select(func.count()).select_from(table)).scalar_one()))


def answered(version: int = 1, **own: Any) -> Answered:
    given: dict[str, Any] = {
        "record_version": version, "flow_version": "f", "prompt_hash": "p", "model": "m", "proposed": "reminder", "failure": None,
        "why": None, "asked_at": NOON, "latency_ms": 250, "raw": b"sealed", "expires_at": NOON + timedelta(days=1),
    }  # fmt: skip
    return Answered(**given | own)


async def test_a_change_takes_the_place_of_what_was_wanted_and_proposed(store: Embedded) -> None:
    await store.post_to("B-1", promise())
    await written(store, lambda c: rows.want_changed(c, [VOICE, CHAT, OTHER], NOON, SETTLE))
    assert await claimed(store, seconds=0.5) == [], "it has not settled"
    first = await claimed(store)
    assert {one.key for one in first} == {VOICE, CHAT, OTHER}
    assert await claimed(store) == [], "they are in hand"
    (mine,) = [one for one in first if one.key == VOICE]
    assert await written(store, lambda c: rows.keep(c, mine, answered(), None))
    assert await count(store, PROPOSAL) == 1
    await written(store, lambda c: rows.want_changed(c, [VOICE, CHAT], NOON, SETTLE))
    assert await count(store, PROPOSAL) == 0
    late = await store.database.read(lambda c: rows.superseded(c, first))
    assert {one.key for one in late} == {VOICE, CHAT}, "the other tenant's goes on"
    assert {one.key for one in await claimed(store)} == {VOICE, CHAT}


async def test_an_answer_is_stored_only_of_the_record_as_it_is_and_by_whom_it_is_wanted(store: Embedded) -> None:
    await store.post_to("B-1", promise())
    await written(store, lambda c: rows.want_changed(c, [VOICE], NOON, SETTLE))
    (mine,) = await claimed(store)
    assert not await written(store, lambda c: rows.keep(c, mine, answered(version=2), None))
    await written(store, lambda c: rows.want_changed(c, [VOICE], NOON, SETTLE))
    assert not await written(store, lambda c: rows.keep(c, mine, answered(), None))
    (again,) = await claimed(store)
    assert await written(store, lambda c: rows.keep(c, again, answered(), None))
    assert (await count(store, PROPOSAL), await count(store, WANTED)) == (1, 0)
    found = await store.database.read(lambda c: rows.find(c, VOICE))
    assert found is not None
    assert (found.proposed, found.answered_at) == ("reminder", NOON + timedelta(seconds=0.25))
    assert await store.database.read(lambda c: rows.find_each(c, [VOICE, CHAT])) == {VOICE: found}


async def test_a_failure_is_stored_and_wanted_again_then(store: Embedded) -> None:
    await store.post_to("B-1", promise())
    await written(store, lambda c: rows.want(c, [VOICE], NOON))
    (mine,) = await claimed(store)
    failed = answered(proposed=None, failure="timeout", raw=None)
    assert await written(store, lambda c: rows.keep(c, mine, failed, NOON + timedelta(seconds=60)))
    assert await claimed(store, seconds=59) == []
    (later,) = await claimed(store, seconds=60)
    assert (later.tries, later.wanted) == (1, mine.wanted)


async def test_the_newest_is_taken_up_first_and_a_lease_runs_out(store: Embedded) -> None:
    for second, key in enumerate((VOICE, CHAT, OTHER)):
        await written(store, lambda c, k=key, s=second: rows.want(c, [k], NOON + timedelta(seconds=s)))
    assert [one.key for one in await claimed(store, seconds=3, most=2)] == [OTHER, CHAT]
    assert [one.key for one in await claimed(store, seconds=3, most=2)] == [VOICE]
    assert len(await claimed(store, seconds=3 + LEASE_SECONDS)) == 3


async def test_what_has_been_in_hand_for_a_while_is_taken_up_once_more_for_who_waits_and_no_more(
    store: Embedded,
) -> None:
    await written(store, lambda c: rows.want(c, [VOICE], NOON))
    (first,) = await claimed(store, seconds=0)
    for seconds, taken in ((BESIDE_SECONDS / 2, 0), (BESIDE_SECONDS * 2, 1), (BESIDE_SECONDS * 4, 0)):
        at = NOON + timedelta(seconds=seconds)
        await written(store, lambda c, at=at: rows.want(c, [VOICE, VOICE], at))
        assert [one.wanted for one in await claimed(store, seconds)] == [first.wanted] * taken


async def test_what_is_old_goes_and_what_is_forgotten_goes_with_its_wants(store: Embedded) -> None:
    await store.post_to("B-1", promise())
    await written(store, lambda c: rows.want(c, [VOICE, OTHER], NOON))
    mine = next(one for one in await claimed(store) if one.key == VOICE)
    await written(store, lambda c: rows.keep(c, mine, answered(), None))
    await written(store, lambda c: rows.want(c, [CHAT], NOON))
    assert await written(store, lambda c: rows.purge(c, NOON, NOON)) == 0
    assert await written(store, lambda c: rows.forget(c, TENANT, "B-1")) == 1
    assert (await count(store, PROPOSAL), await count(store, WANTED)) == (0, 1), "the other tenant's stays"
    assert await written(store, lambda c: rows.purge(c, NOON, NOON + timedelta(seconds=1))) == 1
