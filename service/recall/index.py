"""Which borrowers' notes have which words: an index to search across borrowers with, and who keeps it.

It holds keyed hashes of words, never a word. It is a pre-filter only: whoever it names is read from the record, owner and all,
and whoever it does not know at the record's present version is read as well (`behind`). So it may be late, and is never wrong.
It is kept a moment after a record is saved, many at once, and only while the record still has that version.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import structlog
from sqlalchemy import Connection, and_, bindparam, func, insert, or_, select, true

from service.database import DatabaseUnavailable, Store
from service.prepared import Prepared
from service.recall import notes
from service.recall.ranking import query_terms, terms_of
from service.recall.words import keys_of
from service.tables import Borrower, RecallIndexed, RecallWord, table_of
from statemachine.state import BorrowerState

if TYPE_CHECKING:
    from service.writer import Saved

BORROWER, INDEXED, WORD = table_of(Borrower), table_of(RecallIndexed), table_of(RecallWord)

KEEP_SECONDS: Final = 0.1
WAITING_LIMIT: Final = 5_000
"""Records; more than these are found behind, and caught up with."""
AT_ONCE: Final = 50
WORDS_OF_ONE: Final = 4_000
"""Different words that one borrower is found by; the rest of a longer memory is still recalled."""
HASH_DIGITS: Final = 20

log = structlog.get_logger("service.recall")

Hash = Callable[[str, str], str]
"""`(text, purpose) -> hex` under the service's own key."""


def hashes(terms: Iterable[str], tenant: str, keyed_hash: Hash) -> list[str]:
    return sorted({keyed_hash(f"{tenant}\x1f{term}", "recall")[:HASH_DIGITS] for term in terms})


def terms_in(state: BorrowerState) -> set[str]:
    """By what this borrower's notes are found, those of a history too."""
    found: set[str] = set()
    for note in (*notes.facts_as_notes(state, "history"), *notes.conversations_as_notes(state, {})):
        for text in (note.text, note.label):
            found.update(term for keys in keys_of(text) for term in terms_of(keys))
        if len(found) > WORDS_OF_ONE:
            break
    return found


def forms(query: str) -> list[list[str]]:
    """For each word of a query, the terms that find it."""
    return [list(options) for options in query_terms(query)]


# -- rows ---------------------------------------------------------------------------------------------------------------

_VERSION: Final = Prepared(
    select(BORROWER.c.version).where(
        BORROWER.c.tenant == bindparam("of_tenant"), BORROWER.c.borrower_id == bindparam("of_borrower")
    )
)
_WORDS: Final = Prepared(
    select(WORD.c.word).where(WORD.c.tenant == bindparam("of_tenant"), WORD.c.borrower_id == bindparam("of_borrower"))
)
_DROP_WORD: Final = Prepared(
    WORD.delete().where(
        WORD.c.tenant == bindparam("of_tenant"),
        WORD.c.borrower_id == bindparam("of_borrower"),
        WORD.c.word == bindparam("of_word"),
    )
)
_DROP_WORDS: Final = Prepared(
    WORD.delete().where(WORD.c.tenant == bindparam("of_tenant"), WORD.c.borrower_id == bindparam("of_borrower"))
)
_DROP_INDEXED: Final = Prepared(
    INDEXED.delete().where(
        INDEXED.c.tenant == bindparam("of_tenant"), INDEXED.c.borrower_id == bindparam("of_borrower")
    )
)
_ADD_WORD: Final = Prepared(insert(WORD))
_ADD_INDEXED: Final = Prepared(insert(INDEXED))


def keep(connection: Connection, tenant: str, borrower_id: str, version: int, words: Sequence[str]) -> bool:
    """In the place of what was kept; False when the record has moved on. Most changes of a record bring few words or none."""
    of = {"of_tenant": tenant, "of_borrower": borrower_id}
    row = _VERSION.row(connection, **of)
    if row is None or row[0] != version:
        return False
    wanted, kept = set(words), {word for (word,) in _WORDS.rows(connection, **of)}
    own = {"tenant": tenant, "borrower_id": borrower_id}
    if gone := kept - wanted:
        _DROP_WORD.run_each(connection, [{**of, "of_word": word} for word in sorted(gone)])
    if added := wanted - kept:
        _ADD_WORD.run_each(connection, [{**own, "word": word} for word in sorted(added)])
    _DROP_INDEXED.run_each(connection, [of])
    _ADD_INDEXED.run_each(connection, [{**own, "version": version}])
    return True


