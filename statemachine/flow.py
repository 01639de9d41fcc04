"""Flows: a channel agent's own conversation, written down as data.

Theory of operation. An agent talks through *states* of its own ("dues", "payment_link"). Each serves one canonical
*step*, and the step alone says when the state is done, so that two channels with different states share one memory. A
flow is a tuple of states in the order of the conversation. From it one model-less `transitions.Machine` is built, once,
with two kinds of trigger:

    advance            from each state to the one after it; the terminal has none
    return_to_<state>  from every later state back to a repeatable one

The machine is the definition, and tests walk it; what is used while a phone rings, and drawn in the README, is
`Flow.moves`, an immutable table read off it. Nothing here knows a borrower: when a state is done is `journey`, what may
be granted is `floor`.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from transitions import Machine

ADVANCE: Final = "advance"
STATES_MAX: Final = 32
NAME_CHARACTERS_MAX: Final = 64
VERSION_HEX_DIGITS: Final = 12


class Step(StrEnum):
    """The canonical steps of collecting one due, in their order. Compare by `rank`: as texts they sort by letter."""

    greet = auto()
    identify = auto()
    inform = auto()
    negotiate = auto()
    confirm = auto()
    remind = auto()
    pay = auto()
    close = auto()

    @property
    def rank(self) -> int:
        """0 for `greet` up to 7 for `close`."""
        return _RANKS[self]


_RANKS: Final = {step: rank for rank, step in enumerate(Step)}

DONE_WHEN: Final[Mapping[Step, str]] = MappingProxyType(
    {
        Step.greet: "contact was made",
        Step.identify: "identity holds",
        Step.inform: "informed of the dues",
        Step.negotiate: "a promise is proposed",
        Step.confirm: "the promise is confirmed",
        Step.remind: "reminded",
        Step.pay: "the payment link is shared",
        Step.close: "the conversation ends",
    }
)
"""`journey.is_done` in words, for diagrams; `close` is never done, its arrow is the end of the conversation."""


@dataclass(frozen=True, slots=True)
class State:
    """One state of a channel's agent. `step` is None for the terminal alone.

    `repeatable`: may be entered again once it is done. `asks`: asks for money, so never granted in a closed cycle.
    """

    name: str
    step: Step | None
    repeatable: bool = False
    asks: bool = False
    terminal: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """A channel's states in the order of its conversation (DESIGN 8), checked when it is made.

    `version` is a short hash of the data: a stored proposal made for other states is out of date. Compared by identity,
    since each flow is made once. Raises ValueError, in a sentence, for data that could not be walked safely.
    """

    channel: str
    states: tuple[State, ...]
    version: str = field(init=False)
    machine: Machine = field(init=False, repr=False)
    moves: Mapping[tuple[str, str], str] = field(init=False, repr=False)
    _named: Mapping[str, State] = field(init=False, repr=False)
    _places: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for check in _CHECKS_OF_STATES:
            _refuse(self, check)
        machine = _machine(self.states)
        for name, value in {
            "version": _version(self),
            "machine": machine,
            "moves": _moves(machine),
            "_named": MappingProxyType({state.name: state for state in self.states}),
            "_places": MappingProxyType({state.name: place for place, state in enumerate(self.states)}),
        }.items():
            object.__setattr__(self, name, value)
        for check in _CHECKS_OF_MOVES:
            _refuse(self, check)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._named)

    @property
    def first(self) -> State:
        """Where a conversation starts that knows nothing."""
        return self.states[0]

    @property
    def terminal(self) -> State:
        return self.states[-1]

    @property
    def identity(self) -> State:
        """The one state that identifies the borrower; nothing past it is granted while identity does not hold."""
        return next(state for state in self.states if state.step is Step.identify)

    def state(self, name: str) -> State | None:
        """The state of that name, blanks around it and case apart; None when there is none."""
        return self._named.get(name) or self._named.get(name.strip().casefold())

    def index(self, name: str) -> int:
        """The place of a state in the conversation, from 0. The name is exact; KeyError when it is no state."""
        return self._places[name]

    def spelled(self, name: str) -> str:
        """The name as this flow spells it; a name that is no state comes back with only its outer blanks gone."""
        state = self.state(name)
        return name.strip() if state is None else state.name

    def step_reached(self, name: str) -> Step | None:
        """The step that a conversation which `reached` this state got to; None when it is no state.

        The terminal serves no step; a conversation that got there has got to the last one.
        """
        state = self.state(name)
        if state is None:
            return None
        return Step.close if state.terminal else state.step


def mermaid(flow: Flow) -> str:
    """The flow as Mermaid `stateDiagram-v2` text, without a fence and without a last newline.

    Each arrow says when the state it leaves is done; under a state's name stands whether it is repeatable (a later
    state may return to it) and whether it asks for money.
    """
    lines = ["stateDiagram-v2", "    direction LR", f"    [*] --> {flow.first.name}"]
    for state in flow.states:
        lines.append(f'    state "{state.name}" as {state.name}')
        marks = [mark for mark, holds in (("repeatable", state.repeatable), ("asks for money", state.asks)) if holds]
        if marks:
            lines.append(f"    {state.name}: {', '.join(marks)}")
    for state in flow.states:
        destination = flow.moves.get((state.name, ADVANCE))
        if destination is not None and state.step is not None:
            lines.append(f"    {state.name} --> {destination}: {DONE_WHEN[state.step]}")
    lines.append(f"    {flow.terminal.name} --> [*]")
    return "\n".join(lines)


def returning(state: State) -> str:
    """The name of the trigger that steps back to a repeatable state."""
    return f"return_to_{state.name}"


def _machine(states: tuple[State, ...]) -> Machine:
    """The definition. `model=None`: the machine is nobody's state; a borrower's is derived, never kept in an object."""
    machine = Machine(
        model=None,
        states=[state.name for state in states],
        initial=states[0].name,
        auto_transitions=False,
    )
    for here, there in pairwise(states):
        if not here.terminal:
            machine.add_transition(ADVANCE, here.name, there.name)
    for place, state in enumerate(states):
        for later in states[place + 1 :] if state.repeatable else ():
            if not later.terminal:
                machine.add_transition(returning(state), later.name, state.name)
    return machine


def _moves(machine: Machine) -> Mapping[tuple[str, str], str]:
    """(state, trigger) -> state. A machine's own lookup costs a hundred times that of a dict."""
    return MappingProxyType(
        {
            (source, trigger): transition.dest or source
            for trigger, event in machine.events.items()
            for source, transitions in event.transitions.items()
            for transition in transitions
        }
    )


