"""After a number turns out never to have been this borrower's, nothing that came through it is told of them (DESIGN 7)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.api import Api, Body, api

WORDS = ("Zanzibar", "5000", "SECRET-REASON")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path) as made:
        yield made


async def _told_of_another(service: Api, borrower: str) -> tuple[Body, list[str]]:
    """Somebody with a wrong number, through which a stranger spoke; its ids of what the stranger's words are in."""
    phone = service.phone()
    await service.event("identifier.linked", borrower, hours=100, identifier=phone)
    quote = "Zanzibar ke baad 5000 dungi"
    spoke = await service.told(
        hours=50, identifier=phone, summary="Plans a trip to Zanzibar.", disposition="zanzibar_trip", agent="Zanzibar-bot",
        commitment={"amount": 5000, "quote": quote}, turns=[{"speaker": "borrower", "text": quote}],
        facts=[{"kind": "household", "text": "family in Zanzibar", "confidence": 0.9}], extra={"note": "Zanzibar"},
    )  # fmt: skip
    fact = await service.event("fact.stated", hours=49, identifier=phone, kind="household", text="a house in Zanzibar")
    held = await service.event(
        "hold.placed", hours=48, identifier=phone, kind="dispute", reason="SECRET-REASON Zanzibar"
    )
    again = {
        "event_id": fact["event_id"],
        "type": "fact.stated",
        "occurred_at": service.ago(hours=49),
        "identifier": phone,
    }
    conflict = await service.post("/v1/events", again | {"kind": "household", "text": "no house in Zanzibar"})
    assert conflict.status == 409
    return phone, [spoke["event_id"], fact["event_id"], held["event_id"]]


async def _unlinked(service: Api, borrower: str, phone: Body, reason: str = "wrong_borrower") -> None:
    answer = await service.event("identifier.unlinked", borrower, hours=10, identifier=phone, reason=reason)
    assert answer.status == 200


READS = (
    "", "/briefing?channel=voice", "/briefing?channel=whatsapp", "/facts", "/flags", "/timeline", "/decisions?purpose=history",
    "/export",
)  # fmt: skip


async def _all_that_is_told(service: Api, borrower: str) -> list[str]:
    path = f"/v1/borrowers/{borrower}"
    told: list[Any] = [(await service.get(path + read)).document for read in READS]
    turn = {"channel": "voice", "turn_id": "t", "question": "And now?"}
    told.append((await service.post(f"{path}/context", turn)).document)
    told.append((await service.post(f"{path}/recall", {"query": "trip house family", "purpose": "history"})).document)
    told.append((await service.post("/v1/search", {"query": "trip house family", "purpose": "history"})).document)
    told.append((await service.get("/v1/borrowers")).document)
    for channel in ("voice", "whatsapp"):
        told.append((await service.resume(borrower, channel=channel)).document)
    return [json.dumps(document, ensure_ascii=False) for document in told]


async def test_no_word_of_somebody_else_is_told_by_any_read(service: Api) -> None:
    borrower = service.name("B")
    own = (await service.told(borrower, hours=60, summary="She spoke from Pune."))["event_id"]
    phone, _ = await _told_of_another(service, borrower)
    assert any("Zanzibar" in told for told in await _all_that_is_told(service, borrower))
    await _unlinked(service, borrower, phone)
    for told in await _all_that_is_told(service, borrower):
        assert not any(word in told or word.lower() in told for word in WORDS), told
    assert own in json.dumps((await service.get(f"/v1/borrowers/{borrower}/timeline")).document)


