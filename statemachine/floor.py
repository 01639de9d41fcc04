"""The floor: fixed rules that judge where a conversation may start, whoever proposed it (DESIGN 8).

A proposal is a guess: by a model, by a caller's classifier, by a channel's rules. Each rule is a small pure function
that allows it or refuses it in words; all are asked, and all refusals are told. A proposal that no rule refuses is
granted; any other is not used at all, and the memory's own position is granted instead. The position cannot lie past
identity while identity does not hold (the walk stops there), so it needs no lowering here.

`never` says once more, in its own words and without the rules, what may never be granted. Every grant is held against
it when it is made, and a test holds every combination there is against it. The floor is pure: it knows no record, no
clock and no service, so an agent can run it in its own process.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from statemachine.flow import Flow, State, Step
from statemachine.journey import Standing, after_identity, is_done, position, steps_ahead

STEPS_AHEAD_MAX: Final = 1
GRANTS_KEPT_MAX: Final = 16_384

_NO_STATE: Final = ""
"""Stands for every name that is no state, so that inventions share one kept grant. No state can have it for a name."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule's code and its reason in plain words. The words hold names of states, never the text of a proposal."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Grant:
    """What the floor gives. `state` and `step` are None only while contact is stopped; the position is told even then.

    `after_identity` is None while identity holds. `granted_proposal`: the state is the one that was proposed.
    """

    state: str | None
    step: str | None
    position: str
    after_identity: str | None
    granted_proposal: bool
    refusals: tuple[Refusal, ...]


Rule = Callable[[Flow, Standing, str | None], Refusal | None]


def judge(flow: Flow, standing: Standing, proposal: str | None) -> Grant:
    """The state to start in, for a proposal (blanks around it and case do not matter) or for none."""
    if proposal is None:
        return _kept(flow, standing, None)
    state = flow.state(proposal)
    return _kept(flow, standing, _NO_STATE if state is None else state.name)


@lru_cache(maxsize=GRANTS_KEPT_MAX)
def _kept(flow: Flow, standing: Standing, proposal: str | None) -> Grant:
    """A grant depends on nothing else, and the combinations are few: each is weighed once and then looked up."""
    grant = weigh(flow, standing, proposal, RULES)
    broken = never(flow, standing, grant.state)
    if broken is not None:
        raise AssertionError(f"the floor of {flow.channel} was about to grant what it never may: {broken}")
    return grant


def weigh(flow: Flow, standing: Standing, proposal: str | None, rules: Sequence[Rule]) -> Grant:
    """The judgement by these rules, neither kept nor held against the never-list. For `judge`, tables and proofs."""
    refusals = tuple(refusal for rule in rules if (refusal := rule(flow, standing, proposal)) is not None)
    own = position(flow, standing)
    state: str | None
    if any(refusal.rule == on_hold.__name__ for refusal in refusals):
        state = None
    elif proposal is None or refusals:
        state = own.name
    else:
        state = flow.spelled(proposal)
    known = None if state is None else flow.state(state)
    return Grant(
        state=state,
        step=None if known is None else known.step,
        position=own.name,
        after_identity=None if standing.identity_holds else after_identity(flow, standing).name,
        granted_proposal=proposal is not None and not refusals,
        refusals=refusals,
    )


def never(flow: Flow, standing: Standing, state: str | None) -> str | None:
    """Why this state may not be granted under any circumstances, or None. The state's name is exact."""
    if state is None:
        return None
    if standing.on_hold:
        return f"{state} under a hold"
    if standing.opted_out and standing.outbound:
        return f"{state} on an outbound contact after an opt-out"
    if state not in flow.names:
        return f"{state!r} is no state of this flow"
    place = flow.names.index(state)
    found = flow.states[place]
    if found.terminal:
        return f"{state} is the terminal"
    if not standing.identity_holds and place > flow.names.index(flow.identity.name):
        return f"{state} is past identity, which does not hold"
    if standing.closed and found.asks:
        return f"{state} asks for money in a closed cycle"
    if not found.repeatable and is_done(found, standing):
        return f"{state} is done and not repeatable"
    undone = [there for there, each in enumerate(flow.states) if not is_done(each, standing)]
    if sum(undone[0] < there <= place for there in undone) > 1:
        return f"{state} is more than one real step past {flow.states[undone[0]].name}"
    return None


