"""A database that is away never looks like a new customer: a start that says so, nobody to be contacted, and it is counted."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.keys import CACHE_SECONDS
from tests.limits import PATIENCE_SECONDS
from tests.together import postgres
from tests.together.conftest import Borrower, Json, Tenant, promise
from tests.together.fleet import KEYS
from tests.together.service import ALWAYS, Service, ago

pytestmark = pytest.mark.process


@pytest.fixture
def server() -> Iterator[postgres.Postgres]:
    with postgres.running(ours=True) as one:
        yield one


@pytest.fixture
def service(server: postgres.Postgres, tmp_path: Path) -> Iterator[Service]:
    with server.database() as dsn:
        env = {"BORROWER_MEMORY_DATABASE_URL": dsn, "BORROWER_MEMORY_SECRET_KEYS": KEYS}
        one = Service(tmp_path, policy=ALWAYS, env=env)
        assert one.command("migrate").returncode == 0
        try:
            yield one.start()
        finally:
            one.kill()


def asked(one: Borrower, **own: Any) -> Json:
    body = {"channel": "voice", "borrower_id": one.id, "identifier": one.phone, **own}
    answer = one.tenant.http.post("/v1/resume", json=body)
    assert answer.status_code == 200, answer.text
    told: Json = answer.json()
    return told


def test_while_the_database_is_away_a_start_is_cold_and_says_why_and_nobody_is_to_be_contacted(
    server: postgres.Postgres, service: Service
) -> None:
    acme = Tenant(service, key=service.key())
    one = acme.borrower()
    one.verify()
    one.says("voice", promise(5000), ended_at=ago(minutes=30))
    there = asked(one)
    assert (there["found"], there["state"], there["contact"]["allowed"]) == (True, "confirmation", True)

    server.kill()
    gone_at, told = time.monotonic(), 0
    while time.monotonic() - gone_at < CACHE_SECONDS + 1:
        for own in ({}, {"direction": "inbound"}, {"proposal": {"state": "reminder"}}, {"wait_ms": 200}):
            away = asked(one, **own)
            assert (away["found"], away["state"], away["source"]) == (False, "opening", "cold_start")
            assert (away["degraded"], away["degraded_reason"]) == (True, "memory_unavailable")
            assert (away["contact"]["allowed"], away["contact"]["reasons"]) == (False, ["unknown"])
            assert (away["vars"]["degraded"], away["vars"]["contact_allowed"]) == ("yes", "no")
            told += 1
        time.sleep(0.3)
    for path in ("", "/briefing?channel=voice", "/flags", "/facts"):
        refused = acme.http.get(f"/v1/borrowers/{one.id}{path}")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert int(refused.headers["Retry-After"]) >= 1

    server.start()
    end = time.monotonic() + PATIENCE_SECONDS
    while (back := asked(one))["degraded"]:
        assert time.monotonic() < end, back
        told += 1
        time.sleep(0.1)
    assert (back["state"], back["commitment"], back["contact"]["allowed"]) == (
        "confirmation",
        there["commitment"],
        True,
    )
    while (counted := acme.get("/v1/ops/stats")["resumes"])["degraded"] != told:
        assert time.monotonic() < end, counted
        time.sleep(0.1)
    metrics = acme.http.get("/metrics").text
    assert re.search(rf'borrower_memory_resumes_total\{{[^}}]*degraded="yes"[^}}]*\}} {told}\.0', metrics)
    acme.close()
