"""Only what is current is used, and what is not goes."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from channels import CHANNELS
from service.database import DatabaseUnavailable
from service.proposer import proposals, rows
from service.proposer.proposals import READS_AT_ONCE, READS_WAITING_LIMIT
from service.proposer.proposer import KEPT_DAYS, WANTED_MINUTES
from service.proposer.rows import PROPOSAL, Key
from tests.limits import PATIENCE_SECONDS
from tests.service.api import Api, api
from tests.service.embedded import TENANT
from tests.service.proposer.conftest import (
    MODEL,
    Says,
    holding,
    promised,
    proposed,
    proposer,
    says,
    settled,
    stored,
    until,
    wanted,
    why,
)

# -- only what is current ---------------------------------------------------------------------------------------------


async def test_once_flushed_what_was_on_its_way_already_is_noted_too(
    service: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    want_changed = rows.want_changed

    def slowly(*given: Any) -> None:
        time.sleep(0.05)
        want_changed(*given)

    monkeypatch.setattr(proposals, "NOTE_SECONDS", 60.0)
    monkeypatch.setattr(rows, "want_changed", slowly)
    await promised(service)
    first = asyncio.create_task(service.parts.proposals.flush())
    await asyncio.sleep(0)  # it has taken what changed
    await service.parts.proposals.flush()
    assert len(await wanted(service)) == len(CHANNELS)
    await first


async def test_after_another_merge_the_old_proposal_is_gone_and_not_used(service: Api) -> None:
    borrower, phone = await promised(service)
    await proposed(service, Says(says("reminder")))
    await service.told(borrower, hours=1, reached="dues")
    assert why(await service.resume(borrower, identifier=phone))[2:] == (None, None, "not_ready")
    await service.parts.proposals.flush()
    assert await stored(service, borrower) == {}


@pytest.mark.parametrize("changed", [{"record_version": 99}, {"flow_version": "another"}, {"prompt_hash": "another"}])
async def test_a_proposal_of_another_version_flow_or_prompt_is_not_used_and_asked_for_anew(
    service: Api, changed: dict[str, Any]
) -> None:
    borrower, phone = await promised(service)
    await proposed(service, Says(says("reminder")))
    await service.behind.database.write(lambda c: c.execute(update(PROPOSAL).values(changed)))
    assert why(await service.resume(borrower, identifier=phone))[2:] == (None, None, "not_ready")
    assert await proposed(service, Says(says("negotiation"))) == 1
    assert (await service.resume(borrower, identifier=phone))["proposed"] == "negotiation"


async def test_a_proposal_ends_when_time_alone_changes_what_it_rests_on(service: Api) -> None:
    borrower, phone = await promised(service)
    await proposed(service, Says(says("reminder")))
    service.behind.now += timedelta(days=6)
    overdue = await service.resume(borrower, identifier=phone)
    assert (overdue["commitment"]["overdue"], overdue["fallback"]) == (True, "not_ready")


async def test_an_answer_about_a_record_that_has_changed_meanwhile_is_dropped(service: Api) -> None:
    borrower, phone = await promised(service)
    model = Says(says("reminder"))
    model.gate.clear()
    await settled(service)
    asking = proposer(service, model)
    going = asyncio.ensure_future(asking.propose())
    await until(lambda: holding(len(model.asked) == 2))
    await service.told(borrower, hours=1, reached="dues")
    await settled(service)
    model.gate.set()
    await going
    assert await stored(service, borrower) == {}
    assert await proposed(service, Says(says("negotiation"))) == 2
    assert (await service.resume(borrower, identifier=phone))["proposed"] == "negotiation"


async def test_a_question_that_is_out_of_date_is_given_up_while_the_model_is_silent(service: Api) -> None:
    borrower, _ = await promised(service)
    model = Says(says("reminder"))
    model.gate.clear()
    await settled(service)
    running = proposer(service, model)
    task = asyncio.ensure_future(running.run())
    await until(lambda: holding(model.there == 2))
    await service.told(borrower, hours=1, reached="dues")
    await settled(service)
    service.parts.proposals.stirred.set()
    await until(lambda: holding(len(model.asked) == 4 and model.there == 2))
    await running.stop()
    async with asyncio.timeout(10):
        await task
    assert model.there == 0
    assert [(want["tries"], want["claimed_until"]) for want in await wanted(service)] == [(0, None)] * 2, "wanted still"


async def test_changes_in_a_row_come_to_one_question(service: Api) -> None:
    borrower, _ = await service.known()
    for hours in range(5, 1, -1):
        await service.told(borrower, hours=hours, reached="dues")
        await service.parts.proposals.flush()
    model = Says(says("negotiation"))
    assert await proposed(service, model) == 2


async def test_a_borrower_whose_memory_is_not_handed_out_is_not_asked_about(tmp_path: Path) -> None:
    modes = {"voice": "shadow", "whatsapp": "disabled"}
    async with api(tmp_path, model=MODEL, mode=modes) as service:
        borrower, phone = await promised(service)
        model = Says(says("reminder"))
        assert await proposed(service, model) == 1
        answer = await service.resume(borrower, identifier=phone)
        assert (answer["found"], answer["state"], answer["source"]) == (False, "opening", "cold_start")
        (item,) = (await service.get(f"/v1/ops/resumes?borrower_id={borrower}"))["items"]
        assert (item["mode"], item["granted"], item["proposed"]) == ("shadow", "reminder", "reminder")


# -- what goes --------------------------------------------------------------------------------------------------------


async def test_a_flood_of_reads_is_noted_a_few_at_a_time_the_newest_first_and_holds_up_nobody_who_waits(
    service: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise those who read beside a model that does not answer wait for the rows of each other."""
    told, now, at_once, is_noted = service.parts.proposals, service.now, list[set[str]](), asyncio.Event()
    want = rows.want

    def counted(connection: Any, keys: Any, at: Any) -> None:
        at_once.append({key.borrower_id for key in keys})
        want(connection, keys, at)
        is_noted.set()

    monkeypatch.setattr(rows, "want", counted)
    monkeypatch.setattr(proposals, "NOTE_SECONDS", PATIENCE_SECONDS)
    names = [f"B-{number}" for number in range(READS_WAITING_LIMIT + 40)]
    for name in names:
        assert await told.proposed(Key(TENANT, name, "voice", ""), 1, now) == (None, "not_ready")
    waiting = asyncio.create_task(told.wait(Key(TENANT, "B-waits", "voice", ""), 1, PATIENCE_SECONDS))
    await is_noted.wait()
    assert at_once[0] == {"B-waits", *names[-READS_AT_ONCE:]}
    await told.flush()
    assert names[39] not in set().union(*at_once), "what nobody can be asked about in time is dropped"
    assert names[40] in set().union(*at_once)
    assert await told.proposed(Key(TENANT, names[0], "voice", ""), 1, now) == (None, "not_ready")
    await told.flush()
    assert at_once[-1] == {names[0]}, "and wanted again when it is read again"
    waiting.cancel()


