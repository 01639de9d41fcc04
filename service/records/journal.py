"""What was merged: each entry once, as it was posted; what was told of one borrower, newest first; all that is stored of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    not_,
    or_,
    select,
    tuple_,
)

from service.intake import envelope
from service.prepared import OfList, Prepared
from service.records.pages import Page, instant_in, page_of, place_in
from service.tables import (
    SUMMARY,
    Borrower,
    Journal,
    Permit,
    Repeat,
    Resume,
    SetAside,
    table_of,
)
from statemachine.stamps import INTERNAL_TYPES, Stamps, Warning

BORROWER = table_of(Borrower)
JOURNAL = table_of(Journal)
REPEAT = table_of(Repeat)

HIDDEN: Final = ("conversation.message", *INTERNAL_TYPES)
"""Types that are on no time line: parts of an open conversation, and our own."""


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
        _told_of(JOURNAL, sources_of(connection, tenant, borrower_id)),
    )
    newest = select(JOURNAL.c.event_id).where(*where).order_by(JOURNAL.c.received_at.desc()).limit(EVENTS_SINCE)
    return [row[0] for row in connection.execute(newest)]


def ended_at(
    connection: Connection, tenant: str, borrower_ids: Sequence[str], channel: str, conversation_id: str
) -> datetime | None:
    """When a conversation of one of these borrowers ended, by its newest report; None where none has come."""
    found = select(func.max(JOURNAL.c.effective_at)).where(
        JOURNAL.c.tenant == tenant,
        JOURNAL.c.borrower_id.in_(borrower_ids),
        JOURNAL.c.channel == channel,
        JOURNAL.c.conversation_id == conversation_id,
        JOURNAL.c.type == literal_column(f"'{SUMMARY}'"),  # as the index says it
    )
    at: datetime | None = connection.execute(found).scalar()
    return at


def sources_of(connection: Connection, tenant: str, borrower_id: str) -> list[tuple[str, datetime | None]]:
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


# -- the time line -------------------------------------------------------------------------------------------------------


def timeline(connection: Connection, tenant: str, borrower_id: str, limit: int, cursor: str | None) -> Page:
    """What was told of one borrower, newest first (API 7): a conversation once, by its highest revision.

    Items: `kind at event_id loan_id cycle_id attempt revisions entry through`; loan and cycle as they were posted, `attempt` for
    the caller to fill in; `through` the identifier by which it came (`kind:value`), for the caller to take out.
    Raises `BadCursor`.
    """
    sources = sources_of(connection, tenant, borrower_id)
    every = _revisions(tenant, sources)
    is_summary = JOURNAL.c.type == SUMMARY
    where = [
        JOURNAL.c.tenant == tenant,
        _told_of(JOURNAL, sources),
        JOURNAL.c.type.not_in(HIDDEN),
        or_(not_(is_summary), not_(_has_a_higher(every))),
    ]
    if cursor is not None:
        at, event_id = place_in(cursor, str, str)
        where.append(tuple_(JOURNAL.c.effective_at, JOURNAL.c.event_id) < tuple_(instant_in(at), event_id))
    columns = (JOURNAL.c.type, JOURNAL.c.effective_at, JOURNAL.c.event_id, JOURNAL.c.loan_id, JOURNAL.c.cycle_id)
    wanted = (
        select(*columns, case((is_summary, _count_of(every)), else_=1), JOURNAL.c.body, JOURNAL.c.stamps)
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
            "through": envelope.through(stamps),
        }
        for type_, at, event_id, loan_id, cycle_id, count, body, stamps in connection.execute(wanted)
    ]
    return page_of(items, limit, lambda item: (item["at"].isoformat(), item["event_id"]))


def _has_a_higher(every: Select[Any]) -> ColumnElement[bool]:
    """Of a row of the journal: that there is a higher revision of its conversation among these."""
    later = every.alias("later")
    rank = ("revision", "effective_at", "event_id")
    is_higher = tuple_(*(later.c[name] for name in rank)) > tuple_(*(JOURNAL.c[name] for name in rank))
    return select(literal_column("1")).select_from(later).where(_same_conversation(later), is_higher).exists()


def _count_of(every: Select[Any]) -> ColumnElement[int]:
    """Of a row of the journal: how many of these are revisions of its conversation."""
    each = every.alias("every")
    return select(func.count()).select_from(each).where(_same_conversation(each)).scalar_subquery()


def _same_conversation(other: FromClause) -> ColumnElement[bool]:
    return and_(other.c.channel == JOURNAL.c.channel, other.c.conversation_id == JOURNAL.c.conversation_id)


def _revisions(tenant: str, sources: Sequence[tuple[str, datetime | None]]) -> Select[Any]:
    """Every revision of every conversation of one borrower. Its type stands there as a literal for the partial index."""
    return select(
        JOURNAL.c.channel, JOURNAL.c.conversation_id, JOURNAL.c.revision, JOURNAL.c.effective_at, JOURNAL.c.event_id
    ).where(
        JOURNAL.c.tenant == tenant,
        JOURNAL.c.type == literal_column(f"'{SUMMARY}'"),
        _told_of(JOURNAL, sources),
    )


def export(connection: Connection, tenant: str, borrower_id: str) -> dict[str, list[dict[str, Any]]]:
    """Everything stored of one borrower (API 10): `entries` in the order of their arrival, our own included, each with
    `through` as in `timeline`, `resumes`, `permits`, `repeats`, `set_aside`."""
    sources = sources_of(connection, tenant, borrower_id)
    ids = [id_ for id_, _ in sources]
    named = ("event_id", "type", "received_at", "effective_at", "record_version")
    wanted = select(*(JOURNAL.c[name] for name in named), JOURNAL.c.body, JOURNAL.c.stamps).where(
        JOURNAL.c.tenant == tenant, _told_of(JOURNAL, sources)
    )
    rows = connection.execute(wanted.order_by(JOURNAL.c.received_at, JOURNAL.c.event_id)).mappings()
    entries = [
        {
            **{name: row[name] for name in named},
            "entry": envelope.document(row["body"]),
            "through": envelope.through(row["stamps"]),
        }
        for row in rows
    ]

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
