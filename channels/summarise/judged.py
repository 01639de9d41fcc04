"""What of a model's answer is taken as a summary: every rule it must keep, in their order, each with a sentence that names it.

    1 the answer is one JSON object of the form that was asked for
    2 its prose has at most 120 words and gives no orders
    3 what it quotes stands in the borrower's own turns
    4 every number of the prose was in what the model saw
    5 no sentence of the prose would be withheld when it is shown (`statemachine.screening`)
    6 the state it names is one of the channel's

A broken rule is told to the model once, by its sentence. The parts that words decide without prose are kept apart from it, so
that an answer whose prose is refused twice still gives its structure. Nothing here is believed: intake judges it all once more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from channels import said as words
from channels.channel import Channel
from channels.chats import Said
from channels.summarise.draft import WORDS_MAX, Draft, last_said_at, promised_in
from statemachine.entries import Callback, Commitment, Fact, PaymentClaim
from statemachine.grounding import quote_stands
from statemachine.screening import instructs, screened
from statemachine.volatility import FACT_KINDS

ANSWER_CHARACTERS: Final = 40_000
FIELD_CHARACTERS: Final = 4_000
FACTS: Final = 5
COUNT: Final = 12
"""A number up to this may be a count of the model's own: "asked twice", "the 2 of them"."""
INFERRED: Final = tuple(str(kind) for kind, its in FACT_KINDS.items() if its.inferred_allowed)


def _short(value: object) -> object:
    """A text within bounds, or none; what is no text is none either, for a model's slip is no reason to lose the rest."""
    return value[:FIELD_CHARACTERS] if isinstance(value, str) and value.strip() else None


