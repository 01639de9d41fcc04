"""Cycles and attempts: which due a piece of evidence belongs to, and what became of each due (DESIGN 4.6, 5, 6).

Theory of operation. Nothing is attributed when it is stored. A `Calendar` of the openings known now places each element: by
the cycle it names, else by the loan it names and its time, else by its time alone. So an opening that is reported late still
sorts everything right. Within a cycle a break is a *mark*: it names the due date of the promise it breaks, and the promises
for that date and everything said before the first of them no longer count. What counts is then the strongest commitment.

Whether a break has an effect depends on payments and can only be undone, never caused, by another summary; that is what
keeps the fourth law (no summary lowers a rung or clears a flag).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from statemachine.conclusions import NOT_YET, Claim, Cycle, Evidence, Flag, Payment, Promise, PromiseOutcome, Status
from statemachine.elements import (
    CommitmentSaid,
    ConversationTold,
    CycleBegun,
    CycleEnded,
    Element,
    Key,
    MessageReported,
    PaymentMade,
    PaymentUndone,
    PromiseFailed,
    PromiseWithdrawn,
)
from statemachine.ladder import Rung, differs, names_terms, rung_of, strength
from statemachine.money import quantised

Ref: TypeAlias = tuple[str | None, str | None]
"""A cycle: its loan and its id; the id is null for the implicit cycle before any opening."""

STANDING_OUTCOMES = ("sent", "delivered", "read")
_RANK = {"attempted": 0, "sent": 1, "failed": 2, "delivered": 3, "read": 4}
ZERO = Decimal(0)
_FAR = datetime.max.replace(tzinfo=UTC)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
DAYS_KEPT = 4_096


# -- attribution ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opening:
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
    first, last = min(stated, key=_key), max(stated, key=_key)
    return Opening(ref, first.loan_id, first.cycle_id, first.key, last.due_date, last.amount_due, last.currency)


# -- what a cycle holds --------------------------------------------------------------------------------------


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
    """Each payment reference once: its newest statement, less what was reversed; with the times of its reversals.

    First in each is the statement that places it: the newest that names a loan or a cycle, since a later one that names
    none says nothing of where it belongs.
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
        newest = max(statements, key=_key)
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
        named = max((e for e in statements if e.loan_id or e.cycle_id), key=_key, default=newest)
        result.append((named, payment, [u.at for u in reversals]))
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
        return _FAR
    return start_of_day(day + timedelta(days=1), zone)


def start_of_day(day: date, zone: str) -> datetime:
    """The first instant of a date in a zone, in UTC."""
    if day <= date(1, 1, 2):
        return _LONG_AGO
    return datetime.combine(day, time(), _zone(zone)).astimezone(UTC)


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


class Received:
    """What came in of one cycle in its currency, by time: how much of it between two instants is looked up."""

    __slots__ = ("_sums", "_times", "currency", "is_all", "payments", "total")

    def __init__(self, payments: Sequence[Payment], currency: str) -> None:
        self.currency = currency
        self.payments = sorted([p for p in payments if p.currency == currency], key=_when)
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


# -- what became of it ---------------------------------------------------------------------------------------


