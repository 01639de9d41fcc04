"""What becomes of a body's items: statuses as outcomes of our messages, changed numbers, stops, and how a call begins."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from service.hooks import bodies, registry
from service.hooks.bodies import Ours
from service.hooks.registry import InvalidHook
from tests.channels.vendors.test_whatsapp import message, meta
from tests.service.conftest import Where
from tests.service.embedded import SECRETS, open_store
from tests.service.hooks.posting import Posting, posting
from tests.vendors import FORM, signed

WAMID = "wamid.HBgMOTE5MDAwMDAwMTAxFQIAERggOEU5RkEA"
PHONE = {"kind": "phone", "value": "+919000000101"}
VARS = set(
    "found borrower_id loan_id other_loans state step after_identity identity_verified promise_status promise_amount "
    "promise_currency promise_due_date promise_overdue counter_proposal payment_claimed reminded payment_link_shared "
    "payment_confirmed amount_received amount_outstanding contact_allowed contact_reason on_hold language speakable narrative "
    "degraded".split()
)


def status(word: str, seconds: int = 0, **own: Any) -> Any:
    told = {"id": WAMID, "status": word, "timestamp": str(1795581002 + seconds), "recipient_id": "919000000101"}
    return meta(statuses=[told | own])


async def known(vendor: Posting) -> None:
    await vendor.api.event("identifier.linked", "B-1", hours=300, identifier=PHONE)


# -- statuses ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [("read", "sent"), ("sent", "read"), ("delivered", "sent", "failed")])
async def test_statuses_are_outcomes_of_our_messages_in_any_order(order: tuple[str, ...], tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        due = {"due_date": "2026-12-05", "amount_due": "12500", "currency": "INR"}
        await vendor.api.event("cycle.opened", "B-1", hours=290, loan_id="LN-1", cycle_id="2026-11", **due)
        hook = await vendor.hook("whatsapp", "meta")
        for seconds, word in enumerate(order):
            told = status(word, seconds, biz_opaque_callback_data="link:LN-1:2026-11")
            await vendor.raw(hook, json.dumps(told).encode())
        state = await vendor.api.behind.state("B-1")
        assert state.cycle_of("LN-1").payment_link_shared.value is True
        evidence = state.cycle_of("LN-1").payment_link_shared.evidence
        assert evidence is not None
        assert "wamid." not in (evidence.message_id or "")


async def test_a_status_says_what_our_own_event_says_the_message_was(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        sent = {"channel": "whatsapp", "message_id": WAMID, "outcome": "attempted", "loan_id": "LN-1"}
        await vendor.api.event("reminder.sent", "B-1", hours=100, **sent)
        await vendor.raw(await vendor.hook("whatsapp", "meta"), json.dumps(status("delivered")).encode())
        told = (await vendor.api.behind.state("B-1")).cycle_of("LN-1").reminded
        assert told.value is True
        assert told.evidence is not None
        assert (told.evidence.outcome, await vendor.asides()) == ("delivered", [])


async def test_a_status_waits_for_the_event_that_tells_what_the_message_was(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        await vendor.raw(await vendor.hook("whatsapp", "meta"), json.dumps(status("read")).encode())
        sent = {"channel": "whatsapp", "message_id": WAMID, "outcome": "attempted", "loan_id": "LN-1"}
        await vendor.api.event("payment_link.shared", "B-1", hours=100, **sent)
        await vendor.read()
        assert (await vendor.api.behind.state("B-1")).cycle_of("LN-1").payment_link_shared.value is True


async def test_a_failed_message_is_no_reminder(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        told = status("failed", biz_opaque_callback_data="reminder:LN-1:2026-11", errors=[{"code": 131026}])
        await vendor.raw(await vendor.hook("whatsapp", "meta"), json.dumps(told).encode())
        assert (await vendor.api.behind.state("B-1")).cycle_of("LN-1").reminded.value is False


async def test_an_id_that_holds_a_number_is_shown_as_its_hash_whoever_posts_it(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        for outcome in ("attempted", "sent"):
            sent = {"channel": "whatsapp", "message_id": WAMID, "outcome": outcome, "loan_id": "LN-1"}
            await vendor.api.event("reminder.sent", "B-1", **sent)
        timeline = await vendor.api.get("/v1/borrowers/B-1/timeline")
        ids = {item["entry"]["message_id"] for item in timeline["items"] if "message_id" in item["entry"]}
        assert len(ids) == 1, "the same id has the same hash"
        assert WAMID not in json.dumps(timeline.document)


# -- people ------------------------------------------------------------------------------------------------------------------


async def test_a_changed_number_is_linked_and_the_old_one_unlinked(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        await vendor.api.event("identity.verified", "B-1", hours=150, identifier=PHONE, method="otp")
        system = {"type": "user_changed_number", "wa_id": "919000000202"}
        body = meta(message(type="system", system=system, timestamp="1795581002"))
        await vendor.raw(await vendor.hook("whatsapp", "meta"), json.dumps(body).encode())
        state = await vendor.api.behind.state("B-1")
        assert [one.value for one in state.identifiers] == ["+919000000202"]
        assert "phone:+919000000202" not in state.identities, "linked, and not verified"


async def test_the_bodies_that_told_of_a_borrower_can_be_forgotten(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        hook = await vendor.hook("whatsapp", "meta")
        await vendor.raw(hook, json.dumps(meta(message(id="wamid.1"))).encode())
        await vendor.raw(hook, json.dumps(meta(message(id="wamid.2", **{"from": "919000000303"}))).encode())
        told = status("read", biz_opaque_callback_data="reminder:LN-1:2026-11")
        await vendor.raw(hook, json.dumps(told).encode())
        database = vendor.api.parts.database
        assert await database.write(lambda c: bodies.forget(c, "acme", ["B-1", "B-2"])) == 2
        assert await database.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM hook_body").scalar()) == 1


async def test_a_stop_in_a_batchs_tail_stops_us(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        odd = message(id="wamid.1", type="sparkle", sparkle={"x": 1})
        body = meta(odd, message(id="wamid.2", text={"body": "STOP"}, timestamp="1795581002"))
        await vendor.raw(await vendor.hook("whatsapp", "meta"), json.dumps(body).encode())
        state = await vendor.api.behind.state("B-1")
        assert [(one.channel, one.purpose) for one in state.opt_outs] == [("whatsapp", "collections")]


async def test_chats_of_a_hook_are_summarised_as_a_promise(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        words = "Salary 5 ko aayegi. 12,500 tab de dungi, 5 tarikh tak pakka."
        body = meta(
            message(text={"body": words}, timestamp=str(int((vendor.api.now - timedelta(hours=3)).timestamp())))
        )
        await vendor.raw(await vendor.hook("whatsapp", "meta"), json.dumps(body).encode())
        await vendor.summarise()
        promise = await vendor.promise("B-1")
        assert (promise["amount"], promise["due_date"], promise["status"]) == ("12500.00", "2026-12-05", "proposed")


def relayed(due: str, call: str = "CA-1") -> bytes:
    """ConversationRelay's report, which tells no time."""
    outcome = {"amount_rupees": 5000, "promised_date": due, "read_back_confirmed": True}
    form = {"CallSid": call, "SessionId": f"VX-{call}", "SessionStatus": "ended", "Direction": "outbound-api",
            "From": "+912200000007", "To": "+919000000101",
            "HandoffData": json.dumps({"borrower_id": "B-1", "outcome": outcome})}  # fmt: skip
    return urlencode(form).encode()


