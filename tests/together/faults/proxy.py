"""A TCP proxy between a process and its PostgreSQL, which delays, cuts, and stops at the very moment of a COMMIT.

It knows one thing of the protocol: how the message looks that ends a transaction. Which transaction it is, it tells by size:
one that sent `SAVE_BYTES` and more is a writer's save, for nothing else that a writer does is that long.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"
SAVE_BYTES = 3_000
CHUNK_BYTES = 1 << 16

Sent = Literal["held back", "sent"]


@dataclass
class Trap:
    """What happens at the next COMMIT of a save: it is sent or held back, its answer is not told, and `then` is called."""

    commit: Sent
    then: Callable[[], None]
    cut: bool
    """Whether the connection is cut after that; else what was held back goes on when `then` returns."""
    sprung: threading.Event = field(default_factory=threading.Event)


class Proxy:
    """Listens on a port of its own until it is closed."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.delay_seconds = 0.0
        """Before each message of a client."""
        self._trap: Trap | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def at_commit(self, commit: Sent, then: Callable[[], None] = lambda: None, *, cut: bool = True) -> Trap:
        """Sets a trap for the next save through here."""
        trap = Trap(commit, then, cut)
        with self._lock:
            self._trap = trap
        return trap

    def cut(self) -> None:
        """Breaks all connections off."""
        with self._lock:
            self._trap = None
            open_ = list(self._open)
        for end in open_:
            _abort(end)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target, timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._there, args=(client, server), daemon=True).start()
            threading.Thread(target=self._back, args=(server, client), daemon=True).start()

    def _there(self, client: socket.socket, server: socket.socket) -> None:
        """What the client says. A COMMIT of ours comes alone: the client waits for what it asked before."""
        in_hand = 0
        with contextlib.suppress(OSError):
            while data := client.recv(CHUNK_BYTES):
                if self.delay_seconds:
                    time.sleep(self.delay_seconds)
                in_hand += len(data)
                if COMMIT in data:
                    trap = self._sprung() if in_hand >= SAVE_BYTES else None
                    in_hand = 0
                    if trap is not None and self._falls(trap, client, server, data):
                        break
                    if trap is not None:
                        continue
                server.sendall(data)
        self._end(client, server)

    def _falls(self, trap: Trap, client: socket.socket, server: socket.socket, data: bytes) -> bool:
        """Whether the connection is broken off."""
        if trap.commit == "sent":
            with self._lock:
                self._open.discard(client)  # `_back` tells it nothing any more
            server.sendall(data)
            time.sleep(0.05)  # it is committed by then, or the test that counts on it says so
        trap.then()
        trap.sprung.set()
        if trap.cut:
            _abort(client)
            _abort(server)
            return True
        server.sendall(data)
        return False

    def _sprung(self) -> Trap | None:
        with self._lock:
            trap, self._trap = self._trap, None
            return trap

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(CHUNK_BYTES):
                if client in self._open:
                    client.sendall(data)
        self._end(client, server)

    def _end(self, *ends: socket.socket) -> None:
        with self._lock:
            self._open -= set(ends)
        for end in ends:
            _abort(end)


def _abort(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
