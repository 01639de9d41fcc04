"""A whole fleet in one thread: writers and an API of the real code, clients that post to it, and a nemesis.

`simulate(seed)` lets the clients post while the nemesis kills, freezes, evicts and cuts off; then all faults end, and within
a bounded time everything has to be merged. What is wrong then is told by the same checker as that of the real processes.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections import Counter
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from unittest import mock

import structlog

from service import records
from service.database import DatabaseUnavailable
from service.intake import envelope
from service.intake.kafka_intake import JournalWatch, KafkaIntake
from service.intake.kafka_log import message_of
from service.intake.kafka_topics import Topic
from service.intake.log import LogUnavailable
from service.intake.outbox import CHANGES as CHANGES_ROWS
from service.intake.outbox import INTAKE, Outbox
from service.writer import Outcome, Outcomes, Writer
from statemachine.entries import Event, Summary
from tests.service.embedded import (
    PHONE,
    POLICIES,
    SECRETS,
    TENANT,
    event,
    hours,
    linked,
    opened,
    pending,
    promise,
    stamped,
    summary,
)
from tests.service.simulation.loop import SteppedLoop
from tests.service.simulation.world import CHANGES, LATENCY_SECONDS, PARTITIONS, TOPIC, Host, Log, World, world
from tests.together import checker
from tests.together.checker import Announced, Place, Tables
from tests.together.stream import Ledger, Told, event_id_of

Body = Summary | Event

BORROWERS = 4
POSTS = 36
CLIENTS = 3
POISON = 2
AGAIN_SHARE = 0.3
OTHER_SHARE = 0.3
GIVE_UP_SHARE = 0.3
ANSWER_SECONDS = 0.2
BETWEEN_POSTS_SECONDS = 0.2
FAULTS = 14
KINDS = 2
BETWEEN_FAULTS_SECONDS = 2.0
FAULT_SECONDS = 5.0
SLOW_SECONDS = 5.0
SETTLED_SECONDS = 120.0
PEACE_SECONDS = 0.5


@dataclass
class Run:
    """What a seed led to."""

    seed: int
    faults: list[str]
    seen: Counter[str]
    trace: int
    steps: int
    entries: int


def simulate(seed: int) -> Run:
    loop = SteppedLoop()
    before = random.getstate()
    random.seed(seed)  # the pauses of those who retry
    try:
        with structlog.testing.capture_logs() as told, mock.patch("time.perf_counter", loop.worked):
            run = loop.run_until_complete(_simulated(seed))
        run.seen.update(entry["event"] for entry in told)
        run.steps = loop.steps
        return run
    finally:
        random.setstate(before)
        loop.end()


async def _simulated(seed: int) -> Run:
    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(world(seed))
        fleet = Fleet(there)
        stack.callback(fleet.end)
        faults = await fleet.lives()
        tables = _tables(there)
        faults += checker.faults(tables, fleet.ledger)
        return Run(seed, faults, there.seen, there.trace, 0, len(tables.log))


# -- processes ---------------------------------------------------------------------------------------------------------


class Process:
    """What runs together and is killed together."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.host = Host(world, name)
        self.stopping = asyncio.Event()
        topics = {INTAKE: Topic(TOPIC, PARTITIONS), CHANGES_ROWS: Topic(CHANGES, PARTITIONS)}
        self.outbox = Outbox(self.host, self.host, topics, name, world.now)
        self.tasks: set[asyncio.Task[Any]] = set()
        self.runs(self.outbox.relay(self.stopping))

    def runs(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self._has_run)
        return task

    def _has_run(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.world.seen[f"ended by {type(task.exception()).__name__}"] += 1

    def kill(self) -> None:
        """Nothing of it is done any more, but for what it had sent already."""
        self.host.dead = True
        self.host.thawed.set()
        for task in sorted(self.tasks, key=hash):
            task.cancel()


class WriterProcess(Process):
    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        self.log = Log(self.host)
        self.writer = Writer(
            self.host, self.log, SECRETS, POLICIES, Outcomes(), world.now, internal=self.outbox, owner=name
        )
        self.runs(self.writer.run())

    async def stop(self) -> None:
        """In order, as at a SIGTERM."""
        await self.writer.stop()
        self.stopping.set()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=SETTLED_SECONDS)
        self.kill()


