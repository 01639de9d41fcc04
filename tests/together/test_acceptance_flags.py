"""Flags, permits, holds, stops and what ops must see: only events decide (AC-22, 52, 53, 66 to 71, 76, DESIGN 5, API 8)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from tests.together.conftest import Borrower, Json, another, confirmed, day, promise
from tests.together.service import ago

pytestmark = pytest.mark.process

NOTHING = {"reminded": False, "payment_link_shared": False, "payment_confirmed": False}
TYPE_OF = {"reminder": "reminder.sent", "payment_link": "payment_link.shared"}
FLAG_OF = {"reminder": "reminded", "payment_link": "payment_link_shared"}


# -- only events set flags ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prose",
    [
        "I have sent you the payment link and a reminder.",
        "The agent said the payment link has been sent and that a reminder was sent.",
    ],
)
@pytest.mark.parametrize("channel", ["voice", "whatsapp"])
def test_what_the_agent_says_it_sent_sets_no_flag_and_is_told_as_said(
    borrower: Borrower, prose: str, channel: str
) -> None:
    """AC-52."""
    borrower.opens()
    borrower.says(channel, summary=prose)
    assert borrower.flags() == NOTHING
    briefing = borrower.briefing()
    assert "the agent said that" in briefing
    assert "there is no record of it" in briefing
    borrower.is_sent()
    borrower.is_sent("payment_link.shared")
    assert "there is no record of it" not in borrower.briefing()


@pytest.mark.parametrize(
    "claim",
    [
        {"reminder_sent": True, "payment_confirmed": True, "link_shared": True},
        {"reminded": True},
        {"payment_link_shared": "yes"},
        {"flags": {"reminded": True}},
        {"stage": "paid"},
        {"paid": 1},
        {"commitment": {"amount": 5, "kept": True}},
    ],
)
def test_a_summary_that_tries_to_set_a_flag_is_refused_by_name(borrower: Borrower, claim: Json) -> None:
    """AC-53."""
    borrower.opens()
    refused = borrower.says("voice", disposition="promise_to_pay", status=422, **claim)
    named = {error["field"] for error in refused["errors"]}
    assert {error["code"] for error in refused["errors"]} == {"unknown_field"}
    assert named == ({"commitment.kept"} if "commitment" in claim else set(claim))
    assert borrower.flags() == NOTHING


def test_flags_in_extra_or_prose_set_nothing(borrower: Borrower) -> None:
    borrower.opens()
    borrower.says("voice", extra={"payment_confirmed": True}, summary="payment_confirmed: true", disposition="PAID")
    assert borrower.flags() == NOTHING
    assert borrower.read()["stage"] == "negotiation"


@pytest.mark.parametrize("order", list(permutations(["attempted", "failed", "delivered"])))
def test_a_message_stands_at_its_highest_outcome_in_any_order(borrower: Borrower, order: tuple[str, ...]) -> None:
    message = f"m-{another()}"
    for minute, outcome in enumerate(order):
        borrower.is_sent(outcome=outcome, message_id=message, occurred_at=ago(minutes=30 - minute))
    evidence = borrower.read("flags")["reminded"]["evidence"]
    assert (evidence["message_id"], evidence["outcome"], evidence["channel"]) == (message, "delivered", "whatsapp")


def test_a_failure_takes_back_a_message_that_was_only_sent(borrower: Borrower) -> None:
    message = f"m-{another()}"
    borrower.is_sent("payment_link.shared", "sent", message_id=message, occurred_at=ago(minutes=9))
    assert borrower.flags()["payment_link_shared"]
    borrower.is_sent("payment_link.shared", "failed", message_id=message, occurred_at=ago(minutes=8))
    assert not borrower.flags()["payment_link_shared"]
    borrower.is_sent("payment_link.shared", "read", message_id=f"m-{another()}")
    assert borrower.flags()["payment_link_shared"]


@pytest.mark.parametrize("action", ["reminder", "payment_link"])
@pytest.mark.parametrize("sent_on", ["whatsapp", "voice"])
def test_what_was_sent_on_one_channel_is_known_on_the_other(borrower: Borrower, action: str, sent_on: str) -> None:
    """AC-71."""
    borrower.verify()
    borrower.says("voice", confirmed(5000))
    if action == "payment_link":
        borrower.is_sent()
    at = ago(minutes=4)
    borrower.is_sent(TYPE_OF[action], "sent", channel=sent_on, message_id="L-1", occurred_at=at)
    assert borrower.flags()[FLAG_OF[action]]
    evidence = borrower.read("flags")[FLAG_OF[action]]["evidence"]
    assert (evidence["channel"], evidence["message_id"], evidence["outcome"]) == (sent_on, "L-1", "sent")
    assert datetime.fromisoformat(evidence["at"]) == datetime.fromisoformat(at)
    for channel in ("voice", "whatsapp"):
        answer = borrower.resume(channel)
        assert answer["state"] == ("payment_link" if action == "reminder" else "closing")
        assert borrower.proposed(action, channel)["state"] != action
    assert borrower.refused(action) == "already_done"
    assert borrower.refused(action, channel="voice") == "already_done"


# -- permits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["reminder", "payment_link"])
def test_remind_only_if_not_already(borrower: Borrower, action: str) -> None:
    """AC-66."""
    borrower.opens()
    permit = borrower.permit(action)
    assert (permit["borrower_id"], permit["cycle_id"], permit["attempt"]) == (borrower.id, "CY-1", 1)
    sent = {"event_id": f"r-{another()}", "message_id": "m", "occurred_at": ago(seconds=0)}
    borrower.is_sent(TYPE_OF[action], **sent)
    assert borrower.refused(action) == "already_done"
    assert borrower.is_sent(TYPE_OF[action], **sent)["status"] == "duplicate"
    assert borrower.refused(action) == "already_done"
    assert [i["entry"]["type"] for i in borrower.timeline()].count(TYPE_OF[action]) == 1


def test_the_same_holder_gets_the_same_permit_again_and_others_wait(borrower: Borrower) -> None:
    borrower.opens()
    first = borrower.permit(holder="run-1")
    assert borrower.permit(holder="run-1", status=200) == first
    refused = borrower.permit(holder="run-2", status=409)
    assert (refused["code"], refused["reason"], refused["retry_at"]) == (
        "permit_refused", "held_by_other", first["expires_at"],
    )  # fmt: skip
    assert borrower.refused(holder="run-2", channel="voice") == "held_by_other"
    assert borrower.permit("payment_link", holder="run-2")["permit_id"] != first["permit_id"]
    lasts = datetime.fromisoformat(first["expires_at"]) - datetime.fromisoformat(first["granted_at"])
    assert lasts == timedelta(minutes=10)


def test_of_twenty_who_ask_at_once_one_gets_it(borrower: Borrower) -> None:
    borrower.opens()

    def ask(number: int) -> int:
        body = {"action": "reminder", "channel": "whatsapp", "holder": f"run-{number}"}
        return borrower.tenant.http.post(f"/v1/borrowers/{borrower.id}/permits", json=body).status_code

    with ThreadPoolExecutor(20) as pool:
        assert sorted(pool.map(ask, range(20))) == [201] + [409] * 19


def test_paid_one_minute_ago(borrower: Borrower) -> None:
    """AC-67."""
    borrower.opens(amount="5000")
    borrower.says("voice", confirmed(5000), ended_at=ago(hours=2))
    assert borrower.permit(holder="a")
    borrower.pays("5000", occurred_at=ago(seconds=5))
    for action in ("reminder", "payment_link"):
        assert borrower.refused(action) == "paid"
    assert borrower.refused(holder="a") == "paid", "a permit is no licence against a payment"


@pytest.mark.parametrize("how", ["promised", "settled", "in parts"])
def test_paid_means_what_covers_the_due(borrower: Borrower, how: str) -> None:
    if how == "promised":
        borrower.says("voice", confirmed(5000), ended_at=ago(hours=2))
        borrower.pays("5000")
    elif how == "settled":
        borrower.opens(amount="9000")
        borrower.pays("1", settles=True)
    else:
        borrower.opens(amount="9000")
        borrower.pays("4000")
        assert borrower.permit(holder="x")
        borrower.pays("5000")
    assert borrower.refused() == "paid"


def test_the_next_cycle_may_be_reminded_again(borrower: Borrower) -> None:
    """AC-68."""
    loan = f"LN-{borrower.id}"
    borrower.opens(cycle="CY-1", loan=loan, occurred_at=ago(days=40))
    sent = borrower.is_sent(occurred_at=ago(days=30), loan_id=loan)
    assert borrower.refused() == "already_done"
    borrower.opens(cycle="CY-2", loan=loan, occurred_at=ago(days=5))
    assert borrower.permit(loan_id=loan)["cycle_id"] == "CY-2"
    assert borrower.flags() == NOTHING
    item = next(i for i in borrower.timeline() if i["event_id"] == sent["event_id"])
    assert (item["cycle_id"], item["entry"]["outcome"]) == ("CY-1", "delivered")


def test_a_reminder_reported_late_counts_in_the_cycle_in_which_it_was_sent(borrower: Borrower) -> None:
    borrower.opens(cycle="CY-1", occurred_at=ago(days=40))
    borrower.opens(cycle="CY-2", occurred_at=ago(days=5))
    borrower.is_sent(occurred_at=ago(days=20))
    assert borrower.permit()["cycle_id"] == "CY-2"
    borrower.is_sent(cycle_id="CY-1", loan_id=f"LN-{borrower.id}")
    assert borrower.flags() == NOTHING
    borrower.is_sent(cycle_id="CY-2", loan_id=f"LN-{borrower.id}")
    assert borrower.refused() == "already_done"


@pytest.mark.parametrize("action", ["reminder", "payment_link"])
def test_a_failed_or_unclear_send_is_none(borrower: Borrower, action: str) -> None:
    """AC-69."""
    borrower.opens()
    borrower.is_sent(TYPE_OF[action], "attempted", message_id="m-1", occurred_at=ago(minutes=5))
    assert borrower.flags() == NOTHING
    refused = borrower.permit(action, status=409)
    assert refused["reason"] == "unclear_outcome"
    wait = datetime.fromisoformat(refused["retry_at"]) - datetime.now(UTC)
    assert timedelta(hours=23, minutes=54) < wait < timedelta(hours=23, minutes=56)
    assert "unclear" in borrower.briefing()
    borrower.is_sent(TYPE_OF[action], "attempted", message_id="m-2", occurred_at=ago(minutes=4))
    borrower.is_sent(TYPE_OF[action], "failed", message_id="m-2", occurred_at=ago(minutes=3))
    assert borrower.flags() == NOTHING
    assert borrower.refused(action) == "unclear_outcome"
    borrower.is_sent(TYPE_OF[action], "failed", message_id="m-1", occurred_at=ago(minutes=2))
    assert borrower.permit(action)


def test_an_attempt_that_nothing_followed_is_free_after_a_day(borrower: Borrower) -> None:
    borrower.opens()
    borrower.is_sent(outcome="attempted", occurred_at=ago(hours=24, seconds=2))
    assert borrower.permit()


@pytest.mark.parametrize(
    ("outcome", "then"), [("failed", None), ("sent", "already_done"), ("attempted", "unclear_outcome")]
)
def test_the_event_that_follows_settles_a_permit(borrower: Borrower, outcome: str, then: str | None) -> None:
    borrower.opens()
    borrower.permit(holder="one")
    borrower.is_sent(outcome=outcome, occurred_at=ago(seconds=0))
    if then:
        assert borrower.refused(holder="two") == then
    else:
        assert borrower.permit(holder="two")["holder"] == "two"


def test_a_broken_promise_frees_the_next_attempt(borrower: Borrower) -> None:
    borrower.opens(occurred_at=ago(days=20))
    borrower.says("voice", confirmed(900, day(-1)), ended_at=ago(days=6))
    borrower.is_sent(occurred_at=ago(days=5))
    assert borrower.refused() == "already_done"
    borrower.event("promise.broken", due_date=day(-1), occurred_at=ago(hours=1))
    assert borrower.permit()["attempt"] == 2


def test_reasons_are_told_in_their_order(borrower: Borrower) -> None:
    loan = f"LN-{borrower.id}"
    borrower.opens(loan=loan, amount="100")
    borrower.permit(holder="other")
    assert borrower.refused() == "held_by_other"
    borrower.is_sent(outcome="attempted", occurred_at=ago(seconds=1))
    assert borrower.refused() == "unclear_outcome"
    borrower.is_sent(occurred_at=ago(seconds=0))
    assert borrower.refused() == "already_done"
    borrower.event("cycle.closed", cycle_id="CY-1", loan_id=loan, reason="other")
    assert borrower.refused() == "closed"
    borrower.pays("100", loan_id=loan)
    assert borrower.refused() == "paid"
    borrower.event("contact.opted_out", channel="whatsapp")
    assert borrower.refused() == "opted_out"
    assert borrower.refused(channel="voice") == "paid"
    until = (datetime.now(UTC) + timedelta(hours=5)).isoformat()
    borrower.event("hold.placed", kind="dispute", reason="x", until=until)
    refused = borrower.permit(status=409)
    assert refused["reason"] == "hold"


def test_a_hold_that_ends_says_when_to_ask_again(borrower: Borrower) -> None:
    borrower.opens()
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=5)
    borrower.event("hold.placed", kind="dispute", reason="x", until=until.isoformat())
    assert datetime.fromisoformat(borrower.permit(status=409)["retry_at"]) == until
    contact = borrower.resume()["contact"]
    assert datetime.fromisoformat(contact["next_allowed_at"]) == until


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("action", "call", "not_in_enum"), ("action", None, "missing"), ("action", 1, "wrong_type"), ("holder", "", "missing"),
        ("holder", "x" * 129, "too_long"), ("holder", None, "missing"), ("channel", "sms", "not_in_enum"),
        ("loan_id", "", "bad_id"), ("more", True, "unknown_field"),
    ],
)  # fmt: skip
def test_a_wrong_field_of_a_permit_is_named(borrower: Borrower, field: str, value: Any, code: str) -> None:
    borrower.opens()
    assert borrower.permit(status=422, **{field: value})["errors"] == [{"field": field, "code": code}]


# -- holds and stops ----------------------------------------------------------------------------------------------


def test_a_hold_with_an_end_is_over_then(borrower: Borrower) -> None:
    borrower.event("hold.placed", kind="dispute", reason="x", occurred_at=ago(hours=9), until=ago(seconds=1))
    assert borrower.read()["holds"] == []
    assert borrower.resume()["state"] == "opening"
    assert borrower.permit()


def test_a_hold_of_a_loan_holds_that_loan_alone(borrower: Borrower) -> None:
    for loan in ("LN-a", "LN-b"):
        borrower.opens(loan=f"{loan}-{borrower.id}")
    borrower.event("hold.placed", kind="dispute", reason="x", loan_id=f"LN-a-{borrower.id}")
    assert borrower.refused(loan_id=f"LN-a-{borrower.id}") == "hold"
    assert borrower.permit(loan_id=f"LN-b-{borrower.id}")
    assert borrower.resume(loan_id=f"LN-a-{borrower.id}")["state"] is None
    assert borrower.resume(loan_id=f"LN-b-{borrower.id}")["state"] == "opening"


def test_a_hold_is_sticky_across_cycles_and_lifted_by_its_kind_alone(borrower: Borrower) -> None:
    borrower.event("hold.placed", kind="dispute", reason="x", occurred_at=ago(days=30))
    borrower.event("hold.placed", kind="represented", reason="a lawyer", occurred_at=ago(days=29))
    borrower.opens(cycle="CY-2", occurred_at=ago(days=2))
    assert borrower.refused() == "hold"
    borrower.event("hold.lifted", kind="dispute", reason="solved", occurred_at=ago(hours=2))
    assert [h["kind"] for h in borrower.read()["holds"]] == ["represented"]
    borrower.event("hold.lifted", kind="represented", reason="solved", occurred_at=ago(hours=1))
    assert borrower.read()["holds"] == []
    borrower.event("hold.placed", kind="dispute", reason="again")
    assert borrower.refused() == "hold"


def test_a_lifting_that_arrives_first_lifts_what_was_placed_before_it(borrower: Borrower) -> None:
    borrower.event("hold.lifted", kind="dispute", reason="solved", occurred_at=ago(hours=1))
    borrower.event("hold.placed", kind="dispute", reason="x", occurred_at=ago(hours=2))
    assert borrower.read()["holds"] == []


def test_a_stop_of_all_channels_is_lifted_channel_by_channel(borrower: Borrower) -> None:
    borrower.event("contact.opted_out", channel="all", occurred_at=ago(hours=3))
    for channel in ("voice", "whatsapp"):
        assert borrower.resume(channel)["contact"]["reasons"] == ["opted_out"]
    borrower.event("contact.opted_in", channel="whatsapp", occurred_at=ago(hours=2))
    assert borrower.resume("whatsapp")["contact"]["allowed"] is True
    assert borrower.resume("voice")["contact"]["allowed"] is False
    assert [(o["channel"], o["purpose"]) for o in borrower.read()["opt_outs"]] == [("voice", "collections")]
    borrower.event("contact.opted_out", channel="all", occurred_at=ago(hours=1))
    assert borrower.resume("whatsapp")["contact"]["allowed"] is False


def test_an_opt_in_needs_the_same_channel_and_purpose(borrower: Borrower) -> None:
    borrower.event("contact.opted_out", channel="voice", occurred_at=ago(hours=3))
    borrower.event("contact.opted_in", channel="whatsapp", occurred_at=ago(hours=2))
    borrower.event("contact.opted_in", channel="voice", purpose="marketing", occurred_at=ago(hours=2))
    assert borrower.resume("voice")["contact"]["reasons"] == ["opted_out"]
    borrower.event("contact.opted_in", channel="voice", occurred_at=ago(hours=1))
    assert borrower.resume("voice")["contact"]["allowed"] is True
    assert borrower.event("contact.opted_in", channel="all", status=422)["errors"][0]["code"] == "not_in_enum"


def test_a_marketing_stop_is_no_cease(borrower: Borrower) -> None:
    borrower.event("contact.opted_out", channel="all", purpose="marketing")
    answer = borrower.resume()
    assert (answer["state"], answer["contact"]["allowed"]) == ("opening", True)
    assert borrower.permit()
    assert borrower.read()["opt_outs"][0]["purpose"] == "marketing"


# -- open conversations and starts that were ignored --------------------------------------------------------------


def test_a_call_whose_report_never_comes_is_listed_with_its_age(borrower: Borrower) -> None:
    """AC-22."""
    started = borrower.event(
        "conversation.started", channel="voice", conversation_id=f"k-{borrower.id}", occurred_at=ago(hours=24)
    )
    assert started["status"] == "merged"
    (item,) = missing(borrower)
    assert (item["channel"], item["conversation_id"]) == ("voice", f"k-{borrower.id}")
    assert 86_000 < item["age_seconds"] < 87_000
    read = borrower.read()
    assert (read["conversations"], read["commitment"], read["contact_attempts"]) == ({}, None, 0)
    assert borrower.resume()["open_conversations"] == []
    briefing = borrower.briefing()
    assert "no report of it has come" in briefing
    assert "spoke" not in briefing
    borrower.says("voice", conversation_id=f"k-{borrower.id}")
    assert missing(borrower) == []
    assert "no report" not in borrower.briefing()


def missing(borrower: Borrower) -> list[Json]:
    items = borrower.tenant.get("/v1/ops/missing-reports", limit=200)["items"]
    return [i for i in items if i["borrower_id"] == borrower.id]


def test_a_conversation_that_goes_on_is_named_and_is_not_missing(borrower: Borrower) -> None:
    at = ago(minutes=2)
    borrower.event(
        "conversation.started", channel="whatsapp", conversation_id="c-9", direction="inbound", occurred_at=at
    )
    (open_,) = borrower.resume()["open_conversations"]
    assert (open_["channel"], open_["conversation_id"]) == ("whatsapp", "c-9")
    assert datetime.fromisoformat(open_["since"]) == datetime.fromisoformat(at)
    assert missing(borrower) == []


@pytest.mark.parametrize(
    ("entered", "ignored"), [("opening", True), ("confirmation", False), (" Confirmation", False), ("nowhere", True)]
)
@pytest.mark.parametrize("by", ["summary", "start"])
def test_a_granted_start_that_was_lost_on_the_way_is_seen(
    borrower: Borrower, entered: str, ignored: bool, by: str
) -> None:
    """AC-76."""
    borrower.verify()
    borrower.says("whatsapp", promise(5000), ended_at=ago(hours=2))
    granted = borrower.resume()
    assert granted["state"] == "confirmation"
    told = {"conversation_id": f"k-{another()}", "resume_id": granted["resume_id"], "entered_state": entered}
    if by == "summary":
        borrower.says("voice", agent="asha-7", **told)
    else:
        borrower.event("conversation.started", channel="voice", **told)
    listed = borrower.tenant.get("/v1/ops/resumes", borrower_id=borrower.id, ignored="true")["items"]
    assert [i["resume_id"] for i in listed] == ([granted["resume_id"]] if ignored else [])
    (item,) = borrower.tenant.get("/v1/ops/resumes", borrower_id=borrower.id, limit=1)["items"]
    assert (item["ignored"], item["channel"], item["granted"]) == (ignored, "voice", "confirmation")
    assert item["agent"] == ("asha-7" if by == "summary" else None)
