"""How spellings are written down: as patterns, written out at import.

`(x)` may be missing, `[x|y]` is one of several, so `pa(a)nch` stands for `panch` and `paanch`. One spelling with two meanings
in one table stops the import. Keys are folded exactly as texts are (`reading.fold`), so composed, decomposed, dotted and
undotted letters are one.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TypeVar

from channels.said.reading import fold

Meaning = TypeVar("Meaning")

_PATTERN_PARTS = re.compile(r"\(([^)]*)\)|\[([^\]]*)\]|([^()\[\]]+)")


def spellings(patterns: str) -> frozenset[str]:
    """Every folded spelling that the blank-separated `patterns` stand for."""
    written: set[str] = set()
    for pattern in patterns.split():
        choices: list[list[str]] = []
        for optional, alternatives, plain in _PATTERN_PARTS.findall(pattern):
            choices.append(["", optional] if optional else alternatives.split("|") if alternatives else [plain])
        written.update(fold("".join(parts)) for parts in product(*choices))
    return frozenset(written)


def table_of(*entries: tuple[Meaning, str]) -> dict[str, Meaning]:
    table: dict[str, Meaning] = {}
    for meaning, patterns in entries:
        for spelling in spellings(patterns):
            if table.setdefault(spelling, meaning) != meaning:
                raise AssertionError(f"{spelling!r} has two meanings in one table")
    return table
