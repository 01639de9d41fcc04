"""The problems of API 1 and 14: their form, and how whatever is raised becomes one of them."""

import json
import sqlite3
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import httpx
import pydantic
import pytest
import sqlalchemy
import sqlalchemy.exc
from fastapi import FastAPI, Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, core_schema
from structlog.testing import capture_logs

from service import errors
from service.errors import FieldError, Problem

SECRET = "Zq7Geheim"

EVERY_PROBLEM: list[tuple[Problem, int, str, dict[str, Any]]] = [
    (errors.MalformedJson(), 400, "malformed_json", {}),
    (errors.Unauthenticated(), 401, "unauthenticated", {}),
    (errors.MissingScope("events:ledger"), 403, "missing_scope", {"scope": "events:ledger"}),
    (errors.NotFound(), 404, "not_found", {}),
    (errors.UnknownBorrower(), 404, "unknown_borrower", {}),
    (errors.UnknownIdentifier(), 404, "unknown_identifier", {}),
    (errors.UnknownLoan(), 404, "unknown_loan", {}),
    (errors.UnknownFact(), 404, "unknown_fact", {}),
    (errors.UnknownDecision(), 404, "unknown_decision", {}),
    (errors.MethodNotAllowed(), 405, "method_not_allowed", {}),
    (errors.IdConflict("event_id", "e-1"), 409, "id_conflict", {"event_id": "e-1"}),
    (errors.IdConflict("decision_id", "d-1", "use a new id"), 409, "id_conflict", {"decision_id": "d-1"}),
    (errors.AmbiguousIdentifier(["B-1", "B-2"]), 409, "ambiguous_identifier", {"candidates": ["B-1", "B-2"]}),
    (errors.PermitRefused("hold"), 409, "permit_refused", {"reason": "hold", "retry_at": None}),
    (
        errors.PermitRefused("outside_hours", "2026-11-30T02:30:00Z"),
        409,
        "permit_refused",
        {"reason": "outside_hours", "retry_at": "2026-11-30T02:30:00Z"},
    ),
    (
        errors.StaleContext(decision_version="v1", observed_version="v2", decision_status="stale", correction=None),
        409,
        "stale_context",
        {"decision_version": "v1", "observed_version": "v2", "decision_status": "stale", "correction": None},
    ),
    (errors.TooLarge(), 413, "too_large", {}),
    (errors.TooLarge("summary"), 413, "too_large", {"errors": [{"field": "summary", "code": "too_long"}]}),
    (errors.NotJson(), 415, "not_json", {}),
    (
        errors.InvalidBody([FieldError("paid", "unknown_field")]),
        422,
        "invalid_body",
        {"errors": [{"field": "paid", "code": "unknown_field"}]},
    ),
    (errors.RateLimited(3), 429, "rate_limited", {}),
    (errors.Unavailable(), 503, "unavailable", {}),
    (errors.NotYetMerged(), 503, "not_yet_merged", {}),
    (errors.SourceUnavailable(), 503, "source_unavailable", {}),
    (errors.InternalError("abc"), 500, "internal", {"error_id": "abc"}),
    (errors.OtherHttp(408), 408, "request_timeout", {}),
]
CODES_OF_THE_CONTRACT = """
malformed_json unauthenticated missing_scope unknown_borrower unknown_identifier unknown_loan unknown_fact
unknown_decision not_found method_not_allowed id_conflict ambiguous_identifier permit_refused stale_context
too_large not_json invalid_body rate_limited unavailable not_yet_merged source_unavailable
"""
INPUT_CODES_OF_THE_CONTRACT = """
unknown_field missing wrong_type not_in_enum not_a_date naive_timestamp time_in_future bad_id invalid_identifier
unknown_type too_many too_long
"""


@pytest.mark.parametrize(("problem", "status", "code", "members"), EVERY_PROBLEM, ids=lambda value: str(value)[:40])
def test_every_problem_has_the_one_form(problem: Problem, status: int, code: str, members: dict[str, Any]) -> None:
    answer = errors.problem_response(problem)
    body = json.loads(answer.body)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("application/problem+json")
    form = {"type": "about:blank", "title": problem.title, "status": status, "code": code, "detail": problem.detail}
    assert body == form | members
    assert body["title"]
    assert body["detail"]


