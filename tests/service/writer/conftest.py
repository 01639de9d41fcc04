"""What the writer's tests share: short pauses, and what is looked at after it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, select

from service import records, writer
from service.intake import envelope
from service.intake.log import Pending, Position
from service.intake.table_log import TableLog
from service.records import BORROWER
from service.writer import Outcome
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.state import derive
from tests.limits import PATIENCE_SECONDS
from tests.service.embedded import (
    PHONE,
    POLICIES,
    SECRETS,
    TENANT,
    Embedded,
)

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
