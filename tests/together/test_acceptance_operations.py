"""What ops reads: counts, lists, filters, pages and past resumes (AC-73, API 7, 12)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.together.conftest import Borrower, Json, Tenant, another, confirmed, day, promise
from tests.together.service import Service, ago

pytestmark = pytest.mark.process


@pytest.fixture
def fresh(shared_service: Service) -> Tenant:
    """A tenant of its own, so that it counts nothing but its test."""
    return Tenant(shared_service, f"tenant-{another()}")


# -- counts -----------------------------------------------------------------------------------------------------------


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


# -- the list across borrowers ----------------------------------------------------------------------------------------


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


# -- null is absent, times --------------------------------------------------------------------------------------------


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
