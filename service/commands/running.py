"""`serve` and `writer`: the processes that stay up until they are stopped."""

from __future__ import annotations

import click
import structlog
import uvloop

from service.commands.configured import configured
from service.commands.starting import log_to_stderr
from service.garbage import spare_what_stays
from service.policy import Policies
from service.settings import Settings, SettingsError
from service.web.serving import serve as serve_http
from service.wiring.embedded import embedded
from service.wiring.kafka import beside_kafka, writing
from service.working import work_until_stopped

log = structlog.get_logger("service")


def serve() -> None:
    """Raises `SettingsError`, and what `wiring` raises."""
    settings, policies = configured()
    log_to_stderr(settings.log_level)
    uvloop.run(_serve(settings, policies))


async def _serve(settings: Settings, policies: Policies) -> None:
    for owner, why in policies.problems.items():
        log.warning("policy.disabled", owner=owner, why=why)
    parts_of = beside_kafka if settings.uses_kafka else embedded
    async with parts_of(settings, policies) as parts:
        await serve_http(parts, lambda url: click.echo(f"listening on {url}"))


def writer() -> None:
    """Raises `SettingsError`, and what `wiring` raises."""
    settings, policies = configured()
    if not settings.uses_kafka:
        raise SettingsError("a writer of its own needs KAFKA_BOOTSTRAP_SERVERS; without Kafka `serve` writes")
    log_to_stderr(settings.log_level)
    uvloop.run(_write(settings, policies))


async def _write(settings: Settings, policies: Policies) -> None:
    async with writing(settings, policies) as parts:
        spare_what_stays()
        await work_until_stopped(
            "writer",
            parts.writer,
            parts,
            lambda url: click.echo(f"listening on {url}"),
            stop_seconds=None,  # the batches in hand are finished and saved before the group is left
            holds=lambda: {"partitions": sorted(parts.writer.partitions)},
        )
