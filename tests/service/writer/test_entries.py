"""What becomes of an entry, and whose it turns out to be: once, in whatever order."""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from service import records
from service.intake.table_log import TableLog
from service.records import BORROWER, JOURNAL, REPEAT
from service.tables import IntakeHead, table_of
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.state import derive
from tests.service.conftest import Where
from tests.service.embedded import (
    NOON,
    PHONE,
    POLICIES,
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
    unlinked,
)
from tests.service.writer.conftest import (
    BY_PHONE,
    PROVISIONAL,
    assert_records_are_the_fold_of_the_journal,
    count,
    hasher,
    statuses,
)

# -- what becomes of an entry -----------------------------------------------------------------------------------------


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


# -- whose it turns out to be -----------------------------------------------------------------------------------------


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


@pytest.mark.thorough
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
