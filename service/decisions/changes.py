"""What one transaction does to decisions: one is taken, a version is reported, decisions go stale, one is replaced (DESIGN 12).

Each change is conditional on the decision, the version that was expected and the status; zero rows are classified, never
assumed. That a decision went stale, its correction and the entry of the log that carries it are in or out together, so a crash
leaves all of it or nothing. Rules are asked (`statemachine.decisions`), statements are `rows`.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

import structlog
from sqlalchemy import Connection

from service.decisions import claims, rows
from service.decisions.bodies import DecisionTaken
from service.decisions.rows import Stored
from service.intake import envelope
from service.intake.envelope import internal_id
from service.intake.log import Pending, Position
from service.tables import Proposal, table_of
from statemachine.decisions import (
    SOURCE_MOVED,
    VERSION_WAS_OLD,
    Seen,
    correction_key,
    judged,
    newest,
    supersedes,
    takes_over,
)
from statemachine.stamps import DecisionChanged, Entry, Stamps

STALE_AT_ONCE: Final = 200
"""Decisions in one transaction; of more, the next takes the rest."""

PROPOSAL = table_of(Proposal)
Became: TypeAlias = Literal["active", "stale", "superseded"]
Miss: TypeAlias = Literal["not_found", "version_conflict", "already_corrected", "newer_decision"]

log = structlog.get_logger("service.decisions")


class Appending(Protocol):
    """Where entries of our own go, as part of a transaction."""

    def append_within(self, connection: Connection, items: Sequence[Pending]) -> list[Position]: ...


@dataclass(slots=True)
class Acting:
    """One transaction: for whom, by whom, when; and what it has sent, which is to be told once it is committed."""

    tenant: str
    by: str
    now: datetime
    zone: str
    log: Appending
    keyed_hash: Callable[[str, str], str]
    positions: list[Position] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    """Ids of the entries that were sent."""
    stale: list[str] = field(default_factory=list)
    """Decisions that it made stale."""
    missed: list[Miss] = field(default_factory=list)

    def begin(self) -> None:
        """A transaction that got in another's way is run again from its beginning."""
        for told in (self.positions, self.events, self.stale, self.missed):
            told.clear()


# -- taken -------------------------------------------------------------------------------------------------------------


def take(connection: Connection, acting: Acting, body: DecisionTaken, body_hash: str) -> tuple[Stored, bool]:
    """The decision as it stands, and whether it is new; whoever asks compares the hash of one that was there."""
    there = rows.decision(connection, acting.tenant, body.decision_id, lock=True)
    if there is not None:
        return there, False
    known = newest(rows.seen(connection, acting.tenant, body.source, body.entity or "", lock=True).values())
    stored = _as_told(acting, body, body_hash, known)
    rows.add(connection, stored)
    claims.trace(connection, stored)
    event_id = internal_id("decided", stored.decision_id)
    became: Became = "active" if stored.status == "active" else "stale"
    _send(connection, acting, stored, event_id, became, observed=stored.observed_version)
    for other in rows.related(connection, stored):
        if supersedes(stored.rule, other.rule, known):
            _replace(connection, acting, other, stored)
    if stored.status == "active":  # what was old when it was told stays stale: nothing was decided after it
        for other in rows.related(connection, stored):
            known = newest(rows.seen(connection, acting.tenant, other.source, other.entity).values())
            if supersedes(other.rule, stored.rule, known):
                _replace(connection, acting, stored, other)
                break
    return rows.decision(connection, acting.tenant, body.decision_id) or stored, True


def _as_told(acting: Acting, body: DecisionTaken, body_hash: str, known: Seen | None) -> Stored:
    """Active, or stale at once on a version that is not the newest known."""
    usable = judged("active", body.source_version, known).usable
    replaces = json.dumps(body.replaces[0] if len(body.replaces) == 1 else body.replaces) if body.replaces else ""
    return Stored(
        tenant=acting.tenant,
        decision_id=body.decision_id,
        borrower_id=body.borrower_id,
        kind=body.kind,
        conclusion=body.conclusion,
        source=body.source,
        entity=body.entity or "",
        source_version=body.source_version,
        decided_at=body.decided_at,
        agent=body.agent,
        execution_id=body.execution_id,
        replaces=replaces,
        body_hash=body_hash,
        recorded_at=acting.now,
        recorded_by=acting.by,
        status="active" if usable else "stale",
        reason=None if usable else VERSION_WAS_OLD,
        stale_at=None if usable else acting.now,
        observed_version=None if usable or known is None else known.version,
        noticed_by=None if usable else acting.by,
        superseded_by=None,
        superseded_at=None,
    )