class ApiProcess(Process):
    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        log = Log(self.host)
        log.held = set(range(PARTITIONS))
        topic = Topic(TOPIC, PARTITIONS)
        watch = JournalWatch(self.host)
        self.intake = KafkaIntake(self.host, self.host, self.outbox, topic, log, watch, SECRETS.keyed_hash)

    async def post(self, body: Body) -> Outcome | None:
        """What became of it; None when it is durable and not known to be merged. Raises `LogUnavailable`."""
        await self.host.reaches()
        who, through = await self._whose(body)
        entry = stamped(body, who, self.world.now(), through)
        [told] = await self.intake.append([pending(entry)], [entry])
        await asyncio.wait([told], timeout=ANSWER_SECONDS)
        await self.host.hears()
        return told.result() if told.done() and not told.cancelled() else None

    async def _whose(self, body: Body) -> tuple[str, str | None]:
        if body.borrower_id is not None:
            named = body.identifier
            return body.borrower_id, f"{named.kind}:{named.value}" if named else None
        assert body.identifier is not None
        kind, value = body.identifier.kind, body.identifier.value
        found = await self.host.read(lambda c: records.borrowers_of(c, TENANT, kind, [value]))
        who = found[0] if len(found) == 1 else envelope.provisional_id(SECRETS, kind, value)
        return who, f"{kind}:{value}"


# -- the fleet ---------------------------------------------------------------------------------------------------------


