"""What became of each commitment of a cycle: in force, broken, retracted or replaced (DESIGN 4).

A break is a mark: it names the due date of the promise it breaks. It must not know now.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from statemachine.attribution import Opening
from statemachine.elements import (
    CommitmentSaid,
    Key,
    PromiseFailed,
    key_of,
)
from statemachine.holding import FAR, LONG_AGO, ZERO, Holding, Received, end_of_day
from statemachine.ladder import differs, names_terms, strength


@dataclass(slots=True)
class Fate:
    """What became of each commitment of a cycle, nowhere changed. `alive` has one per conversation, the strongest."""

    alive: list[CommitmentSaid]
    in_force: CommitmentSaid | None
    broken: list[CommitmentSaid]
    retracted: list[CommitmentSaid]
    replaced: list[tuple[CommitmentSaid, CommitmentSaid]]
    broken_at: list[datetime]
    killed: dict[Key, datetime]
    """When a break ended each that one did end."""
    withdrawn: set[Key]


_NOTHING_SAID = Fate([], None, [], [], [], [], {}, set())


def fate_of(holding: Holding, money: Received, opening: Opening | None, zone: str) -> Fate:
    if not holding.commitments and not holding.breaks:
        return _NOTHING_SAID

    def kept(said: CommitmentSaid) -> bool:
        target = target_of(said, opening)
        return target is not None and paid_towards(said, money, zone) >= target

    killed: dict[Key, datetime] = {}
    broken: dict[Key, CommitmentSaid] = {}
    broken_at: list[datetime] = []
    seen: set[date] = set()
    for mark in sorted(holding.breaks, key=key_of):
        effect = _effect(mark, holding.commitments, killed, kept, seen)
        if effect is None:
            continue
        dead, failed = effect
        broken_at.append(mark.at)
        for said in dead:
            killed.setdefault(said.key, mark.at)
        broken |= {c.key: c for c in failed if killed[c.key] == mark.at}
    retracted = _retracted(holding, killed) if holding.withdrawals else set()
    standing = [c for c in holding.commitments if c.key not in retracted]
    alive = _strongest_each([c for c in standing if c.key not in killed])
    in_force = max(alive, key=strength, default=None)
    dead_others = _strongest_each([c for c in standing if c.key in killed]) if killed else []
    everything = [*alive, *(c for c in dead_others if c.key not in broken), *broken.values()]
    return Fate(
        alive=alive,
        in_force=in_force,
        broken=_strongest_each([c for c in broken.values() if c.key not in retracted]),
        retracted=_strongest_each([c for c in holding.commitments if c.key in retracted]) if retracted else [],
        replaced=[(c, by) for c, by in _replaced(everything) if c is not in_force and c.key not in broken],
        broken_at=broken_at,
        killed=killed,
        withdrawn=retracted,
    )


def covers_a_promise(holding: Holding, money: Received, fate: Fate) -> bool:
    """Where no due is known: whether some payment brought the sum received since the promise then in force up to its amount
    (DESIGN 5).

    A promise that is made after it, higher or lower, neither pays the cycle nor opens it again (DESIGN 6). Payments and
    promises are walked together by time; a promise that a break has ended does not come back.
    """
    if not money.payments:
        return False
    coming = sorted([c for c in holding.commitments if c.key not in fate.withdrawn], key=key_of, reverse=True)
    standing: list[tuple[tuple[Any, ...], CommitmentSaid]] = []
    force: CommitmentSaid | None = None
    until = LONG_AGO
    for payment in money.payments:
        at = payment.at
        while coming and coming[-1].at <= at:
            said = coming.pop()
            insort(standing, (strength(said), said), key=_strength)
        while standing and fate.killed and fate.killed.get(standing[-1][1].key, FAR) <= at:
            standing.pop()
        now_in_force = standing[-1][1] if standing else None
        if now_in_force is not force:
            if force is not None and _is_covered(force, until, money):
                return True
            force = now_in_force
        until = at  # what came while one promise was in force only grows: the last payment decides
    return force is not None and _is_covered(force, until, money)


def _is_covered(force: CommitmentSaid, until: datetime, money: Received) -> bool:
    if force.amount is None or force.currency != money.currency:
        return False
    return money.up_to(force.at, until) >= force.amount


def _strength(ranked: tuple[tuple[Any, ...], CommitmentSaid]) -> tuple[Any, ...]:
    return ranked[0]


def _effect(
    mark: PromiseFailed,
    commitments: Sequence[CommitmentSaid],
    killed: dict[Key, datetime],
    kept: Callable[[CommitmentSaid], bool],
    seen: set[date],
) -> tuple[list[CommitmentSaid], list[CommitmentSaid]] | None:
    """What no longer counts by this break, and what it broke; `None` when it has no effect (DESIGN 4.6)."""
    said = [c for c in commitments if c.at <= mark.at]
    if mark.due_date is None:
        alive = [c for c in said if c.key not in killed]
        if any(kept(c) for c in alive):
            return None
        current = max(alive, key=strength, default=None)
        return said, [current] if current else []
    if mark.due_date in seen:
        return None
    seen.add(mark.due_date)
    named = [c for c in said if c.due_date == mark.due_date]
    if any(kept(c) for c in named):
        return None
    if not named:
        return said, []
    first = min(c.at for c in named)
    return [c for c in said if c.at < first or c.due_date == mark.due_date], named


def _retracted(holding: Holding, killed: dict[Key, datetime]) -> set[Key]:
    """The commitments that a person took off the record: a named conversation's, else those of the current promise."""
    gone: set[Key] = set()
    for mark in sorted(holding.withdrawals, key=key_of):
        said = [c for c in holding.commitments if c.at <= mark.at and c.key not in gone]
        if mark.conversation_id is not None:
            targets = {
                (c.channel, c.conversation_id)
                for c in said
                if c.conversation_id == mark.conversation_id and mark.channel in (None, c.channel)
            }
        else:
            current = max((c for c in said if killed.get(c.key, FAR) > mark.at), key=strength, default=None)
            targets = {(current.channel, current.conversation_id)} if current else set()
        gone |= {c.key for c in said if (c.channel, c.conversation_id) in targets}
    return gone


