"""Whatever happens to a signed body on its way, its post is answered and nothing in it that can be read is lost (API 11).

Bodies are changed in one to three places, or in their bytes, and signed after that, so that they reach the adapter through the
real endpoint; they are then read to their end. Of each item that the adapter makes, the journal, the chats, the statuses that
wait, or the list of what is set aside has what became of it. `MUTATED_BODIES` sets how many bodies of each vendor are tried.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.delivery import Delivery, Item
from channels.fields import Unreadable
from channels.vendors import VENDORS
from service.hooks import bodies
from service.hooks.registry import Hook
from service.intake.message_ids import hashed
from service.web.edge import RateLimit
from tests.channels.vendors.reading import FORMS, places, put
from tests.channels.vendors.test_mutated import ANYTHING
from tests.channels.vendors.test_voice import retell_chat
from tests.channels.vendors.test_whatsapp import message, meta
from tests.conftest import FIGURES
from tests.examples import changed_bodies
from tests.service.hooks.posting import ORIGIN, Posting, posting
from tests.vendors import FORM, samples, signed

BODIES: Final = changed_bodies(80)
SECONDS: Final = 300 + BODIES // 2
READ_EVERY: Final = 20
"""Posts, before what they stored is read."""
SIGNED: Final = sorted(key for key, vendor in VENDORS.items() if vendor.needs_secret)
IDS: Final = (
    "id",
    "call_id",
    "conversation_id",
    "CallSid",
    "MessageSid",
    "SessionId",
    "CallUUID",
    "job_id",
    "session_id",
)
"""Where vendors put the id of a thing: each body of a run tells of another one."""
OWN: Final[dict[tuple[str, str], list[Any]]] = {
    ("voice", "retell"): [retell_chat()],
    ("voice", "plivo"): [
        {
            "CallUUID": "u-1", "Event": "Hangup", "CallStatus": "completed", "Direction": "outbound", "From": "912200000007",
            "To": "919000000101", "EndTime": "2026-11-22 05:42:34", "HangupCause": "NORMAL_CLEARING", "Duration": "154",
        },
        {"CallUUID": "u-2", "Event": "StartApp", "CallStatus": "in-progress", "Direction": "inbound", "From": "919000000101"},
    ],
    ("whatsapp", "meta"): [
        meta(
            message(id="wamid.1", text={"body": "12,500 25 tarikh tak pakka"}),
            message(id="wamid.2", type="edit", edit={"original_message_id": "wamid.1", "message": {"text": {"body": "x"}}}),
            message(id="wamid.3", type="revoke", revoke={"original_message_id": "wamid.2"}),
            message(id="wamid.4", text={"body": "STOP"}, **{"from": "919000000202"}),
            statuses=[{"id": "wamid.5", "status": "read", "timestamp": "1795581002", "recipient_id": "919000000101"}],
        )
    ],
}  # fmt: skip


def whole(key: tuple[str, str]) -> list[Any]:
    """Documents of a vendor before anything happens to them."""
    return [one.document for one in samples() if (one.channel, one.vendor) == key] + OWN.get(key, [])


def renamed(document: Any, number: int) -> Any:
    """The same of other things: every id of one says in which body it came."""
    if isinstance(document, list):
        return [renamed(one, number) for one in document]
    if not isinstance(document, dict):
        return document
    return {
        name: f"{value}.{number}" if name in IDS and isinstance(value, str) else renamed(value, number)
        for name, value in document.items()
    }


def flat(document: Any) -> bytes:
    """A form, whatever its fields became."""
    if not isinstance(document, dict):
        return json.dumps(document).encode()
    pairs = {name: value if isinstance(value, str) else json.dumps(value) for name, value in document.items()}
    return urlencode(pairs, errors="replace").encode()


@st.composite
def changed(draw: st.DrawFn, documents: list[Any], dumped: Callable[[Any], bytes]) -> Callable[[int], bytes]:
    """A body of the vendor with something else in one to three places, or with bytes gone or flipped; of a number."""
    document = draw(st.sampled_from(documents))
    inside = [name for name, value in document.items() if isinstance(value, str) and value[:1] == "{"]
    kind = draw(st.sampled_from(["places"] * 6 + ["bytes"] + ["inside"] * 3 * bool(inside)))
    changes = [(draw(st.randoms(use_true_random=False)), draw(st.one_of(st.just(...), ANYTHING))) for _ in
               range(draw(st.integers(1, 3)))]  # fmt: skip
    cut, flip = draw(st.integers(0, 10_000)), draw(st.integers(0, 255))

    def placed(value: Any) -> Any:
        for chance, other in changes:
            value = put(value, chance.choice(list(places(value))[1:] or [()]), other)
        return value

    def made(number: int) -> bytes:
        told = renamed(document, number)
        if kind == "inside":
            told = {**told, **{name: json.dumps(placed(json.loads(told[name]))) for name in inside}}
        raw = dumped(placed(told) if kind == "places" else told)
        if kind == "bytes":
            at = cut % max(1, len(raw))
            raw = raw[:at] if flip < 64 else raw[:at] + bytes([flip]) + raw[at + 1 :]
        return raw

    return made


@dataclass
class Run:
    """The posts of one vendor, and what has to be found of them."""

    key: tuple[str, str]
    vendor: Posting
    hook: Hook
    posted: int = 0
    became: Counter[str] = field(default_factory=Counter)

    async def post(self, made: Callable[[int], bytes]) -> None:
        raw = made(self.posted)
        self.posted += 1
        content_type = FORM if self.key in FORMS else "application/json"
        headers = signed(*self.key, _signable(raw, self.key), self.vendor.api.now, url=ORIGIN + self.hook.path)
        answer = await self.vendor.api.client.post(
            self.hook.path, content=raw, headers={"authorization": "", **headers, "content-type": content_type}
        )
        assert answer.status_code in (200, 401), answer.text
        if answer.status_code == 401:  # a form that is no text cannot be signed by its vendor
            assert self.key in FORMS
            self.became["unsigned"] += 1
            return
        assert isinstance(answer.json().get("received", 0), int)
        if self.posted % READ_EVERY == 0:
            await self.vendor.read()

    async def check(self) -> None:
        """Each item of each stored body has come to something."""
        await self.vendor.read()
        parts = self.vendor.api.parts
        database = parts.database
        assert await database.read(bodies.unread) == 0
        rows = await database.read(lambda conn: conn.exec_driver_sql("SELECT id, tries FROM hook_body").all())
        journal = {row[0] for row in await self.vendor.api.behind.journal("event_id")}
        items_of = await database.read(lambda conn: conn.exec_driver_sql("SELECT key, state FROM hook_item").all())
        states = {str(key): str(state) for key, state in items_of}
        listed = await database.read(
            lambda conn: _column(conn, "SELECT event_id FROM set_aside WHERE reason != 'cannot_merge'")
        )
        faults = await database.read(
            lambda conn: _column(conn, "SELECT detail FROM set_aside WHERE reason = 'cannot_merge'")
        )
        assert faults == set()
        for id_, tries in rows:
            assert tries <= 1
            body = await database.read(lambda conn, id_=id_: bodies.load(conn, id_))  # type: ignore[misc]
            assert body is not None
            delivery = Delivery(parts.secrets.open(body.body), body.received_at, body.content_type, region="IN")
            try:
                items = VENDORS[self.key].parse(delivery)
            except Unreadable:
                self.became["unreadable"] += 1
                assert any(event_id.startswith(f"{body.vendor}:{id_}:") for event_id in listed)
                continue
            for item in items:
                self._came_to_something(item, id_, journal, states, listed)

    def _came_to_something(
        self, item: Item, body_id: int, journal: set[str], states: dict[str, str], listed: set[str]
    ) -> None:
        if item.ignored is not None:
            self.became["ignored"] += 1
            return
        keyed = self.vendor.api.parts.keyed_hash
        key = f"{self.key[1]}:{body_id}:{item.key}" if item.key.startswith("@") else hashed(item.key, keyed)
        state = states[key]
        self.became[state] += 1
        if state == bodies.ASIDE:
            assert key in listed
        elif state == bodies.DONE:
            for told in item.bodies:
                assert hashed(told.id, keyed) in journal
        else:
            assert state == bodies.WAITING
            assert item.status is not None


def _column(connection: Any, statement: str) -> set[str]:
    return {row[0] for row in connection.exec_driver_sql(statement).all()}


def _signable(raw: bytes, key: tuple[str, str]) -> bytes:
    """What the vendor's own signing takes: of a form, text."""
    return raw.decode("utf-8", "replace").encode() if key in FORMS else raw


@pytest.mark.thorough
@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("key", SIGNED, ids="-".join)
def test_a_signed_body_that_was_changed_is_answered_and_loses_nothing(
    key: tuple[str, str], tmp_path: Path, record_property: Callable[[str, Any], None]
) -> None:
    documents = whole(key)
    if not documents:
        pytest.skip("the vendors' payloads are not beside this checkout")
    dumped = flat if key in FORMS else lambda document: json.dumps(document).encode()
    with asyncio.Runner() as runner:
        opened: AbstractAsyncContextManager[Posting] = posting(tmp_path)
        vendor = runner.run(opened.__aenter__())
        vendor.api.parts.rate_limit = RateLimit(per_second=1e9, burst=10**9)
        run = Run(key, vendor, runner.run(vendor.hook(*key)))

        @settings(max_examples=BODIES, database=None)
        @given(changed(documents, dumped))
        def one(made: Callable[[int], bytes]) -> None:
            runner.run(run.post(made))

        try:
            one()
            runner.run(run.check())
        finally:
            runner.run(opened.__aexit__(None, None, None))
    assert run.posted >= BODIES
    record_property(FIGURES, {"bodies": run.posted, **run.became})
