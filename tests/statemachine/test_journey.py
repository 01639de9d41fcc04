"""Where the memory stands, for every standing there is."""

from dataclasses import replace
from typing import Any

import pytest

from channels import CHANNELS
from statemachine.flow import ADVANCE, Flow, Step
from statemachine.journey import Standing, after_identity, is_done, position, steps_ahead
from tests.statemachine.standings import VALUES, every_standing, standing

VOICE = CHANNELS["voice"].flow
WHATSAPP = CHANNELS["whatsapp"].flow
FLOWS = [VOICE, WHATSAPP]
each_flow = pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.channel)

PROPOSED = standing(informed=True, rung="proposed", promise_stands=True)
CONFIRMED = replace(PROPOSED, rung="confirmed")
REMINDED = replace(CONFIRMED, reminded=True)
LINKED = replace(REMINDED, payment_link_shared=True)

EVIDENCE = ("identity_holds", "contact_made", "informed", "rung", "promise_stands", "reminded", "payment_link_shared")
MORE_EVIDENCE: list[tuple[str, Any]] = [(name, more) for name in EVIDENCE for more in VALUES[name][1:]]


@pytest.mark.parametrize(
    ("known", "voice", "whatsapp"),
    [
        (standing(contact_made=False, identity_holds=False), "opening", "opening"),
        (standing(contact_made=False), "opening", "opening"),
        (standing(identity_holds=False), "identity", "identity"),
        (standing(), "dues", "negotiation"),
        (standing(informed=True), "negotiation", "negotiation"),
        (PROPOSED, "confirmation", "reminder"),
        (CONFIRMED, "reminder", "reminder"),
        (REMINDED, "payment_link", "payment_link"),
        (LINKED, "closing", "closing"),
        (replace(LINKED, identity_holds=False), "identity", "identity"),
        # A link that was shared while the promise is only proposed is not shared again, but the promise is read back.
        (replace(PROPOSED, payment_link_shared=True, reminded=True), "confirmation", "closing"),
        # An overdue or kept promise does not stand, whatever was sent for it.
        (replace(LINKED, promise_stands=False), "negotiation", "negotiation"),
        # A closed cycle asks for nothing, but a stranger is still a stranger.
        (standing(closed=True), "closing", "closing"),
        (replace(LINKED, closed=True, promise_stands=False), "closing", "closing"),
        (standing(closed=True, contact_made=False), "opening", "opening"),
        (standing(closed=True, identity_holds=False), "identity", "identity"),
        # A stop takes the grant away, not the place.
        (replace(PROPOSED, on_hold=True, opted_out=True, outbound=True), "confirmation", "reminder"),
    ],
)
def test_the_walk_stops_at_the_first_state_that_is_not_done(known: Standing, voice: str, whatsapp: str) -> None:
    assert (position(VOICE, known).name, position(WHATSAPP, known).name) == (voice, whatsapp)


@each_flow
def test_the_position_is_the_first_undone_state_for_every_standing(flow: Flow) -> None:
    for known in every_standing():
        assert position(flow, known) == next(state for state in flow.states if not is_done(state, known))


@each_flow
def test_the_machine_walks_to_the_same_place(flow: Flow) -> None:
    class Walker:
        state = ""

    walker = Walker()
    flow.machine.add_model(walker)
    try:
        for known in every_standing(on_hold=False, opted_out=False, outbound=False):
            flow.machine.set_state(flow.first.name, walker)
            while is_done(next(state for state in flow.states if state.name == walker.state), known):
                flow.machine.events[ADVANCE].trigger(walker)
            assert position(flow, known).name == walker.state
    finally:
        flow.machine.remove_model(walker)


@each_flow
def test_more_evidence_never_moves_the_position_back(flow: Flow) -> None:
    for known in every_standing(on_hold=False, opted_out=False, outbound=False):
        here = flow.index(position(flow, known).name)
        for name, more in MORE_EVIDENCE:
            if VALUES[name].index(getattr(known, name)) < VALUES[name].index(more):
                assert flow.index(position(flow, replace(known, **{name: more})).name) >= here


@each_flow
def test_holds_opt_outs_and_direction_do_not_move_the_position(flow: Flow) -> None:
    for known in every_standing():
        assert position(flow, known) == position(flow, replace(known, on_hold=False, opted_out=False, outbound=False))


@each_flow
def test_nothing_that_asks_is_undone_in_a_closed_cycle(flow: Flow) -> None:
    for known in every_standing(closed=True):
        assert all(is_done(state, known) for state in flow.states if state.asks)


@each_flow
def test_the_closing_state_and_the_terminal_are_never_done(flow: Flow) -> None:
    last = [state for state in flow.states if state.step is Step.close or state.terminal]
    assert len(last) == 2
    assert not any(is_done(state, known) for known in every_standing() for state in last)


def test_after_identity_is_where_the_memory_stands_once_the_borrower_is_verified() -> None:
    stranger: dict[str, Any] = {"identity_holds": False, "contact_made": False}
    assert after_identity(VOICE, replace(PROPOSED, **stranger)).name == "confirmation"
    assert after_identity(WHATSAPP, replace(PROPOSED, **stranger)).name == "reminder"
    assert after_identity(VOICE, standing(**stranger)).name == "dues"
    assert after_identity(VOICE, standing(closed=True, **stranger)).name == "closing"


@pytest.mark.parametrize(
    ("known", "target", "steps"),
    [
        (PROPOSED, "opening", 0),
        (PROPOSED, "confirmation", 0),
        (PROPOSED, "reminder", 1),
        (PROPOSED, "payment_link", 2),
        (PROPOSED, "closed", 4),
        (replace(PROPOSED, reminded=True), "payment_link", 1),
        (replace(PROPOSED, reminded=True), "reminder", 0),
        (replace(PROPOSED, identity_holds=False), "payment_link", 3),
        (standing(contact_made=False), "dues", 1),
        (standing(contact_made=False, identity_holds=False), "dues", 2),
        (standing(closed=True), "closing", 0),
        (standing(closed=True, contact_made=False), "closing", 1),
    ],
)
def test_only_states_that_are_not_done_count_as_steps(known: Standing, target: str, steps: int) -> None:
    state = VOICE.state(target)
    assert state is not None
    assert steps_ahead(VOICE, known, state) == steps


@pytest.mark.parametrize(
    ("on_hold", "opted_out", "outbound", "stopped"),
    [
        (False, False, True, False),
        (False, True, True, True),
        (False, True, False, False),
        (True, False, False, True),
        (True, True, False, True),
    ],
)
def test_who_opted_out_is_answered_and_who_is_on_hold_is_not(
    on_hold: bool, opted_out: bool, outbound: bool, stopped: bool
) -> None:
    assert standing(on_hold=on_hold, opted_out=opted_out, outbound=outbound).stopped is stopped
