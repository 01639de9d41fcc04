"""What the processes of a simulation stand on: one database, one topic, one group; and everything that can go wrong there.

Each process reaches them through a `Host` of its own, which can be slowed, frozen, cut off or ended. Behind every await of
a host time passes, drawn from the seed; that is where anything else may happen meanwhile.

    database   SQLite in memory with the service's own tables: what is committed is one unit, its answer may be lost
    topic      appended to by senders of whom nobody knows whether a failed send arrives, now or later
    group      gives partitions to members, takes them back, and now and then to another without having told the first
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import StaticPool

from service.database import DatabaseUnavailable, OutcomeUnknown
from service.intake.kafka_messages import name_of
from service.intake.kafka_producer import Message
from service.intake.log import Holder, Logged, LogUnavailable, Pending, Position, partition_of
from service.tables import METADATA
from tests.service.embedded import NOON

T = TypeVar("T")
Job = Callable[[Connection], T]

PARTITIONS = 2
TOPIC = "sim.intake"
CHANGES = "sim.changes"
LATENCY_SECONDS = 0.02
LATE_SECONDS = 4.0
"""After which a send that had failed may still arrive."""
EVICTED_SECONDS = 4.0
"""How long a member may not know that its partitions are another's."""


class World:
    """All that is shared, and what has happened to it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.loop = asyncio.get_running_loop()
        self.connection, self.driver = _database()
        self.topics: dict[str, list[list[Message]]] = {
            name: [[] for _ in range(PARTITIONS)] for name in (TOPIC, CHANGES)
        }
        self.arrived = asyncio.Event()
        self.group = Group(self)
        self.trouble = 1.0
        """What faults of single calls are multiplied by; nothing happens any more at 0."""
        self.database_is_up = True
        self.database_seconds = LATENCY_SECONDS
        self.kafka_is_up = True
        self.seen: Counter[str] = Counter()
        """How often each rare thing happened: a simulation in which one never does proves nothing of it."""
        self.trace = 0
        """Of everything that was committed and appended, and when; the same seed leaves the same."""

    def now(self) -> datetime:
        return NOON + timedelta(days=1, seconds=self.loop.time())

    def happens(self, share: float, what: str) -> bool:
        if self.chance.random() < share * self.trouble:
            self.seen[what] += 1
            return True
        return False

    def notes(self, what: str) -> None:
        self.trace = zlib.crc32(f"{self.loop.time():.9f} {what}\n".encode(), self.trace)

    async def passes(self, seconds: float = LATENCY_SECONDS) -> None:
        await asyncio.sleep(self.chance.expovariate(1 / seconds))

    def append(self, message: Message) -> int:
        entries = self.topics[message.topic][message.partition]
        entries.append(message)
        self.notes(f"{message.topic}/{message.partition}/{len(entries)}")
        self.arrived.set()
        self.arrived = asyncio.Event()
        return len(entries) - 1

    def close(self) -> None:
        self.connection.close()
        self.connection.engine.dispose()


def _database() -> tuple[Connection, sqlite3.Connection]:
    driver = sqlite3.connect(":memory:", isolation_level=None)
    engine = create_engine("sqlite://", creator=lambda: driver, poolclass=StaticPool)
    if not _empty:
        METADATA.create_all(engine)
        _empty.append(driver.serialize())
    else:
        driver.deserialize(_empty[0])
    return engine.connect(), driver


_empty: list[bytes] = []
"""A database with all tables and no rows, made once."""


class Ended(asyncio.CancelledError):
    """What is asked for by a process that has been killed; it has no after."""


@dataclass
class Host:
    """One process's way to the world."""

    world: World
    name: str
    dead: bool = False
    thawed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.thawed.set()

    async def reaches(self) -> None:
        """On the way to something; frozen ones stand still here."""
        await self.world.passes()
        await self.thawed.wait()
        self.refuse_when_dead()

    async def hears(self) -> None:
        """On the way back."""
        await self.reaches()

    def refuse_when_dead(self) -> None:
        if self.dead:
            raise Ended

    # -- `Store`

    async def read(self, job: Job[T]) -> T:
        await self.reaches()
        self._refuse_when_down()
        answer = job(self.world.connection)
        await self.hears()
        return answer

    read_slow = read

    async def write(self, job: Job[T]) -> T:
        """What has been sent is done or not, whatever becomes meanwhile of whoever asked."""
        await self.reaches()
        sent = asyncio.ensure_future(self._write(job))
        sent.add_done_callback(lambda done: done.cancelled() or done.exception())
        answer = await asyncio.shield(sent)
        await self.hears()
        return answer

    async def _write(self, job: Job[T]) -> T:
        world = self.world
        await world.passes(world.database_seconds)
        self._refuse_when_down()
        if world.happens(0.02, "rolled back"):
            self._run(job, keep=False)
            raise DatabaseUnavailable("before the commit")
        if world.happens(0.02, "commit failed"):
            self._run(job, keep=False)
            raise OutcomeUnknown("the commit did not arrive")
        answer = self._run(job, keep=True)
        world.notes(f"{self.name} committed")
        if world.happens(0.03, "answer to a commit lost"):
            await world.passes()
            raise OutcomeUnknown("its answer was lost")
        return answer

    def _refuse_when_down(self) -> None:
        if not self.world.database_is_up or self.world.happens(0.01, "database out of reach"):
            raise DatabaseUnavailable("out of reach")

    def _run(self, job: Job[T], *, keep: bool) -> T:
        """One transaction, as a whole: SQLite has one writer."""
        driver = self.world.driver
        driver.execute("BEGIN IMMEDIATE")
        try:
            answer = job(self.world.connection)
        except BaseException:
            driver.execute("ROLLBACK")
            raise
        driver.execute("COMMIT" if keep else "ROLLBACK")
        return answer

    def health(self) -> str:
        return "ok"

    async def close(self) -> None:
        """The world goes on."""

    # -- `Sender`

    async def send(self, messages: Sequence[Message]) -> list[int]:
        await self.reaches()
        world = self.world
        if not world.kafka_is_up or world.happens(0.04, "send failed"):
            for message in messages:
                if world.happens(0.3, "send failed and arrived later"):
                    world.loop.call_later(world.chance.uniform(0, LATE_SECONDS), world.append, message)
            raise LogUnavailable("not taken")
        offsets = [world.append(message) for message in messages]
        if world.happens(0.03, "delivered twice"):
            for message in messages:
                world.append(message)
        lost = world.happens(0.03, "answer to a send lost")
        await self.hears()
        if lost:
            raise LogUnavailable("its answer was lost")
        return offsets


