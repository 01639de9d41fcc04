"""What arrives after it was forgotten, at places that no writer sees: cleaned in the transaction that puts it there (DESIGN 11).

A line of an old chat, an entry that is set aside and an old decision may hold words that the borrower asked to forget before
they came; so may a hook's body, also one that is only told again. Where somebody of whom something was forgotten is concerned,
those places are gone through again at once. Who was never forgotten costs one look along an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, select

from service import records
from service.forget.covered import AGAIN, Forgetting, Place, chats, decisions, set_aside
from service.prepared import OfList
from service.records.journal import sources_of
from service.secrets import Secrets
from service.tables import Forgotten, table_of
from statemachine.record import Record

FORGOTTEN = table_of(Forgotten)
AT_ARRIVAL: Final[tuple[Place, ...]] = (chats, set_aside, decisions)

_ASKED: Final = OfList(
    select(FORGOTTEN.c.borrower_id).where(FORGOTTEN.c.tenant == bindparam("of_tenant")), FORGOTTEN.c.borrower_id
)


def cover(
    connection: Connection,
    tenant: str,
    borrower_ids: Iterable[str | None],
    secrets: Secrets,
    places: Sequence[Place] = AT_ARRIVAL,
) -> int:
    """Takes out what was forgotten of these borrowers before it came; how many texts. `borrower_ids`: provisional ones too."""
    owners = forgetful(connection, tenant, borrower_ids)
    return sum(clean(connection, tenant, owner, secrets, places) for owner in sorted(owners))


def forgetful(connection: Connection, tenant: str, borrower_ids: Iterable[str | None]) -> frozenset[str]:
    """Those of these borrowers who asked to forget something."""
    named = {id_ for id_ in borrower_ids if id_}
    whose = {records.resolve_id(connection, tenant, id_) for id_ in named} | named
    return (
        frozenset(row[0] for row in _ASKED.rows(connection, sorted(whose), of_tenant=tenant)) if whose else frozenset()
    )


def clean(connection: Connection, tenant: str, owner: str, secrets: Secrets, places: Sequence[Place] = AGAIN) -> int:
    """Goes through these places for all that was forgotten of a borrower, under each id that evidence lies under."""
    found = 0
    ids = sorted({owner, *(id_ for id_, _ in sources_of(connection, tenant, owner))})
    for id_, stored in records.stored_each(connection, tenant, ids).items():
        for tombstone in Record.from_bytes(stored.record).tombstones:
            if not tombstone.prose:
                forgetting = Forgetting(tenant, id_, tombstone, secrets, lambda text: secrets.keyed_hash(text, "words"))
                found += sum(place(connection, forgetting) for place in places)
    return found
