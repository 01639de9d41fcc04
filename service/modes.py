"""Which mode each channel of a tenant has been in, and since when: an audit line for each switch (DESIGN 9, 16).

A mode is changed in the policy, which a process reads when it starts. So `serve` compares, at its start and for tenants that come
later, what the policy says with the line written last, and writes one where they differ. Lines that say the same twice, as when
two processes start at once, are read as one. The first line of a channel is no switch: nobody knows what was before it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy import Connection, select

from channels import CHANNELS
from service import audit, keys
from service.audit import AUDIT
from service.database import DatabaseUnavailable, Store
from service.policy import Policies, Policy

ACTION: Final = "mode switched"
WHO: Final = "policy"
LISTED: Final = "listed"
"""Enabled, for the borrowers of a list."""
EVERY_SECONDS: Final = 600.0

log = structlog.get_logger("service.modes")


@dataclass(frozen=True, slots=True)
class Switch:
    """From when on a channel was in this mode: `disabled shadow listed enabled`."""

    at: datetime
    mode: str


def mode_of(policy: Policy, channel: str) -> str:
    """A channel's mode, and whether it is for a list."""
    mode = policy.mode.get(channel, "disabled")
    return LISTED if mode == "enabled" and policy.allow else mode


def switches(connection: Connection, tenant: str) -> dict[str, list[Switch]]:
    """What was noted of each channel, in its order."""
    wanted = select(AUDIT.c.at, AUDIT.c.detail).where(AUDIT.c.tenant == tenant, AUDIT.c.action == ACTION)
    found: dict[str, list[Switch]] = {channel: [] for channel in CHANNELS}
    for at, detail in connection.execute(wanted.order_by(AUDIT.c.id)):
        channel, _, mode = detail.partition(" ")
        noted = found.setdefault(channel, [])
        if not noted or noted[-1].mode != mode:
            noted.append(Switch(at, mode))
    return found


async def note(database: Store, policies: Policies, now: datetime) -> int:
    """Writes a line for each channel whose mode is another than was noted last; how many. Raises `DatabaseUnavailable`."""

    def compare(conn: Connection) -> list[tuple[str, str, str]]:
        return [line for tenant in keys.tenants(conn) for line in _changed(tenant, policies, switches(conn, tenant))]

    if not await database.read_slow(compare):
        return 0

    def write(conn: Connection) -> list[tuple[str, str, str]]:
        lines = compare(conn)
        for tenant, channel, mode in lines:
            audit.add(conn, audit.Line(tenant, now, WHO, ACTION, detail=f"{channel} {mode}"))
        return lines

    written = await database.write(write)
    for tenant, channel, mode in written:
        log.info("mode.switched", tenant=tenant, channel=channel, mode=mode)
    return len(written)


def _changed(tenant: str, policies: Policies, noted: Mapping[str, Sequence[Switch]]) -> list[tuple[str, str, str]]:
    policy = policies.for_tenant(tenant)
    now = {channel: mode_of(policy, channel) for channel in CHANNELS}
    return [(tenant, c, mode) for c, mode in now.items() if not noted[c] or noted[c][-1].mode != mode]


async def keep_noting(database: Store, policies: Policies, clock: Callable[[], datetime]) -> None:
    """Until it is cancelled. What cannot be written now is written later, with a later time."""
    while True:
        with contextlib.suppress(DatabaseUnavailable):
            await note(database, policies, clock())
        await asyncio.sleep(EVERY_SECONDS)
