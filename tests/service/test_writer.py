"""The single writer, on real databases: once, whoever is alive, whatever fails, in whatever order."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import sys
from collections.abc import Sequence
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select, update

from service import records, writer
from service.database import DatabaseUnavailable
from service.intake import envelope
from service.intake.log import Logged, Pending, Position
from service.intake.table_log import TableLog
from service.records import BORROWER, JOURNAL, REPEAT, SET_ASIDE
from service.sqlite import connections
from service.tables import Intake, IntakeHead, WriterPartition, table_of
from service.writer import Fence, FenceLost, InvariantBroken, Outcome, Outcomes, take_fence
from service.writer.invariants import check_kept, check_rungs
from statemachine.entries import Event, Summary
from statemachine.merge import merge
from statemachine.record import Bucket, Record
from statemachine.stamps import Entry
from statemachine.state import derive, rungs
from tests.limits import PATIENCE_SECONDS
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
    stamped,
    summary,
    unlinked,
)
from tests.statemachine import histories

PROVISIONAL = envelope.provisional_id(SECRETS, "phone", PHONE)
BY_PHONE = {"identifier": {"kind": "phone", "value": PHONE}}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "WORLD_BACKOFF_SECONDS", 0.001)


def hasher(words: str) -> str:
    return SECRETS.keyed_hash(words, "words")


async def trouble(writing: writer.Writer) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while writing.health() == "ok":  # noqa: ASYNC110 (health is asked for, by readiness too)
            await asyncio.sleep(0.005)


async def count(service: Embedded, table: Any, **where: Any) -> int:
    wanted = select(table).where(*(table.c[name] == value for name, value in where.items()))
    return len(await service.database.read(lambda c: c.execute(wanted).all()))


def statuses(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.status for outcome in outcomes]


# -- what becomes of an entry ------------------------------------------------------------------------------------------


async def test_an_entry_is_merged_journalled_and_told(where: Where) -> None:
    async with embedded(where()) as service:
        [outcome] = await service.post(promise(borrower_id="B-1", commitment={"amount": 0, "quote": "I will"}))
        assert (outcome.status, outcome.record_version, outcome.borrower_id) == ("merged", 1, "B-1")
        assert [w.code for w in outcome.warnings] == ["amount_withheld"]
        assert (await service.state("B-1")).cycle_of(None).rung == "proposed"
        assert await service.journal("event_id", "type", "borrower_id", "record_version") == [
            ("voice:c-1:1", "summary", "B-1", 1)
        ]


async def test_the_same_again_is_a_duplicate_with_the_first_answer(where: Where) -> None:
    async with embedded(where()) as service:
        bad = promise(borrower_id="B-1", commitment={"amount": 0, "quote": "I will"})
        [first] = await service.post(bad)
        await service.post(promise("c-2", hours(1), borrower_id="B-1"))
        [again] = await service.post(bad)
        assert (again.status, again.record_version, again.warnings) == ("duplicate", 1, first.warnings)
        assert await service.version("B-1") == 2
        assert await count(service, REPEAT, is_conflict=False) == 1


async def test_another_body_under_the_same_id_is_a_conflict_and_listed(where: Where) -> None:
    async with embedded(where()) as service:
        await service.post(promise(borrower_id="B-1", amount=5000))
        for _ in range(2):
            [outcome] = await service.post(promise(borrower_id="B-1", amount=500))
            assert (outcome.status, outcome.record_version) == ("conflict", None)
        [promised] = (await service.state("B-1")).current_cycles()
        assert promised.promise is not None
        assert promised.promise.amount == 5000
        page = await service.look(records.set_aside, "open", 10, None)
        [item] = page.items
        assert (item["reason"], item["event_id"], item["kind"], item["attempts"]) == (
            "id_conflict",
            "voice:c-1:1",
            "summary",
            2,
        )
        assert (await service.look(records.counted, service.now, hours(99)))["conflicts"] == 2


async def test_of_copies_that_arrive_together_one_is_merged(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        body, paid = promise(borrower_id="B-1"), opened("o-1")
        positions = await service.append(*[body] * 5, *[paid] * 3, promise(borrower_id="B-1", amount=7))
        service.write()
        outcomes = await service.told(positions)
        assert sorted(statuses(outcomes)) == sorted(["merged", "merged", "conflict", *["duplicate"] * 6])
        assert {o.record_version for o in outcomes[:5]} == {outcomes[0].record_version}
        assert await service.version("B-1") == 2
        counted = await service.look(records.counted, service.now, hours(99))
        assert counted == {"deliveries": 9, "repeats": 6, "conflicts": 1, "conversations": 1, "events": 1}


async def test_one_id_for_two_borrowers_is_merged_once(where: Where) -> None:
    """They stand in two partitions, whose writers do not see each other's batch."""
    async with embedded(where(), writing=False, partitions=5) as service:
        bodies = [event("fact.stated", f"e-{n // 4}", borrower_id=f"B-{n}", kind="goal", text="x") for n in range(40)]
        positions = await service.append(*bodies)
        assert len({p.partition for p in positions}) > 1
        service.write()
        outcomes = await service.told(positions)
        assert sorted(statuses(outcomes)) == sorted(["merged"] * 10 + ["conflict"] * 30)
        assert len(await service.journal("event_id")) == 10


