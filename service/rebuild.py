"""All records anew from the journal, byte for byte, with everything that is derived of them (DESIGN 13).

The journal is only read. Versions stand in it, and repeats beside it, so both survive. What the intake log holds and is not
merged yet is merged afterwards, as ever. With SQLite nobody may serve meanwhile. With PostgreSQL reads go on, and writers
wait for each page of records; when one of its records turns out to be another, they lose their partitions, which they take
again: what they remember of records is no longer so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import structlog
from sqlalchemy import Connection, func, select, tuple_, update

from service import records
from service.database import Store
from service.intake import envelope
from service.policy import Policies
from service.proposer import rows as proposals
from service.recall import index
from service.records import BORROWER, JOURNAL, Derived
from service.resuming import gists
from service.secrets import Secrets
from service.tables import WriterPartition, table_of
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.stamps import UnreadableEntry
from statemachine.state import BorrowerState, derive

PAGE_BORROWERS: Final = 100  # in one transaction, if they have
PAGE_ENTRIES: Final = 2_000  # together no more than this; one alone may
CHANGED_LIMIT: Final = 1_000  # named in the report; all are counted

log = structlog.get_logger("service.rebuild")
FENCES = table_of(WriterPartition)

Key = tuple[str, str]
Progress = Callable[[int, int], None]
"""Told how many of how many borrowers are done."""


class CannotRebuild(Exception):
    """An entry of the journal that this code cannot read. What was rebuilt before it stays, and is right."""


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild found."""

    borrowers: int = 0
    entries: int = 0
    changed: int = 0
    """Whose bytes were others than the journal gives; 0 when all was well."""
    changed_ids: list[Key] = field(default_factory=list)
    removed: int = 0
    """Records of whom the journal knows nothing."""


@dataclass(frozen=True, slots=True)
class _Anew:
    key: Key
    row: records.Row
    derived: Derived
    entries: int


async def rebuild(
    database: Store, secrets: Secrets, policies: Policies, clock: Callable[[], datetime], progress: Progress
) -> Rebuilt:
    """Rebuilds what lies in this database; SQLite's is to be opened as by `serve`.

    Raises `CannotRebuild`, `DatabaseUnavailable`.
    """
    found, now = Rebuilt(), clock()
    total = await database.read_slow(_count)
    last: Key | None = None
    progress(0, total)
    while keys := await database.read_slow(lambda c, last=last: _page(c, last)):  # type: ignore[misc]

        def rebuild_page(connection: Connection, keys: Sequence[Key] = keys) -> tuple[int, list[Key]]:
            _hold_writers(connection)
            page = [_anew(connection, key, secrets, policies, now) for key in keys]
            _drop_gists(connection, keys)
            return sum(one.entries for one in page), _save(connection, page)

        entries, changed = await database.write(rebuild_page)
        last = keys[-1]
        found.borrowers += len(keys)
        found.entries += entries
        found.changed += len(changed)
        found.changed_ids += changed[: CHANGED_LIMIT - len(found.changed_ids)]
        progress(found.borrowers, total)
    found.removed = await database.write(_remove_unknown)
    await database.write(gists.drop_all)  # those that a writer kept meanwhile, of what it remembered
    await database.write(proposals.drop_all)
    await database.write(index.drop_all)
    log.info(
        "rebuilt",
        borrowers=found.borrowers,
        entries=found.entries,
        changed=found.changed,
        removed=found.removed,
    )
    return found


def _count(connection: Connection) -> int:
    borrowers = select(JOURNAL.c.tenant, JOURNAL.c.borrower_id).distinct().subquery()
    return int(connection.execute(select(func.count()).select_from(borrowers)).scalar_one())


