"""A posted body becomes an entry of the log, and the caller learns what became of it (API 1, DESIGN 13).

    1 read, in one look, whether the id is known and whose it is
    2 answer a repeat with the first answer, and a conflict with 409, listed as set aside
    3 stamp the rest and append them together; nothing is answered 2xx before they are durable
    4 wait a second for each to be merged: `merged`, else `accepted`

Two copies that arrive together are both appended; the writer merges one and says of the other what it is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Connection, select
from starlette.responses import Response

from service import naming, records
from service.database import DatabaseUnavailable
from service.errors import (
    AmbiguousIdentifier,
    FieldError,
    IdConflict,
    InvalidBody,
    Problem,
    Unavailable,
)
from service.forget import arriving
from service.hooks import bodies as hook_bodies
from service.intake import envelope
from service.intake.log import Pending
from service.intake.message_ids import without_numbers
from service.intake.stamping import Found, stamps_of
from service.intake.terms import Warnings
from service.naming import Called
from service.resuming.resumes import RESUME, Entered
from service.web.calls import answered
from service.web.rendering import problem_response
from statemachine.entries import (
    ConversationEnded,
    ConversationMessage,
    ConversationStarted,
    CycleOpened,
    Event,
    IdentifierLinked,
    IdentifierUnlinked,
    Message,
    Summary,
)
from statemachine.evidence import is_zone
from statemachine.stamps import Entry, Warning

if TYPE_CHECKING:
    from service.wiring import Parts

MERGE_WAIT_SECONDS = 1.0
SCOPE_OF = {"A": "events:agent", "L": "events:ledger", "O": "events:ops"}
OF_CHATS = (ConversationMessage, ConversationEnded, IdentifierLinked, IdentifierUnlinked, CycleOpened)
LINKING = ("identifier.linked", "identifier.unlinked", "cycle.opened")
"""After one of these, whom a number or a loan means may have changed."""

Posted = tuple[Summary | Event, tuple[str, ...]]
"""A body, and the paths of its texts that had to be repaired."""


@dataclass(frozen=True, slots=True)
class Received:
    """What a caller is told: an answer, or the problem it met."""

    http_status: int
    answer: dict[str, Any] | None
    problem: Problem | None

    def response(self) -> Response:
        return problem_response(self.problem) if self.problem else answered(self.answer, self.http_status)

    def in_batch(self, index: int) -> dict[str, Any]:
        problem = self.problem.body() if self.problem else None
        return {"index": index, "http_status": self.http_status, "answer": self.answer, "problem": problem}


def refused(problem: Problem) -> Received:
    return Received(problem.status, None, problem)


class Source(Protocol):
    """Who posts: the parts to work with, and whose they are. A call of the API, or the service itself."""

    @property
    def parts(self) -> Parts: ...

    @property
    def tenant(self) -> str: ...


async def receive(call: Source, posted: Sequence[Posted]) -> list[Received]:
    """What became of each body, in their order. Raises `Unavailable` when nothing could be made durable."""
    results: list[Received] = []
    group: list[Posted] = []
    linked = False
    for as_posted, repaired in posted:
        body = without_numbers(as_posted, call.parts.keyed_hash)
        item = (body, repaired)
        if linked and (body.borrower_id is None or body.identifier is not None):
            results += await _receive_together(call, group)
            group, linked = [], False
        group.append(item)
        linked = linked or (isinstance(body, Event) and body.type in LINKING)
    return results + await _receive_together(call, group)


async def _receive_together(call: Source, posted: Sequence[Posted]) -> list[Received]:
    parts, tenant = call.parts, call.tenant
    now = parts.clock()
    prepared = [await _prepared(parts, tenant, body, repaired, now) for body, repaired in posted]
    pending = [(n, p) for n, p in enumerate(prepared) if isinstance(p, Entry)]
    results: list[Received | None] = [None if isinstance(p, Entry) else p for p in prepared]
    if pending:
        await _remember_messages(parts, tenant, [entry for _, entry in pending])
        waits = await parts.append([(tenant, entry) for _, entry in pending])
        await asyncio.wait(waits, timeout=MERGE_WAIT_SECONDS)
        for (n, entry), wait in zip(pending, waits, strict=True):
            result = results[n] = await _outcome(parts, tenant, entry, wait)
            if result.problem is None:
                await _report_start(parts, tenant, entry)
    told = [r for r in results if r is not None]
    await _tell_chats(parts, tenant, posted, told)
    return told


async def _remember_messages(parts: Parts, tenant: str, entries: Sequence[Entry]) -> None:
    """What our messages were, before they are appended: a provider's status names a message by its id alone (API 11)."""
    ours = [
        hook_bodies.Ours(tenant, m.message_id, m.type, entry.stamps.borrower_id, m.loan_id, m.cycle_id)
        for entry in entries
        if isinstance(m := entry.body, Message)
    ]
    if ours:
        try:
            if await parts.database.write(lambda conn: hook_bodies.remember(conn, ours)):
                parts.hook_worker.stir()
        except DatabaseUnavailable:
            raise Unavailable from None