def test_every_code_of_the_contract_is_there_and_no_other_but_faults() -> None:
    assert {code for _, _, code, _ in EVERY_PROBLEM} - {"internal", "request_timeout"} == set(
        CODES_OF_THE_CONTRACT.split()
    )
    assert set(INPUT_CODES_OF_THE_CONTRACT.split()) == errors.INPUT_CODES


def test_only_what_a_retry_can_cure_says_when() -> None:
    for problem, status, _, _ in EVERY_PROBLEM:
        assert ("Retry-After" in problem.headers()) == (status in (429, 503)), problem.code
    assert errors.RateLimited(3).headers()["Retry-After"] == "3"
    assert errors.NotYetMerged().headers()["Retry-After"] == "1"
    assert errors.RateLimited(0).headers()["Retry-After"] == "1"


def test_a_conflict_names_its_id_and_the_way_out() -> None:
    detail = errors.IdConflict("event_id", "sum-v-7").detail
    assert "sum-v-7" in detail
    assert "higher revision" in detail


@pytest.mark.parametrize(("count", "words"), [(1, "1 field is wrong"), (2, "2 fields are wrong")])
def test_the_detail_counts_the_fields(count: int, words: str) -> None:
    assert errors.InvalidBody([FieldError(f"f{n}", "missing") for n in range(count)]).detail == words


def test_an_answer_lists_so_many_fields_and_counts_the_rest() -> None:
    problem = errors.InvalidBody([FieldError("x" * 5_000 + str(n), "unknown_field") for n in range(3_000)])
    listed = problem.body()["errors"]
    assert len(listed) == errors.ERRORS_LIMIT
    assert all(len(error["field"]) == errors.FIELD_LIMIT_CHARS for error in listed)
    assert problem.detail == "3000 fields are wrong"


# -- documents that a model does not take ------------------------------------------------------------------------------


