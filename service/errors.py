"""The named refusals of the service, their one form on the wire, and the one place that turns errors into them.

Codes, titles and members are API 1 and 14. A problem never carries a value of the input; ids are the one exception
(`id_conflict`, `ambiguous_identifier`). Names of fields are told, because that is what a client mends.

This file must not know any route, table or rule of the domain: callers raise, it renders.
"""

import traceback
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import msgspec
import pydantic
import structlog
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from service.outage import database_out_of_reach

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = 1
ERRORS_LIMIT: Final = 100  # listed fields of one answer; `detail` counts them all
FIELD_LIMIT_CHARS: Final = 200  # of one field's name in an answer
TRACE_LIMIT_FRAMES: Final = 16
LIBRARY_LIMIT_FRAMES: Final = 3

log = structlog.get_logger("service.errors")


class FieldError(NamedTuple):
    """One wrong field: its dotted path as the client wrote it, and a code of API 14."""

    field: str
    code: str


class Problem(Exception):
    """A refusal with its status, code and sentence (RFC 9457).

    `extra` are further members of the body (`scope`, `reason`, `candidates`, ...). `retry_after` is whole seconds and
    becomes the header; only problems that a retry can cure carry it (API 14).
    """

    status: int = 500
    code: str = "internal"
    title: str = "Internal error"
    sentence: ClassVar[str] = "the service failed; this is not the request's fault"

    def __init__(
        self,
        detail: str | None = None,
        *,
        errors: Sequence[FieldError] = (),
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: object,
    ) -> None:
        self.detail = detail or self.sentence
        super().__init__(self.detail)
        self.errors = tuple(errors)
        self.retry_after = retry_after
        self.extra: dict[str, object] = extra
        self._headers = dict(headers or {})

    def body(self) -> dict[str, object]:
        """The members of the answer, also used inside the results of a batch."""
        members: dict[str, object] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        if self.errors:
            listed = self.errors[:ERRORS_LIMIT]
            members["errors"] = [{"field": _shortened(error.field), "code": error.code} for error in listed]
        return members | self.extra

    def headers(self) -> dict[str, str]:
        if self.retry_after is None:
            return dict(self._headers)
        return self._headers | {"Retry-After": str(max(1, self.retry_after))}


class MalformedJson(Problem):
    status, code, title = 400, "malformed_json", "Malformed JSON"
    sentence = "the body is not one JSON document in UTF-8"


class Unauthenticated(Problem):
    status, code, title = 401, "unauthenticated", "Unauthenticated"
    sentence = "a valid key is needed: Authorization: Bearer <key>"

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": "Bearer"})


class MissingScope(Problem):
    status, code, title = 403, "missing_scope", "Missing scope"

    def __init__(self, scope: str) -> None:
        super().__init__(f"this call needs the scope {scope}", scope=scope)


class NotFound(Problem):
    status, code, title = 404, "not_found", "Not found"
    sentence = "there is nothing at this address"


class UnknownBorrower(NotFound):
    code, title = "unknown_borrower", "Unknown borrower"
    sentence = "no borrower of this tenant has this id"


class UnknownIdentifier(NotFound):
    code, title = "unknown_identifier", "Unknown identifier"
    sentence = "this identifier is linked to no borrower"


class UnknownLoan(NotFound):
    code, title = "unknown_loan", "Unknown loan"
    sentence = "the record knows no such loan"


class UnknownFact(NotFound):
    code, title = "unknown_fact", "Unknown fact"
    sentence = "the record holds no such fact"


class UnknownDecision(NotFound):
    code, title = "unknown_decision", "Unknown decision"
    sentence = "no decision of this tenant has this id"


class MethodNotAllowed(Problem):
    status, code, title = 405, "method_not_allowed", "Method not allowed"
    sentence = "this address does not take this method"


class IdConflict(Problem):
    """The same id was taken before with another body. `way_out` is what the caller can do instead."""

    status, code, title = 409, "id_conflict", "Id conflict"

    def __init__(self, name: str, value: str, way_out: str = "post a higher revision or use a new id") -> None:
        super().__init__(f"{name} {value} was taken before with another body: {way_out}")
        self.extra[name] = value


class AmbiguousIdentifier(Problem):
    status, code, title = 409, "ambiguous_identifier", "Ambiguous identifier"
    sentence = "several borrowers share this identifier: name the borrower_id"

    def __init__(self, candidates: Sequence[str]) -> None:
        super().__init__(candidates=list(candidates))


class PermitRefused(Problem):
    """`reason` is the first that applies of API 8; `retry_at` an aware time in UTC, when there is one."""

    status, code, title = 409, "permit_refused", "Permit refused"

    def __init__(self, reason: str, retry_at: datetime | None = None) -> None:
        super().__init__(f"no permit: {reason}", reason=reason, retry_at=retry_at)


class StaleContext(Problem):
    """Members as API 9: decision_version, observed_version, decision_status, correction."""

    status, code, title = 409, "stale_context", "Stale context"
    sentence = "the decision rests on another version than the one in force"


