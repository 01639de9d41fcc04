"""`demo`: one borrower's story through the API of a service that is started for it, and perhaps stays."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

import click
import uvloop

from service.clock import utc_now
from service.commands.configured import configured
from service.commands.starting import embedded_alone, log_to_stderr
from service.demo import Story, StoryFailed, play
from service.keys import SCOPES, create
from service.policy import Policies, Policy
from service.settings import DEFAULT_DATABASE, Settings
from service.web.serving import serve as serve_http
from service.wiring.embedded import embedded

DEMO_TENANT: Final = "dev"
DEV_KEY_FILE: Final = "dev-key"


def demo(stay: bool) -> None:
    """Raises `SettingsError`, `StoryFailed`, and what `wiring` raises."""
    settings, policies = configured()
    log_to_stderr("ERROR")
    uvloop.run(_demo(settings, _contact_at_any_hour(policies), stay))


async def _demo(settings: Settings, policies: Policies, stay: bool) -> None:
    embedded_alone(settings)
    key_file = (settings.database.sqlite_path or DEFAULT_DATABASE).parent / DEV_KEY_FILE
    async with embedded(settings, policies) as parts:
        key, _ = await parts.database.write(lambda conn: create(conn, DEMO_TENANT, SCOPES, utc_now(), name="demo"))
        _write_private(key_file, key)
        told: list[BaseException | None] = []

        async def story(url: str, stop: Callable[[], None]) -> None:
            try:
                played = Story(url, key, say=click.echo)
                await asyncio.to_thread(play, played)
                told.append(None)
            except (StoryFailed, OSError) as failed:
                told.append(failed)
            if stay and told == [None]:
                click.echo(_farewell(url, key, key_file, played.run))
            else:
                stop()

        await serve_http(parts, lambda url: click.echo(f"listening on {url}"), story)
        if told and told[0] is not None:
            raise StoryFailed(str(told[0]))


def _contact_at_any_hour(policies: Policies) -> Policies:
    """The demo's own tenant may be reminded at night, so that the story is the same whenever it is played."""
    always: Policy = policies.for_tenant(DEMO_TENANT).model_copy(update={"contact_hours": ("00:00", "24:00")})
    return Policies(policies.defaults, {**policies.tenants, DEMO_TENANT: always}, policies.problems)


def _farewell(url: str, key: str, key_file: Path, run: str) -> str:
    """What can be tried. Its conversation is another in each run, for a store that is used again has the last one's."""
    header = f"-H 'Authorization: Bearer {key}'"
    json_header = f"{header} -H 'Content-Type: application/json'"
    ended = (utc_now() - timedelta(hours=2)).isoformat(timespec="seconds")
    return f"""
The service stays up at {url}; stop it with Ctrl-C.

  {url}/docs   its calls, to read and to try
  {url}/ops    the operations room

A development key of the tenant '{DEMO_TENANT}', for loopback use only, is in {key_file}.
It opens both:

  {key}

Try:

  curl -s {header} {url}/v1/borrowers

  curl -s {json_header} {url}/v1/summaries -d \\
    '{{"borrower_id": "B-1", "channel": "whatsapp", "conversation_id": "c-{run}", "ended_at": "{ended}",
      "outcome": "connected", "commitment": {{"amount_said": "5k", "due_date_said": "month end"}}}}'

  curl -s {json_header} {url}/v1/resume -d '{{"channel": "voice", "borrower_id": "B-1"}}'
"""


def _write_private(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as private:
        private.write(text + "\n")
