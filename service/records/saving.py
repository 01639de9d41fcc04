"""Saving records over the version that was read, with what is kept beside them; and the journal's new rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import (
    Connection,
    bindparam,
    insert,
    update,
)

from service.prepared import Prepared
from service.records.beside import Derived, Row, keyed, save_derived_each
from service.records.borrower import is_provisional
from service.tables import (
    Borrower,
    Journal,
    table_of,
)
from statemachine.record import Record
from statemachine.redirects import whose
from statemachine.state import BorrowerState

BORROWER = table_of(Borrower)
JOURNAL = table_of(Journal)

_ADD_BORROWER: Final = Prepared(insert(BORROWER))
_BORROWER_FIELDS: Final = [c.name for c in BORROWER.columns if c.name not in ("tenant", "borrower_id", "provisional")]
_SET_BORROWER: Final = Prepared(
    update(BORROWER)
    .where(keyed(BORROWER), BORROWER.c.version == bindparam("read_version"))
    .values({name: bindparam(name) for name in _BORROWER_FIELDS})
)
_ADD_TO_JOURNAL: Final = Prepared(insert(JOURNAL))


def redirect_of(record: Record) -> tuple[str | None, datetime | None]:
    """Of a provisional record: whose it is, and up to when its evidence is not theirs (`statemachine.redirects`)."""
    return whose(record.all_of("redirect"))


def record_row(
    record: Record, raw: bytes, state: BorrowerState, version: int, log: str, partition: int, offset: int
) -> Row:
    """A row of `borrower` but for its key; the position is that of the entry merged last."""
    to, after = redirect_of(record) if is_provisional(record.borrower_id) else (None, None)
    return {
        "version": version,
        "record": raw,
        "content_hash": hashlib.sha256(raw).hexdigest(),
        "redirected_to": to,
        "redirected_after": after,
        "time_zone": state.time_zone,
        "log": log,
        "partition": partition,
        "log_offset": offset,
    }


def save_record(connection: Connection, tenant: str, borrower_id: str, read_version: int | None, row: Row) -> bool:
    """Writes a row (`record_row`) over the version that was read, None for a new one. False when that has moved."""
    return save_each(connection, [Save(tenant, borrower_id, read_version, row)])


@dataclass(frozen=True, slots=True)
class Save:
    """One record to be saved over the version that was read, None for a new one, and what is kept beside it."""

    tenant: str
    borrower_id: str
    read_version: int | None
    row: Row
    before: Derived = field(default_factory=Derived)
    after: Derived = field(default_factory=Derived)


def save_each(connection: Connection, saves: Iterable[Save]) -> bool:
    """False when one of them has moved, and then the rest is not whole: the transaction is to be undone.

    Two transactions that save the same records lock them in the same order.
    """
    in_order = sorted(saves, key=lambda save: (save.tenant, save.borrower_id))
    new: list[Row] = []
    changed: list[Row] = []
    for save in in_order:
        if save.read_version is None:
            is_nobodys = is_provisional(save.borrower_id)
            own = {"tenant": save.tenant, "borrower_id": save.borrower_id, "provisional": is_nobodys}
            new.append({**own, **save.row})
        else:
            of = {"of_tenant": save.tenant, "of_borrower_id": save.borrower_id, "read_version": save.read_version}
            changed.append({**of, **save.row})
    if _SET_BORROWER.change_each(connection, changed) != len(changed):
        return False
    _ADD_BORROWER.run_each(connection, new)
    save_derived_each(connection, ((s.tenant, s.borrower_id, s.before, s.after) for s in in_order))
    return True


def replace_record(connection: Connection, tenant: str, borrower_id: str, row: Row) -> None:
    """Writes a row whatever stands there, for a rebuild."""
    remove_record(connection, tenant, borrower_id)
    save_record(connection, tenant, borrower_id, None, row)


def remove_record(connection: Connection, tenant: str, borrower_id: str) -> None:
    connection.execute(BORROWER.delete().where(BORROWER.c.tenant == tenant, BORROWER.c.borrower_id == borrower_id))


def add_to_journal(connection: Connection, rows: Sequence[Row]) -> None:
    _ADD_TO_JOURNAL.run_each(connection, rows)
