"""Whether somebody may be contacted now, why not, and when next (DESIGN 10, 18; API 6).

Hours are read off the wall clock where the borrower is, so a change of summer time moves nothing. What is not known is not
allowed: a memory that cannot be read gives `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

from statemachine.state import BorrowerState

ATTEMPTS_WINDOW = timedelta(days=7)
_DAY_MINUTES = 24 * 60


class ContactPolicy(Protocol):
    """The hours as minutes of the day, the end exclusive, and the attempts in seven days (0: no limit)."""

    @property
    def contact_minutes(self) -> tuple[int, int]: ...
    @property
    def attempts_in_7_days(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Contact:
    """`reasons` are the codes of API 6; `next_allowed_at` is null when now is fine or no time is known."""

    allowed: bool
    reasons: tuple[str, ...]
    next_allowed_at: datetime | None
    time_zone: str


def unknown(zone: str) -> Contact:
    """Nobody can say: no contact (fails closed)."""
    return Contact(False, ("unknown",), None, zone)


def contact_of(
    state: BorrowerState, channel: str, loan_id: str | None, now: datetime, policy: ContactPolicy
) -> Contact:
    """May this borrower be contacted on this channel, about this loan?"""
    return weighed(
        state.time_zone,
        hold_ends=[hold.until for hold in state.holds_on(loan_id)],
        opted_out=state.opted_out(channel),
        attempts=[
            c.at
            for c in state.conversations
            if c.channel == channel and c.direction != "inbound" and now - ATTEMPTS_WINDOW < c.at <= now
        ],
        now=now,
        policy=policy,
    )


def contact_of_nobody(zone: str, now: datetime, policy: ContactPolicy) -> Contact:
    """Of somebody of whom nothing is known: the hours alone."""
    return weighed(zone, hold_ends=(), opted_out=False, attempts=(), now=now, policy=policy)


def strictest(contacts: Iterable[Contact]) -> Contact:
    """Of several borrowers that share an identifier: every reason of any of them, and no promise of a time."""
    contacts = list(contacts)
    reasons = tuple(dict.fromkeys(r for c in contacts for r in c.reasons))
    return Contact(not reasons, reasons, None, contacts[0].time_zone)


def weighed(
    zone: str,
    *,
    hold_ends: Iterable[datetime | None],
    opted_out: bool,
    attempts: Sequence[datetime],
    now: datetime,
    policy: ContactPolicy,
) -> Contact:
    """As `contact_of`, from what counts alone: when each hold ends (null: not by itself), and the attempts of the window."""
    reasons = []
    earliest: datetime | None = now
    for end in hold_ends:
        reasons.append("hold")
        earliest = max(earliest, end) if earliest and end else None
    if opted_out:
        reasons.append("opted_out")
        earliest = None
    limit = policy.attempts_in_7_days
    if limit and len(attempts) >= limit:
        reasons.append("attempts_exceeded")
        free_at = sorted(attempts)[len(attempts) - limit] + ATTEMPTS_WINDOW
        earliest = max(earliest, free_at) if earliest else None
    if not _within(now, zone, policy):
        reasons.append("outside_hours")
    ordered = tuple(r for r in ("outside_hours", "opted_out", "hold", "attempts_exceeded") if r in reasons)
    next_at = opening_after(earliest, zone, policy) if ordered and earliest else None
    return Contact(not ordered, ordered, next_at, zone)


def opening_after(at: datetime, zone: str, policy: ContactPolicy) -> datetime:
    """The first time from `at` on that lies within the contact hours, by the wall clock of the zone; in UTC."""
    if _within(at, zone, policy):
        return at
    start, _ = policy.contact_minutes
    local = at.astimezone(_zone(zone))
    opening = time(start // 60, start % 60)
    day = local.date() if local.time() < opening else local.date() + timedelta(days=1)
    opens = datetime.combine(day, opening, _zone(zone)).astimezone(UTC)
    if opens.astimezone(_zone(zone)).utcoffset() == local.utcoffset():
        return opens
    minute = at.replace(second=0, microsecond=0) + timedelta(minutes=1)
    while not _within(
        minute, zone, policy
    ):  # the clock is changed on the way: it may show the hours sooner, or twice, or not
        minute += timedelta(minutes=1)
    return minute


def _within(at: datetime, zone: str, policy: ContactPolicy) -> bool:
    start, end = policy.contact_minutes
    if (start, end) == (0, _DAY_MINUTES):
        return True
    local = at.astimezone(_zone(zone))
    return start <= local.hour * 60 + local.minute < end


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
