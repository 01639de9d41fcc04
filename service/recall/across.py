"""The borrowers of a tenant who may answer a search: by the index, and by their records where the index is behind.

    1 named   those in whose notes its words tell most, by the index: a rare word more than a common one
    2 behind  those whom the index does not know as they are now: each record is read, and who has a word of the query is
              looked at as well, again those in whom they tell most
    3 keep    what was read in 2 is indexed, some at a time, so that it is read once

After `READ_SECONDS`, in a thread, 2 begins no other page; whoever is not read by then is not passed over, but `is_cut_short` says
so. How hits are ranked, this file must not know.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy import Connection

from service import records
from service.database import Store
from service.policy import Policy
from service.reading import Known, understood
from service.recall import index
from service.recall.index import Hash, Words
from statemachine.record import UnreadableRecord

CANDIDATES: Final = 200
"""Borrowers looked at of those whom the index names, and as many of those it is behind with."""
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
    """2, then 1, by words counted in both. Reads in one snapshot."""
    found, damaged = Found(), set[str]()
    words, of_query = index.IndexedWords(keyed_hash), frozenset(wanted)
    behind: list[tuple[str, frozenset[bytes]]] = []
    for stored in _behind(connection, tenant, found):
        try:
            its = words.of(tenant, stored.version, understood(stored, policy, now).state)
        except UnreadableRecord:
            damaged.add(stored.borrower_id)
            continue
        found.read.append(its)
        if has := of_query.intersection(its[3]):
            behind.append((stored.borrower_id, has))
    if found.is_cut_short:
        return found
    every, counted = index.counts(connection, tenant, wanted)
    counted.update(word for _, has in behind for word in has)
    tells = index.weights(every + len(found.read), counted)
    told = sorted((-sum(tells[word] for word in has), borrower_id) for borrower_id, has in behind)
    named = {*index.having(connection, tenant, tells, CANDIDATES), *(id_ for _, id_ in told[:CANDIDATES])}
    for stored in records.stored_each(connection, tenant, sorted(named)).values():
        if stored.redirected_to is None:
            try:
                found.known.append(understood(stored, policy, now))
            except UnreadableRecord:
                damaged.add(stored.borrower_id)
    found.unreadable = tuple(sorted(damaged))
    return found


def _behind(connection: Connection, tenant: str, found: Found) -> Iterator[records.Stored]:
    """Those whom the index does not know as they are, in the order of their ids; cut short when the time is over."""
    until, last = time.monotonic() + READ_SECONDS, ""
    while page := index.behind(connection, READ_AT_ONCE, tenant, after=(tenant, last)):
        yield from records.stored_each(connection, tenant, [id_ for _, id_ in page]).values()
        last = page[-1][1]
        if len(page) == READ_AT_ONCE and time.monotonic() > until:
            found.is_cut_short = True
            return


async def keep(database: Store, read: Sequence[Words]) -> None:
    """3. Who is indexed meanwhile by somebody else, or has moved on, is left as he is."""
    for start in range(0, len(read), KEPT_AT_ONCE):
        some = read[start : start + KEPT_AT_ONCE]
        try:
            await database.write(lambda conn, some=some: index.keep_each(conn, some))  # type: ignore[misc]
        except Exception as why:  # noqa: BLE001  # only a copy, whatever keeps it from being kept: it is read again
            log.warning("index.not_kept", why=type(why).__name__)
            return
        await asyncio.sleep(0)
