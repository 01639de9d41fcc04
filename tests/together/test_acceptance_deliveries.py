"""Deliveries: repeats, order, races, revisions; with `test_acceptance_batches` AC-01 to 05, 10, 46 to 48, 58 and 72."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import Any

import pytest

from tests.together.conftest import Borrower, Json, Tenant, another, confirmed, day, promise, terms, warned
from tests.together.service import ago

pytestmark = pytest.mark.process

COPIES = 20


def told(answer: Json) -> Json:
    """A write's answer but for its status, which says whether it was the first."""
    return {name: value for name, value in answer.items() if name != "status"}


# -- repeats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", ["whatsapp", "voice"])
def test_a_summary_posted_twice_is_merged_once(borrower: Borrower, channel: str) -> None:
    borrower.opens()
    version = borrower.read()["record_version"]
    sent = {
        "event_id": f"sum-{another()}",
        "conversation_id": f"c-{another()}",
        "ended_at": ago(minutes=3),
        "disposition": "agree_to_pay",
        "summary": "She asked for a day more.",
    }
    first = borrower.says(channel, promise(5000), **sent)
    time.sleep(0.02)
    second = borrower.says(channel, promise(5000), **sent)
    assert (first["status"], second["status"]) == ("merged", "duplicate")
    assert told(first) == told(second)
    assert borrower.read()["record_version"] == version + 1 == first["record_version"]
    assert borrower.briefing().count("She asked for a day more.") == 1
    assert len(borrower.timeline()) == 2


def test_a_repeat_is_told_the_first_answers_warnings_and_version(borrower: Borrower) -> None:
    sent = {"event_id": f"sum-{another()}", "conversation_id": f"c-{another()}", "ended_at": ago(minutes=3)}
    first = borrower.says("whatsapp", promise("-3", status="confirmed"), **sent)
    for number in range(3):
        borrower.says("voice", conversation_id=f"later-{another()}-{number}")
    again = borrower.says("whatsapp", promise("-3", status="confirmed"), **sent)
    assert warned(first) == {"amount_withheld", "lowered_to_proposed"}
    assert again == first | {"status": "duplicate"}


def test_an_event_delivered_three_times_is_merged_once(borrower: Borrower) -> None:
    sent = {"event_id": f"e-{another()}", "occurred_at": ago(minutes=2), "payment_ref": "P-3"}
    answers = [borrower.pays("400", **sent) for _ in range(3)]
    assert [a["status"] for a in answers] == ["merged", "duplicate", "duplicate"]
    assert borrower.read()["cycle"]["received"] == "400.00"
    assert len(borrower.timeline()) == 1


@pytest.mark.parametrize(
    "same",
    [
        lambda body: dict(reversed(body.items())),
        lambda body: body | {"commitment": body["commitment"] | {"amount": "5000.00"}},
        lambda body: body | {"commitment": body["commitment"] | {"amount": 5000.0}},
        lambda body: body | {"outcome": body["outcome"], "disposition": None, "facts": []},
        lambda body: body | {"ended_at": body["ended_at"].replace("+00:00", "Z")},
    ],
    ids=["the order of keys", "decimals", "a number", "nulls", "the spelling of the zone"],
)
def test_a_body_that_is_equal_after_parsing_is_a_repeat(borrower: Borrower, same: Any) -> None:
    body = {
        "event_id": f"sum-{another()}",
        "borrower_id": borrower.id,
        "channel": "whatsapp",
        "conversation_id": f"c-{another()}",
        "ended_at": ago(minutes=5),
        "outcome": "connected",
        "commitment": {"amount": 5000, "due_date": day(4)},
    }
    assert borrower.tenant.post("/v1/summaries", body)["status"] == "merged"
    assert borrower.tenant.post("/v1/summaries", same(body))["status"] == "duplicate"


def test_the_order_of_a_list_matters(borrower: Borrower) -> None:
    turns = [{"speaker": "borrower", "text": "haan"}, {"speaker": "agent", "text": "ok"}]
    sent = {"event_id": f"sum-{another()}", "conversation_id": f"c-{another()}", "ended_at": ago(minutes=3)}
    borrower.says(turns=turns, **sent)
    assert borrower.says(turns=turns[::-1], status=409, **sent)["code"] == "id_conflict"


