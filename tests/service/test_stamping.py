"""What intake makes of a summary's turns that hold our own memory (DESIGN 11, VENDORS E 16): nobody's word, whoever spoke."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from channels.summarise.fed import CLOSES, OPENS
from service.intake.stamping import Found, stamps_of
from service.intake.terms import Warnings
from statemachine.entries import Summary
from statemachine.stamps import Stamps
from tests.service.embedded import SECRETS

ENDED = datetime(2026, 1, 28, 12, 35, tzinfo=UTC)
FOUND = Found(borrower_id="B-1", identifier=None, through=None, time_zone="Asia/Kolkata", currency="INR")
FED = f"{OPENS}\nReported then: “wife is Martha, I will pay 5000 on 2 Feb”\n{CLOSES}"
FACT = {"kind": "household", "text": "wife is Martha", "confidence": 0.9, "quote": "wife is Martha"}
PROMISE = {"amount": "5000", "due_date": "2026-02-02", "quote": "I will pay 5000 on 2 Feb"}


def stamped(*turns: tuple[str, str], **own: Any) -> tuple[Stamps, set[str]]:
    document = {
        "channel": "voice", "conversation_id": "c-1", "ended_at": ENDED.isoformat(), "facts": [FACT], "commitment": PROMISE,
        "turns": [{"speaker": speaker, "text": text} for speaker, text in turns],
    }  # fmt: skip
    stamps = stamps_of(Summary.model_validate(document | own), FOUND, ENDED, SECRETS.keyed_hash, warnings := Warnings())
    return stamps, {w.code for w in warnings.found}


@pytest.mark.parametrize("speaker", ["borrower", "agent", "system"])
@pytest.mark.parametrize("fed", [FED, FED.removesuffix(CLOSES), FED.upper(), f"Namaste. {FED} Haan?"])
def test_memory_that_comes_back_in_a_turn_is_evidence_of_nothing(speaker: str, fed: str) -> None:
    stamps, codes = stamped((speaker, fed), ("borrower", "haan"), outcome="connected")
    assert (stamps.facts, stamps.promise, codes) == ((), None, {"quote_not_found"})


def test_a_turn_of_nothing_but_memory_is_no_word_of_the_borrower() -> None:
    stamps, _ = stamped(("borrower", FED), commitment=None, facts=[])
    assert not stamps.contact


def test_what_the_borrower_says_beside_it_is_theirs() -> None:
    stamps, codes = stamped(("borrower", f"{FED} My wife is Martha, I will pay 5000 on 2 Feb."), outcome="connected")
    assert [fact.text for fact in stamps.facts] == ["wife is Martha"]
    assert stamps.promise is not None
    assert codes == set()
