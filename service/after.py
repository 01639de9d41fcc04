"""Read your writes: a read that comes after an entry waits for it to be merged, for a while (API 1)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from service import records

if TYPE_CHECKING:
    from service.wiring import Parts

AFTER_WAIT_SECONDS: Final = 1.0
AFTER_POLL_SECONDS: Final = 0.02


async def merged_within(parts: Parts, tenant: str, event_id: str, end: float | None = None) -> bool:
    """Whether an entry is merged, waiting up to a second for it (API 1, read your writes), or until `end` of the loop's time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + AFTER_WAIT_SECONDS if end is None else end
    while not await parts.database.read(lambda conn: records.is_merged(conn, tenant, event_id)):
        if loop.time() >= end:
            return False
        await asyncio.sleep(AFTER_POLL_SECONDS)
    return True


async def all_merged(parts: Parts, tenant: str, event_ids: Iterable[str | None]) -> bool:
    """Whether these entries are merged, named in a body or a query or not at all; waits up to a second for all together."""
    end = asyncio.get_running_loop().time() + AFTER_WAIT_SECONDS
    for event_id in dict.fromkeys(event_ids):
        if event_id is not None and not await merged_within(parts, tenant, event_id, end):
            return False
    return True
