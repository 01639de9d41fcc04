"""Recall over one borrower's memory, and search across a tenant's borrowers (API 7).

Recall, by steps that bear their numbers below:

    1 gather  the notes of one borrower: what the state holds now, and from the journal what the record keeps no prose of
    2 rank    these notes, and no others
    3 check   the owner of each hit once more before it leaves

Search goes through the same steps for several borrowers: those whose notes have a word of the query by the index, and those whom
the index does not know as they are now. It raises `Unavailable` rather than pass over somebody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection

from service import records
from service.errors import Unavailable
from service.policy import Policy
from service.reading import Known
from service.recall import index
from service.recall.notes import Note, Purpose, conversations_as_notes, facts_as_notes, untold
from service.recall.ranking import FullText, Ranking

if TYPE_CHECKING:
    from service.wiring import Parts

CANDIDATES: Final = 200
"""Borrowers looked at by a search: those with most of its words."""
BEHIND_LIMIT: Final = 500
"""Borrowers whom the index does not know as they are; with more of them a search would be slow, and says so."""

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

    def look(conn: Connection) -> tuple[Bodies, list[Note]]:
        older = records.bodies(conn, tenant, untold(one.state, policy, now))
        return older, decisions_as_notes(conn, tenant, one.borrower_id, purpose)

    older, decided = await parts.database.read(look)
    notes = notes_of(one, older, purpose, decided)
    return checked(ranked(query, notes, limit), frozenset({one.borrower_id}))


async def search(
    parts: Parts, tenant: str, query: str, purpose: Purpose, limit: int, now: datetime
) -> list[dict[str, Any]]:
    """Notes of any borrower of this tenant, each with `borrower_id`. Raises as `recall`, and `Unavailable`."""
    policy = parts.policies.for_tenant(tenant)
    words = index.hashes((term for options in index.forms(query) for term in options), tenant, parts.keyed_hash)
    if not words:
        return []

    def look(conn: Connection) -> tuple[list[records.Stored], list[Note]]:
        behind = index.behind(conn, BEHIND_LIMIT + 1, tenant)
        if len(behind) > BEHIND_LIMIT:
            raise Unavailable("the index is being made; search again in a while")
        named = index.having(conn, tenant, words, CANDIDATES)
        wanted = sorted({*named, *(id_ for _, id_ in behind), *deciders(conn, tenant)})
        stored = list(records.stored_each(conn, tenant, wanted).values())
        decided = [note for id_ in wanted for note in decisions_as_notes(conn, tenant, id_, purpose)]
        return [one for one in stored if one.redirected_to is None], decided

    stored, decided = await parts.database.read_slow(look)
    by_owner: dict[str, list[Note]] = {}
    for note in decided:
        by_owner.setdefault(note.owner, []).append(note)
    notes: list[Note] = []
    for row in sorted(stored, key=lambda row: row.borrower_id):
        known = parts.reader.known(tenant, row, policy, now)
        notes += notes_of(known, {}, purpose, by_owner.get(known.borrower_id, []))
    hits = ranked(query, notes, limit)
    shown = checked(hits, frozenset(row.borrower_id for row in stored))
    return [{"borrower_id": note.owner, **item} for (note, _), item in zip(hits, shown, strict=True)]


def deciders(connection: Connection, tenant: str) -> list[str]:
    """Whose decisions a search looks at beside those whom the index names."""
    return []


def decisions_as_notes(connection: Connection, tenant: str, borrower_id: str, purpose: Purpose) -> list[Note]:
    """Decisions of one borrower for this purpose."""
    return []
