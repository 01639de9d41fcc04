"""What a collections team looks after: counts, what was set aside, calls without a report, past resumes (API 12)."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError
from sqlalchemy import Connection
from starlette.responses import Response

from service import records
from service.chats import rows
from service.decisions.rows import pending as corrections_open
from service.errors import NotFound
from service.intake.receive import retried
from service.records.pages import instant_in, page_of, place_in
from service.resuming import resumes
from service.routes.borrowers import Yes
from service.routes.reads import OfNothing, OfPage, after, paged, time_and_id
from service.web.calls import Call, answered, call, routes
from statemachine.wire import Channel, Id, Instant, Name

router = routes("ops")


class OfStats(OfNothing):
    """From (included) and to (not included); today in the tenant's zone where one is not given."""

    start: Annotated[Instant | None, Field(alias="from")] = None
    to: Instant | None = None


def _status(value: object) -> object:
    if value not in ("open", "merged", "refused"):
        raise PydanticCustomError("not_in_enum", "open, merged or refused")
    return value


class OfSetAside(OfPage):
    status: Annotated[str, BeforeValidator(_status)] | None = None


class OfResumes(OfPage):
    borrower_id: Id | None = None
    rule: Id | None = None
    fallback: Id | None = None
    ignored: Yes | None = None
    channel: Channel | None = None
    agent: Name | None = None
    differs: Yes | None = None


@call(
    router, "GET", "/v1/ops/stats", "get_stats", scope="ops", query=OfStats,
    answers="200: counted by arrival, by default today in the tenant's zone.",
)  # fmt: skip
async def get_stats(call: Call) -> Response:
    """What came in and how it was answered."""
    wanted = call.query(OfStats)
    await after(call, wanted.after)
    start, end = _span(call, wanted)
    now = call.parts.clock()
    policy = call.parts.policies.for_tenant(call.tenant)
    await call.parts.resumes.flush()
    elsewhere, age = await call.parts.intake.unmerged(call.tenant, now)

    def look(conn: Connection) -> dict[str, Any]:
        unmerged, oldest = records.unmerged(conn, call.tenant, now)
        missing_since = now - timedelta(minutes=policy.report_missing_minutes)
        return {
            "from": start,
            "to": end,
            **records.counted(conn, call.tenant, start, end),
            "resumes": resumes.counted(conn, call.tenant, start, end),
            "set_aside": records.set_aside_open(conn, call.tenant),
            "missing_reports": records.missing_reports(conn, call.tenant, missing_since),
            "resumes_ignored": resumes.ignored(conn, call.tenant, start, end),
            "resumes_ignored_by": resumes.ignored_by(conn, call.tenant, start, end),
            "shadow": resumes.shadow(conn, call.tenant, start, end),
            "summaries_waiting": rows.waiting(conn, call.tenant, now),
            "corrections_open": corrections_open(conn, call.tenant)[0],
            "unmerged": unmerged + elsewhere,
            "oldest_unmerged_seconds": max(oldest, age),
            "policy_problem": call.parts.policies.problem_of(call.tenant),
        }

    return answered(await call.parts.database.read_slow(look))


def _span(call: Call, wanted: OfStats) -> tuple[datetime, datetime]:
    zone = ZoneInfo(call.parts.policies.for_tenant(call.tenant).time_zone)
    today = call.parts.clock().astimezone(zone).date()
    start = wanted.start or datetime.combine(today, time(), zone).astimezone(UTC)
    end = wanted.to or datetime.combine(today + timedelta(days=1), time(), zone).astimezone(UTC)
    return start, end


@call(
    router, "GET", "/v1/ops/set-aside", "list_set_aside", scope="ops", query=OfSetAside,
    answers="200: what was kept and not merged, each with its reason.",
)  # fmt: skip
async def list_set_aside(call: Call) -> Response:
    """What was set aside, newest first."""
    wanted = call.query(OfSetAside)
    await after(call, wanted.after)

    def look(conn: Connection, place: str | None) -> records.Page:
        return records.set_aside(conn, call.tenant, wanted.status, wanted.limit, place)

    page = await paged(call, wanted, look)
    return answered({"items": page.items, "next_cursor": page.next_cursor})


