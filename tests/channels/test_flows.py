"""The channels there are, and that their flows are the ones people were told of."""

import re
from pathlib import Path

import pytest

from channels import CHANNELS
from channels.channel import Channel
from statemachine.flow import Flow, Step, mermaid

# DESIGN 8: state, step, repeatable, asks.
VOICE = [
    ("opening", "greet", True, False),
    ("identity", "identify", True, False),
    ("dues", "inform", True, True),
    ("negotiation", "negotiate", True, True),
    ("confirmation", "confirm", False, True),
    ("reminder", "remind", False, True),
    ("payment_link", "pay", False, True),
    ("closing", "close", False, False),
    ("closed", None, False, False),
]
WHATSAPP = [row for row in VOICE if row[0] not in ("dues", "confirmation")]


@pytest.mark.parametrize(("name", "modality", "rows"), [("voice", "speech", VOICE), ("whatsapp", "text", WHATSAPP)])
def test_a_channel_has_its_states_in_order(name: str, modality: str, rows: list[tuple[str, str, bool, bool]]) -> None:
    channel = CHANNELS[name]
    assert (channel.name, channel.modality) == (name, modality)
    assert [(state.name, state.step, state.repeatable, state.asks) for state in channel.flow.states] == rows
    assert [state.name for state in channel.flow.states if state.terminal] == ["closed"]


def test_every_conversation_that_knows_nothing_starts_at_the_opening() -> None:
    assert {channel.flow.first.name for channel in CHANNELS.values()} == {"opening"}
    assert {channel.flow.first.step for channel in CHANNELS.values()} == {Step.greet}


def test_the_table_of_channels_is_keyed_by_name_and_cannot_be_written_to() -> None:
    assert list(CHANNELS) == [channel.name for channel in CHANNELS.values()] == ["voice", "whatsapp"]
    with pytest.raises(TypeError):
        CHANNELS["sms"] = CHANNELS["voice"]  # type: ignore[index]


def test_flows_of_two_channels_have_two_versions() -> None:
    assert len({channel.flow.version for channel in CHANNELS.values()}) == len(CHANNELS)


def test_a_channel_does_not_take_the_flow_of_another() -> None:
    with pytest.raises(ValueError, match="'voice' was given the flow of 'whatsapp'"):
        Channel("voice", modality="speech", flow=CHANNELS["whatsapp"].flow)


@pytest.mark.parametrize("flow", [channel.flow for channel in CHANNELS.values()], ids=lambda flow: flow.channel)
def test_a_drawing_has_every_state_and_every_arrow(flow: Flow) -> None:
    lines = [line.strip() for line in mermaid(flow).splitlines()]
    assert lines[0] == "stateDiagram-v2"
    for here, there in zip(flow.names, flow.names[1:], strict=False):
        assert sum(line.startswith(f"{here} --> {there}: ") for line in lines) == 1
    for state in flow.states:
        marks = next((line for line in lines if line.startswith(f"{state.name}: ")), "")
        assert ("repeatable" in marks, "asks for money" in marks) == (state.repeatable, state.asks)


def test_the_drawings_of_the_readme_are_those_of_the_flows() -> None:
    """`borrower-memory flows draw` prints them as they have to stand there."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    drawn = re.findall(r"<!-- flow:(\w+) -->\n```mermaid\n(.*?)\n```\n<!-- /flow -->", readme, re.DOTALL)
    assert drawn == [(name, mermaid(channel.flow)) for name, channel in CHANNELS.items()]
