"""Bodies that hooks brought, the keys of what they told, and what our own messages were: rows, by functions of a connection.

Theory of operation:

    body    stored and durable before it is answered; `is_done` once each of its items is taken, waits or is set aside. Who
            reads one has it until `claimed_until`, so that what a crash left is read by another.
    item    claimed by its key before anything of it is taken. The body that told it first has it: after a crash the same
            body goes on with it, any other body's is a repeat, unless it was set aside, when a better body may bring it.
    message what one of our own was, by its id, written with the event that says so; a provider's status of a message that
            nobody has told of yet waits for it.

What a body says, this file must not know: bodies are sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, insert, literal_column, or_, select, update

from service.prepared import OfList, Prepared
from service.tables import HookBody, HookItem, OurMessage, table_of

BODY, ITEM, OURS = table_of(HookBody), table_of(HookItem), table_of(OurMessage)
NOT_DONE: Final[ColumnElement[bool]] = literal_column("NOT hook_body.is_done")
"""In the words of the index of what waits, by which alone SQLite finds it (`test_plans`)."""
PURGED_AT_ONCE: Final = 500

TAKEN, DONE, ASIDE, WAITING = "taken", "done", "aside", "waiting"


@dataclass(frozen=True, slots=True)
class Body:
    """A body as it is stored."""

    id: int
    tenant: str
    hook_id: str
    channel: str
    vendor: str
    received_at: datetime
    content_type: str | None
    time_zone: str | None
    body: bytes = field(repr=False)
    """Sealed."""
    tries: int = 0


_WHOSE: Final = OfList(
    select(ITEM.c.key, ITEM.c.borrower_id).where(ITEM.c.tenant == bindparam("of_tenant")), ITEM.c.key
)
_COLUMNS: Final = [BODY.c[name] for name in Body.__slots__]
_LOAD: Final = Prepared(select(*_COLUMNS).where(BODY.c.id == bindparam("of")))


def add(connection: Connection, **values: Any) -> int:
    """Stores a body that the process which stores it is going to read; its number."""
    row = {**values, "is_done": False, "tries": 0}
    return int(connection.execute(insert(BODY).values(row).returning(BODY.c.id)).scalar_one())


def load(connection: Connection, id_: int) -> Body | None:
    """One body; none once its retention has ended."""
    row = _LOAD.row(connection, of=id_)
    return Body(*row) if row is not None else None


def waiting(connection: Connection, now: datetime, limit: int) -> list[int]:
    """Bodies that nobody reads just now, the oldest first."""
    free = or_(BODY.c.claimed_until.is_(None), BODY.c.claimed_until <= now)
    found = select(BODY.c.id).where(NOT_DONE, free).order_by(BODY.c.id).limit(limit)
    return [row[0] for row in connection.execute(found)]


def claim(connection: Connection, id_: int, now: datetime, until: datetime) -> bool:
    """Whether this body is ours to read until then."""
    free = or_(BODY.c.claimed_until.is_(None), BODY.c.claimed_until <= now)
    claimed = update(BODY).where(BODY.c.id == id_, NOT_DONE, free)
    return connection.execute(claimed.values(claimed_until=until, tries=BODY.c.tries + 1)).rowcount == 1


def release(connection: Connection, id_: int, until: datetime) -> None:
    """It could not be read to its end: not before then again."""
    connection.execute(update(BODY).where(BODY.c.id == id_).values(claimed_until=until))


def release_all(connection: Connection) -> None:
    """What a process that is gone had; for whoever knows that there is no other."""
    connection.execute(update(BODY).where(NOT_DONE).values(claimed_until=None))


def finish(connection: Connection, id_: int) -> None:
    connection.execute(update(BODY).where(BODY.c.id == id_).values(is_done=True, claimed_until=None))


def unread(connection: Connection) -> int:
    """How many bodies are not read to their end."""
    return len(connection.execute(select(BODY.c.id).where(NOT_DONE).limit(10_000)).all())


def purge(connection: Connection, tenant: str, before: datetime) -> int:
    """Ends the retention of bodies of a tenant that came before then; how many went. Keys stay: a repeat is one for ever."""
    old = select(BODY.c.id).where(BODY.c.tenant == tenant, BODY.c.received_at < before).limit(PURGED_AT_ONCE)
    ids = [row[0] for row in connection.execute(old)]
    if ids:
        connection.execute(delete(BODY).where(BODY.c.id.in_(ids)))
    return len(ids)


def forget(connection: Connection, tenant: str, borrower_ids: Sequence[str]) -> int:
    """Takes away every body that was read to its end and told of one of these borrowers; how many went.

    A body may tell of others too: what it told of them is in their records, and only its bytes go.
    """
    told_by = select(ITEM.c.body_id).where(ITEM.c.tenant == tenant, ITEM.c.borrower_id.in_(list(borrower_ids)))
    gone = delete(BODY).where(BODY.c.tenant == tenant, BODY.c.is_done.is_(True), BODY.c.id.in_(told_by))
    return connection.execute(gone).rowcount


def whose(connection: Connection, tenant: str, keys: Sequence[str]) -> frozenset[str]:
    """The borrowers of whom these items told, whichever body told them first."""
    rows = _WHOSE.rows(connection, sorted(set(keys)), of_tenant=tenant)
    return frozenset(borrower for _, borrower in rows if borrower is not None)


def remove(connection: Connection, id_: int) -> None:
    """Takes a body away that was read to its end, unless something of it waits to be read once more."""
    waits = select(ITEM.c.key).where(
        ITEM.c.tenant == BODY.c.tenant, ITEM.c.body_id == BODY.c.id, ITEM.c.state == WAITING
    )
    connection.execute(delete(BODY).where(BODY.c.id == id_, BODY.c.is_done.is_(True), ~waits.exists()))


# -- items --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claimed:
    """What became of claiming an item: `is_ours` to take, or a repeat (`is_repeat`), or taken before by this very body."""

    is_ours: bool
    is_repeat: bool
    was_aside: bool = False


_ITEM: Final = Prepared(
    select(ITEM.c.body_id, ITEM.c.state).where(ITEM.c.tenant == bindparam("of"), ITEM.c.key == bindparam("named"))
)


def claim_item(connection: Connection, tenant: str, key: str, body_id: int, now: datetime) -> Claimed:
    """Whether this body may take the item."""
    row = _ITEM.row(connection, of=tenant, named=key)
    if row is None:
        values = {"tenant": tenant, "key": key, "body_id": body_id, "state": TAKEN, "at": now}
        connection.execute(insert(ITEM).values(values))
        return Claimed(True, False)
    owner, state = row
    if owner == body_id:
        return Claimed(state != DONE, False, state == ASIDE)
    if state != ASIDE:
        return Claimed(False, True)
    took = update(ITEM).where(_of(tenant, key), ITEM.c.state == ASIDE)
    took = took.values(body_id=body_id, state=TAKEN, at=now)
    return Claimed(connection.execute(took).rowcount == 1, False, True)


def settle_item(
    connection: Connection,
    tenant: str,
    key: str,
    state: str,
    *,
    waits_for: str | None = None,
    borrower_id: str | None = None,
) -> None:
    """What became of an item."""
    values = {"state": state, "waits_for": waits_for, "borrower_id": borrower_id}
    connection.execute(update(ITEM).where(_of(tenant, key)).values(values))


def item_state(connection: Connection, tenant: str, key: str) -> tuple[int, str] | None:
    """Whose it is and how it stands."""
    row = _ITEM.row(connection, of=tenant, named=key)
    return (row[0], row[1]) if row is not None else None


def _of(tenant: str, key: str) -> Any:
    return and_(ITEM.c.tenant == tenant, ITEM.c.key == key)


# -- our own messages ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ours:
    """What a message of ours was."""

    tenant: str
    message_id: str
    type: str
    borrower_id: str
    loan_id: str | None
    cycle_id: str | None


_OURS: Final = Prepared(
    select(*(OURS.c[name] for name in Ours.__slots__)).where(
        OURS.c.tenant == bindparam("of"), OURS.c.message_id == bindparam("named")
    )
)


def message_of_ours(connection: Connection, tenant: str, message_ids: Sequence[str]) -> Ours | None:
    """The first of these ids that an event of ours names."""
    for message_id in message_ids:
        row = _OURS.row(connection, of=tenant, named=message_id)
        if row is not None:
            return Ours(*row)
    return None


def remember(connection: Connection, messages: Sequence[Ours]) -> bool:
    """Keeps what our messages were; whether a body waits for one of them, which is then to be read again."""
    woken = False
    for message in messages:
        if _OURS.row(connection, of=message.tenant, named=message.message_id) is not None:
            continue
        connection.execute(insert(OURS).values({name: getattr(message, name) for name in Ours.__slots__}))
        waits = (ITEM.c.tenant == message.tenant, ITEM.c.waits_for == message.message_id)
        ids = [row[0] for row in connection.execute(select(ITEM.c.body_id).where(*waits))]
        if ids:
            connection.execute(update(BODY).where(BODY.c.id.in_(ids)).values(is_done=False, claimed_until=None))
            woken = True
    return woken
