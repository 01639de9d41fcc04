"""Steps 1 to 4 of a batch: what the log gave becomes records as they are to be saved (`service.writer`).

What is saved beside a record, and how, is not known here.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final

from sqlalchemy import Connection

from service import records
from service.database import Store
from service.intake import envelope
from service.intake.envelope import Opened
from service.intake.log import (
    IntakeLog,
    Logged,
)
from service.policy import Policies
from service.records import Derived, Merged
from service.secrets import Secrets
from service.writer.batch import Batch, Cache, Fold, Held, Item, Key, Known
from service.writer.fence import Fence
from service.writer.invariants import InvariantBroken, check_kept, check_rungs, has_let_go
from service.writer.sending import identifier_of, send
from statemachine.entries import CycleOpened, IdentifierLinked, IdentifierUnlinked, Summary
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.stamps import (
    Entry,
    Stamps,
    UnreadableEntry,
)
from statemachine.state import Rungs, derive, rungs
from statemachine.wire import NOBODY_OUTCOMES

SLICE_SECONDS: Final = 0.03  # of folding, before other requests have a turn
MERGE_TRIES: Final = 5
MERGE_BACKOFF_SECONDS: Final = 0.005  # doubled after each try: under a tenth of a second in all
HANDED_ENTRIES: Final = 512
HANDED_BYTES: Final = 16_384  # of one entry; a longer one is read from the log


class Folder:
    """Steps 1 to 5, on values and on what is read; nothing of it is saved here."""

    def __init__(
        self,
        database: Store,
        log_: IntakeLog,
        secrets: Secrets,
        policies: Policies,
        clock: Callable[[], datetime],
        cache: Cache,
    ) -> None:
        self._database = database
        self._log = log_
        self._secrets = secrets
        self._policies = policies
        self._clock = clock
        self._cache = cache
        self._handed: OrderedDict[bytes, Opened] = OrderedDict()

    def hand_over(self, value: bytes, tenant: str, entry: Entry) -> None:
        """The entry that is being appended as this value, so that it need not be read out of it again in this process.

        Found by the value itself: what the log gives is what counts, and without this it is read from there.
        """
        if len(value) <= HANDED_BYTES:
            self._handed[value] = envelope.opened_as(value, tenant, entry)
            while len(self._handed) > HANDED_ENTRIES:
                self._handed.popitem(last=False)

    async def folded(self, fence: Fence, logged: Sequence[Logged], *, poison: str | None = None) -> Batch:
        """Steps 1 to 5."""
        slices = Slices()
        batch = Batch([])
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
            send(batch, fold, self._secrets)  # 5
        return batch

    def _opened(self, fence: Fence, logged: Logged, poison: str | None) -> Item:
        """1: the entry, or why it is none."""
        try:
            opened = self._handed.pop(logged.value, None) or envelope.from_bytes(logged.value)
        except (UnreadableEntry, RecursionError) as why:
            return Item(logged, None, fault=poison or f"unreadable: {why}", is_foreign=not logged.is_marked, tries=1)
        item = Item(logged, opened, envelope.body_hash(opened.entry.body, self._secrets.keyed_hash))
        if poison is not None:
            item.fault, item.tries = poison, 1
        elif (foreign := self._foreign(item)) is not None:
            item.fault, item.is_foreign, item.tries = foreign, True, 1
        elif self._log.partition_of(*item.key) != fence.partition:
            item.fault, item.is_foreign, item.tries = "it stands in a partition that is not its borrower's", True, 1
        return item

    def _foreign(self, item: Item) -> str | None:
        """Why it does not come from our intake, in a log where others may write as well."""
        if not self._log.others_may_write:
            return None
        if (item.logged.tenant, item.logged.borrower_id) != item.key:
            return "its key in the log names another tenant or borrower than it does itself"
        stamps = item.entry.stamps
        if stamps.digest != envelope.entry_digest(item.entry.body, stamps, self._secrets.keyed_hash):
            return "it was not stamped by this service"
        return None

    def _load(self, connection: Connection, batch: Batch) -> Known:
        """2: all that is stored of what the batch speaks of."""
        known = Known()
        by_tenant: dict[str, list[Item]] = {}
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

    async def _fold(self, batch: Batch, known: Known, fresh: Sequence[Item], slices: Slices) -> None:
        """4: each borrower's entries into the borrower's record."""
        groups: dict[Key, list[Item]] = {}
        for item in fresh:
            groups.setdefault(item.key, []).append(item)
        now = self._clock()
        failed: list[Item] = []
        for key, items in groups.items():
            batch.folds[key] = Fold(*key)
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

    def _merge_run(self, fold: Fold, known: Known, run: Sequence[Item], now: datetime) -> list[Item]:
        """Merges entries that are alike in what they may do to a rung; those that cannot be, are returned.

        A run that fails as a whole is tried one by one, so that only what is bad stays out. Order does not matter to a
        record.
        """
        policy = self._policies.for_tenant(fold.tenant)
        try:
            if fold.before is None:
                fold.begin(self._cache.get(fold.key) or held_in(fold.key, known))
            record = fold.record
            before: Rungs | None = None
            if _may_not_lower(run[0]) and record.buckets:
                before = fold.state.rungs if fold.state is not None else rungs(record, policy)
            for item in run:
                after = merge(record, item.entry, self._hasher)
                check_kept(record, after)
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
        if before is not None and not has_let_go(fold.record, record):
            check_rungs(before, state.rungs)
        fold.record, fold.state = record, state
        for item in run:
            fold.version += 1
            item.version, item.fault = fold.version, None
            fold.items.append(item)
        return []

    def _hasher(self, words: str) -> str:
        return self._secrets.keyed_hash(words, "words")


class Slices:
    """Gives other requests a turn when the work has taken long enough."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + SLICE_SECONDS

    async def breathe(self) -> None:
        if time.perf_counter() > self._until:
            await asyncio.sleep(0)
            self._until = time.perf_counter() + SLICE_SECONDS


