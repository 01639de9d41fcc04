"""What is to go to Kafka and is durable in the database until it is there: the spool and the outbox, one table.

    spool      posts that Kafka did not take in time; of a borrower who waits here, everything goes this way
    outbox     what a writer sends to other records, and announces, as part of its transaction (`InternalLog`)

Theory of operation. A row has an owner, the process that sends it, at once. A row that is still here long after its owner took
it up is another's to take over. Nobody sends an entry of a borrower while an older one is another owner's: so one
borrower's entries reach the topic in the order of their rows, which is that in which they were made durable. A row goes when
Kafka has its entry; what was sent twice in spite of that is the same entry twice, which a writer knows.

`awaited` tells which of the writers' own entries an answer waits for: a link is answered as merged once the evidence that it
brings has been joined, whichever writer does so.

What an entry means is not known here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import msgspec
import structlog
from sqlalchemy import Connection, bindparam, delete, insert, select, update

from service.database import DatabaseUnavailable, Store
from service.intake.kafka_messages import message_of
from service.intake.kafka_producer import Message
from service.intake.kafka_topics import Topic
from service.intake.log import Change, LogBusy, LogUnavailable, Pending, Position
from service.prepared import Prepared
from service.tables import Awaited, table_of
from service.tables import Outbox as OutboxRow

INTAKE: Final = "intake"
CHANGES: Final = "changes"
SOURCE: Final = "/borrower-memory/records/"
CHANGED: Final = "borrower.changed"

TAKE_ROWS: Final = 100
TAKE_BYTES: Final = 4 << 20
POLL_SECONDS: Final = 1.0  # for rows that another process left; its own wake it
STALE_SECONDS: Final = 15.0
BACKOFF_SECONDS: Final = 0.5
BACKOFF_LIMIT_SECONDS: Final = 5.0

log = structlog.get_logger("service.outbox")

_ROWS, _AWAITED = table_of(OutboxRow), table_of(Awaited)
_OLDER = _ROWS.alias("older")
_TAKEN: Final = ("id", "topic", "tenant", "borrower_id", "event_id", "value")

_ADD: Final = Prepared(
    insert(_ROWS).values({c.name: bindparam(c.name) for c in _ROWS.columns if c.name != "id"})
)  # fmt: skip
_HOLDS: Final = Prepared(
    select(_ROWS.c.id)
    .where(
        _ROWS.c.tenant == bindparam("of_tenant"),
        _ROWS.c.borrower_id == bindparam("of_borrower"),
        _ROWS.c.topic == bindparam("of_topic"),
    )
    .limit(1)
)
_IS_EMPTY: Final = Prepared(select(_ROWS.c.id).where(_ROWS.c.topic == bindparam("of_topic")).limit(1))
_OWN: Final = Prepared(
    select(*(_ROWS.c[name] for name in _TAKEN))
    .where(
        _ROWS.c.owner == bindparam("mine"),
        ~select(_OLDER.c.id)
        .where(
            _OLDER.c.tenant == _ROWS.c.tenant,
            _OLDER.c.borrower_id == _ROWS.c.borrower_id,
            _OLDER.c.topic == _ROWS.c.topic,
            _OLDER.c.id < _ROWS.c.id,
            _OLDER.c.owner != _ROWS.c.owner,
        )
        .exists(),
    )
    .order_by(_ROWS.c.id)
    .limit(bindparam("most"))
)
_GONE: Final = Prepared(delete(_ROWS).where(_ROWS.c.id == bindparam("of_id")))
_AWAIT: Final = Prepared(insert(_AWAITED).values({c.name: bindparam(c.name) for c in _AWAITED.columns}))
_CAUSES: Final = Prepared(
    select(_AWAITED.c.cause).where(
        _AWAITED.c.tenant == bindparam("of_tenant"), _AWAITED.c.event_id == bindparam("of_event")
    )
)
_IS_AWAITED: Final = Prepared(
    select(_AWAITED.c.event_id)
    .where(_AWAITED.c.tenant == bindparam("of_tenant"), _AWAITED.c.cause == bindparam("of_cause"))
    .limit(1)
)
_TAKEN_UP: Final = Prepared(
    delete(_AWAITED).where(_AWAITED.c.tenant == bindparam("of_tenant"), _AWAITED.c.event_id == bindparam("of_event"))
)


class Sender(Protocol):
    async def send(self, messages: Sequence[Message]) -> list[int]: ...


class Outbox:
    """This process's part of it. `relay` runs until it is told to stop."""

    def __init__(
        self,
        database: Store,
        sender: Sender,
        topics: dict[str, Topic],
        owner: str,
        clock: Callable[[], datetime],
    ) -> None:
        """`topics`: where `intake` and `changes` go. `owner` is this process's alone, also among those before it."""
        self._database = database
        self._sender = sender
        self._topics = topics
        self._owner = owner
        self._clock = clock
        self._added = asyncio.Event()
        self.reaches_kafka = True
        """Whether the last send went through."""
        self.relayed = 0

    # -- what a writer's transaction adds (`InternalLog`)

    def append_within(self, connection: Connection, items: Sequence[Pending]) -> list[Position]:
        """Where they will stand is not known yet."""
        self._add(connection, INTAKE, items)
        for item in items:
            causes = {root for cause in item.causes for root in _roots(connection, item.tenant, cause)}
            known = {row[0] for row in _CAUSES.rows(connection, of_tenant=item.tenant, of_event=item.event_id)}
            for cause in sorted(causes - known):
                _AWAIT.run(connection, tenant=item.tenant, cause=cause, event_id=item.event_id)
        return []

    def taken_up_within(self, connection: Connection, tenant: str, event_ids: Sequence[str]) -> None:
        _TAKEN_UP.run_each(connection, [{"of_tenant": tenant, "of_event": event_id} for event_id in event_ids])

    def announce_within(self, connection: Connection, changes: Sequence[Change]) -> None:
        now = self._clock()
        self._add(
            connection, CHANGES, [Pending(c.tenant, c.borrower_id, c.event_id, announcement(c, now)) for c in changes]
        )

    def publish_within(self, connection: Connection, items: Sequence[Pending]) -> None:
        self._add(connection, CHANGES, items)

    def appended(self, positions: Sequence[Position] = ()) -> None:
        self._added.set()

    def _add(self, connection: Connection, topic: str, items: Sequence[Pending]) -> None:
        now = self._clock()
        shared = {"topic": topic, "owner": self._owner, "claimed_at": now, "added_at": now}
        _ADD.run_each(
            connection,
            [
                {"tenant": i.tenant, "borrower_id": i.borrower_id, "event_id": i.event_id, "value": i.value, **shared}
                for i in items
            ],
        )

    # -- the spool

    async def spool(self, items: Sequence[Pending]) -> None:
        """Durable on return, and sent when Kafka takes it. Raises `DatabaseUnavailable`."""
        await self._database.write(lambda connection: self._add(connection, INTAKE, items))
        self._added.set()

    # -- sending

    async def relay(self, stopping: asyncio.Event) -> None:
        """Sends what this process owns and what others left, until the event is set."""
        failures = 0
        while not stopping.is_set():
            self._added.clear()
            try:
                more = await self.relay_once()
                failures = 0
            except (LogUnavailable, DatabaseUnavailable) as why:
                more = False
                failures += 1
                log.warning("outbox_waits", why=type(why).__name__, failures=failures)
            except Exception as why:  # noqa: BLE001 (a fault of ours is seen, and what is durable here is tried again)
                more = False
                failures += 1
                log.critical("outbox_fault", why=type(why).__name__, failures=failures)
            if not more:
                await self._pause(failures, stopping)

    async def _pause(self, failures: int, stopping: asyncio.Event) -> None:
        """Until something is added; after a failure so long whatever is added."""
        if failures:
            seconds = min(BACKOFF_LIMIT_SECONDS, BACKOFF_SECONDS * 2.0 ** min(failures - 1, 10))
            waits = [asyncio.ensure_future(stopping.wait())]
        else:
            seconds = POLL_SECONDS
            waits = [asyncio.ensure_future(stopping.wait()), asyncio.ensure_future(self._added.wait())]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def relay_once(self) -> bool:
        """Sends some; whether it sent any. Raises `LogUnavailable`, `DatabaseUnavailable`."""
        rows = await self._database.read(self._own)
        if not rows and await self._database.write(self._take_over):
            rows = await self._database.read(self._own)
        if not rows:
            return False
        messages = [self._message(topic, Pending(*rest)) for _, topic, *rest in rows]
        try:
            await self._sender.send(messages)
        except LogBusy:
            raise
        except LogUnavailable:
            self.reaches_kafka = False
            raise
        self.reaches_kafka = True
        await self._database.write(lambda c: _GONE.run_each(c, [{"of_id": row[0]} for row in rows]))
        self.relayed += len(rows)
        return True

    def _own(self, connection: Connection) -> list[Sequence[Any]]:
        rows: list[Sequence[Any]] = []
        size = 0
        for row in _OWN.rows(connection, mine=self._owner, most=TAKE_ROWS):
            rows.append(row)
            size += len(row[-1])
            if size >= TAKE_BYTES:
                break
        return rows

    def _take_over(self, connection: Connection) -> bool:
        """Whether there were rows of owners that left them; one that only was slow may send them as well."""
        now = self._clock()
        left = select(_ROWS.c.id).where(_ROWS.c.claimed_at < now - timedelta(seconds=STALE_SECONDS))
        ids = connection.execute(
            left.where(_ROWS.c.owner != self._owner).order_by(_ROWS.c.id).limit(TAKE_ROWS)
        ).scalars().all()  # fmt: skip
        if not ids:
            return False
        mine = update(_ROWS).where(_ROWS.c.id.in_(ids)).values(owner=self._owner, claimed_at=now)
        return connection.execute(mine).rowcount > 0

    def _message(self, topic: str, item: Pending) -> Message:
        of = self._topics[topic]
        return message_of(of.name, of.partitions, item)


