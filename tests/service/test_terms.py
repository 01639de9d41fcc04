"""What intake makes of a summary's words and fields (DESIGN 4; AC-25 to AC-41, AC-55)."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from service.intake.terms import Settled, Warnings, settle
from statemachine.entries import Summary

ENDED = datetime(2026, 1, 28, 12, 35, tzinfo=UTC)
"""Wednesday 28 January 2026, 18:05 in India."""


def settled(
    commitment: dict[str, Any] | None = None, *, channel: str = "voice", ended: datetime = ENDED, **own: Any
) -> tuple[Settled, dict[str, str]]:
    """The terms, and the codes of the warnings by field."""
    document = {"channel": channel, "conversation_id": "c-1", "ended_at": ended.isoformat(), "outcome": "connected"}
    warnings = Warnings()
    body = Summary.model_validate(document | {"commitment": commitment} | own)
    terms = settle(body, ended_at=ended, zone="Asia/Kolkata", currency="INR", warnings=warnings)
    return terms, {w.code: w.field for w in warnings.found}


def promise(commitment: dict[str, Any], **own: Any) -> tuple[Any, ...]:
    terms, codes = settled(commitment, **own)
    p = terms.promise
    assert p is not None, codes
    return (p.status, p.amount, p.due_date, p.amount_candidates, p.due_date_candidates)


FIRM = {"amount": "5000", "due_date": "2026-02-02", "status": "confirmed", "read_back": True}


def test_a_read_back_on_the_phone_confirms() -> None:
    assert promise(FIRM) == ("confirmed", 5000, date(2026, 2, 2), (), ())


@pytest.mark.parametrize(
    ("changed", "channel", "code"),
    [
        ({"read_back": False}, "voice", "lowered_to_proposed"),
        ({}, "whatsapp", "lowered_to_proposed"),
        ({"amount": None}, "voice", "promise_incomplete"),
        ({"due_date": None}, "voice", "promise_incomplete"),
    ],
)
def test_an_excess_claim_is_lowered_with_a_warning(changed: dict[str, Any], channel: str, code: str) -> None:
    terms, codes = settled(FIRM | changed, channel=channel)
    assert terms.promise
    assert (terms.promise.status, codes) == ("proposed", {code: "commitment.status"})


def test_a_promise_of_any_shape_without_a_status_is_proposed() -> None:
    for shape in ({"amount": 5000}, {"due_date": "2026-02-02"}, {"amount_said": "kuch paisa"}, {"quote": "de dunga"}):
        assert promise(shape)[0] == "proposed"
    for nothing in ({}, {"status": "none", "amount": 5000}):
        assert settled(nothing)[0].promise is None


@pytest.mark.parametrize("amount", [0, -500, 0.001, 10**12, "five", "1e400", "NaN", "9" * 5000, "", "5,000"])
def test_an_implausible_amount_is_withheld_and_the_rest_is_kept(amount: Any) -> None:
    terms, codes = settled({"amount": amount, "due_date": "2026-02-02", "status": "proposed"})
    assert terms.promise
    assert (terms.promise.amount, terms.promise.due_date) == (None, date(2026, 2, 2))
    assert codes == {"amount_withheld": "commitment.amount"}


@pytest.mark.parametrize(
    ("amount", "meant"),
    [
        (12500.010000000002, "12500.01"),
        (0.1 + 0.2, "0.3"),
        ("4999.9999999999", "5000"),
        ("5000.0000000", "5000"),
    ],
)
def test_what_a_float_adds_behind_the_decimals_takes_no_amount_away(amount: Any, meant: str) -> None:
    terms, codes = settled({"amount": amount, "due_date": "2026-02-02", "status": "proposed"})
    assert terms.promise
    assert (str(terms.promise.amount), codes) == (meant, {})


@pytest.mark.parametrize("day", ["2026-01-27", "2025-02-02", "2026-02-30", "9999-01-01"])
def test_an_implausible_due_date_is_withheld(day: str) -> None:
    terms, codes = settled({"amount": 5000, "due_date": day})
    assert terms.promise
    assert (terms.promise.amount, terms.promise.due_date) == (5000, None)
    assert codes == {"due_date_withheld": "commitment.due_date"}


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ({"amount_said": "-500"}, {"amount_withheld": "commitment.amount_said"}),
        ({"amount_said": "₹0"}, {"amount_withheld": "commitment.amount_said"}),
        ({"amount_said": "5000 crore"}, {"amount_withheld": "commitment.amount_said"}),
        ({"amount_said": "kuch paisa"}, {}),
        ({"due_date_said": "20 January 2020"}, {"due_date_withheld": "commitment.due_date_said"}),
        ({"due_date_said": "yesterday"}, {"due_date_withheld": "commitment.due_date_said"}),
        ({"due_date_said": "5/2/2999"}, {"due_date_withheld": "commitment.due_date_said"}),
        ({"due_date_said": "5 feb 2050"}, {"due_date_withheld": "commitment.due_date_said"}),
        ({"due_date_said": "jaldi"}, {}),
    ],
)
def test_words_for_what_no_promise_can_be_are_withheld_with_a_warning(words: Any, codes: Any) -> None:
    terms, found = settled(words)
    assert terms.promise
    assert (terms.promise.amount, terms.promise.due_date, found) == (None, None, codes)


def test_a_day_that_lies_too_far_ahead_or_back_is_no_candidate() -> None:
    terms, codes = settled({"due_date_said": "kal ya 5/2/2999"})
    assert terms.promise
    assert (terms.promise.due_date, terms.promise.due_date_candidates) == (date(2026, 1, 29), ())
    assert codes == {"due_date_withheld": "commitment.due_date_said"}
    claim = settled(None, payment_claim={"quote": "5/2/1926 ko diya tha"})[0].claim
    assert claim
    assert claim.paid_on is None


def test_today_is_no_day_before_the_conversation() -> None:
    assert promise({"due_date": "2026-01-28"})[2] == date(2026, 1, 28)


DAYS = [
    ("25th", ENDED, date(2026, 2, 25)),
    ("30th", ENDED, date(2026, 1, 30)),
    ("Friday", ENDED, date(2026, 1, 30)),
    ("kal de dunga", ENDED, date(2026, 1, 29)),
    ("parso kar dunga", ENDED, date(2026, 1, 30)),
    ("month end tak", ENDED, date(2026, 1, 31)),
    ("kal de dunga", datetime(2026, 1, 28, 18, 50, tzinfo=UTC), date(2026, 1, 30)),
    ("03/04/2026", ENDED, date(2026, 4, 3)),
    ("salary aane par de dunga", ENDED, None),
    ("29 Feb", ENDED, None),
]


@pytest.mark.parametrize(("words", "ended", "due"), DAYS)
@pytest.mark.parametrize("field", ["due_date_said", "quote"])
def test_words_are_read_against_the_end_of_the_conversation(
    words: str, ended: datetime, due: date | None, field: str
) -> None:
    assert promise({field: words}, ended=ended)[2] == due


@pytest.mark.parametrize(
    ("words", "amount"), [("1,25,000", 125000), ("dedh lakh", 150000), ("paanch hazaar", 5000), ("5k", 5000)]
)
def test_amounts_are_read_from_words(words: str, amount: int) -> None:
    assert promise({"amount_said": words})[1] == amount


def test_what_is_ambiguous_keeps_its_candidates_and_no_single_value() -> None:
    days = (date(2026, 1, 30), date(2026, 2, 6))
    got = promise({"amount": 5000, "due_date_said": "next Friday"}, channel="whatsapp")
    assert got == ("proposed", 5000, None, (), days)
    assert promise({"amount_said": "5 or 6 thousand"})[3] == (5000, 6000)


def test_a_model_that_picks_one_of_several_readings_settles_nothing_unless_it_was_read_back() -> None:
    said = {"amount": 5000, "due_date": "2026-02-06", "due_date_said": "next Friday"}
    assert promise(said)[2:] == (None, (), (date(2026, 1, 30), date(2026, 2, 6)))
    assert promise(said | {"status": "confirmed", "read_back": True})[:3] == ("confirmed", 5000, date(2026, 2, 6))


def test_a_figure_that_contradicts_the_words_is_unsettled_and_not_confirmed() -> None:
    terms, codes = settled(FIRM | {"amount": 50000, "quote": "pandrah hazaar, fifteen thousand"})
    assert terms.promise
    assert (terms.promise.status, terms.promise.amount) == ("proposed", None)
    assert terms.promise.amount_candidates == (15000, 50000)
    assert {"number_not_in_quote", "amount_unsettled"} <= codes.keys()


def test_a_day_that_contradicts_the_words_is_unsettled() -> None:
    terms, codes = settled({"amount": 5000, "due_date": "2026-02-02", "due_date_said": "25th"})
    assert terms.promise
    assert terms.promise.due_date_candidates == (date(2026, 2, 2), date(2026, 2, 25))
    assert "due_date_contradicts" in codes


def test_a_figure_that_the_words_deny_is_not_taken() -> None:
    terms, codes = settled({"amount": 5000, "due_date": "2026-02-25", "quote": "25 ko 5000 nahi de paunga"})
    assert terms.promise
    assert (terms.promise.amount, terms.promise.amount_candidates) == (None, ())
    assert (terms.promise.due_date, terms.promise.due_date_candidates) == (None, ())
    assert codes == {"amount_unsettled": "commitment.amount", "due_date_contradicts": "commitment.due_date"}


def test_a_figure_that_the_words_replace_is_unsettled() -> None:
    terms, _ = settled(
        {"amount": 5000, "due_date": "2026-02-25", "quote": "25 ko nahi, 27 ko, aur 5000 nahi 4000 dunga"}
    )
    assert terms.promise
    assert (terms.promise.amount, terms.promise.amount_candidates) == (None, (4000, 5000))
    assert terms.promise.due_date is None
    assert terms.promise.due_date_candidates == (date(2026, 2, 25), date(2026, 2, 27))


def test_an_implausible_figure_gives_way_to_the_words() -> None:
    terms, codes = settled({"amount": -1, "amount_said": "5k", "due_date": "2020-01-01", "due_date_said": "30th"})
    assert terms.promise
    assert (terms.promise.amount, terms.promise.due_date) == (5000, date(2026, 1, 30))
    assert codes.keys() == {"amount_withheld", "due_date_withheld"}


def test_the_currency_of_the_words_is_kept_and_flagged() -> None:
    terms, codes = settled({"amount_said": "₦699,990"})
    assert terms.promise
    assert (terms.promise.amount, terms.promise.currency) == (699990, "NGN")
    assert codes == {"currency_differs": "commitment.currency"}


def test_what_the_quote_tells_of_as_paid_is_not_promised() -> None:
    terms, codes = settled({"quote": "kal 2000 diya tha, baaki 5 ko dunga"})
    assert terms.promise
    assert (terms.promise.amount, terms.promise.due_date, codes) == (None, date(2026, 2, 5), {})
    claim = settled(None, payment_claim={"quote": "3000 de diye the, 2000 kal dunga"})[0].claim
    assert claim
    assert claim.amount == 3000


def test_an_unknown_currency_makes_no_amount() -> None:
    terms, codes = settled({"amount": 5000, "currency": "XQQ"})
    assert terms.promise
    assert (terms.promise.amount, codes) == (None, {"amount_withheld": "commitment.amount"})


AGENT = {"speaker": "agent", "text": "So you will pay 5000 on 2 February?"}


def borrower(text: str) -> dict[str, str]:
    return {"speaker": "borrower", "text": text}


def test_a_read_back_has_to_be_seen_where_turns_are_sent() -> None:
    assert promise(FIRM, turns=[AGENT, borrower("haan, theek hai")])[0] == "confirmed"
    for turns in ([borrower("haan"), AGENT], [AGENT, borrower("let me see")], [AGENT]):
        terms, codes = settled(FIRM, turns=turns)
        assert terms.promise
        assert (terms.promise.status, codes) == ("proposed", {"read_back_not_seen": "commitment.status"})


def test_a_quote_of_the_agent_is_no_evidence_of_a_promise() -> None:
    terms, codes = settled(FIRM | {"quote": "you will pay 5000 on 2 Feb"}, turns=[
        {"speaker": "agent", "text": "So you will pay 5000 on 2 Feb?"}, borrower("let me see")])  # fmt: skip
    assert terms.promise is None
    assert codes == {"quote_not_borrower": "commitment.quote"}
    terms, codes = settled(FIRM | {"quote": "I will pay tomorrow"}, turns=[AGENT, borrower("haan")])
    assert (terms.promise, codes) == (None, {"quote_not_found": "commitment.quote"})


@pytest.mark.parametrize("outcome", ["third_party", "wrong_number", "voicemail", "no_answer", "busy"])
def test_nobody_but_the_borrower_promises_or_claims(outcome: str) -> None:
    terms, _ = settled(FIRM, outcome=outcome, payment_claim={"quote": "27 ko bhar diya"})
    assert terms == Settled(None, None, None)


def test_a_quote_in_the_past_tense_is_a_claim_and_no_promise() -> None:
    terms, codes = settled({"amount": 5000, "quote": "kal 5000 de diya tha"})
    assert terms.promise is None
    assert terms.claim
    assert (terms.claim.amount, terms.claim.paid_on) == (Decimal(5000), date(2026, 1, 27))
    assert codes


def test_a_claim_keeps_its_day_and_amount() -> None:
    terms, _ = settled(payment_claim={"paid_on": "2026-01-27", "quote": "27 ko 300 bhar diya"})
    assert terms.claim
    assert (terms.claim.amount, terms.claim.paid_on) == (300, date(2026, 1, 27))
    for day in ("2026-01-30", "2015-01-01", "0001-01-01", "2026-02-30"):
        terms, codes = settled(payment_claim={"paid_on": day})
        assert terms.claim
        assert (terms.claim.paid_on, codes) == (None, {"due_date_withheld": "payment_claim.paid_on"})


def test_an_appointment_is_read_from_its_words() -> None:
    terms, _ = settled(callback={"at_said": "tomorrow at 6 pm"})
    assert terms.callback
    assert terms.callback.at == datetime(2026, 1, 29, 12, 30, tzinfo=UTC)


FIVE = datetime(2026, 1, 29, 11, 30, tzinfo=UTC)
"""The next day at 17:00 in India."""


@pytest.mark.parametrize("field", ["at_said", "quote"])
@pytest.mark.parametrize(
    "text",
    [
        "mat call karo kal 5 pm", "don't call me tomorrow at 5 pm", "kyu call karte ho kal 5 pm",
        "कल शाम 5 बजे फोन मत करना",
    ],
)  # fmt: skip
def test_a_time_that_the_words_rule_out_is_no_callback_whatever_a_model_made_of_it(field: str, text: str) -> None:
    terms, codes = settled(callback={field: text, "at": FIVE.isoformat()})
    assert terms.callback is None
    assert codes == {"due_date_contradicts": f"callback.{field}"}


@pytest.mark.parametrize(
    "text",
    [
        "kal 5 pm call karo", "abhi baat nahi kar sakta, kal 5 pm call karo", "abhi mat call karo kal 5 pm karna",
        "5 pm nahi 6 pm ko call karo", "call me",
    ],
)  # fmt: skip
def test_a_time_that_is_asked_for_stays(text: str) -> None:
    terms, codes = settled(callback={"quote": text, "at": FIVE.isoformat()})
    assert terms.callback is not None
    assert terms.callback.at == FIVE
    assert codes == {}
