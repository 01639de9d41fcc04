"""How a voice agent's call goes (DESIGN 8). Data only; when a state is done follows from its step."""

from typing import Final

from statemachine.flow import Flow, State, Step

FLOW: Final = Flow(
    channel="voice",
    states=(
        State("opening", Step.greet, repeatable=True),
        State("identity", Step.identify, repeatable=True),
        State("dues", Step.inform, repeatable=True, asks=True),
        State("negotiation", Step.negotiate, repeatable=True, asks=True),
        State("confirmation", Step.confirm, asks=True),
        State("reminder", Step.remind, asks=True),
        State("payment_link", Step.pay, asks=True),
        State("closing", Step.close),
        State("closed", None, terminal=True),
    ),
)
