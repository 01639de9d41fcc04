"""What is past its retention is told by no read at once, and leaves the tables by a job whose receipt is true (DESIGN 11)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from service import records
from service.chats import claims
from service.policy import Policies, Policy
from service.rebuild import rebuild
from service.retention import job
from service.retention.reading import EXPIRED
from tests.service.api import Api, api
from tests.service.conftest import Where
from tests.service.embedded import POLICIES, SECRETS, TENANT
from tests.service.forget.planted import Planted

WORD = "Zebulonia"


@pytest.fixture
async def service(where: Where, tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path, where=where()) as opened:
        yield opened


async def said(service: Api, **own: Any) -> None:
    fact = {"kind": "household", "text": f"wife is {WORD}", "confidence": 0.9, "quote": f"wife {WORD} hai"}
    turns = [{"speaker": "borrower", "text": f"wife {WORD} hai"}]
    answer = await service.told("B-1", hours=1, summary=f"Wife {WORD} answers.", turns=turns, facts=[fact], **own)
    assert answer.status == 200


async def entry(service: Api) -> dict[str, Any]:
    items = (await service.get("/v1/borrowers/B-1/timeline"))["items"]
    return dict(next(item["entry"] for item in items if item["kind"] == "conversation"))


async def counts(service: Api, *, dry: bool = False) -> dict[str, int]:
    ended = await service.parts.retention.run(by="test", dry=dry)
    await service.behind.settled()
    return {one.kind: one.count for one in ended if one.count}


async def receipts(service: Api) -> list[dict[str, Any]]:
    """Newest first: `by`, and what `ended`."""
    wanted = select(job.RUN).order_by(job.RUN.c.id.desc())
    rows = await service.parts.database.read(lambda conn: conn.execute(wanted).mappings().all())
    return [{**row, "ended": json.loads(row["ended"])} for row in rows]


async def test_each_kind_goes_from_every_read_when_its_time_is_over(service: Api) -> None:
    await said(service)
    assert {"turns", "summary", "facts"} <= set(await entry(service))
    service.behind.now += timedelta(days=90)
    told = await entry(service)
    assert "turns" not in told
    assert told["summary"]
    service.behind.now += timedelta(days=90)
    assert (await entry(service))["facts"] == []
    service.behind.now += timedelta(days=220)
    assert "summary" not in await entry(service)
    assert await Planted(service, "B-1", WORD).in_answers() == set()
    assert await Planted(service, "B-1", WORD).in_tables(), "the job has not run"


async def test_the_job_takes_it_out_of_the_tables_and_a_rebuild_agrees(
    service: Api, where: Where, tmp_path: Path
) -> None:
    await said(service)
    await service.event("conversation.message", "B-1", channel="whatsapp", conversation_id="w", message_id="m",
                        speaker="borrower", text=f"{WORD} here")  # fmt: skip
    assert await counts(service) == {}
    service.behind.now += timedelta(days=91)
    assert await counts(service, dry=True) == {"turns": 3}
    assert await counts(service, dry=True) == {"turns": 3}, "dry, nothing was removed"
    assert await counts(service) == {"turns": 3, "log": 2}
    assert await counts(service, dry=True) == {}, "and it is not looked for again"
    journal = await service.behind.journal("type", "body")
    assert EXPIRED in next(body for type_, body in journal if type_ == "conversation.message").decode()
    service.behind.now += timedelta(days=310)
    assert (await counts(service))["prose"] == 1
    service.behind.now += timedelta(days=8)
    await counts(service)
    left = await Planted(service, "B-1", WORD).in_tables()
    assert left <= {"borrower.record", "journal.body", "journal.stamps"}, "facts are no prose, and are told no more"
    record = await service.behind.record("B-1")
    assert [e.text for e in record.all_of("prose")] == [""]
    await service.behind.stop_writing()
    before = await service.behind.all_rows()
    found = await rebuild(service.parts.database, SECRETS, POLICIES, service.parts.clock, lambda *_: None)
    assert found.changed == 0
    assert await service.behind.all_rows() == before
    runs = await receipts(service)
    assert [run["by"] for run in runs] == ["test"] * 4
    assert {one["kind"] for one in runs[0]["ended"]} >= {"turns", "prose", "hook_bodies", "log"}
    assert WORD not in json.dumps(runs, default=str)


async def test_tenants_have_their_own_times(tmp_path: Path) -> None:
    short = Policy.model_validate({"retention": {"turns": 1}, "contact_hours": ("00:00", "24:00")})
    async with api(tmp_path, Policies(tenants={"acme": short})) as service:
        await said(service)
        service.behind.now += timedelta(days=2)
        assert "turns" not in await entry(service)
        assert await counts(service) == {"turns": 1}


async def test_it_runs_once_a_day_whoever_asks(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        await said(service)
        retention = service.parts.retention

        async def stirred() -> int:
            retention.stir()
            if retention._running is not None:
                await retention._running
            return len(await receipts(service))

        assert await stirred() == 1
        service.behind.now += timedelta(hours=5)
        assert await stirred() == 1
        service.behind.now += timedelta(hours=20)
        assert await stirred() == 2
        await retention.settle()


async def test_what_comes_after_it_was_forgotten_where_no_writer_sees_it_is_found_by_the_job(service: Api) -> None:
    mine = Planted(service, "B-1", WORD)
    told = {
        "channel": "voice", "conversation_id": "c-1", "borrower_id": "B-1", "ended_at": service.ago(hours=3),
        "summary": "Nothing.",
    }  # fmt: skip
    await service.post("/v1/summaries", told)
    await mine.forget(term=WORD)
    restored = {"tenant": TENANT, "event_id": "voice:c-1:1", "kind": "summary", "borrower_id": "B-1", "body_hash": "h"}
    value = json.dumps(told | {"summary": f"{WORD} answers."}).encode()
    await service.parts.database.write(lambda c: records.set_aside_conflict(c, **restored, value=value, at=service.now))
    assert await mine.in_tables() == {"set_aside.value"}
    assert (await counts(service))["forgotten"] == 1
    assert await mine.in_tables() == set()


async def test_a_chat_whose_lines_are_over_while_it_is_summarised_is_lost_to_its_sweeper(service: Api) -> None:
    """What was read of it is not to be posted: nobody is told those lines any more."""
    line = {"channel": "whatsapp", "conversation_id": "c-1", "message_id": "m-1", "speaker": "borrower", "text": WORD}
    await service.event("conversation.message", "B-1", hours=24 * 89, **line)
    service.behind.now += timedelta(hours=1)

    async def claimed() -> list[claims.Claimed]:
        now, lease = service.behind.now, timedelta(days=2)
        return await service.parts.database.write(lambda conn: claims.claim(conn, "one", now, lease, 9))

    (mine,) = await claimed()
    service.behind.now += timedelta(days=1)
    await counts(service)
    assert not await service.parts.database.write(lambda conn: claims.prepare(conn, mine, b"sealed", 1))
    service.behind.now += timedelta(days=2)
    assert await claimed() == [], "and it is due no more"
