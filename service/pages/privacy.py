"""What the law gives a borrower: all that is kept of them, as one document."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from service import records, strictjson
from service.narrative import narrative
from service.pages import reading
from service.pages.actions import note
from service.pages.page import HEADERS, Visit, page, pages

router = pages()


@page(router, "POST", "/ops/borrowers/{borrower_id}/export", scope="privacy")
async def export(visit: Visit) -> Response:
    """A data-access request, as the API answers it; kept in the audit."""
    who = await reading.seen(visit)
    one, state, now = who.one, who.one.state, visit.parts.clock()
    await visit.parts.resumes.flush()

    def look(conn: Connection) -> dict[str, Any]:
        return records.export(conn, visit.tenant, one.borrower_id)

    kept = await visit.parts.database.read_slow(look)
    document = {
        "borrower_id": one.borrower_id,
        "provisional": one.is_provisional,
        "record_version": one.version,
        "as_of": now,
        "identifiers": state.identifiers,
        "cycles": state.cycles,
        "holds": state.holds,
        "opt_outs": state.opt_outs,
        "facts": state.facts,
        "narrative": narrative(state, state.cycle_of(None), now=now).text,
        **kept,
        "entries": [entry | {"entry": strictjson.as_sent(entry["entry"])} for entry in kept["entries"]],
    }
    await note(visit, "exported", one.borrower_id, f"version {one.version}")
    headers = {**HEADERS, "Content-Disposition": 'attachment; filename="borrower.json"'}
    return Response(strictjson.dump(document), media_type="application/json", headers=headers)
