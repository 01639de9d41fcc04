"""Forgetting one fact, a term, or everything of one borrower (API 10)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, model_validator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from service.forget import asking
from service.routes.borrowers import known
from service.routes.reads import OfNothing, readable
from service.web.calls import Call, answered, call, routes
from statemachine.wire import Flag, Frozen, Id, Reason

router = routes("forget")

TERM_CHARACTERS = 200


def _term(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("wrong_type", "text is needed")
    if not value.strip():
        raise PydanticCustomError("missing", "a term that is not blank is needed")
    if len(value) > TERM_CHARACTERS:
        raise PydanticCustomError("too_long", "at most {limit} characters", {"limit": TERM_CHARACTERS})
    return value


class Forget(Frozen):
    """What is to be forgotten: exactly one of a fact, a term, or everything; and why."""

    reason: Reason
    fact_id: Id | None = None
    term: Annotated[str | None, BeforeValidator(_term)] = None
    everything: Flag = False

    @model_validator(mode="after")
    def _one_of_three(self) -> Forget:
        given = [name for name in ("fact_id", "term", "everything") if getattr(self, name)]
        if not given:
            raise PydanticCustomError("missing", "one of fact_id, term, everything", {"field": "everything"})
        if len(given) > 1:
            raise PydanticCustomError("too_many", "only one of fact_id, term, everything", {"field": given[1]})
        return self


@call(
    router, "POST", "/v1/borrowers/{borrower_id}/forget", "forget", scope="privacy", body=Forget, query=OfNothing,
    examples={
        "a term": {"reason": "she asked us to", "term": "Martha"},
        "everything": {"reason": "erasure request", "everything": True},
    },
    answers="200 the receipt: `forgotten`, `already_forgotten` or `nothing_found`; 404 `unknown_borrower` or `unknown_fact`.",
)  # fmt: skip
async def forget(call: Call) -> Response:
    """Forgets, and says truly what was removed, what was kept and why."""
    in_query = call.query(OfNothing)
    asked = await call.body(Forget)
    one, _ = await known(call, in_query)
    by = call.key.key_id if call.key.name is None else f"{call.key.key_id} {call.key.name}"
    wanted = asking.Wanted(asked.reason, asked.fact_id, asked.term, asked.everything)
    with readable(call):
        return answered(await asking.forget(call.parts, call.tenant, by, one.borrower_id, wanted))