@pytest.mark.parametrize(
    ("arrives", "due", "ended", "told"),
    [
        ("2026-11-22T06:00:00Z", "2026-11-25", "2026-11-22T06:00:00Z", ("confirmed", "2026-11-25")),
        ("2026-11-25T18:29:00Z", "2026-11-25", "2026-11-25T18:29:00Z", ("confirmed", "2026-11-25")),
        ("2026-11-25T18:31:00Z", "2026-11-25", "2026-11-25T18:29:59Z", ("confirmed", "2026-11-25")),
        ("2026-12-09T12:00:00Z", "2026-11-25", "2026-11-25T18:29:59Z", ("confirmed", "2026-11-25")),
        ("2026-12-10T12:00:00Z", "2026-11-25", "2026-12-10T12:00:00Z", ("proposed", "None")),
        ("2026-11-22T06:00:00Z", "2025-11-25", "2026-11-22T06:00:00Z", ("proposed", "None")),
        ("2026-11-22T06:00:00Z", "2026-13-45", "2026-11-22T06:00:00Z", ("proposed", "None")),
    ],
)
async def test_a_report_without_a_time_was_over_by_its_arrival_and_by_the_day_it_promises(
    arrives: str, due: str, ended: str, told: tuple[str, str], tmp_path: Path
) -> None:
    """Nobody promises a day that is past; a day that lies too far back is a model's slip."""
    async with posting(tmp_path, datetime.fromisoformat(arrives)) as vendor:
        hook = await vendor.hook("voice", "twilio")
        assert (await vendor.raw(hook, relayed(due), FORM)).status == 200
        promise = await vendor.promise("B-1")
        assert (promise["status"], promise["due_date"]) == told
        (item,) = (await vendor.api.get("/v1/borrowers/B-1/timeline"))["items"]
        assert item["at"] == ended
        taken_again = "UPDATE hook_body SET is_done = 0, claimed_until = NULL"
        await vendor.api.parts.database.write(lambda c: c.exec_driver_sql(taken_again))
        await vendor.api.parts.database.write(lambda c: c.exec_driver_sql("UPDATE hook_item SET state = 'taken'"))
        vendor.api.behind.now += timedelta(minutes=2)
        await vendor.read()
        assert (await vendor.borrower("B-1"))["record_version"] == 1
        assert await vendor.asides() == []


