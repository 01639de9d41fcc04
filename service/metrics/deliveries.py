"""What was delivered and what became of it, as it happens (API 12; DESIGN 16).

    deliveries   everything that came, once: merged, a repeat, a conflict, or set aside. What is retried later is no delivery
    entries      what was merged into records, by type: what writers send each other too
    set_aside    what was put into that list, by reason

They count as `GET /v1/ops/stats` counts rows, since the process began; the rows are what counts after it has ended.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry

from service.metrics import Counter, harmless
from service.records import REASONS
from service.writer.batch import Batch, Item
from statemachine.stamps import INTERNAL_TYPES

MERGED, REPEAT, CONFLICT, ASIDE = BECAME = ("merged", "repeat", "conflict", "set_aside")
ID_CONFLICT: Final = "id_conflict"


class Deliveries:
    """Of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._became = Counter(
            "borrower_memory_deliveries", "What was delivered, by what became of it", ["became"], registry=registry
        )
        self._entries = Counter(
            "borrower_memory_entries", "Entries merged into records", ["type", "channel"], registry=registry
        )
        self._aside = Counter(
            "borrower_memory_set_aside", "What was set aside, by reason", ["reason"], registry=registry
        )
        for became in BECAME:
            self._became.labels(became)
        for reason in REASONS:
            self._aside.labels(reason)

    def repeated(self, count: int = 1) -> None:
        """An id that came again with the same body."""
        self._became.labels(REPEAT).inc(count)

    def conflicted(self) -> None:
        """An id that came again with another body."""
        self._became.labels(CONFLICT).inc()
        self._aside.labels(ID_CONFLICT).inc()

    def put_aside(self, reason: str) -> None:
        """What was kept and not merged."""
        self._became.labels(ASIDE).inc()
        self._aside.labels(reason).inc()

    def saved(self, batch: Batch) -> None:
        """A batch whose transaction is committed."""
        with harmless("borrower_memory_deliveries"):
            for item in batch.items:
                self._saved(batch, item)

    def _saved(self, batch: Batch, item: Item) -> None:
        """As `writer.saving.write` has stored it."""
        if item.fault is not None or (isinstance(item.first, Item) and item.first.fault is not None):
            if not item.is_listed:
                self.put_aside("cannot_merge" if item.opened else "unreadable")
            return
        is_internal = item.entry.type in INTERNAL_TYPES
        was_aside = item.entry.event_id in batch.asides.get(item.tenant, {})
        if item.is_merged:
            channel = getattr(item.entry.body, "channel", None) or ""
            self._entries.labels(item.entry.type, channel).inc()
            if not is_internal and not was_aside:
                self._became.labels(MERGED).inc()
        elif item.first is None or is_internal or item.is_echo:
            return
        elif item.is_conflict:
            self.conflicted()
        elif not was_aside:
            self.repeated()
