"""What whoever wants a model's words sees: a call that answers with text or fails with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from service.written import Written

Failure = Literal["timeout", "unavailable", "unreadable"]
"""The reasons of API 6: nothing came in time; it cannot be reached or refuses; what came is no answer of its form."""


class ModelFailed(Exception):
    """The model was not ready: the same may be asked later. The sentence says why and repeats nothing that was asked."""

    def __init__(self, reason: Failure, why: str) -> None:
        super().__init__(why)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request: a text whose every byte has a registered writer, or it reaches no model (DESIGN 10)."""

    role: Literal["system", "user", "assistant"]
    content: Written

    def __post_init__(self) -> None:
        if not isinstance(self.content, Written):
            raise TypeError("a model is shown nothing that has no writer: service.written")


class Model(Protocol):
    @property
    def name(self) -> str:
        """The model's name, for provenance."""

    async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
        """The text of the answer, within so many seconds and of at most so many tokens. Raises `ModelFailed`."""

    async def close(self) -> None: ...