def conclude(
    ref: Ref,
    holding: Holding,
    opening: Opening | None,
    *,
    now: datetime,
    zone: str,
    currency: str,
    lost_up_to: datetime | None,
) -> Cycle:
    """All that is known of one cycle; `lost_up_to` is the newest evidence of its loan that was let go."""
    currency = opening.currency if opening else _currency_of(holding, currency)
    money = Received(holding.payments, currency)
    fate = _fate(holding, money, opening, zone)
    force = fate.in_force
    covered = money.total >= opening.amount_due if opening else _covers_a_promise(holding, money, fate)
    paid = covered or any(p.settles for p in money.payments)
    status: Status = "open"
    if lost_up_to is not None and (opening is None or opening.key[0] <= lost_up_to):
        status = "unknown"
    elif paid:
        status = "paid"
    elif holding.closings and _is_closed(holding):
        status = "closed"
    messages = _of_attempt(holding.messages, fate.broken_at[-1]) if fate.broken_at else holding.messages
    standing = _standing(messages)
    reminded, link = _message_flag(standing, "reminder"), _message_flag(standing, "payment_link")
    promise = _promise(force, money, opening, now, zone) if force else None
    counters = [c for c in fate.alive if _is_counter(c, force)] if force and len(fate.alive) > 1 else []
    stage = _stage(status, link.value, reminded.value, promise is not None, holding.contact_made)
    overdue_at = None
    if promise and promise.due_date and promise.outcome in ("open", "partly_kept"):
        overdue_at = end_of_day(promise.due_date, zone)
    return Cycle(
        cycle_id=ref[1],
        loan_id=ref[0],
        attempt=1 + len(fate.broken_at),
        status=status,
        opened_at=opening.key[0] if opening else None,
        due_date=opening.due_date if opening else None,
        amount_due=quantised(opening.amount_due, currency) if opening else None,
        received=quantised(money.total, currency),
        outstanding=quantised(max(ZERO, opening.amount_due - money.total), currency) if opening else None,
        currency=currency,
        stage=stage,
        promise=promise,
        counter_proposals=tuple(
            [_promise(c, money, opening, now, zone) for c in sorted(counters, key=_key, reverse=True)]
        ),
        history=_history(fate, money, opening, now, zone),
        payment_claim=_claim(holding.claims, status, holding.payments, zone) if holding.claims else None,
        reminded=reminded,
        payment_link_shared=link,
        payment_confirmed=_payment_flag(money.payments),
        contact_made=holding.contact_made,
        informed=holding.reached_inform or bool(holding.commitments),
        contact_attempts=holding.contact_attempts,
        broken_at=tuple(fate.broken_at),
        payments=tuple(money.payments if money.is_all else sorted(holding.payments, key=_when)),
        attempted_at=_attempted(standing),
        reports=tuple([report.event_id for reports in messages for report in reports]),
        promise_overdue_at=overdue_at,
    )


def rung(holding: Holding, opening: Opening | None, *, zone: str, currency: str) -> Rung:
    """That of the cycle as `conclude` would find it."""
    if not holding.commitments:
        return "none"
    money = Received(holding.payments, opening.currency if opening else _currency_of(holding, currency))
    force = _fate(holding, money, opening, zone).in_force
    return rung_of(force) if force else "none"


@dataclass(slots=True)
class _Fate:
    """What became of each commitment of a cycle, nowhere changed. `alive` has one per conversation, the strongest."""

    alive: list[CommitmentSaid]
    in_force: CommitmentSaid | None
    broken: list[CommitmentSaid]
    retracted: list[CommitmentSaid]
    replaced: list[tuple[CommitmentSaid, CommitmentSaid]]
    broken_at: list[datetime]
    killed: dict[Key, datetime]
    """When a break ended each that one did end."""
    withdrawn: set[Key]


_NOTHING_SAID = _Fate([], None, [], [], [], [], {}, set())


def _fate(holding: Holding, money: Received, opening: Opening | None, zone: str) -> _Fate:
    if not holding.commitments and not holding.breaks:
        return _NOTHING_SAID

    def kept(said: CommitmentSaid) -> bool:
        target = _target(said, opening)
        return target is not None and _paid_towards(said, money, zone) >= target

    killed: dict[Key, datetime] = {}
    broken: dict[Key, CommitmentSaid] = {}
    broken_at: list[datetime] = []
    seen: set[date] = set()
    for mark in sorted(holding.breaks, key=_key):
        effect = _effect(mark, holding.commitments, killed, kept, seen)
        if effect is None:
            continue
        dead, failed = effect
        broken_at.append(mark.at)
        for said in dead:
            killed.setdefault(said.key, mark.at)
        broken |= {c.key: c for c in failed if killed[c.key] == mark.at}
    retracted = _retracted(holding, killed) if holding.withdrawals else set()
    standing = [c for c in holding.commitments if c.key not in retracted]
    alive = _strongest_each([c for c in standing if c.key not in killed])
    in_force = max(alive, key=strength, default=None)
    dead_others = _strongest_each([c for c in standing if c.key in killed]) if killed else []
    everything = [*alive, *(c for c in dead_others if c.key not in broken), *broken.values()]
    return _Fate(
        alive=alive,
        in_force=in_force,
        broken=_strongest_each([c for c in broken.values() if c.key not in retracted]),
        retracted=_strongest_each([c for c in holding.commitments if c.key in retracted]) if retracted else [],
        replaced=[(c, by) for c, by in _replaced(everything) if c is not in_force and c.key not in broken],
        broken_at=broken_at,
        killed=killed,
        withdrawn=retracted,
    )


