"""At which moment what is over is told no more (DESIGN 11 "Expiry"). How it leaves the tables: `test_retention`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from service.policy import Policy
from service.retention.reading import EXPIRED, told
from tests.service.embedded import NOON

POLICY = Policy()
MOMENT = timedelta(microseconds=1)
REPORT = {
    "summary": "She will see.",
    "turns": [{"speaker": "borrower", "text": "ok"}],
    "facts": [
        {"kind": "goal", "text": "a shop"},
        {"kind": "payer", "text": "her son"},
        {"kind": "of no table", "text": "x"},
    ],
    "commitment": {"amount": "5000.00"},
}


@pytest.mark.parametrize(
    ("days", "part", "left"),
    [
        (POLICY.retention.turns, "turns", None),
        (POLICY.retention.prose, "summary", None),
        (90, "facts", REPORT["facts"][1:]),  # type: ignore[index]  # a goal's lifetime; a payer has none
    ],
)
def test_a_part_of_a_report_is_told_until_its_time_is_over(days: float, part: str, left: object) -> None:
    over = NOON + timedelta(days=days)
    before, after = (told(REPORT, "summary", NOON, now, POLICY) for now in (over - MOMENT, over))
    assert before[part] == REPORT[part]
    assert after.get(part) == left
    assert after["commitment"] == REPORT["commitment"], "what was promised stays"


@pytest.mark.parametrize(
    ("type_", "body", "days"),
    [
        ("conversation.message", {"text": "ok"}, POLICY.retention.turns),
        ("fact.stated", {"kind": "goal", "text": "a shop"}, 90),
    ],
)
def test_a_text_that_must_stand_says_that_it_expired(type_: str, body: dict[str, str], days: float) -> None:
    over = NOON + timedelta(days=days)
    assert told(body, type_, NOON, over - MOMENT, POLICY) == body
    assert told(body, type_, NOON, over, POLICY) == {**body, "text": EXPIRED}
