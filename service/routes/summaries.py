"""A finished conversation arrives: `POST /v1/summaries` (API 3)."""

from __future__ import annotations

from starlette.responses import Response

from service.intake.receive import receive
from service.web.calls import Call, call, routes
from statemachine.entries import Summary

router = routes("summaries")

EXAMPLES = {
    "a promise on WhatsApp": {
        "borrower_id": "B-101",
        "channel": "whatsapp",
        "direction": "inbound",
        "conversation_id": "c-1",
        "ended_at": "2026-11-28T18:42:10+05:30",
        "outcome": "connected",
        "reached": "negotiation",
        "summary": "She said: ok I will pay 12,500 by the 5th.",
        "commitment": {
            "amount_said": "12,500",
            "due_date_said": "by the 5th",
            "quote": "ok I will pay 12,500 by the 5th",
        },
    },
    "a read-back on the phone": {
        "borrower_id": "B-101",
        "channel": "voice",
        "direction": "outbound",
        "conversation_id": "call-1",
        "ended_at": "2026-11-29T11:02:34+05:30",
        "outcome": "connected",
        "commitment": {"amount": "12500.00", "due_date": "2026-12-05", "status": "confirmed", "read_back": True},
        "turns": [
            {"speaker": "agent", "text": "So you will pay 12,500 rupees by 5 December, is that right?"},
            {"speaker": "borrower", "text": "haan, theek hai"},
        ],
    },
    "nobody answered": {
        "borrower_id": "B-101",
        "channel": "voice",
        "direction": "outbound",
        "conversation_id": "call-2",
        "ended_at": "2026-11-29T12:00:00+05:30",
        "outcome": "no_answer",
    },
}


@call(
    router,
    "POST",
    "/v1/summaries",
    "post_summary",
    scope="events:agent",
    body=Summary,
    examples=EXAMPLES,
    answers="`200 merged` or `duplicate`, `202 accepted`; `409 id_conflict` for the same id with another body.",
)
async def post_summary(call: Call) -> Response:
    """A channel's summary of a conversation that ended."""
    body = await call.body(Summary)
    return (await receive(call, [(body, call.repaired)]))[0].response()
