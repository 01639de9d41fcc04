"""The stored document: canonical, bounded, and readable when an earlier version wrote it (DESIGN 3)."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, get_args

import msgspec
import pytest

from statemachine.bucket_names import bucket_of
from statemachine.elements import (
    AnyElement,
    CallbackSaid,
    ClaimSaid,
    CommitmentSaid,
    ContactChoice,
    ConversationBegun,
    ConversationTold,
    CycleBegun,
    CycleEnded,
    FactSaid,
    FactStatedOnce,
    HoldSet,
    IdentifierFact,
    MessageReported,
    PaymentMade,
    PaymentUndone,
    PromiseFailed,
    PromiseWithdrawn,
    ProseTold,
    Redirected,
    StrangerMet,
    TextJudged,
    WordsWithdrawn,
    element_of,
)
from statemachine.entries import EVENT_TYPES
from statemachine.lifting import NO_EVIDENCE, OF_EVENT, lift
from statemachine.merge import merge
from statemachine.record import (
    SCHEMA_VERSION,
    Limits,
    Record,
    UnreadableRecord,
)
from statemachine.stamps import Entry
from statemachine.state import derive
from tests.statemachine.histories import DUES, NOON, POLICY, empty, hasher
from tests.statemachine.test_ladder import call, event, paid


def record_of(*history: Entry, limits: Limits | None = None) -> Record:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher, limits or Limits())
    return record


def test_the_bytes_are_canonical() -> None:
    raw = record_of(call("c-1"), paid(5000, days=1)).to_bytes()
    assert raw == json.dumps(json.loads(raw), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert b"2026-11-01T12:00:00.000000Z" in raw
    assert b'"amount":"5000"' in raw


@pytest.mark.parametrize("element", get_args(AnyElement), ids=lambda e: e.__name__)
def test_an_element_writes_its_fields_in_the_order_of_the_alphabet_and_is_read_as_it_was(element: Any) -> None:
    given = sample_of(element)
    made = element(**given)
    told = json.loads(made.encoded)
    assert made.encoded == json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert told.keys() == {*given, "type"}
    assert element_of(made.encoded) == made
    bare = element(**{f.name: given[f.name] for f in msgspec.structs.fields(element) if f.required})
    assert json.loads(bare.encoded).keys() == {"type", *(f.name for f in msgspec.structs.fields(element) if f.required)}


def sample_of(element: Any) -> dict[str, Any]:
    """Every field of this kind of element, none at its default."""
    given: dict[str, Any] = {
        "at": NOON,
        "digest": "d",
        "event_id": "e",
        "through": "phone:é",
        "loan_id": "LN",
        "cycle_id": "C",
    }
    for field in msgspec.structs.fields(element):
        if field.name not in given:
            given[field.name] = SAMPLES.get(field.type) or SAMPLES[field.name]
    return given


SAMPLES: dict[Any, Any] = {
    str: "ok", str | None: "ok", bool: True, int: 2, Decimal: Decimal("5.00"), Decimal | None: Decimal("1E+3"),
    date: DUES[0], date | None: DUES[0], datetime | None: NOON, tuple[Decimal, ...]: (Decimal(1),), tuple[date, ...]: DUES,
    FactSaid: FactSaid(fact_id="f", kind="goal", text="a bike"),
    tuple[FactSaid, ...]: (FactSaid(fact_id="f", kind="goal", text="a car", confidence=Decimal("0.9")),),
    tuple[str, ...]: ("e-1",),
    ClaimSaid | None: ClaimSaid(quote="already"), CallbackSaid | None: CallbackSaid(at=NOON),
    "grounding": "quoted", "action": "reminder", "what": "linked",
}  # fmt: skip


def test_texts_are_written_as_those_are_that_stand_beside_them() -> None:
    """What stamps hold is written by another library than elements are."""
    every = "".join(chr(n) for n in range(0x10000) if not 0xD800 <= n < 0xE000) + "\U0001f600"
    prose = ProseTold(at=NOON, channel="voice", conversation_id="c", digest="", event_id="e", text=every)
    fact = FactSaid(fact_id="f", kind="goal", text=every)
    assert fact.model_dump_json(include={"text"})[1:-1].encode() in prose.encoded
    assert element_of(prose.encoded) == prose


def test_chatter_never_pushes_out_a_promise() -> None:
    chats = [call(f"chat-{n}", days=1 + n / 100, status=None, channel="whatsapp") for n in range(100)]
    record = record_of(call("c-1"), *chats)
    assert derive(record, NOON + timedelta(days=3), POLICY).cycle_of(None).rung == "confirmed"
    assert len(record.by_name["conversations", "contact"].elements) == 64


def test_one_loan_never_pushes_out_another() -> None:
    early = event("reminder.sent", days=0, loan_id="LN-1", channel="voice", message_id="m", outcome="sent")
    later = [
        event("reminder.sent", days=1 + n / 100, loan_id="LN-2", channel="voice", message_id=f"m-{n}", outcome="sent")
        for n in range(100)
    ]
    assert derive(record_of(early, *later), NOON + timedelta(days=3), POLICY).cycle_of("LN-1").reminded.value


def test_a_stop_is_never_let_go() -> None:
    stop, hold = (
        event("contact.opted_out", days=0, channel="voice"),
        event("hold.placed", days=0, kind="other", reason="x"),
    )
    noise = [paid(1, days=1 + n / 100, ref=f"P-{n}") for n in range(30)]
    state = derive(record_of(stop, hold, *noise, limits=Limits(bucket=1, payments=2, total=2)), NOON, POLICY)
    assert state.opted_out("voice")
    assert [h.kind for h in state.holds] == ["other"]


def test_the_newest_prose_is_kept_in_words_and_older_conversations_in_structure() -> None:
    from statemachine.entries import Summary
    from tests.statemachine.histories import stamped

    def told(n: int) -> Entry:
        at = NOON + timedelta(hours=n)
        body = Summary(
            channel="voice", conversation_id=f"c-{n}", ended_at=at, outcome="connected", summary=f"Part {n}."
        )  # type: ignore[arg-type]
        return stamped(body, at, contact=True)

    state = derive(record_of(*(told(n) for n in range(20))), NOON + timedelta(days=2), POLICY)
    assert [c.prose for c in state.conversations][-8:] == [f"Part {n}." for n in range(12, 20)]
    assert [c.prose for c in state.conversations][:12] == [None] * 12


# -- documents of earlier versions ------------------------------------------------------------------------------

OLD = {
    "schema_version": 0,
    "borrower_id": "B-1",
    "evidence": [
        {
            "type": "commitment",
            "at": "2026-11-01T12:00:00Z",
            "event_id": "e-1",
            "channel": "voice",
            "conversation_id": "c-1",
            "amount": "5000",
            "currency": "INR",
            "due_date": "2026-11-05",
        }
    ],
}


def test_a_record_of_an_earlier_version_still_loads_and_a_missing_status_is_derived() -> None:
    record = Record.from_bytes(json.dumps(OLD).encode())
    promise = derive(record, NOON, POLICY).cycle_of(None).promise
    assert promise
    assert (promise.status, promise.amount, record.schema_version) == ("proposed", Decimal("5000.00"), SCHEMA_VERSION)
    assert Record.from_bytes(record.to_bytes()) == record


def test_an_old_conversation_that_had_passed_a_promise_derives_one() -> None:
    told = {"type": "conversation", "at": "2026-11-01T12:00:00Z", "event_id": "e-1", "channel": "voice",
            "conversation_id": "c-1", "contact": True, "step": "remind"}  # fmt: skip
    for step, rung in (("remind", "proposed"), ("negotiate", "none")):
        old = {"borrower_id": "B-1", "evidence": [told | {"step": step}]}
        assert derive(Record.from_bytes(json.dumps(old).encode()), NOON, POLICY).cycle_of(None).rung == rung


def test_new_evidence_merges_into_an_old_record() -> None:
    record = merge(Record.from_bytes(json.dumps(OLD).encode()), call("c-2", days=1), hasher)
    cycle = derive(record, NOON + timedelta(days=2), POLICY).cycle_of(None)
    assert (cycle.rung, [p.outcome for p in cycle.history]) == ("confirmed", ["replaced"])


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"[]", "version None is not one of"),
        (b"{", "no JSON"),
        (b'{"schema_version": 9}', "version 9 is not one of"),
        (b'{"schema_version": -1, "borrower_id": "B-1"}', "version -1 is not one of"),
        (b'{"schema_version": "1"}', "version '1' is not one of"),
        (b'{"schema_version": 1}', "version 1 is damaged"),
        (b'{"schema_version": 0, "borrower_id": "B-1", "evidence": [{"type": "commitment"}]}', "version 0 is damaged"),
    ],
)
def test_a_document_that_nobody_wrote_is_said_to_be_unreadable(raw: bytes, why: str) -> None:
    with pytest.raises(UnreadableRecord, match=why):
        Record.from_bytes(raw)


BUCKETS: dict[type[Any], tuple[str, ...]] = {
    CommitmentSaid: ("commitments", "LN", "ok"), ConversationTold: ("conversations", "contact"), ProseTold: ("prose",),
    StrangerMet: ("identifiers", "phone:é"), MessageReported: ("messages", "reminder", "LN", "ok"),
    PaymentMade: ("payments", "LN"), PaymentUndone: ("payments", "LN"), CycleBegun: ("boundaries", "LN"),
    CycleEnded: ("boundaries", "LN"), PromiseFailed: ("boundaries", "LN"), PromiseWithdrawn: ("retractions", "LN"),
    HoldSet: ("holds", "ok", "LN"), ContactChoice: ("contact", "ok", "ok"), IdentifierFact: ("identifiers", "ok"),
    FactStatedOnce: ("facts", "goal"), ConversationBegun: ("started", "ok"), Redirected: ("redirect",),
    TextJudged: ("withheld",), WordsWithdrawn: ("withdrawn_words", "ok"),
}  # fmt: skip
"""DESIGN 3, "Bounded"."""


@pytest.mark.parametrize("element", get_args(AnyElement), ids=lambda e: e.__name__)
def test_the_bucket_of_an_element_is_the_one_of_the_design(element: Any) -> None:
    assert bucket_of(element(**sample_of(element))) == BUCKETS[element]


def test_other_outcomes_and_statuses_and_what_names_no_loan_have_buckets_of_their_own() -> None:
    at = {"at": NOON, "digest": "d", "event_id": "e"}
    conversation = {**at, "channel": "voice", "conversation_id": "c"}
    assert bucket_of(ConversationTold(**conversation)) == ("conversations", "attempt")
    assert bucket_of(CommitmentSaid(**conversation)) == ("commitments", "", "")
    assert bucket_of(StrangerMet(**conversation)) == ("identifiers", "*"), "beside a revocation of all identifiers"


def test_what_was_never_theirs_is_kept_apart_from_other_unlinks() -> None:
    """An undo that has no end, in a bucket that lets nothing go (DESIGN 7)."""
    for reason, kind in (("wrong_borrower", "wrong_borrower"), ("number changed", "identifiers")):
        unlink = IdentifierFact(at=NOON, digest="d", event_id="e", identifier="phone:1", what="unlinked", reason=reason)
        assert bucket_of(unlink) == (kind, "phone:1")
        assert (Limits().of(kind) is None) == (kind == "wrong_borrower")


def test_every_event_contributes_one_element_or_is_told_by_a_summary() -> None:
    assert OF_EVENT.keys() | NO_EVIDENCE == set(EVENT_TYPES.values())
    assert not OF_EVENT.keys() & NO_EVIDENCE
    message = event(
        "conversation.message", days=0, channel="voice", conversation_id="c", message_id="m", speaker="agent", text="ok"
    )
    assert lift(message) == []
    (element,) = lift(event("promise.broken", days=1, due_date=DUES[0]))
    assert element == PromiseFailed(
        at=NOON + timedelta(days=1), cycle_id=None, digest=element.digest, due_date=DUES[0], event_id=element.event_id
    )


def test_what_was_computed_from_an_element_does_not_come_along_when_it_changes() -> None:
    said = record_of(call("c-1")).by_name["commitments", "", "confirmed"].elements[0]
    assert b"Asha" not in said.encoded
    assert b"Asha" in said.changed(quote="Asha will pay").encoded
