"""How resumes are answered and whether the start was used, as metrics: the share of fallbacks (AC-74), starts ignored (AC-76).

An answer is counted when it is given; what needs a look at the store (a start that was used, what had been said on another
channel) when the answer is written. Since the process began, as `GET /v1/ops/stats` counts rows.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry
from sqlalchemy import Connection, func, select

from channels import CHANNELS
from service.metrics import Counter
from service.metrics.agents import Agents
from service.resuming.crossed import ELSEWHERE
from service.tables import Resume, table_of

if TYPE_CHECKING:
    from service.resuming.resumes import Entered, Kept

AT_ONCE: Final = 500
"""Answers looked at in one query."""
_RESUME: Final = table_of(Resume)


class Measures:
    """Of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._answers = Counter(
            "borrower_memory_resumes",
            "Answers of resume; fallback says why no caller's or model's proposal was used",
            ["channel", "mode", "source", "fallback", "degraded"],
            registry=registry,
        )
        self._refusals = Counter(
            "borrower_memory_refusals",
            "Proposals that the floor refused, by rule",
            ["channel", "rule"],
            registry=registry,
        )
        self._starts = Counter(
            "borrower_memory_starts",
            "Conversations that told where they started, and whether it was where they were told to",
            ["channel", "agent", "used"],
            registry=registry,
        )
        self._crossed = Counter(
            "borrower_memory_resumes_crossed",
            "Answers of resume that handed out what had been said on another channel",
            ["channel"],
            registry=registry,
        )
        self._lost = Counter(
            "borrower_memory_resumes_lost", "Answers of resume that could not be kept for ops", registry=registry
        )
        for channel in CHANNELS:
            self._crossed.labels(channel)
        self._agents = Agents()
        self._known: dict[tuple[str, ...], Any] = {}
        """By labels, what counts: looking them up takes longer than counting."""

    def answered(self, kept: Kept) -> None:
        labels = (kept.channel, kept.mode, kept.source, kept.fallback or "", "yes" if kept.degraded else "no")
        counted = self._known.get(labels)
        if counted is None:
            counted = self._known[labels] = self._answers.labels(*labels)
        counted.inc()
        for refusal in kept.refusals:
            self._refusals.labels(kept.channel, refusal.rule).inc()

    def entered(self, told: Entered, was_ignored: bool) -> None:
        self._starts.labels(told.channel, self._agents.label(told.agent), "no" if was_ignored else "yes").inc()

    def crossed(self, channel: str, count: int) -> None:
        self._crossed.labels(channel).inc(count)

    def lost(self, count: int) -> None:
        self._lost.inc(count)


def crossed(conn: Connection, answers: Sequence[Kept]) -> list[tuple[str, int]]:
    """By channel, of answers of any tenants, those that handed out what had been said on another channel before."""
    found = Tally[str]()
    for tenant in {answer.tenant for answer in answers}:
        own = [answer.resume_id for answer in answers if answer.tenant == tenant]
        its = (_RESUME.c.tenant == tenant, _RESUME.c.resume_id.in_(own))
        wanted = select(_RESUME.c.channel, func.count()).where(*its, ELSEWHERE).group_by(_RESUME.c.channel)
        for channel, count in conn.execute(wanted):
            found[channel] += count
    return sorted(found.items())
