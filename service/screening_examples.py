"""Real sentences that screening judged wrongly, copied by a person for whoever writes the rules (DESIGN 11 "Screening").

A sentence is copied out of a conversation's report by its place in it, with the rule that withholds it now, if any. It is sealed,
and goes when its borrower is forgotten. What the rules are is not known here; they are data in `statemachine.screening`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from sqlalchemy import Connection, insert, select

from channels.said import numbers
from service import audit, records
from service.errors import NotFound
from service.secrets import CannotOpen
from service.tables import ScreeningExample, table_of
from statemachine.screening import screened
from statemachine.screening.sentences import sentences_of

if TYPE_CHECKING:
    from service.wiring import Parts

EXAMPLE = table_of(ScreeningExample)
LISTED: Final = 200

Should = Literal["pass", "fail"]


async def copy(parts: Parts, tenant: str, by: str, event_id: str, sentence: int, should: Should) -> dict[str, Any]:
    """Copies the sentence of this number, from 0, out of a merged summary's prose. Raises `NotFound`, `DatabaseUnavailable`."""

    def look(conn: Connection) -> tuple[str, str] | None:
        first = records.merged_entry(conn, tenant, event_id)
        body = records.bodies(conn, tenant, [event_id]).get(event_id)
        return (first.borrower_id, body.get("summary") or "") if first is not None and body is not None else None

    found = await parts.database.read(look)
    told = [one.text for one in sentences_of(found[1])] if found is not None else []
    if found is None or not 0 <= sentence < len(told):
        raise NotFound
    text, now = told[sentence].strip(), parts.clock()
    broken = screened(text, amounts_allowed=frozenset(), numbers=numbers).withheld
    row = {
        "tenant": tenant,
        "borrower_id": found[0],
        "event_id": event_id,
        "should": should,
        "rule": broken[0][1] if broken else None,
        "at": now,
        "by": by,
        "sentence": parts.secrets.seal(text.encode()),
    }
    line = audit.Line(
        tenant, now, by, "screening example", found[0], f"event={event_id} sentence={sentence} should={should}"
    )

    def keep(conn: Connection) -> int:
        audit.add(conn, line)
        return int(conn.execute(insert(EXAMPLE).values(row).returning(EXAMPLE.c.id)).scalar_one())

    number = await parts.database.write(keep)
    return _shown({**row, "id": number}, text)


async def listed(parts: Parts, tenant: str) -> list[dict[str, Any]]:
    """Newest first, each with its sentence; at most `LISTED`. One under a key that is gone has none."""
    wanted = select(EXAMPLE).where(EXAMPLE.c.tenant == tenant).order_by(EXAMPLE.c.id.desc()).limit(LISTED)
    rows = await parts.database.read(lambda conn: [dict(row) for row in conn.execute(wanted).mappings()])
    return [_shown(row, _opened(parts, row["sentence"])) for row in rows]


def _opened(parts: Parts, sealed: bytes) -> str | None:
    try:
        return parts.secrets.open(sealed).decode()
    except CannotOpen:
        return None


def _shown(row: dict[str, Any], sentence: str | None) -> dict[str, Any]:
    fields = ("id", "borrower_id", "event_id", "should", "rule", "at", "by")
    return {**{name: row[name] for name in fields}, "sentence": sentence}
