"""How every command goes on: one form of log line, and the store opened beside a running service.

It must not know what a command is for, and imports neither the API nor Kafka: `keys` starts in a moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from service.commands.configured import configured
from service.database import Store
from service.keys import exists
from service.loglines import log_to_stderr as log_to_stderr  # what every command begins with, from one place
from service.secrets import Secrets
from service.settings import Settings, SettingsError
from service.store import open_store

T = TypeVar("T")


def embedded_alone(settings: Settings) -> None:
    """Raises `SettingsError` beside Kafka."""
    if settings.uses_kafka:
        raise SettingsError("this command is for the service without Kafka")


async def note_unknown(database: Store, tenant: str | None) -> None:
    """Says on standard error that nobody has this name, where a list of nothing would look like good news."""
    if tenant is not None and not await database.read(lambda conn: exists(conn, tenant)):
        click.echo(f"note: there is no tenant {tenant}; one exists by its first key (`keys list` names all)", err=True)


def in_database(job: Callable[[Store], Awaitable[T]]) -> T:
    """Runs a job on the database beside a running service."""
    settings, _ = configured()
    log_to_stderr("WARNING")
    Secrets.load(settings)

    async def run() -> T:
        database = await open_store(settings)
        try:
            return await job(database)
        finally:
            await database.close()

    return asyncio.run(run())