async def test_a_report_without_a_time_ended_when_the_leg_of_its_call_did(tmp_path: Path) -> None:
    leg = {"CallSid": "CA-1", "CallStatus": "completed", "SequenceNumber": "3", "Direction": "outbound-api",
           "From": "+912200000007", "To": "+919000000101", "Timestamp": "Sun, 22 Nov 2026 05:42:34 +0000",
           "borrower_id": "B-1"}  # fmt: skip
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "twilio")
        await vendor.raw(hook, urlencode(leg).encode(), FORM)
        await vendor.raw(hook, relayed("2026-11-25"), FORM)
        (item,) = (await vendor.api.get("/v1/borrowers/B-1/timeline"))["items"]
        assert (item["at"], item["revisions"]) == ("2026-11-22T05:42:34Z", 2)
        assert (await vendor.promise("B-1"))["status"] == "confirmed"


# -- how a call begins -------------------------------------------------------------------------------------------------------


QUESTIONS = [
    ("vapi", {"message": {"type": "assistant-request", "call": {"id": "c", "assistantId": "a-1"},
                          "customer": {"number": "+919000000101"}}}, ("assistantOverrides", "variableValues")),
    ("retell", {"event": "call_inbound", "call_inbound": {"agent_id": "a", "from_number": "+919000000101",
                                                          "to_number": "+912200000007"}}, ("call_inbound", "dynamic_variables")),
    ("elevenlabs", {"caller_id": "+919000000101", "agent_id": "a", "called_number": "+912200000007", "call_sid": "CA1"},
     ("dynamic_variables",)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "place"), QUESTIONS, ids=[q[0] for q in QUESTIONS])
