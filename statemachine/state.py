"""Everything anybody asks about a borrower, computed from the record: `derive(record, now, policy) -> BorrowerState`.

No conclusion is stored as truth: the state is a pure function of evidence, time and policy (DESIGN 3). The steps:

    1 count the evidence: one element of each id, none that came through an identifier of somebody else
    2 group revisions into conversations; the highest speaks for all
    3 place every piece in its cycle (`cycles.Calendar`) and conclude each cycle (`cycles.conclude`)
    4 conclude what belongs to the borrower: identity, holds, stops, facts, the appointment, open ends
    5 say until when all this holds if nothing else arrives

The shapes are in `conclusions`; they are named here again because this is where callers look for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, Protocol, TypeAlias
from zoneinfo import ZoneInfo

from statemachine.attribution import Calendar, Ref
from statemachine.conclusions import (
    NO_IDENTITY,
    STAGES,
    Callback,
    Claim,
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
)
from statemachine.cycles import conclude, rung
from statemachine.elements import (
    WRONG_BORROWER,
    CommitmentSaid,
    ContactChoice,
    ConversationBegun,
    ConversationTold,
    CycleBegun,
    CycleEnded,
    Element,
    FactSaid,
    FactStatedOnce,
    HoldSet,
    IdentifierFact,
    Key,
    MessageReported,
    PaymentMade,
    PaymentUndone,
    PromiseFailed,
    PromiseWithdrawn,
    ProseTold,
    Redirected,
    StrangerMet,
)
from statemachine.entries import CHANNELS, NOBODY_OUTCOMES, STRANGER_OUTCOMES
from statemachine.holding import Holding, payments_of
from statemachine.ladder import Rung
from statemachine.record import PROSE_CONVERSATIONS, Record
from statemachine.redirects import NOBODYS, whose
from statemachine.volatility import FACT_KINDS, volatility_of

__all__ = [
    "NO_IDENTITY", "STAGES", "BorrowerState", "Callback", "Claim", "Conversation", "Cycle", "Evidence", "Flag", "Hold",
    "Identity", "KnownFact", "KnownIdentifier", "OptOut", "Payment", "Policy", "Promise", "StartedConversation",
    "UnknownLoan", "derive",
]  # fmt: skip

_NEVER = datetime.max.replace(tzinfo=UTC)
CALLBACK_WITHOUT_TIME_DAYS = 7
"""An appointment whose time nobody could read is shown this long."""
STEPS_INFORMED = frozenset({"inform", "negotiate", "confirm", "remind", "pay", "close"})


class Policy(Protocol):
    """What `derive` takes from a tenant's policy (API 13)."""

    @property
    def time_zone(self) -> str: ...
    @property
    def identity_days(self) -> float: ...
    @property
    def currency(self) -> str: ...
    @property
    def prose_days(self) -> float: ...


class UnknownLoan(LookupError):
    """A loan that no evidence names."""


@dataclass(frozen=True, slots=True)
class BorrowerState:
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
    """By `kind:value`, where identity holds."""
    holds: tuple[Hold, ...]
    opt_outs: tuple[OptOut, ...]
    facts: tuple[KnownFact, ...]
    callback: Callback | None
    conversations: tuple[Conversation, ...]
    """In the order in which they ended."""
    started: tuple[StartedConversation, ...]
    redirected_to: str | None
    moved_until: datetime | None
    """Of a provisional record: its evidence up to here is not told of whoever has it now."""
    unplaced_payments: tuple[Payment, ...]
    """Payments that count in no cycle: they name no loan while several are known (listed for ops)."""
    valid_until: datetime | None
    """The earliest time at which time alone changes any of this."""
    calendar: Calendar = field(repr=False, compare=False)

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

    def identity_on(self, identifier: str | None) -> Identity:
        """Whether identity holds on this identifier (`kind:value`); a read that names none is not verified (DESIGN 5)."""
        return NO_IDENTITY if identifier is None else self.identities.get(identifier, NO_IDENTITY)

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
    counted = _Counted(record)
    links = _last_links(counted.identifiers)
    zone = _zone_of(links, policy)
    calendar = Calendar(counted.begun, counted.loans)
    conversations = _conversations(counted.told)
    paid = payments_of(counted.payments, counted.reversals)
    holdings, unplaced = _holdings(counted, conversations, paid, calendar)
    cycles = _cycles(record, holdings, calendar, now, zone, policy.currency)
    identities, expiries = _identities(counted, conversations, now, policy)
    holds, hold_ends = _holds(counted.holds, now)
    facts, fact_ends = _facts(counted.facts, conversations, now)
    callback, callback_ends = _callback(conversations, now)
    promise_ends = [c.promise_overdue_at for c in cycles if c.promise_overdue_at]
    redirected_to, moved = whose(counted.redirects) if counted.redirects else NOBODYS
    told, prose_ends = _told(conversations, counted.prose, now, policy.prose_days)
    moments = (*expiries, *hold_ends, *fact_ends, *callback_ends, *promise_ends, *prose_ends)
    return BorrowerState(
        borrower_id=record.borrower_id,
        time_zone=zone,
        cycles=cycles,
        loans=tuple(sorted(calendar.loans)),
        identifiers=_linked(links, identities),
        identities=identities,
        holds=holds,
        opt_outs=_opt_outs(counted.contact) if counted.contact else (),
        facts=facts,
        callback=callback,
        conversations=told,
        started=_started(counted.started, conversations) if counted.started else (),
        redirected_to=redirected_to,
        moved_until=moved,
        unplaced_payments=tuple(unplaced),
        valid_until=min((m for m in moments if m > now), default=None),
        calendar=calendar,
    )


