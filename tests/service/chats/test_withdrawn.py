"""Words of a chat that were taken back after they were summarised are told by no reader, whatever became of what they promised;
what was promised stays where it stands (DESIGN 3, 11)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from service.keys import create
from tests.service.api import Api
from tests.service.chats.conftest import answer, line, promises, revoked, settled, sweeper, swept, told
from tests.service.embedded import TENANT
from tests.service.scripted import Says

Body = dict[str, Any]
SECRET = "salary"


async def everywhere(service: Api, borrower: str) -> dict[str, str]:
    """All that any reader is told of the borrower, by who reads."""
    of = f"/v1/borrowers/{borrower}"
    reads = {name: of + path for name, path in {
        "record": "", "voice": "/briefing?channel=voice", "whatsapp": "/briefing?channel=whatsapp", "facts": "/facts",
        "timeline": "/timeline", "export": "/export", "flags": "/flags",
    }.items()}  # fmt: skip
    answers = {name: (await service.get(path)).document for name, path in reads.items()}
    for channel in ("voice", "whatsapp"):
        answers[f"resume {channel}"] = (await service.resume(borrower, channel)).document
        asked = {"channel": channel, "turn_id": "t-1", "question": "what was promised?"}
        answers[f"context {channel}"] = (await service.post(f"{of}/context", asked)).document
    for purpose in ("current", "history"):
        query = {"query": f"{SECRET} call her pay", "purpose": purpose}
        answers[f"recall {purpose}"] = (await service.post(f"{of}/recall", query)).document
        answers[f"search {purpose}"] = (await service.post("/v1/search", query)).document
    texts = {name: json.dumps(answer) for name, answer in answers.items()}
    return texts | {"room": await _room(service, f"/ops/borrowers/{borrower}")}


async def _room(service: Api, path: str) -> str:
    key, _ = await service.parts.database.write(
        lambda c: create(c, TENANT, ["ops", "events:ops", "privacy"], service.now, name="asha")
    )
    async with httpx.AsyncClient(transport=service.transport, base_url="http://test", follow_redirects=True) as person:
        await person.post("/ops/sign-in", data={"key": key})
        answer = await person.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


async def where_told(service: Api, borrower: str, word: str = SECRET) -> set[str]:
    return {reader for reader, text in (await everywhere(service, borrower)).items() if word in text}


async def said(service: Api, text: str, minutes: float = 60, message: str = "m-1", **own: Any) -> None:
    await line(service, "B-1", text, minutes=minutes, message_id=message, **own)
    await swept(service)


async def edited(service: Api, message: str = "m-1") -> None:
    await line(service, "B-1", "ok thanks", minutes=20, message_id="m-edit", replaces=message)
    await swept(service)


async def due(service: Api, loan: Body) -> None:
    opened = {"loan_id": "LN-1", "cycle_id": "one", "amount_due": "4321", "currency": "INR", "due_date": service.day(2)}
    await service.event("cycle.opened", "B-1", hours=50, **opened)


async def is_open(service: Api) -> None:
    """Nothing happens to it."""


async def is_kept(service: Api) -> None:
    paid = {"payment_ref": "P-1", "amount": "4321", "currency": "INR"}
    assert (await service.event("payment.confirmed", "B-1", hours=0.8, **paid)).status == 200


async def is_broken(service: Api) -> None:
    assert (await service.event("promise.broken", "B-1", hours=0.8, due_date=service.day(9))).status == 200


async def is_retracted(service: Api) -> None:
    assert (await service.event("promise.retracted", "B-1", hours=0.8, reason="typed wrong")).status == 200


async def is_superseded(service: Api) -> None:
    promise = service.promise("confirmed", "9000", 4)
    assert (await service.told("B-1", hours=0.8, conversation_id="call-1", commitment=promise)).status == 200


async def is_beside(service: Api) -> None:
    promise = service.promise("confirmed", "9000", 4)
    assert (await service.told("B-1", hours=1.5, conversation_id="call-1", commitment=promise)).status == 200


FATES = [is_open, is_kept, is_broken, is_retracted, is_superseded, is_beside]


@pytest.mark.thorough
@pytest.mark.parametrize("change", [revoked, edited])
@pytest.mark.parametrize("fate", FATES)
async def test_the_words_of_a_promise_are_gone_wherever_it_is_told_and_it_stands_as_it_stood(
    service: Api, fate: Callable[[Api], Awaitable[None]], change: Callable[[Api], Awaitable[None]]
) -> None:
    await said(service, f"I will pay 4321 on {service.day(9)}, my salary comes then")
    await fate(service)
    before, read = await promises(service), await where_told(service, "B-1")
    assert {"record", "export", "room", "timeline"} <= read
    assert before
    await change(service)
    assert await where_told(service, "B-1") == set()
    assert await promises(service) == before
    await line(service, "B-1", "thank you, bye", minutes=10)
    await swept(service)
    assert await where_told(service, "B-1") == set()
    (of_chat,) = [p for p in await promises(service) if p["promise_id"] == "whatsapp:c-1"]
    (then,) = [p for p in before if p["promise_id"] == "whatsapp:c-1"]
    assert of_chat == then


@pytest.mark.parametrize("agent", ["When can you pay?", None])
@pytest.mark.parametrize("change", [revoked, edited])
async def test_that_the_borrower_was_there_is_no_word_and_stays(
    service: Api, agent: str | None, change: Callable[[Api], Awaitable[None]]
) -> None:
    """A chat of which nothing of theirs stands is no try that reached nobody, of which no promise counts."""
    if agent is not None:
        await line(service, "B-1", agent, minutes=70, speaker="agent")
    await said(service, f"I will pay 4321 on {service.day(9)}, my salary comes then")
    before, start = await promises(service), (await service.resume("B-1", "whatsapp"))["position"]
    await change(service)
    assert await where_told(service, "B-1") == set()
    assert await promises(service) == before
    assert (await service.get("/v1/borrowers/B-1"))["contact_attempts"] == 0
    assert (await service.resume("B-1", "whatsapp"))["position"] == start
    (item,) = await told(service, "B-1")
    assert item["entry"]["outcome"] == "connected"
    assert item["entry"]["direction"] == ("outbound" if agent else "inbound")


async def test_a_payment_made_before_the_words_were_taken_back_still_keeps_the_promise(service: Api) -> None:
    """What is told anew would be a promise of a later time, towards which nothing was paid."""
    await said(service, f"I will pay 4321 on {service.day(9)}, my salary comes then")
    await is_kept(service)
    await line(service, "B-1", "hello?", minutes=25)
    await revoked(service)
    (promise,) = await promises(service)
    assert promise["outcome"] == "kept"


SAYS = {
    "callback": "call me on Monday at 5 pm after my salary comes",
    "payment_claim": "my salary came, I paid 4321 yesterday",
    "prose": "my salary is late this month",
}


@pytest.mark.parametrize("kind", SAYS)
async def test_what_else_was_said_goes_with_its_words(service: Api, kind: str) -> None:
    await said(service, "hello", minutes=70, message="m-0")
    await said(service, SAYS[kind])
    assert {"export", "timeline", "room"} <= await where_told(service, "B-1")
    await revoked(service)
    assert await where_told(service, "B-1") == set()
    record = (await service.get("/v1/borrowers/B-1")).document
    assert record["payment_claim"] is None
    (item,) = await told(service, "B-1")
    assert "callback" not in item["entry"]


async def test_a_fact_that_a_model_took_from_a_message_goes_with_it(service: Api) -> None:
    text = "my salary comes on the 7th every month"
    fact = {"kind": "income_day", "text": "salary on the 7th of every month", "quote": text, "confidence": 0.9}
    await line(service, "B-1", text, message_id="m-1")
    await settled(service)
    await sweeper(service, model=Says(answer("The borrower told about their salary.", facts=[fact]))).sweep()
    assert "facts" in await where_told(service, "B-1")
    await line(service, "B-1", "-", minutes=20, message_id="m-1", deleted=True)
    await settled(service)
    await sweeper(service, model=Says(answer("The borrower told something."))).sweep()
    assert await where_told(service, "B-1") == set()


async def test_words_that_stand_are_told_still_and_what_was_never_said_to_us_is_not_guessed(service: Api) -> None:
    await said(service, f"I will pay 4321 on {service.day(9)}, my salary comes then")
    await said(service, "my bike is gone", minutes=50, message="m-2")
    await revoked(service, "m-2")
    assert await where_told(service, "B-1", "bike") == set()
    assert {"record", "timeline", "export", "room"} <= await where_told(service, "B-1")
    quote = (await service.get("/v1/borrowers/B-1"))["commitment"]["quote"]
    assert SECRET in quote


async def test_a_channel_that_summarises_by_itself_says_so_in_its_next_revision(service: Api) -> None:
    promise = service.promise(amount="4321", days=9, quote="when my salary comes")
    own = {"channel": "whatsapp", "conversation_id": "c-9", "hours": 0.9}
    first = await service.told("B-1", **own, commitment=promise)
    before = await promises(service)
    named = {"words_withdrawn": [first["event_id"], 7, ""]}
    assert (await service.told("B-1", **own, revision=2, extra=named)).status == 200
    assert await where_told(service, "B-1") == set()
    assert await promises(service) == before
    for odd in ("whatsapp:c-9:1", {}, [[]], None):
        assert (
            await service.told("B-1", **own, revision=3, event_id=service.name("s"), extra={"words_withdrawn": odd})
        ).status == 200


async def test_an_export_tells_messages_as_they_stand(service: Api) -> None:
    await said(service, "my salary is late")
    await line(service, "B-1", "my salary came", minutes=50, message_id="m-2", replaces="m-1")
    await line(service, "B-1", "all is well", minutes=45, message_id="m-3")
    await swept(service)

    async def texts() -> list[str]:
        entries = (await service.get("/v1/borrowers/B-1/export"))["entries"]
        return [e["entry"]["text"] for e in entries if e["type"] == "conversation.message"]

    assert await texts() == ["[withdrawn]", "my salary came", "all is well"]
    await revoked(service, "m-1", text="my salary is late")
    assert await texts() == ["[withdrawn]", "[withdrawn]", "all is well", "[withdrawn]"]
