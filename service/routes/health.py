"""Is it up, can it work, what has it done: for load balancers and Prometheus; no key."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from service.web.calls import JSON, DirectRoute, answered

router = APIRouter(route_class=DirectRoute, tags=["health"])


async def healthz(request: Request) -> Response:
    """The process answers."""
    return answered({"status": "ok"})


async def readyz(request: Request) -> Response:
    """The database can be read and the writer writes; else 503 with the check that failed."""
    checks = await request.app.state.parts.checks()
    ready = all(check == "ok" for check in checks.values())
    return answered({"status": "ready" if ready else "not_ready", "checks": checks}, 200 if ready else 503)


async def metrics(request: Request) -> Response:
    """Prometheus' text format."""
    await request.app.state.parts.standing.look()
    return Response(generate_latest(request.app.state.parts.registry), media_type=CONTENT_TYPE_LATEST)


for _path, _answer in (("/healthz", healthz), ("/readyz", readyz), ("/metrics", metrics)):

    async def _documented() -> None:
        raise AssertionError("documented only: DirectRoute answers")

    _documented.handle = _answer  # type: ignore[attr-defined]
    router.add_api_route(
        _path,
        _documented,
        methods=["GET"],
        operation_id=_answer.__name__,
        summary=(_answer.__doc__ or "").splitlines()[0],
        response_class=Response,
        responses={200: {"content": {JSON: {}}}},
    )
