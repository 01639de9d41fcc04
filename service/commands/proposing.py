"""`proposer`: the process that asks a model where conversations should start."""

from __future__ import annotations

import click
import structlog
import uvloop

from service.commands.configured import configured
from service.loglines import log_to_stderr
from service.policy import Policies
from service.settings import Settings
from service.wiring.proposing import proposing
from service.working import work_until_stopped

log = structlog.get_logger("service")


def proposer() -> None:
    """Raises `SettingsError`, and what `wiring` raises."""
    settings, policies = configured()
    log_to_stderr(settings.log_level)
    uvloop.run(_propose(settings, policies))


async def _propose(settings: Settings, policies: Policies) -> None:
    if settings.model is None:
        log.warning("proposer.no_model", why="LLM_BASE_URL is not set: there is nobody to ask")
    async with proposing(settings, policies) as (parts, one):
        await work_until_stopped("proposer", one, parts, lambda url: click.echo(f"listening on {url}"))
