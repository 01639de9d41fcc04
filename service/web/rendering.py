"""The one place that turns whatever was raised into a refusal that is answered (RFC 9457).

What is no refusal of ours is logged here, once, by where it happened and never by its message, which may hold input.
"""

from __future__ import annotations

import traceback
import uuid
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec
import structlog
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from service.errors import (
    InternalError,
    MalformedJson,
    MethodNotAllowed,
    NotFound,
    NotJson,
    OtherHttp,
    Problem,
    RateLimited,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from service.outage import database_out_of_reach
from service.web.invalid import invalid_parameters

MEDIA_TYPE: Final = "application/problem+json"
TRACE_LIMIT_FRAMES: Final = 16
LIBRARY_LIMIT_FRAMES: Final = 3

log = structlog.get_logger("service.web.rendering")


def problem_response(problem: Problem) -> Response:
    return Response(
        msgspec.json.encode(problem.body()), problem.status, headers=problem.headers(), media_type=MEDIA_TYPE
    )


def problem_for(error: Exception) -> Problem:
    """The problem that answers whatever was raised. What is no refusal of ours is logged here, with an id, once.

    A `pydantic.ValidationError` is no refusal: a route that reads a client's document says so with `invalid_body`;
    one that escapes from anywhere else is a fault of ours.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return _from_http(error)
    if isinstance(error, RequestValidationError):
        return invalid_parameters(error)
    if database_out_of_reach(error):
        log.warning("unavailable", error=type(error).__name__, where=_where(error))
        return Unavailable("the database cannot be reached just now; it is safe to send it again")
    error_id = uuid.uuid4().hex[:12]
    log.error("request_failed", error_id=error_id, error=type(error).__name__, where=_where(error))
    return InternalError(error_id)


async def answer_problem(request: Request, error: Exception) -> Response:
    """An exception handler in Starlette's form for everything in `HANDLED`."""
    return problem_response(problem_for(error))


# What the application hands to `answer_problem`. Everything else raised is caught by `service.web.edge`, not by a handler
# for `Exception`: Starlette would raise it again after answering, and the server would log it with its message, which
# may hold input.
HANDLED: Final[tuple[type[Exception], ...]] = (Problem, HTTPException, RequestValidationError)


def exception_handlers() -> dict[int | type[Exception], Callable[[Request, Exception], Awaitable[Response]]]:
    """For `FastAPI(exception_handlers=...)`."""
    return dict.fromkeys(HANDLED, answer_problem)


def _from_http(error: HTTPException) -> Problem:
    """The framework's own refusals; its words are not passed on, its headers (`Allow`) are."""
    headers = dict(error.headers or {})
    named: Mapping[int, Callable[[], Problem]] = {
        400: MalformedJson,
        401: Unauthenticated,
        404: lambda: NotFound(headers=headers),
        405: lambda: MethodNotAllowed(headers=headers),
        413: TooLarge,
        415: NotJson,
        429: RateLimited,
        503: Unavailable,
    }
    make = named.get(error.status_code)
    return make() if make else OtherHttp(error.status_code, headers)


def _where(error: BaseException) -> list[str]:
    """The way to a fault as places in the code, innermost last; of libraries only where it ended.

    The error's message stays out: it may hold input.
    """
    frames = traceback.extract_tb(error.__traceback__)
    kept = [frame for frame in frames[:-LIBRARY_LIMIT_FRAMES] if "site-packages" not in frame.filename]
    kept = (kept + frames[-LIBRARY_LIMIT_FRAMES:])[-TRACE_LIMIT_FRAMES:]
    places = ["/".join(Path(frame.filename).parts[-2:]) + f":{frame.lineno} {frame.name}" for frame in kept]
    cause = error.__cause__ or error.__context__
    return [*places, f"after {type(cause).__name__}"] if cause else places
