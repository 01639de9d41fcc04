"""What a model may see of a conversation: never a value that was true only when it was read (DESIGN 11, "Never shown").

An agent's turn is live by the tools that it was answered from, or, when nobody says where it came from, by what it asserts:
any amount but the one that was promised, and any sentence that would not be shown as prose either. A live turn is replaced by
a placeholder that says when it was read. The borrower's turns stay as they are; what the system said is nobody's words.

Read-backs are looked for on the original turns, before any of this (`service.intake.terms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from channels import said as words
from channels.chats import Said
from statemachine.screening import screened
from statemachine.volatility import Volatility, tool_volatility, worst

SMALLEST_AMOUNT: Final = 100
"""A number below this is a day, a count or an hour, unless it is said as money."""
PLACEHOLDER: Final = "[the agent told something that was true when it was read"


def shown(said: Sequence[Said], promised: frozenset[Decimal], zone: str) -> tuple[Said, ...]:
    """The turns as a model may see them; `promised` are the amounts of this conversation's own promise."""
    return tuple(
        replace(turn, text=placeholder(turn, zone), tools=(), observed_at=None) if is_live(turn, promised) else turn
        for turn in said
        if turn.speaker != "system"
    )


def is_live(turn: Said, promised: frozenset[Decimal]) -> bool:
    """Whether repeating this turn later could be wrong (DESIGN 11)."""
    if turn.speaker != "agent":
        return False
    if turn.tools and worst(tool_volatility(tool) for tool in turn.tools) is Volatility.LIVE:
        return True
    if turn.observed_at is not None:
        return True
    money = words.amount(turn.text)
    stated = set(money.candidates or ((money.value,) if money.value is not None else ())) if money else set()
    numbers = {number for number in words.numbers(turn.text) if number >= SMALLEST_AMOUNT} | stated
    if not numbers <= promised:
        return True
    return bool(screened(turn.text, amounts_allowed=promised, numbers=words.numbers).withheld)


def placeholder(turn: Said, zone: str) -> str:
    """What stands in the place of a live turn: that there was one and when it was read, and nothing of what it said."""
    at = turn.observed_at or turn.at
    return f"{PLACEHOLDER}, {_moment(at, zone)}; it is withheld]"


def is_placeholder(text: str) -> bool:
    return text.startswith(PLACEHOLDER)


def _moment(at: datetime, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%B %Y, %H:%M}"
