"""What a rule is. Each family of rules has a module of its own; their order is in `statemachine.screening`."""

from collections.abc import Callable
from dataclasses import dataclass

from statemachine.screening.reading import Own
from statemachine.screening.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Rule:
    """One named rule. `version` grows whenever what it withholds changes. `passes` and `fails` are its tests.

    `needs`: one of these, as `KINDS` says it, is held by every sentence that breaks it.
    """

    name: str
    version: int
    is_broken_by: Callable[[Own, Sentence], bool]
    needs: tuple[int, ...]
    passes: tuple[str, ...]
    fails: tuple[str, ...]

    def may_be_broken(self, held: int) -> bool:
        return any(held & need == need for need in self.needs)
