"""What `resume` answered, kept for ops: granted or refused and by which rule, and whether the start was used (AC-76).

Answers are kept in batches a moment later, so that keeping one costs its caller nothing. A conversation that reports back
where it really started settles whether its resume was ignored. Counting asks the batch to be written first.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry
from sqlalchemy import Connection, and_, case, false, func, insert, literal_column, not_, or_, select, true, update

from channels import CHANNELS
from service.database import DatabaseUnavailable, Store
from service.metrics.resumes import AT_ONCE, Measures, crossed
from service.prepared import Prepared
from service.resuming.crossed import CROSSED
from service.resuming.start import COLD
from service.tables import Resume, table_of
from statemachine.floor import Refusal

FLUSH_SECONDS = 0.2
ID_TIME_BYTES: Final = 6
"""Of milliseconds: enough for some thousand years."""
ID_PROCESS_BYTES: Final = 6
ID_COUNT_BYTES: Final = 3
WAITING_LIMIT = 50_000
"""Answers waiting to be written; beyond it the oldest are lost and counted, rather than the service."""

log = structlog.get_logger("service.resuming.resumes")
RESUME = table_of(Resume)
_ADD: Final = Prepared(insert(RESUME))
_NOT_ENTERED: Final = {"entered_state": None, "agent": None, "conversation_id": None, "ignored": False}


_IN_ORDER: Final = bytes.maketrans(
    (string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/").encode(),
    bytes(sorted((string.ascii_letters + string.digits + "-_").encode())),
)
"""Base64's signs in the order of what they stand for, of which all may stand in a URL."""


_PROCESS: Final = os.urandom(ID_PROCESS_BYTES)
_MADE: Final = itertools.count()


def new_id(now: datetime) -> str:
    """An id that nobody has: by its time, by the process that made it, and by how many that made before.

    Later ones sort behind it, so that those of one batch lie on the same few pages of the index.
    """
    count = next(_MADE) % (1 << 8 * ID_COUNT_BYTES)
    raw = int(now.timestamp() * 1000).to_bytes(ID_TIME_BYTES, "big") + _PROCESS + count.to_bytes(ID_COUNT_BYTES, "big")
    return f"r_{base64.b64encode(raw).translate(_IN_ORDER).decode()}"


class Kept(msgspec.Struct, frozen=True):
    """One answer as it is kept."""

    resume_id: str
    tenant: str
    borrower_id: str | None
    at: datetime
    channel: str
    direction: str
    loan_id: str | None
    position: str | None
    proposed: str | None
    proposed_by: str | None
    granted: str | None
    refusals: Sequence[Refusal]
    fallback: str | None
    source: str
    record_version: int | None
    mode: str
    degraded: bool
    flow_version: str | None = None
    latency_us: int | None = None
    """Microseconds from the request to its answer, a wait that was asked for included."""

    def row(self) -> dict[str, Any]:
        refusals = json.dumps([asdict(r) for r in self.refusals]) if self.refusals else "[]"
        return {**msgspec.structs.asdict(self), "refusals": refusals, **_NOT_ENTERED}


@dataclass(frozen=True, slots=True)
class Entered:
    """Where a conversation that came from a resume really started."""

    tenant: str
    resume_id: str
    channel: str
    conversation_id: str
    entered_state: str
    agent: str | None


class Resumes:
    """The answers kept, and those that wait to be."""

    def __init__(self, database: Store) -> None:
        self._database = database
        self._waiting: list[Kept | Entered] = []
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._measures: Measures | None = None
        self.lost = 0

    def measure(self, registry: CollectorRegistry) -> None:
        """From now on answers are also counted for metrics."""
        self._measures = Measures(registry)

    def keep(self, answer: Kept | Entered) -> None:
        """Keeps an answer, or where a conversation entered, a moment later."""
        if self._measures is not None and isinstance(answer, Kept):
            self._measures.answered(answer)
        if len(self._waiting) >= WAITING_LIMIT:
            self.lost += len(self._waiting)
            if self._measures is not None:
                self._measures.lost(len(self._waiting))
            self._waiting.clear()
            log.error("resumes.lost", lost=self.lost)
        self._waiting.append(answer)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._soon())

    async def _soon(self) -> None:
        await asyncio.sleep(FLUSH_SECONDS)
        with contextlib.suppress(DatabaseUnavailable):
            await self.flush()

    async def flush(self) -> None:
        """Writes what waits. Raises `DatabaseUnavailable`, and then keeps it for the next time."""
        async with self._writing:
            batch, self._waiting = self._waiting, []
            if not batch:
                return
            try:
                entered = await self._database.write(lambda conn: _write(conn, batch))
            except DatabaseUnavailable:
                self._waiting = batch + self._waiting
                raise
            if self._measures is not None:
                await self._measured(self._measures, batch, entered)

    async def _measured(
        self, measures: Measures, batch: Sequence[Kept | Entered], entered: Sequence[tuple[Entered, bool]]
    ) -> None:
        """What is only known now that the batch is written; an outage loses a count, and nothing else."""
        for told, was_ignored in entered:
            measures.entered(told, was_ignored)
        handed_out = [a for a in batch if isinstance(a, Kept) and a.mode == "enabled" and a.source != "cold_start"]
        with contextlib.suppress(DatabaseUnavailable):
            for start in range(0, len(handed_out), AT_ONCE):
                some = handed_out[start : start + AT_ONCE]
                for channel, count in await self._database.read_slow(lambda conn, of=some: crossed(conn, of)):  # type: ignore[misc]
                    measures.crossed(channel, count)


