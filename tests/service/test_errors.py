"""The problems of API 1 and 14: their form."""

import json
from typing import Any

import pytest

from service import errors
from service.errors import FieldError, Problem
from service.web.rendering import problem_response

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


@pytest.mark.parametrize(("problem", "status", "code", "members"), EVERY_PROBLEM, ids=lambda value: str(value)[:40])
def test_every_problem_has_the_one_form(problem: Problem, status: int, code: str, members: dict[str, Any]) -> None:
    answer = problem_response(problem)
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
