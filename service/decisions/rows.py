"""Decisions, versions and corrections as rows. Every change is one conditional statement whose count is looked at.

Functions of a connection. What a status means, and when it changes, `statemachine.decisions` says; this file must not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, literal_column, or_, select, tuple_, update

from service.tables import Correction, DecisionUse, SourceVersion, table_of
from service.tables import Decision as DecisionRow
from statemachine.decisions import Decision, Seen

DECISION, VERSION = table_of(DecisionRow), table_of(SourceVersion)
CORRECTION, USE = table_of(Correction), table_of(DecisionUse)

LAYERS: Final = ("record", "index", "proposals", "open_conversations", "announcement")
USES_TOLD: Final = 20
IS_ACTIVE: Final = DECISION.c.status == literal_column("'active'")
"""As the partial index says it."""
_IS_PENDING: Final = CORRECTION.c.status == literal_column("'pending'")


@dataclass(frozen=True, slots=True)
class Stored:
    """A decision as it stands in its table."""

    tenant: str
    decision_id: str
    borrower_id: str
    kind: str
    conclusion: str
    source: str
    entity: str
    source_version: str
    decided_at: datetime
    agent: str | None
    execution_id: str | None
    replaces: str
    body_hash: str
    recorded_at: datetime
    recorded_by: str
    status: str
    reason: str | None
    stale_at: datetime | None
    observed_version: str | None
    noticed_by: str | None
    superseded_by: str | None
    superseded_at: datetime | None

    @property
    def replaced(self) -> tuple[str, ...]:
        told = json.loads(self.replaces) if self.replaces else []
        return (told,) if isinstance(told, str) else tuple(told)

    @property
    def rule(self) -> Decision:
        """What the rules look at."""
        return Decision(
            decision_id=self.decision_id,
            borrower_id=self.borrower_id,
            kind=self.kind,
            entity=self.entity or None,
            source=self.source,
            version=self.source_version,
            decided_at=self.decided_at,
            status=self.status,
            replaces=self.replaced,
        )


_FIELDS: Final = tuple(Stored.__dataclass_fields__)
_COLUMNS: Final = tuple(DECISION.c[name] for name in _FIELDS)


# -- decisions ---------------------------------------------------------------------------------------------------------


def decision(connection: Connection, tenant: str, decision_id: str, *, lock: bool = False) -> Stored | None:
    """`lock`: nobody else changes it until the transaction ends."""
    wanted = select(*_COLUMNS).where(DECISION.c.tenant == tenant, DECISION.c.decision_id == decision_id)
    row = connection.execute(wanted.with_for_update() if lock else wanted).first()
    return Stored(*row) if row is not None else None


def decisions(connection: Connection, tenant: str, ids: Iterable[str]) -> dict[str, Stored]:
    """Those of these that there are."""
    found = _found(connection, DECISION.c.tenant == tenant, DECISION.c.decision_id.in_(list(ids)))
    return {one.decision_id: one for one in found}


def add(connection: Connection, stored: Stored) -> None:
    """Raises `IntegrityError` when another transaction took the id first; the job is then run again."""
    connection.execute(insert(DECISION).values({name: getattr(stored, name) for name in _FIELDS}))


def make_stale(connection: Connection, stored: Stored, *, observed: str, reason: str, by: str, now: datetime) -> bool:
    """Active at this very version before, stale after; False when it was not so."""
    values = {"status": "stale", "reason": reason, "stale_at": now, "observed_version": observed, "noticed_by": by}
    return _changed(connection, stored, "active", values)


def make_superseded(connection: Connection, stored: Stored, *, by: str, now: datetime) -> bool:
    """Stale at this very version before, superseded after; False when it was not so."""
    return _changed(connection, stored, "stale", {"status": "superseded", "superseded_by": by, "superseded_at": now})


def _changed(connection: Connection, stored: Stored, expected: str, values: Mapping[str, Any]) -> bool:
    where = (
        DECISION.c.tenant == stored.tenant,
        DECISION.c.decision_id == stored.decision_id,
        DECISION.c.source_version == stored.source_version,
        DECISION.c.status == expected,
    )
    return connection.execute(update(DECISION).where(*where).values(values)).rowcount == 1


def related(connection: Connection, stored: Stored) -> list[Stored]:
    """The borrower's other decisions of the same subject, or that it names, or that name it; oldest first."""
    same = and_(DECISION.c.kind == stored.kind, DECISION.c.source == stored.source, DECISION.c.entity == stored.entity)
    names = DECISION.c.decision_id.in_(stored.replaced) if stored.replaced else None
    named_by = DECISION.c.replaces.contains(json.dumps(stored.decision_id), autoescape=True)
    either = or_(same, named_by) if names is None else or_(same, names, named_by)
    return _found(
        connection,
        DECISION.c.tenant == stored.tenant,
        DECISION.c.borrower_id == stored.borrower_id,
        DECISION.c.decision_id != stored.decision_id,
        DECISION.c.status.in_(("active", "stale")),
        either,
    )


