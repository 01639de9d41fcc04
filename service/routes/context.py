"""`POST /v1/borrowers/{borrower_id}/context`: all that one turn's prompt may hold (API 10)."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from service.context.answering import answer
from service.context.bodies import ContextAsked
from service.routes.borrowers import path_id
from service.routes.reads import OfNothing
from service.web.calls import Call, answered, call, routes

router = routes("context")

EXAMPLES: Final = {
    "a turn in which the dues were read": {
        "channel": "voice",
        "turn_id": "t-7",
        "instructions": [{"source": "prompt/dues@4", "text": "You speak for the lender. Be brief and polite."}],
        "readings": [
            {
                "source": "dues",
                "subject": "outstanding",
                "turn_id": "t-7",
                "observed_at": "2026-11-20T15:35:00+05:30",
                "text": "outstanding 14,300",
            },
            {
                "source": "dues",
                "subject": "outstanding",
                "turn_id": "t-3",
                "observed_at": "2026-11-20T15:20:00+05:30",
                "text": "outstanding 12,400",
            },
        ],
        "conversation": [{"speaker": "borrower", "text": "kitna baaki hai?", "at": "2026-11-20T15:34:40+05:30"}],
        "question": "kitna baaki hai?",
        "token_budget": 4000,
    }
}


@call(
    router,
    "POST",
    "/v1/borrowers/{borrower_id}/context",
    "context",
    scope="read",
    body=ContextAsked,
    query=OfNothing,
    examples=EXAMPLES,
    answers="200: the blocks of the prompt in their order, what was left out and why, and the whole as `text`; 404; "
    "503 `not_yet_merged`. A memory that cannot be read is 200, `degraded`.",
)
async def get_context(call: Call) -> Response:
    """What may stand in this turn's prompt, and where each piece of it is from."""
    wanted = call.query(OfNothing)
    asked = await call.body(ContextAsked)
    named = (asked.after, wanted.after)
    return answered(await answer(call.parts, call.tenant, path_id(call), asked, list(call.document), named))
