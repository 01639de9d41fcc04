"""Settings and policy, checked: what every command begins with, and what a wrong one ends with before anything else is loaded."""

from __future__ import annotations

from service import policy, settings
from service.policy import Policies
from service.settings import Settings, SettingsError


def configured() -> tuple[Settings, Policies]:
    """The settings and the policy of the environment. Raises `SettingsError`."""
    found = settings.load()
    if found.uses_kafka and found.database.is_sqlite:
        raise SettingsError("with Kafka the records are in PostgreSQL: set DATABASE_URL to postgresql://...")
    return found, policy.load(found.policy_file, mode=found.mode)
