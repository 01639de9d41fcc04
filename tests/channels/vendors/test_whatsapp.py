"""WhatsApp providers' bodies: messages, statuses, stops, changed numbers; every list is walked and nobody loses a neighbour."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from channels.delivery import Item
from channels.messages import ChatMessage
from channels.whatsapp.words import choice
from channels.wishes import asked
from tests.channels.vendors.reading import ARRIVED, events, is_one_thing, of, parsed
from tests.vendors import Sample, need_samples, sample, samples

WHATSAPP = [one for one in samples() if one.channel == "whatsapp"]
WAMID = "wamid.HBgMOTE5MDAwMDAwMTAxFQIAEhggAAAA"


def only(items: list[Item]) -> ChatMessage:
    (found,) = [message for item in items for message in item.messages]
    return found


@pytest.mark.parametrize("one", WHATSAPP, ids=lambda s: s.file)
def test_each_body_gives_what_is_listed(one: Sample) -> None:
    need_samples()
    items, expect = of(one), one.expect
    told = [item for item in items if item.ignored is None]
    assert all(is_one_thing(item) for item in items)
    assert all(item.aside is None for item in items)
    if "items" in expect:
        assert len(told) == expect["items"]
        people = {m.identifier for item in told for m in item.messages} | {
            i.status.identifier for i in told if i.status
        }
        assert len(people) == expect["borrowers"]
    if keys := expect.get("borrower_keys"):
        message = only(items)
        named = [value if kind == "phone" else f"{kind}:{value}" for kind, value in (message.identifier, *message.also)]
        assert named == keys
    if occurred := expect.get("occurred_at"):
        assert only(items).at == datetime.fromisoformat(occurred)
    if disposition := expect.get("disposition"):
        assert only(items).disposition == disposition


def test_a_choice_is_read_by_its_id() -> None:
    need_samples()
    for file in ("whatsapp-cloud-interactive-button-reply.json", "whatsapp-twilio-inbound.json"):
        message = only(of(sample(file)))
        assert (message.kind, message.choice, message.due_date) == ("button", "pay_on_2026-11-25", date(2026, 11, 25))
        assert message.answers is not None


def test_a_reaction_says_nothing_and_a_place_is_not_kept() -> None:
    need_samples()
    (reaction,) = of(sample("whatsapp-cloud-reaction.json"))
    assert reaction.ignored == "says nothing: reaction"
    place = only(of(sample("whatsapp-cloud-location.json")))
    assert (place.media, place.text) == ("location", "")
    assert "12.97" not in repr(place)


def test_an_edit_and_a_revocation_name_the_message_that_they_are_about() -> None:
    need_samples()
    edit = only(of(sample("whatsapp-cloud-edit.json")))
    assert (edit.kind, edit.text) == ("edit", "Salary 28 ko aayegi. 12,500 28 tarikh tak.")
    assert edit.replaces == only(of(sample("whatsapp-cloud-text.json"))).message_id
    revoked = only(parsed("whatsapp", "meta", meta(message(type="revoke", revoke={"original_message_id": WAMID}))))
    assert (revoked.kind, revoked.text, revoked.replaces) == ("revoke", "", WAMID)


def test_a_status_of_ours_says_what_the_message_was() -> None:
    need_samples()
    read, sent = (item.status for item in of(sample("whatsapp-cloud-statuses-out-of-order.json")))
    assert read is not None
    assert sent is not None
    assert (read.outcome, sent.outcome) == ("read", "sent")
    assert (read.purpose, read.loan_id, read.cycle_id) == ("payment_link.shared", "LN-700123", "2026-11")


# -- bodies made here --------------------------------------------------------------------------------------------------------


def message(**own: Any) -> dict[str, Any]:
    common = {"from": "919000000101", "id": WAMID, "timestamp": "1795180330", "type": "text", "text": {"body": "hello"}}
    return {name: value for name, value in (common | own).items() if value is not None}


def meta(*messages: Any, field: str = "messages", **value: Any) -> dict[str, Any]:
    listed = {"messages": list(messages)} if messages else {}
    return {"entry": [{"id": "1", "changes": [{"field": field, "value": {"metadata": {}, **listed, **value}}]}]}


def test_a_person_without_a_number_is_known_by_the_scoped_id() -> None:
    told = only(parsed("whatsapp", "meta", meta(message(**{"from": None, "from_user_id": "IN.1"}))))
    assert told.identifier == ("bsuid", "IN.1")
    contacts = [{"wa_id": "919000000101", "user_id": "IN.1"}]
    told = only(parsed("whatsapp", "meta", meta(message(**{"from": None, "from_user_id": "IN.1"}), contacts=contacts)))
    assert told.identifier == ("phone", "+919000000101")
    (nobody,) = parsed("whatsapp", "meta", meta(message(**{"from": "", "from_user_id": ""})))
    assert nobody.aside is not None


@pytest.mark.parametrize("internal", ["235085806700001@lid", "235085806700001"])
def test_an_internal_id_of_the_messenger_is_no_number(internal: str) -> None:
    told = only(parsed("whatsapp", "meta", meta(message(**{"from": internal}))))
    assert told.identifier == ("messenger", internal)


def test_a_failed_status_without_contacts_is_read() -> None:
    failed = {
        "id": WAMID,
        "status": "failed",
        "timestamp": "1795581002",
        "recipient_id": "919000000101",
        "errors": [{}],
    }
    (item,) = parsed("whatsapp", "meta", meta(statuses=[failed]))
    assert item.status is not None
    assert item.status.outcome == "failed"
    (unknown,) = parsed("whatsapp", "meta", meta(statuses=[failed | {"status": "warning"}]))
    assert unknown.notes == ("unknown_status",)


@pytest.mark.parametrize(
    ("value", "category", "type_"),
    [("stop", "marketing_messages", "contact.opted_out"), ("resume", "marketing_messages", "contact.opted_in")],
)
def test_a_preference_is_a_stop_of_marketing_alone(value: str, category: str, type_: str) -> None:
    told = {"wa_id": "919000000101", "category": category, "value": value, "timestamp": "1795581002"}
    (event,) = events(parsed("whatsapp", "meta", meta(field="user_preferences", user_preferences=[told])))
    assert (event.type, getattr(event, "purpose", None)) == (type_, "marketing")


def test_our_own_side_of_the_telephones_app_is_the_agent() -> None:
    echo = message(**{"from": "912200000007", "to": "919000000101"})
    told = only(parsed("whatsapp", "meta", meta(field="smb_message_echoes", message_echoes=[echo])))
    assert (told.speaker, told.identifier) == ("agent", ("phone", "+919000000101"))


@pytest.mark.parametrize(
    ("system", "before", "after"),
    [
        (
            {"type": "user_changed_number", "wa_id": "919000000202"},
            ("phone", "+919000000101"),
            ("phone", "+919000000202"),
        ),
        ({"type": "user_changed_user_id", "user_id": "IN.2"}, ("bsuid", "IN.1"), ("bsuid", "IN.2")),
    ],
)
def test_a_changed_number_names_both(system: Any, before: Any, after: Any) -> None:
    (item,) = parsed("whatsapp", "meta", meta(message(type="system", system=system, from_user_id="IN.1")))
    assert item.moved is not None
    assert (item.moved.before, item.moved.after) == (before, after)


@pytest.mark.parametrize(
    ("vendor", "document"),
    [
        ("meta", meta(message(text={"body": " Stop! "}))),
        ("meta", meta(message(type="image", image={"id": "1", "caption": "STOP"}))),
        ("meta", meta(message(type="edit", edit={"original_message_id": WAMID,
                                                 "message": {"type": "text", "text": {"body": "stop"}}}))),
        ("meta", meta(message(type="button", button={"payload": "STOP", "text": "बंद"}))),
        ("gupshup", {"type": "message", "timestamp": 1795180330512,
                     "payload": {"id": "g", "source": "919000000101", "type": "text", "payload": {"text": "STOP"}}}),
        ("gupshup", {"type": "user-event", "timestamp": 1795180330512,
                     "payload": {"phone": "919000000101", "type": "opted-out"}}),
        ("twilio", {"MessageSid": "SM1", "From": "whatsapp:+919000000101", "Body": "stop", "NumMedia": "0"}),
        ("twilio", {"MessageSid": "SM1", "From": "whatsapp:+919000000101", "Body": "Bas", "OptOutType": "STOP"}),
        ("wati", {"eventType": "message", "id": "w", "type": "text", "text": "STOP", "waId": "919000000101", "owner": False}),
        ("interakt", {"type": "message_received", "data": {"customer": {"channel_phone_number": "919000000101"},
                      "message": {"id": "i", "message": "stop", "message_content_type": "Text"}}}),
        ("infobip", {"results": [{"messageId": "b", "from": "919000000101", "message": {"type": "TEXT", "text": "STOP"}}]}),
    ],
)  # fmt: skip
def test_a_stop_is_a_hard_event_whoever_brings_it(vendor: str, document: Any) -> None:
    (event,) = events(parsed("whatsapp", vendor, document))
    assert (event.type, getattr(event, "purpose", None)) == ("contact.opted_out", "collections")
    assert event.identifier is not None
    assert event.identifier.value == "+919000000101"


STOPS = [
    "STOP", "stop.", "Stop!!!", "ＳＴＯＰ", "S T O P", "stop 🛑", "please stop", "STOP please", "pls stop", "STOP STOP",
    "stop\nthank you", "ok stop", "Stop it", "stop now", "Stop all", "opt-out", "OPT OUT.", "unsubscribe me", "Don’t message me",
    "stop sending me messages", "Please do not send me any more messages", "do not text me", "no more messages please",
    "stop messaging", "please dont contact me again", "stop sms", "never message me again", "leave me alone",
    "band karo", "band kar do", "msg band karo", "ye message band kar do", "mujhe message mat bhejo", "message mat karo ji",
    "kripya sms mat bhejo", "मैसेज बंद करो", "बंद करें", "कृपया बंद करें", "मुझे मैसेज मत करो", "मुझे संदेश मत भेजो", "मत भेजो",
    "message bhejna band karo", "ye messages bhejna band kar do", "मैसेज भेजना बंद करो", "msg na karo", "mujhe message na bheje",
    "mujhe msg nahi chahiye", "मुझे मैसेज नहीं चाहिए", "I don't want any messages", "no messages please", "aap message mat karo",
    "aap mujhe message mat kiya karo", "quit messaging me", "remove me from your list", "स्टॉप",
    "थांबवा", "বন্ধ করুন", "બંધ કરો", "ਬੰਦ ਕਰੋ", "நிறுத்து", "ఆపండి", "ನಿಲ್ಲಿಸಿ", "നിർത്തുക", "بند کرو",
]  # fmt: skip
SENTENCES = [
    "", "   ", "?", "please", "stop " * 50, "please stop calling my brother", "I will stop by the branch", "stop the emi",
    "band karo ye loan", "loan band kar do", "mat karo", "don't", "why don't you message me", "do you not send messages?",
    "cancel", "end", "I stopped my job", "message", "message karo", "mujhe message karo", "don't message my wife, call me",
    "abhi message mat karo, meeting mein hu", "payment band karo", "auto debit band karo", "खाता बंद करो", "no", "nahi",
    "mujhe loan nahi chahiye", "message nahi mila", "no message received", "I don't want to pay", "meri wife ko message mat karo",
    "kal message mat karo", "kya aap message band karoge?", "message na aaye to call karna", "link nahi chahiye",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        *((text, ("stop", "collections")) for text in STOPS),
        ("Stop promotions", ("stop", "marketing")),
        ("START", ("start", "collections")),
        ("please start again", ("start", "collections")),
        *((text, None) for text in SENTENCES),
    ],
)
def test_a_stop_is_one_only_when_it_is_all_that_was_written(text: str, wish: Any) -> None:
    assert asked(text) == wish


def test_an_id_that_is_in_no_table_stands_for_nothing() -> None:
    assert choice("something") == choice(None)
    assert choice("pay_on_2026-02-30").due_date is None


def test_gupshup_names_a_message_of_ours_by_either_id() -> None:
    notice = {
        "type": "message-event",
        "timestamp": 1795180330512,
        "payload": {
            "id": WAMID,
            "gsId": "gs-1",
            "type": "delivered",
            "destination": "919000000101",
            "payload": {"ts": 1795180331},
        },
    }
    (item,) = parsed("whatsapp", "gupshup", notice)
    assert item.status is not None
    assert item.status.message_ids == ("gs-1", WAMID)
    assert item.status.at == datetime.fromisoformat("2026-11-20T13:12:11Z")
    passed_through = meta(message()) | {"gs_app_id": "a"}
    assert only(parsed("whatsapp", "gupshup", passed_through)).provider == "gupshup"


@pytest.mark.parametrize(
    ("word", "outcome"), [("sent", "sent"), ("read", "read"), ("undelivered", "failed"), ("queued", None)]
)
def test_twilios_statuses_are_outcomes(word: str, outcome: str | None) -> None:
    (item,) = parsed("whatsapp", "twilio", {"MessageSid": "SM1", "MessageStatus": word, "To": "whatsapp:+919000000101"})
    assert (item.status.outcome if item.status else None) == outcome


def test_a_time_that_is_none_is_the_arrival() -> None:
    for stamp in ("0", "soon", None, "99999999999999"):
        assert only(parsed("whatsapp", "meta", meta(message(timestamp=stamp)))).at == ARRIVED


# -- mappings ------------------------------------------------------------------------------------------------------------------


def test_watis_own_side_is_the_agent_and_an_empty_id_is_nobodys() -> None:
    body = {"eventType": "message", "id": "w", "type": "text", "text": "hi", "waId": "", "bsuid": "IN.1", "owner": True,
            "timestamp": "1795180330"}  # fmt: skip
    told = only(parsed("whatsapp", "wati", body))
    assert (told.speaker, told.identifier) == ("agent", ("bsuid", "IN.1"))
    assert told.at == datetime.fromisoformat("2026-11-20T13:12:10Z")
    (nobody,) = parsed("whatsapp", "wati", body | {"bsuid": ""})
    assert nobody.aside is not None


def test_watis_statuses_go_by_fields() -> None:
    body = {
        "eventType": "templateMessageSent_v2",
        "id": "w",
        "whatsappMessageId": WAMID,
        "statusString": "FAILED",
        "waId": "919000000101",
    }
    (item,) = parsed("whatsapp", "wati", body)
    assert item.status is not None
    assert item.status.outcome == "failed"


def test_interakts_naive_times_are_utc() -> None:
    body = {
        "type": "message_api_delivered",
        "data": {
            "customer": {"channel_phone_number": "919000000101"},
            "message": {
                "id": "i",
                "delivered_at_utc": "2026-11-20T13:12:10.5",
                "callback_data": "reminder:LN-1:2026-11",
            },
        },
    }
    (item,) = parsed("whatsapp", "interakt", body)
    assert item.status is not None
    assert (item.status.purpose, item.status.loan_id) == ("reminder.sent", "LN-1")
    assert item.status.at == datetime.fromisoformat("2026-11-20T13:12:10.5Z")


def test_infobips_results_are_each_for_themselves() -> None:
    results = [
        {
            "messageId": "1",
            "from": "919000000101",
            "receivedAt": "2026-11-20T13:12:10.000+0000",
            "message": {"type": "TEXT", "text": "hi"},
        },
        {
            "messageId": "2",
            "to": "919000000101",
            "status": {"groupName": "DELIVERED"},
            "doneAt": "2026-11-20T13:12:10.000+0000",
        },
        {"messageId": "3", "from": "919000000101", "seenAt": "2026-11-20T13:12:10.000+0000"},
        {"messageId": "4", "to": "919000000101", "status": {"groupName": "PENDING"}},
        "nonsense",
    ]
    items = parsed("whatsapp", "infobip", {"results": results})
    assert [bool(i.messages) for i in items] == [True, False, False, False, False]
    assert [i.status.outcome if i.status else None for i in items] == [None, "delivered", "read", "attempted", None]
