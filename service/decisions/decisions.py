"""The calls on decisions: taken, checked before somebody acts, reported on; and their lists (API 9).

Each call gathers, changes in one transaction (`changes`), and then waits up to a second for the log and the layers, so that
what it answers is mostly the end of it. What could not be reached by then goes on without the caller (`corrections`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row

from service import records
from service.decisions import changes, claims, current, rows
from service.decisions.bodies import DecisionCheck, DecisionTaken, SourceReport
from service.decisions.changes import Acting
from service.decisions.corrections import Corrections, Means
from service.decisions.reader import SourceUnreadable
from service.decisions.rows import LAYERS, Stored
from service.errors import FieldError, IdConflict, InvalidBody, SourceUnavailable, StaleContext, UnknownDecision
from service.forget import arriving, covered
from service.intake.stamping import CLOCK_TOLERANCE, FUTURE_LIMIT
from statemachine.decisions import Seen, judged, newest
from statemachine.wire import YEAR_OF_FILLERS

WAIT_SECONDS: Final = 1.0
WAIT_POLL_SECONDS: Final = 0.01
WAITED_FOR: Final = 20
"""Corrections of one report that its caller waits for."""
READ_AT_ONCE: Final = 200
WAY_OUT: Final = "use a new id"
FIELDS: Final = (
    "decision_id", "borrower_id", "kind", "conclusion", "source", "source_version", "entity", "decided_at", "agent",
    "execution_id", "replaces", "status", "reason", "stale_at", "observed_version", "superseded_by",
)  # fmt: skip

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """Decisions as they are listed, and where the rest begins."""

    items: list[Json]
    next_place: tuple[datetime, str] | None


class Decisions:
    """What routes and tools call. `by` is who asks: a key's id and name."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self.corrections = Corrections(means)

    async def close(self) -> None:
        await self._means.sources.close()

    # -- taken

    async def take(self, tenant: str, by: str, body: DecisionTaken) -> tuple[Json, bool]:
        """The decision, and whether it is new. Raises `IdConflict`, `InvalidBody`, `DatabaseUnavailable`."""
        means = self._means
        acting = means.acting(tenant, by)
        body_hash = means.secrets.keyed_hash(body.canonical(), "decision")
        told = body.model_copy(update={"decided_at": _clamped(body.decided_at, acting.now, "decided_at")})

        def take(conn: Connection) -> tuple[Stored, bool]:
            acting.begin()
            _refuse_anothers(conn, tenant, told)
            taken = changes.take(conn, acting, told, body_hash)
            arriving.cover(conn, tenant, [taken[0].borrower_id], means.secrets, (covered.decisions,))
            return taken

        stored, is_new = await means.database.write(take)
        if not is_new and stored.body_hash != body_hash:
            raise IdConflict("decision_id", body.decision_id, WAY_OUT)
        means.committed(acting)
        await self._settled(acting)
        return await self.answer(tenant, stored.decision_id), is_new

    async def answer(self, tenant: str, decision_id: str) -> Json:
        """A decision as it is answered. Raises `UnknownDecision`."""

        def look(conn: Connection) -> tuple[Stored | None, Row[Any] | None]:
            corrections = rows.corrections_of(conn, tenant, [decision_id])
            return rows.decision(conn, tenant, decision_id), corrections.get(decision_id)

        stored, correction = await self._means.database.read(look)
        if stored is None:
            raise UnknownDecision
        return shown(stored, correction)

    # -- checked

    async def check(self, tenant: str, by: str, decision_id: str, body: DecisionCheck) -> Json:
        """The decision, if it may be acted upon. Raises `StaleContext`, `UnknownDecision`, `SourceUnavailable`."""
        means = self._means
        acting = means.acting(tenant, by)
        at = _clamped(body.observed_at, acting.now, "observed_at") if body.observed_at else acting.now
        named, is_held = body.source_version, body.source_version is not None and body.observed_at is None
        if named is None:  # what the source itself says it is at now, whenever the caller last saw it
            named, at = await self._read(tenant, decision_id), acting.now

        def check(conn: Connection) -> tuple[str, bool]:
            acting.begin()
            return _checked(conn, acting, decision_id, named, at, body, is_held=is_held)

        observed, may_act = await means.database.write(check)
        means.committed(acting)
        await self._outdate_rest(tenant, by, decision_id, acting)
        await self._settled(acting)
        decision = await self.answer(tenant, decision_id)
        if may_act:
            return decision
        means.measures.reused.inc()
        raise StaleContext(
            decision_id=decision_id,
            decision_version=decision["source_version"],
            observed_version=observed,
            decision_status=decision["status"],
            correction=decision["correction"],
        )

    async def _read(self, tenant: str, decision_id: str) -> str | None:
        """What the source itself says, if the decision could be used at all. Raises `SourceUnavailable`."""

        def look(conn: Connection) -> tuple[Stored, bool]:
            stored = rows.decision(conn, tenant, decision_id)
            if stored is None:
                raise UnknownDecision
            return stored, bool(current.usable(conn, tenant, [stored]))

        stored, may_be_used = await self._means.database.read(look)
        if not may_be_used:
            return None
        try:
            return await self._means.sources.version(tenant, stored.source, stored.entity or None)
        except SourceUnreadable:
            raise SourceUnavailable from None

    async def _outdate_rest(self, tenant: str, by: str, decision_id: str, first: Acting) -> None:
        """What else a check has outdated, when it was too much for its own transaction."""
        if len(first.stale) < changes.STALE_AT_ONCE:
            return
        stored = await self._means.database.read(lambda c: rows.decision(c, tenant, decision_id))
        if stored is not None:
            await self._outdate(tenant, by, stored.source, stored.entity)

    # -- reported

    async def report(self, tenant: str, by: str, body: SourceReport) -> int:
        """How many decisions it made stale. Raises `InvalidBody`, `DatabaseUnavailable`."""
        means = self._means
        first = means.acting(tenant, by)
        entity = body.entity or ""
        told = Seen(body.version, _clamped(body.observed_at, first.now, "observed_at"), first.now)

        def see(conn: Connection) -> bool:
            first.begin()
            changes.see(conn, first, body.source, entity, told)
            return changes.outdate(conn, first, body.source, entity)

        more = await means.database.write(see)
        means.committed(first)
        rest = await self._outdate(tenant, by, body.source, entity) if more else 0
        await self._settled(first)
        return len(first.stale) + rest

    async def _outdate(self, tenant: str, by: str, source: str, entity: str) -> int:
        count, more = 0, True
        while more:
            acting = self._means.acting(tenant, by)

            def outdate(conn: Connection, acting: Acting = acting) -> bool:
                acting.begin()
                return changes.outdate(conn, acting, source, entity)

            more = await self._means.database.write(outdate) and bool(acting.stale)
            self._means.committed(acting)
            count += len(acting.stale)
        return count

    # -- waiting

    async def _settled(self, acting: Acting) -> None:
        """Waits up to a second until what was sent is merged and every layer has answered."""
        events = acting.events[:WAITED_FOR]
        if not events:
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + WAIT_SECONDS
        database, tenant = self._means.database, acting.tenant
        while len(await database.read(lambda c: records.merged_entries(c, tenant, events))) < len(events):
            if loop.time() > until:
                return
            await asyncio.sleep(WAIT_POLL_SECONDS)
        gone = await database.read(lambda c: rows.corrections_of(c, tenant, acting.stale[:WAITED_FOR]))
        pending = [row.correction_id for row in gone.values()]
        while pending:
            pending = [id_ for id_ in pending if not await self.corrections.move_on(tenant, id_)]
            if loop.time() > until or (pending and await self._waits_for_others(tenant, pending)):
                return
            if pending:
                await asyncio.sleep(WAIT_POLL_SECONDS)

    async def _waits_for_others(self, tenant: str, pending: Sequence[str]) -> bool:
        """Whether nothing that is near holds any of these up: then no caller need wait."""
        found = [await self._means.database.read(lambda c, id_=id_: rows.correction(c, tenant, id_)) for id_ in pending]  # type: ignore[misc]
        return all(row is None or not (row.last_reason or "").startswith("announcement") for row in found)

    # -- lists

    async def listed(
        self, tenant: str, borrower_id: str, *, is_history: bool, limit: int, before: tuple[datetime, str] | None
    ) -> Found | None:
        """A borrower's decisions, newest first; None for a borrower of whom nothing is known.

        Of `current` ones those alone that may be used, each looked at once more on its own before it leaves.
        """

        def look(conn: Connection) -> Found | None:
            real = records.resolve_id(conn, tenant, borrower_id)
            known = records.stored(conn, tenant, real) is not None or rows.has_any(conn, tenant, real)
            if not known:
                return None
            place, found = before, list[Stored]()
            while True:
                page = rows.of_borrower(
                    conn, tenant, real, active_only=not is_history, limit=limit + 1, before=place
                )  # fmt: skip
                found += page if is_history else current.usable(conn, tenant, page)
                if len(page) <= limit or len(found) > limit:
                    break
                place = (page[-1].decided_at, page[-1].decision_id)
            told = found[:limit]
            corrections = rows.corrections_of(conn, tenant, [one.decision_id for one in told])
            items = [shown(one, corrections.get(one.decision_id)) for one in told]
            if is_history:
                ids = [one.decision_id for one in told]
                asked, copies = rows.uses(conn, tenant, ids), claims.copies(conn, tenant, ids)
                out = {one.decision_id for one in told} - {
                    one.decision_id for one in current.usable(conn, tenant, told)
                }
                for item, one in zip(items, told, strict=True):
                    item |= _past(one, asked.get(one.decision_id), is_usable=one.decision_id not in out)
                    item["copies"] = copies.get(one.decision_id, [])
            else:
                items = [item for item in items if self._is_so(conn, tenant, real, item)]
            last = (told[-1].decided_at, told[-1].decision_id) if len(found) > limit else None
            return Found(items, last)

        return await self._means.database.read(look)

    async def history(self, tenant: str, borrower_id: str) -> list[Json]:
        """All of a borrower's decisions and what became of each, newest first."""
        items: list[Json] = []
        place = None
        while (
            found := await self.listed(tenant, borrower_id, is_history=True, limit=READ_AT_ONCE, before=place)
        ) is not None:
            items += found.items
            if (place := found.next_place) is None:
                break
        return items

    def _is_so(self, conn: Connection, tenant: str, borrower_id: str, item: Json) -> bool:
        """The last look before a decision leaves as current: one that moved on since it was found is withheld. What should not
        have been found is a fault of ours, withheld and counted."""
        if item["status"] != "active" or item["borrower_id"] != borrower_id:
            self._means.measures.shown.labels("decisions").inc()
            return False
        return current.is_current(conn, tenant, borrower_id, item["decision_id"])


