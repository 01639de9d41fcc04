"""What each switch of a mode has changed: the measures of a roll-out, before and since (DESIGN 16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from starlette.responses import Response

from service import rollout
from service.pages.drawing import Page
from service.pages.page import HEADERS, Visit, page, pages
from service.pages.queries import OfPage

router = pages()


@dataclass(frozen=True, slots=True)
class OfChannel:
    """A channel: its mode now, its periods in their order, and each measure with its value in each of them."""

    channel: str
    mode: str
    periods: tuple[str, ...]
    measures: tuple[tuple[str, tuple[str, ...]], ...]


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
    periods = [switch["before"] for switch in found["switches"]] + [found["now"]]
    flat = [dict(_flat(period)) for period in periods]
    names = list(dict.fromkeys(name for period in flat for name in period if name not in ("from", "to", "mode")))
    return OfChannel(
        channel=found["channel"],
        mode=found["mode"],
        periods=tuple(str(period.get("mode") or "-") for period in periods),
        measures=tuple((name, tuple(_written(period.get(name)) for period in flat)) for name in names),
    )


def _flat(measures: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in measures.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name} ")
        else:
            yield f"{before}{name}", value


def _written(value: Any) -> str:
    match value:
        case None:
            return "–"
        case float():
            return f"{value:,.2f}"
        case int():
            return f"{value:,}"
    return str(value)
