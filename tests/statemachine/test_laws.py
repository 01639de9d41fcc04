"""The four laws of the record (DESIGN 3), over random histories, also where buckets let go."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachine.bucket_names import WITHDRAWN_WORDS
from statemachine.ladder import RUNGS
from statemachine.merge import join, merge
from statemachine.record import Limits, Record
from statemachine.stamps import Entry
from statemachine.state import BorrowerState, Cycle, Payment, derive
from statemachine.wire import NOBODY_OUTCOMES, OUTCOMES
from tests.examples import often
from tests.statemachine.histories import LATER, POLICY, empty, events, hasher, histories, lifted, summaries
from tests.statemachine.test_ladder import opened, paid

LIMITS = {
    "one": Limits(bucket=1, payments=1, prose=1, total=4),
    "two": Limits(bucket=2, payments=2, prose=2, total=9),
    "usual": Limits(),
}
UNBOUNDED = Limits(bucket=10**6, payments=10**6, prose=10**6, total=10**6)
limits_of = pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())


def fold(history: Sequence[Entry], limits: Limits) -> Record:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher, limits)
    return record


def joined(a: Record, b: Record, limits: Limits) -> bytes:
    return join(a, b, hasher, limits).to_bytes()


# -- 1 ----------------------------------------------------------------------------------------------------------


@limits_of
@given(a=histories, b=histories, c=histories)
@settings(max_examples=often(60), deadline=None)
def test_join_commutes_associates_and_repeats_for_nothing(a: list, b: list, c: list, limits: Limits) -> None:
    x, y, z = (fold(h, limits) for h in (a, b, c))
    assert joined(x, y, limits) == joined(y, x, limits)
    assert joined(join(x, y, hasher, limits), z, limits) == joined(x, join(y, z, hasher, limits), limits)
    assert joined(x, x, limits) == x.to_bytes()
    assert joined(join(x, y, hasher, limits), y, limits) == joined(x, y, limits)


@limits_of
@given(history=histories, entry=st.one_of(summaries(), events()))
@settings(max_examples=often(60), deadline=None)
def test_merging_is_joining_what_the_entry_lifts_to(history: list, entry: Entry, limits: Limits) -> None:
    record = fold(history, limits)
    alone = lifted(entry, limits)
    assert merge(record, entry, hasher, limits).to_bytes() == joined(record, alone, limits)


@limits_of
@given(a=histories, b=histories)
@settings(max_examples=often(60), deadline=None)
def test_keeping_the_newest_commutes_with_union(a: list, b: list, limits: Limits) -> None:
    all_of_it = fold([*a, *b], UNBOUNDED)
    bounded = join(empty(), all_of_it, hasher, limits)
    assert joined(fold(a, limits), fold(b, limits), limits) == bounded.to_bytes()


# -- 2 ----------------------------------------------------------------------------------------------------------


@limits_of
@given(history=histories, seed=st.integers(0, 10**6))
@settings(max_examples=often(80), deadline=None)
def test_any_order_grouping_and_repetition_gives_the_same_bytes(history: list, seed: int, limits: Limits) -> None:
    chance = random.Random(seed)
    shuffled = [*history, *chance.sample(history, len(history) // 2)]
    chance.shuffle(shuffled)
    cut = chance.randint(0, len(shuffled))
    grouped = join(fold(shuffled[:cut], limits), fold(shuffled[cut:], limits), hasher, limits)
    assert fold(shuffled, limits).to_bytes() == fold(history, limits).to_bytes() == grouped.to_bytes()


@given(history=histories)
@settings(max_examples=often(60), deadline=None)
def test_a_stored_record_comes_back_as_it_was(history: list) -> None:
    record = fold(history, LIMITS["two"])
    again = Record.from_bytes(record.to_bytes())
    assert again == record
    assert again.to_bytes() == record.to_bytes()


# -- 3 ----------------------------------------------------------------------------------------------------------


@limits_of
@given(history=histories)
@settings(max_examples=often(120), deadline=None)
def test_what_is_concluded_of_the_kept_is_what_is_concluded_of_all(history: list, limits: Limits) -> None:
    history = list({e.event_id: e for e in history}.values())  # the journal lets no second body of one id in
    bounded, everything = fold(history, limits), fold(history, UNBOUNDED)
    kept, full = (derive(r, LATER, POLICY) for r in (bounded, everything))
    assert {(h.kind, h.loan_id) for h in kept.holds} == {(h.kind, h.loan_id) for h in full.holds}
    assert kept.opt_outs == full.opt_outs
    assert set(kept.identities) <= set(full.identities), "identity never holds for want of evidence that ended it"
    if bounded.to_bytes() == everything.to_bytes():
        assert kept == full
    for cycle in kept.cycles:
        if cycle.cycle_id and _nothing_let_go_since(bounded, cycle):
            same = next(c for c in full.cycles if (c.loan_id, c.cycle_id) == (cycle.loan_id, cycle.cycle_id))
            assert cycle == same


def _nothing_let_go_since(record: Record, cycle: Cycle) -> bool:
    """Whether all that may belong to a cycle is there: no bucket let go of anything since it began."""
    if cycle.opened_at is None:
        return not any(b.let_go for b in record.buckets)
    if any(b.let_go for b in record.buckets if b.name[0] in ("conversations", WITHDRAWN_WORDS)):
        return False  # a higher revision may have ended before a lower one, and words are taken back from earlier ones
    return not any(b.let_go and b.let_go[0] >= cycle.opened_at for b in record.buckets) and not any(
        e.cycle_id == cycle.cycle_id and b.let_go for b in record.buckets for e in b.elements
    )


@pytest.mark.parametrize(("first_days", "status"), [(-1, "open"), (0, "unknown"), (1, "unknown")])
def test_a_cycle_whose_payments_were_let_go_is_unknown_and_not_asked_for_money(first_days: int, status: str) -> None:
    payments = [paid(100, days=days, ref=f"P-{days}") for days in (first_days, 2, 3)]
    history = [opened(days=0, amount=9000), *payments]
    cycle = derive(fold(history, Limits(payments=2)), LATER, POLICY).cycle_of("LN-1")
    assert (cycle.status, cycle.is_over) == (status, status == "unknown")
    assert derive(fold(history, Limits()), LATER, POLICY).cycle_of("LN-1").status == "open"


# -- 4 ----------------------------------------------------------------------------------------------------------

LOWERING = ("promise.broken", "promise.retracted", "payment.reversed", "cycle.opened", "identifier.unlinked")
RAISING = tuple(
    t for t in ("identity.verified", "payment.confirmed", "cycle.closed", "contact.opted_out", "hold.placed",
                "identifier.linked", "fact.stated", "conversation.started", "identity.revoked")
)  # fmt: skip
OF_THE_BORROWER = tuple(o for o in (*OUTCOMES, None) if o not in NOBODY_OUTCOMES)


@given(
    history=st.lists(st.one_of(summaries(OF_THE_BORROWER), events()), max_size=12),
    added=st.one_of(summaries(OF_THE_BORROWER), events(RAISING)),
)
@settings(max_examples=often(400), deadline=None)
def test_no_summary_and_no_harmless_event_lowers_a_rung_or_clears_a_flag(history: list, added: Entry) -> None:
    before = derive(fold(history, UNBOUNDED), LATER, POLICY)
    after = derive(merge(fold(history, UNBOUNDED), added, hasher, UNBOUNDED), LATER, POLICY)
    if added.event_id in {e.event_id for e in history}:
        return  # the journal lets no second body of one id in
    paid_at: dict[str, set[datetime]] = {}
    for e in history:
        if e.type == "payment.confirmed":
            paid_at.setdefault(e.body.payment_ref, set()).add(e.stamps.effective_at)
    assert_nothing_fell(before, after, paid_at)


NOTHING_STANDS = derive(Record.new("B-1"), LATER, POLICY).cycle_of(None)


def assert_nothing_fell(before: BorrowerState, after: BorrowerState, paid_at: Mapping[str, Set[datetime]]) -> None:
    if before.loans != after.loans:
        return  # a payment that names no loan counts only while at most one loan is known (DESIGN 6)
    now = {(c.loan_id, c.cycle_id): c for c in after.cycles}
    for cycle in before.cycles:
        then, since = (
            cycle,
            now.get((cycle.loan_id, cycle.cycle_id), NOTHING_STANDS),
        )  # a revision may name another cycle
        assert RUNGS.index(since.rung) >= RUNGS.index(then.rung), (then, since)
        for flag in ("reminded", "payment_link_shared", "payment_confirmed"):
            if flag == "payment_confirmed" and (_is_anybodys(then, before, after, paid_at) or _is_placed(then, after)):
                continue
            assert getattr(since, flag).value >= getattr(then, flag).value, (flag, then, since)


def _is_anybodys(
    cycle: Cycle, before: BorrowerState, after: BorrowerState, paid_at: Mapping[str, Set[datetime]]
) -> bool:
    """Whether it came out that the loan, or a second one, had been named before the payment, which names none (DESIGN 6).
    `paid_at`: at what times each reference was told."""

    def named(state: BorrowerState, at: datetime) -> int:
        return sum(first < at for first in state.calendar.loans.values())

    times = (at for payment in _behind(cycle) for at in paid_at[payment.payment_ref])
    return any(named(before, at) <= 1 and named(before, at) < named(after, at) for at in times)


def _behind(cycle: Cycle) -> list[Payment]:
    """The payment behind a cycle's flag."""
    evidence = cycle.payment_confirmed.evidence
    return [p for p in cycle.payments if evidence is not None and p.event_id == evidence.event_id]