async def _tell_chats(parts: Parts, tenant: str, posted: Sequence[Posted], told: Sequence[Received]) -> None:
    """What an open chat is built from, after it is durable and before it is answered; a repeat changes nothing there."""
    events = [
        (body, result.answer["borrower_id"])
        for (body, _), result in zip(posted, told, strict=True)
        if isinstance(body, OF_CHATS) and result.answer is not None
    ]
    if events:
        try:
            await parts.chats.told(tenant, events)
        except DatabaseUnavailable:
            raise Unavailable from None


async def _prepared(
    parts: Parts, tenant: str, body: Summary | Event, repaired: tuple[str, ...], now: datetime
) -> Entry | Received:
    """The entry to append, or what is answered without one."""
    policy = parts.policies.for_tenant(tenant)
    try:
        who = naming.called(body.borrower_id, body.identifier, body.loan_id, policy)
        body_hash = envelope.body_hash(body, parts.keyed_hash)

        def look(conn: Connection) -> tuple[records.Merged | None, naming.Named, str | None]:
            first = records.merged_entry(conn, tenant, body.id)
            named = naming.find(conn, tenant, who, parts.secrets)
            zone = records.time_zone_of(conn, tenant, named.borrower_id) if named.borrower_id else None
            return first, named, zone

        first, named, zone = await parts.database.read(look)
        if first is not None:
            return await _again(parts, tenant, body, first, body_hash, named, now)
        if named.candidates:
            raise AmbiguousIdentifier(named.candidates)
        return _stamped(parts, body, who, named, zone or policy.time_zone, policy.currency, repaired, now)
    except Problem as problem:
        return refused(problem)


def _stamped(
    parts: Parts,
    body: Summary | Event,
    who: Called,
    named: naming.Named,
    zone: str,
    currency: str,
    repaired: tuple[str, ...],
    now: datetime,
) -> Entry:
    warnings = Warnings()
    for path in repaired:
        warnings.add("text_repaired", path, "a NUL or half a surrogate became U+FFFD")
    speaks_of_it = isinstance(body, Event) and body.type.startswith("identi")
    if named.warning and not (isinstance(body, Event) and body.type.startswith("identifier.")):
        warnings.add(named.warning, "identifier", _LINK_WARNINGS[named.warning])
    if isinstance(body, IdentifierLinked) and body.time_zone is not None and not is_zone(body.time_zone):
        raise InvalidBody([FieldError("time_zone", "not_in_enum")])
    of_ledger = isinstance(body, Event) and "A" not in body.senders and body.borrower_id is not None
    found = Found(
        borrower_id=named.borrower_id or named.provisional_id or "",
        identifier=who.key if speaks_of_it else None,
        through=None if of_ledger else who.key,
        time_zone=zone,
        currency=currency,
    )
    stamps = stamps_of(body, found, now, parts.keyed_hash, warnings)
    return Entry(body, stamps.model_copy(update={"digest": envelope.entry_digest(body, stamps, parts.keyed_hash)}))


_LINK_WARNINGS = {
    "identifier_mismatch": "the identifier is linked to somebody else: nothing is linked",
    "identifier_not_linked": "the identifier is not linked to this borrower: nothing is linked",
}


async def _report_start(parts: Parts, tenant: str, entry: Entry) -> None:
    """Where a conversation that came from a resume really started (AC-76); of a resume of somebody else it says nothing."""
    body = entry.body
    if not isinstance(body, Summary | ConversationStarted) or not body.resume_id or not body.entered_state:
        return
    agent = body.agent if isinstance(body, Summary) else None
    with contextlib.suppress(DatabaseUnavailable):  # it is a statistic: what was durable is answered all the same
        if await _was_told_of(parts, tenant, body.resume_id, entry.stamps.borrower_id):
            parts.resumes.keep(
                Entered(tenant, body.resume_id, body.channel, body.conversation_id, body.entered_state, agent)
            )