def _an_id(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("bad_id", "no id: {given}", {"given": value})
    return value


def _a_small_object(value: dict[str, Any]) -> dict[str, Any]:
    if len(str(value)) > 100:
        raise PydanticCustomError("too_large", "too large")
    return value


def _a_short_text(value: str) -> str:
    if len(value) > 5:
        raise PydanticCustomError("too_long", "at most {limit} characters", {"limit": 5})
    return value


Id = Annotated[str, AfterValidator(_an_id)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Identifier(Strict):
    kind: Literal["phone", "crm"]
    value: str


class Commitment(Strict):
    amount: Decimal | str | None = None
    due_date: Annotated[date | None, Field(strict=False)] = None
    read_back: bool = False


class Summary(Strict):
    borrower_id: Id | None = None
    identifier: Identifier | None = None
    conversation_id: Id
    channel: Literal["voice", "whatsapp"] = "voice"
    revision: Annotated[int, Field(ge=1)] = 1
    ended_at: Annotated[AwareDatetime | None, Field(strict=False)] = None
    summary: Annotated[str, Field(max_length=20)] = ""
    disposition: Annotated[str, Field(max_length=5)] = ""
    third_party: Annotated[str, AfterValidator(_a_short_text)] = ""
    commitment: Commitment | None = None
    turns: Annotated[list[Identifier], Field(max_length=2)] = []
    tools: dict[str, int] = {}
    extra: Annotated[dict[str, Any], AfterValidator(_a_small_object)] = {}

    @pydantic.model_validator(mode="after")
    def _somebody(self) -> "Summary":
        if self.channel == "whatsapp" and self.borrower_id is None:
            raise PydanticCustomError("missing", "nobody is named", {"field": "borrower_id"})
        return self


class Paid(Strict):
    type: Literal["payment.confirmed"]
    amount: Decimal
    settles: bool = False


class Stated(Strict):
    type: Literal["fact.stated"]
    text: str
    who: Annotated[Identifier | list[int] | None, Field()] = None


Event = TypeAdapter(Annotated[Paid | Stated, Field(discriminator="type")])
Batch = TypeAdapter(dict[Literal["events"], list[Annotated[Paid | Stated, Field(discriminator="type")]]])
Summaries = TypeAdapter(Summary)
GOOD = {"conversation_id": "c"}


def refused(model: TypeAdapter[Any], document: object, **more: Any) -> Problem:
    with pytest.raises(ValidationError) as caught:
        model.validate_python(document)
    return errors.invalid_body(caught.value, document, **more)


@pytest.mark.parametrize(
    ("model", "document", "wanted"),
    [
        (Summaries, {**GOOD, "paid": 1}, [("paid", "unknown_field")]),
        (Summaries, {**GOOD, "paid": 1, "sent": 2}, [("paid", "unknown_field"), ("sent", "unknown_field")]),
        (Summaries, {**GOOD, "commitment": {"paid": True}}, [("commitment.paid", "unknown_field")]),
        (Summaries, {}, [("conversation_id", "missing")]),
        (Summaries, {"conversation_id": 7}, [("conversation_id", "wrong_type")]),
        (Summaries, {"conversation_id": ""}, [("conversation_id", "bad_id")]),
        (Summaries, {"conversation_id": "  "}, [("conversation_id", "bad_id")]),
        (Summaries, {**GOOD, "channel": SECRET}, [("channel", "not_in_enum")]),
        (Summaries, {**GOOD, "revision": "two"}, [("revision", "wrong_type")]),
        (Summaries, {**GOOD, "revision": 0}, [("revision", "wrong_type")]),
        (Summaries, {**GOOD, "revision": True}, [("revision", "wrong_type")]),
        (Summaries, {**GOOD, "commitment": {"amount": [SECRET]}}, [("commitment.amount", "wrong_type")]),
        (Summaries, {**GOOD, "commitment": {"amount": {}}}, [("commitment.amount", "wrong_type")]),
        (Summaries, {**GOOD, "commitment": {"read_back": "yes"}}, [("commitment.read_back", "wrong_type")]),
        (Summaries, {**GOOD, "commitment": {"due_date": SECRET}}, [("commitment.due_date", "not_a_date")]),
        (Summaries, {**GOOD, "commitment": {"due_date": "2026-01-28T10:00"}}, [("commitment.due_date", "not_a_date")]),
        (Summaries, {**GOOD, "commitment": {"due_date": "2026-02-30"}}, [("commitment.due_date", "not_a_date")]),
        (Summaries, {**GOOD, "commitment": []}, [("commitment", "wrong_type")]),
        (Summaries, {**GOOD, "ended_at": "2026-01-28T18:05:00"}, [("ended_at", "naive_timestamp")]),
        (Summaries, {**GOOD, "ended_at": SECRET}, [("ended_at", "not_a_date")]),
        (Summaries, {**GOOD, "turns": [{}, {}, {}]}, [("turns", "too_many")]),
        (Summaries, {**GOOD, "turns": [{"kind": "crm"}]}, [("turns.0.value", "missing")]),
        (Summaries, {**GOOD, "disposition": "x" * 6}, [("disposition", "too_long")]),
        (Summaries, {**GOOD, "third_party": "x" * 6}, [("third_party", "too_long")]),
        (Summaries, {**GOOD, "tools": {"get.dues": SECRET}}, [("tools.get.dues", "wrong_type")]),
        (Summaries, {**GOOD, "channel": "whatsapp"}, [("borrower_id", "missing")]),
        (Summaries, None, [("body", "wrong_type")]),
        (Summaries, [], [("body", "wrong_type")]),
        (Event, {"amount": 1}, [("type", "missing")]),
        (Event, {"type": SECRET}, [("type", "unknown_type")]),
        (Event, {"type": 7}, [("type", "unknown_type")]),
        (Event, {"type": ["payment.confirmed"]}, [("type", "unknown_type")]),
        (Event, {"type": "payment.confirmed"}, [("amount", "missing")]),
        (
            Event,
            {"type": "payment.confirmed", "amount": Decimal(5), "settles": "yes", "text": ""},
            [("settles", "wrong_type"), ("text", "unknown_field")],
        ),
        (
            Event,
            {"type": "fact.stated", "text": "x", "who": {"kind": 1}},
            [("who.kind", "not_in_enum"), ("who.value", "missing"), ("who", "wrong_type")],
        ),
        (Event, {"type": "fact.stated", "text": "x", "who": 3}, [("who", "wrong_type")]),
        (Event, {"type": "fact.stated", "fact.stated": 1, "text": "x"}, [("fact.stated", "unknown_field")]),
        (
            Batch,
            {"events": [{"type": "payment.confirmed", "amount": SECRET}, {}, {"type": "x"}]},
            [("events.0.amount", "wrong_type"), ("events.1.type", "missing"), ("events.2.type", "unknown_type")],
        ),
    ],
)
def test_fields_are_named_as_the_client_wrote_them(
    model: TypeAdapter[Any], document: object, wanted: list[tuple[str, str]]
) -> None:
    problem = refused(model, document)
    assert problem.code == "invalid_body"
    assert sorted(problem.errors) == sorted(wanted)
    assert SECRET not in str(problem.body())


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({**GOOD, "summary": "y" * 200}, "summary"),
        ({**GOOD, "summary": "y" * 200, "paid": 1}, "summary"),
        ({**GOOD, "extra": {"x": "y" * 200}}, "extra"),
    ],
)
def test_prose_that_is_too_long_is_too_large_and_named(document: object, field: str) -> None:
    problem = refused(Summaries, document)
    assert (problem.status, problem.code) == (413, "too_large")
    assert [error.field for error in problem.errors] == [field]


