"""What one transaction saves, while it is worked on: entries on their way, records before and after, what was saved last.

How an entry changes a record is not known here.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from service import records
from service.intake.envelope import Opened
from service.intake.log import (
    Logged,
    Pending,
)
from service.records import Derived, Merged, Stored
from statemachine.record import Record
from statemachine.stamps import (
    Entry,
)
from statemachine.state import BorrowerState


class Moved(Exception):
    """Something was written meanwhile by the writer of another partition; the batch has to be folded anew."""


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


class Cache:
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
class Item:
    """One entry of a batch on its way."""

    logged: Logged
    opened: Opened | None
    body_hash: str = ""
    fault: str | None = None
    """Why it is poison."""
    is_foreign: bool = False
    """Poison that did not come from this service."""
    tries: int = 0
    first: Merged | Item | None = None
    """What it repeats: an entry of the journal, or one before it in the batch."""
    is_listed: bool = False
    """Poison that was set aside before, and is tried again."""
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
class Fold:
    """One borrower of a batch: the record before it, and as it has become."""

    tenant: str
    borrower_id: str
    before: Held | None = None
    record: Record = _NOTHING
    version: int = 0
    items: list[Item] = field(default_factory=list)
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
class Batch:
    """Everything that one transaction saves."""

    items: list[Item]
    folds: dict[Key, Fold] = field(default_factory=dict)
    asides: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """By tenant and event, what of this batch was set aside before."""
    linked: dict[tuple[str, str, str], frozenset[str]] = field(default_factory=dict)
    """By tenant, kind and value of each identifier (or `loan`) that the batch speaks of: whose it was before."""
    outgoing: list[Pending] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.items[-1].logged.offset + 1


@dataclass(slots=True)
class Known:
    """What is stored of a batch's entries and borrowers."""

    merged: dict[str, dict[str, Merged]] = field(default_factory=dict)
    """By tenant and event."""
    rows: dict[Key, tuple[Stored, Derived]] = field(default_factory=dict)
    """Of borrowers that the cache does not have."""
