"""Entries as bytes, and the hashes that say whether two bodies are the same delivery."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service import strictjson
from service.intake.envelope import (
    body_bytes,
    body_hash,
    entry_digest,
    from_bytes,
    internal_id,
    provisional_id,
    stored,
    to_bytes,
)
from service.secrets import Secrets
from statemachine.entries import EVENT_TYPES, Summary
from statemachine.merge import merge
from statemachine.record import Record
from statemachine.stamps import BorrowerRedirected, Entry, EvidenceJoined, UnreadableEntry
from tests.examples import often
from tests.statemachine.histories import NOON, entries, hasher, lifted, stamped

SECRETS = Secrets([b"k" * 32])


def keyed_hash(text: str, purpose: str) -> str:
    return hashlib.sha256(f"{purpose}|{text}".encode()).hexdigest()


def posted(document: str) -> Any:
    """A body as it is read from a request."""
    read, _ = strictjson.parse(document.encode())
    assert isinstance(read, dict)
    model = EVENT_TYPES[read["type"]] if "type" in read else Summary
    return model.model_validate(read)


FULL = """{"borrower_id": "B-101", "identifier": {"kind": "phone", "value": "+91 90000 00001"}, "loan_id": "LN-1",
 "cycle_id": "2026-11", "channel": "voice", "modality": "speech", "direction": "outbound", "conversation_id": "c-1",
 "revision": 2, "started_at": "2026-11-01T17:00:00.250+05:30", "ended_at": "2026-11-01T17:30:00+05:30",
 "outcome": "connected", "disposition": "agree \\u2014 pays", "reached": "confirmation", "summary": "She said ₹५,००० \\n ok.",
 "commitment": {"amount": 5000.50, "currency": "inr", "due_date": "2026-11-05", "status": "confirmed",
   "amount_said": "paanch hazaar", "due_date_said": "5 tarikh", "quote": "de dungi", "read_back": true},
 "payment_claim": {"amount": "2000", "currency": "INR", "paid_on": "2026-10-27", "paid_on_said": "kal", "quote": "bhar diya"},
 "third_party": "brother", "callback": {"at": "2026-11-02T10:00:00+05:30", "at_said": "kal subah", "quote": "kal"},
 "facts": [{"kind": "goal", "text": "a shop", "confidence": 0.85, "quote": "dukaan", "about": "brother"},
           {"kind": "goal", "text": "a car", "confidence": 1}],
 "turns": [{"speaker": "agent", "text": "Due is 5,000", "at": "2026-11-01T12:00:00Z", "tools": ["dues"],
            "observed_at": "2026-11-01T11:59:00Z"}, {"speaker": "borrower", "text": "ok"}],
 "language": "hi", "agent": "v7", "resume_id": "r_1", "entered_state": "opening", "event_id": "e-1",
 "extra": {"n": 1.10, "big": 123456789012345678901234567890, "exp": 1e5, "none": null, "list": [1, 2.50, {"a": null}],
           "text": "5000.00", "yes": true}}"""


@given(entry=entries)
@settings(max_examples=often(150), deadline=None)
def test_what_comes_out_of_the_log_is_what_went_in(entry: Entry) -> None:
    opened = from_bytes(to_bytes("acme", entry))
    assert (opened.tenant, opened.entry) == ("acme", entry)
    empty = Record.new("B-1")
    assert merge(empty, opened.entry, hasher).to_bytes() == merge(empty, entry, hasher).to_bytes()
    assert stored(entry.type, opened.body, opened.stamps) == entry
    assert body_hash(opened.entry.body, keyed_hash) == body_hash(entry.body, keyed_hash)


def test_every_field_of_a_summary_comes_back_as_it_was_sent() -> None:
    body = posted(FULL)
    opened = from_bytes(to_bytes("acme", stamped(body, NOON)))
    assert opened.entry.body == body
    back, sent = (strictjson.parse(raw)[0] for raw in (opened.body, FULL.encode()))
    assert isinstance(back, dict)
    assert isinstance(sent, dict)
    assert back.keys() == sent.keys() == Summary.model_fields.keys()
    assert back["extra"] == sent["extra"]
    assert json.dumps(back["extra"], default=str) == json.dumps(sent["extra"], default=str), "digit for digit"
    assert (back["commitment"]["amount"], back["commitment"]["currency"]) == ("5000.50", "INR")
    assert back["facts"][0]["confidence"] == Decimal("0.85")
    assert back["started_at"] == "2026-11-01T11:30:00.250000Z"


def test_nothing_that_was_absent_appears() -> None:
    small = '{"channel":"voice","conversation_id":"c-1","ended_at":"2026-11-01T12:00:00Z"}'
    assert strictjson.parse(body_bytes(posted(small)))[0] == json.loads(small)
    assert body_bytes(posted(small.replace("}", ',"summary":null,"facts":[]}'))).endswith(b'"facts":[]}')


def test_an_entry_is_a_cloud_event_of_its_tenant_type_and_borrower() -> None:
    entry = stamped(posted(FULL), datetime(2026, 11, 1, 12, tzinfo=UTC))
    assert {k: v for k, v in json.loads(to_bytes("acme", entry)).items() if k != "data"} == {
        "specversion": "1.0",
        "id": "e-1",
        "source": "/borrower-memory/intake/acme",
        "type": "borrower-memory.summary",
        "subject": "B-1",
        "time": "2026-11-01T12:00:00.000000Z",
        "datacontenttype": "application/json",
    }


def test_our_own_entries_come_back_too() -> None:
    evidence = lifted(stamped(posted(FULL), NOON))
    bodies = (
        EvidenceJoined(event_id=internal_id("joined", "x"), record=evidence, type="evidence.joined"),
        BorrowerRedirected(event_id=internal_id("redirected", "x"), to=None, type="borrower.redirected"),
    )
    for body in bodies:
        entry = stamped(body, NOON)
        assert from_bytes(to_bytes("acme", entry)).entry == entry
    assert from_bytes(to_bytes("acme", stamped(bodies[0], NOON))).entry.body.record.to_bytes() == evidence.to_bytes()  # type: ignore[union-attr]


def test_no_client_can_send_an_id_of_ours() -> None:
    document = json.loads(FULL) | {"event_id": internal_id("redirected", "e-1")}
    with pytest.raises(ValueError, match="blanks"):
        Summary.model_validate(document)


# -- what is none of ours ----------------------------------------------------------------------------------------------


def changed(**changes: Any) -> bytes:
    event = json.loads(to_bytes("acme", stamped(posted(FULL), NOON)))
    data = {**event["data"], **changes.pop("data", {})}
    return json.dumps({**event, "data": data, **changes}).encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b'{"specversion": "1.0"}',
        changed()[:-40],
        changed(specversion="0.3"),
        changed(datacontenttype="text/plain"),
        changed(source="/somebody/else"),
        changed(type="borrower.changed"),
        changed(type="borrower-memory.of.next.year"),
        changed(subject="B-2"),
        changed(id="e-2"),
        changed(data={"v": 2}),
        changed(data={"body": "a text"}),
        changed(data={"body": {"channel": "fax"}}),
        changed(data={"stamps": {}}),
    ],
)
def test_what_is_no_entry_of_ours_is_unreadable_and_not_repeated(raw: bytes) -> None:
    with pytest.raises(UnreadableEntry) as caught:
        from_bytes(raw)
    assert "fax" not in str(caught.value)
    assert "B-1" not in str(caught.value)


# -- the same again? ---------------------------------------------------------------------------------------------------

SHORT = '{"channel":"voice","conversation_id":"c-1","ended_at":"2026-11-01T12:00:00Z"%s}'
PAID = (
    '{"event_id":"p","type":"payment.confirmed","occurred_at":"2026-11-01T12:00:00Z","borrower_id":"B","payment_ref":"P",'
    '"currency":"INR","amount":%s%s}'
)
ALIKE = {
    "amount as number and text": (PAID % ("5000", ""), PAID % ('"5000.00"', "")),
    "amount with an exponent": (PAID % ("5000", ""), PAID % ("5e3", "")),
    "a default that is said": (PAID % ("1", ""), PAID % ("1", ',"settles":false')),
    "null and absent": (PAID % ("1", ""), PAID % ("1", ',"loan_id":null,"extra":null')),
    "a currency in small letters": (PAID % ("1", ""), (PAID % ("1", "")).replace("INR", "inr")),
    "one instant in two zones": (
        PAID % ("1", ""),
        (PAID % ("1", "")).replace("2026-11-01T12:00:00Z", "2026-11-01T17:30:00.000+05:30"),
    ),
    "the id that a summary has anyway": (SHORT % "", SHORT % ',"event_id":"voice:c-1:1","revision":1'),
    "the modality of the channel": (SHORT % "", SHORT % ',"modality":"speech"'),
    "a promised amount": (
        SHORT % ',"commitment":{"amount":5000,"read_back":false}',
        SHORT % ',"commitment":{"amount":"5000.0"}',
    ),
    "a claimed amount": (SHORT % ',"payment_claim":{"amount":-5}', SHORT % ',"payment_claim":{"amount":"-5.00"}'),
    "a fact about the borrower": (
        SHORT % ',"facts":[{"kind":"goal","text":"x","confidence":0.90}]',
        SHORT % ',"facts":[{"confidence":0.9,"about":"borrower","kind":"goal","text":"x","quote":null}]',
    ),
    "empty lists": (SHORT % "", SHORT % ',"facts":[],"turns":[]'),
    "numbers of extra": (SHORT % ',"extra":{"a":5,"b":[1.0]}', SHORT % ',"extra":{"b":[1],"a":5.00}'),
}
APART = {
    "another amount": (PAID % ("5000", ""), PAID % ("500", "")),
    "an amount that differs far behind the point": (
        PAID % ("1." + "0" * 40 + "1", ""),
        PAID % ("1." + "0" * 40 + "2", ""),
    ),
    "the order of a list": (
        SHORT % ',"turns":[{"speaker":"agent","text":"a"},{"speaker":"borrower","text":"b"}]',
        SHORT % ',"turns":[{"speaker":"borrower","text":"b"},{"speaker":"agent","text":"a"}]',
    ),
    "another instant": (PAID % ("1", ""), (PAID % ("1", "")).replace("12:00:00Z", "12:00:00.000001Z")),
    "an amount nobody can read": (
        SHORT % ',"commitment":{"amount":"five"}',
        SHORT % ',"commitment":{"amount":"six"}',
    ),
    "the other modality": (SHORT % "", SHORT % ',"modality":"text"'),
    "a number and a text in extra": (SHORT % ',"extra":{"a":5}', SHORT % ',"extra":{"a":"5"}'),
    "true and one in extra": (SHORT % ',"extra":{"a":true}', SHORT % ',"extra":{"a":1}'),
    "a null of extra": (SHORT % ',"extra":{"a":null}', SHORT % ',"extra":{}'),
    "another spelling of a number to call": (
        SHORT % ',"identifier":{"kind":"phone","value":"09000000001"}',
        SHORT % ',"identifier":{"kind":"phone","value":"+919000000001"}',
    ),
    "a summary and an event of one id": (
        SHORT % ',"event_id":"e","borrower_id":"B"',
        '{"event_id":"e","type":"conversation.ended","occurred_at":"2026-11-01T12:00:00Z","borrower_id":"B",'
        '"channel":"voice","conversation_id":"c-1"}',
    ),
}


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE.keys())
def test_bodies_that_are_equal_after_parsing_have_one_hash(one: str, other: str) -> None:
    assert body_hash(posted(one), keyed_hash) == body_hash(posted(other), keyed_hash)


@pytest.mark.parametrize(("one", "other"), APART.values(), ids=APART.keys())
def test_bodies_that_differ_have_two_hashes(one: str, other: str) -> None:
    assert body_hash(posted(one), keyed_hash) != body_hash(posted(other), keyed_hash)


@given(seed=st.randoms(use_true_random=False))
@settings(max_examples=often(30), deadline=None)
def test_the_order_of_keys_makes_no_difference(seed: Any) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, list):
            return [shuffled(item) for item in value]
        if not isinstance(value, dict):
            return value
        pairs = [(name, shuffled(item)) for name, item in value.items()]
        seed.shuffle(pairs)
        return dict(pairs)

    document, _ = strictjson.parse(FULL.encode())
    other = Summary.model_validate(shuffled(document))
    assert body_hash(other, keyed_hash) == body_hash(posted(FULL), keyed_hash)


def test_every_field_of_a_summary_tells() -> None:
    whole = posted(FULL)
    hashes = {body_hash(whole, keyed_hash)}
    optional = [n for n in Summary.model_fields if n not in ("channel", "conversation_id", "ended_at", "modality")]
    for name in optional:
        document, _ = strictjson.parse(FULL.encode())
        assert isinstance(document, dict)
        del document[name]
        hashes.add(body_hash(Summary.model_validate(document), keyed_hash))
    assert len(hashes) == 1 + len(optional)


def test_a_digest_covers_body_and_stamps_and_not_itself() -> None:
    entry = stamped(posted(FULL), NOON)
    digest = entry_digest(entry.body, entry.stamps, keyed_hash)
    assert entry_digest(entry.body, entry.stamps.changed(digest=digest), keyed_hash) == digest
    assert entry_digest(entry.body, entry.stamps.changed(contact=True), keyed_hash) != digest
    assert entry_digest(posted(SHORT % ""), entry.stamps, keyed_hash) != digest


def test_hashes_are_under_the_services_own_key() -> None:
    one, other = (Secrets([key * 32]) for key in (b"a", b"b"))
    body = posted(FULL)
    assert body_hash(body, one.keyed_hash) != body_hash(body, other.keyed_hash)
    assert provisional_id(one, "phone", "+919000000001") != provisional_id(other, "phone", "+919000000001")


def test_a_provisional_id_says_the_kind_and_never_the_number() -> None:
    made = provisional_id(SECRETS, "phone", "+919000000001")
    assert made.startswith("~phone:")
    assert len(made) == len("~phone:") + 16
    assert made != provisional_id(SECRETS, "phone", "+919000000002")
    assert made.split(":")[1] != provisional_id(SECRETS, "bsuid", "+919000000001").split(":")[1]
