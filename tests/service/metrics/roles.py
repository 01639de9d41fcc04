"""The metrics of every role, as its process has them: built as the commands build them, with nothing to be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from service import settings
from service.metrics.standing import GAUGES
from service.policy import Policies
from service.wiring.beside import beside
from service.wiring.embedded import embedded
from service.wiring.kafka import beside_kafka, writing
from service.wiring.proposing import proposing
from service.wiring.running import sweeper_of

NOBODY = {"BORROWER_MEMORY_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}


@dataclass(frozen=True)
class Metric:
    """One metric, under the name by which it is asked for."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...]


@cache
def roles() -> dict[str, dict[str, Metric]]:
    """By role, its metrics by name."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_roles(Path(folder)))


async def _roles(folder: Path) -> dict[str, dict[str, Metric]]:
    alone, kafka = settings.load({}, directory=folder), settings.load(NOBODY, directory=folder)
    found: dict[str, dict[str, Metric]] = {}
    async with AsyncExitStack() as stack:
        parts = await stack.enter_async_context(embedded(alone, Policies()))
        found["serve"] = _of(parts.registry)
    async with beside_kafka(kafka, Policies()) as parts:
        found["serve"] |= _of(parts.registry)
    async with writing(kafka, Policies()) as writer:
        found["writer"] = _of(writer.registry)
    async with proposing(alone, Policies()) as (proposer, _):
        found["proposer"] = _of(proposer.registry)
    async with beside(alone, Policies()) as parts, sweeper_of(parts):
        found["sweeper"] = _of(parts.registry)
    return found


def _of(registry: CollectorRegistry) -> dict[str, Metric]:
    return {metric.name: metric for metric in _each(registry)}


def _each(registry: CollectorRegistry) -> Iterator[Metric]:
    labels = {name: of for name, (_, of) in GAUGES.items()}
    for collector in registry._collector_to_names:
        if isinstance(collector, MetricWrapperBase):
            labels[collector._name] = tuple(collector._labelnames)
    for family in registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield Metric(name, family.type, family.documentation, labels[family.name])
