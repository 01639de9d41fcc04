"""An entry of the intake log: a summary or an event, and what intake stamped onto it once.

Stamps are what needed a clock, a policy, a look-up or an understanding of words: when it arrived, when it took effect, whose
it is, what it promised. No later step computes them again, so a replay of the log gives the same record on any day.

Five bodies are ours alone and can not be posted: a provisional record that turned out to be somebody's, the evidence that
it sends there, a forget request, what became of a decision, and a text that a person withheld.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import PlainSerializer, PlainValidator
from pydantic_core import from_json, to_json

from statemachine.elements import (
    CallbackSaid,
    ClaimSaid,
    FactSaid,
    Stamp,
    Value,
)
from statemachine.entries import EVENT_TYPES, Event, Summary
from statemachine.record import Record, Tombstone

ENTRY_VERSION = 1


class Warning(Value):
    """Something of a well-formed body that was not taken, or taken otherwise (API 14)."""

    code: str
    field: str
    message: str


class PromiseTerms(Value):
    """A commitment as it was settled at intake: its ceiling applied, its words resolved (DESIGN 4)."""

    amount: Decimal | None = None
    amount_candidates: tuple[Decimal, ...] = ()
    currency: str | None = None
    due_date: date | None = None
    due_date_candidates: tuple[date, ...] = ()
    grounding: Literal["quoted", "unchecked"] = "unchecked"
    quote: str | None = None
    said: str | None = None
    status: Literal["proposed", "confirmed"] = "proposed"


class Stamps(Value):
    """What intake added. `through` is the identifier it came by, `identifier` the one an event speaks of: `kind:value`."""

    borrower_id: str
    callback: CallbackSaid | None = None
    claim: ClaimSaid | None = None
    claims: bool = False
    """Whether a summary passes on decisions (DESIGN 12): its words are told by who has checked them."""
    contact: bool = False
    digest: str
    effective_at: Stamp
    fact: FactSaid | None = None
    facts: tuple[FactSaid, ...] = ()
    forgotten: tuple[str, ...] = ()
    """Fields of the body of which the words were taken out (DESIGN 11); the one stamp that comes later than intake."""
    identifier: str | None = None
    promise: PromiseTerms | None = None
    received_at: Stamp
    step: str | None = None
    through: str | None = None
    time_zone: str
    warnings: tuple[Warning, ...] = ()
    withdrawn: tuple[str, ...] = ()
    """The ids of earlier reports of this conversation of which words were taken back since, by an edit or a revocation."""


class BorrowerRedirected(Value):
    """A provisional record is this borrower's, or with `to` null whose it was is told by `ended`: `wrong` when it never was."""

    ended: str | None = None
    event_id: str
    to: str | None
    type: Literal["borrower.redirected"]
    wrong: bool = False


def _record(told: object) -> Record:
    return told if isinstance(told, Record) else Record.from_bytes(to_json(told))


def _document(record: Record) -> dict[str, Any]:
    """As all bodies of ours are written: without what is the default."""
    document: dict[str, Any] = from_json(record.to_bytes())
    document["buckets"] = [{name: told for name, told in b.items() if told != []} for b in document["buckets"]]
    return {name: told for name, told in document.items() if told != []}


class EvidenceJoined(Value):
    """All the evidence of a provisional record, sent by its own writer to the borrower's (DESIGN 7)."""

    event_id: str
    record: Annotated[Record, PlainValidator(_record), PlainSerializer(_document)]
    type: Literal["evidence.joined"]


class MemoryForgotten(Value):
    """A forget request: a tombstone, without a word of what it forgets (DESIGN 11)."""

    event_id: str
    tombstone: Tombstone
    type: Literal["memory.forgotten"]


class DecisionChanged(Value):
    """A decision that was taken, went stale or was replaced (DESIGN 12). It is no evidence: the record has a new version, so
    that nothing made from the one before is used, and no other bytes."""

    decision_id: str
    decision_version: str
    entity: str | None = None
    event_id: str
    observed_version: str | None = None
    source: str
    status: Literal["active", "stale", "superseded"]
    superseded_by: str | None = None
    type: Literal["decision.changed"]


class TextWithheld(Value):
    """A text that a person withheld from every reader, or with `shown` lets be told again (DESIGN 16). Without a sentence it
    was forgotten."""

    by: str | None = None
    event_id: str
    sentence: str | None = None
    shown: bool = False
    type: Literal["text.withheld"]
    why: str | None = None


Internal: TypeAlias = BorrowerRedirected | EvidenceJoined | MemoryForgotten | DecisionChanged | TextWithheld
INTERNAL_TYPES: dict[str, type[Value]] = {
    "borrower.redirected": BorrowerRedirected,
    "decision.changed": DecisionChanged,
    "evidence.joined": EvidenceJoined,
    "memory.forgotten": MemoryForgotten,
    "text.withheld": TextWithheld,
}
Body: TypeAlias = Summary | Event | Internal


class UnreadableEntry(ValueError):
    """A body that is none of the types, or of a later version of this code."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: a posted or internal body and its stamps."""

    body: Body
    stamps: Stamps

    @property
    def event_id(self) -> str:
        return self.body.id if isinstance(self.body, Summary) else self.body.event_id

    @property
    def type(self) -> str:
        return "summary" if isinstance(self.body, Summary) else self.body.type


def body_of(type_: str, document: Any) -> Body:
    """A stored body as its model; raises `UnreadableEntry` on an unknown type and pydantic's error on a wrong one."""
    if type_ == "summary":
        return Summary.model_validate(document)
    if type_ in EVENT_TYPES:
        return EVENT_TYPES[type_].model_validate(document)
    if type_ in INTERNAL_TYPES:
        return INTERNAL_TYPES[type_].model_validate(document)  # type: ignore[return-value]
    raise UnreadableEntry(f"an entry of the unknown type {type_!r}")
