"""What each switch of a mode has changed: the measures of a roll-out, before and since (DESIGN 16)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

from starlette.responses import Response

from service import rollout
from service.live import ACTION as LIVE_FOUND
from service.pages.drawing import Page, query, share
from service.pages.page import HEADERS, Visit, page, pages
from service.pages.queries import OfPage

router = pages()


@dataclass(frozen=True, slots=True)
class Value:
    """What was measured in one period, in words, and where its cases are; null where there is none."""

    words: str
    link: str | None


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, in words, and its value in each period; `is_part` of the one before it."""

    words: str
    values: tuple[Value, ...]
    is_part: bool


@dataclass(frozen=True, slots=True)
class Span:
    """A period: its mode, and when it begins and ends; null where it does not."""

    mode: str
    start: datetime | None
    end: datetime | None


@dataclass(frozen=True, slots=True)
class OfChannel:
    """A channel: its mode now, its periods in their order, and each measure with its value in each of them."""

    channel: str
    mode: str
    periods: tuple[Span, ...]
    measures: tuple[Measure, ...]


@dataclass(frozen=True)
class Rollout(Page):
    template: ClassVar[str] = "rollout.html.j2"
    channels: tuple[OfChannel, ...]
    counted_from: datetime | None
    as_of: datetime


async def measured_once(visit: Visit) -> dict[str, Any]:
    """The measures, counted no more often than a count is."""
    tenant = visit.tenant
    found: dict[str, Any] = await visit.parts.counts.of(
        f"rollout {tenant}", lambda: rollout.measures(visit.parts, tenant)
    )
    return found


def periods_of(channel: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What was measured of a channel before each switch, and since the last."""
    return [switch["before"] for switch in channel["switches"]] + [channel["now"]]


@page(router, "GET", "/ops/rollout")
async def measured(visit: Visit) -> Response:
    wanted = visit.query(OfPage)
    found = await measured_once(visit)
    if wanted.form == "csv":
        headers = {**HEADERS, "Content-Disposition": 'attachment; filename="rollout.csv"'}
        return Response(rollout.as_csv(found), media_type="text/csv; charset=utf-8", headers=headers)
    channels = tuple(_of_channel(channel) for channel in found["channels"])
    return visit.show(Rollout(channels, found["counted_from"], found["as_of"]))


def mode_of(period: Mapping[str, Any]) -> str:
    return str(period.get("mode") or "before it was noted")


def _of_channel(found: Mapping[str, Any]) -> OfChannel:
    channel, periods = found["channel"], periods_of(found)

    def valued(told: _Told, place: int) -> Value:
        count = _at(periods[place], told.path)
        words = told.says(periods[place])
        return Value(words, told.link(channel, place, periods[place]) if count else None)

    return OfChannel(
        channel=channel,
        mode=found["mode"],
        periods=tuple(Span(mode_of(period), period["from"], period["to"]) for period in periods),
        measures=tuple(
            Measure(told.words, tuple(valued(told, place) for place in range(len(periods))), told.is_part)
            for told in MEASURES
        ),
    )


Period = Mapping[str, Any]
Link = Callable[[str, int, Period], str]


@dataclass(frozen=True, slots=True)
class _Told:
    """One measure: in words, where it stands in a period's measures, where its cases are, and of which other it is a share."""

    words: str
    path: str
    link: Link
    whole: str | None = None
    is_part: bool = False

    def says(self, period: Period) -> str:
        found = _at(period, self.path)
        if found is None:
            return "–"
        if self.whole is None:
            return f"{found:,}" if isinstance(found, int) else f"{found:,.2f}"
        whole = _at(period, self.whole)
        return f"{found:,} ({share(found, whole)})" if whole else f"{found:,}"


def _at(period: Period, path: str) -> Any:
    found: Any = period
    for name in path.split("."):
        found = found[name]
    return found


def _cases(measure: str) -> Link:
    """Conversations of that channel and period."""
    return lambda channel, place, _: (
        "/ops/rollout/cases" + query({"channel": channel, "period": place, "measure": measure})
    )


def _resumes(**only: bool) -> Link:
    """Past answers that were asked for in that period."""

    def link(channel: str, _: int, period: Period) -> str:
        times = {"since": _instant(period["from"]), "until": _instant(period["to"])}
        return "/ops/resumes" + query({**only, "channel": channel, **times})

    return link


def _instant(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None


def _found_live(_: str, __: int, ___: Period) -> str:
    """What a last look found, on this channel or on none in particular, whenever it was."""
    return "/ops/audit" + query({"action": LIVE_FOUND})


MEASURES: Final = (
    _Told("Conversations with the borrower", "connected", _cases("connected")),
    _Told("of which a summary is merged", "with_summary", _cases("with_summary"), "connected", True),
    _Told("Begun where the memory said", "resumed.conversations", _cases("resumed")),
    _Told("reached the borrower", "resumed.connected", _cases("resumed_connected"), "resumed.conversations", True),
    _Told("ended with a promise", "resumed.promises", _cases("resumed_promises"), "resumed.conversations", True),
    _Told("Begun cold", "cold.conversations", _cases("cold")),
    _Told("reached the borrower", "cold.connected", _cases("cold_connected"), "cold.conversations", True),
    _Told("ended with a promise", "cold.promises", _cases("cold_promises"), "cold.conversations", True),
    _Told("Starts that were reported back", "entered", _resumes(entered=True)),
    _Told("were elsewhere than granted", "ignored", _resumes(ignored=True), "entered", True),
    _Told("Live values shown: to be none", "live_values", _found_live),
    _Told("Went on, on another channel", "next_elsewhere.conversations", _cases("next_elsewhere")),
    _Told("days until then, median", "next_elsewhere.median_days", _cases("next_elsewhere"), None, True),
    _Told("days until then, mean", "next_elsewhere.mean_days", _cases("next_elsewhere"), None, True),
)
WORDS: Final[Mapping[str, str]] = {
    "connected": "Conversations with the borrower",
    "with_summary": "Conversations with the borrower of which a summary is merged",
    "resumed": "Begun where the memory said",
    "resumed_connected": "Begun where the memory said, and reached the borrower",
    "resumed_promises": "Begun where the memory said, and ended with a promise",
    "cold": "Begun cold",
    "cold_connected": "Begun cold, and reached the borrower",
    "cold_promises": "Begun cold, and ended with a promise",
    "next_elsewhere": "Went on, on another channel",
}
"""What a list of cases is called, by the measure whose cases it has."""