def drop(connection: Connection, tenant: str, borrower_id: str) -> None:
    """This borrower is behind until kept anew."""
    own = {"of_tenant": tenant, "of_borrower": borrower_id}
    _DROP_WORDS.run_each(connection, [own])
    _DROP_INDEXED.run_each(connection, [own])


def drop_all(connection: Connection) -> None:
    """For a rebuild, after which records may be others at the same version."""
    connection.execute(WORD.delete())
    connection.execute(INDEXED.delete())


def having(connection: Connection, tenant: str, words: Sequence[str], most: int) -> list[str]:
    """Whose notes have these words: the most of them first, then by id."""
    count = func.count()
    found = (
        select(WORD.c.borrower_id)
        .where(WORD.c.tenant == tenant, WORD.c.word.in_(words))
        .group_by(WORD.c.borrower_id)
        .order_by(count.desc(), WORD.c.borrower_id)
        .limit(most)
    )
    return list(connection.execute(found).scalars())


def behind(connection: Connection, most: int, tenant: str | None = None) -> list[tuple[str, str]]:
    """Tenant and id of borrowers whose record is not indexed as it is now."""
    its = and_(
        INDEXED.c.tenant == BORROWER.c.tenant,
        INDEXED.c.borrower_id == BORROWER.c.borrower_id,
    )
    found = (
        select(BORROWER.c.tenant, BORROWER.c.borrower_id)
        .select_from(BORROWER.outerjoin(INDEXED, its))
        .where(
            BORROWER.c.tenant == tenant if tenant is not None else true(),
            BORROWER.c.redirected_to.is_(None),
            or_(INDEXED.c.version.is_(None), INDEXED.c.version != BORROWER.c.version),
        )
        .order_by(BORROWER.c.tenant, BORROWER.c.borrower_id)
        .limit(most)
    )
    return [(of, id_) for of, id_ in connection.execute(found)]


# -- keeping it -----------------------------------------------------------------------------------------------------------


class IndexKeeper:
    """Give `saved` to the writer, and `flush` before the store closes."""

    def __init__(self, store: Store, keyed_hash: Hash) -> None:
        self._store = store
        self._keyed_hash = keyed_hash
        self._waiting: dict[tuple[str, str], Saved] = {}
        self._task: asyncio.Task[None] | None = None
        self._keeping = asyncio.Lock()

    def saved(self, saved: Sequence[Saved]) -> None:
        for one in saved:
            self._waiting.pop((one.tenant, one.borrower_id), None)
            if one.state.redirected_to is None:
                self._waiting[one.tenant, one.borrower_id] = one
        while len(self._waiting) > WAITING_LIMIT:
            del self._waiting[next(iter(self._waiting))]
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._soon())

    async def _soon(self) -> None:
        while self._waiting:
            await asyncio.sleep(KEEP_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Keeps what waits. What the database cannot take now stays behind, and is caught up with."""
        async with self._keeping:
            waiting, self._waiting = list(self._waiting.values()), {}
            for start in range(0, len(waiting), AT_ONCE):
                rows = []
                for one in waiting[start : start + AT_ONCE]:
                    words = hashes(terms_in(one.state), one.tenant, self._keyed_hash)
                    rows.append((one.tenant, one.borrower_id, one.version, words))
                    await asyncio.sleep(0)

                def keep_all(connection: Connection, rows: Sequence[tuple[str, str, int, list[str]]] = rows) -> None:
                    for row in rows:
                        keep(connection, *row)

                with contextlib.suppress(DatabaseUnavailable):
                    await self._store.write(keep_all)
