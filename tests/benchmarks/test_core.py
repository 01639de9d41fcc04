"""What the core costs by itself: a merge, what the writer does with it, and a check of the floor.

Each is told beside a bare baseline of the same run, in the processor's own time and the best of many tries, so that what
else the machine does falls on neither. Microseconds are printed against their goals; what is asserted is a ratio, with
room, because a microsecond means another thing on every machine.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from channels import CHANNELS
from statemachine.entries import EVENT_TYPES, Summary
from statemachine.floor import RULES as FLOOR_RULES
from statemachine.floor import judge, weigh
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.stamps import Entry, PromiseTerms
from statemachine.state import derive, rungs
from tests.statemachine.histories import DUES, LATER, NOON, POLICY, empty, hasher, stamped
from tests.statemachine.standings import every_standing

pytestmark = pytest.mark.benchmark

TRIES = 40
MERGE_GOAL_US = 30.0
MERGE_OVER_BARE_LIMIT = 20.0
CHECK_GOAL_US = 1.0
CHECK_OVER_BARE_LIMIT = 12.0
GROWTH_GOAL = 1.3
GROWTH_LIMIT_WITH_ALL = 1.7
"""The record itself grows by 70 % between the two: payments are kept up to 512, and a tenth of the events are payments."""


@pytest.fixture(autouse=True)
def _uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def best_us(work: Callable[[], object], times: int) -> float:
    """Microseconds of one call: the best of some rounds of so many."""
    best = float("inf")
    for _ in range(TRIES):
        began = time.thread_time_ns()
        for _ in range(times):
            work()
        best = min(best, time.thread_time_ns() - began)
    return best / times / 1_000


def told(line: str) -> None:
    sys.stdout.write(f"{line}\n")


# -- one borrower's events -------------------------------------------------------------------------------------------


def entry(number: int) -> Entry:
    """The n-th event of a busy borrower: calls that nobody answers, chats with a promise, messages of ours, payments."""
    at = NOON + timedelta(minutes=number)
    kind = number % 10
    if kind < 5:
        body = Summary(
            channel="voice" if kind != 3 else "whatsapp",
            conversation_id=f"c-{number}",
            ended_at=at,
            loan_id="LN-1",
            outcome="no_answer" if kind < 3 else "connected",
            summary="She asked for some time." if kind >= 3 else None,
        )
        promise = PromiseTerms(amount=1_000 + number, currency="INR", due_date=DUES[1], status="proposed")
        return stamped(body, at, contact=kind >= 3, promise=promise if kind == 3 else None)
    own: dict[str, Any] = {"payment_ref": f"P-{number}", "amount": "10.00", "currency": "INR"}
    if kind < 9:
        outcome = ("attempted", "sent", "delivered", "read")[kind - 5]
        own = {"channel": "whatsapp", "message_id": f"m-{number // 10}", "outcome": outcome}
    name = "reminder.sent" if kind < 9 else "payment.confirmed"
    given = {"event_id": f"e-{number}", "type": name, "borrower_id": "B-1", "loan_id": "LN-1", "occurred_at": at, **own}
    return stamped(EVENT_TYPES[name].model_validate(given), at)


def record_of(events: int) -> Record:
    record = empty()
    for number in range(events):
        record = merge(record, entry(number), hasher)
    return record


def elements_of(record: Record) -> int:
    return sum(len(bucket.elements) for bucket in record.buckets)


# -- what it costs ---------------------------------------------------------------------------------------------------


def test_one_merge_into_a_record_of_twenty_elements_beside_the_least_a_merge_could_do() -> None:
    record = record_of(16)
    assert 18 <= elements_of(record) <= 22
    new = entry(25)  # a reminder: one element
    known = {element.key: element for bucket in record.buckets for element in bucket.elements}
    key = (new.stamps.effective_at, new.event_id, new.stamps.digest)
    merged = merge(record, new, hasher)
    assert elements_of(merged) == elements_of(record) + 1

    ours = best_us(lambda: merge(record, new, hasher), 200)
    bare = best_us(lambda: sorted({**known, key: new}), 200)
    told(
        f"\nmerge into {elements_of(record)} elements: {ours:.1f} us (goal {MERGE_GOAL_US:.0f}), {ours / bare:.1f} bare sorts"
    )
    assert ours / bare < MERGE_OVER_BARE_LIMIT


def test_the_cost_of_a_merge_does_not_grow_with_what_was_merged_before() -> None:
    records = {events: record_of(events) for events in (1_000, 5_000)}
    coming = [entry(6_000 + number) for number in range(10)]

    def alone(record: Record) -> float:
        return sum(best_us(lambda e=e: merge(record, e, hasher), 20) for e in coming)  # type: ignore[misc]

    def with_all(record: Record) -> float:
        """As the writer does it: the rungs before, the merge, the state after, the bytes."""

        def work(e: Entry) -> None:
            rungs(record, POLICY)
            merged = merge(record, e, hasher)
            derive(merged, LATER, POLICY)
            merged.to_bytes()

        return sum(best_us(lambda e=e: work(e), 1) for e in coming)  # type: ignore[misc]

    few, many = records.values()
    growth, growth_with_all = alone(many) / alone(few), with_all(many) / with_all(few)
    told(f"\n{elements_of(few)} elements after 1,000 events, {elements_of(many)} after 5,000")
    told(f"a merge: x {growth:.2f}; with rungs, state and bytes: x {growth_with_all:.2f} (goal {GROWTH_GOAL})")
    assert growth <= GROWTH_GOAL
    assert growth_with_all <= GROWTH_LIMIT_WITH_ALL


def test_a_check_of_the_floor_is_a_look_into_a_table() -> None:
    flow = CHANNELS["voice"].flow
    asked = [(standing, state) for standing in every_standing() for state in (*flow.names, None)][:2_000]
    table = {question: weigh(flow, *question, FLOOR_RULES) for question in asked}
    for standing, state in asked:
        assert judge(flow, standing, state) == table[standing, state]

    def ours() -> None:
        for standing, state in asked:
            judge(flow, standing, state)

    def bare() -> None:
        for question in asked:
            table[question]

    def from_scratch() -> None:
        for standing, state in asked:
            weigh(flow, standing, state, FLOOR_RULES)

    check, look, weighed = (best_us(work, 1) / len(asked) for work in (ours, bare, from_scratch))
    told(f"\na check of the floor: {check:.2f} us (goal {CHECK_GOAL_US:.0f}), {check / look:.1f} looks into a table")
    told(f"by its rules: {weighed:.2f} us")
    assert check / look < CHECK_OVER_BARE_LIMIT
    assert check < weighed
