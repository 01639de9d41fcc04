"""Chats and their lines as rows: lines are added, and what is open is named. Who may summarise a chat is in `claims`.

Functions of a connection. Theory of operation:

    changes      counts the lines that were told; `summarised` says how many of them the newest summary is of. A chat whose
                 `changes` are more is due as soon as it is over, and is tried at `try_at`.

What a line says, this file must not know: bodies are sealed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    and_,
    bindparam,
    exists,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from channels.chats import SETTLE_SECONDS, is_ended, over_at
from service.prepared import Prepared
from service.records import is_provisional
from service.tables import Chat, ChatLine, table_of

CHAT, LINE = table_of(Chat), table_of(ChatLine)

OPEN_NAMED: Final = 8
CANDIDATES: Final = 8


@dataclass(frozen=True, slots=True)
class Sealed:
    """A line as it is stored."""

    line: str
    about: str
    """A keyed hash of the message that it tells, or changes."""
    at: datetime
    speaker: str
    is_change: bool
    """An edit or a revocation: it keeps no chat going."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Told:
    """What was told of one chat: its lines, or that it ended, or both. `named` is who it is, as JSON."""

    tenant: str
    channel: str
    conversation_id: str
    borrower_id: str
    named: str
    lines: list[Sealed]
    ended_at: datetime | None = None


# What every line costs, prepared: a batch of a messenger has thousands.
_SAME: Final = Prepared(
    select(CHAT)
    .where(
        CHAT.c.tenant == bindparam("of_tenant"),
        CHAT.c.channel == bindparam("of_channel"),
        CHAT.c.conversation_id == bindparam("of_conversation"),
    )
    .order_by(CHAT.c.borrower_id)
    .limit(CANDIDATES)
    .with_for_update()
)
_COLUMNS: Final = tuple(CHAT.c.keys())
_ADD_LINE: Final = Prepared(insert(LINE))
_MOVED: Final = (
    "last_at",
    "last_speaker",
    "opened_at",
    "ended_at",
    "changes",
    "due_at",
    "try_at",
    "tries",
    "last_reason",
)
_MOVE: Final = Prepared(
    update(CHAT)
    .where(CHAT.c.id == bindparam("of_id"))
    .values({name: bindparam(f"new_{name}", type_=CHAT.c[name].type) for name in _MOVED})
)


# -- taking in ----------------------------------------------------------------------------------------------------------


def take(conn: Connection, told: Told, now: datetime, quiet: timedelta) -> int:
    """Adds what is new of it, once, and says how many lines that were."""
    row = _row_of(conn, told, now)
    fresh = _added(conn, told, row["id"])
    last, speaker, opened = row["last_at"], row["last_speaker"], row["opened_at"]
    for line in sorted(fresh, key=lambda line: line.is_change):
        if opened is None or (line.at >= last and not line.is_change):
            last, speaker = line.at, line.speaker
        opened = line.at if opened is None else opened if line.is_change else min(opened, line.at)
    ended = max([at for at in (row["ended_at"], told.ended_at) if at is not None], default=None)
    if not fresh and ended == row["ended_at"]:
        return 0
    changes = row["changes"] + len(fresh)
    due, try_at = due_times(changes, row["summarised"], last, ended, quiet, now)
    if try_at is None:  # what it waits for, if anything, is another try of what was there
        due, try_at = row["due_at"], row["try_at"]
    values: dict[str, Any] = {"last_at": last, "last_speaker": speaker, "opened_at": opened, "ended_at": ended}
    values |= {"changes": changes, "due_at": due, "try_at": try_at}
    values |= {"tries": 0, "last_reason": None} if fresh else {name: row[name] for name in ("tries", "last_reason")}
    _MOVE.run(conn, of_id=row["id"], **{f"new_{name}": value for name, value in values.items()})
    return len(fresh)


