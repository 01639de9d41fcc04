"""What must never happen, asserted before a batch is saved (DESIGN 13): a rung that a summary lowered, newer evidence let go."""

from __future__ import annotations

from typing import Final

from statemachine.forgetting import OF_IDENTIFIERS
from statemachine.ladder import RUNGS
from statemachine.record import KEPT_ALWAYS, Bucket, Record
from statemachine.state import Rungs


class InvariantBroken(Exception):
    """What must never happen has happened; the sentence says what."""


def has_let_go(before: Record, after: Record) -> bool:
    """Whether evidence was let go: what rested on it may fall (DESIGN 3, law 3)."""
    known = before.by_name
    return any(b.let_go is not None and b.let_go != known.get(b.name, _NO_BUCKET).let_go for b in after.buckets)


_NO_BUCKET: Final = Bucket(name=())


def check_rungs(before: Rungs, after: Rungs) -> None:
    """After summaries no cycle's rung has fallen (DESIGN 3, law 4). Raises `InvariantBroken`."""
    if before.loans != after.loans:
        return  # what names no loan counts in every loan's implicit cycle, so a new loan moves it
    for cycle, rung in before.by_cycle.items():
        if RUNGS.index(after.by_cycle.get(cycle, "none")) < RUNGS.index(rung):
            raise InvariantBroken("a summary lowered a rung")


def check_kept(before: Record, after: Record) -> None:
    """The elements kept are the newest of old and new (DESIGN 3, "Bounded"). Raises `InvariantBroken`."""
    is_now = after.by_name
    for was in before.buckets:
        bucket = is_now.get(was.name) or _renamed(was, after)
        if bucket is was:
            continue
        if bucket is None:
            raise InvariantBroken("a merge lost a bucket")
        still = set(map(id, bucket.elements))
        if all(id(e) in still for e in was.elements):
            continue  # the very same elements and others beside them, as nearly always
        kept = {e.key for e in bucket.elements}
        gone = max((e.key for e in was.elements if e.key not in kept), default=None)
        if gone is None:
            continue
        if was.name[0] in KEPT_ALWAYS or bucket.let_go is None or gone > bucket.let_go or (kept and gone > min(kept)):
            raise InvariantBroken("a merge let go of an element before an older one")


def _renamed(was: Bucket, after: Record) -> Bucket | None:
    """The bucket of an identifier that is known by its hash alone now, because everything was forgotten."""
    if was.name[0] not in OF_IDENTIFIERS or not any(t.everything for t in after.tombstones):
        return None
    keys = {e.key for e in was.elements}
    its_kind = (b for b in after.buckets if b.name[0] == was.name[0])
    return next((b for b in its_kind if any(e.key in keys for e in b.elements)), None)
