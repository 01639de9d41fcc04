"""A chat that goes on is summarised again as a whole, and nothing is said twice: what was promised stands where it was said,
whatever became of it since (DESIGN 4, 5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from service.models.asking import Model
from tests.service.api import Api
from tests.service.chats.conftest import answer, line, promises, revoked, settled, sweeper, told
from tests.service.scripted import Says

Change = Callable[[Api], Awaitable[Any]]
LONG_AGO_MINUTES = 60 * 100


async def say(service: Api, text: str, hours: float, message: str, model: Model | None = None, **own: Any) -> None:
    """A line, and a summary an hour later."""
    await line(service, "B-1", text, minutes=hours * 60, message_id=message, **own)
    await settled(service)
    await sweeper(service, model=model).sweep()


async def due(service: Api, cycle: str, hours: float, days: int) -> None:
    opened = {"loan_id": "LN-1", "amount_due": "9000", "currency": "INR", "due_date": service.day(days)}
    await service.event("cycle.opened", "B-1", hours=hours, cycle_id=cycle, **opened)


async def paid(service: Api) -> None:
    await service.event("payment.confirmed", "B-1", hours=50, payment_ref="P-1", amount="4321", currency="INR")


async def broken(service: Api) -> None:
    await service.event("promise.broken", "B-1", hours=50)


async def retracted(service: Api) -> None:
    await service.event("promise.retracted", "B-1", hours=50, reason="typed wrong")


async def a_new_cycle(service: Api) -> None:
    await service.event("cycle.closed", "B-1", hours=55, loan_id="LN-1", cycle_id="one", reason="paid")
    await due(service, "two", 50, 30)


async def nothing(service: Api) -> None:
    """Nothing happens to it."""


FATES = [nothing, paid, broken, retracted, a_new_cycle]


@pytest.mark.thorough
@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("by", ["rules", "model"])
@pytest.mark.parametrize("named", ["a day", "no day"])
async def test_a_line_that_comes_later_says_no_promise_again(service: Api, fate: Change, by: str, named: str) -> None:
    await due(service, "one", 200, 3)
    text = f"I will pay 4321 on {service.day(9)}" if named == "a day" else "I will pay 4321"
    quoting = answer("The borrower will pay 4,321.", commitment={"quote": text, "amount_said": "4321"})
    model = Says(quoting) if by == "model" else None
    await say(service, text, 100, "m-1", model)
    assert len(await promises(service)) > 0
    await fate(service)
    before = await promises(service)
    for hours, words in ((4, "sorry, I was ill"), (2, "hello?")):
        await say(service, words, hours, f"m-{hours}", model)
        assert await promises(service) == before
    (item,) = await told(service, "B-1")
    assert item["revisions"] == 3
    assert "commitment" not in item["entry"]
    briefing = (await service.get("/v1/borrowers/B-1/briefing?channel=voice"))["text"]
    assert "4321" in briefing.replace(",", "")


@pytest.mark.parametrize("fate", FATES)
async def test_what_is_promised_anew_is_a_new_promise_also_in_the_same_words(service: Api, fate: Change) -> None:
    await due(service, "one", 200, 3)
    text = f"I will pay 4321 on {service.day(9)}"
    await say(service, text, 100, "m-1")
    (first, *_) = await promises(service)
    await fate(service)
    await say(service, text, 3, "m-2")
    newest = max(await promises(service), key=lambda one: str(one["at"]))
    assert str(newest["at"]) > str(first["at"])
    assert (newest["amount"], newest["outcome"]) == ("4321.00", "open")


async def test_a_day_that_is_named_later_completes_what_was_promised(service: Api) -> None:
    await say(service, "I will pay 4321", 100, "m-1")
    await line(service, "B-1", "kab tak pay kar denge?", minutes=200, message_id="m-2", speaker="agent")
    await say(service, service.day(9), 3, "m-3")
    (promise, *_) = await promises(service)
    assert (promise["amount"], promise["due_date"]) == ("4321.00", service.day(9))


async def test_of_two_promises_the_earlier_stands_again_when_the_later_is_taken_back(service: Api) -> None:
    await say(service, f"I will pay 4321 on {service.day(9)}", 4, "m-0")
    await say(service, f"I will pay 8000 on {service.day(12)}", 3, "m-1")
    assert (await promises(service))[0]["amount"] == "8000.00"
    await revoked(service)
    (promise, *_) = await promises(service)
    assert (promise["amount"], promise["due_date"]) == ("4321.00", service.day(9))


@pytest.mark.parametrize("fate", [paid, broken, retracted])
async def test_it_does_not_stand_again_once_it_is_over(service: Api, fate: Change) -> None:
    await say(service, f"I will pay 4321 on {service.day(9)}", 100, "m-0")
    await fate(service)
    await say(service, f"I will pay 8000 on {service.day(12)}", 3, "m-1")
    await revoked(service)
    every = await promises(service)
    assert not any(one["amount"] == "4321.00" and one["outcome"] == "open" for one in every)


@pytest.mark.parametrize("fate", FATES)
async def test_another_line_that_is_taken_back_moves_no_promise_and_leaves_its_words(
    service: Api, fate: Change
) -> None:
    await due(service, "one", 200, 3)
    await line(service, "B-1", "my bike is gone", minutes=60 * 101, message_id="m-1")
    await say(service, f"I will pay 4321 on {service.day(9)}", 100, "m-2")
    await fate(service)
    before = await promises(service)
    await revoked(service)
    service.behind.now += timedelta(minutes=1)
    assert await promises(service) == before
    export = str((await service.get("/v1/borrowers/B-1/export")).document)
    assert "bike" not in export
    assert "I will pay 4321" in export


async def test_a_better_summary_of_the_same_lines_moves_nothing(service: Api) -> None:
    """The rules' summary was posted while the model was down, and the model's follows."""
    from service.models.asking import ModelFailed

    text = f"I will pay 4321 on {service.day(9)}"
    model = Says(ModelFailed("timeout", "silent"), answer("The borrower will pay.", commitment={"quote": text}))
    one = sweeper(service, model=model)
    await line(service, "B-1", text, minutes=60, message_id="m-1")
    await settled(service)
    await one.sweep()
    before = await promises(service)
    service.behind.now += timedelta(hours=2)
    await one.sweep()
    assert (await told(service, "B-1"))[0]["revisions"] == 2
    assert await promises(service) == before


async def test_a_claim_that_a_payment_answered_is_not_made_again_by_a_later_line(service: Api) -> None:
    await due(service, "one", 200, 3)
    await say(service, "I have already paid", 100, "m-1")
    claimed = (await service.get("/v1/borrowers/B-1"))["payment_claim"]
    assert claimed["quote"] == "I have already paid"
    await say(service, "please check", 80, "m-2")
    assert (await service.get("/v1/borrowers/B-1"))["payment_claim"] == claimed
    await paid(service)
    await say(service, "thank you", 3, "m-3")
    assert (await service.get("/v1/borrowers/B-1"))["payment_claim"] is None
    await say(service, "I have already paid", 2, "m-4")
    assert (await service.get("/v1/borrowers/B-1"))["payment_claim"]["at"] > claimed["at"]


async def test_a_claim_of_the_cycle_before_is_none_of_the_next(service: Api) -> None:
    await due(service, "one", 200, 3)
    await say(service, "I have already paid", 100, "m-1")
    await a_new_cycle(service)
    await say(service, "hello", 3, "m-2")
    assert (await service.get("/v1/borrowers/B-1"))["payment_claim"] is None


@pytest.mark.parametrize("fate", FATES)
async def test_what_the_channels_own_summary_told_is_not_told_again_by_ours(service: Api, fate: Change) -> None:
    await due(service, "one", 200, 3)
    text = f"I will pay 4321 on {service.day(9)}"
    await line(service, "B-1", text, minutes=LONG_AGO_MINUTES, message_id="m-1")
    own = {"channel": "whatsapp", "conversation_id": "c-1", "commitment": {"quote": text, "status": "proposed"}}
    assert (await service.told("B-1", hours=100, **own)).status == 200
    await fate(service)
    before = await promises(service)
    await say(service, "hello?", 3, "m-2")
    assert (await told(service, "B-1"))[0]["revisions"] == 2
    assert await promises(service) == before
    await say(service, text, 2, "m-3")
    newest = max(str(one["at"]) for one in await promises(service))
    assert newest > max((str(one["at"]) for one in before), default="")


async def test_what_was_told_before_anybody_knew_whose_number_it_is_is_not_told_again(service: Api) -> None:
    phone = service.phone()
    text = f"I will pay 4321 on {service.day(9)}"
    await line(service, None, text, minutes=LONG_AGO_MINUTES, message_id="m-1", identifier=phone)
    await settled(service)
    await sweeper(service).sweep()
    await service.event("identifier.linked", "B-1", hours=90, identifier=phone)
    await paid(service)
    before = await promises(service)
    assert [one["outcome"] for one in before] == ["kept"]
    await line(service, None, "thank you", minutes=200, message_id="m-2", identifier=phone)
    await settled(service)
    await sweeper(service).sweep()
    assert (await told(service, "B-1"))[0]["revisions"] == 2
    assert await promises(service) == before
