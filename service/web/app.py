"""The application: the routes, the layer around them, and how errors are worded. Built by `wiring`, run by `__main__`."""

from __future__ import annotations

import os

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from service.pages import room
from service.routes import (
    borrowers,
    context,
    decisions,
    docs,
    events,
    export,
    forget,
    health,
    hooks,
    mcp,
    ops,
    permits,
    recall,
    resume,
    rollout,
    screening,
    sources,
    summaries,
)
from service.web.calls import direct
from service.web.edge import Edge, InFlight
from service.web.rendering import exception_handlers
from service.wiring import Parts

TITLE = "Borrower Memory"
DESCRIPTION = "One memory per borrower, across every channel: read before every conversation, written when it ends."
VERSION = "1.0.0"


class Api(FastAPI):
    """The framework, passed by on the way to calls that have no use for it.

    Each of its layers is paid for by every request that passes it. A call that `direct` answers needs none of them but our
    own edge, so it is given to an edge that stands before them, unless they are to tell of it (telemetry).
    """

    before: Edge | None = None
    passed_by: frozenset[tuple[str, str]] = frozenset()
    """Methods and paths that `before` answers."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.before is None or scope["type"] != "http" or (scope["method"], scope["path"]) not in self.passed_by:
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.before(scope, receive, send)


def _telemetry() -> TelemetryConfig:
    """By the usual `OTEL_*` (API 13). Without any of them the framework need not look for them at every request."""
    wanted = any(name.startswith("OTEL_") for name in os.environ)
    return {"tracing": wanted, "metrics": wanted, "logs": wanted}


def application(parts: Parts) -> Api:
    """The API over these parts."""
    telemetry = _telemetry()
    app = Api(
        title=TITLE,
        description=DESCRIPTION,
        version=VERSION,
        docs_url=None,  # the framework's page loads its script from outside: `routes.docs` has one that does not
        redoc_url=None,
        redirect_slashes=False,  # `/v1/borrowers/` with no id behind it is not the list of everybody
        exception_handlers=exception_handlers(),  # type: ignore[arg-type]
        separate_input_output_schemas=False,
        telemetry=telemetry,
    )
    app.state.parts = parts
    routers = [
        noun.router
        for noun in (
            summaries,
            events,
            resume,
            borrowers,
            permits,
            context,
            decisions,
            sources,
            recall,
            screening,
            forget,
            export,
            ops,
            rollout,
            health,
            hooks,
            docs,
        )
    ]
    routers.append(mcp.over(routers, VERSION))
    for router in routers:
        app.include_router(router)
    for router in room.ROUTERS:
        app.include_router(router)
    docs.document_keys(app)
    # By the setting that uvicorn has for it: which proxies are believed. Direct calls do not ask how they were reached.
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1"))
    calls, in_flight = direct(routers), InFlight()
    app.add_middleware(Edge, observe=parts.observe, direct=calls, in_flight=in_flight)
    if not any(telemetry.values()):
        app.before = Edge(_nothing_else, observe=parts.observe, direct=calls, in_flight=in_flight)
        app.passed_by = frozenset(calls)
    return app


async def _nothing_else(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError(f"not one of the direct calls: {scope['method']} {scope['path']}")
