"""Conversations in few words, for what is grounded in them."""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

WORDS = {"seven": 7, "saat": 7, "paanch": 5, "five": 5}


@dataclass(frozen=True)
class Turn:
    speaker: str
    text: str


def numbers(text: str) -> frozenset[Decimal]:
    """A small reader of numbers, in the place of the service's own."""
    told = re.sub(r"(?<=\d),(?=\d)", "", text.lower())
    found = {Decimal(digits) for digits in re.findall(r"\d+(?:\.\d+)?", told)}
    return frozenset(found | {Decimal(WORDS[word]) for word in re.findall(r"[a-z]+", told) if word in WORDS})


def dates(text: str) -> frozenset[date]:
    """A small reader of days of February 2026."""
    found = re.findall(r"(?<![\d,])(\d{1,2})(?:st|nd|rd|th|\s+feb|\s+tarikh|\s+ko)", text.lower())
    return frozenset(date(2026, 2, int(day)) for day in found if 1 <= int(day) <= 28)


def borrower(*texts: str) -> list[Turn]:
    return [Turn("borrower", text) for text in texts]


def call(*told: str) -> list[Turn]:
    """Turns from "A: ..." (agent), "B: ..." (borrower), "T: ..." (third party) and "S: ..." (system)."""
    speakers = {"A": "agent", "B": "borrower", "T": "third_party", "S": "system"}
    return [Turn(speakers[line[0]], line[3:]) for line in told]


AMOUNT = Decimal("5000.00")


DUE = date(2026, 2, 25)
