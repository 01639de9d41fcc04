"""The single writer: entries of the intake log become records, journal and position, in one transaction.

Theory of operation. A partition of the log has one writer. The log's own idea of who that is (a lock, a group) only keeps
others from trying; what makes it true is the *fence*: a row for each partition with an epoch and the next offset. Taking a
partition raises the epoch; every save begins with one conditional update, `epoch = mine and next_offset = expected`, and
anything but one row undoes the whole save. So an entry is merged once, whoever else is still alive, and after a crash the
work goes on where the last transaction left it.

A batch, by steps that bear their numbers below:

    1 take   what the log has from the next offset on; what is no entry of ours is poison
    2 load   the records of the batch and what the journal knows of its ids, each in one query
    3 sort   entries that are in the journal, or twice in the batch: same body, a duplicate; another, a conflict
    4 fold   the rest into their records; one that cannot be merged is tried again, then is poison too
    5 send   what these records have to tell others: redirects, and the evidence of redirected ones
    6 save   fence, journal, records with what is derived of them, what was set aside, repeats, step 5, in one transaction
    7 tell   those who wait for the outcome

Poison is set aside in step 6 and the position moves. A failure of the world moves nothing: it is tried again, later and
later. A broken invariant (`_check_kept`, `_check_rungs`, the position) is a fault of ours: the partition stops, loudly, and
nothing of the batch is saved.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

import structlog
from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import DataError, IntegrityError

from service import records
from service.database import DatabaseUnavailable, OutcomeUnknown, Store
from service.intake import envelope
from service.intake.envelope import Opened, internal_id
from service.intake.log import (
    Change,
    IntakeLog,
    InternalLog,
    LogChanged,
    Logged,
    LogStuck,
    LogUnavailable,
    Pending,
    Position,
)
from service.policy import Policies
from service.prepared import Prepared
from service.records import Aside, Derived, Merged, Stored
from service.secrets import Secrets
from service.tables import WriterPartition, table_of
from statemachine.entries import NOBODY_OUTCOMES, CycleOpened, IdentifierLinked, IdentifierUnlinked, Summary
from statemachine.ladder import RUNGS
from statemachine.merge import merge
from statemachine.record import KEPT_ALWAYS, Bucket, Record
from statemachine.stamps import (
    INTERNAL_TYPES,
    BorrowerRedirected,
    Entry,
    EvidenceJoined,
    Stamps,
    UnreadableEntry,
    Warning,
)
from statemachine.state import BorrowerState, Rungs, derive, rungs

BATCH_ENTRIES: Final = 200
READ_WAIT_SECONDS: Final = 5.0
SLICE_SECONDS: Final = 0.03  # of folding, before other requests have a turn
MERGE_TRIES: Final = 5
MERGE_BACKOFF_SECONDS: Final = 0.005  # doubled after each try: under a tenth of a second in all
WORLD_BACKOFF_SECONDS: Final = 0.05
WORLD_BACKOFF_LIMIT_SECONDS: Final = 5.0
REFOLDS: Final = 20  # of one batch whose records moved under it
CACHE_BYTES: Final = 16 << 20  # of canonical bytes; as objects they are some ten times that
HANDED_ENTRIES: Final = 512
HANDED_BYTES: Final = 16_384  # of one entry; a longer one is read from the log
OUTCOMES_KEPT: Final = 10_000  # told and not asked for, and asked for and not told
SHORT_HASH_DIGITS: Final = 32
ASIDE_ID_CHARACTERS: Final = 256  # no id of ours is longer; what is none of ours must fit into an index all the same
GIVE_UP_SECONDS: Final = 8.0  # for the batch in hand, when a partition is to be another's; less than a group waits

log = structlog.get_logger("service.writer")


class FenceLost(Exception):
    """Somebody else has taken the partition, or has moved its position."""


class InvariantBroken(Exception):
    """What must never happen has happened; the sentence says what."""


class _Moved(Exception):
    """Something was written meanwhile by the writer of another partition; the batch has to be folded anew."""


# -- what becomes of an entry ------------------------------------------------------------------------------------------


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


# -- the fence ---------------------------------------------------------------------------------------------------------

_FENCE_ROWS: Final = table_of(WriterPartition)
_OF: Final = (_FENCE_ROWS.c.log == bindparam("of_log"), _FENCE_ROWS.c.partition == bindparam("of_partition"))
_ADVANCE: Final = Prepared(
    update(_FENCE_ROWS)
    .where(*_OF, _FENCE_ROWS.c.epoch == bindparam("mine"), _FENCE_ROWS.c.next_offset == bindparam("expected"))
    .values(next_offset=bindparam("new"), last_entry=bindparam("last"))
)
_STANDING: Final = Prepared(select(_FENCE_ROWS.c.epoch, _FENCE_ROWS.c.next_offset).where(*_OF))


@dataclass(slots=True)
class Fence:
    """A partition as its writer holds it."""

    log: str
    partition: int
    epoch: int
    next_offset: int
    last_entry: str | None

    def advance(self, connection: Connection, to: int, last_entry: str) -> None:
        """The first statement of every save. Raises `FenceLost`."""
        of = {"of_log": self.log, "of_partition": self.partition}
        moved = _ADVANCE.run(connection, **of, mine=self.epoch, expected=self.next_offset, new=to, last=last_entry)
        if moved != 1:
            raise FenceLost(f"partition {self.partition} is not at epoch {self.epoch}, offset {self.next_offset}")

    def stands_at(self, connection: Connection, offset: int) -> bool:
        """Whether a save that moved it there is in, for when its commit was not answered. Raises `FenceLost`."""
        row = _STANDING.row(connection, of_log=self.log, of_partition=self.partition)
        if row is None or row[0] != self.epoch:
            raise FenceLost(f"partition {self.partition} is not at epoch {self.epoch} any more")
        return bool(row[1] == offset)


def take_fence(connection: Connection, log_: IntakeLog, partition: int, owner: str, now: datetime) -> Fence:
    """Takes the partition from whoever had it. Raises `LogChanged` for a log that is not the one that was left."""
    where = (_FENCE_ROWS.c.log == log_.name, _FENCE_ROWS.c.partition == partition)
    is_this = {"log_identity": log_.identity(), "partition_count": log_.partitions}
    row = connection.execute(select(_FENCE_ROWS).where(*where).with_for_update()).mappings().first()
    if row is None:
        fresh = {"log": log_.name, "partition": partition, "epoch": 1, "next_offset": 0, "last_entry": None}
        connection.execute(insert(_FENCE_ROWS).values({**fresh, **is_this, "owner": owner, "taken_at": now}))
        return Fence(log_.name, partition, 1, 0, None)
    if any(row[name] != value for name, value in is_this.items()):
        raise LogChanged(
            f"partition {partition} was left in log {row['log_identity']} of {row['partition_count']} partitions; this is"
            f" {is_this['log_identity']} of {is_this['partition_count']}"
        )
    epoch = row["epoch"] + 1
    connection.execute(update(_FENCE_ROWS).where(*where).values(epoch=epoch, owner=owner, taken_at=now))
    return Fence(log_.name, partition, epoch, row["next_offset"], row["last_entry"])


def _entry_mark(logged: Logged) -> str:
    """By which the last merged entry is known again: whose it is and its id, for its words may be forgotten."""
    return _short_hash("\n".join((logged.tenant, logged.borrower_id, logged.event_id)).encode("utf-8", "replace"))


def _short_hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:SHORT_HASH_DIGITS]


# -- a record while it is worked on ------------------------------------------------------------------------------------

Key = tuple[str, str]
"""Tenant and borrower."""


@dataclass(frozen=True, slots=True)
class Held:
    """A record as it was saved last; version None before it was ever saved."""

    version: int | None
    record: Record
    state: BorrowerState | None
    derived: Derived
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """A record that has just been saved, for whoever wants to go on from there (a proposer, a cache)."""

    tenant: str
    borrower_id: str
    version: int
    record: Record
    state: BorrowerState


class _Cache:
    """The records saved last, so that they need not be read and parsed again."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._size = 0
        self._held: OrderedDict[Key, Held] = OrderedDict()

    def get(self, key: Key) -> Held | None:
        found = self._held.get(key)
        if found is not None:
            self._held.move_to_end(key)
        return found

    def put(self, key: Key, held: Held) -> None:
        self.drop(key)
        self._held[key] = held
        self._size += held.size_bytes
        while self._size > self._limit and len(self._held) > 1:
            _, oldest = self._held.popitem(last=False)
            self._size -= oldest.size_bytes

    def drop(self, key: Key) -> None:
        gone = self._held.pop(key, None)
        if gone is not None:
            self._size -= gone.size_bytes

    def clear(self) -> None:
        self._held.clear()
        self._size = 0


