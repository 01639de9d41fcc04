"""The endpoint of vendors: who may post, what is answered, and that what was posted is told once (API 11)."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from channels.vendors import VENDORS
from service.hooks import bodies
from service.hooks.worker import HookWorker
from tests.channels.vendors.test_whatsapp import message, meta
from tests.service.hooks.posting import AFTER_ALL, ORIGIN, posting
from tests.vendors import SECRET, Sample, need_samples, sample, samples, signed

SIGNED = sorted(key for key, vendor in VENDORS.items() if vendor.needs_secret)
ASHA = "bor_0101"
AFTER_THE_CALL = datetime(2026, 11, 22, 5, 45, tzinfo=UTC)
"""Of which ConversationRelay tells no time: its arrival counts."""


@pytest.mark.thorough
@pytest.mark.parametrize("one", samples(), ids=lambda s: s.file)
async def test_every_shared_body_is_taken_through_the_endpoint(one: Sample, tmp_path: Path) -> None:
    async with posting(tmp_path, AFTER_THE_CALL if one.channel == "voice" else AFTER_ALL) as vendor:
        answer = await vendor.post(one)
        assert answer.status == 200
        expected = len(one.event_keys)
        assert answer["received"] == expected
        nobody_known = "changed-number" in one.file
        assert [item["reason"] for item in await vendor.asides()] == (["invalid"] if nobody_known else [])
        if promise := one.expect.get("promise"):
            await whole_promise(vendor, one, promise)


async def whole_promise(vendor: Any, one: Sample, promise: dict[str, Any]) -> None:
    """What the record says after it: confirmed of a call, proposed of a chat once it is summarised."""
    if one.channel == "voice":
        told = await vendor.promise(ASHA)
        assert (told["amount"], told["currency"], told["due_date"]) == ("12500.00", "INR", promise["due_date"])
        assert told["status"] == "confirmed"
        state = await vendor.api.behind.state(ASHA)
        assert state.identities == {}, "identity is not verified by any body"
        return
    await vendor.summarise()
    lookup = await vendor.api.post("/v1/borrowers/lookup", {"identifier": {"kind": "phone", "value": "+919000000101"}})
    assert lookup.status in (200, 404)


async def test_the_same_call_told_by_each_vendor_gives_the_same_commitment(tmp_path: Path) -> None:
    need_samples()
    told = {}
    for one in (s for s in samples() if s.channel == "voice" and "promise" in s.expect):
        folder = tmp_path / one.vendor
        folder.mkdir()
        async with posting(folder, AFTER_THE_CALL) as vendor:
            await vendor.post(one)
            whole = await vendor.promise(ASHA)
            told[one.file] = {
                name: whole[name] for name in ("amount", "currency", "due_date", "status", "outcome", "overdue")
            }
    assert len(told) >= 7
    assert len({json.dumps(one, sort_keys=True) for one in told.values()}) == 1, told


# -- who may post ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("channel", "name"), SIGNED)
async def test_what_is_not_signed_by_this_hooks_secret_is_turned_away(channel: str, name: str, tmp_path: Path) -> None:
    body = b"CallSid=1" if name in ("twilio", "plivo") else b'{"a": 1}'
    kind = "application/x-www-form-urlencoded" if name in ("twilio", "plivo") else "application/json"
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook(channel, name)
        assert (await vendor.raw(hook, body, kind)).status == 200
        good = signed(channel, name, body, vendor.api.now, url=ORIGIN + hook.path)
        wrong = signed(channel, name, body, vendor.api.now, secret="wrong", url=ORIGIN + hook.path)
        for headers in ({}, wrong):
            answer = await vendor.raw(hook, body, kind, headers)
            assert (answer.status, answer["code"]) == (401, "unauthenticated")
        if name in ("retell", "elevenlabs"):
            vendor.api.behind.now += timedelta(minutes=31)
            assert (await vendor.raw(hook, body, kind, good)).status == 401, "stale"
        assert await vendor.api.parts.database.read(bodies.unread) == 0


async def test_no_other_path_is_a_hook(tmp_path: Path) -> None:
    need_samples()
    one = sample("whatsapp-gupshup-inbound.json")
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("whatsapp", "gupshup", secret="")
        assert (await vendor.post(one, hook)).status == 200
        for path in (
            hook.path + "x",
            hook.path.replace("gupshup", "meta"),
            hook.path.replace("whatsapp", "voice"),
            "/hooks/a/b/c",
        ):
            answer = await vendor.api.client.post(path, content=one.raw)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        got = await vendor.api.client.get(hook.path)
        assert got.status_code == 405


async def test_a_public_address_is_what_twilio_signed(tmp_path: Path) -> None:
    need_samples()
    one = sample("voice-twilio-status-callback.json")
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "twilio", public_url="https://elsewhere.example.invalid:8443")
        there = signed(
            "voice", "twilio", one.raw, vendor.api.now, url=f"https://elsewhere.example.invalid:8443{hook.path}"
        )
        assert (await vendor.raw(hook, one.raw, one.content_type, there)).status == 200
        behind_a_proxy = signed("voice", "twilio", one.raw, vendor.api.now, url=f"http://test{hook.path}")
        assert (await vendor.raw(hook, one.raw, one.content_type, behind_a_proxy)).status == 401


@pytest.mark.parametrize(
    ("token", "mode", "status"), [("t-1", "subscribe", 200), ("t-2", "subscribe", 403), ("t-1", "x", 403)]
)
async def test_metas_handshake_is_echoed_as_plain_text(token: str, mode: str, status: int, tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("whatsapp", "meta", verify_token="t-1")
        query = {"hub.mode": mode, "hub.challenge": "1158201444", "hub.verify_token": token}
        answer = await vendor.api.client.get(hook.path, params=query)
        assert answer.status_code == status
        if status == 200:
            assert answer.text == "1158201444"
            assert answer.headers["content-type"].startswith("text/plain")


async def test_a_passthru_is_a_delivery_in_the_query(tmp_path: Path) -> None:
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "exotel", secret="")
        query = {"CallSid": "c-1", "CallFrom": "09000000101", "Direction": "incoming", "EndTime": "1970-01-01 05:30:00"}
        answer = await vendor.api.client.get(hook.path, params=query)
        assert (answer.status_code, answer.json()) == (200, {"received": 1})
        await vendor.read()
        found = await vendor.api.post(
            "/v1/resume", {"channel": "whatsapp", "identifier": {"kind": "phone", "value": "9000000101"}}
        )
        assert found.status == 200


# -- each thing once ---------------------------------------------------------------------------------------------------------


async def test_a_redelivery_with_other_bytes_changes_nothing(tmp_path: Path) -> None:
    need_samples()
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "vapi")
        await vendor.post(sample("voice-vapi-end-of-call-report.json"), hook)
        before = await vendor.borrower(ASHA)
        assert (await vendor.post(sample("voice-vapi-end-of-call-report-redelivered.json"), hook)).status == 200
        changed = sample("voice-vapi-end-of-call-report.json").document
        changed["message"]["analysis"]["summary"] = "Something else."
        changed["message"]["artifact"]["structuredOutputs"] = {}
        assert (await vendor.raw(hook, json.dumps(changed).encode())).status == 200
        after = await vendor.borrower(ASHA)
        assert after["record_version"] == before["record_version"]
        assert await vendor.asides() == [], "a vendor's key is a repeat whatever its bytes: no conflict"
        assert (await vendor.api.get("/v1/ops/stats"))["conflicts"] == 0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_both_phases_are_one_call_in_either_order(order: tuple[int, int], tmp_path: Path) -> None:
    need_samples()
    phases = [sample("voice-retell-call_ended.json"), sample("voice-retell-call_analyzed.json")]
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "retell")
        for place in order:
            assert (await vendor.post(phases[place], hook)).status == 200
        assert (await vendor.promise(ASHA))["status"] == "confirmed"
        timeline = (await vendor.api.get(f"/v1/borrowers/{ASHA}/timeline"))["items"]
        assert [(item["kind"], item["revisions"]) for item in timeline] == [("conversation", 2)]


async def test_a_batch_of_many_messages_is_answered_and_every_one_is_taken(tmp_path: Path) -> None:
    """3 MB in one post, with bad ones among them and a stop at the very end."""
    texts = [
        message(id=f"wamid.{n}", text={"body": "x" * 6_000}, **{"from": f"9190000{n % 50:05d}"}) for n in range(480)
    ]
    texts[7] = {"id": "wamid.bad", "type": "text", "from": "919000000101", "text": {"body": ["?"]}, "timestamp": {}}
    texts[9] = "nonsense"  # type: ignore[call-overload]
    stop = message(id="wamid.stop", text={"body": "STOP"}, **{"from": "919000099999"})
    body = json.dumps(meta(*texts, stop)).encode()
    assert len(body) > 2_900_000
    async with posting(tmp_path) as vendor:
        answer = await vendor.raw(await vendor.hook("whatsapp", "meta"), body)
        assert (answer.status, answer["received"]) == (200, 481)
        assert await vendor.api.behind.journal("type") == [("contact.opted_out",)]
        assert len(await vendor.asides()) == 1
        lines = await vendor.api.parts.database.read(
            lambda conn: conn.exec_driver_sql("SELECT count(*) FROM chat_line").scalar()
        )
        assert lines == 480


async def test_what_cannot_be_read_is_answered_well_and_set_aside_until_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "bland")
        answer = await vendor.raw(hook, b"{not json")
        assert (answer.status, answer["received"]) == (200, 0)
        (item,) = await vendor.asides()
        assert (item["reason"], item["kind"], item["vendor"]) == ("unreadable", "hook", "bland")
        retried = await vendor.api.post(f"/v1/ops/set-aside/{item['id']}/retry", {})
        assert (retried["status"], retried["attempts"]) == ("open", 2)


async def test_a_report_of_nobody_is_set_aside_and_taken_once_its_adapter_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body is read anew by the adapters of the day: here one that reads a number where there was none before."""
    need_samples()
    document = sample("voice-bland-post-call.json").document
    for name in ("to", "metadata", "request_data", "variables"):
        document[name] = None
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "bland")
        assert (await vendor.raw(hook, json.dumps(document).encode())).status == 200
        (item,) = await vendor.asides()
        assert item["reason"] == "invalid"
        from channels.voice.vendors import bland

        monkeypatch.setattr(bland, "other_side", lambda direction, from_, to: "+919000000101")
        retried = await vendor.api.post(f"/v1/ops/set-aside/{item['id']}/retry", {})
        assert retried["status"] == "merged"
        assert await vendor.asides() == []


