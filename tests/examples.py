"""How many examples a law is tried on: in CI as many as it names, while working a few, so that `make check` stays short."""

from __future__ import annotations

import os
from typing import Final

WHILE_WORKING: Final = 8
"""One in so many."""
AT_LEAST: Final = 10


def often(examples: int) -> int:
    """For `settings(max_examples=...)`."""
    return examples if os.environ.get("CI") else min(examples, max(AT_LEAST, examples // WHILE_WORKING))


def step(finest: int) -> int:
    """Of a walk through everything there is: in CI the finest, while working a longer one."""
    return finest if os.environ.get("CI") else finest * WHILE_WORKING + 3


def changed_bodies(examples: int) -> int:
    """As `often`, of vendors' bodies that were changed; `MUTATED_BODIES` names another number for one long run."""
    return int(os.environ.get("MUTATED_BODIES", "0")) or often(examples)
