"""What each page of the operations room costs with 1,000 borrowers and with 100,000 and a million journal rows: at most three
times as much.

Both stores are open in one process and are asked in turn, and what is compared is processor time, so that the machine and
whoever else works on it do not decide. A page is asked as the script asks: again and again. What is counted is counted anew as
often as the room itself does that (`service.pages.counts`), and its cost is part of what is measured.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Connection

from service.keys import SCOPES, create
from service.policy import Policy
from tests.benchmarks import people
from tests.service.api import Api, api
from tests.service.embedded import SECRETS, TENANT

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1_200)]

FEW, MANY = 1_000, 100_000
JOURNAL_ROWS = 10
"""Of each borrower."""
RATIO_LIMIT = 3.0
FLOOR_SECONDS = 0.004
"""A page that costs less in both is not compared further: the clock of processor time is too coarse."""
LOADS = 9
ONE = f"B-{FEW // 2:05d}"
REPORT = f"j-{FEW // 2}"
PLACES = (
    "/ops", "/ops/borrowers", "/ops/borrowers?stage=committed", "/ops/borrowers?stage=paid&rung=confirmed",
    "/ops/borrowers?hold=dispute", "/ops/borrowers?last_channel=whatsapp", "/ops/borrowers?overdue=true",
    "/ops/borrowers?promise_due_from=2026-11-21&promise_due_to=2026-11-22", f"/ops/borrowers/{ONE}",
    "/ops/promises", "/ops/promises?show=week", "/ops/promises?show=overdue", "/ops/promises?show=broken", "/ops/callbacks",
    "/ops/callbacks?today=true", "/ops/conversations", "/ops/conversations?channel=voice", "/ops/deliveries",
    "/ops/deliveries?show=events", "/ops/deliveries?show=repeats", "/ops/deliveries?show=conflicts",
    "/ops/resumes", "/ops/resumes?today=true", "/ops/resumes?crossed=true", "/ops/resumes?ignored=true",
    "/ops/resumes?as_proposed=true",
    "/ops/resumes?degraded=true", "/ops/resumes?rule=too_far_ahead",
    "/ops/resumes?fallback=timeout", f"/ops/resumes?borrower_id={ONE}", "/ops/set-aside?status=open", "/ops/missing-reports",
    "/ops/set-aside?vendor=vapi", "/ops/set-aside?today=true&delivery=true", "/ops/promises?show=ledger",
    "/ops/promises?show=day", "/ops/resumes?today=true&entered=true", "/ops/rollout/cases?channel=voice&period=0&measure=cold",
    "/ops/rollout/cases?channel=voice&period=0&measure=connected", "/ops/rollout/cases?channel=voice&period=0&measure=resumed",
    "/ops/rollout/cases?channel=voice&period=0&measure=next_elsewhere", "/ops/system/waiting", "/ops/system/answers",
    "/ops/system/answers?failure=timeout", "/ops/hooks/unread", "/ops/chats", "/ops/shadow", "/ops/rollout", "/ops/corrections",
    "/ops/hooks", "/ops/system", "/ops/audit", f"/ops/audit?borrower_id={ONE}",
    f"/ops/borrowers/{ONE}/judge?event_id={REPORT}", f"/ops/borrowers/{ONE}/withhold?event_id={REPORT}",
    f"/ops/borrowers/{ONE}/do/link", f"/ops/borrowers/{ONE}/forget", "/ops/set-aside/1/retry",
)  # fmt: skip

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {count}) "
ID = "printf('B-%05d', i)"


def stored(connection: Connection, count: int, api_: Api) -> None:
    """So many borrowers at every stage, with what is told of them, and what waits for somebody in proportion."""
    people.Copies(SECRETS, Policy(), api_.now).write(connection, [99_999])
    now = api_.now
    stamp, day = f"'{now:%Y-%m-%d %H:%M:%S}.000000'", f"date('{now:%Y-%m-%d}')"

    def copied(table: str, changed: dict[str, str]) -> None:
        names = [row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info({table})")]
        values = ", ".join(changed.get(name, f"{table}.{name}") for name in names)
        connection.exec_driver_sql(
            NUMBERS.format(count=count - 1) + f"INSERT INTO {table} SELECT {values} FROM n, {table} "
            f"WHERE {table}.borrower_id = 'B-99999'"
        )

    def its(column: str) -> str:
        return f"replace({column}, '99999', printf('%05d', i))"

    record = "cast(replace(cast(record AS text), '99999', printf('%05d', i)) AS blob)"
    copied("borrower", {"borrower_id": ID, "record": record})
    copied("identifier", {"borrower_id": ID, "value": its("value")})
    copied("loan", {"borrower_id": ID, "loan_id": its("loan_id")})
    stages = 'json_extract(\'["empty","negotiation","committed","reminded","link_shared","paid"]\', \'$[\' || (i % 6) || \']\')'
    copied(
        "journey",
        {
            "borrower_id": ID, "loan_id": its("loan_id"), "stage": stages,
            "rung": "CASE i % 3 WHEN 0 THEN 'none' WHEN 1 THEN 'proposed' ELSE 'confirmed' END",
            "promise_due_date": f"date({day}, ((i % 60) - 20) || ' days')",
            "overdue_at": f"datetime({stamp}, ((i % 60) - 20) || ' days') || '.000000'",
            "hold_kinds": "CASE WHEN i % 50 = 0 THEN '|dispute|' ELSE '' END",
            "holds": "CASE WHEN i % 50 = 0 THEN '[{\"kind\":\"dispute\",\"reason\":null,\"loan_id\":null,\"placed_at\":"
            "\"2026-11-01T00:00:00Z\",\"until\":null}]' ELSE '[]' END",
            "last_channel": "CASE i % 2 WHEN 0 THEN 'voice' ELSE 'whatsapp' END",
        },
    )  # fmt: skip
    ago = f"datetime({stamp}, '-' || (i % 259200) || ' minutes') || '.000000'"
    journal = {
        "tenant": f"'{TENANT}'", "event_id": "'j-' || i", "log": "'table'", "partition": "9", "log_offset": "i", "epoch": "1",
        "borrower_id": f"printf('B-%05d', i % {count})",
        "type": "CASE WHEN i % 200 = 0 THEN 'promise.broken' WHEN i % 3 = 0 THEN 'summary' ELSE 'fact.stated' END",
        "channel": "CASE i % 2 WHEN 0 THEN 'voice' ELSE 'whatsapp' END", "conversation_id": "'c-' || i", "revision": "1",
        "loan_id": "NULL", "cycle_id": "NULL", "effective_at": ago, "received_at": ago,
        "body": "cast(json_object('event_id', 'j-' || i, 'type', 'fact.stated', 'kind', 'goal', 'text', 'to travel',"
        " 'channel', 'voice', 'conversation_id', 'c-' || i, 'summary', 'She will pay on Friday. She was kind.') AS blob)",
        "stamps": "cast('{}' AS blob)", "body_hash": "''", "record_version": "1",
    }  # fmt: skip
    _made(connection, "journal", journal, count * JOURNAL_ROWS)
    _made(
        connection, "resume",
        {
            "tenant": f"'{TENANT}'", "resume_id": "'r-' || i", "borrower_id": ID, "at": ago, "channel": "'voice'",
            "direction": "'outbound'", "loan_id": "NULL", "position": "'dues'", "proposed": "'closing'",
            "proposed_by": "'caller'", "granted": "'dues'",
            "refusals": "CASE WHEN i % 20 = 0 THEN '[{\"rule\": \"too_far_ahead\", \"message\": \"x\"}]' ELSE '[]' END",
            "fallback": "CASE WHEN i % 30 = 0 THEN 'timeout' ELSE 'no_model' END", "source": "'position'",
            "record_version": "1", "mode": "'enabled'", "degraded": "0", "entered_state": "'opening'", "agent": "'voice-7'",
            "ignored": "i % 40 = 0", "conversation_id": "'c-' || (i * 10)",
        }, count,
    )  # fmt: skip
    begun = {
        "tenant": f"'{TENANT}'",
        "borrower_id": ID,
        "channel": "'voice'",
        "conversation_id": "'c-' || i",
        "started_at": ago,
    }
    _made(connection, "started", begun, count // 10)
    answered = {
        "tenant": f"'{TENANT}'", "borrower_id": ID, "channel": "'voice'", "loan_id": "''", "record_version": "1",
        "flow_version": "'1'", "prompt_hash": "''", "model": "'m'", "proposed": "'dues'",
        "failure": "CASE WHEN i % 9 = 0 THEN 'timeout' END", "why": "NULL", "asked_at": ago, "latency_ms": "40", "raw": "NULL",
        "expires_at": f"datetime({stamp}, '+7 days') || '.000000'",
    }  # fmt: skip
    _made(connection, "proposal", answered, count)
    later = f"datetime({stamp}, '+' || (i % 600 + 1) || ' minutes') || '.000000'"
    asked = {
        "tenant": f"'{TENANT}'", "borrower_id": ID, "at": "NULL", "ends_at": later,
        "channel": "'voice'", "conversation_id": "'c-' || i",
    }  # fmt: skip
    _made(connection, "callback", asked, count // 10)
    aside = {
        "id": "i + 1", "tenant": f"'{TENANT}'", "reason": "'invalid'", "detail": "'x'", "kind": "'event'", "vendor": "NULL",
        "borrower_id": ID, "event_id": "'s-' || i", "body_hash": "'' || i", "received_at": ago, "attempts": "1",
        "status": "'open'", "value": "cast('{}' AS blob)",
    }  # fmt: skip
    _made(connection, "set_aside", aside, count // 10)
    again = {"id": "i + 1", "tenant": f"'{TENANT}'", "event_id": "'j-' || i", "at": ago, "is_conflict": "i % 4 = 0"}
    _made(connection, "repeat", again, count)
    line = {
        "id": "i + 100", "tenant": f"'{TENANT}'", "at": ago, "who": "'k asha'", "action": "'exported'",
        "borrower_id": f"printf('B-%05d', i % {count})", "detail": "''",
    }  # fmt: skip
    _made(connection, "audit", line, count)


def _made(connection: Connection, table: str, values: dict[str, str], count: int) -> None:
    connection.exec_driver_sql(
        NUMBERS.format(count=count)
        + f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())} FROM n"
    )


@contextlib.asynccontextmanager
async def room(folder: Path, count: int) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody signed in to a room of so many borrowers."""
    async with api(folder) as house:
        await house.behind.database.write(lambda conn: stored(conn, count, house))
        key, _ = await house.behind.database.write(lambda c: create(c, TENANT, SCOPES, house.now, name="asha"))
        async with httpx.AsyncClient(transport=house.transport, base_url="http://test") as client:
            answer = await client.post("/ops/sign-in", data={"key": key})
            assert answer.status_code == 303
            yield client


async def cost(client: httpx.AsyncClient, path: str) -> float:
    began = time.process_time()
    answer = await client.get(path)
    took = time.process_time() - began
    assert answer.status_code == 200, (path, answer.status_code)
    return took


async def test_a_page_costs_the_same_however_many_borrowers_there_are(tmp_path: Path) -> None:
    slow = []
    for name in ("few", "many"):
        (tmp_path / name).mkdir()
    async with room(tmp_path / "few", FEW) as few, room(tmp_path / "many", MANY) as many:
        for path in PLACES:
            await cost(few, path)
            first = await cost(many, path)
            pairs = [(await cost(few, path), await cost(many, path)) for _ in range(LOADS)]
            small, large = (statistics.mean(sorted(side)[:-1]) for side in zip(*pairs, strict=True))
            ratio = max(large, FLOOR_SECONDS) / max(small, FLOOR_SECONDS)
            sys.stdout.write(
                f"{path:75} {1000 * small:7.1f} ms {1000 * large:7.1f} ms  {ratio:5.2f}  first {1000 * first:7.1f}\n"
            )
            if ratio > RATIO_LIMIT:
                slow.append((path, round(ratio, 1)))
    assert slow == []