async def test_what_has_expired_and_what_was_wanted_too_long_ago_goes(service: Api) -> None:
    borrower, _ = await promised(service)
    await proposed(service, Says(says("reminder")))
    await promised(service)
    await service.parts.proposals.flush()
    assert (len(await wanted(service)), len(await stored(service, borrower))) == (2, 2)
    service.behind.now += timedelta(days=KEPT_DAYS, minutes=WANTED_MINUTES + 1)
    idle = proposer(service, None)
    task = asyncio.ensure_future(idle.run())

    async def is_clear() -> bool:
        return not await wanted(service) and not await stored(service, borrower)

    await until(is_clear)
    await idle.stop()
    await task


async def test_forgetting_takes_proposals_and_wants_along(service: Api) -> None:
    one, _ = await promised(service)
    two, _ = await promised(service)
    await proposed(service, Says(says("reminder")))
    gone = await service.behind.database.write(lambda c: rows.forget(c, TENANT, one))
    assert (gone, await stored(service, one), len(await stored(service, two))) == (2, {}, 2)


async def test_a_database_that_is_gone_leaves_the_cold_start(service: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    borrower, phone = await promised(service)
    assert (await service.resume(borrower, identifier=phone))["found"] is True

    async def gone(_: Any) -> Any:
        raise DatabaseUnavailable("gone")

    with monkeypatch.context() as broken:
        broken.setattr(service.parts.database, "read", gone)
        answer = await service.resume(borrower, identifier=phone, wait_ms=1500)
    assert (answer["source"], answer["degraded_reason"]) == ("cold_start", "memory_unavailable")
    assert answer["contact"]["allowed"] is False