def _found(connection: Connection, *where: ColumnElement[bool]) -> list[Stored]:
    order = (DECISION.c.decided_at, DECISION.c.decision_id)
    return [Stored(*row) for row in connection.execute(select(*_COLUMNS).where(*where).order_by(*order))]


def of_borrower(
    connection: Connection,
    tenant: str,
    borrower_id: str,
    *,
    active_only: bool,
    limit: int,
    before: tuple[datetime, str] | None = None,
) -> list[Stored]:
    """One borrower's, newest first."""
    where = [DECISION.c.tenant == tenant, DECISION.c.borrower_id == borrower_id]
    if active_only:
        where.append(IS_ACTIVE)
    place = (DECISION.c.decided_at, DECISION.c.decision_id)
    if before is not None:
        where.append(tuple_(*place) < tuple_(*before))
    wanted = select(*_COLUMNS).where(*where).order_by(*(column.desc() for column in place)).limit(limit)
    return [Stored(*row) for row in connection.execute(wanted)]


def has_any(connection: Connection, tenant: str, borrower_id: str) -> bool:
    wanted = select(DECISION.c.decision_id).where(DECISION.c.tenant == tenant, DECISION.c.borrower_id == borrower_id)
    return connection.execute(wanted.limit(1)).first() is not None


# -- versions ----------------------------------------------------------------------------------------------------------


def seen(
    connection: Connection, tenant: str, source: str, entity: str, *, lock: bool = False
) -> dict[str, Seen]:  # fmt: skip
    """What is known of this entity and of the source as a whole (blank), by entity."""
    names = ("entity", "version", "observed_at", "reported_at")
    wanted = select(*(VERSION.c[name] for name in names)).where(
        VERSION.c.tenant == tenant, VERSION.c.source == source, VERSION.c.entity.in_({entity, ""})
    )
    wanted = wanted.order_by(VERSION.c.entity)
    rows = connection.execute(wanted.with_for_update() if lock else wanted)
    return {entity: Seen(*rest) for entity, *rest in rows}


def seen_of(connection: Connection, tenant: str, scopes: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Seen]:
    """What is known of these `(source, entity)`, and of their sources as a whole."""
    wanted = {scope for source, entity in scopes for scope in ((source, entity), (source, ""))}
    if not wanted:
        return {}
    names = ("source", "entity", "version", "observed_at", "reported_at")
    rows = connection.execute(
        select(*(VERSION.c[name] for name in names)).where(
            VERSION.c.tenant == tenant, tuple_(VERSION.c.source, VERSION.c.entity).in_(sorted(wanted))
        )
    )
    return {(source, entity): Seen(*rest) for source, entity, *rest in rows}


def keep_seen(
    connection: Connection, tenant: str, source: str, entity: str, told: Seen, by: str, *, is_new: bool
) -> None:
    """In the place of what was known, whose row the transaction holds."""
    values = {
        "version": told.version,
        "observed_at": told.observed_at,
        "reported_at": told.reported_at,
        "reported_by": by,
    }
    key = {"tenant": tenant, "source": source, "entity": entity}
    if is_new:
        connection.execute(insert(VERSION).values(key | values))
        return
    where = (VERSION.c[name] == value for name, value in key.items())
    connection.execute(update(VERSION).where(*where).values(values))


