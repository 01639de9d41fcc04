"""What a vendor may do to a body: whatever it is, an adapter raises nothing and loses no neighbour that can be read; and a
yes that a model wrote is no hard event."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.delivery import Delivery
from channels.fields import Unreadable
from channels.vendors import VENDORS
from statemachine.entries import Summary
from tests.channels.vendors.reading import ARRIVED, events, is_one_thing, of, parsed, places, put, summary
from tests.channels.vendors.test_mappings import bolna
from tests.channels.vendors.test_voice import retell_chat
from tests.channels.vendors.test_whatsapp import WAMID, message, meta
from tests.examples import changed_bodies
from tests.vendors import Sample, need_samples, sample, samples

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["", "none", "\x00", "\ud800", "+919000000101", "1795180330", "9" * 400]),
    st.sampled_from(["1970-01-01 00:00:00", "2026-13-45T99:99:99Z", "9999-12-31T23:59:59-12:00"]),
)
many = settings(max_examples=changed_bodies(100))
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=5,
)
BODIES = [(one.channel, one.vendor, one.document) for one in samples()]
BODIES += [
    ("voice", "bolna", bolna()),
    ("voice", "retell", retell_chat()),
    (
        "whatsapp",
        "meta",
        meta(message(type="edit", edit={"original_message_id": WAMID, "message": {"text": {"body": "x"}}})),
    ),
    ("whatsapp", "meta", meta(message(type="system", system={"type": "user_changed_number", "wa_id": "919000000202"}))),
    ("whatsapp", "wati", {"eventType": "message", "id": "w", "text": "hi", "waId": "919000000101", "owner": False}),
    (
        "whatsapp",
        "infobip",
        {"results": [{"messageId": "1", "from": "919000000101", "message": {"text": "hi", "type": "TEXT"}}]},
    ),
    (
        "whatsapp",
        "interakt",
        {"type": "message_received", "data": {"customer": {}, "message": {"id": "i", "message": "hi"}}},
    ),
]


def read(channel: str, vendor: str, raw: bytes, content_type: str | None = "application/json") -> list[Any]:
    items = VENDORS[channel, vendor].parse(Delivery(raw, ARRIVED, content_type))
    assert all(is_one_thing(item) for item in items)
    assert all(len(item.key) <= 400 for item in items)
    return items


@many
@given(st.sampled_from(BODIES), st.data())
def test_a_changed_body_is_read_as_far_as_it_can_be(body: tuple[str, str, Any], data: st.DataObject) -> None:
    channel, vendor, document = body
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(document))))
        document = put(document, path, data.draw(st.one_of(st.just(...), ANYTHING)))
    try:
        read(channel, vendor, json.dumps(document).encode())
    except Unreadable:
        assert not isinstance(document, dict)


@many
@given(
    st.sampled_from(sorted(VENDORS)), st.one_of(st.binary(max_size=80), ANYTHING.map(lambda v: json.dumps(v).encode()))
)
def test_what_is_no_document_is_unreadable_and_nothing_worse(key: tuple[str, str], raw: bytes) -> None:
    for content_type in ("application/json", "application/x-www-form-urlencoded", None):
        with contextlib.suppress(Unreadable):
            read(*key, raw, content_type)


NEIGHBOURS = [message(id=f"wamid.{n}", text={"body": f"line {n}"}) for n in range(4)] + [
    message(id="wamid.stop", text={"body": "STOP"})
]
STATUSES = [
    {"id": f"wamid.s{n}", "status": "read", "timestamp": "1795581002", "recipient_id": "919000000101"} for n in range(3)
]


@many
@given(st.integers(0, 3), st.data())
def test_one_bad_message_loses_none_of_its_neighbours(place: int, data: st.DataObject) -> None:
    whole = meta(*NEIGHBOURS, statuses=STATUSES)
    at = ("entry", 0, "changes", 0, "value", "messages", place)
    below = data.draw(st.sampled_from(list(places(NEIGHBOURS[place]))))
    items = read("whatsapp", "meta", json.dumps(put(whole, (*at, *below), data.draw(ANYTHING))).encode())
    kept = {item.key for item in items}
    for n, neighbour in enumerate(NEIGHBOURS):
        if n != place:
            assert f"wa:msg:{neighbour['id']}" in kept
    assert [event.type for event in events(items)].count("contact.opted_out") >= 1, "the stop in the tail is honoured"
    assert sum(item.status is not None for item in items) == len(STATUSES)


@many
@given(st.data())
def test_one_bad_entry_or_change_loses_none_of_its_neighbours(data: st.DataObject) -> None:
    bad = data.draw(ANYTHING)
    good = meta(message())["entry"][0]
    for document in (
        {"entry": [bad, good]},
        {"entry": [{"changes": [bad, *good["changes"]]}]},
        {"entry": [good, {"changes": bad}]},
    ):
        keys = [item.key for item in read("whatsapp", "meta", json.dumps(document).encode())]
        assert f"wa:msg:{WAMID}" in keys


@many
@given(ANYTHING)
def test_one_bad_result_of_a_mapping_loses_none_of_its_neighbours(bad: Any) -> None:
    good = {"messageId": "1", "from": "919000000101", "message": {"text": "hi", "type": "TEXT"}}
    items = read("whatsapp", "infobip", json.dumps({"results": [bad, good, bad]}).encode())
    assert "infobip:msg:1" in [item.key for item in items if item.messages]


# -- a model's word --------------------------------------------------------------------------------------------------------------

CAPTURED: dict[str, tuple[Any, ...]] = {
    "voice-vapi-end-of-call-report.json": (
        "message", "artifact", "structuredOutputs", "52386899-59e1-5de2-a7db-7881d49f5bdb", "result",
    ),
    "voice-retell-call_analyzed.json": ("call", "call_analysis", "custom_analysis_data"),
    "voice-bland-post-call.json": ("analysis",),
    "voice-livekit-session-report.json": ("x_collections", "outcome"),
    "voice-pipecat-session-summary.json": ("flow", "state"),
    "voice-elevenlabs-post_call_transcription.json": ("data", "analysis", "data_collection_results"),
}  # fmt: skip
"""Where in each body a model's words stand; everything else in them is the provider's."""
WISHES = (
    "identity_verified verified payment_confirmed paid reminder_sent reminded payment_link_shared link_shared do_not_call "
    "opted_out dnd hold deceased dispute cycle_closed promise_broken kept settled borrower_id identifier loan_id"
).split()


@pytest.mark.parametrize("file", CAPTURED)
@pytest.mark.parametrize("word", [True, "true", "yes", 1, {"value": True}, {"type": "payment.confirmed", "amount": 1}])
def test_a_yes_that_a_model_wrote_is_no_hard_event_and_names_nobody(file: str, word: Any) -> None:
    need_samples()
    one = sample(file)
    document = one.document
    captured = document
    for step in CAPTURED[file]:
        captured = captured[step]
    captured.update(dict.fromkeys(WISHES, word))
    before, after = of(one), parsed(one.channel, one.vendor, document)
    assert events(after) == events(before) == []
    told, was = summary(after), summary(before)
    assert (told.borrower_id, told.loan_id, told.identifier) == (was.borrower_id, was.loan_id, was.identifier)
    assert (told.commitment, told.outcome) == (was.commitment, was.outcome)
    assert not set(Summary.model_fields) & {"identity_verified", "payment_confirmed", "reminded"}


@many
@given(st.sampled_from([one for one in samples() if one.file in CAPTURED] or [None]), st.data())
def test_whatever_a_model_captured_no_hard_event_comes_of_it(one: Sample | None, data: st.DataObject) -> None:
    if one is None:
        pytest.skip("the vendors' payloads are not beside this checkout")
    document = put(
        one.document, CAPTURED[one.file], data.draw(st.dictionaries(st.sampled_from(WISHES), ANYTHING, max_size=6))
    )
    assert events(parsed(one.channel, one.vendor, json.loads(json.dumps(document)))) == []
