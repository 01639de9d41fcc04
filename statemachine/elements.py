"""The elements of a record: what one entry contributes, immutable (DESIGN 3).

An element is evidence, never a conclusion. It carries the time at which it took effect, the id of its entry and the keyed hash
of that entry, which together are its place; the identifier it came through; and what was said or what happened. Nothing of an
element depends on what else has arrived.

Elements are made, read and looked at far more often than anything else here, so they are structs of `msgspec`. What they share
with an entry's stamps are values of pydantic, whose fields are declared in the order of the alphabet: that makes their bytes
canonical. An element puts its fields in that order itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import cache, cached_property
from operator import attrgetter
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, cast

import msgspec
from pydantic import BaseModel, ConfigDict, PlainSerializer

V = TypeVar("V", bound="Value")
S = TypeVar("S", bound="Stored")
Key: TypeAlias = tuple[datetime, str, str]
"""Where an element stands: when it took effect, the id of its entry, the keyed hash of that entry."""


def instant_text(value: datetime) -> str:
    """A time as canonical bytes have it."""
    return value.isoformat(timespec="microseconds")[:26] + "Z"


Stamp = Annotated[datetime, PlainSerializer(instant_text, when_used="json")]
"""An aware time in UTC, written with microseconds."""


WRONG_BORROWER = "wrong_borrower"
"""The reason of an unlink that says: what came through this identifier was never this borrower's (DESIGN 7)."""


# -- values that an entry's stamps hold as well ------------------------------------------------------------------------


