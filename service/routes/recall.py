"""Recall over one borrower's memory, and search across borrowers (API 7)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from service import audit
from service.live import without_live
from service.recall import finding
from service.recall.notes import PURPOSES, Purpose
from service.routes.borrowers import known
from service.routes.reads import OfNothing, after, count_unreadable, readable
from service.web.calls import Call, answered, call, routes
from statemachine.wire import Frozen, Id

router = routes("recall")

QUERY_CHARACTERS = 1_000
HITS = 10
HITS_LIMIT = 200


def _query(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("wrong_type", "text is needed")
    if not value.strip():
        raise PydanticCustomError("missing", "a text that is not blank is needed")
    if len(value) > QUERY_CHARACTERS:
        raise PydanticCustomError("too_long", "at most {limit} characters", {"limit": QUERY_CHARACTERS})
    return value


def _purpose(value: object) -> object:
    if value not in PURPOSES:
        raise PydanticCustomError("not_in_enum", "current or history")
    return value


def _hits(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise PydanticCustomError("wrong_type", "a whole number from 1")
    if value > HITS_LIMIT:
        raise PydanticCustomError("too_many", "at most {limit}", {"limit": HITS_LIMIT})
    return value


class Recall(Frozen):
    """What is looked for, and what for."""

    query: Annotated[str, BeforeValidator(_query)]
    purpose: Annotated[Purpose, BeforeValidator(_purpose)] = "current"
    limit: Annotated[int, BeforeValidator(_hits)] = HITS
    after: Id | None = None


_EXAMPLES = {
    "what may be acted upon": {"query": "when may we call"},
    "what was said before": {"query": "तनख्वाह kab aati hai", "purpose": "history", "limit": 5},
}


@call(
    router, "POST", "/v1/borrowers/{borrower_id}/recall", "recall", scope="read", body=Recall, query=OfNothing,
    examples=_EXAMPLES, answers="200 `{items, next_cursor}`, best first; 404 `unknown_borrower`.",
)  # fmt: skip
async def recall(call: Call) -> Response:
    """What this borrower's notes, facts, conversations and decisions say about something."""
    in_query = call.query(OfNothing)
    asked = await call.body(Recall)
    await after(call, asked.after, in_query.after)
    one, policy = await known(call, OfNothing())
    items: list[dict[str, Any]] = []
    if policy.hands_out(one.borrower_id):
        with readable(call):
            items = await finding.recall(
                call.parts, call.tenant, one, asked.query, asked.purpose, asked.limit, policy, call.parts.clock()
            )
        items = await without_live(
            call.parts, call.tenant, one.borrower_id, "recall", items, lambda item: item["volatility"]
        )
    return answered({"items": items, "next_cursor": None})


@call(
    router, "POST", "/v1/search", "search", scope="search:all", body=Recall, query=OfNothing, examples=_EXAMPLES,
    answers="200 `{items, next_cursor}`, each with its `borrower_id`; beside them `unreadable`, who could not be read, if any."
    " 503 while more are to be indexed than it has the time for. An audit line is written.",
)  # fmt: skip
async def search(call: Call) -> Response:
    """The same across borrowers, for people who may read all of them."""
    in_query = call.query(OfNothing)
    asked = await call.body(Recall)
    await after(call, asked.after, in_query.after)
    with readable(call):
        found = await finding.search(
            call.parts, call.tenant, asked.query, asked.purpose, asked.limit, call.parts.clock()
        )
    items = found.items
    if found.unreadable:
        count_unreadable(call, "records that a search came upon", len(found.unreadable))
    line = audit.Line(
        call.tenant,
        call.parts.clock(),
        call.key.key_id if call.key.name is None else f"{call.key.key_id} {call.key.name}",
        "search",
        detail=f"query={call.parts.keyed_hash(asked.query, 'audit')[:16]} purpose={asked.purpose} hits={len(items)}",
    )
    await call.parts.database.write(lambda conn: audit.add(conn, line))  # what cannot be audited is not told
    damaged = {"unreadable": found.unreadable} if found.unreadable else {}
    return answered({"items": items, "next_cursor": None, **damaged})
