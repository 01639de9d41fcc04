"""What is kept of each answer of `resume`: whether its start was used, what shadow would have granted, and its id."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.resuming.resumes import new_id
from tests.service.api import api
from tests.service.resuming.test_request import somebody


@pytest.mark.parametrize(
    ("entered", "ignored"), [("reminder", False), ("Reminder", False), ("opening", True), ("somewhere", True)]
)
async def test_a_start_that_was_ignored_is_seen(tmp_path: Path, entered: str, ignored: bool) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)
        granted = await service.resume(borrower, identifier=phone)
        await service.told(borrower, hours=0.1, resume_id=granted["resume_id"], entered_state=entered, agent="v2")
        (item,) = (await service.get(f"/v1/ops/resumes?borrower_id={borrower}"))["items"]
        assert item["resume_id"] == granted["resume_id"]
        assert (item["granted"], item["ignored"], item["agent"]) == ("reminder", ignored, "v2")
        assert (await service.get("/v1/ops/stats"))["resumes_ignored"] == int(ignored)


async def test_a_start_that_was_handed_out_to_nobody_is_ignored_by_nobody(tmp_path: Path) -> None:
    async with api(tmp_path, mode="shadow") as service:
        borrower, phone = await somebody(service)
        shadowed = await service.resume(borrower, identifier=phone)
        await service.told(borrower, hours=0.1, resume_id=shadowed["resume_id"], entered_state="opening", agent="v2")
        (item,) = (await service.get(f"/v1/ops/resumes?borrower_id={borrower}"))["items"]
        assert (item["granted"], item["entered_state"], item["ignored"]) == ("reminder", "opening", False)
        assert (await service.get("/v1/ops/stats"))["resumes_ignored"] == 0


async def test_ignored_starts_are_counted_by_channel_and_agent_with_their_cases(tmp_path: Path) -> None:
    """AC-76."""
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)
        for agent, entered in (("v1", "reminder"), ("v2", "opening"), ("v2", "reminder"), ("v2", "opening")):
            granted = await service.resume(borrower, identifier=phone)
            told = {"resume_id": granted["resume_id"], "entered_state": entered, "agent": agent}
            await service.told(borrower, hours=0.1, outcome="no_answer", **told)
        await service.resume(borrower, identifier=phone)
        stats = await service.get("/v1/ops/stats")
        assert stats["resumes_ignored"] == 2
        assert stats["resumes_ignored_by"] == [
            {"channel": "voice", "agent": "v2", "entered": 3, "ignored": 2},
            {"channel": "voice", "agent": "v1", "entered": 1, "ignored": 0},
        ]
        cases = (await service.get("/v1/ops/resumes?ignored=true&agent=v2&channel=voice"))["items"]
        assert [(case["entered_state"], case["granted"]) for case in cases] == [("opening", "reminder")] * 2
        assert (await service.get("/v1/ops/resumes?ignored=true&agent=v1"))["items"] == []
        metrics = (await service.client.get("/metrics")).text
        told = 'channel="voice",degraded="no",fallback="no_model",mode="enabled",source="position"'
        assert f"borrower_memory_resumes_total{{{told}}} 5.0" in metrics


async def test_what_shadow_would_have_granted_is_told_with_how_often_it_differs(tmp_path: Path) -> None:
    async with api(tmp_path, mode={"voice": "shadow", "whatsapp": "enabled"}) as service:
        borrower, phone = await somebody(service)
        fresh, number = await service.known()
        await service.event("cycle.opened", fresh, hours=100, cycle_id="CY-9", loan_id="LN-9", due_date=service.day(9),
                            amount_due="5", currency="INR")  # fmt: skip
        for who, whose in ((borrower, phone), (borrower, phone), (fresh, number), ("B-nobody", service.phone())):
            assert (await service.resume(who, identifier=whose))["state"] == "opening"
        await service.resume(borrower, "whatsapp", identifier=phone)
        stats = await service.get("/v1/ops/stats")
        (voice,) = stats["shadow"]
        assert voice == {"channel": "voice", "resumes": 3, "different": 2, "granted": {"opening": 1, "reminder": 2}}
        different = (await service.get("/v1/ops/resumes?differs=true"))["items"]
        assert [(case["borrower_id"], case["granted"]) for case in different] == [(borrower, "reminder")] * 2
        (same,) = (await service.get("/v1/ops/resumes?differs=false"))["items"]
        assert same["borrower_id"] == fresh


def test_ids_are_made_in_their_order_and_need_no_quoting() -> None:
    now = datetime(2026, 1, 28, 12, 30, tzinfo=UTC)
    for step in (timedelta(milliseconds=1), timedelta(seconds=7), timedelta(days=400)):
        ids = [new_id(now + n * step) for n in range(300)]
        assert ids == sorted(ids)
        assert all(re.fullmatch("r_[A-Za-z0-9_-]{20}", id_) for id_ in ids)
    assert len({new_id(now) for _ in range(1_000)}) == 1_000


async def test_every_answer_has_an_id_of_its_own(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        ids = [(await service.resume("B-1"))["resume_id"] for _ in range(20)]
        assert len(set(ids)) == 20
        assert all(id_.startswith("r_") for id_ in ids)
