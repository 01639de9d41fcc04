"""The phone rings: `POST /v1/resume` for whatever the caller knows (API 6)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from service.resuming.request import Request, resume
from service.web.calls import Call, Json, call, routes
from statemachine.entries import Identifier
from statemachine.wire import AnyBorrowerId, Channel, Direction, Frozen, Id

router = routes("resume")

WAIT_MS = 1_500


def _wait(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= WAIT_MS:
        raise PydanticCustomError("wrong_type", "a whole number from 0 to 1500")
    return value


class ResumeRequest(Frozen):
    """Who and on which channel. `proposal` may be any JSON value: what is no proposal is told as a fallback."""

    channel: Channel
    direction: Direction = "outbound"
    borrower_id: AnyBorrowerId | None = None
    identifier: Identifier | None = None
    loan_id: Id | None = None
    wait_ms: Annotated[int, BeforeValidator(_wait)] = 0
    after: Id | None = None
    proposal: Annotated[Any, Field(description='`{"state": ...}`: the caller\'s own classifier')] = None


@call(
    router,
    "POST",
    "/v1/resume",
    "resume",
    scope="read",
    body=ResumeRequest,
    examples={
        "a call comes in": {
            "channel": "voice",
            "direction": "inbound",
            "identifier": {"kind": "phone", "value": "09000000101"},
        },
        "a classifier proposes": {"channel": "voice", "borrower_id": "B-101", "proposal": {"state": "payment_link"}},
    },
    answers="200, also for somebody unknown (`found` false) and when the memory cannot be read (`degraded` true).",
)
async def resume_call(call: Call) -> Response:
    """Where the next conversation starts, and why."""
    asked = await call.body(ResumeRequest)
    request = Request(
        channel=asked.channel,
        direction=asked.direction,
        borrower_id=asked.borrower_id,
        identifier=asked.identifier,
        loan_id=asked.loan_id,
        wait_ms=asked.wait_ms,
        after=asked.after,
        proposal=asked.proposal,
    )
    return Json(await resume(call.parts, call.tenant, request))
