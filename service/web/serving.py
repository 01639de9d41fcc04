"""Serving the API over HTTP until the process is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from service.garbage import spare_what_stays
from service.web.app import application
from service.wiring import Parts

GRACE_SECONDS = 5
"""For requests in hand when it is told to stop: longer than the longest answer, within what a supervisor waits (10 s)."""
KEEP_ALIVE_SECONDS = 75
HELD_LIMIT_BYTES = 64 << 10
"""Of one connection, until the turn ends."""
BACKLOG = 2048
"""Connections that may wait to be taken."""

Beside = Callable[[str, Callable[[], None]], Awaitable[None]]
"""Something to run beside the server: given its address and a way to stop it."""


class OneWrite:
    """A connection that writes what is said in one turn of the loop as that turn ends.

    A write is a system call that wakes the client up. The server hands out the head of an answer and its body one after the
    other: the first alone would wake it for nothing. And of the answers of one turn those to the same client, written one
    behind the other, find it awake.
    """

    __slots__ = ("_held", "_held_bytes", "_loop", "_transport", "is_closing")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._held: list[bytes] = []
        self._held_bytes = 0
        self.is_closing = transport.is_closing  # asked at every answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._held:
            self._loop.call_soon(self._let_go)
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > HELD_LIMIT_BYTES:  # the transport has to know of it, to slow down whoever speaks
            self._let_go()

    def _let_go(self) -> None:
        held, self._held, self._held_bytes = self._held, [], 0
        if held and not self._transport.is_closing():
            self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def close(self) -> None:
        self._let_go()
        self._transport.close()


class Http(HttpToolsProtocol):
    """HTTP as uvicorn speaks it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(OneWrite(transport))  # type: ignore[arg-type]


class Server(uvicorn.Server):
    """A server that leaves signals to whoever started it, so that a stop ends with exit code 0."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.has_started = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.has_started.set()


class CannotListen(OSError):
    """The address cannot be listened at: it is taken, not this machine's, or not ours to take."""


def listen(host: str, port: int, setting: str) -> socket.socket:
    """A socket that listens. Raises `CannotListen`, which says why and with which setting another port is named."""
    try:
        return socket.create_server((host, port), backlog=BACKLOG)
    except OSError as why:
        # What the system says of a number; a name that is not found has none of its.
        reason = (
            os.strerror(why.errno).lower()
            if why.errno and why.errno > 0
            else str(why.strerror or why).partition(" (while")[0]
        )
        cure = f"{setting} names another port, BORROWER_MEMORY_HOST another address"
        raise CannotListen(f"cannot listen at {host}:{port}: {reason}; {cure}") from why


async def serve(parts: Parts, listening: Callable[[str], None], beside: Beside | None = None) -> None:
    """Listens, says where, and serves until SIGTERM or SIGINT. Raises `CannotListen`."""
    settings = parts.settings
    listener = listen(settings.host, settings.port, "BORROWER_MEMORY_PORT")
    config = uvicorn.Config(
        application(parts),
        http=Http,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the application reads them where it asks how it was reached
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = Server(config)
    spare_what_stays()

    def stop() -> None:
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    url = f"http://{settings.host}:{listener.getsockname()[1]}"
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await asyncio.wait([serving, asyncio.create_task(server.has_started.wait())], return_when=asyncio.FIRST_COMPLETED)
    if server.started:
        listening(url)
    running = asyncio.create_task(_run(beside, url, stop)) if beside else None
    await serving
    if running:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def _run(beside: Beside, url: str, stop: Callable[[], None]) -> None:
    await beside(url, stop)
