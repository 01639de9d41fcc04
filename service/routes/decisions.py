"""Decisions and what they rest on: taken, checked, reported on, listed (API 9); and what ops sees of corrections (API 12)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from sqlalchemy import Connection
from starlette.responses import Response

from service import records
from service.decisions import claims, rows
from service.decisions.bodies import DecisionCheck, DecisionTaken
from service.decisions.decisions import Found, correction_shown
from service.errors import UnknownBorrower
from service.records.pages import Page, cursor_at, page_of
from service.routes.borrowers import path_id
from service.routes.reads import OfPage, after, cursor_of, going_on, paged, place_of, time_and_id
from service.web.calls import Call, Parameters, answered, call, checked, routes
from statemachine.wire import Id

router = routes("decisions")


def _purpose(value: object) -> object:
    if value not in ("current", "history"):
        raise PydanticCustomError("not_in_enum", "current or history")
    return value


def _status(value: object) -> object:
    if value not in ("pending", "done"):
        raise PydanticCustomError("not_in_enum", "pending or done")
    return value


class OfDecisions(OfPage):
    purpose: Annotated[str, BeforeValidator(_purpose)] = "current"


class OfCorrections(OfPage):
    status: Annotated[str, BeforeValidator(_status)] | None = None


class _InPath(Parameters):
    decision_id: Id


def who(call: Call) -> str:
    """By whom, as it is kept: the key's id, and its name where it has one."""
    return f"{call.key.key_id} {call.key.name}" if call.key.name else call.key.key_id


@call(
    router, "POST", "/v1/decisions", "take_decision", scope="events:agent", body=DecisionTaken,
    examples={
        "a waiver": {
            "decision_id": "D-1",
            "borrower_id": "B-101",
            "kind": "waiver",
            "conclusion": "10 % waiver, eligible",
            "source": "offers",
            "source_version": "v12",
            "entity": "LN-1",
            "decided_at": "2026-11-29T11:00:00+05:30",
            "agent": "voice-agent",
        },
    },
    answers="201 the decision, 200 when it is there already; 409 `id_conflict`. On an old version it is `stale` at once.",
)  # fmt: skip
async def take_decision(call: Call) -> Response:
    """A conclusion that an agent drew at a version of a source."""
    body = await call.body(DecisionTaken)
    decision, is_new = await call.parts.decisions.take(call.tenant, who(call), body)
    return answered(decision, 201 if is_new else 200)


@call(
    router, "POST", "/v1/decisions/{decision_id}/check", "check_decision", scope="events:agent", body=DecisionCheck,
    examples={"before a waiver is granted": {"source_version": "v12", "action": "grant_waiver"}},
    answers="200 the decision; 409 `stale_context`: do not act; 503 `source_unavailable`: nobody knows, do not act.",
)  # fmt: skip
async def check_decision(call: Call) -> Response:
    """May this decision still be acted upon?"""
    decision_id = checked(_InPath, {"decision_id": call.in_path("decision_id")}).decision_id
    body = await call.body(DecisionCheck)
    return answered(await call.parts.decisions.check(call.tenant, who(call), decision_id, body))


@call(
    router, "GET", "/v1/borrowers/{borrower_id}/decisions", "get_decisions", scope="read", query=OfDecisions,
    answers="200: those that may be used now, or with `purpose=history` all of them, and what became of each.",
)  # fmt: skip
async def get_decisions(call: Call) -> Response:
    """What was decided about one borrower."""
    borrower_id, wanted = path_id(call), call.query(OfDecisions)
    await after(call, wanted.after)
    is_history = wanted.purpose == "history"
    real = await call.parts.database.read(lambda conn: records.resolve_id(conn, call.tenant, borrower_id))
    whose = (real, borrower_id)
    with going_on():
        before = time_and_id(place_of(call, wanted, whose))
    found = await call.parts.decisions.listed(
        call.tenant, borrower_id, is_history=is_history, limit=wanted.limit, before=before
    )
    if found is None:
        raise UnknownBorrower
    policy = call.parts.policies.for_tenant(call.tenant)
    if call.is_a_tools and not all(policy.hands_out(item["borrower_id"]) for item in found.items):
        found = Found([], None)
    goes_on = None
    if found.next_place is not None:
        at, id_ = found.next_place
        goes_on = cursor_of(call, wanted, cursor_at((at.isoformat(), id_)), whose)
    return answered({"items": found.items, "next_cursor": goes_on})


@call(
    router, "GET", "/v1/ops/corrections", "list_corrections", scope="ops", query=OfCorrections,
    answers="200: corrections, newest first, with when each layer answered and what is waited for.",
)  # fmt: skip
async def list_corrections(call: Call) -> Response:
    """Decisions that went stale, on their way to every layer."""
    wanted = call.query(OfCorrections)
    await after(call, wanted.after)

    def look(conn: Connection, place: str | None) -> Page:
        found = rows.list_corrections(conn, call.tenant, wanted.status, wanted.limit + 1, time_and_id(place))
        items = [_correction(row) for row in found]
        return page_of(items, wanted.limit, lambda item: (item["created_at"].isoformat(), item["correction_id"]))

    page = await paged(call, wanted, look)
    return answered({"items": page.items, "next_cursor": page.next_cursor})


@call(
    router, "GET", "/v1/ops/claims", "list_untraceable_claims", scope="ops", query=OfPage,
    answers="200: claims in summaries that name no decision of their borrower, newest first: none of them is trusted.",
)  # fmt: skip
async def list_untraceable_claims(call: Call) -> Response:
    """What agents pass on and nobody can trace to a decision."""
    wanted = call.query(OfPage)
    await after(call, wanted.after)

    def look(conn: Connection, place: str | None) -> Page:
        return claims.untraceable(conn, call.tenant, wanted.limit, place)

    page = await paged(call, wanted, look)
    return answered({"items": page.items, "next_cursor": page.next_cursor})


def _correction(row: Any) -> dict[str, Any]:
    named = (
        "decision_id",
        "borrower_id",
        "source",
        "observed_version",
        "created_at",
        "done_at",
        "tries",
        "last_reason",
    )
    told = {name: getattr(row, name) for name in named}
    return correction_shown(row) | told | {"entity": row.entity or None, "source_read_at": row.source_read_at}
