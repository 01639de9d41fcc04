"""The room's lists: promises, resumes, what was set aside, missing reports, chats that wait, the audit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Final

from sqlalchemy import Connection
from starlette.responses import Response

from service import audit, records
from service.chats import rows as chats
from service.pages.drawing import Page
from service.pages.overview import Bar, Day, today
from service.pages.page import Visit, page, pages
from service.pages.queries import OfAudit, OfPage, OfPromises, OfResumes, OfSetAside, listed
from service.pages.tables import csv_of, wants_csv
from service.records.pages import instant_in, page_of, place_in
from service.resuming import resumes
from service.watching import board

router = pages()

WEEK_DAYS: Final = 7
CALENDAR_DAYS: Final = 14
BAR_HEIGHT: Final = 60
OVERDUE_DAYS: Final = 90
"""What is past its day for longer is another matter than this week's work; the borrowers' list has it still."""


@dataclass(frozen=True)
class Promises(Page):
    """What falls due, what is past its day, what the ledger called broken."""

    template: ClassVar[str] = "promises.html.j2"
    show: str
    day: date | None
    days: tuple[Bar, ...]
    today: date
    items: tuple[dict[str, Any], ...]
    broken: tuple[dict[str, Any], ...]
    more_broken: bool
    next_cursor: str | None
    filters: dict[str, Any]


PROMISE_COLUMNS = (
    "borrower_id", "loan_id", "promise_due_date", "amount", "currency", "rung", "stage", "outstanding", "last_contact_at",
)  # fmt: skip


BROKEN_COLUMNS = ("received_at", "borrower_id", "loan_id", "effective_at", "event_id")


@page(router, "GET", "/ops/promises")
async def promises(visit: Visit) -> Response:
    wanted, day, now, tenant = visit.query(OfPromises), today(visit), visit.parts.clock(), visit.tenant
    night = day.start - timedelta(days=1)
    found = await listed(visit, lambda conn: _page_of(conn, tenant, wanted, day, now))
    is_ledgers = wanted.show == "ledger"
    if wants_csv(visit):
        return csv_of(visit, "promises", BROKEN_COLUMNS if is_ledgers else PROMISE_COLUMNS, found.items)

    def beside(conn: Connection) -> tuple[dict[date, int], records.Page]:
        ahead = board.promises_by_day(conn, tenant, day.date, day.date + timedelta(days=CALENDAR_DAYS - 1))
        if wanted.show != "broken":
            return ahead, records.Page([], None)
        return ahead, board.broken_page(conn, tenant, night, wanted.limit, None)

    async def counted() -> tuple[dict[date, int], records.Page]:
        return await visit.parts.database.read_slow(beside)

    ahead, told = await visit.parts.counts.of(f"promises {wanted.show == 'broken'} {tenant}", counted)
    broken = found.items if is_ledgers else told.items if wanted.cursor is None else []
    return visit.show(
        Promises(
            show=wanted.show,
            day=wanted.day if wanted.show == "day" else None,
            days=_days(ahead, day.date),
            today=day.date,
            items=() if is_ledgers else tuple(found.items),
            broken=tuple(broken),
            more_broken=bool(broken) and told.next_cursor is not None,
            next_cursor=found.next_cursor,
            filters=wanted.filters(),
        )
    )


def _page_of(conn: Connection, tenant: str, wanted: OfPromises, day: Day, now: datetime) -> records.Page:
    """The promises, or what the ledger called broken, that the page shows."""
    limit, cursor = wanted.limit, wanted.cursor
    night = day.start - timedelta(days=1)
    match wanted.show:
        case "today":
            return board.promises_due_page(conn, tenant, day.date, day.date, now, limit, cursor)
        case "week":
            last = day.date + timedelta(days=WEEK_DAYS - 1)
            return board.promises_due_page(conn, tenant, day.date, last, now, limit, cursor)
        case "day":
            its = wanted.day or day.date
            return board.promises_due_page(conn, tenant, its, its, now, limit, cursor)
        case "ledger":
            return board.broken_page(conn, tenant, night, limit, cursor)
        case "overdue":
            return board.promises_overdue_page(conn, tenant, now - timedelta(days=OVERDUE_DAYS), now, limit, cursor)
        case _:
            return board.promises_overdue_page(conn, tenant, night, now, limit, cursor)


def _days(ahead: dict[date, int], first: date) -> tuple[Bar, ...]:
    most = max(ahead.values(), default=0)
    days = [first + timedelta(days=n) for n in range(CALENDAR_DAYS)]
    return tuple(
        Bar(
            d.isoformat(),
            ahead.get(d, 0),
            f"/ops/promises?show=day&day={d}",
            round(BAR_HEIGHT * ahead.get(d, 0) / most) if most else 0,
        )
        for d in days
    )


# -- resumes -----------------------------------------------------------------------------------------------------------------

RESUME_COLUMNS = (
    "at", "resume_id", "borrower_id", "channel", "direction", "mode", "position", "proposed", "proposed_by", "granted",
    "refusals", "fallback", "source", "entered_state", "ignored", "agent", "degraded", "record_version",
)  # fmt: skip


@dataclass(frozen=True)
class PastResumes(Page):
    """Past answers: granted, refused by a rule, fallen back, ignored."""

    template: ClassVar[str] = "resumes.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]
    fallbacks: dict[str, int]
    refusals: dict[str, int]
    total: int
    as_proposed: int
    degraded: int
    crossed: int
    ignored: int


@page(router, "GET", "/ops/resumes")
async def past_resumes(visit: Visit) -> Response:
    wanted, tenant, day = visit.query(OfResumes), visit.tenant, today(visit)
    only = _filter_of(wanted, day)
    await visit.parts.resumes.flush()

    def look(conn: Connection) -> records.Page:
        place = place_in(wanted.cursor, str, str) if wanted.cursor is not None else None
        before = (instant_in(place[0]), place[1]) if place is not None else None
        items = resumes.page(conn, tenant, only, wanted.limit + 1, before)
        return page_of(items, wanted.limit, lambda item: (item["at"].isoformat(), item["resume_id"]))

    found = await listed(visit, look)
    if wants_csv(visit):
        rows = [item | {"refusals": [refusal["rule"] for refusal in item["refusals"]]} for item in found.items]
        return csv_of(visit, "resumes", RESUME_COLUMNS, rows)

    async def counted() -> tuple[dict[str, Any], int, int]:
        return await visit.parts.database.read_slow(
            lambda conn: (
                resumes.counted(conn, tenant, day.start, day.end),
                resumes.ignored(conn, tenant, day.start, day.end),
                board.crossed(conn, tenant, day.start, day.end),
            )
        )

    told, ignored, crossed = await visit.parts.counts.of(f"resumes {tenant}", counted)
    return visit.show(
        PastResumes(
            items=tuple(found.items),
            next_cursor=found.next_cursor,
            filters=wanted.filters(),
            fallbacks=told["fallbacks"],
            refusals=told["refusals"],
            total=told["total"],
            as_proposed=told["as_proposed"],
            degraded=told["degraded"],
            crossed=crossed,
            ignored=ignored,
        )
    )


def _filter_of(wanted: OfResumes, day: Day) -> resumes.Filter:
    return resumes.Filter(
        wanted.borrower_id,
        wanted.rule,
        wanted.fallback,
        wanted.ignored,
        channel=wanted.channel,
        agent=wanted.agent,
        as_proposed=wanted.as_proposed is True,
        degraded=wanted.degraded is True,
        crossed=wanted.crossed is True,
        differs=wanted.differs,
        entered=wanted.entered is True,
        is_unnamed=wanted.unnamed is True,
        granted=wanted.granted,
        in_shadow=wanted.shadow is True,
        since=day.start if wanted.today else wanted.since,
        until=wanted.until,
    )


# -- what waits for somebody -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetAside(Page):
    """Kept, not merged, each with its reason."""

    template: ClassVar[str] = "set_aside.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]


@page(router, "GET", "/ops/set-aside")
async def set_aside(visit: Visit) -> Response:
    wanted = visit.query(OfSetAside)
    since = today(visit).start if wanted.today else None

    def look(conn: Connection) -> records.Page:
        return records.set_aside(
            conn,
            visit.tenant,
            wanted.status,
            wanted.limit,
            wanted.cursor,
            vendor=wanted.vendor,
            reason=wanted.reason,
            since=since,
            is_delivery=wanted.delivery is True,
        )

    found = await listed(visit, look)
    if wants_csv(visit):
        columns = ("id", "status", "reason", "detail", "kind", "vendor", "borrower_id", "event_id", "received_at")
        return csv_of(visit, "set-aside", (*columns, "attempts"), found.items)
    return visit.show(SetAside(tuple(found.items), found.next_cursor, wanted.filters()))


@dataclass(frozen=True)
class MissingReports(Page):
    """Conversations that began and of which no summary has come, the one that is missing longest first."""

    template: ClassVar[str] = "missing_reports.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    minutes: float


@page(router, "GET", "/ops/missing-reports")
async def missing_reports(visit: Visit) -> Response:
    wanted, now = visit.query(OfPage), visit.parts.clock()
    minutes = visit.parts.policies.for_tenant(visit.tenant).report_missing_minutes
    since = now - timedelta(minutes=minutes)

    def look(conn: Connection) -> records.Page:
        return records.missing_page(conn, visit.tenant, since, now, wanted.limit, wanted.cursor)

    found = await listed(visit, look)
    if wants_csv(visit):
        columns = ("borrower_id", "channel", "conversation_id", "started_at", "age_seconds")
        return csv_of(visit, "missing-reports", columns, found.items)
    return visit.show(MissingReports(tuple(found.items), found.next_cursor, minutes))


@dataclass(frozen=True)
class ChatsWaiting(Page):
    """Chats of which a summary is due, the one that waits longest first."""

    template: ClassVar[str] = "chats.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None


@page(router, "GET", "/ops/chats")
async def waiting_chats(visit: Visit) -> Response:
    wanted, now = visit.query(OfPage), visit.parts.clock()
    shown = ("id", "borrower_id", "channel", "conversation_id", "last_at", "due_at", "tries", "last_reason")

    def look(conn: Connection) -> records.Page:
        place = place_in(wanted.cursor, str, int) if wanted.cursor is not None else None
        behind = (instant_in(place[0]), place[1]) if place is not None else None
        rows = chats.waiting_page(conn, visit.tenant, now, wanted.limit + 1, behind)
        items = [{name: row[name] for name in shown} for row in rows]
        return page_of(items, wanted.limit, lambda item: (item["due_at"].isoformat(), item["id"]))

    found = await listed(visit, look)
    if wants_csv(visit):
        return csv_of(visit, "chats", shown[1:], found.items)
    return visit.show(ChatsWaiting(tuple(found.items), found.next_cursor))


@dataclass(frozen=True)
class Audit(Page):
    """Who did what; of one borrower when asked."""

    template: ClassVar[str] = "audit.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]


@page(router, "GET", "/ops/audit")
async def audited(visit: Visit) -> Response:
    wanted = visit.query(OfAudit)

    def look(conn: Connection) -> records.Page:
        return audit.page(conn, visit.tenant, wanted.borrower_id, wanted.limit, wanted.cursor, wanted.action)

    found = await listed(visit, look)
    if wants_csv(visit):
        return csv_of(visit, "audit", ("at", "who", "action", "borrower_id", "detail"), found.items)
    return visit.show(Audit(tuple(found.items), found.next_cursor, wanted.filters()))
