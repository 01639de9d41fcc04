"""Borrowers by where they stand, and the search for one: a number that is searched for is in no address and no log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection
from starlette.responses import Response

from channels import CHANNELS
from service import naming, records
from service.errors import FieldError, InvalidBody, Problem
from service.pages.drawing import Page, segment
from service.pages.page import Visit, page, pages, seen_again
from service.pages.queries import OfBorrowers, listed
from service.pages.tables import csv_of, wants_csv
from statemachine.conclusions import STAGES
from statemachine.entries import Identifier
from statemachine.ladder import RUNGS
from statemachine.wire import HOLD_KINDS

router = pages()

COLUMNS = (
    "borrower_id", "loan_id", "cycle_id", "attempt", "stage", "rung", "amount", "currency", "promise_due_date",
    "outstanding", "last_contact_at", "holds",
)  # fmt: skip


@dataclass(frozen=True)
class Borrowers(Page):
    """One row for each loan of each borrower."""

    template: ClassVar[str] = "borrowers.html.j2"
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None
    filters: dict[str, Any]
    stages: tuple[str, ...]
    rungs: tuple[str, ...]
    hold_kinds: tuple[str, ...]
    channels: tuple[str, ...]


@dataclass(frozen=True)
class NotFound(Page):
    """What a search for one borrower came to when it was not one. Candidates are ids of the tenant's own."""

    template: ClassVar[str] = "not_found.html.j2"
    problem: str
    candidates: tuple[str, ...]


@page(router, "GET", "/ops/borrowers")
async def borrowers(visit: Visit) -> Response:
    wanted = visit.query(OfBorrowers)
    filters = wanted.filters()
    now = visit.parts.clock()

    def look(conn: Connection) -> records.Page:
        return records.borrowers(conn, visit.tenant, filters, now, wanted.limit, wanted.cursor)

    found = await listed(visit, look)
    if wants_csv(visit):
        rows = [item | {"holds": [hold["kind"] for hold in item["holds"]]} for item in found.items]
        return csv_of(visit, "borrowers", COLUMNS, rows)
    return visit.show(
        Borrowers(
            items=tuple(found.items),
            next_cursor=found.next_cursor,
            filters=filters,
            stages=STAGES,
            rungs=RUNGS,
            hold_kinds=HOLD_KINDS,
            channels=tuple(CHANNELS),
        )
    )


@page(router, "POST", "/ops/search")
async def search(visit: Visit) -> Response:
    """Leads to the one borrower who is meant: by id, by number, by address or by loan."""
    text = visit.form.get("q", "")
    found, candidates = await _meant(visit, text)
    if len(found) == 1:
        return seen_again(f"/ops/borrowers/{segment(found[0])}")
    problem = "Several borrowers share this." if candidates else "Nobody is known by this."
    return visit.show(NotFound(problem=problem, candidates=tuple(candidates)), 404)


async def _meant(visit: Visit, text: str) -> tuple[list[str], list[str]]:
    """Whoever is meant, and else who might be."""
    if not text or "\0" in text or len(text) > 200:
        raise InvalidBody([FieldError("q", "missing" if not text else "bad_id")])
    tenant, policy = visit.tenant, visit.parts.policies.for_tenant(visit.tenant)
    kind = "email" if "@" in text else "phone"
    try:
        number = naming.called(None, Identifier(kind=kind, value=text), None, policy)
    except (Problem, ValueError):
        number = None

    def look(conn: Connection) -> tuple[list[str], list[str]]:
        if (stored := records.stored(conn, tenant, text)) is not None:
            return [stored.borrower_id], []
        owners = records.owners_of_loan(conn, tenant, text)
        if owners:
            return owners[:1] if len(owners) == 1 else [], owners
        if number is None:
            return [], []
        named = naming.find(conn, tenant, number, visit.parts.secrets)
        if named.candidates:
            return [], list(named.candidates)
        known = records.stored(conn, tenant, named.borrower_id) if named.borrower_id else None
        return ([known.borrower_id] if known else []), []

    return await visit.parts.database.read(look)
