"""A public generator of state conformance, `statebench`, adapted: is anything superseded shown as current, does anything leak?

Its timelines are of other trades than ours; what it tests is ours: values that replace each other under one key, readings that go
out of date, and statements of somebody else that are near. They are told to the service in a shuffled order and some twice, as
things arrive in the world:

    a write               a decision of its key's entity, at a version of its source; what supersedes it is of a later version
    an environment write  a reading, of this turn; what the conversation noted of it before is one of an earlier turn
    a restricted fact     the same of another borrower, whose id starts alike, or of the same id at another tenant

Then everything that shows a borrower's memory is asked for: context, briefing, decisions, facts, recall. Each statement bears a
mark of its own, so that nothing has to be guessed from its words. Beside it, over the same arrivals, two naive memories: one that
appends everything, and one in which the last write of a key wins; both know a borrower's id and no tenant.

Only the generator is used: no model is asked, so these figures are no entries of its leaderboard.
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog

from service.keys import SCOPES, create
from tests.service.api import Api, api
from tests.service.embedded import TENANT

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

SEEDS = (11, 23)
TIMELINES = int(os.environ.get("BENCH_TIMELINES", "8"))
"""Of each track and seed."""
TRACKS = (
    "supersession", "repair_propagation", "commitment_durability", "brutal_realistic", "cf_supersession",
    "environmental_freshness", "scope_permission", "enterprise_privacy", "cf_actor_isolation",
)  # fmt: skip
OTHER_TENANT = "another"
TWICE = 0.2
RESTRICTED = "[RESTRICTED"
TURN, EARLIER = "t-2", "t-1"


@dataclass(frozen=True)
class Statement:
    """`mark` stands in its text and nowhere else; `place`: how many statements of its key were before it."""

    mark: str
    tenant: str
    borrower: str
    key: str
    place: int
    text: str
    is_anothers: bool


@dataclass
class Story:
    """What is told of one borrower in one timeline, and what is asked."""

    borrower: str
    prompt: str
    statements: list[Statement] = field(default_factory=list)
    readings: list[dict[str, Any]] = field(default_factory=list)

    @property
    def own(self) -> list[Statement]:
        return [s for s in self.statements if not s.is_anothers]

    @property
    def current(self) -> set[str]:
        last = {s.key: s.mark for s in sorted(self.own, key=lambda s: s.place)}
        return set(last.values()) | {r["mark"] for r in self.readings if r["turn_id"] == TURN}

    @property
    def superseded(self) -> set[str]:
        return ({s.mark for s in self.own} | {r["mark"] for r in self.readings}) - self.current

    @property
    def others(self) -> set[str]:
        return {s.mark for s in self.statements} - {s.mark for s in self.own}


@dataclass
class Counted:
    """Over all stories: what was shown that must not be, and what was not that should."""

    superseded: int = 0
    leaked: int = 0
    missing: int = 0

    def add(self, story: Story, shown: str) -> None:
        self.superseded += sum(mark in shown for mark in story.superseded)
        self.leaked += sum(mark in shown for mark in story.others)
        self.missing += sum(mark not in shown for mark in story.current)


# -- from its timelines ---------------------------------------------------------------------------------------------------


def stories() -> Iterator[Story]:
    engine = pytest.importorskip(
        "statebench.generator.engine", reason="the generator is not installed: make setup-bench"
    )
    for seed in SEEDS:
        made = engine.TimelineGenerator(seed=seed)
        for track in TRACKS:
            for number, timeline in enumerate(made.generate_track(track, TIMELINES)):
                yield story_of(timeline, f"{track}-{seed}-{number}")


def story_of(timeline: Any, borrower: str) -> Story:
    (query, *_) = timeline.get_queries()
    story = Story(borrower, query.prompt)
    chains: dict[str, str] = {}
    for fact in timeline.initial_state.persistent_facts:
        tell(story, chains, fact.key, fact.id, fact.value, None)
    for event in timeline.events:
        for write in getattr(event, "writes", ()):
            if write.layer == "environment":
                note = next(e.text for e in timeline.events if e.type == "conversation_turn")
                read(story, note, EARLIER, minutes=-3)
                read(story, write.value, TURN, minutes=1)
            else:
                tell(story, chains, write.key, write.id, write.value, write.supersedes)
    if timeline.track == "enterprise_privacy":  # what it may not mention is said by somebody
        for number, phrase in enumerate(query.ground_truth.must_not_mention):
            tell(story, chains, f"secret_{number}", "", f"{RESTRICTED}] {getattr(phrase, 'phrase', phrase)}", None)
    return story


def tell(story: Story, chains: dict[str, str], key: str, id_: str, value: str, supersedes: str | None) -> None:
    """A statement of its key, or of the key that it supersedes, named by key or by id."""
    root = chains.get(supersedes or "", chains.get(key, key))
    chains[key] = chains[id_ or key] = root
    mark = f"<{story.borrower}#{len(story.statements)}>"
    tenant, borrower = TENANT, story.borrower
    if value.startswith(RESTRICTED):
        odd = len(story.statements) % 2
        tenant, borrower = (OTHER_TENANT, borrower) if odd else (TENANT, f"{borrower}0")
    place = sum(s.key == root for s in story.statements)
    story.statements.append(
        Statement(mark, tenant, borrower, root, place, f"{mark} {value}", value.startswith(RESTRICTED))
    )


def read(story: Story, text: str, turn: str, minutes: int) -> None:
    mark = f"<{story.borrower}@{len(story.readings)}>"
    story.readings.append({"mark": mark, "turn_id": turn, "text": f"{mark} {text}", "minutes": minutes})


# -- the service ----------------------------------------------------------------------------------------------------------


class Ours:
    """Told and asked through the API."""

    def __init__(self, service: Api, other_key: str) -> None:
        self._service = service
        self._headers = {"Authorization": f"Bearer {other_key}", "Content-Type": "application/json"}

    async def tell(self, s: Statement) -> None:
        service = self._service
        decision = {
            "decision_id": f"{s.borrower}:{s.key}:{s.place}", "borrower_id": s.borrower, "kind": "statement",
            "conclusion": s.text,
            "source": "statebench", "source_version": f"v{s.place}", "entity": f"{s.borrower}:{s.key}",
            "decided_at": (service.now - timedelta(hours=90) + timedelta(minutes=s.place)).isoformat(),
        }  # fmt: skip
        await self._posted("/v1/decisions", decision, s.tenant)
        fact = {
            "event_id": f"e:{s.mark}", "type": "fact.stated", "kind": "complaint", "text": s.text,
            "borrower_id": s.borrower, "occurred_at": service.ago(hours=95),
        }  # fmt: skip
        if s.is_anothers:  # what nobody replaces is told as a fact as well
            await self._posted("/v1/events", fact, s.tenant)

    async def _posted(self, path: str, body: dict[str, Any], tenant: str) -> None:
        headers = None if tenant == TENANT else self._headers
        answer = await self._service.client.post(path, content=json.dumps(body), headers=headers)
        assert answer.status_code in (200, 201), answer.text

    async def shown(self, story: Story) -> str:
        """Everything that is shown of the borrower as true now. A borrower of whom nothing is known is a stranger."""
        service, path = self._service, f"/v1/borrowers/{story.borrower}"
        if not story.own:
            await service.told(story.borrower)
        readings = [
            {
                "source": "environment",
                "turn_id": r["turn_id"],
                "text": r["text"],
                "observed_at": service.ago(minutes=r["minutes"]),
            }
            for r in story.readings
        ]
        asked = {"channel": "voice", "turn_id": TURN, "question": story.prompt, "readings": readings}
        context = await service.post(f"{path}/context", asked)
        assert (context.status, context["degraded"]) == (200, False), context
        told = [context["text"]]
        for what in ("/briefing?channel=voice", "/decisions?purpose=current", "/facts?limit=200"):
            told.append(json.dumps((await service.get(path + what)).document, ensure_ascii=False))
        for query in (story.prompt, *{s.text for s in story.statements}):
            found = await service.post(f"{path}/recall", {"query": query[:400], "purpose": "current", "limit": 20})
            assert found.status == 200, found
            told.append(json.dumps(found.document, ensure_ascii=False))
        return "\n".join(told)


# -- naive memories --------------------------------------------------------------------------------------------------------


class AppendEverything:
    """All that was ever told of an id stands in the prompt."""

    def __init__(self) -> None:
        self._told: dict[str, list[str]] = defaultdict(list)

    def tell(self, borrower: str, key: str, text: str) -> None:
        self._told[borrower].append(text)

    def shown(self, borrower: str) -> str:
        return "\n".join(self._told[borrower])


class LastWriteWins:
    """Of each key of an id what was told last."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, str]] = defaultdict(dict)

    def tell(self, borrower: str, key: str, text: str) -> None:
        self._told[borrower][key] = text

    def shown(self, borrower: str) -> str:
        return "\n".join(self._told[borrower].values())


