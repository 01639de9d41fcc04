"""One context request, from what was posted to what is answered (API 10).

    1 wait for the entries that the caller named, as every read does
    2 a channel that nothing is handed out on gets what was given, and nothing more is read
    3 read the record and the current decisions; a borrower who may not be handed out gets what was given too
    4 assemble; in shadow only to tell how the answer would have differed

Annotating never makes a turn fail: a memory that cannot be read leaves the caller with the same prompt without memory, and it is
said so (`degraded`). What a reading's turn id says holds then as well. Whoever asks to read an entry that is not merged is told
that, as by every read (API 1): a prompt without it would be another than was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import structlog
from sqlalchemy import Connection

from channels import CHANNELS
from service import records
from service.after import all_merged
from service.context.assembling import Context, Memory, assembled
from service.context.blocks import Dropped
from service.context.bodies import ContextAsked, Reading
from service.context.given import given
from service.context.standing import Standing, standing
from service.context.turns import seen
from service.database import DatabaseUnavailable
from service.decisions.current import worded
from service.decisions.rows import Stored as StoredDecision
from service.decisions.telling import current_of, rechecked
from service.errors import FieldError, InvalidBody, NotYetMerged, UnknownBorrower
from service.intake.stamping import CLOCK_TOLERANCE, FUTURE_LIMIT
from service.policy import Policy
from service.reading import Known
from statemachine.entries import Turn
from statemachine.record import UnreadableRecord
from statemachine.volatility import Volatility, Writer

if TYPE_CHECKING:
    from service.wiring import Parts

DECISIONS: Final = 20

log = structlog.get_logger("service.context")


@dataclass(frozen=True, slots=True)
class _Read:
    """What reading found; `degraded` says why it found nothing out."""

    known: Known | None = None
    decisions: Sequence[StoredDecision] = ()
    withheld: Sequence[str] = ()
    """Conversations whose words pass on a decision that is not current any more."""
    degraded: str | None = None


async def answer(
    parts: Parts,
    tenant: str,
    borrower_id: str,
    asked: ContextAsked,
    fields: Sequence[str],
    after: Sequence[str | None] = (),
) -> dict[str, Any]:
    """The answer of API 10; `fields`: the members of the body as they were ordered; `after`: entries to wait for.

    Raises `UnknownBorrower`, `InvalidBody`, `NotYetMerged`.
    """
    now = parts.clock()
    asked = _in_the_past(asked, now)
    policy = parts.policies.for_tenant(tenant)
    is_readable = await _waited(parts, tenant, after)  # 1
    if policy.mode.get(asked.channel, "disabled") == "disabled":  # 2
        return _told(given(asked, now, fields), None, now, None)
    read = await _read(parts, tenant, borrower_id, policy, now) if is_readable else _UNREADABLE  # 3
    mode = policy.mode_for(asked.channel, read.known.borrower_id if read.known else borrower_id)
    if mode == "disabled":
        return _told(given(asked, now, fields), None, now, None)
    if mode == "enabled" and read.known is None and read.degraded is None:
        raise UnknownBorrower
    context, degraded = _assembled(asked, read, policy, now, tenant)  # 4
    if mode == "shadow":
        _compare(tenant, asked, context, read, degraded)
        return _told(given(asked, now, fields), None, now, None)
    version = read.known.version if read.known and degraded is None else None
    return _told(context if context is not None else given(asked, now, fields), version, now, degraded)


_UNREADABLE: Final = _Read(degraded="memory_unavailable")


async def _waited(parts: Parts, tenant: str, after: Sequence[str | None]) -> bool:
    """Whether what is stored can be read, which has the entries named; raises `NotYetMerged`."""
    try:
        if not await all_merged(parts, tenant, after):
            raise NotYetMerged
    except DatabaseUnavailable as fault:
        log.error("context.unreadable", tenant=tenant, fault=type(fault).__name__)
        return False
    return True


async def _read(parts: Parts, tenant: str, borrower_id: str, policy: Policy, now: datetime) -> _Read:
    def look(conn: Connection) -> tuple[records.Stored | None, list[StoredDecision]]:
        stored = records.stored(conn, tenant, records.resolve_id(conn, tenant, borrower_id))
        return stored, current_of(conn, tenant, stored.borrower_id, DECISIONS) if stored else []

    try:
        stored, decisions = await parts.database.read(look)
        if stored is None:
            return _Read()
        one = parts.reader.known(tenant, stored, policy, now)
        checked = await parts.database.read(lambda conn: rechecked(conn, tenant, one.state))
        return _Read(replace(one, state=checked.state), decisions, [id_ for id_, _ in checked.withheld])
    except (DatabaseUnavailable, UnreadableRecord) as fault:
        log.error("context.unreadable", tenant=tenant, fault=type(fault).__name__)
        return _UNREADABLE


def _assembled(
    asked: ContextAsked, read: _Read, policy: Policy, now: datetime, tenant: str
) -> tuple[Context | None, str | None]:
    """The prompt, and why there is no memory in it."""
    if read.known is not None:
        try:
            return assembled(asked, _memory(asked, read, read.known, now), now), None
        except Exception as fault:  # noqa: BLE001  # an agent in the middle of a turn is owed its prompt, whatever failed
            log.error("context.failed", tenant=tenant, fault=type(fault).__name__)
    try:
        turns, dropped = _turns(asked, now, policy.time_zone, ())
        context = assembled(asked, Memory((), turns, dropped, policy.time_zone), now)
    except Exception as fault:  # noqa: BLE001  # as above: then with what was given
        log.error("context.failed", tenant=tenant, fault=type(fault).__name__)
        return None, "memory_unavailable"
    return context, read.degraded or "memory_unavailable"


def _memory(asked: ContextAsked, read: _Read, one: Known, now: datetime) -> Memory:
    state, cycle = one.state, one.state.cycle_of(None)
    told = [
        Standing(Writer.DECISION, d.source, d.decision_id, worded(d, state.time_zone), d.decided_at, Volatility.EVENT)
        for d in read.decisions
    ]
    holds, withheld = standing(state, cycle, told)
    promise = cycle.promise
    promised = () if promise is None else (*promise.amount_candidates, *((promise.amount,) if promise.amount else ()))
    turns, unsaid = _turns(asked, now, state.time_zone, promised)
    stale = [Dropped("conversation", id_, None, "not_current") for id_ in read.withheld]
    return Memory(holds, turns, [*withheld, *stale, *unsaid], state.time_zone)


def _turns(
    asked: ContextAsked, now: datetime, zone: str, promised: Sequence[Any]
) -> tuple[Sequence[Any], list[Dropped]]:
    turns, unsaid = seen(asked.conversation, CHANNELS[asked.channel], now, zone, promised)
    return turns, [Dropped("system", str(place), None, "system") for place in unsaid]


def _told(context: Context, version: int | None, now: datetime, degraded: str | None) -> dict[str, Any]:
    return {
        "blocks": context.blocks,
        "dropped": context.dropped,
        "text": str(context.text),
        "record_version": version,
        "as_of": now,
        "degraded": degraded is not None,
        "degraded_reason": degraded,
    }


def _compare(tenant: str, asked: ContextAsked, context: Context | None, read: _Read, degraded: str | None) -> None:
    """How what is handed out in shadow differs from what would be: counts and reasons, never a word."""
    kinds = Counter(block.kind for block in context.blocks) if context else Counter()
    dropped = Counter(each.reason for each in context.dropped) if context else Counter()
    log.info(
        "context.shadow",
        tenant=tenant,
        channel=asked.channel,
        found=read.known is not None,
        degraded=degraded if read.known or read.degraded else None,
        added=kinds["fact"],
        withheld=sum(block.writer == Writer.WITHHELD for block in context.blocks) if context else 0,
        dropped=dict(dropped),
    )


def _in_the_past(asked: ContextAsked, now: datetime) -> ContextAsked:
    """Times of what has happened, as everywhere: those ahead count from now; raises `InvalidBody` for more than a day (API 1)."""
    wrong: list[FieldError] = []

    def clamped(at: datetime | None, field: str) -> datetime | None:
        if at is None or at <= now + CLOCK_TOLERANCE:
            return at
        if at > now + FUTURE_LIMIT:
            wrong.append(FieldError(field, "time_in_future"))
        return now

    readings: list[Reading] = [
        r.model_copy(update={"observed_at": clamped(r.observed_at, f"readings.{place}.observed_at")})
        for place, r in enumerate(asked.readings)
    ]
    turns: list[Turn] = [
        t.model_copy(
            update={
                "at": clamped(t.at, f"conversation.{place}.at"),
                "observed_at": clamped(t.observed_at, f"conversation.{place}.observed_at"),
            }
        )
        for place, t in enumerate(asked.conversation)
    ]
    if wrong:
        raise InvalidBody(wrong)
    return asked.model_copy(update={"readings": readings, "conversation": turns})
