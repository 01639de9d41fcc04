"""One record, whose it is, and the columns derived from it."""

from __future__ import annotations

import itertools
from datetime import date

from service import records
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.state import derive
from tests.service.embedded import (
    NOON,
    PHONE,
    POLICIES,
    TENANT,
    Embedded,
    hours,
    linked,
    opened,
    promise,
    stamped,
    unlinked,
)
from tests.service.records.conftest import BY_PHONE, PROVISIONAL

# -- one record, and whose it is --------------------------------------------------------------------------------------


async def test_a_record_is_found_under_its_own_id_and_under_the_one_it_had(service: Embedded) -> None:
    await service.post(promise(**BY_PHONE))
    found = await service.look(records.stored, PROVISIONAL)
    assert (found.borrower_id, found.version, found.provisional) == (PROVISIONAL, 1, True)
    assert await service.look(records.resolve_id, PROVISIONAL) == PROVISIONAL
    await service.post(linked("l-1"))
    for asked in (PROVISIONAL, "B-1"):
        found = await service.look(records.stored, asked)
        assert (found.borrower_id, found.provisional, found.version) == ("B-1", False, 2)
        assert await service.look(records.resolve_id, asked) == "B-1"
    assert await service.look(records.stored, "B-9") is None
    assert await service.look(records.resolve_id, "~phone:0000000000000000") == "~phone:0000000000000000"
    assert await service.database.read(lambda c: records.stored(c, "other", "B-1")) is None


async def test_an_identifier_leads_to_whom_it_is_linked_now(service: Embedded) -> None:
    other = "+919000000002"
    await service.post(linked("l-1", "B-1"), linked("l-2", "B-2"), linked("l-3", "B-2", other, at=hours(1)))
    await service.post(unlinked("u-1", "B-2", at=hours(2)))
    assert await service.look(records.borrowers_of, "phone", [PHONE]) == ["B-1"]
    assert await service.look(records.borrowers_of, "phone", ["+910000", other, PHONE]) == ["B-1", "B-2"]
    assert await service.look(records.borrowers_of, "bsuid", [PHONE]) == []


async def test_the_zone_in_force_is_the_one_linked_last(service: Embedded) -> None:
    assert await service.look(records.time_zone_of, "B-1") is None
    await service.post(linked("l-1", time_zone="Asia/Dubai"))
    assert await service.look(records.time_zone_of, "B-1") == "Asia/Dubai"
    await service.post(unlinked("u-1", at=hours(1)))
    assert await service.look(records.time_zone_of, "B-1") == "Asia/Kolkata"


async def test_a_loan_belongs_to_everybody_for_whom_it_was_opened(service: Embedded) -> None:
    await service.post(promise(borrower_id="B-3", loan_id="LN-1"))
    assert await service.look(records.owners_of_loan, "LN-1") == [], "naming a loan opens nothing"
    await service.post(opened("o-1", "B-1"), opened("o-2", "B-2"), opened("o-3", "B-1", cycle="CY-2"))
    assert await service.look(records.owners_of_loan, "LN-1") == ["B-1", "B-2"]


def test_a_loan_stays_linked_when_its_evidence_had_to_go_but_not_when_it_was_anothers() -> None:
    entry = stamped(opened("o-1", at=hours(-1)), "B-1", NOON, through=f"phone:{PHONE}")
    undone = stamped(unlinked("u-1"), "B-1", NOON)

    def loans(record: Record, before: set[str]) -> frozenset[str]:
        return records.derived(record, derive(record, NOON, POLICIES.for_tenant(TENANT)), before).loans

    def hasher(words: str) -> str:
        return words

    full = merge(Record.new("B-1"), entry, hasher)
    assert loans(full, set()) == {"LN-1"}
    assert loans(full.changed(buckets=()), {"LN-1"}) == {"LN-1"}
    assert loans(merge(full, undone, hasher), {"LN-1"}) == set()


# -- derived columns --------------------------------------------------------------------------------------------------


async def test_saving_what_differs_is_saving_all(service: Embedded) -> None:
    """From any derived rows to any others."""
    row = {
        "loan_id": "", "cycle_id": None, "attempt": 1, "stage": "empty", "rung": "none", "amount": None, "currency": "INR",
        "promise_due_date": None, "overdue_at": None, "reminded": False, "payment_link_shared": False,
        "payment_confirmed": False, "outstanding": None, "holds": "[]", "hold_kinds": "", "hold_until": None,
        "last_contact_at": None,
        "last_channel": None,
    }  # fmt: skip
    versions = [
        records.Derived(),
        records.Derived({"": row}, frozenset({("phone", "1")}), frozenset({"LN-1"}), frozenset({("voice", "c", NOON)})),
        records.Derived(
            {
                "LN-1": {**row, "loan_id": "LN-1"},
                "LN-2": {**row, "loan_id": "LN-2", "stage": "paid", "overdue_at": NOON},
            },
            frozenset({("phone", "1"), ("email", "x@y")}),
            frozenset({"LN-2"}),
            frozenset({("voice", "c", hours(1)), ("whatsapp", "c", NOON)}),
        ),
        records.Derived({"LN-2": {**row, "loan_id": "LN-2", "stage": "empty", "promise_due_date": date(2026, 1, 1)}}),
    ]
    for before, after in itertools.product(versions, versions):
        for stage in (before, after):
            now = await service.look(records.stored_derived, "B-1")
            await service.database.write(lambda c, n=now, s=stage: records.save_derived(c, TENANT, "B-1", n, s))  # type: ignore[misc]
            assert await service.look(records.stored_derived, "B-1") == stage


async def test_a_record_is_saved_only_over_the_version_that_was_read(service: Embedded) -> None:
    await service.post(promise(borrower_id="B-1"))
    record = await service.record("B-1")
    state = await service.state("B-1")
    row = records.record_row(record, b"new", state, 2, "table", 0, 9)
    assert not await service.database.write(lambda c: records.save_record(c, TENANT, "B-1", 7, row))
    assert await service.database.write(lambda c: records.save_record(c, TENANT, "B-1", 1, row))
    assert (await service.look(records.stored, "B-1")).record == b"new"
    assert not await service.database.write(lambda c: records.save_record(c, "other", "B-1", 2, row))