_NOTHING: Final = Record.new("")


@dataclass(slots=True)
class _Item:
    """One entry of a batch on its way."""

    logged: Logged
    opened: Opened | None
    body_hash: str = ""
    fault: str | None = None
    """Why it is poison."""
    tries: int = 0
    first: Merged | _Item | None = None
    """What it repeats: an entry of the journal, or one before it in the batch."""
    is_echo: bool = False
    """The very delivery that was merged, which the way to the log brought once more; nobody sent it twice."""
    version: int = 0
    """Of its record after it was merged."""
    sent: int | None = None
    """Which of the entries that step 5 sends its outcome waits for."""

    @property
    def entry(self) -> Entry:
        assert self.opened is not None, "poison that could not be read has no entry"
        return self.opened.entry

    @property
    def tenant(self) -> str:
        return self.opened.tenant if self.opened else self.logged.tenant

    @property
    def key(self) -> Key:
        return self.tenant, self.entry.stamps.borrower_id

    @property
    def is_merged(self) -> bool:
        return self.version > 0

    @property
    def is_conflict(self) -> bool:
        return self.first is not None and self.first.body_hash != self.body_hash


@dataclass(slots=True)
class _Fold:
    """One borrower of a batch: the record before it, and as it has become."""

    tenant: str
    borrower_id: str
    before: Held | None = None
    record: Record = _NOTHING
    version: int = 0
    items: list[_Item] = field(default_factory=list)
    """Those that were merged."""
    state: BorrowerState | None = None
    record_bytes: bytes = b""
    derived: Derived = field(default_factory=Derived)

    @property
    def key(self) -> Key:
        return self.tenant, self.borrower_id

    def begin(self, held: Held) -> None:
        self.before, self.record, self.state = held, held.record, held.state
        self.version = held.version or 0

    def finish(self) -> None:
        """What is saved beside the record, computed before the transaction begins."""
        assert self.before is not None
        assert self.state is not None
        self.record_bytes = self.record.to_bytes()
        self.derived = records.derived(self.record, self.state, self.before.derived.loans)

    def held(self) -> Held:
        return Held(self.version, self.record, self.state, self.derived, len(self.record_bytes))

    def saved(self) -> Saved:
        assert self.state is not None
        return Saved(self.tenant, self.borrower_id, self.version, self.record, self.state)


