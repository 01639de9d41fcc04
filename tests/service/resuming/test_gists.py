"""Gists as they are found, on either database."""

from datetime import timedelta

from service.chats import rows
from service.policy import Policy
from service.resuming import gists
from tests.benchmarks import people
from tests.service.conftest import Where
from tests.service.embedded import SECRETS, open_store


async def test_the_gist_of_an_identifiers_only_borrower_is_found_in_one_look(where: Where) -> None:
    store = await open_store(where())
    copies = people.Copies(SECRETS, Policy(), people.utc_now())
    await store.write(lambda connection: copies.write(connection, [1, 2]))

    async def found(*numbers: int) -> str | None:
        spellings = [people.phone(number) for number in numbers]
        only = await store.read(lambda c: gists.glimpse_of_only(c, people.TENANT, "phone", spellings))
        return only.borrower_id if only is not None else None

    assert await found(1) == "B-00001"
    assert await found(2, 9) == "B-00002"
    assert await found(1, 2) is None, "of two borrowers it is nobody's alone"
    assert await found(9) is None
    await store.close()


async def test_who_has_a_chat_is_told_on_the_way_and_who_has_none_is_not_looked_for(where: Where) -> None:
    store = await open_store(where())
    copies = people.Copies(SECRETS, Policy(), people.utc_now())
    await store.write(lambda connection: copies.write(connection, [1, 2]))
    now = people.utc_now()
    chat = rows.Told(people.TENANT, "whatsapp", "w-1", "B-00001", "{}", [], ended_at=now)
    await store.write(lambda connection: rows.take(connection, chat, now, timedelta(minutes=30)))
    for number, has_chats in ((1, True), (2, False)):
        phone, borrower_id = people.phone(number), people.borrower(number)
        by_phone = await store.read(lambda c, of=phone: gists.glimpse_of_only(c, people.TENANT, "phone", [of]))  # type: ignore[misc]
        by_id = await store.read(lambda c, of=borrower_id: gists.glimpse(c, people.TENANT, of))  # type: ignore[misc]
        assert by_phone is not None
        assert by_id is not None
        assert (by_phone.has_chats, by_id.has_chats) == (has_chats, has_chats)
    await store.close()
