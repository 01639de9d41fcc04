"""Laws of what words mean, over texts nobody thought of."""

from __future__ import annotations

import unicodedata
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from babel.numbers import format_decimal
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.said import amount, dates, due_date, in_past_tense, moment, numbers, paid_on, promises, words
from channels.said.grammar import KEPT_CHARACTERS
from tests.examples import often
from tests.work import grows_linearly

INDIA = "Asia/Kolkata"
SAID_AT = datetime(2026, 1, 28, 12, 30, tzinfo=UTC)
SHORT_TEXT = KEPT_CHARACTERS + 20
LONGEST_TEXT = 20_000

some = settings(max_examples=often(60), deadline=None)

_VOCABULARY = sorted(
    words.NUMBER_WORDS.keys() | words.SCALES.keys() | words.PLAIN_DAYS | words.WEEKDAYS.keys() | words.MONTHS.keys()
    | words.NEXT | words.END | words.MONTH | words.WEEK | words.DAY | words.KE | words.KO | words.OR | words.TO | words.NOT
    | words.PAST | words.FUTURE | words.CURRENCIES.keys() | words.OCLOCK | words.PARTS_OF_DAY.keys() | words.INSIDE | words.LATER
    | words.HALF | words.QUARTERS.keys() | words.ORDINALS.keys() | words.COUNTED | words.BETWEEN | words.ARTICLE
    | words.CORRECTS | words.GRANTED | words.ASKED_FOR | words.QUARTER | words.POINT | words.INCOME | {"after", "before"}
)  # fmt: skip
_pieces = st.one_of(
    st.sampled_from(_VOCABULARY),
    st.integers(0, 99_999).map(str),
    st.sampled_from(
        ["/", "-", ".", ",", ":", "\n", "'", "%", "+", "5k", "25th", "5-6", "1,25,000", "10:30", "5/1/26", "½"]
    ),
)
sayings = st.lists(_pieces, max_size=12).map(" ".join)
instants = st.integers(0, 4_102_444_800).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
texts = st.one_of(st.text(max_size=60), sayings, st.lists(_pieces, max_size=12).map("".join))


def everything(text: str, said_at: datetime = SAID_AT, zone: str = INDIA) -> tuple[Any, ...]:
    return (
        amount(text),
        due_date(text, said_at, zone),
        paid_on(text, said_at, zone),
        moment(text, said_at, zone),
        in_past_tense(text),
        numbers(text),
        dates(text, said_at, zone),
    )


@some
@given(texts, instants)
def test_any_text_is_read_without_an_error_and_says_one_thing_at_a_time(text: str, said_at: datetime) -> None:
    sum_said, due, paid, at, _, _, days = everything(text, said_at)
    for said in (due, paid):
        if said is not None:
            assert [said.value is not None, len(said.candidates) >= 2, said.impossible].count(True) == 1
    if sum_said is not None:
        assert (sum_said.value is None) == (len(sum_said.candidates) >= 2)
    if due is not None and due.value is not None:
        assert due.value >= said_at.astimezone(ZoneInfo(INDIA)).date()
        assert due.value in days
    assert at is None or at > said_at


UNITS = (
    "1", "1,", "1-", "1/", "1:", "1.", "12 ", "5 ko ", "kal ", "kal, ", "ek lakh ", "do teen ", "zero ", "kar diya ",
    "paid not ", "next Friday ", "5 to 6 ", "between ", "rs.", "salary aayegi kal ", "5/1 ", "account no ", "5k", "a1",
    "2 din ", "2 din do ", "20 nahi ", "kal nahi parso dunga ", "salary 5 ko ", "5 ko salary 6 ko dunga ", "day after ",
    "½", "ा", "़", "न्", "٣", "-", "\n", "\ud800", "🙂", "ﷺ", "e\u0301",
)  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("unit", UNITS)
def test_no_text_takes_more_work_than_its_length_warrants(unit: str) -> None:
    def read(characters: int) -> None:
        text = (unit * characters)[:characters]
        amount(text)
        due_date(text, SAID_AT, INDIA)
        in_past_tense(text)
        promises(text)

    assert grows_linearly(read, SHORT_TEXT, 2)


@pytest.mark.thorough
@pytest.mark.parametrize("unit", ["1,", "5 ko ", "kal ", "kar diya ", "salary aayegi kal "])
def test_the_longest_text_is_read_too(unit: str) -> None:
    text = (unit * LONGEST_TEXT)[:LONGEST_TEXT]
    assert isinstance(in_past_tense(text), bool)
    assert len(dates(text, SAID_AT, INDIA)) <= LONGEST_TEXT


@some
@given(
    st.integers(0, 10**9),
    st.sampled_from(["en_IN", "hi_IN", "en_US", "en_GB"]),
    st.sampled_from(["{}", "₹{}", "Rs. {}/-", "{} rupaye"]),
)
def test_a_sum_survives_being_written_in_any_grouping(value: int, locale: str, form: str) -> None:
    said = amount(form.format(format_decimal(value, locale=locale)))
    assert said is not None
    assert said.value == value


@some
@given(st.decimals(0, 10**9, places=2))
def test_a_sum_with_its_hundredths_survives(value: Decimal) -> None:
    said = amount("Rs " + format_decimal(value, format="#,##,##0.00", locale="en_IN"))
    assert said is not None
    assert said.value == value
    assert numbers(f"I will pay Rs {value}") == {value}


