"""What a summariser makes of a conversation, a model or the rules: the parts of a `Summary` that words decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from channels import said as words
from channels.chats import Said
from statemachine.entries import Callback, Commitment, Fact, PaymentClaim
from statemachine.grounding import quote_stands

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
    promised_at: datetime | None = None
    """When the newest of the turns was written that the commitment rests on."""


def last_said_at(texts: Iterable[str | None], said: Sequence[Said]) -> datetime | None:
    """When the borrower wrote the newest of the turns in which these words stand, each where it stands last."""
    found = []
    for text in filter(None, texts):
        turns = (turn for turn in reversed(said) if quote_stands(text, (turn,)) == "stands")
        last = next(turns, None)
        found += [last.at] if last is not None else []
    return max(found, default=None)


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
