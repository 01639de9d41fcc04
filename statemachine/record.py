"""The record of one borrower: bounded evidence, never a conclusion (DESIGN 3).

Theory of operation. The unit is an *element*: what one entry contributes. It never changes, and its bucket and its key
depend on that entry alone. A *bucket* keeps its newest elements and remembers the newest key that it let go. A record is a
set of buckets and of tombstones; `join` unites two of them:

    join(a, b) = newest(a's elements + b's elements), cleaned by a's and b's tombstones

Keeping the newest K of each bucket, and then the newest N of all, is the greedy choice on nested limits: what is kept of a
union is what is kept of the kept. So joining commutes, associates and repeats for nothing, whatever was let go before.
Nothing here bounds a *group* (a conversation, a loan): that would not commute.

Canonical bytes: keys sorted, numbers as text, UTC with microseconds, no floats. This file knows no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import msgspec

from statemachine.bucket_names import Name, bucket_of
from statemachine.elements import (
    AnyElement,
    CommitmentSaid,
    ConversationTold,
    Key,
    Stamp,
    Stored,
    Value,
    element_of,
    instant_text,
    key_of,
    valued,
)

SCHEMA_VERSION: Final[Literal[1]] = 1

Hasher: TypeAlias = Callable[[str], str]
"""A keyed hash of folded words; the key is the shell's (DESIGN 11, forgetting)."""

# -- limits --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limits:
    """How many elements are kept (DESIGN 3, 18). Holds, opt-outs, redirects, texts that a person withheld
    and what turned out to be somebody else's number are never let go and not counted."""

    bucket: int = 64
    payments: int = 512
    prose: int = 16
    total: int = 2048

    def of(self, kind: str) -> int | None:
        return (
            {"payments": self.payments, "prose": self.prose}.get(kind, self.bucket) if kind not in KEPT_ALWAYS else None
        )


LIMITS = Limits()
PROSE_CONVERSATIONS = 8
"""Conversations told in their own words; their revisions share the bucket's sixteen places."""
KEPT_ALWAYS = frozenset({"holds", "contact", "redirect", "withheld", "wrong_borrower"})


@dataclass(frozen=True, slots=True)
class Contents:
    """What a bucket holds, sorted once: nearly all buckets of a record outlive most of its merges."""

    by_type: tuple[tuple[type[Any], list[Any]], ...]
    loans: Mapping[str, datetime]
    """When each loan was first named in it."""
    first: Mapping[str, Any]
    """The first element of each id."""
    is_told_otherwise: bool
    """Whether one id came with different bytes."""


class Bucket(Stored, frozen=True):
    """The newest elements of one name, in the order of their keys, and the newest key that was let go."""

    name: Name
    elements: tuple[AnyElement, ...] = ()
    let_go: Key | None = None

    @cached_property
    def contents(self) -> Contents:
        by_type: dict[type[Any], list[Any]] = {}
        loans: dict[str, datetime] = {}
        first: dict[str, Any] = {}
        told_otherwise = False
        for element in self.elements:
            by_type.setdefault(type(element), []).append(element)
            known = first.setdefault(element.event_id, element)
            told_otherwise = told_otherwise or known.digest != element.digest or known.at != element.at
            loan = element.loan_id
            if loan is not None and (loan not in loans or element.at < loans[loan]):
                loans[loan] = element.at
        return Contents(tuple(by_type.items()), loans, first, told_otherwise)

    @cached_property
    def encoded(self) -> bytes:
        let_go = b""
        if self.let_go:
            at, event_id, digest = self.let_go
            let_go = b',"let_go":%s' % _to_json((instant_text(at), event_id, digest))
        elements = b",".join([e.encoded for e in self.elements])
        return b'%s%s]%s,"name":%s}' % (_BUCKET_OPENS, elements, let_go, _to_json(self.name))

    def give_pieces(self) -> None:
        """Gives each element its part of this bucket's bytes, where those are known: another bucket is going to hold it, and need
        not encode it again."""
        if _ENCODED in self.__dict__ and self.elements and _ENCODED not in self.elements[0].__dict__:
            for element, piece in zip(self.elements, _PIECES.decode(self.encoded).elements, strict=True):
                element.__dict__[_ENCODED] = bytes(piece)


_ENCODED: Final = "encoded"
_to_json: Final = msgspec.json.Encoder().encode
_RECORD_OPENS: Final = b'{"borrower_id":'
_BUCKET_OPENS: Final = b'{"elements":['


# -- forgetting ----------------------------------------------------------------------------------------------


class Tombstone(Value):
    """What was forgotten, without a word of it: everything up to `at`, or texts with these keyed hashes in them."""

    at: Stamp
    by: str | None = None
    event_id: str
    everything: bool = False
    prose: bool = False
    """Of prose only, because its retention has ended: not that anybody asked for it."""
    words: tuple[tuple[int, str], ...] = ()
    """Each a number of folded words and the keyed hash of them joined by one blank."""

    @property
    def key(self) -> tuple[datetime, str]:
        return (self.at, self.event_id)


# -- the record ----------------------------------------------------------------------------------------------


