"""What can never merge is set aside; a failure of the world moves nothing (DESIGN 13)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import update

from service import records
from service.intake import envelope
from service.intake.log import Pending
from service.records import BORROWER, REPEAT, SET_ASIDE
from statemachine.entries import Event, Summary
from statemachine.stamps import Entry
from tests.service.conftest import Where
from tests.service.embedded import (
    NOON,
    SECRETS,
    TENANT,
    embedded,
    event,
    hours,
    linked,
    pending,
    promise,
    stamped,
)
from tests.service.writer.conftest import (
    Stumbling,
    assert_records_are_the_fold_of_the_journal,
    count,
    statuses,
)


def breaks_every_time(borrower: str = "B-1") -> Pending:
    """A link without its identifier, which intake never stamps: no state can be derived of it."""
    entry = stamped(linked("bad", borrower), borrower, NOON)
    return pending(Entry(entry.body, entry.stamps.changed(identifier=None)))


async def test_one_bad_item_does_not_stop_the_line(where: Where) -> None:
    async with embedded(where(), partitions=1) as service:
        bad = breaks_every_time("B-101")
        good = [pending(stamped(promise(f"c-{n}"), b, NOON)) for n, b in enumerate(("B-101", "B-102"))]
        outcomes = await service.told(await service.log.append([bad, *good]))
        assert statuses(outcomes) == ["set_aside", "merged", "merged"]
        page = await service.look(records.set_aside, None, 10, None)
        [item] = page.items
        assert (item["reason"], item["event_id"], item["borrower_id"]) == ("cannot_merge", "bad", "B-101")
        assert (item["attempts"], item["status"], item["kind"]) == (5, "open", "event")
        assert await service.version("B-101") == 1
        await service.told(await service.log.append([bad]))
        [again] = (await service.look(records.set_aside, None, 10, None)).items
        assert (again["id"], again["attempts"]) == (item["id"], 10), "tried by hand, it is the same item"
        assert (await service.look(records.set_aside_item, item["id"]))[1] == bad.value
        await assert_records_are_the_fold_of_the_journal(service)


async def test_copies_of_a_bad_item_are_one_item_and_no_repeats(where: Where) -> None:
    async with embedded(where(), partitions=1) as service:
        outcomes = await service.told(await service.log.append([breaks_every_time()] * 3))
        assert statuses(outcomes) == ["set_aside"] * 3
        assert await count(service, SET_ASIDE) == 1
        assert await count(service, REPEAT) == 0


async def test_a_damaged_record_stops_its_borrower_alone_and_a_retry_merges(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        writing = service.write()
        await service.post(promise(borrower_id="B-1"))
        await service.stop_writing()
        sound = (await service.record("B-1")).to_bytes()

        def damage(raw: bytes) -> Any:
            return service.database.write(
                lambda c: c.execute(update(BORROWER).where(BORROWER.c.borrower_id == "B-1").values(record=raw))
            )

        await damage(b"{}")
        writing = service.write()
        late = promise("c-2", hours(1), borrower_id="B-1")
        outcomes = await service.post(late, promise("c-3", hours(1), borrower_id="B-2"))
        assert statuses(outcomes) == ["set_aside", "merged"]
        assert writing.health() == "ok"
        await damage(sound)
        assert statuses(await service.post(late)) == ["merged"]
        [item] = (await service.look(records.set_aside, None, 10, None)).items
        assert (item["status"], item["attempts"]) == ("merged", 6)
        await assert_records_are_the_fold_of_the_journal(service)


@pytest.mark.parametrize("value", [b"", b"\x00\xff garbage", b'{"specversion":"1.0"}', b"[" * 100_000])
async def test_what_is_no_entry_is_kept_under_its_key(where: Where, value: bytes) -> None:
    async with embedded(where(), partitions=1) as service:
        items = [Pending(TENANT, "B-1", "e-1", value), pending(stamped(promise(), "B-1", NOON))]
        assert statuses(await service.told(await service.log.append(items))) == ["set_aside", "merged"]
        [item] = (await service.look(records.set_aside, "open", 10, None)).items
        assert (item["reason"], item["event_id"], item["borrower_id"]) == ("unreadable", "e-1", "B-1")
        assert (await service.look(records.set_aside_item, item["id"]))[1] == value
        assert "garbage" not in item["detail"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (promise(outcome="connected"), "summary"),
        (event("reminder.sent", "e-9", borrower_id="B-1", channel="voice", message_id="m", outcome="sent"), "event"),
    ],
    ids=["summary", "event"],
)
@pytest.mark.parametrize("spoil", ["its body", "its version", "its stamps", "its id"])
async def test_what_cannot_be_read_is_listed_as_what_it_says_it_is(
    where: Where, body: Summary | Event, kind: str, spoil: str
) -> None:
    """Kind and reason are what ops sort by: an unreadable summary is no event that failed to merge (API 12)."""
    entry = pending(stamped(body, "B-1", NOON))
    document = json.loads(entry.value)
    if spoil == "its body":
        document["data"]["body"]["outcome"] = "odd"
    elif spoil == "its version":
        document["data"]["v"] = 99
    elif spoil == "its stamps":
        document["data"]["stamps"] = {}
    else:
        document["id"] = "another"
    async with embedded(where(), partitions=1) as service:
        spoilt = Pending(TENANT, "B-1", entry.event_id, json.dumps(document).encode())
        assert statuses(await service.told(await service.log.append([spoilt]))) == ["set_aside"]
        [item] = (await service.look(records.set_aside, "open", 10, None)).items
        assert (item["kind"], item["reason"], item["event_id"]) == (kind, "unreadable", entry.event_id)
        assert item["detail"].startswith("unreadable: ")


async def test_an_entry_in_somebody_elses_partition_is_not_merged_there(where: Where) -> None:
    async with embedded(where(), partitions=2) as service:
        wrong = next(b for b in (f"B-{n}" for n in range(9)) if service.log.partition_of(TENANT, b) == 1)
        entry = pending(stamped(promise(), wrong, NOON))
        mine = next(b for b in (f"B-{n}" for n in range(9)) if service.log.partition_of(TENANT, b) == 0)
        astray = Pending(TENANT, mine, entry.event_id, entry.value)
        assert statuses(await service.told(await service.log.append([astray]))) == ["set_aside"]
        assert await service.version(wrong) == 0


async def test_what_the_database_cannot_store_is_found_among_the_others(where: Where) -> None:
    async with embedded(where(), writing=False, partitions=1) as service:
        unknown = envelope.provisional_id(SECRETS, "phone", "+919000000007")

        def refuses(items: Sequence[Pending]) -> Exception | None:
            it = any(item.borrower_id == unknown for item in items)
            return UnicodeEncodeError("utf-8", "x", 0, 1, "half a surrogate") if it else None

        bodies: list[Any] = [promise(f"c-{n}", borrower_id=f"B-{n}") for n in range(9)]
        bodies.insert(4, linked("bad", "B-1", "+919000000007"))
        positions = await service.append(*bodies)
        service.write(internal=Stumbling(service.log, refuses))
        outcomes = await service.told(positions)
        assert [o.event_id for o in outcomes if o.status != "merged"] == ["bad"]
        [item] = (await service.look(records.set_aside, "open", 10, None)).items
        assert (item["event_id"], item["reason"]) == ("bad", "cannot_merge")
        await assert_records_are_the_fold_of_the_journal(service)
