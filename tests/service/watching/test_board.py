"""What the dashboard counts and lists, on both databases: pages by key that hold every row once, and counts that agree."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from service import audit
from service.records import Page
from service.resuming import resumes
from service.tables import Hook, HookBody, HookItem, Outbox, Proposal, SetAside, table_of
from service.watching import board, machinery
from tests.service.conftest import Where
from tests.service.embedded import NOON, TENANT, Embedded, embedded, event, hours, opened, promise, summary

DAY = date(2026, 11, 25)
"""On which the promises of `promise` are due."""


async def rows_of(store: Embedded, page: Callable[..., Page], *arguments: Any, size: int = 2) -> list[dict[str, Any]]:
    """All of a list, read in small pages."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        at: Page = await store.look(page, *arguments, size, cursor)
        assert len(at.items) <= size
        found += at.items
        cursor = at.next_cursor
        if cursor is None:
            return found


async def told(store: Embedded) -> None:
    """Five borrowers who promise, three of whom ask to be called; a break, and a payment."""
    for n in range(5):
        who = f"B-{n}"
        asked = {"callback": {"at": hours(30 + n)}} if n < 3 else {}
        await store.post(opened(f"o-{n}", who, f"LN-{n}", f"CY-{n}"))
        await store.post(
            promise(f"c-{n}", channel="voice" if n % 2 else "whatsapp", at=hours(1), borrower_id=who, **asked)
        )
    paid = {"payment_ref": "P-1", "amount": "12500", "currency": "INR", "loan_id": "LN-4"}
    await store.post(event("payment.confirmed", "p-1", hours(2), borrower_id="B-4", **paid))
    await store.post(event("promise.broken", "b-1", hours(3), borrower_id="B-3", loan_id="LN-3"))


async def test_promises_are_listed_by_their_day_and_counted_as_they_are_listed(where: Where) -> None:
    async with embedded(where()) as store:
        await told(store)
        due = await rows_of(store, board.promises_due_page, DAY, DAY, store.now)
        assert [row["borrower_id"] for row in due] == ["B-0", "B-1", "B-2"], "neither the paid nor the broken"
        assert sum((await store.look(board.promises_due_by_rung, DAY, DAY)).values()) == 3
        assert await store.look(board.promises_by_day, NOON.date(), DAY) == {DAY: 3}
        store.now = NOON + timedelta(days=7)
        late = await rows_of(store, board.promises_overdue_page, NOON, store.now)
        assert sorted(row["borrower_id"] for row in late) == ["B-0", "B-1", "B-2"]
        assert await store.look(board.promises_overdue, NOON, store.now) == 3
        assert await store.look(board.promises_overdue_page, None, store.now, 9, None) == Page(
            sorted(late, key=lambda row: row["borrower_id"], reverse=True), None
        )


async def test_stages_conversations_and_breaks_are_counted(where: Where) -> None:
    async with embedded(where()) as store:
        await told(store)
        assert await store.look(board.stages) == {"committed": 3, "negotiation": 1, "paid": 1}
        span = (store.now - timedelta(hours=1), store.now + timedelta(hours=1))
        assert await store.look(board.conversations_by_channel, *span) == {"voice": 2, "whatsapp": 3}
        assert len(await rows_of(store, board.conversations_page, None, *span)) == 5
        voice = await rows_of(store, board.conversations_page, "voice", *span)
        assert [row["conversation_id"] for row in voice] == ["c-3", "c-1"]
        assert await store.look(board.broken, span[0]) == 1
        assert [row["event_id"] for row in await rows_of(store, board.broken_page, span[0])] == ["b-1"]


async def test_callbacks_are_listed_until_they_are_past_and_follow_what_is_said_later(where: Where) -> None:
    async with embedded(where()) as store:
        await told(store)
        asked = await rows_of(store, board.callbacks_page, store.now)
        assert [(row["borrower_id"], row["at"]) for row in asked] == [(f"B-{n}", hours(30 + n)) for n in range(3)]
        assert await store.look(board.callbacks, store.now, hours(31)) == 1
        assert len(await rows_of(store, board.callbacks_page, hours(31))) == 1
        await store.post(summary("c-9", hours(20), borrower_id="B-0", callback={"at_said": "kal shaam"}))
        named = {row["borrower_id"]: row for row in await rows_of(store, board.callbacks_page, store.now)}
        assert named["B-0"]["conversation_id"] == "c-9"
        assert named["B-0"]["at"] is None
        assert await store.look(board.callbacks, store.now, hours(31)) == 1, "one that names no time is for today"
        today = await store.look(board.callbacks_page, store.now, 9, None, hours(31))
        assert [row["borrower_id"] for row in today.items] == ["B-0"]


async def test_only_what_was_said_on_another_channel_before_counts_as_gone_on_from(where: Where) -> None:
    async with embedded(where()) as store:
        await told(store)
        kept = resumes.Resumes(store.database)
        for n, channel in enumerate(("voice", "whatsapp")):
            kept.keep(
                resumes.Kept(
                    f"r-{n}", TENANT, "B-0", store.now, channel, "outbound", None, "dues", None, None, "dues", (),
                    "no_model", "position", 3, "enabled", False,
                )
            )  # fmt: skip
        await kept.flush()
        span = (store.now - timedelta(hours=1), store.now + timedelta(hours=1))
        assert await store.look(board.crossed, *span) == 1
        for only in (resumes.Filter(ignored=True), resumes.Filter(rule="on_hold"), resumes.Filter(differs=True)):
            assert await store.look(resumes.page, only, 10, None) == []
        assert len(await store.look(resumes.page, resumes.Filter(ignored=False, fallback="no_model"), 10, None)) == 2