def _is_placed(cycle: Cycle, after: BorrowerState) -> bool:
    """Whether the payment, told once more with the loan that it is of, counts there now, as much as it was: it moved as by a
    boundary, and none of it is lost (DESIGN 5: one reference, one payment)."""
    moved = _behind(cycle)
    there = {(p.payment_ref, p.received) for c in after.cycles if c.loan_id is not None for p in c.payments}
    return bool(moved) and all((p.payment_ref, p.received) in there for p in moved)


@pytest.mark.parametrize("first", [0, 1], ids=["the loan is named later", "the loan is named first"])
def test_a_payment_told_again_with_its_loan_counts_in_that_loan_alone(first: int) -> None:
    from statemachine.entries import PaymentConfirmed
    from tests.statemachine.histories import NOON, stamped

    paid = {"type": "payment.confirmed", "occurred_at": NOON, "borrower_id": "B-1", "payment_ref": "P-1",
            "amount": 1000, "currency": "INR"}  # fmt: skip
    told = [{**paid, "event_id": "e-1"}, {**paid, "event_id": "e-2", "loan_id": "LN-1"}]
    history = [stamped(PaymentConfirmed.model_validate(one), NOON) for one in (told[first], told[1 - first])]
    state = derive(fold(history, UNBOUNDED), LATER, POLICY)
    assert [c.loan_id for c in state.cycles if c.payment_confirmed.value] == ["LN-1"]
    assert state.cycle_of(None).loan_id == "LN-1", "which is what a read without a loan means as well"


