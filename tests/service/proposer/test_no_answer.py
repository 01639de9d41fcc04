"""Answers that are none: why there was no proposal (DESIGN 9)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from service.models.asking import ModelFailed
from service.proposer.proposals import AGAIN_SECONDS
from service.proposer.proposer import CALLS_AT_ONCE, CAREFULLY_AT_ONCE, TRIES
from tests.service.api import Api
from tests.service.proposer.conftest import (
    DOWN,
    SILENT,
    Says,
    holding,
    promised,
    proposed,
    proposer,
    says,
    settled,
    stored,
    until,
    why,
)


@pytest.mark.parametrize(
    ("said", "reason", "way"),
    [
        ("I am sorry, I cannot help with that.", "unreadable", "no_object"),
        ('{"state":"remin', "unreadable", "cut_off"),
        ('{"state":["reminder"]}', "unreadable", "wrong_type"),
        ('{"state":"reminder"} or {"state":"closing"}', "unreadable", "stated_twice"),
        (DOWN, "unavailable", None),
        (SILENT, "timeout", None),
    ],
)
async def test_an_answer_that_cannot_be_used_leaves_the_rules_and_says_why(
    service: Api, said: str | ModelFailed, reason: str, way: str | None
) -> None:
    borrower, phone = await promised(service)
    await proposed(service, Says(said))
    assert why(await service.resume(borrower, identifier=phone)) == ("confirmation", "position", None, None, reason)
    assert (await stored(service, borrower))["voice"]["why"] == way
    stats = (await service.get("/v1/ops/stats"))["resumes"]
    assert stats["fallbacks"] == {reason: 1}


async def test_a_text_that_is_no_state_is_judged_and_refused(service: Api) -> None:
    borrower, phone = await promised(service)
    await proposed(service, Says('{"state":"PAYMENT_LINK_SENDING"}'))
    answer = await service.resume(borrower, identifier=phone)
    assert why(answer) == ("confirmation", "position", "PAYMENT_LINK_SENDING", "model", None)
    assert [refusal["rule"] for refusal in answer["refusals"]] == ["unknown_state"]


async def test_a_model_that_fails_is_asked_again_a_few_times_and_one_that_cannot_be_read_is_not(service: Api) -> None:
    await promised(service)
    failing, unreadable = Says(DOWN), Says("no")
    await settled(service)
    for _ in range(TRIES + 2):
        await proposer(service, failing).propose()
        service.behind.now += timedelta(minutes=5)
    assert len(failing.asked) == TRIES * 2
    await promised(service)
    await settled(service)
    for _ in range(3):
        await proposer(service, unreadable).propose()
        service.behind.now += timedelta(minutes=5)
    assert len(unreadable.asked) == 2


async def test_a_read_after_a_failure_asks_again_but_not_every_read_does(service: Api) -> None:
    borrower, phone = await promised(service)
    await settled(service)
    for _ in range(TRIES):
        await proposer(service, Says(DOWN)).propose()
        service.behind.now += timedelta(minutes=5)
    model = Says(says("reminder"))
    for _ in range(5):
        assert (await service.resume(borrower, identifier=phone))["fallback"] == "unavailable"
    assert await proposed(service, model) == 1
    assert (await service.resume(borrower, identifier=phone))["proposed"] == "reminder"
    assert AGAIN_SECONDS <= 300


async def test_an_answer_that_could_not_be_read_is_asked_for_again_after_a_while_by_a_read(service: Api) -> None:
    borrower, phone = await promised(service)
    await proposed(service, Says("<html>busy</html>"))
    model = Says(says("reminder"))
    assert (await service.resume(borrower, identifier=phone))["fallback"] == "unreadable"
    assert await proposed(service, model) == 0
    service.behind.now += timedelta(seconds=AGAIN_SECONDS)
    assert (await service.resume(borrower, identifier=phone))["fallback"] == "unreadable"
    assert await proposed(service, model) == 1
    assert (await service.resume(borrower, identifier=phone))["proposed"] == "reminder"


async def test_a_model_that_fails_on_and_on_is_asked_about_few(service: Api) -> None:
    for _ in range(20):
        await promised(service)
    await settled(service)
    model = Says(DOWN)
    running = proposer(service, model)
    task = asyncio.ensure_future(running.run())
    await until(lambda: holding(len(model.asked) >= CALLS_AT_ONCE))
    for _ in range(50):
        service.parts.proposals.stirred.set()
        await asyncio.sleep(0)
    assert len(model.asked) <= CALLS_AT_ONCE + CAREFULLY_AT_ONCE
    await running.stop()
    await task
