"""What came in today: how many deliveries, and behind each number the deliveries themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection
from starlette.responses import Response

from service import records
from service.pages.drawing import Page
from service.pages.overview import today
from service.pages.page import Visit, page, pages
from service.pages.queries import OfDeliveries, listed
from service.pages.tables import csv_of, wants_csv
from service.watching import arrivals

router = pages()


@dataclass(frozen=True)
class Deliveries(Page):
    """One list of them: merged, the events among these, come again, in conflict. `aside` are those on the set-aside list."""

    template: ClassVar[str] = "deliveries.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]
    show: str
    total: int
    merged: int
    events: int
    repeats: int
    conflicts: int
    aside: int


@page(router, "GET", "/ops/deliveries")
async def deliveries(visit: Visit) -> Response:
    wanted, day, tenant = visit.query(OfDeliveries), today(visit), visit.tenant
    limit, cursor = wanted.limit, wanted.cursor

    def look(conn: Connection) -> records.Page:
        if wanted.show in arrivals.LEFT_OUT:
            return arrivals.merged_page(conn, tenant, wanted.show, day.start, day.end, limit, cursor)
        conflicts = wanted.show == "conflicts"
        return arrivals.again_page(conn, tenant, day.start, day.end, limit, cursor, conflicts=conflicts)

    found = await listed(visit, look)
    if wants_csv(visit):
        return csv_of(visit, "deliveries", ("at", "event_id", "type", "channel", "borrower_id"), found.items)

    async def counted() -> tuple[dict[str, int], int]:
        return await visit.parts.database.read_slow(
            lambda conn: (
                records.counted(conn, tenant, day.start, day.end),
                arrivals.merged_count(conn, tenant, day.start, day.end),
            )
        )

    told, merged = await visit.parts.counts.of(f"deliveries {tenant}", counted)
    return visit.show(
        Deliveries(
            items=tuple(found.items),
            next_cursor=found.next_cursor,
            filters={"show": wanted.show},
            show=wanted.show,
            total=told["deliveries"],
            merged=merged,
            events=told["events"],
            repeats=told["repeats"],
            conflicts=told["conflicts"],
            aside=told["deliveries"] - merged - told["repeats"] - told["conflicts"],
        )
    )
