"""Until every layer has answered: who keeps at corrections (DESIGN 12).

    record, proposals, open_conversations   answer with the transaction that merges the entry (`merging`)
    index           answers when it knows the record as the correction left it
    announcement    answers when it has reached its topic; at once where nobody listens
    the source      where it can be asked, has to answer too: until then the decision stays stale, and nothing replaces it

A correction is done when all have answered; what has not is tried again, later and later, by every process that runs this, for
as long as it takes. Each step is idempotent and noted once, so a crash, or two at once, change nothing.

It also looks for decisions that went on being called active beside a newer version, as when a report and a decision crossed:
no read tells them, and here they go stale.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog
from prometheus_client import CollectorRegistry
from sqlalchemy import Connection, Row

from service.database import DatabaseUnavailable, Store
from service.decisions import changes, rows
from service.decisions.changes import Acting
from service.decisions.reader import SourceReader, SourceUnreadable
from service.intake.durable import Intake
from service.intake.outbox import is_announced
from service.metrics import Counter, Gauge, Histogram
from service.policy import Policies
from service.secrets import Secrets
from statemachine.decisions import Seen, newest

POLL_SECONDS: Final = 1.0
AT_ONCE: Final = 50
DRIFT_SECONDS: Final = 5.0
"""So often it is looked for decisions that crossed a report."""
DRIFTED: Final = 200
AGAIN_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
AWAY_SECONDS: Final = 2.0
"""So long a source that could not be read is not asked again for another correction: many may wait for one source."""
AWAY_KEPT: Final = 1_000
CORRECTION_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3_600)
ON_THEIR_WAY: Final = frozenset({"record", "announcement"})
"""Layers that wait for the log and not for an answer: they are looked at often."""
RECONCILER: Final = "reconciler"

log = structlog.get_logger("service.corrections")


class IndexNotReady(Exception):
    """The index has not taken a correction; it is asked again."""


class Index(Protocol):
    """Whatever finds by words what a borrower's memory holds. What it thinks is a pre-filter: hits are checked all the same."""

    async def corrected(self, tenant: str, borrower_id: str, decision_id: str) -> None:
        """Returns when it has nothing of before the correction. Raises `IndexNotReady`, `DatabaseUnavailable`."""


