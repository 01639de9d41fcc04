"""Who did what, and when: lines that are added and never changed, without a word of what was said (DESIGN 11, 17).

Functions of a connection, so that a line is in the same transaction as what it tells of, where that is one of ours.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, insert, select

from service.records.pages import Page, page_of, place_in
from service.tables import Audit, table_of

AUDIT: Final = table_of(Audit)
DETAIL_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Line:
    """One doing. `detail` holds codes and ids, and a reason only where a person gave one for the audit."""

    tenant: str
    at: datetime
    who: str
    """A key's id and the name that it bears."""
    action: str
    borrower_id: str | None = None
    detail: str = ""


def add(connection: Connection, line: Line) -> None:
    connection.execute(insert(AUDIT).values({**asdict(line), "detail": line.detail[:DETAIL_CHARACTERS]}))


def page(
    connection: Connection,
    tenant: str,
    borrower_id: str | None,
    limit: int,
    cursor: str | None,
    action: str | None = None,
) -> Page:
    """The lines of a tenant, of one borrower or of one action, newest first: `id at who action borrower_id detail`. Raises
    `BadCursor`."""
    where = [AUDIT.c.tenant == tenant]
    if action is not None:
        where.append(AUDIT.c.action == action)
    if borrower_id is not None:
        where.append(AUDIT.c.borrower_id == borrower_id)
    if cursor is not None:
        where.append(AUDIT.c.id < place_in(cursor, int)[0])
    shown = [column for column in AUDIT.columns if column.name != "tenant"]
    rows = connection.execute(select(*shown).where(*where).order_by(AUDIT.c.id.desc()).limit(limit + 1)).mappings()
    items: list[dict[str, Any]] = [dict(row) for row in rows]
    return page_of(items, limit, lambda item: (item["id"],))
