"""Everything anybody asks about a borrower, computed from the record: `derive(record, now, policy) -> BorrowerState`.

No conclusion is stored as truth: the state is a pure function of evidence, time and policy (DESIGN 3). The steps:

    1 count the evidence: one element of each id, none that came through an identifier of somebody else
    2 group revisions into conversations; the highest speaks for all
    3 place every piece in its cycle (`attribution.Calendar`) and conclude each cycle (`cycles.conclude`)
    4 conclude what belongs to the borrower: identity, holds, stops, facts, the appointment, open ends
    5 say until when all this holds if nothing else arrives

The shapes are in `conclusions`; they are named here again because this is where callers look for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from statemachine.attribution import Calendar, Ref
from statemachine.conclusions import (
    NO_IDENTITY,
    STAGES,
    Callback,
    Claim,
    Conclusion,
    Conversation,
    Cycle,
    Evidence,
    Flag,
    Hold,
    Identity,
    KnownFact,
    KnownIdentifier,
    OptOut,
    Payment,
    Promise,
    StartedConversation,
    WithheldText,
)
from statemachine.cycles import conclude, rung
from statemachine.evidence import Counted, Policy, last_links, zone_of
from statemachine.holding import Holding, payments_of
from statemachine.ladder import Rung
from statemachine.person import (
    callback_of,
    conversations_of,
    conversations_told,
    facts_of,
    holds_of,
    identities_of,
    linked_of,
    opt_outs_of,
    started_of,
)
from statemachine.placing import holdings_of, place_payments, place_promises
from statemachine.record import Record
from statemachine.redirects import NOBODYS, whose
from statemachine.withholding import NOTHING, cycle_without, hidden_by, withheld_of, words_without

__all__ = [
    "NO_IDENTITY", "STAGES", "BorrowerState", "Callback", "Claim", "Conversation", "Cycle", "Evidence", "Flag", "Hold",
    "Identity", "KnownFact", "KnownIdentifier", "OptOut", "Payment", "Policy", "Promise", "StartedConversation",
    "UnknownLoan", "derive",
]  # fmt: skip


class UnknownLoan(LookupError):
    """A loan that no evidence names."""


class BorrowerState(Conclusion, frozen=True):
    """All conclusions about one borrower at one time."""

    borrower_id: str
    time_zone: str
    cycles: tuple[Cycle, ...]
    """Every cycle known, the implicit ones included; oldest opening first."""
    loans: tuple[str, ...]
    """Every loan that evidence names, in the order of their ids."""
    identifiers: tuple[KnownIdentifier, ...]
    """Those linked now."""
    identities: dict[str, Identity]
    """By `kind:value`, where identity holds. A read that names no identifier is not verified (DESIGN 5)."""
    holds: tuple[Hold, ...]
    opt_outs: tuple[OptOut, ...]
    facts: tuple[KnownFact, ...]
    callback: Callback | None
    conversations: tuple[Conversation, ...]
    """In the order in which they ended."""
    started: tuple[StartedConversation, ...]
    anothers: dict[str, datetime]
    """Identifiers, as `kind:value`, through which evidence came that was never this borrower's, and up to when (DESIGN 7)."""
    redirected_to: str | None
    moved_until: datetime | None
    """Of a provisional record: its evidence up to here is not told of whoever has it now."""
    unplaced_payments: tuple[Payment, ...]
    """Payments that count in no cycle: they name no loan while several are known (listed for ops)."""
    withheld_texts: tuple[WithheldText, ...]
    """What a person withheld: in no prose, no fact and no quote here."""
    valid_until: datetime | None
    """The earliest time at which time alone changes any of this."""
    calendar: Calendar

    def cycle_of(self, loan_id: str | None) -> Cycle:
        """The cycle a read means (DESIGN 6); `UnknownLoan` for a loan that no evidence names."""
        if loan_id is not None and loan_id not in self.loans:
            raise UnknownLoan(loan_id)
        by_ref = {(c.loan_id, c.cycle_id): c for c in self.cycles}
        return by_ref[self.calendar.current(loan_id, lambda ref: by_ref[ref].status == "open")]

    def current_cycles(self) -> tuple[Cycle, ...]:
        """Each loan's cycle last opened, else its implicit one; of no loan only while no loan is known."""
        return tuple(self.cycle_of(loan) for loan in self.loans) or (self.cycle_of(None),)

    def place(self, loan_id: str | None, cycle_id: str | None, at: datetime) -> tuple[str | None, str | None, int]:
        """Loan, cycle and attempt in which something of that time stands."""
        ref = self.calendar.place(loan_id, cycle_id, at)[-1]
        cycle = next((c for c in self.cycles if (c.loan_id, c.cycle_id) == ref), None)
        return (*ref, 1 + sum(b <= at for b in cycle.broken_at) if cycle else 1)

    @property
    def rungs(self) -> Rungs:
        by_cycle = {(c.loan_id, c.cycle_id): c.promise.status for c in self.cycles if c.promise}
        return Rungs(self.loans, by_cycle)

    def holds_on(self, loan_id: str | None) -> tuple[Hold, ...]:
        """The holds in force on a loan: the borrower's and its own."""
        return tuple(h for h in self.holds if h.loan_id is None or h.loan_id == loan_id)

    def opted_out(self, channel: str, purpose: str = "collections") -> bool:
        return any(o.channel in (channel, "all") and o.purpose == purpose for o in self.opt_outs)