def outdated(connection: Connection, tenant: str, source: str, entity: str, version: str, limit: int) -> list[Stored]:
    """Active decisions that rest on another version than this, the newest known of an entity, or of a source as a whole
    (blank) wherever nothing later is known of their own entity."""
    where = [DECISION.c.tenant == tenant, DECISION.c.source == source, IS_ACTIVE, DECISION.c.source_version != version]
    if entity:
        where.append(DECISION.c.entity == entity)
    else:
        whole, own = VERSION.alias("whole"), VERSION.alias("own")
        later = (
            select(literal_column("1"))
            .select_from(own, whole)
            .where(
                own.c.tenant == DECISION.c.tenant,
                own.c.source == DECISION.c.source,
                own.c.entity == DECISION.c.entity,
                own.c.entity != "",
                whole.c.tenant == DECISION.c.tenant,
                whole.c.source == DECISION.c.source,
                whole.c.entity == "",
                tuple_(own.c.observed_at, own.c.reported_at) > tuple_(whole.c.observed_at, whole.c.reported_at),
            )
            .exists()
        )
        where.append(~later)
    order = (DECISION.c.decided_at, DECISION.c.decision_id)
    wanted = select(*_COLUMNS).where(*where).order_by(*order).limit(limit)
    return [Stored(*row) for row in connection.execute(wanted)]


def drifted(connection: Connection, limit: int) -> list[Stored]:
    """Active decisions of any tenant that rest on another version than the newest known."""
    newest, later = VERSION.alias("newest"), VERSION.alias("later")

    def is_of(version: Any) -> ColumnElement[bool]:
        return and_(
            version.c.tenant == DECISION.c.tenant,
            version.c.source == DECISION.c.source,
            or_(version.c.entity == DECISION.c.entity, version.c.entity == ""),
        )

    one: ColumnElement[Any] = literal_column("1")
    order_of_later, order_of_newest = (tuple_(v.c.observed_at, v.c.reported_at) for v in (later, newest))
    is_later = select(one).select_from(later).where(is_of(later), order_of_later > order_of_newest)
    is_not_newest = is_later.correlate(DECISION, newest).exists()
    is_other = newest.c.version != DECISION.c.source_version
    other = select(one).select_from(newest).where(is_of(newest), is_other, ~is_not_newest).correlate(DECISION).exists()
    wanted = select(*_COLUMNS).where(IS_ACTIVE, other).limit(limit)
    return [Stored(*row) for row in connection.execute(wanted)]


# -- corrections -------------------------------------------------------------------------------------------------------


def add_correction(connection: Connection, stored: Stored, row: Mapping[str, Any]) -> None:
    """Of a decision that has just gone stale; `row` is the rest: `correction_id observed_version event_id created_at`."""
    own = {name: getattr(stored, name) for name in ("tenant", "decision_id", "borrower_id", "source", "entity")}
    rest = {"status": "pending", "try_at": row["created_at"], "tries": 0}
    connection.execute(insert(CORRECTION).values(own | rest | dict(row)))


def corrections_of(connection: Connection, tenant: str, decision_ids: Sequence[str]) -> dict[str, Row[Any]]:
    """The correction of each of these decisions that has one."""
    wanted = select(CORRECTION).where(CORRECTION.c.tenant == tenant, CORRECTION.c.decision_id.in_(decision_ids))
    return {row.decision_id: row for row in connection.execute(wanted)}


def due(connection: Connection, now: datetime, limit: int) -> list[tuple[str, str]]:
    """Corrections of any tenant that are to be looked after, as `(tenant, correction_id)`."""
    wanted = select(CORRECTION.c.tenant, CORRECTION.c.correction_id).where(_IS_PENDING, CORRECTION.c.try_at <= now)
    return [(row[0], row[1]) for row in connection.execute(wanted.order_by(CORRECTION.c.try_at).limit(limit))]


def correction(connection: Connection, tenant: str, correction_id: str) -> Row[Any] | None:
    return connection.execute(select(CORRECTION).where(*_correction(tenant, correction_id))).first()


