"""No statement of a hot path reads all of a tenant's rows: each finds its rows in an index, by more than the tenant."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, event

from service import keys
from service.chats import rows as chats
from service.hooks import bodies
from service.intake import table_log
from service.prepared import OfList, Prepared
from service.records import aside, beside, borrower, journal, operations, saving
from service.resuming import resumes
from service.sqlite.schema import migrate
from service.writer import fence

MODULES = (keys, chats, aside, beside, borrower, journal, operations, saving, resumes, table_log, fence)
SMALL = ("intake_head", "writer_partition")
"""Tables with a row for each partition."""


ONLY_ON_POSTGRES = ("_FROM_WITHIN",)


def _prepared() -> Iterator[tuple[str, Prepared]]:
    for module in MODULES:
        for name, value in vars(module).items():
            if name in ONLY_ON_POSTGRES:
                continue
            found = value.values() if isinstance(value, dict) else [value]
            for one in found:
                if isinstance(one, Prepared):
                    yield f"{module.__name__}.{name}", one
                elif isinstance(one, OfList):
                    yield f"{module.__name__}.{name}", one.one
                    yield f"{module.__name__}.{name} of several", one._prepare_of(4)[0]


async def test_a_prepared_statement_finds_its_rows_in_an_index(tmp_path: Path) -> None:
    await migrate(tmp_path / "memory.db")
    slow = []
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        for name, statement in _prepared():
            ready = statement._prepare()
            steps = connection.execute(f"EXPLAIN QUERY PLAN {ready.sql}", [None] * len(ready.order)).fetchall()
            slow += [(name, step) for *_, step in steps if not _is_quick(step)]
    assert not slow


async def test_what_waits_of_hooks_is_found_by_its_own_index(tmp_path: Path) -> None:
    """However many bodies of the last month are done."""
    await migrate(tmp_path / "memory.db")
    engine = create_engine(f"sqlite:///{tmp_path}/memory.db")
    asked: list[tuple[str, Any]] = []
    event.listen(engine, "before_cursor_execute", lambda _, __, sql, values, *___: asked.append((sql, values)))
    with engine.connect() as connection:
        assert bodies.waiting(connection, datetime(2026, 11, 1, tzinfo=UTC), 10) == []
        [(sql, values)] = asked
        steps = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
    engine.dispose()
    assert any("hook_body_waiting" in step for *_, step in steps), steps


def _is_quick(step: str) -> bool:
    if any(f" {table}" in step for table in SMALL):
        return True
    return step.startswith("SEARCH") and not re.search(r"\(tenant=\?\)", step)
