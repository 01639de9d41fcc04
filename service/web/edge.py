"""The outermost layer of the application: what holds for every request, whichever route it is for.

A request passes in this order (the numbers stand again in `Edge`):

1. it is counted among those in flight; too many are turned away at once,
2. its body is read whole, within a size and a time, before anything else sees it,
3. the application answers; what it raises becomes a problem, and no message of an error reaches a log,
4. one line says method, route, status and milliseconds: the route's template and never the path, which may hold an id,
   a secret or a number, and nothing of any body.

It is plain ASGI in one layer, because each further layer is paid for by every request. It must not know routes, keys or
tenants; `RateLimit` is asked by whoever has checked the key, so that nobody can use up the rate of somebody else's.
"""

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from typing import Final

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service import strictjson
from service.errors import (
    NotJson,
    OtherHttp,
    Problem,
    RateLimited,
    TooLarge,
    Unavailable,
)
from service.web.rendering import problem_for, problem_response

BODY_LIMIT_BYTES: Final = 1 << 20
HOOK_BODY_LIMIT_BYTES: Final = 4 << 20
HOOK_PATHS: Final = "/hooks/"
BODY_LIMIT_SECONDS: Final = 30.0
DRAIN_LIMIT_BYTES: Final = 16 << 20  # read and thrown away behind a refusal, so that the sender can read the refusal
DRAIN_LIMIT_SECONDS: Final = 2.0
IN_FLIGHT_LIMIT_REQUESTS: Final = 1_000
IN_FLIGHT_LIMIT_BYTES: Final = 256 << 20  # of bodies held at the same time
RATE_LIMIT_PER_SECOND: Final = 20_000.0
RATE_LIMIT_BURST: Final = 40_000
RATE_LIMIT_KEYS: Final = 10_000  # remembered at a time
UNWATCHED: Final = frozenset({"/healthz", "/readyz", "/metrics"})  # answered under any load, logged at debug

CLIENT_LEFT: Final = 499  # in logs only
_NOTES: Final = "borrower_memory.notes"
_BODY: Final = "borrower_memory.body"
_BENEATH: Final = "borrower_memory.beneath"

log = structlog.get_logger("service.web.edge")

Observer = Callable[[str, str, int, float], None]
"""Told of every answer: method, route's template, status, seconds."""


def note(scope: Scope, **ids: str) -> None:
    """Adds ids (tenant, key, entry) to the request's line in the log. Never a number, a name or a text."""
    scope.get(_NOTES, {}).update(ids)


def beneath(scope: Scope, body: bytes, **own: object) -> Scope:
    """The scope of a call that is made within a request: its ids go into the request's line, its body is this one."""
    return {**scope, _BODY: body, _BENEATH: True, **own}


def is_beneath(scope: Scope) -> bool:
    """Whether it is a call that is made within a request."""
    return _BENEATH in scope


async def json_body(request: Request) -> tuple[object, tuple[str, ...]]:
    """The document of a request and the paths repaired in it. Raises `NotJson` or `MalformedJson`."""
    if not strictjson.is_json(request.headers.get("content-type")):
        raise NotJson
    body = request.scope.get(_BODY)
    return strictjson.parse(await request.body() if body is None else body)


class InFlight:
    """How many requests, and how many bytes of their bodies, are held at this moment."""

    def __init__(
        self, limit_requests: int = IN_FLIGHT_LIMIT_REQUESTS, limit_bytes: int = IN_FLIGHT_LIMIT_BYTES
    ) -> None:
        self._limit_requests = limit_requests
        self._limit_bytes = limit_bytes
        self.requests = 0
        self.bytes = 0

    def is_full(self) -> bool:
        return self.requests >= self._limit_requests

    def is_overfull(self) -> bool:
        return self.bytes > self._limit_bytes


