"""What is stored of borrowers, and how it is read back: records, links, the journal, lists.

Functions of a connection, to be given to `database.read` or `database.write`. Every one takes the tenant and, where it reads
notes or conversations, the borrower, and filters by them first. Nothing is concluded here: derived columns are computed from a
state that the writer hands over (`derived`), and are rebuilt, never merged back.

A provisional borrower that turned out to be somebody answers with that one; what was told of it is told of that one too, but
for what took effect before it was theirs (`_sources`).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    bindparam,
    case,
    func,
    insert,
    literal_column,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from service.intake import envelope
from service.intake.table_log import NAME as TABLE_LOG
from service.prepared import OfList, Prepared
from service.tables import (
    SUMMARY,
    Borrower,
    IdentifierLink,
    Intake,
    IntakeHead,
    Journal,
    Journey,
    Loan,
    Permit,
    Repeat,
    Resume,
    SetAside,
    Started,
    WriterPartition,
    table_of,
)
from statemachine.elements import CycleBegun, Redirected
from statemachine.record import Record
from statemachine.stamps import INTERNAL_TYPES, Stamps, Warning
from statemachine.state import BorrowerState

BORROWER, JOURNEY, JOURNAL = table_of(Borrower), table_of(Journey), table_of(Journal)
IDENTIFIER, LOAN, STARTED = table_of(IdentifierLink), table_of(Loan), table_of(Started)
SET_ASIDE, REPEAT = table_of(SetAside), table_of(Repeat)
_INTAKE, _HEAD, _FENCE = table_of(Intake), table_of(IntakeHead), table_of(WriterPartition)

HIDDEN: Final = ("conversation.message", *INTERNAL_TYPES)
"""Types that are on no time line: parts of an open conversation, and our own."""
CURSOR_CHARACTERS: Final = 3_000  # three ids of the longest kind, and a time
WHOLE_NUMBERS: Final = range(1 << 63)
"""Those that a database can hold."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some items of a list, and where the rest begins; null at its end."""

    items: list[dict[str, Any]]
    next_cursor: str | None


class BadCursor(ValueError):
    """A cursor that none of our answers gave."""


# -- one record --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stored:
    """A record as bytes, with its version; `borrower_id` is the real one, whatever id was asked for."""

    borrower_id: str
    version: int
    record: bytes
    provisional: bool
    redirected_to: str | None = None


_STORED_OF_TENANT: Final = select(*(BORROWER.c[name] for name in Stored.__dataclass_fields__)).where(
    BORROWER.c.tenant == bindparam("of_tenant")
)
_OF_BORROWER: Final = BORROWER.c.borrower_id == bindparam("of_borrower")
_STORED: Final = Prepared(_STORED_OF_TENANT.where(_OF_BORROWER))
_HELD: Final = Prepared(_STORED_OF_TENANT.where(_OF_BORROWER).with_for_update())
_STORED_EACH: Final = OfList(_STORED_OF_TENANT, BORROWER.c.borrower_id)
_REDIRECT: Final = Prepared(
    select(BORROWER.c.redirected_to).where(
        BORROWER.c.tenant == bindparam("of_tenant"), BORROWER.c.borrower_id == bindparam("of_borrower")
    )
)
_ZONE: Final = Prepared(
    select(BORROWER.c.time_zone).where(
        BORROWER.c.tenant == bindparam("of_tenant"), BORROWER.c.borrower_id == bindparam("of_borrower")
    )
)


def is_provisional(borrower_id: str) -> bool:
    return borrower_id.startswith("~")


def stored(connection: Connection, tenant: str, borrower_id: str) -> Stored | None:
    """The record of this borrower; of a provisional one that turned out to be somebody, of that one."""
    return _followed(_STORED, connection, tenant, borrower_id)


def held(connection: Connection, tenant: str, borrower_id: str) -> Stored | None:
    """As `stored`, and until the transaction ends nobody else saves this record or holds it (`permits`).

    What is read after this is read of a record that does not move.
    """
    return _followed(_HELD, connection, tenant, borrower_id)


def _followed(statement: Prepared, connection: Connection, tenant: str, borrower_id: str) -> Stored | None:
    row = statement.row(connection, of_tenant=tenant, of_borrower=borrower_id)
    if row is not None and row[4] is not None:
        row = statement.row(connection, of_tenant=tenant, of_borrower=row[4]) or row
    return Stored(*row) if row is not None else None


def stored_each(connection: Connection, tenant: str, borrower_ids: Sequence[str]) -> dict[str, Stored]:
    """The records under these very ids, for their writer."""
    return {row[0]: Stored(*row) for row in _STORED_EACH.rows(connection, borrower_ids, of_tenant=tenant)}


def resolve_id(connection: Connection, tenant: str, borrower_id: str) -> str:
    """The id of the real borrower; the id itself when it is one, or is not known."""
    if not is_provisional(borrower_id):
        return borrower_id
    row = _REDIRECT.row(connection, of_tenant=tenant, of_borrower=borrower_id)
    return row[0] if row is not None and row[0] is not None else borrower_id


def time_zone_of(connection: Connection, tenant: str, borrower_id: str) -> str | None:
    """The zone in force when the record was saved last; None for somebody of whom nothing is known."""
    row = _ZONE.row(connection, of_tenant=tenant, of_borrower=borrower_id)
    return row[0] if row is not None else None


# -- whose it is -------------------------------------------------------------------------------------------------------

_LINKED: Final = OfList(
    select(IDENTIFIER.c.value, IDENTIFIER.c.borrower_id).where(
        IDENTIFIER.c.tenant == bindparam("of_tenant"), IDENTIFIER.c.kind == bindparam("of_kind")
    ),
    IDENTIFIER.c.value,
)
_OWNERS: Final = OfList(
    select(LOAN.c.loan_id, LOAN.c.borrower_id).where(LOAN.c.tenant == bindparam("of_tenant")), LOAN.c.loan_id
)


