"""Wants and proposals as rows. Functions of a connection; what an answer says, this file must not know.

A want is known by its `wanted`, which every change of the record makes anew. Whoever has taken one up stores its answer
only while the row still has it, and while the record still has the version that was read: so an answer that is out of date
is never stored, whatever number of proposers there are.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, Table, and_, bindparam, exists, insert, or_, select, tuple_, update

from service import records
from service.prepared import Prepared
from service.tables import Proposal, ProposalWanted, table_of

PROPOSAL, WANTED = table_of(Proposal), table_of(ProposalWanted)

LEASE_SECONDS: Final = 20
BESIDE_SECONDS: Final = 0.7
"""So long a question has been on its way when a reader who waits has it asked once more."""
PURGED_AT_ONCE: Final = 500
WANTED_AT_ONCE: Final = 500


class Key(NamedTuple):
    """What a proposal is of. `loan_id` is blank without a loan."""

    tenant: str
    borrower_id: str
    channel: str
    loan_id: str


class Stored(msgspec.Struct, frozen=True):
    """A proposal as a read finds it."""

    record_version: int
    flow_version: str
    prompt_hash: str
    proposed: str | None
    failure: str | None
    asked_at: datetime
    latency_ms: int
    expires_at: datetime

    @property
    def answered_at(self) -> datetime:
        return self.asked_at + timedelta(milliseconds=self.latency_ms)


class Claimed(NamedTuple):
    """A want that a proposer has taken up."""

    key: Key
    wanted: str
    tries: int


class Answered(msgspec.Struct, frozen=True):
    """What came of asking."""

    record_version: int
    flow_version: str
    prompt_hash: str
    model: str
    proposed: str | None
    failure: str | None
    why: str | None
    asked_at: datetime
    latency_ms: int
    raw: bytes | None
    expires_at: datetime


def _of_key(table: Table) -> Any:
    return and_(*(table.c[name] == bindparam(f"of_{name}") for name in Key._fields))


def _named(key: Key) -> dict[str, str]:
    return {f"of_{name}": value for name, value in key._asdict().items()}


# -- reading ------------------------------------------------------------------------------------------------------------

_SEEN: Final = [PROPOSAL.c[name] for name in Stored.__struct_fields__]
_FIND: Final = Prepared(select(*_SEEN).where(_of_key(PROPOSAL)))


def find(connection: Connection, key: Key) -> Stored | None:
    """What is stored, current or not."""
    row = _FIND.row(connection, **_named(key))
    return Stored(*row) if row is not None else None


def find_each(connection: Connection, keys: Sequence[Key]) -> dict[Key, Stored]:
    names = [PROPOSAL.c[name] for name in Key._fields]
    rows = connection.execute(select(*names, *_SEEN).where(tuple_(*names).in_(keys)))
    return {Key(*row[: len(names)]): Stored(*row[len(names) :]) for row in rows}


# -- wanting ------------------------------------------------------------------------------------------------------------

_DROP: Final = Prepared(PROPOSAL.delete().where(_of_key(PROPOSAL)))
_DROP_ALL, _DROP_WANTS = (
    Prepared(
        table.delete().where(
            table.c.tenant == bindparam("of_tenant"), table.c.borrower_id == bindparam("of_borrower_id")
        )
    )
    for table in (PROPOSAL, WANTED)
)
_ADD_WANT: Final = Prepared(insert(WANTED))


def want_changed(connection: Connection, keys: Iterable[Key], now: datetime, settle: timedelta) -> None:
    """The records of these have changed: what was proposed of them is removed, and other proposals are wanted."""
    ordered = sorted(set(keys))
    whose = sorted({(key.tenant, key.borrower_id) for key in ordered})
    named = [{"of_tenant": tenant, "of_borrower_id": borrower_id} for tenant, borrower_id in whose]
    _DROP_ALL.run_each(connection, named)
    _DROP_WANTS.run_each(connection, named)
    _ADD_WANT.run_each(connection, [_want(key, now, now + settle) for key in ordered])


def want(connection: Connection, keys: Iterable[Key], now: datetime) -> None:
    """Readers would have them now. What is in hand stays in hand; when that has lasted for a while, it is taken up once more
    beside it, once: whichever answers first counts."""
    ordered = sorted(set(keys))
    names = [WANTED.c[name] for name in Key._fields]
    for start in range(0, len(ordered), WANTED_AT_ONCE):
        some = ordered[start : start + WANTED_AT_ONCE]
        its = tuple_(*names).in_(some)
        rows = connection.execute(
            select(*names, WANTED.c.claimed_until, WANTED.c.tries).where(its).with_for_update()
        ).all()
        there = {Key(*row[: len(names)]): (row[-2], row[-1]) for row in rows}
        _ADD_WANT.run_each(connection, [_want(key, now, now) for key in some if key not in there])
        beside = now + timedelta(seconds=LEASE_SECONDS - BESIDE_SECONDS)
        for key, (until, tries) in there.items():
            is_free = until is None or until <= now
            if is_free or (tries == 0 and until <= beside):
                due = {"wanted_at": now, "try_at": now, "tries": 0 if is_free else 1, "claimed_until": None}
                connection.execute(update(WANTED).where(_is(key)).values(due))


def _want(key: Key, now: datetime, try_at: datetime) -> dict[str, Any]:
    own = {"wanted": uuid.uuid4().hex, "wanted_at": now, "try_at": try_at, "tries": 0, "claimed_until": None}
    return key._asdict() | own


# -- asking -------------------------------------------------------------------------------------------------------------


def _due(now: datetime) -> Any:
    free = or_(WANTED.c.claimed_until.is_(None), WANTED.c.claimed_until <= now)
    return and_(WANTED.c.try_at <= now, free)


def is_any_due(connection: Connection, now: datetime) -> bool:
    return bool(connection.execute(select(exists().where(_due(now)))).scalar())


def claim(connection: Connection, now: datetime, most: int) -> list[Claimed]:
    """Takes up what is wanted and nobody's, the newest first, under a lease."""
    names = [WANTED.c[name] for name in Key._fields]
    until = now + timedelta(seconds=LEASE_SECONDS)
    due = select(*names, WANTED.c.wanted, WANTED.c.tries).where(_due(now)).order_by(WANTED.c.wanted_at.desc())
    rows = connection.execute(due.limit(most).with_for_update(skip_locked=True)).all()
    taken = [Claimed(Key(*row[: len(names)]), row[-2], row[-1]) for row in rows]
    for one in taken:
        connection.execute(update(WANTED).where(_mine(one)).values(claimed_until=until))
    return taken


