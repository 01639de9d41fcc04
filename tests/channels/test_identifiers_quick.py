"""Indian mobile numbers in their own spelling are taken as they are: what the tables would say of each of them."""

from __future__ import annotations

import random

import pytest

from channels import identifiers
from channels.identifiers import InvalidIdentifier, canonical


def test_the_tables_would_leave_them_as_they_are() -> None:
    draw = random.Random(5)
    for _ in range(400):
        number = f"+91{draw.choice('6789')}{draw.randrange(10**9):09}"
        assert canonical("phone", number, region="IN") == number
        assert identifiers._possible(number, None, trunk_zero=True) == number


@pytest.mark.parametrize("spelling", ["+9190000000017", "+91900000000", "+91 90000 00001x"])
def test_one_digit_more_or_less_is_not_among_them(spelling: str) -> None:
    with pytest.raises(InvalidIdentifier):
        canonical("phone", spelling, region="IN")
