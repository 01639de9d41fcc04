"""A writer as a process of its own, until it is told to stop: it writes, and tells how it is on a port for that.

    1 listen on METRICS_PORT: `/healthz`, `/readyz`, `/metrics`
    2 write, on the partitions that the group gives it
    3 told to stop (SIGTERM, SIGINT): finish the batches in hand, save, leave the group

Kafka is waited for, also at the start; `/readyz` says so. When the log says that only a new process can go on (`LogStuck`,
`LogChanged`), that is raised and the process ends with a failure, for whoever watches over it to start it anew.
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

from service.serving import Server
from service.wiring import WriterParts

GRACE_SECONDS = 1


async def write_until_stopped(parts: WriterParts, listening: Callable[[str], None]) -> None:
    """Raises `OSError` when the port is taken, `LogStuck`, `LogChanged`."""
    settings, writer = parts.settings, parts.writer
    listener = socket.create_server((settings.host, settings.metrics_port))
    config = uvicorn.Config(
        _health(parts),
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
    writing = asyncio.create_task(writer.run())
    stopping = asyncio.create_task(told.wait())
    await asyncio.wait([writing, stopping, serving], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    try:
        await writer.stop()
        await writing
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await serving


def _health(parts: WriterParts) -> Starlette:
    async def healthz(_: Request) -> Response:
        """The process answers, and what it holds."""
        return JSONResponse({"status": "ok", "partitions": sorted(parts.writer.partitions)})

    async def readyz(_: Request) -> Response:
        checks = await parts.checks()
        ready = all(check == "ok" for check in checks.values())
        return JSONResponse({"status": "ready" if ready else "not_ready", "checks": checks}, 200 if ready else 503)

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(parts.registry), media_type=CONTENT_TYPE_LATEST)

    answers = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
    return Starlette(routes=[Route(path, answer) for path, answer in answers.items()])
