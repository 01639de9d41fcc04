"""What a writer may have in hand, and how much of it may be refused before it stops.

What an entry means is not known here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from service.intake.log import Logged
from service.writer.batch import Batch, Item

BATCH_BYTES: Final = 4 << 20  # of one batch; a longer entry is one by itself
IN_HAND_BYTES: Final = 16 << 20  # of all partitions' batches together; as objects they are some ten times that
WINDOW_ENTRIES: Final = 100
REFUSED_ENTRIES: Final = 90  # of the window


class NearlyAllRefused(Exception):
    """Of the entries that this service stamped nearly none can be merged; the sentence says how many."""


class Refusals:
    """What became of a partition's last entries, of those that came from this service itself.

    One that cannot be merged is set aside, and the line goes on. When nearly none can be, it is this version that is
    broken and not they: to set aside a whole topic would be worse than to stop. What others wrote into the topic does not
    count, for it must stop nobody.
    """

    def __init__(self) -> None:
        self._last: deque[bool] = deque(maxlen=WINDOW_ENTRIES)

    def check(self, batch: Batch) -> None:
        """Before it is saved. Raises `NearlyAllRefused`."""
        window = deque(self._last, maxlen=WINDOW_ENTRIES)
        refused = sum(window)
        for item in _counted(batch):
            if len(window) == WINDOW_ENTRIES:
                refused -= window[0]
            window.append(item.fault is not None)
            refused += window[-1]
            if len(window) == WINDOW_ENTRIES and refused >= REFUSED_ENTRIES and item.fault is not None:
                raise NearlyAllRefused(
                    f"of {WINDOW_ENTRIES} entries {refused} cannot be merged, the last of them because of this: {item.fault}. It"
                    " is this version that is broken rather than they: nothing of this batch was set aside. Start one that"
                    " can merge them, and it goes on from here"
                )

    def saved(self, batch: Batch) -> None:
        self._last.extend(item.fault is not None for item in _counted(batch))


def _counted(batch: Batch) -> Iterator[Item]:
    """Those of this service, but what was set aside before and is only tried again."""
    for item in batch.items:
        if item.is_foreign:
            continue
        if item.opened is not None and batch.asides.get(item.tenant, {}).get(item.entry.event_id):
            continue
        yield item


def within(logged: Sequence[Logged], limit: int = BATCH_BYTES) -> Sequence[Logged]:
    """As many from the beginning as have no more bytes than that together, but one."""
    size = 0
    for count, one in enumerate(logged):
        size += len(one.value)
        if count and size > limit:
            return logged[:count]
    return logged


class Room:
    """Bytes that may be in hand at once."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._less = asyncio.Event()
        self.taken = 0

    @contextlib.asynccontextmanager
    async def of(self, size: int) -> AsyncIterator[None]:
        """When there is room for so many; for more than there ever is, when nobody else has any."""
        while self.taken and self.taken + size > self._limit:
            self._less.clear()
            await self._less.wait()
        self.taken += size
        try:
            yield
        finally:
            self.taken -= size
            self._less.set()
