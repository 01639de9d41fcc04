"""A sweeper as a process of its own, until it is told to stop; how it is, is told on a port for that.

1 listen on METRICS_PORT: `/healthz`, `/readyz`, `/metrics`
2 sweep, beside any number of others
3 told to stop (SIGTERM, SIGINT): finish the chats in hand
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from service.chats.sweeper import Sweeper
from service.serving import Server
from service.wiring import Parts

GRACE_SECONDS = 1
STOP_SECONDS = 8.0
"""For the chats in hand; one that takes longer is left, and whoever comes next takes it when its lease has run out."""


async def sweep_until_stopped(parts: Parts, sweeper: Sweeper, listening: Callable[[str], None]) -> None:
    """Raises `OSError` when the port is taken."""
    settings = parts.settings
    listener = socket.create_server((settings.host, settings.metrics_port))
    config = uvicorn.Config(
        _health(parts, sweeper),
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
    sweeping = asyncio.create_task(sweeper.run())
    stopping = asyncio.create_task(told.wait())
    await asyncio.wait([sweeping, stopping, serving], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    await sweeper.stop()
    _, late = await asyncio.wait([sweeping], timeout=STOP_SECONDS)
    for task in late:
        task.cancel()
    server.should_exit = True
    with contextlib.suppress(asyncio.CancelledError):
        await serving


def _health(parts: Parts, sweeper: Sweeper) -> Starlette:
    async def healthz(_: Request) -> Response:
        """The process answers."""
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> Response:
        checks = {**await parts.checks(), "sweeper": sweeper.health()}
        ready = all(check == "ok" for check in checks.values())
        return JSONResponse({"status": "ready" if ready else "not_ready", "checks": checks}, 200 if ready else 503)

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(parts.registry), media_type=CONTENT_TYPE_LATEST)

    answers = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
    return Starlette(routes=[Route(path, answer) for path, answer in answers.items()])
