"""The unit of work on either database, and statements that are built once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from service import prepared
from service.database import DatabaseUnavailable, Job, Store
from service.prepared import MANY, MOST, OfList, Prepared
from service.tables import Audit, Permit, SetAside, table_of
from tests.service.conftest import Where
from tests.service.database.conftest import (
    HEADS,
    NOON,
    add,
    numbers,
    seen_by_another,
)
from tests.service.embedded import open_store

# -- the unit of work, on either database -----------------------------------------------------------------------------


async def test_an_answer_means_that_it_is_stored(store: Store, where: Where) -> None:
    assert await store.write(add(1)) == 1
    assert await seen_by_another(where) == [1]
    assert await store.read(numbers) == [1]


async def test_of_what_is_asked_for_at_once_only_what_fails_is_undone(store: Store) -> None:
    def fails(connection: Connection) -> None:
        add(7)(connection)
        raise LookupError("in the middle")

    answers = await asyncio.gather(
        *(store.write(job) for job in (add(1), fails, add(2), add(1), add(3))), return_exceptions=True
    )
    assert sorted(a for a in answers if isinstance(a, int)) == [1, 2, 3]
    assert isinstance(answers[1], LookupError)
    assert sum(isinstance(a, IntegrityError) for a in answers) == 1
    assert await store.read(numbers) == [1, 2, 3]


async def test_a_reader_sees_no_half_of_a_job(store: Store) -> None:
    def ten(start: int) -> Job[None]:
        return lambda connection: [add(n)(connection) for n in range(start, start + 10)] and None

    writing = [asyncio.ensure_future(store.write(ten(start))) for start in range(0, 50, 10)]
    sizes = set()
    while not all(w.done() for w in writing):
        await asyncio.sleep(0)
        sizes |= {len(await store.read(numbers)), len(await store.read_slow(numbers))}
    sizes.add(len(await store.read(numbers)))
    assert {size % 10 for size in sizes} == {0}
    assert max(sizes) == 50


async def test_a_slow_read_sees_one_moment(store: Store) -> None:
    await store.write(add(1))
    loop, seen = asyncio.get_running_loop(), []

    def look(connection: Connection) -> list[list[int]]:
        seen.append(numbers(connection))
        asyncio.run_coroutine_threadsafe(store.write(add(2)), loop).result(10)
        seen.append(numbers(connection))
        return seen

    assert await store.read_slow(look) == [[1], [1]]
    assert await store.read(numbers) == [1, 2]


async def test_a_reader_cannot_write(store: Store) -> None:
    for read in (store.read, store.read_slow):
        with pytest.raises(DatabaseUnavailable):
            await read(add(1))
    assert await store.read(numbers) == []


async def test_a_slow_read_sees_what_is_committed(store: Store) -> None:
    await store.write(add(4))
    assert await store.read_slow(numbers) == [4]


@pytest.mark.parametrize("turns", [0, 1, 3, 10, 30])
async def test_a_caller_that_went_away_does_not_disturb_the_others(store: Store, turns: int) -> None:
    gone = [asyncio.ensure_future(store.write(add(n))) for n in range(10, 16)]
    stays = asyncio.ensure_future(store.write(add(2)))
    for _ in range(turns):
        await asyncio.sleep(0)
    for one in gone:
        one.cancel()
    assert await stays == 2
    await asyncio.wait(gone)
    assert await store.write(add(3)) == 3
    told = {one.result() for one in gone if not one.cancelled()}
    there = set(await store.read(numbers))
    assert {2, 3} | told <= there <= {2, 3, *range(10, 16)}


async def test_what_was_asked_for_is_ended_before_the_database_is_let_go(where: Where) -> None:
    opened = await open_store(where())
    writing = [asyncio.ensure_future(opened.write(add(n))) for n in range(5)]
    await asyncio.sleep(0)
    await opened.close()
    assert [w.result() for w in writing] == list(range(5))
    for late in (opened.write(add(9)), opened.read(numbers), opened.read_slow(numbers)):
        with pytest.raises(DatabaseUnavailable):
            await late
    await opened.close()


async def test_more_may_be_asked_for_at_once_than_there_are_connections(store: Store) -> None:
    answers = await asyncio.gather(*(store.write(add(n)) for n in range(200)))
    assert answers == list(range(200))
    assert await store.read(numbers) == answers


# -- statements built once --------------------------------------------------------------------------------------------


async def test_a_prepared_statement_stores_and_reads_as_sqlalchemy_does(store: Store) -> None:
    permits = table_of(Permit)
    row = {
        "tenant": "acme", "permit_id": "p-1", "borrower_id": "B-1", "loan_id": None, "cycle_id": None, "attempt": 1,
        "action": "reminder", "channel": "whatsapp", "holder": "run", "settled_by": None,
        "granted_at": NOON.astimezone(timezone(timedelta(hours=5, minutes=30))),
        "expires_at": NOON + timedelta(microseconds=7),
    }  # fmt: skip
    await store.write(lambda c: Prepared(insert(permits)).run(c, **row))
    await store.write(lambda c: c.execute(insert(permits).values({**row, "permit_id": "p-2"})))
    both = select(permits).order_by(permits.c.permit_id)
    rows = await store.read(Prepared(both).rows)
    assert [tuple(r) for r in rows] == [tuple(r) for r in await store.read(lambda c: c.execute(both).all())]
    assert rows[0][9].utcoffset() == timedelta(0)
    raw = await store.read(lambda c: c.exec_driver_sql("SELECT DISTINCT granted_at, expires_at FROM permit").all())
    assert len(raw) == 1, "the same, whichever way"


async def test_a_prepared_statement_fails_as_sqlalchemy_does(store: Store) -> None:
    put = Prepared(insert(HEADS))
    await store.write(lambda c: put.run(c, partition=1, next_offset=0, identity="x"))
    with pytest.raises(IntegrityError) as caught:
        await store.write(lambda c: put.run(c, partition=1, next_offset=0, identity="secret"))
    assert "secret" not in str(caught.value)


async def test_a_prepared_statement_knows_its_constants_and_its_counts(store: Store) -> None:
    await store.write(lambda c: [add(n)(c) for n in range(5)])
    some = Prepared(select(HEADS.c.partition).where(HEADS.c.identity == "log", HEADS.c.partition > bindparam("above")))
    assert [r[0] for r in await store.read(lambda c: some.rows(c, above=2))] == [3, 4]
    assert await store.read(lambda c: some.row(c, above=9)) is None
    gone = Prepared(HEADS.delete().where(HEADS.c.partition >= bindparam("at_least")))
    assert await store.write(lambda c: gone.run(c, at_least=3)) == 2


@pytest.mark.parametrize("count", [1, MANY - 1, MANY, 300])
async def test_many_rows_are_put_as_one_is(store: Store, count: int) -> None:
    audit = table_of(Audit)
    put = Prepared(
        insert(audit).values({name: bindparam(name) for name in ("tenant", "at", "who", "action", "detail")})
    )
    rows = [
        {
            "tenant": "acme",
            "at": NOON + timedelta(microseconds=n),
            "who": f"नमस्ते {n}",
            "action": "\\N",
            "detail": "a\tb\nc",
        }
        for n in range(count)
    ]
    await store.write(lambda c: put.run_each(c, rows))
    names = (audit.c.tenant, audit.c.at, audit.c.who, audit.c.action, audit.c.detail)
    found = await store.read(lambda c: c.execute(select(*names).order_by(audit.c.id)).mappings().all())
    assert [dict(row) for row in found] == rows
    with pytest.raises(ValueError, match="offset"):
        await store.write(lambda c: put.run_each(c, [{**row, "at": NOON.replace(tzinfo=None)} for row in rows]))

    again = Prepared(insert(HEADS))
    heads = [{"partition": n, "next_offset": 0, "identity": "log"} for n in range(count)]
    await store.write(lambda c: again.run_each(c, heads))
    with pytest.raises(IntegrityError):
        await store.write(lambda c: again.run_each(c, heads[::-1]))


async def test_a_prepared_change_of_many_rows_tells_how_many_there_were(store: Store) -> None:
    await store.write(lambda c: [add(n)(c) for n in range(5)])
    end = Prepared(update(HEADS).where(HEADS.c.partition == bindparam("of")).values(next_offset=bindparam("end")))
    rows = [{"of": n, "end": 10 + n} for n in (1, 3, 77)]
    assert await store.write(lambda c: end.change_each(c, rows)) == 2
    assert await store.write(lambda c: end.change_each(c, [])) == 0
    ends = select(HEADS.c.next_offset).order_by(HEADS.c.partition)
    assert await store.read(lambda c: c.execute(ends).scalars().all()) == [0, 11, 0, 13, 0]


@pytest.mark.parametrize("count", [0, 1, 2, 3, MOST, MOST + 1])
async def test_the_rows_of_a_list_are_those_of_each_of_its_texts(store: Store, count: int) -> None:
    def put(connection: Connection) -> None:
        rows = [{"partition": n, "next_offset": n % 2, "identity": f"log {n}"} for n in range(400)]
        Prepared(insert(HEADS)).run_each(connection, rows)

    await store.write(put)
    some = OfList(select(HEADS.c.partition).where(HEADS.c.next_offset == bindparam("odd")), HEADS.c.identity)
    texts = [f"log {n}" for n in range(count)]
    found = await store.read(lambda c: some.rows(c, [*texts, "none"], odd=1))
    assert sorted(row[0] for row in found) == list(range(1, count, 2))


@given(st.datetimes(timezones=st.timezones()))
@settings(deadline=None)
def test_times_are_stored_in_utc_to_the_microsecond_and_come_back(at: datetime) -> None:
    try:
        in_utc = at.astimezone(UTC)
    except OverflowError:
        return
    text = prepared._time_to_text(at)
    column = table_of(Audit).c.at.type
    assert text == column.dialect_impl(prepared._SQLITE).bind_processor(prepared._SQLITE)(at)
    assert prepared._time_from_text(text) == in_utc


def test_a_time_without_its_offset_is_not_stored() -> None:
    with pytest.raises(ValueError, match="offset"):
        prepared._time_to_text(NOON.replace(tzinfo=None))


@pytest.mark.parametrize("count", [1, MANY - 1, MANY, 300])
async def test_many_rows_are_changed_and_removed_as_one_is(store: Store, count: int) -> None:
    """Texts with anything in them, times and nothing at all arrive; a row that is not there changes nothing."""
    kept = table_of(SetAside)
    row = {"tenant": "acme", "reason": "invalid", "kind": "hook", "status": "open", "attempts": 1, "received_at": NOON}
    rows = [{**row, "detail": f"{n}", "value": b"x", "vendor": None, "event_id": f"e-{n}"} for n in range(count)]
    names = [*rows[0], "borrower_id", "body_hash"]
    put = Prepared(insert(kept).values({name: bindparam(name) for name in names}))
    await store.write(lambda c: put.run_each(c, [{"borrower_id": None, "body_hash": None, **one} for one in rows]))
    changed = ("detail", "value", "vendor", "received_at")
    change = Prepared(
        update(kept)
        .where(kept.c.tenant == bindparam("of_tenant"), kept.c.event_id == bindparam("of_event"))
        .values({name: bindparam(name) for name in changed} | {"attempts": kept.c.attempts + bindparam("more")})
    )
    told = [
        {
            "of_tenant": "acme", "of_event": f"e-{n}", "detail": "{\"\\नमस्ते,}" if n % 2 else "", "value": bytes(range(256)),
            "vendor": None if n % 3 else "v", "received_at": NOON + timedelta(microseconds=n), "more": n,
        }
        for n in range(count + 1)
    ]  # fmt: skip
    assert await store.write(lambda c: change.change_each(c, told)) == count
    found = await store.read(lambda c: c.execute(select(kept).order_by(kept.c.id)).mappings().all())
    assert [{name: one[name] for name in changed} for one in found] == [
        {name: one[name] for name in changed} for one in told[:-1]
    ]
    assert [one["attempts"] for one in found] == [1 + n for n in range(count)]
    gone = Prepared(kept.delete().where(kept.c.event_id == bindparam("of_event")))
    await store.write(lambda c: gone.run_each(c, [{"of_event": f"e-{n}"} for n in range(1, count)]))
    assert await store.read(lambda c: list(c.execute(select(kept.c.event_id)).scalars())) == ["e-0"]