@dataclass(slots=True)
class _Batch:
    """Everything that one transaction saves."""

    items: list[_Item]
    folds: dict[Key, _Fold] = field(default_factory=dict)
    asides: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """By tenant and event, what of this batch was set aside before."""
    linked: dict[tuple[str, str, str], frozenset[str]] = field(default_factory=dict)
    """By tenant, kind and value of each identifier (or `loan`) that the batch speaks of: whose it was before."""
    outgoing: list[Pending] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.items[-1].logged.offset + 1


@dataclass(slots=True)
class _Known:
    """What is stored of a batch's entries and borrowers."""

    merged: dict[str, dict[str, Merged]] = field(default_factory=dict)
    """By tenant and event."""
    rows: dict[Key, tuple[Stored, Derived]] = field(default_factory=dict)
    """Of borrowers that the cache does not have."""


@dataclass(frozen=True, slots=True)
class _Hand:
    """A partition that is this writer's now."""

    task: asyncio.Task[None]
    given_up: asyncio.Event


class Writer:
    """The writer of the partitions that a log gives it, as one task each. `run` it, and `stop` it."""

    def __init__(
        self,
        database: Store,
        log_: IntakeLog,
        secrets: Secrets,
        policies: Policies,
        outcomes: Outcomes,
        clock: Callable[[], datetime],
        *,
        internal: InternalLog,
        owner: str,
        saved: Callable[[Sequence[Saved]], None] | None = None,
    ) -> None:
        self._database = database
        self._log = log_
        self._secrets = secrets
        self._policies = policies
        self._outcomes = outcomes
        self._clock = clock
        self._internal = internal
        self._owner = owner
        self._saved = saved
        self._cache = _Cache(CACHE_BYTES)
        self._handed: OrderedDict[bytes, Opened] = OrderedDict()
        self._stopping = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._hands: dict[int, _Hand] = {}
        self._stopped: dict[int, str] = {}
        self._troubled: dict[int, str] = {}

    def hand_over(self, value: bytes, tenant: str, entry: Entry) -> None:
        """The entry that is being appended as this value, so that it need not be read out of it again in this process.

        Found by the value itself: what the log gives is what counts, and without this it is read from there.
        """
        if len(value) <= HANDED_BYTES:
            self._handed[value] = envelope.opened_as(value, tenant, entry)
            while len(self._handed) > HANDED_ENTRIES:
                self._handed.popitem(last=False)

    # -- running

    async def run(self) -> None:
        """Until `stop`, on the partitions that the log gives it; one that had to stop by itself is told by `health`.

        Raises `LogStuck`, and `LogChanged` of the log as a whole: then the process has to end. `LogUnavailable` when it cannot
        begin.
        """
        try:
            async with asyncio.TaskGroup() as self._group:
                await self._log.share(self, self._stopping)
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from several
        finally:
            self._group = None
            await self._log.leave()

    async def stop(self) -> None:
        """Ends after the batches in hand. `run` returns then."""
        self._stopping.set()
        for held in self._hands.values():
            held.given_up.set()
        self._log.interrupt()

    def health(self) -> str:
        """`ok`, or what is wrong, for readiness."""
        return (
            "; ".join(f"partition {p}: {why}" for p, why in sorted({**self._troubled, **self._stopped}.items())) or "ok"
        )

    @property
    def partitions(self) -> frozenset[int]:
        """Those that it holds now."""
        return frozenset(self._hands)

    def assigned(self, partitions: Collection[int]) -> None:
        """As `Holder`: each is taken, and followed by a task of its own."""
        assert self._group is not None, "only while it runs"
        for partition in partitions:
            given_up = asyncio.Event()
            if self._stopping.is_set():
                given_up.set()
            task = self._group.create_task(self._run_partition(partition, given_up))
            self._hands[partition] = _Hand(task, given_up)

    async def revoked(self, partitions: Collection[int]) -> None:
        """As `Holder`: the batch in hand is finished, or after a while abandoned as a whole."""
        hands = [self._hands.pop(partition) for partition in partitions if partition in self._hands]
        for held in hands:
            held.given_up.set()
        tasks = {held.task for held in hands}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=GIVE_UP_SECONDS)
            for task in late:
                task.cancel()
            if late:
                log.warning("batches_abandoned", partitions=len(late))
                await asyncio.wait(late, timeout=1.0)
        for partition in partitions:
            self._troubled.pop(partition, None)
            self._stopped.pop(partition, None)
        self._cache.clear()  # somebody else writes these records now

    async def _run_partition(self, partition: int, given_up: asyncio.Event) -> None:
        failures = 0
        while not given_up.is_set():
            try:
                fence = await self._take(partition)
                failures = 0
                self._troubled.pop(partition, None)
                await self._follow(fence, given_up)
            except FenceLost as why:
                log.warning("fence_lost", partition=partition, why=str(why))
            except (DatabaseUnavailable, LogUnavailable) as why:
                if given_up.is_set():
                    return
                self._troubled[partition] = "waits for the database or the log"
                log.warning("writer_waits", partition=partition, why=type(why).__name__, failures=failures)
            except LogStuck:
                raise
            except (InvariantBroken, LogChanged) as why:
                self._stop_partition(partition, str(why))
                return
            except Exception as why:  # noqa: BLE001 (a fault of ours must stop this partition, and be seen, not the rest)
                self._stop_partition(partition, f"a fault, {type(why).__name__} at {_place(why)}")
                return
            self._cache.clear()
            failures += 1
            await self._pause(failures, given_up)

    def _stop_partition(self, partition: int, why: str) -> None:
        self._stopped[partition] = f"stopped: {why}"
        log.critical("partition_stopped", partition=partition, why=why)

    async def _pause(self, failures: int, given_up: asyncio.Event) -> None:
        """Longer after each failure, and never in step with others."""
        longest = min(WORLD_BACKOFF_LIMIT_SECONDS, WORLD_BACKOFF_SECONDS * 2 ** min(failures, 10))
        try:
            async with asyncio.timeout(longest * random.uniform(0.5, 1.0)):
                await given_up.wait()
        except TimeoutError:
            return

    async def _take(self, partition: int) -> Fence:
        try:
            fence = await self._database.write(
                lambda c: take_fence(c, self._log, partition, self._owner, self._clock())
            )
        except IntegrityError as why:
            raise FenceLost(f"somebody else took partition {partition} first") from why
        await self._check_log(fence)
        log.info("partition_taken", partition=partition, epoch=fence.epoch, next_offset=fence.next_offset)
        return fence

    async def _check_log(self, fence: Fence) -> None:
        """The entry merged last must be the one that stands there now. Raises `LogChanged`."""
        if await self._log.end_offset(fence.partition) < fence.next_offset:
            raise LogChanged(
                f"the log ends before offset {fence.next_offset}, up to which partition {fence.partition} is merged"
            )
        start = await self._log.start_offset(fence.partition)
        if start > fence.next_offset:
            raise LogChanged(
                f"the log begins at offset {start} now, and partition {fence.partition} is merged up to"
                f" {fence.next_offset} only"
            )
        if fence.last_entry is None or start == fence.next_offset:
            return  # nothing was merged, or all of it has been let go
        before = await self._log.read(fence.partition, fence.next_offset - 1, 1, 0)
        if not before or before[0].offset != fence.next_offset - 1 or _entry_mark(before[0]) != fence.last_entry:
            raise LogChanged(
                f"the entry before offset {fence.next_offset} of partition {fence.partition} is another one now"
            )

    async def _follow(self, fence: Fence, given_up: asyncio.Event) -> None:
        while not given_up.is_set():
            logged = await self._log.read(fence.partition, fence.next_offset, BATCH_ENTRIES, READ_WAIT_SECONDS)
            if logged:
                await self._merge(fence, logged)

    # -- a batch

    async def _merge(self, fence: Fence, logged: Sequence[Logged]) -> None:
        """Steps 1 to 7. What the database cannot store is found by halves and is poison."""
        if logged[0].offset < fence.next_offset:
            raise InvariantBroken(f"the log gave offset {logged[0].offset}, which is before {fence.next_offset}")
        batch = await self._folded(fence, logged)
        for _ in range(REFOLDS):
            try:
                sent = await self._save(fence, batch)
                break
            except _Moved:
                self._drop(batch)
                batch = await self._folded(fence, logged)
            except (DataError, OverflowError, UnicodeError) as why:
                if len(logged) > 1:
                    half = len(logged) // 2
                    await self._merge(fence, logged[:half])
                    await self._merge(fence, logged[half:])
                    return
                batch = await self._folded(fence, logged, poison=f"the database cannot store it: {type(why).__name__}")
        else:
            raise InvariantBroken("the records of a batch moved again and again")
        self._tell(fence, batch, sent)

    async def _folded(self, fence: Fence, logged: Sequence[Logged], *, poison: str | None = None) -> _Batch:
        """Steps 1 to 5."""
        slices = _Slices()
        batch = _Batch([])
        for one in logged:
            batch.items.append(self._opened(fence, one, poison))  # 1
            await slices.breathe()
        known = await self._database.read(lambda c: self._load(c, batch))  # 2
        fresh = _sorted(batch, known)  # 3
        if self._log.others_may_write:
            for item in batch.items:
                item.is_echo = _is_echo(item)
        await self._fold(batch, known, fresh, slices)  # 4
        for fold in batch.folds.values():
            self._send(batch, fold)  # 5
        return batch

    def _opened(self, fence: Fence, logged: Logged, poison: str | None) -> _Item:
        """1: the entry, or why it is none."""
        try:
            opened = self._handed.pop(logged.value, None) or envelope.from_bytes(logged.value)
        except (UnreadableEntry, RecursionError) as why:
            return _Item(logged, None, fault=poison or f"unreadable: {why}", tries=1)
        item = _Item(logged, opened, envelope.body_hash(opened.entry.body, self._secrets.keyed_hash))
        if poison is not None:
            item.fault, item.tries = poison, 1
        elif (foreign := self._foreign(item)) is not None:
            item.fault, item.tries = foreign, 1
        elif self._log.partition_of(*item.key) != fence.partition:
            item.fault, item.tries = "it stands in a partition that is not its borrower's", 1
        return item

    def _foreign(self, item: _Item) -> str | None:
        """Why it does not come from our intake, in a log where others may write as well."""
        if not self._log.others_may_write:
            return None
        if (item.logged.tenant, item.logged.borrower_id) != item.key:
            return "its key in the log names another tenant or borrower than it does itself"
        stamps = item.entry.stamps
        if stamps.digest != envelope.entry_digest(item.entry.body, stamps, self._secrets.keyed_hash):
            return "it was not stamped by this service"
        return None

    def _load(self, connection: Connection, batch: _Batch) -> _Known:
        """2: all that is stored of what the batch speaks of."""
        known = _Known()
        by_tenant: dict[str, list[_Item]] = {}
        for item in batch.items:
            if item.fault is None:
                by_tenant.setdefault(item.tenant, []).append(item)
        for tenant, items in by_tenant.items():
            ids = [item.entry.event_id for item in items]
            known.merged[tenant] = records.merged_entries(connection, tenant, ids)
            batch.asides[tenant] = records.open_set_aside(connection, tenant, ids)
            wanted = {item.entry.stamps.borrower_id for item in items}
            cold = [b for b in wanted if self._cache.get((tenant, b)) is None]
            stored = records.stored_each(connection, tenant, cold)
            beside = records.stored_derived_each(connection, tenant, list(stored))
            known.rows.update(((tenant, id_), (row, beside[id_])) for id_, row in stored.items())
            _load_links(connection, batch, tenant, items)
        return known

    # -- folding

    async def _fold(self, batch: _Batch, known: _Known, fresh: Sequence[_Item], slices: _Slices) -> None:
        """4: each borrower's entries into the borrower's record."""
        groups: dict[Key, list[_Item]] = {}
        for item in fresh:
            groups.setdefault(item.key, []).append(item)
        now = self._clock()
        failed: list[_Item] = []
        for key, items in groups.items():
            batch.folds[key] = _Fold(*key)
            for run in _runs(items):
                failed += self._merge_run(batch.folds[key], known, run, now)
                await slices.breathe()
        for tried in range(1, MERGE_TRIES):
            if not failed:
                break
            await asyncio.sleep(MERGE_BACKOFF_SECONDS * 2 ** (tried - 1))
            failed = [i for i in failed if self._merge_run(batch.folds[i.key], known, [i], now)]
        batch.folds = {key: fold for key, fold in batch.folds.items() if fold.items}
        for fold in batch.folds.values():
            fold.finish()
            await slices.breathe()

    def _merge_run(self, fold: _Fold, known: _Known, run: Sequence[_Item], now: datetime) -> list[_Item]:
        """Merges entries that are alike in what they may do to a rung; those that cannot be, are returned.

        A run that fails as a whole is tried one by one, so that only what is bad stays out. Order does not matter to a
        record.
        """
        policy = self._policies.for_tenant(fold.tenant)
        try:
            if fold.before is None:
                fold.begin(self._cache.get(fold.key) or _held(fold.key, known))
            record = fold.record
            before: Rungs | None = None
            if _may_not_lower(run[0]) and record.buckets:
                before = fold.state.rungs if fold.state is not None else rungs(record, policy)
            for item in run:
                after = merge(record, item.entry, self._hasher)
                _check_kept(record, after)
                record = after
            state = derive(record, now, policy)
        except InvariantBroken:
            raise
        except Exception as why:  # noqa: BLE001 (whatever it is: an entry that fails must not stop the line)
            if len(run) > 1:
                return [failed for item in run for failed in self._merge_run(fold, known, [item], now)]
            run[0].tries += 1
            run[0].fault = f"it cannot be merged: {type(why).__name__}"
            return list(run)
        if before is not None and not _has_let_go(fold.record, record):
            _check_rungs(before, state.rungs)
        fold.record, fold.state = record, state
        for item in run:
            fold.version += 1
            item.version, item.fault = fold.version, None
            fold.items.append(item)
        return []

    def _hasher(self, words: str) -> str:
        return self._secrets.keyed_hash(words, "words")

    # -- what is sent to other records (DESIGN 7)

    def _send(self, batch: _Batch, fold: _Fold) -> None:
        """5: of a real borrower, where provisional records belong now; of a redirected one, its evidence."""
        if records.is_provisional(fold.borrower_id):
            self._send_evidence(batch, fold)
        else:
            self._send_redirects(batch, fold)

    def _send_redirects(self, batch: _Batch, fold: _Fold) -> None:
        """What is linked now and was not, and the other way round; what only was said again changes nothing."""
        assert fold.before is not None
        before, after = fold.before.derived, fold.derived
        links: dict[tuple[str, str], _Item] = {}
        loans: dict[str, _Item] = {}
        for item in sorted(fold.items, key=lambda i: (i.entry.stamps.effective_at, i.entry.event_id)):
            body = item.entry.body
            if isinstance(body, IdentifierLinked | IdentifierUnlinked):
                links[_identifier_of(item.entry)] = item
            elif isinstance(body, CycleOpened):
                loans[body.loan_id] = item
        for identifier, cause in links.items():
            if (identifier in before.identifiers) == (identifier in after.identifiers):
                continue
            others = batch.linked[fold.tenant, *identifier] - {fold.borrower_id}
            to: str | None = fold.borrower_id
            if identifier not in after.identifiers:
                to = next(iter(others)) if len(others) == 1 else None
            self._send_redirect(batch, fold, identifier, to, cause)
        for loan, cause in loans.items():
            if loan in after.loans and batch.linked[fold.tenant, "loan", loan] != {fold.borrower_id}:
                self._send_redirect(batch, fold, ("loan", loan), fold.borrower_id, cause)

    def _send_redirect(
        self, batch: _Batch, fold: _Fold, identifier: tuple[str, str], to: str | None, cause: _Item
    ) -> None:
        event_id = internal_id("redirected", cause.entry.event_id)
        body = BorrowerRedirected(event_id=event_id, to=to, type="borrower.redirected")
        self._send_entry(batch, fold, envelope.provisional_id(self._secrets, *identifier), body, [cause])

    def _send_evidence(self, batch: _Batch, fold: _Fold) -> None:
        """The evidence of a redirected record, whole, whenever it has grown: joining it again adds nothing."""
        assert fold.before is not None
        to, evidence = _evidence(fold.record)
        if to is None or evidence.is_empty:
            return
        raw = evidence.to_bytes()
        to_before, evidence_before = _evidence(fold.before.record)
        if to_before == to and evidence_before.to_bytes() == raw:
            return
        mark = self._secrets.keyed_hash(f"{to}\n{raw.decode()}", "joined")[: envelope.DIGEST_DIGITS]
        event_id = internal_id("joined", f"{fold.borrower_id}:{mark}")
        body = EvidenceJoined(event_id=event_id, record=evidence, type="evidence.joined")
        self._send_entry(batch, fold, to, body, fold.items)

    def _send_entry(
        self,
        batch: _Batch,
        fold: _Fold,
        borrower_id: str,
        body: BorrowerRedirected | EvidenceJoined,
        causes: Sequence[_Item],
    ) -> None:
        """Stamped as its cause was, so that a replay stamps it alike; what it follows from is answered for with it."""
        cause = causes[-1].entry.stamps
        stamps = Stamps(
            borrower_id=borrower_id,
            digest="",
            effective_at=cause.effective_at,
            received_at=cause.received_at,
            time_zone=cause.time_zone,
        )
        digest = envelope.entry_digest(body, stamps, self._secrets.keyed_hash)
        value = envelope.to_bytes(fold.tenant, Entry(body, stamps.changed(digest=digest)))
        for item in causes:
            item.sent = len(batch.outgoing)
        told = tuple(item.entry.event_id for item in causes)
        batch.outgoing.append(Pending(fold.tenant, borrower_id, body.event_id, value, told))

    # -- saving

    async def _save(self, fence: Fence, batch: _Batch) -> list[Position]:
        """6. Raises `FenceLost`, `DatabaseUnavailable`, `_Moved`, and what the database says of a value that it refuses."""
        if batch.end <= fence.next_offset:
            raise InvariantBroken(f"the position would go from {fence.next_offset} to {batch.end}")
        last_entry = _entry_mark(batch.items[-1].logged)
        internal = _internal_ids(batch)
        changes = [_change(fold) for fold in batch.folds.values()]

        def save(connection: Connection) -> list[Position]:
            fence.advance(connection, batch.end, last_entry)
            _write(connection, fence, batch)
            sent = self._internal.append_within(connection, batch.outgoing)
            for tenant, event_ids in internal.items():
                self._internal.taken_up_within(connection, tenant, event_ids)
            self._internal.announce_within(connection, changes)
            return sent

        try:
            sent = await self._database.write(save)
        except IntegrityError as why:
            raise _Moved from why
        except OutcomeUnknown:
            if not await self._database.read(lambda c: fence.stands_at(c, batch.end)):
                raise
            sent = []
            log.warning("commit_was_in", partition=fence.partition, next_offset=batch.end)
        fence.next_offset, fence.last_entry = batch.end, last_entry
        return sent

    def _tell(self, fence: Fence, batch: _Batch, sent: Sequence[Position]) -> None:
        """7."""
        for fold in batch.folds.values():
            self._cache.put(fold.key, fold.held())
        for item in batch.items:
            after = sent[item.sent] if item.sent is not None and sent else None
            self._outcomes.tell(Position(fence.partition, item.logged.offset), _outcome(item), after)
        self._internal.appended(sent)
        self._log.merged(fence.partition, fence.next_offset)
        if self._saved is not None and batch.folds:
            self._saved([fold.saved() for fold in batch.folds.values()])
        log.debug("merged", partition=fence.partition, entries=len(batch.items), next_offset=fence.next_offset)

    def _drop(self, batch: _Batch) -> None:
        for key in batch.folds:
            self._cache.drop(key)


