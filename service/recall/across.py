"""The borrowers of a tenant who may answer a search: by the index, and by their records where the index is behind.

    1 named   those whose notes have most of its words, by the index
    2 behind  those whom the index does not know as they are now: each record is read, and who has a word of the query is
              looked at as well, again those with most of them
    3 keep    what was read in 2 is indexed, some at a time, so that it is read once

After `READ_SECONDS`, in a thread, 2 begins no other page; whoever is not read by then is not passed over, but `is_cut_short` says
so. How hits are ranked, this file must not know.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from service import records
from service.database import DatabaseUnavailable, Store
from service.policy import Policy
from service.reading import Known, understood
from service.recall import index
from service.recall.index import Hash, Words
from statemachine.record import UnreadableRecord

CANDIDATES: Final = 200
"""Borrowers looked at of those whom the index names, and as many of those it is behind with: those with most of the words."""
READ_SECONDS: Final = 10.0
READ_AT_ONCE: Final = 200
KEPT_AT_ONCE: Final = 20

log = structlog.get_logger("service.recall")


@dataclass(slots=True)
class Found:
    """`known`: who may answer. `read`: what the index is to know of those it was behind with. `unreadable`: whose records are
    damaged. `is_cut_short`: not everybody could be read in time, so there is no answer yet."""

    known: list[Known] = field(default_factory=list)
    read: list[Words] = field(default_factory=list)
    unreadable: tuple[str, ...] = ()
    is_cut_short: bool = False


def having(
    connection: Connection, tenant: str, wanted: Sequence[bytes], policy: Policy, now: datetime, keyed_hash: Hash
) -> Found:
    """1, 2. Reads in one snapshot."""
    found, damaged = Found(), []
    of_index = set(index.having(connection, tenant, wanted, CANDIDATES))
    for stored in records.stored_each(connection, tenant, sorted(of_index)).values():
        if stored.redirected_to is None:
            try:
                found.known.append(understood(stored, policy, now))
            except UnreadableRecord:
                damaged.append(stored.borrower_id)
    words = index.IndexedWords(keyed_hash)
    most: list[tuple[int, str, Known]] = []
    until, last = time.monotonic() + READ_SECONDS, ""
    while behind := index.behind(connection, READ_AT_ONCE, tenant, after=(tenant, last)):
        for stored in records.stored_each(connection, tenant, [id_ for _, id_ in behind]).values():
            try:
                known = understood(stored, policy, now)
            except UnreadableRecord:
                damaged.append(stored.borrower_id)
                continue
            its = words.of(tenant, stored.version, known.state)
            found.read.append(its)
            if known.borrower_id not in of_index and (has := len(set(wanted).intersection(its[3]))):
                most.append((-has, known.borrower_id, known))
        most = heapq.nsmallest(CANDIDATES, most, key=lambda one: one[:2])
        last = behind[-1][1]
        if len(behind) == READ_AT_ONCE and time.monotonic() > until:
            found.is_cut_short = True
            return found
    found.known += [known for _, _, known in most]
    found.unreadable = tuple(sorted(set(damaged)))
    return found


async def keep(database: Store, read: Sequence[Words]) -> None:
    """3. Who is indexed meanwhile by somebody else, or has moved on, is left as he is."""
    for start in range(0, len(read), KEPT_AT_ONCE):
        some = read[start : start + KEPT_AT_ONCE]
        try:
            await database.write(lambda conn, some=some: index.keep_each(conn, some))  # type: ignore[misc]
        except (DatabaseUnavailable, IntegrityError) as why:
            log.warning("index.not_kept", why=type(why).__name__)  # only a copy: it is read again
            return
        await asyncio.sleep(0)
