"""Which promise counts, and what becomes of the others (DESIGN 4)."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from statemachine.entries import EVENT_TYPES, Summary
from statemachine.ladder import ceiling
from statemachine.merge import merge
from statemachine.stamps import Entry, PromiseTerms
from statemachine.state import Cycle, derive
from tests.statemachine.histories import NOON, POLICY, empty, hasher, stamped

DUE, LATER_DUE = date(2026, 11, 5), date(2026, 11, 9)


def call(
    conversation: str,
    *,
    days: float = 0,
    revision: int = 1,
    outcome: str | None = "connected",
    status: str | None = "confirmed",
    amount: int | None = 5000,
    due: date | None = DUE,
    channel: str = "voice",
) -> Entry:
    at = NOON + timedelta(days=days)
    body = Summary(channel=channel, conversation_id=conversation, ended_at=at, revision=revision, outcome=outcome)  # type: ignore[arg-type]
    promise = None
    if status:
        money = None if amount is None else Decimal(amount)
        promise = PromiseTerms(amount=money, currency="INR", due_date=due, status=status)  # type: ignore[arg-type]
    return stamped(body, at, promise=promise, contact=outcome == "connected")


def event(kind: str, /, *, days: float, **own: Any) -> Entry:
    at = NOON + timedelta(days=days)
    body = {"event_id": f"{kind}@{days}", "type": kind, "occurred_at": at, "borrower_id": "B-1", **own}
    return stamped(EVENT_TYPES[kind].model_validate(body), at)


def paid(amount: int, *, days: float, ref: str = "P-1", **own: Any) -> Entry:
    return event("payment.confirmed", days=days, payment_ref=ref, amount=amount, currency="INR", **own)


def broken(*, days: float, due: date | None = None) -> Entry:
    return event("promise.broken", days=days, due_date=due)


def opened(*, days: float, cycle: str = "CY-1", loan: str = "LN-1", amount: int = 5000) -> Entry:
    return event(
        "cycle.opened", days=days, cycle_id=cycle, loan_id=loan, due_date=DUE, amount_due=amount, currency="INR"
    )


def cycle_after(*history: Entry, days: float = 3, loan: str | None = None) -> Cycle:
    """The cycle a read means, the same in every order of arrival."""
    now = NOON + timedelta(days=days)
    orders = list(permutations(history))[:24]
    cycles = []
    for order in orders:
        record = empty()
        for entry in order:
            record = merge(record, entry, hasher)
        cycles.append(derive(record, now, POLICY).cycle_of(loan))
    assert all(c == cycles[0] for c in cycles)
    return cycles[0]


def terms(cycle: Cycle) -> tuple[Any, ...] | None:
    p = cycle.promise
    return p and (p.status, p.amount, p.due_date, p.outcome)


CEILINGS = [
    # claimed, speech, read_back, seen, amount, due -> status, warning
    (None, True, True, None, True, True, "proposed", None),
    ("proposed", True, True, True, True, True, "proposed", None),
    ("confirmed", True, True, None, True, True, "confirmed", None),
    ("confirmed", True, True, True, True, True, "confirmed", None),
    ("confirmed", False, True, True, True, True, "proposed", "lowered_to_proposed"),
    ("confirmed", True, False, True, True, True, "proposed", "lowered_to_proposed"),
    ("confirmed", True, True, False, True, True, "proposed", "read_back_not_seen"),
    ("confirmed", True, True, None, False, True, "proposed", "promise_incomplete"),
    ("confirmed", True, True, None, True, False, "proposed", "promise_incomplete"),
]


@pytest.mark.parametrize(("claimed", "speech", "read_back", "seen", "amount", "due", "status", "code"), CEILINGS)
def test_a_claim_reaches_what_its_evidence_allows(
    claimed: Any, speech: bool, read_back: bool, seen: Any, amount: bool, due: bool, status: str, code: str | None
) -> None:
    given = ceiling(
        claimed,
        speech=speech,
        read_back=read_back,
        seen=seen,
        amount=Decimal(5000) if amount else None,
        due_date=DUE if due else None,
    )
    assert given == (status, code)


def test_a_fuzzy_later_chat_does_not_lower_a_confirmed_promise() -> None:
    fuzzy = call("c-2", days=1, status="proposed", amount=None, due=None, channel="whatsapp")
    cycle = cycle_after(call("c-1"), fuzzy)
    assert terms(cycle) == ("confirmed", 5000, DUE, "open")
    assert cycle.counter_proposals == () == cycle.history


def test_a_later_offer_of_other_terms_stands_beside_the_confirmed_one() -> None:
    offer = call("c-2", days=1, status="proposed", amount=700, due=LATER_DUE, channel="whatsapp")
    cycle = cycle_after(call("c-1"), offer)
    assert terms(cycle) == ("confirmed", 5000, DUE, "open")
    assert [(c.amount, c.due_date) for c in cycle.counter_proposals] == [(700, LATER_DUE)]


def test_an_earlier_offer_is_no_counter_proposal_of_the_promise_that_came_after_it() -> None:
    cycle = cycle_after(call("c-1", status="proposed", amount=700, due=LATER_DUE), call("c-2", days=1))
    assert cycle.counter_proposals == ()
    assert [(p.promise_id, p.outcome) for p in cycle.history] == [("voice:c-1", "replaced")]


def test_a_later_confirmed_promise_replaces_the_earlier_as_a_whole() -> None:
    cycle = cycle_after(call("c-1"), call("c-2", days=1, amount=6000, due=LATER_DUE))
    assert terms(cycle) == ("confirmed", 6000, LATER_DUE, "open")
    (old,) = cycle.history
    assert (old.promise_id, old.outcome, old.replaced_by) == ("voice:c-1", "replaced", "voice:c-2")
    assert old.replaced_at == NOON + timedelta(days=1)


def test_of_two_at_the_same_time_the_higher_rung_counts() -> None:
    proposed = call("c-2", status="proposed", amount=4000, due=LATER_DUE, channel="whatsapp")
    assert terms(cycle_after(call("c-1"), proposed)) == ("confirmed", 5000, DUE, "open")


def test_the_strongest_revision_of_one_conversation_counts_once() -> None:
    first = call("c-1", revision=1, status="confirmed")
    second = call("c-1", revision=2, status=None)
    cycle = cycle_after(first, second)
    assert terms(cycle) == ("confirmed", 5000, DUE, "open")
    assert cycle.history == ()


def test_a_broken_promise_ends_its_attempt_and_the_next_starts_at_none() -> None:
    cycle = cycle_after(call("c-1"), broken(days=6, due=DUE), days=6.5)
    assert (terms(cycle), cycle.attempt) == (None, 2)
    assert [(p.promise_id, p.outcome) for p in cycle.history] == [("voice:c-1", "broken")]
    assert cycle.informed


def test_a_new_promise_after_a_break_is_only_what_it_says() -> None:
    again = call("c-2", days=6.2, status="proposed", due=LATER_DUE, channel="whatsapp")
    cycle = cycle_after(call("c-1"), broken(days=6, due=DUE), again, days=6.5)
    assert (terms(cycle), cycle.attempt) == (("proposed", 5000, LATER_DUE, "open"), 2)
    assert [p.outcome for p in cycle.history] == ["broken"]


def test_a_break_leaves_what_was_said_after_the_promise_it_breaks() -> None:
    moved = call("c-2", days=1, due=LATER_DUE)
    cycle = cycle_after(call("c-1"), moved, broken(days=6, due=DUE), days=6.5)
    assert terms(cycle) == ("confirmed", 5000, LATER_DUE, "open")


def test_what_was_said_before_the_promise_that_broke_does_not_come_back() -> None:
    earlier = call("c-0", status="proposed", amount=4000, due=LATER_DUE, channel="whatsapp")
    cycle = cycle_after(earlier, call("c-1", days=1), broken(days=6, due=DUE), days=6.5)
    assert (terms(cycle), cycle.counter_proposals) == (None, ())


@pytest.mark.parametrize(("days", "counts"), [(5.9, False), (6, True), (6.1, True)])
def test_messages_count_from_the_break_on(days: float, counts: bool) -> None:
    reminder = event("reminder.sent", days=days, channel="voice", message_id="m-1", outcome="sent")
    assert cycle_after(call("c-1"), broken(days=6, due=DUE), reminder, days=6.5).reminded.value is counts


def test_a_break_counts_once_for_a_due_date() -> None:
    cycle = cycle_after(call("c-1"), broken(days=6, due=DUE), broken(days=6.1, due=DUE), days=6.5)
    assert cycle.attempt == 2


def test_a_break_without_a_date_breaks_the_current_promise_and_all_before() -> None:
    cycle = cycle_after(call("c-1"), call("c-2", days=1, due=LATER_DUE), broken(days=2), days=3)
    assert (terms(cycle), cycle.attempt) == (None, 2)
    assert [(p.promise_id, p.outcome) for p in cycle.history] == [("voice:c-1", "replaced"), ("voice:c-2", "broken")]


def test_a_break_of_a_kept_promise_has_no_effect_whenever_the_payment_is_told() -> None:
    for due in (DUE, None):
        cycle = cycle_after(
            opened(days=-1), call("c-1", amount=2000), paid(2000, days=2), broken(days=6, due=due), days=7
        )
        assert (terms(cycle), cycle.attempt) == (("confirmed", 2000, DUE, "kept"), 1)


def test_a_payment_after_the_due_date_does_not_keep_the_promise() -> None:
    cycle = cycle_after(opened(days=-1), call("c-1", amount=2000), paid(2000, days=5), days=6)
    assert terms(cycle) == ("confirmed", 2000, DUE, "open")
    assert cycle.promise
    assert (cycle.promise.overdue, cycle.promise_stands) == (True, False)


def test_nothing_is_overdue_once_the_cycle_is_paid_or_closed() -> None:
    late = [opened(days=-1), call("c-1", amount=2000), call("c-2", amount=3000, days=0.5, status="proposed")]
    for end in (
        paid(5000, days=5),
        paid(100, days=5, settles=True),
        event("cycle.closed", days=5, cycle_id="CY-1", loan_id="LN-1", reason="written_off"),
    ):
        cycle = cycle_after(*late, end, days=6)
        assert cycle.promise
        assert (cycle.promise.overdue, cycle.promise_overdue_at) == (False, None)
        assert [c.overdue for c in cycle.counter_proposals] == [False]
    back = event("payment.reversed", days=5.5, payment_ref="P-1", reason="bounced")
    again = cycle_after(*late, paid(5000, days=5), back, days=6)
    assert again.promise
    assert again.promise.overdue, "a reversal opens the cycle again"


def test_a_part_payment_keeps_a_part() -> None:
    cycle = cycle_after(opened(days=-1), call("c-1"), paid(2000, days=1))
    assert terms(cycle) == ("confirmed", 5000, DUE, "partly_kept")
    assert (cycle.status, cycle.received, cycle.outstanding) == ("open", 2000, 3000)
    assert cycle.payment_confirmed.value


def test_a_promise_of_one_of_several_amounts_is_kept_by_none() -> None:
    """One that names no amount is kept by the due; of one that may mean two, nobody can say (DESIGN 4.6, 4.8)."""
    said = call("c-1", amount=None)
    ranged = stamped(
        said.body, NOON, promise=PromiseTerms(amount_candidates=(Decimal(2000), Decimal(3000)), due_date=DUE)
    )
    for promise, outcome in ((said, "kept"), (ranged, "partly_kept")):
        kept = cycle_after(opened(days=-1), promise, paid(5000, days=1)).promise
        assert kept
        assert kept.outcome == outcome


def test_the_due_date_is_past_at_midnight_where_the_borrower_is() -> None:
    evening = (datetime(2026, 11, 5, 18, 29, tzinfo=NOON.tzinfo) - NOON) / timedelta(days=1)
    assert cycle_after(call("c-1"), days=evening).promise_stands
    assert not cycle_after(call("c-1"), days=evening + 1 / 1440).promise_stands


def test_a_retracted_promise_leaves_what_stood_before_it() -> None:
    chat = call("c-1", status="proposed", channel="whatsapp")
    cycle = cycle_after(chat, call("c-2", days=1), event("promise.retracted", days=2, reason="typed wrong"))
    assert terms(cycle) == ("proposed", 5000, DUE, "open")
    assert [(p.promise_id, p.outcome) for p in cycle.history][-1] == ("voice:c-2", "retracted")


def test_a_retraction_reaches_its_own_channels_conversation_alone() -> None:
    same_id = call("c-1", days=1, due=LATER_DUE, status="proposed", channel="whatsapp")
    taken_back = event("promise.retracted", days=2, reason="typed wrong", channel="voice", conversation_id="c-1")
    cycle = cycle_after(call("c-1"), same_id, taken_back)
    assert terms(cycle) == ("proposed", 5000, LATER_DUE, "open")
    assert [(p.promise_id, p.outcome) for p in cycle.history] == [("voice:c-1", "retracted")]


def test_a_retraction_that_names_no_conversation_takes_back_the_promise_of_its_time() -> None:
    taken_back = event("promise.retracted", days=6.1, reason="typed wrong")
    nothing_stood = cycle_after(call("c-1"), broken(days=6, due=DUE), taken_back, days=6.5)
    assert [p.outcome for p in nothing_stood.history] == ["broken"]
    stood = cycle_after(call("c-1"), broken(days=6.2, due=DUE), taken_back, days=6.5)
    assert [p.outcome for p in stood.history] == ["retracted"]


def test_a_payment_that_covers_the_due_pays_the_cycle_and_a_reversal_opens_it_again() -> None:
    story = [opened(days=-1), paid(5000, days=1)]
    assert (cycle_after(*story).status, cycle_after(*story).stage) == ("paid", "paid")
    back = event("payment.reversed", days=2, payment_ref="P-1", reason="bounced")
    cycle = cycle_after(*story, back)
    assert (cycle.status, cycle.received, cycle.payment_confirmed.value) == ("open", 0, False)
    foreign = event("payment.reversed", days=2, payment_ref="P-1", reason="bounced", amount=5000, currency="USD")
    assert cycle_after(*story, foreign).status == "paid", "what went back in another currency is not this payment"


def test_a_payment_that_settled_and_went_back_settles_nothing() -> None:
    story = [opened(days=-1), paid(100, days=1, settles=True)]
    assert cycle_after(*story).status == "paid"
    back = event("payment.reversed", days=2, payment_ref="P-1", reason="bounced", amount=1)
    assert cycle_after(*story, back).status == "open"


def test_a_closed_cycle_is_opened_again_by_a_reversal_only() -> None:
    closed = event("cycle.closed", days=2, cycle_id="CY-1", loan_id="LN-1", reason="paid")
    story = [opened(days=-1), paid(2000, days=1), closed]
    assert cycle_after(*story).status == "closed"
    assert cycle_after(*story, opened(days=2.5)).status == "closed"
    for days, status in ((1.9, "closed"), (2, "open"), (2.5, "open")):
        back = event("payment.reversed", days=days, payment_ref="P-1", reason="bounced")
        assert cycle_after(*story, back).status == status


def test_a_new_cycle_starts_fresh_and_the_old_keeps_what_it_had() -> None:
    story = [opened(days=-1), call("c-1"), opened(days=2, cycle="CY-2")]
    cycle = cycle_after(*story)
    assert (cycle.cycle_id, cycle.rung, cycle.stage, cycle.contact_made) == ("CY-2", "none", "empty", False)


def test_a_cycle_that_is_opened_twice_begins_with_the_first_statement_and_has_the_terms_of_the_newest() -> None:
    corrected = {"cycle_id": "CY-1", "loan_id": "LN-1", "due_date": LATER_DUE, "amount_due": 700, "currency": "INR"}
    cycle = cycle_after(opened(days=0), event("cycle.opened", days=1, **corrected))
    assert (cycle.opened_at, cycle.due_date, cycle.amount_due) == (NOON, LATER_DUE, 700)


def test_an_opening_that_is_told_late_sorts_everything_right() -> None:
    late = [call("c-1", days=1), opened(days=0)]
    assert terms(cycle_after(*late)) == ("confirmed", 5000, DUE, "open")


def test_evidence_that_names_no_loan_counts_in_each_implicit_cycle_but_a_payment_in_none_of_several() -> None:
    from statemachine.conclusions import Payment

    named = [event("reminder.sent", days=d, loan_id=loan, channel="voice", message_id=f"m-{d}", outcome="sent")
             for d, loan in ((0.1, "LN-1"), (0.2, "LN-2"))]  # fmt: skip
    story = [*named, call("c-1"), paid(1000, days=1)]
    for loan in ("LN-1", "LN-2"):
        cycle = cycle_after(*story, loan=loan)
        assert (cycle.rung, cycle.received) == ("confirmed", 0)
    record = empty()
    for entry in story:
        record = merge(record, entry, hasher)
    unplaced: tuple[Payment, ...] = derive(record, NOON, POLICY).unplaced_payments
    assert [p.payment_ref for p in unplaced] == ["P-1"]
