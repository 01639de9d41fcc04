"""`migrate`, `rebuild`, `set-aside list` and `set-aside retry`: what is done to the store and with what it kept aside.

Whatever only one of them needs, it imports for itself: a migration without Kafka loads no client of Kafka's.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import msgspec

from service.clock import utc_now
from service.commands.configured import configured
from service.commands.starting import in_database, log_to_stderr, note_unknown
from service.database import Store
from service.keys import listed
from service.policy import Policies
from service.postgres import migrate as migrate_postgres
from service.secrets import Secrets
from service.settings import Settings
from service.sqlite.schema import migrate as migrate_sqlite
from service.store import open_store

if TYPE_CHECKING:
    from service.rebuild import Rebuilt

ASIDE_LISTED = 200


def migrate() -> None:
    settings, policies = configured()
    log_to_stderr("WARNING")
    asyncio.run(_migrate(settings, policies))


async def _migrate(settings: Settings, policies: Policies) -> None:
    path, dsn = settings.database.sqlite_path, settings.database.postgres_dsn
    if path is not None:
        Secrets.load(settings)
        await migrate_sqlite(path)
    elif dsn is not None:
        await migrate_postgres(dsn)
    click.echo("the database is at this version's tables")
    if settings.uses_kafka:
        from service.intake import kafka_topics
        from service.wiring.kafka import topics_of

        topics = list(topics_of(settings).values())
        days = max(1, round(policies.log_retention_days))
        made = await kafka_topics.make(
            kafka_topics.Cluster.of(settings), topics, copies=settings.kafka_replication, retention_days=days
        )
        for topic in topics:
            click.echo(f"topic {topic.name}: {'made' if topic.name in made else 'is there'}")


def rebuild() -> None:
    """Raises `CannotRebuild`, and what opening the store raises."""
    from service.rebuild import rebuild as rebuild_all

    settings, policies = configured()
    log_to_stderr("WARNING")
    secrets = Secrets.load(settings)

    def progress(done: int, total: int) -> None:
        click.echo(f"\r{done} of {total} borrowers", nl=False, err=True)

    async def run() -> Rebuilt:
        database = await open_store(settings, serving=settings.database.is_sqlite, patient=True)
        try:
            return await rebuild_all(database, secrets, policies, utc_now, progress)
        finally:
            await database.close()

    result = asyncio.run(run())
    click.echo("", err=True)
    click.echo(json.dumps(asdict(result)))


def list_set_aside(tenant: str | None, status: str) -> None:
    """Newest first, one JSON line each."""
    from service import records

    async def read(database: Store) -> list[Any]:
        whose = await _tenant(database, tenant)
        if whose is None:
            return []
        page = await database.read(lambda conn: records.set_aside(conn, whose, status, ASIDE_LISTED, None))
        return list(page.items)

    for item in in_database(read):
        click.echo(msgspec.json.encode(item))


def retry_set_aside(tenant: str | None, number: int) -> bool:
    """Whether there was such an item; it was tried once more."""
    from service.intake.receive import retried
    from service.wiring.embedded import embedded
    from service.wiring.kafka import beside_kafka

    settings, policies = configured()
    log_to_stderr("WARNING")
    parts_of = beside_kafka if settings.uses_kafka else embedded

    async def run() -> dict[str, Any] | None:
        async with parts_of(settings, policies) as parts:
            whose = await _tenant(parts.database, tenant)
            return await retried(parts, whose, number) if whose is not None else None

    item = asyncio.run(run())
    if item is not None:
        click.echo(msgspec.json.encode(item))
    return item is not None


async def _tenant(database: Store, named: str | None) -> str | None:
    """The tenant that is meant: the one that is named, else the only one there is; None in a store of nobody's."""
    if named is not None:
        await note_unknown(database, named)
        return named
    there = sorted({key.tenant for key in await database.read(listed)})
    if len(there) > 1:
        raise click.UsageError(f"several tenants are here: name one with --tenant ({', '.join(there)})")
    return there[0] if there else None
