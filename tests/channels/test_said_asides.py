"""Days that a sentence tells of and promises nothing for; and numbers, sums and hours that it takes back."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from channels.said import amount, due_date, in_past_tense, moment, promised_amount, promises

INDIA = "Asia/Kolkata"
WEDNESDAY = datetime.fromisoformat("2026-03-18T18:00:00+05:30")

NO_DAY = {
    "only a word is given": [
        "25 ko batata hu", "25 ko bataunga", "kal tak batadunga", "25 ko phone karunga aapko", "kal confirm karunga",
        "25 ko baat karte hai", "kal sochta hu", "I will let you know on 25th", "I'll call you back on 25th",
        "I will check and tell you tomorrow", "will confirm tomorrow", "let me see tomorrow", "बारह तारीख को बताता हूं",
    ],
    "something else is done": [
        "18 ko jawab dunga", "18 ko exam dunga", "18 ko form bhar dunga", "18 ko documents dunga",
        "18 ko chhutti le lunga",
        "18 ko screenshot bhejta hu", "28 ko hi pata chalega", "28 ko information dunga",
        "I'll visit the branch on 28th", "kal complaint karunga", "kal tumhe block kar dunga",
        "kal app delete kar dunga", "18 ko phone lagata hu aapko", "I'll get back to you on 18th",
        "I'll email you on 18th", "I'll send you the receipt tomorrow",
        "I'll be driving tomorrow at 5 pm", "kal shaam 5 baje gaadi chala raha hounga",
    ],
    "it is when it falls due": [
        "EMI 5 tarikh ki hai", "next EMI 5 ko hai na?", "meri billing date 28 hai", "18 ko car ki EMI bharni hai",
    ],
    "it is denied": [
        "18 ko na ho payega", "18 ko na de paunga", "na 18 ko na 20 ko", "neither 18th nor 20th", "forget about 18th",
        "I'm not going to pay 5000 on 18th", "अठारह को ना हो पाएगा",
    ],
    "the other side does something": ["aap 25 ko aaoge kya?", "will you call me on 25th?"],
    "somebody said it": [
        "boss ne bola 28 ko paise milenge", "manager said salary on 28th", "you people keep saying 28th",
        "aapne kaha 25 ko hoga",
        "madam ne kaha tha 18 tak chalega",
        "आपके आदमी ने कहा था पंद्रह तक", "SMS me 5 tarikh likha hai",
    ],
    "nobody said it": [
        "15 ko dunga aisa maine nahi bola", "main ye nahi keh raha ki 15 ko dunga", "I never said 25th",
        "मैंने नहीं कहा कि पंद्रह को दूंगा",
    ],
    "it is left open": [
        "25 ko salary ho ya na ho, de dunga", "25 ko paise ho ya na ho, dunga", "25 ko mile ya na mile",
        "kal ho na ho", "25 ko ho bhi sakta hai nahi bhi", "15 ko ho payega ki nahi pata nahi",
    ],
    "it is the day of something else": [
        "25 tarikh last date hai kya?", "bank wale bol rahe hai 31 tak band hai", "15 ko bank band rahega",
        "kal 11 baje meeting hai", "bacche ki fees 20 ko bharni hai", "meri beti ki fees 15 ko jayegi",
        "NACH 5 tarikh ko hai", "unhone 18 ko bulaya hai",
        "15 ko payment aani hai party se", "15 ko party payment karegi mujhe", "I am expecting money on 15th",
        "I'm getting a loan on 18th",
        "insurance claim will come by 15th",
    ],
    "it never came to it": ["I should have paid on 15th", "I could have paid on 25th"],
}  # fmt: skip


@pytest.mark.parametrize("text", [text for group in NO_DAY.values() for text in group])
def test_a_day_that_is_only_told_of_is_no_day_of_a_promise(text: str) -> None:
    assert due_date(text, WEDNESDAY, INDIA) is None
    assert not promises(text)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("salary ho ya na ho 25 ko de dunga", "2026-03-25"),
        ("15 tak salary aaye na aaye 20 ko dunga", "2026-03-20"),
        ("agent ne bola tha 20 tak, main 25 ko dunga", "2026-03-25"),
        ("25 ko nahi hua to 26 ko pakka", "2026-03-26"),
        ("25 ko, nahi nahi 26 ko dunga", "2026-03-26"),
        ("aaj 18 hai, 20 ko dunga", "2026-03-20"),
        ("phone karke 25 ko dunga", "2026-03-25"),
        ("I will call you and pay on 25th", "2026-03-25"),
        ("bhara nahi par bharunga 25 ko", "2026-03-25"),
        ("bees nahi teis", "2026-03-23"),
        ("bees nahi, teis tarikh", "2026-03-23"),
        ("बीस नहीं तेईस", "2026-03-23"),
        ("sorry 25 nahi 26", "2026-03-26"),
        ("25 nahi sorry 26", "2026-03-26"),
        ("20 mushkil hai 23 kar lo", "2026-03-23"),
        ("20 ko mushkil hai 23 ko kar lo", "2026-03-23"),
        ("20 not possible 23 ok", "2026-03-23"),
        ("बीस मुश्किल है पच्चीस कर लो", "2026-03-25"),
        ("will do 3000 day after tomorrow", "2026-03-20"),
        ("day after 3pm", "2026-03-20"),
        ("10 din ka time dedo, 8000 dunga", "2026-03-28"),
        ("money will reach you on 20th", "2026-03-20"),
        ("unnatis ko dunga", "2026-03-29"),
        ("attaees tarikh", "2026-03-28"),
        ("25 kar do", "2026-03-25"),
        ("25 likh lo", "2026-03-25"),
        ("25 ko payment karke screenshot bhej dunga", "2026-03-25"),
        ("25 ko bhar ke batata hu", "2026-03-25"),
        ("25 ko ghar pe aana main dunga", "2026-03-25"),
        ("sataarah april ko dunga", "2026-04-17"),
        ("aaj budhwar hai, somvar ko dunga", "2026-03-23"),
        ("18 is not ok 22 is ok", "2026-03-22"),
        ("I'll come to the branch on 25th and pay", "2026-03-25"),
        ("she said she will pay by the 25th", "2026-03-25"),
        ("mahine bhar baad", "2026-04-18"),
    ],
)
def test_a_promise_beside_what_is_told_keeps_its_own_day(text: str, day: str) -> None:
    said = due_date(text, WEDNESDAY, INDIA)
    assert said is not None
    assert said.value is not None
    assert said.value.isoformat() == day


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("not five, six thousand", "6000"),
        ("not 5, 6 hazaar", "6000"),
        ("thirty not thirteen thousand", "30000"),
        ("4000 mushkil hai 3000 kar dunga", "3000"),
        ("aap 5000 maang rahe ho main 3000 dunga", "3000"),
        ("aapne 5000 bola, mai 3000 hi dunga", "3000"),
        ("you are asking 5000 I can give only 3000", "3000"),
        ("will do 3000 day after tomorrow", "3000"),
        ("pauney do lakh", "175000"),
        ("savva sau rupaye", "125"),
        ("maine kabhi nahi kaha ki 5000 dunga", None),
        ("agar aap 2000 kam karo to main 25 ko dunga", None),
        ("hospital me 50000 lag gaye", None),
        ("expecting 20000 on 15th from a client, will pay 17th", None),
        ("B wing 1204 me rehta hu", None),
        ("4521 aaya hai otp me", None),
        ("card ka last 7788 hai", None),
        ("aadhar last 4 4455", None),
        ("400053 me rehta hu", None),
        ("1930 pe complaint karunga", None),
        ("train 12951 me hu", None),
        ("rbi 2022 ka rule hai", None),
        ("OTP 991 122", None),
        ("otp bataun 991122?", None),
        ("helpline 1800 pe baat hui", None),
        ("main nahi dene wala 5000", None),
        ("gyara sau ekyavan", "1151"),
    ],
)
def test_a_sum_of_something_else_is_not_promised(text: str, value: str | None) -> None:
    said = promised_amount(text)
    assert (said.value if said else None) == (Decimal(value) if value else None)


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("this Friday or next Friday", ("2026-03-20", "2026-03-27")),
        ("is shukravar ko ya agle shukravar ko", ("2026-03-20", "2026-03-27")),
        ("20 tak ho gaya to theek nahi to 22 tak", ("2026-03-20", "2026-03-22")),
    ],
)
def test_a_day_that_is_offered_beside_another_narrows_nothing_down(text: str, candidates: tuple[str, ...]) -> None:
    said = due_date(text, WEDNESDAY, INDIA)
    assert said is not None
    assert (said.value, tuple(day.isoformat() for day in said.candidates)) == (None, candidates)


@pytest.mark.parametrize("text", ["sava mahine baad", "sath sau", "paune sath sau"])
def test_what_nobody_works_out_is_neither_a_day_nor_a_sum(text: str) -> None:
    assert due_date(text, WEDNESDAY, INDIA) is None
    assert amount(text) is None


def test_a_bare_number_that_may_be_a_day_promises_no_sum() -> None:
    for text in ("25 pakka", "25 kar do", "25 nahi 26"):
        assert promised_amount(text) is None
    assert amount("25 pakka") is not None


@pytest.mark.parametrize(
    "text",
    [
        "salary aayi to 5 ko dunga", "bonus mila to 30 ko dunga", "ho sake to 25 ko dunga",
        "loan mil gaya to kal de dunga",
        "kal kar dunga bola tha usne", "main 25 ko call karke bataunga kab dunga", "kisne bola main 15 ko dunga",
        "15 ko branch visit karunga", "15 ko nayi job join karunga", "my client will pay me on 15th",
        "18 ko seth ji paise denge",
        "हो सकता है बीस को दे दूं", "mera bhai 25 ko de deta hai",
    ],
)  # fmt: skip
def test_what_depends_on_somebody_or_something_is_no_promise(text: str) -> None:
    assert not promises(text)


def test_a_brother_who_is_only_addressed_promises_nothing_himself() -> None:
    assert promises("haan bhai kal 2000 kar dunga")


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("payment ho gaya", True),
        ("mere bhai ne kal bhar diya", True),
        ("aapne link bheja tha maine bhar diya", True),
        ("petrol 100 rupaye litre ho gaya", False),
        ("aap logo ne 3000 ka offer diya tha", False),
        ("you gave me time till 25th", False),
        ("company ne advance diya 5000", False),
        ("papa ne 2000 diye mujhe", False),
        ("try kiya payment fail ho gaya", False),
        ("payment kiya par bounce ho gaya", False),
        ("abhi 500 kiye hai, baki month end", False),
    ],
)
def test_a_payment_is_claimed_by_who_paid(text: str, claims: bool) -> None:
    assert in_past_tense(text) is claims


@pytest.mark.parametrize(
    "text",
    [
        "mat call karo kal 5 pm", "kal shaam 5 baje call mat karo", "call mat karna kal subah 11 baje",
        "don't call me tomorrow at 5 pm", "never call me at 9 am tomorrow", "stop calling me at 9 am tomorrow",
        "no need to call tomorrow at 11 am", "kal 11 baje call karne ki zaroorat nahi",
        "कल सुबह ग्यारह बजे फोन मत करना",
        "call mat karo. kal 5 pm.", "call karna band karo kal 5 pm se", "kal 5 pm ko baat nahi kar paunga",
        "don't call me, I'll call tomorrow at 5 pm", "kal 5 pm ko mera phone band rahega",
        "kal 11 baje meeting hai", "tomorrow 11 am I am in a meeting", "kal 11 baje flight hai",
        "kyu call karte ho 9 baje subah kal", "kal 9 baje subah call aaya tha",
        "call me any time except 3 pm tomorrow", "kal 4 pm ko so raha hounga",
    ],
)  # fmt: skip
def test_a_time_that_is_forbidden_taken_or_past_is_not_asked_for(text: str) -> None:
    assert moment(text, WEDNESDAY, INDIA) is None


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("day after 3pm", "2026-03-20T15:00"),
        ("abhi baat nahi kar sakta kal shaam 5 baje call karo", "2026-03-19T17:00"),
        ("I can't talk now, call me tomorrow at 5 pm", "2026-03-19T17:00"),
        ("abhi mat call karo kal 5 pm karna", "2026-03-19T17:00"),
        ("not now, tomorrow 4 pm", "2026-03-19T16:00"),
        ("raat ko call mat karo, kal subah 10 baje karo", "2026-03-19T10:00"),
        ("main nahi de paunga, kal 5 pm call karo", "2026-03-19T17:00"),
        ("kya aap kal shaam 5 baje call kar sakte hai?", "2026-03-19T17:00"),
        ("bank band hai abhi, kal 11 am call karo", "2026-03-19T11:00"),
        ("अभी फोन मत करो कल शाम पांच बजे करना", "2026-03-19T17:00"),
        ("parso subah 10 baje baat karte hai", "2026-03-20T10:00"),
        ("kal nahi parso 11 baje call karo", "2026-03-20T11:00"),
        ("not tomorrow, Friday 11 am call me", "2026-03-20T11:00"),
        ("kal 3 pm ko call karo nahi to main karunga", "2026-03-19T15:00"),
    ],
)
def test_a_time_is_asked_for_beside_another_that_is_not(text: str, local: str) -> None:
    assert moment(text, WEDNESDAY, INDIA) == datetime.fromisoformat(f"{local}:00+05:30")
