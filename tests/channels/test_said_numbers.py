"""Every number in a text, for grounding: what is in the words is found, what is not is not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from channels.said import numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("ok", ()),
        ("1,25,000", ("125000",)),
        ("12,500.50", ("12500.50",)),
        ("12 lakh", ("1200000",)),
        ("15L", ("1500000",)),
        ("pandrah hazaar, fifteen thousand", ("15000",)),
        ("दो लाख तीस हजार", ("230000",)),
        ("25 ko 5000 de dungi", ("25", "5000")),
        ("paanch hazaar pachees ko", ("5000", "25")),
        ("salary 7 tareekh ko aati hai", ("7",)),
        ("on the seventh", ("7",)),
        ("पच्चीस तारीख", ("25",)),
        ("2 EMIs", ("2",)),
        ("do EMI baaki", ("2",)),
        ("twenty five", ("25",)),
        ("30%", ("30",)),
        ("-500", ("500",)),
        ("9000000101", ("9000000101",)),
        ("5/1", ("5", "1")),
        ("2027-01-05", ("2027", "1", "5")),
        ("5 Jan 2027", ("5", "2027")),
        ("10:30", ("10", "30")),
        ("5 or 6 thousand", ("5", "5000", "6000")),
        ("3 days, 2 hafte, 6 mahine", ("3", "2", "6")),
        ("500 rupees 50 paise", ("500", "50", "500.50")),
        ("saadhe paanch baje", ("5.5",)),
        ("3.14159", ("3.14159",)),
        ("mujhe bata do", ()),
        ("I do not know", ()),
        ("tera bhai", ()),
        ("ke saath", ()),
        ("I sat there", ()),
        ("aadha", ()),
        ("kuch hazaar", ()),
        ("no one", ()),
    ],
)
def test_the_numbers_in_a_text(text: str, expected: tuple[str, ...]) -> None:
    assert numbers(text) == frozenset(map(Decimal, expected))
