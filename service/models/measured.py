"""How models are asked, as metrics: how often, with what end, how long it took, and whether one rests.

Who asks is a label (`summariser`, `proposer`); what is asked and answered is not known here.
"""

from __future__ import annotations

from typing import Final, Literal

from prometheus_client import CollectorRegistry

from service.metrics import Counter, Gauge, Histogram

Outcome = Literal["answered", "timeout", "unavailable", "unreadable", "resting", "over_budget", "no_turn"]
"""The first four are the model's own, the reasons those of API 6; the rest are limits of ours, and nobody was asked."""
BUCKETS: Final = (0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20)


class Measures:
    """Of all models that one process asks."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "borrower_memory_model_calls", "Calls of a model by who asked and how it ended", ["asker", "outcome"],
            registry=registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "borrower_memory_model_seconds", "Time until a model answered or failed", ["asker"], buckets=BUCKETS,
            registry=registry,
        )  # fmt: skip
        self._resting = Gauge(
            "borrower_memory_model_resting", "1 while a model is not asked because it failed too often", ["asker"],
            registry=registry,
        )  # fmt: skip

    def of(self, asker: str) -> Asker:
        return Asker(self._calls, self._seconds, self._resting, asker)


class Asker:
    """Of one who asks."""

    def __init__(self, calls: Counter, seconds: Histogram, resting: Gauge, asker: str) -> None:
        self._calls = calls
        self._asker = asker
        self._seconds = seconds.labels(asker)
        self._resting = resting.labels(asker)

    def ended(self, outcome: Outcome, seconds: float | None = None) -> None:
        """`seconds`: of a model that was asked."""
        self._calls.labels(self._asker, outcome).inc()
        if seconds is not None:
            self._seconds.observe(seconds)

    def rests(self, is_resting: bool) -> None:
        self._resting.set(float(is_resting))