def _covers_a_promise(holding: Holding, money: Received, fate: _Fate) -> bool:
    """Without a due: whether a payment brought what came since the promise then in force up to its amount (DESIGN 5).

    A promise that is made after it, higher or lower, neither pays the cycle nor opens it again (DESIGN 6). Payments and
    promises are walked together by time; a promise that a break has ended does not come back.
    """
    if not money.payments:
        return False
    coming = sorted([c for c in holding.commitments if c.key not in fate.withdrawn], key=_key, reverse=True)
    standing: list[tuple[tuple[Any, ...], CommitmentSaid]] = []
    force: CommitmentSaid | None = None
    until = _LONG_AGO
    for payment in money.payments:
        at = payment.at
        while coming and coming[-1].at <= at:
            said = coming.pop()
            insort(standing, (strength(said), said), key=_strength)
        while standing and fate.killed and fate.killed.get(standing[-1][1].key, _FAR) <= at:
            standing.pop()
        now_in_force = standing[-1][1] if standing else None
        if now_in_force is not force:
            if force is not None and _is_covered(force, until, money):
                return True
            force = now_in_force
        until = at  # what came while one promise was in force only grows: the last payment decides
    return force is not None and _is_covered(force, until, money)


def _is_covered(force: CommitmentSaid, until: datetime, money: Received) -> bool:
    if force.amount is None or force.currency != money.currency:
        return False
    return money.up_to(force.at, until) >= force.amount


def _strength(ranked: tuple[tuple[Any, ...], CommitmentSaid]) -> tuple[Any, ...]:
    return ranked[0]


def _effect(
    mark: PromiseFailed,
    commitments: Sequence[CommitmentSaid],
    killed: dict[Key, datetime],
    kept: Callable[[CommitmentSaid], bool],
    seen: set[date],
) -> tuple[list[CommitmentSaid], list[CommitmentSaid]] | None:
    """What no longer counts by this break, and what it broke; `None` when it has no effect (DESIGN 4.6)."""
    said = [c for c in commitments if c.at <= mark.at]
    if mark.due_date is None:
        alive = [c for c in said if c.key not in killed]
        if any(kept(c) for c in alive):
            return None
        current = max(alive, key=strength, default=None)
        return said, [current] if current else []
    if mark.due_date in seen:
        return None
    seen.add(mark.due_date)
    named = [c for c in said if c.due_date == mark.due_date]
    if any(kept(c) for c in named):
        return None
    if not named:
        return said, []
    first = min(c.at for c in named)
    return [c for c in said if c.at < first or c.due_date == mark.due_date], named


def _retracted(holding: Holding, killed: dict[Key, datetime]) -> set[Key]:
    """The commitments that a person took off the record: a named conversation's, else those of the current promise."""
    gone: set[Key] = set()
    for mark in sorted(holding.withdrawals, key=_key):
        said = [c for c in holding.commitments if c.at <= mark.at and c.key not in gone]
        if mark.conversation_id is not None:
            targets = {
                (c.channel, c.conversation_id)
                for c in said
                if c.conversation_id == mark.conversation_id and mark.channel in (None, c.channel)
            }
        else:
            current = max((c for c in said if killed.get(c.key, _FAR) > mark.at), key=strength, default=None)
            targets = {(current.channel, current.conversation_id)} if current else set()
        gone |= {c.key for c in said if (c.channel, c.conversation_id) in targets}
    return gone


