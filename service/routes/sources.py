"""`POST /v1/sources`: somebody has seen a source at a version (API 9)."""

from __future__ import annotations

from starlette.responses import Response

from service.decisions.bodies import SourceReport
from service.routes.decisions import who
from service.web.calls import Call, answered, call, routes

router = routes("decisions")


@call(
    router, "POST", "/v1/sources", "report_source", scope="events:agent", body=SourceReport,
    examples={"offers moved on": {"source": "offers", "version": "v13", "observed_at": "2026-11-29T12:00:00+05:30"}},
    answers="200 with `stale_decisions`, how many this report made stale; one that is late makes none.",
)  # fmt: skip
async def report_source(call: Call) -> Response:
    """The version of a source as it was seen, for one entity or for the whole tenant."""
    body = await call.body(SourceReport)
    stale = await call.parts.decisions.report(call.tenant, who(call), body)
    told = {"source": body.source, "entity": body.entity, "version": body.version, "observed_at": body.observed_at}
    return answered(told | {"stale_decisions": stale})
