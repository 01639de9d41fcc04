"""Money as it is shown (API 1): its currency's decimals, half a unit rounded up."""

from __future__ import annotations

from decimal import Decimal

import pytest

from statemachine.money import quantised, shown, spoken


@pytest.mark.parametrize(
    ("amount", "currency", "as_answered", "in_a_sentence"),
    [
        ("12500", "INR", "12500.00", "INR 12,500"),
        ("12500.5", "INR", "12500.50", "INR 12,500.50"),
        ("0.125", "INR", "0.13", "INR 0.13"),
        ("0.135", "INR", "0.14", "INR 0.14"),
        ("1000.5", "JPY", "1001", "JPY 1,001"),
        ("1.2345", "KWD", "1.235", "KWD 1.235"),
        ("1E+3", "INR", "1000.00", "INR 1,000"),
    ],
)
def test_an_amount_has_the_decimals_of_its_currency(
    amount: str, currency: str, as_answered: str, in_a_sentence: str
) -> None:
    assert shown(Decimal(amount), currency) == as_answered
    assert spoken(Decimal(amount), currency) == in_a_sentence
    assert quantised(Decimal(as_answered), currency) == Decimal(as_answered), "rounding twice is rounding once"


def test_of_no_amount_nothing_is_shown_and_of_no_currency_two_decimals() -> None:
    assert shown(None, "INR") is None
    assert shown(Decimal(5), None) == "5.00"