class Fleet:
    def __init__(self, world: World) -> None:
        self.world = world
        self.chance = world.chance
        self.ledger = Ledger()
        self.made = 0
        self.api = ApiProcess(world, "api-0")
        self.writers = [self.another() for _ in range(2)]
        self.everybody: list[Process] = [self.api, *self.writers]

    def another(self) -> WriterProcess:
        self.made += 1
        return WriterProcess(self.world, f"writer-{self.made}")

    async def lives(self) -> list[str]:
        """Posts and faults, then peace; what is wrong with that alone: not merged in time, or not whole."""
        posts = _posts(self.chance)
        clients = [asyncio.ensure_future(self._client(posts[n::CLIENTS])) for n in range(CLIENTS)]
        await asyncio.gather(self._nemesis(), *clients)
        self._makes_peace()
        until = self.world.loop.time() + SETTLED_SECONDS
        while not self._is_merged():
            if self.world.loop.time() > until:
                return [f"not merged in time: writers say {[w.writer.health() for w in self.writers]}"]
            await asyncio.sleep(PEACE_SECONDS)
        return []

    def end(self) -> None:
        for process in (self.api, *self.writers):
            process.kill()

    def _is_merged(self) -> bool:
        cursor = self.world.driver.cursor()
        at = dict(cursor.execute("SELECT partition, next_offset FROM writer_partition").fetchall())
        ends = {n: len(entries) for n, entries in enumerate(self.world.topics[TOPIC])}
        waiting = cursor.execute("SELECT count(*) FROM outbox").fetchone()[0]
        healthy = all(writer.writer.health() == "ok" for writer in self.writers)
        return healthy and not waiting and all(at.get(n, 0) == end for n, end in ends.items())

    # -- clients

    async def _client(self, posts: Sequence[Body]) -> None:
        for body in posts:
            await self.world.passes(BETWEEN_POSTS_SECONDS)
            await self._posts(body)

    async def _posts(self, body: Body) -> None:
        """Until it is answered, or given up: who gets no answer does not know what became of it."""
        sent = json.loads(envelope.body_bytes(body))
        event_id = event_id_of(sent)
        self.ledger.sent.setdefault(event_id, []).append(sent)
        while True:
            asked = self.api.runs(self.api.post(body))
            await asyncio.wait([asked])
            if asked.cancelled():
                self.ledger.cut.append(event_id)
                if self.chance.random() < GIVE_UP_SHARE:
                    return
            elif isinstance(asked.exception(), LogUnavailable | DatabaseUnavailable):
                self.world.seen["503"] += 1
            else:
                self.ledger.told.append(_told(sent, event_id, asked.result()))
                return
            await self.world.passes(0.2)

    # -- what goes wrong

    async def _nemesis(self) -> None:
        """Evictions, and a few kinds of each seed's own: so one can come often, and not every run is a bit of everything."""
        every = (self._kills, self._freezes, self._adds, self._stops, self._cuts_the_database,
                 self._slows_the_database, self._cuts_kafka, self._restarts_the_api)  # fmt: skip
        kinds = (self._evicts, self._evicts, *self.chance.sample(every, KINDS))
        poison = set(self.chance.sample(range(FAULTS), POISON))
        for n in range(FAULTS):
            await asyncio.sleep(self.chance.uniform(0, BETWEEN_FAULTS_SECONDS))
            if n in poison:
                self._plants()
            await self.chance.choice(kinds)()

    async def _kills(self) -> None:
        self.world.seen["killed"] += 1
        victim = self.chance.choice(self.writers)
        victim.kill()
        self.writers.remove(victim)
        self.writers.append(self.another())

    async def _freezes(self) -> None:
        self.world.seen["frozen"] += 1
        victim = self.chance.choice(self.writers)
        victim.host.thawed.clear()
        self.world.group.settle()
        self.world.loop.call_later(self.chance.uniform(0, FAULT_SECONDS), victim.host.thawed.set)

    async def _evicts(self) -> None:
        members = [m for m in self.world.group.members if m.given and m not in self.world.group.out]
        if members:
            self.world.group.evicts(self.chance.choice(members))

    async def _adds(self) -> None:
        if len(self.writers) < 3:
            self.writers.append(self.another())

    async def _stops(self) -> None:
        self.world.seen["stopped in order"] += 1
        victim = self.chance.choice(self.writers)
        self.writers.remove(victim)
        self.writers.append(self.another())
        await victim.stop()

    async def _cuts_the_database(self) -> None:
        self.world.seen["database down"] += 1
        self.world.database_is_up = False
        await asyncio.sleep(self.chance.uniform(0, FAULT_SECONDS))
        self.world.database_is_up = True

    async def _slows_the_database(self) -> None:
        self.world.seen["database slow"] += 1
        self.world.database_seconds = SLOW_SECONDS
        await asyncio.sleep(self.chance.uniform(0, FAULT_SECONDS))
        self.world.database_seconds = LATENCY_SECONDS

    async def _cuts_kafka(self) -> None:
        self.world.seen["Kafka down"] += 1
        self.world.kafka_is_up = False
        await asyncio.sleep(self.chance.uniform(0, FAULT_SECONDS))
        self.world.kafka_is_up = True

    async def _restarts_the_api(self) -> None:
        self.world.seen["API killed"] += 1
        self.api.kill()
        self.made += 1
        self.api = ApiProcess(self.world, f"api-{self.made}")

    def _plants(self) -> None:
        """What is no entry of ours, in a partition that has some."""
        body = event("fact.stated", f"forged-{len(self.ledger.planted)}", borrower_id="B-1", kind="goal", text="x")
        entry = stamped(body, "B-1", self.world.now())
        forged = entry.stamps.changed(digest="0" * 32)
        good = message_of(TOPIC, PARTITIONS, pending(type(entry)(body, forged)))
        other = self.chance.choice((good.value, b"not JSON", good.value[:50], b""))
        offset = self.world.append(good._replace(value=other, headers=good.headers if other is good.value else ()))
        planted = body.event_id if other is good.value else f"{TOPIC}/{good.partition}/{offset}"
        self.ledger.planted.add(planted)

    def _makes_peace(self) -> None:
        self.world.trouble = 0.0
        self.world.database_is_up = self.world.kafka_is_up = True
        for writer in self.writers:
            writer.host.thawed.set()
        for n, writer in enumerate(self.writers):
            if not any(not task.done() for task in writer.tasks):
                self.writers[n] = self.another()


