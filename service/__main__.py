"""The command `borrower-memory`, also `python -m service`. Exit codes: 0 done, 1 failed, 2 wrong usage or settings.

This file says how commands are called; `service.commands` does them. What a command needs is imported when it is called, so that
help, a wrong word and `keys` are answered without loading the service.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

FAILED, WRONG_USAGE = 1, 2
FAILURES = {
    "channels.mappings.mapping": ("InvalidMapping",),
    "service.database": ("DamagedDatabase", "DatabaseUnavailable", "InUse", "NotMigrated"),
    "service.demo": ("StoryFailed",),
    "service.intake.log": ("LogChanged", "LogStuck"),
    "service.rebuild": ("CannotRebuild",),
}
"""What may fail for no fault of ours, by where it is defined: what was raised has been loaded, and nothing else need be."""


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
    except Exception as raised:
        if isinstance(raised, _loaded({"service.settings": ("SettingsError",)})):
            click.echo(f"settings: {raised}", err=True)
            sys.exit(WRONG_USAGE)
        if isinstance(raised, (OSError, *_loaded(FAILURES))):
            click.echo(f"failed: {_sentence(raised)}", err=True)
            sys.exit(FAILED)
        raise


def _sentence(raised: Exception) -> str:
    """What failed; of a database that is not there also why, as the system says it, and where it was looked for."""
    if not isinstance(raised, _loaded({"service.database": ("DatabaseUnavailable",)})):
        return str(raised)
    match raised.__cause__:
        case TimeoutError():
            why = ": it did not answer in time"
        case OSError() as cause:
            why = f": {cause}"
        case _:
            return str(raised)
    return f"{raised}{why}; BORROWER_MEMORY_DATABASE_URL says where it is"


def _loaded(named: dict[str, tuple[str, ...]]) -> tuple[type[Exception], ...]:
    """Those of these errors whose module is loaded."""
    return tuple(getattr(sys.modules[m], name) for m, names in named.items() if m in sys.modules for name in names)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="borrower-memory")
def commands() -> None:
    """One memory per borrower, across every channel."""


def _refuse_wrong_settings() -> None:
    """Before a service is loaded, which takes several times as long. Raises `SettingsError`."""
    from service.commands.configured import configured

    configured()


# -- running ------------------------------------------------------------------------------------------------------


@commands.command()
def serve() -> None:
    """The API; without Kafka also the writer, in the same process."""
    _refuse_wrong_settings()
    from service.commands import running

    running.serve()


@commands.command()
def writer() -> None:
    """A writer over Kafka as a process of its own; as many as there are partitions share them."""
    _refuse_wrong_settings()
    from service.commands import running

    running.writer()


@commands.command()
def sweeper() -> None:
    """Summarises chats that are over, as a process of its own; any number of them share the work."""
    _refuse_wrong_settings()
    from service.commands import chats

    chats.sweeper()


@commands.command()
def proposer() -> None:
    """Asks a model where conversations should start, as a process of its own; any number of them share the work."""
    _refuse_wrong_settings()
    from service.commands import proposing

    proposing.proposer()


@commands.command()
@click.option("--dry-run", is_flag=True, help="Shows what would be written, and writes nothing.")
@click.option("--tenant", help="Of this tenant only.")
@click.option("--limit", default=50, type=click.IntRange(1, 1_000), help="So many chats at most.")
def summarise(dry_run: bool, tenant: str | None, limit: int) -> None:
    """Shows, a JSON line for each, the summaries of chats that have none of their newest lines yet."""
    if not dry_run:
        raise click.UsageError("summaries are written by `sweeper` and `serve`: use --dry-run")
    from service.commands import chats

    chats.preview(tenant, limit)


@commands.command()
@click.argument("hook_id")
@click.option("--hours", default=24.0, type=click.FloatRange(0, 24 * 90), show_default=True, help="So far back.")
@click.option("--origin", help="Of an account in another region, such as https://api.eu.example.com.")
def reconcile(hook_id: str, hours: float, origin: str | None) -> None:
    """Fetches from the vendor's own list what a hook may have lost; the vendor's API key is read from standard input."""
    from service.commands import reconciling

    reconciling.run(hook_id, hours, origin)


@commands.command()
@click.option("--stay", is_flag=True, help="Keep serving when the story is told.")
def demo(stay: bool) -> None:
    """Plays one borrower's story through the API, step by step, on dates shifted to now."""
    from service.commands import telling

    telling.demo(stay)


# -- keys ---------------------------------------------------------------------------------------------------------


@commands.group()
def keys() -> None:
    """API keys: random, stored hashed, scoped, revocable."""


@keys.command("create")
@click.option("--tenant", required=True, help="The lender, a-z, 0-9 and -; its first key makes it.")
@click.option(
    "--scopes",
    required=True,
    help="Comma list of read, events:agent, events:ledger, events:ops, search:all, privacy, ops.",
)
@click.option("--name", help="Whose it is; stands in audit lines.")
def keys_create(tenant: str, scopes: str, name: str | None) -> None:
    """Makes a key and prints it, once."""
    from service.commands import keys as work

    work.make(tenant, [s.strip() for s in scopes.split(",") if s.strip()], name)


