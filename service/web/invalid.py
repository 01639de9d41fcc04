"""A client's document that a model does not take, told by field in the codes of API 14."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import pydantic
from fastapi.exceptions import RequestValidationError

from service.errors import FieldError, InvalidBody, MalformedJson, Problem, TooLarge

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
ERRORS_READ: Final = 1_000
"""Of one document: a list of hundreds of thousands of nothings would hold everybody up, and only the first are told."""
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
    details = error.errors(include_url=False, include_input=False)[:ERRORS_READ]
    found = _one_per_field(_field_error(detail, document) for detail in details)
    for field, code in found.items():
        if code == TOO_LARGE or (code == "too_long" and field in prose):
            return TooLarge(field)
    for broken in broken_ids(repaired):
        found[broken.field] = broken.code
    more = f"more than {ERRORS_READ:,} fields are wrong" if error.error_count() > ERRORS_READ else None
    return InvalidBody([FieldError(field, code) for field, code in found.items()], more)


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
        "replaces",
        "execution_id",
        "fact_id",
        "turn_id",
        "after",
    }
)
"""Fields that hold an id, or a list of them. A test compares them with the bodies of all calls."""
FREE: Final = frozenset({"extra", "proposal"})
"""What a client says in a form of its own."""


def refuse_broken_ids(repaired: Iterable[str]) -> None:
    """Raises `InvalidBody` when an id had to be repaired: two ids must never become one (API 1)."""
    if broken := broken_ids(repaired):
        raise InvalidBody(broken)


def broken_ids(repaired: Iterable[str]) -> list[FieldError]:
    """The ids and identifiers among the repaired paths. What lies in `extra` or a proposal is the client's own and is none."""
    errors = []
    for path in repaired:
        names = path.split(".")
        if not FREE.isdisjoint(names):
            continue
        if names[-1] in ID_NAMES or (names[-1].isdigit() and names[-2:-1] == ["replaces"]):
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


def invalid_parameters(error: RequestValidationError) -> Problem:
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
