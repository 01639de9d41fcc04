"""How the parts that work by themselves stand: partitions, what waits for Kafka, hooks, a model. Nothing of a borrower."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, func, literal_column, select, tuple_

from service.intake.log import Behind
from service.records.pages import Page, instant_in, page_of, place_in
from service.tables import Hook, HookBody, HookItem, Outbox, Proposal, SetAside, WriterPartition, table_of

_FENCE: Final = table_of(WriterPartition)
_OUTBOX: Final = table_of(Outbox)
_HOOK: Final = table_of(Hook)
_BODY: Final = table_of(HookBody)
_ITEM: Final = table_of(HookItem)
_ASIDE: Final = table_of(SetAside)
_PROPOSAL: Final = table_of(Proposal)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of the log: who has it since when, and up to where it is merged."""

    partition: int
    epoch: int
    next_offset: int
    owner: str
    taken_at: datetime


def partitions(connection: Connection, log: str) -> tuple[Partition, ...]:
    """Those that were ever taken, in their order."""
    columns = [_FENCE.c[name] for name in Partition.__dataclass_fields__]
    rows = connection.execute(select(*columns).where(_FENCE.c.log == log).order_by(_FENCE.c.partition))
    return tuple(Partition(*row) for row in rows)


def spool(connection: Connection, now: datetime) -> dict[str, Behind]:
    """By topic, what is durable here and not yet in Kafka, of all tenants."""
    wanted = select(_OUTBOX.c.topic, func.count(), func.min(_OUTBOX.c.added_at)).group_by(_OUTBOX.c.topic)
    return {topic: Behind(n, max(0.0, (now - at).total_seconds())) for topic, n, at in connection.execute(wanted)}


def unread_bodies(connection: Connection, tenant: str) -> int:
    """Bodies of hooks that were answered for and are not read to their end."""
    where: tuple[ColumnElement[bool], ...] = (literal_column("NOT hook_body.is_done"), _BODY.c.tenant == tenant)
    return int(connection.execute(select(func.count()).select_from(_BODY).where(*where)).scalar_one())


# -- hooks -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OfHook:
    """An address, and what came through it: bodies, the items that they told first, bodies that told nothing new."""

    hook_id: str
    channel: str
    vendor: str
    created_at: datetime
    revoked_at: datetime | None
    bodies: int
    unread: int
    last_at: datetime | None
    told: int
    waiting: int
    repeats: int


def hooks(connection: Connection, tenant: str, since: datetime) -> tuple[OfHook, ...]:
    """A tenant's hooks, those in use first, with what came since."""
    first = and_(_ITEM.c.tenant == _BODY.c.tenant, _ITEM.c.body_id == _BODY.c.id)
    told = (
        select(
            _BODY.c.hook_id,
            _BODY.c.id,
            _BODY.c.is_done,
            _BODY.c.received_at,
            func.count(_ITEM.c.key).label("new"),
            func.sum(case((_ITEM.c.state == "waiting", 1), else_=0)).label("waiting"),
        )
        .select_from(_BODY.outerjoin(_ITEM, first))
        .where(_BODY.c.tenant == tenant, _BODY.c.received_at >= since)
        .group_by(_BODY.c.hook_id, _BODY.c.id, _BODY.c.is_done, _BODY.c.received_at)
        .subquery()
    )
    grouped = select(
        told.c.hook_id,
        func.count(),
        func.sum(case((told.c.is_done.is_(False), 1), else_=0)),
        func.max(told.c.received_at),
        func.sum(told.c.new),
        func.sum(told.c.waiting),
        func.sum(case((and_(told.c.new == 0, told.c.is_done.is_(True)), 1), else_=0)),
    ).group_by(told.c.hook_id)
    came = {row[0]: row[1:] for row in connection.execute(grouped)}
    columns = (_HOOK.c.hook_id, _HOOK.c.channel, _HOOK.c.vendor, _HOOK.c.created_at, _HOOK.c.revoked_at)
    order = (_HOOK.c.revoked_at.is_not(None), _HOOK.c.created_at)
    known = connection.execute(select(*columns).where(_HOOK.c.tenant == tenant).order_by(*order)).all()
    return tuple(_of_hook(row, came.get(row[0], (0, 0, None, 0, 0, 0))) for row in known)


def _of_hook(row: tuple[str, str, str, datetime, datetime | None], came: tuple[int, ...]) -> OfHook:
    bodies, unread, last_at, items, waiting, repeats = came
    return OfHook(*row, bodies, int(unread), last_at, int(items), int(waiting or 0), int(repeats))  # type: ignore[arg-type]


def set_aside_of_vendors(connection: Connection, tenant: str, since: datetime) -> dict[str, dict[str, int]]:
    """By vendor and reason, what hooks brought since and was set aside: `unreadable` is what could not be parsed."""
    where = (_ASIDE.c.tenant == tenant, _ASIDE.c.vendor.is_not(None), _ASIDE.c.received_at >= since)
    wanted = select(_ASIDE.c.vendor, _ASIDE.c.reason, func.count()).where(*where)
    found: dict[str, dict[str, int]] = {}
    for vendor, reason, count in connection.execute(wanted.group_by(_ASIDE.c.vendor, _ASIDE.c.reason)):
        found.setdefault(vendor, {})[reason] = count
    return found


# -- a model ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelHour:
    """How a model answered lately: `failure` is blank for an answer that could be read."""

    model: str
    failure: str
    count: int
    mean_ms: int


def model_answers_page(
    connection: Connection,
    tenant: str,
    since: datetime,
    model: str | None,
    failure: str | None,
    limit: int,
    cursor: str | None,
) -> Page:
    """The answers that are counted, newest first, of one model and kind when asked (blank: could be read): `asked_at borrower_id
    channel loan_id model proposed failure why latency_ms record_version`. No word of an answer. Raises `BadCursor`."""
    key = ("asked_at", "borrower_id", "channel", "loan_id")
    order = [_PROPOSAL.c[name] for name in key]
    where: list[ColumnElement[bool]] = [_PROPOSAL.c.tenant == tenant, _PROPOSAL.c.asked_at >= since]
    if model is not None:
        where.append(_PROPOSAL.c.model == model)
    if failure is not None:
        where.append(func.coalesce(_PROPOSAL.c.failure, "") == failure)
    if cursor is not None:
        at, *rest = place_in(cursor, str, str, str, str)
        where.append(tuple_(*order) < tuple_(instant_in(at), *rest))
    shown = [_PROPOSAL.c[n] for n in ("model", "proposed", "failure", "why", "latency_ms", "record_version")]
    wanted = select(*order, *shown).where(*where).order_by(*(column.desc() for column in order)).limit(limit + 1)
    items: list[dict[str, Any]] = [dict(row) for row in connection.execute(wanted).mappings()]
    return page_of(items, limit, lambda i: (i["asked_at"].isoformat(), *(i[name] for name in key[1:])))


def model_answers(connection: Connection, tenant: str, since: datetime) -> tuple[ModelHour, ...]:
    """By model and failure, the proposals that are kept and were asked for since."""
    by = (_PROPOSAL.c.model, func.coalesce(_PROPOSAL.c.failure, ""))
    where = (_PROPOSAL.c.tenant == tenant, _PROPOSAL.c.asked_at >= since)
    wanted = select(*by, func.count(), func.avg(_PROPOSAL.c.latency_ms)).where(*where).group_by(*by).order_by(*by)
    return tuple(ModelHour(m, f, int(n), round(float(mean or 0))) for m, f, n, mean in connection.execute(wanted))
