"""What was forgotten and comes again where no writer sees it is not there a moment later (DESIGN 11)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.api import Api, api
from tests.service.conftest import Where
from tests.service.forget.planted import Planted
from tests.service.hooks.posting import posting
from tests.service.hooks.test_taking import known, message, meta

WORD = "Zebulonia"


@pytest.fixture
async def service(where: Where, tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path, where=where()) as opened:
        yield opened


async def forgetful(service: Api, what: str) -> tuple[Planted, dict[str, Any]]:
    """Somebody who asked to forget the word, or everything, and the number that leads there."""
    borrower, phone = await service.known(hours=40)
    await service.event("fact.stated", borrower, event_id="e-known", hours=5, kind="household", text="two children")
    mine = Planted(service, borrower, WORD, (phone["value"],))
    await mine.forget(**({"term": WORD} if what == "term" else {"everything": True}))
    return mine, phone


@pytest.mark.parametrize("what", ["term", "everything"])
async def test_nothing_that_is_older_is_left_where_no_writer_sees_it(service: Api, what: str) -> None:
    mine, phone = await forgetful(service, what)
    chat = {"channel": "whatsapp", "conversation_id": "w-1", "message_id": "m-1", "speaker": "borrower"}
    for who in ({"borrower_id": mine.borrower}, {"identifier": phone}):
        said = await service.event("conversation.message", hours=6, text=f"{WORD} hai", **chat, **who)
        assert said.status == 200
        chat = chat | {"conversation_id": "w-2"}
    clash = await service.event(
        "fact.stated", mine.borrower, hours=5, event_id="e-known", kind="household", text=f"wife {WORD}"
    )
    assert clash["code"] == "id_conflict"
    decision = {
        "decision_id": "D-1", "borrower_id": mine.borrower, "kind": "waiver", "source": "offers", "source_version": "v1",
        "conclusion": f"waiver for {WORD}", "decided_at": service.ago(hours=3), "agent": WORD,
    }  # fmt: skip
    for status in (201, 200):
        made = await service.post("/v1/decisions", decision)
        assert (made.status, made["conclusion"]) == (status, "[forgotten]")
    await service.behind.settled()
    assert await mine.in_tables() == set()
    assert await mine.in_answers() == set()
    if what == "everything":
        assert await mine.numbers_in_tables() == set()


async def test_what_is_newer_stays(service: Api) -> None:
    mine, phone = await forgetful(service, "term")
    chat = {"channel": "whatsapp", "conversation_id": "w-1", "message_id": "m-1", "speaker": "borrower"}
    await service.event("conversation.message", hours=-0.01, text=f"{WORD} hai", identifier=phone, **chat)
    clash = await service.event(
        "fact.stated", mine.borrower, hours=-0.01, event_id="e-known", kind="household", text=f"wife {WORD}"
    )
    assert clash["code"] == "id_conflict"
    assert await mine.in_tables() >= {"chat_line.body", "set_aside.value"}


async def test_a_body_of_a_hook_that_tells_it_again_or_for_the_first_time_is_not_kept(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        hook = await vendor.hook("whatsapp", "meta")

        async def told(id_: str, **own: Any) -> int:
            body = meta(message(id=id_, text={"body": f"{WORD} hai"}, **own))
            assert (await vendor.raw(hook, json.dumps(body).encode())).status == 200
            count = await vendor.api.parts.database.read(
                lambda c: c.exec_driver_sql("SELECT count(*) FROM hook_body").scalar()
            )
            return int(count)

        assert await told("wamid.1") == 1
        mine = Planted(vendor.api, "B-1", WORD)
        await mine.forget(term=WORD)
        assert await mine.in_tables() == set()
        for again in ("wamid.1", "wamid.2"):
            assert await told(again) == 0
            assert await mine.in_tables() == set()
        assert await told("wamid.3", **{"from": "919000000303"}) == 1, "nobody else's"
