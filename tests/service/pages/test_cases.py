"""The lists behind numbers that have no other: of a roll-out, of what is not merged, not read, and answered by a model."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from service import modes
from service.intake.log import Pending
from service.proposer.rows import PROPOSAL
from service.tables import HookBody, table_of
from tests.service.api import Api, api
from tests.service.conftest import Where
from tests.service.embedded import TENANT
from tests.service.pages.conftest import Browser, Enter
from tests.service.pages.test_numbers import rows
from tests.service.pages.test_pages import words_of
from tests.service.watching.test_rollout import under

BODY = table_of(HookBody)


@pytest.fixture
async def house(tmp_path: Path, where: Where) -> AsyncIterator[Api]:
    """On both stores: what is listed is asked for in their own words."""
    async with api(tmp_path, where=where()) as opened:
        yield opened


CASES = "/ops/rollout/cases?channel=voice&period=0&measure="


async def told_in(browser: Browser, path: str) -> list[str]:
    """The conversations of a list, page by page."""
    found: list[str] = []
    here = path
    while here:
        page = (await browser.get(here)).partition("<tbody>")[2]
        found += re.findall(r'class="id"[^>]*>([^<]+)</(?:a|span)></td><td><span class="chip', page)
        on = re.search(r'class="button" href="(\?[^"]*cursor=[^"]+)"', browser.last.text)
        here = path.partition("?")[0] + on[1].replace("&amp;", "&") if on else ""
    return found


async def talk(house: Api, who: str, hours: float, conversation: str, channel: str = "voice", **own: object) -> None:
    body = {"channel": channel, "conversation_id": conversation, "ended_at": house.ago(hours=hours), "borrower_id": who}
    assert (await house.post("/v1/summaries", body | {"outcome": "connected"} | own)).status in (200, 202)


async def measured(house: Api) -> None:
    """Some of each kind; the mode was switched two days ago."""
    for days, mode in ((30, "shadow"), (2, "enabled")):
        await modes.note(house.behind.database, under(mode=mode), house.now - timedelta(days=days))
    await talk(house, "B-1", 70, "old-1")
    await talk(house, "B-1", 60, "old-2", outcome="no_answer")
    await talk(house, "B-1", 40, "new-1", commitment=house.promise())
    await talk(house, "B-1", 40, "new-1", commitment=house.promise(), revision=2)
    await talk(house, "B-1", 20, "chat-1", "whatsapp")
    await talk(house, "B-2", 10, "new-2", outcome="busy")
    granted = await house.resume("B-1", "voice", direction="inbound")
    await house.parts.resumes.flush()
    start = {"resume_id": granted["resume_id"], "entered_state": granted["state"]}
    await talk(house, "B-1", 0.1, "new-3", **start)
    await house.event("conversation.started", "B-3", 30, channel="voice", conversation_id="lost")


@pytest.mark.parametrize(
    ("period", "measure", "which"),
    [
        (0, "connected", ["old-1"]), (0, "cold", ["old-1", "old-2"]), (0, "cold_connected", ["old-1"]),
        (0, "resumed", []), (0, "next_elsewhere", ["old-1", "old-2"]),
        (1, "connected", ["lost", "new-3", "new-1"]), (1, "with_summary", ["new-3", "new-1"]), (1, "resumed", ["new-3"]),
        (1, "resumed_connected", ["new-3"]), (1, "resumed_promises", []), (1, "cold", ["new-2", "new-1"]),
        (1, "cold_promises", ["new-1"]), (1, "next_elsewhere", ["new-1"]),
    ],
)  # fmt: skip
async def test_each_measure_leads_to_its_conversations_in_their_period(
    house: Api, enter: Enter, period: int, measure: str, which: list[str]
) -> None:
    await measured(house)
    async with enter() as browser:
        assert await told_in(browser, f"/ops/rollout/cases?channel=voice&period={period}&measure={measure}") == which


async def test_cases_are_paged_by_key_and_however_little_is_looked_at_none_is_lost(
    house: Api, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(12):
        await talk(house, f"B-{n}", 5, f"call-{n}", outcome="connected" if n % 4 else "busy")
        await house.event("conversation.started", f"C-{n}", 30 + n, channel="voice", conversation_id=f"lost-{n}")
    monkeypatch.setattr("service.watching.rollout_cases.LOOKED_AT", 5)
    monkeypatch.setattr("service.watching.rollout_cases.LOOKS", 2)
    monkeypatch.setattr("service.pages.queries.ROWS", 4)
    async with enter() as browser:
        found = await told_in(browser, CASES + "connected")
        told = csv.DictReader(io.StringIO((await browser.get(CASES + "cold&form=csv")).removeprefix("\ufeff")))
        assert {row["channel"] for row in told} <= {"voice"}
    assert len(found) == len(set(found)) == 12 + 9
    assert set(found) == {f"lost-{n}" for n in range(12)} | {f"call-{n}" for n in range(12) if n % 4}


async def test_what_a_provisional_borrower_told_is_of_whom_it_turned_out_to_be(house: Api, enter: Enter) -> None:
    number = {"kind": "phone", "value": "+919000000177"}
    body = {"channel": "voice", "conversation_id": "early", "ended_at": house.ago(hours=9), "outcome": "connected"}
    await house.post("/v1/summaries", body | {"identifier": number})
    await house.event("identifier.linked", "B-1", 8, identifier=number)
    await talk(house, "B-1", 3, "late", "whatsapp")
    async with enter() as browser:
        assert await told_in(browser, CASES + "next_elsewhere") == ["early"]
        assert "/ops/borrowers/B-1#" in browser.last.text


async def test_what_is_asked_of_the_cases_wrongly_is_named(house: Api, enter: Enter) -> None:
    async with enter() as browser:
        for path, field in [
            ("/ops/rollout/cases", "channel"), (CASES + "luck", "measure"), (CASES + "cold&cursor=e30", "cursor"),
            ("/ops/rollout/cases?channel=voice&period=9&measure=cold", "period"),
            ("/ops/rollout/cases?channel=voice&period=-1&measure=cold", "period"),
            ("/ops/system/waiting?partition=x", "partition"), ("/ops/system/waiting?cursor=WyJhIl0", "cursor"),
            ("/ops/system/answers?failure=bad", "failure"), ("/ops/hooks/unread?cursor=WyJhIl0", "cursor"),
            ("/ops/promises?show=day&day=2026-02-30", "day"), ("/ops/resumes?since=yesterday", "since"),
        ]:  # fmt: skip
            assert f"<li>{field}: " in await browser.get(path, 422), path


async def test_what_is_accepted_and_not_merged_is_listed_for_whom_it_is_of(house: Api, enter: Enter) -> None:
    await house.behind.stop_writing()
    tenants = (TENANT, "globex")
    await house.behind.log.append([Pending(tenant, f"B-{n}", f"e-{n}", b"{}") for n in range(5) for tenant in tenants])
    async with enter() as browser:
        assert "5 not merged yet" in words_of(await browser.get("/ops"))
        page = await browser.get("/ops/system/waiting")
        assert sorted(re.findall(r'<td class="id">(e-\d)', page)) == [f"e-{n}" for n in range(5)]
        behind = re.findall(r'partition=(\d+)">(\d+)</a>', await browser.get("/ops/system"))
        assert sum(int(count) for _, count in behind) == 10, "partitions are everybody's"
        parts = [await browser.get(f"/ops/system/waiting?partition={partition}") for partition, _ in behind]
        assert sum(part.count('<td class="id">e-') for part in parts) == 5


async def test_answers_of_a_model_and_bodies_not_read_are_listed_page_by_page(
    house: Api, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.pages.queries.ROWS", 2)
    now = house.now

    def put(conn: Connection) -> None:
        for n in range(5):
            failure = "timeout" if n % 2 else None
            row = {
                "tenant": TENANT, "borrower_id": f"B-{n}", "channel": "voice", "loan_id": "", "record_version": 1,
                "flow_version": "1", "prompt_hash": "x", "model": "m", "proposed": None if failure else "dues",
                "failure": failure, "why": None, "asked_at": now - timedelta(minutes=n // 2), "latency_ms": 40, "raw": None,
                "expires_at": now + timedelta(days=7),
            }  # fmt: skip
            conn.execute(PROPOSAL.insert(), [row, row | {"tenant": "globex"}])
            body = {
                "hook_id": "h", "channel": "voice", "vendor": "vapi", "received_at": now, "content_type": None,
                "time_zone": None, "body": b"", "is_done": n == 4, "claimed_until": None, "tries": n,
            }  # fmt: skip
            conn.execute(BODY.insert(), [body | {"tenant": TENANT}, body | {"tenant": "globex"}])

    await house.behind.database.write(put)
    async with enter() as browser:
        assert await rows(browser, "/ops/system/answers") == 5
        assert await rows(browser, "/ops/system/answers?failure=timeout&model=m") == 2
        assert await rows(browser, "/ops/system/answers?failure=read") == 3
        assert await rows(browser, "/ops/system/answers?model=another") == 0
        assert await rows(browser, "/ops/hooks/unread") == 4
        for name in ("/ops/system/answers", "/ops/hooks/unread", "/ops/system/waiting", "/ops/promises?show=ledger"):
            query = "&form=csv" if "?" in name else "?form=csv"
            await browser.get(name + query)
            assert browser.last.headers["content-type"].startswith("text/csv")
