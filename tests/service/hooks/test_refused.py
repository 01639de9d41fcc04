"""Refused signatures are counted by hook and reason, in few writes whatever comes, and nothing of what was refused is kept."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from service.database import DatabaseUnavailable, Job, Store
from service.hooks.refused import SLOT_MINUTES, WRITTEN_EVERY_SECONDS, Refusals, purge, refused
from tests.service.conftest import Where
from tests.service.embedded import open_store
from tests.service.hooks.posting import posting
from tests.vendors import signed

T = TypeVar("T")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SLOT = timedelta(minutes=SLOT_MINUTES)


class Counting:
    """A store whose writes are counted, and which is away when told to be."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.writes = 0
        self.is_away = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def write(self, job: Job[T]) -> T:
        if self.is_away:
            raise DatabaseUnavailable("away")
        self.writes += 1
        return await self._store.write(job)


async def test_a_thousand_refusals_are_one_write_and_counted_to_the_last(where: Where) -> None:
    store = Counting(await open_store(where()))
    at = 0.0
    refusals = Refusals(store, monotonic=lambda: at)
    try:
        for _ in range(3):
            for number in range(1_000):
                refusals.note("acme", "h_1", "wrong" if number % 4 else "stale", NOON + timedelta(milliseconds=number))
                await refusals.write()
            at += WRITTEN_EVERY_SECONDS
        await refusals.write()
        assert store.writes == 4, "the first at once, and one for each time that passed"
        told = (await store.read(lambda conn: refused(conn, "acme", NOON)))["h_1"]
        assert (told.count, told.by_why) == (3_000, {"wrong": 2_250, "stale": 750})
        assert told.last_at == NOON + timedelta(milliseconds=999)
    finally:
        await store.close()


async def test_refusals_are_of_a_tenant_and_a_hook_and_since_some_time(where: Where) -> None:
    store = await open_store(where())
    refusals = Refusals(store)
    try:
        for tenant, hook, at in (
            ("acme", "h_1", NOON - SLOT),
            ("acme", "h_1", NOON + SLOT / 2),
            ("acme", "h_2", NOON + 3 * SLOT),
            ("other", "h_3", NOON),
        ):
            refusals.note(tenant, hook, "missing", at)
        await refusals.write(at_once=True)
        await refusals.write(at_once=True)

        async def counts(tenant: str, since: datetime) -> dict[str, int]:
            found = await store.read(lambda conn: refused(conn, tenant, since))
            return {hook: told.count for hook, told in found.items()}

        assert await counts("acme", NOON) == {"h_1": 1, "h_2": 1}
        assert await counts("acme", NOON - SLOT) == {"h_1": 2, "h_2": 1}
        assert await counts("acme", NOON + SLOT) == {"h_2": 1}
        assert await counts("other", NOON) == {"h_3": 1}
        assert await store.write(lambda conn: purge(conn, "acme", NOON)) == 1
        assert await counts("acme", NOON - SLOT) == {"h_1": 1, "h_2": 1}
    finally:
        await store.close()


async def test_processes_add_to_one_count_at_once(where: Where) -> None:
    store = await open_store(where())
    try:
        processes = [Refusals(store) for _ in range(8)]
        for one in processes:
            for _ in range(5):
                one.note("acme", "h_1", "wrong", NOON)
        await asyncio.gather(*(one.write(at_once=True) for one in processes))
        assert (await store.read(lambda conn: refused(conn, "acme", NOON)))["h_1"].count == 40
    finally:
        await store.close()


async def test_what_an_outage_kept_from_being_written_is_written_after_it(where: Where) -> None:
    store = Counting(await open_store(where()))
    refusals = Refusals(store)
    try:
        store.is_away = True
        refusals.note("acme", "h_1", "wrong", NOON)
        for _ in range(2):
            try:
                await refusals.write(at_once=True)
            except DatabaseUnavailable:
                refusals.note("acme", "h_1", "wrong", NOON + timedelta(seconds=1))
        store.is_away = False
        await refusals.write(at_once=True)
        told = (await store.read(lambda conn: refused(conn, "acme", NOON)))["h_1"]
        assert (told.count, told.last_at) == (3, NOON + timedelta(seconds=1))
    finally:
        await store.close()


async def test_posts_that_are_refused_are_counted_for_their_hook_and_nothing_of_them_is_stored(tmp_path: Path) -> None:
    async with posting(tmp_path, NOON) as vendor:
        hook, other = await vendor.hook("voice", "retell"), await vendor.hook("voice", "bland")
        meta = await vendor.hook("whatsapp", "meta", verify_token="t-1")
        wrong = signed("voice", "retell", b"{}", NOON, secret="wrong")
        old = signed("voice", "retell", b"{}", NOON - timedelta(hours=1))
        for headers in ({}, {}, wrong, old):
            assert (await vendor.raw(hook, b"{}", headers=headers)).status == 401
        assert (await vendor.raw(other, b"{}")).status == 200
        shaken = {"hub.mode": "subscribe", "hub.challenge": "1", "hub.verify_token": "t-2"}
        assert (await vendor.api.client.get(meta.path, params=shaken)).status_code == 403
        await vendor.api.parts.hook_refusals.write(at_once=True)
        found = await vendor.api.parts.database.read(lambda conn: refused(conn, "acme", NOON))
        assert found[hook.hook_id].by_why == {"missing": 2, "wrong": 1, "stale": 1}
        assert found[meta.hook_id].by_why == {"handshake": 1}
        assert other.hook_id not in found
        stored = "SELECT count(*) FROM hook_body"
        assert await vendor.api.parts.database.read(lambda c: c.exec_driver_sql(stored).scalar()) == 1
