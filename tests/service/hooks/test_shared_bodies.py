"""Every shared body of a vendor, posted alone, gives what its index lists: as it stands, long after, and as if it came at once.

Each is signed as its vendor signs and goes through the real endpoint. The checks are read off the index: one for each thing
that an entry may list, and an entry that lists something no check knows fails. Moving the clock to the bodies' day is as
moving their times to today, but that the words in them ("25 ko") keep their meaning.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from channels.vendors import VENDORS
from service.hooks.registry import Hook
from tests.channels.vendors.reading import of
from tests.service.hooks.posting import Posting, posting
from tests.vendors import Sample, need_samples, sample, samples

LONG_AFTER = datetime(2026, 11, 30, 4, tzinfo=UTC)
HOUR = timedelta(hours=1)
BORROWER, LOAN, CYCLE = "bor_0101", "LN-700123", "2026-11"
PHONE, NEW_PHONE = "+919000000101", "+919000000202"
QUIET = timedelta(minutes=31)
ORDERS = 4


class Told:
    """What the service says of the borrower after the body."""

    def __init__(self, one: Sample, vendor: Posting, received: int) -> None:
        self.one, self.vendor, self.received = one, vendor, received

    async def borrower(self) -> Any:
        return (await self.vendor.api.get(f"/v1/borrowers/{BORROWER}?loan_id={LOAN}")).document

    async def items(self) -> list[Any]:
        """What the body brought to the time line."""
        items: list[Any] = (await self.vendor.api.get(f"/v1/borrowers/{BORROWER}/timeline"))["items"]
        return [item for item in items if not item["event_id"].startswith("before-")]

    async def conversation(self) -> Any:
        (found,) = [item for item in await self.items() if item["kind"] == "conversation"]
        return found["entry"]

    async def looked_up(self, value: str) -> str | None:
        identifier = {"kind": "phone", "value": value}
        answer = await self.vendor.api.post("/v1/borrowers/lookup", {"identifier": identifier})
        return answer["borrower_id"] if answer.status == 200 else None


# -- what an entry of the index may list -------------------------------------------------------------------------------------


async def channel(told: Told, listed: str) -> None:
    assert {item["entry"]["channel"] for item in await told.items() if "channel" in item["entry"]} <= {listed}


async def modality(told: Told, listed: str) -> None:
    assert (await told.conversation())["modality"] == listed


async def borrower_keys(told: Told, listed: list[str]) -> None:
    """The keys that the body holds, and that it is told of whom they are."""
    keys: set[str] = set()
    for item in of(told.one):
        for body in item.bodies:
            keys |= {body.identifier.value} if body.identifier else set()
        for message in item.messages:
            pairs = ((message.identifier,) if message.identifier else ()) + message.also
            keys |= {value if kind == "phone" else f"{kind}:{value}" for kind, value in pairs}
    assert set(listed) == keys
    assert await told.items()


async def occurred_at(told: Told, listed: str | None) -> None:
    at = datetime.fromisoformat((await told.items())[0]["at"])
    if listed is None:
        assert at <= told.vendor.api.now
    else:
        assert abs(at - datetime.fromisoformat(listed)) <= timedelta(seconds=10)


async def promise(told: Told, listed: Mapping[str, str | None]) -> None:
    said = (await told.borrower())["commitment"]
    assert (said["amount"], said["currency"], said["due_date"]) == (
        listed["amount"], listed["currency"], listed["due_date"],
    )  # fmt: skip
    assert (said["amount_candidates"], said["due_date_candidates"]) == ([], [])


EFFECTS: Mapping[str, str | None] = {
    "proposed->confirmed": "confirmed",
    "none->proposed": "proposed",
    "proposed;": "proposed",
    "replaces": "proposed",
    "none": None,
}


async def commitment_effect(told: Told, listed: str) -> None:
    status = next(status for begins, status in EFFECTS.items() if listed.startswith(begins))
    said = (await told.borrower())["commitment"]
    assert (said["status"] if said else None) == status


async def identity(told: Told, listed: str) -> None:
    resumed = (await told.vendor.api.resume(BORROWER, identifier={"kind": "phone", "value": PHONE}))["identity"]
    assert resumed["holds"] is False
    if listed.startswith("not verified"):
        return
    assert "number_changed" in listed
    assert (await told.looked_up(PHONE), await told.looked_up(NEW_PHONE)) == (None, BORROWER)
    events = {item["entry"]["type"]: item["entry"] for item in await told.items()}
    assert events["identifier.unlinked"]["reason"] == "number_changed"
    assert events["identifier.linked"]["identifier"]["value"] == NEW_PHONE


async def attempt_only(told: Told, listed: bool) -> None:
    borrower = await told.borrower()
    attempts = 0 if told.one.vendor == "livekit" else 1  # a recording that ended is no attempt of its own
    assert (borrower["contact_attempts"], borrower["commitment"], borrower["stage"]) == (attempts, None, "empty")
    assert [item["kind"] for item in await told.items()] == ["conversation"] * attempts


async def phase(told: Told, listed: int) -> None:
    (item,) = await told.items()
    assert (item["revisions"], item["event_id"]) == (1, told.one.event_keys[0])


async def disposition(told: Told, listed: str) -> None:
    assert (await told.conversation())["disposition"] == listed


async def payment_claim(told: Told, listed: Mapping[str, Any]) -> None:
    claim = (await told.borrower())["payment_claim"]
    assert claim is not None
    assert {name: claim[name] for name in listed} == listed


async def booleans(told: Told, listed: Mapping[str, Any]) -> None:
    flags = (await told.vendor.api.get(f"/v1/borrowers/{BORROWER}/flags?loan_id={LOAN}")).document
    for flag, word in listed.items():
        assert flags[flag]["value"] is (word if isinstance(word, bool) else False), flag


async def items(told: Told, listed: int) -> None:
    assert told.received == listed


async def borrowers(told: Told, listed: int) -> None:
    """Whose lines there are; whoever wrote STOP is stopped."""
    assert len({message.identifier for item in of(told.one) for message in item.messages}) == listed
    rows = await told.vendor.api.parts.database.read(
        lambda conn: conn.exec_driver_sql("SELECT count(DISTINCT borrower_id) FROM chat").scalar()
    )
    assert rows == listed
    stopped = await told.vendor.api.parts.database.read(
        lambda conn: conn.exec_driver_sql("SELECT count(*) FROM journal WHERE type = 'contact.opted_out'").scalar()
    )
    assert stopped == 1


async def duplicate_of(told: Told, listed: str) -> None:
    """Either of the two is the report, whichever comes first; the other changes nothing."""
    before = await told.borrower()
    assert before["commitment"]["status"] == "confirmed"
    await told.vendor.post(sample(listed))
    after = await told.borrower()
    assert {**after, "as_of": None} == {**before, "as_of": None}
    assert (await told.vendor.api.get("/v1/ops/stats"))["conflicts"] == 0


async def window_opens_until(told: Told, listed: str) -> None:
    """A day from the message on, which is when the last message of the conversation is."""
    (item,) = await told.items()
    assert datetime.fromisoformat(item["at"]) + timedelta(hours=24) == datetime.fromisoformat(listed)


async def note(told: Told, listed: str) -> None:
    """Words for whoever writes an adapter."""


CHECKS: Mapping[str, Callable[[Told, Any], Awaitable[None]]] = {
    check.__name__: check
    for check in (
        channel, modality, borrower_keys, occurred_at, promise, commitment_effect, identity, attempt_only, phase, disposition,
        payment_claim, booleans, items, borrowers, window_opens_until, note, duplicate_of,
    )
}  # fmt: skip


# -- each alone ------------------------------------------------------------------------------------------------------------------


async def known(vendor: Posting) -> None:
    """The lender knows the borrower, the number and the due, from the first of the month on."""
    since = datetime(2026, 11, 1, tzinfo=UTC)
    before = {"occurred_at": since.isoformat(), "borrower_id": BORROWER}
    identifier = {"kind": "phone", "value": PHONE}
    due = {"loan_id": LOAN, "cycle_id": CYCLE, "due_date": "2026-12-05", "amount_due": "12500", "currency": "INR"}
    linked = {"event_id": "before-1", "type": "identifier.linked", "identifier": identifier}
    opened = {"event_id": "before-2", "type": "cycle.opened", **due}
    for event in (linked, opened):
        assert (await vendor.api.post("/v1/events", event | before)).status == 200


async def quiet(vendor: Posting) -> None:
    """Chats fall quiet and are summarised."""
    vendor.api.behind.now += QUIET
    await vendor.summarise()


def at_once(one: Sample) -> datetime:
    """Just after the newest time in the body; of one that tells none, after that of the others of its channel."""
    told = [
        at
        for item in of(one)
        for at in (
            *(getattr(body, "ended_at", None) or getattr(body, "occurred_at", None) for body in item.bodies),
            *(message.at for message in item.messages),
            *((item.status.at,) if item.status else ()),
            *((item.moved.at,) if item.moved else ()),
        )
        if at is not None
    ]
    is_told = told and one.expect.get("occurred_at", "told") is not None
    return max(told) + timedelta(seconds=30) if is_told else datetime(2026, 11, 22, 5, 43, tzinfo=UTC)


@pytest.mark.thorough
@pytest.mark.parametrize("late", [True, False], ids=["as it stands, long after", "at once"])
@pytest.mark.parametrize("one", samples(), ids=lambda s: s.file)
async def test_a_shared_body_posted_alone_gives_what_its_index_lists(one: Sample, late: bool, tmp_path: Path) -> None:
    async with posting(tmp_path, LONG_AFTER if late else at_once(one)) as vendor:
        await known(vendor)
        answer = await vendor.post(one)
        assert (answer.status, answer["received"]) == (200, len(one.event_keys))
        assert await vendor.asides() == []
        if one.channel == "whatsapp":
            await quiet(vendor)
        told = Told(one, vendor, answer["received"])
        for name, listed in one.expect.items():
            await CHECKS[name](told, listed)


def test_the_shared_bodies_are_those_of_the_index_and_of_every_module() -> None:
    need_samples()
    there = {(one.channel, one.vendor) for one in samples()}
    assert there <= set(VENDORS)
    assert len(samples()) >= 26


# -- all, in any order -----------------------------------------------------------------------------------------------------------


async def posted(vendor: Posting, of_all: list[Sample]) -> None:
    hooks: dict[tuple[str, str], Hook] = {}
    for one in of_all:
        kind = (one.channel, one.vendor)
        if kind not in hooks:
            hooks[kind] = await vendor.hook(*kind)
        assert (await vendor.post(one, hooks[kind])).status == 200
    await quiet(vendor)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(ORDERS))
async def test_in_whatever_order_they_come_the_borrower_stands_the_same(seed: int, tmp_path: Path) -> None:
    """All but the changed number, after which the old one is a stranger's."""
    need_samples()
    of_all = [one for one in samples() if "changed-number" not in one.file]
    random.Random(seed).shuffle(of_all)
    async with posting(tmp_path, LONG_AFTER) as vendor:
        await known(vendor)
        await posted(vendor, of_all)
        assert await vendor.asides() == []
        told = Told(of_all[0], vendor, 0)
        borrower = await told.borrower()
        said = borrower["commitment"]
        assert (said["status"], said["amount"], said["due_date"]) == ("confirmed", "12500.00", "2026-11-25")
        assert borrower["flags"]["payment_link_shared"] is True
        assert borrower["payment_claim"] is not None
        calls = [
            item
            for item in await told.items()
            if item["kind"] == "conversation" and item["entry"]["channel"] == "voice"
        ]
        assert len(calls) == 10, "each vendor's call once, however many phases and reports told it"
        revised = sorted(item["revisions"] for item in calls)
        assert revised == [1] * 8 + [2] * 2
        assert (await vendor.api.get("/v1/ops/stats"))["conflicts"] == 0
