"""The one form of every refusal, keys and tenants, and what the service says of itself (API 1, 14)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.together.conftest import Borrower, Json, Tenant, another, confirmed
from tests.together.service import ALL_SCOPES, Service, ago

pytestmark = pytest.mark.process


# -- the form of refusals ---------------------------------------------------------------------------------------------


SECRET = "Zyzzyva-9000077777"
"""Stands wherever a value can stand; no answer may give it back."""

Ask = Callable[[Tenant, Borrower], httpx.Response]


def _post(path: str, **body: Any) -> Ask:
    return lambda t, b: t.http.post(path, json={"borrower_id": b.id, **body})


SUMMARY: Json = {"channel": "voice", "conversation_id": "c", "ended_at": "2026-01-28T18:00:00Z"}
EVENT: Json = {"event_id": "e", "type": "payment.confirmed", "occurred_at": "2026-01-28T18:00:00Z"}

REFUSALS: dict[str, tuple[int, str, Ask]] = {
    "not json": (400, "malformed_json", lambda t, b: t.raw("/v1/summaries", SECRET.encode())),
    "a key twice": (400, "malformed_json", lambda t, b: t.raw("/v1/summaries", b'{"%s":1,"%s":2}' % ((SECRET.encode(),) * 2))),
    "no key": (401, "unauthenticated", lambda t, b: httpx.get(f"{t.service.url}/v1/borrowers")),
    "a wrong key": (
        401, "unauthenticated",
        lambda t, b: httpx.get(f"{t.service.url}/v1/borrowers", headers={"Authorization": f"Bearer bm_k_{SECRET}"}),
    ),
    "nobody": (404, "unknown_borrower", lambda t, b: t.http.get(f"/v1/borrowers/{SECRET}")),
    "no number": (
        404, "unknown_identifier",
        lambda t, b: t.http.post("/v1/borrowers/lookup", json={"identifier": {"kind": "crm", "value": SECRET}}),
    ),
    "no loan": (404, "unknown_loan", lambda t, b: t.http.get(f"/v1/borrowers/{b.id}", params={"loan_id": SECRET})),
    "no path": (404, "not_found", lambda t, b: t.http.get(f"/v1/{SECRET}")),
    "no method": (405, "method_not_allowed", lambda t, b: t.http.delete(f"/v1/borrowers/{SECRET}")),
    "an id twice": (409, "id_conflict", _post("/v1/summaries", **SUMMARY, event_id="taken", summary=SECRET)),
    "no permit": (
        409, "permit_refused",
        lambda t, b: t.http.post(
            f"/v1/borrowers/{b.id}/permits", json={"action": "reminder", "channel": "voice", "holder": SECRET}
        ),
    ),
    "a long text": (413, "too_large", _post("/v1/summaries", **SUMMARY, summary=SECRET * 2000)),
    "a long extra": (413, "too_large", _post("/v1/summaries", **SUMMARY, extra={"x": SECRET * 2000})),
    "no json type": (
        415, "not_json",
        lambda t, b: t.http.post("/v1/summaries", content=SECRET, headers={"Content-Type": "text/plain"}),
    ),
    "an unknown field": (422, "invalid_body", _post("/v1/summaries", **SUMMARY, nothing=SECRET)),
    "a wrong type": (422, "invalid_body", _post("/v1/summaries", **SUMMARY, turns=SECRET)),
    "a wrong enum": (422, "invalid_body", _post("/v1/summaries", **SUMMARY, outcome=SECRET)),
    "a wrong time": (422, "invalid_body", _post("/v1/summaries", **(SUMMARY | {"ended_at": SECRET}))),
    "a wrong date": (422, "invalid_body", _post("/v1/summaries", **SUMMARY, commitment={"due_date": SECRET})),
    "a wrong number": (422, "invalid_body", _post("/v1/summaries", **SUMMARY, identifier={"kind": "phone", "value": SECRET})),
    "a wrong type of event": (422, "invalid_body", _post("/v1/events", **(EVENT | {"type": SECRET}))),
    "a wrong amount": (422, "invalid_body", _post("/v1/events", **EVENT, payment_ref="P", amount=SECRET, currency="INR")),
    "a wrong currency": (422, "invalid_body", _post("/v1/events", **EVENT, payment_ref="P", amount="5", currency=SECRET)),
    "a list": (422, "invalid_body", lambda t, b: t.http.post("/v1/summaries", json=[SECRET])),
    "a text": (422, "invalid_body", lambda t, b: t.http.post("/v1/events", json=SECRET)),
    "not merged yet": (
        503, "not_yet_merged", lambda t, b: t.http.get(f"/v1/borrowers/{b.id}", params={"after": SECRET})
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def known(acme: Tenant) -> Borrower:
    one = acme.borrower()
    one.event("hold.placed", kind="other", reason="x")
    acme.summary(borrower_id=one.id, conversation_id="the-first", event_id="taken")
    return one


@pytest.mark.parametrize("name", list(REFUSALS))
def test_every_refusal_has_one_form_and_gives_no_value_back(known: Borrower, name: str) -> None:
    status, code, ask = REFUSALS[name]
    answer = ask(known.tenant, known)
    body = answer.json()
    assert (answer.status_code, body["code"], body["status"]) == (status, code, status), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "code", "detail"} <= set(body)
    assert body["type"] == "about:blank"
    assert SECRET not in answer.text
    assert "9000077777" not in answer.text
    assert ("retry-after" in answer.headers) == (status in (429, 503))
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
    if status == 422:
        assert all(set(e) == {"field", "code"} for e in body["errors"])


@pytest.mark.parametrize("path", ["/v1/borrowers/", "/v1/borrowers//flags", "/v1/summaries/", "/v1/borrowers/B-1/"])
def test_an_address_with_nothing_behind_its_slash_is_none(acme: Tenant, path: str) -> None:
    """A missing id never means everybody."""
    answer = acme.http.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_every_wrong_field_is_named_at_once(borrower: Borrower) -> None:
    refused = borrower.says(
        "voice",
        {"due_date": "soon", "paid": 1},
        status=422,
        outcome="lost",
        paid=True,
        turns=[{"speaker": "x", "text": 1}],
    )
    assert {(e["field"], e["code"]) for e in refused["errors"]} == {
        ("commitment.due_date", "not_a_date"), ("commitment.paid", "unknown_field"), ("outcome", "not_in_enum"),
        ("paid", "unknown_field"), ("turns.0.speaker", "not_in_enum"), ("turns.0.text", "wrong_type"),
    }  # fmt: skip
    assert refused["detail"] == "6 fields are wrong"


# -- keys and tenants -------------------------------------------------------------------------------------------------


CALLS = {
    "read": (
        "GET /v1/borrowers/B, GET /v1/borrowers/B/briefing, GET /v1/borrowers/B/facts, GET /v1/borrowers/B/flags,"
        " GET /v1/borrowers/B/timeline, POST /v1/resume, POST /v1/borrowers/lookup"
    ),
    "events:agent": "POST /v1/summaries, POST /v1/borrowers/B/permits",
    "search:all": "GET /v1/borrowers",
    "privacy": "GET /v1/borrowers/B/export",
    "ops": "GET /v1/ops/stats, GET /v1/ops/set-aside, GET /v1/ops/missing-reports, GET /v1/ops/resumes",
    "events:ops": "POST /v1/ops/set-aside/1/retry",
}


@pytest.mark.parametrize("scope", list(CALLS))
def test_each_call_needs_its_scope_and_says_which(shared_service: Service, scope: str) -> None:
    others = ",".join(s for s in ALL_SCOPES.split(",") if s != scope)
    with Tenant(shared_service, "scopes", others).http as http:
        for call in CALLS[scope].split(", "):
            method, path = call.split()
            answer = http.request(method, path, json={} if method == "POST" else None)
            assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope"), call
            assert answer.json()["scope"] == scope, call


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        (
            "events:agent",
            "identity.verified identity.revoked contact.opted_out contact.opted_in hold.placed fact.stated",
        ),
        (
            "events:ledger",
            "identity.verified contact.opted_out hold.placed hold.lifted cycle.closed identifier.linked fact.stated"
            " payment.confirmed promise.broken cycle.opened",
        ),
        (
            "events:ops",
            "identity.verified identity.revoked contact.opted_out contact.opted_in hold.placed hold.lifted cycle.closed"
            " identifier.linked identifier.unlinked fact.stated promise.retracted",
        ),
    ],
)
def test_who_may_send_which_event_is_a_table(shared_service: Service, scope: str, allowed: str) -> None:
    every = (
        "identity.verified identity.revoked reminder.sent payment_link.shared payment.confirmed payment.reversed"
        " promise.broken promise.retracted cycle.opened cycle.closed contact.opted_out contact.opted_in hold.placed"
        " hold.lifted identifier.linked identifier.unlinked conversation.started conversation.message conversation.ended"
        " fact.stated"
    ).split()
    also = {
        "events:agent": "reminder.sent payment_link.shared conversation.started conversation.message conversation.ended",
        "events:ledger": "payment.reversed identifier.unlinked",
        "events:ops": "",
    }[scope]
    may = set(f"{allowed} {also}".split())
    with Tenant(shared_service, "senders", scope).http as http:
        statuses = {type_: http.post("/v1/events", json={"type": type_}).status_code for type_ in every}
    assert {type_ for type_, status in statuses.items() if status != 403} == may
    assert {status for status in statuses.values() if status != 403} == {422}


def test_a_batch_refuses_only_what_its_key_may_not(shared_service: Service) -> None:
    tenant = Tenant(shared_service, "batches", "events:agent")
    events = [
        {"event_id": f"x{another()}", "type": t, "occurred_at": ago(minutes=1), "borrower_id": "B", "channel": "voice",
         "message_id": "m", "outcome": "sent"}
        for t in ("reminder.sent", "payment.confirmed")
    ]  # fmt: skip
    results = tenant.post("/v1/events/batch", {"events": events})["results"]
    assert [r["http_status"] for r in results] == [200, 403]
    assert results[1]["problem"]["scope"] == "events:ledger"


def test_a_revoked_key_is_none_within_five_seconds(shared_service: Service) -> None:
    tenant = Tenant(shared_service, "revoked")
    assert tenant.get("/v1/ops/stats")
    key_id = tenant.key.removeprefix("bm_").split("_")[0]
    revoked = shared_service.command("keys", "revoke", key_id)
    assert (revoked.returncode, json.loads(revoked.stdout)) == (0, {"key_id": key_id, "revoked": True})
    end = time.monotonic() + 5
    asked_at = 0.0  # not when it was answered, which may take its time
    while asked_at < end:
        asked_at = time.monotonic()
        if (status := tenant.http.get("/v1/ops/stats").status_code) != 200:
            break
        time.sleep(0.1)
    assert status == 401
    assert tenant.http.get("/v1/ops/stats").json()["code"] == "unauthenticated"


def test_a_tenant_sees_nothing_of_another(shared_service: Service, acme: Tenant) -> None:
    other = Tenant(shared_service, f"other-{another()}")
    mine = acme.borrower()
    mine.verify()
    mine.opens(loan=f"LN-{mine.id}")
    sent = {"event_id": f"shared-{mine.id}", "conversation_id": "c", "ended_at": ago(minutes=9)}
    mine.says("voice", confirmed(5000), summary="Only for acme.", **sent)
    theirs = Borrower(other, mine.id, mine.number)
    for path in ("", "flags", "briefing", "facts", "timeline", "export"):
        assert theirs.read(path, status=404)["code"] == "unknown_borrower"
    assert theirs.permit(status=404)["code"] == "unknown_borrower"
    assert theirs.resume(identifier=mine.phone)["found"] is False
    assert other.resume(identifier=mine.phone)["found"] is False
    assert other.resume(loan_id=f"LN-{mine.id}")["found"] is False
    assert other.resume(borrower_id=mine.id, after=sent["event_id"])["degraded_reason"] == "not_yet_merged"
    assert other.lookup(identifier=mine.phone, status=404)
    assert other.lookup(loan_id=f"LN-{mine.id}", status=404)
    assert other.get("/v1/borrowers")["items"] == []
    for path in ("/v1/ops/set-aside", "/v1/ops/missing-reports"):
        assert other.get(path)["items"] == []
    listed = other.get("/v1/ops/resumes")["items"]
    assert {i["borrower_id"] for i in listed} == {None}
    granted = mine.resume()
    theirs.says("voice", resume_id=granted["resume_id"], entered_state="closing", event_id=sent["event_id"])
    assert acme.get("/v1/ops/resumes", borrower_id=mine.id, limit=1)["items"][0]["entered_state"] is None
    assert theirs.read()["record_version"] == 1
    assert mine.briefing().count("Only for acme.") == 1
    assert other.get("/v1/ops/stats")["conversations"] == 1
    first = acme.summary(identifier={"kind": "crm", "value": f"x{mine.id}"})["borrower_id"]
    second = other.summary(identifier={"kind": "crm", "value": f"x{mine.id}"})["borrower_id"]
    assert other.get(f"/v1/borrowers/{second}")["record_version"] == 1
    assert acme.get(f"/v1/borrowers/{first}")["record_version"] == 1


# -- what the service says of itself ----------------------------------------------------------------------------------


def test_every_example_of_the_documentation_is_taken_as_it_stands(shared_service: Service) -> None:
    tenant = Tenant(shared_service, f"examples-{another()}")
    described = tenant.get("/openapi.json")
    tried = 0
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            named = {
                p["name"]: p["schema"]["examples"][0]
                for p in operation.get("parameters", [])
                if p["in"] == "path" and content
            }
            for name, example in content.get("examples", {}).items():
                answer = tenant.http.request(method, path.format(**named), json=example["value"])
                assert 200 <= answer.status_code < 300, (path, name, answer.text)
                if "results" in answer.json():
                    assert {r["http_status"] for r in answer.json()["results"]} == {200}, answer.text
                tried += 1
    assert tried >= 10


def test_the_description_names_every_call_of_the_contract(acme: Tenant) -> None:
    described = acme.get("/openapi.json")
    operations = {
        operation.get("operationId"): f"{method.upper()} {path}"
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }
    assert operations["post_summary"] == "POST /v1/summaries"
    assert operations["post_event"] == "POST /v1/events"
    assert operations["post_events"] == "POST /v1/events/batch"
    assert operations["resume"] == "POST /v1/resume"
    assert operations["lookup"] == "POST /v1/borrowers/lookup"
    assert operations["get_borrower"] == "GET /v1/borrowers/{borrower_id}"
    assert operations["take_permit"] == "POST /v1/borrowers/{borrower_id}/permits"
    assert operations["list_borrowers"] == "GET /v1/borrowers"


def test_what_needs_no_key(shared_service: Service) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"):
        assert httpx.get(f"{shared_service.url}{path}").status_code == 200, path
    assert "checks" in httpx.get(f"{shared_service.url}/readyz").json()
