"""What the overview counts, and for how long a count is shown again.

Counting a large tenant's journeys takes time that grows with them, and the page is loaded every thirty seconds by everybody
who has it open. So a count is kept for `REST` times as long as it took, at most a minute: a small tenant's is made anew each
time, and counting never takes more than a twentieth of anybody's time. While a count that was shown before is being made
anew, the one before is shown; the page says of when it is.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

REST: Final = 20
REST_LIMIT_SECONDS: Final = 60.0
WAIT_LIMIT_SECONDS: Final = 0.2
"""Nobody waits for a count that took longer than this, while there is one before it that is not too old."""
OLD_SECONDS: Final = 180.0
KEPT: Final = 1_000

V = TypeVar("V")


@dataclass(slots=True)
class _Counted(Generic[V]):
    value: V
    at: float
    took: float

    @property
    def until(self) -> float:
        return self.at + min(self.took * REST, REST_LIMIT_SECONDS)


class Counts(Generic[V]):
    """Counts by what they are of; each is made by one at a time."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._kept: OrderedDict[str, _Counted[V]] = OrderedDict()
        self._making: dict[str, asyncio.Task[V]] = {}

    async def of(self, name: str, make: Callable[[], Awaitable[V]]) -> V:
        """The count under this name. Raises what making it raises, for whoever waits for it."""
        kept, now = self._kept.get(name), self._monotonic()
        if kept is not None and now < kept.until:
            return kept.value
        if name not in self._making:
            self._making[name] = asyncio.ensure_future(self._made(name, make))
            self._making[name].add_done_callback(lambda task: task.cancelled() or task.exception())
        making = self._making[name]
        if kept is not None and kept.took > WAIT_LIMIT_SECONDS and now - kept.at < OLD_SECONDS:
            return kept.value
        return await asyncio.shield(making)

    async def _made(self, name: str, make: Callable[[], Awaitable[V]]) -> V:
        began = self._monotonic()
        try:
            value = await make()
            now = self._monotonic()
            self._kept[name] = _Counted(value, now, now - began)
            self._kept.move_to_end(name)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return value
        except BaseException:
            self._kept.pop(name, None)  # an outage is told, and not hidden behind what was counted before it
            raise
        finally:
            del self._making[name]
