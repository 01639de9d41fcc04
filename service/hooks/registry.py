"""The addresses that vendors post to: made, listed, revoked, and looked up for every request (API 11).

The path names tenant, vendor and secret and cannot be guessed. The secret by which a vendor signs is sealed at rest. How
vendors sign is not known here.
"""

from __future__ import annotations

import re
import secrets as randomness
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from zoneinfo import available_timezones

from sqlalchemy import Connection, bindparam, insert, select, update

from channels.delivery import Vendor
from service.database import DatabaseUnavailable, Store
from service.policy import TENANT_FORM
from service.prepared import Prepared
from service.secrets import Secrets
from service.tables import Hook as Row
from service.tables import table_of

ID_BYTES: Final = 24
SECRET_CHARACTERS: Final = 4_096
CACHE_SECONDS: Final = 4.0
"""A revoked hook stops within 5 s everywhere, as keys do; the rest is for the look-up itself."""
CACHE_HOOKS: Final = 10_000
OUTAGE_SECONDS: Final = 300.0
"""So long a hook that was known still answers how a call begins while the database is out of reach (DESIGN 9)."""

_HOOKS = table_of(Row)
_BY_ID: Final = Prepared(select(*_HOOKS.c).where(_HOOKS.c.hook_id == bindparam("id")))
_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?|https?://\[[0-9a-fA-F:]+\](:\d{1,5})?", re.ASCII)


class InvalidHook(ValueError):
    """A hook that cannot be made as asked; the command ends with this sentence and exit code 2."""


@dataclass(frozen=True, slots=True)
class Hook:
    """An address of a vendor."""

    hook_id: str
    tenant: str
    channel: str
    vendor: str
    secret: str = field(repr=False)
    verify_token: str | None = field(repr=False)
    public_url: str | None
    time_zone: str | None
    created_at: datetime
    revoked_at: datetime | None

    @property
    def path(self) -> str:
        return f"/hooks/{self.channel}/{self.vendor}/{self.hook_id}"

    def as_listed(self) -> dict[str, object]:
        """Without its secrets."""
        names = (
            "hook_id",
            "tenant",
            "channel",
            "vendor",
            "path",
            "public_url",
            "time_zone",
            "created_at",
            "revoked_at",
        )
        return {name: getattr(self, name) for name in names}


# -- for the commands ---------------------------------------------------------------------------------------------------


def create(
    connection: Connection,
    vendors: Mapping[tuple[str, str], Vendor],
    sealing: Secrets,
    now: datetime,
    *,
    tenant: str,
    channel: str,
    vendor: str,
    secret: str,
    verify_token: str | None = None,
    public_url: str | None = None,
    time_zone: str | None = None,
) -> Hook:
    """A new address. Raises `InvalidHook`."""
    known = vendors.get((channel, vendor))
    if known is None:
        names = ", ".join(sorted(name for of, name in vendors if of == channel)) or "none"
        raise InvalidHook(f"no vendor {vendor!r} on channel {channel!r}; there are: {names}")
    if not TENANT_FORM.fullmatch(tenant):
        raise InvalidHook("a tenant is 1 to 40 small letters, digits and dashes")
    if len(secret) > SECRET_CHARACTERS or "\n" in secret or "\x00" in secret:
        raise InvalidHook(f"a secret is one line of at most {SECRET_CHARACTERS} signs")
    if known.needs_secret and not secret:
        raise InvalidHook(f"{vendor} signs what it posts: its secret is read from standard input, and was empty")
    if public_url is not None and not _ORIGIN.fullmatch(public_url.rstrip("/")):
        raise InvalidHook("--public-url is an origin, such as https://hooks.example.com, without a path")
    if time_zone is not None and time_zone not in available_timezones():
        raise InvalidHook("--time-zone is a name of the IANA list, such as Asia/Kolkata")
    if verify_token is not None and (known.get != "handshake" or not verify_token.strip()):
        raise InvalidHook("--verify-token is for a vendor that shakes hands (meta), and is not blank")
    made = Hook(
        hook_id="h_" + randomness.token_urlsafe(ID_BYTES),
        tenant=tenant,
        channel=channel,
        vendor=vendor,
        secret=secret,
        verify_token=verify_token,
        public_url=public_url.rstrip("/") if public_url else None,
        time_zone=time_zone,
        created_at=now,
        revoked_at=None,
    )
    row = {name: getattr(made, name) for name in _HOOKS.c.keys()}  # noqa: SIM118 (a collection of columns is no dict)
    row["secret"] = sealing.seal(secret.encode())
    row["verify_token"] = sealing.seal(verify_token.encode()) if verify_token else None
    connection.execute(insert(_HOOKS).values(row))
    return made


