"""A borrower as readers see it: the stored record, understood at this moment (DESIGN 3).

Understanding a record costs more than fetching it, so what was derived is kept while it holds: the same record version and
policy, and not past the time at which time alone changes it. Nothing derived is ever stored as truth.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from service import records
from service.policy import Policy
from service.resuming.gist import Gist, gist_of
from statemachine.conclusions import Cycle
from statemachine.cycles import conclude
from statemachine.holding import Holding
from statemachine.record import Record
from statemachine.state import BorrowerState, UnknownLoan, derive

STATES_KEPT: Final = 2_000
GISTS_KEPT: Final = 8_000
"""Of some 3 KB each; most are found beside their record and are not kept here."""

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Known:
    """A borrower at one record version. `borrower_id` is the real one, also when a provisional id was asked for."""

    borrower_id: str
    version: int
    state: BorrowerState
    is_provisional: bool

    def cycle_for(self, loan_id: str | None, policy: Policy, now: datetime) -> Cycle:
        """The cycle meant; of a loan that the record does not know, an empty one (API 6)."""
        try:
            return self.state.cycle_of(loan_id)
        except UnknownLoan:
            return conclude(
                (loan_id, None),
                Holding(),
                None,
                now=now,
                zone=self.state.time_zone,
                currency=policy.currency,
                lost_up_to=None,
            )


def understood(stored: records.Stored, policy: Policy, now: datetime) -> Known:
    """A stored record as it is at this moment, in any thread. Raises `statemachine.record.UnreadableRecord`."""
    state = derive(Record.from_bytes(stored.record), now, policy)
    return Known(stored.borrower_id, stored.version, state, stored.provisional)


class Kept(Generic[V]):
    """The last so many values, each with the time until which it holds."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[Any, tuple[datetime | None, V]] = OrderedDict()

    def get(self, key: Any, now: datetime) -> V | None:
        found = self._values.get(key)
        if found is None:
            return None
        until, value = found
        if until is not None and now >= until:
            del self._values[key]
            return None
        self._values.move_to_end(key)
        return value

    def put(self, key: Any, value: V, until: datetime | None) -> None:
        self._values[key] = (until, value)
        if len(self._values) > self._limit:
            self._values.popitem(last=False)


class Reader:
    """Understands stored records, and remembers what it understood."""

    def __init__(self) -> None:
        self._states: Kept[BorrowerState] = Kept(STATES_KEPT)
        self._gists: Kept[Gist] = Kept(GISTS_KEPT)

    def known(self, tenant: str, stored: records.Stored, policy: Policy, now: datetime) -> Known:
        """The state of a stored record. Raises `statemachine.record.UnreadableRecord`."""
        key = (tenant, stored.borrower_id, stored.version, policy.version)
        state = self._states.get(key, now)
        if state is None:
            state = understood(stored, policy, now).state
            self._states.put(key, state, state.valid_until)
        return Known(stored.borrower_id, stored.version, state, stored.provisional)

    def gist(self, tenant: str, stored: records.Stored, loan_id: str | None, policy: Policy, now: datetime) -> Gist:
        """The gist of a stored record beside which there is none that holds. Raises as `known`."""
        key = (tenant, stored.borrower_id, stored.version, policy.version, loan_id)
        gist = self._gists.get(key, now)
        if gist is None:
            known = self.known(tenant, stored, policy, now)
            gist = gist_of(known.state, known.cycle_for(loan_id, policy, now), policy)
            self._gists.put(key, gist, gist.until)
        return gist
