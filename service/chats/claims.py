"""The claim by which one sweeper at a time summarises a chat; chats that are looked at, and old ones.

Functions of a connection. Theory of operation:

    fence        taking a chat raises it and sets a lease. Whoever's fence is not the row's any more has lost the chat, and
                 nothing that it does there counts: every later step is conditional on the fence.
    prepared     the summary that is going to be posted is stored first, under the fence. Whoever takes the chat after a
                 crash posts these very bytes, which intake knows as a repeat if they were posted before.

What a line says, this file must not know: bodies are sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, RowMapping, or_, select, update

from service import records
from service.chats.revising import Report
from service.chats.rows import CHAT, LINE, due_times
from service.intake import envelope
from service.records.journal import JOURNAL, sources_of
from service.tables import SUMMARY

LINES_READ: Final = 2_000
"""Of one chat, the newest; older ones are in earlier revisions of its summary."""
PURGED_AT_ONCE: Final = 200
REVISIONS_READ: Final = 32


@dataclass(frozen=True, slots=True)
class Claimed:
    """A chat that a sweeper has taken."""

    id: int
    fence: int
    tenant: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A chat as it stands, with its newest lines."""

    id: int
    tenant: str
    channel: str
    conversation_id: str
    borrower_id: str
    named: str
    last_at: datetime
    ended_at: datetime | None
    changes: int
    summarised: int
    revision: int
    tries: int
    prepared: bytes | None
    prepared_changes: int | None
    lines: Sequence[bytes]


# -- summarising --------------------------------------------------------------------------------------------------------


def claim(conn: Connection, owner: str, now: datetime, lease: timedelta, most: int) -> list[Claimed]:
    """Takes what is due and nobody's, the longest due first."""
    free = or_(CHAT.c.claimed_until.is_(None), CHAT.c.claimed_until <= now)
    due = select(CHAT.c.id, CHAT.c.fence, CHAT.c.tenant).where(CHAT.c.try_at <= now, free).order_by(CHAT.c.try_at)
    rows = conn.execute(due.limit(most).with_for_update(skip_locked=True)).all()
    taken = []
    for id_, fence, tenant in rows:
        mine = update(CHAT).where(CHAT.c.id == id_, CHAT.c.fence == fence)
        its = {"fence": fence + 1, "claimed_by": owner, "claimed_until": now + lease}
        if conn.execute(mine.values(its)).rowcount == 1:
            taken.append(Claimed(id_, fence + 1, tenant))
    return taken


def renew(conn: Connection, taken: Sequence[Claimed], until: datetime) -> None:
    """A longer lease of those that are still claimed under this fence."""
    for mine in taken:
        its = (CHAT.c.id == mine.id, CHAT.c.fence == mine.fence, CHAT.c.claimed_until.is_not(None))
        conn.execute(update(CHAT).where(*its).values(claimed_until=until))


def stored(conn: Connection, tenant: str, id_: int) -> Stored | None:
    row = conn.execute(select(CHAT).where(CHAT.c.tenant == tenant, CHAT.c.id == id_)).mappings().first()
    if row is None:
        return None
    its = (LINE.c.tenant == tenant, LINE.c.chat == id_)
    newest = select(LINE.c.body).where(*its).order_by(LINE.c.at.desc(), LINE.c.line).limit(LINES_READ)
    names = [name for name in Stored.__dataclass_fields__ if name != "lines"]
    return Stored(**{name: row[name] for name in names}, lines=conn.execute(newest).scalars().all())


def newest_revision(conn: Connection, tenant: str, chat: Stored) -> tuple[int, datetime | None]:
    """The highest revision of this conversation in the journal, whoever posted it, and when it took effect."""
    newest = select(JOURNAL.c.revision, JOURNAL.c.effective_at).where(*_summaries_of(conn, tenant, chat))
    row = conn.execute(newest.order_by(JOURNAL.c.revision.desc()).limit(1)).first()
    return (row[0] or 0, row[1]) if row else (0, None)


def told(conn: Connection, tenant: str, chat: Stored) -> list[Report]:
    """The summaries of this conversation, whoever posted them, each with its event id, the newest `REVISIONS_READ` first."""
    every = select(JOURNAL.c.event_id, JOURNAL.c.body).where(*_summaries_of(conn, tenant, chat))
    newest = every.order_by(JOURNAL.c.revision.desc()).limit(REVISIONS_READ)
    return [(event_id, envelope.document(body)) for event_id, body in conn.execute(newest)]