@dataclass(frozen=True, slots=True)
class Rungs:
    """What no summary may lower: the rung of each cycle that has one, and the loans among which evidence is placed."""

    loans: tuple[str, ...]
    by_cycle: Mapping[Ref, Rung]


def rungs(record: Record, policy: Policy) -> Rungs:
    """The rungs of `derive`, at a fraction of its price."""
    counted = _Counted(record)
    if not counted.commitments:
        return Rungs(tuple(sorted(counted.loans)), {})
    zone = _zone_of(_last_links(counted.identifiers), policy)
    calendar = Calendar(counted.begun, counted.loans)
    holdings: dict[Ref, Holding] = defaultdict(Holding)
    _place_promises(holdings, counted, _conversations(counted.told), calendar)
    if counted.breaks:  # payments decide which of them has an effect, and nothing else about a rung
        _place_payments(holdings, payments_of(counted.payments, counted.reversals), calendar)
    found: dict[Ref, Rung] = {}
    for ref, holding in holdings.items():
        its = rung(holding, calendar.by_ref.get(ref), zone=zone, currency=policy.currency)
        if its != "none":
            found[ref] = its
    return Rungs(tuple(sorted(calendar.loans)), found)


# -- 1 the evidence that counts ------------------------------------------------------------------------------


class _Counted:
    """The elements that count, by what they are. Of one id that came with different bytes, the smallest counts."""

    __slots__ = (
        "begun", "breaks", "closings", "commitments", "contact", "facts", "holds", "identifiers", "loans", "messages",
        "payments", "prose", "redirects", "reversals", "started", "strangers", "told", "withdrawals",
    )  # fmt: skip

    def __init__(self, record: Record) -> None:
        by_type: dict[type, list[Any]] = defaultdict(list)
        loans: dict[str, datetime] = {}
        ids: set[str] = set()
        keys: set[Key] = set()
        for bucket in record.buckets:
            held = bucket.contents
            for kind, elements in held.by_type:
                by_type[kind] += elements
            for loan, at in held.loans.items():
                if loan not in loans or at < loans[loan]:
                    loans[loan] = at
            ids |= held.ids
            keys |= held.keys
        smallest = _smallest(by_type.values()) if len(keys) > len(ids) else {}
        wrong = _wrong_until(by_type[IdentifierFact])
        moved = whose(by_type[Redirected]).after if by_type[Redirected] else None
        if smallest or wrong or moved:
            _leave_out(by_type, smallest, wrong, moved)
            loans = _named_first(by_type)
        self.begun: list[CycleBegun] = by_type[CycleBegun]
        self.breaks: list[PromiseFailed] = by_type[PromiseFailed]
        self.closings: list[CycleEnded] = by_type[CycleEnded]
        self.commitments: list[CommitmentSaid] = by_type[CommitmentSaid]
        self.contact: list[ContactChoice] = by_type[ContactChoice]
        self.facts: list[FactStatedOnce] = by_type[FactStatedOnce]
        self.holds: list[HoldSet] = by_type[HoldSet]
        self.identifiers: list[IdentifierFact] = by_type[IdentifierFact]
        self.messages: list[MessageReported] = by_type[MessageReported]
        self.payments: list[PaymentMade] = by_type[PaymentMade]
        self.prose: list[ProseTold] = by_type[ProseTold]
        self.redirects: list[Redirected] = by_type[Redirected]
        self.reversals: list[PaymentUndone] = by_type[PaymentUndone]
        self.started: list[ConversationBegun] = by_type[ConversationBegun]
        self.strangers: list[StrangerMet] = by_type[StrangerMet]
        self.told: list[ConversationTold] = by_type[ConversationTold]
        self.withdrawals: list[PromiseWithdrawn] = by_type[PromiseWithdrawn]
        self.loans = loans


