"""What a summariser makes of a conversation, a model or the rules: the parts of a `Summary` that words decide."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from channels import said as words
from statemachine.entries import Callback, Commitment, Fact, PaymentClaim

WORDS_MAX: Final = 120
"""Of our own summaries (DESIGN 18)."""


@dataclass(frozen=True, slots=True)
class Draft:
    """`reached` is a state of the channel's flow. Nothing here is believed: intake judges it as any other summary."""

    summary: str | None = None
    outcome: str | None = None
    reached: str | None = None
    disposition: str | None = None
    commitment: Commitment | None = None
    payment_claim: PaymentClaim | None = None
    callback: Callback | None = None
    facts: tuple[Fact, ...] = ()


def promised_in(commitment: Commitment | None) -> frozenset[Decimal]:
    """Every amount that the words of a promise may mean: these are no balance (DESIGN 11)."""
    if commitment is None:
        return frozenset()
    amounts: set[Decimal] = set()
    for text in (commitment.amount_said, commitment.quote):
        money = words.amount(text) if text else None
        if money is not None:
            amounts |= set(money.candidates or ((money.value,) if money.value is not None else ()))
    return frozenset(amounts)
