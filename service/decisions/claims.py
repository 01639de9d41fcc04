"""Claims: decisions that a summary passes on, and whether what it says may still be told (DESIGN 12).

A channel names what it was told and passes on in its summary's `extra`:

    "extra": {"claims": [{"decision_id": "D-1", "entity": "LN-1", "source": "offers", "version": "v12"}]}

One that names a decision of that borrower with its source and version can be traced; any other is listed and never trusted.
Prose that carries claims is shown while all of them are current, and withheld from the moment that one is not. One told while
nobody knew whose number it was is its borrower's from the moment that the number is linked. What the prose says is not known
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select, tuple_, update

from service.decisions import current, rows
from service.decisions.bodies import WORD_CHARACTERS
from service.records.pages import Page, instant_in, page_of, place_in
from service.tables import Claim, table_of
from statemachine.entries import Summary

CLAIM = table_of(Claim)
CLAIMS: Final = 20
"""Of one summary; what is beyond is one claim that can not be traced."""
COPIES_TOLD: Final = 20
NAMES: Final = ("decision_id", "entity", "source", "version")


@dataclass(frozen=True, slots=True)
class Carried:
    """A summary that is being merged, and what its `extra` has under `claims`."""

    tenant: str
    borrower_id: str
    event_id: str
    channel: str
    conversation_id: str
    at: datetime
    claims: tuple[Mapping[str, str | None], ...]


def carried(tenant: str, borrower_id: str, at: datetime, body: Summary) -> Carried | None:
    """None for a summary without claims. The same one said again is one."""
    told = body.extra.get("claims") if body.extra else None
    if told is None or told == []:
        return None
    listed: Sequence[Any] = told if isinstance(told, list) else [told]
    claims = list({tuple(claim.values()): claim for claim in map(_claim, listed)}.values())
    if len(claims) > CLAIMS:
        del claims[CLAIMS:]
        claims.append(_claim(None))
    return Carried(tenant, borrower_id, body.id, body.channel, body.conversation_id, at, tuple(claims))


def _claim(told: Any) -> Mapping[str, str | None]:
    """As far as it names anything."""
    named = told if isinstance(told, dict) else {}
    return {name: value if _is_word(value := named.get(name)) else None for name in NAMES}


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= WORD_CHARACTERS and "\0" not in value


def note(connection: Connection, summaries: Iterable[Carried], now: datetime) -> None:
    """Keeps what they carry, in the transaction that merges them. A copy of what is no longer active is never told, and so
    corrected from the start."""
    for one in summaries:
        ids = [claim["decision_id"] for claim in one.claims if claim["decision_id"] is not None]
        known = rows.decisions(connection, one.tenant, ids)
        told = [
            {
                "tenant": one.tenant,
                "event_id": one.event_id,
                "number": number,
                "borrower_id": one.borrower_id,
                "channel": one.channel,
                "conversation_id": one.conversation_id,
                "at": one.at,
                "is_traceable": _is_traced(claim, of := known.get(claim["decision_id"] or ""), one.borrower_id),
                "corrected_at": None if of is None or of.status == "active" else now,
                **claim,
            }
            for number, claim in enumerate(one.claims)
        ]
        connection.execute(insert(CLAIM), told)


def _is_traced(claim: Mapping[str, str | None], stored: rows.Stored | None, borrower_id: str) -> bool:
    if stored is None or stored.borrower_id != borrower_id:
        return False
    its = (claim["source"], claim["version"], claim["entity"] or "")
    return its == (stored.source, stored.source_version, stored.entity)


def trace(connection: Connection, stored: rows.Stored) -> None:
    """Of a decision that has just been taken: claims that named it before it was known."""
    its = {"source": stored.source, "version": stored.source_version, "borrower_id": stored.borrower_id}
    where = [
        CLAIM.c.tenant == stored.tenant,
        CLAIM.c.decision_id == stored.decision_id,
        CLAIM.c.is_traceable.is_(False),
    ]
    where += [CLAIM.c[name] == value for name, value in its.items()]
    where.append(func.coalesce(CLAIM.c.entity, "") == stored.entity)
    connection.execute(update(CLAIM).where(*where).values(is_traceable=True))


def follow(connection: Connection, tenant: str, provisional_id: str, borrower_id: str) -> None:
    """A provisional record turned out to be this borrower's (DESIGN 7): what it was told is traced among their decisions."""
    own = (CLAIM.c.tenant == tenant, CLAIM.c.borrower_id == provisional_id)
    if not connection.execute(update(CLAIM).where(*own).values(borrower_id=borrower_id)).rowcount:
        return
    decided = select(rows.DECISION.c.decision_id).where(
        rows.DECISION.c.tenant == CLAIM.c.tenant,
        rows.DECISION.c.decision_id == CLAIM.c.decision_id,
        rows.DECISION.c.borrower_id == CLAIM.c.borrower_id,
        rows.DECISION.c.source == CLAIM.c.source,
        rows.DECISION.c.source_version == CLAIM.c.version,
        rows.DECISION.c.entity == func.coalesce(CLAIM.c.entity, ""),
    )
    theirs = (CLAIM.c.tenant == tenant, CLAIM.c.borrower_id == borrower_id, CLAIM.c.is_traceable.is_(False))
    connection.execute(update(CLAIM).where(*theirs, decided.exists()).values(is_traceable=True))


