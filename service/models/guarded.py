"""Limits around a model, so that a slow, silent or costly one harms nobody but itself.

    time        every call has a deadline, waiting for its turn included
    at once     so many calls at a time; the rest wait their turn within their own deadline
    an hour     a budget of calls in any hour; beyond it the model is `unavailable`
    a rest      after so many failures in a row nobody asks for a while; then one call tries, and the others go on after it

A refusal by one of these is `ModelFailed`, as a failure of the model is, and counts as none of its failures. While it rests the
reason is that of its last failure: a model that hangs is told as `timeout` however often it has hung (API 6).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from service.models.asking import Failure, Message, Model, ModelFailed
from service.models.measured import Asker, Outcome

CALLS_AT_ONCE: Final = 4
CALLS_IN_AN_HOUR: Final = 10_000
FAILURES_BEFORE_A_REST: Final = 5
REST_SECONDS: Final = 15.0
HOUR_SECONDS: Final = 3_600.0


class Guarded:
    """A model within limits. `calls` and `failures` count, for metrics."""

    def __init__(
        self,
        model: Model,
        *,
        at_once: int = CALLS_AT_ONCE,
        in_an_hour: int = CALLS_IN_AN_HOUR,
        failures: int = FAILURES_BEFORE_A_REST,
        rest_seconds: float = REST_SECONDS,
        measures: Asker | None = None,
    ) -> None:
        self._model = model
        self._turns = asyncio.Semaphore(at_once)
        self._in_an_hour = in_an_hour
        self._failures_allowed = failures
        self._rest_seconds = rest_seconds
        self._begun: deque[float] = deque()
        self._failed_in_a_row = 0
        self._last_failure: Failure = "unavailable"
        self._rests_until = 0.0
        self._trying = False
        self._measures = measures
        self.calls = 0
        self.failures = 0

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
        """As `Model.complete`; fails at once while it rests, and as `unavailable` once the hour's budget is used up."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        tries = self._admitted(loop.time())
        try:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._turns.acquire()
            except TimeoutError:
                self._ended("no_turn")
                raise ModelFailed("timeout", "too many calls are on their way") from None
            try:
                return await self._asked(messages, deadline - loop.time(), tokens, loop)
            finally:
                self._turns.release()
        finally:
            if tries:
                self._trying = False

    async def close(self) -> None:
        await self._model.close()

    def health(self) -> str:
        """`ok`, or that it rests."""
        return "rests after failures" if self._failed_in_a_row >= self._failures_allowed else "ok"

    def _admitted(self, now: float) -> bool:
        """Whether this call is the one that tries whether a rest was enough. Raises `ModelFailed` for one that must not be."""
        while self._begun and self._begun[0] <= now - HOUR_SECONDS:
            self._begun.popleft()
        if len(self._begun) >= self._in_an_hour:
            self._ended("over_budget")
            raise ModelFailed("unavailable", "the budget of calls of this hour is used up")
        tries = False
        if self._failed_in_a_row >= self._failures_allowed:
            if now < self._rests_until or self._trying:
                self._ended("resting")
                raise ModelFailed(self._last_failure, "it rests after failures")
            tries = self._trying = True
        self._begun.append(now)
        return tries

    async def _asked(
        self, messages: Sequence[Message], seconds: float, tokens: int, loop: asyncio.AbstractEventLoop
    ) -> str:
        self.calls += 1
        began = loop.time()
        try:
            answer = await self._model.complete(messages, seconds=max(seconds, 0.001), tokens=tokens)
        except ModelFailed as failed:
            self.failures += 1
            self._failed_in_a_row += 1
            self._last_failure = failed.reason
            self._rests_until = loop.time() + self._rest_seconds
            self._ended(failed.reason, loop.time() - began)
            raise
        self._failed_in_a_row = 0
        self._ended("answered", loop.time() - began)
        return answer

    def _ended(self, outcome: Outcome, seconds: float | None = None) -> None:
        if self._measures is not None:
            self._measures.ended(outcome, seconds)
            self._measures.rests(self._failed_in_a_row >= self._failures_allowed)