class Value(BaseModel):
    """A stored value; its fields are declared in the order of the alphabet, which makes its bytes canonical."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def changed(self: V, **changes: Any) -> V:
        """The same value with other fields; nothing that was computed from the old ones comes along."""
        fields = {f: changes.get(f, getattr(self, f)) for f in type(self).model_fields}
        return cast(V, type(self).model_construct(**fields))


class ClaimSaid(Value):
    """ "I have paid", as one conversation said it; `at`: when, where that was before its end."""

    amount: Decimal | None = None
    at: Stamp | None = None
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


# -- elements ----------------------------------------------------------------------------------------------------------


class Stored(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """A part of a record. What is computed from its fields may be kept in its `__dict__`."""

    def changed(self: S, **changes: Any) -> S:
        """The same with other fields; nothing that was computed from the old ones comes along."""
        return msgspec.structs.replace(self, **changes)


class Element(Stored, frozen=True, kw_only=True, tag_field="type"):
    """What every element has. `at` is in UTC; loan and cycle are those that the entry named."""

    at: datetime
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    through: str | None = None

    @property
    def key(self) -> Key:
        return (self.at, self.event_id, self.digest)

    @property
    def type(self) -> str:
        """By which its bytes are told from those of another class."""
        return str(self.__struct_config__.tag)

    @cached_property
    def encoded(self) -> bytes:
        """The canonical bytes: keys in the order of the alphabet, nothing that is the default."""
        told: dict[str, Any] = {}
        for name, default in _written(self.__class__):
            value = getattr(self, name)
            if value != default:
                told[name] = instant_text(value) if isinstance(value, datetime) else value
        return _ENCODER.encode(told)


@cache
def _written(cls: type[Element]) -> tuple[tuple[str, Any], ...]:
    """What an element of a class writes, each with its default."""
    fields = {f.name: f.default for f in msgspec.structs.fields(cls)}
    return tuple(sorted({**fields, "type": msgspec.NODEFAULT}.items(), key=lambda field: field[0]))


def _plain(value: object) -> Any:
    if isinstance(value, Value):
        return value.model_dump(mode="json", exclude_defaults=True)
    raise TypeError(f"{type(value).__name__} has no form in a record")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)

key_of: Final[Callable[[Element], Key]] = attrgetter("at", "event_id", "digest")
"""`Element.key`, to sort by."""


class CommitmentSaid(Element, frozen=True, kw_only=True, tag="commitment"):
    """What one revision of a conversation promised. `status` is absent in old documents: then it is derived (DESIGN 4.3)."""

    amount: Decimal | None = None
    amount_candidates: tuple[Decimal, ...] = ()
    channel: str
    conversation_id: str
    currency: str | None = None
    due_date: date | None = None
    due_date_candidates: tuple[date, ...] = ()
    grounding: Literal["quoted", "unchecked"] = "unchecked"
    quote: str | None = None
    revision: int = 1
    status: str | None = None
    terms_said: str | None = None
    unsettled: bool = False


class ConversationTold(Element, frozen=True, kw_only=True, tag="conversation"):
    """One revision of a conversation, its prose and its commitment apart."""

    agent: str | None = None
    callback: CallbackSaid | None = None
    channel: str
    claim: ClaimSaid | None = None
    contact: bool = False
    conversation_id: str
    direction: str | None = None
    disposition: str | None = None
    entered_state: str | None = None
    facts: tuple[FactSaid, ...] = ()
    language: str | None = None
    outcome: str | None = None
    reached: str | None = None
    resume_id: str | None = None
    revision: int = 1
    step: str | None = None
    third_party: str | None = None


class ProseTold(Element, frozen=True, kw_only=True, tag="prose"):
    """The prose of one revision; the amounts its conversation promised are no balance when it is screened."""

    amounts: tuple[Decimal, ...] = ()
    channel: str
    claims: bool = False
    conversation_id: str
    revision: int = 1
    text: str


class StrangerMet(Element, frozen=True, kw_only=True, tag="stranger"):
    """A third party or a wrong number was met on an identifier: what was verified on it before does not hold any more."""

    channel: str
    conversation_id: str
    revision: int = 1


class MessageReported(Element, frozen=True, kw_only=True, tag="message"):
    """One outcome of one message of ours."""

    action: Literal["reminder", "payment_link"]
    channel: str
    message_id: str
    outcome: str


class PaymentMade(Element, frozen=True, kw_only=True, tag="payment"):
    amount: Decimal
    currency: str
    payment_ref: str
    settles: bool = False


class PaymentUndone(Element, frozen=True, kw_only=True, tag="reversal"):
    """A reversal; without an amount all of the payment is undone."""

    amount: Decimal | None = None
    currency: str | None = None
    payment_ref: str
    reason: str


class CycleBegun(Element, frozen=True, kw_only=True, tag="opened"):
    amount_due: Decimal
    currency: str
    cycle_id: str
    due_date: date
    loan_id: str


class CycleEnded(Element, frozen=True, kw_only=True, tag="closed"):
    cycle_id: str
    loan_id: str
    reason: str


class PromiseFailed(Element, frozen=True, kw_only=True, tag="broken"):
    """A break: a mark in its own cycle, not a boundary (DESIGN 4.6)."""

    due_date: date | None = None


class PromiseWithdrawn(Element, frozen=True, kw_only=True, tag="retracted"):
    """A person took a promise off the record."""

    channel: str | None = None
    conversation_id: str | None = None
    reason: str | None = None


class HoldSet(Element, frozen=True, kw_only=True, tag="hold"):
    """A hold placed or lifted."""

    hold: str
    placed: bool
    reason: str | None = None
    until: datetime | None = None


class ContactChoice(Element, frozen=True, kw_only=True, tag="contact"):
    """A stop of a channel and purpose, or its undoing."""

    channel: str
    out: bool
    purpose: str


class IdentifierFact(Element, frozen=True, kw_only=True, tag="identifier"):
    """What happened to one identifier; `identifier` is `*` for a revocation of all."""

    channel: str | None = None
    identifier: str
    method: str | None = None
    reason: str | None = None
    time_zone: str | None = None
    what: Literal["verified", "revoked", "linked", "unlinked"]


class FactStatedOnce(Element, frozen=True, kw_only=True, tag="fact"):
    fact: FactSaid


class ConversationBegun(Element, frozen=True, kw_only=True, tag="started"):
    channel: str
    conversation_id: str
    direction: str | None = None
    entered_state: str | None = None
    resume_id: str | None = None


class Redirected(Element, frozen=True, kw_only=True, tag="redirect"):
    """Of a provisional record: to whom its identifier leads by a link, or whose link ended; `wrong` when it never was theirs."""

    ended: str | None = None
    to: str | None = None
    wrong: bool = False


class TextJudged(Element, frozen=True, kw_only=True, tag="text"):
    """A person withheld a text from every reader, or let it be shown again; by whom and why are words and may be forgotten."""

    by: str | None = None
    sentence: str | None = None
    shown: bool = False
    why: str | None = None


class WordsWithdrawn(Element, frozen=True, kw_only=True, tag="withdrawn"):
    """Words of earlier reports of a conversation that whoever said them took back; `reports` are the ids of those reports."""

    channel: str
    conversation_id: str
    reports: tuple[str, ...] = ()


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
    | TextJudged
    | WordsWithdrawn
)


def element_of(raw: bytes) -> Any:
    """A stored element. Raises what is raised for bytes that are none: `msgspec.MsgspecError`."""
    return _DECODER.decode(raw)


def valued(cls: type[Any], document: Any) -> Any:
    """The hook of `msgspec` for fields that are values of pydantic."""
    return cls.model_validate(document)


_DECODER: Final = msgspec.json.Decoder(AnyElement, dec_hook=valued)