class Log:
    """`IntakeLog` as one process sees it. What it holds it knows from the group, which may have changed its mind since."""

    name = name_of(TOPIC)
    partitions = PARTITIONS
    others_may_write = True
    anew = "there is no other"

    def __init__(self, host: Host) -> None:
        self.host = host
        self.world = host.world
        self.held: set[int] = set()
        self.interrupted = asyncio.Event()
        self.interrupts = 0

    def identity(self) -> str:
        return "simulated"

    def partition_of(self, tenant: str, borrower_id: str) -> int:
        return partition_of(tenant, borrower_id, PARTITIONS)

    async def append(self, items: Sequence[Pending]) -> list[Position]:
        raise AssertionError("a writer appends through its outbox")

    async def read(self, partition: int, offset: int, limit: int, wait_seconds: float) -> list[Logged]:
        until, interrupts = self.world.loop.time() + wait_seconds, self.interrupts
        while True:
            await self._reaches_kafka()
            if partition not in self.held:
                raise LogUnavailable("not this process's now")
            entries = self.world.topics[TOPIC][partition][offset:]
            left = until - self.world.loop.time()
            if entries or left <= 0 or self.interrupts != interrupts:
                most = min(limit, self.world.chance.choice((1, 2, 3, 200)))
                found = [self._logged(partition, offset + n, m) for n, m in enumerate(entries[:most])]
                await self.host.hears()
                return found
            await self._arrival(left)

    async def _arrival(self, seconds: float) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self.world.arrived, self.interrupted)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _logged(self, partition: int, offset: int, message: Message) -> Logged:
        tenant, _, borrower_id = message.key.decode().partition("|")
        event_id = dict(message.headers).get("event_id", b"").decode() or f"{TOPIC}/{partition}/{offset}"
        return Logged(offset, tenant, borrower_id, event_id, message.value, self.world.now())

    async def _reaches_kafka(self) -> None:
        await self.host.reaches()
        if not self.world.kafka_is_up or self.world.happens(0.02, "Kafka out of reach"):
            raise LogUnavailable("out of reach")

    async def end_offset(self, partition: int) -> int:
        await self._reaches_kafka()
        end = len(self.world.topics[TOPIC][partition])
        await self.host.hears()
        return end

    async def start_offset(self, partition: int) -> int:
        await self._reaches_kafka()
        return 0

    def interrupt(self) -> None:
        self.interrupts += 1
        self.interrupted.set()
        self.interrupted = asyncio.Event()

    async def share(self, holder: Holder, until: asyncio.Event) -> None:
        await self.host.reaches()
        member = self.world.group.joins(self, holder)
        try:
            await until.wait()
        finally:
            self.world.group.leaves(member)

    async def leave(self) -> None:
        self.held.clear()

    def merged(self, partition: int, next_offset: int) -> None:
        """A hint, which nobody here looks at."""


