"""Reads the bodies that hooks stored: at once what this process stored, and in time what another left unread.

A body is answered for once it is stored, so whatever happens it is read: after a crash by the next process, after an outage
when the world is ready again, after a fault of ours a few times, and then it is set aside, to be retried when the fault is
mended. Any number of processes may do this; each body is read by one at a time (`bodies.claim`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog
from sqlalchemy import Connection

from channels.delivery import Delivery, Item
from channels.fields import Unreadable
from channels.vendors import VENDORS
from service import records
from service.database import DatabaseUnavailable
from service.errors import Unavailable
from service.forget import arriving
from service.hooks import bodies, refused, registry
from service.hooks.bodies import Body
from service.hooks.taking import UNREADABLE, keys_of, put_aside, take
from service.metrics import Counter
from service.naming import own_numbers
from service.secrets import CannotOpen

if TYPE_CHECKING:
    from service.wiring import Parts

AT_ONCE: Final = 16
CLAIM_SECONDS: Final = 60.0
"""Longer than the largest body takes to read."""
POLL_SECONDS: Final = 1.0
AGAIN_SECONDS: Final = (1.0, 5.0, 15.0, 60.0, 300.0)
TRIES: Final = 5
"""So often a body is read that raises a fault of ours; an outage is not counted."""
HANDED_LIMIT: Final = 10_000
PURGE_EVERY_SECONDS: Final = 600.0
PURGES: Final = 200
"""Of one tenant in a row; the rest is for the next time."""
LARGE_BYTES: Final = 64 * 1024
"""A body that is sealed in more than this is read in a thread, so that nobody else waits for it."""

log = structlog.get_logger("service.hooks")


class HookWorker:
    """One of any number of readers. `run` it and `stop` it; `hand` it what this process stored."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._handed: list[tuple[int, list[Item] | None]] = []
        self._stirred = asyncio.Event()
        self._stopping = asyncio.Event()
        self._busy: set[int] = set()
        self._purged_at = float("-inf")
        self._items = Counter(
            "borrower_memory_hook_items",
            "Items of hooks by what became of them",
            ["vendor", "became"],
            registry=parts.registry,
        )
        self._notes = Counter(
            "borrower_memory_hook_notes", "What was met in bodies of hooks and not understood", ["vendor", "note"],
            registry=parts.registry,
        )  # fmt: skip

    def hand(self, body_id: int, items: list[Item] | None) -> None:
        """A body that this process stored and claimed, with its items if they are known already."""
        if len(self._handed) < HANDED_LIMIT:
            self._handed.append((body_id, items))
            self._busy.add(body_id)
        self._stirred.set()

    def stir(self) -> None:
        """Something may be there to be read."""
        self._stirred.set()

    async def run(self, *, alone: bool = False) -> None:
        """Until `stop`. `alone`: no other process reads, so whatever is claimed was left by one that is gone."""
        running: set[asyncio.Task[None]] = set()
        if alone:
            with contextlib.suppress(DatabaseUnavailable):
                await self._parts.database.write(bodies.release_all)
        while not self._stopping.is_set():
            self._stirred.clear()
            try:
                await self._parts.hook_refusals.write()
                await self._purge()
                for body_id, items in await self._next(AT_ONCE - len(running)):
                    running.add(asyncio.create_task(self._read(body_id, items)))
            except DatabaseUnavailable as why:
                log.warning("hooks.wait", why=type(why).__name__)
            except Exception as fault:  # noqa: BLE001 (a fault of ours must be seen, and not end what all bodies wait for)
                log.error("hooks.fault", fault=type(fault).__name__)
            waits = [asyncio.ensure_future(event.wait()) for event in (self._stirred, self._stopping)]
            done, _ = await asyncio.wait({*waits, *running}, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            running -= done
            for one in waits:
                one.cancel()
        if running:
            await asyncio.wait(running)
        with contextlib.suppress(DatabaseUnavailable):
            await self._parts.hook_refusals.write(at_once=True)

    async def stop(self) -> None:
        """No further body is begun; those in hand are read to their end."""
        self._stopping.set()

    async def settle(self) -> None:
        """Reads what was handed and what is there, now: for whoever does not run it."""
        while found := await self._next(AT_ONCE):
            for body_id, items in found:
                await self._read(body_id, items)

    async def retry(self, tenant: str, number: int, value: bytes) -> None:
        """Tries once more what was set aside of a hook. Raises `Unavailable`."""
        await retried(self._parts, tenant, number, value)

    # -- one body

    async def _next(self, room: int) -> list[tuple[int, list[Item] | None]]:
        taken, self._handed = self._handed[: max(room, 0)], self._handed[max(room, 0) :]
        left = room - len(taken)
        if left <= 0 or self._handed:
            return taken
        now = self._parts.clock()
        database = self._parts.database
        free = await database.read(lambda conn: bodies.waiting(conn, now, left))
        until = now + timedelta(seconds=CLAIM_SECONDS)
        for body_id in (one for one in free if one not in self._busy):
            if await database.write(lambda conn, body_id=body_id: bodies.claim(conn, body_id, now, until)):  # type: ignore[misc]
                self._busy.add(body_id)
                taken.append((body_id, None))
        return taken

    async def _read(self, body_id: int, items: list[Item] | None) -> None:
        database = self._parts.database
        body: Body | None = None
        try:
            body = await database.read(lambda conn: bodies.load(conn, body_id))
            if body is not None:
                tenant = body.tenant
                keys = await self._take(body, items)
                await database.write(lambda conn: self._finish(conn, body_id, tenant, keys))
        except (Unavailable, DatabaseUnavailable):
            await self._later(body_id, 0)
        except Exception as fault:  # noqa: BLE001 (one body's fault must not end the reading of the others)
            log.error("hook.fault", body=body_id, vendor=body.vendor if body else None, fault=type(fault).__name__)
            if body is not None:
                self._items.labels(body.vendor, "fault").inc()
            await self._faulty(body_id, body, fault)
        finally:
            self._busy.discard(body_id)

    def _finish(self, conn: Connection, body_id: int, tenant: str, keys: Sequence[str]) -> None:
        """It is read. Of whom something was forgotten, no copy of what came is kept, old or told again (DESIGN 11)."""
        bodies.finish(conn, body_id)
        if arriving.forgetful(conn, tenant, bodies.whose(conn, tenant, keys)):
            bodies.remove(conn, body_id)

    async def _take(self, body: Body, items: list[Item] | None) -> list[str]:
        """The keys of what it told."""
        try:
            found = await _parsed_beside(self._parts, body) if items is None else items
        except (Unreadable, CannotOpen) as why:
            detail = str(why)
            await self._parts.database.write(
                lambda conn: put_aside(
                    conn, self._parts, body, f"{body.vendor}:{body.id}:{UNREADABLE}", "unreadable", detail
                )
            )
            self._items.labels(body.vendor, "unreadable").inc()
            self._parts.deliveries.put_aside("unreadable")
            return []
        became = await take(self._parts, body, found)
        for word, count in became.items():
            if count:
                self._items.labels(body.vendor, word).inc(count)
        if became["repeat"]:
            self._parts.deliveries.repeated(became["repeat"])
        for note in (note for item in found for note in item.notes):
            self._notes.labels(body.vendor, note).inc()
        log.info("hook", body=body.id, vendor=body.vendor, tenant=body.tenant, **became)
        return keys_of(self._parts, body, found)

    async def _later(self, body_id: int, tries: int) -> None:
        until = self._parts.clock() + timedelta(seconds=AGAIN_SECONDS[min(tries, len(AGAIN_SECONDS) - 1)])
        with contextlib.suppress(DatabaseUnavailable):
            await self._parts.database.write(lambda conn: bodies.release(conn, body_id, until))

    async def _faulty(self, body_id: int, body: Body | None, fault: Exception) -> None:
        """A fault of ours: tried again, and then set aside until it is mended."""
        if body is None or body.tries < TRIES:
            await self._later(body_id, body.tries if body else 0)
            return
        detail = f"reading it failed {TRIES} times ({type(fault).__name__})"

        def give_up(conn: Any) -> None:
            put_aside(conn, self._parts, body, f"{body.vendor}:{body.id}:{UNREADABLE}", "cannot_merge", detail)
            bodies.finish(conn, body_id)

        with contextlib.suppress(DatabaseUnavailable):
            await self._parts.database.write(give_up)
            self._parts.deliveries.put_aside("cannot_merge")

    # -- retention

    async def _purge(self) -> None:
        """Ends the retention of old bodies, now and then."""
        at = asyncio.get_running_loop().time()
        if at - self._purged_at < PURGE_EVERY_SECONDS:
            return
        self._purged_at = at
        parts, now = self._parts, self._parts.clock()
        for tenant in await parts.database.read(registry.tenants):
            before = now - timedelta(days=parts.policies.for_tenant(tenant).retention.hook_bodies)
            for _ in range(PURGES):
                if not await parts.database.write(lambda conn, of=tenant, to=before: bodies.purge(conn, of, to)):  # type: ignore[misc]
                    break
            await parts.database.write(lambda conn, of=tenant, to=before: refused.purge(conn, of, to))  # type: ignore[misc]


def delivery_of(parts: Parts, body: Body) -> Delivery:
    """The body as an adapter takes it. Raises `CannotOpen`."""
    policy = parts.policies.for_tenant(body.tenant)
    return Delivery(
        body=parts.secrets.open(body.body),
        received_at=body.received_at,
        content_type=body.content_type,
        zone=body.time_zone,
        region=policy.region,
        own_numbers=own_numbers(policy),
    )


def parsed(parts: Parts, body: Body) -> list[Item]:
    """What this version's adapter makes of a body. Raises `Unreadable`, `CannotOpen`."""
    vendor = VENDORS.get((body.channel, body.vendor))
    if vendor is None:
        raise Unreadable(f"there is no adapter for {body.vendor} any more")
    return vendor.parse(delivery_of(parts, body))


async def _parsed_beside(parts: Parts, body: Body) -> list[Item]:
    return parsed(parts, body) if len(body.body) <= LARGE_BYTES else await asyncio.to_thread(parsed, parts, body)


async def retried(parts: Parts, tenant: str, number: int, value: bytes) -> None:
    """Tries once more what was set aside of a hook, with the adapters of this version. Raises `Unavailable`."""
    kept = json.loads(value)
    body_id, key = int(kept["body"]), str(kept["key"])
    whole = key.endswith(UNREADABLE)

    def look(conn: Any) -> Body | None:
        owner = None if whole else bodies.item_state(conn, tenant, key)
        return bodies.load(conn, owner[0] if owner else body_id)

    body = await parts.database.read(look)
    if body is None:
        await _settled(parts, tenant, number, "refused")  # its retention has ended: there is nothing to try
        return
    try:
        items: Sequence[Item] = await _parsed_beside(parts, body)
    except Exception as why:  # noqa: BLE001 (the adapter may be faulty still: it stays in the list, and is counted)
        log.warning("hook.still_unreadable", body=body.id, vendor=body.vendor, why=type(why).__name__)
        await _settled(parts, tenant, number, "open")
        return
    await take(parts, body, items)
    state = await parts.database.read(lambda conn: bodies.item_state(conn, tenant, key))
    if whole or (state is not None and state[1] == bodies.WAITING):
        await _settled(parts, tenant, number, "merged")
    # Any other item was settled, or set aside once more, with what became of it.


async def _settled(parts: Parts, tenant: str, number: int, status: str, attempts: int = 1) -> None:
    await parts.database.write(lambda conn: records.settle_set_aside(conn, tenant, number, status, attempts=attempts))