def _replace(connection: Connection, acting: Acting, old: Stored, new: Stored) -> None:
    """Superseded by `new`, by way of stale: nothing goes from active to superseded."""
    if old.status == "active" and not go_stale(connection, acting, old, new.source_version):
        return
    if not rows.make_superseded(connection, old, by=new.decision_id, now=acting.now):
        _missed(connection, acting, old)
        return
    event_id = internal_id("superseded", old.decision_id)
    _send(connection, acting, old, event_id, "superseded", superseded_by=new.decision_id)
    log.info("decision.superseded", tenant=acting.tenant, decision=old.decision_id, by=new.decision_id)


# -- reported ----------------------------------------------------------------------------------------------------------


def see(connection: Connection, acting: Acting, source: str, entity: str, told: Seen) -> Seen:
    """Takes a report; the newest known of this very entity, or of the source as a whole (blank), after it."""
    known = rows.seen(connection, acting.tenant, source, entity, lock=True).get(entity)
    if known is not None and not takes_over(told, known):
        return known
    rows.keep_seen(connection, acting.tenant, source, entity, told, acting.by, is_new=known is None)
    return told


def outdate(connection: Connection, acting: Acting, source: str, entity: str) -> bool:
    """Makes stale what rests on an older version than is known now, so many; whether there may be more."""
    seen = rows.seen(connection, acting.tenant, source, entity)
    known = newest(seen.values()) if entity else seen.get("")
    if known is None:
        return False
    found = rows.outdated(connection, acting.tenant, source, entity, known.version, STALE_AT_ONCE)
    for stored in found:
        go_stale(connection, acting, stored, known.version)
    return len(found) == STALE_AT_ONCE


def go_stale(connection: Connection, acting: Acting, stored: Stored, observed: str) -> bool:
    """From active to stale at the version expected, with its correction; False when it was not so, and why is noted."""
    is_done = rows.make_stale(
        connection, stored, observed=observed, reason=SOURCE_MOVED, by=acting.by, now=acting.now
    )  # fmt: skip
    if not is_done:
        _missed(connection, acting, stored)
        return False
    event_id = internal_id("decision", correction_key(stored.decision_id, observed))
    correction = {
        "correction_id": f"k_{secrets.token_urlsafe(9)}",
        "observed_version": observed,
        "event_id": event_id,
        "created_at": acting.now,
    }
    rows.add_correction(connection, stored, correction)
    _drop_proposals(connection, stored)
    _send(connection, acting, stored, event_id, "stale", observed=observed)
    acting.stale.append(stored.decision_id)
    log.info("decision.stale", tenant=acting.tenant, decision=stored.decision_id)
    return True


def _drop_proposals(connection: Connection, stored: Stored) -> None:
    """What a model was asked while the decision was so; what it is still being asked ends with the record's version."""
    of_borrower = (PROPOSAL.c.tenant == stored.tenant, PROPOSAL.c.borrower_id == stored.borrower_id)
    connection.execute(PROPOSAL.delete().where(*of_borrower))


def classified(connection: Connection, stored: Stored) -> Miss:
    """Why a conditional change of this decision touched no row."""
    now = rows.decision(connection, stored.tenant, stored.decision_id)
    if now is None:
        return "not_found"
    if now.source_version != stored.source_version:
        return "version_conflict"
    return "newer_decision" if now.status == "superseded" else "already_corrected"


def _missed(connection: Connection, acting: Acting, stored: Stored) -> None:
    why = classified(connection, stored)
    acting.missed.append(why)
    log.info("decision.not_changed", tenant=acting.tenant, decision=stored.decision_id, why=why)


# -- on their way ------------------------------------------------------------------------------------------------------


def _send(
    connection: Connection,
    acting: Acting,
    stored: Stored,
    event_id: str,
    status: Became,
    *,
    observed: str | None = None,
    superseded_by: str | None = None,
) -> None:
    """The entry that makes the borrower's writer raise the version of the record."""
    body = DecisionChanged(
        decision_id=stored.decision_id,
        decision_version=stored.source_version,
        entity=stored.entity or None,
        event_id=event_id,
        observed_version=observed,
        source=stored.source,
        status=status,
        superseded_by=superseded_by,
        type="decision.changed",
    )
    stamps = Stamps(
        borrower_id=stored.borrower_id,
        digest="",
        effective_at=acting.now,
        received_at=acting.now,
        time_zone=acting.zone,
    )
    stamps = stamps.changed(digest=envelope.entry_digest(body, stamps, acting.keyed_hash))
    value = envelope.to_bytes(acting.tenant, Entry(body, stamps))
    pending = Pending(acting.tenant, stored.borrower_id, event_id, value)
    acting.positions += acting.log.append_within(connection, [pending])
    acting.events.append(event_id)
