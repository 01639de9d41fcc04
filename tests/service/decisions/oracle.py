"""Which decisions are current, told by itself: from the words of DESIGN 12 and nothing of the service.

It keeps of each scope the report that counts, looks at every living decision each time, and remembers only who has died.
Reports are compared by when they were observed, then by when they came; nothing here knows a status, a correction, a row or a
transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Told:
    """A decision as it was posted. `entity` blank: the source as a whole."""

    id: str
    borrower: str
    kind: str
    entity: str
    source: str
    version: str
    decided: float
    names: frozenset[str] = frozenset()
    is_dead: bool = False


@dataclass
class Oracle:
    """Fed with what was accepted, in its order."""

    reports: dict[tuple[str, str], tuple[float, int, str]] = field(default_factory=dict)
    decisions: dict[str, Told] = field(default_factory=dict)
    living: dict[str, Told] = field(default_factory=dict)
    heard: int = 0

    def newest(self, source: str, entity: str) -> str | None:
        of = [self.reports[scope] for scope in {(source, ""), (source, entity)} if scope in self.reports]
        return max(of)[2] if of else None

    def report(self, source: str, entity: str, observed: float, version: str) -> int:
        """How many died of it."""
        self.heard += 1
        scope, told = (source, entity), (observed, self.heard, version)
        self.reports[scope] = max(told, self.reports.get(scope, told))
        return self._bury()

    def _bury(self) -> int:
        before = len(self.living)
        for one in list(self.living.values()):
            known = self.newest(one.source, one.entity)
            if known is not None and known != one.version:
                self._dies(one)
        return before - len(self.living)

    def _dies(self, one: Told) -> None:
        one.is_dead = True
        self.living.pop(one.id, None)

    def decide(self, new: Told) -> None:
        """A living one takes the place of another on its subject, or that it names, of the same source: on the newest version,
        or, while nobody has reported any, when it was decided later; at one instant, when it came later."""
        self.decisions[new.id] = self.living[new.id] = new
        self._bury()
        others = [one for one in self.living.values() if one is not new]
        for old in others:
            if self._takes_over(new, old) and (self._is_known(new) or old.decided <= new.decided):
                self._dies(old)
        for old in others:
            if self._takes_over(old, new) and (self._is_known(old) or old.decided >= new.decided):
                self._dies(new)

    def _is_known(self, one: Told) -> bool:
        return self.newest(one.source, one.entity) is not None

    def _takes_over(self, new: Told, old: Told) -> bool:
        if new.is_dead or old.is_dead or new.version == old.version:
            return False
        if (new.borrower, new.source) != (old.borrower, old.source):
            return False
        return (new.kind, new.entity) == (old.kind, old.entity) or old.id in new.names

    def current(self, borrower: str) -> set[str]:
        return {one.id for one in self.living.values() if one.borrower == borrower}

    def may_act(self, id_: str, named: str) -> bool:
        return not self.decisions[id_].is_dead and self.decisions[id_].version == named