def trusted(connection: Connection, tenant: str, event_ids: Iterable[str]) -> frozenset[str]:
    """Those of these summaries all of whose claims are current now. One without claims is none of them."""
    wanted = list(event_ids)
    names = ("event_id", "borrower_id", "decision_id", "is_traceable")
    carried_ = connection.execute(
        select(*(CLAIM.c[name] for name in names)).where(CLAIM.c.tenant == tenant, CLAIM.c.event_id.in_(wanted))
    ).all()
    known = rows.decisions(connection, tenant, {row.decision_id for row in carried_ if row.decision_id is not None})
    may_be_used = {one.decision_id for one in current.usable(connection, tenant, list(known.values()))}
    good = {row.event_id for row in carried_}
    bad = {row.event_id for row in carried_ if not row.is_traceable or row.decision_id not in may_be_used}
    return frozenset(good - bad)


def copies(connection: Connection, tenant: str, decision_ids: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
    """Of each of these decisions, the summaries that pass it on, the newest so many, and since when each is withheld."""
    shown = ("channel", "conversation_id", "event_id", "at", "corrected_at")
    where = (CLAIM.c.tenant == tenant, CLAIM.c.is_traceable.is_(True), CLAIM.c.decision_id.in_(decision_ids))
    place = func.row_number().over(partition_by=CLAIM.c.decision_id, order_by=(CLAIM.c.at.desc(), CLAIM.c.event_id))
    told = (
        select(CLAIM.c.decision_id, *(CLAIM.c[name] for name in shown), place.label("place")).where(*where).subquery()
    )
    wanted = select(told).where(told.c.place <= COPIES_TOLD).order_by(told.c.decision_id, told.c.place)
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in connection.execute(wanted).mappings():
        found.setdefault(row["decision_id"], []).append({name: row[name] for name in shown})
    return found


def untraceable(connection: Connection, tenant: str, limit: int, cursor: str | None) -> Page:
    """Claims of a tenant that can not be traced, newest first. Raises `BadCursor`."""
    place = (CLAIM.c.at, CLAIM.c.event_id, CLAIM.c.number)
    where = [CLAIM.c.tenant == tenant, CLAIM.c.is_traceable.is_(False)]
    if cursor is not None:
        at, event_id, number = place_in(cursor, str, str, int)
        where.append(tuple_(*place) < tuple_(instant_in(at), event_id, number))
    wanted = select(CLAIM).where(*where).order_by(*(column.desc() for column in place)).limit(limit + 1)
    shown = ("borrower_id", "channel", "conversation_id", "event_id", "number", "at", *NAMES)
    items = [{name: row[name] for name in shown} for row in connection.execute(wanted).mappings()]
    return page_of(items, limit, lambda item: (item["at"].isoformat(), item["event_id"], item["number"]))
