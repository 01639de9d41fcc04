"""What holds for every request: sizes, numbers in flight, rates, one line in the log, and an answer whatever happens."""

import asyncio
import json
import select
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import APIRouter, FastAPI, Request
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send
from structlog.testing import capture_logs

from service import edge
from service.edge import BODY_LIMIT_BYTES, HOOK_BODY_LIMIT_BYTES, Edge, InFlight, RateLimit
from service.errors import MissingScope, RateLimited
from service.rendering import exception_handlers
from service.serving import Http
from tests.limits import PATIENCE_SECONDS

SECRET = "Zq7Geheim"
MIB = 1 << 20


def application(**options: Any) -> FastAPI:
    app = FastAPI(exception_handlers=exception_handlers())
    app.add_middleware(Edge, **options)
    router = APIRouter()

    @router.post("/v1/read")
    @router.post("/hooks/{channel}/{hook_id}")
    async def read(request: Request) -> dict[str, object]:
        return {"size": len(await request.body())}

    @router.post("/v1/document")
    async def document(request: Request) -> dict[str, object]:
        value, repaired = await edge.json_body(request)
        return {"value": str(value), "repaired": repaired}

    @router.get("/v1/borrowers/{borrower_id}")
    async def borrower(borrower_id: str, request: Request) -> dict[str, str]:
        edge.note(request.scope, tenant="acme")
        return {"borrower_id": borrower_id}

    @router.get("/v1/refused")
    async def refused() -> None:
        raise MissingScope("read")

    @router.get("/v1/fails")
    async def fails() -> None:
        raise ValueError(SECRET)

    @router.get("/v1/fails-late")
    async def fails_late() -> StreamingResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"some"
            raise ValueError(SECRET)

        return StreamingResponse(parts())

    @router.get("/healthz")
    async def healthz() -> None: ...

    app.include_router(router)
    return app


def client_of(app: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    return httpx.AsyncClient(transport=transport, base_url="http://test")


async def ask(method: str, path: str, app: Any = None, **kw: Any) -> httpx.Response:
    async with client_of(app or application()) as client:
        return await client.request(method, path, **kw)


# -- what comes in -----------------------------------------------------------------------------------------------------


async def pieces(size: int, piece: int = 65_536) -> AsyncIterator[bytes]:
    for start in range(0, size, piece):
        yield b"x" * min(piece, size - start)


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "in pieces"])
@pytest.mark.parametrize(
    ("path", "size", "taken"),
    [
        ("/v1/read", 0, True),
        ("/v1/read", 10, True),
        ("/v1/read", BODY_LIMIT_BYTES, True),
        ("/v1/read", BODY_LIMIT_BYTES + 1, False),
        ("/hooks/voice/h_4kX", BODY_LIMIT_BYTES + 1, True),
        ("/hooks/voice/h_4kX", HOOK_BODY_LIMIT_BYTES, True),
        ("/hooks/voice/h_4kX", HOOK_BODY_LIMIT_BYTES + 1, False),
        ("/v1/nothing", BODY_LIMIT_BYTES + 1, False),
    ],
)
async def test_a_body_is_taken_whole_up_to_its_limit(path: str, size: int, taken: bool, announced: bool) -> None:
    answer = await ask("POST", path, content=b"x" * size if announced else pieces(size))
    if taken:
        assert (answer.status_code, answer.json()) == (200, {"size": size})
    else:
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["connection"] == "close"


class Wire:
    """A server's side of one request by hand: what was sent to the client, and what it has still to say."""

    def __init__(
        self, *messages: Message, headers: tuple[tuple[bytes, bytes], ...] = (), path: str = "/v1/read"
    ) -> None:
        self.scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "headers": list(headers),
            "query_string": b"",
        }
        self.left = list(messages)
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        if not self.left:
            await asyncio.sleep(3_600)
        return self.left.pop(0)

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None

    async def through(self, app: Any) -> "Wire":
        await app(self.scope, self.receive, self.send)
        return self


def part(body: bytes, more: bool = True) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


CHUNKED = ((b"transfer-encoding", b"chunked"),)


def announcing(size: int, *more: tuple[bytes, bytes]) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"content-length", str(size).encode()), *more)


