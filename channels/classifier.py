"""Where a proposal comes from: a channel's rules, or the words of a model or a caller read as one.

Nothing here may be trusted and nothing here decides: whatever comes out goes to the floor. It calls no model and knows
no prompt; it reads what came back. Reading is strict, since a wrong state is worse than none: an answer that could be
read in two ways is not read at all, and the reason is told as a *fallback*.
"""

import json
import re
from typing import Final, Literal

from statemachine.floor import judge
from statemachine.flow import NAME_CHARACTERS_MAX, Flow, State, Step
from statemachine.journey import Standing, position

ANSWER_CHARACTERS_MAX: Final = 20_000

Reading = tuple[str | None, Literal["unreadable"] | None]
"""A proposed state's text and None, or None and why there is none."""

_UNREADABLE: Final[Reading] = (None, "unreadable")


def rules_propose(
    flow: Flow,
    standing: Standing,
    *,
    counter_proposal: bool,
    payment_claim: bool,
    dropped_at: str | None,
) -> str | None:
    """What the channel's rules propose when no model does (DESIGN 9): a step back, or None for the position.

    An open counter-proposal: negotiate again. A payment claim: the dues first, or in a flow that has no such state, the
    first one that would talk of money. A call that dropped at `dropped_at` (a state of this flow): where it broke off,
    once it was past identity; a greeting or a verification that was cut short left nothing to take up. Of several, the
    earliest. Only what the floor grants is proposed, so a refusal in the statistics is always a caller's or a model's.
    """
    called_for: list[State] = []
    if counter_proposal:
        called_for += [state for state in flow.states if state.step is Step.negotiate]
    if payment_claim:
        called_for += _past_identity(flow)[:1]
    if dropped_at is not None:
        called_for += [state for state in _past_identity(flow) if state == flow.state(dropped_at)]

    here = flow.index(position(flow, standing).name)
    for state in sorted(called_for, key=lambda state: flow.index(state.name)):
        if flow.index(state.name) < here and judge(flow, standing, state.name).granted_proposal:
            return state.name
    return None


def read_proposal(value: object) -> Reading:
    """A caller's `proposal`: any JSON value. An object with a text `state`, or a model's text passed on as it came.

    None proposes nothing and is no fallback. A text that is no state of any flow is read all the same, and the floor
    refuses it. The state comes back without outer blanks, ready to be stored and shown.
    """
    if value is None:
        return None, None
    if isinstance(value, str):
        return read_answer(value)
    if isinstance(value, dict) and isinstance(state := value.get("state"), str):
        return _presentable(state), None
    return _UNREADABLE


def read_answer(content: object) -> Reading:
    """A model's answer (API 6, classifier wire): one JSON object with `state`, bare, fenced or in a sentence.

    Unreadable: no text, no object with a `state`, a `state` that is no text, an object cut off or not JSON, a list of
    objects, or two objects (or one key twice) that name different states. Other objects and fields are ignored.
    """
    state, why = explained(content)
    return (state, None) if why is None else _UNREADABLE


Why = Literal[
    "no_text", "too_long", "no_object", "a_list", "no_state", "wrong_type", "cut_off", "not_json", "stated_twice"
]
"""In which way an answer cannot be read, for whoever looks after a model."""


def explained(content: object) -> tuple[str | None, Why | None]:
    """As `read_answer`: a proposed state's text and None, or None and in which way it cannot be read."""
    if not isinstance(content, str):
        return None, "no_text"
    if len(content) > ANSWER_CHARACTERS_MAX:
        return None, "too_long"
    states: dict[str, str] = {}
    why: Why = "no_object"
    place = 0
    while opener := _OPENS_JSON.search(content, place):
        try:
            value, place = _DECODER.raw_decode(content, opener.start())
        except _StatedTwice:
            return None, "stated_twice"
        except json.JSONDecodeError as fault:
            is_cut = fault.msg.startswith("Unterminated string") or fault.pos >= len(content.rstrip())
            return None, "cut_off" if is_cut else "not_json"
        except (ValueError, RecursionError):
            return None, "not_json"
        if not isinstance(value, dict):
            return None, "a_list"
        if "state" not in value:
            why = "no_state"
            continue
        if not isinstance(value["state"], str):
            return None, "wrong_type"
        states.setdefault(value["state"].strip().casefold(), value["state"])
    if len(states) != 1:
        return None, "stated_twice" if states else why
    return _presentable(*states.values()), None


_OPENS_JSON: Final = re.compile(r'\{\s*["}]|\[\s*[\[{]')
"""Braces of a sentence ("{like this}") are not meant; a brace and a quote are, and then must be whole."""


class _StatedTwice(ValueError):
    """A key with two values."""


def _one_value_a_key(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise _StatedTwice
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


# Models break lines inside their reasons; that harms nothing, so control characters in strings are let through.
_DECODER: Final = json.JSONDecoder(object_pairs_hook=_one_value_a_key, parse_constant=_no_constant, strict=False)


def _presentable(state: str) -> str:
    """A proposal is echoed and stored, state or not: what no database or UTF-8 answer can carry becomes U+FFFD.

    One too long to be a state is cut, visibly: the cut must not make a state of what is none.
    """
    text = state.strip()
    if len(text) > NAME_CHARACTERS_MAX:
        text = text[: NAME_CHARACTERS_MAX - 1] + "…"
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def _past_identity(flow: Flow) -> tuple[State, ...]:
    """The states that talk of the due, in order: all between identity and the terminal."""
    return tuple(state for state in flow.states[flow.index(flow.identity.name) + 1 :] if not state.terminal)
