"""`keys create`, `keys list`, `keys revoke`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from service.clock import utc_now
from service.commands.starting import in_database, note_unknown
from service.database import Store
from service.keys import InvalidKey, Key, create, listed, revoke


def make(tenant: str, scopes: Sequence[str], name: str | None) -> None:
    """Makes a key and prints it, once."""

    async def made_in(database: Store) -> dict[str, Any]:
        key, made = await database.write(lambda conn: create(conn, tenant, tuple(scopes), utc_now(), name=name))
        listed_as = made.as_listed()
        return {"key": key} | {name: listed_as[name] for name in ("key_id", "tenant", "scopes", "expires_at")}

    try:
        click.echo(json.dumps(in_database(made_in)))
    except InvalidKey as refused:
        raise click.UsageError(str(refused)) from None


def show(tenant: str | None) -> None:
    """The keys of a tenant, or of all of them: each line names its own."""

    async def read(database: Store) -> list[Key]:
        await note_unknown(database, tenant)
        return list(await database.read(lambda conn: listed(conn, tenant)))

    for key in in_database(read):
        click.echo(msgspec.json.encode(key.as_listed()))


def end(key_id: str) -> bool:
    """Whether there was such a key; it is revoked now."""
    if in_database(lambda database: database.write(lambda conn: revoke(conn, key_id, utc_now()))) is None:
        return False
    click.echo(json.dumps({"key_id": key_id, "revoked": True}))
    return True
