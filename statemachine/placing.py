"""The evidence of a borrower, placed in the cycles that it is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from operator import attrgetter
from typing import TypeAlias

from statemachine.attribution import Calendar, Ref
from statemachine.conclusions import (
    Payment,
)
from statemachine.elements import (
    CommitmentSaid,
    ConversationTold,
    MessageReported,
    PaymentMade,
    PromiseWithdrawn,
    key_of,
)
from statemachine.evidence import Counted
from statemachine.holding import Holding
from statemachine.wire import NOBODY_OUTCOMES

STEPS_INFORMED = frozenset({"inform", "negotiate", "confirm", "remind", "pay", "close"})
Paid: TypeAlias = list[tuple[PaymentMade, Payment, list[datetime]]]


def holdings_of(
    counted: Counted, conversations: list[ConversationTold], paid: Paid, calendar: Calendar
) -> tuple[dict[Ref, Holding], list[Payment]]:
    """The evidence of each cycle, and the payments that count in none."""
    holdings: dict[Ref, Holding] = defaultdict(Holding)
    place_promises(holdings, counted, conversations, calendar)
    for c in conversations:
        for ref in calendar.place(c.loan_id, c.cycle_id, c.at):
            holding = holdings[ref]
            if c.contact:
                holding.contact_made = True
            else:
                holding.contact_attempts += 1
            if c.outcome in NOBODY_OUTCOMES:
                continue
            # Also of a call that dropped: the next one takes it up where it broke off (DESIGN 9).
            holding.reached_inform = holding.reached_inform or c.step in STEPS_INFORMED
        if c.claim and c.outcome not in NOBODY_OUTCOMES:
            for ref in calendar.place(c.loan_id, c.cycle_id, c.claim.at or c.at):
                holdings[ref].claims.append(c)
    for element in counted.identifiers:
        if element.what == "verified":
            for ref in calendar.place(element.loan_id, element.cycle_id, element.at):
                holdings[ref].contact_made = True
    for reports in _by_message(counted.messages):
        named = next((r for r in reports if r.cycle_id or r.loan_id), reports[0])
        for ref in calendar.place(named.loan_id, named.cycle_id, reports[0].at):
            holdings[ref].messages.append(reports)
    unplaced = place_payments(holdings, paid, calendar)
    for closing in counted.closings:
        holdings[(closing.loan_id, closing.cycle_id)].closings.append(closing)
    return dict(holdings), unplaced


def place_promises(
    holdings: dict[Ref, Holding], counted: Counted, conversations: list[ConversationTold], calendar: Calendar
) -> None:
    """What was promised, in the order in which it was, and what ended it."""
    nobody = {(c.channel, c.conversation_id) for c in conversations if c.outcome in NOBODY_OUTCOMES}
    for said in sorted(counted.commitments, key=key_of):
        if (said.channel, said.conversation_id) not in nobody:
            for ref in calendar.place(said.loan_id, said.cycle_id, said.at):
                holdings[ref].commitments.append(said)
    for mark in counted.breaks:
        for ref in calendar.place(mark.loan_id, mark.cycle_id, mark.at):
            holdings[ref].breaks.append(mark)
    for withdrawal in counted.withdrawals:
        for ref in _withdrawn_from(withdrawal, counted.commitments, calendar):
            holdings[ref].withdrawals.append(withdrawal)


def place_payments(holdings: dict[Ref, Holding], paid: Paid, calendar: Calendar) -> list[Payment]:
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
    for element in sorted(messages, key=key_of):
        grouped[(element.action, element.channel, element.message_id)].append(element)
    return list(grouped.values())
