"""What is read back of records: whose, since when, in which order, and nobody else's."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.dialects import postgresql

from service import records
from service.intake import envelope
from service.prepared import Prepared
from service.records import BORROWER, BadCursor, Page, beside, borrower, journeys, operations, saving
from service.records import aside as aside_rows
from service.records import journal as journal_rows
from service.tables import Permit, Resume, table_of
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.state import derive
from tests.service.conftest import Where
from tests.service.embedded import (
    NOON,
    PHONE,
    POLICIES,
    SECRETS,
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
    unlinked,
)

PROVISIONAL = envelope.provisional_id(SECRETS, "phone", PHONE)
BY_PHONE = {"identifier": {"kind": "phone", "value": PHONE}}


@pytest.fixture
async def service(where: Where) -> AsyncIterator[Embedded]:
    async with embedded(where()) as opened_:
        yield opened_


async def pages(service: Embedded, function: Any, *before: Any, limit: int) -> list[dict[str, Any]]:
    """All items, page by page."""
    items: list[dict[str, Any]] = []
    cursor = None
    while True:
        page: Page = await service.look(function, *before, limit, cursor)
        assert len(page.items) <= limit
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items


# -- one record, and whose it is ---------------------------------------------------------------------------------------


async def test_a_record_is_found_under_its_own_id_and_under_the_one_it_had(service: Embedded) -> None:
    await service.post(promise(**BY_PHONE))
    found = await service.look(records.stored, PROVISIONAL)
    assert (found.borrower_id, found.version, found.provisional) == (PROVISIONAL, 1, True)
    assert await service.look(records.resolve_id, PROVISIONAL) == PROVISIONAL
    await service.post(linked("l-1"))
    for asked in (PROVISIONAL, "B-1"):
        found = await service.look(records.stored, asked)
        assert (found.borrower_id, found.provisional, found.version) == ("B-1", False, 2)
        assert await service.look(records.resolve_id, asked) == "B-1"
    assert await service.look(records.stored, "B-9") is None
    assert await service.look(records.resolve_id, "~phone:0000000000000000") == "~phone:0000000000000000"
    assert await service.database.read(lambda c: records.stored(c, "other", "B-1")) is None


async def test_an_identifier_leads_to_whom_it_is_linked_now(service: Embedded) -> None:
    other = "+919000000002"
    await service.post(linked("l-1", "B-1"), linked("l-2", "B-2"), linked("l-3", "B-2", other, at=hours(1)))
    await service.post(unlinked("u-1", "B-2", at=hours(2)))
    assert await service.look(records.borrowers_of, "phone", [PHONE]) == ["B-1"]
    assert await service.look(records.borrowers_of, "phone", ["+910000", other, PHONE]) == ["B-1", "B-2"]
    assert await service.look(records.borrowers_of, "bsuid", [PHONE]) == []


async def test_the_zone_in_force_is_the_one_linked_last(service: Embedded) -> None:
    assert await service.look(records.time_zone_of, "B-1") is None
    await service.post(linked("l-1", time_zone="Asia/Dubai"))
    assert await service.look(records.time_zone_of, "B-1") == "Asia/Dubai"
    await service.post(unlinked("u-1", at=hours(1)))
    assert await service.look(records.time_zone_of, "B-1") == "Asia/Kolkata"


async def test_a_loan_belongs_to_everybody_for_whom_it_was_opened(service: Embedded) -> None:
    await service.post(promise(borrower_id="B-3", loan_id="LN-1"))
    assert await service.look(records.owners_of_loan, "LN-1") == [], "naming a loan opens nothing"
    await service.post(opened("o-1", "B-1"), opened("o-2", "B-2"), opened("o-3", "B-1", cycle="CY-2"))
    assert await service.look(records.owners_of_loan, "LN-1") == ["B-1", "B-2"]


def test_a_loan_stays_linked_when_its_evidence_had_to_go_but_not_when_it_was_anothers() -> None:
    entry = stamped(opened("o-1", at=hours(-1)), "B-1", NOON, through=f"phone:{PHONE}")
    undone = stamped(unlinked("u-1"), "B-1", NOON)

    def loans(record: Record, before: set[str]) -> frozenset[str]:
        return records.derived(record, derive(record, NOON, POLICIES.for_tenant(TENANT)), before).loans

    def hasher(words: str) -> str:
        return words

    full = merge(Record.new("B-1"), entry, hasher)
    assert loans(full, set()) == {"LN-1"}
    assert loans(full.changed(buckets=()), {"LN-1"}) == {"LN-1"}
    assert loans(merge(full, undone, hasher), {"LN-1"}) == set()


# -- the journal -------------------------------------------------------------------------------------------------------


async def test_the_first_answer_to_an_entry_can_be_given_again(service: Embedded) -> None:
    await service.post(promise(borrower_id="B-1", commitment={"amount": 0, "quote": "I will"}))
    assert await service.look(records.is_merged, "voice:c-1:1")
    merged = await service.look(records.merged_entry, "voice:c-1:1")
    assert (merged.borrower_id, merged.record_version, [w.code for w in merged.warnings]) == (
        "B-1",
        1,
        ["amount_withheld"],
    )
    assert "quote" not in repr(merged)
    assert await service.look(records.merged_entry, "voice:c-2:1") is None
    assert not await service.database.read(lambda c: records.is_merged(c, "other", "voice:c-1:1"))
    many = [f"x-{n}" for n in range(40)]
    for ids in (many[:3], many):
        assert set(await service.look(records.merged_entries, [*ids, "voice:c-1:1"])) == {"voice:c-1:1"}


async def test_bodies_come_back_as_they_were_posted(service: Embedded) -> None:
    extra = {"ratio": 0.25, "big": 10**30, "none": None}
    await service.post(summary(borrower_id="B-1", extra=extra, turns=[{"speaker": "agent", "text": "Hello"}]))
    found = await service.look(records.bodies, ["voice:c-1:1", "unknown"])
    assert found.keys() == {"voice:c-1:1"}
    body = found["voice:c-1:1"]
    assert body["turns"] == [{"speaker": "agent", "text": "Hello"}]
    assert (str(body["extra"]["ratio"]), body["extra"]["big"], body["extra"]["none"]) == ("0.25", 10**30, None)


async def test_events_since_are_those_of_the_type_that_arrived_since(service: Embedded) -> None:
    sent = {"channel": "whatsapp", "outcome": "sent"}

    async def since(at: Any, type_: str = "reminder.sent") -> list[str]:
        return list(await service.look(records.events_since, "B-1", type_, at))

    arrived = service.now
    await service.post(event("reminder.sent", "r-1", borrower_id="B-1", loan_id="LN-1", message_id="m-1", **sent))
    await service.post(event("reminder.sent", "r-2", borrower_id="B-2", message_id="m-2", **sent))
    assert await since(arrived) == ["r-1"]
    assert await since(arrived, "payment_link.shared") == []
    service.now += timedelta(seconds=1)
    assert await since(service.now) == []
    await service.post(event("reminder.sent", "r-3", borrower_id="B-1", message_id="m-3", **sent))
    assert (await since(arrived), await since(service.now)) == (["r-3", "r-1"], ["r-3"])


# -- the time line -----------------------------------------------------------------------------------------------------


async def test_a_conversation_stands_on_the_line_once_by_its_highest_revision(service: Embedded) -> None:
    chat = {"channel": "whatsapp", "conversation_id": "c-2", "speaker": "borrower", "text": "ok", "message_id": "m-1"}
    await service.post(
        promise("c-1", hours(1), borrower_id="B-1", revision=1, summary="first"),
        promise("c-1", hours(5), borrower_id="B-1", revision=3, summary="third", loan_id="LN-1"),
        promise("c-1", hours(9), borrower_id="B-1", revision=2, summary="second"),
        promise("c-1", hours(2), borrower_id="B-1", channel="whatsapp", summary="another channel"),
        event("fact.stated", "f-1", hours(5), borrower_id="B-1", kind="goal", text="a shop"),
        event("conversation.message", "m-1", hours(6), borrower_id="B-1", **chat),
        promise("c-1", hours(7), borrower_id="B-2", revision=9, summary="somebody else's"),
    )
    items = (await service.look(records.timeline, "B-1", 10, None)).items
    assert [(i["kind"], i["event_id"], i["revisions"]) for i in items] == [
        ("conversation", "voice:c-1:3", 3),
        ("event", "f-1", 1),
        ("conversation", "whatsapp:c-1:1", 1),
    ]
    assert (items[0]["at"], items[0]["loan_id"], items[0]["entry"]["summary"]) == (hours(5), "LN-1", "third")
    assert list(items[0]) == ["kind", "at", "event_id", "loan_id", "cycle_id", "attempt", "revisions", "entry"]


async def test_equal_revisions_are_told_by_the_one_that_ended_last(service: Embedded) -> None:
    await service.post(
        promise("c-1", hours(1), borrower_id="B-1", event_id="a", summary="earlier"),
        promise("c-1", hours(2), borrower_id="B-1", event_id="b", summary="later"),
        promise("c-1", hours(2), borrower_id="B-1", event_id="c", summary="the same time"),
    )
    [item] = (await service.look(records.timeline, "B-1", 10, None)).items
    assert (item["event_id"], item["revisions"]) == ("c", 3)


@pytest.mark.parametrize("limit", [1, 2, 7, 50])
async def test_page_by_page_the_line_is_whole_and_in_order(service: Embedded, limit: int) -> None:
    bodies: list[Any] = [promise(f"c-{n}", hours(n // 3), borrower_id="B-1") for n in range(12)]
    bodies += [
        event("fact.stated", f"f-{n}", hours(n // 3), borrower_id="B-1", kind="goal", text=f"{n}") for n in range(9)
    ]
    await service.post(*bodies)
    found = [(i["at"], i["event_id"]) for i in await pages(service, records.timeline, "B-1", limit=limit)]
    assert found == sorted(
        ((b.ended_at if hasattr(b, "ended_at") else b.occurred_at, b.id) for b in bodies), reverse=True
    )


async def test_the_line_of_a_joined_borrower_has_both_and_one_conversation_once(service: Embedded) -> None:
    await service.post(promise("c-1", hours(1), revision=1, **BY_PHONE))
    await service.post(linked("l-1", at=hours(2)))
    await service.post(promise("c-1", hours(3), revision=2, borrower_id="B-1"))
    items = (await service.look(records.timeline, "B-1", 10, None)).items
    assert [(i["event_id"], i["revisions"]) for i in items] == [("voice:c-1:2", 2), ("l-1", 1)]
    assert (await service.look(records.timeline, "B-9", 10, None)).items == []


def cursor_of(*values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


ANYTHING = ["", "x", "!!", "é", "W10", "A" * 5000, cursor_of(None), cursor_of(1.5), cursor_of({}), cursor_of(10**30)]


@pytest.mark.parametrize(
    ("function", "before", "wrong"),
    [
        (records.timeline, ["B-1"], [cursor_of(1), cursor_of("no time", "e"), cursor_of("2026-11-01T12:00:00", "e")]),
        (records.borrowers, [{}, NOON], [cursor_of("a"), cursor_of("a", 1), cursor_of("a", "\0")]),
        (records.set_aside, [None], [cursor_of("1"), cursor_of(True), cursor_of(-1), cursor_of(2**63)]),
        (records.missing_page, [NOON, NOON], [cursor_of("a", "b", "c", "d"), cursor_of("a")]),
    ],
)
async def test_a_cursor_that_is_none_is_refused(
    service: Embedded, function: Any, before: list[Any], wrong: list[str]
) -> None:
    for cursor in [*ANYTHING, *wrong]:
        with pytest.raises(BadCursor):
            await service.look(function, *before, 10, cursor)
    assert issubclass(BadCursor, ValueError)


async def test_an_export_has_everything_of_one_borrower(service: Embedded) -> None:
    await service.post(promise("c-1", hours(1), **BY_PHONE))
    await service.post(linked("l-1", at=hours(2)), promise("c-2", hours(3), borrower_id="B-1"))
    await service.post(
        promise("c-2", hours(3), borrower_id="B-1"), promise("c-2", hours(3), borrower_id="B-1", amount=9)
    )
    await service.post(promise("c-9", hours(3), borrower_id="B-2"))
    asked = {
        "resume_id": "r-1", "borrower_id": "B-1", "at": NOON, "channel": "voice", "direction": "inbound", "refusals": "[]",
        "source": "position", "mode": "enabled", "degraded": False, "ignored": False, "tenant": TENANT,
    }  # fmt: skip
    permit = {
        "permit_id": "p-1", "borrower_id": "B-1", "attempt": 1, "action": "reminder", "channel": "voice", "holder": "run",
        "granted_at": NOON, "expires_at": NOON, "tenant": TENANT,
    }  # fmt: skip
    await service.database.write(lambda c: c.execute(insert(table_of(Resume)).values(asked)))
    await service.database.write(lambda c: c.execute(insert(table_of(Permit)).values(permit)))
    kept = await service.look(records.export, "B-1")
    ids = [e["event_id"] for e in kept["entries"]]
    assert {i for i in ids if not i.startswith(" ")} == {"voice:c-1:1", "l-1", "voice:c-2:1"}
    assert {e["type"] for e in kept["entries"]} == {
        "summary", "identifier.linked", "borrower.redirected", "evidence.joined",
    }  # fmt: skip
    assert [r["resume_id"] for r in kept["resumes"]] == ["r-1"]
    assert [p["permit_id"] for p in kept["permits"]] == ["p-1"]
    assert [r["is_conflict"] for r in kept["repeats"]] == [False, True]
    assert [s["event_id"] for s in kept["set_aside"]] == ["voice:c-2:1"]
    assert '"amount":"9"' in kept["set_aside"][0]["value"]


# -- lists across borrowers --------------------------------------------------------------------------------------------


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


# -- what ops looks after ----------------------------------------------------------------------------------------------


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


# -- set aside ---------------------------------------------------------------------------------------------------------


def aside(number: int, **changes: Any) -> records.Aside:
    values = {
        "tenant": TENANT, "reason": "unreadable", "detail": "x", "kind": "hook", "received_at": NOON, "value": b"{}",
        "vendor": "vapi", **changes,
    }  # fmt: skip
    return records.Aside(event_id=f"e-{number}", **values)


async def test_what_was_set_aside_is_listed_newest_first_until_it_is_settled(service: Embedded) -> None:
    await service.database.write(lambda c: [records.put_aside(c, aside(n)) for n in range(5)])
    for limit in (1, 2, 9):
        items = await pages(service, records.set_aside, "open", limit=limit)
        assert [i["event_id"] for i in items] == ["e-4", "e-3", "e-2", "e-1", "e-0"]
    assert list(items[0]) == [
        "id", "reason", "detail", "kind", "vendor", "borrower_id", "event_id", "received_at", "attempts", "status",
    ]  # fmt: skip
    first, second = items[0]["id"], items[1]["id"]
    await service.database.write(lambda c: records.settle_set_aside(c, TENANT, first, "merged", attempts=1))
    await service.database.write(lambda c: records.settle_set_aside(c, "other", second, "merged"))
    assert await service.look(records.set_aside_open) == 4
    item, value = await service.look(records.set_aside_item, first)
    assert (item["status"], item["attempts"], value) == ("merged", 2, b"{}")
    assert [i["id"] for i in (await service.look(records.set_aside, "merged", 9, None)).items] == [first]
    assert len((await service.look(records.set_aside, None, 9, None)).items) == 5
    assert await service.look(records.set_aside_item, 10**9) is None
    assert await service.database.read(lambda c: records.set_aside_item(c, "other", first)) is None


async def test_the_same_for_the_same_reason_is_one_item(service: Embedded) -> None:
    same = [aside(1, body_hash="h"), aside(1, body_hash="h", attempts=5), aside(1, body_hash="other")]
    same += [aside(1, body_hash="h", reason="invalid"), aside(1, body_hash="h", tenant="other")]
    await service.database.write(lambda c: [records.put_aside(c, a) for a in same])
    items = (await service.look(records.set_aside, None, 9, None)).items
    assert sorted((i["reason"], i["attempts"]) for i in items) == [("invalid", 1), ("unreadable", 1), ("unreadable", 6)]
    await service.database.write(lambda c: [records.settle_set_aside(c, TENANT, i["id"], "refused") for i in items])
    await service.database.write(lambda c: records.put_aside(c, aside(1, body_hash="h")))
    assert await service.look(records.set_aside_open) == 1, "a settled one is not opened again"
    assert await service.look(records.open_set_aside, ["e-1", "e-2"]) != {}


# -- derived columns ---------------------------------------------------------------------------------------------------


async def test_saving_what_differs_is_saving_all(service: Embedded) -> None:
    """From any derived rows to any others."""
    row = {
        "loan_id": "", "cycle_id": None, "attempt": 1, "stage": "empty", "rung": "none", "amount": None, "currency": "INR",
        "promise_due_date": None, "overdue_at": None, "reminded": False, "payment_link_shared": False,
        "payment_confirmed": False, "outstanding": None, "holds": "[]", "hold_kinds": "", "hold_until": None,
        "last_contact_at": None,
        "last_channel": None,
    }  # fmt: skip
    versions = [
        records.Derived(),
        records.Derived({"": row}, frozenset({("phone", "1")}), frozenset({"LN-1"}), frozenset({("voice", "c", NOON)})),
        records.Derived(
            {
                "LN-1": {**row, "loan_id": "LN-1"},
                "LN-2": {**row, "loan_id": "LN-2", "stage": "paid", "overdue_at": NOON},
            },
            frozenset({("phone", "1"), ("email", "x@y")}),
            frozenset({"LN-2"}),
            frozenset({("voice", "c", hours(1)), ("whatsapp", "c", NOON)}),
        ),
        records.Derived({"LN-2": {**row, "loan_id": "LN-2", "stage": "empty", "promise_due_date": date(2026, 1, 1)}}),
    ]
    for before, after in itertools.product(versions, versions):
        for stage in (before, after):
            now = await service.look(records.stored_derived, "B-1")
            await service.database.write(lambda c, n=now, s=stage: records.save_derived(c, TENANT, "B-1", n, s))  # type: ignore[misc]
            assert await service.look(records.stored_derived, "B-1") == stage


async def test_a_record_is_saved_only_over_the_version_that_was_read(service: Embedded) -> None:
    await service.post(promise(borrower_id="B-1"))
    record = await service.record("B-1")
    state = await service.state("B-1")
    row = records.record_row(record, b"new", state, 2, "table", 0, 9)
    assert not await service.database.write(lambda c: records.save_record(c, TENANT, "B-1", 7, row))
    assert await service.database.write(lambda c: records.save_record(c, TENANT, "B-1", 1, row))
    assert (await service.look(records.stored, "B-1")).record == b"new"
    assert not await service.database.write(lambda c: records.save_record(c, "other", "B-1", 2, row))
