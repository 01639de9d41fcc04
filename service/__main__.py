"""The command `borrower-memory`, also `python -m service`. Exit codes: 0 done, 1 failed, 2 wrong usage or settings."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import click
import structlog
import uvloop

from channels import CHANNELS
from service import policy as policies_file
from service import records
from service import settings as settings_of
from service.database import DamagedDatabase, DatabaseUnavailable, InUse, NotMigrated, Store
from service.database import migrate as migrate_sqlite
from service.demo import Story, StoryFailed, play
from service.intake import kafka_topics
from service.intake.log import LogChanged, LogStuck
from service.intake.receive import retried
from service.keys import SCOPES, InvalidKey, create, listed, revoke
from service.policy import Policies, Policy
from service.postgres import migrate as migrate_postgres
from service.rebuild import CannotRebuild, Rebuilt
from service.rebuild import rebuild as rebuild_all
from service.secrets import Secrets
from service.serving import serve as serve_http
from service.settings import Settings, SettingsError
from service.wiring import beside_kafka, embedded, open_store, topics_of, utc_now, writing
from service.writing import write_until_stopped
from statemachine.floor import floor_table
from statemachine.flow import mermaid

FAILED, WRONG_USAGE = 1, 2
FAILURES = (
    CannotRebuild,
    DamagedDatabase,
    DatabaseUnavailable,
    InUse,
    LogChanged,
    LogStuck,
    NotMigrated,
    OSError,
    StoryFailed,
)
OBJECTS_BEFORE_A_COLLECTION = 10_000
"""A posted summary and the record it is merged into are some thousand objects, and nearly none of them is in a cycle."""
DEMO_TENANT = "dev"
DEV_KEY_FILE = "dev-key"

T = TypeVar("T")

log = structlog.get_logger("service")


def main() -> None:
    """The command line. Ends the process."""
    try:
        # Outside its standalone mode click answers with the code of an `Exit` instead of raising it.
        sys.exit(commands(standalone_mode=False))
    except click.ClickException as wrong:
        wrong.show()
        sys.exit(WRONG_USAGE)
    except click.Abort:
        sys.exit(FAILED)
    except SettingsError as wrong:
        click.echo(f"settings: {wrong}", err=True)
        sys.exit(WRONG_USAGE)
    except FAILURES as failed:
        click.echo(f"failed: {failed}", err=True)
        sys.exit(FAILED)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def commands() -> None:
    """One memory per borrower, across every channel."""


# -- running ------------------------------------------------------------------------------------------------------


@commands.command()
def serve() -> None:
    """The API; without Kafka also the writer, in the same process."""
    settings, policies = _configured()
    _log_to_stderr(settings.log_level)
    uvloop.run(_serve(settings, policies))


async def _serve(settings: Settings, policies: Policies) -> None:
    for owner, why in policies.problems.items():
        log.warning("policy.disabled", owner=owner, why=why)
    parts_of = beside_kafka if settings.uses_kafka else embedded
    async with parts_of(settings, policies) as parts:
        _leave_the_program_uncollected()
        await serve_http(parts, lambda url: click.echo(f"listening on {url}"))


def _leave_the_program_uncollected() -> None:
    """What is loaded by now stays as long as the process: looking through it over and over took a fifth of a post's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BEFORE_A_COLLECTION)


@commands.command()
def writer() -> None:
    """A writer over Kafka as a process of its own; as many as there are partitions share them."""
    settings, policies = _configured()
    if not settings.uses_kafka:
        raise SettingsError("a writer of its own needs KAFKA_BOOTSTRAP_SERVERS; without Kafka `serve` writes")
    _log_to_stderr(settings.log_level)
    uvloop.run(_write(settings, policies))


async def _write(settings: Settings, policies: Policies) -> None:
    async with writing(settings, policies) as parts:
        _leave_the_program_uncollected()
        await write_until_stopped(parts, lambda url: click.echo(f"listening on {url}"))


@commands.command()
@click.option("--stay", is_flag=True, help="Keep serving when the story is told.")
def demo(stay: bool) -> None:
    """Plays one borrower's story through the API, step by step, on dates shifted to now."""
    settings, policies = _configured()
    _log_to_stderr("ERROR")
    uvloop.run(_demo(settings, _contact_at_any_hour(policies), stay))


