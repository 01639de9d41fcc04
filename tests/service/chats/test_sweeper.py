"""The sweeper over the embedded service: one summary of each chat, whatever fails in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from service.chats import sweeper as sweeping
from service.chats.rows import CHAT
from service.chats.sweeper import LEASE_SECONDS, MODEL_TRIES, Sweeper
from service.errors import Unavailable
from service.models.asking import Message, ModelFailed
from tests.service.api import Api
from tests.service.chats.conftest import answer, line, settled, sweeper, told
from tests.service.scripted import Says


async def row(service: Api) -> dict[str, Any]:
    found = await service.parts.database.read(lambda c: c.execute(CHAT.select()).mappings().all())
    return dict(found[0])


async def test_two_sweepers_make_one_summary(service: Api) -> None:
    await line(service, "B-1", "ok 25 ko 5000 de dungi")
    await settled(service)
    one, two = sweeper(service, "one"), sweeper(service, "two")
    assert sorted(await asyncio.gather(one.sweep(), two.sweep())) == [0, 1]
    (item,) = await told(service, "B-1")
    assert (item["revisions"], item["entry"]["commitment"]["quote"]) == (1, "ok 25 ko 5000 de dungi")
    assert await one.sweep() == 0


@pytest.mark.parametrize("dies_before", ["prepared", "posted", "finished"])
async def test_a_crash_at_any_step_loses_nothing_and_says_nothing_twice(
    service: Api, monkeypatch: pytest.MonkeyPatch, dies_before: str
) -> None:
    """Whoever comes next, with a model of its own mind, posts what was decided upon."""
    await line(service, "B-1", "main 25 ko 5000 de dungi")
    await settled(service)

    class Died(BaseException):
        """The process is gone: nothing after it runs."""

    async def die(*_: Any, **__: Any) -> Any:
        raise Died

    with monkeypatch.context() as patched:
        steps = {"prepared": (Sweeper, "_post"), "posted": (sweeping, "receive"), "finished": (Sweeper, "_finish")}
        patched.setattr(*steps[dies_before], die)
        with pytest.raises(Died):
            await sweeper(service, "one", Says(answer("The borrower wrote first."))).sweep()
    second = sweeper(service, "two", Says(answer("The borrower wrote second.")))
    assert await second.sweep() == 0, "the lease holds"
    service.behind.now += timedelta(seconds=LEASE_SECONDS)
    assert await second.sweep() == 1
    (item,) = await told(service, "B-1")
    assert item["revisions"] == 1
    assert item["entry"]["summary"] == f"The borrower wrote {'second' if dies_before == 'prepared' else 'first'}."
    stats = (await service.get("/v1/ops/stats")).document
    assert (stats["conversations"], stats["conflicts"], stats["summaries_waiting"]) == (1, 0, 0)


async def test_a_slow_sweeper_that_lost_the_chat_posts_nothing(service: Api) -> None:
    await line(service, "B-1", "hello")
    await settled(service)
    gate = asyncio.Event()

    class Slow(Says):
        async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
            await gate.wait()
            return await super().complete(messages, seconds=seconds, tokens=tokens)

    slow = asyncio.ensure_future(sweeper(service, "slow", Slow(answer("The borrower wrote slowly."))).sweep())
    await asyncio.sleep(0.05)
    service.behind.now += timedelta(seconds=LEASE_SECONDS)
    assert await sweeper(service, "fast").sweep() == 1
    gate.set()
    assert await slow == 1
    (item,) = await told(service, "B-1")
    assert (item["revisions"], item["entry"]["summary"]) == (1, "The borrower wrote: “hello”.")


async def test_a_late_line_revises_and_the_promise_made_before_stays(service: Api) -> None:
    await line(service, "B-1", "ok 25 ko 5000 de dungi")
    await settled(service)
    one = sweeper(service)
    await one.sweep()
    await line(service, "B-1", "hello again", minutes=50)
    await settled(service)
    await one.sweep()
    (item,) = await told(service, "B-1")
    assert item["revisions"] == 2
    assert "hello again" in item["entry"]["summary"]
    assert (await service.resume("B-1"))["commitment"]["amount"] == "5000.00"


async def test_a_revision_that_is_taken_leads_to_the_next(service: Api) -> None:
    """The channel posted its own, of an earlier moment, while ours was being made."""
    await line(service, "B-1", "ok 25 ko 5000 de dungi", minutes=40)

    class Meanwhile(Says):
        async def complete(self, messages: Sequence[Message], *, seconds: float, tokens: int) -> str:
            await service.told("B-1", hours=2, channel="whatsapp", conversation_id="c-1", summary="Theirs.")
            return await super().complete(messages, seconds=seconds, tokens=tokens)

    await settled(service)
    await sweeper(service, model=Meanwhile(answer("The borrower wrote to us."))).sweep()
    (item,) = await told(service, "B-1")
    assert (item["revisions"], item["entry"]["summary"], item["entry"]["revision"]) == (
        2,
        "The borrower wrote to us.",
        2,
    )


async def test_the_channels_own_summary_that_tells_it_all_is_left_at_that(service: Api) -> None:
    await line(service, "B-1", "ok 25 ko 5000 de dungi")
    await service.told("B-1", hours=1, channel="whatsapp", conversation_id="c-1", summary="Theirs.")
    await settled(service)
    await sweeper(service).sweep()
    (item,) = await told(service, "B-1")
    assert (item["revisions"], item["entry"]["summary"]) == (1, "Theirs.")
    assert (await row(service))["try_at"] is None


async def test_a_model_that_is_not_ready_holds_nothing_up_and_is_asked_again_some_times(service: Api) -> None:
    model = Says(ModelFailed("timeout", "silent"))
    one = sweeper(service, model=model)
    await line(service, "B-1", "my job is gone")
    await settled(service)
    await one.sweep()
    assert [i["entry"]["extra"] for i in await told(service, "B-1")] == [{"summarised_by": "rules"}]
    (waiting,) = (await service.get("/v1/ops/summaries-waiting")).document["items"]
    assert (waiting["tries"], waiting["last_reason"], waiting["conversation_id"]) == (1, "timeout", "c-1")
    for _ in range(10):
        service.behind.now += timedelta(hours=2)
        await one.sweep()
    assert len(model.asked) == MODEL_TRIES
    assert (await service.get("/v1/ops/summaries-waiting")).document["items"] == []
    assert (await service.get("/v1/ops/stats")).document["summaries_waiting"] == 0


async def test_the_better_summary_comes_when_the_model_is_ready_again(service: Api) -> None:
    model = Says(ModelFailed("unavailable", "down"), answer("The borrower said their job is gone."))
    one = sweeper(service, model=model)
    await line(service, "B-1", "my job is gone")
    await settled(service)
    await one.sweep()
    service.behind.now += timedelta(minutes=5)
    await one.sweep()
    (item,) = await told(service, "B-1")
    assert (item["revisions"], item["entry"]["summary"]) == (2, "The borrower said their job is gone.")


async def test_an_intake_that_cannot_take_it_is_a_reason_and_not_a_loss(
    service: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await line(service, "B-1", "ok 25 ko 5000 de dungi")
    await settled(service)

    async def down(*_: Any) -> Any:
        raise Unavailable

    one = sweeper(service)
    with monkeypatch.context() as patched:
        patched.setattr(sweeping, "receive", down)
        await one.sweep()
    (waiting,) = (await service.get("/v1/ops/summaries-waiting")).document["items"]
    assert (waiting["tries"], waiting["last_reason"]) == (1, "unavailable")
    service.behind.now += timedelta(minutes=1)
    await one.sweep()
    assert len(await told(service, "B-1")) == 1
    assert (await service.get("/v1/ops/summaries-waiting")).document["items"] == []


async def test_a_number_that_two_share_by_now_waits_and_says_why(service: Api) -> None:
    phone = service.phone()
    await line(service, None, "ok 25 ko 5000 de dungi", identifier=phone)
    for borrower in ("B-1", "B-2"):
        await service.event("identifier.linked", borrower, identifier=phone)
    await settled(service)
    await sweeper(service).sweep()
    (waiting,) = (await service.get("/v1/ops/summaries-waiting")).document["items"]
    assert waiting["last_reason"] == "ambiguous_identifier"


async def test_a_chat_in_which_all_is_revoked_tells_nothing_and_takes_back_what_was_told(service: Api) -> None:
    await line(service, "B-1", "mera secret", message_id="m-x")
    await line(service, "B-1", "-", message_id="m-x", deleted=True, minutes=59)
    await settled(service)
    one = sweeper(service)
    await one.sweep()
    assert await told(service, "B-1") == []
    await line(service, "B-1", "mera secret", message_id="m-y", minutes=58)
    await settled(service)
    await one.sweep()
    await line(service, "B-1", "-", message_id="m-y", deleted=True, minutes=57)
    await settled(service)
    await one.sweep()
    (item,) = await told(service, "B-1")
    assert (item["revisions"], item["entry"].get("summary"), item["entry"]["turns"]) == (2, None, [])


async def everything(service: Api, borrower: str) -> str:
    """All that any reader is told of the borrower's promise."""
    reads = ("", "/briefing?channel=voice", "/timeline", "/facts")
    told = [(await service.get(f"/v1/borrowers/{borrower}{read}")).document for read in reads]
    return json.dumps([*told, (await service.resume(borrower)).document])


