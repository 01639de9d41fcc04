"""A real sentence that was judged wrongly is copied, sealed and listed, and goes with its borrower."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from service import audit
from service.screening_examples import EXAMPLE
from tests.service.api import api
from tests.service.embedded import TENANT


async def test_a_sentence_is_copied_with_the_rule_that_withholds_it(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        told = await service.told("B-1", summary="She is kind. Balance 12,400.")
        body = {"event_id": told["event_id"], "sentence": 1, "should": "fail"}
        made = await service.post("/v1/ops/screening-examples", body)
        assert (made.status, made["sentence"], made["rule"], made["should"]) == (
            200,
            "Balance 12,400.",
            "balance",
            "fail",
        )
        passed = await service.post("/v1/ops/screening-examples", body | {"sentence": 0, "should": "fail"})
        assert (passed["sentence"], passed["rule"]) == ("She is kind.", None)
        items = (await service.get("/v1/ops/screening-examples"))["items"]
        assert [item["sentence"] for item in items] == ["She is kind.", "Balance 12,400."]
        rows = await service.parts.database.read(lambda conn: conn.execute(select(EXAMPLE.c.sentence)).scalars().all())
        assert not any(b"12,400" in row for row in rows), "sealed at rest"
        lines = (await service.parts.database.read(lambda conn: audit.page(conn, TENANT, "B-1", 10, None))).items
        assert [line["action"] for line in lines] == ["screening example"] * 2
        await service.post("/v1/borrowers/B-1/forget", {"reason": "asked", "everything": True})
        assert (await service.get("/v1/ops/screening-examples"))["items"] == []


async def test_what_there_is_not_cannot_be_copied(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        told = await service.told("B-1", summary="She is kind.")
        for body, status in (
            ({"event_id": "nope", "sentence": 0, "should": "pass"}, 404),
            ({"event_id": told["event_id"], "sentence": 1, "should": "pass"}, 404),
            ({"event_id": told["event_id"], "sentence": -1, "should": "pass"}, 422),
            ({"event_id": told["event_id"], "sentence": 0, "should": "maybe"}, 422),
            ({"event_id": told["event_id"], "sentence": 0}, 422),
        ):
            assert (await service.post("/v1/ops/screening-examples", body)).status == status