async def test_a_better_body_brings_what_was_set_aside(tmp_path: Path) -> None:
    need_samples()
    document = sample("voice-bland-post-call.json").document
    worse = document | {"to": None, "metadata": None, "request_data": None, "variables": None}
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "bland")
        await vendor.raw(hook, json.dumps(worse).encode())
        assert len(await vendor.asides()) == 1
        await vendor.raw(hook, json.dumps(document).encode())
        assert await vendor.asides() == []
        assert (await vendor.promise(ASHA))["amount"] == "12500.00"


async def test_a_number_of_several_borrowers_is_set_aside(tmp_path: Path) -> None:
    need_samples()
    async with posting(tmp_path) as vendor:
        phone = {"kind": "phone", "value": "+919000000101"}
        for borrower in ("B-1", "B-2"):
            await vendor.api.event("identifier.linked", borrower, identifier=phone)
        assert (await vendor.post(sample("voice-twilio-status-callback.json"))).status == 200
        assert [item["reason"] for item in await vendor.asides()] == ["ambiguous_identifier"]


# -- nothing is lost ---------------------------------------------------------------------------------------------------------


async def test_what_was_stored_before_a_crash_is_read_after_it(tmp_path: Path) -> None:
    need_samples()
    one = sample("voice-vapi-end-of-call-report.json")
    async with posting(tmp_path) as vendor:
        hook = await vendor.hook("voice", "vapi")
        gone = HookWorker.__new__(HookWorker)  # whoever was handed it is gone before it reads
        gone.hand = lambda body_id, items: None  # type: ignore[method-assign]
        ours, vendor.api.parts.hook_worker = vendor.api.parts.hook_worker, gone
        headers = signed("voice", "vapi", one.raw, vendor.api.now)
        answer = await vendor.api.client.post(hook.path, content=one.raw, headers={"authorization": "", **headers})
        assert answer.json() == {"received": 1}
        vendor.api.parts.hook_worker = ours
        assert (await vendor.borrower(ASHA)).status == 404
        running = asyncio.create_task(ours.run(alone=True))
        async with asyncio.timeout(10):
            while await vendor.api.parts.database.read(bodies.unread):  # noqa: ASYNC110 (no event tells of any reader)
                await asyncio.sleep(0.01)
        await ours.stop()
        await running
        await vendor.api.behind.settled()
        assert (await vendor.promise(ASHA))["status"] == "confirmed"


