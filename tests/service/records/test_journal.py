"""The journal, and one borrower's time line read from it."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from service import records
from service.records import BadCursor
from service.tables import Permit, Resume, table_of
from tests.service.embedded import (
    NOON,
    TENANT,
    Embedded,
    event,
    hours,
    linked,
    promise,
    summary,
)
from tests.service.records.conftest import BY_PHONE, pages

# -- the journal ------------------------------------------------------------------------------------------------------


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


# -- the time line ----------------------------------------------------------------------------------------------------


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
    names = ["kind", "at", "event_id", "loan_id", "cycle_id", "attempt", "revisions", "entry", "through"]
    assert list(items[0]) == names


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