Words = Annotated[str | None, BeforeValidator(_short)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Promise(_Part):
    """What the borrower undertook to pay, in the borrower's words."""

    quote: Words = None
    amount_said: Words = None
    due_date_said: Words = None


class Claim(_Part):
    """What the borrower says to have paid."""

    quote: Words = None
    paid_on_said: Words = None


class Asked(_Part):
    """When the borrower asked to be called."""

    quote: Words = None
    at_said: Words = None


class Learnt(_Part):
    """Something lasting about the borrower, with the words it rests on."""

    kind: str
    text: str
    quote: str
    confidence: float = Field(ge=0, le=1)
    about: Words = None


class Answer(_Part):
    """The form of an answer; what else stands in it is ignored."""

    summary: str
    reached: Words = None
    commitment: Promise | None = None
    payment_claim: Claim | None = None
    callback: Asked | None = None
    facts: list[Learnt] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`draft` is what may be posted: without prose when `broken` names a rule, and null when nothing could be read."""

    draft: Draft | None
    rule: str | None = None
    broken: str | None = None
    """The sentence that tells the model what was wrong, without a word of the conversation."""


def judged(content: str | None, seen: Sequence[Said], said: Sequence[Said], channel: Channel) -> Verdict:
    """What a model's answer comes to. `seen`: the turns as they were shown to it; `said`: as they were."""
    answer, broken = read(content)
    if answer is None:
        return Verdict(None, "form", broken)
    draft = _structure(answer, said, channel)
    given = _Given(answer, seen, said, draft, channel)
    for name, rule in RULES:
        sentence = rule(given)
        if sentence is not None:
            return Verdict(replace(draft, summary=None), name, sentence)
    return Verdict(replace(draft, summary=answer.summary.strip()))


# -- 1 the form ----------------------------------------------------------------------------------------------------------

FORM: Final = "answer with one JSON object of the form that was asked for, and nothing else"
_FENCE: Final = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


def read(content: str | None) -> tuple[Answer | None, str | None]:
    """The one object in a model's words, possibly fenced or in a sentence; else what is wrong."""
    if not content or len(content) > ANSWER_CHARACTERS:
        return None, FORM
    fenced = _FENCE.search(content)
    text = fenced[1] if fenced else content
    found = _object(text)
    if found is None:
        return None, FORM
    try:
        return Answer.model_validate(found), None
    except ValidationError as wrong:
        fields = sorted({".".join(str(part) for part in error["loc"]) for error in wrong.errors()})
        return None, f"{FORM}; wrong are: {', '.join(fields)}"


_DECODER: Final = json.JSONDecoder(strict=False)


def _object(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# -- the parts without prose ------------------------------------------------------------------------------------------------


def _structure(answer: Answer, said: Sequence[Said], channel: Channel) -> Draft:
    """What is quoted and stands; a part whose quote does not stand is left out, whatever becomes of the prose."""
    promise, claim, asked = answer.commitment, answer.payment_claim, answer.callback
    commitment = (
        Commitment(
            status="proposed",
            quote=promise.quote,
            amount_said=_in(promise.amount_said, said),
            due_date_said=_in(promise.due_date_said, said),
        )
        if promise and _stands(promise.quote, said)
        else None
    )
    speakers = {turn.speaker for turn in said}
    return Draft(
        outcome="connected" if "borrower" in speakers else "third_party" if "third_party" in speakers else "no_answer",
        reached=channel.flow.spelled(answer.reached) if answer.reached and _is_state(answer.reached, channel) else None,
        commitment=commitment,
        payment_claim=PaymentClaim(quote=claim.quote, paid_on_said=_in(claim.paid_on_said, said))
        if claim and _stands(claim.quote, said)
        else None,
        callback=Callback(quote=asked.quote, at_said=_in(asked.at_said, said))
        if asked and _stands(asked.quote, said)
        else None,
        facts=tuple(_facts(answer, said)),
        promised_at=last_said_at((commitment.quote, commitment.amount_said, commitment.due_date_said), said)
        if commitment
        else None,
    )


def _facts(answer: Answer, said: Sequence[Said]) -> list[Fact]:
    """Those of a kind that may be inferred, whose quote stands; intake grounds them (DESIGN 11)."""
    kept = [fact for fact in answer.facts if fact.kind in INFERRED and _stands(fact.quote, said)]
    return [
        Fact.model_validate(
            {
                "kind": fact.kind,
                "text": fact.text[:FIELD_CHARACTERS],
                "quote": fact.quote[:FIELD_CHARACTERS],
                "confidence": fact.confidence,
                "about": fact.about[:100] if fact.about else None,
            }
        )
        for fact in kept[:FACTS]
    ]


def _stands(quote: str | None, said: Sequence[Said]) -> bool:
    return bool(quote) and quote_stands(quote or "", said) == "stands" and not instructs(quote or "")


def _in(text: str | None, said: Sequence[Said]) -> str | None:
    """Words that a model ascribes to the borrower, if they are the borrower's."""
    return text if _stands(text, said) else None


def _is_state(name: str, channel: Channel) -> bool:
    return channel.flow.step_reached(name) is not None


# -- the rules --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Given:
    answer: Answer
    seen: Sequence[Said]
    said: Sequence[Said]
    draft: Draft
    channel: Channel


def _has_prose(given: _Given) -> str | None:
    return None if given.answer.summary.strip() else "the summary must say something"


def _is_short(given: _Given) -> str | None:
    length = len(given.answer.summary.split())
    return None if length <= WORDS_MAX else f"the summary has {length} words; at most {WORDS_MAX} are allowed"


def _gives_no_orders(given: _Given) -> str | None:
    if instructs(given.answer.summary):
        return "the summary gives an order; tell what was said as what the borrower said, and order nothing"
    return None


def _quotes_the_borrower(given: _Given) -> str | None:
    answer = given.answer
    quotes = [
        *((answer.commitment.quote,) if answer.commitment else ()),
        *((answer.payment_claim.quote,) if answer.payment_claim else ()),
        *((answer.callback.quote,) if answer.callback else ()),
    ]
    if all(_stands(quote, given.said) for quote in quotes if quote):
        return None
    return "a quote must stand, word for word, in one of the borrower's own turns"


def _says_no_number_of_its_own(given: _Given) -> str | None:
    known = {number for turn in given.seen for number in words.numbers(turn.text)}
    told = {number for number in words.numbers(given.answer.summary) if number > COUNT}
    dates = {number for turn in given.seen if turn.at for number in (turn.at.day, turn.at.month, turn.at.year)}
    if told <= known | {number for number in told if number in dates}:
        return None
    return "the summary states a number that nobody said in this conversation"


def _would_be_shown(given: _Given) -> str | None:
    withheld = screened(
        given.answer.summary, amounts_allowed=promised_in(given.draft.commitment), numbers=words.numbers
    ).withheld
    if not withheld:
        return None
    rules = ", ".join(sorted({rule for _, rule in withheld}))
    return (
        f"a sentence of the summary states as true what holds only when it is read ({rules}); leave it out, or tell it as"
        " what the borrower said"
    )


def _names_a_state(given: _Given) -> str | None:
    if given.answer.reached is None or _is_state(given.answer.reached, given.channel):
        return None
    return f"reached must be one of {', '.join(state.name for state in given.channel.flow.states)}, or null"


RULES: Final[Sequence[tuple[str, Callable[[_Given], str | None]]]] = (
    ("no_prose", _has_prose),
    ("too_long", _is_short),
    ("order", _gives_no_orders),
    ("quote", _quotes_the_borrower),
    ("number", _says_no_number_of_its_own),
    ("live_value", _would_be_shown),
    ("state", _names_a_state),
)
