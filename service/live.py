"""A last look at what leaves for an agent as something that holds: a live value among it is taken out, counted and told.

Live values are left out long before (DESIGN 11: "never shown"), so what is found here is a fault of ours, as a decision that is
superseded and found as current is. The count is to be 0, also among the measures of a roll-out (DESIGN 16): each finding leaves
an audit line, by which those count it. How values become live is not known here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeVar

import structlog

from service import audit
from service.database import DatabaseUnavailable
from statemachine.volatility import Volatility

if TYPE_CHECKING:
    from service.wiring import Parts

ACTION: Final = "live value withheld"
WHO: Final = "service"
READS: Final = ("borrower", "facts", "recall")
ANY_CHANNEL: Final = "any"
"""Of a read that is for no channel in particular."""

log = structlog.get_logger("service.live")

T = TypeVar("T")


async def without_live(
    parts: Parts,
    tenant: str,
    borrower_id: str,
    read: str,
    items: Iterable[T],
    volatility: Callable[[T], object],
    channel: str = ANY_CHANNEL,
) -> list[T]:
    """Those of the items that hold. `read` names the call, `volatility` tells an item's."""
    every = list(items)
    kept = [item for item in every if volatility(item) != Volatility.LIVE]
    found = len(every) - len(kept)
    if found:
        parts.live_values.labels(read).inc(found)
        log.error("live_value.withheld", tenant=tenant, read=read, channel=channel, found=found)
        line = audit.Line(tenant, parts.clock(), WHO, ACTION, borrower_id, f"{channel} {read} {found}")
        with contextlib.suppress(DatabaseUnavailable):  # it is withheld all the same
            await parts.database.write(lambda conn: audit.add(conn, line))
    return kept
