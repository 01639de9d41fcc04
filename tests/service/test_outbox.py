"""What is to go to Kafka: the spool, what writers send each other, and the answers that wait for it.

Where Kafka would be stands the table log, behind the same call; a real broker is tried in `tests.together`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from service.database import DatabaseUnavailable
from service.intake import envelope, kafka_intake
from service.intake.kafka_intake import JournalWatch, KafkaIntake
from service.intake.kafka_producer import Message
from service.intake.kafka_topics import Topic
from service.intake.log import LogBusy, LogUnavailable, Pending, Position
from service.intake.outbox import STALE_SECONDS, Outbox, holds, is_awaited, waiting
from service.intake.table_log import TableLog
from service.tables import Awaited, Repeat, table_of
from service.tables import Outbox as OutboxRow
from service.writer import Outcome
from statemachine.stamps import Entry
from tests.limits import PATIENCE_SECONDS
from tests.service.embedded import (
    PHONE,
    SECRETS,
    TENANT,
    Embedded,
    embedded,
    linked,
    pending,
    promise,
    stamped,
)

ROWS, AWAITED, REPEAT = table_of(OutboxRow), table_of(Awaited), table_of(Repeat)
NUMBER = {"kind": "phone", "value": PHONE}
TOPICS = {"intake": Topic("t.intake", 2), "changes": Topic("t.changes", 2)}


class Broker:
    """Takes messages as Kafka does, or not; those for the intake topic go into the table log."""

    def __init__(self, service: Embedded) -> None:
        self.service = service
        self.is_down = False
        self.is_busy = False
        self.intake: list[str] = []
        self.changes: list[dict[str, Any]] = []

    async def send(self, messages: Sequence[Message]) -> list[int]:
        if self.is_busy:
            raise LogBusy("busy")
        if self.is_down:
            raise LogUnavailable("down")
        offsets = []
        for m in messages:
            tenant, _, borrower_id = m.key.decode().partition("|")
            if m.topic == "t.changes":
                self.changes.append(json.loads(m.value))
                offsets.append(0)
                continue
            event_id = dict(m.headers)["event_id"].decode()
            self.intake.append(event_id)
            [position] = await self.service.log.append([Pending(tenant, borrower_id, event_id, m.value)])
            offsets.append(position.offset)
        return offsets


@asynccontextmanager
async def opened(
    path: Path, *, owner: str = "one", writing: bool = True
) -> AsyncIterator[tuple[Embedded, Broker, Outbox]]:
    """The service with an outbox between its writer and the log."""
    async with embedded(path / "test.db", writing=False) as service:
        broker = Broker(service)
        outbox = another(service, broker, owner)
        if writing:
            service.write(internal=outbox)
        yield service, broker, outbox


def intake_of(service: Embedded, broker: Broker, outbox: Outbox) -> KafkaIntake:
    watch = JournalWatch(service.database)
    return KafkaIntake(service.database, broker, outbox, TOPICS["intake"], service.log, watch, SECRETS.keyed_hash)


def another(service: Embedded, broker: Broker, owner: str) -> Outbox:
    return Outbox(service.database, broker, TOPICS, owner, service.clock)


@asynccontextmanager
async def relaying(outbox: Outbox) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    running = asyncio.ensure_future(outbox.relay(stopping))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait_for(running, PATIENCE_SECONDS)


async def rows(service: Embedded, table: Any = ROWS) -> list[Any]:
    return list(await service.database.read(lambda c: c.execute(select(table)).mappings().all()))


def spooled(n: int, borrower: str = "B-1") -> Pending:
    return Pending(TENANT, borrower, f"e-{n}", b"{}")


# -- the spool ---------------------------------------------------------------------------------------------------------


async def test_what_is_too_much_at_once_is_refused_and_not_spooled(tmp_path: Path) -> None:
    """The spool is for a Kafka that is away; one that is busy is tried again by whoever posted (503, Retry-After)."""
    async with opened(tmp_path, writing=False) as (service, broker, outbox):
        intake = intake_of(service, broker, outbox)
        broker.is_busy = True
        with pytest.raises(LogBusy):
            await intake.make_durable([spooled(1)])
        assert await rows(service) == []
        assert not intake.spools
        broker.is_busy = False
        assert (await intake.make_durable([spooled(1)]))[0].offset == 0


async def test_what_kafka_does_not_take_is_durable_and_goes_there_in_its_order(tmp_path: Path) -> None:
    async with opened(tmp_path, writing=False) as (service, broker, outbox):
        intake = intake_of(service, broker, outbox)
        assert await intake.make_durable([spooled(0)]) == [Position(service.log.partition_of(TENANT, "B-1"), 0)]
        broker.is_down = True
        answers = [await intake.make_durable([spooled(n)]) for n in (1, 2)]
        assert [a[0].offset for a in answers] == [-1, -1]
        assert intake.spools
        with pytest.raises(LogUnavailable):
            await outbox.relay_once()
        assert [row["event_id"] for row in await rows(service)] == ["e-1", "e-2"]
        broker.is_down = False
        await intake.make_durable([spooled(3)])
        assert await outbox.relay_once()
        assert broker.intake == ["e-0", "e-1", "e-2", "e-3"]
        assert await rows(service) == []


async def test_a_borrower_who_waits_in_the_spool_is_not_overtaken_and_others_are_not_held_up(tmp_path: Path) -> None:
    async with opened(tmp_path, writing=False) as (service, broker, outbox):
        await outbox.spool([spooled(1)])
        other = intake_of(service, broker, another(service, broker, "two"))
        await other.make_durable([spooled(2), spooled(3, "B-2"), spooled(4)])
        assert broker.intake == ["e-3"]
        assert await service.database.read(lambda c: holds(c, {(TENANT, "B-1"), (TENANT, "B-2")})) == {(TENANT, "B-1")}
        while await outbox.relay_once():
            pass
        assert broker.intake == ["e-3", "e-1"], "the second is another process's to send"
        while await other._outbox.relay_once():
            pass
        assert broker.intake == ["e-3", "e-1", "e-2", "e-4"]


async def test_nobody_sends_what_is_behind_another_processs_entry(tmp_path: Path) -> None:
    async with opened(tmp_path, writing=False) as (service, broker, one):
        two = another(service, broker, "two")
        await one.spool([spooled(1)])
        await two.spool([spooled(2), spooled(3, "B-2")])
        assert await two.relay_once()
        assert broker.intake == ["e-3"]
        assert not await two.relay_once()
        assert await one.relay_once()
        assert await two.relay_once()
        assert broker.intake == ["e-3", "e-1", "e-2"]


async def test_what_a_dead_process_left_another_sends(tmp_path: Path) -> None:
    async with opened(tmp_path, writing=False) as (service, broker, dead):
        await dead.spool([spooled(1), spooled(2)])
        alive = another(service, broker, "two")
        assert not await alive.relay_once()
        service.now += timedelta(seconds=STALE_SECONDS + 1)
        assert await alive.relay_once()
        assert broker.intake == ["e-1", "e-2"]
        assert await rows(service) == []


async def test_neither_kafka_nor_the_database_takes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, writing=False) as (service, broker, outbox):
        intake = intake_of(service, broker, outbox)
        broker.is_down = True
        await service.database.close()
        with pytest.raises(LogUnavailable, match="neither"):
            await intake.make_durable([spooled(1)])
        with pytest.raises(DatabaseUnavailable):
            await outbox.relay_once()


async def test_a_relay_is_woken_and_goes_on_after_an_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.intake.outbox.POLL_SECONDS", 300.0)
    monkeypatch.setattr("service.intake.outbox.BACKOFF_SECONDS", 0.02)
    async with opened(tmp_path, writing=False) as (service, broker, outbox), relaying(outbox):
        await outbox.spool([spooled(1)])
        await settled(lambda: broker.intake == ["e-1"])
        broker.is_down = True
        await outbox.spool([spooled(2)])
        await settled(lambda: not outbox.reaches_kafka)
        assert (await service.database.read(lambda c: waiting(c, TENANT)))[0] == 1
        broker.is_down = False
        await settled(lambda: broker.intake == ["e-1", "e-2"] and outbox.reaches_kafka)


async def settled(true: Any) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not true():  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0.005)


# -- what writers send and announce ------------------------------------------------------------------------------------


async def test_evidence_reaches_another_record_through_the_outbox(tmp_path: Path) -> None:
    async with opened(tmp_path) as (service, broker, outbox), relaying(outbox):
        await service.post(promise(identifier=NUMBER))
        await service.post(linked("link"))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(broker.intake) < 2 or await rows(service, AWAITED):  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.005)
        assert [id_.split(":")[0] for id_ in broker.intake] == [" redirected", " joined"]
        assert (await service.state("B-1")).cycle_of(None).rung == "proposed"


async def test_a_link_is_answered_for_with_the_evidence_that_it_brings(tmp_path: Path) -> None:
    async with opened(tmp_path) as (service, broker, outbox):
        watch = JournalWatch(service.database)
        await service.post(promise(identifier=NUMBER))
        told = watch.expect(TENANT, "link")
        await service.post(linked("link"))
        await asyncio.sleep(0.1)
        assert not told.done()
        assert await service.database.read(lambda c: is_awaited(c, TENANT, "link"))
        async with relaying(outbox):
            outcome = await asyncio.wait_for(told, PATIENCE_SECONDS)
        assert (outcome.status, outcome.borrower_id) == ("merged", "B-1")
        assert [row["event_id"] for row in await rows(service) if row["topic"] == "intake"] == []
        assert (await service.state("B-1")).cycle_of(None).rung == "proposed"
        assert len(broker.intake) == 2


async def test_every_changed_record_is_announced_once_it_is_saved(tmp_path: Path) -> None:
    async with opened(tmp_path) as (service, broker, outbox), relaying(outbox):
        await service.post(promise(borrower_id="B-1"))
        await settled(lambda: len(broker.changes) == 1)
        [told] = broker.changes
        assert told["type"] == "borrower.changed"
        assert told["specversion"] == "1.0"
        assert told["source"] == f"/borrower-memory/records/{TENANT}"
        assert told["data"] == {
            "borrower_id": "B-1",
            "record_version": 1,
            "event_id": told["data"]["event_id"],
            "stage": "committed",
            "rung": "proposed",
        }
        await service.post(promise(borrower_id="B-1"))
        await asyncio.sleep(0.05)
        assert len(broker.changes) == 1, "a repeat changes nothing"


# -- what became of it -------------------------------------------------------------------------------------------------


async def test_outcomes_are_read_from_the_journal_in_the_words_of_the_embedded_service(tmp_path: Path) -> None:
    async with opened(tmp_path) as (service, _, _outbox):
        watch = JournalWatch(service.database)
        first, again, other = promise(), promise(), promise(amount=9)
        copies = [stamped(first, "B-1", service.now)]
        service.now += timedelta(seconds=1)
        copies += [stamped(again, "B-1", service.now), stamped(other, "B-1", service.now)]
        waits = [
            watch.expect(TENANT, c.event_id, c.stamps.digest, envelope.body_hash(c.body, SECRETS.keyed_hash))
            for c in copies
        ]
        await service.log.append([pending(c) for c in copies])
        outcomes = await asyncio.wait_for(asyncio.gather(*waits), PATIENCE_SECONDS)
        assert [o.status for o in outcomes] == ["merged", "duplicate", "conflict"]
        assert [o.record_version for o in outcomes] == [1, 1, None]


async def test_two_copies_that_cannot_be_told_apart_are_merged_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (service, _, _outbox):
        watch = JournalWatch(service.database)
        copy = stamped(promise(), "B-1", service.now)
        body_hash = envelope.body_hash(copy.body, SECRETS.keyed_hash)
        waits = [watch.expect(TENANT, copy.event_id, copy.stamps.digest, body_hash) for _ in range(2)]
        await service.log.append([pending(copy), pending(copy)])
        assert [o.status for o in await asyncio.wait_for(asyncio.gather(*waits), PATIENCE_SECONDS)] == [
            "merged",
            "duplicate",
        ]


async def test_nobody_is_looked_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_intake, "FORGET_SECONDS", 0.05)
    async with opened(tmp_path) as (service, _, _outbox):
        watch = JournalWatch(service.database)
        watch.expect(TENANT, "never")
        assert watch._looking is not None
        await asyncio.wait_for(watch._looking, PATIENCE_SECONDS)


class SharedLog:
    """The table log, as one that others may write to."""

    others_may_write = True

    def __init__(self, log: TableLog) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


async def test_what_only_the_way_to_the_log_sent_twice_is_no_repeat(tmp_path: Path) -> None:
    async with embedded(tmp_path / "test.db", writing=False) as service:
        service.write(log_=SharedLog(service.log))
        copy = stamped(promise(), "B-1", service.now)
        assert [o.status for o in await sent(service, copy, copy)] == ["merged", "duplicate"]
        assert [o.status for o in await sent(service, copy)] == ["duplicate"]
        assert await rows(service, REPEAT) == []
        service.now += timedelta(seconds=1)
        again = stamped(promise(), "B-1", service.now)
        assert [o.status for o in await sent(service, again)] == ["duplicate"]
        assert len(await rows(service, REPEAT)) == 1, "that one was sent again by somebody"


async def test_what_bears_another_key_or_stamp_than_ours_is_set_aside(tmp_path: Path) -> None:
    async with embedded(tmp_path / "test.db", writing=False, partitions=1) as service:
        service.write(log_=SharedLog(service.log))
        own = stamped(promise(), "B-1", service.now)
        forged = Entry(own.body, own.stamps.changed(digest="0" * 32))
        mislaid = Pending("zeta", "B-1", own.event_id, pending(own).value)
        told = await service.told(await service.log.append([pending(forged), mislaid, pending(own)]))
        assert [o.status for o in told] == ["set_aside", "set_aside", "merged"]


async def sent(service: Embedded, *entries: Entry) -> list[Outcome]:
    return await service.told(await service.log.append([pending(entry) for entry in entries]))


async def test_what_is_not_merged_is_listed_of_one_tenant_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    async with opened(tmp_path, writing=False) as (service, broker, outbox):
        intake = intake_of(service, broker, outbox)
        for n in range(6):
            await intake.make_durable([spooled(n, f"B-{n}"), Pending("other", f"B-{n}", f"o-{n}", b"{}")])
        found: list[str] = []
        place: tuple[int, int] | None = (-1, -1)
        while place is not None:
            told = await intake.waiting(TENANT, place, 2)
            assert len(told.entries) <= 2
            found += [entry.event_id for _, entry in told.entries]
            place = told.looked_up_to
        assert sorted(found) == [f"e-{n}" for n in range(6)]
