"""The proof of the floor: every combination there is, held against the never-list (DESIGN 8).

What must hold is written here a second time, from the page and not from the code: when each state is done, and what may
never be granted. A floor that agrees with both and with this file has to be wrong in three places at once to be wrong.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels import CHANNELS
from statemachine.floor import RULES, Refusal, Rule, closed_state, judge, never, on_hold, weigh
from statemachine.flow import Flow, State, Step
from statemachine.journey import Standing, is_done, position
from tests.examples import often
from tests.statemachine.standings import every_standing

FLOWS = [channel.flow for channel in CHANNELS.values()]
each_flow = pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.channel)

UNKNOWN = ("", "PAYMENT_LINK_SENDING", "closed_state", "none")

REPEATABLE = {"opening", "identity", "dues", "negotiation"}
ASKS = {"dues", "negotiation", "confirmation", "reminder", "payment_link"}
DONE: dict[str, Callable[[Standing], bool]] = {
    "opening": lambda s: s.contact_made,
    "identity": lambda s: s.identity_holds,
    "dues": lambda s: s.informed or s.closed,
    "negotiation": lambda s: (s.rung in ("proposed", "confirmed") and s.promise_stands) or s.closed,
    "confirmation": lambda s: (s.rung == "confirmed" and s.promise_stands) or s.closed,
    "reminder": lambda s: s.reminded or s.closed,
    "payment_link": lambda s: s.payment_link_shared or s.closed,
    "closing": lambda s: False,
    "closed": lambda s: False,
}


def forbidden(flow: Flow, known: Standing, state: str) -> bool:
    """The never-list of the page. The first undone state is the position, and each later undone one a real step."""
    names = [each.name for each in flow.states]
    if state not in names or state == "closed":
        return True
    undone = [name for name in names if not DONE[name](known)]
    real_steps = [name for name in undone[1:] if names.index(name) <= names.index(state)]
    return (
        known.on_hold
        or (known.opted_out and known.outbound)
        or (not known.identity_holds and state not in ("opening", "identity"))
        or (DONE[state](known) and state not in REPEATABLE)
        or (known.closed and state in ASKS)
        or len(real_steps) > 1
    )


def proposals(flow: Flow) -> Iterator[tuple[str | None, str | None]]:
    """Each proposal, with the state it means: none, names that are no state, and each state in four spellings."""
    yield None, None
    for text in UNKNOWN:
        yield text, None
    for state in flow.states:
        for text in (state.name, state.name.upper(), f"  {state.name.title()}\n", f"\t{state.name}"):
            yield text, state.name


@each_flow
def test_the_states_are_done_as_the_page_says(flow: Flow) -> None:
    assert {state.name for state in flow.states if state.repeatable} == REPEATABLE & set(flow.names)
    assert {state.name for state in flow.states if state.asks} == ASKS & set(flow.names)
    for known in every_standing():
        for state in flow.states:
            assert is_done(state, known) == DONE[state.name](known), (state, known)


@each_flow
def test_never_is_the_never_list_of_the_page(flow: Flow) -> None:
    for known in every_standing():
        for name in (*flow.names, *UNKNOWN, "Closing", " opening"):
            assert (never(flow, known, name) is not None) == forbidden(flow, known, name), (name, known)
        assert never(flow, known, None) is None


@pytest.mark.thorough
def test_no_combination_is_granted_what_it_never_may(capsys: pytest.CaptureFixture[str]) -> None:
    covered = granted = 0
    for flow in FLOWS:
        asked = list(proposals(flow))
        for known in every_standing():
            stopped = known.on_hold or (known.opted_out and known.outbound)
            going_on = replace(known, on_hold=False, opted_out=False)
            own = position(flow, known).name
            assert not forbidden(flow, going_on, own), (flow.channel, own, known)
            for text, meant in asked:
                covered += 1
                grant = judge(flow, known, text)
                assert grant.position == own
                assert (grant.after_identity is None) == known.identity_holds
                if stopped:
                    assert (grant.state, grant.step, grant.granted_proposal) == (None, None, False)
                    assert grant.refusals[-1].rule == "on_hold"
                    continue
                # Neither forbidden nor withheld: what may be granted is, and what was not granted gives the position.
                assert grant.state is not None
                assert not forbidden(flow, known, grant.state), (flow.channel, text, grant, known)
                allowed = meant is not None and not forbidden(flow, known, meant)
                assert grant.granted_proposal == allowed, (flow.channel, text, grant, known)
                assert grant.state == (meant if allowed else own)
                assert (grant.refusals == ()) == (allowed or text is None)
                granted += allowed
    assert covered == 3 * 2**10 * sum(1 + len(UNKNOWN) + 4 * len(flow.states) for flow in FLOWS)
    with capsys.disabled():
        sys.stdout.write(
            f"\nfloor proof: {covered:,} combinations covered, {granted:,} proposals granted, all lawful\n"
        )


@each_flow
def test_where_to_go_after_identity_obeys_the_list_once_it_holds(flow: Flow) -> None:
    for known in every_standing(identity_holds=False, on_hold=False, opted_out=False):
        then = judge(flow, known, None).after_identity
        assert then is not None
        assert not forbidden(flow, replace(known, identity_holds=True, contact_made=True), then)


@each_flow
def test_caution_is_never_refused_but_under_a_stop(flow: Flow) -> None:
    for known in every_standing():
        for name in ("opening", "identity"):
            grant = judge(flow, known, name)
            assert [refusal.rule for refusal in grant.refusals] == (["on_hold"] if known.stopped else [])


@st.composite
def other_flows(draw: st.DrawFn) -> Flow:
    """Flows of agents with other states: steps left out, several states of one step, other marks."""
    states = []
    for step in Step:
        caution, once, end = step in (Step.greet, Step.identify), step in (Step.remind, Step.pay), step is Step.close
        fewest, most = (1, 1) if end or step is Step.identify else (0, 2)
        for number in range(draw(st.integers(fewest, most))):
            repeatable = caution or (not once and draw(st.booleans()))
            asks = not caution and not end and (step is not Step.inform or draw(st.booleans()))
            states.append(State(f"{step}_{number}", step, repeatable=repeatable, asks=asks))
    return Flow("other", (*states, State("end", None, terminal=True)))


@given(flow=other_flows(), known=st.sampled_from(list(every_standing())))
@settings(max_examples=often(150), deadline=None)
def test_a_flow_of_other_states_is_as_safe(flow: Flow, known: Standing) -> None:
    going_on = replace(known, on_hold=False, opted_out=False)
    assert never(flow, going_on, position(flow, known).name) is None
    for text in (*flow.names, *UNKNOWN, None):
        grant = judge(flow, known, text)
        assert never(flow, known, grant.state) is None
        if not known.stopped and text is not None:
            assert grant.granted_proposal == (never(flow, known, text) is None)


# Negative controls: a floor with a rule, or a part of one, taken out breaks the list. So each is needed, and missed.


def broken_by(rules: Sequence[Rule]) -> set[str]:
    """The channels in which a floor of these rules grants something forbidden."""
    return {
        flow.channel
        for flow in FLOWS
        if any(
            (state := weigh(flow, known, text, rules).state) is not None and forbidden(flow, known, state)
            for known in every_standing(outbound=True)
            for text in (*flow.names, UNKNOWN[1], None)
        )
    }


def closed_state_but_for(part: Callable[[State, Standing], bool]) -> Rule:
    def weakened(flow: Flow, known: Standing, proposal: str | None) -> Refusal | None:
        state = None if proposal is None else flow.state(proposal)
        return None if state is not None and part(state, known) else closed_state(flow, known, proposal)

    return weakened


def on_hold_but_for(part: Callable[[Standing], bool]) -> Rule:
    def weakened(flow: Flow, known: Standing, proposal: str | None) -> Refusal | None:
        return None if part(known) else on_hold(flow, known, proposal)

    return weakened


@pytest.mark.thorough
def test_the_whole_floor_passes_the_control() -> None:
    assert broken_by(RULES) == set()


@pytest.mark.thorough
@pytest.mark.parametrize("left_out", RULES, ids=lambda rule: rule.__name__)
def test_each_rule_is_needed(left_out: Rule) -> None:
    assert broken_by([rule for rule in RULES if rule is not left_out]) == {"voice", "whatsapp"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rule", "weakened"),
    [
        ("closed_state", closed_state_but_for(lambda state, known: state.terminal)),
        ("closed_state", closed_state_but_for(lambda state, known: state.asks and known.closed)),
        ("closed_state", closed_state_but_for(lambda state, known: not state.repeatable and is_done(state, known))),
        ("on_hold", on_hold_but_for(lambda known: known.opted_out and not known.on_hold)),
    ],
    ids=["terminal", "asks", "done", "opt-out"],
)
def test_each_part_of_a_rule_is_needed(rule: str, weakened: Rule) -> None:
    assert broken_by([weakened if each.__name__ == rule else each for each in RULES]) == {"voice", "whatsapp"}


def test_a_grant_against_the_list_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statemachine.floor.RULES", ())
    flow = Flow("voice", FLOWS[0].states)
    known = next(every_standing(on_hold=False))
    with pytest.raises(AssertionError, match="closed is the terminal"):
        judge(flow, known, "closed")
