"""Lists across borrowers, and what ops looks after."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql

from service import records
from service.prepared import Prepared
from service.records import BORROWER, beside, borrower, journeys, operations, saving
from service.records import aside as aside_rows
from service.records import journal as journal_rows
from tests.service.conftest import Where
from tests.service.embedded import (
    NOON,
    TENANT,
    Embedded,
    embedded,
    event,
    hours,
    linked,
    opened,
    pending,
    promise,
    stamped,
    summary,
)
from tests.service.records.conftest import BY_PHONE, pages

# -- lists across borrowers -------------------------------------------------------------------------------------------


async def listed(service: Embedded, **filters: Any) -> list[tuple[str, str | None]]:
    page = await service.look(records.borrowers, filters, service.now, 50, None)
    return [(i["borrower_id"], i["loan_id"]) for i in page.items]


async def test_the_list_has_one_item_for_each_loan_with_what_stands_in_its_newest_cycle(service: Embedded) -> None:
    loan_1, loan_2 = ({"borrower_id": "B-1", "loan_id": loan} for loan in ("LN-1", "LN-2"))
    await service.post(
        opened("o-1", cycle="CY-1", at=hours(-50)),
        opened("o-2", cycle="CY-2", at=hours(-40)),
        promise("c-1", hours(-30), **loan_1),
        event("reminder.sent", "r-1", hours(-20), **loan_1, channel="whatsapp", message_id="m", outcome="read"),
        event("payment.confirmed", "p-1", hours(-10), **loan_1, payment_ref="P", amount="2500.5", currency="INR"),
        event("hold.placed", "h-1", hours(-5), **loan_2, kind="dispute", reason="amount", until=hours(100)),
    )
    items = (await service.look(records.borrowers, {}, service.now, 50, None)).items
    assert list(items[0]) == [
        "borrower_id", "loan_id", "cycle_id", "attempt", "stage", "rung", "amount", "currency", "promise_due_date", "flags",
        "holds", "outstanding", "last_contact_at",
    ]  # fmt: skip
    assert items[0] == {
        "borrower_id": "B-1", "loan_id": "LN-1", "cycle_id": "CY-2", "attempt": 1, "stage": "reminded", "rung": "proposed",
        "amount": "5000.00", "currency": "INR", "promise_due_date": date(2026, 11, 25), "holds": [], "outstanding": "9999.50",
        "flags": {"reminded": True, "payment_link_shared": False, "payment_confirmed": True}, "last_contact_at": hours(-30),
    }  # fmt: skip
    assert (items[1]["loan_id"], items[1]["cycle_id"], items[1]["stage"]) == ("LN-2", None, "empty")
    assert items[1]["holds"] == [
        {"kind": "dispute", "reason": "amount", "loan_id": "LN-2",
         "placed_at": "2026-11-20T07:00:00Z", "until": "2026-11-24T16:00:00Z"}
    ]  # fmt: skip


async def test_the_last_contact_is_one_with_the_borrower(service: Embedded) -> None:
    await service.post(
        summary("c-1", hours(-30), borrower_id="B-1"),
        summary("c-2", hours(-20), borrower_id="B-1", channel="whatsapp", outcome="no_answer"),
    )
    (item,) = (await service.look(records.borrowers, {"last_channel": "voice"}, service.now, 50, None)).items
    assert item["last_contact_at"] == hours(-30)
    assert await listed(service, last_channel="whatsapp") == []


async def test_the_list_is_filtered_by_where_they_stand(service: Embedded) -> None:
    confirmed = {"amount": 1, "due_date": "2026-11-25", "status": "confirmed", "read_back": True}
    await service.post(
        promise("c-1", hours(-90), borrower_id="B-1", commitment={"amount": 1, "due_date": "2026-11-18"}),
        promise("c-2", borrower_id="B-2", commitment=confirmed),
        promise("c-3", borrower_id="B-3", commitment={"amount": 1, "due_date": "2026-11-30"}),
        summary("c-4", borrower_id="B-4"),
        event("reminder.sent", "r-3", hours(1), borrower_id="B-3", channel="whatsapp", message_id="m", outcome="sent"),
        event("fact.stated", "f-5", borrower_id="B-5", kind="goal", text="x"),
    )  # fmt: skip
    alone = {n: (f"B-{n}", None) for n in range(1, 6)}
    expected: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [1, 2, 3, 4, 5]),
        ({"stage": "committed"}, [1, 2]),
        ({"stage": "reminded"}, [3]),
        ({"stage": "negotiation"}, [4]),
        ({"stage": "empty"}, [5]),
        ({"rung": "confirmed"}, [2]),
        ({"rung": "none"}, [4, 5]),
        ({"promise_due_from": date(2026, 11, 25)}, [2, 3]),
        ({"promise_due_to": date(2026, 11, 25)}, [1, 2]),
        ({"promise_due_from": date(2026, 11, 19), "promise_due_to": date(2026, 11, 25)}, [2]),
        ({"overdue": True}, [1]),
        ({"overdue": False}, [2, 3, 4, 5]),
        ({"reminded": True}, [3]),
        ({"reminded": False, "rung": "proposed"}, [1]),
        ({"reminded": None, "stage": None, "hold": None}, [1, 2, 3, 4, 5]),
    ]
    for filters, numbers in expected:
        assert await listed(service, **filters) == [alone[n] for n in numbers], filters


async def test_a_promise_gets_overdue_and_a_hold_ends_without_anything_being_saved(service: Embedded) -> None:
    held = {"kind": "dispute", "reason": "amount"}
    await service.post(
        event("hold.placed", "h-1", borrower_id="B-1", until=hours(48), **held),
        event("hold.placed", "h-2", borrower_id="B-2", until=hours(48), **held),
        event("hold.placed", "h-3", borrower_id="B-2", kind="represented", reason="lawyer"),
        promise(borrower_id="B-3"),
    )
    one, two, three = ("B-1", None), ("B-2", None), ("B-3", None)
    for later, expected in ((24, {"true": [one, two], "dispute": [one, two], "represented": [two], "false": [three]}),
                            (72, {"true": [two], "dispute": [], "represented": [two], "false": [one, three]})):  # fmt: skip
        service.now = hours(later)
        for hold, whose in expected.items():
            assert await listed(service, hold=hold) == whose, (later, hold)
    items = (await service.look(records.borrowers, {"hold": "true"}, service.now, 50, None)).items
    assert [h["kind"] for h in items[0]["holds"]] == ["represented"]
    assert await listed(service, overdue=True) == []
    service.now = hours(24 * 6)
    assert await listed(service, overdue=True) == [three]


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_page_by_page_the_list_is_whole(service: Embedded, limit: int) -> None:
    await service.post(*(opened(f"o-{n}-{k}", f"B-{n}", f"LN-{n}-{k}") for n in range(6) for k in range(n % 3)))
    every = await pages(service, records.borrowers, {}, service.now, limit=limit)
    places = [(i["borrower_id"], i["loan_id"]) for i in every]
    assert places == sorted((f"B-{n}", f"LN-{n}-{k}") for n in range(6) for k in range(n % 3))
    held = [
        event("hold.placed", f"h-{n}", borrower_id=f"B-{n}", kind="other", reason="x", until=hours(n * 10))
        for n in range(6)
    ]
    await service.post(*held)
    service.now = hours(35)
    found = await pages(service, records.borrowers, {"hold": "other"}, service.now, limit=limit)
    assert {i["borrower_id"] for i in found} == {"B-4", "B-5"}


async def test_nobody_sees_another_tenants_borrowers(service: Embedded) -> None:
    await service.told(await service.log.append([pending(stamped(promise(), "B-1", NOON), "other")]))
    lists: list[tuple[Any, ...]] = [(records.borrowers, {}, NOON), (records.timeline, "B-1"), (records.set_aside, None)]
    for function, *before in lists:
        assert (await service.look(function, *before, 50, None)).items == []
    assert await service.look(records.export, "B-1") == {
        "entries": [], "resumes": [], "permits": [], "repeats": [], "set_aside": [],
    }  # fmt: skip
    assert sum((await service.look(records.counted, hours(-99), hours(99))).values()) == 0


# -- what ops looks after ---------------------------------------------------------------------------------------------


async def test_counts_are_by_arrival_and_each_delivery_counts_once(service: Embedded) -> None:
    start = service.now
    reminder = event("reminder.sent", "r-1", borrower_id="B-1", channel="whatsapp", message_id="m", outcome="sent")
    for _ in range(5):
        await service.post(promise(**BY_PHONE))
    for _ in range(3):
        await service.post(reminder)
    counted = {"deliveries": 8, "repeats": 6, "conflicts": 0, "conversations": 1, "events": 1}
    assert await service.look(records.counted, start, start + timedelta(hours=1)) == counted
    await service.post(linked("l-1"))
    await service.post(promise("c-1", hours(3), revision=2, borrower_id="B-1"))
    counted |= {"deliveries": 10, "events": 2}
    assert await service.look(records.counted, start, start + timedelta(hours=1)) == counted, "our own are not counted"
    await service.log.append(
        [pending(stamped(linked("bad"), "B-1", start)).__class__(TENANT, "B-1", "x", b"unreadable")]
    )
    await service.settled()
    assert (await service.look(records.counted, start, start + timedelta(hours=1)))["deliveries"] == 11
    assert sum((await service.look(records.counted, start - timedelta(hours=1), start)).values()) == 0


async def test_a_conversation_that_began_is_missing_until_its_summary_comes(service: Embedded) -> None:
    for n in range(5):
        await service.post(
            event(
                "conversation.started", f"s-{n}", hours(n), borrower_id="B-1", channel="voice", conversation_id=f"c-{n}"
            )
        )
    await service.post(summary("c-1", hours(6), borrower_id="B-1"))
    since, now = hours(3), hours(10)
    assert await service.look(records.missing_reports, since) == 3
    for limit in (1, 2, 10):
        items = await pages(service, records.missing_page, since, now, limit=limit)
        assert [i["conversation_id"] for i in items] == ["c-0", "c-2", "c-3"]
    assert items[0] == {
        "borrower_id": "B-1", "channel": "voice", "conversation_id": "c-0", "started_at": hours(0), "age_seconds": 36000.0,
    }  # fmt: skip


async def test_what_is_not_merged_yet_is_counted_with_the_age_of_the_oldest(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        assert await service.look(records.unmerged, service.now) == (0, 0.0)
        await service.append(promise(borrower_id="B-1"))
        service.now += timedelta(seconds=30)
        await service.append(promise("c-2", borrower_id="B-2"))
        assert await service.look(records.unmerged, service.now + timedelta(seconds=12)) == (2, 42.0)
        assert await service.database.read(lambda c: records.unmerged(c, "other", service.now)) == (0, 0.0)
        assert await service.look(records.is_behind, "B-1")
        service.write()
        await service.settled()
        assert not await service.look(records.is_behind, "B-1")


async def plan(service: Embedded, statement: Any) -> list[str]:
    """How the database would go about it."""

    def explained(connection: Connection) -> list[str]:
        sql = str(statement.compile(connection.engine))
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", ("x",) * sql.count("?"))
        return [row[-1] for row in rows]

    return await service.database.read(explained)


@pytest.fixture
async def on_sqlite(tmp_path: Path) -> AsyncIterator[Embedded]:
    async with embedded(tmp_path / "test.db") as opened_:
        yield opened_


async def test_only_what_is_not_merged_is_looked_through_for_it(on_sqlite: Embedded) -> None:
    """The log keeps a week; looking for what is behind must not read it."""
    for statement in (operations._WAITS.statement, operations._WAITING.statement):
        steps = await plan(on_sqlite, statement)
        assert any("SEARCH intake USING" in step and "log_offset>" in step for step in steps), steps


async def test_indexes_serve_the_lists(on_sqlite: Embedded) -> None:
    journal = records.JOURNAL.c
    newest_first = (journal.effective_at.desc(), journal.event_id.desc())
    line = select(journal.event_id).where(journal.tenant == "a", journal.borrower_id == "b").order_by(*newest_first)
    of_one = journal_rows._revisions("a", [("b", None)]).where(
        journal.channel == "voice", journal.conversation_id == "c"
    )
    joined = select(BORROWER.c.borrower_id).where(BORROWER.c.tenant == "a", BORROWER.c.redirected_to == "b")
    cases = {
        "journal_timeline": line,
        "journal_conversation": of_one,
        "borrower_redirected": joined,
        "set_aside_open_event": aside_rows._SAME_ASIDE.statement,
    }
    for index, statement in cases.items():
        steps = await plan(on_sqlite, statement)
        assert any(index in step for step in steps), (index, steps)
        assert not any("TEMP B-TREE" in step for step in steps), (index, steps)


ROOMS = (aside_rows, beside, borrower, journal_rows, journeys, operations, saving)


def test_every_prepared_statement_is_one_for_postgresql_too() -> None:
    from service import keys
    from service.intake import outbox, table_log
    from service.writer import fence

    prepared = [
        s for m in (*ROOMS, keys, fence, outbox, table_log) for s in vars(m).values() if isinstance(s, Prepared)
    ]
    assert len(prepared) > 25
    for one in prepared:
        assert str(one.statement.compile(dialect=postgresql.dialect()))  # type: ignore[attr-defined]