def answered(connection: Connection, tenant: str, correction_id: str, layer: str, now: datetime) -> bool:
    """Notes when a layer (or `source_read`) answered, the first time it does."""
    column = CORRECTION.c[f"{layer}_at"]
    where = (*_correction(tenant, correction_id), column.is_(None))
    return connection.execute(update(CORRECTION).where(*where).values({column: now})).rowcount == 1


def finish(connection: Connection, tenant: str, correction_id: str, now: datetime, *, needs_source: bool) -> bool:
    """Done, if every layer has answered, and the source too where it can be asked; True for the one who finishes it."""
    all_of_them = [CORRECTION.c[f"{layer}_at"].is_not(None) for layer in LAYERS]
    if needs_source:
        all_of_them.append(CORRECTION.c.source_read_at.is_not(None))
    where = (*_correction(tenant, correction_id), _IS_PENDING, *all_of_them)
    values = {"status": "done", "done_at": now, "last_reason": None}
    return connection.execute(update(CORRECTION).where(*where).values(values)).rowcount == 1


def put_off(connection: Connection, tenant: str, correction_id: str, reason: str, try_at: datetime) -> None:
    """It is not done yet, and why; tried again then."""
    values = {"tries": CORRECTION.c.tries + 1, "last_reason": reason, "try_at": try_at}
    connection.execute(update(CORRECTION).where(*_correction(tenant, correction_id), _IS_PENDING).values(values))


def _correction(tenant: str, correction_id: str) -> tuple[ColumnElement[bool], ...]:
    return CORRECTION.c.tenant == tenant, CORRECTION.c.correction_id == correction_id


def pending(connection: Connection, tenant: str | None = None) -> tuple[int, datetime | None]:
    """How many corrections are not done, and since when the oldest."""
    of = () if tenant is None else (CORRECTION.c.tenant == tenant,)
    wanted = select(func.count(), func.min(CORRECTION.c.created_at)).where(_IS_PENDING, *of)
    count, oldest = connection.execute(wanted).one()
    return int(count), oldest


def unindexed_since(connection: Connection) -> datetime | None:
    """Since when the index has not answered to the correction that it has left waiting longest."""
    wanted = select(func.min(CORRECTION.c.created_at)).where(_IS_PENDING, CORRECTION.c.index_at.is_(None))
    since: datetime | None = connection.execute(wanted).scalar()
    return since


def list_corrections(
    connection: Connection, tenant: str, status: str | None, limit: int, before: tuple[datetime, str] | None
) -> list[Row[Any]]:
    """A tenant's, newest first."""
    where = [CORRECTION.c.tenant == tenant]
    if status is not None:
        where.append(CORRECTION.c.status == status)
    place = (CORRECTION.c.created_at, CORRECTION.c.correction_id)
    if before is not None:
        where.append(tuple_(*place) < tuple_(*before))
    wanted = select(CORRECTION).where(*where).order_by(*(column.desc() for column in place)).limit(limit)
    return list(connection.execute(wanted))


# -- uses --------------------------------------------------------------------------------------------------------------


def note_use(connection: Connection, row: Mapping[str, Any]) -> None:
    """That somebody asked: `tenant decision_id at by source_version execution_id action allowed`."""
    connection.execute(insert(USE).values(dict(row)))


def uses(connection: Connection, tenant: str, decision_ids: Sequence[str]) -> dict[str, tuple[int, list[Row[Any]]]]:
    """Of each of these decisions: how often it was asked for, and the last times."""
    counted = (
        select(USE.c.decision_id, func.count())
        .where(USE.c.tenant == tenant, USE.c.decision_id.in_(decision_ids))
        .group_by(USE.c.decision_id)
    )
    found: dict[str, tuple[int, list[Row[Any]]]] = {}
    for decision_id, count in connection.execute(counted):
        last = select(USE).where(USE.c.tenant == tenant, USE.c.decision_id == decision_id)
        found[decision_id] = count, list(connection.execute(last.order_by(USE.c.id.desc()).limit(USES_TOLD)))
    return found
