"""One resume request, from who is calling to what is kept of the answer (DESIGN 8 to 10).

    1 find the borrower; nobody, or several, is a cold start: an agent with the phone at its ear can do nothing with an error
    2 read the record as it stands after what the caller has just posted
    3 say whether they may be contacted, in every mode
    4 let the floor judge (`service.resuming.start`), unless this tenant, channel or borrower is not to be handed anything yet;
      what a model proposed is taken as it is stored, and waited for only by a caller who opted to
    5 keep what was answered and, of a shadow, what would have been

A memory that cannot be read is said to be so (`degraded`), and then nobody is to be contacted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import structlog
from sqlalchemy import Connection

from channels import CHANNELS
from service import after, naming, records
from service.database import DatabaseUnavailable
from service.intake.envelope import provisional_id
from service.naming import Called
from service.policy import Policy
from service.proposer.proposals import TIMEOUT, UNAVAILABLE
from service.proposer.rows import Key
from service.resuming import gists
from service.resuming.gist import NOBODY, Gist, basis_of
from service.resuming.gist import from_bytes as gist_from
from service.resuming.gists import Glimpse
from service.resuming.resumes import Kept, new_id
from service.resuming.start import COLD, NO_MODEL, Asked, Proposed, Start, cold, started, worded
from service.secrets import Secrets
from statemachine.contact import ATTEMPTS_WINDOW, Contact, contact_of_nobody, strictest, unknown, weighed
from statemachine.entries import Identifier
from statemachine.floor import Refusal
from statemachine.record import UnreadableRecord

if TYPE_CHECKING:
    from service.wiring import Parts

ROUTE = "/v1/resume"

log = structlog.get_logger("service.resuming.request")


class Request(msgspec.Struct, frozen=True):
    """What the caller said."""

    channel: str
    direction: str
    borrower_id: str | None
    identifier: Identifier | None
    loan_id: str | None
    wait_ms: int
    after: str | None
    proposal: Any


class _One(msgspec.Struct, frozen=True):
    """A borrower at one record version; the id is the real one, also when a provisional id was asked for."""

    borrower_id: str
    version: int
    gist: Gist
    has_chats: bool = True
    """False: none of them is known, open or not."""


class _Seen(msgspec.Struct):
    """What reading found: one borrower, several, or none; or why it found nothing out."""

    known: list[_One]
    degraded: str | None = None
    stranger: _One | None = None
    """What is kept under the identifier while it is nobody's: never handed out, but a stop in it binds."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A request on its way: who asks, whom it names, and until when what was just posted is waited for (the loop's time)."""

    parts: Parts
    tenant: str
    asked: Request
    who: Called
    policy: Policy
    merged_by: float


async def resume(parts: Parts, tenant: str, asked: Request) -> bytes:
    """The answer of API 6, in JSON. Raises `InvalidBody` when nobody is named or a number cannot be one; nothing else."""
    began = time.perf_counter()
    policy = parts.policies.for_tenant(tenant)
    who = naming.called(asked.borrower_id, asked.identifier, asked.loan_id, policy)
    merged_by = asyncio.get_running_loop().time() + after.AFTER_WAIT_SECONDS
    call = _Call(parts, tenant, asked, who, policy, merged_by)
    is_late = bool(asked.wait_ms) and not await _waited(call)
    now = parts.clock()
    asking = Asked(asked.channel, asked.direction, who.key, asked.loan_id, asked.proposal)
    resume_id = new_id(now)
    missing_after = timedelta(minutes=policy.report_missing_minutes)
    one: _One | None = None
    start = COLD
    mode = policy.mode_for(asked.channel, None)
    try:
        seen = await _seen(call, now)  # 1, 2
        degraded = seen.degraded
        one = seen.known[0] if len(seen.known) == 1 else None
        if one is not None:
            known_as = naming.known_as(one.gist.identities, who, parts.secrets)
            asking = msgspec.structs.replace(asking, identifier=known_as)
        mode = policy.mode_for(asked.channel, one.borrower_id if one else None)
        contact = _contact(seen, asked.channel, policy, now)  # 3
        chats = await parts.chats.open_for(tenant, one.borrower_id, asked.channel, now) if one and one.has_chats else []
        if len(seen.known) > 1:  # 4
            start = cold(Refusal("ambiguous_identifier", "several borrowers share this identifier"))
        elif one is not None and mode != "disabled":
            start = started(one.gist, asking, await _modelled(call, one, now, is_late=is_late))
        handed_out = one is not None and mode == "enabled"
        body = worded(
            one.gist if one is not None and handed_out else NOBODY,
            start if handed_out or one is None else COLD,
            asking,
            resume_id=resume_id,
            contact=contact,
            record_version=one.version if one is not None and handed_out else None,
            now=now,
            missing_after=missing_after,
            chats=chats if handed_out else (),
            degraded_reason=degraded,
        )
    except Exception as fault:  # noqa: BLE001  # an agent with a caller on the line is owed a start, whatever failed
        log.error("resume.failed", resume_id=resume_id, tenant=tenant, fault=type(fault).__name__)
        one, start, degraded = None, COLD, "memory_unavailable"
        body = worded(
            NOBODY,
            start,
            asking,
            resume_id=resume_id,
            contact=unknown(policy.time_zone),
            record_version=None,
            now=now,
            missing_after=missing_after,
            degraded_reason=degraded,
        )
    latency_us = int((time.perf_counter() - began) * 1_000_000)
    parts.resumes.keep(_kept(call, resume_id, one, start, mode, now, degraded, latency_us))  # 5
    return body


async def _modelled(call: _Call, one: _One, now: datetime, *, is_late: bool) -> Proposed:
    """What a model proposes, where the caller proposes nothing; `is_late`: the caller has waited for it in vain. The memory was
    read: the start does not depend on this second look."""
    if call.asked.proposal is not None:
        return NO_MODEL
    try:
        proposed, why = await call.parts.proposals.proposed(_key(call, one), one.version, now)
    except DatabaseUnavailable:
        return UNAVAILABLE
    return TIMEOUT if is_late and proposed is None else (proposed, why)


def _key(call: _Call, one: _One) -> Key:
    """Under which a model's proposal for this start is stored."""
    return Key(call.tenant, one.borrower_id, call.asked.channel, one.gist.loan_id or "")


