"""Gists as they are kept beside their records (`service.resuming.gist` says what they are, `service.keeper` when they are kept).

A gist names the version of its record; the read asks for that of the record as it is. So one that is late, lost or out of date
is never told, and whoever asks meanwhile is told the same from the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import Connection, and_, bindparam, insert, select

from service.chats.rows import known_of
from service.policy import Policies
from service.prepared import OfList, Prepared
from service.resuming.gist import gist_of
from service.tables import Borrower, Gist, IdentifierLink, table_of
from statemachine.state import BorrowerState

BORROWER, GIST, IDENTIFIER = table_of(Borrower), table_of(Gist), table_of(IdentifierLink)


class Glimpse(msgspec.Struct, frozen=True):
    """A borrower at one record version, and the gist kept of it."""

    borrower_id: str
    version: int
    gist: bytes
    has_chats: bool
    """Whether any chat of him is kept; without one nobody needs to look for those that are open."""


_ITS_GIST: Final = and_(
    GIST.c.tenant == BORROWER.c.tenant,
    GIST.c.borrower_id == BORROWER.c.borrower_id,
    GIST.c.version == BORROWER.c.version,
)
_HAS_CHATS: Final = known_of(BORROWER.c.tenant, BORROWER.c.borrower_id)
_GLIMPSE: Final = Prepared(
    select(BORROWER.c.borrower_id, BORROWER.c.version, GIST.c.gist, _HAS_CHATS)
    .join(GIST, _ITS_GIST)
    .where(
        BORROWER.c.tenant == bindparam("of_tenant"),
        BORROWER.c.borrower_id == bindparam("of_borrower"),
        BORROWER.c.redirected_to.is_(None),
    )
)
_LINKED: Final = OfList(
    select(IDENTIFIER.c.borrower_id, BORROWER.c.version, GIST.c.gist, _HAS_CHATS)
    .select_from(IDENTIFIER)
    .outerjoin(
        BORROWER,
        and_(
            BORROWER.c.tenant == IDENTIFIER.c.tenant,
            BORROWER.c.borrower_id == IDENTIFIER.c.borrower_id,
            BORROWER.c.redirected_to.is_(None),
        ),
    )
    .outerjoin(GIST, _ITS_GIST)
    .where(IDENTIFIER.c.tenant == bindparam("of_tenant"), IDENTIFIER.c.kind == bindparam("of_kind")),
    IDENTIFIER.c.value,
)
_DROP: Final = Prepared(
    GIST.delete().where(GIST.c.tenant == bindparam("of_tenant"), GIST.c.borrower_id == bindparam("of_borrower"))
)
_ADD: Final = Prepared(insert(GIST))


def glimpse(connection: Connection, tenant: str, borrower_id: str) -> Glimpse | None:
    """None when no gist is kept of the record as it is now, or when it is somebody else's."""
    row = _GLIMPSE.row(connection, of_tenant=tenant, of_borrower=borrower_id)
    return Glimpse(*row) if row is not None else None


def glimpse_of_only(connection: Connection, tenant: str, kind: str, values: Sequence[str]) -> Glimpse | None:
    """Of the one borrower to whom these spellings of one identifier are linked. None when there is no such one, or no gist
    of the record as it is now: whoever asks then finds out which it is."""
    rows = _LINKED.rows(connection, values, of_tenant=tenant, of_kind=kind)
    if not rows or rows[0][2] is None or any(row[0] != rows[0][0] for row in rows):
        return None
    return Glimpse(*rows[0])


def keep(connection: Connection, rows: Sequence[tuple[str, str, int, bytes]]) -> None:
    """Tenant, borrower, version and gist of each, in the place of the one before."""
    _DROP.run_each(connection, [{"of_tenant": tenant, "of_borrower": borrower} for tenant, borrower, *_ in rows])
    names = ("tenant", "borrower_id", "version", "gist")
    _ADD.run_each(connection, [dict(zip(names, row, strict=True)) for row in rows])


def drop_all(connection: Connection) -> None:
    """For a rebuild, after which they may be of other records."""
    connection.execute(GIST.delete())


class Gists:
    """Gists as a kind of copy (`service.keeper`): at once and without a rest, for resumes are answered from them."""

    name = "gist"
    moment_seconds = 0.02
    rest = 0.0
    waiting_limit = 5_000
    at_once = 500

    def __init__(self, policies: Policies) -> None:
        self._policies = policies

    def of(self, tenant: str, version: int, state: BorrowerState) -> tuple[str, str, int, bytes]:
        gist = gist_of(state, state.cycle_of(None), self._policies.for_tenant(tenant))
        return tenant, state.borrower_id, version, gist.to_bytes()

    def keep(self, connection: Connection, copies: Sequence[tuple[str, str, int, bytes]]) -> None:
        keep(connection, copies)
