"""How often the signature of a post was refused, by hook and reason, where the dashboard and other processes can see it.

Whoever posts rubbish must not make the database write at will: refusals are counted here in memory, and what was counted is
added to a few rows every few seconds, whatever came. Nothing of what was refused is kept: neither its bytes nor who sent it.
A process that is killed loses what it counted since it last wrote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from service.database import DatabaseUnavailable, Store
from service.prepared import Prepared
from service.tables import HookRefused, table_of

WRITTEN_EVERY_SECONDS: Final = 5.0
SLOT_MINUTES: Final = 15
"""Refusals are counted by slots of so many minutes: in every zone a day begins with one."""
MOST_KEPT: Final = 10_000
"""Different counts that wait to be written. Each is of a hook that exists, so that only an outage could make them many."""

REFUSED: Final = table_of(HookRefused)

_KEY: Final = ("tenant", "hook_id", "slot_at", "why")
_OF_KEY: Final = tuple(REFUSED.c[name] == bindparam(f"of_{name}") for name in _KEY)
_ADD: Final = Prepared(
    update(REFUSED).where(*_OF_KEY).values(count=REFUSED.c.count + bindparam("more"), last_at=bindparam("now_last"))
)
_BEGIN: Final = Prepared(insert(REFUSED).values({name: bindparam(name) for name in (*_KEY, "count", "last_at")}))


@dataclass(frozen=True, slots=True)
class Refused:
    """Of one hook since some time: how many posts were refused, why (`missing`, `wrong`, `stale`; `handshake`: Meta's
    token), and the last of them."""

    count: int
    by_why: Mapping[str, int]
    last_at: datetime


@dataclass(slots=True)
class _Counted:
    count: int
    last_at: datetime


class Refusals:
    """What this process counted and has not written yet."""

    def __init__(self, database: Store, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._written_at = float("-inf")
        self._waiting: dict[tuple[str, str, datetime, str], _Counted] = {}

    def note(self, tenant: str, hook_id: str, why: str, at: datetime) -> None:
        """One more; writes nothing."""
        key = (tenant, hook_id, slot_of(at), why)
        known = self._waiting.get(key)
        if known is not None:
            known.count += 1
            known.last_at = max(known.last_at, at)
        elif len(self._waiting) < MOST_KEPT:
            self._waiting[key] = _Counted(1, at)

    async def write(self, *, at_once: bool = False) -> None:
        """Adds what was counted, if there is anything and the last time was long enough ago, or `at_once`. What could not be
        written is written the next time. Raises `DatabaseUnavailable`."""
        now = self._monotonic()
        if not self._waiting or (now - self._written_at < WRITTEN_EVERY_SECONDS and not at_once):
            return
        self._written_at = now
        counted, self._waiting = self._waiting, {}
        try:
            await self._database.write(lambda conn: _add(conn, counted))
        except DatabaseUnavailable:
            for key, lost in counted.items():
                again = self._waiting.setdefault(key, _Counted(0, lost.last_at))
                again.count += lost.count
                again.last_at = max(again.last_at, lost.last_at)
            raise


def _add(connection: Connection, counted: Mapping[tuple[str, str, datetime, str], _Counted]) -> None:
    for key, told in sorted(counted.items()):
        of = {f"of_{name}": value for name, value in zip(_KEY, key, strict=True)}
        if not _ADD.run(connection, more=told.count, now_last=told.last_at, **of):
            named = dict(zip(_KEY, key, strict=True))
            _BEGIN.run(connection, count=told.count, last_at=told.last_at, **named)


def slot_of(at: datetime) -> datetime:
    """The beginning of the slot in which a time lies."""
    into = timedelta(minutes=at.minute % SLOT_MINUTES, seconds=at.second, microseconds=at.microsecond)
    return at - into


def refused(connection: Connection, tenant: str, since: datetime) -> dict[str, Refused]:
    """By hook, the refusals of a tenant's hooks since then, to a quarter of an hour; no entry for a hook that had none."""
    where = (REFUSED.c.tenant == tenant, REFUSED.c.slot_at >= slot_of(since))
    columns = (REFUSED.c.hook_id, REFUSED.c.why, func.sum(REFUSED.c.count), func.max(REFUSED.c.last_at))
    found: dict[str, dict[str, int]] = {}
    last: dict[str, datetime] = {}
    for hook_id, why, count, at in connection.execute(
        select(*columns).where(*where).group_by(REFUSED.c.hook_id, REFUSED.c.why)
    ):
        found.setdefault(hook_id, {})[why] = int(count)
        last[hook_id] = max(at, last.get(hook_id, at))
    return {hook_id: Refused(sum(by.values()), by, last[hook_id]) for hook_id, by in found.items()}


def purge(connection: Connection, tenant: str, before: datetime) -> int:
    """Takes away the counts of a tenant from before then; how many rows went."""
    old = (REFUSED.c.tenant == tenant, REFUSED.c.slot_at < before)
    return connection.execute(delete(REFUSED).where(*old)).rowcount