# -- 2, 3 --------------------------------------------------------------------------------------------------------------


def _load_links(connection: Connection, batch: Batch, tenant: str, items: Iterable[Item]) -> None:
    """Whose an identifier or a loan is, before an entry of these says something about it."""
    told: dict[str, set[str]] = {}
    for entry in (item.entry for item in items):
        if isinstance(entry.body, IdentifierLinked | IdentifierUnlinked):
            kind, value = identifier_of(entry)
            told.setdefault(kind, set()).add(value)
        elif isinstance(entry.body, CycleOpened):
            told.setdefault("loan", set()).add(entry.body.loan_id)
    for kind, names in told.items():
        if kind == "loan":
            whose = records.owners_of_each(connection, tenant, list(names))
        else:
            whose = records.borrowers_of_each(connection, tenant, kind, list(names))
        batch.linked.update(((tenant, kind, name), owners) for name, owners in whose.items())


def _sorted(batch: Batch, known: Known) -> list[Item]:
    """3: the entries to merge; the others know what they repeat."""
    fresh: dict[tuple[str, str], Item] = {}
    for item in batch.items:
        if item.fault is None:
            name = item.tenant, item.entry.event_id
            item.first = known.merged[item.tenant].get(item.entry.event_id) or fresh.get(name)
            if item.first is None:
                fresh[name] = item
    return list(fresh.values())


def _is_echo(item: Item) -> bool:
    """By the digest, which covers the stamps: no two deliveries have them alike."""
    match item.first:
        case Merged() as first:
            return (
                first.body_hash == item.body_hash
                and Stamps.model_validate_json(first.stamps).digest == item.entry.stamps.digest
            )
        case Item() as first:
            return first.entry.stamps.digest == item.entry.stamps.digest
    return False


def held_in(key: Key, known: Known) -> Held:
    """The stored record, parsed. Raises `UnreadableRecord`."""
    row = known.rows.get(key)
    if row is None:
        return Held(None, Record.new(key[1]), None, Derived())
    stored, derived = row
    return Held(stored.version, Record.from_bytes(stored.record), None, derived)


def _runs(items: Iterable[Item]) -> list[list[Item]]:
    """Neighbours that are alike in whether they may lower a rung, so that a state need not be derived for each."""
    return [list(run) for _, run in groupby(items, key=_may_not_lower)]


def _may_not_lower(item: Item) -> bool:
    """Law 4, and its one exception: a summary that says it was not the borrower."""
    body = item.entry.body
    return isinstance(body, Summary) and body.outcome not in NOBODY_OUTCOMES
