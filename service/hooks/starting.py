"""How a call that comes in shall begin: a vendor asks at its hook while the phone rings, and gets the `vars` of an inbound
resume in its own shape (API 11).

Whatever fails, an answer goes out well within the vendors' limits (7.5 s is the shortest), with every variable there: a cold
start that says so. A caller who withholds the number is nobody that is known.
"""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog

from channels.delivery import CallStart
from service.errors import InvalidBody
from service.resuming.gist import NOBODY
from service.resuming.request import Request, resume
from service.resuming.start import COLD, Asked, worded
from statemachine.contact import unknown
from statemachine.entries import Identifier

if TYPE_CHECKING:
    from service.wiring import Parts

RESUME_LIMIT_SECONDS: Final = 3.0
CHANNEL: Final = "voice"
NOBODY_KNOWN: Final = "a caller without a number"

log = structlog.get_logger("service.hooks")


async def begun(parts: Parts, tenant: str, start: CallStart) -> dict[str, Any]:
    """The vendor's answer. Raises nothing that a resume would not answer."""
    try:
        async with asyncio.timeout(RESUME_LIMIT_SECONDS):
            told = json.loads(await _resumed(parts, tenant, start))
    except TimeoutError:
        log.error("hook.resume_too_slow", tenant=tenant)
        told = json.loads(_cold(parts, tenant))
    resume_id = told["resume_id"]
    return start.answer(told["vars"], resume_id if isinstance(resume_id, str) and resume_id else None)


async def _resumed(parts: Parts, tenant: str, start: CallStart) -> bytes:
    stranger = Identifier(kind="messenger", value=start.call_id or NOBODY_KNOWN)
    try:
        return await resume(parts, tenant, _asked(start.identifier or stranger))
    except InvalidBody:  # one of our own numbers calls
        return await resume(parts, tenant, _asked(stranger))


def _asked(identifier: Identifier) -> Request:
    return Request(
        channel=CHANNEL,
        direction="inbound",
        borrower_id=None,
        identifier=identifier,
        loan_id=None,
        wait_ms=0,
        after=None,
        proposal=None,
    )


def _cold(parts: Parts, tenant: str) -> bytes:
    zone = parts.policies.for_tenant(tenant).time_zone
    return worded(
        NOBODY,
        COLD,
        Asked(CHANNEL, "inbound", None, None, None),
        resume_id="",
        contact=unknown(zone),
        record_version=None,
        now=parts.clock(),
        missing_after=timedelta(0),
        degraded_reason="memory_unavailable",
    )
