"""The measures of a roll-out, before and since each switch of a mode (DESIGN 16), counted from what is stored.

    connected        conversations with contact, and those that began and of which no report ever came
    with_summary     those of them of which a summary is merged
    resumed, cold    how conversations went that began from a granted start, and how all others did
    entered, ignored starts that were reported back, and those of them that were elsewhere than granted
    live_values      live values that a last look found among what holds: to be 0
    next_elsewhere   the days until the same borrower's next conversation on another channel

A conversation belongs to the time when it ended. At most `SUMMARIES` are read, the newest; `counted_from` says how far back they
reach when there are more, and nothing before it is counted. Functions of a connection; slow, for `read_slow`.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import fmean, median
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, select

from channels import CHANNELS
from service.audit import AUDIT
from service.live import ACTION as LIVE_FOUND
from service.modes import Switch
from service.tables import SUMMARY, Borrower, Journal, Resume, Started, table_of
from statemachine.stamps import UnreadableEntry

SUMMARIES: Final = 50_000
SECONDS_OF_A_DAY: Final = 86_400.0
CONTACT: Final = ("connected", "transferred")

_JOURNAL: Final = table_of(Journal)
_RESUME: Final = table_of(Resume)
_STARTED: Final = table_of(Started)
_BORROWER: Final = table_of(Borrower)


class _Turn(msgspec.Struct):
    speaker: str = ""


class _Promise(msgspec.Struct):
    status: str | None = None


class _Told(msgspec.Struct):
    """Of a summary as it was posted, what is counted."""

    outcome: str | None = None
    commitment: _Promise | None = None
    turns: list[_Turn] | None = None


_TOLD: Final = msgspec.json.Decoder(_Told)


@dataclass(slots=True)
class Conversation:
    """One conversation by its highest revision. Who it is of, where and when is told without its body."""

    channel: str
    borrower_id: str
    at: datetime
    revision: int
    is_contact: bool = False
    is_promise: bool = False


@dataclass(slots=True)
class Went:
    """How some conversations went."""

    conversations: int = 0
    connected: int = 0
    promises: int = 0

    def add(self, one: Conversation) -> None:
        self.conversations += 1
        self.connected += one.is_contact
        self.promises += one.is_promise

    def told(self) -> dict[str, Any]:
        shares = {"connected": self.connected, "promises": self.promises}
        return {
            "conversations": self.conversations,
            **shares,
            **{f"{name}_share": _share(count, self.conversations) for name, count in shares.items()},
        }


@dataclass(slots=True)
class Period:
    """One channel, from `start` (null: from the beginning) until before `end` (null: until now)."""

    mode: str | None
    start: datetime | None
    end: datetime | None
    connected: int = 0
    with_summary: int = 0
    resumed: Went = field(default_factory=Went)
    cold: Went = field(default_factory=Went)
    entered: int = 0
    ignored: int = 0
    live_values: int = 0
    days: list[float] = field(default_factory=list)

    def measures(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "from": self.start,
            "to": self.end,
            "connected": self.connected,
            "with_summary": self.with_summary,
            "with_summary_share": _share(self.with_summary, self.connected),
            "resumed": self.resumed.told(),
            "cold": self.cold.told(),
            "entered": self.entered,
            "ignored": self.ignored,
            "live_values": self.live_values,
            "next_elsewhere": {
                "conversations": len(self.days),
                "median_days": round(median(self.days), 2) if self.days else None,
                "mean_days": round(fmean(self.days), 2) if self.days else None,
            },
        }


def rollout(
    connection: Connection, tenant: str, noted: Mapping[str, Sequence[Switch]], missing_since: datetime
) -> dict[str, Any]:
    """`counted_from` and, for each channel, `channel mode since now switches`; each switch has `at from to before since`.

    `noted`: of each channel what was noted of its modes (`modes.switches`); `now` are the measures since the last switch.
    `missing_since`: when a conversation must have begun whose report is missing by now. Raises `UnreadableEntry`.
    """
    told, counted_from = _conversations(connection, tenant)
    periods = {channel: _periods(noted.get(channel, ())) for channel in CHANNELS}
    starts = _resumes(connection, tenant, counted_from)
    for (channel, conversation_id), one in told.items():
        period = _at(periods[channel], one.at)
        period.connected += one.is_contact
        period.with_summary += one.is_contact
        (period.resumed if starts.get((channel, conversation_id)) else period.cold).add(one)
    for channel, at in _unreported(connection, tenant, missing_since, counted_from):
        _at(periods[channel], at).connected += 1
    for channel, at, was_ignored in _entered(connection, tenant, counted_from):
        period = _at(periods[channel], at)
        period.entered += 1
        period.ignored += was_ignored
    for channel, at, found in _live(connection, tenant, counted_from):
        for of in [periods[channel]] if channel in periods else periods.values():
            _at(of, at).live_values += found
    for one, days in next_elsewhere(told.values()):
        _at(periods[one.channel], one.at).days.append(days)
    return {"counted_from": counted_from, "channels": [_channel(c, of) for c, of in periods.items()]}


# -- periods -------------------------------------------------------------------------------------------------------------


def _periods(noted: Sequence[Switch]) -> list[Period]:
    """What lies before the first note belongs to it: nobody knows of another mode."""
    if not noted:
        return [Period(None, None, None)]
    begins = [None, *(switch.at for switch in noted[1:])]
    ends = [*(switch.at for switch in noted[1:]), None]
    return [Period(switch.mode, start, end) for switch, start, end in zip(noted, begins, ends, strict=True)]


def _at(periods: Sequence[Period], at: datetime) -> Period:
    return periods[bisect.bisect_right([p.start for p in periods[1:] if p.start is not None], at)]


def _channel(channel: str, periods: Sequence[Period]) -> dict[str, Any]:
    last = periods[-1]
    return {
        "channel": channel,
        "mode": last.mode,
        "since": last.start,
        "now": last.measures(),
        "switches": [
            {
                "at": since.start,
                "from": before.mode,
                "to": since.mode,
                "before": before.measures(),
                "since": since.measures(),
            }
            for before, since in itertools.pairwise(periods)
        ],
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


# -- what is counted -----------------------------------------------------------------------------------------------------


def _conversations(connection: Connection, tenant: str) -> tuple[dict[tuple[str, str], Conversation], datetime | None]:
    """By channel and id, and since when all are there; null: since ever."""
    names = ("borrower_id", "channel", "conversation_id", "revision", "effective_at", "received_at", "body")
    wanted = select(*(_JOURNAL.c[name] for name in names)).where(
        _JOURNAL.c.tenant == tenant, _JOURNAL.c.type == SUMMARY
    )
    rows = connection.execute(wanted.order_by(_JOURNAL.c.received_at.desc()).limit(SUMMARIES + 1)).all()
    is_cut = len(rows) > SUMMARIES
    counted_from = rows[SUMMARIES - 1].received_at if is_cut else None
    found: dict[tuple[str, str], Conversation] = {}
    whose = _redirected(connection, tenant)
    for row in rows[:SUMMARIES]:
        if counted_from is not None and row.effective_at < counted_from:
            continue
        key, before = (row.channel, row.conversation_id), found.get((row.channel, row.conversation_id))
        if before is not None and before.revision >= row.revision:
            continue
        owner = whose.get(row.borrower_id, row.borrower_id)
        found[key] = Conversation(row.channel, owner, row.effective_at, row.revision, *went(row.body))
    return found, counted_from


def went(body: bytes) -> tuple[bool, bool]:
    """Whether a summary as it was posted tells of contact, and of contact with a promise. Raises `UnreadableEntry`."""
    try:
        told = _TOLD.decode(body)
    except msgspec.MsgspecError:
        raise UnreadableEntry("a summary in the journal is damaged") from None
    promised = told.commitment is not None and told.commitment.status != "none"
    spoke = any(turn.speaker == "borrower" for turn in told.turns or ())
    contact = told.outcome in CONTACT or (told.outcome is None and (promised or spoke))
    return contact, contact and promised


def _redirected(connection: Connection, tenant: str) -> dict[str, str]:
    wanted = select(_BORROWER.c.borrower_id, _BORROWER.c.redirected_to)
    rows = connection.execute(wanted.where(_BORROWER.c.tenant == tenant, _BORROWER.c.redirected_to.is_not(None)))
    return {row.borrower_id: row.redirected_to for row in rows}


def _resumes(connection: Connection, tenant: str, since: datetime | None) -> dict[tuple[str, str], bool]:
    its = [_RESUME.c.tenant == tenant, _RESUME.c.conversation_id.is_not(None)]
    if since is not None:
        its.append(_RESUME.c.at >= since - timedelta(days=1))
    return granted_starts(connection, *its)


def granted_starts(connection: Connection, *of: ColumnElement[bool]) -> dict[tuple[str, str], bool]:
    """Of conversations that told of it, by channel and id: whether they began from a start that was granted; of several
    starts the last counts."""
    names = ("at", "resume_id", "channel", "conversation_id", "mode", "source")
    rows = connection.execute(select(*(_RESUME.c[name] for name in names)).where(*of)).all()
    # Asked to sort, SQLite goes through all answers of a tenant in their order rather than to those of the conversations.
    return {
        (row.channel, row.conversation_id): row.mode == "enabled" and row.source != "cold_start" for row in sorted(rows)
    }


def _entered(connection: Connection, tenant: str, since: datetime | None) -> Iterable[tuple[str, datetime, bool]]:
    its = [_RESUME.c.tenant == tenant, _RESUME.c.entered_state.is_not(None)]
    if since is not None:
        its.append(_RESUME.c.at >= since)
    for row in connection.execute(select(_RESUME.c.channel, _RESUME.c.at, _RESUME.c.ignored).where(*its)):
        yield row.channel, row.at, row.ignored


def _unreported(
    connection: Connection, tenant: str, until: datetime, since: datetime | None
) -> Iterable[tuple[str, datetime]]:
    its = [_STARTED.c.tenant == tenant, _STARTED.c.started_at <= until]
    if since is not None:
        its.append(_STARTED.c.started_at >= since)
    for row in connection.execute(select(_STARTED.c.channel, _STARTED.c.started_at).where(*its)):
        yield row.channel, row.started_at


def _live(connection: Connection, tenant: str, since: datetime | None) -> Iterable[tuple[str, datetime, int]]:
    """Channel, which is none of ours for a read that is for none in particular; when; how many."""
    its = [AUDIT.c.tenant == tenant, AUDIT.c.action == LIVE_FOUND]
    if since is not None:
        its.append(AUDIT.c.at >= since)
    for row in connection.execute(select(AUDIT.c.at, AUDIT.c.detail).where(*its)):
        channel, _, found = row.detail.split(" ")
        yield channel, row.at, int(found)


C = TypeVar("C", bound=Conversation)


def next_elsewhere(told: Iterable[C]) -> Iterable[tuple[C, float]]:
    """Those after which the same borrower spoke on another channel, and in how many days."""
    of_each: dict[str, list[C]] = defaultdict(list)
    for one in told:
        of_each[one.borrower_id].append(one)
    for own in of_each.values():
        own.sort(key=lambda one: one.at)
        behind: dict[str, datetime] = {}
        for one in reversed(own):
            elsewhere = min((at for channel, at in behind.items() if channel != one.channel), default=None)
            if elsewhere is not None:
                yield one, (elsewhere - one.at).total_seconds() / SECONDS_OF_A_DAY
            behind[one.channel] = one.at
