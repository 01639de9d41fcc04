"""A forget request: what it means in words, its entry for each id that evidence of the borrower lies under, and its receipt.

    1 find     the fact, or the words of the term; what was forgotten before and never said since is answered as that
    2 note     the request, with its audit line, before anything goes: a crash leaves it noted, and another request does it
    3 append   a tombstone for the borrower, and for each provisional id that turned out to be this one
    4 wait     until they are merged, and read the receipt that the writers filled in

The words themselves are in no entry, no row and no line: keyed hashes of them are.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets as random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, func, insert, select

from service import audit, records
from service.errors import FieldError, InvalidBody, NotYetMerged, UnknownFact
from service.forget.applying import ASKED, FORGOTTEN, ID_PREFIX
from service.forget.words import words_of_fact
from service.intake import envelope
from service.records import JOURNAL
from service.records.journal import sources_of
from statemachine.elements import FactSaid
from statemachine.forgetting import term_of
from statemachine.record import Record, Tombstone
from statemachine.stamps import Entry, MemoryForgotten, Stamps, UnreadableEntry

if TYPE_CHECKING:
    from service.wiring import Parts

WAIT_SECONDS: Final = 5.0
EVERYTHING: Final = "everything"
TARGET_DIGITS: Final = 24


@dataclass(frozen=True, slots=True)
class Wanted:
    """Exactly one of the three. `reason`: a person's, of which a hash is kept."""

    reason: str
    fact_id: str | None = None
    term: str | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    """What is known before anything is forgotten."""

    ids: Sequence[str]
    said: Sequence[FactSaid]
    before: dict[str, Any] | None
    """The receipt of the same request, made earlier."""
    newest: datetime | None
    zone: str


class _Kept(NotYetMerged):
    sentence = "the request is kept and not merged yet: what it forgets goes when it is; asked again, it answers with the receipt"


async def forget(parts: Parts, tenant: str, by: str, borrower_id: str, wanted: Wanted) -> dict[str, Any]:
    """The receipt (API 10). Raises `UnknownFact`, `InvalidBody`, `Unavailable`, `DatabaseUnavailable`, `NotYetMerged`."""
    hasher, now = _hasher(parts), parts.clock()
    target = _target(parts, wanted)
    found = await parts.database.read_slow(lambda conn: _look(conn, tenant, borrower_id, wanted, target))  # 1
    if wanted.fact_id is not None and not found.said:
        if found.before is None:
            raise UnknownFact
        return _answer(found.before, again=True)
    words: tuple[tuple[int, str], ...] = ()
    if wanted.term is not None:
        length, digest = term_of(wanted.term, hasher)
        if not length:  # nothing of it is left once it is folded: it could never be found
            raise InvalidBody([FieldError("term", "missing")])
        words = ((length, digest),)
    elif wanted.fact_id is not None:
        words = words_of_fact(found.said, hasher)
    receipt_id = f"f_{random.token_urlsafe(9)}"
    up_to = max(now, found.newest or now)  # clocks run ahead a little, and what was said by then is meant
    tombstone = Tombstone(
        at=up_to, by=by, event_id=f"{ID_PREFIX}{receipt_id}", everything=wanted.everything, words=words
    )
    row = {
        "tenant": tenant,
        "receipt_id": receipt_id,
        "borrower_id": borrower_id,
        "target": target,
        "event_id": tombstone.event_id,
        "at": now,
        "by": by,
        "reason": parts.keyed_hash(wanted.reason, "audit")[:TARGET_DIGITS],
        "status": ASKED,
        "facts": 0,
        "texts_cleaned": 0,
        "texts_removed": 0,
        "kept": "[]",
        "log_clear_after": now + timedelta(days=parts.policies.log_retention_days)
        if parts.settings.uses_kafka
        else now,
    }
    line = audit.Line(
        tenant, now, by, "forget", borrower_id, f"receipt={receipt_id} of={_kind(wanted)} reason={row['reason']}"
    )

    def note(conn: Connection) -> None:
        conn.execute(insert(FORGOTTEN).values(row))
        audit.add(conn, line)

    await parts.database.write(note)  # 2
    pending = [(tenant, _entry(parts, id_, borrower_id, tombstone, now, found.zone)) for id_ in found.ids]
    waits = await parts.append(pending)  # 3
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(asyncio.gather(*waits)), WAIT_SECONDS)  # 4
    receipt = await parts.database.read(lambda conn: _receipt(conn, tenant, receipt_id))
    if receipt is None or receipt["status"] == ASKED:
        raise _Kept
    await parts.database.scrub()
    return _answer(receipt)


