"""Which days a phrase means, seen from one day, looking ahead or back.

Calendar arithmetic and nothing else: it must not know words, zones or clocks. A day that does not exist stays impossible;
it is never moved to a neighbour.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Protocol

FARTHEST_DAYS = 3_660  # "in 99999 days" names no date that anybody means
FARTHEST_MONTHS = 120

AHEAD, BACK = 1, -1


@dataclass(frozen=True, slots=True)
class Days:
    """The days a phrase may mean, in order: none if `impossible`, one if clear, the two ends if it is a `span`. `offered` beside
    the phrase before it ("this Friday or next Friday") it narrows nothing down."""

    days: tuple[date, ...] = ()
    span: bool = False
    impossible: bool = False
    offered: bool = False

    def covers(self, day: date) -> bool:
        return day in self.days or (self.span and self.days[0] <= day <= self.days[-1])

    def common(self, other: Days) -> tuple[date, ...]:
        """What two phrases agree on: "next Friday, 6 Feb" is the 6th."""
        agreed = {day for day in self.days if other.covers(day)} | {day for day in other.days if self.covers(day)}
        return tuple(sorted(agreed))


IMPOSSIBLE = Days(impossible=True)
NONE = Days()


class When(Protocol):
    """A phrase for a day. `leaning` is `AHEAD` or `BACK` if the phrase itself says so ("tomorrow"), else 0."""

    @property
    def leaning(self) -> int: ...

    def seen(self, today: date, direction: int) -> Days: ...


def _one(day: date) -> Days:
    return Days((day,))


def _shifted(today: date, days: int) -> Days:
    try:
        return _one(today + timedelta(days=days))
    except OverflowError:
        return NONE


def _existing(year: int, month: int, day: int) -> Days:
    try:
        return _one(date(year, month, day))
    except ValueError:
        return IMPOSSIBLE


def _month_away(today: date, months: int) -> tuple[int, int]:
    """Year and month `months` from today's; the year may lie outside the calendar."""
    years, month = divmod(today.month - 1 + months, 12)
    return today.year + years, month + 1


def _within(first: Days, last: Days) -> Days:
    days = tuple(sorted({*first.days, *last.days}))
    return Days(days, span=len(days) > 1) if days else NONE


@dataclass(frozen=True, slots=True)
class Away:
    """A number of days from today: "tomorrow", "3 days ago"."""

    days: int

    @property
    def leaning(self) -> int:
        return (self.days > 0) - (self.days < 0)

    def seen(self, today: date, direction: int) -> Days:
        return _shifted(today, self.days) if abs(self.days) <= FARTHEST_DAYS else NONE


@dataclass(frozen=True, slots=True)
class EitherWay:
    """ "kal", "parso": so many days back or ahead; the verb decides."""

    days: int
    leaning: int = 0

    def seen(self, today: date, direction: int) -> Days:
        return _shifted(today, self.days * direction)


@dataclass(frozen=True, slots=True)
class MonthsAway:
    """ "in 2 months". The 31st of a month without one is its last day: nobody named the 31st here."""

    months: int

    @property
    def leaning(self) -> int:
        return AHEAD if self.months > 0 else BACK

    def seen(self, today: date, direction: int) -> Days:
        year, month = _month_away(today, self.months)
        if abs(self.months) > FARTHEST_MONTHS or not date.min.year <= year <= date.max.year:
            return NONE
        return _one(date(year, month, min(today.day, monthrange(year, month)[1])))


@dataclass(frozen=True, slots=True)
class Month:
    """A month: so many from this one, or a named one, or (neither) the one in which the day asked for comes next."""

    away: int | None = None
    named: int | None = None
    year: int | None = None

    @property
    def leaning(self) -> int:
        return 0 if not self.away else AHEAD if self.away > 0 else BACK

    def begins(self, today: date, direction: int, day: int | None = None) -> tuple[int, int]:
        """Year and month. A month said without a year is the next one (looking back: the last) in which `day` has not
        passed (has been); without a `day`, the one that has not ended (has begun)."""
        if self.away is not None:
            return _month_away(today, self.away)
        if self.named is not None and self.year is not None:
            return self.year, self.named
        if self.named is not None:
            edge = today.day if day is None else day
            if direction == AHEAD:
                return today.year + ((self.named, edge) < (today.month, today.day)), self.named
            return today.year - ((self.named, edge) > (today.month, today.day)), self.named
        passed = day is not None and (day - today.day) * direction < 0
        return _month_away(today, direction if passed else 0)


@dataclass(frozen=True, slots=True)
class DayOfMonth:
    """ "25th", "5 Jan", "agle mahine ki 5 tarikh"."""

    day: int
    month: Month = Month()

    @property
    def leaning(self) -> int:
        return self.month.leaning

    def seen(self, today: date, direction: int) -> Days:
        year, month = self.month.begins(today, direction, self.day)
        return _existing(year, month, self.day)


@dataclass(frozen=True, slots=True)
class EndOfRange:
    """The 28th of "25 se 28 ke beech": the first on or after the day with which the range begins."""

    begins: DayOfMonth
    day: int

    @property
    def leaning(self) -> int:
        return self.begins.leaning

    def seen(self, today: date, direction: int) -> Days:
        first = self.begins.seen(today, direction)
        return DayOfMonth(self.day).seen(first.days[0], AHEAD) if first.days else first