def _strongest_each(commitments: Sequence[CommitmentSaid]) -> list[CommitmentSaid]:
    """One commitment a conversation: its strongest counts once."""
    if len(commitments) < 2:
        return list(commitments)
    best: dict[tuple[str, str], tuple[tuple[Any, ...], CommitmentSaid]] = {}
    for said in commitments:
        conversation, mine = (said.channel, said.conversation_id), strength(said)
        if conversation not in best or mine > best[conversation][0]:
            best[conversation] = (mine, said)
    return sorted([said for _, said in best.values()], key=key_of)


def _replaced(commitments: Sequence[CommitmentSaid]) -> list[tuple[CommitmentSaid, CommitmentSaid]]:
    """Each commitment that a later, stronger one of another conversation took the place of, with the first such one."""
    found: list[tuple[CommitmentSaid, CommitmentSaid]] = []
    if len(commitments) < 2:
        return found
    later: list[tuple[tuple[Any, ...], CommitmentSaid]] = []
    for said in sorted(commitments, key=key_of, reverse=True):
        mine = strength(said)
        while later and later[-1][0] < mine:
            later.pop()
        if later:
            by = later[-1][1]
            if (by.channel, by.conversation_id) != (said.channel, said.conversation_id):
                found.append((said, by))
        later.append((mine, said))
    return found


def is_counter(said: CommitmentSaid, force: CommitmentSaid) -> bool:
    """A later claim that does not win and names other terms stands beside the promise in force (DESIGN 4.4)."""
    return said is not force and said.key > force.key and names_terms(said) and differs(said, force)


def target_of(said: CommitmentSaid, opening: Opening | None) -> Decimal | None:
    """What has to be paid for a promise to be kept: its amount; of one that names none, the due."""
    if said.amount is not None:
        return said.amount
    return opening.amount_due if opening and not said.amount_candidates else None


def paid_towards(said: CommitmentSaid, money: Received, zone: str) -> Decimal:
    if said.currency not in (None, money.currency):
        return ZERO
    return money.since(said.at, end_of_day(said.due_date, zone) if said.due_date else FAR)
