"""Days as instants: where a date begins and ends in a zone."""

from datetime import UTC, date, datetime

import pytest

from statemachine.holding import end_of_day, start_of_day


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Pacific/Kiritimati", "Etc/GMT+12"])
@pytest.mark.parametrize("day", [date.min, date(1, 1, 2), date(2026, 1, 28), date(9999, 12, 30), date.max])
def test_no_day_of_the_calendar_ends_before_it_begins(day: date, zone: str) -> None:
    assert start_of_day(day, zone) <= end_of_day(day, zone)


def test_a_day_begins_and_ends_at_midnight_of_its_zone() -> None:
    assert start_of_day(date(2026, 1, 28), "Asia/Kolkata") == datetime(2026, 1, 27, 18, 30, tzinfo=UTC)
    assert end_of_day(date(2026, 1, 28), "Asia/Kolkata") == datetime(2026, 1, 28, 18, 30, tzinfo=UTC)