async def test_messages_of_an_open_chat_count_as_entries_and_change_nothing_else(where: Where) -> None:
    async with embedded(where()) as service:
        said = {"channel": "whatsapp", "conversation_id": "c-1", "speaker": "borrower", "text": "ok"}
        messages = [
            event("conversation.message", f"m-{n}", borrower_id="B-1", message_id=f"m-{n}", **said) for n in (1, 2)
        ]
        assert [o.record_version for o in await service.post(*messages)] == [1, 2]
        assert (await service.record("B-1")).is_empty
        assert (await service.look(records.timeline, "B-1", 10, None)).items == []


async def test_a_hot_borrower_s_backlog_is_merged_in_few_batches(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        kinds = [promise(f"c-{n}", hours(-n), borrower_id="B-1") for n in range(100)]
        facts = [
            event("fact.stated", f"e-{n}", hours(-n), borrower_id="B-1", kind="goal", text=f"{n}") for n in range(100)
        ]
        mixed: list[Any] = [*kinds, *facts]
        random.Random(1).shuffle(mixed)
        positions = await service.append(*mixed)
        service.write()
        outcomes = await service.told(positions)
        assert sorted(o.record_version or 0 for o in outcomes) == list(range(1, 201))
        expected = Record.new("B-1")
        for body in mixed:
            expected = merge(expected, stamped(body, "B-1", service.now), hasher)
        assert (await service.record("B-1")).to_bytes() == expected.to_bytes()


# -- the journal is the record -----------------------------------------------------------------------------------------


class Stumbling:
    """The way to other records, which fails within the writer's transaction whenever `fails` says so."""

    def __init__(self, log: TableLog, fails: Any) -> None:
        self._log = log
        self._fails = fails

    def append_within(self, connection: Connection, items: Sequence[Pending]) -> list[Position]:
        sent = self._log.append_within(connection, items)
        if (fault := self._fails(items)) is not None:
            raise fault
        return sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


async def assert_records_are_the_fold_of_the_journal(service: Embedded) -> None:
    rows = await service.journal("borrower_id", "type", "body", "stamps", "record_version")
    expected: dict[str, tuple[Record, int]] = {}
    for borrower_id, type_, body, stamps, version in sorted(rows, key=lambda row: (row[0], row[4])):
        record, before = expected.get(borrower_id, (Record.new(borrower_id), 0))
        assert version == before + 1, "each entry raises the version by one"
        expected[borrower_id] = merge(record, envelope.stored(type_, body, stamps), hasher), version
    found = await service.database.read(
        lambda c: c.execute(select(BORROWER.c.borrower_id, BORROWER.c.record, BORROWER.c.version)).all()
    )
    assert {row[0]: (row[1], row[2]) for row in found} == {b: (r.to_bytes(), v) for b, (r, v) in expected.items()}
    for borrower_id, (record, _) in expected.items():
        state = derive(record, service.now, POLICIES.for_tenant(TENANT))
        stored = await service.look(records.stored_derived, borrower_id)
        assert stored == records.derived(record, state, stored.loans)


@given(
    stream=st.lists(histories.entries, min_size=1, max_size=25),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_repeated_rolled_back_or_restarted_the_records_are_the_fold_of_the_journal(
    tmp_path_factory: pytest.TempPathFactory, stream: list[Entry], seed: int
) -> None:
    chance = random.Random(seed)
    sent = [*stream, *chance.choices(stream, k=len(stream) // 2)]
    chance.shuffle(sent)

    async def run() -> None:
        async with embedded(tmp_path_factory.mktemp("stream") / "test.db", writing=False) as service:
            first: dict[str, bytes] = {}
            for part in (sent[: len(sent) // 2], sent[len(sent) // 2 :]):
                service.write(internal=Stumbling(service.log, _some_failures(chance)))
                items = [pending(_of_borrower(entry)) for entry in part]
                positions = [p for item in items for p in await service.log.append([item])]
                for item, outcome in zip(items, await service.told(positions), strict=True):
                    known = first.setdefault(item.event_id, item.value)
                    assert outcome.status in (
                        ("merged", "duplicate") if known == item.value else ("conflict", "duplicate")
                    )
                await service.stop_writing()
            sent_by_us = {row[0] for row in await service.journal("event_id") if not row[0].startswith(" ")}
            assert sent_by_us == set(first)
            await assert_records_are_the_fold_of_the_journal(service)

    asyncio.run(run())


def _of_borrower(entry: Entry) -> Entry:
    """One id, one borrower, however often it is sent."""
    borrower_id = f"B-{sum(entry.event_id.encode()) % 3}"
    return Entry(entry.body, entry.stamps.changed(borrower_id=borrower_id))


def _some_failures(chance: random.Random) -> Any:
    left = chance.randint(0, 3)

    def fails(_: Sequence[Pending]) -> Exception | None:
        nonlocal left
        if left and chance.random() < 0.5:
            left -= 1
            return DatabaseUnavailable("the world")
        return None

    return fails


async def test_a_batch_that_was_rolled_back_leaves_no_trace_and_is_merged_later(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        failing = True

        def fails(_: Sequence[Pending]) -> Exception | None:
            return DatabaseUnavailable("the world") if failing else None

        writing = service.write(internal=Stumbling(service.log, fails))
        positions = await service.append(promise(borrower_id="B-1"), linked("l-1"))
        waiting = asyncio.ensure_future(service.told(positions))
        await trouble(writing)
        assert await service.journal("event_id") == []
        assert await service.version("B-1") == 0
        assert await service.look(records.unmerged, service.now) == (2, 0.0), "and nothing was sent"
        failing = False
        assert statuses(await waiting) == ["merged", "merged"]
        await service.settled()
        assert writing.health() == "ok"
        await assert_records_are_the_fold_of_the_journal(service)


async def test_what_was_durable_and_not_merged_is_merged_after_a_restart(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        await service.append(promise(borrower_id="B-1"), promise("c-2", borrower_id="B-2"))
        assert await service.look(records.is_behind, "B-1")
        assert not await service.look(records.is_behind, "B-9")
    async with embedded(where()) as service:
        await service.settled()
        assert (await service.version("B-1"), await service.version("B-2")) == (1, 1)
        assert not await service.look(records.is_behind, "B-1")
        assert (await service.append(promise("c-3", borrower_id="B-1")))[0].offset >= 1


POSTS_UNTIL_KILLED = """
import asyncio, pathlib, sys
from tests.service.embedded import embedded, linked, promise

async def main():
    where = sys.argv[1] if "://" in sys.argv[1] else pathlib.Path(sys.argv[1])
    async with embedded(where) as service:
        async def post(number):
            for count in range(10_000):
                phone = f"+9190000000{count % 60:02}"
                bodies = [promise(f"c-{sys.argv[2]}-{number}-{count}", identifier={"kind": "phone", "value": phone})]
                if count % 7 == 3:
                    bodies.append(linked(f"l-{sys.argv[2]}-{number}-{count}", f"B-{count % 5}", phone))
                for outcome in await service.post(*bodies):
                    print("told", outcome.event_id, outcome.status, flush=True)
        await asyncio.gather(*(post(number) for number in range(8)))

asyncio.run(main())
"""


@pytest.mark.process
async def test_after_a_kill_everything_that_was_answered_is_there_once(where: Where) -> None:
    """Three lives of one database, each ended at some moment of its work."""
    path = where()
    told: list[str] = []
    for life in range(3):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", POSTS_UNTIL_KILLED, str(path), str(life), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        while len(told) < 40 * (life + 1) + 3 * life:
            line = (await process.stdout.readline()).decode().split()
            assert line, "it ended by itself"
            if line[0] == "told":
                assert line[2] == "merged"
                told.append(line[1])
        process.kill()
        await process.wait()
    async with embedded(path) as service:
        await service.settled()
        journalled = [row[0] for row in await service.journal("event_id")]
        assert set(told) <= set(journalled)
        assert len(journalled) == len(set(journalled))
        await assert_records_are_the_fold_of_the_journal(service)
        if isinstance(path, Path):
            quick = await service.database.read(lambda c: c.exec_driver_sql("PRAGMA integrity_check").scalar())
            assert quick == "ok"


async def test_the_cache_makes_no_difference(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "CACHE_BYTES", 1)
    async with embedded(where()) as service:
        for n in range(12):
            await service.post(promise(f"c-{n}", hours(n), borrower_id=f"B-{n % 3}"), opened(f"o-{n}", f"B-{n % 3}"))
        await assert_records_are_the_fold_of_the_journal(service)


async def test_whoever_goes_on_from_a_saved_record_is_told(where: Where) -> None:
    async with embedded(where(), writing=False) as service:
        told: list[writer.Saved] = []
        service.write(saved=told.extend)
        await service.post(promise(borrower_id="B-1"))
        [saved] = told
        assert (saved.tenant, saved.borrower_id, saved.version) == (TENANT, "B-1", 1)
        assert saved.state.cycle_of(None).rung == "proposed"
        assert saved.record.to_bytes() == (await service.record("B-1")).to_bytes()


# -- the fence ---------------------------------------------------------------------------------------------------------


async def _two_writers(service: Embedded) -> None:
    """Two writers of one partition, each taking it from the other."""
    other = Outcomes()
    for number in range(24):
        if number % 4 == 0:
            service.write(owner=f"w-{number}", outcomes=other)
        await service.append(*(promise(f"c-{number}-{k}", borrower_id=f"B-{k}") for k in range(5)))
        if number % 8 == 7:
            writer_, running = service.writers.pop(0)
            await writer_.stop()
            await running


async def _journalled(service: Embedded) -> list[tuple[int, int]]:
    return [tuple(row) for row in await service.journal("log_offset", "epoch")]  # type: ignore[misc]


async def _interleaved(service: Embedded) -> bool:
    epochs = [epoch for _, epoch in await _journalled(service)]
    return epochs != sorted(epochs) or await count(service, REPEAT) > 0


async def test_two_writers_of_one_partition_never_interleave(where: Where) -> None:
    async with embedded(where(), writing=False, partitions=1) as service:
        await _two_writers(service)
        await service.settled()
        rows = await _journalled(service)
        assert [offset for offset, _ in rows] == list(range(120)), "each entry once, none left out"
        epochs = [epoch for _, epoch in rows]
        assert epochs == sorted(epochs)
        assert len(set(epochs)) > 1, "the partition changed hands"
        assert await count(service, REPEAT) == 0
        await assert_records_are_the_fold_of_the_journal(service)


async def test_without_the_fence_they_do(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: what the test above looks at goes wrong at once."""

    def unfenced(self: Fence, connection: Connection, to: int, last_entry: str) -> None:
        rows = table_of(WriterPartition)
        connection.execute(update(rows).where(rows.c.partition == self.partition).values(next_offset=to))

    monkeypatch.setattr(Fence, "advance", unfenced)
    async with embedded(where(), writing=False, partitions=1) as service:
        await _two_writers(service)
        # And not until all is merged: one may set the position back for ever.
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await _interleaved(service):  # noqa: ASYNC110 (no event tells of it)
                await asyncio.sleep(0.01)


async def test_a_save_of_somebody_who_lost_the_partition_is_undone(where: Where) -> None:
    async with embedded(where(), writing=False, partitions=1) as service:
        log = service.log

        def take(owner: str) -> Any:
            return service.database.write(lambda c: take_fence(c, log, 0, owner, NOON))

        one, other = await take("one"), await take("other")
        assert (one.epoch, other.epoch) == (1, 2)
        await service.database.write(lambda c: other.advance(c, 5, "x"))

        def late(connection: Connection) -> None:
            records.count_repeat(connection, TENANT, "e-1", NOON, is_conflict=False)
            one.advance(connection, 5, "x")

        with pytest.raises(FenceLost):
            await service.database.write(late)
        assert await count(service, REPEAT) == 0
        other.next_offset = 3
        with pytest.raises(FenceLost):
            await service.database.write(lambda c: other.advance(c, 6, "x"))
        assert await service.database.read(lambda c: other.stands_at(c, 5))
        assert not await service.database.read(lambda c: other.stands_at(c, 6))
        with pytest.raises(FenceLost):
            await service.database.read(lambda c: one.stands_at(c, 5))


async def test_a_commit_that_failed_is_looked_up_and_done_again(tmp_path: Path) -> None:
    async with embedded(tmp_path / "test.db") as service:
        await service.database.write(
            lambda c: [
                c.exec_driver_sql("CREATE TABLE parent (id INTEGER PRIMARY KEY)"),
                c.exec_driver_sql(
                    "CREATE TABLE child (of INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)"
                ),
            ]
        )
        writing = service.writers[0][0]
        spoiled = 0

        async def spoil() -> None:
            """What breaks a foreign key makes the COMMIT fail, and with it everybody's in that group."""
            nonlocal spoiled
            while spoiled < 3:
                with pytest.raises(DatabaseUnavailable):
                    await service.database.write(lambda c: c.exec_driver_sql("INSERT INTO child VALUES (7)"))
                spoiled += 1

        bodies = [promise(f"c-{n}", borrower_id=f"B-{n % 4}") for n in range(40)]
        entries = [pending(stamped(b, str(b.borrower_id), service.now)) for b in bodies]
        positions = await service.log.append(entries)
        await spoil()
        assert set(statuses(await service.told(positions))) == {"merged"}
        assert writing.health() == "ok"
        assert [v for (v,) in await service.journal("log_offset")] == sorted(
            p.offset for p in positions if p.partition == 0
        ) + sorted(p.offset for p in positions if p.partition == 1)
        await assert_records_are_the_fold_of_the_journal(service)


async def test_a_locked_database_stops_nothing_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_LIMIT_SECONDS", 0.02)
    async with embedded(tmp_path / "test.db", writing=False) as service:
        positions = await service.append(promise(borrower_id="B-1"))
        other = sqlite3.connect(tmp_path / "test.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        writing = service.write()
        await trouble(writing)
        assert "waits" in writing.health()
        other.execute("ROLLBACK")
        other.close()
        assert statuses(await service.told(positions)) == ["merged"]
        await service.post(promise("c-2", borrower_id="B-1"), promise("c-3", borrower_id="B-2"))
        assert writing.health() == "ok"


# -- poison ------------------------------------------------------------------------------------------------------------


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


# -- invariants --------------------------------------------------------------------------------------------------------


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


# -- outcomes ----------------------------------------------------------------------------------------------------------


async def test_an_outcome_waits_for_whoever_asks_late_and_for_what_it_depends_on() -> None:
    outcomes = Outcomes()
    link, redirect, joined = Position(0, 1), Position(1, 7), Position(0, 2)

    def outcome(event_id: str) -> Outcome:
        return Outcome("merged", event_id, "B-1", 1)

    early = outcomes.expect(link)
    outcomes.tell(link, outcome("link"), after=redirect)
    outcomes.tell(redirect, outcome("redirect"), after=joined)
    await asyncio.sleep(0)
    assert not early.done()
    outcomes.tell(joined, outcome("joined"))
    assert (await early).event_id == "link"
    assert (await outcomes.expect(redirect)).event_id == "redirect"


async def test_whoever_stops_waiting_is_forgotten() -> None:
    outcomes = Outcomes()
    waiting = outcomes.expect(Position(0, 1))
    waiting.cancel()
    await asyncio.sleep(0)
    assert not outcomes._expected
    outcomes.tell(Position(0, 1), Outcome("merged", "e", "B", 1))
    assert (await outcomes.expect(Position(0, 1))).event_id == "e"


async def test_outcomes_nobody_asked_for_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.writer.outcomes.OUTCOMES_KEPT", 10)
    outcomes = Outcomes()
    for offset in range(25):
        outcomes.tell(Position(0, offset), Outcome("merged", f"e-{offset}", "B", 1))
    assert len(outcomes._told) == 10
    for offset in range(100, 125):
        outcomes.expect(Position(0, offset))
    assert len(outcomes._expected) == 10


# -- whose it turns out to be ------------------------------------------------------------------------------------------


async def versions(service: Embedded) -> dict[str, int]:
    rows = await service.database.read(lambda c: c.execute(select(BORROWER.c.borrower_id, BORROWER.c.version)).all())
    return dict(list(rows))


async def told_conversations(service: Embedded, borrower_id: str) -> list[str]:
    return [c.conversation_id for c in (await service.state(borrower_id)).conversations]


async def test_what_was_kept_under_an_unknown_number_is_theirs_once_it_is_linked(where: Where) -> None:
    async with embedded(where()) as service:
        [first] = await service.post(promise(**BY_PHONE))
        assert first.borrower_id == PROVISIONAL
        await service.post(promise("c-2", hours(1), borrower_id="B-1"))
        [link] = await service.post(linked("l-1", at=hours(2)))
        assert (link.status, link.record_version) == ("merged", 2)
        # Whoever linked it has its answer when the evidence is there.
        assert await versions(service) == {PROVISIONAL: 2, "B-1": 3}
        assert await told_conversations(service, "B-1") == ["c-1", "c-2"]
        assert await service.look(records.resolve_id, PROVISIONAL) == "B-1"
        assert (await service.state(PROVISIONAL)).borrower_id == "B-1"
        timeline = (await service.look(records.timeline, "B-1", 10, None)).items
        assert [(i["kind"], i["event_id"]) for i in timeline] == [
            ("event", "l-1"), ("conversation", "voice:c-2:1"), ("conversation", "voice:c-1:1"),
        ]  # fmt: skip
        shown = (await service.look(records.borrowers, {}, service.now, 10, None)).items
        assert [i["borrower_id"] for i in shown] == ["B-1"]
        await assert_records_are_the_fold_of_the_journal(service)


async def test_a_link_of_a_number_that_told_nothing_moves_no_version_but_its_own(where: Where) -> None:
    async with embedded(where()) as service:
        assert [o.record_version for o in await service.post(linked("l-1"), linked("l-2", at=hours(1)))] == [1, 2]
        await service.settled()
        assert await versions(service) == {"B-1": 2, PROVISIONAL: 1}, "said again, it is not sent again"
        assert (await service.look(records.counted, service.now, hours(99)))["deliveries"] == 2


async def test_a_straggler_that_was_addressed_before_the_link_follows(where: Where) -> None:
    async with embedded(where()) as service:
        await service.post(linked("l-1"))
        [late] = await service.post_to(PROVISIONAL, promise("c-9", hours(3)), through=f"phone:{PHONE}")
        assert late.status == "merged"
        assert await told_conversations(service, "B-1") == ["c-9"]
        assert await service.version("B-1") == 2
        again = await service.post_to(PROVISIONAL, promise("c-9", hours(3)), through=f"phone:{PHONE}")
        assert statuses(again) == ["duplicate"]
        assert await service.version("B-1") == 2


async def test_messages_alone_are_no_evidence_to_send(where: Where) -> None:
    async with embedded(where()) as service:
        said = {"channel": "whatsapp", "conversation_id": "c-1", "speaker": "borrower", "text": "ok", "message_id": "m"}
        await service.post(event("conversation.message", "m-1", **said, **BY_PHONE))
        await service.post(linked("l-1"))
        await service.settled()
        assert await service.version("B-1") == 1


async def test_a_wrong_link_is_taken_back_and_what_comes_then_is_nobodys(where: Where) -> None:
    async with embedded(where()) as service:
        await service.post(promise("c-1", hours(0), **BY_PHONE))
        await service.post(linked("l-1", "B-1", at=hours(1)))
        assert await told_conversations(service, "B-1") == ["c-1"]
        await service.post(unlinked("u-1", "B-1", at=hours(2)))
        assert await told_conversations(service, "B-1") == []
        assert await service.look(records.resolve_id, PROVISIONAL) == PROVISIONAL
        assert await told_conversations(service, PROVISIONAL) == ["c-1"], "it never was hers, so it is nobody's again"
        [later] = await service.post(promise("c-2", hours(3), **BY_PHONE))
        assert later.borrower_id == PROVISIONAL
        assert await told_conversations(service, PROVISIONAL) == ["c-1", "c-2"]
        before = await service.version("B-1")
        await service.post(linked("l-2", "B-2", at=hours(4)))
        assert await told_conversations(service, "B-2") == ["c-1", "c-2"], "whose it was from the beginning"
        assert await told_conversations(service, "B-1") == []
        assert await service.version("B-1") == before
        told = [i["event_id"] for i in (await service.look(records.timeline, "B-2", 10, None)).items]
        assert told == ["l-2", "voice:c-2:1", "voice:c-1:1"]
        await assert_records_are_the_fold_of_the_journal(service)


async def test_a_number_that_two_share_brings_nobody_the_others_evidence(where: Where) -> None:
    async with embedded(where()) as service:
        await service.post(promise("c-1", hours(0), **BY_PHONE))
        await service.post(linked("l-1", "B-1", at=hours(1)))
        await service.post(linked("l-2", "B-2", at=hours(2)))
        await service.settled()
        assert await told_conversations(service, "B-1") == ["c-1"]
        assert await told_conversations(service, "B-2") == []
        assert await service.look(records.borrowers_of, "phone", [PHONE]) == ["B-1", "B-2"]
        await service.post(unlinked("u-1", "B-1", at=hours(3), reason="changed"))
        await service.settled()
        assert await service.look(records.borrowers_of, "phone", [PHONE]) == ["B-2"]
        assert await service.look(records.resolve_id, PROVISIONAL) == "B-2", "of two there is one left"
        assert await told_conversations(service, "B-2") == []


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=lambda order: "".join(map(str, order)))
async def test_what_a_wrong_link_took_is_the_right_borrowers_in_whatever_order_it_is_told(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    """Each step in a batch of its own, and all in one."""
    bodies: list[Any] = [
        promise("c-1", hours(0), **BY_PHONE),
        linked("l-1", "B-1", at=hours(1)),
        unlinked("u-1", "B-1", at=hours(2)),
        linked("l-2", "B-2", at=hours(3)),
    ]
    whose = [PROVISIONAL, "B-1", "B-1", "B-2"]
    entries = [
        pending(stamped(bodies[place], whose[place], NOON, f"phone:{PHONE}" if place == 0 else None)) for place in order
    ]
    for name, batches in (("each", [[entry] for entry in entries]), ("one", [entries])):
        async with embedded(tmp_path / f"{name}.db", partitions=1) as service:
            for batch in batches:
                await service.told(await service.log.append(batch))
            await service.settled()
            assert await told_conversations(service, "B-2") == ["c-1"]
            assert await told_conversations(service, "B-1") == []
            assert await service.look(records.resolve_id, PROVISIONAL) == "B-2"
            await assert_records_are_the_fold_of_the_journal(service)


async def test_what_was_told_while_two_share_a_number_is_nobodys(where: Where) -> None:
    """Both links are older than what was told, and it was told before either was known."""
    async with embedded(where()) as service:
        await service.post(linked("l-1", "B-1", at=hours(1)), linked("l-2", "B-2", at=hours(2)))
        await service.settled()
        await service.post_to(PROVISIONAL, promise("c-1", hours(3)), through=f"phone:{PHONE}")
        await service.settled()
        for borrower in ("B-1", "B-2"):
            assert await told_conversations(service, borrower) == []
        assert await told_conversations(service, PROVISIONAL) == ["c-1"]
        await service.post(unlinked("u-1", "B-2", at=hours(4)))
        await service.settled()
        assert await told_conversations(service, "B-1") == ["c-1"], "the other never had it, so it was never shared"
        assert await told_conversations(service, "B-2") == []
        await assert_records_are_the_fold_of_the_journal(service)


async def test_what_one_had_is_not_anothers_who_is_found_to_share_the_number(where: Where) -> None:
    """In both borrowers it would count twice, and for one of them wrongly."""
    async with embedded(where()) as service:
        await service.post_to(PROVISIONAL, promise("c-1", hours(3)), through=f"phone:{PHONE}")
        await service.post(linked("l-1", "B-1", at=hours(1)))
        await service.post(linked("l-2", "B-2", at=hours(2)))
        await service.settled()
        assert await told_conversations(service, "B-1") == ["c-1"]
        assert await told_conversations(service, "B-2") == []
        assert await service.look(records.resolve_id, PROVISIONAL) == PROVISIONAL
        await assert_records_are_the_fold_of_the_journal(service)


async def test_a_loan_that_is_opened_brings_what_was_told_of_it(where: Where) -> None:
    async with embedded(where()) as service:
        [early] = await service.post(
            event("reminder.sent", "r-1", hours(1), loan_id="LN-1", channel="whatsapp", message_id="m", outcome="sent")
        )
        assert early.borrower_id.startswith("~loan:")
        await service.post(opened("o-1", "B-1", "LN-1", "CY-1", hours(0)))
        assert (await service.state("B-1")).cycle_of("LN-1").reminded.value
        assert await service.look(records.owners_of_loan, "LN-1") == ["B-1"]
        before = await versions(service)
        await service.post(opened("o-2", "B-1", "LN-1", "CY-2", hours(9)))
        await service.settled()
        after = await versions(service)
        assert after == {**before, "B-1": before["B-1"] + 1}, "the next month's opening sends nothing"


async def test_links_that_arrive_out_of_order_end_as_the_last_one_says(where: Where) -> None:
    for number, order in enumerate(([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2])):
        async with embedded(where(str(number))) as service:
            bodies: list[Any] = [
                promise("c-1", hours(0), **BY_PHONE),
                linked("l-1", "B-1", at=hours(1)),
                unlinked("u-1", "B-1", at=hours(2), reason="typed wrong"),
                linked("l-2", "B-1", at=hours(3)),
            ]
            for place in order:
                if isinstance(bodies[place], type(bodies[0])):
                    await service.post_to(PROVISIONAL, bodies[place], through=f"phone:{PHONE}")
                else:
                    await service.post(bodies[place])
            await service.settled()
            assert await service.look(records.borrowers_of, "phone", [PHONE]) == ["B-1"]
            assert await service.look(records.resolve_id, PROVISIONAL) == "B-1"
            await assert_records_are_the_fold_of_the_journal(service)


async def test_tenants_share_nothing(where: Where) -> None:
    async with embedded(where()) as service:
        entries = [stamped(promise(amount=amount), "B-1", NOON) for amount in (1000, 2000)]
        items = [pending(entry, tenant) for entry, tenant in zip(entries, (TENANT, "other"), strict=True)]
        assert statuses(await service.told(await service.log.append(items))) == ["merged", "merged"]
        for tenant, amount in ((TENANT, 1000), ("other", 2000)):
            found = await service.database.read(lambda c, t=tenant: records.stored(c, t, "B-1"))  # type: ignore[misc]
            assert found is not None
            state = derive(Record.from_bytes(found.record), service.now, POLICIES.for_tenant(tenant))
            assert state.current_cycles()[0].promise.amount == amount  # type: ignore[union-attr]
        rows = await service.database.read(lambda c: c.execute(select(JOURNAL.c.tenant)).scalars().all())
        assert sorted(rows) == [TENANT, "other"]


async def test_two_databases_are_two_logs(where: Where) -> None:
    async with embedded(where("one")) as one, embedded(where("two")) as two:
        assert one.log.identity() != two.log.identity()
        heads = await one.database.read(lambda c: c.execute(select(table_of(IntakeHead).c.identity)).scalars().all())
        assert set(heads) == {one.log.identity()}


async def test_a_second_process_appends_and_the_writer_follows(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    async with embedded(where()) as service:
        command = await open_store(where())
        log = await TableLog.open(command, partitions=2)
        await log.append([pending(stamped(promise(), "B-1", NOON))])
        await command.close()
        await service.settled()
        assert await service.version("B-1") == 1