class TooLarge(Problem):
    """With `field` it is that text or object which is too long, without it the body."""

    status, code, title = 413, "too_large", "Too large"
    sentence = "the body is larger than this call takes"

    def __init__(self, field: str | None = None) -> None:
        if field is None:
            super().__init__()
        else:
            super().__init__(f"{_shortened(field)} is too large", errors=[FieldError(field, "too_long")])


class NotJson(Problem):
    status, code, title = 415, "not_json", "Not JSON"
    sentence = "send the body as Content-Type: application/json"


class InvalidBody(Problem):
    status, code, title = 422, "invalid_body", "Invalid body"

    def __init__(self, errors: Sequence[FieldError]) -> None:
        assert errors, "an invalid body names at least one field"
        count = len({error.field for error in errors})
        super().__init__("1 field is wrong" if count == 1 else f"{count} fields are wrong", errors=errors)


class RateLimited(Problem):
    status, code, title = 429, "rate_limited", "Too many requests"
    sentence = "this key asks faster than its limit"

    def __init__(self, retry_after: int = RETRY_AFTER_SECONDS) -> None:
        super().__init__(retry_after=retry_after)


class Unavailable(Problem):
    status, code, title = 503, "unavailable", "Unavailable"
    sentence = "the service cannot do this just now; it is safe to send it again"

    def __init__(self, detail: str | None = None, *, retry_after: int = RETRY_AFTER_SECONDS) -> None:
        super().__init__(detail, retry_after=retry_after)


class Unreadable(Unavailable):
    """What is stored of a borrower is damaged: an outage of one record, never an empty memory (DESIGN 9)."""

    sentence = (
        "what is stored of this borrower cannot be read; nothing may be concluded from that, and `rebuild` mends it"
    )


class NotYetMerged(Unavailable):
    code, title = "not_yet_merged", "Not yet merged"
    sentence = "the entry named in `after` is not merged yet"


class SourceUnavailable(Unavailable):
    code, title = "source_unavailable", "Source unavailable"
    sentence = "the source of this decision cannot be read, so nothing may be acted upon"


class InternalError(Problem):
    """A fault of ours. `error_id` finds the log line that says where it happened."""

    def __init__(self, error_id: str) -> None:
        super().__init__(error_id=error_id)