async def test_a_body_that_was_half_taken_is_taken_again_without_being_told_twice(tmp_path: Path) -> None:
    need_samples()
    one = sample("whatsapp-cloud-statuses-out-of-order.json")
    async with posting(tmp_path) as vendor:
        await vendor.post(one)
        version = await vendor.api.parts.database.read(
            lambda c: c.exec_driver_sql("SELECT max(version) FROM borrower").scalar()
        )
        await vendor.api.parts.database.write(
            lambda c: c.exec_driver_sql("UPDATE hook_body SET is_done = 0, claimed_until = NULL")
        )
        await vendor.api.parts.database.write(lambda c: c.exec_driver_sql("UPDATE hook_item SET state = 'taken'"))
        await vendor.read()
        again = await vendor.api.parts.database.read(
            lambda c: c.exec_driver_sql("SELECT max(version) FROM borrower").scalar()
        )
        assert (again, await vendor.asides()) == (version, [])


async def test_a_stored_body_is_sealed_and_its_retention_ends(tmp_path: Path) -> None:
    need_samples()
    async with posting(tmp_path) as vendor:
        await vendor.post(sample("whatsapp-cloud-text.json"))
        files = b"".join(file.read_bytes() for file in tmp_path.glob("memory.db*"))  # noqa: ASYNC240
        for word in (b"wamid.", b"Salary 25 ko", b"919000000101@", b"Asha Verma", SECRET.encode()):
            assert word not in files
        now = vendor.api.now + timedelta(days=31)
        assert await vendor.api.parts.database.write(lambda c: bodies.purge(c, "acme", now - timedelta(days=30))) == 1
        await vendor.post(sample("whatsapp-cloud-text.json"))
        lines = await vendor.api.parts.database.read(
            lambda c: c.exec_driver_sql("SELECT count(*) FROM chat_line").scalar()
        )
        assert lines == 1, "a repeat is one for ever"
