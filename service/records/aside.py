"""What was kept and not merged: put there, listed, settled (API 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, insert, literal_column, select, update

from service.prepared import OfList, Prepared
from service.records.pages import Page, page_of, place_in
from service.tables import (
    SetAside,
    table_of,
)

SET_ASIDE = table_of(SetAside)

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


def put_aside(connection: Connection, aside: Aside) -> bool:
    """Lists it; what is listed already, the same body for the same reason, is one item with more attempts. Whether it is new."""
    if aside.event_id is not None and aside.body_hash is not None:
        same = {"of_tenant": aside.tenant, "of_event": aside.event_id, "of_reason": aside.reason}
        more = {"of_hash": aside.body_hash, "more": aside.attempts, "told": aside.detail}
        if _SAME_ASIDE.run(connection, **same, **more):
            return False
    _ADD_ASIDE.run(connection, **{n: getattr(aside, n) for n in _KEPT if n != "status"}, status="open")
    return True


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


def set_aside(
    connection: Connection,
    tenant: str,
    status: str | None,
    limit: int,
    cursor: str | None,
    *,
    vendor: str | None = None,
    reason: str | None = None,
    since: datetime | None = None,
    is_delivery: bool = False,
) -> Page:
    """What was set aside, newest first (API 12), of one status or of all, of one vendor's hooks or all that came, for one reason,
    that came since. `is_delivery`: that counts as a delivery of its own (`operations.counted`). Raises `BadCursor`."""
    where = [SET_ASIDE.c.tenant == tenant]
    if reason is not None:
        where.append(SET_ASIDE.c.reason == reason)
    if since is not None:
        where.append(SET_ASIDE.c.received_at >= since)
    if is_delivery:
        where += [SET_ASIDE.c.status != "merged", SET_ASIDE.c.reason != "id_conflict"]
    if status is not None:
        where.append(SET_ASIDE.c.status == status)
    if vendor is not None:
        where.append(SET_ASIDE.c.vendor == vendor)
    if cursor is not None:
        where.append(SET_ASIDE.c.id < place_in(cursor, int)[0])
    columns = [SET_ASIDE.c[name] for name in _SHOWN]
    rows = connection.execute(select(*columns).where(*where).order_by(SET_ASIDE.c.id.desc()).limit(limit + 1))
    return page_of([dict(row) for row in rows.mappings()], limit, lambda item: (item["id"],))


def set_aside_open(connection: Connection, tenant: str) -> int:
    """How many wait for somebody."""
    where = (SET_ASIDE.c.tenant == tenant, SET_ASIDE.c.status == "open")
    return int(connection.execute(select(func.count()).select_from(SET_ASIDE).where(*where)).scalar_one())


def set_aside_open_by_reason(connection: Connection, tenant: str) -> dict[str, int]:
    """They, by reason."""
    where = (SET_ASIDE.c.tenant == tenant, SET_ASIDE.c.status == "open")
    wanted = select(SET_ASIDE.c.reason, func.count()).where(*where).group_by(SET_ASIDE.c.reason)
    return {reason: int(count) for reason, count in connection.execute(wanted.order_by(SET_ASIDE.c.reason))}


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
