"""A model behind a scripted endpoint: what is asked and read, and the limits around it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from service.models.asking import Message, ModelFailed
from service.models.endpoint import ANSWER_BYTES, Endpoint
from service.models.guarded import Guarded
from service.written import written
from statemachine.volatility import Writer
from tests.together.model import ModelServer

ASKED = (
    Message("system", written(Writer.INSTRUCTION, "be brief")),
    Message("user", written(Writer.QUESTION, "hello")),
    Message("assistant", written(Writer.CONVERSATION, "yes")),
)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def endpoint(server: ModelServer) -> AsyncIterator[Endpoint]:
    made = Endpoint(server.url, "scripted", None)
    yield made
    await made.close()


async def failure(endpoint: Endpoint, server: ModelServer, said: str | int | float, seconds: float = 5.0) -> str:
    server.answers["hello"] = [said]
    with pytest.raises(ModelFailed) as failed:
        await endpoint.complete(ASKED, seconds=seconds, tokens=10)
    assert "hello" not in str(failed.value)
    return failed.value.reason


async def test_the_text_of_the_first_choice_is_the_answer(endpoint: Endpoint, server: ModelServer) -> None:
    server.answers["hello"] = ["so be it"]
    assert await endpoint.complete(ASKED, seconds=5, tokens=10) == "so be it"
    assert server.requests[-1] == "be brief\nhello\nyes"
    assert endpoint.name == "scripted"


async def test_an_error_of_the_endpoint_and_silence_fail_with_their_reasons(
    endpoint: Endpoint, server: ModelServer
) -> None:
    assert await failure(endpoint, server, 500) == "unavailable"
    assert await failure(endpoint, server, 401) == "unavailable"
    assert await failure(endpoint, server, 30.0, seconds=0.3) == "timeout"


async def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    nobody = Endpoint("http://127.0.0.1:9/v1", "scripted", "key")
    with pytest.raises(ModelFailed) as failed:
        await nobody.complete(ASKED, seconds=5, tokens=10)
    assert failed.value.reason == "unavailable"
    await nobody.close()


@contextlib.asynccontextmanager
async def answering(raw: bytes, status: str = "200 OK", length: int | None = None) -> AsyncIterator[Endpoint]:
    """One that answers these bytes to everything; `length` where it tells of another than they have."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            size = len(raw) if length is None else length
            writer.write(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n".encode())
            writer.write(raw)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        endpoint = Endpoint(f"http://127.0.0.1:{port}/v1", "scripted", None)
        yield endpoint
        await endpoint.close()


async def failed(endpoint: Endpoint) -> str:
    with pytest.raises(ModelFailed) as why:
        await endpoint.complete(ASKED, seconds=5, tokens=10)
    return why.value.reason


def said(content: object, *others: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": one}} for one in (content, *others)]}).encode()


NO_ANSWER = {
    "no JSON": b"not json", "no choices": b"{}", "none of them": b'{"choices": []}', "a number": said(5), "null": b"null",
    "nothing": b"", "a text": b'"text"', "no content": said(None), "parts": said([{"type": "text", "text": "yes"}]),
    "no message": b'{"choices": [{"message": null}]}', "no UTF-8": b'{"choices": [{"message": {"content": "\xff"}}]}',
    "deep": b"[" * 100_000, "long": said("x" * (ANSWER_BYTES + 1)),
}  # fmt: skip


@pytest.mark.parametrize("raw", NO_ANSWER.values(), ids=NO_ANSWER.keys())
async def test_what_is_no_answer_of_its_form_is_unreadable(raw: bytes) -> None:
    async with answering(raw) as endpoint:
        assert await failed(endpoint) == "unreadable"


async def test_only_the_first_choice_is_read() -> None:
    async with answering(said("yes", 7)) as endpoint:
        assert await endpoint.complete(ASKED, seconds=5, tokens=10) == "yes"


async def test_an_answer_that_breaks_off_is_unavailable() -> None:
    async with answering(said("yes")[:20], length=500) as endpoint:
        assert await failed(endpoint) == "unavailable"


@pytest.mark.parametrize("status", ["429 Busy", "500 Broken"])
async def test_of_a_refusal_the_body_is_not_read(status: str) -> None:
    async with answering(b"x", status, length=1 << 40) as endpoint:
        assert await failed(endpoint) == "unavailable"


# -- within limits -------------------------------------------------------------------------------------------------------


class Scripted:
    """A model that answers when it is let, and counts who is there at once."""

    name = "scripted"

    def __init__(self) -> None:
        self.fails = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.there = self.most = self.asked = 0

    async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
        self.asked += 1
        self.there += 1
        self.most = max(self.most, self.there)
        try:
            async with asyncio.timeout(seconds):
                await self.gate.wait()
        except TimeoutError:
            raise ModelFailed("timeout", "silent") from None
        finally:
            self.there -= 1
        if self.fails:
            raise ModelFailed("unavailable", "down")
        return json.dumps(len(messages))

    async def close(self) -> None:
        self.gate.set()


async def reason(guarded: Guarded, seconds: float = 5.0) -> str:
    try:
        await guarded.complete(ASKED, seconds=seconds, tokens=1)
    except ModelFailed as failed:
        return failed.reason
    return "ok"


async def test_calls_at_once_are_bounded_and_the_rest_wait_within_their_deadline() -> None:
    model = Scripted()
    guarded = Guarded(model, at_once=2)
    model.gate.clear()
    waiting = [asyncio.ensure_future(reason(guarded)) for _ in range(5)]
    assert await reason(guarded, seconds=0.05) == "timeout"
    model.gate.set()
    assert await asyncio.gather(*waiting) == ["ok"] * 5
    assert model.most == 2


async def test_after_failures_in_a_row_nobody_asks_until_one_call_has_tried() -> None:
    model = Scripted()
    guarded = Guarded(model, failures=3, rest_seconds=0.1)
    model.fails = True
    assert [await reason(guarded) for _ in range(5)] == ["unavailable"] * 5
    assert (model.asked, guarded.health()) == (3, "rests after failures")
    await asyncio.sleep(0.12)
    model.fails = False
    model.gate.clear()
    trying = [asyncio.ensure_future(reason(guarded)) for _ in range(4)]
    await asyncio.sleep(0.02)
    model.gate.set()
    assert sorted(await asyncio.gather(*trying)) == ["ok", "unavailable", "unavailable", "unavailable"]
    assert (model.asked, guarded.health()) == (4, "ok")
    assert await reason(guarded) == "ok"


async def test_a_model_that_rests_is_told_by_how_it_failed() -> None:
    """API 6: whoever waits for a model that hangs is told `timeout`, also while nobody asks it."""
    model = Scripted()
    guarded = Guarded(model, failures=2, rest_seconds=60.0)
    model.gate.clear()
    assert [await reason(guarded, seconds=0.01) for _ in range(4)] == ["timeout"] * 4
    assert model.asked == 2


async def test_a_call_that_is_given_up_leaves_its_place_to_others() -> None:
    model = Scripted()
    guarded = Guarded(model, at_once=1, failures=1, rest_seconds=0.0)
    model.gate.clear()
    given_up = asyncio.ensure_future(reason(guarded))
    await asyncio.sleep(0.01)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    model.gate.set()
    assert await reason(guarded) == "ok"


async def test_the_budget_of_an_hour_is_not_exceeded() -> None:
    model = Scripted()
    guarded = Guarded(model, in_an_hour=2)
    assert [await reason(guarded) for _ in range(3)] == ["ok", "ok", "unavailable"]
    assert (guarded.calls, guarded.failures) == (2, 0)
