"""What a hook lost, fetched from the vendor's own list and read as if it had been posted there (VENDORS, delivery).

    1 list    the calls since a time that are over, page by page
    2 fetch   each whole, unless the list has it whole
    3 make    the body that the hook would have had; what all of is known already goes no further
    4 store   with the bodies that were posted, for the service to read it like any other, under the same keys

A vendor that does not answer ends it with a sentence, and what was stored stays: the next run goes on. A call that it lists and
does not give is counted as unreadable. The vendor's key is used
for the requests and kept nowhere.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import httpx
import structlog
from sqlalchemy import Connection

from channels.delivery import Item
from channels.fields import Unreadable, json_document
from channels.voice.listing import LISTINGS, Ask, Document, Listing
from service.hooks import bodies
from service.hooks.bodies import Body
from service.hooks.worker import parsed
from service.intake.message_ids import hashed

if TYPE_CHECKING:
    from service.wiring import Parts

PAGES: Final = 100
CALLS: Final = 5_000
REQUEST_SECONDS: Final = 30.0
ANSWER_BYTES: Final = 32 << 20
STOPPING: Final = (401, 403, 429)
"""Statuses of one call that all others would have as well."""

log = structlog.get_logger("service.reconciler")


class CannotReconcile(Exception):
    """The vendor's list cannot be read; the sentence says why, without a word of an answer."""


class _Refused(CannotReconcile):
    """An answer that is none, with its status where that says so."""

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class Address:
    """The hook that a vendor posts to."""

    hook_id: str
    tenant: str
    channel: str
    vendor: str
    time_zone: str | None


@dataclass(slots=True)
class Reconciled:
    """How many calls the vendor listed, and what became of them."""

    listed: int = 0
    known: int = 0
    stored: int = 0
    ignored: int = 0
    unreadable: int = 0

    def told(self) -> dict[str, int]:
        return asdict(self)


async def reconcile(
    parts: Parts, address: Address, key: str, since: datetime, *, origin: str | None = None
) -> Reconciled:
    """Stores what this hook has not had since then. Raises `CannotReconcile`, `DatabaseUnavailable`."""
    listing = LISTINGS.get(address.vendor)
    if listing is None:
        raise CannotReconcile(f"{address.vendor} has no list that is read: there are {', '.join(sorted(LISTINGS))}")
    done = Reconciled()
    async with httpx.AsyncClient(
        base_url=origin or listing.origin, headers=dict(listing.headers(key)), timeout=REQUEST_SECONDS
    ) as client:
        async for call in _calls(client, listing, since):
            done.listed += 1
            if call is None:
                done.unreadable += 1
                continue
            await _store(parts, address, json.dumps(listing.body(call), default=float).encode(), done)
    log.info("reconciled", vendor=address.vendor, tenant=address.tenant, **done.told())
    return done


async def _calls(client: httpx.AsyncClient, listing: Listing, since: datetime) -> AsyncIterator[Document | None]:
    """1 and 2. None for a call of which the vendor does not give the whole: it keeps none of its neighbours from coming."""
    ask: Ask | None = listing.first(since)
    seen: set[str] = set()
    given = 0
    for _ in range(PAGES):
        if ask is None:
            return
        page = listing.page(await _asked(client, ask), ask, since)
        for document in page.documents:
            yield document
            given += 1
        for id_ in page.ids:
            if id_ in seen or listing.detail is None:
                continue
            seen.add(id_)
            yield await _detail(client, listing.detail(id_))
            given += 1
        if given >= CALLS:
            raise CannotReconcile(f"more than {CALLS} calls since then: begin later")
        ask = page.next_ask


async def _detail(client: httpx.AsyncClient, ask: Ask) -> Document | None:
    """Raises `CannotReconcile` for what would be so with every call: no connection, a key that is refused, too many requests."""
    try:
        document = await _asked(client, ask)
    except _Refused as why:
        if why.status in STOPPING:
            raise
        return None
    return document if isinstance(document, dict) else None


async def _asked(client: httpx.AsyncClient, ask: Ask) -> Any:
    try:
        if ask.posted is not None:
            answer = await client.post(ask.path, json=dict(ask.posted))
        else:
            answer = await client.get(ask.path, params=dict(ask.query))
    except httpx.HTTPError as fault:
        raise CannotReconcile(f"the vendor cannot be reached: {type(fault).__name__}") from None
    if answer.status_code != 200:
        raise _Refused(f"the vendor answered {answer.status_code}", answer.status_code)
    if len(answer.content) > ANSWER_BYTES:
        raise _Refused("the vendor's answer is too long")
    try:
        return json_document(answer.content)
    except Unreadable:
        raise _Refused("the vendor's answer is no JSON") from None


async def _store(parts: Parts, address: Address, raw: bytes, done: Reconciled) -> None:
    """3 and 4."""
    now = parts.clock()
    row: Mapping[str, Any] = {
        "tenant": address.tenant,
        "hook_id": address.hook_id,
        "channel": address.channel,
        "vendor": address.vendor,
        "received_at": now,
        "content_type": "application/json",
        "time_zone": address.time_zone,
        "body": parts.secrets.seal(raw),
    }
    try:
        items = parsed(parts, Body(id=0, **row))
    except Unreadable:
        done.unreadable += 1
        return
    if not any(item.ignored is None for item in items):
        done.ignored += 1
        return
    if await parts.database.read(lambda conn: _is_known(conn, parts, address.tenant, items)):
        done.known += 1
        return
    await parts.database.write(lambda conn: bodies.add(conn, **row))
    done.stored += 1


def _is_known(conn: Connection, parts: Parts, tenant: str, items: list[Item]) -> bool:
    """Whether each of them came before and was taken, or waits, or is set aside."""
    ours = [item for item in items if item.ignored is None]
    return all(bodies.item_state(conn, tenant, hashed(item.key, parts.keyed_hash)) is not None for item in ours)
