"""What people's words mean: money, days, callback times and numbers, as borrowers say them.

English, Hindi in Latin letters and Hindi in Devanagari; any script's digits; day first. Everything is deterministic: the
same words, the same end of the conversation and the same zone give the same answer, and what is ambiguous keeps its
candidates and no single value (DESIGN 4.8). No clock, no network, no model; it must not know vendors, borrowers or
records. Any text of any length is read once and never raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from channels.said import words
from channels.said.appointments import is_asked_for
from channels.said.days import AHEAD, BACK, Days
from channels.said.deeds import Deeds
from channels.said.grammar import read_claims, read_days, read_numbers
from channels.said.line import DayPhrase, Line, Money
from channels.said.tense import Tense, Verbs

__all__ = [
    "SaidAmount",
    "SaidDate",
    "amount",
    "dates",
    "denied_days",
    "denied_sums",
    "due_date",
    "in_past_tense",
    "moment",
    "numbers",
    "paid_amount",
    "paid_on",
    "promised_amount",
    "promises",
    "rules_out_a_call",
]


@dataclass(frozen=True, slots=True)
class SaidAmount:
    """A sum as said. `currency` is its ISO 4217 code, only if one was said. Two or more `candidates`, in rising order,
    when the words allow several sums or give a range; then `value` is None."""

    value: Decimal | None
    currency: str | None
    candidates: tuple[Decimal, ...]


@dataclass(frozen=True, slots=True)
class SaidDate:
    """A day as said. Two or more `candidates`, in order, when the words allow several days or give a range; then `value`
    is None. `impossible` when a day was named that does not exist; it is then never another day."""

    value: date | None
    candidates: tuple[date, ...]
    impossible: bool


MOST_CANDIDATES = 16  # a text with more sums or days than this says none in particular; the lowest are kept
MOST_NARROWED = 64  # so many phrases for days are compared with each other

_NOT_DONE = (Tense.FUTURE, Tense.NONE)
_TO_BE_CALLED = (*_NOT_DONE, Tense.WORD)
_OTHERS = (Tense.OCCASION, Tense.WORD)
_NOT_TO_COME = (Tense.PAST, Tense.NONE)


def amount(text: str) -> SaidAmount | None:
    """The sum of money said in `text`, or None if none was (DESIGN 4.8, VENDORS D.3)."""
    line = read_numbers(text)
    return None if line is None else _sum(line.money)


def promised_amount(text: str) -> SaidAmount | None:
    """As `amount`, without what the speaker says to have paid: "kal 2000 diya tha, baaki 5 ko dunga" promises no 2000.

    A bare number that may be a day ("25 pakka") promises no sum."""
    line = read_numbers(text)
    if line is None:
        return None
    days = {phrase.first for phrase in (*line.days, *line.denied_days)}
    sums = [money for money in line.money if money.first not in days]
    if not sums or words.CLAIM_WORDS.isdisjoint(line.texts):
        return _sum(sums)
    deeds = Deeds(line)
    if not deeds.promise_payment() and not deeds.leaves_a_rest():
        return _sum(sums)
    return _sum([money for money in sums if not deeds.is_paid(money.first, money.after)])


def paid_amount(text: str) -> SaidAmount | None:
    """As `amount`; of a text that tells both of what was paid and of what will be, what was paid."""
    line = read_numbers(text)
    if line is None or not line.money or words.CLAIM_WORDS.isdisjoint(line.texts):
        return None if line is None else _sum(line.money)
    deeds = Deeds(line)
    return _sum([money for money in line.money if deeds.is_paid(money.first, money.after)] or line.money)


def _sum(said: Sequence[Money]) -> SaidAmount | None:
    """One answer from all the sums of a text."""
    if not said:
        return None
    values = tuple(sorted({value for money in said for value in money.values}))
    currencies = {money.currency for money in said if money.currency is not None}
    currency = currencies.pop() if len(currencies) == 1 else None
    if len(values) == 1:
        return SaidAmount(values[0], currency, ())
    return SaidAmount(None, currency, values[:MOST_CANDIDATES])


def due_date(text: str, said_at: datetime, zone: str) -> SaidDate | None:
    """The day on which the speaker will pay, seen from the local day of `said_at` in the IANA `zone`, looking ahead.

    None if no such day was said: also for a day in the past tense, for an open end ("after the 25th"), and for the day on
    which the speaker's own income comes, unless the promise takes it up: "salary 25 ko aayegi, tab de dungi". Raises
    ValueError if `said_at` is naive.
    """
    today = _local_day(said_at, zone)
    line = read_days(text)
    return None if line is None else _due(line, today, said_at, zone)


def paid_on(text: str, said_at: datetime, zone: str) -> SaidDate | None:
    """The day on which the speaker says to have paid, looking back; else as `due_date`."""
    today = _local_day(said_at, zone)
    line = read_days(text)
    return None if line is None else _settled(_found(line, today, BACK, _NOT_TO_COME), latest=today)


def moment(text: str, said_at: datetime, zone: str) -> datetime | None:
    """The time asked for, in UTC, if both its day and its hour are clear and it lies after `said_at`; else None.

    A time that is forbidden or complained of is not asked for: "mat call karo kal 5 pm"."""
    today = _local_day(said_at, zone)
    at = _iso_moment(text, zone)
    line = read_days(text) if at is None else None
    if line is not None and not is_asked_for(line):
        return None
    if line is not None and line.delays:
        if len(line.delays) == 1 and not line.clocks and not line.days:
            at = said_at.astimezone(UTC) + _length(line.delays[0])
    elif line is not None and len(set(line.clocks)) == 1:
        day = _settled(_found(line, today, AHEAD, _TO_BE_CALLED) + _delayed(line, said_at, zone), earliest=today)
        minutes = line.clocks[0]
        if minutes is not None and day is not None and day.value is not None:
            at = _instant(day.value, minutes, zone)
    return at if at is not None and at > said_at else None


def rules_out_a_call(text: str) -> bool:
    """Whether `text` forbids, denies or complains of a call at the one time in it, or of calls: "kal 5 baje call mat karna"."""
    line = read_days(text)
    return line is not None and len(set(line.clocks)) <= 1 and not is_asked_for(line)


def in_past_tense(text: str) -> bool:
    """Whether `text` claims that something was paid, and promises nothing: "27 ko bhar diya" (DESIGN 4.8)."""
    line = read_claims(text)
    return line is not None and Deeds(line).claim_payment()


def promises(text: str) -> bool:
    """Whether the speaker undertakes to pay ("ok 25 ko 5000 de dungi"): in the first person, outright, with a sum or a day.

    A condition, a hope, a question and a refusal promise nothing; when it is unclear, nothing was promised.
    """
    line = read_days(text)
    if line is None or not (line.money or line.days or line.delays or line.end_of_day):
        return False
    return Deeds(line).promise_payment()


def numbers(text: str) -> frozenset[Decimal]:
    """Every number in `text`, in digits or words, scaled and as grouped; those of dates and times by their parts."""
    line = read_numbers(text)
    return frozenset() if line is None else frozenset(line.numbers)


def dates(text: str, said_at: datetime, zone: str) -> frozenset[date]:
    """Every day that `text` may mean, ahead or back as its verbs allow, candidates and both ends of ranges included."""
    today = _local_day(said_at, zone)
    line = read_days(text)
    if line is None:
        return frozenset()
    verbs = Verbs(line) if line.days else None
    found = _found(line, today, AHEAD, (*_NOT_DONE, *_OTHERS), open_ended=True, verbs=verbs)
    found += _found(line, today, BACK, (*_NOT_TO_COME, *_OTHERS), open_ended=True, verbs=verbs)
    found += _delayed(line, said_at, zone)
    return frozenset(day for days in found for day in days.days)


def denied_days(text: str, said_at: datetime, zone: str) -> frozenset[date]:
    """Every day ahead for which the speaker says that nothing will be paid: "25 ko nahi ho payega"."""
    today = _local_day(said_at, zone)
    line = read_days(text)
    if line is None:
        return frozenset()
    return frozenset(day for phrase in line.denied_days for day in _seen(phrase, today, AHEAD).days)


def denied_sums(text: str) -> frozenset[Decimal]:
    """Every sum that the speaker refuses or cannot pay: "5000 nahi ho payega, 4000 dunga"."""
    line = read_numbers(text)
    return frozenset() if line is None else frozenset(value for money in line.denied_money for value in money.values)


# -- from phrases to days ---------------------------------------------------------------------------------------------


def _local_day(said_at: datetime, zone: str) -> date:
    if said_at.tzinfo is None:
        raise ValueError("said_at must carry its offset")
    return said_at.astimezone(ZoneInfo(zone)).date()


def _due(line: Line, today: date, said_at: datetime, zone: str) -> SaidDate | None:
    found = _found(line, today, AHEAD, _NOT_DONE) + _delayed(line, said_at, zone)
    if not found and line.end_of_day:
        return SaidDate(today, (), False)
    return _settled(found or _taken_up(line, today), earliest=today)


def _taken_up(line: Line, today: date) -> list[Days]:
    """The day on which the income comes, where the promise is for "then"."""
    if not line.days:
        return []
    verbs = Verbs(line)
    found = _found(line, today, AHEAD, (Tense.OCCASION,), verbs=verbs)
    return found if found and Deeds(line, verbs).takes_up_a_day(line.days[-1].after) else []


def _found(
    line: Line,
    today: date,
    direction: int,
    tenses: tuple[Tense, ...],
    *,
    open_ended: bool = False,
    verbs: Verbs | None = None,
) -> list[Days]:
    """What each phrase means on `today`, if its verb has one of `tenses`."""
    if not line.days:
        return []
    verbs = verbs or Verbs(line)
    seen = []
    for earlier, phrase in zip((None, *line.days), line.days, strict=False):
        if (open_ended or not phrase.open_ended) and verbs.tense(phrase.first, phrase.after) in tenses:
            days = _seen(phrase, today, direction)
            seen.append(replace(days, offered=True) if line.is_offered_beside(earlier, phrase) else days)
    return [days for days in seen if days.days or days.impossible]


def _seen(phrase: DayPhrase, today: date, direction: int) -> Days:
    """The phrase's alternatives as one; none of them if the phrase itself points the other way."""
    found = [when.seen(today, direction) for when in phrase.whens if when.leaning in (0, direction)]
    if any(days.impossible for days in found):
        return Days(impossible=True)
    if len(found) == 1:
        return found[0]
    return Days(tuple(sorted({day for days in found for day in days.days})))


