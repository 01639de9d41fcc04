"""The rungs alone are those of the whole state."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from statemachine.merge import merge
from statemachine.stamps import Entry
from statemachine.state import derive, rungs
from tests.examples import often
from tests.statemachine.histories import NOON, POLICY, empty, hasher, histories


@settings(max_examples=often(150), deadline=None)
@given(history=histories, hours=st.integers(0, 1_000))
def test_they_are_those_of_the_state_at_any_time(history: list[Entry], hours: int) -> None:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher)
    state = derive(record, NOON + timedelta(hours=hours), POLICY)
    assert rungs(record, POLICY) == state.rungs
    assert all(
        cycle.rung == state.rungs.by_cycle.get((cycle.loan_id, cycle.cycle_id), "none") for cycle in state.cycles
    )