def _hasher(parts: Parts) -> Any:
    return lambda words: parts.keyed_hash(words, "words")


def _target(parts: Parts, wanted: Wanted) -> str:
    if wanted.everything:
        return EVERYTHING
    if wanted.fact_id is not None:
        return "fact:" + parts.keyed_hash(wanted.fact_id, "forgotten")[:TARGET_DIGITS]
    length, digest = term_of(wanted.term or "", _hasher(parts))
    return f"term:{length}:{digest[:TARGET_DIGITS]}"


def _kind(wanted: Wanted) -> str:
    return EVERYTHING if wanted.everything else "fact" if wanted.fact_id is not None else "term"


def _look(conn: Connection, tenant: str, borrower_id: str, wanted: Wanted, target: str) -> _Found:
    ids = [id_ for id_, _ in sources_of(conn, tenant, borrower_id)]
    said = _said(conn, tenant, ids, wanted.fact_id) if wanted.fact_id is not None else []
    its = (FORGOTTEN.c.tenant == tenant, FORGOTTEN.c.borrower_id == borrower_id, FORGOTTEN.c.target == target)
    first = select(FORGOTTEN).where(*its, FORGOTTEN.c.status != ASKED).order_by(FORGOTTEN.c.at, FORGOTTEN.c.receipt_id)
    before = conn.execute(first.limit(1)).mappings().first()
    newest = select(func.max(JOURNAL.c.effective_at)).where(JOURNAL.c.tenant == tenant, JOURNAL.c.borrower_id.in_(ids))
    zone = records.time_zone_of(conn, tenant, borrower_id) or "UTC"
    return _Found(ids, said, dict(before) if before is not None else None, conn.execute(newest).scalar(), zone)


def _said(conn: Connection, tenant: str, ids: Sequence[str], fact_id: str) -> list[FactSaid]:
    """Every wording of this fact that is stored: in the records, else in the journal, which keeps what records let go."""
    found: dict[str, FactSaid] = {}
    for stored in records.stored_each(conn, tenant, ids).values():
        record = Record.from_bytes(stored.record)
        stated = [e.fact for e in record.all_of("facts")]
        inferred = [fact for e in record.all_of("conversations") for fact in e.facts]
        found.update({f.model_dump_json(): f for f in (*stated, *inferred) if f.fact_id == fact_id})
    columns = (JOURNAL.c.type, JOURNAL.c.body, JOURNAL.c.stamps)
    its = (JOURNAL.c.tenant == tenant, JOURNAL.c.borrower_id.in_(ids), JOURNAL.c.type.in_(("summary", "fact.stated")))
    for type_, body, stamps in conn.execute(select(*columns).where(*its)):
        if fact_id.encode() not in stamps:
            continue
        with contextlib.suppress(UnreadableEntry):  # it is told as damaged wherever it is read
            told = envelope.stored(type_, body, stamps).stamps
            own = [told.fact] if told.fact is not None else []
            found.update({f.model_dump_json(): f for f in (*own, *told.facts) if f.fact_id == fact_id})
    return list(found.values())


def _entry(parts: Parts, id_: str, borrower_id: str, tombstone: Tombstone, now: datetime, zone: str) -> Entry:
    event_id = tombstone.event_id if id_ == borrower_id else f"{tombstone.event_id}:{id_}"
    body = MemoryForgotten(event_id=event_id, tombstone=tombstone, type="memory.forgotten")
    stamps = Stamps(borrower_id=id_, digest="", effective_at=now, received_at=now, time_zone=zone)
    return Entry(body, stamps.changed(digest=envelope.entry_digest(body, stamps, parts.keyed_hash)))


def _receipt(conn: Connection, tenant: str, receipt_id: str) -> dict[str, Any] | None:
    its = (FORGOTTEN.c.tenant == tenant, FORGOTTEN.c.receipt_id == receipt_id)
    row = conn.execute(select(FORGOTTEN).where(*its)).mappings().first()
    return dict(row) if row is not None else None


def _answer(row: dict[str, Any], *, again: bool = False) -> dict[str, Any]:
    """As API 10 has it. `again`: of a request that was done before, under the receipt of then; nothing was removed now."""
    removed = {name: 0 if again else row[name] for name in ("facts", "texts_cleaned", "texts_removed")}
    return {
        "status": "already_forgotten" if again else row["status"],
        "receipt_id": row["receipt_id"],
        "at": row["at"],
        "removed": removed,
        "kept": json.loads(row["kept"]),
        "log_clear_after": row["log_clear_after"],
    }
