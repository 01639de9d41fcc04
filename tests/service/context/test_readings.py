"""Which readings may stay: this turn's, by its id alone (DESIGN 10, AC-78)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.context.bodies import Reading
from service.context.readings import kept_readings
from tests.examples import often

NOW = datetime(2026, 11, 29, 10, 5, tzinfo=UTC)


def reading(
    text: str, turn: str | None, minutes: int | None = 0, source: str = "dues", subject: str | None = None
) -> Reading:
    at = None if minutes is None else NOW + timedelta(minutes=minutes)
    return Reading(source=source, subject=subject, turn_id=turn, observed_at=at, text=text)


def kept(*readings: Reading) -> list[str]:
    return [one.text for one in kept_readings(readings, "t-7")[0]]


def reasons(*readings: Reading) -> list[str]:
    return [one.reason for one in kept_readings(readings, "t-7")[1]]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("minutes", [-300, -1, 0, 4])
def test_this_turns_reading_beats_one_of_an_earlier_turn_whatever_order_and_clock(order: int, minutes: int) -> None:
    two = [reading("12,400", "t-3", minutes), reading("14,300", "t-7", -2)][::order]
    assert kept(*two) == ["14,300"]
    assert reasons(*two) == ["earlier_turn"]


@pytest.mark.parametrize(
    ("turn", "reason"), [("t-6", "earlier_turn"), ("T-7", "earlier_turn"), ("t-77", "earlier_turn"), (None, "no_turn")]
)
def test_a_measurement_is_never_replayed_also_when_nothing_newer_is_there(turn: str | None, reason: str) -> None:
    alone = reading("12,400", turn)
    assert (kept(alone), reasons(alone)) == ([], [reason])


def test_a_fresh_reading_of_one_subject_says_nothing_of_another() -> None:
    others = [
        reading("a", "t-7", subject="outstanding"),
        reading("b", "t-7", subject="emi"),
        reading("c", "t-7", source="crm"),
    ]
    assert kept(*others) == ["c", "b", "a"]


def test_read_twice_in_one_turn_the_later_stays() -> None:
    twice = [reading("new", "t-7", -1), reading("old", "t-7", -2), reading("older", "t-7", None)]
    assert (kept(*twice), reasons(*twice)) == (["new"], ["newer_reading", "newer_reading"])


def test_two_texts_at_one_time_both_stay_and_the_same_one_once() -> None:
    assert kept(reading("14,300", "t-7"), reading("12,400", "t-7"), reading("14,300", "t-7")) == ["12,400", "14,300"]
    assert reasons(reading("14,300", "t-7"), reading("14,300", "t-7")) == ["same_reading"]


def test_a_reading_without_words_is_none_and_does_not_hide_another() -> None:
    two = [reading(" ", "t-7", 0), reading("14,300", "t-7", -1)]
    assert (kept(*two), reasons(*two)) == (["14,300"], ["empty"])


READINGS = st.lists(
    st.builds(
        reading,
        st.sampled_from(["12,400", "14,300", ""]),
        st.sampled_from(["t-6", "t-7", "t-8", None]),
        st.sampled_from([-60, -1, 0, 3, None]),
        st.sampled_from(["dues", "crm"]),
        st.sampled_from([None, "emi"]),
    ),
    max_size=8,
)


@settings(max_examples=often(60), deadline=None)
@given(READINGS, st.randoms(use_true_random=False))
def test_whatever_the_order_the_same_stay_and_every_other_is_named(readings: list[Reading], random: object) -> None:
    shuffled = list(readings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    stay, dropped = kept_readings(readings, "t-7")
    again, dropped_again = kept_readings(shuffled, "t-7")
    assert again == stay
    assert sorted(map(str, dropped_again)) == sorted(map(str, dropped))
    assert len(stay) + len(dropped) == len(readings)
    assert all(one.turn_id == "t-7" and one.text for one in stay)
    assert {(one.source, one.subject) for one in stay} == {
        (one.source, one.subject) for one in readings if one.turn_id == "t-7" and one.text
    }