async def _demo(settings: Settings, policies: Policies, stay: bool) -> None:
    _embedded_alone(settings)
    key_file = (settings.database.sqlite_path or settings_of.DEFAULT_DATABASE).parent / DEV_KEY_FILE
    async with embedded(settings, policies) as parts:
        key, _ = await parts.database.write(lambda conn: create(conn, DEMO_TENANT, SCOPES, utc_now(), name="demo"))
        _write_private(key_file, key)
        told: list[BaseException | None] = []

        async def story(url: str, stop: Callable[[], None]) -> None:
            try:
                await asyncio.to_thread(play, Story(url, key, say=click.echo))
                told.append(None)
            except (StoryFailed, OSError) as failed:
                told.append(failed)
            if stay and told == [None]:
                click.echo(_farewell(url, key, key_file))
            else:
                stop()

        await serve_http(parts, lambda url: click.echo(f"listening on {url}"), story)
        if told and told[0] is not None:
            raise StoryFailed(str(told[0]))


def _contact_at_any_hour(policies: Policies) -> Policies:
    """The demo's own tenant may be reminded at night, so that the story is the same whenever it is played."""
    always: Policy = policies.for_tenant(DEMO_TENANT).model_copy(update={"contact_hours": ("00:00", "24:00")})
    return Policies(policies.defaults, {**policies.tenants, DEMO_TENANT: always}, policies.problems)


def _farewell(url: str, key: str, key_file: Path) -> str:
    header = f"-H 'Authorization: Bearer {key}'"
    json_header = f"{header} -H 'Content-Type: application/json'"
    ended = (utc_now() - timedelta(hours=2)).isoformat(timespec="seconds")
    return f"""
The service stays up at {url} (its calls: {url}/docs); stop it with Ctrl-C.
A development key of the tenant '{DEMO_TENANT}', for loopback use only, is in {key_file}.
Try:

  curl -s {header} {url}/v1/borrowers

  curl -s {json_header} {url}/v1/summaries -d \\
    '{{"borrower_id": "B-1", "channel": "whatsapp", "conversation_id": "c-1", "ended_at": "{ended}",
      "outcome": "connected", "commitment": {{"amount_said": "5k", "due_date_said": "month end"}}}}'

  curl -s {json_header} {url}/v1/resume -d '{{"channel": "voice", "borrower_id": "B-1"}}'
"""