_SMALL_WORDS = {
    value: word
    for word, value in words.NUMBER_WORDS.items()
    if not word.isascii() and word not in words.NEED_SOMETHING_COUNTED
}
_SMALL_WORDS[2] = "दो"


def in_hindi(value: int) -> str:
    """A number in words, as it is said: crore, lakh, hazaar, sau, and one word below a hundred."""
    parts = []
    for size, word in ((10**7, "करोड़"), (10**5, "लाख"), (10**3, "हज़ार"), (100, "सौ")):
        if value >= size:
            parts.append(f"{in_hindi(value // size)} {word}")
            value %= size
    return " ".join([*parts, _SMALL_WORDS[value]] if value else parts)


@some
@given(st.integers(100, 99_99_99_999).filter(lambda value: value < 10**5 or value % 100 == 0))
def test_a_sum_survives_being_said_in_hindi_words(value: int) -> None:
    said = amount(in_hindi(value) + " रुपये")
    assert said is not None
    assert said.value == value


@some
@given(
    st.dates(date(2026, 1, 28), date(2099, 12, 31)),
    st.sampled_from(
        [
            "%d/%m/%Y",
            "%d-%m-%Y",
            "%d.%m.%Y",
            "%Y-%m-%d",
            "%d/%m/%y",
            "%-d/%-m/%y",
            "%-d.%-m.%Y",
            "%-d-%-m-%y",
            "%d %b %Y",
            "%B %d, %Y",
            "%dth of %B %Y",
            "%d %B '%y",
        ]
    ),
)
def test_a_full_date_survives_being_written_in_any_way(day: date, form: str) -> None:
    for said in (
        due_date(day.strftime(form), SAID_AT, INDIA),
        due_date(f"pakka {day.strftime(form)} ko de dunga", SAID_AT, INDIA),
    ):
        assert said is not None
        assert said.value == day


@some
@given(
    st.dates(date(2026, 1, 29), date(2027, 1, 27)),
    st.sampled_from(["%d %b", "%d %B ko", "%b %d", "%d/%m", "%B ki %d tarikh"]),
)
def test_a_date_without_a_year_is_the_next_one_ahead_and_the_last_one_back(day: date, form: str) -> None:
    ahead, back = due_date(day.strftime(form), SAID_AT, INDIA), paid_on(day.strftime(form), SAID_AT, INDIA)
    assert ahead is not None
    assert ahead.value == day
    assert back is not None
    assert back.value == day.replace(year=day.year - 1)


@some
@given(st.dates(date(2020, 1, 1), date(2060, 1, 1)), st.integers(1, 31))
def test_a_bare_day_of_the_month_is_the_nearest_that_has_not_passed_or_none_at_all(today: date, day: int) -> None:
    said = due_date(f"{day} tarikh", datetime(today.year, today.month, today.day, 6, tzinfo=UTC), INDIA)
    assert said is not None
    nearest = next(there for there in (today + timedelta(n) for n in range(62)) if there.day == day)
    if said.impossible:
        month_asked = today if day >= today.day else today.replace(day=28) + timedelta(days=4)
        assert (nearest.year, nearest.month) != (month_asked.year, month_asked.month)
    else:
        assert said.value == nearest


@some
@given(
    sayings.filter(lambda text: words.HOUR.isdisjoint(text.split()) and words.MINUTE.isdisjoint(text.split())),
    st.integers(0, 24 * 60 - 1),
)
def test_the_hour_at_which_a_day_was_said_changes_nothing(text: str, minutes: int) -> None:
    midnight = datetime(2026, 1, 28, tzinfo=ZoneInfo(INDIA))
    then = midnight + timedelta(minutes=minutes)
    for ask in (due_date, paid_on, dates):
        assert ask(text, midnight, INDIA) == ask(text, then, INDIA)


@some
@given(sayings)
def test_letters_that_look_alike_say_the_same(text: str) -> None:
    said = everything(text)
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    joined = "".join(c + ("\u200d" if c.isalpha() else "") for c in text)
    for spelling in (
        unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text), text.upper(), wide, joined, f"\u202a{text}\u202c",
        text.translate(str.maketrans("0123456789", "०१२३४५६७८९")),
    ):  # fmt: skip
        assert everything(spelling) == said, spelling


@some
@given(
    st.integers(1, 31),
    st.integers(100, 99_999),
    st.sampled_from(
        [
            "{d} ko {a} de dungi",
            "{a} {d} tarikh ko",
            "{d} tak {a}",
            "{a} by {d}th",
            "Rs {a} on {d}",
            "{d} तारीख को {a} रुपये",
        ]
    ),
)
def test_a_day_is_never_taken_for_a_sum_nor_a_sum_for_a_day(day: int, value: int, form: str) -> None:
    text = form.format(d=day, a=value)
    said, due = amount(text), due_date(text, SAID_AT, INDIA)
    assert said is not None
    assert said.value == value
    assert due is not None
    assert due.impossible or (due.value is not None and due.value.day == day)


@pytest.mark.parametrize("kind", ["a spelling", "a spelling of it"])
def test_every_spelling_in_the_words_is_read_as_its_number(kind: str) -> None:
    scale = "हज़ार" if kind == "a spelling" else "hazaar"
    for word, value in words.NUMBER_WORDS.items():
        if value and word not in words.SIXTY_OR_WITH | {"टू"}:
            said = amount(f"{word} {scale} rupees")
            assert said is not None, word
            assert said.value == value * 1000, word
