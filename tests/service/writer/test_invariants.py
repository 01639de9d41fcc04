"""A broken invariant stops its partition, loudly, and loses nothing (DESIGN 13)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from service.intake.log import Logged
from service.intake.table_log import TableLog
from service.tables import Intake, table_of
from service.writer import InvariantBroken
from service.writer.invariants import check_kept, check_rungs
from statemachine.merge import merge
from statemachine.record import Bucket, Record
from statemachine.stamps import Entry
from statemachine.state import rungs
from tests.service.conftest import Where
from tests.service.embedded import (
    NOON,
    POLICIES,
    TENANT,
    Embedded,
    embedded,
    event,
    hours,
    opened,
    promise,
    stamped,
    summary,
)
from tests.service.writer.conftest import (
    hasher,
    statuses,
    trouble,
)


class RewindingLog:
    """A log that gives old entries again, as one does that was restored."""

    def __init__(self, log: TableLog) -> None:
        self._log = log
        self.rewinds = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def read(self, partition: int, offset: int, limit: int, wait_seconds: float) -> list[Logged]:
        return await self._log.read(partition, 0 if self.rewinds and wait_seconds else offset, limit, wait_seconds)


async def test_a_position_that_does_not_grow_stops_the_partition_and_loses_nothing(where: Where) -> None:
    async with embedded(where(), writing=False, partitions=1) as service:
        log = RewindingLog(service.log)
        writing = service.write(log_=log)
        await service.post(promise(borrower_id="B-1"))
        log.rewinds = True
        log.interrupt()
        await service.append(promise("c-2", borrower_id="B-1"))
        await trouble(writing)
        assert "partition 0: stopped" in writing.health()
        assert await service.version("B-1") == 1
        await service.stop_writing()
        service.write()
        await service.settled()
        assert await service.version("B-1") == 2


async def _left(service: Embedded, **changes: Any) -> str:
    """What a writer says that finds the log like this after it had merged two entries."""
    await service.post(promise(borrower_id="B-1"), promise("c-2", borrower_id="B-1"))
    await service.stop_writing()
    for statement in changes.values():
        await service.database.write(lambda c, s=statement: c.exec_driver_sql(s))  # type: ignore[misc]
    log = await TableLog.open(service.database, partitions=1)
    writing = service.write(log_=log)
    await trouble(writing)
    return writing.health()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE intake_head SET identity = 'table:another:crc32'",
        "UPDATE intake_head SET next_offset = 1",
        "UPDATE intake SET event_id = 'another'",
        "DELETE FROM intake",
        "UPDATE writer_partition SET partition_count = 2",
    ],
)
async def test_a_log_that_is_not_the_one_we_left_stops_the_partition(where: Where, change: str) -> None:
    async with embedded(where(), partitions=1) as service:
        assert "stopped" in await _left(service, change=change)
        assert await service.version("B-1") == 2


async def test_a_log_whose_words_were_forgotten_is_the_one_we_left(where: Where) -> None:
    async with embedded(where(), partitions=1) as service:
        await service.post(promise(borrower_id="B-1"))
        await service.database.write(lambda c: c.execute(update(table_of(Intake)).values(value=b"{}")))
        await service.stop_writing()
        service.write()
        assert statuses(await service.post(promise("c-2", borrower_id="B-1"))) == ["merged"]


async def test_a_log_that_was_trimmed_is_the_one_we_left(where: Where) -> None:
    async with embedded(where(), partitions=1) as service:
        await service.post(promise(borrower_id="B-1"), promise("c-2", borrower_id="B-1"))
        assert await service.log.trim(service.now + timedelta(days=9)) == 1
        await service.stop_writing()
        service.write()
        assert statuses(await service.post(promise("c-3", borrower_id="B-1"))) == ["merged"]


def conversation(n: int, **fields: Any) -> Entry:
    return stamped(promise(f"c-{n}", hours(n), **fields), "B-1", NOON)


def folded(*entries: Entry) -> Record:
    record = Record.new("B-1")
    for entry in entries:
        record = merge(record, entry, hasher)
    return record


def test_a_merge_that_lets_go_of_a_newer_element_is_noticed() -> None:
    before = folded(
        conversation(1), conversation(2), stamped(event("hold.placed", "h", kind="dispute", reason="x"), "B-1", NOON)
    )
    check_kept(
        before,
        folded(
            *(conversation(n) for n in (1, 2, 3)),
            stamped(event("hold.placed", "h", kind="dispute", reason="x"), "B-1", NOON),
        ),
    )

    def without(name: str, *gone: int) -> Record:
        buckets = []
        for bucket in before.buckets:
            elements = tuple(e for n, e in enumerate(bucket.elements) if bucket.name[0] != name or n not in gone)
            let_go = bucket.elements[0].key if len(elements) < len(bucket.elements) else None
            buckets.append(Bucket(name=bucket.name, elements=elements, let_go=let_go))
        return before.changed(buckets=tuple(buckets))

    check_kept(before, without("conversations", 0))
    for broken in (without("conversations", 1), without("holds", 0), before.changed(buckets=before.buckets[1:])):
        with pytest.raises(InvariantBroken):
            check_kept(before, broken)
    silent = [Bucket(name=b.name, elements=b.elements[1:]) for b in before.buckets]
    with pytest.raises(InvariantBroken):
        check_kept(before, before.changed(buckets=tuple(silent)))


def test_a_rung_that_fell_is_noticed_but_for_a_new_loan() -> None:
    policy = POLICIES.for_tenant(TENANT)
    high, low = (rungs(r, policy) for r in (folded(conversation(1)), folded(conversation(1, commitment=None))))
    check_rungs(low, high)
    with pytest.raises(InvariantBroken):
        check_rungs(high, low)
    elsewhere = rungs(folded(conversation(1, commitment=None, loan_id="LN-1")), policy)
    check_rungs(high, elsewhere)


async def test_a_correction_to_not_the_borrower_and_evictions_may_lower_a_rung(where: Where) -> None:
    async with embedded(where()) as service:
        await service.post(promise(borrower_id="B-1"))
        corrected = summary(borrower_id="B-1", revision=2, outcome="third_party", at=hours(1))
        assert statuses(await service.post(corrected)) == ["merged"]
        assert (await service.state("B-1")).cycle_of(None).rung == "none"
        await service.post(opened("o-1", cycle="CY-1", at=hours(-100)), opened("o-2", cycle="CY-2", at=hours(-50)))
        await service.post(promise("old", hours(-90), borrower_id="B-1", loan_id="LN-1"))
        many = [promise(f"n-{n}", hours(-40 + n / 10), borrower_id="B-1", loan_id="LN-1") for n in range(80)]
        assert set(statuses(await service.post(*many))) == {"merged"}
        old = next(c for c in (await service.state("B-1")).cycles if c.cycle_id == "CY-1")
        assert old.rung == "none", "its promise was let go, and the line goes on"
        assert service.writers[0][0].health() == "ok"