@keys.command("list")
@click.option("--tenant", help="Of this tenant only.")
def keys_list(tenant: str | None) -> None:
    """The keys there are, without the keys themselves."""
    from service.commands import keys as work

    work.show(tenant)


@keys.command("revoke")
@click.argument("key_id")
def keys_revoke(key_id: str) -> None:
    """Ends a key; within five seconds everywhere."""
    from service.commands import keys as work

    if not work.end(key_id):
        click.echo(f"no key {key_id}", err=True)
        raise click.exceptions.Exit(FAILED)


# -- hooks --------------------------------------------------------------------------------------------------------


@commands.group()
def hooks() -> None:
    """Addresses that voice platforms and providers of WhatsApp post to."""


@hooks.command("create")
@click.option("--tenant", required=True, help="The lender whose borrowers it tells of.")
@click.option("--channel", required=True, type=click.Choice(["voice", "whatsapp"]))
@click.option("--vendor", required=True, help="vapi, retell, meta, ...")
@click.option("--public-url", help="The origin that the vendor was given: Twilio and Plivo sign origin and path.")
@click.option("--verify-token", help="Of Meta's handshake.")
@click.option(
    "--time-zone", help="In which the vendor's times without a zone are read; UTC, where it has none of its own."
)
def hooks_create(
    tenant: str, channel: str, vendor: str, public_url: str | None, verify_token: str | None, time_zone: str | None
) -> None:
    """Makes a hook and prints its path. The vendor's secret is read from standard input."""
    from service.commands import hooks as work

    work.make(tenant, channel, vendor, public_url, verify_token, time_zone)


@hooks.command("list")
@click.option("--tenant", help="Of this tenant only.")
def hooks_list(tenant: str | None) -> None:
    """The hooks there are, without their secrets."""
    from service.commands import hooks as work

    work.show(tenant)


@hooks.command("revoke")
@click.argument("hook_id")
def hooks_revoke(hook_id: str) -> None:
    """Ends a hook; within five seconds everywhere."""
    from service.commands import hooks as work

    if not work.end(hook_id):
        click.echo(f"no hook {hook_id}", err=True)
        raise click.exceptions.Exit(FAILED)


@hooks.command("try")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--vendor", required=True)
@click.option("--channel", type=click.Choice(["voice", "whatsapp"]), help="Of a vendor that is on both.")
@click.option("--time-zone", help="As of `hooks create`.")
def hooks_try(file: Path, vendor: str, channel: str | None, time_zone: str | None) -> None:
    """Prints what an adapter makes of a body in a file; stores and sends nothing."""
    from service.commands import hooks as work

    if not work.try_out(file, vendor, channel, time_zone):
        raise click.exceptions.Exit(FAILED)


# -- the store ----------------------------------------------------------------------------------------------------


@commands.command()
def migrate() -> None:
    """Brings the database to this version's tables; with Kafka also makes the topics, or checks them."""
    from service.commands import store

    store.migrate()


@commands.command()
def rebuild() -> None:
    """Makes all records anew from the journal; on SQLite with `serve` stopped, on PostgreSQL beside it."""
    from service.commands import store

    store.rebuild()


@commands.command()
@click.option("--dry-run", is_flag=True, help="Counts what is past its retention, and removes nothing.")
def retention(dry_run: bool) -> None:
    """Removes turns, prose and raw bodies past their retention, and prints what; `serve` and `sweeper` do so once a day."""
    from service.commands import retention as work

    work.run(dry_run)


@commands.group("set-aside")
def set_aside() -> None:
    """What was kept and not merged."""


_OF_TENANT = click.option("--tenant", help="Whose; needed when there are several.")


@set_aside.command("list")
@_OF_TENANT
@click.option("--status", default="open", type=click.Choice(["open", "merged", "refused"]))
def set_aside_list(tenant: str | None, status: str) -> None:
    """Lists it, newest first, one JSON line each."""
    from service.commands import store

    store.list_set_aside(tenant, status)


@set_aside.command("retry")
@_OF_TENANT
@click.argument("number", type=int)
def set_aside_retry(tenant: str | None, number: int) -> None:
    """Tries once more to merge it: with Kafka beside the writers; without, with `serve` stopped (else by the API)."""
    from service.commands import store

    if not store.retry_set_aside(tenant, number):
        click.echo(f"nothing is set aside under {number}", err=True)
        raise click.exceptions.Exit(FAILED)


# -- flows and floor ----------------------------------------------------------------------------------------------


@commands.group()
def flows() -> None:
    """The channels' flows."""


@flows.command("draw")
def flows_draw() -> None:
    """Mermaid diagrams of the flows, as they stand in the README."""
    from service.commands import drawing

    drawing.flows()


@commands.group()
def floor() -> None:
    """The floor."""


@floor.command("table")
def floor_table() -> None:
    """Which proposal is granted where, and which rule refuses it."""
    from service.commands import drawing

    drawing.floor()


if __name__ == "__main__":
    main()
