"""`POST /v1/borrowers/{borrower_id}/permits`: one holder may, the rest are told why not (API 8)."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from sqlalchemy import Connection, and_, insert, or_, select
from starlette.responses import Response

from service import records
from service.errors import PermitRefused, UnknownBorrower
from service.permits import ACTIONS, EVENT_OF, Asking, Permit, Refused, new_refusal, standing_refusal
from service.records.journal import sources_of
from service.routes.borrowers import cycle_of, path_id
from service.routes.reads import readable
from service.tables import Permit as PermitRow
from service.tables import table_of
from service.web.calls import Call, answered, call, routes
from statemachine.contact import contact_of
from statemachine.wire import Channel, Frozen, Id

router = routes("permits")

HOLDER_CHARACTERS = 128
PERMIT = table_of(PermitRow)


def _action(value: object) -> object:
    if not isinstance(value, str):
        raise PydanticCustomError("wrong_type", "text is needed")
    if value not in ACTIONS:
        raise PydanticCustomError("not_in_enum", "reminder or payment_link")
    return value


def _holder(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("wrong_type", "text is needed")
    if not value.strip():
        raise PydanticCustomError("missing", "who asks, and for which run")
    if len(value) > HOLDER_CHARACTERS:
        raise PydanticCustomError("too_long", "at most {limit} characters", {"limit": HOLDER_CHARACTERS})
    return value


class PermitRequest(Frozen):
    """What is to be done, on which channel, and by whom; the same holder may ask again after a lost answer."""

    action: Annotated[str, BeforeValidator(_action)]
    channel: Channel
    holder: Annotated[str, BeforeValidator(_holder)]
    loan_id: Id | None = None


@call(
    router,
    "POST",
    "/v1/borrowers/{borrower_id}/permits",
    "take_permit",
    scope="events:agent",
    body=PermitRequest,
    examples={"a link": {"action": "payment_link", "channel": "whatsapp", "holder": "links/2026-11-30"}},
    answers="201 the permit; 200 the same one for the same holder; 409 `permit_refused` with `reason` and `retry_at`.",
)
async def take_permit(call: Call) -> Response:
    """May we remind, may we send the link?"""
    asked = await call.body(PermitRequest)
    borrower_id = path_id(call)
    policy = call.parts.policies.for_tenant(call.tenant)
    behind = await _is_behind(call, borrower_id)
    now = call.parts.clock()

    def claim(conn: Connection) -> tuple[Permit, bool] | Refused:
        """Reads, judges and claims while it holds the record, so that no two callers see that nobody has it."""
        stored = records.held(conn, call.tenant, borrower_id)
        if stored is None:
            raise UnknownBorrower
        with readable(call):
            one = call.parts.reader.known(call.tenant, stored, policy, now)
        cycle = cycle_of(one, asked.loan_id)
        asking = Asking(
            state=one.state,
            cycle=cycle,
            action=asked.action,
            channel=asked.channel,
            holder=asked.holder,
            contact=contact_of(one.state, asked.channel, cycle.loan_id, now, policy),
            is_behind=behind or records.is_behind(conn, call.tenant, one.borrower_id),
            now=now,
        )
        if refused := standing_refusal(asking):
            return refused
        live = _live(conn, call.tenant, asking, one.borrower_id)
        if live is not None and live.holder == asked.holder:
            return live, False
        if refused := new_refusal(asking, live):
            return refused
        permit = Permit(
            permit_id=f"p_{secrets.token_urlsafe(9)}",
            action=asked.action,
            channel=asked.channel,
            holder=asked.holder,
            borrower_id=one.borrower_id,
            loan_id=cycle.loan_id,
            cycle_id=cycle.cycle_id,
            attempt=cycle.attempt,
            granted_at=now,
            expires_at=now + timedelta(seconds=policy.permit_seconds),
        )
        row = {f: getattr(permit, f) for f in permit.__dataclass_fields__}
        conn.execute(insert(PERMIT), row | {"tenant": call.tenant})
        return permit, True

    claimed = await call.parts.database.write(claim)
    if isinstance(claimed, Refused):
        call.parts.permits.labels(asked.action, claimed.reason).inc()
        raise PermitRefused(claimed.reason, claimed.retry_at)
    permit, is_new = claimed
    call.parts.permits.labels(asked.action, "granted" if is_new else "again").inc()
    return answered(permit, 201 if is_new else 200)


async def _is_behind(call: Call, borrower_id: str) -> bool:
    """What a log outside the database has of this borrower; asked before the claim, which must not wait."""
    if records.is_provisional(borrower_id):
        borrower_id = await call.parts.database.read(lambda c: records.resolve_id(c, call.tenant, borrower_id))
    return await call.parts.intake.is_behind(call.tenant, borrower_id)


def _live(conn: Connection, tenant: str, asking: Asking, borrower_id: str) -> Permit | None:
    """The permit of this cycle, attempt and action that has neither expired nor been settled by an event since.

    An event of another cycle or attempt settles nothing here, whatever loan it names: where it stands, the state says.
    A permit that was given while they were provisional, of no cycle yet, is theirs since the number was linked.
    """
    cycle = asking.cycle
    before = [id_ for id_, _ in sources_of(conn, tenant, borrower_id) if id_ != borrower_id]
    of_cycle = and_(
        PERMIT.c.borrower_id == borrower_id,
        PERMIT.c.loan_id.is_not_distinct_from(cycle.loan_id),
        PERMIT.c.cycle_id.is_not_distinct_from(cycle.cycle_id),
        PERMIT.c.attempt == cycle.attempt,
    )
    of_no_cycle_yet = and_(
        PERMIT.c.borrower_id.in_(before),
        PERMIT.c.cycle_id.is_(None),
        or_(PERMIT.c.loan_id.is_(None), PERMIT.c.loan_id.is_not_distinct_from(cycle.loan_id)),
    )
    where = (
        PERMIT.c.tenant == tenant,
        or_(of_cycle, of_no_cycle_yet) if before else of_cycle,
        PERMIT.c.action == asking.action,
        PERMIT.c.expires_at > asking.now,
    )
    fields = [PERMIT.c[name] for name in Permit.__dataclass_fields__]
    of_attempt = frozenset(cycle.reports)
    for row in conn.execute(select(*fields).where(*where).order_by(PERMIT.c.granted_at.desc())):
        permit = replace(Permit(*row), borrower_id=borrower_id)
        arrived = records.events_since(conn, tenant, borrower_id, EVENT_OF[permit.action], permit.granted_at)
        if of_attempt.isdisjoint(arrived):
            return permit
    return None