@dataclass(eq=False)
class Member:
    log: Log
    holder: Holder
    given: set[int] = field(default_factory=set)
    """As the group sees it."""


class Group:
    """Who has which partition. Every change takes all partitions back first, as Kafka's classic protocol does."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.members: list[Member] = []
        self.out: set[Member] = set()
        """Members that the group has given up and that do not know it yet."""
        self._settling = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def joins(self, log: Log, holder: Holder) -> Member:
        member = Member(log, holder)
        self.members.append(member)
        self.settle()
        return member

    def leaves(self, member: Member) -> None:
        """In order or by its end; what a process that ended held is free at once here, the writer must bear that."""
        self.members.remove(member)
        self.out.discard(member)
        self.settle()

    def evicts(self, member: Member) -> None:
        """Gives its partitions to others and lets it go on, until it hears of it and joins anew."""
        self.world.seen["evicted and not told"] += 1
        self.out.add(member)
        self.settle()
        self._begin(self._tells(member))

    def settle(self) -> None:
        self._begin(self._settle())

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tells(self, member: Member) -> None:
        await asyncio.sleep(self.world.chance.uniform(0.5, 1.0) * EVICTED_SECONDS)
        await member.log.host.thawed.wait()
        async with self._settling:
            if member in self.members:
                await self._takes_back(member)
                self.out.discard(member)
        self.settle()

    async def _settle(self) -> None:
        async with self._settling:
            self.world.seen["rebalanced"] += 1
            for member in [m for m in self.members if m not in self.out]:
                if member.log.host.thawed.is_set():
                    await self._takes_back(member)
                else:  # it does not answer: it is out, and hears of it when it can
                    self.out.add(member)
                    self._begin(self._tells(member))
            await self.world.passes()
            here = [m for m in self.members if m not in self.out]
            for partition in range(PARTITIONS):
                if here:
                    here[partition % len(here)].given.add(partition)
            for member in here:
                member.log.held = set(member.given)
                if member.given:
                    member.holder.assigned(sorted(member.given))

    async def _takes_back(self, member: Member) -> None:
        given, member.given = member.given, set()
        member.log.held -= given
        member.log.interrupt()
        if given:
            await member.holder.revoked(sorted(given))


@asynccontextmanager
async def world(seed: int) -> AsyncIterator[World]:
    made = World(seed)
    try:
        yield made
    finally:
        made.close()
