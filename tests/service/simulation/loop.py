"""An event loop whose time is counted and not waited for: the same seed takes the same steps.

It runs what is ready in its order, as every loop of asyncio does. When nothing is, its clock goes to the next timer at
once. So what decides which of two comes first is only how long each said that it sleeps, and that is drawn from the seed.
No thread, no socket, no clock of the machine.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

CLOCK_STEP_SECONDS = 0.01
"""By so much the clock that measures the work itself goes on each time it is asked, so that long work gives turns."""


class Stalled(Exception):
    """Nothing is ready and no timer is set: whoever still waits, waits for ever."""


class _CountedTask(asyncio.Task[Any]):
    """In a set of tasks their order is that in which they were made; else it would be that of their addresses."""

    def __init__(self, number: int, *work: Any, **how: Any) -> None:
        self.number = number
        super().__init__(*work, **how)

    def __hash__(self) -> int:
        return self.number


class SteppedLoop(asyncio.BaseEventLoop):
    def __init__(self) -> None:
        super().__init__()
        numbers = itertools.count()
        self.set_task_factory(lambda loop, work, **how: _CountedTask(next(numbers), work, loop=loop, **how))
        self.now = 0.0
        self.steps = 0
        """Moments at which something was ready."""
        self._selector = _Nothing(self)
        self._worked = 0.0

    def time(self) -> float:
        return self.now

    def worked(self) -> float:
        """Stands for `time.perf_counter`."""
        self._worked += CLOCK_STEP_SECONDS
        return self._worked

    def end(self) -> None:
        """What still runs is broken off, and the loop is closed."""
        while left := asyncio.all_tasks(self):
            for task in left:
                task.cancel()
            self.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self.close()

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""


class _Nothing:
    """What the loop would wait in."""

    def __init__(self, loop: SteppedLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stalled
        self._loop.steps += 1
        self._loop.now += max(timeout, 0.0)
        return []

    def close(self) -> None:
        """Nothing to close."""