def _leave_out(
    by_type: dict[type, list[Any]], smallest: dict[str, Key], wrong: dict[str, datetime], moved: datetime | None
) -> None:
    """Evidence that does not count: of one id the larger, somebody else's, and what went to somebody else (DESIGN 7)."""
    for kind, elements in by_type.items():
        by_type[kind] = [
            e
            for e in elements
            if smallest.get(e.event_id, e.key) == e.key
            and not _is_anothers(e, wrong)
            and (moved is None or kind is Redirected or e.at > moved)
        ]


def _named_first(by_type: dict[type, list[Any]]) -> dict[str, datetime]:
    """When each loan was first named by evidence that counts."""
    loans: dict[str, datetime] = {}
    for elements in by_type.values():
        for e in elements:
            if e.loan_id is not None and e.at < loans.get(e.loan_id, _NEVER):
                loans[e.loan_id] = e.at
    return loans


def _key(element: Element) -> Key:
    return element.key


def _smallest(kinds: Iterable[list[Any]]) -> dict[str, Key]:
    """The smallest key of each id that came with more than one; the journal lets no such second one in."""
    smallest: dict[str, Key] = {}
    first: dict[str, Element] = {}
    for elements in kinds:
        for element in elements:
            known = first.setdefault(element.event_id, element)
            if known.digest != element.digest or known.at != element.at:
                smallest[element.event_id] = min(element.key, smallest.get(element.event_id, known.key))
    return smallest


def _wrong_until(identifiers: Iterable[IdentifierFact]) -> dict[str, datetime]:
    """Until when what came through an identifier was somebody else's (DESIGN 7)."""
    wrong: dict[str, datetime] = {}
    for element in identifiers:
        if element.what == "unlinked" and element.reason == WRONG_BORROWER:
            wrong[element.identifier] = max(element.at, wrong.get(element.identifier, element.at))
    return wrong


def _is_anothers(element: Element, wrong: dict[str, datetime]) -> bool:
    return element.through is not None and element.through in wrong and element.at <= wrong[element.through]


@lru_cache(maxsize=512)
def is_zone(name: str) -> bool:
    """Whether a name is that of a time zone."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True


def _zone_of(links: Mapping[str, IdentifierFact], policy: Policy) -> str:
    """The zone linked last with an identifier that is still linked, else the policy's."""
    zones = [e for e in links.values() if e.what == "linked" and e.time_zone and is_zone(e.time_zone)]
    return max(zones, key=_key).time_zone or policy.time_zone if zones else policy.time_zone


def _last_links(identifiers: Iterable[IdentifierFact]) -> dict[str, IdentifierFact]:
    """The last link or unlink of each identifier."""
    last: dict[str, IdentifierFact] = {}
    for element in identifiers:
        if element.what in ("linked", "unlinked"):
            known = last.get(element.identifier)
            if known is None or element.key > known.key:
                last[element.identifier] = element
    return last


# -- 2 conversations -----------------------------------------------------------------------------------------


def _conversations(told: Iterable[ConversationTold]) -> list[ConversationTold]:
    """Each conversation by its highest revision, in the order in which they ended."""
    highest: dict[tuple[str, str], ConversationTold] = {}
    for element in told:
        key = (element.channel, element.conversation_id)
        if key not in highest or _revision(element) > _revision(highest[key]):
            highest[key] = element
    return sorted(highest.values(), key=_key)


def _revision(element: ConversationTold) -> tuple[Any, ...]:
    return (element.revision, *element.key)


