"""When somebody may be contacted (DESIGN 10, 18)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachine.contact import contact_of, contact_of_nobody, opening_after, strictest, unknown
from statemachine.merge import merge
from statemachine.stamps import Entry
from statemachine.state import BorrowerState, derive
from tests.examples import step
from tests.statemachine.histories import NOON, POLICY, empty, hasher, stamped
from tests.statemachine.test_ladder import call, event


@dataclass
class Hours:
    contact_minutes: tuple[int, int] = (8 * 60, 19 * 60)
    attempts_in_7_days: int = 0


NOON_IN_INDIA = datetime(2026, 11, 4, 6, 30, tzinfo=UTC)
NIGHT_IN_INDIA = datetime(2026, 11, 4, 16, 30, tzinfo=UTC)


def state_after(*history: Entry, now: datetime = NOON_IN_INDIA) -> BorrowerState:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher)
    return derive(record, now, POLICY)


def test_within_the_hours_contact_is_allowed() -> None:
    contact = contact_of(state_after(), "voice", None, NOON_IN_INDIA, Hours())
    assert (contact.allowed, contact.reasons, contact.next_allowed_at) == (True, (), None)


def test_outside_the_hours_it_is_allowed_next_morning_where_the_borrower_is() -> None:
    contact = contact_of_nobody("Asia/Kolkata", NIGHT_IN_INDIA, Hours())
    assert (contact.allowed, contact.reasons) == (False, ("outside_hours",))
    assert contact.next_allowed_at == datetime(2026, 11, 5, 2, 30, tzinfo=UTC)


def test_the_hours_begin_at_their_first_minute_and_end_before_their_last() -> None:
    for minute, allowed in ((7 * 60 + 59, False), (8 * 60, True), (18 * 60 + 59, True), (19 * 60, False)):
        at = datetime(2026, 11, 4, tzinfo=ZoneInfo("Asia/Kolkata")) + timedelta(minutes=minute)
        assert contact_of_nobody("Asia/Kolkata", at.astimezone(UTC), Hours()).allowed is allowed, minute


def test_a_stop_or_an_endless_hold_has_no_next_time() -> None:
    for entry, reason in (
        (event("contact.opted_out", days=1, channel="voice"), "opted_out"),
        (event("contact.opted_out", days=1, channel="all"), "opted_out"),
        (event("hold.placed", days=1, kind="dispute", reason="not hers"), "hold"),
    ):
        contact = contact_of(state_after(entry), "voice", None, NOON_IN_INDIA, Hours())
        assert (contact.allowed, contact.reasons, contact.next_allowed_at) == (False, (reason,), None)


def test_a_hold_with_an_end_tells_it() -> None:
    until = NOON_IN_INDIA + timedelta(days=3)
    held = event("hold.placed", days=1, kind="other", reason="bereavement", until=until)
    assert contact_of(state_after(held), "voice", None, NOON_IN_INDIA, Hours()).next_allowed_at == until
    assert contact_of(state_after(held, now=until), "voice", None, until, Hours()).allowed


def test_a_hold_on_another_loan_is_none_here() -> None:
    held = event("hold.placed", days=1, kind="dispute", reason="not hers", loan_id="LN-2")
    assert contact_of(state_after(held), "voice", "LN-1", NOON_IN_INDIA, Hours()).allowed
    assert not contact_of(state_after(held), "voice", "LN-2", NOON_IN_INDIA, Hours()).allowed


def test_a_marketing_stop_is_not_a_cease() -> None:
    stop = event("contact.opted_out", days=1, channel="voice", purpose="marketing")
    assert contact_of(state_after(stop), "voice", None, NOON_IN_INDIA, Hours()).allowed


def test_attempts_count_for_seven_days_on_their_channel() -> None:
    calls = [call(f"c-{n}", days=n / 2, outcome="no_answer", status=None) for n in range(3)]
    state = state_after(*calls)
    contact = contact_of(state, "voice", None, NOON_IN_INDIA, Hours(attempts_in_7_days=2))
    assert contact.reasons == ("attempts_exceeded",)
    assert contact.next_allowed_at == opening_after(
        calls[1].stamps.effective_at + timedelta(days=7), "Asia/Kolkata", Hours()
    )
    assert contact_of(state, "voice", None, NOON_IN_INDIA, Hours(attempts_in_7_days=4)).allowed
    assert contact_of(state, "whatsapp", None, NOON_IN_INDIA, Hours(attempts_in_7_days=2)).allowed


def test_an_attempt_is_over_after_seven_days_and_a_call_of_theirs_is_none() -> None:
    hours, at = Hours(attempts_in_7_days=1, contact_minutes=(0, 24 * 60)), NOON
    tried = call("c-1", outcome="no_answer", status=None)
    for days, allowed in ((7 - 1e-6, False), (7, True)):
        now = at + timedelta(days=days)
        assert contact_of(state_after(tried, now=now), "voice", None, now, hours).allowed is allowed
    theirs = stamped(tried.body.model_copy(update={"direction": "inbound"}), at)
    assert contact_of(state_after(theirs), "voice", None, at + timedelta(days=1), hours).allowed


def test_of_several_borrowers_every_reason_counts() -> None:
    fine, stopped = contact_of_nobody("Asia/Kolkata", NOON_IN_INDIA, Hours()), unknown("Asia/Kolkata")
    asleep = contact_of_nobody("Asia/Kolkata", NIGHT_IN_INDIA, Hours())
    assert (strictest([fine, fine]).allowed, strictest([fine, stopped]).allowed) == (True, False)
    assert strictest([stopped, asleep, stopped]).reasons == ("unknown", "outside_hours")
    assert strictest([asleep, fine]).next_allowed_at is None, "whose hours, nobody knows"


@given(
    st.integers(0, 3 * 365 * 24 * 60).map(lambda n: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=n)),
    st.sampled_from(["Asia/Kolkata", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"]),
)
def test_the_next_opening_is_the_first_minute_of_the_hours_by_the_wall_clock(at: datetime, zone: str) -> None:
    opening = opening_after(at, zone, Hours())
    local = opening.astimezone(ZoneInfo(zone))
    assert opening >= at
    assert opening - at < timedelta(hours=14)
    assert opening == at or (local.hour, local.minute) == (8, 0)
    assert contact_of_nobody(zone, opening, Hours()).allowed


CHANGES_OF_TIME = {
    "America/New_York": ("2026-03-08T07:00", "2026-11-01T06:00"),
    "Europe/Berlin": ("2026-03-29T01:00", "2026-10-25T01:00"),
    "Australia/Lord_Howe": ("2026-10-03T15:30", "2026-04-04T15:00"),
    "America/Sao_Paulo": ("2018-11-04T03:00", "2019-02-17T02:00"),
    "Asia/Beirut": ("2026-03-28T22:00", "2026-10-24T21:00"),
    "Pacific/Apia": ("2011-12-30T10:00", "2026-06-01T00:00"),
    "Asia/Kolkata": ("2026-03-29T01:00", "2026-10-25T01:00"),
}
"""When the clocks are set forward and back, in UTC; in Apia once over a whole day, and in India never."""


@cache
def clocks(zone: str, change: str) -> tuple[list[datetime], list[int]]:
    """Every minute from 30 hours before a change on, for five days, and the minute of its day that the wall clock shows."""
    at = datetime.fromisoformat(change).replace(tzinfo=UTC) - timedelta(hours=30)
    minutes = [at + timedelta(minutes=n) for n in range(5 * 24 * 60)]
    local = [minute.astimezone(ZoneInfo(zone)) for minute in minutes]
    return minutes, [clock.hour * 60 + clock.minute for clock in local]


@pytest.mark.thorough
@pytest.mark.parametrize(("zone", "change"), [(zone, at) for zone, both in CHANGES_OF_TIME.items() for at in both])
@pytest.mark.parametrize(
    "hours", [(480, 1140), (0, 60), (15, 45), (30, 90), (90, 600), (135, 165), (150, 1440), (1380, 1440)]
)
def test_across_a_change_of_summer_time_the_next_time_is_the_first_at_which_the_wall_clock_shows_the_hours(
    zone: str, change: str, hours: tuple[int, int]
) -> None:
    """Against every minute of the days around it."""
    policy, (minutes, shown) = Hours(hours), clocks(zone, change)
    shows = [hours[0] <= minute < hours[1] for minute in shown]
    for place in range(0, 48 * 60, step(7)):
        first = minutes[shows.index(True, place)]
        told = contact_of_nobody(zone, minutes[place], policy)
        assert (told.allowed, told.next_allowed_at) == ((True, None) if shows[place] else (False, first)), minutes[
            place
        ]