class RateLimit:
    """So many requests a second for each key, and a burst on top (GCRA: one instant is remembered for each key).

    The instant is when a key's credit would be whole again; one that has passed says nothing and is forgotten.
    """

    def __init__(
        self,
        per_second: float = RATE_LIMIT_PER_SECOND,
        burst: int = RATE_LIMIT_BURST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cost_seconds = 1.0 / per_second
        self._credit_seconds = burst / per_second
        self._clock = clock
        self._whole_at: dict[str, float] = {}

    def admit(self, key_id: str) -> None:
        """Raises `RateLimited`, which says in how many seconds the next one is taken."""
        now = self._clock()
        whole_at = max(self._whole_at.get(key_id, now), now) + self._cost_seconds
        wait = whole_at - now - self._credit_seconds
        if wait > 1e-9:  # the sums of a burst are not exact
            raise RateLimited(math.ceil(wait))
        if key_id not in self._whole_at and len(self._whole_at) >= RATE_LIMIT_KEYS:
            self._forget(now)
        self._whole_at[key_id] = whole_at

    def _forget(self, now: float) -> None:
        """The whole ones; when all have spent, everyone, which for once is generous."""
        self._whole_at = {key: whole_at for key, whole_at in self._whole_at.items() if whole_at > now}
        if len(self._whole_at) >= RATE_LIMIT_KEYS:
            self._whole_at.clear()


class _ClientLeft(Exception):
    """Nobody is there to be answered."""


class _Exchange:
    """One request and its answer as they pass: what was heard, what is held of it, and the status that went out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self._receive = receive
        self._send = send
        self.heard_all = True
        self.announced_bytes = 0
        for name, value in scope["headers"]:
            if name == b"content-length":
                self.heard_all = False
                if value.isdigit():
                    self.announced_bytes = self.announced_bytes or int(value[:20])
            elif name == b"transfer-encoding":
                self.heard_all = False
        self.held_bytes = 0
        self.status: int | None = None

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self.heard_all = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
        await self._send(message)


class Edge:
    """See the head of this file. Added last, so that it is outermost: `app.add_middleware(Edge, observe=...)`.

    Not put around the application: inside it Starlette has a last catch of its own, which answers in another form.
    `observe` may throw; no request fails for it. `direct`: what answers a method and path without being looked for.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        in_flight: InFlight | None = None,
        observe: Observer | None = None,
        direct: Mapping[tuple[str, str], ASGIApp] | None = None,
    ) -> None:
        self._app = app
        self._direct = direct or {}
        self._in_flight = in_flight or InFlight()
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        notes: dict[str, str] = {}
        scope[_NOTES] = notes
        exchange = _Exchange(scope, receive, send)
        # 1.
        watched = scope["path"] not in UNWATCHED
        if watched and self._in_flight.is_full():
            await _refuse(Unavailable("more requests than this process takes at a time"), exchange)
            self._tell(exchange, began, notes)
            return
        self._in_flight.requests += 1
        try:
            await self._answer(exchange)
        except asyncio.CancelledError:  # the server ends, and has waited long enough for this one
            if exchange.status is None:
                ended = Unavailable("the service is being stopped; it is safe to send it again")
                await problem_response(ended)(exchange.scope, exchange.receive, exchange.send)
        finally:
            self._in_flight.requests -= 1
            self._in_flight.bytes -= exchange.held_bytes
            # 4.
            self._tell(exchange, began, notes)

    async def _answer(self, exchange: _Exchange) -> None:
        # 2.
        receive: Receive = exchange.receive
        if not exchange.heard_all:
            try:
                body = exchange.scope[_BODY] = await self._read(exchange)
                receive = _replayed(body, receive)
            except Problem as problem:
                await _refuse(problem, exchange)
                return
            except _ClientLeft:
                return
        # 3.
        scope = exchange.scope
        try:
            await self._direct.get((scope["method"], scope["path"]), self._app)(scope, receive, exchange.send)
        except Exception as error:  # noqa: BLE001  # the outermost catch: the client is owed an answer in our form
            response = problem_response(problem_for(error))
            if exchange.status is None:
                await response(exchange.scope, receive, exchange.send)

    async def _read(self, exchange: _Exchange) -> bytes:
        """The whole body. Raises a `Problem` as soon as it is clear that it will not be taken."""
        limit = HOOK_BODY_LIMIT_BYTES if exchange.scope["path"].startswith(HOOK_PATHS) else BODY_LIMIT_BYTES
        if exchange.announced_bytes > limit:
            raise TooLarge
        chunks: list[bytes] = []
        try:
            async with asyncio.timeout(BODY_LIMIT_SECONDS):
                while not exchange.heard_all:
                    message = await exchange.receive()
                    if message["type"] == "http.disconnect":
                        raise _ClientLeft
                    chunk = message.get("body", b"")
                    chunks.append(chunk)
                    exchange.held_bytes += len(chunk)
                    self._in_flight.bytes += len(chunk)
                    if exchange.held_bytes > limit:
                        raise TooLarge
                    if self._in_flight.is_overfull():
                        raise Unavailable("more bodies than this process holds at a time")
        except TimeoutError:
            raise OtherHttp(408) from None
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _tell(self, exchange: _Exchange, began: float, notes: dict[str, str]) -> None:
        seconds = time.perf_counter() - began
        method, route, status = exchange.scope["method"], _route(exchange.scope), exchange.status or CLIENT_LEFT
        try:
            write = log.debug if exchange.scope["path"] in UNWATCHED else log.info
            write("request", method=method, route=route, status=status, ms=round(seconds * 1_000, 1), **notes)
            if self._observe is not None:
                self._observe(method, route, status, seconds)
        except Exception:  # noqa: BLE001  # a log or metric that throws never fails a request (DESIGN 9)
            return


def _route(scope: Scope) -> str:
    """The template of the route that was found; "-" when none was, because then only the raw path is known."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return path
    return scope["path"] if scope["path"] in UNWATCHED else "-"


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, given out once; what comes after is the server's own (that the client left)."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _refuse(problem: Problem, exchange: _Exchange) -> None:
    """Answers at once, then lets the client finish speaking, within limits.

    A server that closes while bytes are on their way makes the client's system throw the answer away unread.
    """
    response = problem_response(problem)
    headers = [*response.raw_headers, (b"connection", b"close")]
    await exchange.send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await exchange.send({"type": "http.response.body", "body": bytes(response.body), "more_body": True})
    if not any(name == b"expect" for name, _ in exchange.scope["headers"]):  # who asked first sends nothing more
        await _drain(exchange)
    await exchange.send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drain(exchange: _Exchange) -> None:
    drained = 0
    try:
        async with asyncio.timeout(DRAIN_LIMIT_SECONDS):
            while not exchange.heard_all and drained < DRAIN_LIMIT_BYTES:
                drained += len((await exchange.receive()).get("body", b""))
    except TimeoutError:
        return