def _write_private(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as private:
        private.write(text + "\n")


# -- keys ---------------------------------------------------------------------------------------------------------


@commands.group()
def keys() -> None:
    """API keys: random, stored hashed, scoped, revocable."""


@keys.command("create")
@click.option("--tenant", required=True)
@click.option("--scopes", required=True, help=f"Comma list of {', '.join(SCOPES)}.")
@click.option("--name", help="Whose it is; stands in audit lines.")
def keys_create(tenant: str, scopes: str, name: str | None) -> None:
    """Makes a key and prints it, once."""
    wanted = tuple(s.strip() for s in scopes.split(",") if s.strip())

    async def make(database: Store) -> dict[str, Any]:
        key, made = await database.write(lambda conn: create(conn, tenant, wanted, utc_now(), name=name))
        listed_as = made.as_listed()
        return {"key": key} | {name: listed_as[name] for name in ("key_id", "tenant", "scopes", "expires_at")}

    try:
        click.echo(json.dumps(_in_database(make)))
    except InvalidKey as refused:
        raise click.UsageError(str(refused)) from None


@keys.command("list")
@click.option("--tenant", required=True)
def keys_list(tenant: str) -> None:
    """The keys of a tenant, without the keys themselves."""
    for key in _in_database(lambda database: database.read(lambda conn: listed(conn, tenant))):
        click.echo(json.dumps(key.as_listed(), default=str))


@keys.command("revoke")
@click.argument("key_id")
def keys_revoke(key_id: str) -> None:
    """Ends a key; within five seconds everywhere."""
    if _in_database(lambda database: database.write(lambda conn: revoke(conn, key_id, utc_now()))) is None:
        click.echo(f"no key {key_id}", err=True)
        raise click.exceptions.Exit(FAILED)
    click.echo(json.dumps({"key_id": key_id, "revoked": True}))


# -- the store ----------------------------------------------------------------------------------------------------


@commands.command()
def migrate() -> None:
    """Brings the database to this version's tables; with Kafka also makes the topics, or checks them."""
    settings, policies = _configured()
    _log_to_stderr("WARNING")
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
        topics = list(topics_of(settings).values())
        days = max(1, round(policies.log_retention_days))
        made = await kafka_topics.make(
            kafka_topics.Cluster.of(settings), topics, copies=settings.kafka_replication, retention_days=days
        )
        for topic in topics:
            click.echo(f"topic {topic.name}: {'made' if topic.name in made else 'is there'}")


@commands.command()
def rebuild() -> None:
    """Makes all records anew from the journal; on SQLite with `serve` stopped, on PostgreSQL beside it."""
    settings, policies = _configured()
    _log_to_stderr("WARNING")
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


@commands.group("set-aside")
def set_aside() -> None:
    """What was kept and not merged."""


@set_aside.command("list")
@click.option("--tenant", required=True)
@click.option("--status", default="open", type=click.Choice(["open", "merged", "refused"]))
def set_aside_list(tenant: str, status: str) -> None:
    """Lists it, newest first, one JSON line each."""

    async def read(database: Store) -> list[Any]:
        page = await database.read(lambda conn: records.set_aside(conn, tenant, status, 200, None))
        return list(page.items)

    for item in _in_database(read):
        click.echo(json.dumps(item, default=str))


@set_aside.command("retry")
@click.option("--tenant", required=True)
@click.argument("number", type=int)
def set_aside_retry(tenant: str, number: int) -> None:
    """Tries once more to merge it; embedded, with `serve` stopped (else use the call of the API)."""
    settings, policies = _configured()
    _log_to_stderr("WARNING")

    _embedded_alone(settings)

    async def run() -> dict[str, Any] | None:
        async with embedded(settings, policies) as parts:
            return await retried(parts, tenant, number)

    item = asyncio.run(run())
    if item is None:
        click.echo(f"nothing is set aside under {number}", err=True)
        raise click.exceptions.Exit(FAILED)
    click.echo(json.dumps(item, default=str))


# -- flows and floor ----------------------------------------------------------------------------------------------


@commands.group()
def flows() -> None:
    """The channels' flows."""


@flows.command("draw")
def flows_draw() -> None:
    """Mermaid diagrams of the flows, as they stand in the README."""
    for name, channel in CHANNELS.items():
        click.echo(f"<!-- flow:{name} -->\n```mermaid\n{mermaid(channel.flow)}\n```\n<!-- /flow -->\n")


@commands.group()
def floor() -> None:
    """The floor."""


@floor.command("table")
def floor_table_() -> None:
    """Which proposal is granted where, and which rule refuses it."""
    for name, channel in CHANNELS.items():
        click.echo(f"{name}\n")
        for line in floor_table(channel.flow):
            click.echo(f"  {line}".rstrip())
        click.echo("")


# -- what commands share ------------------------------------------------------------------------------------------


def _configured() -> tuple[Settings, Policies]:
    settings = settings_of.load()
    if settings.uses_kafka and settings.database.is_sqlite:
        raise SettingsError("with Kafka the records are in PostgreSQL: set DATABASE_URL to postgresql://...")
    return settings, policies_file.load(settings.policy_file, mode=settings.mode)


def _embedded_alone(settings: Settings) -> None:
    if settings.uses_kafka:
        raise SettingsError("this command is for the service without Kafka")


def _in_database(job: Callable[[Store], Awaitable[T]]) -> T:
    """Runs a job on the database beside a running service."""
    settings, _ = _configured()
    _log_to_stderr("WARNING")
    Secrets.load(settings)

    async def run() -> T:
        database = await open_store(settings)
        try:
            return await job(database)
        finally:
            await database.close()

    return asyncio.run(run())


def _log_to_stderr(level: str) -> None:
    """One JSON line for each unit of work, on standard error."""
    logging.basicConfig(level=level, stream=sys.stderr, format="%(message)s")
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


if __name__ == "__main__":
    main()
