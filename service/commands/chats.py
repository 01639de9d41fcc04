"""`sweeper`, the process that summarises chats, and `summarise --dry-run`, which shows what would be written."""

from __future__ import annotations

import json

import click
import uvloop

from service.commands.configured import configured
from service.commands.starting import note_unknown
from service.loglines import log_to_stderr
from service.policy import Policies
from service.settings import Settings
from service.wiring.beside import beside
from service.wiring.running import sweeper_of
from service.working import work_until_stopped


def sweeper() -> None:
    """Raises `SettingsError`, and what `wiring` raises."""
    settings, policies = configured()
    log_to_stderr(settings.log_level)
    uvloop.run(_sweep(settings, policies))


async def _sweep(settings: Settings, policies: Policies) -> None:
    async with beside(settings, policies) as parts, sweeper_of(parts) as sweeper:
        await work_until_stopped("sweeper", sweeper, parts, lambda url: click.echo(f"listening on {url}"))


def preview(tenant: str | None, most: int) -> None:
    """A line of JSON for each chat that has lines no summary tells of. Raises `SettingsError`, and what `wiring` raises."""
    settings, policies = configured()
    log_to_stderr("WARNING")
    uvloop.run(_preview(settings, policies, tenant, most))


async def _preview(settings: Settings, policies: Policies, tenant: str | None, most: int) -> None:
    async with beside(settings, policies) as parts, sweeper_of(parts) as sweeper:
        await note_unknown(parts.database, tenant)
        async for shown in sweeper.previews(tenant, most):
            click.echo(json.dumps(shown, ensure_ascii=False))
