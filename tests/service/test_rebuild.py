"""Records anew from the journal: the same bytes, the same lists, the same counts."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from service import records
from service.database import InUse
from service.intake import envelope
from service.rebuild import CannotRebuild, Rebuilt, rebuild
from service.records import BORROWER, JOURNAL
from service.resuming import gists
from service.sqlite import SqliteDatabase
from statemachine.stamps import Entry
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
    open_store,
    opened,
    pending,
    promise,
    unlinked,
)
from tests.statemachine import histories

BY_PHONE = {"identifier": {"kind": "phone", "value": PHONE}}
PROVISIONAL = envelope.provisional_id(SECRETS, "phone", PHONE)


async def fill(service: Embedded) -> None:
    """Everything that leaves a row: two borrowers, a number that found its owner, a conflict, repeats, something open."""
    await service.post(promise("c-1", hours(1), **BY_PHONE))
    await service.post(linked("l-1", at=hours(2), time_zone="Asia/Dubai"), opened("o-1", at=hours(2)))
    await service.post(promise("c-2", hours(3), borrower_id="B-2"), promise("c-2", hours(3), borrower_id="B-2"))
    await service.post(promise("c-2", hours(3), borrower_id="B-2", amount=7))
    started = {"channel": "voice", "conversation_id": "c-9"}
    await service.post(event("conversation.started", "s-1", hours(4), borrower_id="B-2", **started))
    await service.post(event("hold.placed", "h-1", borrower_id="B-1", kind="dispute", reason="x", until=hours(99)))
    await service.post(linked("l-2", "B-2", "+919000000002"), unlinked("u-2", "B-2", "+919000000002", hours(5)))


async def rebuilt(place: Path | str, progress: Any = lambda done, of: None) -> Rebuilt:
    """As the command does it."""
    store = await open_store(place, serving=isinstance(place, Path))
    try:
        return await rebuild(store, SECRETS, POLICIES, lambda: NOON + histories.timedelta(days=1), progress)
    finally:
        await store.close()


async def test_a_rebuild_gives_the_same_bytes_lists_and_counts(where: Where) -> None:
    path = where()
    async with embedded(path) as service:
        await fill(service)
        before, now = await service.all_rows(), service.now
        counts = await service.look(records.counted, now, hours(99))
    done: list[tuple[int, int]] = []
    found = await rebuilt(path, lambda *step: done.append(step))
    assert (found.changed, found.removed, found.borrowers) == (0, 0, len(before["borrower"]))
    assert done[0] == (0, found.borrowers)
    assert done[-1] == (found.borrowers, found.borrowers)
    async with embedded(path) as service:
        assert await service.all_rows() == before
        assert await service.look(records.counted, now, hours(99)) == counts
        again = await service.post(
            promise("c-2", hours(3), borrower_id="B-2"), promise("c-3", hours(5), borrower_id="B-2")
        )
        assert [o.status for o in again] == ["duplicate", "merged"]


async def test_whatever_was_lost_or_spoilt_comes_back(where: Where) -> None:
    path = where()
    async with embedded(path) as service:
        await fill(service)
        before = await service.all_rows()
        spoil = [
            "DELETE FROM borrower WHERE borrower_id = 'B-1'",
            "UPDATE borrower SET record = SPOILT, redirected_to = NULL WHERE borrower_id LIKE '~phone%'",
            "DELETE FROM journey", "DELETE FROM identifier", "DELETE FROM started",
            "INSERT INTO loan VALUES ('acme', 'LN-9', 'B-2')",
            "INSERT INTO borrower SELECT 'acme', 'B-nobody', version, record, content_hash, provisional, redirected_to,"
            " redirected_after, time_zone, log, partition, log_offset FROM borrower WHERE borrower_id = 'B-2'",
        ]  # fmt: skip
        await service.stop_writing()
        for statement in spoil:
            said = statement.replace("SPOILT", "CAST('{}' AS BLOB)" if isinstance(path, Path) else "'{}'::bytea")
            await service.database.write(lambda c, s=said: c.exec_driver_sql(s))  # type: ignore[misc]
        assert await service.all_rows() != before
    found = await rebuilt(path)
    provisional = sorted([PROVISIONAL, envelope.provisional_id(SECRETS, "phone", "+919000000002")])
    assert found.changed_ids == [("acme", "B-1"), *(("acme", id_) for id_ in provisional)]
    assert (found.changed, found.removed) == (3, 1)
    async with embedded(path) as service:
        assert await service.all_rows() == before


@given(stream=st.lists(histories.entries, min_size=1, max_size=20), seed=st.integers(0, 2**32))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_of_any_stream_the_rebuild_is_what_the_writer_made(
    tmp_path_factory: pytest.TempPathFactory, stream: list[Entry], seed: int
) -> None:
    chance = random.Random(seed)

    async def run() -> None:
        path = tmp_path_factory.mktemp("stream") / "test.db"
        async with embedded(path) as service:
            for entry in chance.choices(stream, k=len(stream) + 5):
                own = f"B-{sum(entry.event_id.encode()) % 3}"
                moved = Entry(entry.body, entry.stamps.changed(borrower_id=own))
                await service.log.append([pending(moved)])
            await service.settled()
            before = await service.all_rows()
        assert (await rebuilt(path)).changed == 0
        async with embedded(path) as service:
            assert await service.all_rows() == before

    asyncio.run(run())


async def test_nobody_may_serve_an_sqlite_file_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    serving = await SqliteDatabase.open(path, serving=True)
    with pytest.raises(InUse, match="rebuild only while it is stopped"):
        await rebuilt(path)
    await serving.close()
    assert (await rebuilt(path)).borrowers == 0


async def test_an_entry_that_cannot_be_read_stops_it_by_name(where: Where) -> None:
    path = where()
    async with embedded(path) as service:
        await service.post(promise(borrower_id="B-1"))
        before = await service.record("B-1")
        spoil = update(JOURNAL).where(JOURNAL.c.event_id == "voice:c-1:1").values(body=b'{"channel": "secret"}')
        await service.database.write(lambda c: c.execute(spoil))
    with pytest.raises(CannotRebuild, match="voice:c-1:1 of borrower B-1") as caught:
        await rebuilt(path)
    assert "secret" not in str(caught.value)
    async with embedded(path) as service:
        assert await service.record("B-1") == before


async def test_gists_go_with_the_page_of_their_records(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuild that ends after its first page leaves none of it that tells of a record as it was."""
    monkeypatch.setattr("service.rebuild.PAGE_BORROWERS", 1)
    path = where()
    async with embedded(path) as service:
        await service.post(promise(borrower_id="B-1"), promise("c-2", borrower_id="B-2"))
        kept = [(TENANT, borrower, 1, b"old") for borrower in ("B-1", "B-2")]
        await service.database.write(lambda c: gists.keep(c, kept))
        spoil = update(JOURNAL).where(JOURNAL.c.borrower_id == "B-2").values(body=b"{}")
        await service.database.write(lambda c: c.execute(spoil))
    with pytest.raises(CannotRebuild):
        await rebuilt(path)
    async with embedded(path) as service:
        assert await service.look(gists.glimpse, "B-1") is None
        assert (await service.look(gists.glimpse, "B-2")).gist == b"old"


async def test_a_version_is_the_number_of_entries_again(where: Where) -> None:
    path = where()
    async with embedded(path) as service:
        await service.post(*(promise(f"c-{n}", hours(n), borrower_id="B-1") for n in range(5)))
        await service.stop_writing()
        await service.database.write(lambda c: c.execute(update(BORROWER).values(version=99)))
    await rebuilt(path)
    async with embedded(path) as service:
        assert await service.version("B-1") == 5
