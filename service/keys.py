"""API keys: made, listed, revoked, and looked up for every request (API 2).

The key itself is shown once, when it is made; what is stored is its hash. What a scope allows is not known here, only which
scopes there are.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select, update

from service import secrets
from service.database import DatabaseUnavailable, Store
from service.policy import TENANT_FORM
from service.prepared import Prepared
from service.tables import ApiKey, table_of

SCOPES: Final = ("read", "events:agent", "events:ledger", "events:ops", "search:all", "privacy", "ops")
NAME_CHARACTERS: Final = 100
CACHE_SECONDS: Final = 4.0
"""A revoked key stops within 5 s everywhere (API 2); the rest is for the look-up itself."""
CACHE_KEYS: Final = 10_000
OUTAGE_SECONDS: Final = 300.0
"""So long a key that was known goes on while the database is out of reach: its agents are told of the outage instead of
being turned away as strangers (DESIGN 9). Nothing of the memory can be read meanwhile."""
NEW_ID_TRIES: Final = 5

_KEYS = table_of(ApiKey)
_BY_ID: Final = Prepared(
    select(
        _KEYS.c.key_id,
        _KEYS.c.tenant,
        _KEYS.c.scopes,
        _KEYS.c.name,
        _KEYS.c.created_at,
        _KEYS.c.expires_at,
        _KEYS.c.revoked_at,
        _KEYS.c.key_hash,
    ).where(_KEYS.c.key_id == bindparam("id"))
)


class InvalidKey(ValueError):
    """A key that cannot be made as asked; the command ends with this sentence and exit code 2."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is known; nothing of it opens anything."""

    key_id: str
    tenant: str
    scopes: frozenset[str]
    name: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def as_listed(self) -> dict[str, object]:
        """In the order of API 2, scopes in theirs."""
        return {
            "key_id": self.key_id,
            "tenant": self.tenant,
            "scopes": [scope for scope in SCOPES if scope in self.scopes],
            "name": self.name,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
        }


# -- for the commands --------------------------------------------------------------------------------------------------


def create(
    connection: Connection,
    tenant: str,
    scopes: Iterable[str],
    now: datetime,
    *,
    name: str | None = None,
    expires_at: datetime | None = None,
) -> tuple[str, Key]:
    """The key itself, never to be seen again, and what is kept of it. A tenant exists by its first key.

    Raises `InvalidKey`.
    """
    wanted = frozenset(scopes)
    if not TENANT_FORM.fullmatch(tenant):
        raise InvalidKey("a tenant is 1 to 40 small letters, digits and dashes")
    if not wanted or (unknown := sorted(wanted.difference(SCOPES))):
        what = f"unknown: {', '.join(unknown)}" if wanted else "none given"
        raise InvalidKey(f"the scopes are {', '.join(SCOPES)} ({what})")
    if name is not None and not (len(name.strip()) > 0 and len(name) <= NAME_CHARACTERS and name.isprintable()):
        raise InvalidKey(f"a name is 1 to {NAME_CHARACTERS} signs that can be printed")
    if expires_at is not None and (expires_at.tzinfo is None or expires_at <= now):
        raise InvalidKey("a key expires at a time with its offset that is not past")
    key_id, key = _unused(connection)
    made = Key(key_id, tenant, wanted, name, now, expires_at, None)
    row = {**made.as_listed(), "scopes": _written(wanted), "key_hash": secrets.key_hash(key)}
    connection.execute(insert(_KEYS).values(row))
    return key, made


def _unused(connection: Connection) -> tuple[str, str]:
    for _ in range(NEW_ID_TRIES):
        key_id, key = secrets.new_key()
        if _BY_ID.row(connection, id=key_id) is None:
            return key_id, key
    raise RuntimeError("no key id is free")


def listed(connection: Connection, tenant: str | None = None) -> list[Key]:
    """A tenant's keys, or all, in the order in which they were made."""
    where = [_KEYS.c.tenant == tenant] if tenant is not None else []
    columns = [
        _KEYS.c[name] for name in ("key_id", "tenant", "scopes", "name", "created_at", "expires_at", "revoked_at")
    ]
    rows = connection.execute(select(*columns).where(*where).order_by(_KEYS.c.created_at, _KEYS.c.key_id))
    return [_key(*row) for row in rows]


def revoke(connection: Connection, key_id: str, now: datetime) -> Key | None:
    """The key, which is revoked from now on (or since it first was); None when there is none."""
    standing = (_KEYS.c.key_id == key_id, _KEYS.c.revoked_at.is_(None))
    connection.execute(update(_KEYS).where(*standing).values(revoked_at=now))
    row = _BY_ID.row(connection, id=key_id)
    return _key(*row[:-1]) if row is not None else None


def tenants(connection: Connection) -> list[str]:
    """Those that exist: a tenant exists by its first key (API 2)."""
    return sorted(connection.execute(select(_KEYS.c.tenant).distinct()).scalars())


def exists(connection: Connection, tenant: str) -> bool:
    """Whether there is such a tenant: it has, or had, a key."""
    return connection.execute(select(_KEYS.c.key_id).where(_KEYS.c.tenant == tenant).limit(1)).first() is not None


def _written(scopes: frozenset[str]) -> str:
    return " ".join(scope for scope in SCOPES if scope in scopes)


def _key(
    key_id: str,
    tenant: str,
    scopes: str,
    name: str | None,
    created_at: datetime,
    expires_at: datetime | None,
    revoked_at: datetime | None,
) -> Key:
    return Key(key_id, tenant, frozenset(scopes.split()), name, created_at, expires_at, revoked_at)


# -- for every request -------------------------------------------------------------------------------------------------


class Keyring:
    """The keys in use, remembered by the hash of the key for a few seconds."""

    def __init__(
        self,
        database: Store,
        clock: Callable[[], datetime],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self._known: OrderedDict[str, tuple[float, Key]] = OrderedDict()

    async def lookup(self, key: str) -> Key | None:
        """The key in force that this is; None for anything else. Raises `DatabaseUnavailable` for one not seen lately."""
        hashed = secrets.key_hash(key)
        at = self._monotonic()
        remembered = self._known.get(hashed)
        if remembered is not None and at - remembered[0] < CACHE_SECONDS:
            found = remembered[1]
        else:
            try:
                looked_up = await self._look_up(key)
            except DatabaseUnavailable:
                if remembered is None or at - remembered[0] > OUTAGE_SECONDS:
                    raise
                looked_up = remembered[1]
            else:
                self._remember(hashed, at, looked_up)
            if looked_up is None:
                return None
            found = looked_up
        if found.expires_at is not None and not found.is_valid(self._clock()):
            return None
        return found

    async def by_id(self, key_id: str) -> Key | None:
        """The key in force of this id, for a session that was opened with it; looked up anew. Raises `DatabaseUnavailable`."""
        row = await self._database.read(lambda connection: _BY_ID.row(connection, id=key_id))
        found = _key(*row[:-1]) if row is not None else None
        return found if found is not None and found.is_valid(self._clock()) else None

    async def _look_up(self, key: str) -> Key | None:
        key_id = secrets.key_id_of(key)
        if key_id is None:
            return None
        row = await self._database.read(lambda connection: _BY_ID.row(connection, id=key_id))
        if row is None or not secrets.key_matches(key, row[-1]):
            return None
        found = _key(*row[:-1])
        return found if found.is_valid(self._clock()) else None

    def _remember(self, hashed: str, at: float, found: Key | None) -> None:
        self._known.pop(hashed, None)
        if found is not None:
            self._known[hashed] = (at, found)
            if len(self._known) > CACHE_KEYS:
                self._known.popitem(last=False)