async def never(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the application must not see this request")


async def test_an_announced_size_is_refused_before_a_byte_is_read_and_then_the_client_may_finish() -> None:
    order: list[str] = []
    wire = Wire(part(b"x" * MIB), part(b"x" * MIB, more=False), headers=announcing(2 * MIB))
    receive, send = wire.receive, wire.send

    async def receiving() -> Message:
        order.append("read")
        return await receive()

    async def sending(message: Message) -> None:
        order.append("sent")
        await send(message)

    await Edge(never)(wire.scope, receiving, sending)
    assert order == ["sent", "sent", "read", "read", "sent"]
    assert wire.status == 413
    assert wire.left == []
    assert json.loads(wire.sent[1]["body"])["code"] == "too_large"


async def test_a_body_in_pieces_is_refused_at_the_piece_that_is_too_much() -> None:
    wire = await Wire(*[part(b"x" * 65_536)] * 17, part(b"", more=False), headers=CHUNKED).through(Edge(never))
    assert (wire.status, wire.left) == (413, [])


async def test_a_client_that_keeps_talking_is_not_listened_to_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "DRAIN_LIMIT_BYTES", 3 * MIB)
    wire = await Wire(*[part(b"x" * MIB)] * 9, headers=announcing(9 * MIB)).through(Edge(never))
    assert (wire.status, len(wire.left)) == (413, 6)
    monkeypatch.setattr(edge, "DRAIN_LIMIT_SECONDS", 0.01)
    assert (await Wire(headers=announcing(9 * MIB)).through(Edge(never))).status == 413


async def test_a_client_that_asks_before_it_sends_is_not_waited_for() -> None:
    wire = await Wire(part(b"x"), headers=announcing(2 * MIB, (b"expect", b"100-continue"))).through(Edge(never))
    assert (wire.status, len(wire.left)) == (413, 1)


async def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "BODY_LIMIT_SECONDS", 0.01)
    monkeypatch.setattr(edge, "DRAIN_LIMIT_SECONDS", 0.01)
    in_flight = InFlight()
    wire = await Wire(part(b"{"), headers=CHUNKED).through(Edge(never, in_flight=in_flight))
    assert (wire.status, json.loads(wire.sent[1]["body"])["code"]) == (408, "request_timeout")
    assert (in_flight.requests, in_flight.bytes) == (0, 0)


async def test_a_client_that_leaves_gets_no_answer_and_leaves_nothing_behind() -> None:
    in_flight = InFlight()
    wire = Wire(part(b"{"), {"type": "http.disconnect"}, headers=CHUNKED)
    with capture_logs() as logs:
        await wire.through(Edge(never, in_flight=in_flight))
    assert wire.sent == []
    assert (in_flight.requests, in_flight.bytes) == (0, 0)
    assert [line["status"] for line in logs] == [edge.CLIENT_LEFT]


async def test_after_its_body_the_application_hears_what_the_server_says() -> None:
    heard: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        heard.extend([await receive(), await receive()])

    await Wire(part(b"a"), part(b"b", more=False), {"type": "http.disconnect"}, headers=CHUNKED).through(Edge(app))
    assert heard == [part(b"ab", more=False), {"type": "http.disconnect"}]


@pytest.mark.parametrize(
    ("content", "content_type", "status", "code"),
    [
        (b'{"a": 1}', "application/json", 200, None),
        (b'{"a": 1}', None, 200, None),
        (b'{"a": 1}', "text/plain", 415, "not_json"),
        (b"{", "application/json", 400, "malformed_json"),
        (b'{"x": NaN}', "application/json", 400, "malformed_json"),
        (b"", "application/json", 400, "malformed_json"),
        (b"[" * 100_000, "application/json", 400, "malformed_json"),
    ],
)
async def test_documents(content: bytes, content_type: str | None, status: int, code: str | None) -> None:
    headers = {"content-type": content_type} if content_type else {}
    answer = await ask("POST", "/v1/document", content=content, headers=headers)
    assert (answer.status_code, answer.json().get("code")) == (status, code)


# -- how much at a time ------------------------------------------------------------------------------------------------