@call(router, "POST", "/v1/ops/set-aside/{id}/retry", "retry_set_aside", scope="events:ops", answers="200 the item.")
async def retry_set_aside(call: Call) -> Response:
    """Tries once more to merge what was set aside."""
    number = call.request.path_params["id"]
    if not (number.isascii() and number.isdigit() and len(number) < 18):
        raise NotFound
    item = await retried(call.parts, call.tenant, int(number))
    if item is None:
        raise NotFound
    return answered(item)


@call(
    router, "GET", "/v1/ops/missing-reports", "list_missing_reports", scope="ops", query=OfPage,
    answers="200: conversations that began and of which no summary has come, with their age.",
)  # fmt: skip
async def list_missing_reports(call: Call) -> Response:
    """Calls whose report never came."""
    wanted = call.query(OfPage)
    await after(call, wanted.after)
    now = call.parts.clock()
    since = now - timedelta(minutes=call.parts.policies.for_tenant(call.tenant).report_missing_minutes)

    def look(conn: Connection, place: str | None) -> records.Page:
        return records.missing_page(conn, call.tenant, since, now, wanted.limit, place)

    page = await paged(call, wanted, look)
    return answered({"items": page.items, "next_cursor": page.next_cursor})


@call(
    router, "GET", "/v1/ops/summaries-waiting", "list_summaries_waiting", scope="ops", query=OfPage,
    answers="200: chats of which a summary is due, the one that waits longest first, with age, tries and last reason.",
)  # fmt: skip
async def list_summaries_waiting(call: Call) -> Response:
    """Chats that wait for a summary, or for a better one while the model is not ready."""
    wanted = call.query(OfPage)
    await after(call, wanted.after)
    now = call.parts.clock()

    def look(conn: Connection, place: str | None) -> records.Page:
        behind = None
        if place is not None:
            at, number = place_in(place, str, int)
            behind = (instant_in(at), int(number))
        found = rows.waiting_page(conn, call.tenant, now, wanted.limit + 1, behind)
        page = page_of(
            [dict(chat) for chat in found], wanted.limit, lambda chat: (chat["due_at"].isoformat(), chat["id"])
        )
        return records.Page([_waiting(chat, now) for chat in page.items], page.next_cursor)

    page = await paged(call, wanted, look)
    return answered({"items": page.items, "next_cursor": page.next_cursor})


def _waiting(chat: dict[str, Any], now: datetime) -> dict[str, Any]:
    return {
        "borrower_id": chat["borrower_id"],
        "channel": chat["channel"],
        "conversation_id": chat["conversation_id"],
        "last_message_at": chat["last_at"],
        "due_at": chat["due_at"],
        "age_seconds": (now - chat["due_at"]).total_seconds(),
        "tries": chat["tries"],
        "last_reason": chat["last_reason"],
    }


@call(
    router, "GET", "/v1/ops/resumes", "list_resumes", scope="ops", query=OfResumes,
    answers="200: past answers, newest first; by borrower, rule, fallback, ignored, channel, agent, or where shadow differs.",
)  # fmt: skip
async def list_resumes(call: Call) -> Response:
    """How past resumes were answered, and whether the start was used."""
    wanted = call.query(OfResumes)
    await after(call, wanted.after)
    await call.parts.resumes.flush()
    only = resumes.Filter(
        wanted.borrower_id,
        wanted.rule,
        wanted.fallback,
        wanted.ignored,
        wanted.channel,
        wanted.agent,
        wanted.differs,
    )

    def look(conn: Connection, place: str | None) -> records.Page:
        items = resumes.page(conn, call.tenant, only, wanted.limit + 1, time_and_id(place))
        return page_of(items, wanted.limit, lambda item: (item["at"].isoformat(), item["resume_id"]))

    page = await paged(call, wanted, look)
    return answered({"items": page.items, "next_cursor": page.next_cursor})
