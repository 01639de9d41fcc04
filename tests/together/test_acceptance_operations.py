"""What ops reads: counts, lists, filters, pages, past resumes; and the one form of every refusal (AC-73, API 1, 7, 12, 14)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.together.conftest import Borrower, Json, Tenant, another, confirmed, day, promise
from tests.together.service import ALL_SCOPES, Service, ago

pytestmark = pytest.mark.process


@pytest.fixture
def fresh(shared_service: Service) -> Tenant:
    """A tenant of its own, so that it counts nothing but its test."""
    return Tenant(shared_service, f"tenant-{another()}")


# -- counts -------------------------------------------------------------------------------------------------------


def test_five_deliveries_are_one_conversation(fresh: Tenant) -> None:
    """AC-73."""
    one = fresh.borrower()
    told = {"conversation_id": "c-1", "ended_at": ago(minutes=3)}
    for _ in range(5):
        one.says(**told)
    for _ in range(3):
        one.pays("5", "P-1", event_id="e-1", occurred_at="2026-01-01T00:00:00Z")
    stats = fresh.get("/v1/ops/stats")
    assert {n: stats[n] for n in ("deliveries", "repeats", "conflicts", "conversations", "events")} == {
        "deliveries": 8, "repeats": 6, "conflicts": 0, "conversations": 1, "events": 1,
    }  # fmt: skip
    one.says(status=409, summary="other", **told)
    stats = fresh.get("/v1/ops/stats")
    assert (stats["deliveries"], stats["repeats"], stats["conflicts"], stats["set_aside"]) == (9, 6, 1, 1)
    one.says(revision=2, **told)
    stats = fresh.get("/v1/ops/stats")
    assert (stats["deliveries"], stats["conversations"]) == (10, 1)
    assert (stats["unmerged"], stats["oldest_unmerged_seconds"], stats["missing_reports"]) == (0, 0.0, 0)


def test_what_is_refused_is_no_delivery(fresh: Tenant) -> None:
    one = fresh.borrower()
    one.says(status=422, nothing="known")
    one.pays("0", status=422)
    assert fresh.get("/v1/ops/stats")["deliveries"] == 0


def test_counts_are_by_arrival_and_today_is_the_tenants(fresh: Tenant) -> None:
    one = fresh.borrower()
    one.says(ended_at="2026-01-28T12:00:00Z")
    assert fresh.get("/v1/ops/stats")["conversations"] == 1
    past = fresh.http.get("/v1/ops/stats", params={"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00+05:30"})
    assert past.json()["conversations"] == 0
    assert (past.json()["from"], past.json()["to"]) == ("2026-01-01T00:00:00Z", "2026-01-31T18:30:00Z")
    assert fresh.get("/v1/ops/stats")["from"].endswith("T18:30:00Z"), "midnight in India"


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("from", "yesterday", "wrong_type"),
        ("to", "2026-01-01T00:00:00", "naive_timestamp"),
        ("since", "x", "unknown_field"),
        ("start", "2026-01-01T00:00:00Z", "unknown_field"),
    ],
)
def test_a_wrong_span_is_named(acme: Tenant, name: str, value: str, code: str) -> None:
    answer = acme.http.get("/v1/ops/stats", params={name: value})
    assert (answer.status_code, answer.json()["errors"]) == (422, [{"field": name, "code": code}])


def test_resumes_are_counted_by_how_they_were_answered(fresh: Tenant) -> None:
    """AC-74, as far as it goes without a model."""
    one = fresh.borrower()
    one.verify()
    one.says("whatsapp", promise(5000))
    for _ in range(3):
        assert one.proposed("confirmation")["source"] == "classifier"
    assert one.proposed("NOWHERE")["state"] == "confirmation"
    assert one.proposed("closing")["state"] == "confirmation"
    one.resume()
    one.resume(proposal=[1])
    one.resume(after="never-seen")
    fresh.borrower().resume()
    counted = fresh.get("/v1/ops/stats")["resumes"]
    assert counted == {
        "total": 9,
        "as_proposed": 3,
        "fallbacks": {"no_model": 1, "unreadable": 1},
        "refusals": {"unknown_state": 1, "too_far_ahead": 1},
        "degraded": 1,
    }


def test_past_resumes_are_listed_by_borrower_rule_and_fallback(fresh: Tenant) -> None:
    one, two = fresh.borrower(), fresh.borrower()
    for b in (one, two):
        b.says("whatsapp", promise(5000))
    jumped, plain, other = one.proposed("payment_link"), one.resume(), two.resume()

    def ids(**query: Any) -> list[str]:
        return [i["resume_id"] for i in fresh.get("/v1/ops/resumes", **query)["items"]]

    assert ids() == [other["resume_id"], plain["resume_id"], jumped["resume_id"]]
    assert ids(borrower_id=one.id) == [plain["resume_id"], jumped["resume_id"]]
    assert ids(rule="identity_required") == [jumped["resume_id"]]
    assert ids(rule="identity") == [], "a rule is named whole"
    assert ids(fallback="no_model") == [other["resume_id"], plain["resume_id"]]
    assert ids(ignored="true") == []
    (item,) = fresh.get("/v1/ops/resumes", rule="identity_required")["items"]
    assert {n: item[n] for n in ("position", "proposed", "granted", "source", "mode", "record_version", "fallback")} == {
        "position": "identity", "proposed": "payment_link", "granted": "identity", "source": "position", "mode": "enabled",
        "record_version": 1, "fallback": None,
    }  # fmt: skip
    assert [r["rule"] for r in item["refusals"]] == ["identity_required", "too_far_ahead"]
    page = fresh.get("/v1/ops/resumes", limit=2)
    rest = fresh.get("/v1/ops/resumes", limit=2, cursor=page["next_cursor"])
    assert [i["resume_id"] for i in page["items"] + rest["items"]] == ids()
    assert rest["next_cursor"] is None


# -- the list across borrowers ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def portfolio(shared_service: Service) -> tuple[Tenant, dict[str, Borrower]]:
    """Borrowers at every stage, by their stage; one of them with two loans."""
    tenant = Tenant(shared_service, f"tenant-{another()}")
    names = ("empty", "negotiation", "committed", "confirmed", "overdue", "reminded", "link_shared", "paid", "held")
    people = {name: tenant.borrower(id_=f"{number:02d}-{name}") for number, name in enumerate(names)}
    for name, one in people.items():
        one.opens(amount="5000")
        if name not in ("empty",):
            one.says("voice", ended_at=ago(days=8))
    people["committed"].says("whatsapp", promise(1000, day(1)))
    people["confirmed"].says("voice", confirmed(2000, day(3)))
    people["overdue"].says("voice", confirmed(3000, day(-2)), ended_at=ago(days=4))
    for name in ("reminded", "link_shared"):
        people[name].says("voice", confirmed(4000, day(7)))
        people[name].is_sent()
    people["link_shared"].is_sent("payment_link.shared")
    people["paid"].pays("5000")
    people["held"].event("hold.placed", kind="dispute", reason="x")
    people["held"].opens(loan="LN-second", amount="100")
    return tenant, people


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({}, "empty negotiation committed confirmed overdue reminded link_shared paid held held"),
        ({"stage": "empty"}, "empty held"),
        ({"stage": "committed"}, "committed confirmed overdue"),
        ({"stage": "paid"}, "paid"),
        ({"rung": "proposed"}, "committed"),
        ({"rung": "confirmed"}, "confirmed overdue reminded link_shared"),
        ({"rung": "none"}, "empty negotiation paid held held"),
        ({"overdue": "true"}, "overdue"),
        ({"overdue": "true", "rung": "none"}, ""),
        ({"reminded": "true"}, "reminded link_shared"),
        ({"reminded": "false", "rung": "confirmed"}, "confirmed overdue"),
        ({"hold": "true"}, "held held"),
        ({"hold": "dispute"}, "held held"),
        ({"hold": "deceased"}, ""),
        ({"hold": "false", "stage": "empty"}, "empty"),
        ({"promise_due_from": day(1), "promise_due_to": day(3)}, "committed confirmed"),
        ({"promise_due_to": day(-1)}, "overdue"),
        ({"promise_due_from": day(4)}, "reminded link_shared"),
    ],
)
def test_borrowers_are_listed_by_where_they_stand(
    portfolio: tuple[Tenant, dict[str, Borrower]], filters: Json, wanted: str
) -> None:
    tenant, people = portfolio
    items = tenant.get("/v1/borrowers", **filters)["items"]
    assert [i["borrower_id"] for i in items] == [people[name].id for name in wanted.split()]


def test_an_item_of_the_list_says_what_its_borrower_says(portfolio: tuple[Tenant, dict[str, Borrower]]) -> None:
    tenant, _ = portfolio
    for item in tenant.get("/v1/borrowers", limit=200)["items"]:
        read = tenant.get(f"/v1/borrowers/{item['borrower_id']}", loan_id=item["loan_id"])
        promise_ = read["commitment"] or {"status": "none", "amount": None, "due_date": None}
        assert {n: item[n] for n in ("cycle_id", "attempt", "outstanding")} == {
            n: read["cycle"][n] for n in ("cycle_id", "attempt", "outstanding")
        }
        assert (item["stage"], item["rung"]) == (read["stage"], promise_["status"])
        assert (item["amount"], item["promise_due_date"]) == (promise_["amount"], promise_["due_date"])
        assert item["flags"] == read["flags"]
        assert [h["kind"] for h in item["holds"]] == [h["kind"] for h in read["holds"]]
        assert item["currency"] == "INR"


def test_the_list_pages_without_gaps_while_borrowers_come_and_change(
    portfolio: tuple[Tenant, dict[str, Borrower]],
) -> None:
    tenant, people = portfolio
    whole = [(i["borrower_id"], i["loan_id"]) for i in tenant.get("/v1/borrowers", limit=200)["items"]]
    page, seen = tenant.get("/v1/borrowers", limit=2), []
    while True:
        seen += [(i["borrower_id"], i["loan_id"]) for i in page["items"]]
        people["negotiation"].says("voice")
        if page["next_cursor"] is None:
            break
        page = tenant.get("/v1/borrowers", limit=2, cursor=page["next_cursor"])
    assert seen == whole


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("limit", "0", "wrong_type"), ("limit", "x", "wrong_type"), ("limit", "-1", "wrong_type"), ("limit", "1.5", "wrong_type"),
        ("stage", "done", "not_in_enum"), ("rung", "broken", "not_in_enum"), ("overdue", "yes", "wrong_type"),
        ("hold", "maybe", "not_in_enum"), ("promise_due_from", "tomorrow", "not_a_date"), ("colour", "red", "unknown_field"),
    ],
)  # fmt: skip
def test_a_wrong_query_parameter_is_named(acme: Tenant, name: str, value: str, code: str) -> None:
    answer = acme.http.get("/v1/borrowers", params={name: value})
    assert (answer.status_code, answer.json()["errors"]) == (422, [{"field": name, "code": code}])


@pytest.mark.parametrize(
    "path",
    [
        "/v1/summaries",
        "/v1/events",
        "/v1/events/batch",
        "/v1/resume",
        "/v1/borrowers/lookup",
        "/v1/borrowers/B/permits",
    ],
)
def test_a_call_without_query_parameters_takes_none(acme: Tenant, path: str) -> None:
    answer = acme.http.post(path, params={"wait": "1"}, json={})
    assert (answer.status_code, answer.json()["errors"]) == (422, [{"field": "wait", "code": "unknown_field"}])


def test_a_limit_beyond_two_hundred_is_refused(acme: Tenant) -> None:
    assert acme.http.get("/v1/borrowers", params={"limit": 200}).status_code == 200
    for too_many in (201, 5000):
        refused = acme.http.get("/v1/borrowers", params={"limit": too_many})
        assert (refused.status_code, refused.json()["errors"]) == (422, [{"field": "limit", "code": "too_many"}])


def test_a_parameter_given_twice_is_wrong(acme: Tenant) -> None:
    assert acme.http.get("/v1/borrowers?limit=3&limit=4").json()["errors"] == [{"field": "limit", "code": "wrong_type"}]


# -- null is absent, times ----------------------------------------------------------------------------------------


def test_null_is_the_same_as_absent_everywhere(acme: Tenant) -> None:
    one, two = acme.borrower(), acme.borrower()
    ended = ago(minutes=4)
    names = (
        "event_id identifier loan_id cycle_id modality direction started_at outcome disposition reached summary commitment"
        " payment_claim third_party callback facts turns language agent resume_id entered_state extra"
    ).split()
    acme.summary(borrower_id=one.id, conversation_id=f"c{one.id}", ended_at=ended, **dict.fromkeys(names))
    body = {"borrower_id": two.id, "channel": "whatsapp", "conversation_id": f"c{two.id}", "ended_at": ended}
    acme.post("/v1/summaries", body)
    first, second = one.read(), two.read()
    for read in (first, second):
        del read["as_of"]
    assert json.dumps(first).replace(one.id, two.id) == json.dumps(second)
    answer = acme.resume(
        borrower_id=one.id, identifier=None, loan_id=None, after=None, wait_ms=None, proposal=None, direction=None
    )
    assert answer["found"] is True
    acme.event("hold.placed", borrower_id=one.id, kind="other", reason="x", until=None, extra=None, channel=None)
    assert one.read()["holds"][0]["until"] is None


@pytest.mark.parametrize("name", ["channel", "conversation_id", "ended_at"])
def test_a_field_that_is_needed_is_missing_when_it_is_null(borrower: Borrower, name: str) -> None:
    refused = borrower.says(status=422, **{name: None})
    assert refused["errors"] == [{"field": name, "code": "missing"}]


def ahead(**span: float) -> str:
    return ago(**{name: -value for name, value in span.items()})


def test_a_clock_that_is_five_minutes_ahead_is_believed(borrower: Borrower) -> None:
    at = ahead(minutes=4)
    assert borrower.says(ended_at=at)["warnings"] == []
    assert borrower.timeline()[0]["at"][:19] == at[:19]


@pytest.mark.parametrize("name", ["ended_at", "started_at"])
def test_what_lies_further_ahead_counts_from_its_arrival(borrower: Borrower, name: str) -> None:
    answer = borrower.says(**{name: ahead(hours=3)})
    assert [(w["field"], w["code"]) for w in answer["warnings"]] == [(name, "time_clamped")]
    assert borrower.timeline()[0]["at"] <= ahead(seconds=5)
    refused = borrower.says(status=422, **{name: ahead(hours=25)})
    assert refused["errors"] == [{"field": name, "code": "time_in_future"}]


def test_the_time_of_an_event_is_clamped_too_but_not_the_end_of_a_hold(borrower: Borrower) -> None:
    until = ahead(days=400)
    answer = borrower.event("hold.placed", kind="other", reason="x", occurred_at=ahead(hours=1), until=until)
    assert [(w["field"], w["code"]) for w in answer["warnings"]] == [("occurred_at", "time_clamped")]
    assert borrower.read()["holds"][0]["until"][:10] == until[:10]
    assert borrower.says("voice", callback={"at": ahead(days=40)})["warnings"] == []
    refused = borrower.event("hold.placed", kind="other", reason="x", occurred_at=ahead(days=2), status=422)
    assert refused["errors"] == [{"field": "occurred_at", "code": "time_in_future"}]


@pytest.mark.parametrize("filler", ["1970-01-01T00:00:00Z", "1999-12-31T23:59:59+00:00", "0001-01-01T00:00:00Z"])
def test_a_filler_of_a_telephony_system_is_no_time(borrower: Borrower, filler: str) -> None:
    borrower.says("voice", {"due_date_said": "tomorrow", "amount": 5}, ended_at=filler)
    assert borrower.timeline()[0]["at"] > ago(minutes=1)
    assert borrower.commitment()["due_date"] == day(1)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("2026-01-28T18:00:00", "naive_timestamp"), ("2026-01-28", "wrong_type"), ("28 Jan", "wrong_type"), (5, "wrong_type"),
        ("2026-13-28T18:00:00Z", "wrong_type"), ("2026-01-28T25:00:00Z", "wrong_type"), ("", "wrong_type"),
    ],
)  # fmt: skip
def test_what_is_no_time_is_named(borrower: Borrower, value: Any, code: str) -> None:
    assert borrower.says(status=422, ended_at=value)["errors"] == [{"field": "ended_at", "code": code}]


# -- the form of refusals -----------------------------------------------------------------------------------------

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


# -- keys and tenants ---------------------------------------------------------------------------------------------


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


# -- what the service says of itself ------------------------------------------------------------------------------


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