def _place(fault: BaseException) -> str:
    """Where it was raised. Its message stays out: it may hold what a borrower said."""
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


class _Slices:
    """Gives other requests a turn when the work has taken long enough."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + SLICE_SECONDS

    async def breathe(self) -> None:
        if time.perf_counter() > self._until:
            await asyncio.sleep(0)
            self._until = time.perf_counter() + SLICE_SECONDS


# -- 2, 3 --------------------------------------------------------------------------------------------------------------


def _load_links(connection: Connection, batch: _Batch, tenant: str, items: Iterable[_Item]) -> None:
    """Whose an identifier or a loan is, before an entry of these says something about it."""
    told: dict[str, set[str]] = {}
    for entry in (item.entry for item in items):
        if isinstance(entry.body, IdentifierLinked | IdentifierUnlinked):
            kind, value = _identifier_of(entry)
            told.setdefault(kind, set()).add(value)
        elif isinstance(entry.body, CycleOpened):
            told.setdefault("loan", set()).add(entry.body.loan_id)
    for kind, names in told.items():
        if kind == "loan":
            whose = records.owners_of_each(connection, tenant, list(names))
        else:
            whose = records.borrowers_of_each(connection, tenant, kind, list(names))
        batch.linked.update(((tenant, kind, name), owners) for name, owners in whose.items())


def _identifier_of(entry: Entry) -> tuple[str, str]:
    kind, _, value = (entry.stamps.identifier or "").partition(":")
    return kind, value


def _sorted(batch: _Batch, known: _Known) -> list[_Item]:
    """3: the entries to merge; the others know what they repeat."""
    fresh: dict[tuple[str, str], _Item] = {}
    for item in batch.items:
        if item.fault is None:
            name = item.tenant, item.entry.event_id
            item.first = known.merged[item.tenant].get(item.entry.event_id) or fresh.get(name)
            if item.first is None:
                fresh[name] = item
    return list(fresh.values())


def _is_echo(item: _Item) -> bool:
    """By the digest, which covers the stamps: no two deliveries have them alike."""
    match item.first:
        case Merged() as first:
            return (
                first.body_hash == item.body_hash
                and Stamps.model_validate_json(first.stamps).digest == item.entry.stamps.digest
            )
        case _Item() as first:
            return first.entry.stamps.digest == item.entry.stamps.digest
    return False


# -- 4 -----------------------------------------------------------------------------------------------------------------


def _held(key: Key, known: _Known) -> Held:
    """The stored record, parsed. Raises `UnreadableRecord`."""
    row = known.rows.get(key)
    if row is None:
        return Held(None, Record.new(key[1]), None, Derived())
    stored, derived = row
    return Held(stored.version, Record.from_bytes(stored.record), None, derived)


def _runs(items: Iterable[_Item]) -> list[list[_Item]]:
    """Neighbours that are alike in whether they may lower a rung, so that a state need not be derived for each."""
    return [list(run) for _, run in groupby(items, key=_may_not_lower)]


def _may_not_lower(item: _Item) -> bool:
    """Law 4, and its one exception: a summary that says it was not the borrower."""
    body = item.entry.body
    return isinstance(body, Summary) and body.outcome not in NOBODY_OUTCOMES


def _has_let_go(before: Record, after: Record) -> bool:
    """Whether evidence was let go: what rested on it may fall (DESIGN 3, law 3)."""
    known = before.by_name
    return any(b.let_go is not None and b.let_go != known.get(b.name, _NO_BUCKET).let_go for b in after.buckets)


_NO_BUCKET: Final = Bucket(name=())


def _check_rungs(before: Rungs, after: Rungs) -> None:
    """After summaries no cycle's rung has fallen (DESIGN 3, law 4). Raises `InvariantBroken`."""
    if before.loans != after.loans:
        return  # what names no loan counts in every loan's implicit cycle, so a new loan moves it
    for cycle, rung in before.by_cycle.items():
        if RUNGS.index(after.by_cycle.get(cycle, "none")) < RUNGS.index(rung):
            raise InvariantBroken("a summary lowered a rung")


