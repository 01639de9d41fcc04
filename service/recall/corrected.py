"""The index as a layer that a correction has to reach (DESIGN 12).

A decision that goes stale raises the version of its borrower's record. The index has answered once it knows the record as it is
then: mostly by itself a moment later, and at the latest here, where it is brought up to it. What a decision says is not in the
index, and whoever finds one by other words asks whether it is current; so while the index is behind nothing wrong is told.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from service import records
from service.database import Store
from service.decisions.corrections import IndexNotReady
from service.policy import Policies
from service.reading import Reader
from service.recall import index
from service.recall.index import INDEXED, Hash, IndexedWords
from statemachine.record import UnreadableRecord


class CorrectedIndex:
    """What `decisions.corrections` asks whether the index has taken a correction in."""

    def __init__(
        self, database: Store, reader: Reader, policies: Policies, clock: Callable[[], datetime], keyed_hash: Hash
    ) -> None:
        self._database = database
        self._reader = reader
        self._policies = policies
        self._clock = clock
        self._words = IndexedWords(keyed_hash)

    async def corrected(self, tenant: str, borrower_id: str, decision_id: str) -> None:
        """Returns when it knows the record as it is. Raises `IndexNotReady`, `DatabaseUnavailable`."""

        def behind(conn: Connection) -> records.Stored | None:
            of = (INDEXED.c.tenant == tenant, INDEXED.c.borrower_id == borrower_id)
            stored = records.stored_each(conn, tenant, [borrower_id]).get(borrower_id)
            known = conn.execute(select(INDEXED.c.version).where(*of)).scalar()
            return None if stored is None or stored.redirected_to or known == stored.version else stored

        stored = await self._database.read(behind)
        if stored is None:
            return
        try:
            known = self._reader.known(tenant, stored, self._policies.for_tenant(tenant), self._clock())
        except UnreadableRecord:
            raise IndexNotReady("the record cannot be read") from None
        words = self._words.of(tenant, stored.version, known.state)
        try:
            is_kept = await self._database.write(lambda conn: index.keep_each(conn, [words]))
        except IntegrityError:
            raise IndexNotReady("it could not be changed at this moment") from None
        if not is_kept:
            raise IndexNotReady("the record has moved on")
