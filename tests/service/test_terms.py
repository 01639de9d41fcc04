"""What intake settles of a summary's words: no call is arranged that the words themselves rule out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from service.intake.terms import Warnings, settle
from statemachine.elements import CallbackSaid
from statemachine.entries import Summary

ENDED = datetime(2026, 1, 28, 12, 30, tzinfo=UTC)
FIVE = datetime(2026, 1, 29, 11, 30, tzinfo=UTC)
"""The next day at 17:00 in Kolkata."""


def asked(**callback: object) -> tuple[CallbackSaid | None, set[str]]:
    summary = Summary.model_validate(
        {"channel": "voice", "conversation_id": "c-1", "ended_at": ENDED.isoformat(), "callback": callback}
    )
    found = settle(summary, ended_at=ENDED, zone="Asia/Kolkata", currency="INR", warnings=(warnings := Warnings()))
    return found.callback, {warning.field for warning in warnings.found}


@pytest.mark.parametrize("field", ["at_said", "quote"])
@pytest.mark.parametrize(
    "text",
    [
        "mat call karo kal 5 pm",
        "don't call me tomorrow at 5 pm",
        "kyu call karte ho kal 5 pm",
        "कल शाम 5 बजे फोन मत करना",
    ],
)
def test_a_time_that_the_words_rule_out_is_no_callback_whatever_a_model_made_of_it(field: str, text: str) -> None:
    assert asked(**{field: text}, at=FIVE.isoformat()) == (None, {f"callback.{field}"})


@pytest.mark.parametrize(
    "text",
    [
        "kal 5 pm call karo",
        "abhi baat nahi kar sakta, kal 5 pm call karo",
        "abhi mat call karo kal 5 pm karna",
        "call me",
    ],
)
def test_a_time_that_is_asked_for_stays(text: str) -> None:
    callback, warned = asked(quote=text, at=FIVE.isoformat())
    assert callback is not None
    assert callback.at == FIVE
    assert not warned
