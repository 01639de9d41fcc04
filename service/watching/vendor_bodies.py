"""Bodies of one hook as they came, without a word of them: when, whether they were read, and of whom they told (DESIGN 16).

A body is listed while it is kept. Its items are known by the first body that told them, so one that told nothing new has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, exists, literal_column, select, tuple_

from service.records.pages import Page, instant_in, page_of, place_in
from service.tables import HookBody, HookItem, table_of

_BODY: Final = table_of(HookBody)
_ITEM: Final = table_of(HookItem)


def _told(*of: ColumnElement[bool]) -> ColumnElement[bool]:
    first = (_ITEM.c.tenant == _BODY.c.tenant, _ITEM.c.body_id == _BODY.c.id)
    return exists(select(literal_column("1")).where(*first, *of))


SHOWN: Final[Mapping[str, ColumnElement[bool] | None]] = {
    "all": None,
    "told": _told(),
    "repeats": and_(_BODY.c.is_done.is_(True), ~_told()),
    "unread": _BODY.c.is_done.is_(False),
    "waiting": _told(_ITEM.c.state == "waiting"),
}
"""Which bodies: all, those that told something new, nothing new, are not read yet, told of a message that waits for its event."""


def unread_page(connection: Connection, tenant: str, limit: int, cursor: str | None) -> Page:
    """Bodies of all hooks and of any day that are not read to their end, the oldest first: `id received_at tries channel vendor`.
    Raises `BadCursor`."""
    where = [_BODY.c.tenant == tenant, literal_column("NOT hook_body.is_done")]
    if cursor is not None:
        where.append(_BODY.c.id > place_in(cursor, int)[0])
    shown = [_BODY.c[name] for name in ("id", "received_at", "tries", "channel", "vendor")]
    wanted = select(*shown).where(*where).order_by(_BODY.c.id).limit(limit + 1)
    items: list[dict[str, Any]] = [dict(row) for row in connection.execute(wanted).mappings()]
    return page_of(items, limit, lambda body: (body["id"],))


def bodies_page(
    connection: Connection, tenant: str, hook_id: str, which: str, since: datetime, limit: int, cursor: str | None
) -> Page:
    """Newest first: `id received_at is_done tries told`, of each thing told `state borrower_id`. Raises `BadCursor`."""
    order = (_BODY.c.received_at, _BODY.c.id)
    where = [_BODY.c.tenant == tenant, _BODY.c.received_at >= since, _BODY.c.hook_id == hook_id]
    if (only := SHOWN[which]) is not None:
        where.append(only)
    if cursor is not None:
        at, id_ = place_in(cursor, str, int)
        where.append(tuple_(*order) < tuple_(instant_in(at), id_))
    wanted = select(*order, _BODY.c.is_done, _BODY.c.tries).where(*where).order_by(*(c.desc() for c in order))
    found: list[dict[str, Any]] = [dict(row) for row in connection.execute(wanted.limit(limit + 1)).mappings()]
    items: dict[int, list[dict[str, Any]]] = defaultdict(list)
    its = (_ITEM.c.tenant == tenant, _ITEM.c.body_id.in_([body["id"] for body in found]))
    told = select(_ITEM.c.body_id, _ITEM.c.state, _ITEM.c.borrower_id).where(*its).order_by(_ITEM.c.key)
    for body_id, state, borrower_id in connection.execute(told):
        items[body_id].append({"state": state, "borrower_id": borrower_id})
    rows = [body | {"told": items[body["id"]]} for body in found]
    return page_of(rows, limit, lambda body: (body["received_at"].isoformat(), body["id"]))
