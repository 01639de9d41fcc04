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
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

SCHEMA_VERSION: Final = 1

V = TypeVar("V", bound="Value")
Key: TypeAlias = tuple[datetime, str, str]
"""Where an element stands: when it took effect, the id of its entry, the keyed hash of that entry."""
Hasher: TypeAlias = Callable[[str], str]
"""A keyed hash of folded words; the key is the shell's (DESIGN 11, forgetting)."""


def _instant_text(value: datetime) -> str:
    return value.isoformat(timespec="microseconds")[:26] + "Z"


Stamp = Annotated[datetime, PlainSerializer(_instant_text, when_used="json")]
"""An aware time in UTC, written with microseconds."""
KeyField = tuple[Stamp, str, str]


class Value(BaseModel):
    """A stored value; its fields are declared in the order of the alphabet, which makes its bytes canonical."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def changed(self: V, **changes: Any) -> V:
        """The same value with other fields; nothing that was computed from the old ones comes along."""
        fields = {f: changes.get(f, getattr(self, f)) for f in type(self).model_fields}
        return cast(V, type(self).model_construct(**fields))


# -- elements ------------------------------------------------------------------------------------------------


class Element(Value):
    """What every element has, declared by each in its place: `at`, `digest`, `event_id`, `through`."""

    if TYPE_CHECKING:
        at: datetime
        cycle_id: str | None
        digest: str
        event_id: str
        loan_id: str | None
        through: str | None
        type: str

    @cached_property
    def key(self) -> Key:
        return (self.at, self.event_id, self.digest)

    @cached_property
    def encoded(self) -> bytes:
        return self.model_dump_json(exclude_defaults=True).encode()


class CommitmentSaid(Element):
    """What one revision of a conversation promised. `status` is absent in old documents: then it is derived (DESIGN 4.3)."""

    amount: Decimal | None = None
    amount_candidates: tuple[Decimal, ...] = ()
    at: Stamp
    channel: str
    conversation_id: str
    currency: str | None = None
    cycle_id: str | None = None
    digest: str
    due_date: date | None = None
    due_date_candidates: tuple[date, ...] = ()
    event_id: str
    grounding: Literal["quoted", "unchecked"] = "unchecked"
    loan_id: str | None = None
    quote: str | None = None
    revision: int = 1
    status: str | None = None
    terms_said: str | None = None
    through: str | None = None
    type: Literal["commitment"]
    unsettled: bool = False


class ClaimSaid(Value):
    """ "I have paid", as one conversation said it."""

    amount: Decimal | None = None
    currency: str | None = None
    paid_on: date | None = None
    quote: str | None = None
    said: str | None = None


class CallbackSaid(Value):
    """An appointment they asked for."""

    at: Stamp | None = None
    quote: str | None = None
    said: str | None = None


class FactSaid(Value):
    """A fact that intake found grounded; `fact_id` is a keyed hash of kind, subject and folded text."""

    about: str = "borrower"
    confidence: Decimal | None = None
    fact_id: str
    grounding: Literal["quoted", "unchecked"] = "unchecked"
    kind: str
    quote: str | None = None
    text: str


class ConversationTold(Element):
    """One revision of a conversation, its prose and its commitment apart."""

    agent: str | None = None
    at: Stamp
    callback: CallbackSaid | None = None
    channel: str
    claim: ClaimSaid | None = None
    contact: bool = False
    conversation_id: str
    cycle_id: str | None = None
    digest: str
    direction: str | None = None
    disposition: str | None = None
    entered_state: str | None = None
    event_id: str
    facts: tuple[FactSaid, ...] = ()
    language: str | None = None
    loan_id: str | None = None
    outcome: str | None = None
    reached: str | None = None
    resume_id: str | None = None
    revision: int = 1
    step: str | None = None
    third_party: str | None = None
    through: str | None = None
    type: Literal["conversation"]


class ProseTold(Element):
    """The prose of one revision; the amounts its conversation promised are no balance when it is screened."""

    amounts: tuple[Decimal, ...] = ()
    at: Stamp
    channel: str
    conversation_id: str
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    revision: int = 1
    text: str
    through: str | None = None
    type: Literal["prose"]


class StrangerMet(Element):
    """A third party or a wrong number was met on an identifier: what was verified on it before does not hold any more."""

    at: Stamp
    channel: str
    conversation_id: str
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    revision: int = 1
    through: str | None = None
    type: Literal["stranger"]


class MessageReported(Element):
    """One outcome of one message of ours."""

    action: Literal["reminder", "payment_link"]
    at: Stamp
    channel: str
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    message_id: str
    outcome: str
    through: str | None = None
    type: Literal["message"]


class PaymentMade(Element):
    amount: Decimal
    at: Stamp
    currency: str
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    payment_ref: str
    settles: bool = False
    through: str | None = None
    type: Literal["payment"]


class PaymentUndone(Element):
    """A reversal; without an amount all of the payment is undone."""

    amount: Decimal | None = None
    at: Stamp
    currency: str | None = None
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    payment_ref: str
    reason: str
    through: str | None = None
    type: Literal["reversal"]


class CycleBegun(Element):
    amount_due: Decimal
    at: Stamp
    currency: str
    cycle_id: str
    digest: str
    due_date: date
    event_id: str
    loan_id: str
    through: str | None = None
    type: Literal["opened"]


class CycleEnded(Element):
    at: Stamp
    cycle_id: str
    digest: str
    event_id: str
    loan_id: str
    reason: str
    through: str | None = None
    type: Literal["closed"]


class PromiseFailed(Element):
    """A break: a mark in its own cycle, not a boundary (DESIGN 4.6)."""

    at: Stamp
    cycle_id: str | None = None
    digest: str
    due_date: date | None = None
    event_id: str
    loan_id: str | None = None
    through: str | None = None
    type: Literal["broken"]


class PromiseWithdrawn(Element):
    """A person took a promise off the record."""

    at: Stamp
    channel: str | None = None
    conversation_id: str | None = None
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    reason: str | None = None
    through: str | None = None
    type: Literal["retracted"]


class HoldSet(Element):
    """A hold placed or lifted."""

    at: Stamp
    cycle_id: str | None = None
    digest: str
    event_id: str
    hold: str
    loan_id: str | None = None
    placed: bool
    reason: str | None = None
    through: str | None = None
    type: Literal["hold"]
    until: Stamp | None = None


class ContactChoice(Element):
    """A stop of a channel and purpose, or its undoing."""

    at: Stamp
    channel: str
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    out: bool
    purpose: str
    through: str | None = None
    type: Literal["contact"]


class IdentifierFact(Element):
    """What happened to one identifier; `identifier` is `*` for a revocation of all."""

    at: Stamp
    channel: str | None = None
    cycle_id: str | None = None
    digest: str
    event_id: str
    identifier: str
    loan_id: str | None = None
    method: str | None = None
    reason: str | None = None
    through: str | None = None
    time_zone: str | None = None
    type: Literal["identifier"]
    what: Literal["verified", "revoked", "linked", "unlinked"]


class FactStatedOnce(Element):
    at: Stamp
    cycle_id: str | None = None
    digest: str
    event_id: str
    fact: FactSaid
    loan_id: str | None = None
    through: str | None = None
    type: Literal["fact"]


class ConversationBegun(Element):
    at: Stamp
    channel: str
    conversation_id: str
    cycle_id: str | None = None
    digest: str
    direction: str | None = None
    entered_state: str | None = None
    event_id: str
    loan_id: str | None = None
    resume_id: str | None = None
    through: str | None = None
    type: Literal["started"]


class Redirected(Element):
    """Of a provisional record: whose it turned out to be; `None` when that was taken back."""

    at: Stamp
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    through: str | None = None
    to: str | None = None
    type: Literal["redirect"]


AnyElement: TypeAlias = (
    CommitmentSaid
    | ConversationTold
    | ProseTold
    | StrangerMet
    | MessageReported
    | PaymentMade
    | PaymentUndone
    | CycleBegun
    | CycleEnded
    | PromiseFailed
    | PromiseWithdrawn
    | HoldSet
    | ContactChoice
    | IdentifierFact
    | FactStatedOnce
    | ConversationBegun
    | Redirected
)


# -- limits --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limits:
    """How many elements are kept (DESIGN 3, 18). Holds, opt-outs and redirects are never let go and not counted."""

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
KEPT_ALWAYS = frozenset({"holds", "contact", "redirect"})
Name: TypeAlias = tuple[str, ...]


class Bucket(Value):
    """The newest elements of one name, in the order of their keys, and the newest key that was let go."""

    elements: tuple[Annotated[AnyElement, Field(discriminator="type")], ...] = ()
    let_go: KeyField | None = None
    name: Name

    @cached_property
    def encoded(self) -> bytes:
        let_go = b""
        if self.let_go:
            at, event_id, digest = self.let_go
            let_go = b',"let_go":%s' % _TEXTS.dump_json((_instant_text(at), event_id, digest))
        elements = b",".join(e.encoded for e in self.elements)
        return b'{"elements":[%s]%s,"name":%s}' % (elements, let_go, _TEXTS.dump_json(self.name))


_TEXTS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


# -- forgetting ----------------------------------------------------------------------------------------------


class Tombstone(Value):
    """What was forgotten, without a word of it: everything up to `at`, or texts with these keyed hashes in them."""

    at: Stamp
    by: str | None = None
    event_id: str
    everything: bool = False
    words: tuple[tuple[int, str], ...] = ()
    """Each a number of folded words and the keyed hash of them joined by one blank."""

    @property
    def key(self) -> tuple[datetime, str]:
        return (self.at, self.event_id)


# -- the record ----------------------------------------------------------------------------------------------


class Record(Value):
    """All the evidence kept of one borrower. Its version and its place in the log stand beside it, not in it."""

    borrower_id: str
    buckets: tuple[Bucket, ...] = ()
    schema_version: Literal[1]
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
        return cls(borrower_id=borrower_id, schema_version=SCHEMA_VERSION)

    @property
    def is_empty(self) -> bool:
        return not any(b.elements for b in self.buckets)

    def to_bytes(self) -> bytes:
        """The canonical bytes: equal records, equal bytes."""
        tombstones = b",".join(t.model_dump_json(exclude_defaults=True).encode() for t in self.tombstones)
        return b'{"borrower_id":%s,"buckets":[%s],"schema_version":%d%s}' % (
            _TEXT.dump_json(self.borrower_id),
            b",".join(b.encoded for b in self.buckets),
            self.schema_version,
            b',"tombstones":[%s]' % tombstones if tombstones else b"",
        )

    @classmethod
    def from_bytes(cls, raw: bytes) -> Record:
        """A stored record, of this or an earlier schema version; `UnreadableRecord` when it is neither."""
        try:
            return cls.model_validate_json(raw)
        except ValidationError:
            document = from_json(raw)
        version = document.get("schema_version", 0) if isinstance(document, dict) else None
        if not isinstance(version, int) or not 0 <= version <= SCHEMA_VERSION:
            raise UnreadableRecord(f"a record of schema version {version!r} is not one of 0 to {SCHEMA_VERSION}")
        try:
            for upgrade in UPGRADES[version:]:
                document = upgrade(document)
            return cls.model_validate(document)
        except (ValidationError, KeyError, TypeError) as why:
            raise UnreadableRecord(f"a record of schema version {version} is damaged") from why


_TEXT = TypeAdapter(str)


class UnreadableRecord(ValueError):
    """A stored document that no version of this code wrote."""


STEPS_PAST_A_PROMISE = ("confirm", "remind", "pay", "close")


def _unstated(told: ConversationTold) -> CommitmentSaid:
    """The promise that a conversation of an old document implies: it had reached a step behind one (DESIGN 4.3)."""
    shared = ("at", "channel", "conversation_id", "cycle_id", "digest", "event_id", "loan_id", "revision", "through")
    return CommitmentSaid(type="commitment", **{f: getattr(told, f) for f in shared})


def _from_version_0(document: dict[str, Any]) -> dict[str, Any]:
    """Version 0 kept a flat list of elements under `evidence`; its buckets follow from the elements themselves."""
    from statemachine.merge import bucket_of

    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[AnyElement, Field(discriminator="type")])
    names: dict[Name, list[Any]] = {}
    elements = [adapter.validate_json(to_json({"digest": "", **item})) for item in document.get("evidence", ())]
    promised = {(e.channel, e.conversation_id) for e in elements if isinstance(e, CommitmentSaid)}
    for element in elements:
        names.setdefault(bucket_of(element), []).append(element)
        is_told = isinstance(element, ConversationTold) and element.step in STEPS_PAST_A_PROMISE
        if is_told and (element.channel, element.conversation_id) not in promised:
            names.setdefault(("commitments", element.loan_id or "", ""), []).append(_unstated(element))
    buckets = tuple(
        Bucket(name=name, elements=tuple(sorted(kept, key=lambda e: e.key))) for name, kept in sorted(names.items())
    )
    return {"borrower_id": document["borrower_id"], "buckets": buckets, "schema_version": 1}


UPGRADES: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (_from_version_0,)
"""The step from each schema version to the next, in order."""
