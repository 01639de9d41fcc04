"""Examples for whoever writes the rules of screening, copied out of real reports (DESIGN 11)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from service import screening_examples
from service.routes.reads import OfNothing, after
from service.web.calls import Call, answered, call, routes
from statemachine.wire import Frozen, Id

router = routes("screening")

SENTENCES = 10_000


def _place(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < SENTENCES:
        raise PydanticCustomError("wrong_type", "a whole number from 0")
    return value


def _should(value: object) -> object:
    if value not in ("pass", "fail"):
        raise PydanticCustomError("not_in_enum", "pass or fail")
    return value


class Example(Frozen):
    """A sentence of a summary's prose, by its number from 0 (`withheld` of a briefing names it), and what it should do."""

    event_id: Id
    sentence: Annotated[int, BeforeValidator(_place)]
    should: Annotated[Literal["pass", "fail"], BeforeValidator(_should)]


@call(
    router, "POST", "/v1/ops/screening-examples", "add_screening_example", scope="events:ops", body=Example,
    examples={"a name that a rule missed": {"event_id": "whatsapp:c-1:1", "sentence": 0, "should": "fail"}},
    answers="200 the example; 404 for a summary or sentence that there is not.",
)  # fmt: skip
async def add_screening_example(call: Call) -> Response:
    """Copies a real sentence that was judged wrongly, for whoever writes the rules."""
    asked = await call.body(Example)
    by = call.key.key_id if call.key.name is None else f"{call.key.key_id} {call.key.name}"
    made = await screening_examples.copy(call.parts, call.tenant, by, asked.event_id, asked.sentence, asked.should)
    return answered(made)


@call(
    router, "GET", "/v1/ops/screening-examples", "list_screening_examples", scope="ops", query=OfNothing,
    answers="200: the copied sentences, newest first.",
)  # fmt: skip
async def list_screening_examples(call: Call) -> Response:
    """The sentences that people copied."""
    await after(call, call.query(OfNothing).after)
    return answered({"items": await screening_examples.listed(call.parts, call.tenant), "next_cursor": None})
