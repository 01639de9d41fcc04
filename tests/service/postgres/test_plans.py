"""Every read of the service finds its rows by an index."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text

from service import keys
from service.intake import table_log
from service.postgres import PostgresDatabase
from service.prepared import OfList, Prepared
from service.records import aside, beside, borrower, journal, operations, saving
from service.resuming import resumes
from service.tables import METADATA
from service.writer import fence

pytestmark = pytest.mark.process

SMALL = ("intake_head", "writer_partition")
"""Tables with a row for each partition."""


ROWS = 3_000
TEXTS = {
    "tenant": "'acme'",
    "status": "CASE WHEN i < 5 THEN 'open' ELSE 'merged' END",
    "type": "'summary'",
    "reason": "'invalid'",
    "channel": "'voice'",
}
OF_ONE = {("decision", "status"): "CASE WHEN i < 5 THEN 'active' ELSE 'superseded' END"}
"""Of a table and column with words of its own."""
VALUES = {
    "BOOLEAN": "false",
    "BYTEA": "''::bytea",
    "DATE": "current_date + i % 30",
    "INTEGER": "i",
    "BIGINT": "i",
    "TIMESTAMP WITH TIME ZONE": "now() - i * interval '1 minute'",
}


def _fill(connection: Connection) -> None:
    """All of one tenant, so that to look for the tenant alone is to read everything."""
    for table in METADATA.sorted_tables:
        if table.name in SMALL:
            continue
        kinds = {
            column.name: column.type.compile(connection.dialect).partition(" COLLATE")[0] for column in table.columns
        }
        values = [
            OF_ONE.get((table.name, name)) or TEXTS.get(name) or VALUES.get(kind) or f"'{name}-' || i"
            for name, kind in kinds.items()
        ]
        rows = f"SELECT {', '.join(values)} FROM generate_series(1, {ROWS}) AS i"
        connection.exec_driver_sql(f"INSERT INTO {table.name} ({', '.join(kinds)}) {rows}")
        connection.exec_driver_sql(f"ANALYZE {table.name}")


async def test_a_prepared_statement_finds_its_rows_in_an_index(store: PostgresDatabase) -> None:
    """No statement of a hot path reads all of a tenant's rows."""
    found: dict[str, Prepared] = {}
    for module in (keys, aside, beside, borrower, journal, operations, saving, resumes, table_log, fence):
        for name, value in vars(module).items():
            for n, one in enumerate(value.values() if isinstance(value, dict) else [value]):
                if isinstance(one, OfList):
                    found[f"{module.__name__}.{name}.{n}"] = one._every
                elif isinstance(one, Prepared):
                    found[f"{module.__name__}.{name}.{n}"] = one
    assert len(found) > 25

    def plans(connection: Connection) -> dict[str, str]:
        _fill(connection)
        connection.execute(text("SET LOCAL plan_cache_mode = force_generic_plan"))
        told = {}
        for number, (name, statement) in enumerate(found.items()):
            ready = statement._prepare_for_postgres()
            connection.exec_driver_sql(f"PREPARE p{number} AS {ready.sql}")
            nulls = f"({', '.join(['NULL'] * len(ready.order))})" if ready.order else ""
            rows = connection.exec_driver_sql(f"EXPLAIN EXECUTE p{number}{nulls}").scalars()
            told[name] = "\n".join(rows)
            connection.exec_driver_sql(f"DEALLOCATE p{number}")
        return told

    slow = {name: plan for name, plan in (await store.write(plans)).items() if not _is_quick(plan)}
    assert not slow, "\n\n".join(f"{name}\n{plan}" for name, plan in slow.items())


def _is_quick(plan: str) -> bool:
    if any(f" on {table}" in plan for table in SMALL) or plan.startswith(("Insert", "Limit")):
        return True
    conditions = [line for line in plan.splitlines() if "Index Cond" in line]
    return "Seq Scan" not in plan and all(" AND " in one or "(key_id)" in one for one in conditions or [""])