@dataclass(frozen=True, slots=True)
class MonthEnd:
    """ "month end": the last day of this month, or of the one said."""

    month: Month

    @property
    def leaning(self) -> int:
        return self.month.leaning

    def seen(self, today: date, direction: int) -> Days:
        year, month = self.month.begins(today, direction)
        if direction == BACK and self.month == Month() and today.day < monthrange(year, month)[1]:
            year, month = _month_away(today, -1)
        if not date.min.year <= year <= date.max.year:
            return NONE
        return _existing(year, month, monthrange(year, month)[1])


@dataclass(frozen=True, slots=True)
class PartOfMonth:
    """A stretch of a month, by its two ends: "first week of Feb" is (1, 7), "next month" (1, 31), "last week" (-7, 31)."""

    month: Month
    first: int
    last: int

    @property
    def leaning(self) -> int:
        return self.month.leaning

    def seen(self, today: date, direction: int) -> Days:
        year, month = self.month.begins(today, direction, None if self.first == 1 and self.last == 31 else self._edge)
        if not date.min.year <= year <= date.max.year:
            return NONE
        length = monthrange(year, month)[1]
        first = date(year, month, self.first if self.first > 0 else length + self.first + 1)
        last = date(year, month, min(self.last, length))
        if direction == AHEAD and first < today <= last:
            first = today
        if direction == BACK and first <= today < last:
            last = today
        return _within(_one(first), _one(last))

    @property
    def _edge(self) -> int:
        return self.last


@dataclass(frozen=True, slots=True)
class Week:
    """A week from Monday to Sunday, or its days from `first` to `last`: "next week" (0, 6), "weekend" (5, 6)."""

    away: int
    first: int = 0
    last: int = 6

    @property
    def leaning(self) -> int:
        return (self.away > 0) - (self.away < 0)

    def seen(self, today: date, direction: int) -> Days:
        monday = self.away * 7 - today.weekday()
        ends = sorted((self.first, self.last))
        if self.away == 0 and direction == AHEAD:
            ends = [max(end, today.weekday()) for end in ends]
        if self.away == 0 and direction == BACK:
            ends = [min(end, today.weekday()) for end in ends]
        return _within(_shifted(today, monday + ends[0]), _shifted(today, monday + ends[1]))


@dataclass(frozen=True, slots=True)
class Weekday:
    """A day of the week. `said` is how: plain, this, coming, next, over (next to next) or last."""

    weekday: int
    said: str = "plain"

    @property
    def leaning(self) -> int:
        return {"over": AHEAD, "next": AHEAD, "coming": AHEAD, "last": BACK}.get(self.said, 0)

    def seen(self, today: date, direction: int) -> Days:
        ahead = (self.weekday - today.weekday()) % 7
        behind = (today.weekday() - self.weekday) % 7
        if self.said == "this" and direction == AHEAD:
            return _shifted(today, ahead)
        if self.said == "over":
            return _either(today, (ahead or 7) + 7, (ahead or 7) + 14)  # "next to next": the same doubt, a week later
        if self.said == "next":
            # Some mean the first one to come, others the one in the week after: two candidates, to be read back.
            return _either(today, ahead or 7, (ahead or 7) + 7)
        if self.said == "last" or direction == BACK:
            # "Last Friday" said on a Saturday is yesterday to some, and the one before to others.
            if self.said == "last" and 0 < behind <= today.weekday():
                return _either(today, -behind - 7, -behind)
            if self.said == "plain" and behind == 0:
                return _either(today, -7, 0)
            return _shifted(today, -(behind or (7 if self.said == "last" else 0)))
        if ahead == 0:
            # Said on that very weekday it may be today.
            return _either(today, 0, 7) if self.said == "plain" else _shifted(today, 7)
        return _shifted(today, ahead)


@dataclass(frozen=True, slots=True)
class WeekdayInWeek:
    """ "Friday next week". Weeks begin on Monday to some and on Sunday to others, so a Sunday keeps two candidates."""

    weekday: int
    away: int

    @property
    def leaning(self) -> int:
        return (self.away > 0) - (self.away < 0)

    def seen(self, today: date, direction: int) -> Days:
        ahead = self.away * 7 - today.weekday() + self.weekday
        if self.weekday != 6 or self.away == 0:
            return _shifted(today, ahead)
        sunday_first = self.away * 7 - (today.weekday() + 1) % 7
        return _either(today, *sorted({ahead, sunday_first}))


def _either(today: date, *offsets: int) -> Days:
    days = [_shifted(today, offset).days for offset in offsets]
    return Days(tuple(sorted(day for found in days for day in found)))


@dataclass(frozen=True, slots=True)
class Dated:
    """A full date. It leans nowhere: it is what it says."""

    day: int
    month: int
    year: int
    leaning: int = 0

    def seen(self, today: date, direction: int) -> Days:
        return _existing(self.year, self.month, self.day)


@dataclass(frozen=True, slots=True)
class NoSuchDay:
    """ "32 tarikh"."""

    leaning: int = 0

    def seen(self, today: date, direction: int) -> Days:
        return IMPOSSIBLE