async def test_the_time_line_and_an_export_keep_a_line_that_is_marked_and_has_no_word(service: Api) -> None:
    borrower = service.name("B")
    phone, ids = await _told_of_another(service, borrower)
    before = {item["event_id"]: item for item in (await service.get(f"/v1/borrowers/{borrower}/timeline"))["items"]}
    assert not any("left_out" in item for item in before.values())
    await _unlinked(service, borrower, phone)
    items = {item["event_id"]: item for item in (await service.get(f"/v1/borrowers/{borrower}/timeline"))["items"]}
    assert {id_ for id_, item in items.items() if "left_out" in item} == set(ids)
    for id_ in ids:
        item, was = items[id_], before[id_]
        assert (item["left_out"], item["kind"], item["at"]) == ("wrong_borrower", was["kind"], was["at"])
        assert (item["loan_id"], item["cycle_id"], item["attempt"]) == (None, None, None)
        assert item["entry"].items() <= was["entry"].items()
        assert not {
            "summary",
            "commitment",
            "facts",
            "turns",
            "extra",
            "text",
            "reason",
            "identifier",
            "outcome",
        } & set(item["entry"])
    export = (await service.get(f"/v1/borrowers/{borrower}/export")).document
    marked = {
        entry["event_id"]: entry["entry"] for entry in export["entries"] if entry.get("left_out") == "wrong_borrower"
    }
    assert marked == {id_: items[id_]["entry"] for id_ in ids}
    assert [row["value"] for row in export["set_aside"]] == [None]


@pytest.mark.parametrize("reason", ["number given up", "changed"])
async def test_another_reason_to_unlink_leaves_what_was_said(service: Api, reason: str) -> None:
    borrower = service.name("B")
    phone, ids = await _told_of_another(service, borrower)
    await _unlinked(service, borrower, phone, reason)
    items = (await service.get(f"/v1/borrowers/{borrower}/timeline"))["items"]
    assert not any("left_out" in item for item in items)
    assert set(ids) <= {item["event_id"] for item in items}
    assert "Zanzibar" in json.dumps((await service.get(f"/v1/borrowers/{borrower}/export"))["entries"])


async def test_what_comes_by_the_number_after_it_was_linked_again_is_theirs(service: Api) -> None:
    borrower = service.name("B")
    phone, ids = await _told_of_another(service, borrower)
    await _unlinked(service, borrower, phone)
    await service.event("identifier.linked", borrower, hours=9, identifier=phone)
    await service.told(identifier=phone, hours=8, summary="She moved to Goa.")
    items = (await service.get(f"/v1/borrowers/{borrower}/timeline"))["items"]
    assert {item["event_id"] for item in items if "left_out" in item} == set(ids)
    assert "Goa" in json.dumps(items)


async def test_an_open_chat_of_somebody_else_is_not_open_with_this_borrower(service: Api) -> None:
    borrower, right, phone = service.name("B"), service.name("B"), service.phone()
    await service.event("identifier.linked", borrower, hours=100, identifier=phone)

    async def line(chat: str, **who: Any) -> None:
        said = {"channel": "whatsapp", "conversation_id": chat, "message_id": service.name("m"), "speaker": "borrower"}
        await service.event("conversation.message", hours=0.05, text="hello", **said, **who)

    async def open_with(one: str) -> set[str]:
        return {chat["conversation_id"] for chat in (await service.resume(one))["open_conversations"]}

    await line("by-number", identifier=phone)
    await line("by-name", borrower_id=borrower)
    await line("by-both", borrower_id=borrower, identifier=phone)
    assert await open_with(borrower) == {"by-number", "by-name", "by-both"}
    unlinked = await service.event("identifier.unlinked", borrower, hours=0, identifier=phone, reason="wrong_borrower")
    assert unlinked.status == 200
    assert await open_with(borrower) == {"by-name", "by-both"}
    await service.event("identifier.linked", right, hours=0, identifier=phone)
    assert await open_with(right) == {"by-number"}


async def test_an_open_chat_of_a_number_that_is_somebodys_already_is_open_with_them(service: Api) -> None:
    wrong, right, phone = service.name("B"), service.name("B"), service.phone()
    await service.event("identifier.linked", wrong, hours=100, identifier=phone)
    said = {
        "channel": "whatsapp",
        "conversation_id": "c-1",
        "message_id": "m-1",
        "speaker": "borrower",
        "text": "hello",
    }
    await service.event("conversation.message", hours=0.05, identifier=phone, **said)
    await service.event("identifier.linked", right, hours=0, identifier=phone)
    await service.event("identifier.unlinked", wrong, hours=0, identifier=phone, reason="wrong_borrower")
    assert (await service.resume(wrong))["open_conversations"] == []
    assert [chat["conversation_id"] for chat in (await service.resume(right))["open_conversations"]] == ["c-1"]
