"""What becomes of a posted body, and what its sender is told: once, again, otherwise, together, too late (API 1, DESIGN 13)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from service.database import DatabaseUnavailable
from tests.service.api import Answer, Api, Body, api

SUMMARY: Body = {
    "event_id": "s-1",
    "borrower_id": "B-1",
    "channel": "voice",
    "conversation_id": "c-1",
    "ended_at": "2026-11-21T10:00:00+05:30",
    "outcome": "connected",
    "commitment": {"amount": 5000, "due_date": "2026-11-28", "status": "proposed"},
    "facts": [{"kind": "goal", "text": "to close the loan", "confidence": 0.9}],
    "extra": {"n": 1.50, "list": [1, 2]},
}
EVENT: Body = {
    "event_id": "e-1",
    "type": "payment.confirmed",
    "occurred_at": "2026-11-21T10:00:00+05:30",
    "borrower_id": "B-1",
    "payment_ref": "P-1",
    "amount": "5000",
    "currency": "INR",
}


def codes(answer: Answer) -> list[str]:
    return [warning["code"] for warning in answer["warnings"]]


async def asides(service: Api, status: str = "open") -> list[Body]:
    return list((await service.get(f"/v1/ops/set-aside?status={status}"))["items"])


# -- once and again ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "body"), [("/v1/summaries", SUMMARY), ("/v1/events", EVENT)])
async def test_the_first_is_merged_and_the_same_again_is_told_as_the_first(
    tmp_path: Path, path: str, body: Body
) -> None:
    async with api(tmp_path) as service:
        first = await service.post(path, body)
        assert (first.status, first["status"], first["event_id"]) == (200, "merged", body["event_id"])
        assert (first["borrower_id"], first["record_version"]) == ("B-1", 1)
        await service.told("B-1")
        again = await service.post(path, body)
        assert again.status == 200
        assert again.document == first.document | {"status": "duplicate"}
        assert (await service.get("/v1/borrowers/B-1"))["record_version"] == 2
        assert (await service.get("/v1/ops/stats"))["repeats"] == 1
        assert await asides(service) == []


SAME: list[tuple[str, Body]] = [
    ("the keys in another order", dict(reversed(SUMMARY.items()))),
    ("the instant in another zone", SUMMARY | {"ended_at": "2026-11-21T04:30:00Z"}),
    ("money as text", SUMMARY | {"commitment": SUMMARY["commitment"] | {"amount": "5000.00"}}),
    ("nulls", SUMMARY | {"summary": None, "callback": None}),
    ("defaults", SUMMARY | {"revision": 1, "modality": "speech", "turns": []}),
    ("a number in other digits", SUMMARY | {"extra": {"list": [1, 2], "n": 1.5}}),
]
OTHER: list[tuple[str, Body]] = [
    ("another amount", SUMMARY | {"commitment": SUMMARY["commitment"] | {"amount": 500}}),
    ("another borrower", SUMMARY | {"borrower_id": "B-2"}),
    ("a list in another order", SUMMARY | {"extra": {"n": 1.5, "list": [2, 1]}}),
    ("another time", SUMMARY | {"ended_at": "2026-11-21T10:00:01+05:30"}),
    ("more words", SUMMARY | {"summary": "She said she would see."}),
    ("something left out", {name: value for name, value in SUMMARY.items() if name != "commitment"}),
]


@pytest.mark.parametrize("body", [body for _, body in SAME], ids=[what for what, _ in SAME])
async def test_a_body_that_says_the_same_is_the_same(tmp_path: Path, body: Body) -> None:
    async with api(tmp_path) as service:
        await service.post("/v1/summaries", SUMMARY)
        assert (await service.post("/v1/summaries", body))["status"] == "duplicate"


@pytest.mark.parametrize("body", [body for _, body in OTHER], ids=[what for what, _ in OTHER])
async def test_the_same_id_with_another_body_is_a_conflict_and_is_listed(tmp_path: Path, body: Body) -> None:
    async with api(tmp_path) as service:
        await service.post("/v1/summaries", SUMMARY)
        before = (await service.get("/v1/borrowers/B-1")).document
        for tried in (1, 2):
            answer = await service.post("/v1/summaries", body)
            assert (answer.status, answer["code"], answer["event_id"]) == (409, "id_conflict", "s-1")
            assert "higher revision" in answer["detail"]
            (item,) = await asides(service)
            assert (item["reason"], item["kind"], item["event_id"], item["attempts"]) == (
                "id_conflict", "summary", "s-1", tried,
            )  # fmt: skip
        assert (await service.get("/v1/borrowers/B-1")).document == before
        assert (await service.get("/v1/ops/stats"))["conflicts"] == 2


async def test_summaries_and_events_share_their_ids(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await service.post("/v1/events", EVENT)
        answer = await service.post("/v1/summaries", SUMMARY | {"event_id": EVENT["event_id"]})
        assert (answer.status, answer["code"]) == (409, "id_conflict")


async def test_without_an_id_a_revision_of_a_conversation_is_its_id(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        body = {name: value for name, value in SUMMARY.items() if name != "event_id"}
        assert (await service.post("/v1/summaries", body))["event_id"] == "voice:c-1:1"
        assert (await service.post("/v1/summaries", body | {"revision": 2}))["event_id"] == "voice:c-1:2"
        assert (await service.post("/v1/summaries", body | {"summary": "More."}))["code"] == "id_conflict"


# -- at the same moment --------------------------------------------------------------------------------------------------------


async def test_of_simultaneous_copies_one_is_merged_and_the_rest_are_duplicates(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        answers = await asyncio.gather(*(service.post("/v1/summaries", SUMMARY) for _ in range(20)))
        assert Counter(answer["status"] for answer in answers) == {"merged": 1, "duplicate": 19}
        told = [{**answer.document, "status": None} for answer in answers]
        assert all(one == told[0] for one in told)
        assert (await service.get("/v1/borrowers/B-1"))["record_version"] == 1


async def test_of_simultaneous_bodies_under_one_id_one_is_merged_and_the_rest_are_conflicts(tmp_path: Path) -> None:
    """Also when they are of different borrowers, whose writers know nothing of each other."""
    async with api(tmp_path) as service:
        bodies = [SUMMARY | {"borrower_id": f"B-{n}"} for n in range(12)]
        answers = await asyncio.gather(*(service.post("/v1/summaries", body) for body in bodies))
        assert Counter(answer.status for answer in answers) == {200: 1, 409: 11}
        refused = [answer for answer in answers if answer.status == 409]
        assert {answer["code"] for answer in refused} == {"id_conflict"}
        assert len({json.dumps(answer.document, sort_keys=True) for answer in refused}) == 1
        assert len(await asides(service)) == 11
        assert len((await service.get("/v1/borrowers"))["items"]) == 1


READS: list[tuple[str, str, Any]] = [
    ("POST", "/v1/borrowers/lookup", {"borrower_id": "B-1"}),
    ("POST", "/v1/borrowers/B-1/recall", {"query": "refund"}),
    ("POST", "/v1/borrowers/B-1/context", {"channel": "voice", "turn_id": "t-1", "question": "kitna?"}),
    ("POST", "/v1/borrowers/B-1/forget", {"reason": "asked", "term": "refund"}),
    ("POST", "/v1/search", {"query": "refund"}),
    *(("GET", f"/v1/borrowers/B-1{of}", None) for of in (
        "", "/briefing", "/facts", "/flags", "/timeline", "/decisions", "/export",
    )),
    *(("GET", f"/v1/{of}", None) for of in (
        "borrowers", "ops/stats", "ops/set-aside", "ops/missing-reports", "ops/resumes", "ops/summaries-waiting",
        "ops/corrections", "ops/claims", "ops/rollout", "ops/screening-examples",
    )),
]  # fmt: skip
"""Every read but `resume`, which is answered all the same (API 1)."""

# -- not merged yet ------------------------------------------------------------------------------------------------------------


async def test_what_waits_for_its_writer_is_accepted_and_later_told_as_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.intake.receive.MERGE_WAIT_SECONDS", 0.02)
    monkeypatch.setattr("service.after.AFTER_WAIT_SECONDS", 0.02)
    async with api(tmp_path) as service:
        await service.behind.stop_writing()
        accepted = await service.post("/v1/summaries", SUMMARY)
        assert accepted.status == 202
        assert accepted.document == {
            "status": "accepted", "event_id": "s-1", "borrower_id": "B-1", "record_version": None, "warnings": [],
        }  # fmt: skip
        for method, path, body in READS:
            unseen = await service.call(method, f"{path}?after=s-1", body)
            assert (unseen.status, unseen["code"]) == (503, "not_yet_merged"), path
            in_body = (
                await service.call(method, path, {**body, "after": "s-1"}) if body and "forget" not in path else unseen
            )
            assert (in_body.status, in_body["code"]) == (503, "not_yet_merged"), path
        stats = (await service.get("/v1/ops/stats")).document
        assert (stats["unmerged"], stats["deliveries"]) == (1, 0)
        service.behind.write()
        await service.behind.settled()
        again = await service.post("/v1/summaries", SUMMARY)
        assert (again["status"], again["record_version"]) == ("duplicate", 1)
        assert (await service.get("/v1/borrowers/B-1?after=s-1"))["record_version"] == 1


@pytest.mark.parametrize("path", ["/v1/summaries", "/v1/events"])
async def test_what_cannot_be_made_durable_is_503_and_can_be_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    body = SUMMARY if path == "/v1/summaries" else EVENT
    async with api(tmp_path) as service:
        await service.get("/v1/ops/stats")

        async def full(_: Any) -> Any:
            raise DatabaseUnavailable("the disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(service.parts.database, "write", full)
            answer = await service.post(path, body)
        assert (answer.status, answer["code"]) == (503, "unavailable")
        assert "stored" not in answer["detail"], "whether it was stored is not known"
        assert (await service.post(path, body))["status"] == "merged"


# -- what is refused and what is warned of ---------------------------------------------------------------------------------------

TIMES: list[tuple[timedelta, int, list[str]]] = [
    (timedelta(days=-4000), 200, []),
    (timedelta(minutes=5), 200, []),
    (timedelta(minutes=5, seconds=1), 200, ["time_clamped"]),
    (timedelta(hours=24), 200, ["time_clamped"]),
    (timedelta(hours=24, seconds=1), 422, ["time_in_future"]),
]


@pytest.mark.parametrize(("ahead", "status", "told"), TIMES)
@pytest.mark.parametrize(("path", "field"), [("/v1/summaries", "ended_at"), ("/v1/events", "occurred_at")])
async def test_a_time_ahead_of_us_is_clamped_and_a_day_ahead_is_refused(
    tmp_path: Path, path: str, field: str, ahead: timedelta, status: int, told: list[str]
) -> None:
    base = {name: value for name, value in SUMMARY.items() if name not in ("commitment", "facts")}
    body = (base if path == "/v1/summaries" else EVENT) | {}
    async with api(tmp_path) as service:
        answer = await service.post(path, body | {field: (service.now + ahead).isoformat()})
        assert answer.status == status
        if status == 200:
            assert codes(answer) == told
        else:
            assert [(error["field"], error["code"]) for error in answer["errors"]] == [(field, *told)]


async def test_a_broken_sign_in_a_text_is_mended_and_in_an_id_is_refused(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        mended = await service.post("/v1/summaries", SUMMARY | {"summary": "She said\0 yes \ud83d"})
        assert codes(mended) == ["text_repaired"]
        (item,) = (await service.get("/v1/borrowers/B-1/timeline"))["items"]
        assert item["entry"]["summary"] == "She said� yes �"
        refused = await service.post("/v1/summaries", SUMMARY | {"event_id": "s\0", "conversation_id": "c"})
        assert [(error["field"], error["code"]) for error in refused["errors"]] == [("event_id", "bad_id")]


# -- where a conversation started ------------------------------------------------------------------------------------------------


async def started(service: Api, resume_id: str) -> tuple[Any, Any]:
    """What is kept of that resume about the conversation that came of it: where it entered, and whether that was ignored."""
    (item,) = [i for i in (await service.get("/v1/ops/resumes"))["items"] if i["resume_id"] == resume_id]
    return item["entered_state"], item["ignored"]


@pytest.mark.parametrize("by", ["summary", "conversation.started"])
async def test_a_start_is_reported_by_a_conversation_of_the_same_borrower_alone(tmp_path: Path, by: str) -> None:
    async with api(tmp_path) as service:

        async def reported(borrower: str | None, resume_id: str, **own: Any) -> None:
            told = own | {"resume_id": resume_id, "entered_state": "closing"}
            if by == "summary":
                answer = await service.told(borrower, hours=0, **told)
            else:
                own_id = service.name("c")
                answer = await service.event(by, borrower, hours=0, channel="voice", conversation_id=own_id, **told)
            assert answer.status == 200

        for borrower in ("B-1", "B-2"):
            await service.told(borrower)
        hers = (await service.resume("B-1"))["resume_id"]
        await reported("B-2", hers)
        await reported("B-404", hers)
        assert await started(service, hers) == (None, False)
        assert (await service.get("/v1/ops/stats"))["resumes_ignored"] == 0
        await reported("B-1", hers)
        assert await started(service, hers) == ("closing", True)
        assert (await service.get("/v1/ops/stats"))["resumes_ignored"] == 1

        nobodys = (await service.resume("B-9"))["resume_id"]
        await reported("B-9", nobodys)
        assert await started(service, nobodys) == ("closing", True)

        phone = service.phone()
        provisional = (await service.told(identifier=phone))["borrower_id"]
        unknown = await service.resume(provisional)
        assert unknown["borrower_id"] == provisional
        await service.event("identifier.linked", "B-1", identifier=phone)
        await reported("B-2", unknown["resume_id"])
        assert await started(service, unknown["resume_id"]) == (None, False)
        await reported("B-1", unknown["resume_id"])
        assert await started(service, unknown["resume_id"]) == ("closing", True)


# -- several ---------------------------------------------------------------------------------------------------------------------


async def test_a_batch_is_answered_one_by_one_in_its_order(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        batch = [
            EVENT,
            EVENT,
            EVENT | {"amount": "1"},
            EVENT | {"event_id": "e-2", "amount": "0"},
            EVENT | {"event_id": "e-3", "paid": True},
            EVENT | {"event_id": "e-4", "type": "payment.dreamt"},
            {"event_id": "e-5"},
            7,
            EVENT | {"event_id": "e-6", "payment_ref": "P-6"},
        ]
        answer = await service.post("/v1/events/batch", {"events": batch})
        assert answer.status == 200
        results = answer["results"]
        assert [result["index"] for result in results] == list(range(len(batch)))
        assert [result["http_status"] for result in results] == [200, 200, 409, 422, 422, 422, 422, 422, 200]
        assert [result["answer"]["status"] for result in results if result["answer"]] == [
            "merged",
            "duplicate",
            "merged",
        ]
        assert all((result["answer"] is None) != (result["problem"] is None) for result in results)
        errors = [result["problem"].get("errors", [{}])[0].get("code") for result in results if result["problem"]]
        assert errors == [None, "wrong_type", "unknown_field", "unknown_type", "missing", "wrong_type"]
        assert (await service.get("/v1/borrowers/B-1"))["cycle"]["received"] == "10000.00"


async def test_what_a_batch_links_holds_for_what_follows_in_it(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        number = {"kind": "phone", "value": "+919000000001"}
        base = {"occurred_at": service.ago(hours=1)}
        batch = [
            base | {"event_id": "e-1", "type": "identifier.linked", "borrower_id": "B-1", "identifier": number},
            base | {"event_id": "e-2", "type": "identity.verified", "identifier": number, "method": "otp"},
            base | {"event_id": "e-3", "type": "cycle.opened", "borrower_id": "B-1", "loan_id": "LN-1", "cycle_id": "CY",
                    "due_date": service.day(9), "amount_due": "1", "currency": "INR"},
            base | {"event_id": "e-4", "type": "payment.confirmed", "loan_id": "LN-1", "payment_ref": "P", "amount": "1",
                    "currency": "INR"},
        ]  # fmt: skip
        results = (await service.post("/v1/events/batch", {"events": batch}))["results"]
        assert [result["answer"]["borrower_id"] for result in results] == ["B-1"] * 4
        assert (await service.resume("B-1", identifier=number))["identity"]["holds"] is True
        assert (await service.get("/v1/borrowers/B-1"))["cycle"]["status"] == "paid"


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({}, "missing"),
        ({"events": None}, "missing"),
        ({"events": {}}, "wrong_type"),
        ({"events": []}, "missing"),
        ({"events": [EVENT] * 501}, "too_many"),
        ({"events": [EVENT], "more": 1}, "unknown_field"),
    ],
)
async def test_what_is_no_batch_is_refused_whole(tmp_path: Path, document: Body, code: str) -> None:
    async with api(tmp_path) as service:
        answer = await service.post("/v1/events/batch", document)
        assert (answer.status, answer["errors"][0]["code"]) == (422, code)
        assert (await service.get("/v1/borrowers"))["items"] == []


# -- once more -------------------------------------------------------------------------------------------------------------------


async def test_a_conflict_that_is_tried_again_is_refused_for_good(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await service.post("/v1/summaries", SUMMARY)
        await service.post("/v1/summaries", SUMMARY | {"summary": "Otherwise."})
        (item,) = await asides(service)
        tried = await service.post(f"/v1/ops/set-aside/{item['id']}/retry", None)
        assert (tried.status, tried["status"], tried["attempts"]) == (200, "refused", 2)
        assert await asides(service) == []
        assert [i["id"] for i in await asides(service, "refused")] == [item["id"]]
        again = await service.post(f"/v1/ops/set-aside/{item['id']}/retry", None)
        assert again.document == tried.document


async def test_what_was_never_set_aside_cannot_be_tried_again(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        for number in ("7", "0", "99999999999999999999", "x"):
            assert (await service.post(f"/v1/ops/set-aside/{number}/retry", None)).status in (404, 422)