async def test_how_a_call_begins_is_answered_in_the_vendors_shape(
    name: str, question: Any, place: tuple[str, ...], tmp_path: Path
) -> None:
    async with posting(tmp_path) as vendor:
        await known(vendor)
        await vendor.api.event("identity.verified", "B-1", hours=3, identifier=PHONE, method="otp")
        hook = await vendor.hook("voice", name)
        answer = await vendor.raw(hook, json.dumps(question).encode())
        assert answer.status == 200
        told = answer.document
        for step in place:
            told = told[step]
        assert set(told) == VARS
        assert (told["found"], told["borrower_id"], told["identity_verified"]) == ("yes", "B-1", "yes")
        assert all(isinstance(value, str) and value for value in told.values())
        assert await vendor.api.parts.database.read(bodies.unread) == 0
        stored = await vendor.api.parts.database.read(
            lambda c: c.exec_driver_sql("SELECT count(*) FROM hook_body").scalar()
        )
        assert stored == 0, "a question is answered and not kept"


@pytest.mark.parametrize("number", ["anonymous", "", "+266696687", "+919000000999", "+912200000007"])
async def test_a_caller_who_is_not_known_begins_cold(number: str, tmp_path: Path) -> None:
    async with posting(tmp_path, own_numbers=("+912200000007",)) as vendor:
        question = {"event": "call_inbound", "call_inbound": {"from_number": number}}
        answer = await vendor.raw(await vendor.hook("voice", "retell"), json.dumps(question).encode())
        told = answer["call_inbound"]["dynamic_variables"]
        assert set(told) == VARS
        assert (told["found"], told["state"], told["degraded"]) == ("no", "opening", "no")


async def test_a_memory_that_does_not_answer_in_time_is_a_cold_start_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "retell")
        body = json.dumps(QUESTIONS[1][1]).encode()
        headers = signed("voice", "retell", body, vendor.api.now)
        await vendor.raw(hook, body, headers=headers)  # the hook is known from now on
        monkeypatch.setattr("service.hooks.starting.RESUME_LIMIT_SECONDS", 0.05)

        async def hangs(job: Any) -> Any:
            await asyncio.sleep(30)

        monkeypatch.setattr(vendor.api.parts.database, "read", hangs)
        answer = await vendor.api.client.post(hook.path, content=body, headers={"authorization": "", **headers})
        told = answer.json()["call_inbound"]["dynamic_variables"]
        assert set(told) == VARS
        assert (told["found"], told["degraded"], told["contact_allowed"]) == ("no", "yes", "no")


