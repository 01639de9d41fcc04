"""Identifiers: one spelling per number; what cannot be a number is refused, and nothing is made to fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.identifiers import LONGEST_ID_CHARACTERS, WITHHELD_CALLERS, InvalidIdentifier, aliases, canonical
from tests.examples import often

some = settings(max_examples=often(100), deadline=None)


def phone(value: str, region: str = "IN") -> str:
    return canonical("phone", value, region=region)


@pytest.mark.parametrize(
    "spelling",
    [
        "+919000000042",
        "919000000042",
        "09000000042",
        "0919000000042",
        "9000000042",
        "00919000000042",
        "+91-90000-00042",
        "+91 90000 00042",
        "(+91) 90000 00042",
        "+91 (0) 90000 00042",
        "+91.90000.00042",
        "0091 90000 00042",
        "91 90000 00042",
        "90000 00042",
        "whatsapp:+919000000042",
        "WhatsApp:+91 90000 00042",
        "tel:+91-90000-00042",
        "  +919000000042\n",
        "\u202a+91\u00a090000\u00a000042\u202c",
        "+91 90000\u201300042",
        "+९१ ९०००० ०००४२",
        "+९१９００００ 00042",
    ],
)
def test_every_spelling_of_an_indian_number_is_one_number(spelling: str) -> None:
    assert phone(spelling) == "+919000000042"


@pytest.mark.parametrize(
    ("spelling", "region", "number"),
    [
        ("022 2345 0042", "IN", "+912223450042"),
        ("+6590000042", "IN", "+6590000042"),
        ("447400000042", "IN", "+447400000042"),
        ("447400000042", "ID", "+447400000042"),
        ("0812 0000 0042", "ID", "+6281200000042"),
        ("07400 000042", "GB", "+447400000042"),
        ("+44 (0)7400 000042", "IN", "+447400000042"),
        ("2025550142", "US", "+12025550142"),
        ("+15555550142", "IN", "+15555550142"),
        ("+39 06 5550 0042", "IN", "+390655500042"),
        ("8 (495) 555-00-42", "RU", "+74955550042"),
        ("+919000000042", "ZZ", "+919000000042"),
    ],
)
def test_numbers_of_other_countries(spelling: str, region: str, number: str) -> None:
    assert phone(spelling, region) == number


@pytest.mark.parametrize(
    ("spelling", "region", "number", "other"),
    [
        ("5215555500042", "IN", "+525555500042", "+5215555500042"),
        ("+521 55 5550 0042", "IN", "+525555500042", "+5215555500042"),
        ("525555500042", "IN", "+525555500042", "+5215555500042"),
        ("55 5550 0042", "MX", "+525555500042", "+5215555500042"),
        ("5491155500042", "IN", "+5491155500042", "+541155500042"),
        ("541155500042", "IN", "+5491155500042", "+541155500042"),
        ("+54 11 15 5550-0042", "IN", "+5491155500042", "+541155500042"),
        ("011 15 5550-0042", "AR", "+5491155500042", "+541155500042"),
        ("551185550042", "IN", "+5511985550042", "+551185550042"),
        ("55 11 98555-0042", "IN", "+5511985550042", "+551185550042"),
        ("011 98555-0042", "BR", "+5511985550042", "+551185550042"),
    ],
)
def test_the_two_forms_of_a_number_are_one_with_an_alias(spelling: str, region: str, number: str, other: str) -> None:
    assert phone(spelling, region) == number
    assert aliases("phone", number) == (number, other)


def test_a_fixed_line_in_brazil_takes_no_ninth_digit() -> None:
    assert phone("+55 11 3555-0042") == "+551135550042"
    assert aliases("phone", "+551135550042") == ("+551135550042",)
    assert aliases("phone", "+5511935550042") == ("+5511935550042",)


@pytest.mark.parametrize(
    "value",
    [
        "", "   ", "+", "0", "00", "000", "anonymous", "Restricted", "unknown", "Unavailable", "null",
        "+9190000000042", "90000042", "9190000000042", "9109000000042", "0091900000042", "100", "112", "5550042", "+15550042",
        "sip:agent@example.invalid", "agent@example.invalid", "919000000042@example.invalid", "235085806700042@lid",
        "235085806700042", "+235085806700042", "9190000000000042",
        "++919000000042", "+0919000000042", "+91+9000000042", "9000000042,9000000043", "9000000042 9000000043",
        "9000000042/43", "9000000042-43", "9000000042 43", "+919000000042/3",
        "+91 90000 00042 ext 5", "+919000000042;ext=5", "1-800-FLOWERS", "+91 90000 0004x", "tel:", "whatsapp:",
        "whatsapp:whatsapp:+919000000042", "9" * 300, "IN.1000000000000042", "½½½½½½½½½½",
        *sorted(WITHHELD_CALLERS),
    ],
)  # fmt: skip
def test_what_cannot_be_a_number_is_refused_without_being_named(value: str) -> None:
    with pytest.raises(InvalidIdentifier) as refused:
        phone(value)
    assert not value.strip() or value not in str(refused.value)


@pytest.mark.parametrize("region", ["", "XX"])
def test_a_national_number_needs_its_region(region: str) -> None:
    with pytest.raises(InvalidIdentifier):
        phone("9000000042", region)
    assert phone("919000000042", region) == "+919000000042"


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("bsuid", " IN.1000000000000042 ", "IN.1000000000000042"),
        ("messenger", "235085806700042@lid", "235085806700042@lid"),
        ("crm", "C-42a", "C-42a"),
        ("email", " Asha.Rao@Example.INVALID ", "asha.rao@example.invalid"),
        ("email", "mailto:asha@example.invalid", "asha@example.invalid"),
        ("email", "ａｓｈａ@example.invalid", "asha@example.invalid"),
    ],
)
def test_other_identifiers(kind: str, value: str, expected: str) -> None:
    assert canonical(kind, value, region="IN") == expected
    assert aliases(kind, expected) == (expected,)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bsuid", ""),
        ("messenger", "  "),
        ("crm", "a" * (LONGEST_ID_CHARACTERS + 1)),
        ("crm", "a\x00b"),
        ("email", ""),
        ("email", "asha"),
        ("email", "@example.invalid"),
        ("email", "asha@"),
        ("email", "asha@localhost"),
        ("email", "a b@example.invalid"),
        ("email", "a@b@example.invalid"),
        ("email", "a" * 250 + "@example.invalid"),
        ("fax", "+919000000042"),
    ],
)
def test_other_identifiers_are_refused(kind: str, value: str) -> None:
    with pytest.raises(InvalidIdentifier):
        canonical(kind, value, region="IN")


# -- laws -------------------------------------------------------------------------------------------------------------

_nationals = st.integers(6_000_000_000, 9_999_999_999).map(str)


@some
@given(_nationals, st.data())
def test_blanks_dashes_and_brackets_change_nothing(national: str, data: st.DataObject) -> None:
    prefix = data.draw(st.sampled_from(["", "0", "91", "+91", "0091", "091", "whatsapp:+91", "tel:+91"]))
    parts = data.draw(
        st.lists(st.sampled_from(["", " ", "-", ".", " - ", "\u00a0", "\u2011"]), min_size=10, max_size=10)
    )
    spelling = prefix + "".join(part + digit for part, digit in zip(parts, national, strict=True))
    assert phone(spelling) == "+91" + national


_two_forms = st.one_of(
    st.integers(10**9, 10**10 - 1).flatmap(lambda n: st.sampled_from([f"+52{n}", f"+521{n}"])),
    st.integers(11 * 10**8, 39 * 10**8).flatmap(lambda n: st.sampled_from([f"+54{n}", f"+549{n}"])),
    st.tuples(st.text("123456789", min_size=2, max_size=2), st.integers(6 * 10**7, 10**8 - 1)).flatmap(
        lambda n: st.sampled_from([f"+55{n[0]}{n[1]}", f"+55{n[0]}9{n[1]}"])
    ),
)


@some
@given(st.one_of(_two_forms, _nationals.map("+91".__add__)))
def test_each_alias_of_a_number_is_that_number(spelling: str) -> None:
    number = phone(spelling)
    assert spelling in aliases("phone", number)
    assert {phone(alias) for alias in aliases("phone", number)} == {number}
    assert phone(number.removeprefix("+"), "ZZ") == number


@some
@given(st.text(max_size=40), st.sampled_from(["phone", "email", "bsuid", "messenger", "crm"]))
def test_any_text_is_refused_or_has_one_stable_spelling(value: str, kind: str) -> None:
    try:
        found = canonical(kind, value, region="IN")
    except InvalidIdentifier:
        return
    assert canonical(kind, found, region="IN") == found
    assert aliases(kind, found)[0] == found


@some
@given(st.text("0123456789", min_size=1, max_size=18).filter(lambda digits: not digits.startswith("00")))
def test_digits_are_never_cut_or_added(digits: str) -> None:
    try:
        found = phone(digits)
    except InvalidIdentifier:
        return
    spelt = {alias.removeprefix("+") for alias in aliases("phone", found)}
    bare = digits.lstrip("0")
    assert bare in spelt or f"91{bare}" in spelt