def _check_kept(before: Record, after: Record) -> None:
    """The elements kept are the newest of old and new (DESIGN 3, "Bounded"). Raises `InvariantBroken`."""
    is_now = after.by_name
    for was in before.buckets:
        bucket = is_now.get(was.name)
        if bucket is was:
            continue
        if bucket is None:
            raise InvariantBroken("a merge lost a bucket")
        kept = {e.key for e in bucket.elements}
        gone = max((e.key for e in was.elements if e.key not in kept), default=None)
        if gone is None:
            continue
        if was.name[0] in KEPT_ALWAYS or bucket.let_go is None or gone > bucket.let_go or (kept and gone > min(kept)):
            raise InvariantBroken("a merge let go of an element before an older one")


# -- 5 -----------------------------------------------------------------------------------------------------------------


def _evidence(record: Record) -> tuple[str | None, Record]:
    """Whose a provisional record is, and what of it is theirs."""
    to, after = records.redirect_of(record)
    buckets = []
    for bucket in record.buckets:
        if bucket.name[0] == "redirect":
            continue
        if after is None:
            buckets.append(bucket)
            continue
        elements = tuple(e for e in bucket.elements if e.at > after)
        let_go = bucket.let_go if bucket.let_go and bucket.let_go[0] > after else None
        if elements or let_go:
            buckets.append(Bucket(name=bucket.name, elements=elements, let_go=let_go))
    return to, record.changed(buckets=tuple(buckets))


