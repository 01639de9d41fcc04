"""How a call of the API is declared and answered: one decorator, one form.

A call's handler gets the request, the key that asked and nothing else. FastAPI documents it (path, parameters, body with an
example, operation id) and routes to it, but does not parse for it: bodies and query parameters pass our own strict reading,
which refuses what the framework takes (NaN, a key twice, unknown fields) and names the field (API 1).

This file knows no borrower and no table.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import unquote_to_bytes

from fastapi import APIRouter, Body, Path, Query
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from service import strictjson
from service.errors import FieldError, InvalidBody, MissingScope, Unauthenticated
from service.strictjson import REPLACEMENT
from service.web import edge
from service.web.invalid import ID_NAMES, invalid_body, refuse_broken_ids
from statemachine.wire import Frozen

if TYPE_CHECKING:
    from service.keys import Key
    from service.wiring import Parts

M = TypeVar("M", bound=BaseModel)
JSON = "application/json"


@dataclass(slots=True)
class Call:
    """One request being answered: who asked, and what of it has been read."""

    request: Request
    parts: Parts
    key: Key
    operation: str
    """The call's id, as API 2 has it."""
    repaired: tuple[str, ...] = ()
    """Paths of texts in the body in which a NUL or half a surrogate was replaced."""
    document: Any = field(default=None, repr=False)

    @property
    def tenant(self) -> str:
        return self.key.tenant

    @property
    def is_a_tools(self) -> bool:
        """Whether an agent asks through a tool (`service.mcp`), which modes govern where the call itself they do not."""
        return edge.is_beneath(self.request.scope)

    async def read(self) -> Any:
        """The body as a document; raises `MalformedJson` or `NotJson`."""
        self.document, self.repaired = await edge.json_body(self.request)
        refuse_broken_ids(self.repaired)
        return self.document

    async def read_batch(self, name: str) -> tuple[Any, dict[int, tuple[str, ...]]]:
        """The body as a document, and the repaired texts beneath each item of its list `name`, for each to answer for."""
        self.document, repaired = await edge.json_body(self.request)
        return self.document, strictjson.by_item(repaired, name)

    async def body(self, model: type[M]) -> M:
        """The body as this model; raises `InvalidBody` naming each wrong field."""
        return checked(model, await self.read(), self.repaired)

    def query(self, model: type[M]) -> M:
        """The query parameters as this model of texts: checked like a body, and one that is named twice is wrong."""
        given: dict[str, Any] = {}
        for name, value in self.request.query_params.multi_items():
            if name in given or self._is_broken(value, "query_string"):
                raise InvalidBody(
                    [FieldError(name, "bad_id" if name in ID_NAMES and name not in given else "wrong_type")]
                )
            given[name] = value
        return checked(model, given)

    def in_path(self, name: str) -> str:
        """A part of the path; raises `InvalidBody` for one that is not UTF-8."""
        value: str = self.request.path_params[name]
        if self._is_broken(value, "raw_path"):
            raise InvalidBody([FieldError(name, "bad_id")])
        return value

    def _is_broken(self, value: str, part: str) -> bool:
        """Whether it is not what was sent: the server reads bytes that are no UTF-8 as U+FFFD, and two ids would become one."""
        if REPLACEMENT not in value:
            return False
        try:
            unquote_to_bytes(self.request.scope.get(part) or b"").decode()
        except UnicodeDecodeError:
            return True
        return False

    def require(self, scope: str) -> None:
        """Raises `MissingScope` unless the key has it."""
        if scope not in self.key.scopes:
            raise MissingScope(scope)


def checked(model: type[M], document: Any, repaired: tuple[str, ...] = ()) -> M:
    """The document as a model, or the refusal that names what is wrong with it."""
    try:
        return model.model_validate(document)
    except ValidationError as wrong:
        raise invalid_body(wrong, document, repaired=repaired) from None


class Json(Response):
    """JSON that is bytes by now: its headers need no looking for."""

    media_type = JSON

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        assert headers is None, "an answer with headers of its own is a Response"
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", JSON.encode())]


def answered(value: Any, status: int = 200) -> Response:
    """An answer in which decimals are text: all money."""
    return Json(strictjson.dump(value), status)


def answered_as_sent(value: Any, status: int = 200) -> Response:
    """An answer that gives back what was posted: its numbers stay numbers."""
    return Json(strictjson.dump_as_sent(value), status)


Handler = Callable[[Call], Awaitable[Response]]


