"""What a cycle holds: the evidence placed in it, its payments by time, and where its days begin and end."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter
from zoneinfo import ZoneInfo

from statemachine.conclusions import Payment
from statemachine.elements import (
    CommitmentSaid,
    ConversationTold,
    CycleEnded,
    MessageReported,
    PaymentMade,
    PaymentUndone,
    PromiseFailed,
    PromiseWithdrawn,
    key_of,
)
from statemachine.money import quantised

ZERO = Decimal(0)
FAR = datetime.max.replace(tzinfo=UTC)
LONG_AGO = datetime.min.replace(tzinfo=UTC)
DAYS_KEPT = 4_096


@dataclass(slots=True)
class Holding:
    """The evidence placed in one cycle."""

    commitments: list[CommitmentSaid] = field(default_factory=list)
    messages: list[list[MessageReported]] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    reversed_at: list[datetime] = field(default_factory=list)
    closings: list[CycleEnded] = field(default_factory=list)
    breaks: list[PromiseFailed] = field(default_factory=list)
    withdrawals: list[PromiseWithdrawn] = field(default_factory=list)
    claims: list[ConversationTold] = field(default_factory=list)
    contact_made: bool = False
    reached_inform: bool = False
    contact_attempts: int = 0


def payments_of(
    made: Iterable[PaymentMade], undone: Iterable[PaymentUndone]
) -> list[tuple[PaymentMade, Payment, list[datetime]]]:
    """Each payment reference once: the statement that places it, its newest statement less what was reversed, and the times of
    its reversals.

    The statement that places it is the newest that names a loan or a cycle, since a later one that names none says nothing of
    where it belongs. Where none names any it is the first: loans that were named between the two take no payment away (law 4).
    """
    stated: dict[str, list[PaymentMade]] = {}
    back: dict[str, list[PaymentUndone]] = defaultdict(list)
    for element in made:
        known = stated.get(element.payment_ref)
        if known is None:
            stated[element.payment_ref] = [element]
        else:
            known.append(element)
    for reversal in undone:
        back[reversal.payment_ref].append(reversal)
    result = []
    for ref, statements in stated.items():
        if len(statements) == 1 and ref not in back:
            only = statements[0]
            result.append((only, _paid_once(only), _NEVER_REVERSED))
            continue
        newest = max(statements, key=key_of)
        reversals = [u for u in back[ref] if u.currency in (None, newest.currency)]
        returned = sum((newest.amount if u.amount is None else u.amount for u in reversals), ZERO)
        others = {e.amount for e in statements} - {newest.amount}
        payment = Payment(
            payment_ref=ref,
            event_id=newest.event_id,
            at=newest.at,
            amount=quantised(newest.amount, newest.currency),
            received=quantised(max(ZERO, newest.amount - returned), newest.currency),
            currency=newest.currency,
            settles=newest.settles and not returned,
            disputed_amounts=tuple(sorted(others)),
        )
        named = [e for e in statements if e.loan_id or e.cycle_id]
        placing = max(named, key=key_of) if named else min(statements, key=key_of)
        result.append((placing, payment, [u.at for u in reversals]))
    return result


_NEVER_REVERSED: list[datetime] = []


def _paid_once(made: PaymentMade) -> Payment:
    """A payment that was stated once and not reversed, as nearly all are: it is kept with the one statement it rests on."""
    kept: Payment | None = made.__dict__.get(_PAID_ONCE)
    if kept is None:
        shown = quantised(made.amount, made.currency)
        received = quantised(max(ZERO, made.amount), made.currency)
        kept = Payment(made.payment_ref, made.event_id, made.at, shown, received, made.currency, made.settles, ())
        made.__dict__[_PAID_ONCE] = kept
    return kept


_PAID_ONCE = "paid_once"


@lru_cache(maxsize=DAYS_KEPT)
def end_of_day(day: date, zone: str) -> datetime:
    """The first instant after a date in a zone, in UTC: a due date is past from then on."""
    if day >= date(9999, 12, 30):
        return FAR
    return start_of_day(day + timedelta(days=1), zone)


def start_of_day(day: date, zone: str) -> datetime:
    """The first instant of a date in a zone, in UTC."""
    if day <= date(1, 1, 2):
        return LONG_AGO
    return datetime.combine(day, time(), _zone(zone)).astimezone(UTC)


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


class Received:
    """What came in of one cycle in its currency, by time: how much of it between two instants is looked up."""

    __slots__ = ("_sums", "_times", "currency", "is_all", "payments", "total")

    def __init__(self, payments: Sequence[Payment], currency: str) -> None:
        self.currency = currency
        self.payments = sorted([p for p in payments if p.currency == currency], key=when_of)
        self.is_all = len(self.payments) == len(payments)
        """Whether nothing came in in another currency."""
        self._times = [p.at for p in self.payments]
        self._sums = [ZERO, *accumulate([p.received for p in self.payments])] if self.payments else [ZERO]
        self.total = self._sums[-1]

    def since(self, since: datetime, until: datetime) -> Decimal:
        """From `since` (included) to `until` (not included)."""
        first, last = bisect_left(self._times, since), bisect_left(self._times, until)
        return self._sums[last] - self._sums[first] if last > first else ZERO

    def up_to(self, since: datetime, until: datetime) -> Decimal:
        """From `since` to `until`, both included."""
        first, last = bisect_left(self._times, since), bisect_right(self._times, until)
        return self._sums[last] - self._sums[first] if last > first else ZERO


when_of = attrgetter("at", "event_id")