def derive(record: Record, now: datetime, policy: Policy) -> BorrowerState:
    """What the record means at `now` (aware, UTC) under a policy. Pure: no clock, no I/O; raises nothing for any record."""
    counted = Counted(record)
    links = last_links(counted.identifiers)
    zone = zone_of(links, policy)
    calendar = Calendar(counted.begun, counted.loans)
    conversations = conversations_of(counted.told)
    paid = payments_of(counted.payments, counted.reversals)
    holdings, unplaced = holdings_of(counted, conversations, paid, calendar)
    cycles = _cycles(record, holdings, calendar, now, zone, policy.currency)
    identities, expiries = identities_of(counted, conversations, now, policy)
    holds, hold_ends = holds_of(counted.holds, now)
    withheld = withheld_of(counted.judged) if counted.judged else ()
    hidden = hidden_by(withheld) if withheld else NOTHING
    facts, fact_ends = facts_of(counted.facts, conversations, now, hidden)
    callback, callback_ends = callback_of(conversations, now)
    promise_ends = [c.promise_overdue_at for c in cycles if c.promise_overdue_at]
    redirected_to, moved = whose(counted.redirects) if counted.redirects else NOBODYS
    told, prose_ends = conversations_told(
        conversations, counted.prose, now, policy.prose_days, hidden, counted.commitments
    )
    if hidden:
        cycles = tuple(cycle_without(cycle, hidden) for cycle in cycles)
        callback = callback and words_without(callback, hidden)
    moments = (*expiries, *hold_ends, *fact_ends, *callback_ends, *promise_ends, *prose_ends)
    return BorrowerState(
        borrower_id=record.borrower_id,
        time_zone=zone,
        cycles=cycles,
        loans=tuple(sorted(calendar.loans)),
        identifiers=linked_of(links, identities),
        identities=identities,
        holds=holds,
        opt_outs=opt_outs_of(counted.contact) if counted.contact else (),
        facts=facts,
        callback=callback,
        conversations=told,
        started=started_of(counted.started, conversations) if counted.started else (),
        anothers=counted.anothers,
        redirected_to=redirected_to,
        moved_until=moved,
        unplaced_payments=tuple(unplaced),
        withheld_texts=withheld,
        valid_until=min((m for m in moments if m > now), default=None),
        calendar=calendar,
    )


class Rungs(Conclusion, frozen=True):
    """What no summary may lower: the rung of each cycle that has one, and the loans among which evidence is placed."""

    loans: tuple[str, ...]
    by_cycle: Mapping[Ref, Rung]


def rungs(record: Record, policy: Policy) -> Rungs:
    """The rungs of `derive`, at a fraction of its price."""
    counted = Counted(record)
    if not counted.commitments:
        return Rungs(tuple(sorted(counted.loans)), {})
    zone = zone_of(last_links(counted.identifiers), policy)
    calendar = Calendar(counted.begun, counted.loans)
    holdings: dict[Ref, Holding] = defaultdict(Holding)
    place_promises(holdings, counted, conversations_of(counted.told), calendar)
    if counted.breaks:  # payments decide which of them has an effect, and nothing else about a rung
        place_payments(holdings, payments_of(counted.payments, counted.reversals), calendar)
    found: dict[Ref, Rung] = {}
    for ref, holding in holdings.items():
        its = rung(holding, calendar.by_ref.get(ref), zone=zone, currency=policy.currency)
        if its != "none":
            found[ref] = its
    return Rungs(tuple(sorted(calendar.loans)), found)


def _cycles(
    record: Record, holdings: dict[Ref, Holding], calendar: Calendar, now: datetime, zone: str, currency: str
) -> tuple[Cycle, ...]:
    """Every cycle that is opened or that any evidence stands in, the implicit ones included; oldest opening first."""
    lost = _lost(record)
    unopened = [(loan, None) for loan in calendar.loans if loan not in calendar.by_loan]
    nowhere: list[Ref] = [] if calendar.openings else [(None, None)]
    cycles = []
    for ref in sorted({*calendar.by_ref, *holdings, *unopened, *nowhere}, key=lambda r: _order(r, calendar)):
        lost_up_to = max((at for loan, at in lost if loan in ("", ref[0] or "")), default=None) if lost else None
        holding, opening = holdings.get(ref) or Holding(), calendar.by_ref.get(ref)
        cycles.append(conclude(ref, holding, opening, now=now, zone=zone, currency=currency, lost_up_to=lost_up_to))
    return tuple(cycles)


def _lost(record: Record) -> list[tuple[str, datetime]]:
    """By loan, the newest evidence of payments or boundaries that was let go."""
    return [
        (bucket.name[1], bucket.let_go[0])
        for bucket in record.buckets
        if bucket.let_go and bucket.name[0] in ("payments", "boundaries")
    ]


def _order(ref: Ref, calendar: Calendar) -> tuple[Any, ...]:
    opening = calendar.by_ref.get(ref)
    return (1, opening.key, ref[0] or "", ref[1] or "") if opening else (0, ref[0] or "", ref[1] or "")
