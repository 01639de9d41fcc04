"""How agents do: what shadow would have granted, which starts were ignored by whom, decisions that went stale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection
from starlette.responses import Response

from channels import CHANNELS
from service import records
from service.decisions import rows
from service.pages.drawing import Page
from service.pages.overview import today
from service.pages.page import Visit, page, pages
from service.pages.queries import OfCorrections, OfPage, listed
from service.pages.tables import csv_of, wants_csv
from service.records.pages import instant_in, page_of, place_in
from service.resuming import resumes

router = pages()


@dataclass(frozen=True)
class Shadow(Page):
    """What the memory would have granted where it is not handed out yet, and how often that is another start."""

    template: ClassVar[str] = "shadow.html.j2"
    modes: dict[str, str]
    allowed: int
    channels: tuple[dict[str, Any], ...]
    agents: tuple[dict[str, Any], ...]
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None


@page(router, "GET", "/ops/shadow")
async def shadow(visit: Visit) -> Response:
    wanted, tenant, day = visit.query(OfPage), visit.tenant, today(visit)
    policy = visit.parts.policies.for_tenant(tenant)
    await visit.parts.resumes.flush()

    def look(conn: Connection) -> records.Page:
        place = place_in(wanted.cursor, str, str) if wanted.cursor is not None else None
        before = (instant_in(place[0]), place[1]) if place is not None else None
        items = resumes.page(conn, tenant, resumes.Filter(differs=True), wanted.limit + 1, before)
        return page_of(items, wanted.limit, lambda item: (item["at"].isoformat(), item["resume_id"]))

    found = await listed(visit, look)
    if wants_csv(visit):
        columns = ("at", "resume_id", "borrower_id", "channel", "position", "proposed", "granted", "record_version")
        return csv_of(visit, "shadow", columns, found.items)

    async def counted() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        return await visit.parts.database.read_slow(
            lambda conn: (
                resumes.shadow(conn, tenant, day.start, day.end),
                resumes.ignored_by(conn, tenant, day.start, day.end),
            )
        )

    channels, agents = await visit.parts.counts.of(f"shadow {tenant}", counted)
    return visit.show(
        Shadow(
            modes={channel: policy.mode[channel] for channel in CHANNELS},
            allowed=len(policy.allow),
            channels=tuple(channels),
            agents=tuple(agents),
            items=tuple(found.items),
            next_cursor=found.next_cursor,
        )
    )


CORRECTION_COLUMNS = (
    "created_at", "correction_id", "decision_id", "borrower_id", "source", "entity", "observed_version", "status", "tries",
    "last_reason", "done_at",
)  # fmt: skip


@dataclass(frozen=True)
class Corrections(Page):
    """Decisions that went stale, on their way to every layer."""

    template: ClassVar[str] = "corrections.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]
    layers: tuple[str, ...]


@page(router, "GET", "/ops/corrections")
async def corrections(visit: Visit) -> Response:
    wanted = visit.query(OfCorrections)

    def look(conn: Connection) -> records.Page:
        place = place_in(wanted.cursor, str, str) if wanted.cursor is not None else None
        before = (instant_in(place[0]), place[1]) if place is not None else None
        found = rows.list_corrections(conn, visit.tenant, wanted.status, wanted.limit + 1, before)
        items = [
            {name: getattr(row, name) for name in CORRECTION_COLUMNS}
            | {"layers": {layer: getattr(row, f"{layer}_at") for layer in rows.LAYERS}}
            for row in found
        ]
        return page_of(items, wanted.limit, lambda item: (item["created_at"].isoformat(), item["correction_id"]))

    found = await listed(visit, look)
    if wants_csv(visit):
        return csv_of(visit, "corrections", CORRECTION_COLUMNS, found.items)
    return visit.show(Corrections(tuple(found.items), found.next_cursor, wanted.filters(), tuple(rows.LAYERS)))
