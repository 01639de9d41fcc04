"""An entry without forgotten words: the body as the journal and the log keep it, and its stamps.

What is left still lifts to the elements that the record has, cleaned: a rebuild gives the same bytes (DESIGN 3, law 2). So a
text that a body may be without goes, one that it may not is replaced, and the stamps name the fields of which that matters.
Ids, money and times stay, and identifiers, which stand there by their keyed hash once everything is forgotten: they are what is
kept (API 10). Which entries there are, and where, is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from service.intake import envelope
from statemachine.elements import WRONG_BORROWER, FactSaid
from statemachine.entries import Summary
from statemachine.forgetting import BORROWER, cleaned_record, hidden, is_code, mentions, without_mentions
from statemachine.record import Hasher, Tombstone
from statemachine.stamps import INTERNAL_TYPES, Entry, EvidenceJoined, Stamps, TextWithheld

FORGOTTEN: Final = "[forgotten]"
"""Where a text must stand."""

KEPT: Final = frozenset(
    {
        "event_id", "borrower_id", "loan_id", "cycle_id", "conversation_id", "message_id", "payment_ref", "replaces",
        "identifier",
        "type", "channel", "modality", "direction", "outcome", "speaker", "purpose", "status", "revision", "read_back", "settles",
        "occurred_at", "started_at", "ended_at", "observed_at", "at", "until", "time_zone", "currency", "due_date", "paid_on",
        "amount_due", "deleted", "confidence", "kind",
    }
)  # fmt: skip
"""What is no text, or is an id by which things are found again."""
LABELS: Final = frozenset({"reached", "entered_state", "resume_id", "language", "tools", "amount", "method"})
"""Codes as a rule, though nobody checks them: they stay while they are and no term names them."""
NEEDED: Final = frozenset({"text", "reason", "method"})
CODED_REASONS: Final = frozenset({"cycle.closed", "payment.reversed"})
"""Events whose reason is one of a list."""

Forgotten = Callable[[str | None], bool]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A body and its stamps as bytes, and the facts that went out of them."""

    body: bytes
    stamps: bytes
    facts: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Gone:
    """What of one entry's words the tombstones speak of; `prose`: of the report alone."""

    everything: bool
    prose: bool
    words: tuple[tuple[int, str], ...]
    hasher: Hasher

    def named(self, text: object) -> bool:
        return isinstance(text, str) and mentions(text, self.words, self.hasher)

    def label(self, text: object) -> bool:
        return self.named(text) or (self.everything and isinstance(text, str) and not is_code(text))

    def text(self, text: object) -> bool:
        is_text = isinstance(text, str) and text not in ("", FORGOTTEN, WRONG_BORROWER)
        return is_text and (self.everything or self.named(text))


def cleaned(entry: Entry, body: bytes, tombstones: Sequence[Tombstone], hasher: Hasher) -> Cleaned | None:
    """The entry without the words that these tombstones speak of; None when it has none. `body`: as it is stored."""
    if isinstance(entry.body, EvidenceJoined):
        record = cleaned_record(entry.body.record, tombstones, hasher)
        if record is entry.body.record:
            return None
        return Cleaned(
            envelope.body_bytes(entry.body.changed(record=record)), envelope.stamps_bytes(entry.stamps), frozenset()
        )
    due = [t for t in tombstones if entry.stamps.effective_at <= t.at]
    if not due or (entry.type in INTERNAL_TYPES and not isinstance(entry.body, TextWithheld)):
        return None
    everything, prose = any(t.everything for t in due), any(t.prose for t in due)
    gone = _Gone(everything, prose, tuple({word for t in due for word in t.words}), hasher)
    document = envelope.document(body)
    told = _document(document, entry.type, gone)
    stamps = _stamps(entry.stamps, gone, _fields_gone(document, told, entry))
    if everything:
        told, stamps = _hidden(told, stamps, hasher)
    if told == document and stamps is entry.stamps:
        return None
    facts = _ids(entry.stamps) - _ids(stamps)
    return Cleaned(_ENCODER.encode(told), envelope.stamps_bytes(stamps), facts)


def _ids(stamps: Stamps) -> frozenset[str]:
    own = (stamps.fact,) if stamps.fact is not None else ()
    return frozenset(fact.fact_id for fact in (*stamps.facts, *own) if fact.fact_id)