class DirectRoute(APIRoute):
    """Documented by FastAPI, answered without its parsing."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint.handle  # type: ignore[attr-defined]
        return handle


@dataclass(frozen=True, slots=True)
class Taken:
    """What a call takes beside its path: models, or a union of models."""

    body: Any
    query: type[BaseModel] | None


def operations(routers: Iterable[APIRouter]) -> dict[str, DirectRoute]:
    """The calls that are made with a key, by operation id."""
    every = (route for router in routers for route in router.routes if isinstance(route, DirectRoute))
    return {route.operation_id: route for route in every if route.operation_id and hasattr(route.endpoint, "taken")}


def taken_by(route: DirectRoute) -> Taken:
    taken: Taken = route.endpoint.taken  # type: ignore[attr-defined]
    return taken


def direct(routers: Iterable[APIRouter]) -> dict[tuple[str, str], ASGIApp]:
    """The calls whose path has no part of its own, by method and path. The framework would ask its routes one by one, and
    put layers around them that such a call has no use for."""
    found: dict[tuple[str, str], ASGIApp] = {}
    for route in (route for router in routers for route in router.routes):
        if isinstance(route, DirectRoute) and "{" not in route.path:
            found.update({(method, route.path): _answering(route) for method in route.methods or ()})
    return found


def _answering(route: DirectRoute) -> ASGIApp:
    handle = route.get_route_handler()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = route
        response = await handle(Request(scope, receive, send))
        await response(scope, receive, send)

    return answer


def routes(tag: str) -> APIRouter:
    """The calls of one noun."""
    return APIRouter(route_class=DirectRoute, tags=[tag])


def call(
    router: APIRouter,
    method: str,
    path: str,
    operation_id: str,
    *,
    scope: str | None,
    body: Any = None,
    examples: Mapping[str, Any] | None = None,
    query: type[BaseModel] | None = None,
    answers: str = "",
) -> Callable[[Handler], Handler]:
    """Declares a call; `scope` is what the key must have, or null when the handler asks for it itself."""

    def declare(handler: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            parts: Parts = request.app.state.parts
            key = await authenticated(request, parts)
            if scope is not None and scope not in key.scopes:
                raise MissingScope(scope)
            call = Call(request, parts, key, operation_id)
            if query is None and request.scope["query_string"]:
                call.query(Parameters)
            return await handler(call)

        documented = _documented(handler, path, body, examples, query)
        documented.handle = handle  # type: ignore[attr-defined]
        documented.taken = Taken(body, query)  # type: ignore[attr-defined]
        router.add_api_route(
            path,
            documented,
            methods=[method],
            operation_id=operation_id,
            summary=(inspect.getdoc(handler) or operation_id).splitlines()[0],
            description=(f"Needs the scope `{scope}`. " if scope else "") + answers,
            openapi_extra={"security": [{"bearer": []}]},
            response_class=Response,
            responses={200: {"content": {JSON: {}}, "description": answers or "done"}},
        )
        return handler

    return declare


async def authenticated(request: Request, parts: Parts) -> Key:
    """The key of `Authorization: Bearer <key>`; raises `Unauthenticated`, or `RateLimited` for a key that is too fast."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    key = await parts.keyring.lookup(secret.strip()) if kind.lower() == "bearer" and secret else None
    if key is None:
        raise Unauthenticated
    parts.rate_limit.admit(key.key_id)
    edge.note(request.scope, tenant=key.tenant, key=key.key_id)
    return key


def _documented(
    handler: Handler, path: str, body: Any, examples: Mapping[str, Any] | None, query: type[BaseModel] | None
) -> Callable[..., Any]:
    """A function with the signature that FastAPI shall document."""

    async def endpoint(**_: Any) -> None:
        raise AssertionError("documented only: DirectRoute answers")

    kinds = inspect.Parameter.KEYWORD_ONLY
    parameters = []
    for name, known in (("borrower_id", ["B-101"]), ("decision_id", ["D-1"]), ("id", None)):
        if f"{{{name}}}" in path:
            parameters.append(inspect.Parameter(name, kinds, annotation=Annotated[str, Path(examples=known)]))
    if body is not None:
        shown = {name: {"value": value} for name, value in (examples or {}).items()}
        annotation = Annotated[body, Body(openapi_examples=shown or None)]
        parameters.append(inspect.Parameter("body", kinds, annotation=annotation))
    for name, field_ in query.model_fields.items() if query else ():
        documented = Annotated[str | None, Query(alias=field_.alias)]
        parameters.append(inspect.Parameter(name, kinds, default=None, annotation=documented))
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = handler.__name__ if hasattr(handler, "__name__") else "endpoint"
    return endpoint


class Parameters(Frozen):
    """Query parameters: all of them arrive as text. By itself: none are taken."""
