"""Voice vendors' bodies: each tells the call that its index says, and all tell the same one."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from statemachine.entries import Summary
from tests.channels.vendors.reading import ARRIVED, events, is_one_thing, of, parsed, put, summary
from tests.vendors import Sample, need_samples, sample, samples

VOICE = [one for one in samples() if one.channel == "voice"]
WHOLE = [one for one in VOICE if "promise" in one.expect]
NEAR = timedelta(seconds=10)

pytestmark = pytest.mark.usefixtures("payloads")


@pytest.fixture
def payloads() -> None:
    need_samples()


@pytest.mark.parametrize("one", VOICE, ids=lambda s: s.file)
def test_each_body_has_the_key_of_its_call_and_phase(one: Sample) -> None:
    items = of(one)
    assert [item.key for item in items] == list(one.event_keys)
    assert all(is_one_thing(item) for item in items)


@pytest.mark.parametrize("one", VOICE, ids=lambda s: s.file)
def test_each_body_gives_what_is_listed(one: Sample) -> None:
    items, expect = of(one), one.expect
    if one.file == "voice-livekit-webhook-egress_ended.json":
        assert [item.ignored for item in items] == ["no report: egress_ended"]
        return
    told = summary(items)
    assert told.channel == expect.get("channel", "voice")
    assert (told.modality or "speech") == expect.get("modality", "speech")
    if keys := expect.get("borrower_keys"):
        assert told.identifier is not None
        assert told.identifier.value in keys
    if occurred := expect.get("occurred_at"):
        assert abs(told.ended_at - datetime.fromisoformat(occurred)) <= NEAR
    if promise := expect.get("promise"):
        assert told.commitment is not None
        assert told.commitment.amount is not None
        assert Decimal(told.commitment.amount) == Decimal(promise["amount"])
        assert told.commitment.due_date == promise["due_date"]
        assert (told.commitment.status, told.commitment.read_back) == ("confirmed", True)
        assert told.outcome == "connected"
    if expect.get("attempt_only") or expect.get("phase") == 1:
        assert told.commitment is None
        assert told.outcome not in ("connected", "transferred")
    if disposition := expect.get("disposition"):
        assert told.disposition == disposition
    assert events(items) == [], "no field of these bodies is a hard event"


def test_the_same_call_is_told_alike_by_every_vendor() -> None:
    """Relay tells no time and no turns; the others tell the same turns as well."""
    told = {one.vendor: summary(of(one)) for one in WHOLE}
    assert len(told) >= 7
    alike = {
        (
            s.commitment.amount,
            s.commitment.due_date,
            s.commitment.status,
            s.commitment.read_back,
            s.outcome,
            s.borrower_id,
        )
        for s in told.values()
        if s.commitment is not None
    }
    assert alike == {("12500", "2026-11-25", "confirmed", True, "connected", "bor_0101")}
    with_turns = [s for vendor, s in told.items() if vendor != "twilio"]
    assert {s.ended_at for s in with_turns} <= {
        with_turns[0].ended_at + timedelta(seconds=n / 100) for n in range(-1000, 1001)
    }
    assert len({tuple((t.speaker, t.text) for t in s.turns) for s in with_turns}) == 1


def test_a_redelivery_with_other_bytes_is_the_same_summary() -> None:
    first, again = (sample(f"voice-vapi-end-of-call-report{end}.json") for end in ("", "-redelivered"))
    assert first.raw != again.raw
    assert of(first) == of(again)


def test_both_phases_of_a_call_are_revisions_of_one_conversation() -> None:
    ended, analysed = (summary(of(sample(f"voice-retell-call_{phase}.json"))) for phase in ("ended", "analyzed"))
    assert ended.conversation_id == analysed.conversation_id
    assert (ended.revision, analysed.revision) == (1, 2)
    assert ended.outcome is None
    assert ended.commitment is None


def test_memory_that_was_fed_in_is_no_turn() -> None:
    told = summary(of(sample("voice-livekit-session-report.json")))
    assert not any("Memory:" in turn.text or "she wrote that" in turn.text for turn in told.turns)


# -- what bodies in the wild have besides ------------------------------------------------------------------------------------


def retell_chat(**own: Any) -> Any:
    analysis = {
        "chat_summary": "She will pay.",
        "custom_analysis_data": {"amount_rupees": "5000", "promised_date": "2026-11-28"},
    }
    chat = {
        "chat_id": "chat_1",
        "agent_id": "a",
        "chat_status": "ended",
        "from_number": "+919000000101",
        "to_number": "+912200000007",
        "direction": "inbound",
        "start_timestamp": 1795326000000,
        "end_timestamp": 1795326154000,
        "message_with_tool_calls": [{"role": "user", "content": "5000 on 28th", "created_timestamp": 1795326000000}],
        "chat_analysis": analysis,
    }
    return {"event": "chat_analyzed", "chat": chat | own}


def test_a_text_that_comes_through_a_voice_hook_is_a_text() -> None:
    told = summary(parsed("voice", "retell", retell_chat()))
    assert (told.channel, told.modality, told.revision) == ("whatsapp", "text", 2)
    assert told.identifier is not None
    assert told.identifier.value == "+919000000101"
    document = sample("voice-elevenlabs-post_call_transcription.json").document
    document["data"]["metadata"]["conversation_initiation_source"] = "whatsapp"
    told = summary(parsed("voice", "elevenlabs", document))
    assert (told.channel, told.modality) == ("whatsapp", "text")
    document["data"]["metadata"]["conversation_initiation_source"] = "widget"
    document["data"]["metadata"]["text_only"] = True
    assert summary(parsed("voice", "elevenlabs", document)).modality == "text"


@pytest.mark.parametrize(
    ("vendor", "place", "word", "outcome"),
    [
        ("vapi", ("message", "endedReason"), "voicemail", "voicemail"),
        ("vapi", ("message", "endedReason"), "customer-busy", "busy"),
        ("retell", ("call", "disconnection_reason"), "dial_busy", "busy"),
        ("retell", ("call", "disconnection_reason"), "voicemail_reached", "voicemail"),
        ("bland", ("answered_by",), "voicemail", "voicemail"),
        ("bland", ("status",), "no-answer", "no_answer"),
    ],
)
def test_a_provider_that_reached_nobody_leaves_no_promise(
    vendor: str, place: tuple[str, ...], word: str, outcome: str
) -> None:
    """The summary says so, whatever a model captured; intake takes nothing from it then (API 3)."""
    (one,) = [s for s in WHOLE if s.vendor == vendor]
    assert summary(parsed("voice", vendor, put(one.document, place, word))).outcome == outcome


@pytest.mark.parametrize(
    "label", ["PTP", "RTP", "WRONG_NUMBER", "TPC", "closed", "BPTP", "something nobody knows", "", "DND"]
)
def test_a_label_never_decides_about_a_promise(label: str) -> None:
    document = sample("voice-bland-post-call.json").document
    document["analysis"]["disposition"] = document["disposition_tag"] = label
    told = summary(parsed("voice", "bland", document))
    assert told.commitment == summary(of(sample("voice-bland-post-call.json"))).commitment
    assert told.outcome == "connected"


@pytest.mark.parametrize(("label", "outcome"), [("WN", "wrong_number"), ("TPC", "third_party"), ("what?", "connected")])
def test_without_a_promise_a_label_may_say_that_it_was_not_the_borrower(label: str, outcome: str) -> None:
    document = sample("voice-bland-post-call.json").document
    document["analysis"] = {}
    document["disposition_tag"] = label
    (item,) = parsed("voice", "bland", document)
    told = summary([item])
    assert told.outcome == outcome
    assert ("borrower" in {turn.speaker for turn in told.turns}) == (outcome == "connected")


def test_an_unknown_label_and_an_unknown_end_are_kept_and_counted() -> None:
    document = sample("voice-vapi-no-answer.json").document
    document["message"]["endedReason"] = "call.something-new"
    (item,) = parsed("voice", "vapi", document)
    assert item.notes == ("unknown_end",)
    assert summary([item]).extra is not None
    assert summary([item]).extra["ended_reason"] == "call.something-new"  # type: ignore[index]
    document = sample("voice-bland-post-call.json").document
    document["disposition_tag"], document["analysis"] = None, {"disposition": "gone fishing"}
    (item,) = parsed("voice", "bland", document)
    assert item.notes == ("unknown_disposition",)
    assert summary([item]).disposition == "gone fishing"


@pytest.mark.parametrize(
    ("captured", "amount", "due_date", "words"),
    [
        ({"amount": "12,500", "promised_date": "2026-11-28T00:00:00+05:30"}, "12500", "2026-11-28", (None, None)),
        ({"amount": "1.5 lakh", "promised_date": "25 tarikh"}, None, None, ("1.5 lakh", "25 tarikh")),
        ({"promise": {"amount": 5000, "due_date": "2026-11-28"}}, "5000", "2026-11-28", (None, None)),
        ({"ptp_amount": 5000.5, "ptp_date": None}, "5000.5", None, (None, None)),
        ({"amount": 0, "promised_date": "none"}, None, None, None),
        ({"amount": 5000, "promise_made": "false"}, None, None, None),
        ({"amount": None}, None, None, None),
    ],
)
def test_what_a_model_captured_is_found_by_name_in_any_form(
    captured: Any, amount: str | None, due_date: str | None, words: tuple[str | None, str | None] | None
) -> None:
    document = sample("voice-retell-call_analyzed.json").document
    document["call"]["call_analysis"]["custom_analysis_data"] = captured
    told = summary(parsed("voice", "retell", document))
    if words is None:
        assert told.commitment is None
        return
    assert told.commitment is not None
    assert (told.commitment.amount, told.commitment.due_date) == (amount, due_date)
    assert (told.commitment.amount_said, told.commitment.due_date_said) == words


@pytest.mark.parametrize("word", ["false", "no", "", "0", "N/A", False, None, "maybe"])
def test_a_read_back_is_only_what_says_yes(word: Any) -> None:
    document = sample("voice-retell-call_analyzed.json").document
    document["call"]["call_analysis"]["custom_analysis_data"]["read_back_confirmed"] = word
    told = summary(parsed("voice", "retell", document))
    assert told.commitment is not None
    assert (told.commitment.status, told.commitment.read_back) == (None, False)


def test_our_own_number_is_never_the_borrower() -> None:
    for one in WHOLE:
        told = summary(of(one, own_numbers=frozenset({"+919000000101", "+912200000007"})))
        assert told.identifier is None
        assert told.borrower_id == "bor_0101"
    document = sample("voice-twilio-status-callback.json").document
    (item,) = parsed("voice", "twilio", document, own_numbers=frozenset({"+919000000101"}))
    assert item.aside is not None
    assert "nobody is named" in item.aside


def test_the_borrower_is_the_other_side_by_direction() -> None:
    document = sample("voice-retell-call_analyzed.json").document
    document["call"].update(direction="inbound", from_number="+919000000303", to_number="+912200000007")
    told = summary(parsed("voice", "retell", document))
    assert told.identifier is not None
    assert told.identifier.value == "+919000000303"


def test_variables_of_ours_that_say_none_are_none() -> None:
    """What a cold start handed out comes back in the report."""
    document = sample("voice-retell-call_analyzed.json").document
    document["call"]["metadata"] = None
    document["call"]["retell_llm_dynamic_variables"] = {"borrower_id": "none", "loan_id": "none"}
    told = summary(parsed("voice", "retell", document))
    assert (told.borrower_id, told.loan_id) == (None, None)
    document["call"]["retell_llm_dynamic_variables"] = {"borrower_id": "~phone:0011223344556677"}
    assert summary(parsed("voice", "retell", document)).borrower_id is None


def test_a_do_not_call_is_a_stop_of_the_channel_told_once_for_both_phases() -> None:
    told = []
    for phase in ("ended", "analyzed"):
        document = sample(f"voice-retell-call_{phase}.json").document
        document["call"]["disconnection_reason"] = "user_requested_dnc"
        told += events(parsed("voice", "retell", document))
    assert [event.type for event in told] == ["contact.opted_out"] * 2
    assert told[0] == told[1]
    assert told[0].channel == "voice"


def test_of_phases_that_tell_no_time_each_stop_is_one_of_its_own() -> None:
    """They come at different times, and one id with two times would be a conflict."""
    told = []
    for phase in ("ended", "analyzed"):
        document = sample(f"voice-retell-call_{phase}.json").document
        document["call"] |= {"disconnection_reason": "user_requested_dnc"}
        del document["call"]["end_timestamp"], document["call"]["start_timestamp"]
        told += events(parsed("voice", "retell", document))
    assert told[0].event_id != told[1].event_id


def turns_of(vendor: str, *texts: str) -> Any:
    """A chat by messenger that comes through a hook of calls."""
    if vendor == "retell":
        lines = [{"role": "user", "content": text, "created_timestamp": 1795326000000} for text in texts]
        return retell_chat(message_with_tool_calls=[{"role": "agent", "content": "STOP"}, *lines])
    document = sample("voice-elevenlabs-post_call_transcription.json").document
    document["data"]["metadata"]["conversation_initiation_source"] = "whatsapp"
    lines = [{"role": "user", "message": text, "time_in_call_secs": 1} for text in texts]
    document["data"]["transcript"] = [{"role": "agent", "message": "STOP"}, *lines]
    return document


@pytest.mark.parametrize("vendor", ["retell", "elevenlabs"])
@pytest.mark.parametrize(
    ("texts", "wished"),
    [
        (["hello", "STOP"], [("contact.opted_out", "collections")]),
        (["बंद करो", "ok"], [("contact.opted_out", "collections")]),
        (["stop", "start"], [("contact.opted_in", "collections")]),
        (["stop promotions", "STOP"], [("contact.opted_out", "marketing"), ("contact.opted_out", "collections")]),
        (["please stop calling my brother"], []),
    ],
)
def test_a_stop_in_a_chat_is_a_hard_event_whichever_hook_brings_it(vendor: str, texts: list[str], wished: Any) -> None:
    told = events(parsed("voice", vendor, turns_of(vendor, *texts)))
    assert [(event.type, getattr(event, "purpose", None)) for event in told] == wished
    assert all(event.channel == "whatsapp" and event.occurred_at < ARRIVED for event in told)


def test_a_word_in_a_call_is_no_stop() -> None:
    document = sample("voice-elevenlabs-post_call_transcription.json").document
    document["data"]["transcript"].append({"role": "user", "message": "stop", "time_in_call_secs": 100})
    assert events(parsed("voice", "elevenlabs", document)) == []


@pytest.mark.parametrize(
    ("file", "gone", "end"),
    [
        ("voice-retell-call_analyzed.json", [("call", "end_timestamp")], "2026-11-22T05:42:34Z"),
        ("voice-retell-call_ended.json", [("call", "end_timestamp"), ("call", "duration_ms")], "2026-11-22T05:40:00Z"),
        (
            "voice-vapi-end-of-call-report.json",
            [("message", "endedAt"), ("message", "call", "endedAt"), ("message", "timestamp")],
            "2026-11-22T05:40:00Z",
        ),
        ("voice-pipecat-session-summary.json", [("ended_at",)], "2026-11-22T05:40:00Z"),
        ("voice-exotel-status-callback.json", [("EndTime",), ("DateUpdated",)], "2026-11-22T05:40:00Z"),
    ],
)
def test_a_report_without_its_end_ended_after_it_began_and_not_when_it_came(file: str, gone: Any, end: str) -> None:
    document = sample(file).document
    for path in gone:
        document = put(document, path, ...)
    (item,) = parsed("voice", file.split("-")[1], document)
    assert abs(summary([item]).ended_at - datetime.fromisoformat(end)) <= NEAR
    assert not item.is_undated


def test_a_filler_in_the_place_of_an_end_hides_no_other_time() -> None:
    document = sample("voice-exotel-status-callback.json").document
    document |= {"EndTime": "1970-01-01 05:30:00", "DateUpdated": "2026-11-22 11:12:40"}
    assert summary(parsed("voice", "exotel", document)).ended_at == datetime.fromisoformat("2026-11-22T05:42:40Z")


@pytest.mark.parametrize(
    ("vendor", "document"),
    [
        ("retell", {"event": "call_started", "call": {"call_id": "c", "direction": "inbound", "from_number": "+919000000101"}}),
        ("vapi", {"message": {"type": "status-update", "status": "in-progress", "customer": {"number": "+919000000101"},
                              "call": {"id": "c", "type": "inboundPhoneCall"}}}),
        ("twilio", {"CallSid": "c", "CallStatus": "in-progress", "Direction": "inbound", "From": "+919000000101"}),
        ("exotel", {"CallSid": "c", "CallFrom": "09000000101", "CallTo": "02200000007", "Direction": "incoming",
                    "EndTime": "1970-01-01 05:30:00", "digits": '"1"'}),
        ("bolna", {"id": "c", "status": "in-progress",
                   "telephony_data": {"call_type": "inbound", "from_number": "+919000000101"}}),
        ("plivo", {"CallUUID": "c", "CallStatus": "in-progress", "Direction": "inbound", "From": "919000000101"}),
    ],
)  # fmt: skip
def test_a_call_that_began_is_awaited(vendor: str, document: Any) -> None:
    (event,) = events(parsed("voice", vendor, document))
    assert (event.type, event.conversation_id) == ("conversation.started", "c")
    assert event.identifier is not None
    assert event.identifier.value == "+919000000101"
    assert event.occurred_at == ARRIVED


def test_a_leg_to_whoever_a_call_was_put_through_to_is_no_call_of_a_borrower() -> None:
    document = sample("voice-twilio-status-callback.json").document
    (item,) = parsed("voice", "twilio", document | {"ParentCallSid": "CA1", "To": "+919000000555"})
    assert item.ignored == "a leg of another call"


def test_a_leg_that_a_machine_answered_is_voicemail() -> None:
    document = sample("voice-twilio-status-callback.json").document
    document["AnsweredBy"] = "machine_end_beep"
    assert summary(parsed("voice", "twilio", document)).outcome == "voicemail"


@pytest.mark.parametrize(("zone", "minutes"), [(None, 0), ("UTC", 330)])
def test_times_without_a_zone_are_read_where_the_vendor_is_or_where_the_operator_says(
    zone: str | None, minutes: int
) -> None:
    told = summary(of(sample("voice-exotel-status-callback.json"), zone=zone))
    assert told.ended_at == datetime.fromisoformat("2026-11-22T05:42:34Z") + timedelta(minutes=minutes)


def test_only_the_newest_turns_are_kept_of_a_talk_without_end() -> None:
    document = sample("voice-retell-call_analyzed.json").document
    turns = [{"role": "user", "content": f"line {n}"} for n in range(800)]
    document["call"]["transcript_object"] = turns
    (item,) = parsed("voice", "retell", document)
    told = summary([item])
    assert [told.turns[0].text, told.turns[-1].text, len(told.turns)] == ["line 300", "line 799", 500]
    assert item.notes == ("turns_left_out",)


def test_a_summary_is_a_body_that_intake_takes() -> None:
    """What an adapter makes passes through the same checks as a post."""
    for one in VOICE:
        for item in of(one):
            for body in item.bodies:
                if isinstance(body, Summary):
                    assert Summary.model_validate(body.model_dump(exclude_none=True)) == body
                    assert body.ended_at.date() >= date(2026, 11, 22)
