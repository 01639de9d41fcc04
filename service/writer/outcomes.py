"""What became of each delivery, and where those wait who appended it in the writer's own process.

How it came about is not known here.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Literal

from service.intake.log import (
    Position,
)
from statemachine.stamps import (
    Warning,
)

OUTCOMES_KEPT: Final = 10_000  # told and not asked for, and asked for and not told


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one delivery. Of a duplicate: borrower, version and warnings of the first."""

    status: Literal["merged", "duplicate", "conflict", "set_aside"]
    event_id: str
    borrower_id: str
    record_version: int | None
    warnings: tuple[Warning, ...] = ()


class Outcomes:
    """Where those who appended in this process wait for what became of it.

    An outcome that nobody asked for yet is kept a while, because it may be known before the append is answered. One
    that waits for other entries (a link, for the evidence that it brings) is told with the last of them.
    """

    def __init__(self) -> None:
        self._expected: OrderedDict[Position, asyncio.Future[Outcome]] = OrderedDict()
        self._told: OrderedDict[Position, Outcome] = OrderedDict()
        self._behind: dict[Position, list[tuple[Position, Outcome]]] = {}

    def expect(self, position: Position) -> asyncio.Future[Outcome]:
        """Done when it is known. Whoever stops waiting cancels it, or just forgets it."""
        known = self._expected.get(position)
        if known is not None and not known.done():
            return known
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        told = self._told.get(position)
        if told is not None:
            future.set_result(told)
        else:
            self._expected[position] = future
            future.add_done_callback(lambda done: self._forget(position, done))
            if len(self._expected) > OUTCOMES_KEPT:  # of a partition that does not go on, nobody is waiting any more
                self._expected.popitem(last=False)
        return future

    def tell(self, position: Position, outcome: Outcome, after: Position | None = None) -> None:
        """At once, or with the outcome of another entry; with it also what waits for this one."""
        waiting = [*self._behind.pop(position, ()), (position, outcome)]
        if after is not None:
            self._behind.setdefault(after, []).extend(waiting)
            return
        for told, its in waiting:
            self._told[told] = its
            future = self._expected.pop(told, None)
            if future is not None and not future.done():
                future.set_result(its)
        while len(self._told) > OUTCOMES_KEPT:
            self._told.popitem(last=False)

    def _forget(self, position: Position, done: asyncio.Future[Outcome]) -> None:
        if self._expected.get(position) is done:
            del self._expected[position]
