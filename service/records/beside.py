"""What is kept beside a record for lists and look-ups: computed from its state, rebuilt, never merged back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    and_,
    bindparam,
    insert,
    select,
    update,
)

from service.prepared import OfList, Prepared
from service.tables import (
    AskedCallback,
    IdentifierLink,
    Journey,
    Loan,
    Started,
    table_of,
)
from statemachine.conclusions import Conversation
from statemachine.elements import CycleBegun
from statemachine.person import CALLBACK_WITHOUT_TIME_DAYS
from statemachine.record import Record
from statemachine.state import BorrowerState

JOURNEY = table_of(Journey)
IDENTIFIER = table_of(IdentifierLink)
LOAN = table_of(Loan)
STARTED = table_of(Started)
CALLBACK = table_of(AskedCallback)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Derived:
    """What is kept beside a record for lists and look-ups; rows without tenant and borrower."""

    journeys: Mapping[str, Row] = field(default_factory=dict)
    """By loan; blank for evidence that names none."""
    identifiers: frozenset[tuple[str, str]] = frozenset()
    loans: frozenset[str] = frozenset()
    started: frozenset[tuple[str, str, datetime]] = frozenset()
    callbacks: frozenset[tuple[datetime | None, datetime, str, str]] = frozenset()
    """At most one: when, until when it is listed, and by which channel and conversation."""


def derived(record: Record, state: BorrowerState, loans_before: Iterable[str]) -> Derived:
    """The rows of a record as it is concluded now. A provisional one that is somebody's has none.

    A loan stays linked when the evidence that opened it had to be let go, but not when that turned out to be another's.
    """
    if state.redirected_to is not None:
        return Derived()
    opened = frozenset(c.loan_id for c in state.cycles if c.opened_at is not None and c.loan_id is not None)
    known = {e.loan_id for e in record.all_of("boundaries") if isinstance(e, CycleBegun)}
    last = next((c for c in reversed(state.conversations) if c.contact), None)
    return Derived(
        journeys={c.loan_id or "": _journey(state, c, last) for c in state.current_cycles()},
        identifiers=frozenset((i.kind, i.value) for i in state.identifiers),
        loans=opened | (frozenset(loans_before) - known),
        started=frozenset((s.channel, s.conversation_id, s.at) for s in state.started),
        callbacks=frozenset(_callbacks(state)),
    )


def _callbacks(state: BorrowerState) -> Iterator[tuple[datetime | None, datetime, str, str]]:
    asked = state.callback
    if asked is None:
        return
    its = (asked.channel, asked.conversation_id)
    said_at = next(c.at for c in reversed(state.conversations) if (c.channel, c.conversation_id) == its)
    yield asked.at, asked.at or said_at + timedelta(days=CALLBACK_WITHOUT_TIME_DAYS), *its


def _journey(state: BorrowerState, cycle: Any, last: Conversation | None) -> Row:
    holds = state.holds_on(cycle.loan_id)
    ends = [h.until for h in holds]
    promise = cycle.promise
    return {
        "loan_id": cycle.loan_id or "",
        "cycle_id": cycle.cycle_id,
        "attempt": cycle.attempt,
        "stage": cycle.stage,
        "rung": cycle.rung,
        "amount": _decimal_text(promise.amount) if promise else None,
        "currency": (promise.currency if promise else None) or cycle.currency,
        "promise_due_date": promise.due_date if promise else None,
        "overdue_at": cycle.promise_overdue_at,
        "reminded": cycle.reminded.value,
        "payment_link_shared": cycle.payment_link_shared.value,
        "payment_confirmed": cycle.payment_confirmed.value,
        "outstanding": _decimal_text(cycle.outstanding),
        "holds": msgspec.json.encode(holds).decode(),
        "hold_kinds": "".join(f"|{kind}|" for kind in sorted({h.kind for h in holds})),
        "hold_until": max(e for e in ends if e is not None) if ends and None not in ends else None,
        "last_contact_at": last.at if last else None,
        "last_channel": last.channel if last else None,
    }


def _decimal_text(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")


def keyed(table: FromClause, *names: str) -> ColumnElement[bool]:
    """Of one tenant and borrower, and of the row with these further keys, each bound as `of_<name>`."""
    return and_(*(table.c[name] == bindparam(f"of_{name}") for name in ("tenant", "borrower_id", *names)))


_JOURNEY_FIELDS: Final = [c.name for c in JOURNEY.columns if c.name not in ("tenant", "borrower_id", "loan_id")]
_ADD_JOURNEY: Final = Prepared(insert(JOURNEY))
_SET_JOURNEY: Final = Prepared(
    update(JOURNEY).where(keyed(JOURNEY, "loan_id")).values({name: bindparam(name) for name in _JOURNEY_FIELDS})
)
_DROP_JOURNEY: Final = Prepared(JOURNEY.delete().where(keyed(JOURNEY, "loan_id")))
_ADD_IDENTIFIER: Final = Prepared(insert(IDENTIFIER))
_DROP_IDENTIFIER: Final = Prepared(IDENTIFIER.delete().where(keyed(IDENTIFIER, "kind", "value")))
_ADD_LOAN: Final = Prepared(insert(LOAN))
_DROP_LOAN: Final = Prepared(LOAN.delete().where(keyed(LOAN, "loan_id")))
_ADD_STARTED: Final = Prepared(insert(STARTED))
_DROP_STARTED: Final = Prepared(STARTED.delete().where(keyed(STARTED, "channel", "conversation_id")))
_ADD_CALLBACK: Final = Prepared(insert(CALLBACK))
_DROP_CALLBACK: Final = Prepared(CALLBACK.delete().where(keyed(CALLBACK)))
_BESIDE: Final = {
    table: tuple(c for c in table.columns if c.name not in ("tenant", "borrower_id"))
    for table in (JOURNEY, IDENTIFIER, LOAN, STARTED, CALLBACK)
}
_ALL_OF: Final = {
    table: OfList(
        select(table.c.borrower_id, *columns).where(table.c.tenant == bindparam("of_tenant")), table.c.borrower_id
    )
    for table, columns in _BESIDE.items()
}


def stored_derived(connection: Connection, tenant: str, borrower_id: str) -> Derived:
    """What is kept beside a record now."""
    return stored_derived_each(connection, tenant, [borrower_id])[borrower_id]


def stored_derived_each(connection: Connection, tenant: str, borrower_ids: Sequence[str]) -> dict[str, Derived]:
    """What is kept beside each of these records now."""
    rows: dict[str, dict[FromClause, list[Sequence[Any]]]] = {id_: {t: [] for t in _BESIDE} for id_ in borrower_ids}
    for table, every in _ALL_OF.items():
        for borrower_id, *row in every.rows(connection, borrower_ids, of_tenant=tenant):
            rows[borrower_id][table].append(row)
    names = [column.name for column in _BESIDE[JOURNEY]]
    return {
        borrower_id: Derived(
            journeys={row[0]: dict(zip(names, row, strict=True)) for row in own[JOURNEY]},
            identifiers=frozenset((kind, value) for kind, value in own[IDENTIFIER]),
            loans=frozenset(row[0] for row in own[LOAN]),
            started=frozenset((channel, conversation, at) for channel, conversation, at in own[STARTED]),
            callbacks=frozenset((at, ends_at, channel, its) for at, ends_at, channel, its in own[CALLBACK]),
        )
        for borrower_id, own in rows.items()
    }


def save_derived(connection: Connection, tenant: str, borrower_id: str, before: Derived, after: Derived) -> None:
    """Makes what is kept beside a record what it is now; only what differs is written."""
    save_derived_each(connection, [(tenant, borrower_id, before, after)])


def save_derived_each(connection: Connection, each: Iterable[tuple[str, str, Derived, Derived]]) -> None:
    """Every statement once for all of them."""
    rows: dict[Prepared, list[Row]] = {statement: [] for statement in _DERIVED_STATEMENTS}
    for tenant, borrower_id, before, after in each:
        own = {"tenant": tenant, "borrower_id": borrower_id}
        of = {"of_tenant": tenant, "of_borrower_id": borrower_id}
        for loan in before.journeys.keys() - after.journeys.keys():
            rows[_DROP_JOURNEY].append({**of, "of_loan_id": loan})
        for loan, row in after.journeys.items():
            if loan not in before.journeys:
                rows[_ADD_JOURNEY].append({**own, **row})
            elif row != before.journeys[loan]:
                rows[_SET_JOURNEY].append({**of, "of_loan_id": loan, **row})
        for kind, value in before.identifiers - after.identifiers:
            rows[_DROP_IDENTIFIER].append({**of, "of_kind": kind, "of_value": value})
        for kind, value in after.identifiers - before.identifiers:
            rows[_ADD_IDENTIFIER].append({**own, "kind": kind, "value": value})
        for loan in before.loans - after.loans:
            rows[_DROP_LOAN].append({**of, "of_loan_id": loan})
        for loan in after.loans - before.loans:
            rows[_ADD_LOAN].append({**own, "loan_id": loan})
        for channel, conversation, _ in before.started - after.started:
            rows[_DROP_STARTED].append({**of, "of_channel": channel, "of_conversation_id": conversation})
        for channel, conversation, at in after.started - before.started:
            begun = {"channel": channel, "conversation_id": conversation, "started_at": at}
            rows[_ADD_STARTED].append({**own, **begun})
        for _ in before.callbacks - after.callbacks:
            rows[_DROP_CALLBACK].append(of)
        for asked_for, ends_at, channel, conversation in after.callbacks - before.callbacks:
            asked = {"at": asked_for, "ends_at": ends_at, "channel": channel, "conversation_id": conversation}
            rows[_ADD_CALLBACK].append({**own, **asked})
    for statement, its in rows.items():
        statement.run_each(connection, its)


_DERIVED_STATEMENTS: Final = (
    _DROP_JOURNEY,
    _ADD_JOURNEY,
    _SET_JOURNEY,
    _DROP_IDENTIFIER,
    _ADD_IDENTIFIER,
    _DROP_LOAN,
    _ADD_LOAN,
    _DROP_STARTED,
    _ADD_STARTED,
    _DROP_CALLBACK,
    _ADD_CALLBACK,
)
"""In this order: a conversation that began anew is dropped before it is added."""
