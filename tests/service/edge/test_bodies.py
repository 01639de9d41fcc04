"""What comes in: sizes, forms and times of bodies."""

import json
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message, Receive, Scope, Send
from structlog.testing import capture_logs

from service.web import edge
from service.web.edge import BODY_LIMIT_BYTES, HOOK_BODY_LIMIT_BYTES, Edge, InFlight
from tests.service.edge.asking import MIB, Wire, ask, never


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


def part(body: bytes, more: bool = True) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


CHUNKED = ((b"transfer-encoding", b"chunked"),)


def announcing(size: int, *more: tuple[bytes, bytes]) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"content-length", str(size).encode()), *more)


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
        (b'{"a": 1}', "Application/JSON; charset=utf-8", 200, None),
        (b'{"a": 1}', "application/merge-patch+json", 200, None),
        (b'{"a": 1}', None, 200, None),
        (b'{"a": 1}', "", 200, None),
        (b"a=1", None, 400, "malformed_json"),
        (b'{"a": 1}', "text/plain", 415, "not_json"),
        (b'{"a": 1}', "application/x-www-form-urlencoded", 415, "not_json"),
        (b'{"a": 1}', "multipart/form-data; boundary=x", 415, "not_json"),
        (b'{"a": 1}', ";charset=utf-8", 415, "not_json"),
        (b'{"a": 1}', "application/jsonx", 415, "not_json"),
        (b"", "text/plain", 415, "not_json"),
        (b"{", "application/json", 400, "malformed_json"),
        (b'{"x": NaN}', "application/json", 400, "malformed_json"),
        (b"", "application/json", 400, "malformed_json"),
        (b"[" * 100_000, "application/json", 400, "malformed_json"),
    ],
)
async def test_documents(content: bytes, content_type: str | None, status: int, code: str | None) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    answer = await ask("POST", "/v1/document", content=content, headers=headers)
    assert (answer.status_code, answer.json().get("code")) == (status, code)
