"""What is posted of decisions and sources (API 9), as models that refuse by the field's name.

`BorrowerId`, `Id` and `Instant` are those of every other body. Versions are opaque texts: a number is no version.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError, to_json

from statemachine.wire import NAME_CHARACTERS, BorrowerId, Frozen, Id, Instant, Name

CONCLUSION_CHARACTERS: Final = 2_000
WORD_CHARACTERS: Final = 128
REPLACES: Final = 20


def _filled(limit: int) -> BeforeValidator:
    def check(value: object) -> str:
        if not isinstance(value, str):
            raise PydanticCustomError("wrong_type", "text is needed")
        if not value.strip():
            raise PydanticCustomError("missing", "a text that is not blank is needed")
        if len(value) > limit:
            raise PydanticCustomError("too_long", "at most {limit} characters", {"limit": limit})
        return value

    return BeforeValidator(check)


def _one_or_several(value: object) -> object:
    """One id as text, or a list of them."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise PydanticCustomError("wrong_type", "an id or a list of ids is needed")
    if len(value) > REPLACES:
        raise PydanticCustomError("too_many", "at most {limit} ids", {"limit": REPLACES})
    return tuple(value)


Word = Annotated[str, _filled(WORD_CHARACTERS)]
Conclusion = Annotated[str, _filled(CONCLUSION_CHARACTERS)]
Replaced = Annotated[tuple[Id, ...], BeforeValidator(_one_or_several)]
Action = Annotated[str, _filled(NAME_CHARACTERS)]


class DecisionTaken(Frozen):
    """A conclusion that an agent drew at a version of a source."""

    decision_id: Id
    borrower_id: BorrowerId
    kind: Word
    conclusion: Conclusion
    source: Word
    source_version: Word
    entity: Word | None = None
    decided_at: Instant
    agent: Name | None = None
    execution_id: Id | None = None
    replaces: Replaced = ()

    def canonical(self) -> str:
        """The same for bodies that are equal after parsing."""
        fields = {name: value for name, value in self.model_dump(mode="json").items() if value not in (None, [])}
        return to_json(dict(sorted(fields.items()))).decode()


class DecisionCheck(Frozen):
    """That somebody is about to act on a decision; with `source_version`, what the source is at."""

    source_version: Word | None = None
    observed_at: Instant | None = None
    execution_id: Id | None = None
    action: Action | None = None


class SourceReport(Frozen):
    """The version that somebody saw a source at, of one entity or as a whole."""

    source: Word
    entity: Word | None = None
    version: Word
    observed_at: Instant
