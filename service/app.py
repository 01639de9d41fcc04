"""The application: the routes, the layer around them, and how errors are worded. Built by `wiring`, run by `__main__`."""

from __future__ import annotations

import os

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from service.calls import direct
from service.edge import Edge
from service.errors import exception_handlers
from service.routes import borrowers, docs, events, export, health, hooks, ops, permits, resume, summaries
from service.wiring import Parts

TITLE = "Borrower Memory"
DESCRIPTION = "One memory per borrower, across every channel: read before every conversation, written when it ends."
VERSION = "1.0.0"


def _telemetry() -> TelemetryConfig:
    """By the usual `OTEL_*` (API 13). Without any of them the framework need not look for them at every request."""
    wanted = any(name.startswith("OTEL_") for name in os.environ)
    return {"tracing": wanted, "metrics": wanted, "logs": wanted}


def application(parts: Parts) -> FastAPI:
    """The API over these parts."""
    app = FastAPI(
        title=TITLE,
        description=DESCRIPTION,
        version=VERSION,
        docs_url=None,  # the framework's page loads its script from outside: `routes.docs` has one that does not
        redoc_url=None,
        redirect_slashes=False,  # `/v1/borrowers/` with no id behind it is not the list of everybody
        exception_handlers=exception_handlers(),  # type: ignore[arg-type]
        separate_input_output_schemas=False,
        telemetry=_telemetry(),
    )
    app.state.parts = parts
    routers = [noun.router for noun in (summaries, events, resume, borrowers, permits, export, ops, health, hooks, docs)]
    for router in routers:
        app.include_router(router)
    docs.document_keys(app)
    app.add_middleware(Edge, observe=parts.observe, direct=direct(routers))
    return app