def superseded(connection: Connection, taken: Sequence[Claimed]) -> list[Claimed]:
    """Those of these whose question is out of date."""
    if not taken:
        return []
    found = connection.execute(select(WANTED.c.wanted).where(WANTED.c.wanted.in_([one.wanted for one in taken])))
    still = set(found.scalars())
    return [one for one in taken if one.wanted not in still]


def finish(connection: Connection, mine: Claimed) -> None:
    """Nothing is to be asked."""
    connection.execute(WANTED.delete().where(_mine(mine)))


def keep(connection: Connection, mine: Claimed, answered: Answered, again_at: datetime | None) -> bool:
    """Stores what came of it, if it is still of the record as it is. `again_at`: when a model that failed is asked again."""
    borrower = records.BORROWER
    its = (borrower.c.tenant == mine.key.tenant, borrower.c.borrower_id == mine.key.borrower_id)
    version = connection.execute(select(borrower.c.version).where(*its)).scalar()
    wanted = connection.execute(select(WANTED.c.wanted).where(_mine(mine)).with_for_update()).scalar()
    if version != answered.record_version or wanted is None:
        return False
    _DROP.run(connection, **_named(mine.key))
    connection.execute(insert(PROPOSAL).values(mine.key._asdict() | msgspec.structs.asdict(answered)))
    if again_at is None:
        finish(connection, mine)
    else:
        give_back(connection, mine, again_at, mine.tries + 1)
    return True


def give_back(connection: Connection, mine: Claimed, try_at: datetime, tries: int) -> None:
    """It is nobody's, and to be tried then."""
    later = {"try_at": try_at, "tries": tries, "claimed_until": None}
    connection.execute(update(WANTED).where(_mine(mine)).values(later))


def _mine(one: Claimed) -> Any:
    return and_(_is(one.key), WANTED.c.wanted == one.wanted)


def _is(key: Key) -> Any:
    return and_(*(WANTED.c[name] == value for name, value in key._asdict().items()))


# -- what goes ----------------------------------------------------------------------------------------------------------


def forget(connection: Connection, tenant: str, borrower_id: str) -> int:
    """Removes every proposal of a borrower and what is wanted of them; how many proposals that were."""
    whose = {"of_tenant": tenant, "of_borrower_id": borrower_id}
    _DROP_WANTS.run(connection, **whose)
    return _DROP_ALL.run(connection, **whose)


def drop_all(connection: Connection) -> None:
    """For a rebuild, after which they may be of other records."""
    connection.execute(PROPOSAL.delete())


def purge(connection: Connection, now: datetime, wanted_since: datetime) -> int:
    """Removes what has expired, and wants that are older; how many rows, at most `PURGED_AT_ONCE` of each."""
    gone = 0
    for table, old, order in (
        (PROPOSAL, PROPOSAL.c.expires_at <= now, PROPOSAL.c.expires_at),
        (WANTED, WANTED.c.wanted_at < wanted_since, WANTED.c.wanted_at),
    ):
        names = [table.c[name] for name in Key._fields]
        keys = connection.execute(select(*names).where(old).order_by(order).limit(PURGED_AT_ONCE)).all()
        if keys:
            doomed = tuple_(*names).in_([tuple(key) for key in keys])
            gone += connection.execute(table.delete().where(doomed, old)).rowcount
    return gone
