"""What was set aside, and what became of it."""

from __future__ import annotations

from typing import Any

from service import records
from tests.service.embedded import (
    NOON,
    TENANT,
    Embedded,
)
from tests.service.records.conftest import pages


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