def _document(document: Mapping[str, Any], type_: str, gone: _Gone) -> dict[str, Any]:
    """A body's members without the texts that are forgotten."""
    told: dict[str, Any] = {}
    for name, value in document.items():
        if name in KEPT or (name == "reason" and type_ in CODED_REASONS):
            told[name] = value
        elif name in ("summary", "sentence") and gone.prose:
            continue
        elif name == "summary" and isinstance(value, str) and not gone.everything:
            if left := without_mentions(value, gone.words, gone.hasher):
                told[name] = left
        elif name == "extra":
            if not (gone.everything or _names_any(value, gone)):
                told[name] = value
        elif name == "facts":
            if kept := [fact for fact in value if not _fact_goes(fact, gone)]:
                told[name] = kept
        elif name == "turns":
            if not gone.everything:
                told[name] = [_document(turn, type_, gone) for turn in value]
        elif isinstance(value, Mapping):
            told[name] = _document(value, type_, gone)
        elif name in LABELS:
            if not any(map(gone.label, value if isinstance(value, list) else [value])):
                told[name] = value
            elif name in NEEDED:
                told[name] = FORGOTTEN
        elif not gone.text(value):
            told[name] = value
        elif name in NEEDED:
            told[name] = FORGOTTEN
    return told


def _fact_goes(fact: Mapping[str, Any], gone: _Gone) -> bool:
    about = None if fact.get("about") == BORROWER else fact.get("about")
    return any(map(gone.text, (fact.get("text"), fact.get("quote"), about))) or gone.named(fact.get("kind"))


def _names_any(value: Any, gone: _Gone) -> bool:
    """Whether a term stands anywhere in what a client added, keys included."""
    if isinstance(value, Mapping):
        return any(gone.named(name) or _names_any(item, gone) for name, item in value.items())
    if isinstance(value, list):
        return any(_names_any(item, gone) for item in value)
    return gone.named(value if isinstance(value, str) else str(value))


def _fields_gone(before: Mapping[str, Any], after: Mapping[str, Any], entry: Entry) -> tuple[str, ...]:
    """Fields of which an element must know that words were taken out, because it would else be another."""
    of_summary = ("summary",) if isinstance(entry.body, Summary) else ("reason", "method")
    told = (name for name in of_summary if before.get(name) and before.get(name) != after.get(name))
    return tuple(sorted({*entry.stamps.forgotten, *told}))


def _stamps(stamps: Stamps, gone: _Gone, fields: tuple[str, ...]) -> Stamps:
    changes: dict[str, Any] = {}
    if fields != stamps.forgotten:
        changes["forgotten"] = fields
    for name in ("promise", "claim", "callback"):
        said: Any = getattr(stamps, name)
        if said is not None and (lost := {f: None for f in ("quote", "said") if gone.text(getattr(said, f))}):
            changes[name] = said.changed(**lost)
    if stamps.fact is not None and _said_goes(stamps.fact, gone):
        changes["fact"] = stamps.fact.changed(text="", quote=None, fact_id="")
    if any(_said_goes(fact, gone) for fact in stamps.facts):
        changes["facts"] = tuple(fact for fact in stamps.facts if not _said_goes(fact, gone))
    return stamps.changed(**changes) if changes else stamps


def _hidden(document: dict[str, Any], stamps: Stamps, hasher: Hasher) -> tuple[dict[str, Any], Stamps]:
    """With identifiers by their keyed hash alone, in the body as in the stamps."""
    names = {name: getattr(stamps, name) for name in ("identifier", "through")}
    changes = {name: new for name, old in names.items() if old is not None and (new := hidden(old, hasher)) != old}
    stamps = stamps.changed(**changes) if changes else stamps
    if (told := document.get("identifier")) is None:
        return document, stamps
    _, _, value = (stamps.identifier or stamps.through or "").partition(":")
    if value == told["value"]:
        return document, stamps
    rest = {name: item for name, item in document.items() if name != "identifier"}
    return (rest | {"identifier": told | {"value": value}} if value else rest), stamps


def _said_goes(fact: FactSaid, gone: _Gone) -> bool:
    """As `statemachine.forgetting` judges a fact."""
    about = None if fact.about == BORROWER else fact.about
    return any(gone.text(text) for text in (fact.text, fact.quote, about))


_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")
