"""What goes out and what is said of it, also on a real socket."""

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from service.web import edge
from service.web.edge import Edge
from service.web.serving import Http
from tests.limits import PATIENCE_SECONDS
from tests.service.edge.asking import MIB, SECRET, Wire, application, ask, never

# -- what goes out, and what is said of it ----------------------------------------------------------------------------


async def test_a_fault_is_answered_in_our_form_and_its_words_reach_neither_client_nor_log() -> None:
    with capture_logs() as logs:
        answer = await ask("GET", "/v1/fails")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert SECRET not in answer.text + str(logs)
    fault, line = logs
    assert fault["error_id"] == answer.json()["error_id"]
    assert any("asking.py" in place and "fails" in place for place in fault["where"])
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


# -- on a real socket -------------------------------------------------------------------------------------------------


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
