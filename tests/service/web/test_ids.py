"""Two ids never become one: what is no UTF-8, and what a body's reading repaired, is no id anywhere (API 1)."""

from __future__ import annotations

import types
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, BeforeValidator

from service.routes import (
    borrowers,
    context,
    decisions,
    events,
    forget,
    permits,
    recall,
    resume,
    screening,
    sources,
    summaries,
)
from service.web.calls import operations, taken_by
from service.web.invalid import ID_NAMES
from statemachine import wire
from tests.service.api import Api, api

OF_IDS = {wire._id, wire._borrower_id, wire._any_borrower_id}
NOUNS = (borrowers, context, decisions, events, forget, permits, recall, resume, screening, sources, summaries)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path) as made:
        await made.told("B-\ufffd", conversation_id="c-\ufffd", event_id="e-\ufffd")
        yield made


def _ids_of(annotation: Any, name: str) -> Iterator[str]:
    """The names of the fields beneath an annotation that hold an id."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field_name, field in annotation.model_fields.items():
            if any(isinstance(one, BeforeValidator) and one.func in OF_IDS for one in field.metadata):
                yield field_name
            yield from _ids_of(field.annotation, field_name)
        return
    for one in getattr(annotation, "__metadata__", ()):
        if isinstance(one, BeforeValidator) and one.func in OF_IDS:
            yield name
    if get_origin(annotation) is not None or isinstance(annotation, types.UnionType | type(Union)):
        for part in get_args(annotation):
            yield from _ids_of(part, name)


def test_every_field_of_a_body_that_holds_an_id_is_known_as_one() -> None:
    found = {
        name
        for route in operations([noun.router for noun in NOUNS]).values()
        for name in _ids_of(taken_by(route).body, "")
    }
    assert found - {""} == ID_NAMES


@pytest.mark.parametrize("path", ["", "/flags", "/timeline", "/briefing", "/facts", "/decisions", "/export"])
async def test_bytes_that_are_no_text_are_no_borrower(service: Api, path: str) -> None:
    assert (await service.get(f"/v1/borrowers/B-%EF%BF%BD{path}")).status == 200
    answer = await service.get(f"/v1/borrowers/B-%FF{path}")
    assert (answer.status, answer["errors"]) == (422, [{"field": "borrower_id", "code": "bad_id"}])


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ("after=e-%FF", "after", "bad_id"),
        ("loan_id=%C3", "loan_id", "bad_id"),
        ("after=%ED%A0%80", "after", "bad_id"),
        ("channel=%FF", "channel", "wrong_type"),
        ("after=e&after=%FF", "after", "wrong_type"),
    ],
)
async def test_bytes_that_are_no_text_are_no_parameter(service: Api, query: str, field: str, code: str) -> None:
    assert (await service.get("/v1/borrowers/B-%EF%BF%BD/briefing?after=e-%EF%BF%BD")).status == 200
    answer = await service.get(f"/v1/borrowers/B-%EF%BF%BD/briefing?{query}")
    assert (answer.status, answer["errors"]) == (422, [{"field": field, "code": code}])


TURN = {"channel": "voice", "turn_id": "t-1", "question": "And now?"}
DECISION = {
    "decision_id": "D-1", "borrower_id": "B-1", "kind": "waiver", "conclusion": "yes", "source": "offers", "source_version": "v1",
    "decided_at": "2026-11-20T10:00:00Z",
}  # fmt: skip
BROKEN = "x\x00"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/resume", {"channel": "voice", "borrower_id": "B-1", "after": BROKEN}, "after"),
        ("/v1/borrowers/B-1/context", TURN | {"turn_id": BROKEN}, "turn_id"),
        (
            "/v1/borrowers/B-1/context",
            TURN | {"readings": [{"source": "s", "text": "t", "turn_id": BROKEN}]},
            "readings.0.turn_id",
        ),
        ("/v1/borrowers/B-1/recall", {"query": "x", "after": BROKEN}, "after"),
        ("/v1/borrowers/B-1/forget", {"reason": "r", "fact_id": BROKEN}, "fact_id"),
        ("/v1/decisions", DECISION | {"replaces": ["D-0", BROKEN]}, "replaces.1"),
        ("/v1/decisions", DECISION | {"replaces": BROKEN}, "replaces"),
        ("/v1/decisions", DECISION | {"execution_id": BROKEN}, "execution_id"),
        ("/v1/decisions/D-1/check", {"source_version": "v1", "execution_id": BROKEN}, "execution_id"),
    ],
)
async def test_an_id_that_had_to_be_repaired_is_refused_by_name(service: Api, path: str, body: Any, field: str) -> None:
    answer = await service.post(path, body)
    assert (answer.status, answer["errors"]) == (422, [{"field": field, "code": "bad_id"}])


async def test_what_a_caller_proposes_may_say_anything(service: Api) -> None:
    asked = {"channel": "voice", "borrower_id": "B-1", "proposal": {"state": "opening", "turn_id": BROKEN}}
    assert (await service.post("/v1/resume", asked)).status == 200