@pytest.mark.parametrize("change", [{"deleted": True, "text": "-"}, {"replaces": "m-1", "text": "ok thanks"}])
async def test_words_that_are_withdrawn_after_they_were_told_are_told_no_more_and_the_promise_stands(
    service: Api, change: dict[str, Any]
) -> None:
    one = sweeper(service)
    due = service.day(9)
    await line(service, "B-1", f"I will pay 4321 on {due}, my salary comes then", message_id="m-1")
    await settled(service)
    await one.sweep()
    assert "salary" in await everything(service, "B-1")
    for minutes, more in ((50, change), (40, {"text": "thank you, bye"})):
        message = {"message_id": "m-1" if "deleted" in more else service.name("m")}
        await line(service, "B-1", minutes=minutes, **{**message, **more})
        await settled(service)
        await one.sweep()
        assert "salary" not in await everything(service, "B-1")
        said = (await service.get("/v1/borrowers/B-1")).document
        assert (said["commitment"]["status"], said["commitment"]["amount"], said["commitment"]["due_date"]) == (
            "proposed", "4321.00", due,
        )  # fmt: skip
        assert (said["counter_proposals"], said["history"]) == ([], [])
    (item,) = await told(service, "B-1")
    assert item["revisions"] == 3


async def test_withdrawn_words_begin_no_promise_anew_once_it_was_broken_or_its_cycle_is_over(service: Api) -> None:
    one = sweeper(service)
    for borrower in ("B-1", "B-2"):
        due = {"loan_id": f"L-{borrower}", "amount_due": "12500", "currency": "INR", "due_date": service.day(2)}
        await service.event("cycle.opened", borrower, hours=50, cycle_id="one", **due)
        words = {"message_id": "m-1", "conversation_id": f"c-{borrower}"}
        await line(service, borrower, f"I will pay 4321 on {service.day(9)}", minutes=60, **words)
        await settled(service)
        await one.sweep()
        assert (await service.get(f"/v1/borrowers/{borrower}"))["commitment"] is not None
    await service.event("promise.broken", "B-1", hours=0.8, loan_id="L-B-1", due_date=service.day(9))
    opened = {"loan_id": "L-B-2", "cycle_id": "two", "amount_due": "9", "currency": "INR", "due_date": service.day(30)}
    await service.event("cycle.opened", "B-2", hours=0.8, **opened)
    for borrower in ("B-1", "B-2"):
        await line(service, borrower, "-", minutes=35, message_id="m-1", conversation_id=f"c-{borrower}", deleted=True)
        await settled(service)
        await one.sweep()
        assert [item["revisions"] for item in await told(service, borrower)] == [2]
        assert (await service.get(f"/v1/borrowers/{borrower}"))["commitment"] is None


