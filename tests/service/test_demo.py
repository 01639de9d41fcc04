"""The words of the story, on every day of the year: it is told on dates shifted to now, so each has to be understood."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from service.demo import ZONE, Story, StoryFailed, call_report, chat_summary, summary_of
from service.intake.terms import Warnings, settle
from statemachine.entries import Summary
from statemachine.stamps import PromiseTerms

DAYS = [datetime(2028, 1, 1, 0, 10, tzinfo=UTC) + timedelta(days=n, hours=n % 24) for n in range(366)]


def story(now: datetime, run: str = "0a1b2c") -> Story:
    return Story("http://nowhere", "no-key", say=lambda _: None, run=run, now=now)


def settled(body: Summary) -> tuple[PromiseTerms | None, list[str]]:
    warnings = Warnings()
    terms = settle(body, ended_at=body.ended_at, zone="Asia/Kolkata", currency="INR", warnings=warnings)
    return terms.promise, [warning.code for warning in warnings.found]


def test_the_call_is_understood_as_a_confirmed_promise() -> None:
    for now in DAYS:
        told = story(now)
        report = summary_of(call_report(told)) | {"borrower_id": told.borrower}
        promise, warnings = settled(Summary.model_validate(report))
        assert promise is not None, now
        assert (promise.status, promise.amount, promise.due_date) == ("confirmed", Decimal(12500), told.due), now
        assert warnings == [], now


def test_her_words_in_the_chat_mean_the_day_of_the_due() -> None:
    for now in DAYS:
        told = story(now)
        promise, warnings = settled(Summary.model_validate(chat_summary(told)))
        assert promise is not None, now
        assert (promise.status, promise.amount, promise.due_date) == ("proposed", Decimal(12500), told.due), now
        assert warnings == [], now


def test_each_run_has_a_borrower_a_loan_and_a_number_of_its_own() -> None:
    runs = [story(DAYS[0], run=f"{n:06x}") for n in (1, 2, 0xFFFFFF)]
    for own in ("borrower", "loan", "phone"):
        assert len({getattr(run, own) for run in runs}) == len(runs)
    assert all(run.phone.startswith("+9190000") and len(run.phone) == 13 for run in runs)


def test_the_due_is_five_days_ahead_where_she_lives() -> None:
    late = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)  # the 30th in India
    assert story(late).due == date(2026, 12, 5) == late.astimezone(ZONE).date() + timedelta(days=5)


def test_what_is_not_as_it_should_be_is_said_with_its_step() -> None:
    told = story(DAYS[0])
    told.step("The call")
    told.expect("the start", "reminder", "reminder")
    with pytest.raises(StoryFailed, match=r"^step 1: the start should be 'reminder' and is 'opening'$"):
        told.expect("the start", "opening", "reminder")


def test_what_a_flow_filled_in_is_evidence_and_never_identity() -> None:
    told = story(DAYS[0])
    report = call_report(told)
    report["flow"]["state"] |= {"identity_verified": True, "payment_mode": "upi"}
    report["turns"].append({"role": "user", "content": None, "timestamp": report["ended_at"]})
    summary = summary_of(report)
    assert "identity" not in str(summary.keys())
    assert len(summary["turns"]) == len(report["turns"]) - 1, "a turn without words is none"
    report["flow"]["state"]["read_back_confirmed"] = False
    assert summary_of(report)["commitment"]["status"] == "proposed"
