"""Which decisions are current, told by itself: from the words of DESIGN 12 and nothing of the service.

It keeps every report and every decision, looks at all of them each time, and remembers only who has died. Reports are compared
by when they were observed, then by when they came; nothing here knows a status, a correction, a row or a transaction.
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

    reports: list[tuple[str, str, float, int, str]] = field(default_factory=list)
    decisions: dict[str, Told] = field(default_factory=dict)

    def newest(self, source: str, entity: str) -> str | None:
        of = [r for r in self.reports if r[0] == source and r[1] in ("", entity)]
        return max(of, key=lambda r: (r[2], r[3]))[4] if of else None

    def report(self, source: str, entity: str, observed: float, version: str) -> int:
        """How many died of it."""
        self.reports.append((source, entity, observed, len(self.reports), version))
        return self._bury()

    def _bury(self) -> int:
        count = 0
        for one in self.decisions.values():
            known = self.newest(one.source, one.entity)
            if not one.is_dead and known is not None and known != one.version:
                one.is_dead, count = True, count + 1
        return count

    def decide(self, new: Told) -> None:
        """A living one takes the place of another on its subject, or that it names, of the same source: on the newest version,
        or, while nobody has reported any, when it was decided later; at one instant, when it came later."""
        self.decisions[new.id] = new
        self._bury()
        others = [one for one in self.decisions.values() if one is not new]
        for old in others:
            if self._takes_over(new, old) and (self._is_known(new) or old.decided <= new.decided):
                old.is_dead = True
        for old in others:
            if self._takes_over(old, new) and (self._is_known(old) or old.decided >= new.decided):
                new.is_dead = True

    def _is_known(self, one: Told) -> bool:
        return self.newest(one.source, one.entity) is not None

    def _takes_over(self, new: Told, old: Told) -> bool:
        if new.is_dead or old.is_dead or new.version == old.version:
            return False
        if (new.borrower, new.source) != (old.borrower, old.source):
            return False
        return (new.kind, new.entity) == (old.kind, old.entity) or old.id in new.names

    def current(self, borrower: str) -> set[str]:
        return {one.id for one in self.decisions.values() if one.borrower == borrower and not one.is_dead}

    def may_act(self, id_: str, named: str) -> bool:
        return not self.decisions[id_].is_dead and self.decisions[id_].version == named