def _told(sent: dict[str, Any], event_id: str, outcome: Outcome | None) -> Told:
    if outcome is not None and outcome.status == "conflict":
        return Told(sent, 409, {"code": "id_conflict"})
    answer: dict[str, Any] = {"event_id": event_id, "record_version": None, "borrower_id": None}
    if outcome is None:
        return Told(sent, 202, answer)
    told = {"record_version": outcome.record_version, "borrower_id": outcome.borrower_id}
    return Told(sent, 200, answer | told)


# -- what is posted ----------------------------------------------------------------------------------------------------


def _posts(chance: random.Random) -> list[Body]:
    """Some borrowers, one of whom also writes from a number that is linked late; some posts again, some with other words."""
    posts: list[Body] = []
    for n in range(POSTS):
        posts.append(_post(chance, n))
        while chance.random() < AGAIN_SHARE:
            n_again = chance.randrange(len(posts))
            other = chance.random() < OTHER_SHARE
            posts.append(_other(posts[n_again]) if other else posts[n_again])
    return posts


def _post(chance: random.Random, n: int) -> Body:
    who = {"borrower_id": f"B-{chance.randrange(BORROWERS)}"}
    by_phone = {"identifier": {"kind": "phone", "value": PHONE}}
    at = hours(-chance.randrange(200))
    sent = {"channel": "whatsapp", "message_id": f"m-{chance.randrange(3)}"}
    match chance.randrange(8):
        case 0 | 1:
            return promise(f"c-{n}", at, channel="whatsapp", **who)
        case 2:
            said = {"amount": 700, "due_date": "2026-11-29", "status": "confirmed", "read_back": True}
            return summary(f"c-{n}", at, commitment=said, **who)
        case 3:
            return promise(f"c-{n}", at, channel="whatsapp", **by_phone)
        case 4:
            outcome = chance.choice(["attempted", "sent", "failed", "delivered"])
            return event("reminder.sent", f"e-{n}", at, outcome=outcome, **sent, **who)
        case 5:
            return event("payment.confirmed", f"e-{n}", at, payment_ref=f"P-{n}", amount="10", currency="INR", **who)
        case 6:
            return opened(f"e-{n}", f"B-{chance.randrange(BORROWERS)}", f"LN-{n}", at=at)
        case _:
            return linked(f"e-{n}", at=at)


def _other(body: Body) -> Body:
    at = "ended_at" if isinstance(body, Summary) else "occurred_at"
    return body.model_copy(update={at: getattr(body, at) - (hours(1) - hours(0))})


# -- what the checker is given -----------------------------------------------------------------------------------------


def _tables(world: World) -> Tables:
    cursor = world.driver.cursor()
    cursor.row_factory = sqlite3.Row

    def rows(table: str) -> list[Any]:
        return cursor.execute(f"SELECT * FROM {table}").fetchall()

    places = []
    for partition, entries in enumerate(world.topics[TOPIC]):
        for offset, message in enumerate(entries):
            told = dict(message.headers).get("event_id", b"").decode() or f"{TOPIC}/{partition}/{offset}"
            places.append(Place(partition, offset, told))
    announced = []
    for message in (m for entries in world.topics[CHANGES] for m in entries):
        data = json.loads(message.value)["data"]
        announced.append(Announced(TENANT, data["borrower_id"], data["record_version"], data["rung"]))
    return Tables(rows, places, {n: len(entries) for n, entries in enumerate(world.topics[TOPIC])}, announced)
