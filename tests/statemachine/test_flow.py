"""What a flow may be, and that its table is its machine."""

from dataclasses import replace
from itertools import product

import pytest
from transitions import MachineError

from channels import CHANNELS
from statemachine.flow import ADVANCE, DONE_WHEN, STATES_MAX, Flow, State, Step, mermaid, returning

FLOWS = [channel.flow for channel in CHANNELS.values()]

OPENING = State("opening", Step.greet, repeatable=True)
IDENTITY = State("identity", Step.identify, repeatable=True)
TALK = State("talk", Step.negotiate, repeatable=True, asks=True)
NUDGE = State("nudge", Step.remind, asks=True)
CLOSING = State("closing", Step.close)
END = State("end", None, terminal=True)
SOUND = (OPENING, IDENTITY, TALK, NUDGE, CLOSING, END)


def test_steps_rank_in_the_order_of_the_conversation_not_of_the_alphabet() -> None:
    ordered = ["greet", "identify", "inform", "negotiate", "confirm", "remind", "pay", "close"]
    assert [step.value for step in sorted(Step, key=lambda step: step.rank)] == ordered
    assert Step.close.rank > Step.greet.rank
    assert set(DONE_WHEN) == set(Step)


def test_a_sound_flow_is_taken_as_it_is() -> None:
    flow = Flow("sms", SOUND)
    assert flow.names == ("opening", "identity", "talk", "nudge", "closing", "end")
    assert (flow.first, flow.identity, flow.terminal) == (OPENING, IDENTITY, END)
    assert [flow.index(name) for name in flow.names] == list(range(6))
    with pytest.raises(KeyError):
        flow.index(" Talk ")


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        (SOUND[:-1], "0 terminals instead of one"),
        ((*SOUND, State("end2", None, terminal=True)), "2 terminals instead of one"),
        ((), "0 terminals instead of one"),
        ((*SOUND[:-1], replace(END, step=Step.close)), "the terminal end serves no step"),
        (
            (*SOUND[:-1], replace(END, asks=True)),
            "the terminal end serves no step, is not repeatable and asks for nothing",
        ),
        ((OPENING, IDENTITY, END, TALK, CLOSING), "talk, closing cannot be reached from opening"),
        ((OPENING, IDENTITY, NUDGE, TALK, CLOSING, END), "not in their canonical order"),
        ((OPENING, IDENTITY, replace(TALK, step=None), CLOSING, END), "not the terminal serves no step"),
        ((OPENING, TALK, CLOSING, END), "0 states identify the borrower instead of one"),
        ((OPENING, IDENTITY, replace(IDENTITY, name="again"), CLOSING, END), "2 states identify the borrower"),
        ((replace(OPENING, repeatable=False), *SOUND[1:]), "opening comes before the money"),
        ((OPENING, replace(IDENTITY, asks=True), *SOUND[2:]), "identity comes before the money"),
        ((OPENING, IDENTITY, replace(TALK, asks=False), CLOSING, END), "talk serves negotiate, which asks for money"),
        (
            (OPENING, IDENTITY, TALK, replace(NUDGE, repeatable=True), CLOSING, END),
            "nudge sends something that is sent",
        ),
        ((OPENING, IDENTITY, TALK, END), "0 closing states instead of one"),
        ((*SOUND[:4], CLOSING, replace(CLOSING, name="bye"), END), "2 closing states instead of one"),
        ((*SOUND[:4], replace(CLOSING, asks=True), END), "closing is where a closed cycle rests"),
        ((OPENING, IDENTITY, TALK, TALK, CLOSING, END), "two states have one name"),
        ((replace(OPENING, name="Opening"), *SOUND[1:]), "'Opening' is no name"),
        ((replace(OPENING, name=""), *SOUND[1:]), "'' is no name"),
        ((replace(OPENING, name="o" * 65), *SOUND[1:]), "is no name"),
        ((OPENING, IDENTITY, *(replace(TALK, name=f"t{n}") for n in range(STATES_MAX)), CLOSING, END), "more than 32"),
    ],
)
def test_a_flow_that_cannot_be_walked_safely_is_refused_in_a_sentence(states: tuple[State, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        Flow("sms", states)
    assert str(refused.value).startswith("flow 'sms': ")


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.channel)
def test_the_table_is_the_machine(flow: Flow) -> None:
    class Walker:
        state = ""

    walker = Walker()
    flow.machine.add_model(walker)
    try:
        for here, trigger in product(flow.names, flow.machine.events):
            flow.machine.set_state(here, walker)
            if (here, trigger) in flow.moves:
                assert flow.machine.events[trigger].trigger(walker) is True
                assert walker.state == flow.moves[here, trigger]
            else:
                with pytest.raises(MachineError):
                    flow.machine.events[trigger].trigger(walker)
    finally:
        flow.machine.remove_model(walker)
    assert {trigger for _, trigger in flow.moves} == set(flow.machine.events)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.channel)