def borrowers_of(connection: Connection, tenant: str, kind: str, values: Sequence[str]) -> list[str]:
    """Everybody to whom one of these spellings of one identifier is linked now, in the order of their ids."""
    return sorted({row[1] for row in _LINKED.rows(connection, values, of_tenant=tenant, of_kind=kind)})


def borrowers_of_each(
    connection: Connection, tenant: str, kind: str, values: Sequence[str]
) -> dict[str, frozenset[str]]:
    """For each of these identifiers, everybody to whom it is linked now."""
    return _by_first(values, _LINKED.rows(connection, values, of_tenant=tenant, of_kind=kind))


def owners_of_loan(connection: Connection, tenant: str, loan_id: str) -> list[str]:
    """Everybody for whom a cycle of this loan was opened, in the order of their ids."""
    return sorted(row[1] for row in _OWNERS.rows(connection, [loan_id], of_tenant=tenant))


def owners_of_each(connection: Connection, tenant: str, loan_ids: Sequence[str]) -> dict[str, frozenset[str]]:
    """For each of these loans, everybody for whom a cycle of it was opened."""
    return _by_first(loan_ids, _OWNERS.rows(connection, loan_ids, of_tenant=tenant))


def _by_first(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, borrower_id in rows:
        found[name].add(borrower_id)
    return {name: frozenset(borrowers) for name, borrowers in found.items()}


# -- the journal -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Merged:
    """An entry that is merged: what was answered to it first, and the hash that tells a repeat from a conflict."""

    borrower_id: str
    body_hash: str
    record_version: int
    stamps: bytes = field(repr=False)

    @property
    def warnings(self) -> tuple[Warning, ...]:
        return Stamps.model_validate_json(self.stamps).warnings


_MERGED: Final = Prepared(
    select(JOURNAL.c.borrower_id, JOURNAL.c.body_hash, JOURNAL.c.record_version, JOURNAL.c.stamps).where(
        JOURNAL.c.tenant == bindparam("of_tenant"), JOURNAL.c.event_id == bindparam("of_event")
    )
)
_MERGED_EACH: Final = OfList(
    select(
        JOURNAL.c.event_id, JOURNAL.c.borrower_id, JOURNAL.c.body_hash, JOURNAL.c.record_version, JOURNAL.c.stamps
    ).where(JOURNAL.c.tenant == bindparam("of_tenant")),
    JOURNAL.c.event_id,
)
_BODIES: Final = OfList(
    select(JOURNAL.c.event_id, JOURNAL.c.body).where(JOURNAL.c.tenant == bindparam("of_tenant")), JOURNAL.c.event_id
)
_IS_MERGED: Final = Prepared(
    select(JOURNAL.c.record_version).where(
        JOURNAL.c.tenant == bindparam("of_tenant"), JOURNAL.c.event_id == bindparam("of_event")
    )
)


def merged_entry(connection: Connection, tenant: str, event_id: str) -> Merged | None:
    row = _MERGED.row(connection, of_tenant=tenant, of_event=event_id)
    return Merged(*row) if row is not None else None


def merged_entries(connection: Connection, tenant: str, event_ids: Sequence[str]) -> dict[str, Merged]:
    """Those of these entries that are merged, by their ids."""
    return {row[0]: Merged(*row[1:]) for row in _MERGED_EACH.rows(connection, event_ids, of_tenant=tenant)}


def is_merged(connection: Connection, tenant: str, event_id: str) -> bool:
    return _IS_MERGED.row(connection, of_tenant=tenant, of_event=event_id) is not None


def bodies(connection: Connection, tenant: str, event_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """These entries as they were posted, by their ids; of those that the journal has."""
    rows = _BODIES.rows(connection, event_ids, of_tenant=tenant)
    return {event_id: envelope.document(body) for event_id, body in rows}


EVENTS_SINCE: Final = 1_000
"""As many of one borrower's as any record keeps."""


def events_since(connection: Connection, tenant: str, borrower_id: str, type_: str, since: datetime) -> list[str]:
    """The ids of the events of this type that arrived since, newest first; at most `EVENTS_SINCE`."""
    where = (
        JOURNAL.c.tenant == tenant,
        JOURNAL.c.received_at >= since,
        JOURNAL.c.type == type_,
        _told_of(JOURNAL, _sources(connection, tenant, borrower_id)),
    )
    newest = select(JOURNAL.c.event_id).where(*where).order_by(JOURNAL.c.received_at.desc()).limit(EVENTS_SINCE)
    return [row[0] for row in connection.execute(newest)]


def _sources(connection: Connection, tenant: str, borrower_id: str) -> list[tuple[str, datetime | None]]:
    """Under which ids evidence of this borrower was journalled, each with the time up to which it was not theirs."""
    wanted = select(BORROWER.c.borrower_id, BORROWER.c.redirected_after)
    joined = wanted.where(BORROWER.c.tenant == tenant, BORROWER.c.redirected_to == borrower_id)
    own = wanted.where(BORROWER.c.tenant == tenant, BORROWER.c.borrower_id == borrower_id)
    found = {row[0]: row[1] for statement in (joined, own) for row in connection.execute(statement)}
    return sorted({borrower_id: None, **found}.items())


def _told_of(journal: FromClause, sources: Sequence[tuple[str, datetime | None]]) -> ColumnElement[bool]:
    return or_(
        *(
            and_(journal.c.borrower_id == id_, journal.c.effective_at > after)
            if after is not None
            else journal.c.borrower_id == id_
            for id_, after in sources
        )
    )


# -- the time line -----------------------------------------------------------------------------------------------------


def timeline(connection: Connection, tenant: str, borrower_id: str, limit: int, cursor: str | None) -> Page:
    """What was told of one borrower, newest first (API 7): a conversation once, by its highest revision.

    Items: `kind at event_id loan_id cycle_id attempt revisions entry`; loan and cycle as they were posted, `attempt` for
    the caller to fill in. Raises `BadCursor`.
    """
    sources = _sources(connection, tenant, borrower_id)
    of_conversation = _revisions(tenant, sources)
    later = of_conversation.alias("later")
    rank = ("revision", "effective_at", "event_id")
    superseded = (
        select(literal_column("1"))
        .select_from(later)
        .where(
            later.c.channel == JOURNAL.c.channel,
            later.c.conversation_id == JOURNAL.c.conversation_id,
            tuple_(*(later.c[name] for name in rank)) > tuple_(*(JOURNAL.c[name] for name in rank)),
        )
        .exists()
    )
    every = of_conversation.alias("every")
    revisions = (
        select(func.count())
        .select_from(every)
        .where(every.c.channel == JOURNAL.c.channel, every.c.conversation_id == JOURNAL.c.conversation_id)
        .scalar_subquery()
    )
    is_summary = JOURNAL.c.type == SUMMARY
    where = [
        JOURNAL.c.tenant == tenant,
        _told_of(JOURNAL, sources),
        JOURNAL.c.type.not_in(HIDDEN),
        or_(not_(is_summary), not_(superseded)),
    ]
    if cursor is not None:
        at, event_id = _place(cursor, str, str)
        where.append(tuple_(JOURNAL.c.effective_at, JOURNAL.c.event_id) < tuple_(_instant(at), event_id))
    columns = (JOURNAL.c.type, JOURNAL.c.effective_at, JOURNAL.c.event_id, JOURNAL.c.loan_id, JOURNAL.c.cycle_id)
    wanted = (
        select(*columns, case((is_summary, revisions), else_=1), JOURNAL.c.body)
        .where(*where)
        .order_by(JOURNAL.c.effective_at.desc(), JOURNAL.c.event_id.desc())
        .limit(limit + 1)
    )
    items = [
        {
            "kind": "conversation" if type_ == SUMMARY else "event",
            "at": at,
            "event_id": event_id,
            "loan_id": loan_id,
            "cycle_id": cycle_id,
            "attempt": None,
            "revisions": count,
            "entry": envelope.document(body),
        }
        for type_, at, event_id, loan_id, cycle_id, count, body in connection.execute(wanted)
    ]
    return _page(items, limit, lambda item: (item["at"].isoformat(), item["event_id"]))


def _revisions(tenant: str, sources: Sequence[tuple[str, datetime | None]]) -> Any:
    """Every revision of every conversation of one borrower. Its type stands there as a literal for the partial index."""
    return select(
        JOURNAL.c.channel, JOURNAL.c.conversation_id, JOURNAL.c.revision, JOURNAL.c.effective_at, JOURNAL.c.event_id
    ).where(
        JOURNAL.c.tenant == tenant,
        JOURNAL.c.type == literal_column(f"'{SUMMARY}'"),
        _told_of(JOURNAL, sources),
    )


def export(connection: Connection, tenant: str, borrower_id: str) -> dict[str, list[dict[str, Any]]]:
    """Everything stored of one borrower (API 10): `entries` in the order of their arrival, our own included, `resumes`,
    `permits`, `repeats`, `set_aside`."""
    sources = _sources(connection, tenant, borrower_id)
    ids = [id_ for id_, _ in sources]
    named = ("event_id", "type", "received_at", "effective_at", "record_version")
    wanted = select(*(JOURNAL.c[name] for name in named), JOURNAL.c.body).where(
        JOURNAL.c.tenant == tenant, _told_of(JOURNAL, sources)
    )
    rows = connection.execute(wanted.order_by(JOURNAL.c.received_at, JOURNAL.c.event_id)).mappings()
    entries = [{**{name: row[name] for name in named}, "entry": envelope.document(row["body"])} for row in rows]

    def of_borrower(rows: Any) -> list[dict[str, Any]]:
        table = table_of(rows)
        found = connection.execute(select(table).where(table.c.tenant == tenant, table.c.borrower_id.in_(ids)))
        return [{k: v for k, v in row.items() if k != "tenant"} for row in found.mappings()]

    own = select(JOURNAL.c.event_id).where(JOURNAL.c.tenant == tenant, _told_of(JOURNAL, sources))
    repeats = select(REPEAT.c.event_id, REPEAT.c.at, REPEAT.c.is_conflict).where(
        REPEAT.c.tenant == tenant, REPEAT.c.event_id.in_(own)
    )
    return {
        "entries": entries,
        "resumes": of_borrower(Resume),
        "permits": of_borrower(Permit),
        "repeats": [dict(row) for row in connection.execute(repeats.order_by(REPEAT.c.id)).mappings()],
        "set_aside": [{**row, "value": row["value"].decode("utf-8", "replace")} for row in of_borrower(SetAside)],
    }


# -- lists across borrowers --------------------------------------------------------------------------------------------


def borrowers(
    connection: Connection, tenant: str, filters: Mapping[str, Any], now: datetime, limit: int, cursor: str | None
) -> Page:
    """One item for each loan of each borrower, by borrower and loan (API 7). A filter that is None does not filter.

    `stage rung reminded`: equal; `promise_due_from promise_due_to`: dates, included; `overdue`: at `now`; `hold`: `true`,
    `false` or a kind. Raises `BadCursor`.
    """
    where: list[ColumnElement[bool]] = [JOURNEY.c.tenant == tenant]
    where += [
        JOURNEY.c[name] == filters[name] for name in ("stage", "rung", "reminded") if filters.get(name) is not None
    ]
    if filters.get("promise_due_from") is not None:
        where.append(JOURNEY.c.promise_due_date >= filters["promise_due_from"])
    if filters.get("promise_due_to") is not None:
        where.append(JOURNEY.c.promise_due_date <= filters["promise_due_to"])
    if filters.get("overdue") is not None:
        is_overdue = and_(JOURNEY.c.overdue_at.is_not(None), JOURNEY.c.overdue_at <= now)
        where.append(is_overdue if filters["overdue"] else not_(is_overdue))
    hold = filters.get("hold")
    if hold is not None:
        held = and_(JOURNEY.c.hold_kinds != "", or_(JOURNEY.c.hold_until.is_(None), JOURNEY.c.hold_until > now))
        where.append(not_(held) if hold == "false" else held)
        if hold not in ("true", "false"):
            where.append(JOURNEY.c.hold_kinds.contains(f"|{hold}|", autoescape=True))
    place = _place(cursor, str, str) if cursor is not None else None
    items: list[dict[str, Any]] = []
    for item in _journeys(connection, where, now, limit + 1, place):
        if hold in (None, "true", "false") or any(h["kind"] == hold for h in item["holds"]):
            items.append(item)
            if len(items) > limit:
                break
    return _page(items, limit, lambda item: (item["borrower_id"], item["loan_id"] or ""))


def _journeys(
    connection: Connection, where: list[ColumnElement[bool]], now: datetime, size: int, place: tuple[Any, ...] | None
) -> Iterator[dict[str, Any]]:
    """All of them, fetched so many at a time: which of several holds has ended, only its row can tell."""
    order = (JOURNEY.c.borrower_id, JOURNEY.c.loan_id)
    while True:
        rest = [tuple_(*order) > tuple_(*place)] if place is not None else []
        rows = connection.execute(select(JOURNEY).where(*where, *rest).order_by(*order).limit(size)).mappings().all()
        yield from (_journey_item(row, now) for row in rows)
        if len(rows) < size:
            return
        place = (rows[-1]["borrower_id"], rows[-1]["loan_id"])


def _journey_item(row: Any, now: datetime) -> dict[str, Any]:
    shown = ("borrower_id", "loan_id", "cycle_id", "attempt", "stage", "rung", "amount", "currency", "promise_due_date")
    holds = [h for h in msgspec.json.decode(row["holds"]) if h["until"] is None or _instant(h["until"]) > now]
    return {
        **{name: row[name] for name in shown},
        "loan_id": row["loan_id"] or None,
        "flags": {name: row[name] for name in FLAGS},
        "holds": holds,
        "outstanding": row["outstanding"],
        "last_contact_at": row["last_contact_at"],
    }


FLAGS: Final = ("reminded", "payment_link_shared", "payment_confirmed")


# -- what ops looks after ----------------------------------------------------------------------------------------------


def counted(connection: Connection, tenant: str, start: datetime, end: datetime) -> dict[str, int]:
    """`deliveries repeats conflicts conversations events` that arrived from `start` until before `end` (API 12).

    A delivery is counted once: merged, a repeat, a conflict, or set aside and not merged since.
    """
    arrived = and_(JOURNAL.c.tenant == tenant, JOURNAL.c.received_at >= start, JOURNAL.c.received_at < end)
    again = and_(REPEAT.c.tenant == tenant, REPEAT.c.at >= start, REPEAT.c.at < end)
    aside = and_(
        SET_ASIDE.c.tenant == tenant,
        SET_ASIDE.c.received_at >= start,
        SET_ASIDE.c.received_at < end,
        SET_ASIDE.c.status != "merged",
        SET_ASIDE.c.reason != "id_conflict",
    )
    types = select(JOURNAL.c.type, func.count()).where(arrived).group_by(JOURNAL.c.type)
    by_type = _pairs(connection, types)
    conversations = (
        select(JOURNAL.c.channel, JOURNAL.c.conversation_id).where(arrived, JOURNAL.c.type == SUMMARY).distinct()
    )
    repeats = _pairs(connection, select(REPEAT.c.is_conflict, func.count()).where(again).group_by(REPEAT.c.is_conflict))
    merged = sum(count for type_, count in by_type.items() if type_ not in INTERNAL_TYPES)
    return {
        "deliveries": merged + sum(repeats.values()) + _count(connection, SET_ASIDE, aside),
        "repeats": repeats.get(False, 0),
        "conflicts": repeats.get(True, 0),
        "conversations": connection.execute(select(func.count()).select_from(conversations.subquery())).scalar_one(),
        "events": sum(count for type_, count in by_type.items() if type_ not in (SUMMARY, *HIDDEN)),
    }


def _pairs(connection: Connection, statement: Select[Any]) -> dict[Any, int]:
    rows: Any = connection.execute(statement).all()
    return dict(rows)


def _count(connection: Connection, table: FromClause, where: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(where)).scalar_one())


def count_repeat(connection: Connection, tenant: str, event_id: str, at: datetime, *, is_conflict: bool) -> None:
    """Another delivery of an id that was there."""
    _ADD_REPEAT.run(connection, tenant=tenant, event_id=event_id, at=at, is_conflict=is_conflict)


def count_repeats(connection: Connection, rows: Sequence[Row]) -> None:
    """As `count_repeat` of each: `tenant event_id at is_conflict`."""
    _ADD_REPEAT.run_each(connection, rows)


_ADD_REPEAT: Final = Prepared(
    insert(REPEAT).values({name: bindparam(name) for name in ("tenant", "event_id", "at", "is_conflict")})
)


def missing_reports(connection: Connection, tenant: str, since: datetime) -> int:
    """How many conversations began by then and have no summary."""
    return _count(connection, STARTED, and_(STARTED.c.tenant == tenant, STARTED.c.started_at <= since))


def missing_page(
    connection: Connection, tenant: str, since: datetime, now: datetime, limit: int, cursor: str | None
) -> Page:
    """They, the one that is missing longest first: `borrower_id channel conversation_id started_at age_seconds`.

    Raises `BadCursor`.
    """
    order = (STARTED.c.started_at, STARTED.c.borrower_id, STARTED.c.channel, STARTED.c.conversation_id)
    where = [STARTED.c.tenant == tenant, STARTED.c.started_at <= since]
    if cursor is not None:
        at, *rest = _place(cursor, str, str, str, str)
        where.append(tuple_(*order) > tuple_(_instant(at), *rest))
    rows = connection.execute(select(*order).where(*where).order_by(*order).limit(limit + 1))
    items = [
        {
            "borrower_id": borrower_id,
            "channel": channel,
            "conversation_id": conversation_id,
            "started_at": at,
            "age_seconds": (now - at).total_seconds(),
        }
        for at, borrower_id, channel, conversation_id in rows
    ]
    names = ("borrower_id", "channel", "conversation_id")
    return _page(items, limit, lambda item: (item["started_at"].isoformat(), *(item[name] for name in names)))


# What of the embedded log is not merged yet, partition by partition: only what lies behind `next_offset` is read.
_MERGED_UP_TO: Final = Prepared(
    select(_HEAD.c.partition, func.coalesce(_FENCE.c.next_offset, 0)).select_from(
        _HEAD.outerjoin(_FENCE, and_(_FENCE.c.log == TABLE_LOG, _FENCE.c.partition == _HEAD.c.partition))
    )
)
_BEHIND: Final = (
    _INTAKE.c.partition == bindparam("of_partition"),
    _INTAKE.c.log_offset >= bindparam("start"),
    _INTAKE.c.tenant == bindparam("of_tenant"),
)
_WAITING: Final = Prepared(select(func.count(), func.min(_INTAKE.c.appended_at)).where(*_BEHIND))
_WAITS: Final = Prepared(
    select(_INTAKE.c.log_offset).where(*_BEHIND, _INTAKE.c.borrower_id == bindparam("of_borrower")).limit(1)
)


def merged_up_to(connection: Connection, log: str) -> dict[int, int]:
    """The next offset of each partition of a log that was ever taken up."""
    return {row[0]: row[1] for row in _FENCES.rows(connection, of_log=log)}


_FENCES: Final = Prepared(select(_FENCE.c.partition, _FENCE.c.next_offset).where(_FENCE.c.log == bindparam("of_log")))


def is_behind(connection: Connection, tenant: str, borrower_id: str) -> bool:
    """Whether an accepted entry of this borrower is not merged yet."""
    of = {"of_tenant": tenant, "of_borrower": borrower_id}
    return any(
        _WAITS.row(connection, **of, of_partition=partition, start=start) is not None
        for partition, start in _MERGED_UP_TO.rows(connection)
    )


def unmerged(connection: Connection, tenant: str, now: datetime) -> tuple[int, float]:
    """How many accepted entries are not merged yet, and the age of the oldest in seconds."""
    count, oldest = 0, now
    for partition, start in _MERGED_UP_TO.rows(connection):
        row = _WAITING.row(connection, of_tenant=tenant, of_partition=partition, start=start)
        if row is not None and row[0]:
            count, oldest = count + row[0], min(oldest, row[1])
    return count, (now - oldest).total_seconds()


# -- set aside ---------------------------------------------------------------------------------------------------------

REASONS: Final = ("id_conflict", "ambiguous_identifier", "unreadable", "invalid", "cannot_merge")
_SHOWN: Final = (
    "id",
    "reason",
    "detail",
    "kind",
    "vendor",
    "borrower_id",
    "event_id",
    "received_at",
    "attempts",
    "status",
)
_KEPT: Final = tuple(column.name for column in SET_ASIDE.columns if column.name != "id")


@dataclass(frozen=True, slots=True)
class Aside:
    """Something to keep and list. `kind` is `summary`, `event` or `hook`; the value is an entry or a hook's body."""

    tenant: str
    reason: str
    detail: str
    kind: str
    received_at: datetime
    value: bytes = field(repr=False)
    vendor: str | None = None
    borrower_id: str | None = None
    event_id: str | None = None
    body_hash: str | None = None
    attempts: int = 1


_ADD_ASIDE: Final = Prepared(insert(SET_ASIDE).values({name: bindparam(name) for name in _KEPT}))
_SAME_ASIDE: Final = Prepared(
    update(SET_ASIDE)
    .where(
        SET_ASIDE.c.tenant == bindparam("of_tenant"),
        SET_ASIDE.c.event_id == bindparam("of_event"),
        SET_ASIDE.c.status == literal_column("'open'"),
        SET_ASIDE.c.reason == bindparam("of_reason"),
        SET_ASIDE.c.body_hash == bindparam("of_hash"),
    )
    .values(attempts=SET_ASIDE.c.attempts + bindparam("more"), detail=bindparam("told"))
)


def put_aside(connection: Connection, aside: Aside) -> None:
    """Lists it; what is listed already, the same body for the same reason, is one item with more attempts."""
    if aside.event_id is not None and aside.body_hash is not None:
        same = {"of_tenant": aside.tenant, "of_event": aside.event_id, "of_reason": aside.reason}
        more = {"of_hash": aside.body_hash, "more": aside.attempts, "told": aside.detail}
        if _SAME_ASIDE.run(connection, **same, **more):
            return
    _ADD_ASIDE.run(connection, **{n: getattr(aside, n) for n in _KEPT if n != "status"}, status="open")


def set_aside_conflict(
    connection: Connection,
    *,
    tenant: str,
    event_id: str,
    kind: str,
    borrower_id: str,
    body_hash: str,
    value: bytes,
    at: datetime,
) -> None:
    """An id that came again with another body."""
    detail = "the same id was merged before with another body: post a higher revision, or another event_id"
    put_aside(
        connection,
        Aside(
            tenant=tenant,
            reason="id_conflict",
            detail=detail,
            kind=kind,
            received_at=at,
            value=value,
            borrower_id=borrower_id,
            event_id=event_id,
            body_hash=body_hash,
        ),
    )


def set_aside(connection: Connection, tenant: str, status: str | None, limit: int, cursor: str | None) -> Page:
    """What was set aside, newest first (API 12), of one status or of all. Raises `BadCursor`."""
    where = [SET_ASIDE.c.tenant == tenant]
    if status is not None:
        where.append(SET_ASIDE.c.status == status)
    if cursor is not None:
        where.append(SET_ASIDE.c.id < _place(cursor, int)[0])
    columns = [SET_ASIDE.c[name] for name in _SHOWN]
    rows = connection.execute(select(*columns).where(*where).order_by(SET_ASIDE.c.id.desc()).limit(limit + 1))
    return _page([dict(row) for row in rows.mappings()], limit, lambda item: (item["id"],))


def set_aside_open(connection: Connection, tenant: str) -> int:
    """How many wait for somebody."""
    return _count(connection, SET_ASIDE, and_(SET_ASIDE.c.tenant == tenant, SET_ASIDE.c.status == "open"))


def set_aside_item(connection: Connection, tenant: str, id_: int) -> tuple[dict[str, Any], bytes] | None:
    """One item as it is listed, and what was kept."""
    columns = [SET_ASIDE.c[name] for name in _SHOWN]
    where = (SET_ASIDE.c.tenant == tenant, SET_ASIDE.c.id == id_)
    row = connection.execute(select(*columns, SET_ASIDE.c.value).where(*where)).mappings().first()
    return ({name: row[name] for name in _SHOWN}, row["value"]) if row is not None else None


def settle_set_aside(connection: Connection, tenant: str, id_: int, status: str, *, attempts: int = 0) -> None:
    """What became of it: `open`, `merged` or `refused`, after so many more attempts."""
    connection.execute(
        update(SET_ASIDE)
        .where(SET_ASIDE.c.tenant == tenant, SET_ASIDE.c.id == id_)
        .values(status=status, attempts=SET_ASIDE.c.attempts + attempts)
    )


_ANY_OPEN: Final = Prepared(
    select(SET_ASIDE.c.id)
    .where(SET_ASIDE.c.tenant == bindparam("of_tenant"), SET_ASIDE.c.status == literal_column("'open'"))
    .limit(1)
)
_OPEN_EACH: Final = OfList(
    select(SET_ASIDE.c.event_id, SET_ASIDE.c.id).where(
        SET_ASIDE.c.tenant == bindparam("of_tenant"),
        SET_ASIDE.c.status == literal_column("'open'"),
        SET_ASIDE.c.reason != literal_column("'id_conflict'"),
    ),
    SET_ASIDE.c.event_id,
)


def open_set_aside(connection: Connection, tenant: str, event_ids: Sequence[str]) -> dict[str, list[int]]:
    """The open items of these entries that were not conflicts, by event id."""
    if _ANY_OPEN.row(connection, of_tenant=tenant) is None:
        return {}
    found: dict[str, set[int]] = {}
    for event_id, id_ in _OPEN_EACH.rows(connection, event_ids, of_tenant=tenant):
        found.setdefault(event_id, set()).add(id_)
    return {event_id: sorted(ids) for event_id, ids in found.items()}


# -- saving ------------------------------------------------------------------------------------------------------------

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Derived:
    """What is kept beside a record for lists and look-ups; rows without tenant and borrower."""

    journeys: Mapping[str, Row] = field(default_factory=dict)
    """By loan; blank for evidence that names none."""
    identifiers: frozenset[tuple[str, str]] = frozenset()
    loans: frozenset[str] = frozenset()
    started: frozenset[tuple[str, str, datetime]] = frozenset()


def derived(record: Record, state: BorrowerState, loans_before: Iterable[str]) -> Derived:
    """The rows of a record as it is concluded now. A provisional one that is somebody's has none.

    A loan stays linked when the evidence that opened it had to be let go, but not when that turned out to be another's.
    """
    if state.redirected_to is not None:
        return Derived()
    opened = frozenset(c.loan_id for c in state.cycles if c.opened_at is not None and c.loan_id is not None)
    known = {e.loan_id for e in record.all_of("boundaries") if isinstance(e, CycleBegun)}
    contacts = (c.at for c in reversed(state.conversations) if c.contact)
    last_contact_at = next(contacts, None)
    return Derived(
        journeys={c.loan_id or "": _journey(state, c, last_contact_at) for c in state.current_cycles()},
        identifiers=frozenset((i.kind, i.value) for i in state.identifiers),
        loans=opened | (frozenset(loans_before) - known),
        started=frozenset((s.channel, s.conversation_id, s.at) for s in state.started),
    )


def _journey(state: BorrowerState, cycle: Any, last_contact_at: datetime | None) -> Row:
    holds = state.holds_on(cycle.loan_id)
    ends = [h.until for h in holds]
    promise = cycle.promise
    return {
        "loan_id": cycle.loan_id or "",
        "cycle_id": cycle.cycle_id,
        "attempt": cycle.attempt,
        "stage": cycle.stage,
        "rung": cycle.rung,
        "amount": _decimal_text(promise.amount) if promise else None,
        "currency": (promise.currency if promise else None) or cycle.currency,
        "promise_due_date": promise.due_date if promise else None,
        "overdue_at": cycle.promise_overdue_at,
        "reminded": cycle.reminded.value,
        "payment_link_shared": cycle.payment_link_shared.value,
        "payment_confirmed": cycle.payment_confirmed.value,
        "outstanding": _decimal_text(cycle.outstanding),
        "holds": msgspec.json.encode(holds).decode(),
        "hold_kinds": "".join(f"|{kind}|" for kind in sorted({h.kind for h in holds})),
        "hold_until": max(e for e in ends if e is not None) if ends and None not in ends else None,
        "last_contact_at": last_contact_at,
    }


def _decimal_text(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")


def _keyed(table: FromClause, *names: str) -> ColumnElement[bool]:
    """Of one tenant and borrower, and of the row with these further keys, each bound as `of_<name>`."""
    return and_(*(table.c[name] == bindparam(f"of_{name}") for name in ("tenant", "borrower_id", *names)))


_JOURNEY_FIELDS: Final = [c.name for c in JOURNEY.columns if c.name not in ("tenant", "borrower_id", "loan_id")]
_ADD_JOURNEY: Final = Prepared(insert(JOURNEY))
_SET_JOURNEY: Final = Prepared(
    update(JOURNEY).where(_keyed(JOURNEY, "loan_id")).values({name: bindparam(name) for name in _JOURNEY_FIELDS})
)
_DROP_JOURNEY: Final = Prepared(JOURNEY.delete().where(_keyed(JOURNEY, "loan_id")))
_ADD_IDENTIFIER: Final = Prepared(insert(IDENTIFIER))
_DROP_IDENTIFIER: Final = Prepared(IDENTIFIER.delete().where(_keyed(IDENTIFIER, "kind", "value")))
_ADD_LOAN: Final = Prepared(insert(LOAN))
_DROP_LOAN: Final = Prepared(LOAN.delete().where(_keyed(LOAN, "loan_id")))
_ADD_STARTED: Final = Prepared(insert(STARTED))
_DROP_STARTED: Final = Prepared(STARTED.delete().where(_keyed(STARTED, "channel", "conversation_id")))
_BESIDE: Final = {
    table: tuple(c for c in table.columns if c.name not in ("tenant", "borrower_id"))
    for table in (JOURNEY, IDENTIFIER, LOAN, STARTED)
}
_ALL_OF: Final = {
    table: OfList(
        select(table.c.borrower_id, *columns).where(table.c.tenant == bindparam("of_tenant")), table.c.borrower_id
    )
    for table, columns in _BESIDE.items()
}


def stored_derived(connection: Connection, tenant: str, borrower_id: str) -> Derived:
    """What is kept beside a record now."""
    return stored_derived_each(connection, tenant, [borrower_id])[borrower_id]


def stored_derived_each(connection: Connection, tenant: str, borrower_ids: Sequence[str]) -> dict[str, Derived]:
    """What is kept beside each of these records now."""
    rows: dict[str, dict[FromClause, list[Sequence[Any]]]] = {id_: {t: [] for t in _BESIDE} for id_ in borrower_ids}
    for table, every in _ALL_OF.items():
        for borrower_id, *row in every.rows(connection, borrower_ids, of_tenant=tenant):
            rows[borrower_id][table].append(row)
    names = [column.name for column in _BESIDE[JOURNEY]]
    return {
        borrower_id: Derived(
            journeys={row[0]: dict(zip(names, row, strict=True)) for row in own[JOURNEY]},
            identifiers=frozenset((kind, value) for kind, value in own[IDENTIFIER]),
            loans=frozenset(row[0] for row in own[LOAN]),
            started=frozenset((channel, conversation, at) for channel, conversation, at in own[STARTED]),
        )
        for borrower_id, own in rows.items()
    }


def save_derived(connection: Connection, tenant: str, borrower_id: str, before: Derived, after: Derived) -> None:
    """Makes what is kept beside a record what it is now; only what differs is written."""
    _save_derived_each(connection, [(tenant, borrower_id, before, after)])


def _save_derived_each(connection: Connection, each: Iterable[tuple[str, str, Derived, Derived]]) -> None:
    """Every statement once for all of them."""
    rows: dict[Prepared, list[Row]] = {statement: [] for statement in _DERIVED_STATEMENTS}
    for tenant, borrower_id, before, after in each:
        own = {"tenant": tenant, "borrower_id": borrower_id}
        of = {"of_tenant": tenant, "of_borrower_id": borrower_id}
        for loan in before.journeys.keys() - after.journeys.keys():
            rows[_DROP_JOURNEY].append({**of, "of_loan_id": loan})
        for loan, row in after.journeys.items():
            if loan not in before.journeys:
                rows[_ADD_JOURNEY].append({**own, **row})
            elif row != before.journeys[loan]:
                rows[_SET_JOURNEY].append({**of, "of_loan_id": loan, **row})
        for kind, value in before.identifiers - after.identifiers:
            rows[_DROP_IDENTIFIER].append({**of, "of_kind": kind, "of_value": value})
        for kind, value in after.identifiers - before.identifiers:
            rows[_ADD_IDENTIFIER].append({**own, "kind": kind, "value": value})
        for loan in before.loans - after.loans:
            rows[_DROP_LOAN].append({**of, "of_loan_id": loan})
        for loan in after.loans - before.loans:
            rows[_ADD_LOAN].append({**own, "loan_id": loan})
        for channel, conversation, _ in before.started - after.started:
            rows[_DROP_STARTED].append({**of, "of_channel": channel, "of_conversation_id": conversation})
        for channel, conversation, at in after.started - before.started:
            begun = {"channel": channel, "conversation_id": conversation, "started_at": at}
            rows[_ADD_STARTED].append({**own, **begun})
    for statement, its in rows.items():
        statement.run_each(connection, its)


_DERIVED_STATEMENTS: Final = (
    _DROP_JOURNEY,
    _ADD_JOURNEY,
    _SET_JOURNEY,
    _DROP_IDENTIFIER,
    _ADD_IDENTIFIER,
    _DROP_LOAN,
    _ADD_LOAN,
    _DROP_STARTED,
    _ADD_STARTED,
)
"""In this order: a conversation that began anew is dropped before it is added."""


_ADD_BORROWER: Final = Prepared(insert(BORROWER))
_BORROWER_FIELDS: Final = [c.name for c in BORROWER.columns if c.name not in ("tenant", "borrower_id", "provisional")]
_SET_BORROWER: Final = Prepared(
    update(BORROWER)
    .where(_keyed(BORROWER), BORROWER.c.version == bindparam("read_version"))
    .values({name: bindparam(name) for name in _BORROWER_FIELDS})
)
_ADD_TO_JOURNAL: Final = Prepared(insert(JOURNAL))


def redirect_of(record: Record) -> tuple[str | None, datetime | None]:
    """Of a provisional record: whose it is, and up to when its evidence is not theirs.

    What took effect before the redirect was taken back last went to whoever had it then. What took effect while it was
    another's is the other's, though it was never taken back: an identifier that two share proves nothing.
    """
    redirects = sorted(record.all_of("redirect"), key=lambda e: e.key)
    if not redirects:
        return None, None
    last: Redirected = redirects[-1]
    if last.to is None:
        return None, last.at
    since = last
    for earlier in reversed(redirects):
        if earlier.to != last.to:
            return last.to, earlier.at if earlier.to is None else since.at
        since = earlier
    return last.to, None


def record_row(
    record: Record, raw: bytes, state: BorrowerState, version: int, log: str, partition: int, offset: int
) -> Row:
    """A row of `borrower` but for its key; the position is that of the entry merged last."""
    to, after = redirect_of(record) if is_provisional(record.borrower_id) else (None, None)
    return {
        "version": version,
        "record": raw,
        "content_hash": hashlib.sha256(raw).hexdigest(),
        "redirected_to": to,
        "redirected_after": after,
        "time_zone": state.time_zone,
        "log": log,
        "partition": partition,
        "log_offset": offset,
    }


def save_record(connection: Connection, tenant: str, borrower_id: str, read_version: int | None, row: Row) -> bool:
    """Writes a row (`record_row`) over the version that was read, None for a new one. False when that has moved."""
    return save_each(connection, [Save(tenant, borrower_id, read_version, row)])


@dataclass(frozen=True, slots=True)
class Save:
    """One record to be saved over the version that was read, None for a new one, and what is kept beside it."""

    tenant: str
    borrower_id: str
    read_version: int | None
    row: Row
    before: Derived = field(default_factory=Derived)
    after: Derived = field(default_factory=Derived)


def save_each(connection: Connection, saves: Iterable[Save]) -> bool:
    """False when one of them has moved, and then the rest is not whole: the transaction is to be undone.

    Two transactions that save the same records lock them in the same order.
    """
    in_order = sorted(saves, key=lambda save: (save.tenant, save.borrower_id))
    new: list[Row] = []
    changed: list[Row] = []
    for save in in_order:
        if save.read_version is None:
            is_nobodys = is_provisional(save.borrower_id)
            own = {"tenant": save.tenant, "borrower_id": save.borrower_id, "provisional": is_nobodys}
            new.append({**own, **save.row})
        else:
            of = {"of_tenant": save.tenant, "of_borrower_id": save.borrower_id, "read_version": save.read_version}
            changed.append({**of, **save.row})
    if _SET_BORROWER.change_each(connection, changed) != len(changed):
        return False
    _ADD_BORROWER.run_each(connection, new)
    _save_derived_each(connection, ((s.tenant, s.borrower_id, s.before, s.after) for s in in_order))
    return True


def replace_record(connection: Connection, tenant: str, borrower_id: str, row: Row) -> None:
    """Writes a row whatever stands there, for a rebuild."""
    remove_record(connection, tenant, borrower_id)
    save_record(connection, tenant, borrower_id, None, row)


def remove_record(connection: Connection, tenant: str, borrower_id: str) -> None:
    connection.execute(BORROWER.delete().where(BORROWER.c.tenant == tenant, BORROWER.c.borrower_id == borrower_id))


def add_to_journal(connection: Connection, rows: Sequence[Row]) -> None:
    _ADD_TO_JOURNAL.run_each(connection, rows)


# -- cursors -----------------------------------------------------------------------------------------------------------


def _page(items: list[dict[str, Any]], limit: int, place: Any) -> Page:
    """The first `limit` of items that were read one further than that."""
    if len(items) <= limit:
        return Page(items, None)
    cursor = base64.urlsafe_b64encode(msgspec.json.encode(place(items[limit - 1]))).decode().rstrip("=")
    return Page(items[:limit], cursor)


def _place(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """What a cursor holds; `BadCursor` when it is none of ours."""
    if len(cursor) > CURSOR_CHARACTERS:
        raise BadCursor("a cursor is shorter")
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        values = msgspec.json.decode(raw, type=list)
    except (ValueError, msgspec.MsgspecError):
        raise BadCursor("no cursor of ours") from None
    fits = (value in WHOLE_NUMBERS if type(value) is int else "\0" not in value for value in values)
    if [type(value) for value in values] != list(kinds) or not all(fits):
        raise BadCursor("no cursor of this list")
    return tuple(values)


def _instant(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadCursor("no cursor of this list") from None
    if at.tzinfo is None:
        raise BadCursor("no cursor of this list")
    return at.astimezone(UTC)
