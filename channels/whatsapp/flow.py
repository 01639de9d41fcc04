"""How a WhatsApp agent's chat goes (DESIGN 8). It has no read-back, so no state of its own confirms.

Data only; when a state is done follows from its step.
"""

from typing import Final

from statemachine.flow import Flow, State, Step

FLOW: Final = Flow(
    channel="whatsapp",
    states=(
        State("opening", Step.greet, repeatable=True),
        State("identity", Step.identify, repeatable=True),
        State("negotiation", Step.negotiate, repeatable=True, asks=True),
        State("reminder", Step.remind, asks=True),
        State("payment_link", Step.pay, asks=True),
        State("closing", Step.close),
        State("closed", None, terminal=True),
    ),
)
