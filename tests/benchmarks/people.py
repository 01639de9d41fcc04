"""Made-up borrowers for benchmarks: one typical record, stored many times over under different ids, and what is posted.

The typical borrower has one loan in its second month: the due, a linked and verified number, chats and calls of which one
proposed and one confirmed, a reminder that was read, a link that was shared, a fact; twenty-odd elements, some 6 KB. The
record is folded once by the service's own merge; for every further borrower its bytes are copied with other ids in them,
because folding a hundred thousand would take longer than all that is measured.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from service import records
from service.intake import envelope
from service.intake.stamping import Found, stamps_of
from service.intake.terms import Warnings
from service.policy import Policy
from service.recall import index
from service.records import Derived, Row
from service.resuming import gists
from service.resuming.gist import gist_of
from service.secrets import Secrets
from statemachine.entries import EVENT_TYPES, Event, Summary
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.stamps import Entry
from statemachine.state import derive

TENANT = "acme"
PLACES = 5
"""Digits by which borrowers differ; so there are at most a hundred thousand."""
_DIGITS = "98765"
"""Of the one whose rows are copied: they stand nowhere in them but in ids, and others are put in their place."""


def borrower(number: int) -> str:
    return f"B-{number:0{PLACES}}"


def phone(number: int) -> str:
    return f"+9190000{number:0{PLACES}}"


# -- what is told of a borrower ----------------------------------------------------------------------------------------


def story(digits: str, now: datetime) -> list[Summary | Event]:
    """Everything told of the typical borrower, up to two hours ago."""
    who = {"borrower_id": f"B-{digits}", "loan_id": f"LN-{digits}"}
    number = {"kind": "phone", "value": f"+9190000{digits}"}
    due = (now + timedelta(days=6)).date().isoformat()
    told: list[tuple[float, str, dict[str, Any]]] = []

    def event(hours: float, type_: str, **fields: Any) -> None:
        told.append((hours, type_, fields))

    def summary(hours: float, **fields: Any) -> None:
        told.append((hours, "summary", fields))

    event(1200, "identifier.linked", identifier=number)
    event(1100, "cycle.opened", cycle_id="2026-10", due_date="2026-11-05", amount_due="12500.00", currency="INR")
    event(900, "payment.confirmed", payment_ref=f"pay-{digits}-1", amount="12500.00", currency="INR", settles=True)
    event(400, "cycle.opened", cycle_id="2026-11", due_date=due, amount_due="12500.00", currency="INR")
    summary(300, channel="voice", conversation_id=f"v-{digits}-1", outcome="no_answer")
    summary(280, channel="voice", conversation_id=f"v-{digits}-2", outcome="busy")
    event(200, "reminder.sent", channel="whatsapp", message_id=f"m-{digits}-1", outcome="sent")
    event(199.9, "reminder.sent", channel="whatsapp", message_id=f"m-{digits}-1", outcome="delivered")
    event(199.5, "reminder.sent", channel="whatsapp", message_id=f"m-{digits}-1", outcome="read")
    event(191, "identity.verified", identifier=number, method="otp", channel="whatsapp")
    summary(190, **CHAT, conversation_id=f"w-{digits}-1", commitment={"amount": "6000.00", "due_date": due})
    summary(100, channel="voice", conversation_id=f"v-{digits}-3", outcome="voicemail")
    summary(90, channel="voice", conversation_id=f"v-{digits}-4", outcome="third_party", third_party="brother")
    event(40, "identity.verified", identifier=number, method="otp", channel="voice")
    read_back = {"amount": "12500.00", "due_date": due, "status": "confirmed", "read_back": True}
    summary(39, **CALL, conversation_id=f"v-{digits}-5", commitment=read_back)
    event(30, "payment_link.shared", channel="whatsapp", message_id=f"m-{digits}-2", outcome="sent")
    event(29.9, "payment_link.shared", channel="whatsapp", message_id=f"m-{digits}-2", outcome="delivered")
    bodies: list[Summary | Event] = []
    for place, (hours, type_, fields) in enumerate(told):
        at = (now - timedelta(hours=hours)).isoformat()
        if type_ == "summary":
            bodies.append(Summary.model_validate({**who, "ended_at": at, **fields}))
        else:
            given = {**who, "event_id": f"e-{digits}-{place}", "type": type_, "occurred_at": at, **fields}
            bodies.append(EVENT_TYPES[type_].model_validate(given))
    return bodies


CHAT: Mapping[str, Any] = {
    "channel": "whatsapp",
    "direction": "inbound",
    "outcome": "connected",
    "reached": "negotiation",
    "language": "en-IN",
    "agent": "chat-3",
    "summary": "She wrote that the salary comes on the 1st and asked for some time. She will pay half of it then.",
}
CALL: Mapping[str, Any] = {
    "channel": "voice",
    "direction": "outbound",
    "outcome": "connected",
    "reached": "confirmation",
    "language": "hi-IN",
    "agent": "voice-7",
    "summary": "She said she will pay the whole amount after her salary. The agent read it back and she agreed to it. "
    "She asked to be called in the evening only.",
}


def posted(number: int, conversation: str, now: datetime) -> bytes:
    """A summary of a call as a channel posts it, some 2 KB with its turns; every one is worded a little otherwise."""
    amount = 3_000 + int(hashlib.sha256(conversation.encode()).hexdigest()[:4], 16) % 9_000
    day = now + timedelta(days=3 + amount % 20)
    spoken = f"{amount:,}"
    body = {
        "event_id": f"sum-{conversation}",
        "borrower_id": borrower(number),
        "loan_id": f"LN-{number:0{PLACES}}",
        "channel": "voice",
        "direction": "outbound",
        "conversation_id": conversation,
        "started_at": (now - timedelta(minutes=9)).isoformat(),
        "ended_at": (now - timedelta(minutes=5)).isoformat(),
        "outcome": "connected",
        "disposition": "promise_to_pay",
        "reached": "confirmation",
        "summary": f"The agent spoke with the borrower about the loan. She explained that her salary of this month came "
        f"late. She agreed to pay {spoken} by {day.day} {day:%B}. The agent read the amount and the date back and she "
        f"said yes. She asked for the next call to be in the evening.",
        "commitment": {
            "amount": f"{amount}.00",
            "currency": "INR",
            "due_date": day.date().isoformat(),
            "status": "confirmed",
            "read_back": True,
            "quote": f"{spoken} de dungi",
        },
        "facts": [
            {
                "kind": "reason_for_delay",
                "text": "Salary came late this month",
                "confidence": 0.9,
                "quote": "salary is baar late aayi",
            }
        ],
        "turns": [
            {
                "speaker": "agent",
                "text": "Namaste, main aapke loan ke baare mein baat kar rahi hoon, kya abhi baat ho sakti hai?",
            },
            {"speaker": "borrower", "text": "Haan ji boliye."},
            {"speaker": "agent", "text": "Aapki is mahine ki kist ke baare mein yaad dilana tha."},
            {"speaker": "borrower", "text": "Haan mujhe pata hai, salary is baar late aayi, isliye deri ho gayi."},
            {"speaker": "agent", "text": "Koi baat nahi, aap kab tak payment kar sakti hain?"},
            {"speaker": "borrower", "text": f"Main {day.day} {day:%B} tak {spoken} de dungi, pakka."},
            {"speaker": "agent", "text": f"To aap {spoken} rupaye {day.day} {day:%B} tak denge, sahi hai?"},
            {"speaker": "borrower", "text": "Haan, theek hai."},
            {"speaker": "agent", "text": "Dhanyavaad. Agli baar shaam ko call karungi."},
        ],
        "language": "hi-IN",
        "agent": "voice-7",
    }
    return json.dumps(body, separators=(",", ":")).encode()


def happened(number: int, name: str, now: datetime) -> bytes:
    """A hard event as a ledger posts it: a part of the due was paid. `name` is its own."""
    paid = 500 + int(hashlib.sha256(name.encode()).hexdigest()[:4], 16) % 2_000
    body = {
        "event_id": f"pay-{name}",
        "type": "payment.confirmed",
        "borrower_id": borrower(number),
        "loan_id": f"LN-{number:0{PLACES}}",
        "occurred_at": (now - timedelta(minutes=2)).isoformat(),
        "payment_ref": f"ref-{name}",
        "amount": f"{paid}.00",
        "currency": "INR",
    }
    return json.dumps(body, separators=(",", ":")).encode()


# -- stored many times over --------------------------------------------------------------------------------------------


def typical(secrets: Secrets, now: datetime, digits: str) -> Record:
    """The record of the typical borrower."""
    record = Record.new(f"B-{digits}")
    for body in story(digits, now):
        record = merge(record, stamped(body, secrets, now), _hasher(secrets))
    return record


def stamped(body: Summary | Event, secrets: Secrets, now: datetime) -> Entry:
    """An entry as intake makes it of a body that names its borrower."""
    identifier = body.identifier
    key = f"{identifier.kind}:{identifier.value}" if identifier else None
    found = Found(body.borrower_id or "", key, None, "Asia/Kolkata", "INR")
    stamps = stamps_of(body, found, now, secrets.keyed_hash, Warnings())
    return Entry(body, stamps.changed(digest=envelope.entry_digest(body, stamps, secrets.keyed_hash)))


def _hasher(secrets: Secrets) -> Any:
    return lambda words: secrets.keyed_hash(words, "words")


class Copies:
    """The rows of the typical borrower, to be written for any number."""

    def __init__(self, secrets: Secrets, policy: Policy, now: datetime) -> None:
        digits = _DIGITS
        record = typical(secrets, now, digits)
        state = derive(record, now, policy)
        self._digits = digits
        self._derived = records.derived(record, state, ())
        self._row = records.record_row(record, record.to_bytes(), state, len(story(digits, now)), "table", 0, 0)
        self._gist = gist_of(state, state.cycle_of(None), policy).to_bytes()

    @property
    def record_bytes(self) -> int:
        return len(self._row["record"])

    def write(self, connection: Connection, numbers: Iterable[int]) -> None:
        kept = []
        for number in numbers:
            digits = f"{number:0{PLACES}}"
            row = self._of(self._row, digits)
            row["content_hash"] = hashlib.sha256(row["record"]).hexdigest()
            records.save_record(connection, TENANT, f"B-{digits}", None, row)
            records.save_derived(connection, TENANT, f"B-{digits}", Derived(), self._derived_of(digits))
            kept.append((TENANT, f"B-{digits}", self._row["version"], self._put(self._gist, digits)))
            index.keep(
                connection, TENANT, f"B-{digits}", self._row["version"], ()
            )  # or the service would do so meanwhile
        gists.keep(connection, kept)

    def _of(self, row: Row, digits: str) -> dict[str, Any]:
        return {name: self._put(value, digits) for name, value in row.items()}

    def _put(self, value: Any, digits: str) -> Any:
        if isinstance(value, str):
            return value.replace(self._digits, digits)
        return value.replace(self._digits.encode(), digits.encode()) if isinstance(value, bytes) else value

    def _derived_of(self, digits: str) -> Derived:
        of = self._derived
        return Derived(
            journeys={self._put(loan, digits): self._of(row, digits) for loan, row in of.journeys.items()},
            identifiers=frozenset((kind, self._put(value, digits)) for kind, value in of.identifiers),
            loans=frozenset(self._put(loan, digits) for loan in of.loans),
            started=of.started,
        )


def spread(count: int, of: int) -> Iterator[int]:
    """So many numbers below `of`, each time the same, in no order that a page or a cache could like."""
    step = 61_803  # coprime to every power of ten
    return ((place * step + 7) % of for place in range(count))


def utc_now() -> datetime:
    return datetime.now(UTC)