def _version(flow: Flow) -> str:
    data = [flow.channel, [[s.name, s.step, s.repeatable, s.asks, s.terminal] for s in flow.states]]
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:VERSION_HEX_DIGITS]


_Check = Callable[[Flow], str | None]
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_ASKING_STEPS: Final = frozenset({Step.negotiate, Step.confirm, Step.remind, Step.pay})
_ONCE_ONLY_STEPS: Final = frozenset({Step.remind, Step.pay})


def _refuse(flow: Flow, check: _Check) -> None:
    wrong = check(flow)
    if wrong is not None:
        raise ValueError(f"flow {flow.channel!r}: {wrong}")


def _plain_names(flow: Flow) -> str | None:
    """Names are what trimming and case folding leave as they are; else a proposal could never name them."""
    names = [flow.channel, *(state.name for state in flow.states)]
    bad = [name for name in names if not _NAME.fullmatch(name) or len(name) > NAME_CHARACTERS_MAX]
    return f"{bad[0]!r} is no name: small letters, digits and underscores" if bad else None


def _distinct_names(flow: Flow) -> str | None:
    names = [state.name for state in flow.states]
    return "two states have one name" if len(set(names)) < len(names) else None


def _not_too_many(flow: Flow) -> str | None:
    return f"more than {STATES_MAX} states" if len(flow.states) > STATES_MAX else None


def _one_terminal(flow: Flow) -> str | None:
    terminals = [state for state in flow.states if state.terminal]
    if len(terminals) != 1:
        return f"{len(terminals)} terminals instead of one"
    if terminals[0].step is not None or terminals[0].repeatable or terminals[0].asks:
        return f"the terminal {terminals[0].name} serves no step, is not repeatable and asks for nothing"
    return None


def _steps_in_order(flow: Flow) -> str | None:
    """In the canonical order, so that what stands past identity for one channel stands past it for all."""
    states = [state for state in flow.states if not state.terminal]
    if any(state.step is None for state in states):
        return "a state that is not the terminal serves no step"
    ranks = [state.step.rank for state in states if state.step is not None]
    return "the steps are not in their canonical order" if ranks != sorted(ranks) else None


def _one_identity(flow: Flow) -> str | None:
    count = sum(state.step is Step.identify for state in flow.states)
    return f"{count} states identify the borrower instead of one" if count != 1 else None


def _caution_is_free(flow: Flow) -> str | None:
    """A step back to the greeting or to identity is never refused, so these must be repeatable and ask for nothing."""
    for state in flow.states:
        if state.step in (Step.greet, Step.identify) and (not state.repeatable or state.asks):
            return f"{state.name} comes before the money: it must be repeatable and must not ask"
    return None


def _asking_says_so(flow: Flow) -> str | None:
    for state in flow.states:
        if state.step in _ASKING_STEPS and not state.asks:
            return f"{state.name} serves {state.step}, which asks for money, and does not say so"
    return None


def _sent_once(flow: Flow) -> str | None:
    for state in flow.states:
        if state.step in _ONCE_ONLY_STEPS and state.repeatable:
            return f"{state.name} sends something that is sent once: it cannot be repeatable"
    return None


def _an_end_never_done(flow: Flow) -> str | None:
    """The walk must come to rest before the terminal, at a state that asks for nothing in any cycle."""
    closes = [state for state in flow.states if state.step is Step.close]
    if len(closes) != 1:
        return f"{len(closes)} closing states instead of one: only the last before the terminal is never done"
    return f"{closes[0].name} is where a closed cycle rests: it must not ask for money" if closes[0].asks else None


def _every_state_reachable(flow: Flow) -> str | None:
    reached = {flow.first.name}
    while (
        more := {to for (here, trigger), to in flow.moves.items() if trigger == ADVANCE and here in reached} - reached
    ):
        reached |= more
    lost = [state.name for state in flow.states if state.name not in reached]
    return f"{', '.join(lost)} cannot be reached from {flow.first.name}" if lost else None


def _moves_stay_inside(flow: Flow) -> str | None:
    """`transitions` takes a destination that does not exist without a word; and nothing leads out of the terminal."""
    if not set(flow.moves.values()) <= set(flow.names):
        return "a move leads to a state that does not exist"
    leaving = [trigger for here, trigger in flow.moves if here == flow.terminal.name]
    return f"{leaving[0]} leads out of the terminal" if leaving else None


_CHECKS_OF_STATES: Final[tuple[_Check, ...]] = (
    _not_too_many,
    _plain_names,
    _distinct_names,
    _one_terminal,
    _steps_in_order,
    _one_identity,
    _caution_is_free,
    _asking_says_so,
    _sent_once,
    _an_end_never_done,
)
_CHECKS_OF_MOVES: Final[tuple[_Check, ...]] = (_every_state_reachable, _moves_stay_inside)