def test_which_texts_are_prose_can_be_said() -> None:
    assert refused(Summaries, {**GOOD, "disposition": "x" * 9}, prose={"disposition"}).code == "too_large"


@pytest.mark.parametrize("kind", get_args(core_schema.ErrorType))
def test_every_error_that_pydantic_knows_has_a_code_of_the_contract(kind: str) -> None:
    error = errors._field_error({"type": kind, "loc": ("x",), "ctx": {"discriminator": "'type'"}}, {"x": 1})
    assert error.code in INPUT_CODES_OF_THE_CONTRACT.split()


@pytest.mark.parametrize(
    ("repaired", "wanted"),
    [
        (("summary", "turns.3.text"), []),
        (("conversation_id",), [("conversation_id", "bad_id")]),
        (("extra.borrower_id", "events.3.extra.x.event_id"), []),
        (("events.3.payment_ref",), [("events.3.payment_ref", "bad_id")]),
        (("identifier.value", "summary"), [("identifier.value", "invalid_identifier")]),
    ],
)
def test_a_repaired_id_is_refused_by_name(repaired: tuple[str, ...], wanted: list[tuple[str, str]]) -> None:
    assert errors.broken_ids(repaired) == wanted
    if wanted:
        with pytest.raises(errors.InvalidBody) as caught:
            errors.refuse_broken_ids(repaired)
        assert caught.value.errors == tuple(wanted)
    else:
        errors.refuse_broken_ids(repaired)


def test_a_repaired_id_is_told_beside_the_other_faults() -> None:
    problem = refused(Summaries, {"conversation_id": "c\ufffd", "paid": 1}, repaired=("conversation_id", "summary"))
    assert set(problem.errors) == {("conversation_id", "bad_id"), ("paid", "unknown_field")}


# -- whatever else is raised -------------------------------------------------------------------------------------------


def application() -> FastAPI:
    app = FastAPI(exception_handlers=errors.exception_handlers())

    @app.get("/things/{number}")
    async def things(
        number: int,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        stage: Literal["empty", "paid"] | None = None,
        since: date | None = None,
    ) -> dict[str, int]:
        raise errors.UnknownLoan if number == 0 else errors.NotYetMerged

    @app.post("/typed")
    async def typed(document: dict[str, int]) -> None: ...

    return app


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "wrong"),
    [
        ("GET", "/nothing", 404, "not_found", []),
        ("DELETE", "/things/1", 405, "method_not_allowed", []),
        ("GET", "/things/0", 404, "unknown_loan", []),
        ("GET", "/things/1", 503, "not_yet_merged", []),
        ("GET", f"/things/{SECRET}", 422, "invalid_body", [("number", "wrong_type")]),
        ("GET", "/things/1?limit=abc", 422, "invalid_body", [("limit", "wrong_type")]),
        ("GET", "/things/1?limit=-1", 422, "invalid_body", [("limit", "wrong_type")]),
        ("GET", f"/things/1?stage={SECRET}", 422, "invalid_body", [("stage", "not_in_enum")]),
        (
            "GET",
            f"/things/1?since={SECRET}&limit=0",
            422,
            "invalid_body",
            [("since", "not_a_date"), ("limit", "wrong_type")],
        ),
        ("POST", "/typed", 422, "invalid_body", [("body", "missing")]),
    ],
)
async def test_the_framework_refuses_in_our_form(
    method: str, path: str, status: int, code: str, wrong: list[tuple[str, str]]
) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application()), base_url="http://test") as client:
        answer = await client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert {(error["field"], error["code"]) for error in answer.json().get("errors", [])} == set(wrong)
    assert SECRET not in answer.text
    assert answer.headers.get("allow") == ("GET" if status == 405 else None)