def _settled(found: list[Days], earliest: date = date.min, latest: date = date.max) -> SaidDate | None:
    """One answer from all phrases: what a further phrase narrows down is narrowed down, the rest are candidates.

    A day before `earliest` or after `latest` is none: nobody promises the past or has paid in the future.
    """
    if any(days.impossible for days in found):
        return SaidDate(None, (), True)
    groups: list[Days] = []
    for days in dict.fromkeys(found):
        for place, group in enumerate(groups[:MOST_NARROWED]):
            common = () if days.offered else group.common(days)
            if common:
                groups[place] = Days(common)
                break
        else:
            groups.append(days)
    candidates = tuple(sorted({day for group in groups for day in group.days if earliest <= day <= latest}))
    if not candidates:
        return None
    if len(candidates) == 1:
        return SaidDate(candidates[0], (), False)
    return SaidDate(None, candidates[:MOST_CANDIDATES], False)


# -- from phrases to a time of day ------------------------------------------------------------------------------------


def _length(minutes: Decimal) -> timedelta:
    return timedelta(seconds=int(minutes * 60))


def _delayed(line: Line, said_at: datetime, zone: str) -> list[Days]:
    """The day on which "in 2 hours" ends."""
    return [Days((_local_day(said_at + _length(minutes), zone),)) for minutes in line.delays]


def _instant(day: date, minutes: int, zone: str) -> datetime | None:
    """That time of that day in UTC; None where the zone skips the hour or has it twice, which then is not clear."""
    there = datetime.combine(day, time(minutes // 60, minutes % 60), ZoneInfo(zone))
    instant = there.astimezone(UTC)
    return instant if instant == there.replace(fold=1).astimezone(UTC) else None


def _iso_moment(text: str, zone: str) -> datetime | None:
    """A time in the form of RFC 3339, with its offset or in the zone."""
    written = text.strip() if len(text) <= 64 else ""
    if not written[:4].isdigit() or "T" not in written:
        return None
    try:
        at = datetime.fromisoformat(written)
        return (at if at.tzinfo is not None else at.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
