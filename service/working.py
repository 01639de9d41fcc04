"""A writer, a sweeper or a proposer as a process of its own, until it is told to stop; how it is, is told on a port for that.

1 listen on METRICS_PORT: `/healthz`, `/readyz`, `/metrics`
2 work, beside any number of others
3 told to stop (SIGTERM, SIGINT): finish what is in hand, or let it go

A worker that ends by a fault of its own ends the process with that failure, for whoever watches over it to start it anew.
What the work is, this file must not know.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Any, Protocol

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from service.settings import Settings
from service.web.serving import Server, listen

GRACE_SECONDS = 1
STOP_SECONDS = 8.0
"""For what is in hand; what takes longer is left, and whoever comes next takes it when its lease has run out."""


class Worker(Protocol):
    async def run(self) -> None:
        """Until `stop`."""

    async def stop(self) -> None: ...

    def health(self) -> str:
        """`ok`, or what is wrong."""


class Around(Protocol):
    """What is around a worker: a service's parts."""

    @property
    def settings(self) -> Settings: ...

    @property
    def registry(self) -> CollectorRegistry: ...

    async def checks(self) -> dict[str, str]:
        """What readiness rests on, each `ok` or what is wrong with it."""


async def work_until_stopped(
    name: str,
    worker: Worker,
    parts: Around,
    listening: Callable[[str], None],
    *,
    stop_seconds: float | None = STOP_SECONDS,
    holds: Callable[[], dict[str, Any]] = dict,
) -> None:
    """`name` is the worker's among the checks; `holds`, what `/healthz` tells beside that the process answers.

    With `stop_seconds` None the worker is waited for, however long it takes it to stop. Raises `CannotListen`, and
    what the worker raises.
    """
    settings = parts.settings
    listener = listen(settings.host, settings.metrics_port, "BORROWER_MEMORY_METRICS_PORT")
    config = uvicorn.Config(
        _health(name, worker, parts, holds),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    listening(f"http://{settings.host}:{listener.getsockname()[1]}")
    working = asyncio.create_task(worker.run())
    stopping = asyncio.create_task(told.wait())
    await asyncio.wait([working, stopping, serving], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    try:
        await worker.stop()
        _, late = await asyncio.wait([working], timeout=stop_seconds)
        for task in late:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await serving


def _health(name: str, worker: Worker, parts: Around, holds: Callable[[], dict[str, Any]]) -> Starlette:
    async def healthz(_: Request) -> Response:
        """The process answers, and what it holds."""
        return JSONResponse({"status": "ok", **holds()})

    async def readyz(_: Request) -> Response:
        checks = {**await parts.checks(), name: worker.health()}
        ready = all(check == "ok" for check in checks.values())
        return JSONResponse({"status": "ready" if ready else "not_ready", "checks": checks}, 200 if ready else 503)

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(parts.registry), media_type=CONTENT_TYPE_LATEST)

    answers = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
    return Starlette(routes=[Route(path, answer) for path, answer in answers.items()])
