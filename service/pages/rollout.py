"""What each switch of a mode has changed: the measures of a roll-out, before and since (DESIGN 16)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

from starlette.responses import Response

from service import rollout
from service.pages.drawing import Page, query, share
from service.pages.page import HEADERS, Visit, page, pages
from service.pages.queries import OfPage

router = pages()


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, in words, and its value in each period; `is_part` of the one before it. `link` leads to its cases."""

    words: str
    values: tuple[str, ...]
    is_part: bool
    link: str | None


@dataclass(frozen=True, slots=True)
class OfChannel:
    """A channel: its mode now, its periods in their order, and each measure with its value in each of them."""

    channel: str
    mode: str
    periods: tuple[str, ...]
    measures: tuple[Measure, ...]


@dataclass(frozen=True)
class Rollout(Page):
    template: ClassVar[str] = "rollout.html.j2"
    channels: tuple[OfChannel, ...]
    counted_from: datetime | None
    as_of: datetime


@page(router, "GET", "/ops/rollout")
async def measured(visit: Visit) -> Response:
    wanted = visit.query(OfPage)
    found = await visit.parts.counts.of(f"rollout {visit.tenant}", lambda: rollout.measures(visit.parts, visit.tenant))
    if wanted.form == "csv":
        headers = {**HEADERS, "Content-Disposition": 'attachment; filename="rollout.csv"'}
        return Response(rollout.as_csv(found), media_type="text/csv; charset=utf-8", headers=headers)
    channels = tuple(_of_channel(channel) for channel in found["channels"])
    return visit.show(Rollout(channels, found["counted_from"], found["as_of"]))


def _of_channel(found: Mapping[str, Any]) -> OfChannel:
    channel = found["channel"]
    periods = [switch["before"] for switch in found["switches"]] + [found["now"]]
    return OfChannel(
        channel=channel,
        mode=found["mode"],
        periods=tuple(str(period.get("mode") or "before it was noted") for period in periods),
        measures=tuple(
            Measure(
                words,
                tuple(value(period) for period in periods),
                is_part,
                link and link + query({"ignored": True, "channel": channel}),
            )
            for words, value, is_part, link in MEASURES
        ),
    )


Value = Callable[[Mapping[str, Any]], str]


def _of(path: str, whole: str | None = None) -> Value:
    """What stands at this path of a period's measures, and what share of another it is."""

    def value(period: Mapping[str, Any]) -> str:
        found = _at(period, path)
        if found is None:
            return "–"
        if whole is None:
            return f"{found:,}" if isinstance(found, int) else f"{found:,.2f}"
        return f"{found:,} ({share(found, _at(period, whole))})"

    return value


def _at(period: Mapping[str, Any], path: str) -> Any:
    found: Any = period
    for name in path.split("."):
        found = found[name]
    return found


MEASURES: Final[tuple[tuple[str, Value, bool, str | None], ...]] = (
    ("Conversations with the borrower", _of("connected"), False, None),
    ("of which a summary is merged", _of("with_summary", "connected"), True, None),
    ("Begun where the memory said", _of("resumed.conversations"), False, None),
    ("reached the borrower", _of("resumed.connected", "resumed.conversations"), True, None),
    ("ended with a promise", _of("resumed.promises", "resumed.conversations"), True, None),
    ("Begun cold", _of("cold.conversations"), False, None),
    ("reached the borrower", _of("cold.connected", "cold.conversations"), True, None),
    ("ended with a promise", _of("cold.promises", "cold.conversations"), True, None),
    ("Starts that were reported back", _of("entered"), False, None),
    ("were elsewhere than granted", _of("ignored", "entered"), True, "/ops/resumes"),
    ("Live values shown: to be 0", _of("live_values"), False, None),
    ("Went on, on another channel", _of("next_elsewhere.conversations"), False, None),
    ("days until then, median", _of("next_elsewhere.median_days"), True, None),
    ("days until then, mean", _of("next_elsewhere.mean_days"), True, None),
)
"""In words, from where, whether it is a part of the one before, and where its cases are."""
