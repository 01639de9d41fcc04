"""Mappings: what a file must be, and the voice vendors that are told by one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from channels.delivery import Delivery
from channels.mappings.adapter import vendor_of
from channels.mappings.mapping import InvalidMapping, read
from tests.channels.vendors.reading import ARRIVED, events, parsed, summary

WHOLE = """
channel = "voice"
[signature]
scheme = "none"
[[kind]]
kind = "report"
when = { status = ["done"] }
key = "call:{id}"
[kind.fields]
conversation_id = "id"
"""


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("channel = \"voice\"", "channel = \"pigeon\""), "channel"),
        (("scheme = \"none\"", "scheme = \"magic\""), "signature.scheme"),
        (("scheme = \"none\"", "scheme = \"hmac\""), "signature"),
        (("scheme = \"none\"", "scheme = \"none\"\nheader = \"x\""), "signature"),
        (("scheme = \"none\"", "scheme = \"hmac\"\nheader = \"X-Sig\""), "signature"),
        (("conversation_id = \"id\"", "conversation = \"id\""), "kind.0"),
        (("conversation_id = \"id\"", "conversation_id = \"$.id\""), "kind.0.fields"),
        (("conversation_id = \"id\"", "talk_seconds = \"id\""), "kind.0"),
        (("key = \"call:{id}\"", ""), "kind.0"),
        (("key = \"call:{id}\"", "key = \"call:{i d}\""), "kind.0"),
        (("kind = \"report\"", "kind = \"rumour\""), "kind.0.kind"),
        (("[kind.fields]", "outcomes = { done = \"lost\" }\n[kind.fields]"), "kind.0"),
        (("channel = \"voice\"", "channel = \"voice\"\ntime_zone = \"Mars/Base\""), "the file"),
        (("channel = \"voice\"", "channel = \"voice\"\nspeed = 9"), "speed"),
        (("[[kind]]", "[kind]"), "kind"),
        (("channel", "channel = ="), "Invalid"),
    ],
)  # fmt: skip
def test_a_mapping_that_does_not_check_says_where(change: tuple[str, str], place: str) -> None:
    with pytest.raises(InvalidMapping) as refused:
        read("northwind", WHOLE.replace(*change, 1))
    assert "mapping northwind" in str(refused.value)
    assert place in str(refused.value)


def test_a_mapping_makes_what_a_module_makes() -> None:
    vendor = vendor_of(read("northwind", WHOLE))
    body = b'{"id": "c-1", "status": "done"}'
    (nobody,) = vendor.parse(Delivery(body, ARRIVED))
    assert nobody.key == "northwind:call:c-1"
    assert nobody.aside is not None
    (other,) = vendor.parse(Delivery(b'{"id": "c-1", "status": "ringing"}', ARRIVED))
    assert other.ignored == "no kind of this mapping"


def bolna(**own: Any) -> dict[str, Any]:
    return {
        "id": "exec-1",
        "agent_id": "a-1",
        "status": "completed",
        "conversation_duration": 154.0,
        "transcript": "assistant: So 12,500 by the 25th?\nuser: haan, de dungi\n",
        "summary": "She will pay.",
        "extracted_data": {"amount": "12500", "promised_date": "2026-11-25", "read_back": "true"},
        "created_at": "2026-11-22T05:40:00.000000",
        "updated_at": "2026-11-22T05:42:34.000000",
        "telephony_data": {"call_type": "outbound", "from_number": "+912200000007", "to_number": "+919000000101"},
        "context_details": {"recipient_data": {"borrower_id": "bor_0101"}},
    } | own


def test_bolnas_execution_is_a_call() -> None:
    told = summary(parsed("voice", "bolna", bolna()))
    assert (told.borrower_id, told.outcome, told.revision, told.event_id) == (
        "bor_0101", "connected", 2, "bolna:call:exec-1:completed",
    )  # fmt: skip
    assert told.commitment is not None
    assert (told.commitment.amount, told.commitment.due_date, told.commitment.read_back) == (
        "12500",
        "2026-11-25",
        True,
    )
    assert [turn.speaker for turn in told.turns] == ["agent", "borrower"]
    assert told.ended_at == datetime.fromisoformat("2026-11-22T05:42:34Z")


def test_what_a_model_found_in_a_call_without_a_word_is_nobodys() -> None:
    for talked in (0, "0", 0.0, "0.0"):
        (item,) = parsed("voice", "bolna", bolna(conversation_duration=talked))
        told = summary([item])
        assert (told.outcome, told.commitment, told.turns, told.summary) == (None, None, [], None)
        assert item.notes == ("talk_without_talking",)


@pytest.mark.parametrize(
    ("own", "outcome"),
    [
        ({"conversation_duration": 0, "transcript": None, "extracted_data": None}, None),
        ({"status": "no-answer", "transcript": "", "extracted_data": {}}, "no_answer"),
        ({"answered_by_voice_mail": True}, "voicemail"),
        ({"status": "call-disconnected"}, None),
    ],
)
def test_completed_does_not_mean_that_anybody_spoke(own: dict[str, Any], outcome: str | None) -> None:
    told = summary(parsed("voice", "bolna", bolna(**own)))
    if own.get("status") == "call-disconnected":
        assert told.commitment is None
        assert told.revision == 1
    else:
        assert told.outcome == outcome


@pytest.mark.parametrize(
    ("own", "outcome"),
    [
        ({}, None),
        ({"CallStatus": "busy"}, "busy"),
        ({"CallStatus": "timeout"}, "no_answer"),
        ({"Machine": "true"}, "voicemail"),
    ],
)
def test_plivos_leg_is_an_attempt(own: dict[str, str], outcome: str | None) -> None:
    form = {
        "CallUUID": "u-1",
        "Event": "Hangup",
        "CallStatus": "completed",
        "Direction": "outbound",
        "From": "912200000007",
        "To": "919000000101",
        "EndTime": "2026-11-22 05:42:34",
        "HangupCause": "NORMAL_CLEARING",
        "Duration": "154",
    }
    told = summary(parsed("voice", "plivo", form | own, zone="Asia/Kolkata"))
    assert told.outcome == outcome
    assert told.identifier is not None
    assert told.identifier.value == "+919000000101"
    assert told.ended_at == datetime.fromisoformat("2026-11-22T00:12:34Z")
    assert events(parsed("voice", "plivo", form | {"CallStatus": "in-progress"}))[0].type == "conversation.started"
