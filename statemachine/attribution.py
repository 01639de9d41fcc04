"""Attribution: which due a piece of evidence belongs to, by the openings that are known now (DESIGN 6).

Nothing is attributed when it is stored, so an opening that is reported late still sorts everything right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from statemachine.conclusions import Conclusion
from statemachine.elements import CycleBegun, Key, key_of

Ref: TypeAlias = tuple[str | None, str | None]
"""A cycle: its loan and its id; the id is null for the implicit cycle before any opening."""


class Opening(Conclusion, frozen=True):
    """A cycle's opening: the earliest statement opens it, the newest gives date and amount."""

    ref: Ref
    loan_id: str
    cycle_id: str
    key: Key
    due_date: date
    amount_due: Decimal
    currency: str


class Calendar:
    """The openings known, and where evidence belongs. `loans` are those that any evidence names, with when it first did."""

    __slots__ = ("by_loan", "by_ref", "loans", "openings")

    def __init__(self, begun: Iterable[CycleBegun], loans: Mapping[str, datetime]) -> None:
        stated: dict[Ref, list[CycleBegun]] = defaultdict(list)
        for element in begun:
            stated[(element.loan_id, element.cycle_id)].append(element)
        self.openings = sorted((_opening(ref, s) for ref, s in stated.items()), key=lambda o: (o.key, o.ref))
        self.by_ref = {o.ref: o for o in self.openings}
        self.by_loan: dict[str, list[Opening]] = defaultdict(list)
        for opening in self.openings:
            self.by_loan[opening.loan_id].append(opening)
        self.loans = loans

    def __eq__(self, other: object) -> bool:
        """What it places is told by its openings and loans."""
        return isinstance(other, Calendar) and (self.openings, self.loans) == (other.openings, other.loans)

    def place(self, loan_id: str | None, cycle_id: str | None, at: datetime) -> tuple[Ref, ...]:
        """The cycles in which evidence counts: one, but for evidence before any opening that names no loan."""
        if cycle_id is not None:
            return (self._named(loan_id, cycle_id, at),)
        if loan_id is not None:
            opened = _last_by(at, self.by_loan.get(loan_id, ()))
            return (opened.ref if opened else (loan_id, None),)
        opened = _last_by(at, self.openings)
        return (opened.ref,) if opened else ((None, None), *((loan, None) for loan in sorted(self.loans)))

    def place_payment(self, loan_id: str | None, cycle_id: str | None, at: datetime) -> tuple[Ref, ...]:
        """As `place`; but a payment that names no loan counts in no implicit cycle while several loans are known.

        Known are those that had been named before it: a loan that is spoken of later takes no payment away (law 4).
        """
        refs = self.place(loan_id, cycle_id, at)
        if len(refs) == 1:
            return refs
        known = [loan for loan, named_at in self.loans.items() if named_at < at]
        if len(known) > 1:
            return ()
        return ((None, None), (known[0], None)) if known else refs

    def _named(self, loan_id: str | None, cycle_id: str, at: datetime) -> Ref:
        if loan_id is not None:
            return (loan_id, cycle_id)
        alike = [o for o in self.openings if o.cycle_id == cycle_id]
        opened = _last_by(at, alike)
        return opened.ref if opened else alike[0].ref if alike else (None, cycle_id)

    def current(self, loan_id: str | None, is_open: Callable[[Ref], bool]) -> Ref:
        """What a read means (DESIGN 6): the loan's cycle last opened; without a loan, the newest still open one."""
        if loan_id is not None:
            opened = self.by_loan.get(loan_id)
            return opened[-1].ref if opened else (loan_id, None)
        newest = sorted((opened[-1] for opened in self.by_loan.values()), key=lambda o: (o.key, o.ref))
        if newest:
            return next((o.ref for o in reversed(newest) if is_open(o.ref)), newest[-1].ref)
        return (next(iter(self.loans)), None) if len(self.loans) == 1 else (None, None)


def _last_by(at: datetime, openings: Sequence[Opening]) -> Opening | None:
    """The last of these, in the order of their times, that had opened by then."""
    if not openings:
        return None
    for opening in reversed(openings):
        if opening.key[0] <= at:
            return opening
    return None


def _opening(ref: Ref, stated: Sequence[CycleBegun]) -> Opening:
    first, last = min(stated, key=key_of), max(stated, key=key_of)
    return Opening(ref, first.loan_id, first.cycle_id, first.key, last.due_date, last.amount_due, last.currency)
