"""One borrower's record as it is stored, and whose an identifier or a loan is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    Connection,
    bindparam,
    select,
)

from service.prepared import OfList, Prepared
from service.tables import (
    Borrower,
    IdentifierLink,
    Loan,
    table_of,
)

BORROWER = table_of(Borrower)
IDENTIFIER = table_of(IdentifierLink)
LOAN = table_of(Loan)


@dataclass(frozen=True, slots=True)
class Stored:
    """A record as bytes, with its version; `borrower_id` is the real one, whatever id was asked for."""

    borrower_id: str
    version: int
    record: bytes
    provisional: bool
    redirected_to: str | None = None


_STORED_OF_TENANT: Final = select(*(BORROWER.c[name] for name in Stored.__dataclass_fields__)).where(
    BORROWER.c.tenant == bindparam("of_tenant")
)
_OF_BORROWER: Final = BORROWER.c.borrower_id == bindparam("of_borrower")
_STORED: Final = Prepared(_STORED_OF_TENANT.where(_OF_BORROWER))
_HELD: Final = Prepared(_STORED_OF_TENANT.where(_OF_BORROWER).with_for_update())
_STORED_EACH: Final = OfList(_STORED_OF_TENANT, BORROWER.c.borrower_id)
_REDIRECT: Final = Prepared(
    select(BORROWER.c.redirected_to).where(
        BORROWER.c.tenant == bindparam("of_tenant"), BORROWER.c.borrower_id == bindparam("of_borrower")
    )
)
_ZONE: Final = Prepared(
    select(BORROWER.c.time_zone).where(
        BORROWER.c.tenant == bindparam("of_tenant"), BORROWER.c.borrower_id == bindparam("of_borrower")
    )
)


def is_provisional(borrower_id: str) -> bool:
    return borrower_id.startswith("~")


def stored(connection: Connection, tenant: str, borrower_id: str) -> Stored | None:
    """The record of this borrower; of a provisional one that turned out to be somebody, of that one."""
    return _followed(_STORED, connection, tenant, borrower_id)


def held(connection: Connection, tenant: str, borrower_id: str) -> Stored | None:
    """As `stored`, and until the transaction ends nobody else saves this record or holds it (`permits`).

    What is read after this is read of a record that does not move.
    """
    return _followed(_HELD, connection, tenant, borrower_id)


def _followed(statement: Prepared, connection: Connection, tenant: str, borrower_id: str) -> Stored | None:
    row = statement.row(connection, of_tenant=tenant, of_borrower=borrower_id)
    if row is not None and row[4] is not None:
        row = statement.row(connection, of_tenant=tenant, of_borrower=row[4]) or row
    return Stored(*row) if row is not None else None


def stored_each(connection: Connection, tenant: str, borrower_ids: Sequence[str]) -> dict[str, Stored]:
    """The records under these very ids, for their writer."""
    return {row[0]: Stored(*row) for row in _STORED_EACH.rows(connection, borrower_ids, of_tenant=tenant)}


def resolve_id(connection: Connection, tenant: str, borrower_id: str) -> str:
    """The id of the real borrower; the id itself when it is one, or is not known."""
    if not is_provisional(borrower_id):
        return borrower_id
    row = _REDIRECT.row(connection, of_tenant=tenant, of_borrower=borrower_id)
    return row[0] if row is not None and row[0] is not None else borrower_id


def time_zone_of(connection: Connection, tenant: str, borrower_id: str) -> str | None:
    """The zone in force when the record was saved last; None for somebody of whom nothing is known."""
    row = _ZONE.row(connection, of_tenant=tenant, of_borrower=borrower_id)
    return row[0] if row is not None else None


# -- whose it is ---------------------------------------------------------------------------------------------------------

_LINKED: Final = OfList(
    select(IDENTIFIER.c.value, IDENTIFIER.c.borrower_id).where(
        IDENTIFIER.c.tenant == bindparam("of_tenant"), IDENTIFIER.c.kind == bindparam("of_kind")
    ),
    IDENTIFIER.c.value,
)
_OWNERS: Final = OfList(
    select(LOAN.c.loan_id, LOAN.c.borrower_id).where(LOAN.c.tenant == bindparam("of_tenant")), LOAN.c.loan_id
)


def borrowers_of(connection: Connection, tenant: str, kind: str, values: Sequence[str]) -> list[str]:
    """Everybody to whom one of these spellings of one identifier is linked now, in the order of their ids."""
    return sorted({row[1] for row in _LINKED.rows(connection, values, of_tenant=tenant, of_kind=kind)})


def borrowers_of_each(
    connection: Connection, tenant: str, kind: str, values: Sequence[str]
) -> dict[str, frozenset[str]]:
    """For each of these identifiers, everybody to whom it is linked now."""
    return _by_first(values, _LINKED.rows(connection, values, of_tenant=tenant, of_kind=kind))


def owners_of_loan(connection: Connection, tenant: str, loan_id: str) -> list[str]:
    """Everybody for whom a cycle of this loan was opened, in the order of their ids."""
    return sorted(row[1] for row in _OWNERS.rows(connection, [loan_id], of_tenant=tenant))


def owners_of_each(connection: Connection, tenant: str, loan_ids: Sequence[str]) -> dict[str, frozenset[str]]:
    """For each of these loans, everybody for whom a cycle of it was opened."""
    return _by_first(loan_ids, _OWNERS.rows(connection, loan_ids, of_tenant=tenant))


def _by_first(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, borrower_id in rows:
        found[name].add(borrower_id)
    return {name: frozenset(borrowers) for name, borrowers in found.items()}
