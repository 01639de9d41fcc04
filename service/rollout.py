"""The measures of a roll-out for one tenant, as the API and the dashboard show them (DESIGN 16).

What is counted, and how, is `watching.rollout`; here is for whom, as of when, and as a table for a spreadsheet.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from service import modes
from service.watching import rollout

if TYPE_CHECKING:
    from service.wiring import Parts


async def measures(parts: Parts, tenant: str) -> dict[str, Any]:
    """`as_of counted_from channels` (`watching.rollout`); a channel of which no mode was noted yet is in that of the policy.
    Raises `DatabaseUnavailable`, `UnreadableEntry`."""
    await parts.resumes.flush()
    now, policy = parts.clock(), parts.policies.for_tenant(tenant)
    since = missing_since(parts, tenant, now)

    def look(conn: Connection) -> dict[str, Any]:
        return rollout.rollout(conn, tenant, modes.switches(conn, tenant), since)

    found = await parts.database.read_slow(look)
    for channel in found["channels"]:
        if channel["mode"] is None:
            channel["mode"] = channel["now"]["mode"] = modes.mode_of(policy, channel["channel"])
    return {"as_of": now, **found}


def missing_since(parts: Parts, tenant: str, now: datetime) -> datetime:
    """When a conversation must have begun whose report is missing by now."""
    return now - timedelta(minutes=parts.policies.for_tenant(tenant).report_missing_minutes)


def as_csv(found: Mapping[str, Any]) -> str:
    """A line for each channel and period, with one column for each measure. No cell is of a borrower or of free text."""
    lines = list(_lines(found))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _lines(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for of in found["channels"]:
        periods = [switch["before"] for switch in of["switches"]] + [of["now"]]
        for period in periods:
            yield {"channel": of["channel"], **dict(_flat(period))}


def _flat(measured: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in measured.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}_")
        else:
            yield (
                f"{before}{name}",
                value.isoformat() if isinstance(value, datetime) else "" if value is None else value,
            )
