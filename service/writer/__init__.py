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

Poison is set aside in step 6 and the position moves; when nearly all of a partition is poison, it stops instead (`limits`).
A failure of the world moves nothing: it is tried again, later and later. A broken invariant (`invariants`, the position) is a
fault of ours: the partition stops, loudly, and nothing of the batch is saved.
"""

from __future__ import annotations

import asyncio
import random
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DataError, IntegrityError

from service.database import DatabaseUnavailable, OutcomeUnknown, Store
from service.decisions import claims
from service.decisions import merging as decisions
from service.forget.applying import Forgetter
from service.intake.log import (
    IntakeLog,
    InternalLog,
    LogChanged,
    Logged,
    LogStuck,
    LogUnavailable,
    Position,
)
from service.policy import Policies
from service.secrets import Secrets
from service.writer.batch import Batch, Cache, Moved, Saved
from service.writer.fence import Fence, FenceLost, entry_mark, take_fence
from service.writer.folding import Folder
from service.writer.invariants import InvariantBroken
from service.writer.limits import IN_HAND_BYTES, NearlyAllRefused, Refusals, Room, within
from service.writer.outcomes import Outcome, Outcomes
from service.writer.saving import (
    change_of,
    claims_of,
    cleaned_of,
    decisions_of,
    internal_ids,
    outcome_of,
    redirects_of,
    write,
)
from statemachine.stamps import (
    Entry,
)

BATCH_ENTRIES: Final = 200
READ_WAIT_SECONDS: Final = 5.0
WORLD_BACKOFF_SECONDS: Final = 0.05
WORLD_BACKOFF_LIMIT_SECONDS: Final = 5.0
REFOLDS: Final = 20  # of one batch whose records moved under it
CACHE_BYTES: Final = 16 << 20  # of canonical bytes; as objects they are some ten times that
GIVE_UP_SECONDS: Final = 8.0  # for the batch in hand, when a partition is to be another's; less than a group waits

log = structlog.get_logger("service.writer")

__all__ = [
    "Fence",
    "FenceLost",
    "InvariantBroken",
    "Outcome",
    "Outcomes",
    "Saved",
    "Writer",
    "take_fence",
]


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
        counted: Callable[[Batch], None] | None = None,
    ) -> None:
        """`saved` is told of records and `counted` of whole batches, each after its transaction; neither may raise."""
        self._database = database
        self._log = log_
        self._outcomes = outcomes
        self._clock = clock
        self._internal = internal
        self._owner = owner
        self._saved = saved
        self._counted = counted
        self._forgetter = Forgetter(secrets)
        self._cache = Cache(CACHE_BYTES)
        self._folder = Folder(database, log_, secrets, policies, clock, self._cache)
        self._stopping = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._hands: dict[int, _Hand] = {}
        self._stopped: dict[int, str] = {}
        self._troubled: dict[int, str] = {}
        self._refusals: dict[int, Refusals] = {}
        self._room = Room(IN_HAND_BYTES)
        self._waiting_for: str | None = None

    def hand_over(self, value: bytes, tenant: str, entry: Entry) -> None:
        """The entry that is being appended as this value, so that it need not be read out of it again in this process."""
        self._folder.hand_over(value, tenant, entry)

    # -- running

    async def run(self) -> None:
        """Until `stop`, on the partitions that the log gives it; one that had to stop by itself is told by `health`.

        A log that is not there yet is waited for. Raises `LogStuck`, and `LogChanged` of the log as a whole: then the process
        has to end.
        """
        failures = 0
        while not self._stopping.is_set():
            try:
                await self._share()
            except LogUnavailable as why:
                failures += 1
                self._waiting_for = f"waits for the log: {why}"
                log.warning("writer_waits", why=str(why), failures=failures)
                await self._pause(failures, self._stopping)

    async def _share(self) -> None:
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
        if self._waiting_for is not None:
            return self._waiting_for
        wrong = sorted({**self._troubled, **self._stopped}.items())
        return "; ".join(f"partition {partition}: {why}" for partition, why in wrong) or "ok"

    @property
    def partitions(self) -> frozenset[int]:
        """Those that it holds now."""
        return frozenset(self._hands)

    def assigned(self, partitions: Collection[int]) -> None:
        """As `Holder`: each is taken, and followed by a task of its own."""
        assert self._group is not None, "only while it runs"
        self._waiting_for = None
        for partition in partitions:
            self._refusals[partition] = Refusals()
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
            except LogChanged as why:
                self._stop_partition(partition, f"{why}. {self._log.anew}")
                return
            except (InvariantBroken, NearlyAllRefused) as why:
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
        if not before or before[0].offset != fence.next_offset - 1 or entry_mark(before[0]) != fence.last_entry:
            raise LogChanged(
                f"the entry before offset {fence.next_offset} of partition {fence.partition} is another one now"
            )

    async def _follow(self, fence: Fence, given_up: asyncio.Event) -> None:
        while not given_up.is_set():
            logged = within(await self._log.read(fence.partition, fence.next_offset, BATCH_ENTRIES, READ_WAIT_SECONDS))
            if logged:
                async with self._room.of(sum(len(one.value) for one in logged)):
                    await self._merge(fence, logged)

    # -- a batch

    async def _merge(self, fence: Fence, logged: Sequence[Logged]) -> None:
        """Steps 1 to 7. What the database cannot store is found by halves and is poison."""
        if logged[0].offset < fence.next_offset:
            raise InvariantBroken(f"the log gave offset {logged[0].offset}, which is before {fence.next_offset}")
        batch = await self._folder.folded(fence, logged)
        for _ in range(REFOLDS):
            try:
                sent = await self._save(fence, batch)
                break
            except Moved:
                self._drop(batch)
                batch = await self._folder.folded(fence, logged)
            except (DataError, OverflowError, UnicodeError) as why:
                if len(logged) > 1:
                    half = len(logged) // 2
                    await self._merge(fence, logged[:half])
                    await self._merge(fence, logged[half:])
                    return
                batch = await self._folder.folded(
                    fence, logged, poison=f"the database cannot store it: {type(why).__name__}"
                )
        else:
            raise InvariantBroken("the records of a batch moved again and again")
        self._tell(fence, batch, sent)

    # -- saving

    async def _save(self, fence: Fence, batch: Batch) -> list[Position]:
        """6. Raises `FenceLost`, `DatabaseUnavailable`, `Moved`, `NearlyAllRefused`, and what the database says of a value that
        it refuses."""
        self._refusals[fence.partition].check(batch)
        if batch.end <= fence.next_offset:
            raise InvariantBroken(f"the position would go from {fence.next_offset} to {batch.end}")
        last_entry = entry_mark(batch.items[-1].logged)
        internal = internal_ids(batch)
        changes = [change_of(fold) for fold in batch.folds.values()]
        decided, carried, now = decisions_of(batch), claims_of(batch), self._clock()
        redirected, cleaned = redirects_of(batch), cleaned_of(batch, self._forgetter)

        def save(connection: Connection) -> list[Position]:
            fence.advance(connection, batch.end, last_entry)
            write(connection, fence, batch, self._forgetter, cleaned)
            sent = self._internal.append_within(connection, batch.outgoing)
            for tenant, event_ids in internal.items():
                self._internal.taken_up_within(connection, tenant, event_ids)
            self._internal.announce_within(connection, changes)
            decisions.merged(connection, self._internal, decided, now)
            claims.note(connection, carried, now)
            for redirect in redirected:
                claims.follow(connection, *redirect)
            return sent

        try:
            sent = await self._database.write(save)
        except IntegrityError as why:
            raise Moved from why
        except OutcomeUnknown:
            if not await self._database.read(lambda c: fence.stands_at(c, batch.end)):
                raise
            sent = []
            log.warning("commit_was_in", partition=fence.partition, next_offset=batch.end)
        fence.next_offset, fence.last_entry = batch.end, last_entry
        return sent

    def _tell(self, fence: Fence, batch: Batch, sent: Sequence[Position]) -> None:
        """7."""
        self._refusals[fence.partition].saved(batch)
        for fold in batch.folds.values():
            self._cache.put(fold.key, fold.held())
        for item in batch.items:
            after = sent[item.sent] if item.sent is not None and sent else None
            self._outcomes.tell(Position(fence.partition, item.logged.offset), outcome_of(item), after)
        self._internal.appended(sent)
        self._log.merged(fence.partition, fence.next_offset)
        if self._saved is not None and batch.folds:
            self._saved([fold.saved() for fold in batch.folds.values()])
        if self._counted is not None:
            self._counted(batch)
        log.debug("merged", partition=fence.partition, entries=len(batch.items), next_offset=fence.next_offset)

    def _drop(self, batch: Batch) -> None:
        for key in batch.folds:
            self._cache.drop(key)


def _place(fault: BaseException) -> str:
    """Where it was raised. Its message stays out: it may hold what a borrower said."""
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"
