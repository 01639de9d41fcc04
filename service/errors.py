"""The named refusals of the service, and their one form on the wire.

Codes, titles and members are API 1 and 14. A problem never carries a value of the input; ids are the one exception
(`id_conflict`, `ambiguous_identifier`). Names of fields are told, because that is what a client mends.

This file must not know any route, table or rule of the domain, nor how a refusal reaches its caller: callers raise,
`service.web.rendering` answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import ClassVar, Final, NamedTuple

RETRY_AFTER_SECONDS: Final = 1
ERRORS_LIMIT: Final = 100  # listed fields of one answer; `detail` counts them all
FIELD_LIMIT_CHARS: Final = 200  # of one field's name in an answer


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

    def __init__(self, errors: Sequence[FieldError], detail: str | None = None) -> None:
        assert errors, "an invalid body names at least one field"
        count = len({error.field for error in errors})
        super().__init__(detail or ("1 field is wrong" if count == 1 else f"{count} fields are wrong"), errors=errors)


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


def _shortened(name: str) -> str:
    return name if len(name) <= FIELD_LIMIT_CHARS else name[: FIELD_LIMIT_CHARS - 1] + "…"