async def test_audit_lines_are_listed_newest_first_of_all_or_of_one(where: Where) -> None:
    async with embedded(where(), writing=False) as store:
        for n in range(5):
            line = audit.Line(TENANT, store.now, "k1 asha", "exported", f"B-{n % 2}", "x" * 500)
            await store.database.write(lambda conn, line=line: audit.add(conn, line))  # type: ignore[misc]
        assert len(await rows_of(store, audit.page, None)) == 5
        of_one = await rows_of(store, audit.page, "B-1")
        assert [row["borrower_id"] for row in of_one] == ["B-1", "B-1"]
        assert len(of_one[0]["detail"]) == audit.DETAIL_CHARACTERS
        other = await store.database.read(lambda conn: audit.page(conn, "other", None, 9, None))
        assert other.items == []


async def test_hooks_are_counted_by_what_came_through_them(where: Where) -> None:
    async with embedded(where(), writing=False) as store:
        body = {"tenant": TENANT, "hook_id": "h-1", "channel": "voice", "vendor": "vapi", "body": b"", "tries": 0}
        item = {"tenant": TENANT, "at": store.now}

        def put(conn: Any) -> None:
            hook = {"tenant": TENANT, "channel": "voice", "vendor": "vapi", "secret": b"", "created_at": store.now}
            conn.execute(insert(table_of(Hook)).values(hook | {"hook_id": "h-1"}))
            conn.execute(insert(table_of(Hook)).values(hook | {"hook_id": "h-2", "revoked_at": store.now}))
            for id_, is_done in ((1, True), (2, True), (3, False)):
                row = body | {"id": id_, "received_at": store.now, "is_done": is_done}
                conn.execute(insert(table_of(HookBody)).values(row))
            for key, id_, state in (("a", 1, "done"), ("b", 1, "waiting")):
                conn.execute(insert(table_of(HookItem)).values(item | {"key": key, "body_id": id_, "state": state}))
            aside = {"tenant": TENANT, "reason": "unreadable", "detail": "", "kind": "hook", "vendor": "vapi"}
            aside |= {"received_at": store.now, "attempts": 1, "status": "open", "value": b""}
            conn.execute(insert(table_of(SetAside)).values(aside))

        await store.database.write(put)
        used, revoked = await store.look(machinery.hooks, NOON)
        assert (used.bodies, used.told, used.repeats, used.unread, used.waiting) == (3, 2, 1, 1, 1)
        assert (revoked.hook_id, revoked.bodies, revoked.last_at) == ("h-2", 0, None)
        assert await store.look(machinery.set_aside_of_vendors, NOON) == {"vapi": {"unreadable": 1}}
        assert await store.look(machinery.unread_bodies) == 1


async def test_the_machinery_says_who_has_what_and_how_a_model_answers(where: Where) -> None:
    async with embedded(where()) as store:
        await store.post(summary(borrower_id="B-1"))
        found = await store.database.read(lambda conn: machinery.partitions(conn, store.log.name))
        assert [(one.partition, one.epoch, one.owner) for one in found] == [(0, 1, "one"), (1, 1, "one")]

        def put(conn: Any) -> None:
            asked = {"tenant": TENANT, "channel": "voice", "loan_id": "", "record_version": 1, "flow_version": "f"}
            asked |= {"prompt_hash": "h", "model": "m", "asked_at": store.now, "expires_at": store.now}
            for n, (failure, ms) in enumerate(((None, 100), (None, 300), ("timeout", 900))):
                row = asked | {"borrower_id": f"B-{n}", "failure": failure, "latency_ms": ms}
                conn.execute(insert(table_of(Proposal)).values(row))
            sent = {
                "topic": "intake",
                "tenant": TENANT,
                "borrower_id": "B-1",
                "event_id": "e",
                "value": b"",
                "owner": "o",
            }
            sent |= {"claimed_at": store.now, "added_at": store.now - timedelta(seconds=5)}
            conn.execute(insert(table_of(Outbox)).values(sent))

        await store.database.write(put)
        told_ = await store.look(machinery.model_answers, NOON)
        assert [(one.failure, one.count, one.mean_ms) for one in told_] == [("", 2, 200), ("timeout", 1, 900)]
        spool = await store.database.read(lambda conn: machinery.spool(conn, store.now))
        assert (spool["intake"].count, spool["intake"].oldest_seconds) == (1, 5.0)


@pytest.mark.parametrize("cursor", ["x", "WzFd", "WyIyMDI2IiwiYSIsImIiXQ"])
async def test_a_cursor_that_is_none_is_refused(where: Where, cursor: str) -> None:
    async with embedded(where(), writing=False) as store:
        for page, arguments in (
            (board.promises_due_page, (DAY, DAY, NOON)),
            (board.promises_overdue_page, (None, NOON)),
            (board.callbacks_page, (NOON,)),
            (board.broken_page, (NOON,)),
        ):
            with pytest.raises(ValueError):
                await store.look(page, *arguments, 10, cursor)
