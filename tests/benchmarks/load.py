"""A load of HTTP requests over kept-alive connections: a process of its own, so that it takes no time of the server's.

Run as `python -m tests.benchmarks.load` with a `Load` as JSON on standard input; it prints a `Taken` as JSON. Every
connection sends its next request as soon as the last one is answered. The requests are made before the clock starts, and
each is sent once: a load ends when they are used up, or when its time is. It reads of an answer its status, its length and
whether a mark stands in it; it must not know what is asked.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import uvloop

GRACE_SECONDS = 10.0
"""How long answers are waited for after the last request."""
_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length:"


@dataclass(frozen=True)
class Load:
    """`requests`: a file with a request a line, as `METHOD PATH` or `METHOD PATH BODY`. `mark` is looked for in answers.
    `rate`: so many a second, each at its time and timed from then, whenever a connection is free for it; 0: as many as can."""

    host: str
    port: int
    headers: dict[str, str]
    requests: str
    mark: str
    connections: int
    seconds: float
    rate: float = 0.0


@dataclass(frozen=True)
class Taken:
    """What became of a load. `marked` answers held the mark; times are of one request, in milliseconds."""

    answered: int
    marked: int
    statuses: dict[str, int]
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        return self.answered / self.seconds


class _Connection(asyncio.Protocol):
    """One caller: sends, reads the whole answer, sends again."""

    def __init__(self, requests: Iterator[bytes], mark: bytes, told: _Told) -> None:
        self._requests = requests
        self._mark = mark
        self._told = told
        self._heard = b""
        self._sent_at = 0.0

    _transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's own class
        self._told.open += 1
        self._ask()

    def _ask(self) -> None:
        now = time.perf_counter()
        request = next(self._requests, None) if now < self._told.until else None
        if request is None:
            self._transport.close()
            return
        due = self._told.due(now)
        if due > now:
            asyncio.get_running_loop().call_later(due - now, self._send, request, due)
        else:
            self._send(request, due)

    def _send(self, request: bytes, due: float) -> None:
        self._sent_at = due
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        heard = self._heard + data if self._heard else data
        head = heard.find(_END_OF_HEAD)
        if head < 0 or len(heard) < head + len(_END_OF_HEAD) + _length(heard[:head]):
            self._heard = heard
            return
        self._heard = b""
        told = self._told
        told.took.append(time.perf_counter() - self._sent_at)
        told.statuses[heard[9:12]] += 1
        told.marked += self._mark in heard
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self._told.open -= 1
        if not self._told.open:
            self._told.done.set()


def _length(head: bytes) -> int:
    at = head.lower().find(_LENGTH)
    if at < 0:
        raise ValueError("an answer without its length")
    return int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0])


class _Told:
    """What all connections tell together."""

    def __init__(self, began: float, load: Load) -> None:
        self.until = began + load.seconds
        self._began, self._rate, self._asked = began, load.rate, 0
        self.open = 0
        self.marked = 0
        self.took: list[float] = []
        self.statuses: Counter[bytes] = Counter()
        self.done = asyncio.Event()

    def due(self, now: float) -> float:
        """When the next request is to be sent."""
        if not self._rate:
            return now
        self._asked += 1
        return self._began + self._asked / self._rate


def requests_of(load: Load) -> list[bytes]:
    """Each request as it goes over the wire."""
    head = "".join(f"{name}: {value}\r\n" for name, value in {"host": load.host, **load.headers}.items())
    found = []
    for line in Path(load.requests).read_text().splitlines():
        method, path, body = (*line.split(" ", 2), "")[:3]
        sent = body.encode()
        told = f"content-type: application/json\r\ncontent-length: {len(sent)}\r\n" if sent else ""
        found.append(f"{method} {path} HTTP/1.1\r\n{head}{told}\r\n".encode() + sent)
    return found


async def taken(load: Load) -> Taken:
    """Runs the load."""
    requests = iter(requests_of(load))
    began = time.perf_counter()
    told = _Told(began, load)
    loop = asyncio.get_running_loop()
    mark = load.mark.encode()
    for _ in range(load.connections):
        await loop.create_connection(lambda: _Connection(requests, mark, told), load.host, load.port)
    async with asyncio.timeout(load.seconds + GRACE_SECONDS):
        await told.done.wait()
    seconds = time.perf_counter() - began
    took = sorted(told.took)
    return Taken(
        answered=len(took),
        marked=told.marked,
        statuses={status.decode(): count for status, count in told.statuses.items()},
        seconds=seconds,
        p50_ms=took[len(took) // 2] * 1000,
        p99_ms=took[len(took) * 99 // 100] * 1000,
    )


def main() -> None:
    load = Load(**json.loads(sys.stdin.read()))
    sys.stdout.write(json.dumps(asdict(uvloop.run(taken(load)))))


if __name__ == "__main__":
    main()
