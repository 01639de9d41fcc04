"""One resume request: who is found, what may be handed out, what is said when the memory cannot be read."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from channels import CHANNELS
from service.after import merged_within
from service.database import DatabaseUnavailable
from service.policy import Policies, Policy
from service.records import BORROWER
from service.wiring import Parts
from tests.service.api import Answer, Api, Body, api

COLD: Body = {
    "found": False, "borrower_id": None, "loan_id": None, "other_loans": [], "state": "opening", "step": "greet",
    "after_identity": None, "source": "cold_start", "position": None, "proposed": None, "proposed_by": None, "fallback": None,
    "cycle": None, "commitment": None, "counter_proposals": [], "payment_claim": None, "callback": None, "holds": [],
    "open_conversations": [], "flags": {"reminded": False, "payment_link_shared": False, "payment_confirmed": False},
    "previous_step": None, "record_version": None,
    "identity": {"holds": False, "verified_at": None, "expires_at": None, "method": None, "channel": None},
}  # fmt: skip


def told(answer: Answer) -> Body:
    """An answer without what each has of its own, and without whether contact is allowed now."""
    own = ("resume_id", "as_of", "contact", "vars", "refusals", "degraded", "degraded_reason")
    return {name: value for name, value in answer.document.items() if name not in own}


def cold(answer: Answer, *, degraded: str | None = None, refusals: tuple[str, ...] = ()) -> bool:
    """Whether it is a cold start, and says of itself what it should."""
    assert answer.status == 200
    assert told(answer) == COLD
    assert (answer["degraded"], answer["degraded_reason"]) == (degraded is not None, degraded)
    assert tuple(refusal["rule"] for refusal in answer["refusals"]) == refusals
    assert (answer["vars"]["found"], answer["vars"]["state"]) == ("no", "opening")
    return True


async def somebody(service: Api) -> tuple[str, Body]:
    """Verified, and with a confirmed promise: what a cold start must not give away."""
    borrower, phone = await service.known()
    assert (await service.told(borrower, commitment=service.promise("confirmed"))).status == 200
    return borrower, phone


# -- who is found ------------------------------------------------------------------------------------------------------------


async def test_somebody_is_found_by_id_by_number_in_any_spelling_and_by_loan(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)
        due = {"due_date": service.day(9), "amount_due": "1", "currency": "INR"}
        await service.event("cycle.opened", borrower, cycle_id="CY", loan_id="LN-1", **due)
        spelled = [phone["value"], "0" + phone["value"][3:], "whatsapp:" + phone["value"], phone["value"][1:]]
        asked: list[Body] = [{"identifier": {"kind": "phone", "value": value}} for value in spelled]
        for who in [*asked, {"borrower_id": borrower}, {"loan_id": "LN-1"}]:
            answer = await service.post("/v1/resume", {"channel": "voice"} | who)
            assert (answer["found"], answer["borrower_id"]) == (True, borrower), who
            assert answer["identity"]["holds"] is ("identifier" in who)


async def test_nobody_known_is_a_cold_start_and_no_error(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        strangers: list[Body] = [
            {"borrower_id": "B-404"},
            {"borrower_id": "~phone:0123456789abcdef"},
            {"loan_id": "LN-404"},
            {"identifier": service.phone()},
            {"identifier": {"kind": "email", "value": "asha@example.com"}},
        ]
        for who in strangers:
            answer = await service.post("/v1/resume", {"channel": "voice", "proposal": {"state": "reminder"}} | who)
            assert cold(answer)
            assert answer["contact"] == {
                "allowed": True, "reasons": [], "next_allowed_at": None, "time_zone": "Asia/Kolkata",
            }  # fmt: skip


async def test_a_number_of_two_is_a_cold_start_that_says_why_and_the_strictest_contact(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)
        other = service.name("B")
        await service.event("identifier.linked", other, identifier=phone)
        await service.event("contact.opted_out", other, channel="voice")
        ambiguous = await service.post("/v1/resume", {"channel": "voice", "identifier": phone})
        assert cold(ambiguous, refusals=("ambiguous_identifier",))
        assert (ambiguous["contact"]["allowed"], ambiguous["contact"]["reasons"]) == (False, ["opted_out"])
        named = await service.post("/v1/resume", {"channel": "voice", "identifier": phone, "borrower_id": borrower})
        assert (named["found"], named["borrower_id"]) == (True, borrower)


@pytest.mark.parametrize("mode", ["enabled", "shadow", "disabled"])
async def test_a_stop_told_under_a_number_that_is_nobodys_yet_binds_whoever_would_call_it(
    tmp_path: Path, mode: str
) -> None:
    async with api(tmp_path, mode=mode) as service:
        stopped, held, other = service.phone(), service.phone(), service.phone()
        await service.event("contact.opted_out", None, channel="voice", identifier=stopped)
        await service.event("hold.placed", None, kind="deceased", reason="his son said so", identifier=held)
        await service.told(identifier=other, channel="whatsapp")
        reasons = {}
        for name, phone in (("stopped", stopped), ("held", held), ("other", other)):
            for channel in ("voice", "whatsapp"):
                answer = await service.post("/v1/resume", {"channel": channel, "identifier": phone})
                assert (answer["found"], answer["borrower_id"], answer["source"]) == (False, None, "cold_start")
                assert answer["contact"]["allowed"] is (answer["contact"]["reasons"] == [])
                reasons[name, channel] = answer["contact"]["reasons"]
        assert reasons == {
            ("stopped", "voice"): ["opted_out"], ("stopped", "whatsapp"): [],
            ("held", "voice"): ["hold"], ("held", "whatsapp"): ["hold"],
            ("other", "voice"): [], ("other", "whatsapp"): [],
        }  # fmt: skip


async def test_a_stop_told_under_a_number_before_it_is_linked_binds_who_names_the_borrower_with_it(
    tmp_path: Path,
) -> None:
    """A dialler has an id and a number; that the number asked to be left alone came on its own."""
    async with api(tmp_path, attempts_in_7_days=3, contact_hours=("08:00", "08:30")) as service:
        borrower, _ = await somebody(service)
        phone, other = service.phone(), service.phone()
        await service.event("contact.opted_out", None, channel="voice", identifier=phone)
        await service.told(None, 2, outcome="no_answer", direction="outbound", identifier=other)
        await service.told(borrower, 1, outcome="no_answer", direction="outbound")

        async def contact(channel: str, **who: Any) -> tuple[list[str], bool]:
            answer = await service.post("/v1/resume", {"channel": channel} | who)
            told = answer["contact"]
            assert told["allowed"] is False
            return sorted(set(told["reasons"]) - {"outside_hours"}), told["next_allowed_at"] is not None

        assert await contact("voice", borrower_id=borrower, identifier=phone) == (["opted_out"], False)
        assert await contact("voice", borrower_id="B-new", identifier=phone) == (["opted_out"], False)
        assert await contact("whatsapp", borrower_id=borrower, identifier=phone) == ([], True)
        assert await contact("voice", borrower_id=borrower) == ([], True), "who is named without the number"
        assert await contact("voice", borrower_id=borrower, identifier=other) == (["attempts_exceeded"], True)
        provisional = (await service.told(None, 1, outcome="busy", direction="outbound", identifier=other))[
            "borrower_id"
        ]
        assert await contact("voice", borrower_id=provisional, identifier=other) == ([], True), (
            "two calls, counted once"
        )
        await service.event("identifier.linked", "B-other", identifier=phone)
        assert await contact("voice", borrower_id=borrower, identifier=phone) == ([], True), "somebody else's by now"
        assert await contact("voice", borrower_id="B-other", identifier=phone) == (["opted_out"], False)


async def test_a_stranger_of_whom_something_is_kept_is_found_under_a_name_without_the_number(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        phone = service.phone()
        kept = await service.told(identifier=phone, channel="whatsapp", commitment=service.promise())
        provisional = kept["borrower_id"]
        assert provisional.startswith("~phone:")
        by_id = await service.resume(provisional, "whatsapp")
        assert (by_id["found"], by_id["borrower_id"]) == (True, provisional)
        await service.event("identifier.linked", "B-real", identifier=phone)
        for who in ({"identifier": phone}, {"borrower_id": provisional}, {"borrower_id": "B-real"}):
            answer = await service.post("/v1/resume", {"channel": "whatsapp"} | who)
            assert (answer["borrower_id"], answer["commitment"]["amount"]) == ("B-real", "5000.00")


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"channel": "voice"}, "borrower_id", "missing"),
        ({"borrower_id": "B-1"}, "channel", "missing"),
        ({"channel": "fax", "borrower_id": "B-1"}, "channel", "not_in_enum"),
        ({"channel": "voice", "borrower_id": 7}, "borrower_id", "wrong_type"),
        ({"channel": "voice", "borrower_id": ""}, "borrower_id", "bad_id"),
        ({"channel": "voice", "borrower_id": "B-1", "wait_ms": 1501}, "wait_ms", "wrong_type"),
        ({"channel": "voice", "borrower_id": "B-1", "state": "reminder"}, "state", "unknown_field"),
        ({"channel": "voice", "identifier": {"kind": "phone", "value": "90000001"}}, "identifier", "invalid_identifier"),
        ({"channel": "voice", "identifier": {"kind": "phone", "value": "02200000007"}}, "identifier", "invalid_identifier"),
    ],
)  # fmt: skip
async def test_what_cannot_be_asked_is_refused_by_field(tmp_path: Path, body: Body, field: str, code: str) -> None:
    async with api(tmp_path, own_numbers=("+912200000007",)) as service:
        answer = await service.post("/v1/resume", body)
        assert (answer.status, answer["code"]) == (422, "invalid_body")
        assert [(e["field"], e["code"]) for e in answer["errors"]] == [(field, code)]


# -- what is handed out --------------------------------------------------------------------------------------------------------

MODES: list[tuple[Any, frozenset[str], str, bool]] = [
    ("enabled", frozenset(), "voice", True),
    ("shadow", frozenset(), "voice", False),
    ("disabled", frozenset(), "voice", False),
    ("on", frozenset(), "voice", False),
    ({"voice": "shadow", "whatsapp": "enabled"}, frozenset(), "voice", False),
    ({"voice": "shadow", "whatsapp": "enabled"}, frozenset(), "whatsapp", True),
    ({"whatsapp": "enabled"}, frozenset(), "voice", False),
    ("enabled", frozenset({"B-1"}), "voice", True),
    ("enabled", frozenset({"B-9"}), "voice", False),
]


@pytest.mark.parametrize(("mode", "allow", "channel", "handed_out"), MODES)
async def test_a_mode_governs_what_is_handed_out_and_never_what_is_kept(
    tmp_path: Path, mode: Any, allow: frozenset[str], channel: str, handed_out: bool
) -> None:
    async with api(tmp_path, mode=mode, allow=allow) as service:
        borrower, phone = await somebody(service)
        assert borrower == "B-1"
        answer = await service.resume(borrower, channel, identifier=phone)
        if handed_out:
            assert (answer["found"], answer["state"]) == (True, "reminder")
        else:
            assert cold(answer)
        kept = await service.get(f"/v1/borrowers/{borrower}")
        assert kept["commitment"]["status"] == "confirmed"
        assert (await service.get(f"/v1/borrowers/{borrower}/flags")).status == 200
        assert bool((await service.get(f"/v1/borrowers/{borrower}/briefing?channel={channel}"))["text"]) is handed_out


async def test_a_shadow_answers_cold_to_the_byte_and_keeps_what_it_would_have_granted(tmp_path: Path) -> None:
    async with api(tmp_path, mode="shadow") as service:
        borrower, phone = await somebody(service)
        known = await service.resume(borrower, identifier=phone, proposal={"state": "closing"})
        stranger = await service.resume("B-404", proposal={"state": "closing"})
        own = {"resume_id": None}
        assert known.document | own == stranger.document | own
        kept = {item["borrower_id"]: item for item in (await service.get("/v1/ops/resumes"))["items"]}
        would = kept[borrower]
        assert (would["mode"], would["granted"], would["position"]) == ("shadow", "reminder", "reminder")
        assert [refusal["rule"] for refusal in would["refusals"]] == ["too_far_ahead"]
        assert (kept[None]["granted"], kept[None]["source"]) == ("opening", "cold_start")
        assert {item["flow_version"] for item in kept.values()} == {CHANNELS["voice"].flow.version}
        assert all(item["latency_us"] > 0 for item in kept.values())


async def test_contact_is_told_in_every_mode(tmp_path: Path) -> None:
    for mode in ("enabled", "shadow", "disabled"):
        folder = tmp_path / mode
        folder.mkdir()
        async with api(folder, mode=mode, contact_hours=("08:00", "17:30")) as service:
            borrower, phone = await somebody(service)
            await service.event("contact.opted_out", borrower, channel="voice")
            contact = (await service.resume(borrower, identifier=phone))["contact"]
            assert (contact["allowed"], contact["reasons"]) == (False, ["outside_hours", "opted_out"])


async def test_our_attempts_are_counted_on_their_own_channel_and_not_what_the_borrower_began(tmp_path: Path) -> None:
    async with api(tmp_path, attempts_in_7_days=1) as service:
        tried, called_us = "B-1", "B-2"
        await service.told(tried, outcome="no_answer", direction="outbound")
        await service.told(called_us, direction="inbound")
        reasons = {
            (borrower, channel): (await service.resume(borrower, channel))["contact"]["reasons"]
            for borrower in (tried, called_us)
            for channel in CHANNELS
        }
        assert reasons.pop((tried, "voice")) == ["attempts_exceeded"]
        assert list(reasons.values()) == [[], [], []]


async def test_a_tenants_own_rules_hold_for_it_alone(tmp_path: Path) -> None:
    policies = Policies(Policy(contact_hours=("00:00", "24:00")), {"acme": Policy(contact_hours=("08:00", "17:30"))})
    async with api(tmp_path, policies=policies) as service:
        contact = (await service.resume("B-404"))["contact"]
        assert contact["reasons"] == ["outside_hours"]
        assert contact["next_allowed_at"] == "2026-11-22T02:30:00Z"


# -- time ----------------------------------------------------------------------------------------------------------------------


async def test_a_verification_lapses_and_the_answer_with_it(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)
        before = await service.resume(borrower, identifier=phone)
        assert before["identity"]["holds"] is True
        service.behind.now += timedelta(days=30)
        after = await service.resume(borrower, identifier=phone)
        assert (after["identity"]["holds"], after["state"]) == (False, "identity")
        assert before["identity"]["expires_at"] < after["as_of"]


async def test_a_promise_goes_overdue_by_itself(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)
        assert (await service.resume(borrower, identifier=phone))["commitment"]["overdue"] is False
        service.behind.now += timedelta(days=6)
        answer = await service.resume(borrower, identifier=phone)
        assert (answer["commitment"]["overdue"], answer["position"]) == (True, "negotiation")
        assert answer["vars"]["promise_overdue"] == "yes"


async def test_what_was_just_posted_is_seen(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await service.known()
        version = 0
        for number in range(5):
            posted = await service.told(borrower, hours=5 - number, commitment=service.promise(amount=str(number + 1)))
            after = posted["event_id"]
            answer = await service.resume(borrower, identifier=phone, after=after)
            assert answer["record_version"] == posted["record_version"] > version
            assert answer["commitment"]["amount"] == f"{number + 1}.00"
            version = answer["record_version"]


# -- a memory that cannot be read ------------------------------------------------------------------------------------------------


async def test_waiting_for_what_is_not_merged_is_degraded_and_fails_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.after.AFTER_WAIT_SECONDS", 0.05)
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)
        answer = await service.resume(borrower, identifier=phone, after="never-sent")
        assert cold(answer, degraded="not_yet_merged")
        assert answer["contact"] == {
            "allowed": False, "reasons": ["unknown"], "next_allowed_at": None, "time_zone": "Asia/Kolkata",
        }  # fmt: skip
        assert answer["vars"]["degraded"] == "yes"


async def test_who_waits_for_a_model_too_waits_no_longer_for_what_is_not_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[float | None] = []

    async def noted(parts: Parts, tenant: str, event_id: str, end: float | None = None) -> bool:
        ends.append(end)
        return await merged_within(parts, tenant, event_id, end)

    monkeypatch.setattr("service.after.AFTER_WAIT_SECONDS", 0.05)
    monkeypatch.setattr("service.after.merged_within", noted)
    async with api(tmp_path, model="scripted") as service:
        borrower, phone = await somebody(service)
        answer = await service.resume(borrower, identifier=phone, after="never-sent", wait_ms=100)
        assert cold(answer, degraded="not_yet_merged")
        first, second = ends
        assert first is not None
        assert first == second, "both looks wait until the same moment"


async def test_a_database_that_is_gone_never_looks_like_a_new_customer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)
        assert (await service.resume(borrower, identifier=phone))["found"] is True  # its key is remembered

        async def gone(_: Any) -> Any:
            raise DatabaseUnavailable("gone")

        with monkeypatch.context() as broken:
            broken.setattr(service.parts.database, "read", gone)
            answer = await service.resume(borrower, identifier=phone)
        assert cold(answer, degraded="memory_unavailable")
        assert answer["contact"]["reasons"] == ["unknown"]
        stats = (await service.get("/v1/ops/stats"))["resumes"]
        assert (stats["total"], stats["degraded"]) == (2, 1)


async def test_a_record_that_cannot_be_understood_is_degraded_too(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)
        changes: Body = {"record": b'{"schema_version":99}', "version": 90}
        changes |= {"gist": None} if "gist" in BORROWER.c else {}
        await service.behind.database.write(
            lambda c: c.execute(update(BORROWER).where(BORROWER.c.borrower_id == borrower).values(changes))
        )
        answer = await service.resume(borrower, identifier=phone)
        assert cold(answer, degraded="memory_unavailable")


async def test_a_fault_in_what_is_concluded_is_a_cold_start_that_says_so_and_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api(tmp_path) as service:
        borrower, phone = await somebody(service)

        def faulty(*_: Any) -> Any:
            raise RuntimeError("a fault of ours")

        with monkeypatch.context() as broken:
            broken.setattr("service.reading.derive", faulty)
            answer = await service.resume(borrower, identifier=phone, loan_id="LN-never-read")
        assert cold(answer, degraded="memory_unavailable")
        assert (answer["contact"]["allowed"], answer["contact"]["reasons"]) == (False, ["unknown"])
        assert (await service.get("/v1/ops/stats"))["resumes"]["degraded"] == 1
        assert (await service.resume(borrower, identifier=phone))["found"] is True
