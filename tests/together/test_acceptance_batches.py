"""Deliveries: conflicts, batches, reading what one wrote, paging, and an entry that can never merge."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.together.conftest import Borrower, Json, Tenant, another, confirmed, day, phone, promise, terms, warned
from tests.together.service import ago

pytestmark = pytest.mark.process


# -- conflicts --------------------------------------------------------------------------------------------------------


def test_the_same_id_with_another_body_is_a_conflict_that_names_it(borrower: Borrower) -> None:
    sent = {"event_id": f"sum-v-{another()}", "conversation_id": f"c-{another()}", "ended_at": ago(minutes=3)}
    borrower.says("voice", confirmed(5000), **sent)
    refused = borrower.says("voice", confirmed(500), status=409, **sent)
    assert (refused["code"], refused["event_id"]) == ("id_conflict", sent["event_id"])
    assert "post a higher revision" in refused["detail"]
    assert terms(borrower.commitment()) == ("confirmed", "5000.00", day(5))
    (item,) = (i for i in set_aside(borrower.tenant, "open") if i["event_id"] == sent["event_id"])
    assert (item["reason"], item["kind"], item["borrower_id"]) == ("id_conflict", "summary", borrower.id)
    assert borrower.says("voice", confirmed(500), revision=2, **{k: v for k, v in sent.items() if k != "event_id"})


def test_a_conflict_names_the_default_id(borrower: Borrower) -> None:
    conversation = f"c-{another()}"
    sent = {"conversation_id": conversation, "ended_at": ago(minutes=3)}
    borrower.says("whatsapp", promise(700), **sent)
    refused = borrower.says("whatsapp", promise(900), status=409, **sent)
    assert refused["event_id"] == f"whatsapp:{conversation}:1"


def test_an_id_is_one_for_summaries_and_events(borrower: Borrower) -> None:
    shared = f"both-{another()}"
    borrower.event("hold.placed", kind="other", reason="x", event_id=shared)
    assert borrower.says(event_id=shared, status=409)["code"] == "id_conflict"
    assert borrower.pays("10", event_id=shared, status=409)["code"] == "id_conflict"


def test_another_borrower_does_not_free_an_id(acme: Tenant) -> None:
    one, two = acme.borrower(), acme.borrower()
    sent = {"event_id": f"e-{another()}", "occurred_at": ago(minutes=1)}
    one.event("hold.placed", kind="other", reason="x", **sent)
    assert two.event("hold.placed", kind="other", reason="x", status=409, **sent)["code"] == "id_conflict"
    assert two.read(status=404)["code"] == "unknown_borrower"


# -- batches ----------------------------------------------------------------------------------------------------------


def test_a_batch_answers_for_each_and_a_bad_one_loses_no_neighbour(borrower: Borrower) -> None:
    event = {"occurred_at": ago(minutes=1), "borrower_id": borrower.id}
    hold = {**event, "type": "hold.placed", "kind": "other", "reason": "x"}
    batch = [
        {**hold, "event_id": f"b1-{borrower.id}"},
        {**hold, "event_id": f"b2-{borrower.id}", "until": "tomorrow"},
        {**event, "event_id": f"b3-{borrower.id}", "type": "nothing.known"},
        "no event",
        {**hold, "event_id": f"b1-{borrower.id}"},
        {**hold, "event_id": f"b1-{borrower.id}", "reason": "y"},
        {**event, "event_id": f"b4-{borrower.id}", "type": "contact.opted_out", "channel": "all"},
    ]
    results = borrower.tenant.post("/v1/events/batch", {"events": batch})["results"]
    assert [r["index"] for r in results] == list(range(7))
    assert [r["http_status"] for r in results] == [200, 422, 422, 422, 200, 409, 200]
    assert [r["answer"] and r["answer"]["status"] for r in results] == [
        "merged", None, None, None, "duplicate", None, "merged",
    ]  # fmt: skip
    assert results[1]["problem"]["errors"] == [{"field": "until", "code": "wrong_type"}]
    assert results[2]["problem"]["errors"] == [{"field": "type", "code": "unknown_type"}]
    assert results[5]["problem"]["code"] == "id_conflict"
    assert len(borrower.timeline()) == 2


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"events": []}, "events", "missing"),
        ({}, "events", "missing"),
        ({"events": None}, "events", "missing"),
        ({"events": {}}, "events", "wrong_type"),
        ({"events": [1] * 501}, "events", "too_many"),
        ({"events": [], "more": 1}, "more", "unknown_field"),
    ],
)
def test_a_batch_that_is_none_is_refused_whole(acme: Tenant, body: Json, field: str, code: str) -> None:
    refused = acme.post("/v1/events/batch", body, status=422)
    assert {"field": field, "code": code} in refused["errors"]


def test_a_batch_sees_in_its_later_events_what_its_earlier_ones_linked(acme: Tenant) -> None:
    one = acme.borrower()
    at = ago(minutes=5)
    batch = [
        {"event_id": f"l{one.id}", "type": "identifier.linked", "borrower_id": one.id, "identifier": one.phone},
        {"event_id": f"v{one.id}", "type": "identity.verified", "identifier": one.phone, "method": "otp"},
        {
            "event_id": f"o{one.id}", "type": "cycle.opened", "borrower_id": one.id, "cycle_id": "CY", "loan_id": f"L{one.id}",
            "due_date": day(3), "amount_due": 100, "currency": "INR",
        },
        {"event_id": f"p{one.id}", "type": "payment.confirmed", "loan_id": f"L{one.id}", "payment_ref": "P", "amount": 40,
         "currency": "INR"},
    ]  # fmt: skip
    results = acme.post("/v1/events/batch", {"events": [e | {"occurred_at": at} for e in batch]})["results"]
    assert [r["answer"]["borrower_id"] for r in results] == [one.id] * 4
    assert [r["answer"]["record_version"] for r in results] == [1, 2, 3, 4]
    assert one.read()["cycle"]["received"] == "40.00"


def test_five_hundred_events_fit_in_a_batch(acme: Tenant) -> None:
    one = acme.borrower()
    events = [
        {
            "event_id": f"{one.id}-{n}",
            "type": "reminder.sent",
            "borrower_id": one.id,
            "occurred_at": ago(hours=2),
            "channel": "whatsapp",
            "message_id": f"m-{n % 7}",
            "outcome": "delivered",
        }
        for n in range(500)
    ]
    results = acme.post("/v1/events/batch", {"events": events})["results"]
    assert {r["http_status"] for r in results} <= {200, 202}
    after = one.read(after=events[-1]["event_id"])
    assert after["record_version"] == 500
    assert one.flags()["reminded"]


# -- read your writes -------------------------------------------------------------------------------------------------


def test_after_names_a_write_and_waits_for_it(borrower: Borrower) -> None:
    answer = borrower.pays("50")
    for path in ("", "flags", "briefing", "timeline", "facts"):
        assert borrower.read(path, after=answer["event_id"])
    for path in ("/v1/borrowers", "/v1/ops/stats", "/v1/ops/set-aside", "/v1/ops/missing-reports", "/v1/ops/resumes"):
        assert borrower.tenant.get(path, after=answer["event_id"]), path
    assert borrower.tenant.lookup(borrower_id=borrower.id, after=answer["event_id"])
    named = {"params": {"after": answer["event_id"]}, "json": {"borrower_id": borrower.id}}
    assert borrower.tenant.http.post("/v1/borrowers/lookup", **named).status_code == 200
    assert not borrower.resume(after=answer["event_id"])["degraded"]


def test_an_id_never_seen_is_not_yet_merged(borrower: Borrower) -> None:
    borrower.pays("50")
    reads = [(path, {"after": "never-seen"}) for path in (f"/v1/borrowers/{borrower.id}/flags", "/v1/ops/set-aside")]
    with ThreadPoolExecutor() as pool:
        for answer in pool.map(lambda read: borrower.tenant.http.get(read[0], params=read[1]), reads):
            assert (answer.status_code, answer.json()["code"]) == (503, "not_yet_merged")
            assert answer.headers["retry-after"] == "1"
    resumed = borrower.resume(after="never-seen")
    assert (resumed["found"], resumed["degraded"], resumed["degraded_reason"]) == (False, True, "not_yet_merged")
    assert resumed["contact"]["allowed"] is False
    assert resumed["contact"]["reasons"] == ["unknown"]
    assert resumed["state"] == "opening"


def test_a_read_right_after_a_write_has_it_on_both_channels(borrower: Borrower) -> None:
    """AC-58."""
    borrower.opens(amount="5000")
    borrower.says("voice", confirmed(5000))
    before = borrower.briefing("voice")
    borrower.pays("1,250.00".replace(",", ""))
    after = borrower.briefing("whatsapp")
    assert "1,250" not in before
    assert "1,250" in after
    assert "1,250" in borrower.briefing("voice")
    assert borrower.flags()["payment_confirmed"]
    assert borrower.resume("whatsapp")["cycle"]["received"] == "1250.00"


# -- paging -----------------------------------------------------------------------------------------------------------


def pages(tenant: Tenant, path: str, **query: Any) -> list[Json]:
    found: list[Json] = []
    cursor = None
    while True:
        given = query if cursor is None else {**query, "cursor": cursor}
        page = tenant.http.get(path, params=given).raise_for_status().json()
        assert len(page["items"]) <= query.get("limit", 50)
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def test_the_time_line_pages_newest_first_without_gaps(borrower: Borrower) -> None:
    same = ago(hours=1)
    ids = [borrower.is_sent(occurred_at=same if n % 2 else ago(minutes=n))["event_id"] for n in range(11)]
    found = pages(borrower.tenant, f"/v1/borrowers/{borrower.id}/timeline", limit=3)
    assert sorted(i["event_id"] for i in found) == sorted(ids)
    places = [(i["at"], i["event_id"]) for i in found]
    assert places == sorted(places, reverse=True)


def test_writes_that_come_in_while_paging_move_nothing_that_was_there(borrower: Borrower) -> None:
    there = {borrower.is_sent(occurred_at=ago(hours=2 + n))["event_id"] for n in range(6)}
    page = borrower.read("timeline", limit=2)
    seen = [i["event_id"] for i in page["items"]]
    while page["next_cursor"]:
        borrower.is_sent(occurred_at=ago(minutes=1))
        page = borrower.read("timeline", limit=2, cursor=page["next_cursor"])
        seen += [i["event_id"] for i in page["items"]]
    assert len(seen) == len(set(seen))
    assert set(seen) == there


@pytest.mark.parametrize("cursor", ["nonsense", "", "W10", "WyJ4Il0", "é"])
def test_a_cursor_that_is_none_is_named(borrower: Borrower, cursor: str) -> None:
    borrower.says()
    for path in (f"/v1/borrowers/{borrower.id}/timeline", "/v1/borrowers", "/v1/ops/set-aside", "/v1/ops/resumes",
                 "/v1/ops/missing-reports"):  # fmt: skip
        refused = borrower.tenant.get(path, cursor=cursor, status=422)
        assert refused["errors"] == [{"field": "cursor", "code": "wrong_type"}], path


# -- what can never merge ---------------------------------------------------------------------------------------------


def set_aside(tenant: Tenant, status: str) -> list[Json]:
    return pages(tenant, "/v1/ops/set-aside", status=status, limit=200)


def test_one_bad_item_does_not_stop_the_line(acme: Tenant) -> None:
    """AC-72: a row in the embedded log that no merge can take, then more of that borrower and of another."""
    one, two = acme.borrower(), acme.borrower()
    event_id = one.says(event_id=f"first-{one.id}")["event_id"]
    poison = f"poison-{one.id}"
    with contextlib.closing(sqlite3.connect(acme.service.folder / "memory.db", timeout=10)) as store:
        row = store.execute(
            "SELECT partition, tenant, borrower_id, value, appended_at FROM intake WHERE event_id = ?", (event_id,)
        ).fetchone()
        assert row is not None
        partition, tenant, borrower_id, value, appended_at = row
        bad = (
            bytes(value)
            .replace(event_id.encode(), poison.encode())
            .replace(b'"outcome":"connected"', b'"outcome":"odd"')
        )
        assert bad != bytes(value)
        with store:
            store.execute("BEGIN IMMEDIATE")
            store.execute("UPDATE intake_head SET next_offset = next_offset + 1 WHERE partition = ?", (partition,))
            (end,) = store.execute("SELECT next_offset FROM intake_head WHERE partition = ?", (partition,)).fetchone()
            store.execute(
                "INSERT INTO intake (partition, log_offset, tenant, borrower_id, event_id, value, appended_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (partition, end - 1, tenant, borrower_id, poison, bad, appended_at),
            )
    began = time.monotonic()
    assert two.says()["status"] == "merged"
    assert one.says()["status"] == "merged"
    assert time.monotonic() - began < 60, "the others do not wait for one that cannot be read"
    (item,) = (i for i in set_aside(acme, "open") if i["event_id"] == poison)
    assert (item["kind"], item["reason"], item["status"]) == ("summary", "unreadable", "open")
    assert item["borrower_id"] == one.id
    assert item["detail"]
    assert item["attempts"] >= 1
    again = acme.post(f"/v1/ops/set-aside/{item['id']}/retry", None)
    assert (again["id"], again["status"]) == (item["id"], "open")
    assert again["attempts"] > item["attempts"]
    assert one.read()["record_version"] == 2
    with contextlib.closing(sqlite3.connect(acme.service.folder / "memory.db", timeout=10)) as store, store:
        cured = bad.replace(b'"outcome":"odd"', b'"outcome":"connected"')
        store.execute("UPDATE set_aside SET value = ? WHERE id = ?", (cured, item["id"]))
    assert acme.post(f"/v1/ops/set-aside/{item['id']}/retry", None)["status"] == "merged"
    assert one.read()["record_version"] == 3
    assert poison not in [i["event_id"] for i in set_aside(acme, "open")]
    assert poison in [i["event_id"] for i in set_aside(acme, "merged")]
    assert one.says()["status"] == "merged"


def test_a_conflict_that_is_tried_again_is_refused_and_no_longer_open(borrower: Borrower) -> None:
    sent = {"event_id": f"sum-{another()}", "conversation_id": "c", "ended_at": ago(minutes=3)}
    borrower.says(**sent)
    borrower.says(status=409, summary="other", **sent)
    acme = borrower.tenant
    (item,) = (i for i in set_aside(acme, "open") if i["event_id"] == sent["event_id"])
    assert acme.post(f"/v1/ops/set-aside/{item['id']}/retry", None)["status"] == "refused"
    assert sent["event_id"] not in [i["event_id"] for i in set_aside(acme, "open")]
    assert sent["event_id"] in [i["event_id"] for i in set_aside(acme, "refused")]


@pytest.mark.parametrize("number", ["0", "99999999", "x", "1e3", "-1"])
def test_nothing_set_aside_under_a_number_is_not_found(acme: Tenant, number: str) -> None:
    assert acme.post(f"/v1/ops/set-aside/{number}/retry", None, status=404)["code"] == "not_found"


# -- what the wire can carry ------------------------------------------------------------------------------------------


def test_a_nul_in_a_text_is_repaired_and_its_neighbours_are_stored(acme: Tenant) -> None:
    """AC-46."""
    one = acme.borrower()
    for text in ("first", "pay\0ment on 2 Feb", "third"):
        answer = one.says(summary=text)
        assert warned(answer) == ({"text_repaired"} if "\0" in text else set())
    stored = [item["entry"]["summary"] for item in one.timeline()]
    assert sorted(stored) == ["first", "pay\ufffdment on 2 Feb", "third"]
    assert "\0" not in json.dumps(one.read(), ensure_ascii=False)


@pytest.mark.parametrize(
    "fields",
    [
        {"disposition": "a\0b"},
        {"commitment": {"quote": "a\0b", "amount": 5}},
        {"turns": [{"speaker": "borrower", "text": "a\0b"}]},
        {"extra": {"note": "a\0b", "deep": [{"k\0": "\0"}]}},
        {"agent": "a\0b"},
    ],
    ids=["disposition", "quote", "turns", "extra", "agent"],
)
def test_a_nul_anywhere_is_never_a_fault_of_ours(borrower: Borrower, fields: Json) -> None:
    answer = borrower.says(**fields)
    assert "text_repaired" in warned(answer)
    assert "\\u0000" not in json.dumps([borrower.read(), borrower.timeline(), borrower.briefing()])


def test_a_nul_in_an_id_is_refused_by_name(borrower: Borrower) -> None:
    refused = borrower.says(conversation_id="a\0b", status=422)
    assert refused["errors"] == [{"field": "conversation_id", "code": "bad_id"}]


@pytest.mark.parametrize("half", ["\\ud83d", "\\ude00", "a\\ud83d\\ud83db"])
def test_half_an_emoji_is_replaced_and_every_later_read_is_utf8(borrower: Borrower, half: str) -> None:
    """AC-47."""
    body = json.dumps(
        {
            "borrower_id": borrower.id,
            "channel": "whatsapp",
            "conversation_id": f"c-{another()}",
            "ended_at": ago(minutes=1),
            "outcome": "connected",
            "summary": "ok done HALF",
            "facts": [{"kind": "request", "text": "ok HALF", "confidence": 0.9}],
            "extra": {"notes": ["HALF"]},
        }
    ).replace("HALF", half)
    answer = borrower.tenant.raw("/v1/summaries", body.encode())
    assert answer.status_code == 200
    assert "text_repaired" in warned(answer.json())
    for path in ("", "/timeline", "/briefing", "/facts", "/export"):
        read = borrower.tenant.http.get(f"/v1/borrowers/{borrower.id}{path}")
        assert read.status_code == 200
        assert "\ud83d" not in read.content.decode("utf-8")
        assert "\\ud83d" not in read.content.decode("utf-8").lower()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
@pytest.mark.parametrize(
    "place",
    ['"commitment":{{"amount":{}}}', '"extra":{{"x":[{}]}}', '"revision":{}'],
    ids=["amount", "extra", "revision"],
)
def test_what_is_no_number_is_refused_and_nothing_is_stored(borrower: Borrower, number: str, place: str) -> None:
    """AC-48."""
    body = (
        f'{{"borrower_id":"{borrower.id}","channel":"voice","conversation_id":"c","ended_at":"{ago(minutes=1)}",'
        f"{place.format(number)}}}"
    )
    answer = borrower.tenant.raw("/v1/summaries", body.encode())
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")
    assert borrower.read(status=404)["code"] == "unknown_borrower"


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[1,2", b'{"a":1,"a":2}', b'{"channel":"\xff"}', b"\xef\xbb\xbf{}x", b"'{}'", b"{}{}", b'{"a":01}'],
)
def test_what_is_no_json_is_told_so(acme: Tenant, raw: bytes) -> None:
    answer = acme.raw("/v1/summaries", raw)
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")


def test_a_conversation_named_by_a_number_alone_is_kept(acme: Tenant) -> None:
    one = acme.borrower()
    answer = acme.summary(identifier=phone(one.number))
    assert answer["borrower_id"].startswith("~phone:")
