"""A cursor goes on in the list that gave it: of this call, these filters, this borrower and this tenant (API 1)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from service.keys import SCOPES, create
from tests.service.api import Api, api

SUMMARIES = 3


async def _plant(service: Api, *borrowers: str, hours: float = 200) -> None:
    """What fills each of the lists."""
    for borrower in borrowers:
        for n in range(SUMMARIES):
            claim = {"claims": [{"decision_id": f"D-none-{n}", "source": "offers", "version": "v1"}]}
            await service.told(borrower, hours=hours - n, extra=claim, commitment=service.promise())
            started = {"channel": "voice", "conversation_id": service.name("k"), "hours": hours - n}
            await service.event("conversation.started", borrower, **started)
            decision = {
                "decision_id": service.name("D"), "borrower_id": borrower, "kind": "waiver", "conclusion": "10 %, eligible",
                "source": f"offers-{borrower}-{n}", "source_version": "v1", "entity": f"LN-{n}",
                "decided_at": service.ago(hours=5),
            }  # fmt: skip
            assert (await service.post("/v1/decisions", decision)).status == 201
            await service.event("fact.stated", borrower, kind="employment", text=f"trade {n}", hours=hours - n)
            await service.resume(borrower)
            await service.resume(borrower, channel="whatsapp")
            once = {"event_id": service.name("x"), "type": "fact.stated", "borrower_id": borrower, "kind": "goal"}
            for text in ("one", "other"):  # the second is set aside as a conflict
                await service.post("/v1/events", once | {"text": text, "occurred_at": service.ago(hours=1)})


LISTS = (
    "/v1/borrowers/B-1/timeline?",
    "/v1/borrowers/B-2/timeline?",
    "/v1/borrowers/B-1/facts?",
    "/v1/borrowers/B-2/facts?",
    "/v1/borrowers/B-1/decisions?",
    "/v1/borrowers/B-1/decisions?purpose=history&",
    "/v1/borrowers/B-2/decisions?",
    "/v1/borrowers?",
    "/v1/borrowers?rung=proposed&",
    "/v1/borrowers?overdue=false&",
    "/v1/ops/set-aside?",
    "/v1/ops/set-aside?status=open&",
    "/v1/ops/missing-reports?",
    "/v1/ops/claims?",
    "/v1/ops/resumes?",
    "/v1/ops/resumes?borrower_id=B-1&",
    "/v1/ops/resumes?channel=whatsapp&",
)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path) as made:
        await _plant(made, "B-1", "B-2")
        yield made


async def _cursors(service: Api) -> dict[str, str]:
    cursors = {}
    for path in LISTS:
        page = await service.get(f"{path}limit=1")
        assert page.status == 200
        assert page["next_cursor"] is not None, path
        cursors[path] = page["next_cursor"]
    return cursors


REFUSED = {
    "type": "about:blank",
    "title": "Invalid body",
    "status": 422,
    "code": "invalid_body",
    "detail": "a cursor goes on in the list that gave it, asked for with the same filters",
    "errors": [{"field": "cursor", "code": "wrong_type"}],
}


async def test_a_cursor_goes_on_in_its_list_alone(service: Api) -> None:
    cursors = await _cursors(service)
    for path in LISTS:
        first = await service.get(f"{path}limit=1")
        for of, cursor in cursors.items():
            answer = await service.get(f"{path}limit=2&cursor={cursor}")
            if of == path:
                assert answer.status == 200, path
                assert answer["items"], path
                assert first["items"][0] not in answer["items"], path
            else:
                assert (answer.status, answer.document) == (422, REFUSED), (path, of)


async def test_a_cursor_of_another_tenant_is_refused(service: Api) -> None:
    cursors = await _cursors(service)
    key, _ = await service.parts.database.write(lambda c: create(c, "other", list(SCOPES), service.now))
    elsewhere = {"Authorization": f"Bearer {key}"}
    told = {"channel": "voice", "conversation_id": "c", "ended_at": service.ago(hours=1), "borrower_id": "B-1"}
    answer = await service.client.post("/v1/summaries", content=json.dumps(told), headers=elsewhere)
    assert answer.status_code == 200
    for path in (path for path in LISTS if "B-2" not in path):
        answer = await service.client.get(f"{path}cursor={cursors[path]}", headers=elsewhere)
        assert (answer.status_code, answer.json()) == (422, REFUSED), path


async def test_a_cursor_that_was_changed_is_refused(service: Api) -> None:
    for path, cursor in (await _cursors(service)).items():
        place, _, seal = cursor.rpartition(".")
        changed = (f"{cursor}x", f"x{cursor}", f"{cursor}.", place, f".{seal}", f"{place}.", cursor + cursor, seal, "")
        for other in changed:
            answer = await service.get(f"{path}cursor={other}")
            assert (answer.status, answer.document) == (422, REFUSED), (path, other)


async def test_the_same_filters_in_another_order_and_a_default_named_are_the_same_list(service: Api) -> None:
    page = await service.get("/v1/borrowers?overdue=false&rung=proposed&limit=1")
    assert (await service.get(f"/v1/borrowers?rung=proposed&cursor={page['next_cursor']}&overdue=false")).status == 200
    page = await service.get("/v1/borrowers/B-1/decisions?limit=1")
    assert (
        await service.get(f"/v1/borrowers/B-1/decisions?purpose=current&cursor={page['next_cursor']}")
    ).status == 200


async def test_a_cursor_outlives_the_process_that_gave_it(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await _plant(service, "B-1", "B-2")
        cursors = await _cursors(service)
        rest = {path: (await service.get(f"{path}cursor={cursor}"))["items"] for path, cursor in cursors.items()}
    async with api(tmp_path, fresh=True) as service:
        for path, cursor in cursors.items():
            answer = await service.get(f"{path}cursor={cursor}")
            assert answer.status == 200, path
            assert len(answer["items"]) == len(rest[path]), path


async def test_facts_are_told_in_pages_each_once_and_newest_first(service: Api) -> None:
    same = service.ago(hours=7)
    for n in range(7):
        await service.event("fact.stated", "B-9", kind="goal", text=f"goal {n}", occurred_at=same)
    whole = (await service.get("/v1/borrowers/B-9/facts"))["items"]
    for limit in (1, 2, 3, 6, 7, 200):
        told, cursor = [], ""
        while True:
            page = await service.get(f"/v1/borrowers/B-9/facts?limit={limit}{cursor}")
            assert len(page["items"]) <= limit
            told += page["items"]
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        assert told == whole
    assert [(fact["observed_at"], fact["fact_id"]) for fact in whole] == sorted(
        ((fact["observed_at"], fact["fact_id"]) for fact in whole), reverse=True
    )
    for n in range(60):
        await service.event("fact.stated", "B-9", kind="complaint", text=f"complaint {n}")
    page = await service.get("/v1/borrowers/B-9/facts")
    assert (len(page["items"]), page["next_cursor"] is None) == (50, False)


async def test_a_list_that_was_begun_under_a_provisional_id_goes_on_when_they_are_known(service: Api) -> None:
    phone = service.phone()
    for _ in range(3):
        provisional = (await service.told(identifier=phone))["borrower_id"]
    path = f"/v1/borrowers/{provisional}/timeline?limit=1"
    begun = (await service.get(path))["next_cursor"]
    await service.event("identifier.linked", "B-1", identifier=phone, hours=300)
    await service.behind.settled()
    goes_on = await service.get(f"{path}&cursor={begun}")
    assert (goes_on.status, len(goes_on["items"])) == (200, 1)
    real: Any = await service.get(f"/v1/borrowers/B-1/timeline?limit=1&cursor={goes_on['next_cursor']}")
    assert (real.status, len(real["items"])) == (200, 1)
