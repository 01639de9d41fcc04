"""Counters, gauges and histograms of Prometheus that never fail whoever counts (DESIGN 9).

A metric that throws loses its own count and nothing else: the request that was counted is answered, the entry is merged, the
body of a hook is read. That it throws is said once for each metric. `/metrics` itself may fail, which Prometheus sees.

What is counted is defined beside what does it, or here when several have a part in it:

    deliveries   what came in and what became of it
    standing     what the store holds at this moment, read when somebody asks

Labels have a bounded set of values and never a word, a number or a name of a borrower; a tenant is no label. The table of all
metrics is in `docs/metrics.md`. What is counted for whom, this file must not know.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, Self, cast

import prometheus_client
import structlog

PREFIX: Final = "borrower_memory_"

log = structlog.get_logger("service.metrics")


class Counter(prometheus_client.Counter):
    """As the library's."""

    def labels(self, *values: Any, **named: Any) -> Self:
        with harmless(self._name):
            return super().labels(*values, **named)
        return cast(Self, _NOTHING)

    def inc(self, amount: float = 1, exemplar: dict[str, str] | None = None) -> None:
        try:  # as `harmless`, which costs three times as much as the counting
            super().inc(amount, exemplar)
        except Exception as why:  # noqa: BLE001  # a metric that throws never fails a request
            _say_once(self._name, type(why).__name__)


class Gauge(prometheus_client.Gauge):
    """As the library's."""

    def labels(self, *values: Any, **named: Any) -> Self:
        with harmless(self._name):
            return super().labels(*values, **named)
        return cast(Self, _NOTHING)

    def set(self, value: float) -> None:
        with harmless(self._name):
            super().set(value)


class Histogram(prometheus_client.Histogram):
    """As the library's."""

    def labels(self, *values: Any, **named: Any) -> Self:
        with harmless(self._name):
            return super().labels(*values, **named)
        return cast(Self, _NOTHING)

    def observe(self, amount: float, exemplar: dict[str, str] | None = None) -> None:
        try:  # as `Counter.inc`
            super().observe(amount, exemplar)
        except Exception as why:  # noqa: BLE001  # a metric that throws never fails a request
            _say_once(self._name, type(why).__name__)


class _Nothing:
    """What is counted on when there is nothing to count with."""

    def inc(self, amount: float = 1) -> None:
        """It is lost."""

    set = observe = inc


_NOTHING: Final = _Nothing()


@contextlib.contextmanager
def harmless(name: str) -> Iterator[None]:
    """Whatever goes wrong while this is counted is nobody's failure."""
    try:
        yield
    except Exception as why:  # noqa: BLE001  # a metric that throws never fails a request
        _say_once(name, type(why).__name__)


@cache
def _say_once(name: str, why: str) -> None:
    log.error("metric.lost", metric=name, why=why)
