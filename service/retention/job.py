"""The retention job: what is past its retention goes from the tables, tenant by tenant, and a receipt says what went.

    turns        of summaries in the journal, and the texts of chats' messages; chats' lines
    prose        of summaries: by an entry of its own (`memory.forgotten`, of prose), so that records lose it as they would have
                 anyhow, in any order and in a rebuild
    hook_bodies  the raw bodies
    log          the embedded log, as far as it is merged
    forgotten    words that came after they were forgotten, to places that no writer sees

Reads leave out what is over at once (`reading`); the job follows within a day, counted from when a thing arrived. It may run
twice or beside another: what is gone is gone. Dry, it counts and changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog
from sqlalchemy import Connection, and_, func, insert, or_, select, update

from service import records
from service.chats import claims as chat_claims
from service.chats.rows import CHAT, LINE
from service.database import DatabaseUnavailable
from service.errors import Unavailable
from service.forget import arriving
from service.forget.entries import FORGOTTEN as BLANK
from service.hooks import bodies
from service.intake import envelope, table_log
from service.intake.envelope import internal_id
from service.recall import index
from service.records import BORROWER, JOURNAL
from service.retention.reading import EXPIRED
from service.tables import Forgotten, Intake, IntakeHead, RetentionRun, WriterPartition, table_of
from statemachine.record import Tombstone, UnreadableRecord
from statemachine.stamps import Entry, MemoryForgotten, Stamps

if TYPE_CHECKING:
    from service.wiring import Parts

EVERY: Final = timedelta(days=1)
LOOK_EVERY: Final = timedelta(hours=1)
AT_ONCE: Final = 200
ROUNDS: Final = 10_000
INDEX_REST: Final = 4.0
"""So many times as long as one borrower took to index a service rests after it: those who ask come first."""
PROSE_PREFIX: Final = "retention"

RUN, FORGOTTEN, HEAD = table_of(RetentionRun), table_of(Forgotten), table_of(IntakeHead)

INTAKE, FENCE = table_of(Intake), table_of(WriterPartition)

log = structlog.get_logger("service.retention")


@dataclass(frozen=True, slots=True)
class Ended:
    """How much of one kind was past its retention: everything that arrived before then. `tenant` null: of all."""

    tenant: str | None
    kind: str
    before: datetime
    count: int


class Retention:
    """The job over these parts. `run` it, or let `stir` do so once a day, whoever else does as well."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._next_look: datetime | None = None
        self._running: asyncio.Task[None] | None = None

    def stir(self) -> None:
        """Looks once an hour whether anybody's last run is a day ago, and runs beside the caller if so; returns at once."""
        now = self._parts.clock()
        if self._running is not None and not self._running.done():
            return
        if self._next_look is None or now >= self._next_look:
            self._next_look = now + LOOK_EVERY
            self._running = asyncio.get_running_loop().create_task(self._daily(now))

    async def _daily(self, now: datetime) -> None:
        try:
            last = await self._parts.database.read(last_run)
            if last is None or now >= last + EVERY:
                await self.run(by="service", rest=INDEX_REST)
            else:
                await self._index(now, INDEX_REST)
        except (DatabaseUnavailable, Unavailable) as why:
            log.warning("retention.waits", why=type(why).__name__)  # and is tried again in an hour
        except Exception as fault:  # noqa: BLE001 (a fault of ours must be seen, and not end what else the process does)
            log.error("retention.fault", fault=type(fault).__name__)

    async def settle(self) -> None:
        """Gives up what is running: each of its steps is whole, and the next run goes on from the last receipt."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def run(self, *, by: str, dry: bool = False, rest: float = 0.0) -> list[Ended]:
        """What ended, or dry what would. `rest`: as `INDEX_REST`. Raises `DatabaseUnavailable`, `Unavailable`."""
        parts, now = self._parts, self._parts.clock()
        since = await parts.database.read(cutoffs)
        ended: list[Ended] = []
        for tenant in await parts.database.read_slow(_tenants):
            policy = parts.policies.for_tenant(tenant).retention
            for kind, days in (("turns", policy.turns), ("prose", policy.prose), ("hook_bodies", policy.hook_bodies)):
                before = now - timedelta(days=days)
                count = await self._end(kind, tenant, since.get((tenant, kind)), before, now, dry=dry)
                ended.append(Ended(tenant, kind, before, count))
            again = await self._again(tenant, now - timedelta(days=policy.hook_bodies), dry=dry)
            ended.append(Ended(tenant, "forgotten", now, again))
        if not parts.settings.uses_kafka:
            ended.append(await self._trim(now, dry=dry))
        if not dry:
            told = json.dumps([asdict(one) for one in ended], default=lambda at: at.isoformat())
            await parts.database.write(
                lambda conn: conn.execute(insert(RUN).values(at=now, by=by, ended=told)) and None
            )
            await parts.database.scrub()
            log.info("retention", ended=sum(one.count for one in ended))
            await self._index(now, rest)
        return ended

    async def _end(
        self, kind: str, tenant: str, since: datetime | None, before: datetime, now: datetime, *, dry: bool
    ) -> int:
        if kind == "turns":
            return await self._turns(tenant, since, before, dry=dry)
        if kind == "prose":
            return await self._prose(tenant, since, before, now, dry=dry)
        return await self._hook_bodies(tenant, before, dry=dry)

    # -- turns

    async def _turns(self, tenant: str, since: datetime | None, before: datetime, *, dry: bool) -> int:
        """Of the journal and of chats."""
        place: tuple[datetime | None, str] = (since, "")
        count = 0
        for _ in range(ROUNDS):
            page = await self._parts.database.read_slow(partial(_with_turns, tenant=tenant, place=place, before=before))
            if not page:
                break
            place = (page[-1][0], page[-1][1])
            changed = [(id_, without) for _, id_, type_, body in page if (without := _without_turns(type_, body))]
            count += len(changed)
            if changed and not dry:
                await self._parts.database.write(partial(_rewrite, tenant=tenant, changed=changed))
        lines = await self._parts.database.read_slow(lambda conn: _old_lines(conn, tenant, before))
        if lines and not dry:
            for _ in range(ROUNDS):
                if not await self._parts.database.write(lambda conn: _purge_lines(conn, tenant, before)):
                    break
        return count + lines

    # -- prose

    async def _prose(self, tenant: str, since: datetime | None, before: datetime, now: datetime, *, dry: bool) -> int:
        """One entry for each borrower of whom there is old prose; how many borrowers."""
        owners = await self._parts.database.read_slow(lambda conn: _with_prose(conn, tenant, since, before))
        if owners and not dry:
            entries = [(tenant, _prose_entry(self._parts, owner, before, now)) for owner in owners]
            for start in range(0, len(entries), AT_ONCE):
                await self._parts.append(entries[start : start + AT_ONCE])
        return len(owners)

    # -- the rest

    async def _hook_bodies(self, tenant: str, before: datetime, *, dry: bool) -> int:
        body = bodies.BODY
        its = and_(body.c.tenant == tenant, body.c.received_at < before)
        count = await self._parts.database.read_slow(
            lambda conn: int(conn.execute(select(func.count()).select_from(body).where(its)).scalar_one())
        )
        if not dry:
            for _ in range(ROUNDS):
                if not await self._parts.database.write(lambda conn: bodies.purge(conn, tenant, before)):
                    break
        return count

    async def _again(self, tenant: str, since: datetime, *, dry: bool) -> int:
        """Words that came after they were forgotten. Dry they are not looked for: to find them is to clean them."""
        if dry:
            return 0
        found = 0
        for owner in await self._parts.database.read_slow(lambda conn: _forgetful(conn, tenant, since)):
            found += await self._parts.database.write(lambda conn, owner=owner: self._clean_again(conn, tenant, owner))  # type: ignore[misc]
        return found

    def _clean_again(self, connection: Connection, tenant: str, owner: str) -> int:
        return arriving.clean(connection, tenant, owner, self._parts.secrets)

    async def _trim(self, now: datetime, *, dry: bool) -> Ended:
        before = now - timedelta(days=self._parts.policies.log_retention_days)
        count = 0
        if not dry:
            partitions = await self._parts.database.read(
                lambda conn: conn.execute(select(HEAD.c.partition)).scalars().all()
            )
            if partitions:
                count = await table_log.trim(self._parts.database, partitions, before)
                count += await self._parts.database.write(partial(_blank_last, before=before))
        return Ended(None, "log", before, count)

    async def _index(self, now: datetime, rest: float) -> None:
        """Whom the index does not know as they are now is indexed, resting so many times as long as each took."""
        last: tuple[str, str] | None = None
        for _ in range(ROUNDS):
            behind = await self._parts.database.read_slow(partial(index.behind, most=AT_ONCE, after=last))
            for tenant, owner in behind:
                began = time.monotonic()
                await self._index_one(tenant, owner, now)
                await asyncio.sleep(rest * (time.monotonic() - began))
            if len(behind) < AT_ONCE:
                break
            last = behind[-1]

    async def _index_one(self, tenant: str, owner: str, now: datetime) -> None:
        parts = self._parts
        stored = await parts.database.read(lambda conn: records.stored_each(conn, tenant, [owner]).get(owner))
        if stored is None:
            return
        try:
            state = parts.reader.known(tenant, stored, parts.policies.for_tenant(tenant), now).state
        except UnreadableRecord as why:
            log.error("stored.unreadable", tenant=tenant, route="retention", why=str(why))
            return  # the others are indexed all the same; a search names him
        words = index.hashes(index.terms_in(state), tenant, parts.keyed_hash)
        await parts.database.write(lambda conn: index.keep(conn, tenant, owner, stored.version, words))


# -- receipts -------------------------------------------------------------------------------------------------------------


def last_run(connection: Connection) -> datetime | None:
    at: datetime | None = connection.execute(select(func.max(RUN.c.at))).scalar()
    return at


def cutoffs(connection: Connection) -> dict[tuple[str | None, str], datetime]:
    """By tenant and kind, up to when the last run ended what had arrived."""
    told = connection.execute(select(RUN.c.ended).order_by(RUN.c.id.desc()).limit(1)).scalar()
    ended: list[dict[str, Any]] = json.loads(told) if told else []
    return {(one["tenant"], one["kind"]): datetime.fromisoformat(one["before"]) for one in ended}


# -- rows -----------------------------------------------------------------------------------------------------------------


def _tenants(connection: Connection) -> list[str]:
    return sorted(connection.execute(select(BORROWER.c.tenant).distinct()).scalars())


def _with_turns(
    connection: Connection, tenant: str, place: tuple[datetime | None, str], before: datetime
) -> Sequence[tuple[datetime, str, str, bytes]]:
    """The next entries that arrived before then and may hold turns: arrival, id, type, body."""
    since, last = place
    where = [JOURNAL.c.tenant == tenant, JOURNAL.c.received_at < before]
    where.append(JOURNAL.c.type.in_(("summary", "conversation.message")))
    if since is not None:
        later = and_(JOURNAL.c.received_at == since, JOURNAL.c.event_id > last)
        where.append(or_(JOURNAL.c.received_at > since, later))
    columns = (JOURNAL.c.received_at, JOURNAL.c.event_id, JOURNAL.c.type, JOURNAL.c.body)
    wanted = select(*columns).where(*where).order_by(JOURNAL.c.received_at, JOURNAL.c.event_id).limit(AT_ONCE)
    return [(at, id_, type_, body) for at, id_, type_, body in connection.execute(wanted)]


def _without_turns(type_: str, body: bytes) -> bytes | None:
    """None when there are none."""
    document = envelope.document(body)
    if type_ == "summary":
        if not document.get("turns"):
            return None
        del document["turns"]
    else:
        if document.get("text") in (EXPIRED, BLANK):
            return None
        document["text"] = EXPIRED
    return _ENCODER.encode(document)


_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def _rewrite(connection: Connection, tenant: str, changed: Sequence[tuple[str, bytes]]) -> None:
    for event_id, body in changed:
        its = (JOURNAL.c.tenant == tenant, JOURNAL.c.event_id == event_id)
        connection.execute(update(JOURNAL).where(*its).values(body=body))


def _old_lines(connection: Connection, tenant: str, before: datetime) -> int:
    its = (CHAT.c.tenant == tenant, CHAT.c.last_at < before, LINE.c.tenant == tenant, LINE.c.chat == CHAT.c.id)
    return int(connection.execute(select(func.count()).select_from(LINE.join(CHAT, and_(*its)))).scalar_one())


def _purge_lines(connection: Connection, tenant: str, before: datetime) -> int:
    """A summary that is still due of what is so old is not made any more."""
    late = (CHAT.c.tenant == tenant, CHAT.c.last_at < before, CHAT.c.try_at.is_not(None))
    given_up = {
        "try_at": None,
        "due_at": None,
        "summarised": CHAT.c.changes,
        "prepared": None,
        "fence": CHAT.c.fence + 1,
    }
    connection.execute(update(CHAT).where(*late).values(given_up))
    return chat_claims.purge(connection, tenant, before)


def _with_prose(connection: Connection, tenant: str, since: datetime | None, before: datetime) -> list[str]:
    """The ids of borrowers, provisional ones included, of whom summaries with prose arrived before then."""
    where = [JOURNAL.c.tenant == tenant, JOURNAL.c.type == "summary", JOURNAL.c.received_at < before]
    if since is not None:
        where.append(JOURNAL.c.received_at >= since)
    found: set[str] = set()
    for owner, body in connection.execute(select(JOURNAL.c.borrower_id, JOURNAL.c.body).where(*where)):
        if owner not in found and envelope.document(body).get("summary"):
            found.add(owner)
    return sorted(found)


def _prose_entry(parts: Parts, owner: str, before: datetime, now: datetime) -> Entry:
    event_id = internal_id(PROSE_PREFIX, f"{owner}:{before.isoformat()}")
    tombstone = Tombstone(at=before, by=PROSE_PREFIX, event_id=event_id, prose=True)
    body = MemoryForgotten(event_id=event_id, tombstone=tombstone, type="memory.forgotten")
    stamps = Stamps(borrower_id=owner, digest="", effective_at=now, received_at=now, time_zone="UTC")
    return Entry(body, stamps.changed(digest=envelope.entry_digest(body, stamps, parts.keyed_hash)))


def _blank_last(connection: Connection, before: datetime) -> int:
    """Takes the words out of the last merged entry of each partition. The entry itself stays: by its id a writer knows the log
    again."""
    merged = select(FENCE.c.next_offset).where(FENCE.c.log == table_log.NAME, FENCE.c.partition == INTAKE.c.partition)
    old = (INTAKE.c.appended_at < before, INTAKE.c.log_offset < merged.scalar_subquery(), INTAKE.c.value != b"")
    return connection.execute(update(INTAKE).where(*old).values(value=b"")).rowcount


def _forgetful(connection: Connection, tenant: str, since: datetime) -> list[str]:
    its = (FORGOTTEN.c.tenant == tenant, FORGOTTEN.c.at >= since)
    return sorted(connection.execute(select(FORGOTTEN.c.borrower_id).where(*its).distinct()).scalars())
