"""A borrower's state as readers see it: the stored record, understood at this moment (DESIGN 3).

Understanding a record costs more than fetching it, so what was derived is kept while it holds: the same record version and
policy, and not past the time at which time alone changes it. Nothing derived is ever stored as truth.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from service import records
from service.policy import Policy
from statemachine.record import Record
from statemachine.state import BorrowerState, derive

STATES_KEPT = 2_000
ANSWERS_KEPT = 20_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Known:
    """A borrower at one record version. `borrower_id` is the real one, also when a provisional id was asked for."""

    borrower_id: str
    version: int
    state: BorrowerState
    is_provisional: bool


class Kept:
    """The last so many values, each with the time until which it holds."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[Any, tuple[datetime | None, Any]] = OrderedDict()

    def get(self, key: Any, now: datetime) -> Any | None:
        found = self._values.get(key)
        if found is None:
            return None
        until, value = found
        if until is not None and now >= until:
            del self._values[key]
            return None
        self._values.move_to_end(key)
        return value

    def put(self, key: Any, value: Any, until: datetime | None) -> None:
        self._values[key] = (until, value)
        if len(self._values) > self._limit:
            self._values.popitem(last=False)


class Reader:
    """Understands stored records, and remembers what it understood."""

    def __init__(self) -> None:
        self._states = Kept(STATES_KEPT)
        self.answers = Kept(ANSWERS_KEPT)

    def known(self, tenant: str, stored: records.Stored, policy: Policy, now: datetime) -> Known:
        """The state of a stored record. Raises `statemachine.record.UnreadableRecord`."""
        key = (tenant, stored.borrower_id, stored.version, policy.version)
        state = self._states.get(key, now)
        if state is None:
            state = derive(Record.from_bytes(stored.record), now, policy)
            self._states.put(key, state, state.valid_until)
        return Known(stored.borrower_id, stored.version, state, stored.provisional)

    def answer(self, key: Any, now: datetime, until: datetime | None, compute: Callable[[], T]) -> T:
        """What was computed for this key before, if it still holds."""
        found = self.answers.get(key, now)
        if found is None:
            found = compute()
            self.answers.put(key, found, until)
        return found