def _write(conn: Connection, batch: Sequence[Kept | Entered]) -> list[tuple[Entered, bool]]:
    """Writes the batch. Answers, of each start whose use is known only now, whether it was ignored."""
    rows = [a.row() for a in batch if isinstance(a, Kept)]
    if rows:
        _ADD.run_each(conn, rows)
    told = [(one, _enter(conn, one)) for one in batch if isinstance(one, Entered)]
    return [(one, was_ignored) for one, was_ignored in told if was_ignored is not None]


def _enter(conn: Connection, entered: Entered) -> bool | None:
    """Notes where the conversation began, and answers whether the start was ignored: one state was granted in an enabled mode,
    and it began in another (AC-76). None when there is no such start, or it was known before."""
    state = CHANNELS[entered.channel].flow.spelled(entered.entered_state)
    its = and_(RESUME.c.tenant == entered.tenant, RESUME.c.resume_id == entered.resume_id)
    columns = (RESUME.c.granted, RESUME.c.mode, RESUME.c.entered_state, RESUME.c.ignored)
    before = conn.execute(select(*columns).where(its)).first()
    if before is None:
        return None
    was_ignored = before.mode == "enabled" and (before.granted or "") != state
    conn.execute(
        update(RESUME)
        .where(its)
        .values(
            entered_state=state,
            agent=entered.agent,
            conversation_id=entered.conversation_id,
            ignored=was_ignored,
        )
    )
    return was_ignored if before.entered_state is None or (was_ignored and not before.ignored) else None


# -- for ops ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filter:
    """Of past answers, those that are all of this."""

    borrower_id: str | None = None
    rule: str | None = None
    fallback: str | None = None
    ignored: bool | None = None
    channel: str | None = None
    agent: str | None = None
    differs: bool | None = None
    """Whether shadow would have granted another start than the cold one that was handed out."""
    as_proposed: bool = False
    """Only those that were granted what was proposed."""
    degraded: bool = False
    """Only those that were answered without the memory."""
    crossed: bool = False
    """Only those that went on from another channel."""
    entered: bool = False
    """Only those of which it is known where the conversation started."""
    is_unnamed: bool = False
    """Only those whose agent did not say which it was."""
    granted: str | None = None
    """The state that was granted, or would have been; `NO_STATE` for none."""
    in_shadow: bool = False
    """Only those that were computed and not handed out."""
    since: datetime | None = None
    until: datetime | None = None


def page(
    conn: Connection, tenant: str, wanted: Filter, limit: int, before: tuple[datetime, str] | None
) -> list[dict[str, Any]]:
    """Past answers, newest first, from before a time and id."""
    where = [RESUME.c.tenant == tenant]
    if wanted.borrower_id is not None:
        where.append(RESUME.c.borrower_id == wanted.borrower_id)
    if wanted.rule is not None:
        where.append(RESUME.c.refusals != literal_column("'[]'"))  # the few of them have an index of their own
        where.append(RESUME.c.refusals.contains(json.dumps({"rule": wanted.rule})[:-1], autoescape=True))
    if wanted.fallback is not None:
        where.append(RESUME.c.fallback == wanted.fallback)
    if wanted.ignored is not None:
        where.append(RESUME.c.ignored == (true() if wanted.ignored else false()))
    if wanted.channel is not None:
        where.append(RESUME.c.channel == wanted.channel)
    if wanted.agent is not None:
        where.append(RESUME.c.agent == wanted.agent)
    if wanted.as_proposed:
        where.append(RESUME.c.source == literal_column("'classifier'"))
    if wanted.degraded:
        where.append(RESUME.c.degraded == true())
    if wanted.crossed:
        where.append(CROSSED)
    if wanted.entered:
        where.append(RESUME.c.entered_state.is_not(None))
    if wanted.is_unnamed:
        where.append(RESUME.c.agent.is_(None))
    if wanted.granted is not None:
        where.append(func.coalesce(RESUME.c.granted, literal_column(f"'{NO_STATE}'")) == wanted.granted)
    if wanted.in_shadow:
        where.append(_SHADOW)
    if wanted.since is not None:
        where.append(RESUME.c.at >= wanted.since)
    if wanted.until is not None:
        where.append(RESUME.c.at < wanted.until)
    if wanted.differs is not None:
        where.append(_DIFFERS if wanted.differs else and_(_SHADOW, not_(_DIFFERS)))
    if before is not None:
        at, resume_id = before
        where.append(or_(RESUME.c.at < at, and_(RESUME.c.at == at, RESUME.c.resume_id < resume_id)))
    order = (RESUME.c.at.desc(), RESUME.c.resume_id.desc())
    rows = conn.execute(select(RESUME).where(*where).order_by(*order).limit(limit)).mappings()
    return [{k: v for k, v in row.items() if k != "tenant"} | {"refusals": json.loads(row["refusals"])} for row in rows]