def _told(
    conversations: list[ConversationTold], prose: Iterable[ProseTold], now: datetime, prose_days: float
) -> tuple[tuple[Conversation, ...], list[datetime]]:
    """Conversations with their prose: of the newest few, and not past its retention."""
    life = timedelta(days=prose_days)
    words = {e.event_id: e for e in prose if e.text and now < e.at + life}
    in_words = [c for c in reversed(conversations) if c.event_id in words][:PROSE_CONVERSATIONS]
    shown = {c.event_id for c in in_words}
    result = []
    for c in conversations:
        told = words.get(c.event_id) if c.event_id in shown else None
        result.append(
            Conversation(
                channel=c.channel,
                conversation_id=c.conversation_id,
                event_id=c.event_id,
                revision=c.revision,
                at=c.at,
                outcome=c.outcome,
                contact=c.contact,
                disposition=c.disposition,
                reached=c.reached,
                step=c.step,
                third_party=c.third_party,
                direction=c.direction,
                language=c.language,
                agent=c.agent,
                resume_id=c.resume_id,
                entered_state=c.entered_state,
                prose=told.text if told else None,
                amounts=told.amounts if told else (),
                loan_id=c.loan_id,
                cycle_id=c.cycle_id,
            )
        )
    return tuple(result), [c.at + life for c in in_words]


def _started(started: Iterable[ConversationBegun], told: Iterable[ConversationTold]) -> tuple[StartedConversation, ...]:
    reported = {(c.channel, c.conversation_id) for c in told}
    first: dict[tuple[str, str], ConversationBegun] = {}
    for element in sorted(started, key=_key):
        first.setdefault((element.channel, element.conversation_id), element)
    return tuple(
        StartedConversation(e.channel, e.conversation_id, e.event_id, e.at, e.direction, e.loan_id)
        for key, e in first.items()
        if key not in reported
    )


# -- 3 cycles ------------------------------------------------------------------------------------------------


Paid: TypeAlias = list[tuple[PaymentMade, Payment, list[datetime]]]


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


def _holdings(
    counted: _Counted, conversations: list[ConversationTold], paid: Paid, calendar: Calendar
) -> tuple[dict[Ref, Holding], list[Payment]]:
    """The evidence of each cycle, and the payments that count in none."""
    holdings: dict[Ref, Holding] = defaultdict(Holding)
    _place_promises(holdings, counted, conversations, calendar)
    for c in conversations:
        for ref in calendar.place(c.loan_id, c.cycle_id, c.at):
            holding = holdings[ref]
            if c.contact:
                holding.contact_made = True
                holding.reached_inform = holding.reached_inform or c.step in STEPS_INFORMED
            else:
                holding.contact_attempts += 1
            if c.claim and c.outcome not in NOBODY_OUTCOMES:
                holding.claims.append(c)
    for element in counted.identifiers:
        if element.what == "verified":
            for ref in calendar.place(element.loan_id, element.cycle_id, element.at):
                holdings[ref].contact_made = True
    for reports in _by_message(counted.messages):
        named = next((r for r in reports if r.cycle_id or r.loan_id), reports[0])
        for ref in calendar.place(named.loan_id, named.cycle_id, reports[0].at):
            holdings[ref].messages.append(reports)
    unplaced = _place_payments(holdings, paid, calendar)
    for closing in counted.closings:
        holdings[(closing.loan_id, closing.cycle_id)].closings.append(closing)
    return dict(holdings), unplaced


def _place_promises(
    holdings: dict[Ref, Holding], counted: _Counted, conversations: list[ConversationTold], calendar: Calendar
) -> None:
    """What was promised, in the order in which it was, and what ended it."""
    nobody = {(c.channel, c.conversation_id) for c in conversations if c.outcome in NOBODY_OUTCOMES}
    for said in sorted(counted.commitments, key=_key):
        if (said.channel, said.conversation_id) not in nobody:
            for ref in calendar.place(said.loan_id, said.cycle_id, said.at):
                holdings[ref].commitments.append(said)
    for mark in counted.breaks:
        for ref in calendar.place(mark.loan_id, mark.cycle_id, mark.at):
            holdings[ref].breaks.append(mark)
    for withdrawal in counted.withdrawals:
        for ref in _withdrawn_from(withdrawal, counted.commitments, calendar):
            holdings[ref].withdrawals.append(withdrawal)