def test_a_payment_told_again_after_other_loans_were_named_still_counts() -> None:
    from statemachine.entries import PaymentConfirmed, PaymentLinkShared
    from tests.statemachine.histories import NOON, stamped

    def paid(event_id: str, days: int) -> Entry:
        at = NOON + timedelta(days=days)
        body = {"type": "payment.confirmed", "event_id": event_id, "occurred_at": at, "borrower_id": "B-1",
                "payment_ref": "P-1", "amount": 1000, "currency": "INR"}  # fmt: skip
        return stamped(PaymentConfirmed.model_validate(body), at)

    def shared(loan: str, hours: int) -> Entry:
        at = NOON + timedelta(hours=hours)
        body = {"type": "payment_link.shared", "event_id": f"l-{loan}", "occurred_at": at, "borrower_id": "B-1",
                "loan_id": loan, "channel": "whatsapp", "message_id": f"m-{loan}", "outcome": "sent"}  # fmt: skip
        return stamped(PaymentLinkShared.model_validate(body), at)

    once = [shared("LN-1", -1), paid("p-1", 0), shared("LN-2", 1)]
    for history in (once, [*once, paid("p-2", 1)], [paid("p-2", 1), *once]):
        state = derive(fold(history, UNBOUNDED), LATER, POLICY)
        assert state.cycle_of("LN-1").payment_confirmed.value, history
        assert state.unplaced_payments == ()


def test_a_correction_to_not_the_borrower_is_the_one_exception() -> None:
    from tests.statemachine.test_ladder import call

    said = call("c-1", revision=1, outcome="connected", status="confirmed")
    corrected = call("c-1", revision=2, outcome="third_party", status=None)
    assert derive(fold([said], UNBOUNDED), LATER, POLICY).cycle_of(None).rung == "confirmed"
    for order in ([said, corrected], [corrected, said]):
        assert derive(fold(order, UNBOUNDED), LATER, POLICY).cycle_of(None).rung == "none"
