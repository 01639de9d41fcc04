"""What came through a number that was never this borrower's, in whatever is told of this borrower (DESIGN 7).

It is left out of every conclusion. Where entries are listed one by one, such a one keeps its line, marked, so that it is seen
that it came: what it says is somebody else's, and told to nobody who reads of this one. The journal has it as it was posted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from statemachine.forgetting import hidden
from statemachine.state import BorrowerState

Hash = Callable[[str, str], str]
"""A text and a purpose to a keyed hash."""
MARK: Final = {"left_out": "wrong_borrower"}
"""Beside an entry that is somebody else's."""
NAMES: Final = (
    "event_id", "type", "channel", "modality", "direction", "conversation_id", "revision",
    "started_at", "ended_at", "occurred_at",
)  # fmt: skip
"""What is left of one: which it is and when it was, and nothing of what was said or done."""


def is_anothers(state: BorrowerState, through: str | None, at: datetime, keyed_hash: Hash) -> bool:
    """Whether what took effect then and came through this identifier (`kind:value`) was never this borrower's."""
    if through is None or not state.anothers:
        return False
    names = (through, hidden(through, lambda text: keyed_hash(text, "words")))
    return any(at <= state.anothers[name] for name in names if name in state.anothers)


def wordless(document: Mapping[str, Any]) -> dict[str, Any]:
    """A posted body of somebody else's, as it may be told here."""
    return {name: document[name] for name in NAMES if name in document}