def _strongest_each(commitments: Sequence[CommitmentSaid]) -> list[CommitmentSaid]:
    """One commitment a conversation: its strongest counts once."""
    if len(commitments) < 2:
        return list(commitments)
    best: dict[tuple[str, str], tuple[tuple[Any, ...], CommitmentSaid]] = {}
    for said in commitments:
        conversation, mine = (said.channel, said.conversation_id), strength(said)
        if conversation not in best or mine > best[conversation][0]:
            best[conversation] = (mine, said)
    return sorted([said for _, said in best.values()], key=_key)


def _replaced(commitments: Sequence[CommitmentSaid]) -> list[tuple[CommitmentSaid, CommitmentSaid]]:
    """Each commitment that a later, stronger one of another conversation took the place of, with the first such one."""
    found: list[tuple[CommitmentSaid, CommitmentSaid]] = []
    if len(commitments) < 2:
        return found
    later: list[tuple[tuple[Any, ...], CommitmentSaid]] = []
    for said in sorted(commitments, key=_key, reverse=True):
        mine = strength(said)
        while later and later[-1][0] < mine:
            later.pop()
        if later:
            by = later[-1][1]
            if (by.channel, by.conversation_id) != (said.channel, said.conversation_id):
                found.append((said, by))
        later.append((mine, said))
    return found


def _is_counter(said: CommitmentSaid, force: CommitmentSaid) -> bool:
    """A later claim that does not win and names other terms stands beside the promise in force (DESIGN 4.4)."""
    return said is not force and said.key > force.key and names_terms(said) and differs(said, force)


def _target(said: CommitmentSaid, opening: Opening | None) -> Decimal | None:
    """What has to be paid for a promise to be kept: its amount; of one that names none, the due."""
    if said.amount is not None:
        return said.amount
    return opening.amount_due if opening and not said.amount_candidates else None


def _paid_towards(said: CommitmentSaid, money: Received, zone: str) -> Decimal:
    if said.currency not in (None, money.currency):
        return ZERO
    return money.since(said.at, end_of_day(said.due_date, zone) if said.due_date else _FAR)


def _promise(
    said: CommitmentSaid,
    money: Received,
    opening: Opening | None,
    now: datetime,
    zone: str,
    *,
    ended_as: PromiseOutcome | None = None,
    replaced_by: CommitmentSaid | None = None,
) -> Promise:
    """A commitment as it is told. One that ended is not overdue; one that was kept before it was replaced stays kept."""
    paid = _paid_towards(said, money, zone)
    target = _target(said, opening)
    kept = target is not None and paid >= target
    past = said.due_date is not None and end_of_day(said.due_date, zone) <= now
    currency = said.currency or (opening.currency if opening else None)
    return Promise(
        promise_id=f"{said.channel}:{said.conversation_id}",
        status=rung_of(said),  # type: ignore[arg-type]
        amount=None if said.amount is None else quantised(said.amount, currency or ""),
        currency=currency,
        due_date=said.due_date,
        amount_candidates=tuple(quantised(a, currency or "") for a in said.amount_candidates),
        due_date_candidates=said.due_date_candidates,
        outcome=_outcome(kept, paid, ended_as),
        overdue=past and not kept and ended_as is None,
        channel=said.channel,
        conversation_id=said.conversation_id,
        at=said.at,
        grounding=said.grounding,
        quote=said.quote,
        said=said.terms_said,
        kept_amount=quantised(paid, currency or ""),
        replaced_at=replaced_by.at if replaced_by else None,
        replaced_by=f"{replaced_by.channel}:{replaced_by.conversation_id}" if replaced_by else None,
    )


def _outcome(kept: bool, paid: Decimal, ended_as: PromiseOutcome | None) -> PromiseOutcome:
    if kept and ended_as in (None, "replaced"):
        return "kept"
    return ended_as or ("partly_kept" if paid > 0 else "open")