def listed(connection: Connection, tenant: str | None = None) -> list[dict[str, object]]:
    """A tenant's hooks, or all, in the order in which they were made, without their secrets."""
    where = [_HOOKS.c.tenant == tenant] if tenant is not None else []
    rows = connection.execute(select(_HOOKS).where(*where).order_by(_HOOKS.c.created_at, _HOOKS.c.hook_id))
    return [_hook(row, "", None).as_listed() for row in rows.mappings()]


def revoke(connection: Connection, hook_id: str, now: datetime) -> bool:
    """Whether there is such a hook; it is revoked from now on, or since it first was."""
    standing = (_HOOKS.c.hook_id == hook_id, _HOOKS.c.revoked_at.is_(None))
    connection.execute(update(_HOOKS).where(*standing).values(revoked_at=now))
    return _BY_ID.row(connection, id=hook_id) is not None


def tenants(connection: Connection) -> list[str]:
    """Who has, or had, a hook."""
    return [row[0] for row in connection.execute(select(_HOOKS.c.tenant).distinct())]


def _hook(row: Mapping[Any, Any], secret: str, verify_token: str | None) -> Hook:
    return Hook(**{**{name: row[name] for name in _HOOKS.c.keys()}, "secret": secret, "verify_token": verify_token})  # noqa: SIM118


# -- for every request --------------------------------------------------------------------------------------------------


class Hooks:
    """The hooks in use, remembered for a few seconds."""

    def __init__(self, database: Store, secrets: Secrets, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._secrets = secrets
        self._monotonic = monotonic
        self._known: OrderedDict[str, tuple[float, Hook]] = OrderedDict()

    async def lookup(self, channel: str, vendor: str, hook_id: str) -> Hook | None:
        """The hook in force at this path. Raises `DatabaseUnavailable` for one not seen lately, `CannotOpen`."""
        at = self._monotonic()
        remembered = self._known.get(hook_id)
        if remembered is not None and at - remembered[0] < CACHE_SECONDS:
            found: Hook | None = remembered[1]
        else:
            try:
                found = await self._look_up(hook_id)
            except DatabaseUnavailable:
                if remembered is None or at - remembered[0] > OUTAGE_SECONDS:
                    raise
                found = remembered[1]
            else:
                self._remember(hook_id, at, found)
        return found if found is not None and (found.channel, found.vendor) == (channel, vendor) else None

    async def _look_up(self, hook_id: str) -> Hook | None:
        row = await self._database.read(lambda connection: _BY_ID.row(connection, id=hook_id))
        if row is None:
            return None
        named = dict(zip(_HOOKS.c.keys(), row, strict=True))
        if named["revoked_at"] is not None:
            return None
        token = named["verify_token"]
        return _hook(named, self._opened(named["secret"]), self._opened(token) if token is not None else None)

    def _opened(self, sealed: bytes) -> str:
        return self._secrets.open(sealed).decode()

    def _remember(self, hook_id: str, at: float, found: Hook | None) -> None:
        self._known.pop(hook_id, None)
        if found is not None:
            self._known[hook_id] = (at, found)
            if len(self._known) > CACHE_HOOKS:
                self._known.popitem(last=False)