class Measures:
    """What is counted of decisions."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.stale = Counter("borrower_memory_decisions_stale", "Decisions whose source moved on", registry=registry)
        self.reused = Counter(
            "borrower_memory_decision_reuse_attempts", "Checks of decisions that may not be used", registry=registry
        )
        self.shown = Counter(
            "borrower_memory_superseded_shown_as_current",
            "Decisions that a read of current ones found and that are not: withheld, and an alert at 1",
            ["read"],
            registry=registry,
        )
        self.missed = Counter(
            "borrower_memory_decision_changes_missed", "Conditional changes that touched no row", ["why"],
            registry=registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "borrower_memory_correction_seconds", "From stale to answered by every layer",
            buckets=CORRECTION_BUCKETS, registry=registry,
        )  # fmt: skip
        self.failed = Counter(
            "borrower_memory_correction_failures", "Layers that had not answered when asked", ["layer"],
            registry=registry,
        )  # fmt: skip
        self.open = Gauge("borrower_memory_corrections_open", "Corrections not done", registry=registry)
        self.oldest = Gauge(
            "borrower_memory_correction_oldest_seconds", "Age of the oldest that is not done", registry=registry
        )
        self.index_lag = Gauge(
            "borrower_memory_decision_index_lag_seconds", "How long the index owes an answer", registry=registry
        )

    def count(self, acting: Acting) -> None:
        """What a transaction has done."""
        self.stale.inc(len(acting.stale))
        for why in acting.missed:
            self.missed.labels(why).inc()


@dataclass(frozen=True, slots=True)
class Means:
    """What changes of decisions are made with."""

    database: Store
    intake: Intake
    secrets: Secrets
    policies: Policies
    clock: Callable[[], datetime]
    sources: SourceReader
    index: Index
    measures: Measures

    def acting(self, tenant: str, by: str) -> Acting:
        zone = self.policies.for_tenant(tenant).time_zone
        return Acting(tenant, by, self.clock(), zone, self.intake, self.secrets.keyed_hash)

    def committed(self, acting: Acting) -> None:
        """To be called when the transaction is: wakes the writer, and counts."""
        self.intake.appended(acting.positions)
        self.measures.count(acting)


class Corrections:
    """One of any number that keep at them. `run` it and `stop` it, or `settle` some."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._stopping = asyncio.Event()
        self._drift_at = 0.0
        self._troubled = ""
        self._away: dict[tuple[str, str], tuple[datetime, str]] = {}
        """By tenant and source, when it could not be read last, and why."""

    async def run(self) -> None:
        """Until `stop`."""
        while not self._stopping.is_set():
            try:
                taken = await self.look_after()
                await self._look_for_drift()
                self._troubled = ""
            except DatabaseUnavailable as why:
                self._troubled, taken = "waits for the database", 0
                log.warning("corrections.wait", why=type(why).__name__)
            except Exception as fault:  # noqa: BLE001 (a fault of ours must be seen, and not end what all corrections wait for)
                self._troubled, taken = f"a fault: {type(fault).__name__}", 0
                log.error("corrections.fault", fault=type(fault).__name__)
            if taken == AT_ONCE:
                continue  # there may be more
            try:
                async with asyncio.timeout(POLL_SECONDS):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def stop(self) -> None:
        """Ends after the corrections in hand."""
        self._stopping.set()

    def health(self) -> str:
        return self._troubled or "ok"

    async def look_after(self) -> int:
        """Moves on what is due, at most `AT_ONCE`; how many there were. Raises `DatabaseUnavailable`."""
        means, now = self._means, self._means.clock()
        due = await means.database.read(lambda c: rows.due(c, now, AT_ONCE))
        for tenant, correction_id in due:
            await self.move_on(tenant, correction_id)
        await self._measure()
        return len(due)

    async def _measure(self) -> None:
        now = self._means.clock()

        def look(conn: Connection) -> tuple[int, datetime | None, datetime | None]:
            return (*rows.pending(conn), rows.unindexed_since(conn))

        count, oldest, unindexed = await self._means.database.read(look)
        measures = self._means.measures
        measures.open.set(count)
        measures.oldest.set((now - oldest).total_seconds() if oldest else 0)
        measures.index_lag.set((now - unindexed).total_seconds() if unindexed else 0)

    # -- one correction

    async def move_on(self, tenant: str, correction_id: str) -> bool:
        """Asks the layers that have not answered; whether it is done now. Raises `DatabaseUnavailable`."""
        means = self._means
        found = await means.database.read(lambda c: rows.correction(c, tenant, correction_id))
        if found is None or found.status == "done":
            return True
        lacking = [layer for layer in rows.LAYERS if getattr(found, f"{layer}_at") is None]
        waits_for = await self._asked(found, lacking)
        needs_source = means.sources.can_read
        if not waits_for and needs_source and found.source_read_at is None:
            waits_for = await self._read_source(found)
        now = means.clock()
        if waits_for:
            layer = waits_for.partition(":")[0]
            is_on_its_way = layer in ON_THEIR_WAY
            if not is_on_its_way:
                means.measures.failed.labels(layer).inc()
            tries = 0 if is_on_its_way else found.tries
            again = now + timedelta(seconds=AGAIN_SECONDS[min(tries, len(AGAIN_SECONDS) - 1)])
            await means.database.write(lambda c: rows.put_off(c, tenant, correction_id, waits_for, again))
            return False
        is_done = await means.database.write(
            lambda c: rows.finish(c, tenant, correction_id, now, needs_source=needs_source)
        )
        if is_done:
            means.measures.seconds.observe((now - found.created_at).total_seconds())
            log.info("correction.done", tenant=tenant, correction=correction_id)
        return is_done

    async def _asked(self, found: Row[tuple[object, ...]], lacking: Sequence[str]) -> str:
        """What it still waits for, as `layer: why`; blank when all have answered."""
        means = self._means
        if "record" in lacking or "proposals" in lacking or "open_conversations" in lacking:
            return "record: not merged yet"
        waits_for = ""
        if "index" in lacking:
            try:
                await means.index.corrected(found.tenant, found.borrower_id, found.decision_id)
            except IndexNotReady as why:
                waits_for = f"index: {why}"
            except DatabaseUnavailable:
                raise
            except Exception as fault:  # noqa: BLE001 (an index that fails holds up its own answer, and nobody's report or check)
                log.error("correction.index_fault", tenant=found.tenant, fault=type(fault).__name__)
                waits_for = f"index: a fault, {type(fault).__name__}"
            else:
                await self._answered(found, "index")
        if "announcement" in lacking:
            of = (found.tenant, found.borrower_id, found.event_id)
            if await means.database.read(lambda c: is_announced(c, *of)):
                await self._answered(found, "announcement")
            else:
                waits_for = waits_for or "announcement: on its way"
        return waits_for

    async def _answered(self, found: Row[tuple[object, ...]], layer: str) -> None:
        now = self._means.clock()
        of = (found.tenant, found.correction_id)
        await self._means.database.write(lambda c: rows.answered(c, *of, layer, now))

    async def _read_source(self, found: Row[tuple[object, ...]]) -> str:
        """Asks the source itself; what it answers is a report like any other."""
        means, tenant, source, entity = self._means, found.tenant, found.source, found.entity
        asked_at = means.clock()
        known = self._away.get((tenant, source))
        if known is not None and asked_at - known[0] < timedelta(seconds=AWAY_SECONDS):
            return known[1]
        try:
            version = await means.sources.version(tenant, source, entity or None)
        except SourceUnreadable as why:
            if len(self._away) >= AWAY_KEPT:
                self._away.clear()
            self._away[tenant, source] = asked_at, f"source: {why}"
            return f"source: {why}"
        self._away.pop((tenant, source), None)
        acting = means.acting(tenant, RECONCILER)

        def take(conn: Connection) -> None:
            acting.begin()
            changes.see(conn, acting, source, entity, Seen(version, asked_at, acting.now))
            changes.outdate(conn, acting, source, entity)
            rows.answered(conn, tenant, found.correction_id, "source_read", acting.now)

        await means.database.write(take)
        means.committed(acting)
        return ""

    # -- what crossed a report

    async def _look_for_drift(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._drift_at and now - self._drift_at < DRIFT_SECONDS:
            return
        self._drift_at = now
        await self.mend_drift()

    async def mend_drift(self) -> int:
        """Makes stale what is called active beside a newer version; how many. Raises `DatabaseUnavailable`."""
        means = self._means
        found = await means.database.read_slow(lambda c: rows.drifted(c, DRIFTED))
        mended = 0
        for stored in found:
            acting = means.acting(stored.tenant, RECONCILER)

            def mend(conn: Connection, acting: Acting = acting, stored: rows.Stored = stored) -> None:
                acting.begin()
                seen = rows.seen(conn, stored.tenant, stored.source, stored.entity, lock=True)
                known = newest(seen.values())
                if known is not None and known.version != stored.source_version:
                    changes.go_stale(conn, acting, stored, known.version)

            await means.database.write(mend)
            means.committed(acting)
            mended += len(acting.stale)
        return mended