# -- one check ---------------------------------------------------------------------------------------------------------


def _checked(
    conn: Connection,
    acting: Acting,
    decision_id: str,
    named: str | None,
    at: datetime,
    body: DecisionCheck,
    *,
    is_held: bool,
) -> tuple[str, bool]:
    """The version that was observed, and whether the decision may be acted upon.

    A version that is named is a report of it. But the decision's own, named without a time when another is known, is what its
    holder has and not what anybody saw: the source does not go back to it.
    """
    stored = rows.decision(conn, acting.tenant, decision_id)
    if stored is None:
        raise UnknownDecision
    known = newest(rows.seen(conn, acting.tenant, stored.source, stored.entity, lock=True).values())
    is_old = known is not None and known.version != stored.source_version
    if named is not None and not (is_held and named == stored.source_version and is_old):
        changes.see(conn, acting, stored.source, stored.entity, Seen(named, at, acting.now))
        changes.outdate(conn, acting, stored.source, stored.entity)
        known = newest(rows.seen(conn, acting.tenant, stored.source, stored.entity).values())
    stored = rows.decision(conn, acting.tenant, decision_id, lock=True) or stored
    if stored.status == "active" and known is not None and known.version != stored.source_version:
        changes.go_stale(conn, acting, stored, known.version)
    verdict = judged(stored.status, stored.source_version, known)
    may_act = verdict.usable and named in (None, stored.source_version)
    rows.note_use(
        conn,
        {
            "tenant": acting.tenant,
            "decision_id": decision_id,
            "at": acting.now,
            "by": acting.by,
            "source_version": named,
            "execution_id": body.execution_id,
            "action": body.action,
            "allowed": may_act,
        },
    )
    if named is not None and named != stored.source_version:
        return named, may_act
    return (known.version if known is not None and not may_act else named) or stored.source_version, may_act