# -- 6 -----------------------------------------------------------------------------------------------------------------


def _write(connection: Connection, fence: Fence, batch: _Batch) -> None:
    records.add_to_journal(connection, [_journal_row(fence, item) for item in batch.items if item.is_merged])
    if not records.save_each(connection, [_save_of(fence, fold) for fold in batch.folds.values()]):
        raise _Moved
    repeats = []
    for item in batch.items:
        if item.fault is not None:
            records.put_aside(connection, _aside(item, item.fault))
        elif isinstance(item.first, _Item) and item.first.fault is not None:
            records.put_aside(connection, _aside(item, item.first.fault))
        elif not item.is_conflict and (retried := batch.asides[item.tenant].get(item.entry.event_id)):
            for id_ in retried:
                records.settle_set_aside(connection, item.tenant, id_, "merged", attempts=1)
        elif item.first is not None and item.entry.type not in INTERNAL_TYPES and not item.is_echo:
            repeats.append(_repeat_row(item))
            if item.is_conflict:
                _put_conflict_aside(connection, item)
    records.count_repeats(connection, repeats)


def _save_of(fence: Fence, fold: _Fold) -> records.Save:
    assert fold.before is not None
    assert fold.state is not None
    at = Position(fence.partition, fold.items[-1].logged.offset)
    row = records.record_row(fold.record, fold.record_bytes, fold.state, fold.version, fence.log, *at)
    return records.Save(*fold.key, fold.before.version, row, fold.before.derived, fold.derived)


