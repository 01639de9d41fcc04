"""What a team lead asks at nine in the morning, in that order, and how the day goes (DESIGN 16)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

from sqlalchemy import Connection
from starlette.responses import Response

from channels import CHANNELS
from service import records
from service.chats import rows as chats
from service.pages.drawing import Page, query
from service.pages.page import Visit, page, pages
from service.pages.queries import OfNothing
from service.resuming import resumes
from service.watching import board
from statemachine.conclusions import STAGES

router = pages()

FIRST_ROWS: Final = 5
"""Of the two lists that the day begins with."""
FUNNEL_WIDTH: Final = 600
"""Of the chart's drawing, in its own units."""


@dataclass(frozen=True, slots=True)
class Question:
    """One of the morning's questions: how many, and where they are. `more` is what can be said of them at once, with a time where
    there is one that matters; `calm` is what is said when there are none."""

    asks: str
    count: int
    link: str
    calm: str
    more: str
    at: datetime | None = None
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: its name, how many, the cases behind it, and its length in the chart's units."""

    name: str
    count: int
    link: str
    length: int


@dataclass(frozen=True)
class Overview(Page):
    template: ClassVar[str] = "overview.html.j2"
    today: date
    questions: tuple[Question, ...]
    due: tuple[dict[str, Any], ...]
    callbacks: tuple[dict[str, Any], ...]
    chats: int
    deliveries: int
    repeats: int
    conflicts: int
    events: int
    conversations: tuple[Bar, ...]
    conversations_total: int
    stages: tuple[Bar, ...]
    resumes_total: int
    as_proposed: int
    crossed: int
    degraded: int
    fallbacks: tuple[Bar, ...]
    refusals: tuple[Bar, ...]
    unmerged: int
    oldest_seconds: float
    counted_at: datetime


@dataclass(frozen=True, slots=True)
class Day:
    """Today where the tenant is: its date, and when it begins and ends."""

    date: date
    start: datetime
    end: datetime


def today(visit: Visit) -> Day:
    zone = ZoneInfo(visit.parts.policies.for_tenant(visit.tenant).time_zone)
    its = visit.parts.clock().astimezone(zone).date()

    def begins(day: date) -> datetime:
        return datetime.combine(day, time(), zone).astimezone(UTC)

    return Day(its, begins(its), begins(its + timedelta(days=1)))


@page(router, "GET", "/ops")
async def overview(visit: Visit) -> Response:
    """The six questions of the morning first, then the day so far."""
    visit.query(OfNothing)
    await visit.parts.resumes.flush()
    counted = await visit.parts.counts.of(f"overview {visit.tenant}", lambda: _counted(visit))
    elsewhere, age = await visit.parts.intake.unmerged(visit.tenant, visit.parts.clock())
    return visit.show(_drawn(counted, elsewhere, age))


async def _counted(visit: Visit) -> dict[str, Any]:
    day, now, tenant = today(visit), visit.parts.clock(), visit.tenant
    policy = visit.parts.policies.for_tenant(tenant)
    night, missing = day.start - timedelta(days=1), now - timedelta(minutes=policy.report_missing_minutes)

    def look(conn: Connection) -> dict[str, Any]:
        return {
            "day": day,
            "at": now,
            "due": board.promises_due_by_rung(conn, tenant, day.date, day.date),
            "due first": board.promises_due_page(conn, tenant, day.date, day.date, now, FIRST_ROWS, None).items,
            "called first": board.callbacks_page(conn, tenant, now, FIRST_ROWS, None, day.end).items,
            "overdue": board.promises_overdue(conn, tenant, night, now),
            "broken": board.broken(conn, tenant, night),
            "callbacks": board.callbacks(conn, tenant, now, day.end),
            "missing": records.missing_reports(conn, tenant, missing),
            "missing first": records.missing_page(conn, tenant, missing, now, 1, None).items,
            "ignored": resumes.ignored(conn, tenant, day.start, day.end),
            "aside": records.set_aside_open_by_reason(conn, tenant),
            "waiting": chats.waiting(conn, tenant, now),
            "counted": records.counted(conn, tenant, day.start, day.end),
            "conversations": board.conversations_by_channel(conn, tenant, day.start, day.end),
            "stages": board.stages(conn, tenant),
            "resumes": resumes.counted(conn, tenant, day.start, day.end),
            "crossed": board.crossed(conn, tenant, day.start, day.end),
            "unmerged": records.unmerged(conn, tenant, now),
        }

    found: dict[str, Any] = await visit.parts.database.read_slow(look)
    return found


def _drawn(counted: dict[str, Any], elsewhere: int, age: float) -> Overview:
    day, told = counted["day"], counted["resumes"]
    unmerged, oldest = counted["unmerged"]
    return Overview(
        today=day.date,
        questions=_questions(counted),
        due=tuple(counted["due first"]),
        callbacks=tuple(counted["called first"]),
        chats=counted["waiting"],
        deliveries=counted["counted"]["deliveries"],
        repeats=counted["counted"]["repeats"],
        conflicts=counted["counted"]["conflicts"],
        events=counted["counted"]["events"],
        conversations=_bars({c: counted["conversations"].get(c, 0) for c in CHANNELS}, "/ops/conversations", "channel"),
        conversations_total=counted["counted"]["conversations"],
        stages=_bars({s: counted["stages"].get(s, 0) for s in STAGES}, "/ops/borrowers", "stage"),
        resumes_total=told["total"],
        as_proposed=told["as_proposed"],
        crossed=counted["crossed"],
        degraded=told["degraded"],
        fallbacks=_bars(told["fallbacks"], "/ops/resumes", "fallback", today="true"),
        refusals=_bars(told["refusals"], "/ops/resumes", "rule", today="true"),
        unmerged=unmerged + elsewhere,
        oldest_seconds=max(oldest, age),
        counted_at=counted["at"],
    )


def _questions(counted: dict[str, Any]) -> tuple[Question, ...]:
    broken, overdue, due, aside = counted["broken"], counted["overdue"], counted["due"], counted["aside"]
    called = [item["at"] for item in counted["called first"] if item["at"] is not None]
    oldest = [item["started_at"] for item in counted["missing first"]]
    return (
        Question(
            "Promises due today, unpaid", sum(due.values()), "/ops/promises?show=today", "Nothing is due today", _listed(due)
        ),
        Question(
            "Broken or overdue since yesterday", broken + overdue, "/ops/promises?show=broken", "No promise was broken",
            f"{overdue} past their day, {broken} told by the ledger", is_bad=True,
        ),
        Question(
            "Callbacks asked for, today", counted["callbacks"], "/ops/callbacks?today=true", "Nobody asked to be called",
            "the next" if called else "in words only", called[0] if called else None,
        ),
        Question(
            "Calls without a report", counted["missing"], "/ops/missing-reports", "Every call was reported",
            "the oldest", oldest[0] if oldest else None,
        ),
        Question(
            "Resumes ignored today", counted["ignored"], "/ops/resumes?today=true&ignored=true", "Every start was used",
            f"of {counted['resumes']['total']:,} that were asked for",
        ),
        Question("Set aside", sum(aside.values()), "/ops/set-aside?status=open", "Nothing is set aside", _listed(aside)),
    )  # fmt: skip


def _listed(counts: dict[str, int]) -> str:
    """How many of each, in words."""
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())


def _bars(counts: dict[str, int], path: str, by: str, **also: str) -> tuple[Bar, ...]:
    most = max(counts.values(), default=0)
    return tuple(
        Bar(name, count, path + query({**also, by: name}), round(FUNNEL_WIDTH * count / most) if most else 0)
        for name, count in counts.items()
    )
