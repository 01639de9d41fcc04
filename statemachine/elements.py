"""The elements of a record: what one entry contributes, immutable (DESIGN 3).

An element is evidence, never a conclusion. It carries the time at which it took effect, the id of its entry and the keyed hash
of that entry, which together are its place; the identifier it came through; and what was said or what happened. Nothing of an
element depends on what else has arrived. Fields are declared in the order of the alphabet, which makes their bytes canonical.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, PlainSerializer

V = TypeVar("V", bound="Value")
Key: TypeAlias = tuple[datetime, str, str]
"""Where an element stands: when it took effect, the id of its entry, the keyed hash of that entry."""


def instant_text(value: datetime) -> str:
    """A time as canonical bytes have it."""
    return value.isoformat(timespec="microseconds")[:26] + "Z"


Stamp = Annotated[datetime, PlainSerializer(instant_text, when_used="json")]
"""An aware time in UTC, written with microseconds."""
KeyField = tuple[Stamp, str, str]


WRONG_BORROWER = "wrong_borrower"
"""The reason of an unlink that says: what came through this identifier was never this borrower's (DESIGN 7)."""


class Value(BaseModel):
    """A stored value; its fields are declared in the order of the alphabet, which makes its bytes canonical."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def changed(self: V, **changes: Any) -> V:
        """The same value with other fields; nothing that was computed from the old ones comes along."""
        fields = {f: changes.get(f, getattr(self, f)) for f in type(self).model_fields}
        return cast(V, type(self).model_construct(**fields))


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
    claims: bool = False
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
    """Of a provisional record: to whom its identifier leads by a link, or whose link ended; `wrong` when it never was theirs."""

    at: Stamp
    cycle_id: str | None = None
    digest: str
    ended: str | None = None
    event_id: str
    loan_id: str | None = None
    through: str | None = None
    to: str | None = None
    type: Literal["redirect"]
    wrong: bool = False


class TextJudged(Element):
    """A person withheld a text from every reader, or let it be shown again; by whom and why are words and may be forgotten."""

    at: Stamp
    by: str | None = None
    cycle_id: str | None = None
    digest: str
    event_id: str
    loan_id: str | None = None
    sentence: str | None = None
    shown: bool = False
    through: str | None = None
    type: Literal["text"]
    why: str | None = None


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
)