def _internal_ids(batch: _Batch) -> dict[str, list[str]]:
    """By tenant, the entries of writers' own that the batch takes up, whatever becomes of them."""
    found: dict[str, list[str]] = {}
    for item in batch.items:
        if item.opened is not None and item.entry.type in INTERNAL_TYPES:
            found.setdefault(item.tenant, []).append(item.entry.event_id)
    return found


def _change(fold: _Fold) -> Change:
    assert fold.state is not None
    cycle = fold.state.cycle_of(None)
    last = fold.items[-1].entry.event_id
    return Change(fold.tenant, fold.borrower_id, fold.version, last, cycle.stage, cycle.rung)


def _repeat_row(item: _Item) -> dict[str, Any]:
    at = item.entry.stamps.received_at
    return {"tenant": item.tenant, "event_id": item.entry.event_id, "at": at, "is_conflict": item.is_conflict}


def _put_conflict_aside(connection: Connection, item: _Item) -> None:
    entry = item.entry
    records.set_aside_conflict(
        connection,
        tenant=item.tenant,
        event_id=entry.event_id,
        kind=_kind(entry),
        borrower_id=entry.stamps.borrower_id,
        body_hash=item.body_hash,
        value=item.logged.value,
        at=entry.stamps.received_at,
    )


def _aside(item: _Item, detail: str) -> Aside:
    """What could not even be read is kept under what its key in the log says."""
    logged, opened = item.logged, item.opened
    return Aside(
        tenant=_storable(item.tenant),
        reason="cannot_merge",
        detail=detail,
        kind=_kind(opened.entry) if opened else "event",
        received_at=opened.entry.stamps.received_at if opened else logged.appended_at,
        value=logged.value,
        borrower_id=_storable(opened.entry.stamps.borrower_id if opened else logged.borrower_id),
        event_id=_storable(opened.entry.event_id if opened else logged.event_id),
        body_hash=item.body_hash or _short_hash(logged.value),
        attempts=max(1, item.tries),
    )


