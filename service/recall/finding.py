"""Recall over one borrower's memory, and search across a tenant's borrowers (API 7).

Recall, by steps that bear their numbers below:

    1 gather  the notes of one borrower: what the state holds now, and from the journal what the record keeps no prose of
    2 rank    these notes, and no others
    3 check   the owner of each hit once more before it leaves

Search goes through the same steps for several borrowers: those whose notes have a word of the query by the index, and of those
whom the index does not know as they are now, whose records are read for it (`across`), those who have one. Nobody is passed over
in silence: it raises `Unavailable` when more are to be read than it has the time for, and names those whose records are damaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, select

from channels.said import numbers
from service import records
from service.decisions import claims, current, rows, telling
from service.errors import Unavailable
from service.forget.entries import FORGOTTEN
from service.policy import Policy
from service.reading import Known
from service.recall import across, index
from service.recall.notes import Note, Purpose, conversations_as_notes, facts_as_notes, untold
from service.recall.ranking import FullText, Ranking
from statemachine.screening import screened
from statemachine.volatility import Volatility

if TYPE_CHECKING:
    from service.wiring import Parts

DECISIONS: Final = 200
DECISIONS_OF_ALL: Final = 1_000
"""The newest; an older one is found in its borrower's memory."""

MAY_DECIDE: Final = frozenset({"offer"})
"""Rules of screening that a decision may break: an offer is live, but a decision is told while its version is the newest
known, and never without it."""
_NO_AMOUNTS: Final = frozenset[Decimal]()

RANKING: Final[Ranking] = FullText()

Bodies = Mapping[str, Mapping[str, Any]]


class AnothersNote(AssertionError):
    """A hit of somebody else got as far as the answer: a fault of ours, and never told."""


def notes_of(one: Known, older: Bodies, purpose: Purpose, decided: Sequence[Note]) -> list[Note]:
    """1: newest first, so that of hits that are alike the newer comes first."""
    found = [*facts_as_notes(one.state, purpose), *conversations_as_notes(one.state, older), *decided]
    return sorted(found, key=lambda note: (note.at, note.kind, note.id), reverse=True)


def ranked(query: str, notes: Sequence[Note], limit: int) -> list[tuple[Note, float]]:
    """2."""
    hits = RANKING.ranked(query, [(note.text, note.label) for note in notes])
    return [(notes[hit.place], hit.score) for hit in hits[:limit]]


def checked(hits: Sequence[tuple[Note, float]], owners: frozenset[str]) -> list[dict[str, Any]]:
    """3: as API 7 has them. Raises `AnothersNote`."""
    if any(note.owner not in owners for note, _ in hits):
        raise AnothersNote("a hit is not of a borrower who was asked for")
    return [note.shown(score) for note, score in hits]


async def recall(
    parts: Parts, tenant: str, one: Known, query: str, purpose: Purpose, limit: int, policy: Policy, now: datetime
) -> list[dict[str, Any]]:
    """The notes of this borrower that answer the query. Raises `DatabaseUnavailable`, and as `Reader.known`."""

    def look(conn: Connection) -> tuple[Known, Bodies, list[Note]]:
        told = replace(one, state=telling.rechecked(conn, tenant, one.state).state)
        older = records.bodies(conn, tenant, untold(told.state, policy, now))
        decided = decided_of_one(conn, tenant, one.borrower_id, purpose, one.state.time_zone)
        return told, _passing_nothing_on(conn, tenant, older), decided

    told, older, decided = await parts.database.read(look)
    notes = notes_of(told, older, purpose, decided)
    return checked(ranked(query, notes, limit), frozenset({one.borrower_id}))


@dataclass(frozen=True, slots=True)
class Searched:
    """`items` as API 7 has them, and the borrowers who could not be looked at because their records cannot be read."""

    items: list[dict[str, Any]]
    unreadable: tuple[str, ...] = ()


