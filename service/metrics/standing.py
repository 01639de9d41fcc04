"""How things stand, as gauges: read from the store when Prometheus asks, and not counted as it happens.

What these tell grows old by itself (the age of what waits) or is many processes' doing (the set-aside list), so it is looked up.
A look is used again for `REST` times as long as it took, so that a large store spends no more than a twentieth of its time
on it. What could not be read has no value at all: `borrower_memory_store_readable` and `borrower_memory_log_readable` say so,
and an outage never looks like a list that is empty.

Every `serve` tells the same of the one store they share: take the greatest, not the sum.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import structlog
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry
from sqlalchemy import Connection

from service.database import DatabaseUnavailable, Store
from service.intake.durable import Intake
from service.intake.log import Behind, LogChanged, LogUnavailable
from service.policy import Policies
from service.records import REASONS
from service.watching.standing import Standing, standing, table_lag

REST: Final = 20
REST_LIMIT_SECONDS: Final = 60.0
LOOK_LIMIT_SECONDS: Final = 5.0
"""For a look; Prometheus waits ten."""

log = structlog.get_logger("service.metrics")

Values = Iterable[tuple[tuple[str, ...], float]]
GAUGES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "borrower_memory_store_readable": ("1 while the database answers; without it most of these have no value", ()),
    "borrower_memory_log_readable": ("1 while the intake log says where it ends", ()),
    "borrower_memory_lag_entries": ("Accepted entries that are not merged yet", ("partition",)),
    "borrower_memory_oldest_unmerged_seconds": ("Age of the oldest of them", ("partition",)),
    "borrower_memory_partition_epoch": ("Grows each time a writer takes the partition", ("partition",)),
    "borrower_memory_partition_owners": ("Writers that took a partition last", ()),
    "borrower_memory_set_aside_open": ("What is set aside and waits for somebody, by reason", ("reason",)),
    "borrower_memory_missing_reports": ("Calls that began and of which no report has come", ()),
    "borrower_memory_chats_waiting": ("Chats of which a summary is due", ()),
    "borrower_memory_chats_waiting_seconds": ("How long the one that waits longest does", ()),
    "borrower_memory_hook_bodies_unread": ("Bodies of hooks that are stored and not read to their end", ()),
    "borrower_memory_outbox_entries": ("Rows of spool and outbox that Kafka does not have yet", ("topic",)),
    "borrower_memory_outbox_oldest_seconds": ("Age of the oldest of them", ("topic",)),
    "borrower_memory_policy_problems": ("Tenants, or the defaults, that a fault of the policy disables", ()),
}
"""Every gauge: what it tells, and its labels."""
TOPICS: Final = ("intake", "changes")


class StandingGauges(Collector):
    """Those of one process that serves. `look` before the registry is asked."""

    def __init__(
        self,
        database: Store,
        intake: Intake,
        policies: Policies,
        clock: Callable[[], datetime],
        registry: CollectorRegistry,
    ) -> None:
        self._database = database
        self._intake = intake
        self._policies = policies
        self._clock = clock
        self._values: dict[str, Values] = {}
        self._until = 0.0
        self._looking: asyncio.Task[None] | None = None
        registry.register(self)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        for name, (told, labels) in GAUGES.items():
            family = GaugeMetricFamily(name, told, labels=labels)
            for values, value in self._values.get(name, ()):
                family.add_metric(values, value)
            yield family

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return (GaugeMetricFamily(name, told, labels=labels) for name, (told, labels) in GAUGES.items())

    async def look(self) -> None:
        """Looks, unless it did just now; several who ask share one look. Never raises."""
        if time.monotonic() < self._until:
            return
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        await asyncio.shield(self._looking)

    async def _look(self) -> None:
        began = time.monotonic()
        now = self._clock()
        values: dict[str, Values] = {"borrower_memory_policy_problems": _one(len(self._policies.problems))}
        try:
            async with asyncio.timeout(LOOK_LIMIT_SECONDS):
                values |= await self._of_store(now)
                values |= await self._of_log(now)
        except (DatabaseUnavailable, TimeoutError) as why:
            values.setdefault("borrower_memory_store_readable", _one(0))
            values["borrower_memory_log_readable"] = _one(0)
            log.warning("standing.unreadable", why=type(why).__name__)
        except Exception as fault:  # noqa: BLE001  # a fault of ours must be seen, and not end what is counted otherwise
            values.setdefault("borrower_memory_store_readable", _one(0))
            log.error("standing.fault", fault=type(fault).__name__)
        self._values = values
        now_monotonic = time.monotonic()
        self._until = now_monotonic + min(REST * (now_monotonic - began), REST_LIMIT_SECONDS)

    async def _of_store(self, now: datetime) -> dict[str, Values]:
        def missing_since(tenant: str) -> datetime:
            return now - timedelta(minutes=self._policies.for_tenant(tenant).report_missing_minutes)

        found = await self._database.read_slow(lambda conn: standing(conn, now, self._intake.log_name, missing_since))
        return {"borrower_memory_store_readable": _one(1), **_told(found)}

    async def _of_log(self, now: datetime) -> dict[str, Values]:
        try:
            lag = await self._intake.lag(now)
        except (LogUnavailable, LogChanged):
            return {"borrower_memory_log_readable": _one(0)}
        if lag is None:

            def look(conn: Connection) -> Mapping[int, Behind]:
                return table_lag(conn, now)

            lag = await self._database.read_slow(look)
        return {
            "borrower_memory_log_readable": _one(1),
            "borrower_memory_lag_entries": [((str(p),), of.count) for p, of in sorted(lag.items())],
            "borrower_memory_oldest_unmerged_seconds": [
                ((str(p),), of.oldest_seconds) for p, of in sorted(lag.items())
            ],
        }


def _one(value: float) -> Values:
    return [((), value)]


def _told(found: Standing) -> dict[str, Values]:
    outbox = {topic: found.outbox.get(topic, Behind()) for topic in TOPICS}
    return {
        "borrower_memory_partition_epoch": [((str(p),), epoch) for p, epoch in sorted(found.partitions.items())],
        "borrower_memory_partition_owners": _one(found.owners),
        "borrower_memory_set_aside_open": [((reason,), found.set_aside.get(reason, 0)) for reason in REASONS],
        "borrower_memory_missing_reports": _one(found.missing_reports),
        "borrower_memory_chats_waiting": _one(found.chats.count),
        "borrower_memory_chats_waiting_seconds": _one(found.chats.oldest_seconds),
        "borrower_memory_hook_bodies_unread": _one(found.hook_bodies),
        "borrower_memory_outbox_entries": [((topic,), of.count) for topic, of in outbox.items()],
        "borrower_memory_outbox_oldest_seconds": [((topic,), of.oldest_seconds) for topic, of in outbox.items()],
    }
