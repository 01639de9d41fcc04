"""Callback times, and what is claimed rather than promised."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from channels.said import in_past_tense, moment, promises

INDIA = "Asia/Kolkata"
WEDNESDAY_EVENING = datetime.fromisoformat("2026-01-28T18:00:00+05:30")


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("kal shaam 6 baje", "2026-01-29T18:00"),
        ("kal shaam ko 6 baje", "2026-01-29T18:00"),
        ("kal shaam 6", "2026-01-29T18:00"),
        ("kal 6 baje shaam ko", "2026-01-29T18:00"),
        ("tomorrow at 6 pm", "2026-01-29T18:00"),
        ("tomorrow 6pm", "2026-01-29T18:00"),
        ("kal 6 p.m.", "2026-01-29T18:00"),
        ("tomorrow 6 in the evening", "2026-01-29T18:00"),
        ("6:30 tomorrow evening", "2026-01-29T18:30"),
        ("6 baje kal shaam", "2026-01-29T18:00"),
        ("tomorrow 4:30 pm", "2026-01-29T16:30"),
        ("tomorrow 4.30 pm", "2026-01-29T16:30"),
        ("tomorrow 16:30", "2026-01-29T16:30"),
        ("tomorrow half past 5 pm", "2026-01-29T17:30"),
        ("tomorrow quarter to 6 pm", "2026-01-29T17:45"),
        ("tomorrow noon", "2026-01-29T12:00"),
        ("tomorrow 12 am", "2026-01-29T00:00"),
        ("tomorrow 07:30", "2026-01-29T07:30"),
        ("day after tomorrow 10:30", "2026-01-30T10:30"),
        ("call me tomorrow at 9", "2026-01-29T09:00"),
        ("kal subah 10 baje", "2026-01-29T10:00"),
        ("kal 11 baje", "2026-01-29T11:00"),
        ("kal dopahar 2 baje", "2026-01-29T14:00"),
        ("kal saadhe paanch baje shaam ko", "2026-01-29T17:30"),
        ("kal sava 5 baje shaam", "2026-01-29T17:15"),
        ("kal paune chhe baje shaam", "2026-01-29T17:45"),
        ("कल शाम 6 बजे", "2026-01-29T18:00"),
        ("कल सुबह साढ़े दस बजे", "2026-01-29T10:30"),
        ("aaj raat 9 baje", "2026-01-28T21:00"),
        ("Friday 4pm", "2026-01-30T16:00"),
        ("25 tarikh ko shaam 5 baje", "2026-02-25T17:00"),
        ("29 Jan 18:30", "2026-01-29T18:30"),
        ("2026-01-29 18:00", "2026-01-29T18:00"),
        ("2026-01-29T18:00", "2026-01-29T18:00"),
        ("2026-01-29T12:30:00Z", "2026-01-29T18:00"),
        ("in 2 hours", "2026-01-28T20:00"),
        ("2 ghante baad", "2026-01-28T20:00"),
        ("dedh ghante baad", "2026-01-28T19:30"),
        ("sava ghante baad", "2026-01-28T19:15"),
        ("15 mins", "2026-01-28T18:15"),
        ("aadhe ghante baad", "2026-01-28T18:30"),
        ("in half an hour", "2026-01-28T18:30"),
        ("30 minute baad call karo", "2026-01-28T18:30"),
    ],
)
def test_a_time_whose_day_and_hour_are_clear_is_an_instant(text: str, local: str) -> None:
    at = moment(text, WEDNESDAY_EVENING, INDIA)
    assert at == datetime.fromisoformat(f"{local}:00+05:30")
    assert at is not None
    assert at.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "", "ok", "kal", "6 pm", "10:30", "kal shaam ko call karo", "kal 5 baje", "tomorrow 4:30", "next Friday 5 pm",
        "kal 10 se 12 baje", "kal ya parso 6 pm", "tomorrow after 6 pm", "kal 10 baje ke baad", "aaj subah 10 baje",
        "kal raat 2 baje",
        "kal 6 baje diya tha", "31 Feb 6 pm", "2026-01-01T10:00:00Z", "2 ghante pehle", "kal 25 baje",
        "kal 2 ghante baad",
    ],
)  # fmt: skip
def test_a_time_that_leaves_its_day_or_its_hour_open_is_none(text: str) -> None:
    assert moment(text, WEDNESDAY_EVENING, INDIA) is None


def test_an_hour_that_the_zone_has_twice_is_no_clear_hour() -> None:
    before_the_change = datetime.fromisoformat("2026-10-31T22:30:00-04:00")
    assert moment("tomorrow at 1:30 am", before_the_change, "America/New_York") is None
    assert moment("tomorrow at 3 am", before_the_change, "America/New_York") == datetime(2026, 11, 1, 8, tzinfo=UTC)


def test_an_hour_that_the_zone_skips_is_no_clear_hour() -> None:
    before_the_change = datetime.fromisoformat("2026-03-28T12:00:00+00:00")
    assert moment("tomorrow 1:30 am", before_the_change, "Europe/London") is None
    assert moment("tomorrow 2:30 am", before_the_change, "Europe/London") == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "kal diya tha", "27 ko bhar diya", "I have paid", "already paid", "paid yesterday", "paid",
        "I have already paid 5000 on 25th",
        "dediya", "payment krdiya", "abhi kiya payment",
        "google pay se kiya tha", "I did the payment", "did pay", "have paid 5000", "kal diya tha na?", "payment has been made",
        "payment ho gaya hai", "payment kar di thi", "payment done", "already done the payment", "EMI bhar di",
        "de chuka hu",
        "5000 transfer kar diya", "I transferred it yesterday", "maine jama kar diya hai", "kar diya payment",
        "upi kar diya", "is mahine ki EMI bhar chuki hu", "is baar bhar diya hai",
        "kal maine UPI se 5000 bheje the", "payment on 20th Jan was done", "payment kar diya, kal tak dikh jayega",
        "payment kar diya hai, receipt bhej dunga", "paise de di", "baaki sab clear kar diya",
        "भर दिया", "कल दे दिया था", "पैसे दे चुका हूँ", "भुगतान कर दिया है", "मैंने कल ही पैसे भर दिए",
    ],
)  # fmt: skip
def test_a_payment_in_the_past_tense_is_a_claim(text: str) -> None:
    assert in_past_tense(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "ok", "5000", "kal", "next Friday", "kal de dunga", "25 ko 5000 de dungi", "payment kar dunga",
        "kal kar deta hu",
        "main de sakta hu", "कल दे दूंगा", "I will pay", "can pay 5000", "I'll transfer",
        "I will have it paid by Friday",
        "it will be paid by Friday", "I get paid on 5th", "de diya jayega", "diya hota",
        "agar salary aa gayi to de dunga",
        "I haven't paid", "not paid yet", "nahi diya", "diya nahi", "abhi tak nahi bhara", "never paid late",
        "नहीं दिया",
        "kal 2000 diya tha, baaki 25 ko de dunga", "paid 3000 on 20 Jan, remaining 2000 on 5 Feb",
        "kya payment ho gaya?", "payment ho gaya kya", "is it paid?", "has my payment been received?",
        "mandate cancel kar diya", "ghar bech diya", "paise chori ho gaye",
        "payment fail ho gaya", "phone kat gaya", "receipt bhej diya", "I did not do the payment",
        "bata diya", "mana kar diya", "call kar diya", "ok done, 25th", "salary aane par de dunga",
        "I have been paid my salary", "EMI bounce ho gayi", "cheque bounce ho gaya", "EMI miss ho gayi", "payment return ho gaya",
        "payment late ho gaya", "is payment done?",
    ],
)  # fmt: skip
def test_a_promise_a_refusal_and_a_denial_are_no_claims(text: str) -> None:
    assert not in_past_tense(text)


@pytest.mark.parametrize(
    "text",
    [
        "ok 25 ko 5000 de dungi", "I will pay tomorrow", "कल दे दूंगा", "kal nahi parso dunga", "25 ko nahi 26 ko 5000 de dungi",
        "kal nahi ho payega, parso kar dunga", "5000 nahi, 4000 dunga kal", "not today, I will pay tomorrow",
        "I won't pay today but will pay tomorrow", "I promise I will pay on 25th", "pakka 25 ko dunga promise",
    ],
)  # fmt: skip
def test_what_is_undertaken_outright_is_a_promise_also_where_another_day_or_sum_is_denied(text: str) -> None:
    assert promises(text)


@pytest.mark.parametrize(
    "text",
    [
        "kal nahi dunga", "nahi dunga 25 ko", "dunga nahi 25 ko", "5000 nahi dunga 25 ko", "25 ko nahi, sochta hu",
        "25 ko nahi dunga 26 ko bhi nahi dunga", "mujhe nahi pata 25 ko dunga", "25 ko nahi kabhi nahi dunga",
        "not 25th, I will not pay", "25 nahi 26 ko bhai dega", "agar paise aaye to 25 ko dunga", "kya 25 ko de du?",
    ],
)  # fmt: skip
def test_what_is_refused_put_off_or_asked_is_no_promise(text: str) -> None:
    assert not promises(text)
