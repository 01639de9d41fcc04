"""How a briefing tells facts (DESIGN 11)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from service.narrative import narrative, said_in_words
from statemachine.conclusions import KnownFact
from tests.service.narrative.histories import (
    T,
    briefing,
    event,
    inferred,
    promise,
    state_of,
    told,
)


def test_stated_and_inferred_facts_stand_apart_and_events_carry_their_day() -> None:
    text = briefing(
        event("fact.stated", -100, kind="employment", text="teacher"),
        event("fact.stated", -90, kind="complaint", text="called at night"),
        told(
            "c",
            facts=(
                inferred("goal", "buy a scooter", grounding="quoted"),
                inferred("reason_for_delay", "hospital bills"),
                inferred("income_day", "salary on the 7th", about="brother"),
            ),
        ),
    ).text
    stated, _, rest = text.partition("Facts inferred from what was said:\n")
    assert "Stated facts:\n- 25 November 2026, complaint: “called at night” (stated)\n" in stated
    assert "- employment: “teacher” (stated on 24 November 2026)\n" in stated
    assert "- goal: “buy a scooter” (inferred on 28 November 2026, quoted)" in rest
    assert "- 28 November 2026, reason for delay: “hospital bills” (inferred, unchecked)" in rest
    assert "- income day of brother: “salary on the 7th” (inferred on 28 November 2026, unchecked)" in rest


def test_a_value_that_was_true_only_when_read_is_in_no_fact() -> None:
    said = briefing(
        event("fact.stated", 0, kind="request", text="outstanding 12,400 and 2,000 blocked"),
        told("c", facts=(inferred("goal", "two EMIs pending"),), promise=promise(due=None)),
    )
    assert "12,400" not in said.text
    assert "pending" not in said.text
    assert {(w.conversation_id, w.rule) for w in said.withheld} >= {
        ("f-outstanding 12,400 and 2,000 blocked", "balance")
    }
    assert "c" in {w.conversation_id for w in said.withheld}
    state, cycle, now = state_of([event("fact.stated", 0, kind="goal", text="buy a scooter")])
    live = replace(state.facts[0], kind="balance", volatility="live")
    assert "scooter" not in narrative(replace(state, facts=(live,)), cycle, now=now).text


def test_facts_without_room_are_counted() -> None:
    many = [event("fact.stated", -n, kind="goal", text=f"goal {n} " + "very " * 40) for n in range(1, 12)]
    text = briefing(*many).text
    listed = text.count("- goal: “goal ")
    assert 0 < listed < 11
    assert f"{11 - listed} further facts are not told here." in text
    assert text.count("…” (stated on 28 November 2026)") == listed


SOURCES: list[tuple[dict[str, Any], str, str]] = [
    (
        {"source": "stated", "conversation_id": None},
        "Stated to us on 28 November 2026 (UTC): “prefers Hindi”.",
        "Stated to us on 29 November 2026: “prefers Hindi”.",
    ),
    (
        {"quote": "hindi mein hi", "grounding": "quoted"},
        "From a conversation on 28 November 2026 (UTC): “prefers Hindi”, taken from the words “hindi mein hi”.",
        "From a WhatsApp chat on 29 November 2026: “prefers Hindi”, taken from the words “hindi mein hi”.",
    ),
    (
        {"about": "brother"},
        "About brother, from a conversation on 28 November 2026 (UTC): “prefers Hindi”, taken from what was said,"
        " unchecked.",
        "About brother, from a WhatsApp chat on 29 November 2026: “prefers Hindi”, taken from what was said, unchecked.",
    ),
    (
        {"text": "balance 12,400"},
        "From a conversation on 28 November 2026 (UTC): “balance 12,400”, taken from what was said, unchecked."
        " That was so then; check again before repeating it.",
        "From a WhatsApp chat on 29 November 2026: “balance 12,400”, taken from what was said, unchecked."
        " That was so then; check again before repeating it.",
    ),
]


@pytest.mark.parametrize(("own", "alone", "with_the_state"), SOURCES)
def test_a_fact_says_where_it_comes_from(own: dict[str, Any], alone: str, with_the_state: str) -> None:
    at = T + timedelta(hours=7)  # 01:42 on the 29th in India
    fact = KnownFact(
        **{
            "fact_id": "f-1",
            "kind": "preferred_language",
            "text": "prefers Hindi",
            "about": "borrower",
            "source": "inferred",
            "volatility": "stable",
            "observed_at": at,
            "expires_at": None,
            "conversation_id": "w-1",
            **own,
        }
    )
    state, _, _ = state_of([told("w-1", channel="whatsapp", hours=7), told("w-2", hours=7)])
    assert said_in_words(fact) == alone
    assert said_in_words(fact, state) == with_the_state
