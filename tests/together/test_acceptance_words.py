"""What people's words mean once a channel posts them: dates and amounts through the whole service (AC-25 to 38, 40, 41).

A conversation may have ended long ago; what counts is the due date resolved against its end, in the borrower's zone.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.together.conftest import Json, Tenant, another, day, phone, promise, said, terms, warned
from tests.together.service import ago

pytestmark = pytest.mark.process

IST = "+05:30"


def resolved(acme: Tenant, ended: str, words: Json, channel: str = "whatsapp", **fields: Any) -> Json:
    """The commitment in force after one conversation that ended then, with the warnings it met."""
    one = acme.borrower()
    ended_at = ended if "T" in ended else f"{ended}T18:00:00{IST}"
    answer = one.says(channel, words, ended_at=ended_at, **fields)
    commitment: Json = one.commitment() or {}
    return commitment | {"warned": warned(answer), "briefing": one.briefing()}


# -- dates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "words", "due"),
    [
        # AC-25: a day of the month
        ("2026-01-28", "25th", "2026-02-25"),
        ("2026-01-28", "30th", "2026-01-30"),
        ("2026-01-28", "on the 2nd", "2026-02-02"),
        ("2026-01-28", "25 tarikh ko", "2026-02-25"),
        ("2026-03-05", "by the 5th of next month", "2026-04-05"),
        # AC-26: a weekday
        ("2026-01-28", "Friday", "2026-01-30"),
        ("2026-01-31", "Monday", "2026-02-02"),
        ("2026-01-28", "shukravar", "2026-01-30"),
        ("2026-04-29", "Sunday tak", "2026-05-03"),
        # AC-28: kal and parso
        ("2026-01-28", "parso", "2026-01-30"),
        ("2026-01-28", "aaj", "2026-01-28"),
        ("2026-01-28", "day after tomorrow", "2026-01-30"),
        # AC-29: month end
        ("2026-01-28", "month end tak", "2026-01-31"),
        ("2026-02-10", "month end", "2026-02-28"),
        ("2024-02-10", "month end tak", "2024-02-29"),
        ("2026-04-02", "mahine ke end tak", "2026-04-30"),
        # AC-32: day first
        ("2026-01-28", "03/04/2026", "2026-04-03"),
        ("2026-01-28", "12/02/2026", "2026-02-12"),
        ("2026-01-28", "13/02/2026", "2026-02-13"),
        ("2026-01-28", "3-4-2026", "2026-04-03"),
        ("2026-01-28", "05.02.26", "2026-02-05"),
        # AC-33: the turn of the year
        ("2025-12-31", "5 Jan", "2026-01-05"),
        ("2025-12-28", "2 tarikh", "2026-01-02"),
        ("2025-12-30", "January 3rd", "2026-01-03"),
        # AC-34: a day that exists in a leap year alone
        ("2024-01-28", "29 Feb", "2024-02-29"),
        # counts of days and weeks
        ("2026-01-28", "in 3 days", "2026-01-31"),
        ("2026-01-28", "do din mein", "2026-01-30"),
        ("2026-01-28", "ek hafte mein", "2026-02-04"),
    ],
)
def test_words_for_a_day_are_resolved_against_the_end_of_the_conversation(
    acme: Tenant, ended: str, words: str, due: str
) -> None:
    found = resolved(acme, ended, {"amount": 5000, "due_date_said": words})
    assert (found["status"], found["due_date"], found["due_date_candidates"]) == ("proposed", due, [])


@pytest.mark.parametrize(
    ("ended", "quote", "due"),
    [
        ("2026-01-28", "kal de dunga", "2026-01-29"),
        ("2026-01-28", "parso kar dunga", "2026-01-30"),
        ("2026-01-28", "kal pakka bhej dungi", "2026-01-29"),
        ("2026-02-28", "main kal kar doonga", "2026-03-01"),
        ("2026-01-28", "I will pay tomorrow", "2026-01-29"),
        ("2026-01-28", "कल दे दूंगा", "2026-01-29"),
        # AC-31: around midnight
        (f"2026-01-29T00:20:00{IST}", "kal de dunga", "2026-01-30"),
        ("2026-01-28T18:50:00Z", "kal de dunga", "2026-01-30"),
        ("2026-01-28T18:10:00Z", "kal de dunga", "2026-01-29"),
        (f"2026-01-28T23:59:59{IST}", "parso de dunga", "2026-01-30"),
        ("2026-01-28T23:00:00-05:00", "kal de dunga", "2026-01-30"),
    ],
)
def test_a_quote_is_read_where_no_words_are_given(acme: Tenant, ended: str, quote: str, due: str) -> None:
    """AC-28, AC-31."""
    assert resolved(acme, ended, {"quote": quote})["due_date"] == due


@pytest.mark.parametrize("quote", ["kal de diya tha", "kal bhar diya", "I paid yesterday", "parso hi bhej diya tha"])
def test_kal_with_a_past_verb_is_a_claim_and_no_promise(acme: Tenant, quote: str) -> None:
    one = acme.borrower()
    one.says("voice", {"amount": 700, "quote": quote}, ended_at=f"2026-01-28T12:00:00{IST}")
    read = one.read()
    assert read["commitment"] is None
    assert read["payment_claim"]["paid_on"] in ("2026-01-27", "2026-01-26")
    assert read["flags"]["payment_confirmed"] is False


def test_the_zone_is_the_borrowers(acme: Tenant) -> None:
    one = acme.borrower()
    one.link(time_zone="America/New_York", occurred_at="2025-01-01T00:00:00Z")
    one.says("voice", {"quote": "I will pay tomorrow"}, ended_at="2026-01-29T03:00:00Z")
    assert one.commitment()["due_date"] == "2026-01-29", "there it was still the 28th"
    assert one.resume()["contact"]["time_zone"] == "America/New_York"


@pytest.mark.parametrize(
    ("ended", "words", "candidates"),
    [
        ("2026-01-28", "next Friday", ["2026-01-30", "2026-02-06"]),
        ("2026-01-28", "next Monday", ["2026-02-02", "2026-02-09"]),
        ("2026-03-03", "agle budhwar", ["2026-03-04", "2026-03-11"]),
        ("2026-01-28", "30th or 31st", ["2026-01-30", "2026-01-31"]),
    ],
)
@pytest.mark.parametrize("channel", ["whatsapp", "voice"])
def test_what_is_ambiguous_keeps_its_candidates_and_is_to_be_read_back(
    acme: Tenant, ended: str, words: str, candidates: list[str], channel: str
) -> None:
    """AC-27."""
    found = resolved(acme, ended, {"amount": 5000, "due_date_said": words}, channel)
    assert (found["status"], found["due_date"], found["due_date_candidates"]) == ("proposed", None, candidates)
    assert "due_date_ambiguous" in found["warned"]
    assert "read the date back" in found["briefing"]
    assert words in found["briefing"]


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ("2026-01-28", "29 Feb"), ("2026-01-31", "30th"), ("2026-02-10", "31st"), ("2026-01-28", "31 April"),
        ("2026-01-28", "30/02/2026"), ("2026-01-28", "32 tarikh"),
    ],
)  # fmt: skip
def test_a_day_that_does_not_exist_is_kept_as_said_and_read_back(acme: Tenant, ended: str, words: str) -> None:
    """AC-34."""
    found = resolved(acme, ended, {"amount": 5000, "due_date_said": words})
    assert (found["status"], found["due_date"], found["due_date_candidates"]) == ("proposed", None, [])
    assert words in found["briefing"]
    assert "read the date back" in found["briefing"]
    assert found["warned"] & {"due_date_ambiguous", "due_date_contradicts"}


@pytest.mark.parametrize(
    "words", ["salary aane par de dunga", "jab paise aayenge", "soon", "after my salary", "dekhte hain"]
)
def test_a_vague_event_is_no_date(acme: Tenant, words: str) -> None:
    """AC-30, the first run."""
    found = resolved(acme, "2026-01-28", {"amount": 5000, "due_date_said": words, "quote": words})
    assert (found["status"], found["due_date"], found["due_date_candidates"]) == ("proposed", None, [])
    assert "read the date back" in found["briefing"]


def test_a_known_salary_day_is_offered_as_a_question_and_never_as_the_date(acme: Tenant) -> None:
    """AC-30, the second run."""
    one = acme.borrower()
    quote = "meri salary har mahine 7 tarikh ko aati hai"
    one.says(
        "voice",
        facts=[{"kind": "income_day", "text": "salary on the 7th", "confidence": 0.95, "quote": quote}],
        turns=said("agent: kab aati hai?", f"borrower: {quote}"),
        ended_at=ago(hours=5),
    )
    words = "salary aane par de dunga"
    one.says("voice", {"due_date_said": words, "quote": words}, ended_at=ago(hours=1))
    assert (one.commitment()["due_date"], one.commitment()["due_date_candidates"]) == (None, [])
    briefing = one.briefing()
    assert "As a question only" in briefing
    assert "7th" in briefing


@pytest.mark.parametrize("language", ["en-US", "hi-IN", "de-DE", None])
def test_a_structured_date_is_what_it_says_in_every_language(acme: Tenant, language: str | None) -> None:
    """AC-32."""
    found = resolved(acme, "2026-01-28", {"amount": 5, "due_date": "2026-04-03"}, language=language)
    assert found["due_date"] == "2026-04-03"


@pytest.mark.parametrize("due", ["2026-01-27", "2020-02-02", "2026-02-30", "9999-12-31", "0001-01-01"])
def test_a_due_date_that_cannot_be_is_withheld_and_the_rest_is_merged(acme: Tenant, due: str) -> None:
    found = resolved(acme, "2026-01-28", {"amount": 5000, "due_date": due})
    assert terms(found) == ("proposed", "5000.00", None)
    assert "due_date_withheld" in found["warned"]


def test_after_a_withheld_date_the_words_count(acme: Tenant) -> None:
    found = resolved(acme, "2026-01-28", {"amount": 5000, "due_date": "2025-02-02", "due_date_said": "2nd"})
    assert found["due_date"] == "2026-02-02"


def test_a_date_that_contradicts_the_words_is_unsettled_and_not_confirmed(acme: Tenant) -> None:
    words = {
        "amount": 5000,
        "due_date": "2026-02-07",
        "due_date_said": "Monday",
        "status": "confirmed",
        "read_back": True,
    }
    found = resolved(acme, "2026-01-31", words, "voice")
    assert (found["status"], found["due_date"]) == ("proposed", None)
    assert found["due_date_candidates"] == ["2026-02-02", "2026-02-07"]
    assert "due_date_contradicts" in found["warned"]


@pytest.mark.parametrize("date", ["02-02-2026", "2026-2-2", "tomorrow", "20260202", "2026-02-02T00:00:00Z"])
def test_what_is_no_date_is_refused_by_name(acme: Tenant, date: str) -> None:
    refused = acme.borrower().says("voice", {"due_date": date}, status=422)
    assert refused["errors"] == [{"field": "commitment.due_date", "code": "not_a_date"}]


# -- amounts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "amount"),
    [
        # AC-35
        ("1,25,000", "125000.00"), ("12,50,000", "1250000.00"), ("₹1,00,00,000", "10000000.00"), ("Rs. 5,000/-", "5000.00"),
        ("INR 12,500.50", "12500.50"), ("5000 rupees", "5000.00"), ("rs 2,500 only", "2500.00"),
        # AC-36
        ("5k", "5000.00"), ("paanch hazaar", "5000.00"), ("1.5 lakh", "150000.00"), ("15L", "1500000.00"),
        ("2 cr", "20000000.00"), ("2.5k", "2500.00"), ("dedh lakh", "150000.00"), ("dhai hazaar", "2500.00"),
        ("saade teen hazaar", "3500.00"), ("twelve thousand five hundred", "12500.00"), ("do lakh", "200000.00"),
        ("5 hazar", "5000.00"), ("ek lakh bees hazaar", "120000.00"),
        # AC-41
        ("₹५,०००", "5000.00"), ("१.५ लाख", "150000.00"), ("१२,५०० रुपये", "12500.00"), ("पाँच हज़ार", "5000.00"),
    ],
)  # fmt: skip
def test_words_for_an_amount_are_read_whole(acme: Tenant, words: str, amount: str) -> None:
    found = resolved(acme, "2026-01-28", {"amount_said": words, "due_date": "2026-02-02"})
    assert (found["amount"], found["currency"], found["amount_candidates"]) == (amount, "INR", [])
    assert found["warned"] == set()


@pytest.mark.parametrize(
    ("words", "amount", "currency"),
    [
        ("₦699,990", "699990.00", "NGN"),
        ("$120", "120.00", "USD"),
        ("€1.200,50", None, "EUR"),
        ("AED 400", "400.00", "AED"),
        ("¥5000", "5000", "JPY"),
    ],
)
def test_the_currency_of_the_words_is_kept_and_flagged(
    acme: Tenant, words: str, amount: str | None, currency: str
) -> None:
    """AC-37."""
    one = acme.borrower()
    one.opens(amount="700000")
    answer = one.says("voice", {"amount_said": words, "due_date": day(3)})
    commitment = one.commitment()
    assert commitment["currency"] == currency
    assert amount is None or commitment["amount"] == amount
    assert "currency_differs" in warned(answer)
    one.pays("699990")
    assert one.commitment()["outcome"] == "open", "rupees keep no promise in another currency"
    assert one.read()["cycle"]["outstanding"] == "10.00"
    assert f"in {currency} and the loan in INR" in one.briefing()


def test_heard_wrongly_fifteen_or_fifty(acme: Tenant) -> None:
    """AC-38."""
    quote = "pandrah hazaar, fifteen thousand"
    words = {"amount": 50000, "due_date": "2026-02-02", "status": "confirmed", "read_back": True, "quote": quote}
    found = resolved(acme, "2026-01-28", words, "voice")
    assert (found["status"], found["amount"]) == ("proposed", None)
    assert found["amount_candidates"] == ["15000.00", "50000.00"]
    assert {"number_not_in_quote", "amount_unsettled"} <= found["warned"]
    assert "15,000" in found["briefing"]
    assert "50,000" in found["briefing"]


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        ({"amount": 70, "quote": "seventeen, satrah rupaye"}, ["17.00", "70.00"]),
        ({"amount": 6000, "amount_said": "solah hazaar"}, ["6000.00", "16000.00"]),
        ({"amount_said": "5 ya 6 hazaar"}, ["5000.00", "6000.00"]),
        ({"amount_said": "5000-6000"}, ["5000.00", "6000.00"]),
    ],
)
@pytest.mark.parametrize("channel", ["voice", "whatsapp"])
def test_figures_that_differ_are_all_kept_and_none_is_chosen(
    acme: Tenant, words: Json, candidates: list[str], channel: str
) -> None:
    found = resolved(acme, "2026-01-28", words, channel)
    assert (found["amount"], found["amount_candidates"]) == (None, candidates)
    assert "amount_unsettled" in found["warned"]
    assert "read the amount back" in found["briefing"]


@pytest.mark.parametrize(
    "amount", [0, -500, 1000000000000, "five", "0", "0.00", "-1", "1e12", "", "1,000", 1e300, "٥٠"]
)
@pytest.mark.parametrize("channel", ["voice", "whatsapp"])
def test_an_amount_that_cannot_be_is_withheld_and_the_rest_is_merged(acme: Tenant, amount: Any, channel: str) -> None:
    """AC-40."""
    one = acme.borrower()
    answer = one.says(channel, promise(amount), summary="He called about his date.")
    assert answer["status"] == "merged"
    assert warned(answer) == {"amount_withheld"}
    assert terms(one.commitment()) == ("proposed", None, day(5))
    assert "He called about his date." in one.briefing()


def test_no_amount_with_a_date_is_a_promise_without_an_amount(acme: Tenant) -> None:
    found = resolved(acme, "2026-01-28", {"amount": None, "due_date": "2026-02-02"})
    assert (terms(found), found["warned"]) == (("proposed", None, "2026-02-02"), set())


@pytest.mark.parametrize("amount", [[5000], {"value": 5000}, True, False])
def test_a_list_or_an_object_for_an_amount_is_refused_by_name(acme: Tenant, amount: Any) -> None:
    refused = acme.borrower().says("voice", {"amount": amount}, status=422)
    assert refused["errors"] == [{"field": "commitment.amount", "code": "wrong_type"}]


@pytest.mark.parametrize(
    "amount", [0, -1, "0", "abc", "", "1e999", "NaN", "Infinity", True, [], None, "12,500", "5_0", " 5", "٥٠"]
)
def test_an_amount_of_an_event_is_a_decimal_above_zero_or_refused(acme: Tenant, amount: Any) -> None:
    one = acme.borrower()
    refused = one.pays(amount, status=422)
    assert refused["errors"] == [{"field": "amount", "code": "missing" if amount is None else "wrong_type"}]
    assert one.read(status=404)["code"] == "unknown_borrower"


@pytest.mark.parametrize(
    ("currency", "given", "told"),
    [
        ("INR", "12500", "12500.00"),
        ("JPY", 5000, "5000"),
        ("KWD", "1.5", "1.500"),
        ("USD", 0.1, "0.10"),
        ("inr", 7, "7.00"),
    ],
)
def test_money_goes_out_with_its_currencys_decimals(acme: Tenant, currency: str, given: Any, told: str) -> None:
    one = acme.borrower()
    one.opens(amount=given, currency=currency)
    one.pays(given, currency=currency)
    cycle = one.read()["cycle"]
    assert (cycle["received"], cycle["currency"], cycle["status"]) == (told, currency.upper(), "paid")


@pytest.mark.parametrize("currency", ["XYZ", "rupees", "R", 5, ""])
def test_a_currency_that_is_none_is_refused_in_events_and_withheld_in_summaries(acme: Tenant, currency: Any) -> None:
    one = acme.borrower()
    assert one.pays("5", currency=currency, status=422)["errors"][0]["field"] == "currency"
    if currency == "XYZ":
        answer = one.says("voice", {"amount": 900, "currency": currency, "due_date": day(2)})
        assert "amount_withheld" in warned(answer)
        assert terms(one.commitment()) == ("proposed", None, day(2))


def test_a_number_of_somebody_is_not_an_amount(acme: Tenant) -> None:
    one = acme.borrower()
    one.says("whatsapp", {"quote": f"call me on {phone(one.number)['value']} , kal de dunga"})
    assert one.commitment()["amount"] is None
    assert another() > 0
