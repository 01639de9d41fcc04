"""The index to search with as it is stored, on both databases: what changed is written, and what moved on is left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from service.keeper import Keeper
from service.recall import index
from tests.service.conftest import Where
from tests.service.embedded import PHONE, SECRETS, TENANT, Embedded, embedded, hours, linked, summary


@pytest.fixture
async def e(where: Where) -> AsyncIterator[Embedded]:
    async with embedded(where()) as opened:
        yield opened


def words(*terms: str) -> list[bytes]:
    return index.hashes(terms, TENANT, SECRETS.keyed_hash)


async def keep(e: Embedded, borrower: str, version: int, *terms: str) -> bool:
    return await e.database.write(lambda c: index.keep(c, TENANT, borrower, version, words(*terms)))


async def having(e: Embedded, *terms: str) -> list[str]:
    def look(c: Connection) -> list[str]:
        return index.having(c, TENANT, index.weights(*index.counts(c, TENANT, words(*terms))), 10)

    return await e.database.read(look)


def stored(connection: Connection) -> list[Any]:
    return list(connection.execute(select(index.WORD.c.word)).scalars())


async def test_what_changed_is_changed_and_whoever_has_most_comes_first(e: Embedded) -> None:
    for borrower in ("B-1", "B-2"):
        await e.post_to(borrower, summary(f"c-{borrower}"))
    assert await keep(e, "B-1", 1, "salary", "mother", "evening")
    assert await keep(e, "B-2", 1, "salary", "evening")
    assert await having(e, "salary", "mother") == ["B-1", "B-2"]
    assert await e.database.read(lambda c: index.behind(c, 10)) == []
    await e.post_to("B-1", summary("c-2", at=hours(1)))
    assert await e.database.read(lambda c: index.behind(c, 10)) == [(TENANT, "B-1")]
    assert await keep(e, "B-1", 2, "salary", "evening", "aunt")
    assert await having(e, "mother") == []
    assert await having(e, "aunt", "evening") == ["B-1", "B-2"]
    assert len(await e.database.read(stored)) == 5


async def test_a_rare_word_tells_more_than_two_that_everybody_has(e: Embedded) -> None:
    for number in range(6):
        await e.post_to(f"B-{number}", summary(f"c-{number}"))
        await keep(e, f"B-{number}", 1, *(("martha",) if number == 5 else ("salary", "evening")))
    assert (await having(e, "salary", "evening", "martha"))[0] == "B-5"
    assert (await having(e, "salary", "evening", "unheard"))[0] == "B-0"


async def test_of_a_record_that_moved_on_nothing_is_changed(e: Embedded) -> None:
    await e.post_to("B-1", summary())
    assert not await keep(e, "B-1", 7, "salary")
    assert not await keep(e, "B-none", 1, "salary")
    assert await e.database.read(stored) == []


async def test_a_provisional_borrower_who_turned_out_to_be_somebody_is_not_behind(e: Embedded) -> None:
    """What was told of them is found under the one they are."""
    await e.post(summary(identifier={"kind": "phone", "value": PHONE}))
    ((_, provisional),) = await e.database.read(lambda c: index.behind(c, 10))
    assert provisional.startswith("~phone:")
    await e.post(linked("l-1", "B-1"))
    await e.settled()
    assert await e.database.read(lambda c: index.behind(c, 10)) == [(TENANT, "B-1")]


async def test_what_is_dropped_leaves_no_word(e: Embedded) -> None:
    for borrower in ("B-1", "B-2"):
        await e.post_to(borrower, summary(f"c-{borrower}"))
        await keep(e, borrower, 1, "salary", borrower)
    await e.database.write(lambda c: index.drop(c, TENANT, "B-1"))
    await e.database.write(lambda c: index.drop(c, TENANT, "B-none"))
    assert sorted(await e.database.read(stored)) == words("salary", "B-2")
    assert await e.database.read(lambda c: index.behind(c, 10)) == [(TENANT, "B-1")]


async def test_what_is_saved_is_found_a_moment_later(tmp_path: Path) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        keeper = Keeper(e.database, index.IndexedWords(SECRETS.keyed_hash))
        e.write(saved=keeper.saved)
        await e.post_to("B-1", summary(summary="Her mother lives with her."), summary("c-2", at=hours(1)))
        await keeper.flush()
        assert await having(e, "mother") == ["B-1"]
        assert await e.database.read(lambda c: index.behind(c, 10)) == []
