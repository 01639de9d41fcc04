"""Who keeps the copies of records: what is made of a record, stored beside it, and made again (gists, the words to search by).

A copy names the version of its record, and whoever reads it asks for the version that the record has now. So a copy may be late
or missing and is never wrong, and no save waits for one:

    a moment  after a record is saved its copy is made, so that several saves of one record come to one copy
    some      of the records that wait are taken at a time, the longest waiting first, in one transaction
    a rest    follows, so many times as long as the work took: copies take a bounded share of the process's time, and of a
              burst of saves the last are kept when it is over

A record whose copy is dropped here (too many wait, the database is away) has none until it is saved again or caught up with. What
a copy is, this file must not know.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from service.database import DatabaseUnavailable, Store
from statemachine.state import BorrowerState

if TYPE_CHECKING:
    from service.writer import Saved

SLICE_SECONDS: Final = 0.005  # of making copies, before other requests have a turn

C = TypeVar("C")

log = structlog.get_logger("service.keeper")


class Kind(Protocol[C]):
    """One kind of copy: what it is, how it is stored, and how soon and how much of it is kept."""

    name: str
    moment_seconds: float
    rest: float
    """So many times as long as its work took a keeper rests: at 9 it takes at most a tenth of the time."""
    waiting_limit: int
    """Records; of more the oldest get no copy."""
    at_once: int
    """Records of one transaction."""

    def of(self, tenant: str, version: int, state: BorrowerState) -> C:
        """The copy of a record of this version."""

    def keep(self, connection: Connection, copies: Sequence[C]) -> None:
        """Each in the place of the one before."""


class Keeper(Generic[C]):
    """Give `saved` to the writer, and `flush` before the store closes."""

    def __init__(self, store: Store, kind: Kind[C]) -> None:
        self._store = store
        self._kind = kind
        self._waiting: dict[tuple[str, str], tuple[int, BorrowerState]] = {}
        self._task: asyncio.Task[None] | None = None
        self._keeping = asyncio.Lock()

    def saved(self, saved: Sequence[Saved]) -> None:
        """These records were saved. One that turned out to be somebody else's has no copy."""
        for one in saved:
            self._waiting.pop((one.tenant, one.borrower_id), None)
            if one.state.redirected_to is None:
                self._waiting[one.tenant, one.borrower_id] = one.version, one.state
        while len(self._waiting) > self._kind.waiting_limit:
            del self._waiting[next(iter(self._waiting))]
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._soon())

    async def _soon(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._kind.moment_seconds)
            async with self._keeping:
                worked = await self._keep_some()
            if self._kind.rest:
                await asyncio.sleep(self._kind.rest * worked)

    async def flush(self) -> None:
        """Keeps all that waits, without a rest."""
        async with self._keeping:
            while self._waiting:
                await self._keep_some()

    async def _keep_some(self) -> float:
        """How many seconds of work it was."""
        some = [(key, self._waiting.pop(key)) for key in list(itertools.islice(self._waiting, self._kind.at_once))]
        copies: list[C] = []
        worked, began = 0.0, time.perf_counter()
        for (tenant, _), (version, state) in some:
            try:
                copies.append(self._kind.of(tenant, version, state))
            except Exception as fault:  # noqa: BLE001  # a copy that cannot be made must not cost the others theirs
                log.error("copy.failed", kind=self._kind.name, tenant=tenant, fault=type(fault).__name__)
            if (now := time.perf_counter()) > began + SLICE_SECONDS:
                worked += now - began
                await asyncio.sleep(0)
                began = time.perf_counter()
        worked += time.perf_counter() - began
        stored = 0.0

        def keep(connection: Connection) -> None:
            nonlocal stored
            begun = time.perf_counter()
            self._kind.keep(connection, copies)
            stored = time.perf_counter() - begun

        # Of the other error: somebody in another process keeps the same ones at this moment.
        with contextlib.suppress(DatabaseUnavailable, IntegrityError):
            if copies:
                await self._store.write(keep)
        return worked + stored