def _place_payments(holdings: dict[Ref, Holding], paid: Paid, calendar: Calendar) -> list[Payment]:
    """Those that count in no cycle are returned."""
    unplaced = []
    unopened: dict[str, list[Payment]] = {}  # of loans without an opening all payments count in one place
    for made, payment, reversed_at in paid:
        loan = made.loan_id
        if loan is not None and made.cycle_id is None and loan not in calendar.by_loan and not reversed_at:
            placed = unopened.get(loan)
            if placed is None:
                placed = unopened[loan] = holdings[loan, None].payments
            placed.append(payment)
            continue
        refs = calendar.place_payment(loan, made.cycle_id, made.at)
        for ref in refs:
            holding = holdings[ref]
            holding.payments.append(payment)
            holding.reversed_at += reversed_at
        if not refs:
            unplaced.append(payment)
    return sorted(unplaced, key=attrgetter("payment_ref"))


def _withdrawn_from(mark: PromiseWithdrawn, commitments: Iterable[CommitmentSaid], calendar: Calendar) -> set[Ref]:
    """A retraction that names a conversation reaches its promise wherever it stands; else it is placed as all evidence."""
    if mark.conversation_id is None:
        return set(calendar.place(mark.loan_id, mark.cycle_id, mark.at))
    return {
        ref
        for said in commitments
        if said.conversation_id == mark.conversation_id
        for ref in calendar.place(said.loan_id, said.cycle_id, said.at)
    }


def _by_message(messages: Iterable[MessageReported]) -> list[list[MessageReported]]:
    """The reports of each message of ours, earliest first."""
    grouped: dict[tuple[str, str, str], list[MessageReported]] = defaultdict(list)
    for element in sorted(messages, key=_key):
        grouped[(element.action, element.channel, element.message_id)].append(element)
    return list(grouped.values())


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


# -- 4 the borrower ------------------------------------------------------------------------------------------


def _identities(
    counted: _Counted, conversations: Iterable[ConversationTold], now: datetime, policy: Policy
) -> tuple[dict[str, Identity], list[datetime]]:
    """Where identity holds, and when that lapses (DESIGN 5)."""
    verified: dict[str, IdentifierFact] = {}
    ended: dict[str, Key] = {}
    everywhere: Key | None = None
    for element in counted.identifiers:
        if element.what == "verified":
            known = verified.get(element.identifier)
            if known is None or element.key > known.key:
                verified[element.identifier] = element
        elif element.what == "revoked" and element.identifier == "*":
            everywhere = max(element.key, everywhere or element.key)
        elif element.what in ("revoked", "unlinked"):
            ended[element.identifier] = max(element.key, ended.get(element.identifier, element.key))
    for identifier, key in _strangers(counted.strangers, conversations):
        if identifier is None:
            everywhere = max(key, everywhere or key)
        else:
            ended[identifier] = max(key, ended.get(identifier, key))
    holding: dict[str, Identity] = {}
    expiries = []
    for identifier, element in verified.items():
        expires = element.at + timedelta(days=policy.identity_days)
        stops = [key for key in (ended.get(identifier), everywhere) if key is not None]
        if now < expires and all(element.key > key for key in stops):
            holding[identifier] = Identity(True, element.at, expires, element.method, element.channel)
            expiries.append(expires)
    return holding, expiries


def _strangers(
    strangers: Sequence[StrangerMet], conversations: Iterable[ConversationTold]
) -> Iterable[tuple[str | None, Key]]:
    """Where somebody else was met; a higher revision that says it was the borrower takes that back."""
    highest = {(c.channel, c.conversation_id): c for c in conversations} if strangers else {}
    for met in strangers:
        top = highest.get((met.channel, met.conversation_id))
        if top is None or top.outcome in STRANGER_OUTCOMES or top.revision < met.revision:
            yield met.through, met.key


def _linked(links: Mapping[str, IdentifierFact], holding: dict[str, Identity]) -> tuple[KnownIdentifier, ...]:
    linked = sorted(name for name, e in links.items() if e.what == "linked")
    known = []
    for name in linked:
        kind, value = name.split(":", 1)
        identity = holding.get(name, NO_IDENTITY)
        known.append(KnownIdentifier(kind, value, identity.verified_at, identity.expires_at))
    return tuple(known)


