"""The walk: where the memory itself says that a flow stands (DESIGN 8).

`Standing` is all of a borrower's state that the walk and the floor read; `derive` fills it from the record. Nothing
here knows where an answer came from, what somebody proposed, or what time it is: dates have become yes and no before
they arrive.
"""

from dataclasses import dataclass, replace
from typing import Literal, assert_never

from statemachine.flow import ADVANCE, Flow, State, Step


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one borrower in one cycle, for one channel and direction, at one moment."""

    identity_holds: bool
    contact_made: bool
    """In this cycle, with the borrower, or an identity verified."""
    informed: bool
    """`reached` inform or later on any channel in this cycle, or any promise made in it, broken, retracted or not."""
    rung: Literal["none", "proposed", "confirmed"]
    promise_stands: bool
    """Not broken, not kept, its due date not past."""
    reminded: bool
    payment_link_shared: bool
    closed: bool
    """The cycle is paid, closed or unknown: nothing that asks for money."""
    on_hold: bool
    opted_out: bool
    """Of this channel, for collections."""
    outbound: bool

    @property
    def stopped(self) -> bool:
        """Nothing may be granted: a hold, or we are calling and they opted out. Who opted out and calls is answered."""
        return self.on_hold or (self.opted_out and self.outbound)


def is_done(state: State, standing: Standing) -> bool:
    """Whether the record has this state behind it. In a closed cycle all that asks for money is behind it."""
    if standing.closed and state.asks:
        return True
    match state.step:
        case Step.greet:
            return standing.contact_made
        case Step.identify:
            return standing.identity_holds
        case Step.inform:
            return standing.informed
        case Step.negotiate:
            return standing.promise_stands and standing.rung != "none"
        case Step.confirm:
            return standing.promise_stands and standing.rung == "confirmed"
        case Step.remind:
            return standing.reminded
        case Step.pay:
            return standing.payment_link_shared
        case Step.close | None:
            return False
        case _:
            assert_never(state.step)


def position(flow: Flow, standing: Standing) -> State:
    """The first state along `advance` that is not done.

    It comes to rest before the terminal, because the closing state is never done, and not past identity while identity
    does not hold, because that state is then not done either. A hold does not move it.
    """
    place = 0
    while is_done(flow.states[place], standing):
        place = flow.index(flow.moves[flow.states[place].name, ADVANCE])
    return flow.states[place]


def after_identity(flow: Flow, standing: Standing) -> State:
    """Where the memory would stand were contact made and identity held: where to go once the borrower is verified."""
    return position(flow, replace(standing, contact_made=True, identity_holds=True))


def steps_ahead(flow: Flow, standing: Standing, target: State) -> int:
    """How many states after the position, up to and including `target`, are not done; 0 for the position or earlier."""
    here = flow.index(position(flow, standing).name)
    return sum(not is_done(state, standing) for state in flow.states[here + 1 : flow.index(target.name) + 1])
