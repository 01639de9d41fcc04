"""Decisions that change their mind: how one lives, which version counts, what replaces what (DESIGN 12, API 9).

Theory of operation. A decision is a conclusion that an agent drew at one version of a source ("waiver 10 % eligible, offers
v12"). It lives once, in one direction:

    active --moved--> stale --replaced--> superseded

and nothing leads back: when the source returns to the old version, a revalidation is a new decision. Versions are opaque;
none is greater than another by its text. The *newest known* one is the one that was observed last, of the entity or of the
source as a whole, whichever was observed later; of two observed at one instant the one that was reported later.

`judged` is the one rule of use, and everybody asks it: a decision may be used while it is active and no other version than its
own is the newest known. A stale decision says nothing: not its conclusion, and not the opposite.

This file knows no clock, no storage and nobody who reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from transitions import Machine

Status: TypeAlias = Literal["active", "stale", "superseded"]
Trigger: TypeAlias = Literal["moved", "replaced"]
STATUSES: Final[tuple[Status, ...]] = ("active", "stale", "superseded")
MOVES: Final[tuple[tuple[Trigger, Status, Status], ...]] = (
    ("moved", "active", "stale"),
    ("replaced", "stale", "superseded"),
)
"""Trigger, from, to: all there are."""

SOURCE_MOVED: Final = "source_moved"
VERSION_WAS_OLD: Final = "version_was_old"
"""Why a decision is stale: its source moved on; it was old already when it was told."""


def _machine() -> Machine:
    """The definition. `model=None`: the machine is nobody's state; a decision's is a column."""
    machine = Machine(model=None, states=list(STATUSES), initial="active", auto_transitions=False)
    for trigger, source, destination in MOVES:
        machine.add_transition(trigger, source, destination)
    return machine


LIFECYCLE: Final[Machine] = _machine()
_NEXT: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        (source, trigger): transition.dest or source
        for trigger, event in LIFECYCLE.events.items()
        for source, transitions in event.transitions.items()
        for transition in transitions
    }
)


def after(status: str, trigger: Trigger) -> str | None:
    """What a decision of this status becomes; None when this cannot happen to it."""
    return _NEXT.get((status, trigger))


@dataclass(frozen=True, slots=True)
class Seen:
    """A version of a source as it was reported: when it was observed, and when that was told. Times are aware."""

    version: str
    observed_at: datetime
    reported_at: datetime

    @property
    def order(self) -> tuple[datetime, datetime]:
        return self.observed_at, self.reported_at


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules look at. `replaces` are the ids that it names; `entity` is None for the source as a whole."""

    decision_id: str
    borrower_id: str
    kind: str
    entity: str | None
    source: str
    version: str
    decided_at: datetime
    status: str = "active"
    replaces: tuple[str, ...] = ()

    @property
    def subject(self) -> tuple[str, str, str | None, str]:
        """A later decision of the same subject takes the place of an earlier one."""
        return self.borrower_id, self.kind, self.entity, self.source


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a decision may be used; if not, `reason` says why."""

    usable: bool
    reason: str | None = None


def newest(seen: Iterable[Seen]) -> Seen | None:
    """The one observed last; None while nobody has reported any."""
    return max(seen, key=lambda one: one.order, default=None)


def takes_over(told: Seen, known: Seen | None) -> bool:
    """Whether a report becomes the newest known; what was observed before that is late, and changes nothing."""
    return known is None or told.order >= known.order


def judged(status: str, version: str, known: Seen | None) -> Verdict:
    """The rule of use: active, and not on another version than the newest known."""
    if status != "active":
        return Verdict(False, status)
    if known is not None and known.version != version:
        return Verdict(False, SOURCE_MOVED)
    return Verdict(True)


def supersedes(new: Decision, old: Decision, known: Seen | None) -> bool:
    """Whether `new` takes the place of `old`, which nothing but a usable decision on a newer version does.

    The newest known version (`known`, to the new one) is newer than any other. While nobody has reported one, a version is
    newer when it was decided on later. The new one is of the same subject, or names the old one in `replaces`; versions of
    two sources, and decisions about two borrowers, have nothing to do with each other.
    """
    if new.decision_id == old.decision_id or (new.borrower_id, new.source) != (old.borrower_id, old.source):
        return False
    if new.version == old.version:
        return False
    if new.subject != old.subject and old.decision_id not in new.replaces:
        return False
    if not judged(new.status, new.version, known).usable:
        return False
    return known is not None or new.decided_at >= old.decided_at


def correction_key(decision_id: str, observed_version: str) -> str:
    """`decision:observed_version`, under which a correction is made once; a colon within either is written `%3A`."""
    return f"{_escaped(decision_id)}:{_escaped(observed_version)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace(":", "%3A")
