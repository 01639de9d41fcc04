"""One resume request, from who is calling to what is kept of the answer (DESIGN 8 to 10).

    1 find the borrower; nobody, or several, is a cold start: an agent with the phone at its ear can do nothing with an error
    2 read the record as it stands after what the caller has just posted
    3 let the floor judge (`service.resume`), unless this tenant, channel or borrower is not to be handed anything yet
    4 say whether they may be contacted, in every mode
    5 keep what was answered and, of a shadow, what would have been

A memory that cannot be read is said to be so (`degraded`), and then nobody is to be contacted.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import Connection

from service import naming, records
from service.database import DatabaseUnavailable
from service.naming import Called
from service.policy import Policy
from service.reading import Known
from service.resume import Answer, Asked, Judged, answer, cold_start, finished, judged
from service.resumes import Kept
from statemachine.conclusions import Cycle
from statemachine.contact import Contact, contact_of, contact_of_nobody, strictest, unknown
from statemachine.cycles import Holding, conclude
from statemachine.entries import Identifier
from statemachine.floor import Refusal
from statemachine.record import UnreadableRecord
from statemachine.state import UnknownLoan

if TYPE_CHECKING:
    from service.wiring import Parts

AFTER_WAIT_SECONDS = 1.0
AFTER_POLL_SECONDS = 0.02

log = structlog.get_logger("service.resuming")


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller said."""

    channel: str
    direction: str
    borrower_id: str | None
    identifier: Identifier | None
    loan_id: str | None
    wait_ms: int
    after: str | None
    proposal: Any


@dataclass(slots=True)
class _Seen:
    """What reading found: one borrower, several, or none; or why it found nothing out."""

    known: list[Known]
    degraded: str | None = None


async def resume(parts: Parts, tenant: str, asked: Request) -> Answer:
    """The answer of API 6. Raises `InvalidBody` when nobody is named or a number cannot be one; nothing else."""
    now = parts.clock()
    policy = parts.policies.for_tenant(tenant)
    who = naming.called(asked.borrower_id, asked.identifier, asked.loan_id, policy)
    resume_id = f"r_{secrets.token_urlsafe(9)}"
    one: Known | None = None
    given: Judged | None = None
    mode = policy.mode_for(asked.channel, None)
    body: Answer
    try:
        seen = await _seen(parts, tenant, who, asked.after, policy, now)
        one = seen.known[0] if len(seen.known) == 1 else None
        mode = policy.mode_for(asked.channel, one.borrower_id if one else None)
        contact = _contact(seen, asked, policy, now)
        if one is None:
            ambiguous = [Refusal("ambiguous_identifier", "several borrowers share this identifier")]
            body = cold_start(degraded_reason=seen.degraded, refusals=ambiguous if len(seen.known) > 1 else ())
        elif mode == "disabled":
            body = cold_start()
        else:
            given, remembered = _remembered(parts, tenant, one, who, asked, policy, now)
            body = remembered if mode == "enabled" else cold_start()
    except Exception as fault:  # noqa: BLE001  # an agent with a caller on the line is owed a start, whatever failed
        log.error("resume.failed", resume_id=resume_id, tenant=tenant, fault=type(fault).__name__)
        given, one = None, None
        body, contact = cold_start(degraded_reason="memory_unavailable"), unknown(policy.time_zone)
    answered = finished(
        body,
        resume_id=resume_id,
        contact=contact,
        record_version=one.version if one and body["found"] else None,
        as_of=now,
    )
    parts.resumes.keep(_kept(resume_id, tenant, asked, one, given, body, mode, now))
    return answered


async def _seen(parts: Parts, tenant: str, who: Called, after: str | None, policy: Policy, now: datetime) -> _Seen:
    def look(conn: Connection) -> list[records.Stored]:
        named = naming.find(conn, tenant, who, parts.secrets)
        ids = (named.borrower_id,) if named.borrower_id else named.candidates
        return [stored for id_ in ids if (stored := records.stored(conn, tenant, id_)) is not None]

    try:
        if after is not None and not await merged_within(parts, tenant, after):
            return _Seen([], "not_yet_merged")
        stored = await parts.database.read(look)
        return _Seen([parts.reader.known(tenant, s, policy, now) for s in stored])
    except (DatabaseUnavailable, UnreadableRecord) as fault:
        log.error("resume.unreadable", tenant=tenant, fault=type(fault).__name__)
        return _Seen([], "memory_unavailable")


async def merged_within(parts: Parts, tenant: str, event_id: str) -> bool:
    """Whether an entry is merged, waiting up to a second for it (API 1, read your writes)."""
    end = asyncio.get_running_loop().time() + AFTER_WAIT_SECONDS
    while not await parts.database.read(lambda conn: records.is_merged(conn, tenant, event_id)):
        if asyncio.get_running_loop().time() >= end:
            return False
        await asyncio.sleep(AFTER_POLL_SECONDS)
    return True


def _remembered(
    parts: Parts, tenant: str, one: Known, who: Called, asked: Request, policy: Policy, now: datetime
) -> tuple[Judged, Answer]:
    """What the memory would answer; kept while it holds, but for a caller's own proposal."""
    state = one.state
    asking = Asked(asked.channel, asked.direction, who.key, asked.loan_id, asked.proposal)
    missing_after = timedelta(minutes=policy.report_missing_minutes)

    def compute() -> tuple[Judged, Answer]:
        cycle = cycle_for(one, asked.loan_id, policy, now)
        given = judged(state, cycle, asking)
        return given, answer(state, cycle, asking, given, now=now, missing_after=missing_after)

    if asked.proposal is not None or state.started:
        return compute()
    key = (tenant, one.borrower_id, one.version, policy.version, asked.channel, asked.direction, who.key, asked.loan_id)
    return parts.reader.answer(key, now, state.valid_until, compute)


def cycle_for(one: Known, loan_id: str | None, policy: Policy, now: datetime) -> Cycle:
    """The cycle meant; of a loan that the record does not know, an empty one (API 6)."""
    try:
        return one.state.cycle_of(loan_id)
    except UnknownLoan:
        return conclude(
            (loan_id, None),
            Holding(),
            None,
            now=now,
            zone=one.state.time_zone,
            currency=policy.currency,
            lost_up_to=None,
        )


def _contact(seen: _Seen, asked: Request, policy: Policy, now: datetime) -> Contact:
    if seen.degraded:
        return unknown(policy.time_zone)
    if not seen.known:
        return contact_of_nobody(policy.time_zone, now, policy)
    contacts = [
        contact_of(k.state, asked.channel, cycle_for(k, asked.loan_id, policy, now).loan_id, now, policy)
        for k in seen.known
    ]
    return contacts[0] if len(contacts) == 1 else strictest(contacts)


def _kept(
    resume_id: str,
    tenant: str,
    asked: Request,
    one: Known | None,
    given: Judged | None,
    body: Answer,
    mode: str,
    now: datetime,
) -> Kept:
    return Kept(
        resume_id=resume_id,
        tenant=tenant,
        borrower_id=one.borrower_id if one else None,
        at=now,
        channel=asked.channel,
        direction=asked.direction,
        loan_id=asked.loan_id,
        position=given.grant.position if given else None,
        proposed=given.proposed if given else None,
        proposed_by=given.proposed_by if given else None,
        granted=given.grant.state if given else body["state"],
        refusals=given.grant.refusals if given else body["refusals"],
        fallback=given.fallback if given else None,
        source=given.source if given else body["source"],
        record_version=one.version if one else None,
        mode=mode,
        degraded=body["degraded"],
    )
