"""A long random history over HTTP and MCP: decisions, versions reported and checked, processes killed in the middle.

Two look on. One, in front, knows between any two steps which decisions are current by an oracle of its own, and compares. The
other reads all the while, through every way by which a decision could leave, and is told no decision that was dead before it
asked. A call whose process was killed is sent again, as whoever lost an answer would do.

Ten thousand steps where `DECISION_STEPS` says so; fewer while working and in CI.
"""

from __future__ import annotations

import os
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.service.decisions.oracle import Oracle, Told
from tests.together.decisions.world import World
from tests.together.fleet import Fleet

pytestmark = [pytest.mark.process, pytest.mark.timeout(4 * 3_600)]

STEPS = int(os.environ.get("DECISION_STEPS", "60"))
SEED = int(os.environ.get("DECISION_SEED", "7"))
KILLED_EVERY = min(100, STEPS // 3)
BORROWERS = tuple(f"B-{n}" for n in range(8))
SOURCES = ("offers", "rates", "quiet")
"""Of the last nobody reports anything."""
ENTITIES = ("", "LN-1", "LN-2")
VERSIONS = ("v1", "v2", "v3", "v4")
SPAN_SECONDS = 3_000
ABLE_SECONDS = 60
LOOKS_A_STEP = 5
"""So often at least who looks on has looked between two steps, however slow the machine is."""
NAMED = re.compile(r"waiver of (D-\d+)")
"""As its conclusion says it; that a current one names another that it replaced tells nothing of that one."""
Json = dict[str, Any]


class Calls:
    """HTTP to the process that runs now, by the key of its tenant."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._client = httpx.Client()
        self._url = ""

    def __call__(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        if self._url != self._world.service.url:
            self._client.close()
            self._url = self._world.service.url
            headers = {"Authorization": f"Bearer {self._world.key}", "Accept": "application/json, text/event-stream"}
            self._client = httpx.Client(base_url=self._url, headers=headers, timeout=30)
        return self._client.request(method, path, json=body)


def _tool(name: str, **arguments: Any) -> tuple[str, str, Json]:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return "POST", "/mcp", call


READS: dict[str, Callable[[str], tuple[str, str, Json | None]]] = {
    "decisions": lambda b: ("GET", f"/v1/borrowers/{b}/decisions?limit=200", None),
    "briefing": lambda b: ("GET", f"/v1/borrowers/{b}/briefing?channel=voice", None),
    "resume": lambda b: ("POST", "/v1/resume", {"channel": "whatsapp", "borrower_id": b}),
    "recall": lambda b: ("POST", f"/v1/borrowers/{b}/recall", {"query": "waiver told", "limit": 50}),
    "context": lambda b: (
        "POST", f"/v1/borrowers/{b}/context", {"channel": "voice", "turn_id": "t-1", "question": "Which waiver?"},
    ),
    "search": lambda b: ("POST", "/v1/search", {"query": "waiver told", "limit": 50}),
    "tool get_decisions": lambda b: _tool("get_decisions", borrower_id=b),
    "tool get_briefing": lambda b: _tool("get_briefing", borrower_id=b),
    "tool recall": lambda b: _tool("recall", borrower_id=b, query="waiver told", limit=50),
}  # fmt: skip
"""By name, how each way is asked by which a decision could leave as current."""


class Watcher(threading.Thread):
    """Reads all the while. What it is told is compared with who was dead before it asked."""

    def __init__(self, world: World, oracle: Oracle, seed: int) -> None:
        super().__init__(daemon=True)
        self._calls, self._oracle, self._chance = Calls(world), oracle, random.Random(seed)
        self.ended = threading.Event()
        self.wrong: list[str] = []
        self.told = Counter[str]()
        self.looks = 0

    def has_looked(self, times: int) -> None:
        """Waits until it has looked so often in all."""
        end = time.monotonic() + ABLE_SECONDS
        while self.looks < times and self.is_alive():
            assert time.monotonic() < end, "who looks on is answered nothing"
            time.sleep(0.005)

    def run(self) -> None:
        while not self.ended.is_set():
            name, borrower = self._chance.choice(list(READS)), self._chance.choice(BORROWERS)
            buried = {one.id for one in list(self._oracle.decisions.values()) if one.is_dead}
            try:
                answer = self._calls(*READS[name](borrower))
            except httpx.HTTPError:  # its process was killed
                self.ended.wait(0.05)
                continue
            if answer.status_code == 200:
                self._compare(name, set(NAMED.findall(answer.text)), buried)
            elif answer.status_code not in (404, 503):
                self.wrong.append(f"{name}: {answer.status_code} {answer.text}")
            self.looks += 1
            self.ended.wait(0.01)

    def _compare(self, name: str, told: set[str], buried: set[str]) -> None:
        self.told[name] += len(told)
        if dead := told & buried:
            self.wrong.append(f"{name} tells {sorted(dead)}")


class History:
    """One run of it."""

    def __init__(self, world: World) -> None:
        self.world, self.oracle, self.chance = world, Oracle(), random.Random(SEED)
        self.calls = Calls(world)
        self.base = datetime.now(UTC) - timedelta(seconds=2 * SPAN_SECONDS)
        self.bodies: dict[str, Json] = {}
        self.steps = self.killed = self.shown = self.refused = 0
        self.spared_until = KILLED_EVERY

    def at(self, second: float) -> str:
        return (self.base + timedelta(seconds=second)).isoformat()

    def step(self) -> None:
        self.steps += 1
        acts = {self.decide: 30, self.report: 14, self.check: 20, self.read: 20, self.again: 4, self.pass_on: 8}
        self.chance.choices(list(acts), list(acts.values()))[0]()

    # -- calls that a crash may take the answer of

    def send(self, path: str, body: Json) -> tuple[httpx.Response, bool]:
        """The answer, and whether somebody was killed meanwhile; then it is the answer to the second time it was sent."""
        if self.steps < self.spared_until:
            return self.calls("POST", path, body), False
        self.spared_until += KILLED_EVERY
        self.killed += 1
        delay, lost = self.chance.uniform(0, 0.05), []
        calls = Calls(self.world)

        def once() -> None:
            try:
                calls("POST", path, body)
            except httpx.HTTPError as why:
                lost.append(why)

        sending = threading.Thread(target=once)
        sending.start()
        time.sleep(delay)
        if isinstance(self.world.service, Fleet) and self.killed % 2:
            self.world.kill_writer()
            self.world.start_writer()
        else:
            self.world.service.kill()
            self.world.service.start()
        sending.join()
        return self._able("POST", path, body), True

    def _able(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        """Once the processes are up again."""
        end = time.monotonic() + ABLE_SECONDS
        while (answer := self.calls(method, path, body)).status_code == 503:
            assert time.monotonic() < end, answer.text
            time.sleep(0.05)
        return answer

    # -- steps

    def _another(self) -> Told:
        chance, borrower = self.chance, self.chance.choice(BORROWERS)
        own = [id_ for id_, one in self.oracle.living.items() if one.borrower == borrower]
        names = frozenset(chance.sample(own, min(len(own), 2))) if chance.random() < 0.2 else frozenset()
        source = chance.choice(SOURCES)
        known = self.oracle.newest(source, "")
        version = known if known and chance.random() < 0.5 else chance.choice(VERSIONS)
        place = len(self.oracle.decisions) + 1
        decided = float(chance.randrange(SPAN_SECONDS))
        return Told(
            f"D-{place}", borrower, chance.choice("kl"), chance.choice(ENTITIES), source, version, decided, names
        )

    def decide(self) -> None:
        told = self._another()
        body: Json = {
            "decision_id": told.id, "borrower_id": told.borrower, "kind": told.kind, "source": told.source,
            "source_version": told.version, "decided_at": self.at(told.decided), "conclusion": f"the waiver of {told.id}",
        }  # fmt: skip
        body |= {"entity": told.entity} if told.entity else {}
        body |= {"replaces": sorted(told.names)} if told.names else {}
        answer, again = self.send("/v1/decisions", body)
        assert answer.status_code in ((200, 201) if again else (201,)), answer.text
        self.bodies[told.id] = body
        self.oracle.decide(told)
        assert (answer.json()["status"] == "active") == (not told.is_dead), (answer.text, told)

    def again(self) -> None:
        """The same, posted once more, changes nothing; another body is refused and changes nothing either."""
        if self.bodies:
            body = self.bodies[self.chance.choice(list(self.bodies))]
            assert self.send("/v1/decisions", body)[0].status_code == 200
            refused, _ = self.send("/v1/decisions", body | {"conclusion": "the other way round"})
            assert (refused.status_code, refused.json()["code"]) == (409, "id_conflict")

    def report(self) -> None:
        source, entity = self.chance.choice(SOURCES[:2]), self.chance.choice(ENTITIES)
        version, second = self.chance.choice(VERSIONS), self.chance.randrange(SPAN_SECONDS)
        body = {"source": source, "version": version, "observed_at": self.at(second)}
        answer, again = self.send("/v1/sources", body | ({"entity": entity} if entity else {}))
        assert answer.status_code == 200, answer.text
        count = self.oracle.report(source, entity, float(second), version)
        assert answer.json()["stale_decisions"] == count or again, (answer.text, count)

    def check(self) -> None:
        known = [one for one in self.oracle.decisions.values() if one.source != "quiet"]
        if not known:
            return
        told = self.chance.choice(known[-60:])
        named = told.version if self.chance.random() < 0.6 else self.chance.choice(VERSIONS)
        second = self.chance.choice([None, float(self.chance.randrange(SPAN_SECONDS))])
        body = {"source_version": named} | ({} if second is None else {"observed_at": self.at(second)})
        answer, _ = self.send(f"/v1/decisions/{told.id}/check", body)
        newest = self.oracle.newest(told.source, told.entity)
        holds_only = second is None and named == told.version and newest not in (None, named)
        if not holds_only:
            now = (datetime.now(UTC) - self.base).total_seconds()
            self.oracle.report(told.source, told.entity, now if second is None else second, named)
        assert answer.status_code == (200 if self.oracle.may_act(told.id, named) else 409), (answer.text, told, named)
        self.refused += answer.status_code == 409

    def pass_on(self) -> None:
        """A conversation in which an agent told of a decision, with where it has it from; mostly of one that may be told."""
        of = self.oracle.living if self.chance.random() < 0.8 else self.oracle.decisions
        if not of:
            return
        one = self.chance.choice(list(of.values()))
        claim = {"decision_id": one.id, "entity": one.entity or None, "source": one.source, "version": one.version}
        body = {
            "channel": self.chance.choice(("voice", "whatsapp")), "conversation_id": f"c-{self.steps}", "outcome": "connected",
            "borrower_id": one.borrower, "ended_at": self.at(SPAN_SECONDS + self.steps / 10),
            "summary": f"The agent told her of the waiver of {one.id}.", "extra": {"claims": [claim]},
        }  # fmt: skip
        answer, _ = self.send("/v1/summaries", body)
        assert answer.status_code in (200, 202), answer.text

    def read(self) -> None:
        for borrower in BORROWERS:
            answer = self._able(*READS["decisions"](borrower))
            told = {item["decision_id"] for item in answer.json()["items"]} if answer.status_code == 200 else set()
            assert told == self.oracle.current(borrower), borrower
            self.shown += len(told)


def test_what_is_told_as_current_is_what_the_oracle_says_whoever_is_killed(
    reported: World, capsys: pytest.CaptureFixture[str]
) -> None:
    history = History(reported)
    watcher = Watcher(reported, history.oracle, SEED)
    watcher.start()
    try:
        while history.steps < STEPS:
            looks = watcher.looks
            history.step()
            watcher.has_looked(looks + LOOKS_A_STEP)
            assert not watcher.wrong
    finally:
        watcher.ended.set()
        watcher.join()
        told = f"{history.steps} steps, {history.killed} killed, {history.refused} refused"
        told += f", {watcher.looks} looks, {dict(watcher.told)}"
        with capsys.disabled():
            sys.stdout.write(f"\nseed {SEED}: {told}\n" if "DECISION_STEPS" in os.environ else "")
    history.read()
    assert not watcher.wrong
    assert history.killed >= 2
    assert history.shown > STEPS / 10, "the history has current decisions to show"
    assert history.refused > STEPS / 50
    assert sum(watcher.told.values()) > STEPS / 2, "who looks on is told something"
    corrected = {correction["decision_id"] for correction in reported.settled()}
    assert corrected <= {one.id for one in history.oracle.decisions.values() if one.is_dead}
    metrics = history.calls("GET", "/metrics").text
    assert not re.search(r"superseded_shown_as_current_total\{[^}]*\} [1-9]", metrics)
