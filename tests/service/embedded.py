"""The embedded service without its edge: a database, its log and its writer, for tests of what stands on them.

Bodies are stamped as intake stamps them. Who is meant is told, or looked up by the identifier as intake does.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from service import records
from service.database import Store
from service.intake import envelope
from service.intake.log import InternalLog, Pending, Position
from service.intake.stamping import Found, stamps_of
from service.intake.table_log import TableLog
from service.intake.terms import Warnings
from service.policy import Policies
from service.postgres import PostgresDatabase
from service.records import BORROWER, JOURNAL
from service.secrets import Secrets
from service.sqlite import SqliteDatabase
from service.sqlite.schema import migrate
from service.writer import Outcome, Outcomes, Writer
from statemachine.entries import EVENT_TYPES, Event, Identifier, Summary
from statemachine.record import Record
from statemachine.stamps import Entry
from statemachine.state import BorrowerState, derive
from tests.limits import PATIENCE_SECONDS

TENANT = "acme"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
PHONE = "+919000000001"
SECRETS = Secrets([b"k" * 32])
POLICIES = Policies()


def hours(count: float) -> datetime:
    return NOON + timedelta(hours=count)


def summary(conversation: str = "c-1", at: datetime = NOON, **fields: Any) -> Summary:
    given = {"channel": "voice", "conversation_id": conversation, "ended_at": at, "outcome": "connected", **fields}
    return Summary.model_validate(given)


def promise(conversation: str = "c-1", at: datetime = NOON, amount: int = 5000, **fields: Any) -> Summary:
    said = {"amount": amount, "due_date": "2026-11-25", "status": "proposed"}
    return summary(conversation, at, **{"commitment": said, **fields})


def event(type_: str, event_id: str, at: datetime = NOON, **fields: Any) -> Event:
    return EVENT_TYPES[type_].model_validate({"type": type_, "event_id": event_id, "occurred_at": at, **fields})


def opened(event_id: str, borrower: str = "B-1", loan: str = "LN-1", cycle: str = "CY-1", at: datetime = NOON) -> Event:
    due = {"due_date": "2026-11-30", "amount_due": "12500", "currency": "INR"}
    return event("cycle.opened", event_id, at, borrower_id=borrower, loan_id=loan, cycle_id=cycle, **due)


def linked(event_id: str, borrower: str = "B-1", phone: str = PHONE, at: datetime = NOON, **fields: Any) -> Event:
    who = {"borrower_id": borrower, "identifier": {"kind": "phone", "value": phone}}
    return event("identifier.linked", event_id, at, **who, **fields)


def unlinked(
    event_id: str, borrower: str = "B-1", phone: str = PHONE, at: datetime = NOON, reason: str = "wrong_borrower"
) -> Event:
    who = {"borrower_id": borrower, "identifier": {"kind": "phone", "value": phone}}
    return event("identifier.unlinked", event_id, at, **who, reason=reason)


def stamped(body: Summary | Event, borrower_id: str, received_at: datetime, through: str | None = None) -> Entry:
    identifier = body.identifier
    key = f"{identifier.kind}:{identifier.value}" if identifier else None
    speaks_of_it = isinstance(body, Event) and body.type.startswith("identi")
    found = Found(borrower_id, key if speaks_of_it else None, through, "Asia/Kolkata", "INR")
    stamps = stamps_of(body, found, received_at, SECRETS.keyed_hash, Warnings())
    return Entry(body, stamps.changed(digest=envelope.entry_digest(body, stamps, SECRETS.keyed_hash)))


def pending(entry: Entry, tenant: str = TENANT) -> Pending:
    return Pending(tenant, entry.stamps.borrower_id, entry.event_id, envelope.to_bytes(tenant, entry))


@dataclass
class Embedded:
    """One opened database. The clock stands still unless it is moved."""

    database: Store
    log: TableLog
    outcomes: Outcomes
    now: datetime = NOON + timedelta(days=1)
    writers: list[tuple[Writer, asyncio.Task[None]]] = field(default_factory=list)

    def clock(self) -> datetime:
        return self.now

    def write(self, *, internal: InternalLog | None = None, owner: str = "one", **parts: Any) -> Writer:
        """Starts a writer."""
        writer = Writer(
            parts.pop("database", self.database),
            parts.pop("log_", self.log),
            SECRETS,
            POLICIES,
            parts.pop("outcomes", self.outcomes),
            self.clock,
            internal=internal or self.log,
            owner=owner,
            **parts,
        )
        self.writers.append((writer, asyncio.ensure_future(writer.run())))
        return writer

    async def stop_writing(self) -> None:
        for writer, running in self.writers:
            await writer.stop()
            await running
        self.writers.clear()

    async def whose(self, body: Summary | Event) -> tuple[str, str | None]:
        """The borrower that is meant, and the identifier it came through."""
        identifier: Identifier | None = body.identifier
        through = f"{identifier.kind}:{identifier.value}" if identifier else None
        if body.borrower_id is not None:
            return body.borrower_id, through
        if identifier is None:
            assert body.loan_id is not None
            owners = await self.database.read(lambda c: records.owners_of_loan(c, TENANT, str(body.loan_id)))
            return (owners[0] if owners else envelope.provisional_id(SECRETS, "loan", body.loan_id)), None
        kind, value = identifier.kind, identifier.value
        found = await self.database.read(lambda c: records.borrowers_of(c, TENANT, kind, [value]))
        return (found[0] if len(found) == 1 else envelope.provisional_id(SECRETS, kind, value)), through

    async def append(self, *bodies: Summary | Event) -> list[Position]:
        """Makes them durable, each as its own append, all at once."""
        entries = [stamped(b, who, self.now, through) for b in bodies for who, through in [await self.whose(b)]]
        return [p for ps in await asyncio.gather(*(self.log.append([pending(e)]) for e in entries)) for p in ps]

    async def post(self, *bodies: Summary | Event) -> list[Outcome]:
        """What became of each."""
        return await self.told(await self.append(*bodies))

    async def post_to(self, borrower_id: str, *bodies: Summary | Event, through: str | None = None) -> list[Outcome]:
        """As if they had been addressed before anything else was known."""
        entries = [pending(stamped(body, borrower_id, self.now, through)) for body in bodies]
        return await self.told(await self.log.append(entries))

    async def told(self, positions: Sequence[Position]) -> list[Outcome]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return list(await asyncio.gather(*(self.outcomes.expect(p) for p in positions)))

    async def settled(self) -> None:
        """Until everything in the log is merged."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await self.look(records.unmerged, self.now))[0]:  # noqa: ASYNC110 (no event tells of any writer)
                await asyncio.sleep(0.002)

    # -- looking

    async def look(self, function: Any, *arguments: Any, **named: Any) -> Any:
        """What a function of `records` says."""
        return await self.database.read(lambda c: function(c, TENANT, *arguments, **named))

    async def record(self, borrower_id: str) -> Record:
        found = (await self.look(records.stored_each, [borrower_id])).get(borrower_id)
        return Record.from_bytes(found.record) if found else Record.new(borrower_id)

    async def version(self, borrower_id: str) -> int:
        found = (await self.look(records.stored_each, [borrower_id])).get(borrower_id)
        return found.version if found else 0

    async def state(self, borrower_id: str) -> BorrowerState:
        """As readers see it, under whatever id."""
        found = await self.look(records.stored, borrower_id)
        assert found is not None
        return derive(Record.from_bytes(found.record), self.now, POLICIES.for_tenant(TENANT))

    async def journal(self, *names: str) -> list[tuple[Any, ...]]:
        order = (JOURNAL.c.partition, JOURNAL.c.log_offset)
        wanted = select(*(JOURNAL.c[name] for name in names)).order_by(*order)
        return [tuple(row) for row in await self.database.read(lambda c: c.execute(wanted).all())]

    async def all_rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that a rebuild makes."""

        def every(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
            tables = (
                BORROWER, records.JOURNEY, records.IDENTIFIER, records.LOAN, records.STARTED, records.CALLBACK,
            )  # fmt: skip
            return {t.name: sorted(tuple(map(str, row)) for row in connection.execute(select(t))) for t in tables}

        return await self.database.read(every)


_migrated: list[bytes] = []
"""A file with all tables and no rows, made once: migrating each test's own would take longer than the test."""


def _keep_migrated(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    _migrated.append(path.read_bytes())


def _made(path: Path) -> bool:
    """Whether there is a file, now."""
    if not path.exists() and _migrated:
        path.write_bytes(_migrated[0])
    return path.exists()


async def open_store(where: Path | str, *, serving: bool = False) -> Store:
    """A file that is there, or a new one; or the PostgreSQL of a URL, migrated."""
    if isinstance(where, str):
        return await PostgresDatabase.open(where, serving=serving)
    if not _made(where):
        await migrate(where)
        _keep_migrated(where)
    return await SqliteDatabase.open(where, serving=serving)


@contextlib.asynccontextmanager
async def embedded(where: Path | str, *, writing: bool = True, partitions: int = 2) -> AsyncIterator[Embedded]:
    """Opened where it is told (`open_store`); with a writer running unless told otherwise."""
    database = await open_store(where)
    opened_ = Embedded(database, None, Outcomes())  # type: ignore[arg-type]
    opened_.log = await TableLog.open(database, partitions=partitions, clock=opened_.clock)
    if writing:
        opened_.write()
    try:
        yield opened_
    finally:
        await opened_.stop_writing()
        await database.close()