async def test_a_question_that_is_not_signed_is_not_answered(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        for name, question, _ in QUESTIONS:
            hook = await vendor.hook("voice", name)
            assert (await vendor.raw(hook, json.dumps(question).encode(), headers={})).status == 401
        hook = await vendor.hook("voice", "elevenlabs")
        answer = await vendor.raw(
            hook, json.dumps(QUESTIONS[2][1]).encode(), headers={"authorization": "Bearer test-secret"}
        )
        assert answer.status == 200, (
            "the workspace sends the header it was told to: this one is not signed by the vendor"
        )


# -- rows, on both stores ----------------------------------------------------------------------------------------------------


NOW = datetime(2026, 11, 28, 6, tzinfo=UTC)


async def test_bodies_and_items_are_claimed_once(where: Where) -> None:
    store = await open_store(where())
    try:
        row = {
            "tenant": "acme", "hook_id": "h", "channel": "voice", "vendor": "bland", "received_at": NOW, "content_type": None,
            "time_zone": None, "body": b"sealed", "claimed_until": None,
        }  # fmt: skip
        first = await store.write(lambda c: bodies.add(c, **row))
        second = await store.write(lambda c: bodies.add(c, **row))
        assert await store.read(lambda c: bodies.waiting(c, NOW, 10)) == [first, second]
        until = NOW + timedelta(seconds=60)
        assert await store.write(lambda c: bodies.claim(c, first, NOW, until)) is True
        assert await store.write(lambda c: bodies.claim(c, first, NOW, until)) is False
        assert await store.write(lambda c: bodies.claim(c, first, until, until + timedelta(seconds=1))) is True
        body = await store.read(lambda c: bodies.load(c, first))
        assert body is not None
        assert (body.body, body.tries, body.received_at) == (b"sealed", 2, NOW)

        def item(of: int) -> Any:
            return store.write(lambda c: bodies.claim_item(c, "acme", "k", of, NOW))

        assert (await item(first)).is_ours
        assert (await item(first)).is_ours, "after a crash the same body goes on"
        assert (await item(second)).is_repeat
        await store.write(lambda c: bodies.settle_item(c, "acme", "k", bodies.ASIDE))
        taken_over = await item(second)
        assert (taken_over.is_ours, taken_over.was_aside) == (True, True)
        await store.write(lambda c: bodies.settle_item(c, "acme", "k", bodies.DONE, borrower_id="B-1"))
        assert (await item(first)).is_repeat
        assert not (await item(second)).is_ours
        await store.write(lambda c: bodies.finish(c, first))
        await store.write(lambda c: bodies.settle_item(c, "acme", "k", bodies.WAITING, waits_for="m-1"))
        await store.write(lambda c: bodies.finish(c, second))
        assert await store.read(bodies.unread) == 0
        ours = Ours("acme", "m-1", "reminder.sent", "B-1", None, None)
        assert await store.write(lambda c: bodies.remember(c, [ours])) is True
        assert await store.write(lambda c: bodies.remember(c, [ours])) is False
        assert await store.read(lambda c: bodies.message_of_ours(c, "acme", ["x", "m-1"])) == ours
        assert await store.read(lambda c: bodies.waiting(c, NOW, 10)) == [second]
        assert await store.write(lambda c: bodies.purge(c, "acme", NOW + timedelta(days=1))) == 2
        assert await store.read(lambda c: bodies.load(c, first)) is None
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"vendor": "nobody"}, "no vendor"),
        ({"tenant": "Acme Ltd"}, "a tenant is"),
        ({"secret": ""}, "signs what it posts"),
        ({"secret": "a\nb"}, "one line"),
        ({"public_url": "https://x.example/path"}, "is an origin"),
        ({"time_zone": "Mars/Base"}, "IANA"),
        ({"verify_token": "t"}, "shakes hands"),
    ],
)
async def test_a_hook_that_cannot_be_made_says_why(wrong: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    from channels.vendors import VENDORS

    given = {"tenant": "acme", "channel": "voice", "vendor": "vapi", "secret": "s"} | wrong
    store = await open_store(tmp_path / "memory.db")
    try:
        with pytest.raises(InvalidHook, match=sentence):
            await store.write(lambda c: registry.create(c, VENDORS, SECRETS, NOW, **given))
    finally:
        await store.close()


async def test_a_hook_is_known_by_its_whole_path_until_it_is_revoked(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "bland", secret="s-1")
        at = [0.0]
        hooks = registry.Hooks(vendor.api.parts.database, SECRETS, monotonic=lambda: at[0])
        found = await hooks.lookup("voice", "bland", hook.hook_id)
        assert found is not None
        assert found.secret == "s-1"
        assert await hooks.lookup("whatsapp", "bland", hook.hook_id) is None
        assert "s-1" not in repr(found)
        (listed,) = await vendor.api.parts.database.read(lambda c: registry.listed(c, "acme"))
        assert listed["path"] == hook.path
        assert "secret" not in listed
        assert await vendor.api.parts.database.write(lambda c: registry.revoke(c, hook.hook_id, NOW)) is True
        assert await vendor.api.parts.database.write(lambda c: registry.revoke(c, "h_none", NOW)) is False
        at[0] = 5.0
        assert await hooks.lookup("voice", "bland", hook.hook_id) is None
