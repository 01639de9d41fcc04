"""`flows draw` and `floor table`: drawn from the data that the service runs on, for whoever has no service."""

from __future__ import annotations

import click

from channels import CHANNELS
from service import settings
from statemachine.floor import floor_table
from statemachine.flow import mermaid


def flows() -> None:
    settings.load()
    for name, channel in CHANNELS.items():
        click.echo(f"<!-- flow:{name} -->\n```mermaid\n{mermaid(channel.flow)}\n```\n<!-- /flow -->\n")


def floor() -> None:
    settings.load()
    for name, channel in CHANNELS.items():
        click.echo(f"{name}\n")
        for line in floor_table(channel.flow):
            click.echo(f"  {line}".rstrip())
        click.echo("")