async def test_a_body_that_the_framework_reads_is_malformed_in_our_form() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application()), base_url="http://test") as client:
        answer = await client.post("/typed", content=b"{", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")


def locked(directory: Path) -> None:
    path = directory / "locked.db"
    with sqlite3.connect(path, isolation_level=None) as first, sqlite3.connect(path, timeout=0) as second:
        first.execute("begin exclusive")
        second.execute("create table t (a)")


def unopenable(directory: Path) -> None:
    sqlite3.connect(directory / "none" / "x.db")


def wrapped_unopenable(directory: Path) -> None:
    sqlalchemy.create_engine(f"sqlite:///{directory}/none/x.db").connect()


def no_table(directory: Path) -> None:
    sqlite3.connect(":memory:").execute("select * from nothing")


def wrapped_no_table(directory: Path) -> None:
    with sqlalchemy.create_engine("sqlite://").connect() as connection:
        connection.execute(sqlalchemy.text("select * from nothing"))


class ServerError(Exception):
    """What a PostgreSQL driver raises, as far as it is looked at."""

    def __init__(self, sqlstate: str | None) -> None:
        self.sqlstate = sqlstate


def raised(error: Exception) -> Callable[[Path], None]:
    def do(directory: Path) -> None:
        raise error

    return do


def wrapped(kind: type[sqlalchemy.exc.DBAPIError], cause: Exception, invalidated: bool = False) -> Exception:
    return kind(f"insert {SECRET}", {"a": SECRET}, cause, connection_invalidated=invalidated)


@pytest.mark.parametrize(
    ("fail", "status"),
    [
        (locked, 503),
        (unopenable, 503),
        (wrapped_unopenable, 503),
        (no_table, 500),
        (wrapped_no_table, 500),
        (raised(ConnectionRefusedError(SECRET)), 503),
        (raised(TimeoutError(SECRET)), 503),
        (raised(sqlalchemy.exc.TimeoutError(SECRET)), 503),
        (raised(ServerError("57P03")), 503),
        (raised(ServerError("08006")), 503),
        (raised(ServerError("40001")), 503),
        (raised(ServerError("23505")), 500),
        (raised(wrapped(sqlalchemy.exc.OperationalError, ServerError(None))), 503),
        (raised(wrapped(sqlalchemy.exc.DBAPIError, ServerError("57P01"))), 503),
        (raised(wrapped(sqlalchemy.exc.DBAPIError, ServerError(None), invalidated=True)), 503),
        (raised(wrapped(sqlalchemy.exc.IntegrityError, ServerError("23505"))), 500),
        (raised(wrapped(sqlalchemy.exc.ProgrammingError, ServerError("42P01"))), 500),
        (raised(ValueError(SECRET)), 500),
        (raised(KeyError(SECRET)), 500),
        (raised(FileNotFoundError(SECRET)), 500),
    ],
)
def test_a_world_that_is_not_ready_is_503_and_a_fault_of_ours_500(
    fail: Callable[[Path], None], status: int, tmp_path: Path
) -> None:
    with pytest.raises(Exception) as caught:
        fail(tmp_path)
    with capture_logs() as logs:
        problem = errors.problem_for(caught.value)
    assert (problem.status, problem.code) == (status, "unavailable" if status == 503 else "internal")
    assert ("Retry-After" in problem.headers()) == (status == 503)
    [line] = logs
    assert line["event"] == ("unavailable" if status == 503 else "request_failed")
    assert line["error"] == type(caught.value).__name__
    assert any("test_errors.py" in place for place in line["where"])
    assert SECRET not in str(logs) + str(problem.body())
    if status == 500:
        assert problem.extra["error_id"] == line["error_id"]


def test_a_model_that_fails_inside_is_a_fault_of_ours() -> None:
    with pytest.raises(ValidationError) as caught:
        Summaries.validate_python({"conversation_id": SECRET, "paid": SECRET})
    with capture_logs() as logs:
        assert errors.problem_for(caught.value).status == 500
    assert SECRET not in str(logs)
