"""What is stored and damaged is told as an outage of that borrower, by every call and never as an empty memory (DESIGN 9)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import update

from service.reading import Reader
from service.routes import borrowers, events, export, health, ops, permits, resume, summaries
from service.tables import Borrower, Journal, table_of
from tests.service.api import Api, api

ROUTES = [
    route
    for noun in (summaries, events, resume, borrowers, permits, export, ops, health)
    for route in noun.router.routes
    if isinstance(route, APIRoute)
]
OF_ONE = [r.path for r in ROUTES if r.methods == {"GET"} and "{borrower_id}" in r.path]
OF_ALL = [r.path for r in ROUTES if r.methods == {"GET"} and "{" not in r.path and r.path.startswith("/v1/")]
DAMAGED = {
    "nothing": b"",
    "no JSON": b"\x00\xff garbage",
    "cut off": b'{"borrower_id":"B-1","buckets":[{"elem',
    "no record": b"{}",
    "a list": b"[]",
    "deep": b"[" * 100_000,
    "of a later version": b'{"schema_version":99}',
    "an element of no kind": b'{"borrower_id":"B-1","buckets":[{"elements":[{"type":"odd"}],"name":["x"]}],"schema_version":1}',
}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path) as opened:
        yield opened


async def damage(service: Api, borrower: str, record: bytes) -> None:
    """Also what was concluded of it before is forgotten, as after a restart."""
    its = table_of(Borrower)
    change = update(its).where(its.c.borrower_id == borrower).values(record=record)
    await service.behind.database.write(lambda c: c.execute(change))
    service.parts.reader = Reader()


def counted(service: Api, route: str) -> float:
    value = service.parts.registry.get_sample_value("borrower_memory_unreadable_reads_total", {"route": route})
    return value or 0.0


def assert_outage(answer: Any) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable"), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["Retry-After"] == "1"
    assert "cannot be read" in answer.json()["detail"]


def test_there_are_calls_to_try() -> None:
    assert {p.rpartition("/")[2] for p in OF_ONE} >= {
        "{borrower_id}",
        "briefing",
        "facts",
        "flags",
        "timeline",
        "export",
    }
    assert "/v1/borrowers" in OF_ALL
    assert "/v1/ops/stats" in OF_ALL


@pytest.mark.parametrize("path", OF_ONE)
async def test_every_read_of_one_borrower_says_so_and_is_counted(service: Api, path: str) -> None:
    await service.told("B-1", commitment=service.promise())
    await damage(service, "B-1", DAMAGED["cut off"])
    assert_outage(await service.client.get(path.format(borrower_id="B-1")))
    assert counted(service, path) == 1
    assert (await service.client.get(path.format(borrower_id="B-404"))).status_code == 404


@pytest.mark.parametrize("record", DAMAGED.values(), ids=DAMAGED.keys())
async def test_however_it_is_damaged(service: Api, record: bytes) -> None:
    await service.told("B-1", commitment=service.promise())
    await service.told("B-2", commitment=service.promise())
    await damage(service, "B-1", record)
    assert_outage(await service.client.get("/v1/borrowers/B-1"))
    assert (await service.get("/v1/borrowers/B-2"))["commitment"]["status"] == "proposed"


async def test_nobody_is_to_be_contacted_while_it_cannot_be_read(service: Api) -> None:
    await service.told("B-1", commitment=service.promise())
    await damage(service, "B-1", DAMAGED["cut off"])
    asked = {"action": "reminder", "channel": "whatsapp", "holder": "run-1"}
    assert_outage(await service.client.post("/v1/borrowers/B-1/permits", json=asked))
    assert counted(service, "/v1/borrowers/{borrower_id}/permits") == 1
    start = await service.resume("B-1")
    assert (start.status, start["found"], start["degraded"]) == (200, False, True)
    assert start["degraded_reason"] == "memory_unavailable"
    assert start["contact"]["allowed"] is False


@pytest.mark.parametrize("path", OF_ALL)
async def test_reads_across_borrowers_go_on(service: Api, path: str) -> None:
    await service.told("B-1", commitment=service.promise())
    await damage(service, "B-1", DAMAGED["cut off"])
    assert (await service.client.get(path)).status_code == 200


@pytest.mark.parametrize("path", ["", "/timeline", "/export"])
async def test_a_damaged_entry_of_the_journal_is_an_outage_too(service: Api, path: str) -> None:
    await service.told("B-1", commitment=service.promise())
    change = update(table_of(Journal)).values(body=b'{"cut": ')
    await service.behind.database.write(lambda c: c.execute(change))
    assert_outage(await service.client.get(f"/v1/borrowers/B-1{path}"))
