"""An entry that is handed to the writer as it is appended is merged and journalled as if it had been read from the log."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from service.intake import envelope
from service.intake.durable import TableIntake
from service.writer.folding import HANDED_BYTES, HANDED_ENTRIES
from statemachine.entries import Event, Summary
from tests.service.embedded import TENANT, Embedded, embedded, event, hours, opened, pending, promise, stamped, summary

BODIES: list[Summary | Event] = [
    opened("e-1"),
    promise("c-1", loan_id="LN-1", extra={"score": Decimal("1.50"), "seen": [1, None, {"a": "b"}]}),
    promise("c-2", at=hours(1), turns=[{"speaker": "borrower", "text": "haan 5,000 pakka"}], summary="She agreed."),
    summary("c-3", at=hours(2), outcome="third_party", third_party="brother"),
    event("hold.placed", "e-2", hours(3), kind="dispute", reason="asked", until=hours(99)),
    event("payment.confirmed", "e-3", hours(4), payment_ref="P-1", amount="12500", currency="INR"),
]


async def told(file: Path, *, handed: bool) -> tuple[Any, ...]:
    """Everything that is stored, after each of them was posted."""
    async with embedded(file) as e:
        intake = TableIntake(e.log, e.outcomes, e.writers[0][0])
        entries = [stamped(body, "B-1", e.now) for body in BODIES]
        items = [pending(entry) for entry in entries]
        outcomes = await intake.append(items, entries if handed else [None] * len(entries))
        assert {(await outcome).status for outcome in outcomes} == {"merged"}
        await e.settled()
        return await rows(e)


async def rows(e: Embedded) -> tuple[Any, ...]:
    names = ("event_id", "type", "body", "stamps", "body_hash", "record_version", "effective_at", "received_at")
    return await e.all_rows(), await e.journal(*names), (await e.record("B-1")).to_bytes()


async def test_it_makes_no_difference(tmp_path: Path) -> None:
    assert await told(tmp_path / "handed.db", handed=True) == await told(tmp_path / "read.db", handed=False)


async def test_an_entry_is_opened_as_it_would_be_read() -> None:
    for body in BODIES:
        entry = stamped(body, "B-1", hours(5))
        value = envelope.to_bytes(TENANT, entry)
        assert envelope.opened_as(value, TENANT, entry) == envelope.from_bytes(value)


async def test_so_many_are_kept_and_none_that_is_long(tmp_path: Path) -> None:
    async with embedded(tmp_path / "memory.db", writing=False) as e:
        writer = e.write()
        entry = stamped(BODIES[0], "B-1", e.now)
        for number in range(HANDED_ENTRIES + 5):
            writer.hand_over(envelope.to_bytes(f"{TENANT}-{number}", entry), TENANT, entry)
        assert len(writer._folder._handed) == HANDED_ENTRIES
        long = stamped(summary("c-9", summary="a" * HANDED_BYTES), "B-1", e.now)
        writer.hand_over(envelope.to_bytes(TENANT, long), TENANT, long)
        assert len(writer._folder._handed) == HANDED_ENTRIES