async def _waited(call: _Call) -> bool:
    """Lets a model answer about the record as it is, as long as the caller opted to wait; False when it did not in time.

    In shadow nobody waits: the caller is to notice nothing of it. What is found here is not used: who has waited reads anew.
    """
    parts, asked = call.parts, call.asked
    if not parts.proposals.has_model or asked.proposal is not None:
        return True
    try:
        seen = await _seen(call, parts.clock())
        if seen.degraded or len(seen.known) != 1:
            return True
        (one,) = seen.known
        if call.policy.mode_for(asked.channel, one.borrower_id) != "enabled":
            return True
        return await parts.proposals.wait(_key(call, one), one.version, asked.wait_ms / 1000)
    except Exception as fault:  # noqa: BLE001  # the answer itself says what is wrong with the memory
        log.error("resume.not_waited", tenant=call.tenant, fault=type(fault).__name__)
        return True


async def _seen(call: _Call, now: datetime) -> _Seen:
    """What stands, once what the caller has just posted is merged."""
    parts, tenant, asked, who = call.parts, call.tenant, call.asked, call.who
    basis = basis_of(call.policy)

    def look(conn: Connection) -> tuple[list[_One | records.Stored], _One | records.Stored | None]:
        if (found := _by_identifier(conn, tenant, who, parts.secrets, basis, now, asked.loan_id)) is not None:
            return [found], None
        named = naming.find(conn, tenant, who, parts.secrets)
        ids = (named.borrower_id,) if named.borrower_id else named.candidates
        every = (_read(conn, tenant, id_, basis, now, asked.loan_id) for id_ in ids)
        known = [one for one in every if one is not None]
        alone = _alone(named, who, parts.secrets)
        if alone is None or alone in ids:
            return known, None
        stranger = _read(conn, tenant, alone, basis, now, asked.loan_id)
        return known, stranger if stranger is not None and stranger.borrower_id == alone else None

    def understood(found: _One | records.Stored) -> _One:
        if isinstance(found, _One):
            return found
        gist = parts.reader.gist(tenant, found, asked.loan_id, call.policy, now)
        return _One(found.borrower_id, found.version, gist)

    try:
        if asked.after is not None and not await after.merged_within(parts, tenant, asked.after, call.merged_by):
            return _Seen([], "not_yet_merged")
        known, stranger = await parts.database.read(look)
        return _Seen(
            [understood(found) for found in known],
            stranger=understood(stranger) if stranger is not None else None,
        )
    except (DatabaseUnavailable, UnreadableRecord) as fault:
        if isinstance(fault, UnreadableRecord):
            parts.unreadable.labels(ROUTE).inc()
        log.error("resume.unreadable", tenant=tenant, fault=type(fault).__name__)
        return _Seen([], "memory_unavailable")


