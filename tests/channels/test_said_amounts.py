"""Sums of money as borrowers say them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from channels.said import MOST_CANDIDATES, SaidAmount, amount

CLEAR = {
    "digits": {
        "5000": "5000",
        "0": "0",
        "1,25,000": "125000",
        "12,50,000": "1250000",
        "₹1,00,00,000": "10000000",
        "699,990": "699990",
        "12,500.50": "12500.50",
        "Rs 5,000.00": "5000",
        "1.25.000": "125000",
        "1.250,50": "1250.50",
        "10,0000": "100000",
        "5 000": "5000",
        "1 25 000": "125000",
        "12\u202f500": "12500",
    },
    "marks": {
        "Rs. 500/-": "500",
        "500/- only": "500",
        "500/=": "500",
        "Rs.5,000/- only": "5000",
        "Rs .500": "500",
        "Rs: 500": "500",
        "INR5000": "5000",
        "5000INR": "5000",
        "rs500": "500",
        "*5000*": "5000",
        "(5000)": "5000",
        "amount=5000": "5000",
        "5000+": "5000",
        "- 500 rupees": "500",
    },
    "letters": {
        "5k": "5000",
        "1.2K": "1200",
        "12.5k": "12500",
        "5 k": "5000",
        "15L": "1500000",
        "1L 25k": "125000",
        "2 cr": "20000000",
        "1.25cr": "12500000",
    },
    "english": {
        "five thousand": "5000",
        "a thousand": "1000",
        "hundred rupees": "100",
        "twelve thousand five hundred": "12500",
        "Rupees Ten Thousand Five Hundred Only": "10500",
        "twelve and a half thousand": "12500",
        "twenty-five thousand": "25000",
        "twelve hundred": "1200",
        "one hundred fifty thousand": "150000",
        "two hundred and fifty": "250",
        "one and a half lakh": "150000",
        "a lakh and a half": "150000",
        "one point five lakh": "150000",
        "half a million": "500000",
        "2 crore": "20000000",
        "five zero zero zero": "5000",
        "ninety nine thousand nine hundred ninety nine": "99999",
        "500 rupees 50 paise": "500.50",
        "50 paise": "0.50",
    },
    "hinglish": {
        "paanch hazaar": "5000",
        "panch hajar": "5000",
        "paach hajaar": "5000",
        "5hazaar": "5000",
        "do hazaar": "2000",
        "saat hazaar": "7000",
        "saath hazaar": "60000",
        "sat hazaar": "7000",
        "tera hazaar": "13000",
        "pachaas hazar": "50000",
        "nabbe hazaar": "90000",
        "bara hazaar paanch sau": "12500",
        "paanch so rupaye": "500",
        "paanchsau": "500",
        "pachis sau": "2500",
        "hazaar rupaye": "1000",
        "ek lakh pachees hazaar": "125000",
        "dedh lakh": "150000",
        "dedh sau": "150",
        "dhai hazaar": "2500",
        "sava lakh": "125000",
        "sava do lakh": "225000",
        "saadhe teen hazaar": "3500",
        "sadhe 3 hazar": "3500",
        "paune do lakh": "175000",
        "paune sau": "75",
        "aadha lakh": "50000",
        "2½ lakh": "250000",
        "½ lakh": "50000",
        ".5 lakh": "50000",
        "1.5 lakh": "150000",
        "25 lakh 50 hazaar": "2550000",
        "2 hazaar 500": "2500",
        "lagbhag 5 hazaar": "5000",
    },
    "devanagari": {
        "₹५,०००": "5000",
        "१.५ लाख": "150000",
        "पाँच हज़ार": "5000",
        "पांच हजार रुपये": "5000",
        "डेढ़ लाख": "150000",
        "ढाई हज़ार": "2500",
        "सवा लाख": "125000",
        "साढ़े तीन हज़ार": "3500",
        "पौने दो लाख": "175000",
        "पन्द्रह हजार": "15000",
        "पाँचसौ": "500",
        "नौ सौ निन्यानवे": "999",
        "दो लाख तीस हजार पाँच सौ पचास": "230550",
        "रु. ५००/-": "500",
        "फाइव थाउजेंड": "5000",
    },
    "digits of other scripts": {
        "٥٠٠٠": "5000",
        "٥٬٠٠٠": "5000",
        "๕๐๐๐": "5000",
        "௫௦௦௦": "5000",
        "５０００": "5000",
        "5️⃣0️⃣0️⃣0️⃣": "5000",
        "𝟓𝟎𝟎𝟎": "5000",
    },
    "with something else beside": {
        "25 ko 5000 de dungi": "5000",
        "5 tarikh tak 5 hazaar pakka": "5000",
        "5 hazaar 25 tarikh ko": "5000",
        "paanch hazaar pachees ko de dunga": "5000",
        "5k on 5th": "5000",
        "25 rs on 25": "25",
        "5000 rs 25 ko dunga": "5000",
        "kal shaam 6 baje 5000 bhej dunga": "5000",
        "5000 5 din baad": "5000",
        "5000 de dunga, mera number 9000000101": "5000",
        "5000 rupaye 9000000101 pe": "5000",
        "3 EMI of 5000": "5000",
        "5000 ki EMI": "5000",
        "5000 EMI": "5000",
        "5000 account mein daal dunga": "5000",
        "5000 x 2": "5000",
        "5000 in 2 parts": "5000",
        "2000 mein ho jayega": "2000",
        "5000 otp 1234": "5000",
        "I said 5000 not 15000": "5000",
        "no 5500": "5500",
        "aadha yaani 5000": "5000",
        "I took it in 2025, will pay 5000": "5000",
        "5000 nahi, 4000 dunga": "4000",
        "5000 nahi ho payega, 4000 de dunga": "4000",
        "I can't pay 5000 but can pay 4000": "4000",
        "I can pay only 5000 not 6000": "5000",
        "5000 se zyada nahi de paunga": "5000",
        "maximum 5000, not more": "5000",
        "2000 kal nahi parso dunga": "2000",
        "not 5000 but 4000": "4000",
        "50 de dunga": "50",
        "sirf 50": "50",
    },
    "the same sum twice": {
        "pandrah hazaar, fifteen thousand": "15000",
        "Rs 5000/- (five thousand only)": "5000",
        "5,000 yaani paanch hazaar, 5k": "5000",
    },
}


@pytest.mark.parametrize(("text", "value"), [pair for group in CLEAR.values() for pair in group.items()])
def test_a_sum_is_read_as_it_was_meant(text: str, value: str) -> None:
    said = amount(text)
    assert said is not None
    assert (said.value, said.candidates) == (Decimal(value), ())


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("5 or 6 thousand", ("5000", "6000")),
        ("5-6 hazaar", ("5000", "6000")),
        ("5 ya 6 hazaar", ("5000", "6000")),
        ("5 ya phir 6 hazaar", ("5000", "6000")),
        ("5 se 6 hazaar", ("5000", "6000")),
        ("5 hazaar ya 6", ("5000", "6000")),
        ("paanch chhe hazaar", ("5000", "6000")),
        ("पांच से छह हजार", ("5000", "6000")),
        ("दो तीन हज़ार", ("2000", "3000")),
        ("do dhai hazaar", ("2000", "2500")),
        ("dedh do lakh", ("150000", "200000")),
        ("das pandrah hazaar", ("10000", "15000")),
        ("4 to 5k", ("4000", "5000")),
        ("4k-5k", ("4000", "5000")),
        ("₹4,000-5,000", ("4000", "5000")),
        ("₹4,000 to ₹5,000", ("4000", "5000")),
        ("between 4000 and 5000", ("4000", "5000")),
        ("between 4 and 5 thousand", ("4000", "5000")),
        ("4 aur 5 hazaar ke beech", ("4000", "5000")),
        ("50000-60000", ("50000", "60000")),
        ("5000 or 6000", ("5000", "6000")),
        ("5000/6000", ("5000", "6000")),
        ("5000... no, 6000 rupees", ("5000", "6000")),
        ("2000 aaj aur 3000 kal", ("2000", "3000")),
        ("500 or 1 thousand", ("500", "1000")),
        ("fifteen or fifty thousand", ("15000", "50000")),
        ("5000 nahi to 4000", ("4000", "5000")),
        ("ek lakh pachas", ("100050", "150000")),
        ("12.500", ("12.5", "12500")),
        ("50,00", ("50", "5000")),
        ("3000,00", ("3000", "300000")),
        ("12,5,00", ("125", "12500")),
        ("1,25,00", ("125", "12500", "125000")),
        ("5,000,00", ("5000", "500000", "5000000")),
        ("1,00,0", ("1000", "100000")),
        ("chaar paanch sau", ("400", "500")),
        ("5, 6 hazaar", ("5000", "6000")),
    ],
)
def test_a_range_or_a_choice_keeps_its_candidates_and_no_value(text: str, values: tuple[str, ...]) -> None:
    said = amount(text)
    assert said is not None
    assert (said.value, said.candidates) == (None, tuple(map(Decimal, values)))


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "ok", "half of it", "aadha", "full amount", "poora kar dunga", "salary aane par de dunga",
        "kuch hazaar", "few thousand", "thousands", "lakhon ka",
        "2 EMIs", "do kist", "do baar", "ek baar", "5th EMI", "3 bachche hain", "2 loans", "100 baar bola",
        "5 baje", "6 pm", "10:30", "shaam 6", "at 6", "10 se 12 baje", "saadhe paanch baje", "24/7",
        "30%", "30 percent", "tees pratishat", "18 per cent",
        "-500", "-₹500", "₹-500", "minus 500", "10% of 5000", "half of 10000", "10000 ka aadha",
        "9000000101", "+91 90000 00101", "90000 00101", "90000-00101", "(022) 2345 6789", "1234567890123456",
        "nine zero zero zero zero zero zero one zero one",
        "482913 is the OTP", "4829 otp aaya hai", "last 4 digits are 4321", "a/c 456789", "loan a/c no 456789",
        "complaint no 4567", "agreement number is 78123", "cheque no 123456", "customer id 55123", "cust id: 55123",
        "cibil score 650", "CIBIL 720", "45 dpd", "IPC 420", "138 ka case", "100 number pe call",
        "2025 mein liya tha", "2024 se de raha hu", "a couple of thousand",
        "otp 123456", "OTP is 123456", "account 12345678", "loan no 1234", "loan no. 1234", "card ending 1234",
        "#1234",
        "LN12345", "B-101", "section 138 notice", "flat no 302",
        "25th", "25 tarikh", "25 ko de dunga", "by 25", "25 tak", "5 Jan", "5/1", "05-01-2027", "2027-01-05",
        "5 - 1 - 2027",
        "5-6 tarikh", "5 ya 6 tarikh", "next month 5", "month end", "in 3 days", "do din baad", "2 hafte", "3 mahine",
        "mujhe bata do", "kar do", "I do not know", "ke saath", "tera", "so please", "5 k baad", "5000 nahi",
        "5000 possible nahi hai", "5000 is not possible", "I can't pay 5000", "I will not pay 5000", "I don't have 5000",
        "won't be able to pay 5000 on the 25th", "5000 25 ko nahi de paunga", "ek rupya bhi nahi dunga",
        "not sure about 5000", "5000 दे पाना मुश्किल है",
    ],
)  # fmt: skip
def test_what_is_no_sum_is_none(text: str) -> None:
    assert amount(text) is None


@pytest.mark.parametrize(
    ("text", "currency"),
    [
        ("5000", None),
        ("paanch hazaar", None),
        ("₹5000", "INR"),
        ("Rs 5000", "INR"),
        ("500 Rs.", "INR"),
        ("5000 rupaye", "INR"),
        ("रु ५०००", "INR"),
        ("पांच हजार रुपये", "INR"),
        ("₦699,990", "NGN"),
        ("$50", "USD"),
        ("US$ 50", "USD"),
        ("R$ 500", "BRL"),
        ("€50", "EUR"),
        ("500 pesos", None),
        ("QAR 500", "QAR"),
        ("kwd 50", "KWD"),
        ("CHF500", "CHF"),
        ("500 pounds", "GBP"),
        ("500 yuan", "CNY"),
        ("Rp 50,000", "IDR"),
        ("RM 500", "MYR"),
        ("TSh 5,000", "TZS"),
        ("₴500", "UAH"),
        ("all 5000", None),
        ("try 5000", None),
        ("₹4,000-5,000", "INR"),
        ("5000 rupees, haan 5000", "INR"),
        ("₹500 or $10", None),
    ],
)
def test_a_currency_is_told_only_if_it_was_said(text: str, currency: str | None) -> None:
    said = amount(text)
    assert said is not None
    assert said.currency == currency


def test_a_bare_small_number_may_be_a_sum_when_nothing_else_is_said() -> None:
    assert amount("5") == SaidAmount(Decimal(5), None, ())
    assert amount("5 ya 6") == SaidAmount(None, None, (Decimal(5), Decimal(6)))


def test_candidates_are_bounded() -> None:
    said = amount(", ".join(f"{number} rupees" for number in range(100, 900)))
    assert said is not None
    assert len(said.candidates) == MOST_CANDIDATES