def _history(fate: _Fate, money: Received, opening: Opening | None, now: datetime, zone: str) -> tuple[Promise, ...]:
    """Promises no longer in force, oldest first, each with what became of it."""
    ended: list[tuple[CommitmentSaid, PromiseOutcome, CommitmentSaid | None]] = [
        *((c, "broken", None) for c in fate.broken),
        *((c, "retracted", None) for c in fate.retracted),
        *((c, "replaced", by) for c, by in fate.replaced),
    ]
    ended.sort(key=lambda e: e[0].key)
    return tuple([_promise(c, money, opening, now, zone, ended_as=outcome, replaced_by=by) for c, outcome, by in ended])


def _claim(claims: Sequence[ConversationTold], status: Status, payments: Sequence[Payment], zone: str) -> Claim | None:
    """The last claim that no payment has answered; a payment made on the claimed day or later answers it."""
    if status in ("paid", "closed"):
        return None
    last = claims[-1]
    said = last.claim
    assert said is not None, "only conversations with a claim are placed as claims"
    since = start_of_day(said.paid_on, zone) if said.paid_on else last.at
    if any(p.received > 0 and p.at >= since for p in payments):
        return None
    amount = None if said.amount is None else quantised(said.amount, said.currency or "")
    return Claim(
        amount, said.currency, said.paid_on, said.quote, said.said, last.channel, last.conversation_id, last.at
    )


def _is_closed(holding: Holding) -> bool:
    """Closed by the lender's word, until a reversal opens it again (DESIGN 6)."""
    closed_at = max((c.at for c in holding.closings), default=None)
    return closed_at is not None and not any(at >= closed_at for at in holding.reversed_at)


def _currency_of(holding: Holding, default: str) -> str:
    """An implicit cycle is counted in the currency of its payments, else of its promise, else of the policy."""
    if holding.payments:
        return min(holding.payments, key=_ref).currency
    for said in holding.commitments:
        if said.currency:
            return said.currency
    return default


def _of_attempt(messages: Iterable[list[MessageReported]], since: datetime) -> list[list[MessageReported]]:
    """The messages that were first told of since the attempt began."""
    return [reports for reports in messages if reports[0].at >= since]


def _standing(messages: Iterable[list[MessageReported]]) -> list[MessageReported]:
    """Of each message the report at which it stands."""
    return [reports[0] if len(reports) == 1 else max(reports, key=_rank) for reports in messages]


def _rank(report: MessageReported) -> tuple[int, Key]:
    return (_RANK[report.outcome], report.key)


def _message_flag(standing: Iterable[MessageReported], action: str) -> Flag:
    """True while any message of the attempt stands at sent, delivered or read; the newest such message is the evidence."""
    sent = [e for e in standing if e.action == action and e.outcome in STANDING_OUTCOMES]
    if not sent:
        return NOT_YET
    top = max(sent, key=_key)
    return Flag(True, Evidence(top.event_id, top.at, top.channel, top.message_id, top.outcome))


def _attempted(standing: Iterable[MessageReported]) -> dict[str, datetime]:
    """By action, the last message of the attempt that stands at `attempted`: nobody knows whether it went out."""
    last: dict[str, datetime] = {}
    for top in standing:
        if top.outcome == "attempted":
            last[top.action] = max(top.at, last.get(top.action, top.at))
    return last


def _payment_flag(payments: Sequence[Payment]) -> Flag:
    """`payments` in the order of their times."""
    newest = next((p for p in reversed(payments) if p.received > 0), None)
    if newest is None:
        return NOT_YET
    return Flag(True, Evidence(newest.event_id, newest.at, None, None, None))


def _stage(status: Status, link: bool, reminded: bool, promised: bool, contact: bool) -> str:
    """The first that is true (API 5)."""
    if status == "paid":
        return "paid"
    if link:
        return "link_shared"
    if reminded:
        return "reminded"
    if promised:
        return "committed"
    return "negotiation" if contact else "empty"


def _key(element: Element) -> Key:
    return element.key


_when = attrgetter("at", "event_id")
_ref = attrgetter("payment_ref")
