"""Everything kept of one borrower, as one JSON document (API 10)."""

from __future__ import annotations

from starlette.responses import Response

from service.exported import exported
from service.routes.borrowers import known
from service.routes.reads import OfNothing, readable
from service.web.calls import Call, answered, call, routes

router = routes("export")


@call(
    router, "GET", "/v1/borrowers/{borrower_id}/export", "export_borrower", scope="privacy", query=OfNothing,
    answers="200: one document of the state, every entry as it was posted, and every resume, permit and repeat.",
)  # fmt: skip
async def export_borrower(call: Call) -> Response:
    """A data-access request."""
    one, _ = await known(call, call.query(OfNothing))
    with readable(call):
        return answered(await exported(call.parts, call.tenant, one))
