"""`hooks create`, `hooks list`, `hooks revoke`, and `hooks try`, which needs no store."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from channels import signatures
from channels.delivery import FORM, Delivery, Item, Vendor
from channels.fields import Unreadable
from channels.vendors import VENDORS
from service import strictjson
from service.clock import utc_now
from service.commands.configured import configured
from service.commands.starting import in_database, note_unknown
from service.database import Store
from service.hooks import registry
from service.hooks.registry import InvalidHook
from service.keys import exists
from service.naming import own_numbers
from service.secrets import Secrets

LARGEST_BODY_BYTES = 4 << 20
_FORM = re.compile(rb"\s*[\w.%+\[\]-]+=")
"""What begins with a name and its value is a form, whatever the vendor; anything else is told as the JSON that it should be."""


def make(
    tenant: str, channel: str, vendor: str, public_url: str | None, verify_token: str | None, time_zone: str | None
) -> None:
    """Makes a hook and prints its path; the vendor's secret is read from standard input, and never an argument."""
    if (channel, vendor) not in VENDORS:
        raise click.UsageError(_no_vendor(channel, vendor))
    settings, _ = configured()
    secret = _secret(VENDORS[channel, vendor].needs_secret)

    async def made_in(database: Store) -> tuple[registry.Hook, bool]:
        secrets = Secrets.load(settings)
        now = utc_now()
        hook = await database.write(
            lambda conn: registry.create(
                conn,
                VENDORS,
                secrets,
                now,
                tenant=tenant,
                channel=channel,
                vendor=vendor,
                secret=secret,
                verify_token=verify_token,
                public_url=public_url,
                time_zone=time_zone,
            )
        )
        return hook, await database.read(lambda conn: exists(conn, tenant))

    try:
        hook, known = in_database(made_in)
    except InvalidHook as refused:
        raise click.UsageError(str(refused)) from None
    if not known:
        click.echo(f"note: tenant {tenant} has no key yet; it exists by its first", err=True)
    for note in _lacking(VENDORS[channel, vendor], hook):
        click.echo(f"note: {note}", err=True)
    click.echo(json.dumps({"hook_id": hook.hook_id, "path": hook.path}))


def _lacking(vendor: Vendor, hook: registry.Hook) -> list[str]:
    """What such a hook mostly needs, and was not given: it works without, but seldom as it was meant."""
    found = []
    if vendor.scheme in signatures.OF_ADDRESS and hook.public_url is None:
        found.append(
            f"{vendor.name} signs the address that it was given: behind a proxy name its origin with --public-url, or every"
            " post is refused"
        )
    if vendor.get == "handshake" and hook.verify_token is None:
        found.append(f"{vendor.name} shakes hands before it posts: without --verify-token that is refused")
    return found


def _secret(needed: bool) -> str:
    """One line of standard input; asked for where a person sits in front of it."""
    if sys.stdin is None:
        return ""
    if sys.stdin.isatty():
        hint = "Secret" if needed else "Secret (empty: this vendor signs nothing)"
        return str(click.prompt(hint, default="", hide_input=True, show_default=False, err=True))
    return sys.stdin.read(registry.SECRET_CHARACTERS + 2).rstrip("\r\n")


def _no_vendor(channel: str, vendor: str) -> str:
    there = ", ".join(f"{of}/{name}" for of, name in sorted(VENDORS))
    return f"no vendor {vendor!r} on channel {channel!r}; there are: {there}"


def show(tenant: str | None) -> None:
    """The hooks of a tenant, or all: a JSON line each, without their secrets."""

    async def read(database: Store) -> list[dict[str, Any]]:
        await note_unknown(database, tenant)
        return await database.read(lambda conn: registry.listed(conn, tenant))

    for hook in in_database(read):
        click.echo(strictjson.dump(hook).decode())


def end(hook_id: str) -> bool:
    """Whether there was such a hook; it is revoked now."""
    if not in_database(lambda database: database.write(lambda conn: registry.revoke(conn, hook_id, utc_now()))):
        return False
    click.echo(json.dumps({"hook_id": hook_id, "revoked": True}))
    return True


def try_out(file: Path, vendor: str, channel: str | None, time_zone: str | None) -> bool:
    """Prints what an adapter makes of a body, an item a line; whether it could be read. Nothing is stored or sent."""
    found = [VENDORS[of, name] for of, name in VENDORS if name == vendor and channel in (None, of)]
    if not found:
        raise click.UsageError(_no_vendor(channel or "any", vendor))
    _, policies = configured()
    policy = policies.defaults
    raw = file.read_bytes()
    if len(raw) > LARGEST_BODY_BYTES:
        raise click.UsageError("the file is larger than a hook takes")
    delivery = Delivery(
        body=raw,
        received_at=utc_now(),
        content_type=FORM if _FORM.match(raw) else None,
        zone=time_zone,
        region=policy.region,
        own_numbers=own_numbers(policy),
    )
    try:
        # A vendor on both channels posts other bodies on each: the one that is for us tells which.
        made = [adapter.parse(delivery) for adapter in found]
    except Unreadable as why:
        click.echo(f"unreadable: {why}", err=True)
        return False
    items = next((one for one in made if any(item.ignored is None for item in one)), made[0])
    for item in items:
        click.echo(strictjson.dump(shown(item)).decode())
    return True


def shown(item: Item) -> dict[str, Any]:
    """An item as a person reads it: what it is, and of each part what is there."""
    told: dict[str, Any] = {"key": item.key}
    if item.ignored is not None:
        told["ignored"] = item.ignored
    if item.aside is not None:
        told["set_aside"] = item.aside
    if item.notes:
        told["notes"] = item.notes
    entries = [body.model_dump(mode="json", exclude_none=True) for body in item.bodies]
    parts = {
        "entries": [{name: value for name, value in entry.items() if value != []} for entry in entries],
        "messages": [_there(dataclasses.asdict(message)) for message in item.messages],
        "status": _there(dataclasses.asdict(item.status)) if item.status else None,
        "moved": dataclasses.asdict(item.moved) if item.moved else None,
    }
    return told | {name: value for name, value in parts.items() if value}


def _there(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, (), "")}
