"""The merge: old record + entry = new record; pure, the same in any order and any repetition (DESIGN 3).

    merge(record, e)   == join(record, a record of the elements of e alone)
    join(a, b)         the union, newest elements kept, tombstones applied

What an entry contributes is said in `lifting`, the bucket of each element in `bucket_names`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter

from statemachine.bucket_names import Name, bucket_of
from statemachine.elements import AnyElement, Key, key_of
from statemachine.forgetting import cleaned, cleaned_bucket
from statemachine.lifting import lift
from statemachine.record import (
    KEPT_ALWAYS,
    LIMITS,
    Bucket,
    Hasher,
    Limits,
    Record,
    Tombstone,
)
from statemachine.stamps import Entry, EvidenceJoined, MemoryForgotten


def merge(record: Record, entry: Entry, hasher: Hasher, limits: Limits = LIMITS) -> Record:
    """The record with what this entry contributes. Raises nothing for any entry that `stamps` can express."""
    if isinstance(entry.body, EvidenceJoined):
        return join(record, entry.body.record, hasher, limits)
    if isinstance(entry.body, MemoryForgotten):
        tombstones = _united(record.tombstones, (entry.body.tombstone,))
        united = _united_buckets((), _recleaned(record.buckets, tombstones, hasher), limits)
        return _of(record.borrower_id, _bounded(united, limits), tombstones)
    added = lift(entry)
    if not added:
        return record
    if record.tombstones:
        added = [cleaned(e, record.tombstones, hasher) for e in added]
    buckets = dict(record.by_name)
    for element in added:
        name = bucket_of(element)
        buckets[name] = _with(buckets.get(name) or Bucket(name=name), (element,), None, limits)
    return _of(record.borrower_id, _bounded(buckets.values(), limits), record.tombstones)


def join(a: Record, b: Record, hasher: Hasher, limits: Limits = LIMITS) -> Record:
    """Both records as one, under the name of the first. Commutative but for that name, associative, idempotent."""
    tombstones = _united(a.tombstones, b.tombstones)
    mine, theirs = a.buckets, b.buckets
    if tombstones:  # first: a bucket may have another name then
        mine, theirs = (_recleaned(buckets, tombstones, hasher) for buckets in (mine, theirs))
    return _of(a.borrower_id, _bounded(_united_buckets(mine, theirs, limits), limits), tombstones)


def _united_buckets(mine: Iterable[Bucket], theirs: Iterable[Bucket], limits: Limits) -> Iterable[Bucket]:
    """The buckets of both, one for each name. Two of `mine` may have come to have the same name (`forgetting`)."""
    buckets: dict[Name, Bucket] = {}
    for bucket in mine:
        known = buckets.get(bucket.name)
        buckets[bucket.name] = _with(known, bucket.elements, bucket.let_go, limits) if known is not None else bucket
    for bucket in theirs:
        known = buckets.get(bucket.name) or Bucket(name=bucket.name)
        buckets[bucket.name] = _with(known, bucket.elements, bucket.let_go, limits)
    return buckets.values()


# -- keeping the newest --------------------------------------------------------------------------------------


def _with(bucket: Bucket, added: Sequence[AnyElement], let_go: Key | None, limits: Limits) -> Bucket:
    """The bucket with these elements too, its newest kept; elements of one key are one."""
    if len(added) == 1 and let_go is None:
        return _with_one(bucket, added[0], limits)
    known = {e.key: e for e in bucket.elements}
    united = sorted({**{e.key: e for e in added}, **known}.values(), key=key_of)
    limit = limits.of(bucket.name[0])
    gone = united[:-limit] if limit is not None and len(united) > limit else []
    kept = tuple(united[len(gone) :])
    newest_gone = _latest(bucket.let_go, let_go, gone[-1].key if gone else None)
    if len(kept) == len(bucket.elements) and newest_gone == bucket.let_go and all(e.key in known for e in kept):
        return bucket
    bucket.give_pieces()
    return Bucket(bucket.name, kept, newest_gone)


def _with_one(bucket: Bucket, added: AnyElement, limits: Limits) -> Bucket:
    """As `_with`, of one element, as nearly always: it is put in its place."""
    elements, key = bucket.elements, added.key
    place = bisect_left(elements, key, key=key_of)
    if place < len(elements) and elements[place].key == key:
        return bucket
    bucket.give_pieces()
    united = (*elements[:place], added, *elements[place:])
    limit = limits.of(bucket.name[0])
    too_many = len(united) - limit if limit is not None else 0
    if too_many <= 0:
        return Bucket(bucket.name, united, bucket.let_go)
    newest_gone = _latest(bucket.let_go, united[too_many - 1].key)
    if place == 0 and too_many == 1 and newest_gone == bucket.let_go:
        return bucket
    return Bucket(bucket.name, united[too_many:], newest_gone)


def _bounded(buckets: Iterable[Bucket], limits: Limits) -> Iterable[Bucket]:
    """The newest of all buckets together. Buckets that never let go are not counted."""
    kept = list(buckets)
    counted = sum(len(b.elements) for b in kept if b.name[0] not in KEPT_ALWAYS)
    if counted <= limits.total:
        return kept
    keys = sorted((e.key, b.name) for b in kept if b.name[0] not in KEPT_ALWAYS for e in b.elements)
    last_gone = keys[counted - limits.total - 1]
    return [b if b.name[0] in KEPT_ALWAYS else _without_older(b, last_gone) for b in kept]


def _without_older(bucket: Bucket, last_gone: tuple[Key, Name]) -> Bucket:
    kept = tuple(e for e in bucket.elements if (e.key, bucket.name) > last_gone)
    if len(kept) == len(bucket.elements):
        return bucket
    gone = bucket.elements[len(bucket.elements) - len(kept) - 1].key
    return Bucket(bucket.name, kept, _latest(bucket.let_go, gone))


def _latest(*keys: Key | None) -> Key | None:
    return max((k for k in keys if k is not None), default=None)


def _of(borrower_id: str, buckets: Iterable[Bucket], tombstones: tuple[Tombstone, ...]) -> Record:
    return Record(borrower_id, tuple(sorted(buckets, key=attrgetter("name"))), tombstones=tombstones)


def _united(a: Iterable[Tombstone], b: Iterable[Tombstone]) -> tuple[Tombstone, ...]:
    """Both sets of tombstones. Of those that end the retention of prose only the latest is kept: it reaches all that the others
    do."""
    every = {t.key: t for t in (*a, *b)}
    latest = max((key for key, t in every.items() if t.prose), default=None)
    return tuple(t for key, t in sorted(every.items()) if not t.prose or key == latest)


def _recleaned(buckets: Iterable[Bucket], tombstones: tuple[Tombstone, ...], hasher: Hasher) -> tuple[Bucket, ...]:
    return tuple(cleaned_bucket(bucket, tombstones, hasher) for bucket in buckets)