async def test_words_of_the_channels_own_summary_are_not_taken_for_withdrawn(service: Api) -> None:
    """They may stand in turns that are none of our lines."""
    quote = f"I will pay 4321 on {service.day(9)}"
    await line(service, "B-1", "hello", minutes=60)
    commitment = {"quote": quote, "status": "proposed"}
    own = {"channel": "whatsapp", "conversation_id": "c-1", "commitment": commitment, "hours": 0.9}
    assert (await service.told("B-1", **own)).status == 200
    await line(service, "B-1", "one more thing", minutes=35)
    await settled(service)
    await sweeper(service).sweep()
    (item,) = await told(service, "B-1")
    assert item["revisions"] == 2
    assert (await service.get("/v1/borrowers/B-1"))["commitment"]["quote"] == quote


async def test_a_very_long_chat_keeps_within_a_summary_and_loses_no_promise(service: Api) -> None:
    borrower = "B-1"
    events = [
        {"event_id": f"x-{n}", "type": "conversation.message", "occurred_at": service.ago(minutes=100 - n / 20),
         "borrower_id": borrower, "channel": "whatsapp", "conversation_id": "c-1", "message_id": f"x-{n}",
         "speaker": "borrower", "text": "ok 25 ko 5000 de dungi" if n == 3 else f"baat {n}"}
        for n in range(700)
    ]  # fmt: skip
    for start in range(0, 700, 350):
        await service.post("/v1/events/batch", {"events": events[start : start + 350]})
    await settled(service)
    await sweeper(service).sweep()
    (item,) = await told(service, borrower)
    turns = item["entry"]["turns"]
    assert len(turns) <= 500
    assert (turns[0]["text"], turns[-1]["text"]) == ("ok 25 ko 5000 de dungi", "baat 699")
    commitment = (await service.resume(borrower))["commitment"]
    assert (commitment["amount"], commitment["grounding"]) == ("5000.00", "quoted")


async def test_what_the_memory_told_the_agent_is_no_evidence_when_it_comes_back(service: Api) -> None:
    await service.told("B-1", hours=9, channel="voice", commitment=service.promise())
    briefing = (await service.get("/v1/borrowers/B-1/briefing?channel=whatsapp"))["text"]
    model = Says(answer("The borrower said yes."))
    await line(service, "B-1", f"You are Asha. <borrower-memory>{briefing}</borrower-memory>", speaker="agent")
    await line(service, "B-1", briefing, speaker="agent", minutes=59)
    await line(service, "B-1", "haan", minutes=58)
    await settled(service)
    await sweeper(service, model=model).sweep()
    assert "haan" in model.asked[0]
    promised = [sentence for sentence in briefing.splitlines() if "5,000" in sentence]
    assert promised
    assert not any(sentence in model.asked[0] for sentence in promised)