def floor_table(flow: Flow) -> tuple[str, ...]:
    """The floor as lines of text: a row for each position, a column for each proposal.

    A cell says `yes`, or the numbers of the rules that refuse, which the last line names. Each row is the plainest
    record that stands there: all before the position done, nothing after it. The last two rows are a closed cycle and
    a hold.
    """
    numbers = {rule.__name__: str(number) for number, rule in enumerate(RULES, 1)}
    rows = [("position", *flow.names)]
    for label, standing in _standings_of_the_table(flow):
        grants = (judge(flow, standing, name) for name in flow.names)
        cells = (" ".join(numbers[r.rule] for r in grant.refusals) or "yes" for grant in grants)
        rows.append((label, *cells))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return (*lines, "", "refused by: " + ", ".join(f"{number} {name}" for name, number in numbers.items()))


def _standings_of_the_table(flow: Flow) -> list[tuple[str, Standing]]:
    rows = [(state.name, _having_come_to(state.step)) for state in flow.states if state.step is not None]
    last, standing = rows[-1]
    return [
        *rows,
        (f"{last} (cycle closed)", replace(standing, closed=True)),
        (f"{last} (on hold)", replace(standing, on_hold=True)),
    ]


def _having_come_to(step: Step) -> Standing:
    rung: Literal["none", "proposed", "confirmed"] = "none"
    if step.rank > Step.negotiate.rank:
        rung = "confirmed" if step.rank > Step.confirm.rank else "proposed"
    return Standing(
        identity_holds=step.rank > Step.identify.rank,
        contact_made=step.rank > Step.greet.rank,
        informed=step.rank > Step.inform.rank,
        rung=rung,
        promise_stands=rung != "none",
        reminded=step.rank > Step.remind.rank,
        payment_link_shared=step.rank > Step.pay.rank,
        closed=False,
        on_hold=False,
        opted_out=False,
        outbound=True,
    )


# The rules. A rule that needs a state has nothing to say about a proposal that names none.


def unknown_state(flow: Flow, standing: Standing, proposal: str | None) -> Refusal | None:
    if proposal is None or flow.state(proposal) is not None:
        return None
    return Refusal("unknown_state", f"the {flow.channel} flow has no state of that name")


def closed_state(flow: Flow, standing: Standing, proposal: str | None) -> Refusal | None:
    """The end, what is behind us for good, and any asking in a cycle that is closed."""
    state = _named(flow, proposal)
    if state is None:
        return None
    if state.terminal:
        return Refusal("closed_state", f"{state.name} is the end of the flow, nothing starts there")
    if standing.closed and state.asks:
        return Refusal("closed_state", f"{state.name} asks for money and the cycle is not open")
    if is_done(state, standing) and not state.repeatable:
        return Refusal("closed_state", f"{state.name} is done and is not repeated")
    return None


def identity_required(flow: Flow, standing: Standing, proposal: str | None) -> Refusal | None:
    state = _named(flow, proposal)
    if state is None or standing.identity_holds or flow.index(state.name) <= flow.index(flow.identity.name):
        return None
    return Refusal("identity_required", f"{state.name} is past {flow.identity.name} and identity does not hold")


def too_far_ahead(flow: Flow, standing: Standing, proposal: str | None) -> Refusal | None:
    state = _named(flow, proposal)
    if state is None:
        return None
    steps = steps_ahead(flow, standing, state)
    if steps <= STEPS_AHEAD_MAX:
        return None
    return Refusal("too_far_ahead", f"{state.name} is {steps} steps past {position(flow, standing).name}")


def on_hold(flow: Flow, standing: Standing, proposal: str | None) -> Refusal | None:
    """The one rule that speaks when nothing was proposed: it refuses the position as well."""
    if not standing.stopped:
        return None
    if standing.on_hold:
        return Refusal("on_hold", "a hold is in force: no state is granted")
    return Refusal("on_hold", f"the borrower opted out of {flow.channel}: no contact is started there")


def _named(flow: Flow, proposal: str | None) -> State | None:
    return None if proposal is None else flow.state(proposal)


RULES: Final[tuple[Rule, ...]] = (unknown_state, closed_state, identity_required, too_far_ahead, on_hold)
