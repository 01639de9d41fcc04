"""What was accepted and is not merged yet, on both databases: nothing that is merged, though the log keeps it for days."""

from __future__ import annotations

from service.watching.waiting import SPOOL, waiting
from tests.service.conftest import Where
from tests.service.embedded import embedded, hours, summary


async def test_an_entry_waits_until_it_is_merged_and_is_of_its_tenant_alone(where: Where) -> None:
    async with embedded(where()) as store:
        await store.post_to("B-1", summary("c-1"))
        await store.post_to("B-2", summary("c-2"))
        assert await store.look(waiting, (SPOOL, -1), 10) == []
        await store.stop_writing()
        places = await store.append(*(summary(f"c-{n}", at=hours(n), borrower_id="B-1") for n in (3, 4)))
        found = await store.look(waiting, (SPOOL, -1), 10)
        assert [(one["partition"], one["offset"], one["borrower_id"]) for one in found] == [(*p, "B-1") for p in places]
        assert await store.look(waiting, tuple(places[0]), 10) == found[1:], "from behind a place on"
        assert await store.look(waiting, (SPOOL, -1), 1) == found[:1]
        assert await store.database.read(lambda conn: waiting(conn, "other", (SPOOL, -1), 10)) == []