# -- at the same time -------------------------------------------------------------------------------------------------


def at_once(borrower: Borrower, bodies: list[Json]) -> list[tuple[int, Json]]:
    def post(body: Json) -> tuple[int, Json]:
        answer = borrower.tenant.http.post("/v1/summaries", json=body)
        return answer.status_code, answer.json()

    with ThreadPoolExecutor(COPIES) as pool:
        return list(pool.map(post, bodies))


def test_of_simultaneous_copies_one_merges_and_the_rest_are_duplicates(borrower: Borrower) -> None:
    body = {
        "event_id": f"sum-{another()}",
        "borrower_id": borrower.id,
        "channel": "whatsapp",
        "conversation_id": "c-1",
        "ended_at": ago(minutes=1),
        "commitment": promise(5000, status="confirmed"),
    }
    answers = at_once(borrower, [body] * COPIES)
    assert {status for status, _ in answers} == {200}
    assert sorted(a["status"] for _, a in answers) == ["duplicate"] * (COPIES - 1) + ["merged"]
    assert len({json.dumps(told(a), sort_keys=True) for _, a in answers}) == 1
    assert borrower.read()["record_version"] == 1


def test_of_simultaneous_other_bodies_one_merges_and_the_rest_conflict_in_the_same_words(borrower: Borrower) -> None:
    body = {
        "event_id": f"sum-{another()}",
        "borrower_id": borrower.id,
        "channel": "whatsapp",
        "conversation_id": "c-1",
        "ended_at": ago(minutes=1),
    }
    bodies = [body | {"commitment": promise(1000 + n)} for n in range(COPIES)]
    answers = at_once(borrower, bodies)
    assert sorted(status for status, _ in answers) == [200] + [409] * (COPIES - 1)
    late = borrower.tenant.post("/v1/summaries", body | {"commitment": promise(7)}, status=409)
    assert {json.dumps(a, sort_keys=True) for status, a in answers if status == 409} == {
        json.dumps(late, sort_keys=True)
    }
    merged = next(b for b, (status, _) in zip(bodies, answers, strict=True) if status == 200)
    assert borrower.commitment()["amount"] == f"{merged['commitment']['amount']}.00"


def test_many_entries_of_one_borrower_at_once_are_all_merged_each_by_its_own_version(borrower: Borrower) -> None:
    bodies = [
        {
            "borrower_id": borrower.id,
            "channel": "voice",
            "conversation_id": f"c-{n}",
            "event_id": f"{borrower.id}-{n}",
            "ended_at": ago(minutes=n + 1),
        }
        for n in range(COPIES)
    ]
    answers = at_once(borrower, bodies)
    assert sorted(a["record_version"] for _, a in answers) == list(range(1, COPIES + 1))
    assert len(borrower.timeline()) == COPIES


# -- order ------------------------------------------------------------------------------------------------------------


def test_an_older_conversation_that_arrives_later_lowers_nothing(borrower: Borrower) -> None:
    borrower.says("voice", confirmed(5000), ended_at=ago(minutes=20), summary="The call came last.")
    borrower.says("whatsapp", promise(5000), ended_at=ago(minutes=50), summary="The chat came first.")
    assert terms(borrower.commitment()) == ("confirmed", "5000.00", day(5))
    briefing = borrower.briefing("whatsapp")
    assert briefing.index("The chat came first.") < briefing.index("The call came last.")


