"""Lists across a tenant's borrowers: where each of them stands with each loan (API 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    literal_column,
    not_,
    or_,
    select,
    tuple_,
)

from service.records.pages import Page, instant_in, page_of, place_in
from service.tables import (
    Journey,
    table_of,
)

JOURNEY = table_of(Journey)


def borrowers(
    connection: Connection, tenant: str, filters: Mapping[str, Any], now: datetime, limit: int, cursor: str | None
) -> Page:
    """One item for each loan of each borrower, by borrower and loan (API 7). A filter that is None does not filter.

    `stage rung reminded last_channel`: equal; `promise_due_from promise_due_to`: dates, included; `overdue`: at `now`; `hold`:
    `true`, `false` or a kind. Raises `BadCursor`.
    """
    where: list[ColumnElement[bool]] = [JOURNEY.c.tenant == tenant]
    where += [
        JOURNEY.c[name] == filters[name]
        for name in ("stage", "rung", "reminded", "last_channel")
        if filters.get(name) is not None
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
        held = and_(
            JOURNEY.c.hold_kinds != literal_column("''"),
            or_(JOURNEY.c.hold_until.is_(None), JOURNEY.c.hold_until > now),
        )
        where.append(not_(held) if hold == "false" else held)
        if hold not in ("true", "false"):
            where.append(JOURNEY.c.hold_kinds.contains(f"|{hold}|", autoescape=True))
    place = place_in(cursor, str, str) if cursor is not None else None
    items: list[dict[str, Any]] = []
    for item in _journeys(connection, where, now, limit + 1, place):
        if hold in (None, "true", "false") or any(h["kind"] == hold for h in item["holds"]):
            items.append(item)
            if len(items) > limit:
                break
    return page_of(items, limit, lambda item: (item["borrower_id"], item["loan_id"] or ""))


def _journeys(
    connection: Connection, where: list[ColumnElement[bool]], now: datetime, size: int, place: tuple[Any, ...] | None
) -> Iterator[dict[str, Any]]:
    """All of them, fetched so many at a time: which of several holds has ended, only its row can tell."""
    order = (JOURNEY.c.borrower_id, JOURNEY.c.loan_id)
    while True:
        rest = [tuple_(*order) > tuple_(*place)] if place is not None else []
        rows = connection.execute(select(JOURNEY).where(*where, *rest).order_by(*order).limit(size)).mappings().all()
        yield from (journey_item(row, now) for row in rows)
        if len(rows) < size:
            return
        place = (rows[-1]["borrower_id"], rows[-1]["loan_id"])


def journey_item(row: Any, now: datetime) -> dict[str, Any]:
    """A row as lists show it, without the holds that have ended."""
    shown = ("borrower_id", "loan_id", "cycle_id", "attempt", "stage", "rung", "amount", "currency", "promise_due_date")
    holds = [h for h in msgspec.json.decode(row["holds"]) if h["until"] is None or instant_in(h["until"]) > now]
    return {
        **{name: row[name] for name in shown},
        "loan_id": row["loan_id"] or None,
        "flags": {name: row[name] for name in FLAGS},
        "holds": holds,
        "outstanding": row["outstanding"],
        "last_contact_at": row["last_contact_at"],
    }


FLAGS: Final = ("reminded", "payment_link_shared", "payment_confirmed")