def _page(connection: Connection, last: Key | None) -> Sequence[Key]:
    place = (JOURNAL.c.tenant, JOURNAL.c.borrower_id)
    behind = [tuple_(*place) > tuple_(*last)] if last is not None else []
    counted = select(*place, func.count()).where(*behind).group_by(*place).order_by(*place).limit(PAGE_BORROWERS)
    keys: list[Key] = []
    entries = 0
    for tenant, borrower_id, own in connection.execute(counted):
        entries += own
        if keys and entries > PAGE_ENTRIES:
            break
        keys.append((tenant, borrower_id))
    return keys


def _hold_writers(connection: Connection) -> None:
    """Until the transaction ends no save of theirs goes through, for each begins with its partition's fence."""
    connection.execute(select(FENCES.c.epoch).order_by(FENCES.c.log, FENCES.c.partition).with_for_update()).all()


def _fence_off_writers(connection: Connection) -> None:
    """So they begin anew, from what is stored."""
    connection.execute(update(FENCES).values(epoch=FENCES.c.epoch + 1))


def _anew(connection: Connection, key: Key, secrets: Secrets, policies: Policies, now: datetime) -> _Anew:
    """One record from its entries, in the order in which they were merged."""
    tenant, borrower_id = key
    names = ("event_id", "type", "body", "stamps", "record_version", "log", "partition", "log_offset", "loan_id")
    own = (JOURNAL.c.tenant == tenant, JOURNAL.c.borrower_id == borrower_id)
    wanted = select(*(JOURNAL.c[name] for name in names)).where(*own).order_by(JOURNAL.c.record_version)
    rows: Sequence[Any] = connection.execute(wanted).all()
    record = Record.new(borrower_id)
    for row in rows:
        try:
            entry = envelope.stored(row.type, row.body, row.stamps)
        except UnreadableEntry as why:
            raise CannotRebuild(f"entry {row.event_id} of borrower {borrower_id} of {tenant}: {why}") from None
        record = merge(record, entry, lambda words: secrets.keyed_hash(words, "words"))
    state = derive(record, now, policies.for_tenant(tenant))
    loans = {row.loan_id for row in rows if row.type == "cycle.opened"}
    raw, end = record.to_bytes(), rows[-1]
    return _Anew(key, _row(record, raw, state, end), records.derived(record, state, loans), len(rows))


def _row(record: Record, raw: bytes, state: BorrowerState, end: Any) -> records.Row:
    return records.record_row(record, raw, state, end.record_version, end.log, end.partition, end.log_offset)


def _save(connection: Connection, page: Sequence[_Anew]) -> list[Key]:
    """Those whose bytes have changed."""
    changed = []
    for one in page:
        before = records.stored_each(connection, one.key[0], [one.key[1]]).get(one.key[1])
        if before is None or before.record != one.row["record"]:
            changed.append(one.key)
        records.replace_record(connection, *one.key, one.row)
        records.save_derived(connection, *one.key, records.stored_derived(connection, *one.key), one.derived)
    if changed:
        _fence_off_writers(connection)
    return changed


def _drop_gists(connection: Connection, keys: Sequence[Key]) -> None:
    """With their records: whoever reads between two pages is told of the record as it is now."""
    own = tuple_(gists.GIST.c.tenant, gists.GIST.c.borrower_id).in_(keys)
    connection.execute(gists.GIST.delete().where(own))


def _remove_unknown(connection: Connection) -> int:
    told = select(JOURNAL.c.event_id).where(
        JOURNAL.c.tenant == BORROWER.c.tenant, JOURNAL.c.borrower_id == BORROWER.c.borrower_id
    )
    _hold_writers(connection)
    unknown = connection.execute(select(BORROWER.c.tenant, BORROWER.c.borrower_id).where(~told.exists())).all()
    for tenant, borrower_id in unknown:
        records.save_derived(
            connection, tenant, borrower_id, records.stored_derived(connection, tenant, borrower_id), Derived()
        )
        records.remove_record(connection, tenant, borrower_id)
    if unknown:
        _fence_off_writers(connection)
    return len(unknown)
