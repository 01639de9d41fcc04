"""`reconcile`: fetches from a vendor's own list what a hook may have lost."""

from __future__ import annotations

import json
import sys
from datetime import timedelta

import click
import uvloop

from service.clock import utc_now
from service.commands.configured import configured
from service.hooks import registry
from service.loglines import log_to_stderr
from service.policy import Policies
from service.reconciler import Address, CannotReconcile, Reconciled, reconcile
from service.settings import Settings
from service.wiring.beside import beside

FAILED = 1
KEY_CHARACTERS = 4_096


def run(hook_id: str, hours: float, origin: str | None) -> None:
    """Raises `SettingsError`, and what `wiring` raises. The vendor's key is a line of standard input, never an argument."""
    settings, policies = configured()
    log_to_stderr("WARNING")
    key = _key()
    try:
        done = uvloop.run(_reconciled(settings, policies, hook_id, hours, key, origin))
    except CannotReconcile as why:
        click.echo(f"failed: {why}", err=True)
        raise click.exceptions.Exit(FAILED) from None
    if done is None:
        click.echo(f"no hook {hook_id} that is in use", err=True)
        raise click.exceptions.Exit(FAILED)
    click.echo(json.dumps(done.told()))


def _key() -> str:
    """One line of standard input; asked for where a person sits in front of it."""
    key = click.prompt("The vendor's API key", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    key = key.strip()
    if not key or len(key) > KEY_CHARACTERS or not key.isprintable() or not key.isascii():
        raise click.UsageError("the vendor's API key is read from standard input, and was none")
    return key


async def _reconciled(
    settings: Settings, policies: Policies, hook_id: str, hours: float, key: str, origin: str | None
) -> Reconciled | None:
    async with beside(settings, policies) as parts:
        hooks = await parts.database.read(registry.listed)
        hook = next((h for h in hooks if h["hook_id"] == hook_id and h["revoked_at"] is None), None)
        if hook is None:
            return None
        address = Address(
            hook_id=str(hook["hook_id"]),
            tenant=str(hook["tenant"]),
            channel=str(hook["channel"]),
            vendor=str(hook["vendor"]),
            time_zone=str(hook["time_zone"]) if hook["time_zone"] else None,
        )
        return await reconcile(parts, address, key, utc_now() - timedelta(hours=hours), origin=origin)
