"""The day's conversations, and the appointments that borrowers asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection
from starlette.responses import Response

from channels import CHANNELS
from service import records
from service.pages.drawing import Page
from service.pages.overview import today
from service.pages.page import Visit, page, pages
from service.pages.queries import OfCallbacks, OfConversations, listed
from service.pages.tables import csv_of, wants_csv
from service.watching import board

router = pages()


@dataclass(frozen=True)
class Callbacks(Page):
    """Who asked to be called, the next first. The words of it stand on the borrower's page."""

    template: ClassVar[str] = "callbacks.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]


@page(router, "GET", "/ops/callbacks")
async def callbacks(visit: Visit) -> Response:
    wanted, now = visit.query(OfCallbacks), visit.parts.clock()
    end = today(visit).end if wanted.today else None

    def look(conn: Connection) -> records.Page:
        return board.callbacks_page(conn, visit.tenant, now, wanted.limit, wanted.cursor, end)

    found = await listed(visit, look)
    if wants_csv(visit):
        return csv_of(visit, "callbacks", ("borrower_id", "at", "ends_at", "channel", "conversation_id"), found.items)
    return visit.show(Callbacks(tuple(found.items), found.next_cursor, wanted.filters()))


@dataclass(frozen=True)
class Conversations(Page):
    """Conversations of which a report came today, each by the last of these, newest first."""

    template: ClassVar[str] = "conversations.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]
    channels: tuple[str, ...]


@page(router, "GET", "/ops/conversations")
async def conversations(visit: Visit) -> Response:
    wanted, day = visit.query(OfConversations), today(visit)

    def look(conn: Connection) -> records.Page:
        return board.conversations_page(
            conn, visit.tenant, wanted.channel, day.start, day.end, wanted.limit, wanted.cursor
        )

    found = await listed(visit, look)
    if wants_csv(visit):
        columns = ("received_at", "borrower_id", "channel", "conversation_id", "revision", "effective_at")
        return csv_of(visit, "conversations", columns, found.items)
    return visit.show(Conversations(tuple(found.items), found.next_cursor, wanted.filters(), tuple(CHANNELS)))
