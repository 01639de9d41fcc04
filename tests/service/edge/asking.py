"""An application of a few calls behind the edge, and who asks it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
from fastapi import APIRouter, FastAPI, Request
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from service.errors import MissingScope
from service.web import edge
from service.web.edge import Edge
from service.web.rendering import exception_handlers

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


async def never(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the application must not see this request")