async def test_too_many_at_a_time_are_turned_away_and_come_back_later() -> None:
    gate, inside = asyncio.Event(), asyncio.Semaphore(0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        inside.release()
        await gate.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    in_flight = InFlight(limit_requests=2)
    guarded = Edge(app, in_flight=in_flight)
    async with client_of(guarded) as client:
        held = [asyncio.create_task(client.get("/")) for _ in range(2)]
        for _ in held:
            await inside.acquire()
        refused = await client.post("/", content=b"x")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert refused.headers["retry-after"] == "1"
        health = asyncio.create_task(client.get("/healthz"))
        await inside.acquire()
        gate.set()
        assert [(await answer).status_code for answer in [*held, health]] == [204, 204, 204]
        assert (await client.get("/")).status_code == 204
    assert in_flight.requests == 0


async def test_the_bodies_held_at_a_time_are_bounded() -> None:
    in_flight = InFlight(limit_bytes=100)
    app = application(in_flight=in_flight)
    assert (await ask("POST", "/v1/read", app, content=b"x" * 100)).status_code == 200
    answer = await ask("POST", "/v1/read", app, content=b"x" * 101)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert (in_flight.requests, in_flight.bytes) == (0, 0)


def test_the_limits_are_far_from_ordinary_use() -> None:
    limit = RateLimit(clock=lambda: 0.0)
    for _ in range(edge.RATE_LIMIT_BURST):
        limit.admit("k3f9a1")
    with pytest.raises(RateLimited):
        limit.admit("k3f9a1")
    limit.admit("another")
    assert edge.IN_FLIGHT_LIMIT_REQUESTS >= 500


def test_a_key_that_waits_as_told_is_taken_again() -> None:
    now = 0.0
    limit = RateLimit(per_second=0.5, burst=1, clock=lambda: now)
    limit.admit("a")
    with pytest.raises(RateLimited) as caught:
        limit.admit("a")
    assert caught.value.headers()["Retry-After"] == "2"
    now = 2.0
    limit.admit("a")


@settings(max_examples=60)
@given(
    st.sampled_from([(1.0, 1), (10.0, 5), (2_000.0, 4_000)]),
    st.lists(st.floats(0, 3), min_size=1, max_size=60),
)
def test_no_key_gets_more_than_its_burst_and_its_rate(rate: tuple[float, int], pauses: list[float]) -> None:
    per_second, burst = rate
    now, taken, began = 0.0, 0, None
    limit = RateLimit(per_second, burst, clock=lambda: now)
    for pause in pauses:
        now += pause
        for _ in range(burst + 2):
            try:
                limit.admit("a")
            except RateLimited:
                break
            began = now if began is None else began
            taken += 1
            assert taken <= burst + (now - began) * per_second + 1e-6
    assert taken >= min(burst, 1)


def test_the_keys_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "RATE_LIMIT_KEYS", 10)
    now = 0.0
    limit = RateLimit(per_second=1, burst=1, clock=lambda: now)
    for number in range(1_000):
        limit.admit(f"k{number}")
        now += 0.05
    assert len(limit._whole_at) <= 11
    with pytest.raises(RateLimited):
        limit.admit("k999")


# -- what goes out, and what is said of it -----------------------------------------------------------------------------


async def test_a_fault_is_answered_in_our_form_and_its_words_reach_neither_client_nor_log() -> None:
    with capture_logs() as logs:
        answer = await ask("GET", "/v1/fails")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert SECRET not in answer.text + str(logs)
    fault, line = logs
    assert fault["error_id"] == answer.json()["error_id"]
    assert any("test_edge.py" in place and "fails" in place for place in fault["where"])
    assert (line["event"], line["status"]) == ("request", 500)


async def test_a_fault_in_the_middle_of_an_answer_is_logged_and_ends_it() -> None:
    wire = Wire(path="/v1/fails-late")
    wire.scope["method"] = "GET"
    with capture_logs() as logs:
        await wire.through(application())
    assert [message.get("body") for message in wire.sent] == [None, b"some"]
    assert [line["event"] for line in logs] == ["request_failed", "request"]
    assert SECRET not in str(logs)


