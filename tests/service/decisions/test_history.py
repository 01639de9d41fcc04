"""A long random history of decisions, reports, checks, failures and restarts: what is told as current is what an oracle says.

Ten thousand steps where `DECISION_STEPS` says so; fewer while working and in CI.
"""

from __future__ import annotations

import os
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from service.decisions import changes, decisions
from statemachine.decisions import correction_key
from tests.service.api import Api, api
from tests.service.decisions.oracle import Oracle, Told
from tests.service.embedded import NOON

STEPS = int(os.environ.get("DECISION_STEPS", "100"))
STEPS_OF_ONE_PROCESS = 250
START = NOON + timedelta(days=1)
BORROWERS = ("B-1", "B-2", "B-3")
ENTITIES = ("", "LN-1", "LN-2")
SOURCES = ("offers", "rates", "quiet")
"""Of the last nobody reports anything."""
VERSIONS = ("v1", "v2", "v3", "v4")


class Crash(Exception):
    """In the middle of a transaction."""


class History:
    """One run of it. Minutes count back from the service's clock."""

    def __init__(self, chance: random.Random, oracle: Oracle, crashes: pytest.MonkeyPatch) -> None:
        self.chance = chance
        self.oracle = oracle
        self.crashes = crashes
        self.steps = 0
        self.bodies: dict[str, dict[str, Any]] = {}
        self.made = 0
        self.crashed = 0
        self.shown = 0
        self.refused = 0

    async def step(self, service: Api) -> None:
        self.steps += 1  # the clock goes on, so that of two at one instant the later is later
        service.behind.now = START + timedelta(milliseconds=self.steps)
        act = self.chance.choices(
            [self.decide, self.report, self.check, self.read, self.again, self.fail, self.pause, self.mend],
            [30, 14, 20, 20, 4, 6, 3, 3],
        )[0]
        await act(service)

    def _body(self, service: Api, told: Told) -> dict[str, Any]:
        body = {
            "decision_id": told.id, "borrower_id": told.borrower, "kind": told.kind, "conclusion": f"of {told.version}",
            "source": told.source, "source_version": told.version, "decided_at": service.ago(minutes=-told.decided),
        }  # fmt: skip
        return (
            body
            | ({"entity": told.entity} if told.entity else {})
            | ({"replaces": sorted(told.names)} if told.names else {})
        )

    def _another(self) -> Told:
        self.made += 1
        chance = self.chance
        borrower = chance.choice(BORROWERS)
        own = [id_ for id_, one in self.oracle.decisions.items() if one.borrower == borrower]
        names = frozenset(chance.sample(own, min(len(own), 2))) if chance.random() < 0.2 else frozenset()
        source = chance.choice(SOURCES)
        known = self.oracle.newest(source, "")
        version = known if known and chance.random() < 0.5 else chance.choice(VERSIONS)
        return Told(
            f"D-{self.made}", borrower, chance.choice("kl"), chance.choice(ENTITIES), source, version,
            -float(chance.randrange(60)), names,
        )  # fmt: skip

    async def decide(self, service: Api) -> None:
        told = self._another()
        body = self.bodies[told.id] = self._body(service, told)
        answer = await service.post("/v1/decisions", body)
        assert answer.status == 201, answer
        self.oracle.decide(told)
        assert (answer["status"] == "active") == (not told.is_dead), (answer, told)

    async def again(self, service: Api) -> None:
        """The same, posted once more, changes nothing."""
        if self.oracle.decisions:
            body = self.bodies[self.chance.choice(list(self.oracle.decisions))]
            assert (await service.post("/v1/decisions", body)).status == 200

    async def report(self, service: Api) -> None:
        source, entity = self.chance.choice(SOURCES[:2]), self.chance.choice(ENTITIES)
        version, minutes = self.chance.choice(VERSIONS), self.chance.randrange(60)
        body = {"source": source, "version": version, "observed_at": service.ago(minutes=minutes)}
        answer = await service.post("/v1/sources", body | ({"entity": entity} if entity else {}))
        assert answer.status == 200, answer
        assert answer["stale_decisions"] == self.oracle.report(source, entity, -float(minutes), version)

    async def check(self, service: Api) -> None:
        if not self.oracle.decisions:
            return
        told = self.chance.choice(list(self.oracle.decisions.values()))
        if told.source == "quiet":
            return
        named = told.version if self.chance.random() < 0.6 else self.chance.choice(VERSIONS)
        minutes = self.chance.choice([None, self.chance.randrange(60)])
        body = {"source_version": named} | ({} if minutes is None else {"observed_at": service.ago(minutes=minutes)})
        answer = await service.post(f"/v1/decisions/{told.id}/check", body)
        known = self.oracle.newest(told.source, told.entity)
        holds_only = minutes is None and named == told.version and known not in (None, named)
        if not holds_only:
            self.oracle.report(told.source, told.entity, -float(minutes or 0), named)
        assert answer.status == (200 if self.oracle.may_act(told.id, named) else 409), (answer, told, named)
        self.refused += answer.status == 409

    async def read(self, service: Api) -> None:
        for borrower in BORROWERS:
            path = f"/v1/borrowers/{borrower}/decisions?limit=200"
            cursor: str | None = ""
            items: list[dict[str, Any]] = []
            while cursor is not None:
                answer = await service.get(path + (f"&cursor={cursor}" if cursor else ""))
                if answer.status == 404:
                    break
                items += answer["items"]
                cursor = answer["next_cursor"]
            told = {item["decision_id"] for item in items}
            assert told == self.oracle.current(borrower)
            assert all(item["status"] == "active" for item in items)
            self.shown += len(told)
            briefing = (await service.get(f"/v1/borrowers/{borrower}/briefing")).document.get("text", "")
            worded = {line.partition("“")[0] for line in briefing.splitlines() if line.startswith("Decided on")}
            allowed = {(one.source, one.version) for one in self.oracle.decisions.values() if one.id in told}
            assert all(any(f"({s} {v}" in line for s, v in allowed) for line in worded), (worded, allowed)

    async def fail(self, service: Api) -> None:
        """A transaction that ends before it is committed: nothing of it is so."""
        left = self.chance.randrange(3)

        def crash(decision_id: str, version: str) -> str:
            nonlocal left
            left -= 1
            if left < 0:
                self.crashed += 1
                raise Crash
            return correction_key(decision_id, version)

        with self.crashes.context() as broken:
            broken.setattr(changes, "correction_key", crash)
            source, version, minutes = self.chance.choice(SOURCES[:2]), self.chance.choice(VERSIONS), 0
            body = {"source": source, "version": version, "observed_at": service.ago(minutes=minutes)}
            answer = await service.post("/v1/sources", body)
        if answer.status == 200:
            self.oracle.report(source, "", -float(minutes), version)
        await self.read(service)

    async def pause(self, service: Api) -> None:
        """The writer is away for a while; what is current does not wait for it."""
        if service.behind.writers:
            await service.behind.stop_writing()
        else:
            service.behind.write()

    async def mend(self, service: Api) -> None:
        assert await service.parts.decisions.corrections.mend_drift() == 0
        await service.parts.decisions.corrections.look_after()


@pytest.mark.timeout(3_600)
async def test_what_is_told_as_current_is_what_the_oracle_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "WAIT_SECONDS", 0.02)
    seed = int(os.environ.get("DECISION_SEED", "5"))
    history = History(random.Random(seed), Oracle(), monkeypatch)
    for start in range(0, STEPS, STEPS_OF_ONE_PROCESS):
        async with api(tmp_path) as service:  # each time a new process over what the last one left
            for _ in range(start, min(start + STEPS_OF_ONE_PROCESS, STEPS)):
                await history.step(service)
            await history.read(service)
            shown = service.parts.registry.get_sample_value(
                "borrower_memory_superseded_shown_as_current_total", {"read": "decisions"}
            )
            assert not shown
    assert history.shown > STEPS / 10, "the history has current decisions to show"
    assert history.refused > STEPS / 50
    assert history.crashed > STEPS / 500
