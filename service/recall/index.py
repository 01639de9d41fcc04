"""Which borrowers' notes have which words: an index to search across borrowers with (`service.keeper` says when it is kept).

It holds keyed hashes of words, never a word. It is a pre-filter only: whoever it names is read from the record, owner and all,
and whoever it does not know at the record's present version is read as well (`behind`). So it may be late, and is never wrong,
and a hash may be short. What is kept of a borrower is also kept as a whole, so that only what changed is written.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, case, func, insert, or_, select, true, tuple_

from service.prepared import Prepared
from service.recall.ranking import query_terms, terms_of
from service.recall.words import keys_of
from service.tables import Borrower, RecallIndexed, RecallWord, table_of
from statemachine.state import BorrowerState

BORROWER, INDEXED, WORD = table_of(Borrower), table_of(RecallIndexed), table_of(RecallWord)

WORDS_OF_ONE: Final = 4_000
"""Different words that one borrower is found by; the rest of a longer memory is still recalled."""
HASH_BYTES: Final = 6
"""Of one word: one in a hundred million million is another's, and then a borrower is looked at in vain."""
HASHES_CACHED: Final = 32_768

Hash = Callable[[str, str], str]
"""`(text, purpose) -> hex` under the service's own key."""


def hashes(terms: Iterable[str], tenant: str, keyed_hash: Hash) -> list[bytes]:
    return sorted({_hash(term, tenant, keyed_hash) for term in terms})


@lru_cache(maxsize=HASHES_CACHED)
def _hash(term: str, tenant: str, keyed_hash: Hash) -> bytes:
    """Most words are said by many."""
    return bytes.fromhex(keyed_hash(f"{tenant}\x1f{term}", "recall")[: 2 * HASH_BYTES])


def terms_in(state: BorrowerState) -> set[str]:
    """The terms under which this borrower's notes are found, whatever the purpose.

    They are taken from texts as they were said, also from those that pass decisions on: what may be shown is judged when it is
    shown, by rules and versions that may have changed since.
    """
    found: set[str] = set()
    for text in _texts(state):
        found.update(term for keys in keys_of(text) for term in terms_of(keys))
        if len(found) > WORDS_OF_ONE:
            break
    return found


def _texts(state: BorrowerState) -> Iterator[str]:
    for fact in state.facts:
        yield fact.text
        yield fact.kind.replace("_", " ")
    for c in reversed(state.conversations):
        yield c.prose or c.claiming or ""


def forms(query: str) -> list[list[str]]:
    """For each word of a query, the terms that find it."""
    return [list(options) for options in query_terms(query)]


# -- rows ---------------------------------------------------------------------------------------------------------------

_OF: Final = (BORROWER.c.tenant == bindparam("of_tenant"), BORROWER.c.borrower_id == bindparam("of_borrower"))
_ITS: Final = and_(INDEXED.c.tenant == BORROWER.c.tenant, INDEXED.c.borrower_id == BORROWER.c.borrower_id)
_STANDS: Final = Prepared(
    select(BORROWER.c.version, INDEXED.c.words).select_from(BORROWER.outerjoin(INDEXED, _ITS)).where(*_OF)
)
_KEPT: Final = Prepared(
    select(INDEXED.c.words).where(
        INDEXED.c.tenant == bindparam("of_tenant"), INDEXED.c.borrower_id == bindparam("of_borrower")
    )
)
_DROP_WORD: Final = Prepared(
    WORD.delete().where(
        WORD.c.tenant == bindparam("of_tenant"),
        WORD.c.word == bindparam("of_word"),
        WORD.c.borrower_id == bindparam("of_borrower"),
    )
)
_DROP_INDEXED: Final = Prepared(
    INDEXED.delete().where(
        INDEXED.c.tenant == bindparam("of_tenant"), INDEXED.c.borrower_id == bindparam("of_borrower")
    )
)
_ADD_WORD: Final = Prepared(insert(WORD))
_ADD_INDEXED: Final = Prepared(insert(INDEXED))

Words = tuple[str, str, int, Sequence[bytes]]
"""Tenant, borrower, version of the record, and the hashes of its words."""


def keep(connection: Connection, tenant: str, borrower_id: str, version: int, words: Sequence[bytes]) -> bool:
    """As `keep_each`; False when the record has moved on."""
    return keep_each(connection, [(tenant, borrower_id, version, words)]) == 1


