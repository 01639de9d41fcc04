"""Days as borrowers say them: ahead for a promise, back for a payment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from channels.said import MOST_CANDIDATES, SaidDate, dates, due_date, paid_on

INDIA = "Asia/Kolkata"


def evening(day: str) -> datetime:
    return datetime.fromisoformat(f"{day}T18:00:00+05:30")


WEDNESDAY = evening("2026-01-28")


def days(said: SaidDate | None) -> tuple[str, ...]:
    """The one day, or the candidates; asserts that an answer is of one sort only."""
    if said is None:
        return ()
    assert not said.impossible
    assert (said.value is None) == (len(said.candidates) >= 2)
    return (said.value.isoformat(),) if said.value else tuple(day.isoformat() for day in said.candidates)


AHEAD = {
    "a day of the month": {
        "25th": "2026-02-25", "30th": "2026-01-30", "28th": "2026-01-28", "the 25th": "2026-02-25",
        "25 th": "2026-02-25",
        "25 tarikh": "2026-02-25", "25 tareekh ko": "2026-02-25", "tarikh 25": "2026-02-25", "date: 25": "2026-02-25",
        "25 ko 5000 de dungi": "2026-02-25", "25ko": "2026-02-25", "25 tak": "2026-02-25", "by 25": "2026-02-25",
        "25 pakka": "2026-02-25", "pakka 25": "2026-02-25", "ok 25th done": "2026-02-25", "not on 20th, 23rd": "2026-02-23",
        "25 se pehle": "2026-02-25", "before 25th": "2026-02-25", "25": "2026-02-25",
        "1st of every month": "2026-02-01",
        "pachees tarikh": "2026-02-25", "do tarikh": "2026-02-02", "bara tarikh": "2026-02-12",
        "twenty fifth": "2026-02-25",
        "pehli tarikh ko": "2026-02-01", "teesri tarikh": "2026-02-03", "pandrah ko": "2026-02-15",
        "25 तारीख को": "2026-02-25", "२५ तारीख": "2026-02-25", "पच्चीस तारीख": "2026-02-25",
        "5000 5 tarikh": "2026-02-05", "5000 rs 25 ko": "2026-02-25", "har mahine ki 5 tarikh": "2026-02-05",
    },
    "a day and a month": {
        "5 Jan": "2027-01-05", "Jan 5th": "2027-01-05", "5th of January 2027": "2027-01-05", "5Jan": "2027-01-05",
        "january ki 5 tarikh": "2027-01-05", "5 tarikh january ki": "2027-01-05", "feb 10": "2026-02-10",
        "February 3rd, 2026": "2026-02-03", "2 farvari": "2026-02-02", "5 फरवरी": "2026-02-05",
        "मई की 5 तारीख": "2026-05-05",
        "5 may tak": "2026-05-05", "may 5": "2026-05-05", "5 mar": "2026-03-05", "28 jan": "2026-01-28",
        "25/2/26": "2026-02-25", "25-2-26": "2026-02-25", "25.2.26": "2026-02-25", "on the second": "2026-02-02",
        "5 feb 2000": "2026-02-05", "5 feb 2050": "2050-02-05",
        "5-Jan-2027": "2027-01-05", "05/Jan/27": "2027-01-05", "5 Jan '27": "2027-01-05",
    },
    "numbers, day first": {
        "03/04/2026": "2026-04-03", "12/02/2026": "2026-02-12", "13/02/2026": "2026-02-13", "13/02": "2026-02-13",
        "5/1": "2027-01-05", "5/1 ko": "2027-01-05", "05-01-2027": "2027-01-05", "5.1.2027": "2027-01-05",
        "5/1/27": "2027-01-05",
        "2027-01-05": "2027-01-05", "2027/01/05": "2027-01-05", "5 / 1 / 2027": "2027-01-05", "25-1 ko": "2027-01-25",
        "05-02": "2026-02-05", "२/२/२०२६": "2026-02-02",
    },
    "near days": {
        "aaj": "2026-01-28", "today": "2026-01-28", "tonight": "2026-01-28", "आज शाम तक": "2026-01-28",
        "EOD": "2026-01-28",
        "kaal de dunga": "2026-01-29", "day after tom": "2026-01-30",
        "kal de dunga": "2026-01-29", "kal": "2026-01-29", "कल दे दूंगा": "2026-01-29", "tmrw": "2026-01-29",
        "day after": "2026-01-30", "I will pay day after": "2026-01-30", "not tomorrow, day after": "2026-01-30",
        "paise de dunga kal": "2026-01-29", "parso kar dunga": "2026-01-30", "परसों": "2026-01-30",
        "the day after tomorrow": "2026-01-30", "by end of day tomorrow": "2026-01-29", "kal 29 ko": "2026-01-29",
    },
    "so many days away": {
        "in 3 days": "2026-01-31", "3 days": "2026-01-31", "within 3 days": "2026-01-31",
        "3 days from now": "2026-01-31",
        "3 din mein": "2026-01-31", "3 din baad": "2026-01-31", "3 din ke andar": "2026-01-31",
        "3 दिन में": "2026-01-31",
        "do din baad": "2026-01-30", "do din ka time do": "2026-01-30", "aaj se 3 din baad": "2026-01-31",
        "a week from now": "2026-02-04", "in a week's time": "2026-02-04", "hafte bhar mein": "2026-02-04",
        "aaj se 5 din": "2026-02-02", "give me 2 days": "2026-01-30", "2 din dijiye": "2026-01-30",
        "2 din do": "2026-01-30", "do din aur do": "2026-01-30", "do din ruk jao": "2026-01-30", "sirf 2 din": "2026-01-30",
        "2 more days please": "2026-01-30", "two days more": "2026-01-30", "need 2 days": "2026-01-30",
        "please wait for 2 days": "2026-01-30", "give me a week": "2026-02-04", "ek hafta lagega": "2026-02-04",
        "pandrah din mein": "2026-02-12", "in a week": "2026-02-04", "a week": "2026-02-04", "ek hafte mein": "2026-02-04",
        "hafte baad": "2026-02-04",
        "in 2 weeks": "2026-02-11", "1 mahine baad": "2026-02-28", "in a month": "2026-02-28",
        "5000 5 din baad": "2026-02-02",
    },
    "weekdays": {
        "Friday": "2026-01-30", "this Friday": "2026-01-30", "is shukravar": "2026-01-30", "Friday tak": "2026-01-30",
        "coming Monday": "2026-02-02", "aane wale Monday": "2026-02-02", "Monday tak": "2026-02-02",
        "somwar": "2026-02-02",
        "shukravar ko": "2026-01-30", "शुक्रवार को": "2026-01-30", "सोमवार": "2026-02-02", "by sat": "2026-01-31",
        "Sat": "2026-01-31",
        "Friday next week": "2026-02-06", "next week Friday": "2026-02-06", "agle hafte shukravar": "2026-02-06",
        "Friday, 30 Jan": "2026-01-30", "next Friday, 6 February": "2026-02-06",
        "next week by Wednesday": "2026-02-04",
    },
    "months": {
        "month end tak": "2026-01-31", "mahine ke end tak": "2026-01-31", "mahine ke aakhir": "2026-01-31",
        "EOM": "2026-01-31",
        "end of the month": "2026-01-31", "month ki last date": "2026-01-31", "महीने के अंत तक": "2026-01-31",
        "end of next month": "2026-02-28", "agle mahine ke end": "2026-02-28", "end of March": "2026-03-31",
        "feb end": "2026-02-28",
        "agle mahine ki 5 tarikh": "2026-02-05", "5th of next month": "2026-02-05", "next month 5th": "2026-02-05",
        "agle mahine 5 ko": "2026-02-05", "is mahine ki 30": "2026-01-30", "अगले महीने की 5 तारीख": "2026-02-05",
    },
    "the day that is promised among others": {
        "kal nahi, parso dunga": "2026-01-30",
        "20 nahi 23": "2026-02-23", "20 nahi, 23 pakka": "2026-02-23", "not 20 but 23": "2026-02-23",
        "20 nahi balki 23": "2026-02-23", "20 tarikh nahi 23": "2026-02-23", "20th nahi 23": "2026-02-23",
        "kal nahi 23": "2026-02-23", "२० नहीं २३": "2026-02-23", "20 nahi 21 nahi 22 ko": "2026-02-22",
        "not after the 10th": "2026-02-10", "not beyond 10th": "2026-02-10", "feb first": "2026-02-01",
        "25 ki shaam": "2026-02-25", "25 raat tak": "2026-02-25", "2moro": "2026-01-29", "2day": "2026-01-28",
        "in about two weeks": "2026-02-11", "in about a week": "2026-02-04", "not later than the fifth": "2026-02-05",
        "shukarwar": "2026-01-30", "sombar ko": "2026-02-02",
        "20 ko nahi ho payega, 23 ko dunga": "2026-02-23",
        "I can't pay by 20th but will pay on 23rd": "2026-02-23",
        "5 ko mat katna 7 ko dunga": "2026-02-07",
        "aaj nahi ho payega kal pakka": "2026-01-29",
        "not by the 20th but 23rd": "2026-02-23",
        "25 ko salary nahi aayi to 30 ko dunga": "2026-01-30",
        "I will pay on 25th don't worry": "2026-02-25",
        "25 ko de dunga tension mat lo": "2026-02-25",
        "25 ko dunga nahi to penalty lagegi": "2026-02-25",
        "25th not 26th": "2026-02-25", "mahine ki 15": "2026-02-15", "महीने की पंद्रह": "2026-02-15",
        "10 tak bahar hu 11 ko dunga": "2026-02-11", "10 ko result hai 11 ko dunga": "2026-02-11",
        "aaj chutti hai kal dunga": "2026-01-29", "exam till 10th, pay on 11th": "2026-02-11",
        "earlier I said 20th but now 25th": "2026-02-25",
        "no money now but I will pay on 25th": "2026-02-25", "no problem I will pay on 25th": "2026-02-25",
        "I am out of station, will pay on 25th": "2026-02-25", "you will get the money by 25th": "2026-02-25",
        "25 ko paise leke aa jaunga": "2026-02-25", "paise 25 ko mil jayenge aapko": "2026-02-25",
        "doosri EMI 25 ko dunga": "2026-02-25", "rent dene ke baad 25 ko dunga": "2026-02-25",
        "money will be in your account by 25th": "2026-02-25", "by 25th latest": "2026-02-25",
        "abhi paise nahi hai 25 ko dunga": "2026-02-25",
        "kal payment nahi ho paya, aaj kar dunga": "2026-01-28",
        "I get paid on 5th, will pay 6th": "2026-02-06",
        "25 ko nahi 26 ko": "2026-02-26",
        "kal diya tha 2000, baaki 5 ko dunga": "2026-02-05", "kal 2000 diya tha baaki 5 ko dunga": "2026-02-05",
        "I paid yesterday and will pay the rest on Friday": "2026-01-30",
        "paid 3000 on 20 Jan, remaining 2000 on 5 Feb": "2026-02-05",
        "maine kal bola tha ki 5 ko dunga": "2026-02-05",
        "25 ko bola tha, ab 30 ko dunga": "2026-01-30",
        "is mahine ki EMI 5 ko dunga": "2026-02-05",
        "salary 7 ko aayegi, 8 ko dunga": "2026-02-08",
        "5 ko salary hai 6 ko kar dunga": "2026-02-06", "5 ko pagar, 6 ko de dunga": "2026-02-06",
        "salary 5 ko aati hai, 6 tak": "2026-02-06", "5 ko salary aayegi to 6 ko": "2026-02-06",
        "salary ke baad 5 ko": "2026-02-05", "salary aane ke baad 5 ko": "2026-02-05",
        "payment 8 ko, salary 7 ko": "2026-02-08",
    },
    "the day of an income that the promise takes up": {
        "salary aayegi 30 ko tab dunga": "2026-01-30",
        "Salary 25 ko aayegi. 12,500 tab de dungi.": "2026-02-25",
        "pagar 7 ko milegi, usi din kar dunga": "2026-02-07",
        "My salary comes on the 5th. I will pay 5000 then.": "2026-02-05",
        "सैलरी 25 को आएगी, तब दे दूँगी": "2026-02-25",
    },
}  # fmt: skip


@pytest.mark.parametrize(("text", "day"), [pair for group in AHEAD.values() for pair in group.items()])
def test_a_promised_day_is_the_next_one_that_the_words_mean(text: str, day: str) -> None:
    assert days(due_date(text, WEDNESDAY, INDIA)) == (day,)


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("next Friday", ("2026-01-30", "2026-02-06")),
        ("agle shukravar ko de dunga", ("2026-01-30", "2026-02-06")),
        ("अगले शुक्रवार", ("2026-01-30", "2026-02-06")),
        ("next to next Friday", ("2026-02-06", "2026-02-13")),
        ("Monday next", ("2026-02-02", "2026-02-09")),
        ("tomorrow or day after", ("2026-01-29", "2026-01-30")),
        ("kal ya day after", ("2026-01-29", "2026-01-30")),
        ("tomorrow or the day after", ("2026-01-29", "2026-01-30")),
        ("hafta das din mein", ("2026-02-04", "2026-02-07")),
        ("20 nahi, 25 ya 26", ("2026-02-25", "2026-02-26")),
        ("agle ke agle hafte", ("2026-02-09", "2026-02-15")),
        ("25 se 27 ke beech", ("2026-02-25", "2026-02-27")),
        ("25 se 28 ke beech", ("2026-01-28", "2026-02-25", "2026-02-28")),
        ("from 30th to 3rd", ("2026-01-30", "2026-02-03")),
        ("agle wale somvar", ("2026-02-02", "2026-02-09")),
        ("Mon-Tue", ("2026-02-02", "2026-02-03")),
        ("25 nahi to 26 ko pakka", ("2026-02-25", "2026-02-26")),
        ("either 25 or 26", ("2026-02-25", "2026-02-26")),
        ("Friday after next", ("2026-02-06", "2026-02-13")),
        ("the week after next", ("2026-02-09", "2026-02-15")),
        ("next weekend", ("2026-01-31", "2026-02-01", "2026-02-07", "2026-02-08")),
        ("Friday or Saturday", ("2026-01-30", "2026-01-31")),
        ("Saturday 30 Jan", ("2026-01-30", "2026-01-31")),
        ("kal ya parso", ("2026-01-29", "2026-01-30")),
        ("aaj kal mein", ("2026-01-28", "2026-01-29")),
        ("kal... no, parso", ("2026-01-29", "2026-01-30")),
        ("5 ya 6 tarikh", ("2026-02-05", "2026-02-06")),
        ("5 tarikh ya 6 tarikh", ("2026-02-05", "2026-02-06")),
        ("5-6 tarikh", ("2026-02-05", "2026-02-06")),
        ("5, 6 ko", ("2026-02-05", "2026-02-06")),
        ("5 or 6 Feb", ("2026-02-05", "2026-02-06")),
        ("between 5th and 7th", ("2026-02-05", "2026-02-07")),
        ("5 se 7 tarikh ke beech", ("2026-02-05", "2026-02-07")),
        ("5-6", ("2026-02-05", "2026-02-06", "2026-06-05")),
        ("25 ko 5000 aur 5 ko 3000", ("2026-02-05", "2026-02-25")),
        ("in 2-3 days", ("2026-01-30", "2026-01-31")),
        ("do teen din mein", ("2026-01-30", "2026-01-31")),
        ("next week", ("2026-02-02", "2026-02-08")),
        ("is hafte", ("2026-01-28", "2026-02-01")),
        ("weekend", ("2026-01-31", "2026-02-01")),
        ("end of this week", ("2026-01-30", "2026-02-01")),
        ("next month", ("2026-02-01", "2026-02-28")),
        ("is mahine", ("2026-01-28", "2026-01-31")),
        ("in March", ("2026-03-01", "2026-03-31")),
        ("first week of Feb", ("2026-02-01", "2026-02-07")),
        ("agle mahine ke pehle hafte mein", ("2026-02-01", "2026-02-07")),
        ("last week of Feb", ("2026-02-22", "2026-02-28")),
        ("start of next month", ("2026-02-01", "2026-02-07")),
    ],
)
def test_a_range_or_an_unclear_day_keeps_its_candidates(text: str, candidates: tuple[str, ...]) -> None:
    assert days(due_date(text, WEDNESDAY, INDIA)) == candidates


@pytest.mark.parametrize(
    "text",
    [
        "", "ok", "salary aane par de dunga", "jaldi de dunga", "kuch din mein", "Diwali tak", "5000 de dunga",
        "2 EMIs", "3rd EMI",
        "5 baje", "6 pm", "10:30", "30%", "9000000101", "24/7", "office 9 to 6", "50", "5 log", "2 loans",
        "kal diya tha", "27 ko bhar diya", "yesterday", "last Friday", "3 days ago", "already paid on 25 Jan",
        "05-01-2020",
        "is mahine ki 5 ko", "I lost my job in March",
        "5 ko salary hai", "salary 5 ko hai", "salary on 5th", "meri salary 7 tarikh", "salary kabhi 5 ko kabhi 6 ko",
        "salary 5 ko aati hai, kabhi 6 ko", "salary 5 ko aati hai ya 6 ko",
        "day after salary", "the day after that", "every day after work", "day after 25th", "nahi after 5th",
        "2 din lag gaye", "2 din de diye the", "I waited 2 days", "only 2 days ago", "sirf 2 din pehle",
        "20 nahi", "neither 20 nor 21", "20 ko nahi 20 ke baad", "20 rupaye nahi 23 rupaye", "kal nahi 5 baje",
        "I will not pay after 10th", "not after lunch",
        "dost 25 ko dega mujhe", "maalik 25 ko salary dega", "the company will credit on 25th",
        "25 ko court date hai", "25 ko rent dena hai", "rent is due on 25th", "25 ko doosre loan ki EMI hai",
        "I have another EMI on 25th", "25 tarikh wali EMI pending hai", "I will be out till 25th", "25 ko paise aayenge",
        "money comes on 25th", "they will pay me on 25th", "nothing before 25th", "no money till 25th",
        "there is no way I can pay on 25th", "no chance of paying by 25th", "I doubt I can pay by 25th", "hard to pay on 25th",
        "25th no", "the 25th is too early", "kal wali EMI pending hai",
        "25 ke baad", "after 25th", "Friday ke baad", "salary 7 ko aati hai", "salary 7 ko aayegi tab dekhenge",
        "salary 25 ko aayegi lekin tab nahi de paungi", "bhai ki salary 25 ko aayegi tab dunga", "tab 5000 de dungi",
        "salary comes on the 25th, then I will see",
        "when my salary comes on the 7th I will pay", "kal nahi de paunga", "not on Friday",
        "25 tarikh tak payment nahi kar paunga", "25th ko possible nahi hai", "25th is not possible", "25th won't work",
        "I cannot pay by the 20th", "I won't be able to pay by 20th", "unable to pay by 20th", "kal to nahi ho payega",
        "nahi de paunga 25 ko", "25 ko dunga nahi", "25 ko mushkil hai", "please don't call before the 25th",
        "I don't think I can pay on 25th", "pata nahi 25 ko ho payega ya nahi", "25 ko hoga ya nahi",
        "mujhe nahi lagta 25 ko ho payega", "cheque 5 ko mat lagana", "२५ को पैसे नहीं दे पाऊँगा",
        "after the 25th", "since the 20th", "kal se", "25 tak bahar hu, uske baad dunga",
        "25 ko shaadi hai", "meri EMI 5 ko katti hai", "mujhe 25 ko paise milenge", "I will get my money on 25th",
        "I get paid on 5th", "kal tak paisa nahi hai", "a week from Friday",
        "a week from tomorrow", "from the fifth onwards", "didn't I pay on the fifth",
        "uske 2 din baad dunga", "pagar ke agle din", "salary ke 2 din baad",
        "aajkal paisa nahi hai", "aaj kal problem hai", "I sat there", "sun lo bhai", "I may pay", "mar gaya",
        "Ravi ko bol do",
        "is mahine ki kist", "this month's EMI is high", "Jan ka EMI", "3 din se bimar hu", "in 99999999 days",
    ],
)  # fmt: skip
def test_where_no_day_is_promised_there_is_none(text: str) -> None:
    assert due_date(text, WEDNESDAY, INDIA) is None


@pytest.mark.parametrize(
    ("text", "said_on"),
    [
        ("29 Feb", "2026-01-28"), ("30th", "2026-01-31"), ("31st", "2026-02-10"), ("29/02/2026", "2026-01-28"),
        ("30 Feb ko", "2026-01-28"), ("31 April", "2026-01-28"), ("32 tarikh", "2026-01-28"), ("0 tarikh", "2026-01-28"),
        ("13/13/2026", "2026-01-28"), ("02/13/2026", "2026-01-28"), ("agle mahine ki 30 tarikh", "2026-01-28"),
        ("३० फरवरी", "2026-01-28"),
    ],
)  # fmt: skip
def test_a_day_that_does_not_exist_is_never_another_day(text: str, said_on: str) -> None:
    assert due_date(text, evening(said_on), INDIA) == SaidDate(None, (), True)


@pytest.mark.parametrize(
    ("text", "said_on", "expected"),
    [
        ("Monday", "2026-01-31", ("2026-02-02",)),
        ("month end tak", "2026-02-10", ("2026-02-28",)),
        ("month end tak", "2028-02-10", ("2028-02-29",)),
        ("month end", "2026-01-31", ("2026-01-31",)),
        ("29 Feb", "2028-01-28", ("2028-02-29",)),
        ("31st", "2026-01-31", ("2026-01-31",)),
        ("5 Jan", "2026-12-31", ("2027-01-05",)),
        ("kal", "2026-12-31", ("2027-01-01",)),
        ("agle mahine ki 5", "2026-12-31", ("2027-01-05",)),
        ("first week of the month", "2026-01-05", ("2026-01-05", "2026-01-07")),
        ("pehle hafte mein", "2026-01-28", ("2026-02-01", "2026-02-07")),
        ("Friday", "2026-01-30", ("2026-01-30", "2026-02-06")),
        ("this Friday", "2026-01-30", ("2026-01-30",)),
        ("coming Friday", "2026-01-30", ("2026-02-06",)),
        ("next Friday", "2026-01-30", ("2026-02-06", "2026-02-13")),
        ("aaj Friday ko", "2026-01-30", ("2026-01-30",)),
    ],
)
def test_a_day_depends_on_the_day_it_was_said(text: str, said_on: str, expected: tuple[str, ...]) -> None:
    assert days(due_date(text, evening(said_on), INDIA)) == expected


def test_the_local_day_decides_around_midnight() -> None:
    twenty_past_midnight = datetime(2026, 1, 28, 18, 50, tzinfo=UTC)
    assert days(due_date("kal de dunga", twenty_past_midnight, INDIA)) == ("2026-01-30",)
    assert days(due_date("kal de dunga", twenty_past_midnight, "Europe/London")) == ("2026-01-29",)


def test_a_delay_of_hours_may_end_on_the_next_day() -> None:
    late = datetime.fromisoformat("2026-01-28T23:00:00+05:30")
    assert days(due_date("2 ghante mein", late, INDIA)) == ("2026-01-29",)
    assert days(due_date("2 ghante mein", late - timedelta(hours=5), INDIA)) == ("2026-01-28",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kal", ("2026-01-27",)),
        ("yesterday", ("2026-01-27",)),
        ("kal diya tha", ("2026-01-27",)),
        ("27 ko bhar diya", ("2026-01-27",)),
        ("कल भर दिया", ("2026-01-27",)),
        ("parso", ("2026-01-26",)),
        ("day before yesterday", ("2026-01-26",)),
        ("yesterday or the day before", ("2026-01-26", "2026-01-27")),
        ("20 nahi 23", ("2026-01-23",)),
        ("aaj subah", ("2026-01-28",)),
        ("28th", ("2026-01-28",)),
        ("30th", ("2025-12-30",)),
        ("30 Dec", ("2025-12-30",)),
        ("5/1", ("2026-01-05",)),
        ("20/1/26", ("2026-01-20",)),
        ("20-1-26 ko diya", ("2026-01-20",)),
        ("is mahine ki 5 ko", ("2026-01-05",)),
        ("pichle mahine ki 5 tarikh", ("2025-12-05",)),
        ("3 din pehle", ("2026-01-25",)),
        ("a week ago", ("2026-01-21",)),
        ("last Friday", ("2026-01-23",)),
        ("pichle shukravar", ("2026-01-23",)),
        ("Friday ko diya tha", ("2026-01-23",)),
        ("last Monday", ("2026-01-19", "2026-01-26")),
        ("pichle hafte", ("2026-01-19", "2026-01-25")),
        ("last month", ("2025-12-01", "2025-12-31")),
        ("I had promised 25th but will pay on 30th", ("2026-01-25",)),
        ("kal dunga", ()),
        ("tomorrow", ()),
        ("27 ko bhar dunga", ()),
        ("next Friday", ()),
        ("05-02-2026", ()),
    ],
)
def test_a_day_of_payment_is_the_last_one_that_the_words_mean(text: str, expected: tuple[str, ...]) -> None:
    assert days(paid_on(text, WEDNESDAY, INDIA)) == expected


def test_a_day_of_payment_that_does_not_exist_is_impossible() -> None:
    assert paid_on("31 ko bhar diya", evening("2026-03-05"), INDIA) == SaidDate(None, (), True)


@pytest.mark.parametrize(
    ("text", "meant", "not_meant"),
    [
        ("So you will pay 5000 on 2 Feb?", "2026-02-02", "2026-02-05"),
        ("next Friday", "2026-02-06", "2026-02-13"),
        ("27 ko bhar diya", "2026-01-27", "2026-02-27"),
        ("2 ya 3 tarikh", "2026-02-03", "2026-02-04"),
        ("after 25th", "2026-02-25", "2026-02-26"),
        ("salary 7 ko aati hai", "2026-02-07", "2026-02-08"),
        ("2 ghante mein", "2026-01-28", "2026-01-30"),
        ("5000 de dunga", None, "2026-01-28"),
    ],
)
def test_every_day_a_text_may_mean_is_among_its_dates(text: str, meant: str | None, not_meant: str) -> None:
    found = {day.isoformat() for day in dates(text, WEDNESDAY, INDIA)}
    assert meant is None or meant in found
    assert not_meant not in found


def test_candidates_are_bounded() -> None:
    many = " ".join(f"{day}/{month}/2027" for month in range(1, 13) for day in range(1, 29))
    said = due_date(many, WEDNESDAY, INDIA)
    assert said is not None
    assert len(said.candidates) == MOST_CANDIDATES
    assert len(dates(many, WEDNESDAY, INDIA)) == 12 * 28


def test_a_time_without_its_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        due_date("kal", datetime(2026, 1, 28, 18), INDIA)  # noqa: DTZ001