class OtherHttp(Problem):
    """A refusal of the web server's own that API 14 has no name for, such as 408 or 416."""

    def __init__(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        try:
            self.title = HTTPStatus(status).phrase
        except ValueError:
            self.title = f"HTTP {status}"
        self.code = self.title.lower().replace(" ", "_").replace("-", "_")
        super().__init__(self.title.lower(), headers=headers)


# -- rendering ---------------------------------------------------------------------------------------------------------


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
        return _from_parameters(error)
    if database_out_of_reach(error):
        log.warning("unavailable", error=type(error).__name__, where=_where(error))
        return Unavailable("the database cannot be reached just now; it is safe to send it again")
    error_id = uuid.uuid4().hex[:12]
    log.error("request_failed", error_id=error_id, error=type(error).__name__, where=_where(error))
    return InternalError(error_id)


async def answer_problem(request: Request, error: Exception) -> Response:
    """An exception handler in Starlette's form for everything in `HANDLED`."""
    return problem_response(problem_for(error))


# What the application hands to `answer_problem`. Everything else raised is caught by `service.edge`, not by a handler
# for `Exception`: Starlette would raise it again after answering, and the server would log it with its message, which
# may hold input.
HANDLED: Final[tuple[type[Exception], ...]] = (Problem, HTTPException, RequestValidationError)


def exception_handlers() -> dict[int | type[Exception], Callable[[Request, Exception], Awaitable[Response]]]:
    """For `FastAPI(exception_handlers=...)`."""
    return dict.fromkeys(HANDLED, answer_problem)


# -- a client's document that a model does not take --------------------------------------------------------------------

INPUT_CODES: Final = frozenset(
    {
        "unknown_field",
        "missing",
        "wrong_type",
        "not_in_enum",
        "not_a_date",
        "naive_timestamp",
        "time_in_future",
        "bad_id",
        "invalid_identifier",
        "unknown_type",
        "too_many",
        "too_long",
    }
)

# pydantic's names for what API 14 has a code for; what is in neither table is `wrong_type`. A validator of ours raises
# `PydanticCustomError(<code of API 14>, "...")`, and one that judges a whole model names its field in the context:
# `PydanticCustomError("missing", "...", {"field": "borrower_id"})`.
_PYDANTIC_CODES: Final[Mapping[str, str]] = {
    "extra_forbidden": "unknown_field",
    "missing": "missing",
    "too_short": "missing",
    "string_too_short": "missing",
    "union_tag_not_found": "missing",
    "literal_error": "not_in_enum",
    "enum": "not_in_enum",
    "date_parsing": "not_a_date",
    "date_from_datetime_parsing": "not_a_date",
    "date_from_datetime_inexact": "not_a_date",
    "datetime_parsing": "not_a_date",
    "datetime_from_date_parsing": "not_a_date",
    "datetime_object_invalid": "not_a_date",
    "timezone_aware": "naive_timestamp",  # should be aware
    "string_too_long": "too_long",
}
TOO_LARGE: Final = "too_large"  # a validator's own code for what is a 413, as for `extra`
PROSE_FIELDS: Final = frozenset({"summary", "extra"})  # too long is 413 here and 422 elsewhere (API 3, 14)


def invalid_body(
    error: pydantic.ValidationError,
    document: object,
    *,
    repaired: Iterable[str] = (),
    prose: Collection[str] = PROSE_FIELDS,
) -> Problem:
    """The 422 (or 413, when prose is too long) for a document that a model did not take.

    `document` is what was validated: pydantic's locations also hold union tags and validators' names, and only the
    document tells which of their parts the client wrote. `repaired` are the paths from `strictjson.parse`; ids among
    them are refused too.
    """
    details = error.errors(include_url=False, include_input=False)
    found = _one_per_field(_field_error(detail, document) for detail in details)
    for field, code in found.items():
        if code == TOO_LARGE or (code == "too_long" and field in prose):
            return TooLarge(field)
    for broken in broken_ids(repaired):
        found[broken.field] = broken.code
    return InvalidBody([FieldError(field, code) for field, code in found.items()])


ID_NAMES: Final = frozenset(
    {
        "borrower_id",
        "loan_id",
        "cycle_id",
        "conversation_id",
        "event_id",
        "message_id",
        "payment_ref",
        "decision_id",
    }
)


def refuse_broken_ids(repaired: Iterable[str]) -> None:
    """Raises `InvalidBody` when an id had to be repaired: two ids must never become one (API 1)."""
    if broken := broken_ids(repaired):
        raise InvalidBody(broken)


def broken_ids(repaired: Iterable[str]) -> list[FieldError]:
    """The ids and identifiers among the repaired paths. What lies in `extra` is the client's own and is none."""
    errors = []
    for path in repaired:
        names = path.split(".")
        if "extra" in names:
            continue
        if names[-1] in ID_NAMES:
            errors.append(FieldError(path, "bad_id"))
        elif names[-2:] == ["identifier", "value"]:
            errors.append(FieldError(path, "invalid_identifier"))
    return errors


def _field_error(detail: Any, document: object) -> FieldError:
    kind, context = detail["type"], detail.get("ctx") or {}
    names = _written(detail["loc"], document, keep_last=kind == "missing" and "field" not in context)
    code = _PYDANTIC_CODES.get(kind) or (kind if kind in INPUT_CODES or kind == TOO_LARGE else "wrong_type")
    if kind == "too_long" and "actual_length" in context:  # pydantic's own, of a list; ours is of a text
        code = "too_many"
    if "field" in context:
        names.append(str(context["field"]))
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        discriminator = str(context.get("discriminator", "")).strip("'")
        names.append(discriminator)
        if kind == "union_tag_invalid":
            code = "unknown_type" if discriminator == "type" else "not_in_enum"
    return FieldError(".".join(names) or "body", code)


def _written(location: Sequence[int | str], document: object, *, keep_last: bool) -> list[str]:
    """The parts of a location that the client wrote; `keep_last` for a field that is not there."""
    names: list[str] = []
    here: Any = document
    for position, part in enumerate(location):
        container: Any = here if isinstance(here, (dict, list)) else ()
        try:
            here = container[part]
        except (KeyError, IndexError, TypeError):
            if not (keep_last and position == len(location) - 1):
                continue  # a union's tag or a validator's name
        names.append(str(part))
    return names


def _one_per_field(errors: Iterable[FieldError]) -> dict[str, str]:
    """Each member of a union complains for itself: one code per field, and a telling one before `wrong_type`."""
    found: dict[str, str] = {}
    for field, code in errors:
        if found.get(field, "wrong_type") == "wrong_type":
            found[field] = code
    return found


def _from_parameters(error: RequestValidationError) -> Problem:
    """Query, path and header parameters, checked like bodies. The first part of a location says where it stood."""
    details = error.errors()
    if any(detail["type"] == "json_invalid" for detail in details):
        return MalformedJson()
    found: dict[str, str] = {}
    for detail in details:
        parts = detail["loc"][1:]
        error_here = _field_error({**detail, "loc": parts}, dict.fromkeys(parts[:1]))
        found.setdefault(error_here.field, error_here.code)
    return InvalidBody([FieldError(field, code) for field, code in found.items()])


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


# -- faults ------------------------------------------------------------------------------------------------------------


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


def _shortened(name: str) -> str:
    return name if len(name) <= FIELD_LIMIT_CHARS else name[: FIELD_LIMIT_CHARS - 1] + "…"