def _refuse_anothers(conn: Connection, tenant: str, body: DecisionTaken) -> None:
    """Raises `InvalidBody` for `replaces` that names somebody else's decision."""
    for number, found in enumerate(rows.decisions(conn, tenant, body.replaces).get(id_) for id_ in body.replaces):
        if found is not None and found.borrower_id != body.borrower_id:
            raise InvalidBody([FieldError("replaces" if len(body.replaces) == 1 else f"replaces.{number}", "bad_id")])


def _clamped(at: datetime, now: datetime, field: str) -> datetime:
    """A time of what has happened (API 1): what lies ahead counts from its arrival, a filler as no time."""
    if at - now > FUTURE_LIMIT:
        raise InvalidBody([FieldError(field, "time_in_future")])
    return now if at - now > CLOCK_TOLERANCE or at.year < YEAR_OF_FILLERS else at


# -- as it is answered -------------------------------------------------------------------------------------------------


def shown(stored: Stored, correction: Row[Any] | None) -> Json:
    """A decision as API 9 answers it."""
    own: Mapping[str, Any] = {
        "entity": stored.entity or None,
        "replaces": json.loads(stored.replaces) if stored.replaces else None,
    }
    told = {name: own.get(name, getattr(stored, name)) for name in FIELDS}
    return told | {"correction": correction_shown(correction) if correction is not None else None}


def correction_shown(row: Row[Any]) -> Json:
    return {
        "correction_id": row.correction_id,
        "status": row.status,
        "layers": {layer: getattr(row, f"{layer}_at") for layer in LAYERS},
    }


def _past(stored: Stored, asked: tuple[int, list[Row[Any]]] | None, *, is_usable: bool) -> Json:
    """What an investigator asks further: who told it, who noticed, and whether anybody used it since."""
    count, last = asked or (0, [])
    uses = [
        {
            "at": row.at, "by": row.by, "source_version": row.source_version, "execution_id": row.execution_id,
            "action": row.action, "allowed": row.allowed,
        }
        for row in last
    ]  # fmt: skip
    return {
        "usable": is_usable,
        "recorded_at": stored.recorded_at,
        "recorded_by": stored.recorded_by,
        "noticed_by": stored.noticed_by,
        "superseded_at": stored.superseded_at,
        "uses_count": count,
        "uses": uses,
    }
