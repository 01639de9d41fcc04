"""`retention`, which ends what is past its retention, and `retention --dry-run`, which counts it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
import uvloop

from service.commands.configured import configured
from service.loglines import log_to_stderr
from service.policy import Policies
from service.retention.job import Ended, Retention
from service.settings import Settings
from service.wiring.beside import beside


def run(dry: bool) -> None:
    """A JSON line for each tenant and kind. Raises `SettingsError`, and what `wiring` raises."""
    settings, policies = configured()
    log_to_stderr("WARNING")
    for ended in uvloop.run(_run(settings, policies, dry)):
        click.echo(json.dumps(asdict(ended), default=lambda at: at.isoformat()))


async def _run(settings: Settings, policies: Policies, dry: bool) -> list[Ended]:
    async with beside(settings, policies) as parts:
        return await Retention(parts).run(by="command", dry=dry)
