"""Forgetting leaves no trace of the words, wherever they lay, and keeps what is no memory (DESIGN 11; AC-49, 63 to 65)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from service.rebuild import rebuild
from tests.service.api import Api, api
from tests.service.conftest import Where
from tests.service.decisions.agents import Agents
from tests.service.embedded import POLICIES, SECRETS
from tests.service.forget.planted import Planted

WORD, OTHERS = "Zebulonia", "Quillfeather"

PLANTED_IN = {
    "borrower.record", "journal.body", "journal.stamps", "intake.value", "set_aside.value", "chat_line.body", "hook_body.body",
    "resume.agent", "resume.proposed", "resume.entered_state", "permit.holder", "decision.conclusion", "decision.agent",
    "decision.kind", "decision.execution_id", "decision_use.action", "decision_use.execution_id", "claim.entity",
    "screening_example.sentence", "journey.holds",
}  # fmt: skip

NUMBERS_IN = {"borrower.record", "identifier.value", "journal.body", "journal.stamps", "intake.value", "chat.named"}

KEPT = {"payments", "holds", "opt_outs", "identity_revocations", "promise_terms"}


@pytest.fixture
async def service(where: Where, tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path, where=where()) as opened:
        yield opened


async def fact_of(service: Api, borrower: str, kind: str = "household") -> str:
    items = (await service.get(f"/v1/borrowers/{borrower}/facts"))["items"]
    return str(next(item["fact_id"] for item in items if item["kind"] == kind))


@pytest.mark.thorough
@pytest.mark.parametrize("scope", ["fact", "term", "everything"])
async def test_no_trace_is_left_anywhere(
    service: Api, where: Where, tmp_path: Path, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, theirs = Planted(service, "B-1", WORD), Planted(service, "B-2", OTHERS)
    await mine.plant()
    await theirs.plant()
    before = (await service.get("/v1/borrowers/B-1")).document
    assert await mine.in_tables() >= PLANTED_IN, "the search finds what was planted"
    assert await mine.in_answers()
    assert await mine.numbers_in_tables() >= NUMBERS_IN
    assert await mine.numbers_in_answers() >= {"", "/timeline?limit=200", "/export"}
    what: dict[str, Any] = {
        "fact": {"fact_id": await fact_of(service, "B-1")}, "term": {"term": WORD.upper()}, "everything": {"everything": True},
    }[scope]  # fmt: skip
    receipt = await mine.forget(**what)
    assert receipt["status"] == "forgotten"
    assert receipt["removed"]["facts"] >= 1
    assert receipt["removed"]["texts_cleaned"] >= 5
    assert receipt["removed"]["texts_removed"] >= 3
    assert receipt["log_clear_after"] == receipt["at"]
    assert {item["what"] for item in receipt["kept"]} >= {
        "payments",
        "holds",
        "opt_outs",
        "identity_revocations",
        "promise_terms",
    }
    assert await mine.in_tables() == set()
    assert await mine.in_answers() == set()
    if scope == "everything":
        assert await mine.numbers_in_tables() == set()
        assert await mine.numbers_in_answers() == set()
    if isinstance(where(), Path):
        assert mine.in_files(tmp_path, numbers=scope == "everything") == set()
    assert WORD.casefold() not in capsys.readouterr().out.casefold()
    after = (await service.get("/v1/borrowers/B-1")).document
    for kept in ("cycle", "flags", "stage", "opt_outs", *(("identifiers",) if scope != "everything" else ())):
        assert after[kept] == before[kept], kept
    assert [(h["kind"], h["reason"]) for h in after["holds"]] == [("dispute", None)]
    kept = {n: v for n, v in before["commitment"].items() if n not in ("quote", "said")}
    assert {n: v for n, v in after["commitment"].items() if n not in ("quote", "said")} == kept
    assert await theirs.in_tables() >= PLANTED_IN, "nobody else forgets"
    again = await mine.forget(**what)
    assert again["status"] == "already_forgotten"
    assert again["removed"] == {"facts": 0, "texts_cleaned": 0, "texts_removed": 0}


@pytest.mark.parametrize("scope", ["fact", "term", "everything"])
async def test_a_rebuild_agrees_with_what_was_forgotten(where: Where, tmp_path: Path, scope: str) -> None:
    async with api(tmp_path, where=where()) as service:
        mine = Planted(service, "B-1", WORD)
        await mine.plant()
        what: dict[str, Any] = {
            "fact": {"fact_id": await fact_of(service, "B-1")}, "term": {"term": WORD}, "everything": {"everything": True},
        }[scope]  # fmt: skip
        await mine.forget(**what)
        await service.behind.stop_writing()
        before = await service.behind.all_rows()
        found = await rebuild(service.parts.database, SECRETS, POLICIES, service.parts.clock, lambda *_: None)
        assert (found.changed, found.removed) == (0, 0), found.changed_ids
        assert await service.behind.all_rows() == before


async def test_what_was_forgotten_is_not_learnt_again_from_what_is_older(service: Api) -> None:
    mine = Planted(service, "B-1", WORD)
    said = {
        "channel": "voice", "conversation_id": "c-x", "borrower_id": "B-1", "ended_at": service.ago(hours=3),
        "summary": f"Wife {WORD} answers.", "turns": [{"speaker": "borrower", "text": f"wife {WORD} hai"}],
        "facts": [{"kind": "household", "text": f"wife is {WORD}", "confidence": 0.9, "quote": f"wife {WORD} hai"}],
    }  # fmt: skip
    await service.post("/v1/summaries", said)
    await mine.forget(term=WORD)
    assert (await service.post("/v1/summaries", said))["status"] == "duplicate"
    late = [
        said | {"revision": 2},
        said | {"conversation_id": "c-y"},
        said | {"conversation_id": "c-z", "borrower_id": None},
    ]
    phone = service.phone()
    late[2]["identifier"] = phone
    for body in late:
        assert (await service.post("/v1/summaries", body)).status == 200
    assert await mine.in_answers() <= {"search current", "search history"}, "of somebody who is not known yet"
    await service.event("identifier.linked", "B-1", hours=5, identifier=phone)
    await service.behind.settled()
    assert await mine.in_tables() == set()
    assert await mine.in_answers() == set()
    new = said | {"conversation_id": "c-new", "ended_at": service.ago(hours=-0.01)}
    assert (await service.post("/v1/summaries", new)).status == 200
    assert [f["text"] for f in (await service.get("/v1/borrowers/B-1/facts"))["items"]] == [f"wife is {WORD}"]


async def test_a_decision_without_its_words_is_told_to_nobody_who_acts(service: Api) -> None:
    """AC-63: that there was one stands in its list; a briefing with a quotation of nothing helps nobody."""
    agents = Agents(service)
    await service.told("B-1", summary="She asked about her options.")
    await agents.decide("D-1", conclusion=f"waiver for {WORD}")
    await agents.decide("D-2", conclusion="10 % waiver, eligible", kind="waiver", entity="LN-2")
    assert (await service.post("/v1/borrowers/B-1/forget", {"reason": "r", "term": WORD}))["status"] == "forgotten"
    turn = {"channel": "voice", "turn_id": "t-1", "question": "What was decided?"}
    briefing = await service.get("/v1/borrowers/B-1/briefing?channel=voice")
    for text in (briefing["text"], (await service.post("/v1/borrowers/B-1/context", turn))["text"]):
        assert text.count("Decided on") == 1
        assert "10 % waiver" in text
    assert {item["decision_id"] for item in await agents.listed("history")} == {"D-1", "D-2"}


async def test_a_receipt_is_true(service: Api) -> None:
    """AC-64."""
    told = {"kind": "household", "text": "wife is Martha", "confidence": 0.9, "quote": "wife is Martha"}
    await service.told("B-1", summary="His wife Martha will pay.", facts=[told])
    path, why = "/v1/borrowers/B-1/forget", {"reason": "asked"}
    unknown = await service.post(path, why | {"fact_id": "f_0000000000000000"})
    assert (unknown.status, unknown["code"]) == (404, "unknown_fact")
    fact = await fact_of(service, "B-1")
    done = await service.post(path, why | {"fact_id": fact})
    assert (done["status"], done["removed"]) == ("forgotten", {"facts": 1, "texts_cleaned": 1, "texts_removed": 0})
    again = await service.post(path, why | {"fact_id": fact})
    assert (again["status"], again["receipt_id"]) == ("already_forgotten", done["receipt_id"])
    nothing = await service.post(path, why | {"term": "Leopold"})
    assert (nothing.status, nothing["status"]) == (200, "nothing_found")
    record = await service.behind.record("B-1")
    assert len(record.tombstones) == 2, "the tombstone of a term that nobody said stands"
    assert (await service.post("/v1/borrowers/B-9/forget", why | {"everything": True}))["code"] == "unknown_borrower"


async def test_money_records_are_not_memory(service: Api) -> None:
    """AC-65."""
    await service.event("cycle.opened", "B-1", hours=100, cycle_id="CY-1", loan_id="LN-1", due_date=service.day(5),
                        amount_due="12500", currency="INR")  # fmt: skip
    await service.event("payment.confirmed", "B-1", payment_ref="P-1", amount="500", currency="INR", loan_id="LN-1")
    await service.event(
        "reminder.sent", "B-1", channel="whatsapp", message_id="m-1", outcome="delivered", loan_id="LN-1"
    )
    for text in ("two children", "works nights"):
        await service.event("fact.stated", "B-1", kind="household", text=text)
    done = await service.post("/v1/borrowers/B-1/forget", {"reason": "erasure", "everything": True})
    assert (done["status"], done["removed"]["facts"]) == ("forgotten", 2)
    assert (await service.get("/v1/borrowers/B-1/facts"))["items"] == []
    flags = (await service.get("/v1/borrowers/B-1/flags")).document
    assert [flags[f]["value"] for f in ("reminded", "payment_confirmed")] == [True, True]
    assert (await service.get("/v1/borrowers/B-1"))["cycle"]["received"] == "500.00"
    permit = {"action": "reminder", "channel": "whatsapp", "holder": "run-1", "loan_id": "LN-1"}
    assert (await service.post("/v1/borrowers/B-1/permits", permit))["reason"] == "already_done"


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("José", "Jose\u0301"), ("MARTHA", "Martha's"), ("दिन", "दिन"), ("Rohan Kumar", "rohan  kumar,"), ("5,000", "5000"),
    ],
)  # fmt: skip
async def test_a_term_is_found_however_it_is_written(service: Api, term: str, said: str) -> None:
    """AC-49; and vowel signs are kept: what differs in them is another word."""
    await service.event("fact.stated", "B-1", kind="household", text=f"lives with {said} in town")
    await service.event("fact.stated", "B-1", kind="household", text="lives with दान and Joseph and Rohan")
    done = await service.post("/v1/borrowers/B-1/forget", {"reason": "asked", "term": term})
    assert (done["status"], done["removed"]["facts"]) == ("forgotten", 1)
    assert [f["text"] for f in (await service.get("/v1/borrowers/B-1/facts"))["items"]] == [
        "lives with दान and Joseph and Rohan"
    ]


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({}, "reason", "missing"),
        ({"reason": " ", "everything": True}, "reason", "missing"),
        ({"reason": "r"}, "everything", "missing"),
        ({"reason": "r", "everything": False}, "everything", "missing"),
        ({"reason": "r", "everything": "yes"}, "everything", "wrong_type"),
        ({"reason": "r", "term": " "}, "term", "missing"),
        ({"reason": "r", "term": "…!"}, "term", "missing"),
        ({"reason": "r", "term": 5}, "term", "wrong_type"),
        ({"reason": "r", "term": "x" * 201}, "term", "too_long"),
        ({"reason": "r", "term": "x", "everything": True}, "everything", "too_many"),
        ({"reason": "r", "term": "x", "fact_id": "f"}, "term", "too_many"),
        ({"reason": "r", "fact_id": ""}, "fact_id", "bad_id"),
        ({"reason": "r", "all": True}, "all", "unknown_field"),
    ],
)
async def test_a_request_that_is_wrong_is_refused_by_field(tmp_path: Path, body: Any, field: str, code: str) -> None:
    async with api(tmp_path) as service:
        await service.told("B-1")
        answer = await service.post("/v1/borrowers/B-1/forget", body)
        assert (answer.status, answer["code"]) == (422, "invalid_body")
        assert {"field": field, "code": code} in answer["errors"]


async def test_who_was_forgotten_is_still_found_by_number_and_nothing_shows_the_number(service: Api) -> None:
    """DESIGN 11, API 10: a forget never lifts a stop, so the number that it binds leads to it still; kept is a keyed hash."""
    borrower, phone = await service.known(hours=20)
    kind, number = "phone", phone["value"]
    await service.event("hold.placed", borrower, kind="do_not_contact", reason="lawyer wrote")
    await service.event("contact.opted_out", borrower, channel="whatsapp")
    receipt = await service.post(f"/v1/borrowers/{borrower}/forget", {"reason": "erasure", "everything": True})
    assert [item["count"] for item in receipt["kept"] if item["what"] == "identifiers"] == [1]
    (listed,) = (await service.get(f"/v1/borrowers/{borrower}"))["identifiers"]
    assert listed["kind"] == kind
    assert listed["value"].startswith("~")
    assert listed["verified_at"] is not None
    for spelling in (number, "0" + number[3:], f"whatsapp:{number}"):
        found = await service.post("/v1/borrowers/lookup", {"identifier": {"kind": kind, "value": spelling}})
        assert (found.status, found.document) == (200, {"borrower_id": borrower, "provisional": False})
        start = await service.resume(identifier={"kind": kind, "value": spelling}, direction="inbound")
        assert (start["borrower_id"], start["state"]) == (borrower, None)
        assert start["contact"]["reasons"][:1] == ["hold"] or "hold" in start["contact"]["reasons"]
        assert start["identity"]["holds"] is True, "what was verified on the number is evidence, and holds its time"
        assert number[3:] not in json.dumps(start.document)
    answer = await service.told(identifier=phone, hours=-0.01, summary="He called again.")
    assert (answer["borrower_id"], answer["warnings"]) == (borrower, [])
    revoked = await service.event("identity.revoked", borrower, hours=-0.02, identifier=phone, reason="sold the phone")
    assert revoked.status == 200
    assert (await service.resume(identifier=phone))["identity"]["holds"] is False
    again = await service.event("identifier.linked", borrower, hours=-0.03, identifier=phone)
    assert again.status == 200
    assert len((await service.get(f"/v1/borrowers/{borrower}"))["identifiers"]) == 1, "it is the one that was linked"
    await service.event("identifier.unlinked", borrower, hours=-0.04, identifier=phone, reason="number changed")
    assert (await service.post("/v1/borrowers/lookup", {"identifier": phone})).status == 404


async def test_a_number_of_two_is_of_two_also_when_one_of_them_was_forgotten(service: Api) -> None:
    borrower, phone = await service.known()
    await service.post(f"/v1/borrowers/{borrower}/forget", {"reason": "erasure", "everything": True})
    await service.event("identifier.linked", "B-other", identifier=phone)
    both = await service.post("/v1/borrowers/lookup", {"identifier": phone})
    assert (both.status, sorted(both["candidates"])) == (409, sorted([borrower, "B-other"]))


async def test_a_verification_of_before_that_comes_late_names_no_number_either(service: Api) -> None:
    borrower, phone = await service.known()
    mine = Planted(service, borrower, WORD, (phone["value"],))
    await service.post(f"/v1/borrowers/{borrower}/forget", {"reason": "erasure", "everything": True})
    await service.event("identity.verified", borrower, hours=2, identifier=phone, method="otp", channel="voice")
    await service.told(identifier=phone, hours=3, summary="late report")
    await service.told(borrower, hours=4, identifier=phone)
    assert (await service.resume(identifier=phone))["identity"]["holds"] is True
    assert await mine.numbers_in_tables() == set()
    assert await mine.numbers_in_answers() == set()


async def test_of_a_report_the_sentences_stay_that_do_not_say_it(service: Api) -> None:
    told = [{"kind": "household", "text": "wife is Martha", "confidence": 0.9, "quote": "wife is Martha"},
            {"kind": "preferred_language", "text": "prefers Hindi", "confidence": 0.9, "quote": "hindi mein hi"}]  # fmt: skip
    await service.told("B-1", summary="His wife Martha answered. He asked for a call at six.", facts=told)
    done = await service.post("/v1/borrowers/B-1/forget", {"reason": "asked", "term": "Martha"})
    assert (done["status"], done["removed"]) == ("forgotten", {"facts": 1, "texts_cleaned": 1, "texts_removed": 0})
    briefing = (await service.get("/v1/borrowers/B-1/briefing?channel=voice"))["text"]
    assert "He asked for a call at six." in briefing
    assert "Martha" not in briefing
    assert [f["text"] for f in (await service.get("/v1/borrowers/B-1/facts"))["items"]] == ["prefers Hindi"]
    (item,) = (await service.get("/v1/borrowers/B-1/timeline"))["items"]
    assert item["entry"]["summary"] == "He asked for a call at six."