def test_moves_lead_on_by_one_or_back_to_what_is_repeatable(flow: Flow) -> None:
    back = {
        (later.name, returning(state)): state.name
        for place, state in enumerate(flow.states)
        for later in flow.states[place + 1 : -1]
        if state.repeatable
    }
    on = {(here.name, ADVANCE): there.name for here, there in zip(flow.states, flow.states[1:], strict=False)}
    assert dict(flow.moves) == {**on, **back}


def test_the_table_cannot_be_written_to() -> None:
    with pytest.raises(TypeError):
        FLOWS[0].moves["opening", ADVANCE] = "closed"  # type: ignore[index]


def test_the_version_changes_with_the_data_and_only_with_it() -> None:
    version = Flow("sms", SOUND).version
    assert Flow("sms", SOUND).version == version
    assert len(version) == 12
    others = [
        Flow("mail", SOUND),
        Flow("sms", (*SOUND[:3], *SOUND[4:])),
        Flow("sms", (OPENING, IDENTITY, replace(TALK, name="speak"), *SOUND[3:])),
        Flow("sms", (OPENING, IDENTITY, replace(TALK, repeatable=False), *SOUND[3:])),
        Flow("sms", (OPENING, IDENTITY, replace(TALK, step=Step.confirm), *SOUND[3:])),
    ]
    assert len({version, *(other.version for other in others)}) == len(others) + 1


@pytest.mark.parametrize("spelling", ["payment_link", "Payment_Link", "  PAYMENT_LINK\n", "\tpayment_link "])
def test_blanks_and_case_do_not_matter_in_a_name(spelling: str) -> None:
    flow = CHANNELS["voice"].flow
    state = flow.state(spelling)
    assert state is not None
    assert state.name == flow.spelled(spelling) == "payment_link"


@pytest.mark.parametrize("name", ["", " ", "payment link", "PAYMENT_LINK_SENDING", "open\x00ing", "pay"])
def test_no_other_text_is_a_state(name: str) -> None:
    flow = CHANNELS["voice"].flow
    assert flow.state(name) is None
    assert flow.step_reached(name) is None
    assert flow.spelled(name) == name.strip()


def test_what_a_conversation_reached_maps_to_a_step_and_the_terminal_to_the_last() -> None:
    voice = CHANNELS["voice"].flow
    assert voice.step_reached("Dues ") is Step.inform
    assert voice.step_reached("closing") is voice.step_reached("closed") is Step.close


def test_a_flow_is_drawn_with_its_arrows_and_marks() -> None:
    assert mermaid(Flow("sms", SOUND)).splitlines() == [
        "stateDiagram-v2",
        "    direction LR",
        "    [*] --> opening",
        '    state "opening" as opening',
        "    opening: repeatable",
        '    state "identity" as identity',
        "    identity: repeatable",
        '    state "talk" as talk',
        "    talk: repeatable, asks for money",
        '    state "nudge" as nudge',
        "    nudge: asks for money",
        '    state "closing" as closing',
        '    state "end" as end',
        "    opening --> identity: contact was made",
        "    identity --> talk: identity holds",
        "    talk --> nudge: a promise is proposed",
        "    nudge --> closing: reminded",
        "    closing --> end: the conversation ends",
        "    end --> [*]",
    ]