@pytest.fixture
def quiet() -> Iterator[None]:
    """What the service logs would stand between the figures."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.configure(**before)


# -- the benchmark ---------------------------------------------------------------------------------------------------------


async def test_nothing_superseded_is_shown_as_current_and_nothing_leaks(tmp_path: Path, quiet: None) -> None:
    told = list(stories())
    chance = random.Random(7)
    naive = {"append everything": AppendEverything(), "last write wins": LastWriteWins()}
    counted = {name: Counted() for name in ("ours", *naive)}
    async with api(tmp_path) as service:
        other_key, _ = await service.behind.database.write(lambda c: create(c, OTHER_TENANT, SCOPES, service.now))
        ours = Ours(service, other_key)
        for story in told:
            arriving = [s for s in story.statements for _ in range(1 + (chance.random() < TWICE))]
            chance.shuffle(arriving)
            for s in arriving:
                await ours.tell(s)
                for memory in naive.values():
                    memory.tell(s.borrower, s.key, s.text)
            chance.shuffle(story.readings)
            for r in story.readings:
                for memory in naive.values():
                    memory.tell(story.borrower, "environment", r["text"])
        for story in told:
            counted["ours"].add(story, await ours.shown(story))
            for name, memory in naive.items():
                counted[name].add(story, memory.shown(story.borrower))
    superseded, others = (
        sum(len(marks) for marks in each) for each in ([s.superseded for s in told], [s.others for s in told])
    )
    current = sum(len(s.current) for s in told)
    print(f"\n{len(told)} timelines: {current} current values, {superseded} superseded, {others} of somebody else")  # noqa: T201
    print(f"{'':20}{'superseded shown':>18}{'leaked':>10}{'current missing':>18}")  # noqa: T201
    for name, count in counted.items():
        print(f"{name:20}{count.superseded:>18}{count.leaked:>10}{count.missing:>18}")  # noqa: T201
    assert min(current, superseded, others) >= len(SEEDS) * TIMELINES, "the timelines test something"
    assert counted["ours"] == Counted(0, 0, 0)
    assert counted["append everything"].superseded == superseded
    assert counted["last write wins"].superseded > 0
    assert min(counted[name].leaked for name in naive) > 0
