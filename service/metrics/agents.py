"""An agent's version as a label of a metric: bounded in number, and never anything that could be of a borrower.

An agent names itself as it likes (API 3, `agent`), and a careless one may put a number or a name there. What has the form of a
version is shown, at most `AGENTS` different ones in a process; the rest is `other`. The whole is in `GET /v1/ops/resumes`.
"""

from __future__ import annotations

import re
from typing import Final

AGENTS: Final = 30
CHARACTERS: Final = 40
UNTOLD: Final = "untold"
OTHER: Final = "other"
_VERSION: Final = re.compile(r"[a-z0-9]+(?:[ ._/@-][a-z0-9]+){0,7}", re.ASCII)
_NUMBER: Final = re.compile(r"(?:[0-9][ ._/@-]?){7,}")
_HAS_DIGIT: Final = re.compile(r"[0-9]")


class Agents:
    """The versions that one process has met."""

    def __init__(self) -> None:
        self._met: set[str] = set()

    def label(self, agent: str | None) -> str:
        """A version has a digit, and fewer than seven in a row. Who tells none is `untold`."""
        version = (agent or "").strip().lower()
        if not version:
            return UNTOLD
        is_version = len(version) <= CHARACTERS and _VERSION.fullmatch(version) and _HAS_DIGIT.search(version)
        if not is_version or _NUMBER.search(version):
            return OTHER
        if version not in self._met:
            if len(self._met) >= AGENTS:
                return OTHER
            self._met.add(version)
        return version