def due_times(
    changes: int, summarised: int, last_at: datetime, ended_at: datetime | None, quiet: timedelta, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """Since when a summary is due, and when it is tried. Lines that come together are waited for, a moment."""
    if changes <= summarised:
        return None, None
    due = over_at(last_at, ended_at, quiet)
    return due, max(due, now + timedelta(seconds=SETTLE_SECONDS))


def _row_of(conn: Connection, told: Told, now: datetime) -> dict[str, Any]:
    """The chat's row, locked; made when there is none. One that is known under a provisional borrower is the same chat."""
    known = _known(conn, told)
    found = known.get(told.borrower_id)
    if found is None:
        provisional = [row for id_, row in known.items() if is_provisional(id_)]
        if is_provisional(told.borrower_id) and len(known) == 1:
            found = next(iter(known.values()))
        elif len(provisional) == 1 and not is_provisional(told.borrower_id):
            found = provisional[0]
            its_new = {"borrower_id": told.borrower_id, "named": told.named}
            conn.execute(update(CHAT).where(CHAT.c.id == found["id"]).values(its_new))
    if found is not None:
        if not names_anybody(found["named"]):  # whom it named was forgotten; whoever writes again says who it is
            conn.execute(update(CHAT).where(CHAT.c.id == found["id"]).values(named=told.named))
        return found
    fresh = {
        "tenant": told.tenant,
        "channel": told.channel,
        "conversation_id": told.conversation_id,
        "borrower_id": told.borrower_id,
        "named": told.named,
        "last_at": told.ended_at or now,
        "changes": 0,
        "summarised": 0,
        "revision": 0,
        "tries": 0,
        "fence": 0,
    }
    conn.execute(insert(CHAT).values(fresh))
    return _known(conn, told)[told.borrower_id]


def names_anybody(named: str) -> bool:
    """Whether a chat's `named` leads to somebody."""
    return not {"borrower_id", "identifier", "loan_id"}.isdisjoint(json.loads(named))


def _known(conn: Connection, told: Told) -> dict[str, dict[str, Any]]:
    """The chats of this conversation's id, locked, by their borrowers."""
    of = {"of_tenant": told.tenant, "of_channel": told.channel, "of_conversation": told.conversation_id}
    found = (dict(zip(_COLUMNS, row, strict=True)) for row in _SAME.rows(conn, **of))
    return {row["borrower_id"]: row for row in found}


def _added(conn: Connection, told: Told, chat: int) -> list[Sealed]:
    """The lines that were not there. One that is told again at an earlier time stands at that."""
    if not told.lines:
        return []
    its = (LINE.c.tenant == told.tenant, LINE.c.chat == chat)
    names = sorted({line.line for line in told.lines})
    rows: Any = conn.execute(select(LINE.c.line, LINE.c.at).where(*its, LINE.c.line.in_(names))).all()
    known: dict[str, datetime] = dict(rows)
    fresh: dict[str, Sealed] = {}
    for line in sorted(told.lines, key=lambda line: line.at):
        if line.line not in known:
            fresh.setdefault(line.line, line)
        elif line.at < known[line.line]:
            known[line.line] = line.at
            conn.execute(update(LINE).where(*its, LINE.c.line == line.line).values(at=line.at, body=line.body))
    if fresh:
        of = {"tenant": told.tenant, "chat": chat}
        _ADD_LINE.run_each(
            conn, [{**of, "line": s.line, "about": s.about, "at": s.at, "body": s.body} for s in fresh.values()]
        )
    return list(fresh.values())


def conversation_at(
    conn: Connection, tenant: str, channel: str, borrower_id: str, about: str, at: datetime, quiet: timedelta
) -> str | None:
    """Of a messenger without sessions: the conversation that has a line about this message, or that a line of then joins."""
    its = (CHAT.c.tenant == tenant, CHAT.c.channel == channel, CHAT.c.borrower_id == borrower_id)
    told = select(LINE.c.chat).where(LINE.c.tenant == tenant, LINE.c.chat == CHAT.c.id, LINE.c.about == about).exists()
    again = select(CHAT.c.conversation_id).where(*its, told).order_by(CHAT.c.id).limit(1)
    found: str | None = conn.execute(again).scalar()
    if found is not None:
        return found
    near = (CHAT.c.opened_at <= at + quiet, CHAT.c.last_at >= at - quiet)
    return conn.execute(
        select(CHAT.c.conversation_id).where(*its, *near).order_by(CHAT.c.opened_at, CHAT.c.id).limit(1)
    ).scalar()


def named_of(conn: Connection, tenant: str, borrower_id: str) -> list[tuple[int, str]]:
    """This borrower's chats, each with who it is as its messages name them."""
    wanted = select(CHAT.c.id, CHAT.c.named).where(CHAT.c.tenant == tenant, CHAT.c.borrower_id == borrower_id)
    return [(row[0], row[1]) for row in conn.execute(wanted)]


def rehome(conn: Connection, tenant: str, from_: str, to: str, ids: Sequence[int] | None = None) -> None:
    """Chats of one borrower, all of them or these, are another's: of who was linked, or of nobody known when the link was wrong.
    None that is known of both already."""
    its = () if ids is None else (CHAT.c.id.in_(ids),)
    theirs = select(CHAT.c.channel, CHAT.c.conversation_id).where(CHAT.c.tenant == tenant, CHAT.c.borrower_id == to)
    conn.execute(
        update(CHAT)
        .where(
            CHAT.c.tenant == tenant,
            CHAT.c.borrower_id == from_,
            *its,
            tuple_(CHAT.c.channel, CHAT.c.conversation_id).not_in(theirs),
        )
        .values(borrower_id=to)
    )


_ANY_OF: Final = Prepared(
    select(CHAT.c.id)
    .where(CHAT.c.tenant == bindparam("of_tenant"), CHAT.c.borrower_id == bindparam("of_borrower"))
    .limit(1)
)


def any_of(conn: Connection, tenant: str, borrower_id: str) -> bool:
    return _ANY_OF.row(conn, of_tenant=tenant, of_borrower=borrower_id) is not None


# -- what is open -------------------------------------------------------------------------------------------------------

_OPEN: Final = Prepared(
    select(
        CHAT.c.id,
        CHAT.c.channel,
        CHAT.c.conversation_id,
        CHAT.c.opened_at,
        CHAT.c.last_at,
        CHAT.c.last_speaker,
        CHAT.c.changes,
        CHAT.c.summarised,
        CHAT.c.ended_at,
    )
    .where(
        CHAT.c.tenant == bindparam("of_tenant"),
        CHAT.c.borrower_id == bindparam("of_borrower"),
        CHAT.c.opened_at.is_not(None),
        or_(
            CHAT.c.changes > CHAT.c.summarised,
            CHAT.c.last_at > bindparam("quiet_since", type_=CHAT.c.last_at.type),
        ),
    )
    .order_by(CHAT.c.last_at.desc())
    .limit(bindparam("most"))
)


@dataclass(frozen=True, slots=True)
class Open:
    """A chat that goes on, or of whose lines some are not summarised yet."""

    id: int
    channel: str
    conversation_id: str
    since: datetime
    last_message_at: datetime
    last_speaker: str
    changes: int
    summarised: int
    ended_at: datetime | None

    @property
    def is_behind(self) -> bool:
        return self.changes > self.summarised


def known_of(tenant: ColumnElement[str], borrower_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether any chat of a borrower is kept, going on or not: what a statement can ask on its way past him."""
    return exists().where(CHAT.c.tenant == tenant, CHAT.c.borrower_id == borrower_id)


def open_of(conn: Connection, tenant: str, borrower_id: str, quiet_since: datetime) -> list[Open]:
    """The newest of them; a chat is quiet when its last line is not after `quiet_since`."""
    rows = _OPEN.rows(conn, of_tenant=tenant, of_borrower=borrower_id, quiet_since=quiet_since, most=OPEN_NAMED)
    found = [Open(*row) for row in rows]
    return [chat for chat in found if chat.is_behind or not is_ended(chat.last_message_at, chat.ended_at)]


def ask(conn: Connection, ids: Sequence[int], now: datetime) -> None:
    """These are due now; one that is being tried again after a failure keeps its time."""
    behind = (CHAT.c.changes > CHAT.c.summarised, CHAT.c.tries == 0)
    later = or_(CHAT.c.try_at.is_(None), CHAT.c.try_at > now)
    conn.execute(update(CHAT).where(CHAT.c.id.in_(ids), *behind, later).values(due_at=now, try_at=now))


# -- for ops ------------------------------------------------------------------------------------------------------------


def waiting(conn: Connection, tenant: str, now: datetime) -> int:
    """How many chats a summary is due of."""
    its = (CHAT.c.tenant == tenant, CHAT.c.due_at <= now)
    return int(conn.execute(select(func.count()).select_from(CHAT).where(*its)).scalar_one())


def waiting_page(
    conn: Connection, tenant: str, now: datetime, limit: int, after: tuple[datetime, int] | None
) -> list[RowMapping]:
    """They, the one that waits longest first, from behind `(due_at, id)` on."""
    where = [CHAT.c.tenant == tenant, CHAT.c.due_at <= now]
    if after is not None:
        where.append(or_(CHAT.c.due_at > after[0], and_(CHAT.c.due_at == after[0], CHAT.c.id > after[1])))
    order = (CHAT.c.due_at, CHAT.c.id)
    return list(conn.execute(select(CHAT).where(*where).order_by(*order).limit(limit)).mappings())