def keep_each(connection: Connection, each: Sequence[Words]) -> int:
    """Replaces the words that were kept of each borrower, and answers of how many. A borrower whose record has moved on since is
    left alone. Only the difference is written: most changes of a record bring few new words, or none."""
    gone: list[dict[str, Any]] = []
    added: list[dict[str, Any]] = []
    keys: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for tenant, borrower_id, version, words in each:
        of = {"of_tenant": tenant, "of_borrower": borrower_id}
        stands = _STANDS.row(connection, **of)
        if stands is None or stands[0] != version:
            continue
        wanted, kept = set(words), _apart(stands[1])
        gone += [{**of, "of_word": word} for word in kept - wanted]
        own = {"tenant": tenant, "borrower_id": borrower_id}
        added += [{**own, "word": word} for word in wanted - kept]
        keys.append(of)
        rows.append({**own, "version": version, "words": b"".join(sorted(wanted))})
    # In the order of the table: what several have is written to one place, and nobody waits for each other in a circle.
    _DROP_WORD.run_each(connection, sorted(gone, key=itemgetter("of_tenant", "of_word", "of_borrower")))
    _ADD_WORD.run_each(connection, sorted(added, key=itemgetter("tenant", "word", "borrower_id")))
    _DROP_INDEXED.run_each(connection, keys)
    _ADD_INDEXED.run_each(connection, rows)
    return len(rows)


def _apart(words: bytes | None) -> set[bytes]:
    words = words or b""
    return {words[place : place + HASH_BYTES] for place in range(0, len(words), HASH_BYTES)}


def drop(connection: Connection, tenant: str, borrower_id: str) -> None:
    """This borrower is behind until kept anew."""
    of = {"of_tenant": tenant, "of_borrower": borrower_id}
    if (row := _KEPT.row(connection, **of)) is not None:
        _DROP_WORD.run_each(connection, [{**of, "of_word": word} for word in sorted(_apart(row[0]))])
        _DROP_INDEXED.run_each(connection, [of])


def drop_all(connection: Connection) -> None:
    """For a rebuild, after which records may be others at the same version."""
    connection.execute(WORD.delete())
    connection.execute(INDEXED.delete())


Weights = Mapping[bytes, float]
"""How much each word of a query tells: the rarer it is among the borrowers of a tenant, the more."""


def counts(connection: Connection, tenant: str, words: Sequence[bytes]) -> tuple[int, Counter[bytes]]:
    """How many borrowers are indexed, and how many of them have each of these words."""
    of_all = select(func.count()).select_from(INDEXED).where(INDEXED.c.tenant == tenant)
    every = int(connection.execute(of_all).scalar_one())
    counted = select(WORD.c.word, func.count()).where(WORD.c.tenant == tenant, WORD.c.word.in_(words))
    return every, Counter({bytes(word): n for word, n in connection.execute(counted.group_by(WORD.c.word))})


def weights(every: int, having_it: Mapping[bytes, int]) -> Weights:
    return {word: math.log1p(every / max(count, 1)) for word, count in having_it.items()}


def having(connection: Connection, tenant: str, words: Weights, most: int) -> list[str]:
    """The borrowers whose notes have any of these words: first those whose words together weigh most, then by id."""
    if not words:
        return []
    told = func.sum(case(dict(words), value=WORD.c.word, else_=0.0))
    found = (
        select(WORD.c.borrower_id)
        .where(WORD.c.tenant == tenant, WORD.c.word.in_(list(words)))
        .group_by(WORD.c.borrower_id)
        .order_by(told.desc(), WORD.c.borrower_id)
        .limit(most)
    )
    return list(connection.execute(found).scalars())


def behind(
    connection: Connection, most: int, tenant: str | None = None, after: tuple[str, str] | None = None
) -> list[tuple[str, str]]:
    """Tenant and id of borrowers whose record is not indexed as it is now, in their order; `after`: those behind this one."""
    found = (
        select(BORROWER.c.tenant, BORROWER.c.borrower_id)
        .select_from(BORROWER.outerjoin(INDEXED, _ITS))
        .where(
            BORROWER.c.tenant == tenant if tenant is not None else true(),
            tuple_(BORROWER.c.tenant, BORROWER.c.borrower_id) > tuple_(*after) if after is not None else true(),
            BORROWER.c.redirected_to.is_(None),
            or_(INDEXED.c.version.is_(None), INDEXED.c.version != BORROWER.c.version),
        )
        .order_by(BORROWER.c.tenant, BORROWER.c.borrower_id)
        .limit(most)
    )
    return [(of, id_) for of, id_ in connection.execute(found)]


# -- as a kind of copy ---------------------------------------------------------------------------------------------------------


class IndexedWords:
    """The index as a kind of copy that `service.keeper` keeps. It may take a tenth of the process's time and no more: only
    searches miss it, and a search reads the records of those who are `behind`. A borrower whom the keeper drops is behind too."""

    name = "words"
    moment_seconds = 0.1
    rest = 9.0
    waiting_limit = 2_000
    at_once = 20

    def __init__(self, keyed_hash: Hash) -> None:
        self._keyed_hash = keyed_hash

    def of(self, tenant: str, version: int, state: BorrowerState) -> Words:
        return tenant, state.borrower_id, version, hashes(terms_in(state), tenant, self._keyed_hash)

    def keep(self, connection: Connection, copies: Sequence[Words]) -> None:
        keep_each(connection, copies)
