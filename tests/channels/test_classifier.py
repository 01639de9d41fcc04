"""What a channel's rules propose, and which words are read as a proposal."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels import CHANNELS
from channels.classifier import ANSWER_CHARACTERS_MAX, explained, read_answer, read_proposal, rules_propose
from statemachine.floor import judge
from statemachine.flow import Flow
from statemachine.journey import Standing, position
from tests.examples import often
from tests.statemachine.standings import every_standing, standing

VOICE = CHANNELS["voice"].flow
WHATSAPP = CHANNELS["whatsapp"].flow

PROPOSED = standing(informed=True, rung="proposed", promise_stands=True)
CONFIRMED = replace(PROPOSED, rung="confirmed")
LINKED = replace(CONFIRMED, reminded=True, payment_link_shared=True)


def propose(flow: Flow, known: Standing, **record: Any) -> str | None:
    return rules_propose(
        flow, known, **{"counter_proposal": False, "payment_claim": False, "dropped_at": None, **record}
    )


@pytest.mark.parametrize("flow", [VOICE, WHATSAPP], ids=lambda flow: flow.channel)
def test_a_record_that_calls_for_nothing_gets_no_proposal(flow: Flow) -> None:
    assert not any(propose(flow, known) for known in every_standing())


@pytest.mark.parametrize(
    ("known", "record", "voice", "whatsapp"),
    [
        (CONFIRMED, {"counter_proposal": True}, "negotiation", "negotiation"),
        (PROPOSED, {"counter_proposal": True}, "negotiation", "negotiation"),
        (LINKED, {"payment_claim": True}, "dues", "negotiation"),
        (PROPOSED, {"payment_claim": True}, "dues", "negotiation"),
        (CONFIRMED, {"payment_claim": True, "counter_proposal": True}, "dues", "negotiation"),
        # Where it stands already, or further on: nothing but the position.
        (standing(informed=True), {"counter_proposal": True}, None, None),
        (standing(informed=True), {"payment_claim": True}, "dues", None),
        (standing(), {"payment_claim": True, "counter_proposal": True}, None, None),
        # A dropped call is taken up where it broke off, unless that is done for good, ahead, or was not about the due.
        (PROPOSED, {"dropped_at": "negotiation"}, "negotiation", "negotiation"),
        (PROPOSED, {"dropped_at": " Negotiation"}, "negotiation", "negotiation"),
        (LINKED, {"dropped_at": "reminder"}, None, None),
        (PROPOSED, {"dropped_at": "closing"}, None, None),
        (PROPOSED, {"dropped_at": "opening"}, None, None),
        (PROPOSED, {"dropped_at": "identity"}, None, None),
        (PROPOSED, {"dropped_at": "no_such_state"}, None, None),
        (CONFIRMED, {"dropped_at": "confirmation", "counter_proposal": True}, "negotiation", "negotiation"),
        # Never what the floor would refuse.
        (replace(CONFIRMED, identity_holds=False), {"counter_proposal": True, "payment_claim": True}, None, None),
        (replace(CONFIRMED, contact_made=False), {"counter_proposal": True}, None, None),
        (replace(LINKED, closed=True), {"payment_claim": True, "counter_proposal": True}, None, None),
        (replace(CONFIRMED, on_hold=True), {"counter_proposal": True}, None, None),
        (replace(CONFIRMED, opted_out=True, outbound=True), {"counter_proposal": True}, None, None),
        (replace(CONFIRMED, opted_out=True), {"counter_proposal": True}, "negotiation", "negotiation"),
    ],
)
def test_the_rules_step_back_where_the_record_calls_for_it(
    known: Standing, record: dict[str, Any], voice: str | None, whatsapp: str | None
) -> None:
    assert (propose(VOICE, known, **record), propose(WHATSAPP, known, **record)) == (voice, whatsapp)


@pytest.mark.parametrize("flow", [VOICE, WHATSAPP], ids=lambda flow: flow.channel)
def test_what_the_rules_propose_is_always_granted_and_always_a_step_back(flow: Flow) -> None:
    for known in every_standing(opted_out=False):
        for dropped_at in (None, *flow.names):
            for claim, counter in ((False, False), (True, False), (False, True), (True, True)):
                proposal = propose(flow, known, payment_claim=claim, counter_proposal=counter, dropped_at=dropped_at)
                if proposal is not None:
                    assert judge(flow, known, proposal).granted_proposal
                    assert flow.index(proposal) < flow.index(position(flow, known).name)


# A caller's proposal.


@pytest.mark.parametrize(
    ("value", "state"),
    [
        ({"state": "reminder"}, "reminder"),
        ({"state": "reminder", "reason": "x", "confidence": 0.9, "other": [1]}, "reminder"),
        ({"state": " Confirmation "}, "Confirmation"),
        ({"state": "PAYMENT_LINK_SENDING"}, "PAYMENT_LINK_SENDING"),
        ({"state": ""}, ""),
        ('Here you go:\n```json\n{"state": "reminder"}\n```\nMore?', "reminder"),
    ],
)
def test_an_object_with_a_text_state_is_read_be_it_a_state_or_not(value: object, state: str) -> None:
    assert read_proposal(value) == (state, None)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"state": None},
        {"state": ["reminder"]},
        {"state": 3},
        {"state": True},
        {"state": {"state": "reminder"}},
        {"State": "reminder"},
        [],
        [{"state": "reminder"}],
        "reminder",
        "",
        0,
        1.5,
        True,
        False,
    ],
)
def test_without_a_text_state_it_is_unreadable(value: object) -> None:
    assert read_proposal(value) == (None, "unreadable")


def test_no_proposal_is_none_and_no_fallback() -> None:
    assert read_proposal(None) == (None, None)


def test_what_is_read_can_be_stored_and_sent() -> None:
    state, _ = read_proposal({"state": "pay\x00ment\ud83d_link"})
    assert state == "pay\ufffdment\ufffd_link"
    assert VOICE.state(state) is None


def test_a_text_too_long_to_be_a_state_is_cut_where_one_sees_it_and_becomes_none() -> None:
    state, reason = read_proposal({"state": "reminder" + " " * 60 + "x" * 1_000_000})
    assert reason is None
    assert state is not None
    assert len(state) == 64
    assert state.endswith("…")
    assert VOICE.state(state) is None


# A model's answer.


@pytest.mark.parametrize(
    "content",
    [
        '{"state":"reminder"}',
        ' \n{"state": "reminder"}\n',
        '{"state":"reminder","reason":"She promised {12,500} by [5 Dec]","confidence":0.8}',
        '{"reason":"two\nlines","state":"reminder"}',
        '```json\n{"state":"reminder"}\n```',
        '```\n{"state":"reminder"}\n```',
        '```json\n{\n  "state": "reminder"\n}',
        'Here you go:\n```json\n{"state":"reminder"}\n```\nLet me know if you need more.',
        'I would start at {"state":"reminder"}, since the promise is confirmed.',
        'The flow {opening, identity} is behind us [1], so {"state":"reminder"}.',
        'The input was {"loan":"LN-1"} and {}. {"state":"reminder"}',
        '{"state":"reminder"} {"state":" Reminder "}',
        '{"state":"reminder","state":"reminder"}',
        '{"state":"reminder","steps":[{"state":"dues"}]}',
        '\ufeff{"state":"reminder"}',
    ],
)
def test_one_object_is_read_bare_fenced_or_in_a_sentence(content: str) -> None:
    assert read_answer(content) == ("reminder", None)


@pytest.mark.parametrize(
    "content",
    [
        None,
        3,
        {"state": "reminder"},
        "",
        "reminder",
        "The state is reminder.",
        '"reminder"',
        '"{\\"state\\":\\"reminder\\"}"',
        "null",
        "{}",
        '{"State":"reminder"}',
        '{"answer":{"state":"reminder"}}',
        # twice, differently
        '{"state":"reminder"} or {"state":"payment_link"}',
        '<think>{"state":"closing"}</think>{"state":"reminder"}',
        '{"state":"reminder","state":"closing"}',
        '{"state":"reminder"}\n{"state":null}',
        # cut off
        '{"state":"remin',
        '{"state":"reminder","reason":"she',
        '{"state":"reminder"',
        '{"state":"reminder"} {"state":"clos',
        '{"steps":[{"state":"reminder"}, ',
        '{"before":{"state":"reminder"},',
        # of another type, or no JSON
        '{"state":["reminder"]}',
        '{"state":3}',
        '{"state":{"name":"reminder"}}',
        '[{"state":"reminder"}]',
        'Both fit: [{"state":"reminder"},{"state":"reminder"}]',
        "{'state': 'reminder'}",
        '{state: "reminder"}',
        '{"state":"reminder","confidence":NaN}',
        '{"state":"reminder",}',
        '{"a":' * 9_000,
        '{"confidence":' + "9" * 9_000 + ',"state":"reminder"}',
        '{"state":"reminder"}' + " " * ANSWER_CHARACTERS_MAX,
    ],
)
def test_what_could_be_read_in_two_ways_is_not_read(content: object) -> None:
    assert read_answer(content) == (None, "unreadable")


@settings(max_examples=often(200), deadline=None)
@given(
    before=st.text(max_size=40).filter(lambda text: not set(text) & set('{}[]"')),
    after=st.text(max_size=40).filter(lambda text: not set(text) & set('{}[]"')),
    reason=st.text(max_size=40),
    state=st.sampled_from(VOICE.names),
)
def test_whatever_stands_around_one_whole_object_does_not_matter(
    before: str, after: str, reason: str, state: str
) -> None:
    answer = json.dumps({"reason": reason, "state": state})
    assert read_answer(before + answer + after) == (state, None)
    for cut in range(1, len(answer)):
        assert read_answer(before + answer[:cut]) == (None, "unreadable")


@settings(max_examples=often(200), deadline=None)
@given(st.text(alphabet='{}[]":,\\ \nastedur1\ud83d', max_size=60))
def test_no_text_breaks_the_reader(content: str) -> None:
    state, reason = read_answer(content)
    assert (state is None) == (reason == "unreadable")
    if state is not None:
        state.encode()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "no_text"),
        ('{"state":"reminder"}' + " " * ANSWER_CHARACTERS_MAX, "too_long"),
        ("The state is reminder.", "no_object"),
        ("", "no_object"),
        ('[{"state":"reminder"}]', "a_list"),
        ('{"answer":{"state":"reminder"}}', "no_state"),
        ('{"state":["reminder"]}', "wrong_type"),
        ('{"state":null}', "wrong_type"),
        ('{"state":"remin', "cut_off"),
        ('{"state":"reminder"', "cut_off"),
        ('{"state":"reminder",\n', "cut_off"),
        ('{"state":"reminder","confidence":NaN}', "not_json"),
        ('{"state":"reminder",}', "not_json"),
        ('{"state":"reminder","state":"closing"}', "stated_twice"),
        ('{"state":"reminder"} or {"state":"payment_link"}', "stated_twice"),
        ('{"state":"reminder"}', None),
    ],
)
def test_it_is_told_in_which_way_an_answer_cannot_be_read(content: object, why: str | None) -> None:
    state, told = explained(content)
    assert told == why
    assert (state is None) == (why is not None)
