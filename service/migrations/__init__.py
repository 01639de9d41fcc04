"""The history of the tables, and how Alembic is told of it: the stores run it, nothing else needs to know it is here."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Final

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

MIGRATIONS: Final = Path(__file__).parent

logging.getLogger("alembic").setLevel(logging.WARNING)  # it introduces itself at every start


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's settings for our revisions, run on a connection that the caller has."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


@cache
def newest_revision() -> str:
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert head is not None
    return head
