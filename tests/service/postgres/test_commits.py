"""A commit that is not answered, and two transactions at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from sqlalchemy import Connection, select, update

from service import keys, prepared, records, settings
from service.database import Job, OutcomeUnknown, Store
from service.intake.durable import TableIntake
from service.intake.log import Position
from service.policy import Policies, Policy
from service.postgres import PostgresDatabase
from service.records import SET_ASIDE
from service.web.app import application
from service.wiring import Parts
from tests.limits import PATIENCE_SECONDS
from tests.service.embedded import (
    NOON,
    SECRETS,
    TENANT,
    Embedded,
    embedded,
    hours,
    pending,
    promise,
    stamped,
)
from tests.service.postgres.conftest import HEADS, PERMIT, Gate, add, numbers
from tests.service.writer.conftest import assert_records_are_the_fold_of_the_journal, statuses

pytestmark = pytest.mark.process

# -- a commit that is not answered ------------------------------------------------------------------------------------


@pytest.mark.parametrize("got_there", [True, False])
async def test_a_commit_without_an_answer_is_told_as_such(
    gate: tuple[Gate, str], store: PostgresDatabase, got_there: bool
) -> None:
    way, url = gate
    through = await PostgresDatabase.open(url)
    way.cuts_after, way.cuts_before = int(got_there), int(not got_there)
    with pytest.raises(OutcomeUnknown):
        await through.write(add(1))
    assert await store.read(numbers) == ([1] if got_there else [])
    assert await through.write(add(2)) == 2, "it goes on afterwards"
    await through.close()


async def test_the_writer_looks_up_what_became_of_it(gate: tuple[Gate, str], url: str) -> None:
    way, through = gate
    async with embedded(through, writing=False) as service, embedded(url, writing=False) as direct:
        bodies = [promise(f"c-{n}", hours(n % 20), borrower_id=f"B-{n % 5}") for n in range(60)]
        positions = await direct.log.append([pending(stamped(b, str(b.borrower_id), direct.now)) for b in bodies[:30]])
        service.write()
        outcomes = []
        for cut in range(6):
            way.cuts_after, way.cuts_before = cut % 2, 1 - cut % 2
            more = [pending(stamped(b, str(b.borrower_id), direct.now)) for b in bodies[30 + cut * 5 : 35 + cut * 5]]
            positions += await direct.log.append(more)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while way.cuts_after or way.cuts_before:
                    service.log.appended([Position(0, 0), Position(1, 0)])
                    await asyncio.sleep(0.01)
        for partition in (0, 1):
            service.log.appended([Position(partition, 0)])
        outcomes = await service.told(positions)
        assert statuses(outcomes) == ["merged"] * 60
        assert sorted(e for (e,) in await direct.journal("event_id")) == sorted(f"voice:c-{n}:1" for n in range(60))
        await assert_records_are_the_fold_of_the_journal(direct)


# -- two at once ------------------------------------------------------------------------------------------------------


def _meeting(count: int) -> Callable[[], None]:
    """Makes transactions wait until so many are there, the first time each comes by."""
    there, all_there = 0, asyncio.Event()

    def meet() -> None:
        nonlocal there
        there += 1
        if there == count:
            all_there.set()
        prepared.await_only(asyncio.wait_for(all_there.wait(), PATIENCE_SECONDS))

    return meet


async def test_of_two_in_each_others_way_both_go_through(store: Store, other: Store) -> None:
    await store.write(lambda c: [add(n)(c) for n in (1, 2)])
    meet, runs = _meeting(2), []

    def both(order: tuple[int, int]) -> Job[None]:
        def job(connection: Connection) -> None:
            runs.append(order)
            for place, number in enumerate(order):
                more = update(HEADS).where(HEADS.c.partition == number).values(next_offset=HEADS.c.next_offset + 1)
                connection.execute(more)
                if place == 0:
                    meet()

        return job

    await asyncio.gather(store.write(both((1, 2))), other.write(both((2, 1))))
    assert len(runs) >= 3, (
        "one was undone and run again; both, where the wait for a lock ends before it is found who is in whose way"
    )
    ends = await store.read(lambda c: c.execute(select(HEADS.c.next_offset)).scalars().all())
    assert list(ends) == [2, 2]


async def test_the_same_that_several_set_aside_at_once_is_one_item(store: Store, other: Store) -> None:
    item = records.Aside(
        tenant=TENANT, reason="id_conflict", detail="x", kind="event", received_at=NOON, value=b"{}", event_id="e-1",
        body_hash="h",
    )  # fmt: skip
    meet = _meeting(6)

    def put(connection: Connection) -> None:
        meet()
        records.put_aside(connection, item)

    await asyncio.gather(*(one.write(put) for one in (store, other) for _ in range(3)))
    rows = await store.read(lambda c: c.execute(select(SET_ASIDE.c.attempts)).scalars().all())
    assert list(rows) == [6]


async def test_whoever_holds_a_record_is_alone_with_it(url: str, other: Store) -> None:
    """Neither a writer nor another holder comes between what a holder reads and what it does."""
    async with embedded(url) as service:
        await service.post(promise(borrower_id="B-1"))
        held, done = asyncio.Event(), asyncio.Event()

        def holds(connection: Connection) -> int:
            assert records.held(connection, TENANT, "B-1") is not None
            held.set()
            prepared.await_only(done.wait())
            again = records.stored(connection, TENANT, "B-1")
            assert again is not None
            return again.version

        first = asyncio.ensure_future(other.write(holds))
        await held.wait()
        positions = await service.append(promise("c-2", hours(1), borrower_id="B-1"))
        second = asyncio.ensure_future(service.database.write(lambda c: records.held(c, TENANT, "B-1")))
        await asyncio.sleep(0.1)
        assert await service.version("B-1") == 1
        assert not second.done()
        done.set()
        assert await first == 1
        assert statuses(await service.told(positions)) == ["merged"]
        assert await second is not None


@contextlib.asynccontextmanager
async def _api(service: Embedded, key: str) -> AsyncIterator[httpx.AsyncClient]:
    """The API on this way to the database, as one of several processes has it."""
    parts = Parts(
        settings=settings.load({}),
        policies=Policies(Policy(contact_hours=("00:00", "24:00"))),
        secrets=SECRETS,
        database=service.database,
        intake=TableIntake(service.log, service.outcomes, service.writers[0][0] if service.writers else None),  # type: ignore[arg-type]
        clock=service.clock,
    )
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    transport = httpx.ASGITransport(application(parts))
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
        yield client


async def test_of_all_who_ask_for_a_permit_at_once_one_gets_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes of the API, asked by ten; and the negative control, in which nobody holds the record."""

    async def granted() -> list[int]:
        async with embedded(url) as one, embedded(url, writing=False) as two, contextlib.AsyncExitStack() as stack:
            key, _ = await one.database.write(lambda c: keys.create(c, TENANT, keys.SCOPES, one.now))
            apis = [await stack.enter_async_context(_api(service, key)) for service in (one, two)]
            answers = []
            for n in range(4):
                await one.post(promise(f"c-{n}", borrower_id=f"B-{n}"))
                asked = {"action": "reminder", "channel": "whatsapp"}
                calls = [
                    apis[k % 2].post(f"/v1/borrowers/B-{n}/permits", json={**asked, "holder": f"run-{k}"})
                    for k in range(10)
                ]
                told = [answer.status_code for answer in await asyncio.gather(*calls)]
                assert set(told) <= {201, 409}, told
                answers.append(told.count(201))
            rows = await one.database.read(lambda c: c.execute(select(PERMIT.c.borrower_id)).scalars().all())
            assert len(rows) == sum(answers)
            await one.database.write(lambda c: c.execute(PERMIT.delete()))
            return answers

    assert await granted() == [1, 1, 1, 1]
    monkeypatch.setattr(records, "held", records.stored)
    assert max(await granted()) > 1