async def _was_told_of(parts: Parts, tenant: str, resume_id: str, borrower_id: str) -> bool:
    """Whether a resume was answered of this borrower, or of nobody known then. A provisional one is who it turned out to be."""

    def look(conn: Connection) -> bool | None:
        where = (RESUME.c.tenant == tenant, RESUME.c.resume_id == resume_id)
        row = conn.execute(select(RESUME.c.borrower_id).where(*where)).first()
        if row is None:
            return None
        whose = [records.resolve_id(conn, tenant, id_) for id_ in (row[0] or borrower_id, borrower_id)]
        return whose[0] == whose[1]

    known = await parts.database.read(look)
    if known is None:  # a conversation of a moment: the answer it began with is not written yet
        await parts.resumes.flush()
        known = await parts.database.read(look)
    return bool(known)


# -- what became of it ------------------------------------------------------------------------------------------


async def _again(
    parts: Parts,
    tenant: str,
    body: Summary | Event,
    first: records.Merged,
    body_hash: str,
    named: naming.Named,
    now: datetime,
) -> Received:
    """A second delivery of an id: the first answer again, or the conflict, listed for ops."""
    if first.body_hash == body_hash:
        await parts.database.write(lambda conn: records.count_repeat(conn, tenant, body.id, now, is_conflict=False))
        parts.deliveries.repeated()
        return _told("duplicate", body.id, first.borrower_id, first.record_version, first.warnings)
    value = envelope.body_bytes(body)
    kind = "summary" if isinstance(body, Summary) else "event"

    def keep(conn: Connection) -> None:
        records.count_repeat(conn, tenant, body.id, now, is_conflict=True)
        records.set_aside_conflict(
            conn,
            tenant=tenant,
            event_id=body.id,
            kind=kind,
            borrower_id=named.borrower_id or first.borrower_id,
            body_hash=body_hash,
            value=value,
            at=now,
        )
        arriving.cover(conn, tenant, [named.borrower_id, first.borrower_id], parts.secrets)

    await parts.database.write(keep)
    parts.deliveries.conflicted()
    return refused(IdConflict("event_id", body.id, WAY_OUT))


WAY_OUT = "post a higher revision, or another event_id"


async def _outcome(parts: Parts, tenant: str, entry: Entry, wait: asyncio.Future[Any]) -> Received:
    """What is known by now."""
    stamps = entry.stamps
    if not wait.done():
        return _told("accepted", entry.event_id, stamps.borrower_id, None, stamps.warnings)
    outcome = wait.result()
    if outcome.status == "conflict":
        return refused(IdConflict("event_id", entry.event_id, WAY_OUT))
    if outcome.status == "duplicate":
        first = await parts.database.read(lambda conn: records.merged_entry(conn, tenant, entry.event_id))
        if first is not None:
            return _told("duplicate", entry.event_id, first.borrower_id, first.record_version, first.warnings)
    if outcome.status == "merged":
        return _told("merged", entry.event_id, stamps.borrower_id, outcome.record_version, stamps.warnings)
    return _told("accepted", entry.event_id, stamps.borrower_id, None, stamps.warnings)


def _told(status: str, event_id: str, borrower_id: str, version: int | None, warnings: Sequence[Warning]) -> Received:
    told = [{"field": w.field, "code": w.code, "message": w.message} for w in warnings]
    answer = {
        "status": status,
        "event_id": event_id,
        "borrower_id": borrower_id,
        "record_version": version,
        "warnings": told,
    }
    return Received(202 if status == "accepted" else 200, answer, None)


# -- once more --------------------------------------------------------------------------------------------------

RETRY_WAIT_SECONDS = 5.0


async def retried(parts: Parts, tenant: str, number: int) -> dict[str, Any] | None:
    """The item set aside under this number after one more try; null when there is none.

    An entry goes back into the log, where the writer merges it or sets it aside again. A conflict can not be cured by
    trying again: its id is taken, so it is refused, and stays in the list of what was refused.
    """
    found = await parts.database.read(lambda conn: records.set_aside_item(conn, tenant, number))
    if found is None:
        return None
    item, value = found
    if item["status"] == "open":
        if item["reason"] == "id_conflict":
            await parts.database.write(
                lambda conn: records.settle_set_aside(conn, tenant, number, "refused", attempts=1)
            )
        elif item["kind"] == "hook":
            await parts.hook_worker.retry(tenant, number, value)
        else:
            pending = Pending(tenant, item["borrower_id"] or "", item["event_id"] or "", value)
            (wait,) = await parts.append_pending([pending])
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(wait), RETRY_WAIT_SECONDS)
        found = await parts.database.read(lambda conn: records.set_aside_item(conn, tenant, number))
    return found[0] if found else None