def _kind(entry: Entry) -> str:
    return "summary" if isinstance(entry.body, Summary) else "event"


def _storable(text: str) -> str:
    """What may be the very reason why it is set aside must not stop that as well."""
    whole = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    return whole[:ASIDE_ID_CHARACTERS]


def _journal_row(fence: Fence, item: _Item) -> dict[str, Any]:
    assert item.opened is not None
    entry, stamps = item.entry, item.entry.stamps
    return {
        "tenant": item.tenant,
        "event_id": entry.event_id,
        "log": fence.log,
        "partition": fence.partition,
        "log_offset": item.logged.offset,
        "epoch": fence.epoch,
        "borrower_id": stamps.borrower_id,
        "type": entry.type,
        "channel": getattr(entry.body, "channel", None),
        "conversation_id": getattr(entry.body, "conversation_id", None),
        "revision": getattr(entry.body, "revision", None),
        "loan_id": getattr(entry.body, "loan_id", None),
        "cycle_id": getattr(entry.body, "cycle_id", None),
        "effective_at": stamps.effective_at,
        "received_at": stamps.received_at,
        "body": item.opened.body,
        "stamps": item.opened.stamps,
        "body_hash": item.body_hash,
        "record_version": item.version,
    }


# -- 7 -----------------------------------------------------------------------------------------------------------------


def _outcome(item: _Item) -> Outcome:
    first = item.first
    if item.opened is None:
        return Outcome("set_aside", item.logged.event_id, item.logged.borrower_id, None)
    event_id, stamps = item.entry.event_id, item.entry.stamps
    if item.fault is not None or (isinstance(first, _Item) and first.fault is not None):
        return Outcome("set_aside", event_id, stamps.borrower_id, None)
    if first is None:
        return Outcome("merged", event_id, stamps.borrower_id, item.version, stamps.warnings)
    if isinstance(first, _Item):
        of, version, warnings = first.key[1], first.version, first.entry.stamps.warnings
    else:
        of, version, warnings = first.borrower_id, first.record_version, first.warnings
    if item.is_conflict:
        return Outcome("conflict", event_id, of, None)
    return Outcome("duplicate", event_id, of, version, warnings)
