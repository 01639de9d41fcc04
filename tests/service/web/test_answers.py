"""What the document of the calls tells of answers is what is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from service.web.answers import ANSWERS, document_answers
from tests.service.api import Answer, Api, api

Json = dict[str, Any]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path) as opened:
        yield opened


def schema_of(document: Json, operation: str, status: int) -> Json:
    """The schema of an answer, with the definitions that it needs."""
    calls = (call for calls in document["paths"].values() for call in calls.values())
    responses = next(call["responses"] for call in calls if call["operationId"] == operation)
    told = responses.get(str(status)) or responses[f"{status // 100}XX"]
    (content,) = told["content"].values()
    return {**content["schema"], "components": document["components"]}


async def test_every_answer_that_has_a_shape_has_the_one_that_is_told(service: Api) -> None:
    document = (await service.get("/openapi.json")).document
    borrower, phone = await service.known()
    opened = {"cycle_id": "CY-1", "due_date": service.day(5), "amount_due": "12500", "currency": "INR"}
    await service.event("cycle.opened", borrower, hours=300, loan_id="LN-1", **opened)
    claim = {"amount": "500", "paid_on": service.day(-1)}
    fact = {"kind": "preferred_language", "text": "always Hindi", "confidence": 0.9}
    told = await service.told(
        borrower, hours=5, commitment=service.promise("confirmed"), facts=[fact], summary="Balance is 12,400 rupees."
    )
    await service.told(borrower, hours=4, commitment=service.promise(amount="700"), payment_claim=claim)
    sent = {"channel": "whatsapp", "message_id": "m-1", "outcome": "delivered"}
    happened = await service.event("reminder.sent", borrower, loan_id="LN-1", **sent)
    bad = {"type": "reminder.sent", "event_id": "e-bad", "occurred_at": service.ago(hours=1)}
    good = {**bad, "event_id": "e-good", "borrower_id": borrower, **sent}
    batch = await service.post("/v1/events/batch", {"events": [good, bad]})
    asked = {"action": "payment_link", "channel": "whatsapp", "holder": "run-1", "loan_id": "LN-1"}
    permits = [await service.post(f"/v1/borrowers/{borrower}/permits", asked) for _ in range(2)]
    answers = [
        ("post_summary", told),
        ("post_event", happened),
        ("post_events", batch),
        ("resume", await service.resume(borrower, identifier=phone)),
        ("resume", await service.resume("B-nobody")),
        ("lookup", await service.post("/v1/borrowers/lookup", {"identifier": phone})),
        ("get_briefing", await service.get(f"/v1/borrowers/{borrower}/briefing")),
        ("get_facts", await service.get(f"/v1/borrowers/{borrower}/facts")),
        ("get_flags", await service.get(f"/v1/borrowers/{borrower}/flags?loan_id=LN-1")),
        *(("take_permit", permit) for permit in permits),
        ("take_permit", await service.post(f"/v1/borrowers/{borrower}/permits", {**asked, "holder": "run-2"})),
        ("get_flags", await service.get("/v1/borrowers/B-nobody/flags")),
        ("post_event", await service.event("reminder.sent", borrower, purpose="none")),
    ]
    answers += [*(await _decided(service, borrower)), *(await _remembered(service, borrower))]
    assert {operation for operation, _ in answers} == set(ANSWERS)
    decided, remembered = [201, 200, 200, 200, 409, 200], [200] * 8
    assert [answer.status for _, answer in answers] == [200] * 9 + [201, 200, 409, 404, 422, *decided, *remembered]
    for operation, answer in answers:
        Draft202012Validator(schema_of(document, operation, answer.status)).validate(answer.document)
    lacking = {name: value for name, value in answers[3][1].document.items() if name != "state"}
    assert not Draft202012Validator(schema_of(document, "resume", 200)).is_valid(lacking), "else this proves nothing"


async def _decided(service: Api, borrower: str) -> list[tuple[str, Answer]]:
    """Of one that is taken, told again, checked, overtaken by its source and listed."""
    taken = {
        "decision_id": "D-1", "borrower_id": borrower, "kind": "waiver", "conclusion": "10 % eligible", "source": "offers",
        "source_version": "v12", "decided_at": service.ago(hours=2), "agent": "chat-3",
    }  # fmt: skip
    seen = {"source": "offers", "version": "v13", "observed_at": service.ago(hours=1)}
    return [
        ("take_decision", await service.post("/v1/decisions", taken)),
        ("take_decision", await service.post("/v1/decisions", taken)),
        ("check_decision", await service.post("/v1/decisions/D-1/check", {"source_version": "v12"})),
        ("report_source", await service.post("/v1/sources", seen)),
        ("check_decision", await service.post("/v1/decisions/D-1/check", {"source_version": "v13"})),
        ("get_decisions", await service.get(f"/v1/borrowers/{borrower}/decisions?purpose=history")),
    ]


async def _remembered(service: Api, borrower: str) -> list[tuple[str, Answer]]:
    """What is found of one and of all, a prompt with and without its memory, and what is forgotten, once and again."""
    path, asked = f"/v1/borrowers/{borrower}", {"query": "language, waiver, Hindi", "purpose": "history"}
    reading = {"source": "dues", "turn_id": "t-1", "text": "outstanding 12,400", "observed_at": service.ago(minutes=1)}
    turn = {"channel": "voice", "turn_id": "t-1", "question": "How much is due?", "readings": [reading, reading]}
    told = [
        ("recall", await service.post(f"{path}/recall", asked)),
        ("recall", await service.post(f"{path}/recall", {"query": "zebra"})),
        ("search", await service.post("/v1/search", asked)),
        ("context", await service.post(f"{path}/context", turn)),
        ("context", await service.post(f"{path}/context", turn | {"readings": []})),
    ]
    assert told[0][1]["items"], "else its shape says nothing"
    assert told[2][1]["items"]
    assert told[3][1]["dropped"]
    forget = {"reason": "she asked us to", "term": "Hindi"}
    receipts = [await service.post(f"{path}/forget", forget | own) for own in ({}, {}, {"term": "zebra"})]
    assert [receipt["status"] for receipt in receipts] == ["forgotten", "already_forgotten", "nothing_found"]
    return told + [("forget", receipt) for receipt in receipts]


async def test_every_call_with_a_key_tells_its_refusals(service: Api) -> None:
    document = (await service.get("/openapi.json")).document
    for path, calls in document["paths"].items():
        for call in calls.values():
            assert ({"4XX", "503"} <= set(call["responses"])) == path.startswith("/v1/"), path
    assert "HTTPValidationError" not in str(document), "the framework's own problem is never answered"
    assert (await service.get("/openapi.json")).document == document


async def test_every_body_has_an_example(service: Api) -> None:
    """That it is taken as it stands is tried beside the generated client, which needs a service of its own."""
    document = (await service.get("/openapi.json")).document
    for path, calls in document["paths"].items():
        for call in calls.values():
            if "requestBody" in call:
                assert call["requestBody"]["content"]["application/json"].get("examples"), path


async def test_two_shapes_of_one_name_are_found_at_once(service: Api) -> None:
    document = (await service.get("/openapi.json")).document
    document["components"]["schemas"]["Problem"] = {"type": "string"}
    with pytest.raises(ValueError, match="Problem"):
        document_answers(document)
