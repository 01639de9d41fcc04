"""One number as said, and what a figure in digits may be. It must not know words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal


@dataclass(slots=True)
class Number:
    """One number as said. `values` are its readings, one if it is clear; `scale` is its last lakh, hazaar and so on. Of
    `hundreds` ("paanch sau") the `coefficient` counts the hundreds."""

    values: tuple[Decimal, ...]
    coefficient: Decimal
    scale: Decimal | None = None
    worded: bool = False
    ordinal: bool = False
    grouped: bool = False
    digits: int = 0
    hundreds: bool = False

    @property
    def lent(self) -> Decimal | None:
        """What multiplies a number beside this one: "chaar paanch sau" is 400 or 500."""
        return Decimal(100) if self.hundreds and self.scale is None else self.scale

    @property
    def value(self) -> Decimal:
        return self.values[0]

    def day_sized(self) -> int | None:
        """The number as a whole number below a hundred, if it is one and was said without a scale."""
        if self.scale is None and not self.grouped and len(self.values) == 1 and 0 <= self.value < 100:
            whole = int(self.value)
            return whole if whole == self.value else None
        return None


_GROUPED = re.compile(r"\d{1,3}(?:,\d{2,3})*,\d{3}")


def readings(text: str) -> tuple[Decimal, ...]:
    """What a figure in digits may be. A point before three last digits is a decimal point or groups thousands."""
    if "," in text:
        return _with_commas(text)
    if text.count(".") > 1:
        return (plain(Decimal(text.replace(".", ""))),)
    whole, point, decimals = text.partition(".")
    if point and len(decimals) == 3 and len(whole) <= 3 and whole != "0":
        return Decimal(text), Decimal(whole + decimals)
    return (plain(Decimal(text)),)


def _with_commas(text: str) -> tuple[Decimal, ...]:
    """ "12,5,00" is no grouping that anybody uses: its last comma stood for a point, a digit is missing, or it is as written."""
    if "." in text:
        if text.rindex(",") > text.rindex("."):
            return (plain(Decimal(text.replace(".", "").replace(",", "."))),)
        return (plain(Decimal(text.replace(",", ""))),)
    joined = plain(Decimal(text.replace(",", "")))
    whole, _, last = text.rpartition(",")
    if _GROUPED.fullmatch(text) or len(last) > 3:
        return (joined,)
    found = {joined}
    if len(last) == 2:
        found.add(plain(Decimal(f"{whole.replace(',', '')}.{last}")))
    if "," in whole and _GROUPED.fullmatch(text.ljust(len(whole) + 4, "0")):
        found.add(plain(Decimal(whole.replace(",", "") + last.ljust(3, "0"))))
    return tuple(sorted(found)) if len(found) > 1 else (joined / 10, joined)


def plain(value: Decimal) -> Decimal:
    """`value` without an exponent and, if it is whole, without decimals."""
    whole = value.to_integral_value()
    return whole if whole == value else value
