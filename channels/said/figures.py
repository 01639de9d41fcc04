"""One number as said, and what a figure in digits may be. It must not know words."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(slots=True)
class Number:
    """One number as said. `values` are its readings, one if it is clear; `scale` is its last lakh, hazaar and so on."""

    values: tuple[Decimal, ...]
    coefficient: Decimal
    scale: Decimal | None = None
    worded: bool = False
    ordinal: bool = False
    grouped: bool = False
    digits: int = 0

    @property
    def value(self) -> Decimal:
        return self.values[0]

    def day_sized(self) -> int | None:
        """The number as a whole number below a hundred, if it is one and was said without a scale."""
        if self.scale is None and not self.grouped and len(self.values) == 1 and 0 <= self.value < 100:
            whole = int(self.value)
            return whole if whole == self.value else None
        return None


def readings(text: str) -> tuple[Decimal, ...]:
    """What a figure in digits may be. A point before three last digits is a decimal point or groups thousands."""
    if "," in text:
        if "." in text and text.rindex(",") > text.rindex("."):
            return (plain(Decimal(text.replace(".", "").replace(",", "."))),)
        joined = plain(Decimal(text.replace(",", "")))
        whole, _, decimals = text.partition(",")
        if len(decimals) == 2:
            return plain(Decimal(f"{whole}.{decimals}")), joined
        return (joined,)
    if text.count(".") > 1:
        return (plain(Decimal(text.replace(".", ""))),)
    whole, point, decimals = text.partition(".")
    if point and len(decimals) == 3 and len(whole) <= 3 and whole != "0":
        return Decimal(text), Decimal(whole + decimals)
    return (plain(Decimal(text)),)


def plain(value: Decimal) -> Decimal:
    """`value` without an exponent and, if it is whole, without decimals."""
    whole = value.to_integral_value()
    return whole if whole == value else value
