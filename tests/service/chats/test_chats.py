"""Chats as rows, on either database: lines in, what is open, and who may summarise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from channels.messages import ChatMessage
from service.chats import claims, rows
from service.chats.chats import Chats
from service.chats.claims import Claimed
from service.chats.rows import CHAT, LINE
from service.database import Store
from service.errors import AmbiguousIdentifier
from service.intake.envelope import provisional_id
from service.policy import Policies
from statemachine.entries import Event
from tests.service.conftest import Where
from tests.service.embedded import NOON, PHONE, SECRETS, TENANT, Embedded, embedded, event, linked

QUIET = timedelta(minutes=30)
LEASE = timedelta(seconds=60)


@pytest.fixture
async def store(where: Where) -> AsyncIterator[Embedded]:
    async with embedded(where()) as opened:
        yield opened


@pytest.fixture
def chats(store: Embedded) -> Chats:
    return Chats(store.database, SECRETS, Policies(), store.clock)


def at(minutes: float) -> datetime:
    return NOON + timedelta(days=1) - timedelta(minutes=minutes)


def wrote(
    id_: str = "m-1", text: str = "ok", minutes: float = 2, who: str | None = PHONE, **fields: object
) -> ChatMessage:
    told = {"identifier": ("phone", who) if who else None, "conversation_id": "c-1", **fields}
    return ChatMessage("meta", "whatsapp", id_, "borrower", text, at(minutes), **told)  # type: ignore[arg-type]


def posted(id_: str, borrower: str = "B-1", minutes: float = 2, text: str = "ok", **fields: object) -> Event:
    told = {"channel": "whatsapp", "conversation_id": "c-1", "message_id": id_, "speaker": "borrower", "text": text}
    return event("conversation.message", f"e-{id_}", at(minutes), borrower_id=borrower, **{**told, **fields})


async def chat_rows(store: Embedded) -> list[dict[str, object]]:
    found = await store.database.read(lambda c: c.execute(CHAT.select().order_by(CHAT.c.id)).mappings().all())
    return [dict(row) for row in found]


async def claimed(database: Store, now: datetime, owner: str = "one", most: int = 10) -> list[Claimed]:
    return await database.write(lambda c: claims.claim(c, owner, now, LEASE, most))


# -- lines in --------------------------------------------------------------------------------------------------------------


async def test_lines_in_any_order_and_however_often_are_one_chat(store: Embedded, chats: Chats) -> None:
    told = [wrote("m-3", minutes=1), wrote("m-1", minutes=5), wrote("m-2", minutes=3)]
    assert await chats.take(TENANT, told) == 3
    assert await chats.take(TENANT, [told[1], *told]) == 0
    (row,) = await chat_rows(store)
    assert (row["changes"], row["opened_at"], row["last_at"]) == (3, at(5), at(1))
    assert row["due_at"] == at(1) + QUIET
    assert row["borrower_id"] == provisional_id(SECRETS, "phone", PHONE)


async def test_what_was_written_is_sealed(store: Embedded, chats: Chats) -> None:
    await chats.take(TENANT, [wrote(text="mera secret")])
    (body,) = await store.database.read(lambda c: c.execute(LINE.select()).mappings().all())
    assert b"secret" not in body["body"]
    assert chats.opened(body["body"]).text == "mera secret"


async def test_a_line_that_is_told_again_with_an_earlier_time_stands_at_that(store: Embedded, chats: Chats) -> None:
    await chats.take(TENANT, [wrote(minutes=2)])
    await chats.take(TENANT, [wrote(minutes=4)])
    (line,) = await store.database.read(lambda c: c.execute(LINE.select()).mappings().all())
    assert line["at"] == at(4)
    assert chats.opened(line["body"]).at == at(4)


async def test_a_messenger_without_sessions_has_a_chat_for_each_time_it_is_not_quiet(
    store: Embedded, chats: Chats
) -> None:
    old, new = wrote("m-1", minutes=300, conversation_id=None), wrote("m-2", minutes=10, conversation_id=None)
    near = wrote("m-3", minutes=5, conversation_id=None)
    for message in (old, new, near, old):
        await chats.take(TENANT, [message])
    first, second = await chat_rows(store)
    assert (first["changes"], second["changes"]) == (1, 2)
    assert first["conversation_id"] != second["conversation_id"]
    assert PHONE.strip("+") not in f"{first} {second}".replace(f'"{PHONE}"', "")


async def test_a_message_that_is_revoked_long_after_is_withheld_where_it_was_written(
    store: Embedded, chats: Chats
) -> None:
    told = {"conversation_id": None}
    await chats.take(TENANT, [wrote("m-1", minutes=300, **told), wrote("m-2", minutes=10, **told)])
    await chats.take(TENANT, [wrote("m-9", "", minutes=5, kind="revoke", replaces="m-1", **told)])
    first, second = await chat_rows(store)
    assert (first["changes"], second["changes"]) == (2, 1)
    assert first["last_at"] == at(300), "a change keeps no chat going"
    assert first["due_at"] == at(300) + QUIET


async def test_a_number_that_two_share_is_nobodys_chat(store: Embedded, chats: Chats) -> None:
    await store.post(linked("l-1", "B-1"), linked("l-2", "B-2"))
    with pytest.raises(AmbiguousIdentifier):
        await chats.take(TENANT, [wrote()])
    assert await chat_rows(store) == []


async def test_a_chat_goes_along_when_its_number_is_linked(store: Embedded, chats: Chats) -> None:
    await chats.take(TENANT, [wrote()])
    await store.post(linked("l-1", "B-1"))
    await chats.told(TENANT, [(linked("l-1", "B-1", phone="090000 00001"), "B-1")])
    await chats.take(TENANT, [wrote("m-2")])
    (row,) = await chat_rows(store)
    assert (row["borrower_id"], row["changes"]) == ("B-1", 2)


async def test_one_conversation_under_a_number_and_an_id_is_one_chat_and_of_two_borrowers_two(
    store: Embedded, chats: Chats
) -> None:
    provisional = provisional_id(SECRETS, "phone", PHONE)
    await chats.told(TENANT, [(posted("m-1"), provisional)])
    await chats.told(TENANT, [(posted("m-2"), "B-1")])
    await chats.told(TENANT, [(posted("m-3"), provisional)])
    await chats.told(TENANT, [(posted("m-4"), "B-2")])
    assert [(row["borrower_id"], row["changes"]) for row in await chat_rows(store)] == [("B-1", 3), ("B-2", 1)]


async def test_an_end_that_comes_first_ends_the_lines_that_come_after_it(store: Embedded, chats: Chats) -> None:
    told = {"channel": "whatsapp", "conversation_id": "c-1", "borrower_id": "B-1"}
    await chats.told(TENANT, [(event("conversation.ended", "e-9", at(1), **told), "B-1")])
    (row,) = await chat_rows(store)
    assert (row["try_at"], row["opened_at"]) == (None, None), "nothing was said"
    await chats.told(TENANT, [(posted("m-1", minutes=3), "B-1")])
    (row,) = await chat_rows(store)
    assert row["due_at"] == at(1)
    await chats.told(TENANT, [(posted("m-2", minutes=0), "B-1")])
    (row,) = await chat_rows(store)
    assert row["due_at"] == at(0) + QUIET, "it goes on"


async def test_tenants_do_not_see_each_other(store: Embedded, chats: Chats) -> None:
    for tenant in (TENANT, "other"):
        await chats.told(tenant, [(posted("m-1"), "B-1")])
    assert [row["tenant"] for row in await chat_rows(store)] == [TENANT, "other"]
    (own,) = await chats.open_for(TENANT, "B-1", "whatsapp", store.now)
    assert await store.database.read(lambda c: claims.stored(c, "other", own.id)) is None


# -- what is open ------------------------------------------------------------------------------------------------------------


async def test_what_goes_on_or_is_not_summarised_is_open_and_a_read_of_another_channel_asks_for_it(
    store: Embedded, chats: Chats
) -> None:
    await chats.told(TENANT, [(posted("m-1", minutes=2), "B-1")])
    await chats.told(TENANT, [(posted("m-9", minutes=200, conversation_id="c-0"), "B-1")])
    found = await chats.open_for(TENANT, "B-1", "whatsapp", store.now)
    assert [(c.conversation_id, c.last_message_at) for c in found] == [("c-1", at(2)), ("c-0", at(200))]
    await chats.settle()
    assert [c.id for c in await claimed(store.database, store.now)] == [], "its own channel asks for nothing"
    await chats.open_for(TENANT, "B-1", "voice", store.now)
    await chats.settle()
    assert chats.stirred.is_set()
    assert len(await claimed(store.database, store.now)) == 2


@pytest.mark.parametrize(("ahead", "stands_at"), [(4, -4), (6, 0)])
async def test_a_line_that_is_further_ahead_than_clocks_differ_stands_at_its_arrival(
    store: Embedded, chats: Chats, ahead: float, stands_at: float
) -> None:
    await chats.told(TENANT, [(posted("m-1", minutes=-ahead), "B-1")])
    (found,) = await chats.open_for(TENANT, "B-1", "whatsapp", store.now)
    assert found.last_message_at == at(stands_at)


# -- who summarises ----------------------------------------------------------------------------------------------------------


async def due(store: Embedded, chats: Chats, count: int = 1) -> None:
    for number in range(count):
        line = posted("m-1", minutes=60, conversation_id=f"c-{number}")
        await chats.told(TENANT, [(line, "B-1")])
    store.now += timedelta(seconds=5)


async def test_a_chat_is_one_sweepers_until_its_lease_runs_out(store: Embedded, chats: Chats) -> None:
    await due(store, chats, 3)
    first = await claimed(store.database, store.now, "one", 2)
    second = await claimed(store.database, store.now, "two")
    assert (len(first), len(second)) == (2, 1)
    assert {c.id for c in first}.isdisjoint(c.id for c in second)
    assert await claimed(store.database, store.now, "three") == []
    later = await claimed(store.database, store.now + LEASE, "three")
    assert {c.id for c in later} == {c.id for c in (*first, *second)}


async def test_whoever_lost_the_chat_can_do_nothing_with_it(store: Embedded, chats: Chats) -> None:
    await due(store, chats)
    (slow,) = await claimed(store.database, store.now)
    (fast,) = await claimed(store.database, store.now + LEASE)

    def finish(mine: Claimed) -> object:
        return store.database.write(lambda c: claims.finish(c, mine, changes=1, revision=1, now=store.now, quiet=QUIET))

    assert await store.database.write(lambda c: claims.prepare(c, fast, b"decided", 1))
    assert not await store.database.write(lambda c: claims.prepare(c, slow, b"other", 1))
    assert not await store.database.write(lambda c: claims.fail(c, slow, "timeout", store.now))
    assert not await finish(slow)  # type: ignore[misc]
    stored = await store.database.read(lambda c: claims.stored(c, TENANT, fast.id))
    assert stored is not None
    assert (stored.prepared, stored.prepared_changes) == (b"decided", 1)
    assert await finish(fast)  # type: ignore[misc]
    (row,) = await chat_rows(store)
    assert (row["summarised"], row["revision"], row["prepared"], row["claimed_by"]) == (1, 1, None, None)
    assert (row["due_at"], row["try_at"]) == (None, None)


async def test_lines_that_came_meanwhile_make_the_chat_due_again(store: Embedded, chats: Chats) -> None:
    await due(store, chats)
    (mine,) = await claimed(store.database, store.now)
    line = posted("m-2", minutes=50, conversation_id="c-0")
    await chats.told(TENANT, [(line, "B-1")])
    await store.database.write(lambda c: claims.finish(c, mine, changes=1, revision=1, now=store.now, quiet=QUIET))
    (row,) = await chat_rows(store)
    assert (row["changes"], row["summarised"]) == (2, 1)
    assert row["due_at"] == at(50) + QUIET
    assert len(await claimed(store.database, store.now + timedelta(seconds=5))) == 1


async def test_what_failed_is_listed_with_its_reason_and_tried_later(store: Embedded, chats: Chats) -> None:
    await due(store, chats, 2)
    mine = await claimed(store.database, store.now)
    again = store.now + timedelta(seconds=30)
    await store.database.write(lambda c: claims.fail(c, mine[0], "unavailable", again))
    page = await store.database.read(lambda c: rows.waiting_page(c, TENANT, store.now, 10, None))
    assert [(p["tries"], p["last_reason"]) for p in page] == [(1, "unavailable"), (0, None)]
    rest = await store.database.read(
        lambda c: rows.waiting_page(c, TENANT, store.now, 10, (page[0]["due_at"], page[0]["id"]))
    )
    assert [p["id"] for p in rest] == [page[1]["id"]]
    assert await store.database.read(lambda c: rows.waiting(c, TENANT, store.now)) == 2
    assert await store.database.read(lambda c: rows.waiting(c, "other", store.now)) == 0
    assert await claimed(store.database, store.now) == []
    await store.database.write(lambda c: rows.ask(c, [mine[0].id], store.now))
    assert await claimed(store.database, store.now) == [], "a failure keeps its time, whoever asks"
    assert [c.id for c in await claimed(store.database, again)] == [mine[0].id]


async def test_old_chats_go_with_their_lines_and_what_is_due_stays(store: Embedded, chats: Chats) -> None:
    await due(store, chats, 2)
    mine = await claimed(store.database, store.now, most=1)
    await store.database.write(lambda c: claims.finish(c, mine[0], changes=1, revision=1, now=store.now, quiet=QUIET))
    assert await store.database.write(lambda c: claims.purge(c, TENANT, at(61))) == 0
    assert await store.database.write(lambda c: claims.purge(c, TENANT, store.now)) == 1
    (left,) = await chat_rows(store)
    lines = await store.database.read(lambda c: c.execute(LINE.select()).mappings().all())
    assert [line["chat"] for line in lines] == [left["id"]]
    assert await store.database.read(claims.tenants) == [TENANT]
