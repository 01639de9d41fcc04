"""A promise whose words were taken back stands where it stood, and nobody tells the words again (DESIGN 3, 11)."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachine.conclusions import Promise
from statemachine.entries import IdentifierUnlinked, Summary
from statemachine.merge import merge
from statemachine.record import Limits, Record
from statemachine.stamps import Entry, PromiseTerms
from statemachine.state import BorrowerState, derive
from tests.examples import often
from tests.statemachine.histories import LATER, NOON, PHONES, POLICY, empty, entries, hasher, stamped


def told(conversation: str, revision: int, *, quote: str | None = None, withdrawn: tuple[str, ...] = ()) -> Entry:
    at = NOON + timedelta(days=revision)
    body = Summary(
        channel="whatsapp", conversation_id=conversation, revision=revision, ended_at=at, outcome="connected"
    )
    terms = PromiseTerms(
        amount=Decimal(5000), currency="INR", due_date=date(2026, 11, 9), grounding="quoted", quote=quote, said=quote
    )
    return stamped(body, at, contact=True, promise=terms if quote else None, withdrawn=withdrawn, through=PHONES[0])


def record_of(*history: Entry, limits: Limits | None = None) -> Record:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher, limits or Limits())
    return Record.from_bytes(record.to_bytes())


def state_of(*history: Entry, limits: Limits | None = None) -> BorrowerState:
    return derive(record_of(*history, limits=limits), LATER, POLICY)


def promise_of(state: BorrowerState) -> Promise:
    promise = state.cycle_of(None).promise
    assert promise is not None
    return promise


SAID = told("c-1", 1, quote="5000 when my salary comes")
TAKEN_BACK = told("c-1", 2, withdrawn=("whatsapp:c-1:1",))


def test_the_words_go_and_the_terms_the_time_and_the_rung_stay() -> None:
    before = promise_of(state_of(SAID))
    for order in permutations((SAID, TAKEN_BACK, TAKEN_BACK)):
        after = promise_of(state_of(*order))
        assert (after.quote, after.said, after.grounding) == (None, None, "unchecked")
        kept = ("promise_id", "status", "amount", "due_date", "at", "outcome")
        assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]


def test_what_a_later_report_quotes_and_what_another_conversation_says_is_told() -> None:
    again = told("c-1", 3, quote="5000 on the 9th")
    assert promise_of(state_of(SAID, TAKEN_BACK, again)).quote == "5000 on the 9th"
    other = told("c-2", 2, withdrawn=("whatsapp:c-1:1",))
    assert promise_of(state_of(SAID, other)).quote == "5000 when my salary comes"


def test_a_number_that_turns_out_to_be_somebody_elses_brings_no_words_back() -> None:
    phone = {"kind": "phone", "value": PHONES[0].split(":")[1]}
    body = {"event_id": "u", "type": "identifier.unlinked", "occurred_at": LATER, "borrower_id": "B-1", "identifier": phone,
            "reason": "wrong_borrower"}  # fmt: skip
    unlinked = stamped(IdentifierUnlinked.model_validate(body), NOON + timedelta(days=2.5), identifier=PHONES[0])
    through_another = stamped(SAID.body, SAID.stamps.effective_at, promise=SAID.stamps.promise)
    assert promise_of(state_of(through_another, TAKEN_BACK, unlinked)).quote is None


def test_where_it_was_let_go_of_which_words_it_was_none_of_that_time_are_told() -> None:
    limits = Limits(bucket=1)
    newer = told("c-2", 3, withdrawn=("whatsapp:c-2:1",))
    history = (SAID, TAKEN_BACK, newer)
    for order in permutations(history):
        assert promise_of(state_of(*order, limits=limits)).quote is None
    later = told("c-3", 4, quote="5000 next week")
    assert promise_of(state_of(*history, later, limits=Limits(bucket=1))).quote == "5000 next week"


@pytest.mark.parametrize("limits", [Limits(), Limits(bucket=1, total=6)], ids=["usual", "one"])
@settings(max_examples=often(120), deadline=None)
@given(history=st.lists(entries, max_size=12), at=st.integers(0, 12))
def test_words_that_were_taken_back_are_told_in_no_order_and_no_bound(history: list, at: int, limits: Limits) -> None:
    """A quote that nobody else says, taken back: whatever else arrives, before, between and after."""
    secret = "only she says this"
    said, back = told("c-1", 1, quote=secret), told("c-1", 2, withdrawn=("whatsapp:c-1:1",))
    others = [e for e in history if e.event_id not in (said.event_id, back.event_id)]
    state = state_of(*others[:at], back, *others[at:], said, limits=limits)
    assert secret not in repr(state)