async def search(parts: Parts, tenant: str, query: str, purpose: Purpose, limit: int, now: datetime) -> Searched:
    """Notes of any borrower of this tenant, each with `borrower_id`. Raises as `recall`, and `Unavailable`.

    What had to be read because the index did not know it is indexed, so that the next search has less to read.
    """
    policy = parts.policies.for_tenant(tenant)
    wanted = index.hashes((term for options in index.forms(query) for term in options), tenant, parts.keyed_hash)
    if not wanted:
        return Searched([])

    def look(conn: Connection) -> tuple[across.Found, list[tuple[Note, float]], frozenset[str]]:
        found = across.having(conn, tenant, wanted, policy, now, parts.keyed_hash)
        told = [replace(one, state=telling.rechecked(conn, tenant, one.state).state) for one in found.known]
        decided = decided_of_all(conn, tenant, purpose, policy.time_zone) if not found.is_cut_short else []
        notes = [
            note for one in sorted(told, key=lambda one: one.borrower_id) for note in notes_of(one, {}, purpose, ())
        ]
        owners = frozenset((*(one.borrower_id for one in told), *(note.owner for note in decided)))
        return found, ranked(query, [*notes, *decided], limit), owners

    found, hits, owners = await parts.database.read_slow(look)
    await across.keep(parts.database, found.read)
    if found.is_cut_short:
        raise Unavailable("many borrowers were told of something at once and are being indexed; search again")
    shown = checked(hits, owners)
    return Searched(
        [{"borrower_id": note.owner, **item} for (note, _), item in zip(hits, shown, strict=True)], found.unreadable
    )


def _passing_nothing_on(connection: Connection, tenant: str, older: Bodies) -> Bodies:
    """Summaries that pass decisions on are told while all of those are current (DESIGN 12)."""
    passing = {id_ for id_, body in older.items() if "claims" in (body.get("extra") or {})}
    trusted = claims.trusted(connection, tenant, passing) if passing else frozenset()
    return {id_: body for id_, body in older.items() if id_ not in passing or id_ in trusted}


def decided_of_one(
    connection: Connection, tenant: str, borrower_id: str, purpose: Purpose, time_zone: str
) -> list[Note]:
    """A borrower's decisions for this purpose: those that are current now, or all of them with what they are now."""
    if purpose == "current":
        found = current.current_of(connection, tenant, borrower_id)
    else:
        found = rows.of_borrower(connection, tenant, borrower_id, active_only=False, limit=DECISIONS)
    return _decided(connection, tenant, found, purpose, time_zone)


def decided_of_all(connection: Connection, tenant: str, purpose: Purpose, time_zone: str) -> list[Note]:
    """The newest decisions of all borrowers, for this purpose."""
    columns = [rows.DECISION.c[name] for name in rows.Stored.__dataclass_fields__]
    newest = select(*columns).where(rows.DECISION.c.tenant == tenant)
    newest = newest.order_by(rows.DECISION.c.decided_at.desc(), rows.DECISION.c.decision_id.desc()).limit(
        DECISIONS_OF_ALL
    )
    found = [rows.Stored(*row) for row in connection.execute(newest)]
    if purpose == "current":
        found = current.usable(connection, tenant, found)
    return _decided(connection, tenant, found, purpose, time_zone)


def _decided(
    connection: Connection, tenant: str, found: Sequence[rows.Stored], purpose: Purpose, time_zone: str
) -> list[Note]:
    now_they_are = current.statuses(connection, tenant, [one.decision_id for one in found])
    notes = []
    for one in found:
        status = now_they_are.get(one.decision_id, one.status)
        broken = {rule for _, rule in screened(one.conclusion, amounts_allowed=_NO_AMOUNTS, numbers=numbers).withheld}
        is_there = broken <= MAY_DECIDE and one.conclusion != FORGOTTEN
        if is_there and (purpose == "history" or status == "active"):
            label = f"{one.kind} {one.entity}".replace("_", " ")
            notes.append(
                Note(
                    one.borrower_id,
                    "decision",
                    one.decision_id,
                    current.worded(one, time_zone),
                    one.decided_at,
                    None,
                    Volatility.EVENT,
                    status,
                    label,
                )
            )
    return notes
