"""A field's way back to an agent, and what a summary cannot claim (AC-11 to 20, API 6)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.together.conftest import (
    Borrower,
    Json,
    Tenant,
    day,
    promise,
    said,
    terms,
)
from tests.together.service import ago

pytestmark = pytest.mark.process


# -- a field's way back -----------------------------------------------------------------------------------------------


FULL = {
    "cycle_id": "CY-field",
    "modality": "speech",
    "direction": "inbound",
    "revision": 3,
    "outcome": "transferred",
    "disposition": "disposition-field",
    "reached": "confirmation",
    "summary": "The borrower agreed to the summary field.",
    "commitment": {
        "amount": "4321",
        "currency": "INR",
        "status": "confirmed",
        "amount_said": "4321",
        "quote": "4321 de dunga",
        "read_back": True,
    },
    "payment_claim": {"amount": "77.5", "currency": "INR", "paid_on_said": "kal", "quote": "kal 77.5 bhar diya"},
    "third_party": "third-party-field",
    "callback": {"at_said": "tomorrow 5 pm", "quote": "call me tomorrow 5 pm"},
    "facts": [
        {"kind": "household", "text": "fact field", "confidence": 0.91, "quote": "hum chaar log hain", "about": "wife"}
    ],
    "language": "hi-IN",
    "agent": "agent-field",
    "resume_id": "resume-field",
    "entered_state": "opening",
    "extra": {"extra": ["field", 1, 1.5, None, {"deep": False}]},
}


@pytest.mark.parametrize("channel", ["voice", "whatsapp"])
def test_every_field_of_a_summary_survives_the_whole_way_back(acme: Tenant, channel: str) -> None:
    """AC-18."""
    one = acme.borrower()
    at = ago(hours=2)
    turns = [
        {"speaker": "agent", "text": "So 4321?", "at": at, "tools": ["tool-field"], "observed_at": at},
        *said("borrower: 4321 de dunga, kal 77.5 bhar diya, hum chaar log hain", "third_party: t", "system: s"),
        {"speaker": "borrower", "text": "call me tomorrow 5 pm"},
    ]
    sent: Json = {
        **FULL,
        "borrower_id": one.id,
        "identifier": one.phone,
        "loan_id": f"LN-{one.id}",
        "event_id": f"id-field-{one.id}",
        "conversation_id": f"conversation-field-{one.id}",
        "channel": channel,
        "started_at": ago(hours=3),
        "ended_at": at,
        "turns": turns,
    }
    if channel == "whatsapp":
        sent["reached"] = "reminder"
    acme.post("/v1/summaries", sent)
    (item,) = one.timeline()
    entry = item["entry"]
    for name, value in sent.items():
        if name in ("started_at", "ended_at"):
            assert entry[name].rstrip("Z") == value.removesuffix("+00:00"), name
        elif name == "turns":
            assert [t["text"] for t in entry["turns"]] == [t["text"] for t in turns]
            assert entry["turns"][0]["tools"] == ["tool-field"]
            assert entry["turns"][0]["observed_at"].rstrip("Z") == at.removesuffix("+00:00")
        else:
            assert entry[name] == value, name
    shown = one.read()["conversations"][channel]
    assert {name: shown[name] for name in FULL if name != "extra" and name != "reached"} == {
        name: value for name, value in FULL.items() if name not in ("extra", "reached")
    }
    for reader in ("voice", "whatsapp"):
        answer = one.resume(reader, loan_id=f"LN-{one.id}")
        assert answer["callback"]["quote"] == "call me tomorrow 5 pm"
        assert "summary field" in one.briefing(reader)


def test_an_event_comes_back_as_it_was_posted(borrower: Borrower) -> None:
    extra = {"nested": {"n": 1, "x": [None, True, "é"]}}
    borrower.event(
        "payment.confirmed", payment_ref="P-é", amount="12.50", currency="INR", settles=False, extra=extra,
        loan_id="LN-9", cycle_id="CY-9", channel="voice", conversation_id="c-9",
    )  # fmt: skip
    (item,) = borrower.timeline()
    entry = item["entry"]
    assert (entry["extra"], entry["payment_ref"], entry["amount"]) == (extra, "P-é", "12.50")
    assert (item["loan_id"], item["cycle_id"], item["kind"]) == ("LN-9", "CY-9", "event")
    assert (entry["channel"], entry["conversation_id"], entry["settles"]) == ("voice", "c-9", False)


# -- what a summary cannot claim --------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [None, "absent"])
@pytest.mark.parametrize("channel", ["voice", "whatsapp"])
def test_a_promise_without_a_status_is_proposed(borrower: Borrower, channel: str, status: str | None) -> None:
    """AC-19."""
    commitment: Json = {"amount": 5000, "currency": "INR", "due_date": day(4)}
    if status is None:
        commitment["status"] = None
    borrower.verify()
    borrower.says(channel, commitment, disposition="user_agrees_to_maintain_balance")
    assert terms(borrower.commitment()) == ("proposed", "5000.00", day(4))
    assert borrower.resume()["state"] == "confirmation"


@pytest.mark.parametrize(
    "commitment",
    [
        {"amount": "900"},
        {"due_date": "2030-01-05"},
        {"amount_said": "900"},
        {"due_date_said": "kal"},
        {"quote": "de dunga"},
    ],
)
def test_a_promise_of_any_shape_is_proposed(borrower: Borrower, commitment: Json) -> None:
    borrower.verify()
    borrower.says("voice", commitment)
    assert borrower.commitment()["status"] == "proposed"
    assert borrower.resume()["state"] == "confirmation"


@pytest.mark.parametrize("commitment", [None, {}, {"status": "none"}, {"amount": None}, {"read_back": True}])
def test_no_promise_is_none(borrower: Borrower, commitment: Json | None) -> None:
    borrower.says("voice", commitment, outcome=None)
    assert borrower.commitment() is None
    assert borrower.resume()["state"] == "opening", "and nothing says that the borrower was reached"


@pytest.mark.parametrize("value", ["false", "no", "N/A", "unverified", 1, "yes", True, None, {"by": "otp"}])
def test_a_summarys_claim_is_no_verification(borrower: Borrower, value: Any) -> None:
    """AC-20."""
    refused = borrower.says("voice", promise(), identity_verified=value, status=None)
    if value is None:
        assert refused["status"] == "merged", "a field that is null is absent"
    else:
        assert refused["errors"] == [{"field": "identity_verified", "code": "unknown_field"}]
    borrower.says("voice", promise(), extra={"identity_verified": value}, disposition="verified", reached="dues")
    answer = borrower.resume()
    assert (answer["identity"]["holds"], answer["state"]) == (False, "identity")
    assert borrower.proposed("payment_link")["state"] == "identity"
