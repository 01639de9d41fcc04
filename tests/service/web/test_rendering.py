"""How whatever is raised becomes a problem of API 1 and 14."""

import sqlite3
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import httpx
import pytest
import sqlalchemy
import sqlalchemy.exc
from fastapi import FastAPI, Query
from pydantic import ValidationError
from structlog.testing import capture_logs

from service import errors
from service.web import rendering
from tests.service.web.test_invalid import Summaries

SECRET = "Zq7Geheim"


def application() -> FastAPI:
    app = FastAPI(exception_handlers=rendering.exception_handlers())

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
        problem = rendering.problem_for(caught.value)
    assert (problem.status, problem.code) == (status, "unavailable" if status == 503 else "internal")
    assert ("Retry-After" in problem.headers()) == (status == 503)
    [line] = logs
    assert line["event"] == ("unavailable" if status == 503 else "request_failed")
    assert line["error"] == type(caught.value).__name__
    assert any("test_rendering.py" in place for place in line["where"])
    assert SECRET not in str(logs) + str(problem.body())
    if status == 500:
        assert problem.extra["error_id"] == line["error_id"]


def test_a_model_that_fails_inside_is_a_fault_of_ours() -> None:
    with pytest.raises(ValidationError) as caught:
        Summaries.validate_python({"conversation_id": SECRET, "paid": SECRET})
    with capture_logs() as logs:
        assert rendering.problem_for(caught.value).status == 500
    assert SECRET not in str(logs)
