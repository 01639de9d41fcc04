"""Gists as they are kept beside their records, and who keeps them (`service.gist` says what they are).

They are kept a moment after the record is saved and many at once, so that no save waits for it. A gist names the version of
its record; the read asks for that of the record as it is. So one that is late, lost or out of date is never told, and whoever
asks meanwhile is told the same from the record.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Final

import msgspec
import structlog
from sqlalchemy import Connection, and_, bindparam, insert, select

from service.database import DatabaseUnavailable, Store
from service.gist import gist_of
from service.policy import Policies
from service.prepared import OfList, Prepared
from service.tables import Borrower, Gist, IdentifierLink, table_of
from service.writer import Saved

KEEP_SECONDS: Final = 0.02  # a moment, in which several saves of one record come to one gist
WAITING_LIMIT: Final = 5_000  # records; of more the oldest get no gist
SLICE_SECONDS: Final = 0.01  # of making gists, before other requests have a turn

log = structlog.get_logger("service.gists")
BORROWER, GIST, IDENTIFIER = table_of(Borrower), table_of(Gist), table_of(IdentifierLink)


class Glimpse(msgspec.Struct, frozen=True):
    """A borrower at one record version, and the gist kept of it."""

    borrower_id: str
    version: int
    gist: bytes


_ITS_GIST: Final = and_(
    GIST.c.tenant == BORROWER.c.tenant,
    GIST.c.borrower_id == BORROWER.c.borrower_id,
    GIST.c.version == BORROWER.c.version,
)
_GLIMPSE: Final = Prepared(
    select(BORROWER.c.borrower_id, BORROWER.c.version, GIST.c.gist)
    .join(GIST, _ITS_GIST)
    .where(
        BORROWER.c.tenant == bindparam("of_tenant"),
        BORROWER.c.borrower_id == bindparam("of_borrower"),
        BORROWER.c.redirected_to.is_(None),
    )
)
_LINKED: Final = OfList(
    select(IDENTIFIER.c.borrower_id, BORROWER.c.version, GIST.c.gist)
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


class GistKeeper:
    """Keeps the gists of records that were saved. Give `saved` to the writer, and `flush` before the store closes."""

    def __init__(self, store: Store, policies: Policies) -> None:
        self._store = store
        self._policies = policies
        self._waiting: dict[tuple[str, str], Saved] = {}
        self._task: asyncio.Task[None] | None = None
        self._keeping = asyncio.Lock()

    def saved(self, saved: Sequence[Saved]) -> None:
        for one in saved:
            self._waiting.pop((one.tenant, one.borrower_id), None)
            if one.state.redirected_to is None:
                self._waiting[one.tenant, one.borrower_id] = one
        while len(self._waiting) > WAITING_LIMIT:
            del self._waiting[next(iter(self._waiting))]
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._soon())

    async def _soon(self) -> None:
        while self._waiting:
            await asyncio.sleep(KEEP_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Keeps what waits. What the database cannot take now is not kept: the next save makes another."""
        async with self._keeping:
            waiting, self._waiting = self._waiting, {}
            rows: list[tuple[str, str, int, bytes]] = []
            until = time.perf_counter() + SLICE_SECONDS
            for one in waiting.values():
                policy = self._policies.for_tenant(one.tenant)
                try:
                    gist = gist_of(one.state, one.state.cycle_of(None), policy).to_bytes()
                except Exception as fault:  # noqa: BLE001  # a copy that cannot be made must not cost the others theirs
                    log.error("gist.failed", tenant=one.tenant, fault=type(fault).__name__)
                    continue
                rows.append((one.tenant, one.borrower_id, one.version, gist))
                if time.perf_counter() > until:
                    await asyncio.sleep(0)
                    until = time.perf_counter() + SLICE_SECONDS
            if rows:
                with contextlib.suppress(DatabaseUnavailable):
                    await self._store.write(lambda connection: keep(connection, rows))