# -- reading it --------------------------------------------------------------------------------------------------------


def holds(connection: Connection, borrowers: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of these `(tenant, borrower)` of whom an entry waits here."""
    if _IS_EMPTY.row(connection, of_topic=INTAKE) is None:
        return set()
    return {
        (tenant, borrower_id)
        for tenant, borrower_id in borrowers
        if _HOLDS.row(connection, of_tenant=tenant, of_borrower=borrower_id, of_topic=INTAKE) is not None
    }


def waiting(connection: Connection, tenant: str) -> tuple[int, datetime | None]:
    """How many entries of this tenant wait here, and since when the oldest."""
    where = (_ROWS.c.topic == INTAKE, _ROWS.c.tenant == tenant)
    added = connection.execute(select(_ROWS.c.added_at).where(*where).order_by(_ROWS.c.id)).scalars().all()
    return len(added), min(added, default=None)


def is_announced(connection: Connection, tenant: str, borrower_id: str, event_id: str) -> bool:
    """Whether what was published under this id, if anything was, has reached its topic."""
    of = (_ROWS.c.tenant == tenant, _ROWS.c.borrower_id == borrower_id, _ROWS.c.topic == CHANGES)
    wanted = select(_ROWS.c.id).where(*of, _ROWS.c.event_id == event_id).limit(1)
    return connection.execute(wanted).first() is None


def is_awaited(connection: Connection, tenant: str, cause: str) -> bool:
    """Whether something that follows from this event is not merged yet."""
    return _IS_AWAITED.row(connection, of_tenant=tenant, of_cause=cause) is not None


def _roots(connection: Connection, tenant: str, cause: str) -> list[str]:
    """What was posted; of an entry of a writer's own, what that follows from."""
    if not cause.startswith(" "):
        return [cause]
    return [row[0] for row in _CAUSES.rows(connection, of_tenant=tenant, of_event=cause)]


# -- announcements (API 13) --------------------------------------------------------------------------------------------


def announcement(change: Change, now: datetime) -> bytes:
    """A CloudEvent of type `borrower.changed`; its id is the same however often it is sent."""
    return msgspec.json.encode(
        {
            "specversion": "1.0",
            "id": f"{change.borrower_id}:{change.record_version}",
            "source": SOURCE + change.tenant,
            "type": CHANGED,
            "subject": change.borrower_id,
            "time": now.isoformat(timespec="microseconds")[:26] + "Z",
            "datacontenttype": "application/json",
            "data": {
                "borrower_id": change.borrower_id,
                "record_version": change.record_version,
                "event_id": change.event_id,
                "stage": change.stage,
                "rung": change.rung,
            },
        }
    )