def _holds(elements: Iterable[HoldSet], now: datetime) -> tuple[tuple[Hold, ...], list[datetime]]:
    """The holds in force: placed after the last lifting of their kind and loan, and not past their own end."""
    lifted: dict[tuple[str, str | None], datetime] = {}
    elements = list(elements)
    for e in elements:
        if not e.placed:
            lifted[e.hold, e.loan_id] = max(e.at, lifted.get((e.hold, e.loan_id), e.at))
    force: dict[tuple[str, str | None], HoldSet] = {}
    ends = []
    for e in sorted(elements, key=_key):
        place = (e.hold, e.loan_id)
        if not e.placed or (place in lifted and e.at < lifted[place]) or (e.until is not None and e.until <= now):
            continue
        force[place] = e
        if e.until is not None:
            ends.append(e.until)
    holds = (Hold(e.hold, e.reason, e.loan_id, e.at, e.until) for e in force.values())
    return tuple(sorted(holds, key=lambda h: (h.placed_at, h.kind, h.loan_id or ""))), ends


def _opt_outs(elements: Iterable[ContactChoice]) -> tuple[OptOut, ...]:
    """The stops in force; an opt-in lifts its channel out of `all`, and at the same time the stop counts."""
    last: dict[tuple[str, str], ContactChoice] = {}
    for e in elements:
        place = (e.channel, e.purpose)
        if place not in last or (e.at, e.out, e.key) > (last[place].at, last[place].out, last[place].key):
            last[place] = e
    stops: list[OptOut] = []
    for purpose in sorted({p for _, p in last}):
        everywhere = last.get(("all", purpose))
        stop_all = everywhere if everywhere and everywhere.out else None
        own = {c: last.get((c, purpose)) for c in CHANNELS}
        lifted = {c for c, e in own.items() if stop_all and e and not e.out and e.at > stop_all.at}
        if stop_all and not lifted:
            stops.append(OptOut("all", purpose, stop_all.at))
        for channel in CHANNELS:
            mine = own[channel]
            if mine and mine.out:
                stops.append(OptOut(channel, purpose, mine.at))
            elif stop_all and lifted and channel not in lifted:
                stops.append(OptOut(channel, purpose, stop_all.at))
    return tuple(sorted(stops, key=lambda o: (o.at, o.channel, o.purpose)))


def _facts(
    stated: Iterable[FactStatedOnce], conversations: Iterable[ConversationTold], now: datetime
) -> tuple[tuple[KnownFact, ...], list[datetime]]:
    """One fact per kind, subject and folded text, newest first; stated before inferred (DESIGN 11)."""
    found: dict[str, KnownFact] = {}
    readings: list[tuple[datetime, str, str | None, FactSaid]] = [(e.at, "stated", None, e.fact) for e in stated]
    readings += [(c.at, "inferred", c.conversation_id, f) for c in conversations for f in c.facts]
    ends = []
    for at, source, conversation_id, said in sorted(readings, key=lambda r: (r[0], r[1] == "stated", r[3].fact_id)):
        fact = _known(said, at, source, conversation_id, now)
        if fact is None:
            continue
        known = found.get(said.fact_id)
        if known is None or fact.source == "stated" or known.source == "inferred":
            found[said.fact_id] = fact
    for fact in found.values():
        if fact.expires_at:
            ends.append(fact.expires_at)
    return tuple(sorted(found.values(), key=lambda f: (f.observed_at, f.fact_id), reverse=True)), ends


def _known(said: FactSaid, at: datetime, source: Any, conversation_id: str | None, now: datetime) -> KnownFact | None:
    kind = FACT_KINDS.get(said.kind)
    if not said.text or kind is None:
        return None
    expires = at + timedelta(days=kind.lifetime_days) if kind.lifetime_days is not None else None
    if expires is not None and expires <= now:
        return None
    return KnownFact(
        fact_id=said.fact_id,
        kind=said.kind,
        text=said.text,
        about=said.about,
        source=source,
        volatility=str(volatility_of(said.kind)),
        observed_at=at,
        expires_at=expires,
        conversation_id=conversation_id,
        quote=said.quote,
        grounding=said.grounding,
    )


def _callback(conversations: list[ConversationTold], now: datetime) -> tuple[Callback | None, list[datetime]]:
    """The appointment asked for last, until it is past."""
    for c in reversed(conversations):
        if c.callback is None or c.outcome in NOBODY_OUTCOMES:
            continue
        ends = c.callback.at or c.at + timedelta(days=CALLBACK_WITHOUT_TIME_DAYS)
        if ends <= now:
            return None, []
        said = c.callback
        return Callback(said.at, said.said, said.quote, c.channel, c.conversation_id), [ends]
    return None, []