def _alone(named: naming.Named, who: Called, secrets: Secrets) -> str | None:
    """The provisional id under which entries are kept that name an identifier (or loan) to which nobody is linked; None when
    somebody is."""
    if who.identifier is not None and named.warning == "identifier_not_linked":
        return provisional_id(secrets, who.identifier.kind, who.identifier.value)
    return named.provisional_id


def _by_identifier(
    conn: Connection, tenant: str, who: Called, secrets: Secrets, basis: str, now: datetime, loan_id: str | None
) -> _One | None:
    """The usual case, found with one query: an identifier alone, linked to one borrower, whose gist still holds. None in every
    other case."""
    if who.identifier is None or who.borrower_id is not None:
        return None
    values = naming.spellings(who.identifier, secrets)
    glimpse = gists.glimpse_of_only(conn, tenant, who.identifier.kind, values)
    return _held(glimpse, basis, now, loan_id)


def _held(glimpse: Glimpse | None, basis: str, now: datetime, loan_id: str | None) -> _One | None:
    gist = gist_from(glimpse.gist) if glimpse is not None else None
    if glimpse is None or gist is None or not gist.holds(basis, now, loan_id):
        return None
    return _One(glimpse.borrower_id, glimpse.version, gist, glimpse.has_chats)


def _read(
    conn: Connection, tenant: str, borrower_id: str, basis: str, now: datetime, loan_id: str | None
) -> _One | records.Stored | None:
    """A borrower by the gist that is kept, if it holds; else the record to make one from."""
    glimpse = gists.glimpse(conn, tenant, borrower_id)
    return _held(glimpse, basis, now, loan_id) or records.stored(conn, tenant, borrower_id)


def _contact(seen: _Seen, channel: str, policy: Policy, now: datetime) -> Contact:
    """Whether they may be contacted. A stop that was told under the identifier before anybody was linked to it counts beside
    those of the borrower who was named."""
    if seen.degraded:
        return unknown(policy.time_zone)
    apart = [seen.stranger.gist] if seen.stranger is not None else []
    contacts = [_weighed([one.gist, *apart], channel, policy, now) for one in seen.known]
    if not contacts:
        return _weighed(apart, channel, policy, now) if apart else contact_of_nobody(policy.time_zone, now, policy)
    return contacts[0] if len(contacts) == 1 else strictest(contacts)


def _weighed(of: Sequence[Gist], channel: str, policy: Policy, now: datetime) -> Contact:
    """Whether all of these may be contacted, by the hours where the first one is."""
    return weighed(
        of[0].time_zone,
        hold_ends=[end for gist in of for end in gist.hold_ends],
        opted_out=any(channel in gist.opted_out for gist in of),
        attempts=[at for gist in of for on, at in gist.attempts if on == channel and now - ATTEMPTS_WINDOW < at <= now],
        now=now,
        policy=policy,
    )


def _kept(
    call: _Call,
    resume_id: str,
    one: _One | None,
    start: Start,
    mode: str,
    now: datetime,
    degraded: str | None,
    latency_us: int,
) -> Kept:
    """What is kept for ops: in shadow what would have been answered."""
    asked = call.asked
    return Kept(
        resume_id=resume_id,
        tenant=call.tenant,
        borrower_id=one.borrower_id if one else None,
        at=now,
        channel=asked.channel,
        direction=asked.direction,
        loan_id=asked.loan_id,
        position=start.position,
        proposed=start.proposed,
        proposed_by=start.proposed_by,
        granted=start.state,
        refusals=start.refusals,
        fallback=start.fallback,
        source=start.source,
        record_version=one.version if one else None,
        mode=mode,
        degraded=degraded is not None,
        flow_version=CHANNELS[asked.channel].flow.version,
        latency_us=latency_us,
    )
