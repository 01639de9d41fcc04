"""What is posted for a context answer (API 10), as models that refuse by the field's name."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from statemachine.entries import Turn
from statemachine.wire import NAME_CHARACTERS, TEXT_CHARACTERS, TURNS, Channel, Frozen, Id, Instant, Name, bounded

INSTRUCTIONS: Final = 100
READINGS: Final = 500
BUDGET_TOKENS: Final = 1_000_000


def _filled(characters: int) -> BeforeValidator:
    def check(value: object) -> str:
        if not isinstance(value, str):
            raise PydanticCustomError("wrong_type", "text is needed")
        if not value.strip():
            raise PydanticCustomError("missing", "a text that is not blank is needed")
        if len(value) > characters:
            raise PydanticCustomError("too_long", "at most {limit} characters", {"limit": characters})
        return value

    return BeforeValidator(check)


def _tokens(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= BUDGET_TOKENS:
        raise PydanticCustomError("wrong_type", "a whole number from 1")
    return value


Source = Annotated[str, _filled(NAME_CHARACTERS)]
Words = Annotated[str, bounded(TEXT_CHARACTERS)]
Tokens = Annotated[int, BeforeValidator(_tokens)]


class Instruction(Frozen):
    """What the agent is told to do, and where that stands. The same in every turn: it may be replayed."""

    source: Source
    text: Words


class Reading(Frozen):
    """What a tool answered: true when it was read, and never to be replayed.

    `turn_id`: the turn in which it was read; without one it is of no turn. `observed_at`: when that was.
    """

    source: Source
    subject: Name | None = None
    turn_id: Id | None = None
    observed_at: Instant | None = None
    text: Words


class ContextAsked(Frozen):
    """One turn of a conversation, before its prompt is made. `token_budget`: none keeps all that a body can hold."""

    channel: Channel
    turn_id: Id
    instructions: Annotated[list[Instruction], Field(max_length=INSTRUCTIONS)] = Field(default_factory=list)
    readings: Annotated[list[Reading], Field(max_length=READINGS)] = Field(default_factory=list)
    conversation: Annotated[list[Turn], Field(max_length=TURNS)] = Field(default_factory=list)
    question: Annotated[str, _filled(TEXT_CHARACTERS)]
    token_budget: Tokens | None = None
    after: Id | None = None
