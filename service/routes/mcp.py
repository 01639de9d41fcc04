"""`POST /mcp`: the calls of the API as tools, for agents that speak the Model Context Protocol (DESIGN 14).

The key is checked before anything of the protocol is read; what it may do, each tool's own call says. The limits of the edge
on a body's size and time are those of every call. There are no sessions and no streams, so GET and DELETE are 405.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.mcp.asking import Asking
from service.mcp.tools import TOOLS
from service.web import edge
from service.web.calls import Parameters, authenticated, checked, operations, routes

if TYPE_CHECKING:
    from service.mcp.protocol import Protocol

PATH = "/mcp"


def over(routers: Iterable[APIRouter], version: str) -> APIRouter:
    """The endpoint over these calls. Raises `LookupError` when a tool names a call that is not among them."""
    known = operations(routers)
    endpoint = _Endpoint(tuple(Asking(tool, known) for tool in TOOLS), version)
    router = routes("mcp")

    async def mcp() -> None:
        raise AssertionError("DirectRoute answers")

    mcp.handle = endpoint.handle  # type: ignore[attr-defined]
    router.add_api_route(PATH, mcp, methods=["POST"], include_in_schema=False, response_class=Response)
    return router


class _Endpoint:
    """The protocol's library takes most of a second to import: it is loaded when the first agent asks, in a thread."""

    def __init__(self, tools: tuple[Asking, ...], version: str) -> None:
        self._tools = tools
        self._version = version
        self._protocol: Protocol | None = None
        self._loading = asyncio.Lock()

    async def handle(self, request: Request) -> Response:
        await authenticated(request, request.app.state.parts)
        checked(Parameters, dict(request.query_params))
        await edge.json_body(request)  # what is no JSON of ours is refused here, in our words
        return _Answered(await self._loaded())

    async def _loaded(self) -> Protocol:
        async with self._loading:
            if self._protocol is None:
                self._protocol = await asyncio.to_thread(_protocol, self._tools, self._version)
        return self._protocol


def _protocol(tools: tuple[Asking, ...], version: str) -> Protocol:
    from service.mcp.protocol import Protocol

    return Protocol(tools, version)


class _Answered(Response):
    """An answer that the protocol gives."""

    def __init__(self, protocol: Protocol) -> None:
        super().__init__()
        self._protocol = protocol

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._protocol.answer(scope, receive, send)
