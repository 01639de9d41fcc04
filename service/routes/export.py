"""Everything kept of one borrower, as one JSON document (API 10)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from service import records
from service.calls import Call, answered, call, routes
from service.narrative import narrative
from service.retention.reading import told
from service.routes.borrowers import OfNothing, fact_answer, known, readable
from service.strictjson import as_sent

router = routes("export")


@call(
    router, "GET", "/v1/borrowers/{borrower_id}/export", "export_borrower", scope="privacy", query=OfNothing,
    answers="200: one document of the state, every entry as it was posted, and every resume, permit and repeat.",
)  # fmt: skip
async def export_borrower(call: Call) -> Response:
    """A data-access request."""
    one, policy = await known(call, call.query(OfNothing))
    state, now = one.state, call.parts.clock()
    cycle = state.cycle_of(None)
    await call.parts.resumes.flush()

    def look(conn: Connection) -> dict[str, Any]:
        return records.export(conn, call.tenant, one.borrower_id)

    with readable(call):
        kept = await call.parts.database.read_slow(look)
    entries = [
        entry | {"entry": as_sent(told(entry["entry"], entry["type"], entry["effective_at"], now, policy))}
        for entry in kept["entries"]
    ]
    return answered(
        {
            "borrower_id": one.borrower_id,
            "provisional": one.is_provisional,
            "record_version": one.version,
            "as_of": now,
            "identifiers": state.identifiers,
            "cycles": state.cycles,
            "holds": state.holds,
            "opt_outs": state.opt_outs,
            "facts": [fact_answer(f) for f in state.facts],
            "narrative": narrative(state, cycle, now=now).text,
            **kept,
            "entries": entries,
        }
    )