class Record(Stored, frozen=True):
    """All the evidence kept of one borrower. Its version and its place in the log stand beside it, not in it."""

    borrower_id: str
    buckets: tuple[Bucket, ...] = ()
    schema_version: Literal[1] = SCHEMA_VERSION
    tombstones: tuple[Tombstone, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[Name, Bucket]:
        return {b.name: b for b in self.buckets}

    def all_of(self, kind: str) -> Iterable[Any]:
        """Every kept element of one kind of bucket."""
        return (e for b in self.buckets if b.name[0] == kind for e in b.elements)

    @classmethod
    def new(cls, borrower_id: str) -> Record:
        """The record of somebody of whom nothing is known."""
        return cls(borrower_id)

    @property
    def is_empty(self) -> bool:
        return not any(b.elements for b in self.buckets)

    def to_bytes(self) -> bytes:
        """The canonical bytes: equal records, equal bytes."""
        tombstones = b",".join([t.model_dump_json(exclude_defaults=True).encode() for t in self.tombstones])
        return b'%s%s,"buckets":[%s],"schema_version":%d%s}' % (
            _RECORD_OPENS,
            _to_json(self.borrower_id),
            b",".join([b.encoded for b in self.buckets]),
            self.schema_version,
            b',"tombstones":[%s]' % tombstones if tombstones else b"",
        )

    @classmethod
    def from_bytes(cls, raw: bytes) -> Record:
        """A stored record, of this or an earlier schema version; `UnreadableRecord` when it is neither."""
        try:
            return _read(raw)
        except _NOT_OURS:
            document = _document(raw)
        version = document.get("schema_version", 0) if isinstance(document, dict) else None
        if not isinstance(version, int) or not 0 <= version <= SCHEMA_VERSION:
            raise UnreadableRecord(f"a record of schema version {version!r} is not one of 0 to {SCHEMA_VERSION}")
        try:
            for upgrade in UPGRADES[version:]:
                document = upgrade(document)
            return _read(_to_json(document))
        except (*_NOT_OURS, KeyError, TypeError) as why:
            raise UnreadableRecord(f"a record of schema version {version} is damaged") from why


# -- reading -------------------------------------------------------------------------------------------------


class _RecordRead(msgspec.Struct, forbid_unknown_fields=True):
    borrower_id: str
    schema_version: Literal[1]
    buckets: list[msgspec.Raw] = []
    tombstones: tuple[Tombstone, ...] = ()


class _Pieces(msgspec.Struct):
    elements: list[msgspec.Raw]


_RECORD: Final = msgspec.json.Decoder(_RecordRead, dec_hook=valued)
_BUCKET: Final = msgspec.json.Decoder(Bucket, dec_hook=valued)
_PIECES: Final = msgspec.json.Decoder(_Pieces)
_NOT_OURS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def _read(raw: bytes) -> Record:
    """The record, each bucket with the bytes it was read from, so that one that a merge leaves alone is not encoded again. Bytes
    that are not in our own order are not kept."""
    read = _RECORD.decode(raw)
    is_ours = raw.startswith(_RECORD_OPENS)
    buckets = []
    for piece in map(bytes, read.buckets):
        bucket = _BUCKET.decode(piece)
        if is_ours and piece.startswith(_BUCKET_OPENS):
            bucket.__dict__[_ENCODED] = piece
        buckets.append(bucket)
    return Record(read.borrower_id, tuple(buckets), tombstones=read.tombstones)


def _document(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except _NOT_OURS:
        raise UnreadableRecord("a record is no JSON") from None


class UnreadableRecord(ValueError):
    """A stored document that no version of this code wrote."""


STEPS_PAST_A_PROMISE = ("confirm", "remind", "pay", "close")


def _unstated(told: ConversationTold) -> CommitmentSaid:
    """The promise that a conversation of an old document implies: it had reached a step behind one (DESIGN 4.3)."""
    shared = ("at", "channel", "conversation_id", "cycle_id", "digest", "event_id", "loan_id", "revision", "through")
    return CommitmentSaid(**{f: getattr(told, f) for f in shared})


def _from_version_0(document: dict[str, Any]) -> dict[str, Any]:
    """Version 0 kept a flat list of elements under `evidence`; its buckets follow from the elements themselves."""
    names: dict[Name, list[Any]] = {}
    elements = [element_of(_to_json({"digest": "", **item})) for item in document.get("evidence", ())]
    promised = {(e.channel, e.conversation_id) for e in elements if isinstance(e, CommitmentSaid)}
    for element in elements:
        names.setdefault(bucket_of(element), []).append(element)
        is_told = isinstance(element, ConversationTold) and element.step in STEPS_PAST_A_PROMISE
        if is_told and (element.channel, element.conversation_id) not in promised:
            names.setdefault(("commitments", element.loan_id or "", ""), []).append(_unstated(element))
    buckets = [Bucket(name, tuple(sorted(kept, key=key_of))) for name, kept in sorted(names.items())]
    told = [msgspec.Raw(bucket.encoded) for bucket in buckets]
    return {"borrower_id": document["borrower_id"], "buckets": told, "schema_version": 1}


UPGRADES: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (_from_version_0,)
"""The step from each schema version to the next, in order."""