def test_every_order_of_arrival_gives_the_same_answers(acme: Tenant) -> None:
    ended, other, first = ago(minutes=20), ago(minutes=30), ago(minutes=40)
    told_: set[str] = set()
    for order in list(permutations(range(4)))[::5]:
        one = acme.borrower()
        posts = [
            lambda b: b.says(
                "voice", confirmed(5000, day(6)), conversation_id=f"v{b.id}", ended_at=ended, summary="A."
            ),
            lambda b: b.says("whatsapp", promise(4000), conversation_id=f"w{b.id}", ended_at=ended, summary="B."),
            lambda b: b.says("whatsapp", promise(3000), conversation_id=f"x{b.id}", ended_at=first, summary="C."),
            lambda b: b.event(
                "reminder.sent",
                channel="whatsapp",
                message_id="m",
                outcome="sent",
                occurred_at=other,
                event_id=f"r{b.id}",
            ),
        ]
        for number in order:
            posts[number](one)
        answer = one.read()
        for name in ("as_of", "borrower_id"):
            del answer[name]
        told_.add(json.dumps([answer, one.briefing(), one.timeline()], sort_keys=True).replace(one.id, "B"))
    assert len(told_) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_conversations_with_the_same_end_are_ordered_alike_whatever_came_first(
    acme: Tenant, order: tuple[int, int]
) -> None:
    one, ended = acme.borrower(), ago(hours=2)
    both = [
        lambda: one.says("voice", confirmed(5000, day(3)), ended_at=ended, conversation_id=f"k-{one.id}"),
        lambda: one.says("whatsapp", promise(4000, day(4)), ended_at=ended, conversation_id=f"c-{one.id}"),
    ]
    for number in order:
        both[number]()
    assert terms(one.commitment()) == ("confirmed", "5000.00", day(3))
    calls = [line for line in one.briefing().splitlines() if line.startswith("- ")]
    assert ["call" in line for line in calls] == [True, False]


# -- early ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "fields", "flag"),
    [
        ("payment_link.shared", {"channel": "whatsapp", "message_id": "L", "outcome": "sent"}, "payment_link_shared"),
        ("reminder.sent", {"channel": "voice", "message_id": "R", "outcome": "delivered"}, "reminded"),
        ("payment.confirmed", {"payment_ref": "P-early", "amount": 90, "currency": "INR"}, "payment_confirmed"),
    ],
)
def test_an_event_of_somebody_unknown_is_kept(borrower: Borrower, type_: str, fields: Json, flag: str) -> None:
    early = borrower.event(type_, occurred_at=ago(hours=3), **fields)
    assert early["status"] == "merged"
    assert early["borrower_id"] == borrower.id
    borrower.says()
    assert borrower.flags()[flag]
    assert early["event_id"] in [item["event_id"] for item in borrower.timeline()]


# -- revisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", ["whatsapp", "voice"])
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_a_conversation_appears_once_with_its_highest_revision(
    borrower: Borrower, channel: str, order: tuple[int, int]
) -> None:
    c = f"c-{another()}"
    revisions: dict[int, Json] = {
        1: {"ended_at": ago(minutes=40), "summary": "There was no reply."},
        2: {"ended_at": ago(minutes=5), "summary": "He will pay.", "commitment": promise(5000)},
    }
    for number in order:
        borrower.says(channel, conversation_id=c, revision=number, **revisions[number])
    assert terms(borrower.commitment()) == ("proposed", "5000.00", day(5))
    briefing = borrower.briefing()
    assert briefing.count("He will pay.") == 1
    assert "no reply" not in briefing
    (item,) = borrower.timeline()
    assert (item["revisions"], item["entry"]["revision"]) == (2, 2)
    assert borrower.read()["conversations"][channel]["summary"] == "He will pay."


def test_the_strongest_commitment_of_all_revisions_stays(borrower: Borrower) -> None:
    c = f"c-{another()}"
    borrower.says("voice", confirmed(5000), conversation_id=c, ended_at=ago(minutes=9))
    borrower.says("voice", None, conversation_id=c, revision=2, ended_at=ago(minutes=9), summary="Analysed.")
    borrower.says("voice", promise(300), conversation_id=c, revision=3, ended_at=ago(minutes=9))
    assert terms(borrower.commitment()) == ("confirmed", "5000.00", day(5))


@pytest.mark.parametrize("outcome", ["third_party", "wrong_number", "voicemail"])
def test_a_correction_to_not_the_borrower_takes_the_promise_back(borrower: Borrower, outcome: str) -> None:
    c = f"c-{another()}"
    borrower.says("voice", confirmed(5000), conversation_id=c)
    borrower.says("voice", None, conversation_id=c, revision=2, outcome=outcome)
    assert borrower.commitment() is None
    borrower.says("voice", None, conversation_id=c, revision=3, outcome="connected")
    assert terms(borrower.commitment()) == ("confirmed", "5000.00", day(5))