def counted(conn: Connection, tenant: str, start: datetime, end: datetime) -> dict[str, Any]:
    """How resumes were answered from `start` until before `end`."""
    where = (RESUME.c.tenant == tenant, RESUME.c.at >= start, RESUME.c.at < end)
    columns = (RESUME.c.refusals, RESUME.c.fallback, RESUME.c.degraded, RESUME.c.source)
    fallbacks: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    total = as_proposed = degraded = 0
    grouped = select(*columns, func.count()).where(*where).group_by(*columns)
    for told, fallback, was_degraded, source, n in conn.execute(grouped):
        rules = {r["rule"] for r in json.loads(told)}
        total += n
        degraded += n if was_degraded else 0
        as_proposed += n if source == "classifier" else 0
        if fallback:
            fallbacks[fallback] += n
        for rule in rules:
            refusals[rule] += n
    return {
        "total": total,
        "as_proposed": as_proposed,
        "fallbacks": dict(sorted(fallbacks.items())),
        "refusals": dict(sorted(refusals.items())),
        "degraded": degraded,
    }


def ignored(conn: Connection, tenant: str, start: datetime, end: datetime) -> int:
    where = (RESUME.c.tenant == tenant, RESUME.c.at >= start, RESUME.c.at < end, RESUME.c.ignored.is_(True))
    return int(conn.execute(select(func.count()).where(*where)).scalar_one())


def ignored_by(conn: Connection, tenant: str, start: datetime, end: datetime) -> list[dict[str, Any]]:
    """By channel and version of the agent: of how many conversations it is known where they started, and how many started
    elsewhere than they were told. The worst first, at most `GROUPS_LISTED`. Their cases are those of `Filter(ignored=True)`."""
    its = (RESUME.c.tenant == tenant, RESUME.c.at >= start, RESUME.c.at < end, RESUME.c.entered_state.is_not(None))
    missed = func.sum(case((RESUME.c.ignored.is_(True), 1), else_=0))
    grouped = select(RESUME.c.channel, RESUME.c.agent, func.count(), missed).where(*its)
    by = (RESUME.c.channel, RESUME.c.agent)
    rows = conn.execute(grouped.group_by(*by).order_by(missed.desc(), *by).limit(GROUPS_LISTED))
    return [{"channel": c, "agent": agent, "entered": int(n), "ignored": int(missed)} for c, agent, n, missed in rows]


def shadow(conn: Connection, tenant: str, start: datetime, end: datetime) -> list[dict[str, Any]]:
    """By channel in shadow: how many reads found a borrower, how many of them would have started elsewhere than at the cold
    start that was handed out, and in which states. Their cases are those of `Filter(differs=True)`."""
    its = (RESUME.c.tenant == tenant, RESUME.c.at >= start, RESUME.c.at < end, _SHADOW)
    grouped = select(RESUME.c.channel, RESUME.c.granted, func.count()).where(*its).group_by(
        RESUME.c.channel, RESUME.c.granted
    )  # fmt: skip
    granted: dict[str, Counter[str]] = {}
    for channel, state, n in conn.execute(grouped):
        granted.setdefault(channel, Counter())[state or NO_STATE] += n
    return [
        {
            "channel": channel,
            "resumes": of.total(),
            "different": of.total() - of[str(COLD.state)],
            "granted": dict(sorted(of.items())),
        }
        for channel, of in sorted(granted.items())
    ]


GROUPS_LISTED: Final = 50
NO_STATE: Final = "none"
_SHADOW: Final = and_(RESUME.c.mode == literal_column("'shadow'"), RESUME.c.position.is_not(None))
_DIFFERS: Final = and_(_SHADOW, func.coalesce(RESUME.c.granted, "") != COLD.state)