def _summaries_of(conn: Connection, tenant: str, chat: Stored) -> tuple[ColumnElement[bool], ...]:
    """Of a row of the journal: that it is a summary of this conversation, under whichever id of its borrower it was told, those
    too under which nobody knew whose it was."""
    sources = sources_of(conn, tenant, records.resolve_id(conn, tenant, chat.borrower_id))
    return (
        JOURNAL.c.tenant == tenant,
        JOURNAL.c.borrower_id.in_([id_ for id_, _ in sources]),
        JOURNAL.c.channel == chat.channel,
        JOURNAL.c.conversation_id == chat.conversation_id,
        JOURNAL.c.type == SUMMARY,
    )


def prepare(conn: Connection, mine: Claimed, prepared: bytes | None, changes: int | None) -> bool:
    """Stores what is going to be posted; False when the chat is somebody else's by now."""
    its = (CHAT.c.id == mine.id, CHAT.c.fence == mine.fence)
    values = {"prepared": prepared, "prepared_changes": changes}
    return conn.execute(update(CHAT).where(*its).values(values)).rowcount == 1


def finish(
    conn: Connection,
    mine: Claimed,
    *,
    changes: int,
    revision: int,
    now: datetime,
    quiet: timedelta,
    tries: int = 0,
    reason: str | None = None,
    again_at: datetime | None = None,
) -> bool:
    """It is summarised up to there. `again_at`: when the model that was not ready is asked once more for the same lines."""
    row = _mine(conn, mine)
    if row is None:
        return False
    due, try_at = due_times(row["changes"], changes, row["last_at"], row["ended_at"], quiet, now)
    if try_at is None and again_at is not None:
        due, try_at = row["due_at"] or now, again_at
    values: dict[str, Any] = {"summarised": changes, "revision": revision, "tries": tries, "last_reason": reason}
    values |= {"due_at": due, "try_at": try_at, **_FREED}
    conn.execute(update(CHAT).where(CHAT.c.id == mine.id).values(values))
    return True


def fail(conn: Connection, mine: Claimed, reason: str, again_at: datetime) -> bool:
    """It stays due, with what was prepared."""
    row = _mine(conn, mine)
    if row is None:
        return False
    values: dict[str, Any] = {"tries": row["tries"] + 1, "last_reason": reason, "try_at": again_at, **_FREE}
    conn.execute(update(CHAT).where(CHAT.c.id == mine.id).values(values))
    return True


_FREE: Final = {"claimed_by": None, "claimed_until": None}
_FREED: Final = {**_FREE, "prepared": None, "prepared_changes": None}


def _mine(conn: Connection, mine: Claimed) -> RowMapping | None:
    its = (CHAT.c.id == mine.id, CHAT.c.fence == mine.fence)
    return conn.execute(select(CHAT).where(*its).with_for_update()).mappings().first()


# -- looking, and what is old --------------------------------------------------------------------------------------------


def with_lines(conn: Connection, tenant: str | None, most: int) -> list[Claimed]:
    """Chats of which lines are not summarised, whether they are over or not; for looking, nothing is taken."""
    where = [CHAT.c.changes > CHAT.c.summarised]
    if tenant is not None:
        where.append(CHAT.c.tenant == tenant)
    rows = conn.execute(select(CHAT.c.id, CHAT.c.fence, CHAT.c.tenant).where(*where).order_by(CHAT.c.id).limit(most))
    return [Claimed(*row) for row in rows]


def tenants(conn: Connection) -> list[str]:
    return list(conn.execute(select(CHAT.c.tenant).distinct()).scalars())


def purge(conn: Connection, tenant: str, before: datetime) -> int:
    """Removes chats whose last line is older, and nothing is due of; how many, at most `PURGED_AT_ONCE`."""
    old = select(CHAT.c.id).where(CHAT.c.tenant == tenant, CHAT.c.last_at < before, CHAT.c.try_at.is_(None))
    ids = conn.execute(old.order_by(CHAT.c.last_at).limit(PURGED_AT_ONCE)).scalars().all()
    if ids:
        conn.execute(LINE.delete().where(LINE.c.tenant == tenant, LINE.c.chat.in_(ids)))
        conn.execute(CHAT.delete().where(CHAT.c.id.in_(ids)))
    return len(ids)
