"""Where the next conversation starts: positions, proposals, the floor, holds and cold starts (AC-11 to 20, 80, API 6)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.together.conftest import (
    Borrower,
    Tenant,
    another,
    confirmed,
    day,
    phone,
    promise,
    rules,
    terms,
    warned,
)
from tests.together.service import ago

pytestmark = pytest.mark.process

VARS = frozenset(
    "found borrower_id loan_id other_loans state step after_identity identity_verified promise_status promise_amount"
    " promise_currency promise_due_date promise_overdue counter_proposal payment_claimed reminded payment_link_shared"
    " payment_confirmed amount_received amount_outstanding contact_allowed contact_reason on_hold language speakable"
    " narrative degraded".split()
)


def stands_at(borrower: Borrower, state: str, channel: str = "voice") -> None:
    """Brings a fresh borrower to a state of the flow: contact, identity, the due told, a promise, a read-back, messages."""
    order = ["opening", "identity", "dues", "negotiation", "confirmation", "reminder", "payment_link", "closing"]
    reached = order.index(state)
    if reached >= order.index("identity"):
        borrower.says(channel, ended_at=ago(hours=9))
    if reached >= order.index("dues"):
        borrower.verify(occurred_at=ago(hours=8))
    if reached >= order.index("negotiation"):
        borrower.says("voice", reached="dues", ended_at=ago(hours=7))
    if reached >= order.index("confirmation"):
        borrower.says("whatsapp", promise(5000), ended_at=ago(hours=6))
    if reached >= order.index("reminder"):
        borrower.says("voice", confirmed(5000), ended_at=ago(hours=5))
    if reached >= order.index("payment_link"):
        borrower.is_sent(occurred_at=ago(hours=4))
    if reached >= order.index("closing"):
        borrower.is_sent("payment_link.shared", occurred_at=ago(hours=3))


@pytest.fixture(scope="module")
def at_reminder(acme: Tenant) -> Borrower:
    """Stands at reminder on voice; for tests that only read."""
    one = acme.borrower()
    stands_at(one, "reminder")
    return one


@pytest.fixture(scope="module")
def at_negotiation(acme: Tenant) -> Borrower:
    """Stands at negotiation on voice; for tests that only read."""
    one = acme.borrower()
    stands_at(one, "negotiation")
    return one


# -- the position -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stands", "voice", "whatsapp"),
    [
        ("identity", "identity", "identity"),
        ("dues", "dues", "negotiation"),
        ("negotiation", "negotiation", "negotiation"),
        ("confirmation", "confirmation", "reminder"),
        ("reminder", "reminder", "reminder"),
        ("payment_link", "payment_link", "payment_link"),
        ("closing", "closing", "closing"),
    ],
)
def test_each_channel_stands_where_the_memory_says(borrower: Borrower, stands: str, voice: str, whatsapp: str) -> None:
    stands_at(borrower, stands)
    for channel, state in (("voice", voice), ("whatsapp", whatsapp)):
        answer = borrower.resume(channel)
        assert (answer["state"], answer["position"]) == (state, state), channel
        assert (answer["source"], answer["proposed_by"], answer["fallback"]) == ("position", None, "no_model")
        assert answer["refusals"] == []


def test_coming_back_after_the_chat_session_has_expired(borrower: Borrower) -> None:
    """AC-11."""
    borrower.verify(occurred_at=ago(hours=27))
    borrower.says("whatsapp", promise(5000), ended_at=ago(hours=26), reached="negotiation")
    assert borrower.resume("whatsapp")["state"] == "reminder"
    assert borrower.resume("voice")["state"] == "confirmation"
    assert "5,000" in borrower.briefing("whatsapp")
    step = borrower.resume("whatsapp")["previous_step"]
    assert (step["speakable"], step["language"]) == (True, "en")
    assert "5,000" in step["text"]


def test_a_read_that_names_no_identifier_is_not_verified(borrower: Borrower) -> None:
    stands_at(borrower, "confirmation")
    answer = borrower.tenant.resume("voice", borrower_id=borrower.id)
    assert (answer["state"], answer["after_identity"]) == ("identity", "confirmation")
    assert answer["identity"]["holds"] is False
    assert answer["previous_step"]["speakable"] is False
    assert borrower.tenant.resume("whatsapp", borrower_id=borrower.id)["previous_step"]["speakable"] is True


def test_identity_on_one_number_is_no_identity_on_another(borrower: Borrower) -> None:
    stands_at(borrower, "confirmation")
    second = phone(f"+91800000{another():04d}")
    borrower.event("identifier.linked", identifier=second)
    assert borrower.tenant.resume("voice", identifier=second)["state"] == "identity"
    assert borrower.tenant.resume("voice", identifier=borrower.phone)["state"] == "confirmation"


def test_identity_lapses_after_thirty_days(borrower: Borrower) -> None:
    borrower.verify(occurred_at=ago(days=30, seconds=2))
    borrower.says("voice", promise())
    assert borrower.resume()["identity"]["holds"] is False
    borrower.event("identity.verified", identifier=borrower.phone, method="dob", occurred_at=ago(days=29, hours=23))
    identity = borrower.resume()["identity"]
    assert (identity["holds"], identity["method"], identity["channel"]) == (True, "dob", None)


@pytest.mark.parametrize("of_all", [True, False])
def test_a_revocation_ends_identity_and_a_later_verification_begins_it_again(borrower: Borrower, of_all: bool) -> None:
    borrower.verify()
    borrower.event("identity.revoked", reason="fraud", **({} if of_all else {"identifier": borrower.phone}))
    assert borrower.resume()["identity"]["holds"] is False
    borrower.event("identity.verified", identifier=borrower.phone, method="otp", occurred_at=ago(seconds=1))
    assert borrower.resume()["identity"]["holds"] is True


@pytest.mark.parametrize("outcome", ["third_party", "wrong_number"])
def test_meeting_somebody_else_on_a_number_ends_identity_there(borrower: Borrower, outcome: str) -> None:
    borrower.verify()
    borrower.says("voice", outcome=outcome, identifier=borrower.phone)
    assert borrower.resume()["identity"]["holds"] is False


# -- proposals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["payment_link", "reminder", "confirmation", "negotiation", "dues", "closing"])
def test_nothing_past_identity_before_identity(borrower: Borrower, state: str) -> None:
    """AC-12."""
    borrower.says("whatsapp", promise(5000))
    answer = borrower.proposed(state)
    assert (answer["state"], answer["step"], answer["source"]) == ("identity", "identify", "position")
    assert "identity_required" in rules(answer)
    assert (answer["proposed"], answer["proposed_by"]) == (state, "caller")
    assert answer["after_identity"] == "confirmation"


@pytest.mark.parametrize(
    ("state", "granted", "rule"),
    [
        ("confirmation", "confirmation", None),
        ("reminder", "negotiation", "too_far_ahead"),
        ("payment_link", "negotiation", "too_far_ahead"),
        ("closing", "negotiation", "too_far_ahead"),
        ("closed", "negotiation", "closed_state"),
        ("dues", "dues", None),
        ("identity", "identity", None),
        ("opening", "opening", None),
    ],
)
def test_one_step_ahead_is_allowed_and_two_are_not(
    at_negotiation: Borrower, state: str, granted: str, rule: str | None
) -> None:
    """AC-13."""
    answer = at_negotiation.proposed(state)
    assert answer["state"] == granted
    assert (rule in rules(answer)) if rule else (rules(answer) == set())
    assert answer["source"] == ("position" if rule else "classifier")


def test_steps_that_are_done_are_not_counted(borrower: Borrower) -> None:
    stands_at(borrower, "negotiation")
    borrower.is_sent()
    borrower.is_sent("payment_link.shared")
    assert borrower.proposed("closing")["state"] == "negotiation"
    borrower.says("voice", promise(100))
    assert borrower.proposed("closing")["state"] == "closing", "the one step that is left"
    borrower.says("voice", confirmed(100))
    assert borrower.resume()["state"] == "closing"


@pytest.mark.parametrize("channel", ["voice", "whatsapp"])
@pytest.mark.parametrize("how", ["paid", "settled", "closed"])
def test_nothing_asks_for_money_in_a_closed_cycle(borrower: Borrower, channel: str, how: str) -> None:
    """AC-14."""
    loan = f"LN-{borrower.id}"
    borrower.opens(cycle="CY-1", loan=loan, amount="5000")
    borrower.verify()
    borrower.says("voice", confirmed(5000), loan_id=loan, ended_at=ago(minutes=50))
    match how:
        case "paid":
            borrower.pays("5000", loan_id=loan, cycle_id="CY-1")
        case "settled":
            borrower.pays("10", loan_id=loan, settles=True)
        case _:
            borrower.event("cycle.closed", cycle_id="CY-1", loan_id=loan, reason="written_off")
    for state in ("closed", "payment_link", "reminder", "negotiation"):
        answer = borrower.proposed(state, channel)
        assert (answer["state"], answer["source"]) == ("closing", "position"), state
        assert "closed_state" in rules(answer)
    status = borrower.resume(channel)["cycle"]["status"]
    assert status == ("closed" if how == "closed" else "paid")
    assert borrower.proposed("identity", channel)["state"] == "identity"
    briefing = borrower.briefing(channel)
    assert "To ask" not in briefing
    assert "overdue" not in briefing


@pytest.mark.parametrize(
    ("proposal", "rule", "fallback"),
    [
        ({"state": "PAYMENT_LINK_SENDING"}, "unknown_state", None),
        ({"state": ""}, "unknown_state", None),
        ({"state": "confirm"}, "unknown_state", None),
        ({"state": "x" * 5000}, "unknown_state", None),
        ({"state": None}, None, "unreadable"),
        ({"state": ["confirmation"]}, None, "unreadable"),
        ({"state": 3}, None, "unreadable"),
        ({"state": {"state": "confirmation"}}, None, "unreadable"),
        ({}, None, "unreadable"),
        ([], None, "unreadable"),
        (7, None, "unreadable"),
        (False, None, "unreadable"),
        ("", None, "unreadable"),
        ("confirmation", None, "unreadable"),
        (None, None, "no_model"),
    ],
)
def test_what_is_no_proposal_leaves_the_memorys_own_place(
    at_reminder: Borrower, proposal: Any, rule: str | None, fallback: str | None
) -> None:
    """AC-15."""
    answer = at_reminder.resume(proposal=proposal)
    assert (answer["state"], answer["source"]) == ("reminder", "position")
    assert rules(answer) == ({rule} if rule else set())
    assert answer["fallback"] == fallback
    assert answer["proposed_by"] == ("caller" if rule else None)


@pytest.mark.parametrize("state", ["Reminder ", " REMINDER", "reminder\n", "ReMiNdEr"])
def test_case_and_blanks_around_a_state_do_not_matter(at_reminder: Borrower, state: str) -> None:
    answer = at_reminder.proposed(state)
    assert (answer["state"], answer["proposed"], answer["source"]) == ("reminder", "reminder", "classifier")


@pytest.mark.parametrize(
    "wrapped",
    [
        '{"state":"payment_link"}',
        'Here you go:\n```json\n{"state":"payment_link"}\n```\nLet me know if you need more.',
        '```\n{"state": "payment_link", "reason": "agreed {really}", "confidence": 0.9}\n```',
        'The state is {"state": " Payment_Link "} I think.',
        '<think>{maybe}</think> {"confidence":1,"state":"payment_link"}',
    ],
)
def test_a_proposal_in_a_fence_or_a_sentence_is_the_bare_object(at_reminder: Borrower, wrapped: str) -> None:
    """AC-16."""
    wanted = at_reminder.proposed("payment_link")
    answer = at_reminder.resume(proposal=wrapped)
    assert (answer["state"], answer["source"], answer["proposed"]) == ("payment_link", "classifier", "payment_link")
    assert answer["state"] == wanted["state"]


@pytest.mark.parametrize(
    "wrapped", ['{"state":"payment_link"', '[{"state":"dues"}]', '{"state":"dues"} {"state":"closing"}']
)
def test_a_text_that_could_be_read_in_two_ways_is_not_read(at_reminder: Borrower, wrapped: str) -> None:
    answer = at_reminder.resume(proposal=wrapped)
    assert (answer["state"], answer["fallback"]) == ("reminder", "unreadable")


@pytest.mark.parametrize("wait_ms", [0, 1500])
def test_waiting_for_a_model_that_is_not_there_costs_nothing(at_reminder: Borrower, wait_ms: int) -> None:
    answer = at_reminder.tenant.http.post(
        "/v1/resume",
        json={"channel": "voice", "borrower_id": at_reminder.id, "identifier": at_reminder.phone, "wait_ms": wait_ms},
    )
    assert answer.elapsed.total_seconds() < 0.5
    assert answer.json()["fallback"] == "no_model"


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("wait_ms", -1, "wrong_type"), ("wait_ms", 1501, "wrong_type"), ("wait_ms", "5", "wrong_type"),
        ("wait_ms", True, "wrong_type"), ("channel", "sms", "not_in_enum"), ("channel", None, "missing"),
        ("direction", "sideways", "not_in_enum"), ("more", 1, "unknown_field"), ("loan_id", 7, "wrong_type"),
        ("after", "", "bad_id"), ("identifier", "x", "wrong_type"),
    ],
)  # fmt: skip
def test_a_wrong_field_of_a_resume_is_named(borrower: Borrower, field: str, value: Any, code: str) -> None:
    refused = borrower.resume(**{field: value} if field != "channel" else {"channel": value}, status=422)
    assert refused["errors"] == [{"field": field, "code": code}]


# -- what the channel's rules propose ---------------------------------------------------------------------------------


def test_a_counter_proposal_is_negotiated_again(borrower: Borrower) -> None:
    stands_at(borrower, "payment_link")
    borrower.says("whatsapp", promise(2000, day(8)))
    answer = borrower.resume()
    assert (answer["state"], answer["proposed_by"], answer["source"]) == ("negotiation", "rules", "classifier")
    assert answer["position"] == "payment_link"
    assert [terms(c) for c in answer["counter_proposals"]] == [("proposed", "2000.00", day(8))]
    assert answer["vars"]["counter_proposal"] == f"2000.00 INR by {day(8)}"


def test_a_payment_claim_goes_back_to_the_dues(borrower: Borrower) -> None:
    stands_at(borrower, "reminder")
    borrower.says("voice", payment_claim={"paid_on": day(-1), "quote": "kal bhar diya"})
    answer = borrower.resume()
    assert (answer["state"], answer["position"], answer["proposed_by"]) == ("dues", "reminder", "rules")
    assert answer["fallback"] == "no_model"
    assert answer["payment_claim"]["paid_on"] == day(-1)
    assert answer["vars"]["payment_claimed"] == "yes"


def test_a_call_that_dropped_is_taken_up_where_it_broke_off(borrower: Borrower) -> None:
    stands_at(borrower, "payment_link")
    borrower.says("voice", outcome="failed", reached="dues")
    answer = borrower.resume()
    assert (answer["state"], answer["proposed_by"]) == ("dues", "rules")


# -- holds and stops --------------------------------------------------------------------------------------------------


def test_an_opted_out_borrower_who_calls_in_is_answered(borrower: Borrower) -> None:
    """AC-80."""
    stands_at(borrower, "confirmation")
    borrower.event("contact.opted_out", channel="voice")
    out, in_ = borrower.resume(direction="outbound"), borrower.resume(direction="inbound")
    assert (out["state"], out["step"], rules(out), out["position"]) == (None, None, {"on_hold"}, "confirmation")
    assert (out["contact"]["allowed"], out["contact"]["reasons"]) == (False, ["opted_out"])
    assert (in_["state"], in_["refusals"]) == ("confirmation", [])
    assert (in_["contact"]["allowed"], in_["contact"]["reasons"]) == (False, ["opted_out"])
    assert (out["vars"]["on_hold"], out["vars"]["state"], out["vars"]["contact_reason"]) == ("yes", "none", "opted_out")
    assert borrower.resume()["state"] is None, "outbound is the default"
    assert borrower.resume("whatsapp")["state"] == "reminder"


@pytest.mark.parametrize("kind", ["dispute", "deceased", "insolvency", "represented", "do_not_contact", "other"])
def test_under_a_hold_no_state_is_granted_in_any_direction(borrower: Borrower, kind: str) -> None:
    stands_at(borrower, "reminder")
    borrower.event("hold.placed", kind=kind, reason="told us")
    for direction in ("inbound", "outbound"):
        for proposal in (None, {"state": "opening"}):
            answer = borrower.resume(direction=direction, proposal=proposal)
            assert (answer["state"], answer["position"], "on_hold" in rules(answer)) == (None, "reminder", True)
            assert answer["contact"]["reasons"] == ["hold"]
    assert borrower.resume()["holds"][0]["kind"] == kind
    borrower.event("hold.lifted", kind=kind, reason="solved")
    assert borrower.resume()["state"] == "reminder"


def test_after_identity_is_told_under_a_hold_too(borrower: Borrower) -> None:
    borrower.says("voice", promise(10))
    borrower.event("hold.placed", kind="dispute", reason="x")
    answer = borrower.tenant.resume(borrower_id=borrower.id)
    assert (answer["state"], answer["after_identity"]) == (None, "confirmation")


# -- cold starts ------------------------------------------------------------------------------------------------------


def test_somebody_unknown_is_a_cold_start(acme: Tenant) -> None:
    one = acme.borrower()
    answer = one.resume(proposal={"state": "payment_link"})
    assert (answer["found"], answer["state"], answer["step"], answer["source"]) == (
        False, "opening", "greet", "cold_start",
    )  # fmt: skip
    nulls = ("borrower_id", "loan_id", "after_identity", "position", "proposed", "proposed_by", "fallback", "cycle",
             "commitment", "payment_claim", "callback", "previous_step", "record_version", "degraded_reason")  # fmt: skip
    assert {name: answer[name] for name in nulls} == dict.fromkeys(nulls)
    empty = ("other_loans", "counter_proposals", "holds", "open_conversations", "refusals")
    assert {name: answer[name] for name in empty} == {name: [] for name in empty}
    assert answer["contact"]["allowed"] is True
    assert set(answer["vars"]) == VARS


@pytest.mark.parametrize("stands", ["opening", "identity", "confirmation", "closing"])
def test_every_variable_is_there_and_is_a_text_that_is_not_empty(borrower: Borrower, stands: str) -> None:
    stands_at(borrower, stands)
    for channel in ("voice", "whatsapp"):
        answer = borrower.resume(channel)
        variables = answer["vars"]
        assert set(variables) == VARS
        assert all(isinstance(v, str) and v for v in variables.values())
        assert variables["state"] == answer["state"]
        assert variables["identity_verified"] == ("yes" if answer["identity"]["holds"] else "no")


def test_the_whole_answer_is_the_same_whoever_asks_again(borrower: Borrower) -> None:
    stands_at(borrower, "confirmation")
    first, second = borrower.resume(), borrower.resume()
    for answer in (first, second):
        del answer["resume_id"], answer["as_of"]
    assert json.dumps(first) == json.dumps(second)


def test_a_state_that_is_no_state_of_the_flow_is_warned_of(borrower: Borrower) -> None:
    assert warned(borrower.says("whatsapp", reached="dues")) == {"unknown_state"}
    assert warned(borrower.says("voice", reached="Dues ")) == set()
    assert warned(borrower.says("voice", reached="somewhere")) == {"unknown_state"}


def test_one_state_is_no_other_when_a_lookup_finds_nobody(acme: Tenant) -> None:
    one = acme.borrower()
    assert one.read(status=404)["code"] == "unknown_borrower"
    for path in ("flags", "briefing", "facts", "timeline"):
        assert one.read(path, status=404)["code"] == "unknown_borrower"
    assert one.permit(status=404)["code"] == "unknown_borrower"