@pytest.mark.parametrize(
    ("method", "path", "line"),
    [
        (
            "GET",
            f"/v1/borrowers/{SECRET}?x={SECRET}",
            {"route": "/v1/borrowers/{borrower_id}", "status": 200, "tenant": "acme"},
        ),
        ("DELETE", f"/v1/borrowers/{SECRET}", {"route": "/v1/borrowers/{borrower_id}", "status": 405}),
        ("POST", f"/hooks/voice/{SECRET}", {"route": "/hooks/{channel}/{hook_id}", "status": 200}),
        ("GET", f"/nothing/{SECRET}", {"route": "-", "status": 404}),
        ("GET", "/v1/refused", {"route": "/v1/refused", "status": 403}),
        ("GET", "/healthz", {"route": "/healthz", "status": 200, "log_level": "debug"}),
    ],
)
async def test_one_line_tells_the_route_and_never_the_path(method: str, path: str, line: dict[str, object]) -> None:
    seen: list[tuple[str, str, int]] = []
    app = application(observe=lambda method, route, status, seconds: seen.append((method, route, status)))
    with capture_logs() as logs:
        await ask(method, path, app, content=SECRET.encode() if method == "POST" else None)
    [written] = logs
    assert written.pop("ms") >= 0
    assert written == {"event": "request", "method": method, "log_level": "info", **line}
    assert seen == [(method, line["route"], line["status"])]
    assert SECRET not in str(logs)


async def test_a_log_or_a_metric_that_throws_fails_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def throw(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(edge.log, "info", throw, raising=False)
    assert (await ask("GET", "/v1/refused")).status_code == 403
    monkeypatch.undo()
    assert (await ask("GET", "/v1/refused", application(observe=throw))).status_code == 403


async def test_what_is_not_http_passes_untouched() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    await Edge(app)({"type": "lifespan"}, never, never)  # type: ignore[arg-type]
    assert seen == ["lifespan"]


# -- on a real socket --------------------------------------------------------------------------------------------------


@contextmanager
def served(app: Any) -> Iterator[int]:
    server = uvicorn.Server(
        uvicorn.Config(app, http=Http, port=0, log_level="critical", access_log=False, lifespan="off")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not server.started:
        if time.monotonic() > deadline:
            raise TimeoutError("it did not begin to serve")
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served(application()) as number:
        yield number


def talk(port: int, head: str, parts: Iterator[bytes], listening: bool) -> tuple[int, bytes]:
    """Status and body. `listening`: stops sending as soon as an answer comes."""
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.sendall(f"POST {head}\r\nHost: test\r\n\r\n".encode())
        for piece in parts:
            if listening and select.select([connection], [], [], 0.002)[0]:
                break
            connection.sendall(piece)
        got = b""
        while chunk := connection.recv(65_536):
            got += chunk
            if got.endswith(b"}"):
                break
    return int(got.split(b" ", 2)[1]), got.partition(b"\r\n\r\n")[2]


def plain(size: int) -> Iterator[bytes]:
    return iter([b"x" * 65_536] * (size // 65_536))


def chunked(size: int) -> Iterator[bytes]:
    yield from (b"10000\r\n" + piece + b"\r\n" for piece in plain(size))
    yield b"0\r\n\r\n"


@pytest.mark.parametrize("listening", [True, False], ids=["listens while it sends", "sends all first"])
@pytest.mark.parametrize("close", ["", "\r\nConnection: close"], ids=["keep-alive", "close"])
@pytest.mark.parametrize(
    ("how", "parts"),
    [(f"Content-Length: {3 * MIB}", plain), ("Transfer-Encoding: chunked", chunked)],
    ids=["announced", "chunked"],
)
def test_a_client_with_too_much_to_say_reads_its_refusal(
    port: int, how: str, parts: Callable[[int], Iterator[bytes]], close: str, listening: bool
) -> None:
    status, body = talk(port, f"/v1/read HTTP/1.1\r\n{how}{close}", parts(3 * MIB), listening)
    assert (status, json.loads(body)["code"]) == (413, "too_large")


def test_what_is_within_the_limit_is_read_from_a_socket(port: int) -> None:
    for how, parts in ((f"Content-Length: {MIB}", plain), ("Transfer-Encoding: chunked", chunked)):
        status, body = talk(port, f"/v1/read HTTP/1.1\r\n{how}", parts(MIB), False)
        assert (status, json.loads(body)) == (200, {"size": MIB})


def test_one_connection_serves_many_requests(port: int) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        for number in range(20):
            assert client.get(f"/v1/borrowers/B-{number}").json() == {"borrower_id": f"B-{number}"}
            assert client.post("/v1/read", content=b"x" * number).json() == {"size": number}
            assert client.get("/nothing").status_code == 404
