"""How things stand is read along indexes, so that a scrape costs no more when a store has grown."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event

from service.intake.table_log import NAME
from service.metrics.resumes import crossed
from service.watching.standing import standing, table_lag
from tests.service.embedded import NOON, TENANT, embedded

SMALL = {"api_key", "writer_partition", "intake_head", "outbox"}
"""Tables with a row for each key, each partition, or what Kafka does not have yet."""


class Answer:
    """As much of a kept answer as is looked at."""

    tenant, resume_id = TENANT, "r_1"


def plans(conn: Connection, now: datetime) -> list[str]:
    said: list[tuple[str, Any]] = []

    def hear(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:
        said.append((statement, parameters))

    conn.exec_driver_sql(
        "INSERT INTO api_key (key_id, tenant, key_hash, scopes, created_at) VALUES ('k', 'acme', 'h', 's', '2026-11-20')"
    )
    event.listen(conn, "before_cursor_execute", hear)
    standing(conn, now, NAME, lambda tenant: now)
    table_lag(conn, now)
    crossed(conn, [Answer()])  # type: ignore[list-item]
    event.remove(conn, "before_cursor_execute", hear)
    steps = [row[3] for sql, given in said for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", given)]
    return steps


async def test_no_look_reads_a_whole_table_that_grows(tmp_path: Path) -> None:
    async with embedded(tmp_path / "test.db", writing=False) as service:
        steps = await service.database.write(lambda conn: plans(conn, NOON))
    assert len(steps) >= 9
    slow = [
        step
        for step in steps
        if (found := re.match(r"SCAN (\w+)", step)) and found[1] not in SMALL and " INDEX " not in step
    ]
    assert slow == []
