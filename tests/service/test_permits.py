"""May we remind, may we send the link: one holder gets it, the rest are told why not, in the contract's order (API 8)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from service.permits import BEHIND_RETRY, UNCLEAR_HOURS
from service.routes.permits import PERMIT
from tests.service.api import Answer, Api, Body, api
from tests.service.embedded import TENANT

LOAN = "LN-1"


async def somebody(service: Api) -> str:
    """With an open due and a confirmed promise; she called us."""
    borrower = service.name("B")
    due = {"due_date": service.day(20), "amount_due": "12500", "currency": "INR", "loan_id": LOAN, "cycle_id": "CY-1"}
    await service.event("cycle.opened", borrower, hours=48, **due)
    await service.told(borrower, hours=2, direction="inbound", commitment=service.promise("confirmed"))
    return borrower


async def ask(service: Api, borrower: str, holder: str = "run-1", action: str = "reminder", **own: Any) -> Answer:
    asked = {"action": action, "channel": "whatsapp", "holder": holder}
    return await service.post(f"/v1/borrowers/{borrower}/permits", asked | own)


def reason(answer: Answer) -> str:
    assert answer.status == 409, answer
    assert answer["code"] == "permit_refused"
    return str(answer["reason"])


async def message(service: Api, borrower: str, outcome: str, type_: str = "reminder.sent", **own: Any) -> None:
    told = {"channel": "whatsapp", "message_id": "m-1", "outcome": outcome}
    assert (await service.event(type_, borrower, hours=0, **told | own)).status == 200


async def test_a_permit_given_under_a_number_binds_whoever_it_turns_out_to_be(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        number, borrower = service.phone(), service.name("B")
        provisional = str((await service.told(identifier=number))["borrower_id"])
        first = await ask(service, provisional, "run-1")
        assert (first.status, first["borrower_id"]) == (201, provisional)
        await service.event("identifier.linked", borrower, hours=48, identifier=number)
        assert reason(await ask(service, borrower, "run-2")) == "held_by_other"
        again = await ask(service, provisional, "run-1")
        assert (again.status, again["permit_id"], again["borrower_id"]) == (200, first["permit_id"], borrower)
        assert (await ask(service, borrower, "run-2", action="payment_link")).status == 201
        await message(service, borrower, "failed")
        assert (await ask(service, borrower, "run-2")).status == 201


async def test_a_permit_is_given_once_and_again_to_its_holder(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        first = await ask(service, borrower, "reminders/run-1")
        assert first.status == 201
        assert first.document == {
            "permit_id": first["permit_id"], "action": "reminder", "channel": "whatsapp", "holder": "reminders/run-1",
            "borrower_id": borrower, "loan_id": LOAN, "cycle_id": "CY-1", "attempt": 1,
            "granted_at": "2026-11-21T12:00:00Z", "expires_at": "2026-11-21T12:10:00Z",
        }  # fmt: skip
        again = await ask(service, borrower, "reminders/run-1")
        assert (again.status, again.document) == (200, first.document)
        other = await ask(service, borrower, "reminders/run-2")
        assert (reason(other), other["retry_at"]) == ("held_by_other", "2026-11-21T12:10:00Z")
        assert reason(await ask(service, borrower, "reminders/run-2", channel="voice")) == "held_by_other"
        assert (await ask(service, borrower, "links/run-1", action="payment_link")).status == 201


async def test_of_many_at_once_one_gets_it(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        answers = await asyncio.gather(*(ask(service, borrower, f"run-{n}") for n in range(20)))
        assert sorted(answer.status for answer in answers) == [201] + [409] * 19
        assert {reason(answer) for answer in answers if answer.status == 409} == {"held_by_other"}


async def test_it_is_free_again_once_it_has_expired(tmp_path: Path) -> None:
    async with api(tmp_path, permit_seconds=60) as service:
        borrower = await somebody(service)
        first = await ask(service, borrower, "run-1")
        service.behind.now += timedelta(seconds=59)
        assert reason(await ask(service, borrower, "run-2")) == "held_by_other"
        service.behind.now += timedelta(seconds=1)
        second = await ask(service, borrower, "run-2")
        assert second.status == 201
        assert second["permit_id"] != first["permit_id"]


@pytest.mark.parametrize("action", ["reminder", "payment_link"])
@pytest.mark.parametrize(
    ("outcome", "then"),
    [("failed", None), ("attempted", "unclear_outcome"), ("sent", "already_done"), ("delivered", "already_done"),
     ("read", "already_done")],
)  # fmt: skip
async def test_the_next_event_of_its_action_settles_it(
    tmp_path: Path, action: str, outcome: str, then: str | None
) -> None:
    type_, other = ("reminder.sent", "payment_link.shared")[:: 1 if action == "reminder" else -1]
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        assert (await ask(service, borrower, "run-1", action)).status == 201
        await message(service, borrower, "delivered", other, message_id="of-the-other")
        assert reason(await ask(service, borrower, "run-2", action)) == "held_by_other"
        service.behind.now += timedelta(seconds=1)
        await message(service, borrower, outcome, type_)
        answer = await ask(service, borrower, "run-2", action)
        if then is None:
            assert answer.status == 201
        else:
            assert reason(answer) == then


async def test_an_unclear_outcome_clears_by_another_outcome_or_in_a_day(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        await message(service, borrower, "attempted")
        unclear = await ask(service, borrower)
        assert (reason(unclear), unclear["retry_at"]) == ("unclear_outcome", "2026-11-22T12:00:00Z")
        service.behind.now += timedelta(hours=UNCLEAR_HOURS) - timedelta(seconds=1)
        assert reason(await ask(service, borrower)) == "unclear_outcome"
        service.behind.now += timedelta(seconds=1)
        assert (await ask(service, borrower)).status == 201
        await message(service, borrower, "delivered")
        assert reason(await ask(service, borrower)) == "already_done"


async def test_the_first_reason_of_the_contracts_order_is_told(tmp_path: Path) -> None:
    """Each step adds a reason that comes before all that stand already."""
    async with api(tmp_path, contact_hours=("08:00", "17:31"), attempts_in_7_days=1) as service:
        borrower = await somebody(service)

        async def first() -> tuple[str, Any]:
            answer = await ask(service, borrower, "run-2")
            return reason(answer), answer.document.get("retry_at")

        await service.told(borrower, hours=1, channel="whatsapp", direction="outbound", outcome="no_answer")
        assert await first() == ("attempts_exceeded", "2026-11-28T11:00:00Z")

        service.behind.now += timedelta(minutes=2)  # 17:32 in India
        assert (await first())[0] == "outside_hours"

        await service.behind.stop_writing()
        with pytest.MonkeyPatch.context() as patience:
            patience.setattr("service.intake.receive.MERGE_WAIT_SECONDS", 0.01)
            assert (await service.told(borrower, hours=0.5, outcome="busy")).status == 202
        retry_at = (service.now + BEHIND_RETRY).isoformat().replace("+00:00", "Z")
        assert await first() == ("behind", retry_at)

        held = {
            "tenant": TENANT, "permit_id": "p_1", "borrower_id": borrower, "loan_id": LOAN, "cycle_id": "CY-1", "attempt": 1,
            "action": "reminder", "channel": "voice", "holder": "run-1", "granted_at": service.now,
            "expires_at": service.now + timedelta(hours=1),
        }  # fmt: skip
        await service.behind.database.write(lambda c: c.execute(insert(PERMIT), held))
        assert (await first())[0] == "held_by_other"

        service.behind.write()
        await service.behind.settled()
        steps: list[tuple[str, str, Body]] = [
            ("unclear_outcome", "reminder.sent", {"channel": "whatsapp", "message_id": "m", "outcome": "attempted"}),
            ("already_done", "reminder.sent", {"channel": "whatsapp", "message_id": "m", "outcome": "read"}),
            ("closed", "cycle.closed", {"cycle_id": "CY-1", "loan_id": LOAN, "reason": "recalled"}),
            ("paid", "payment.confirmed", {"payment_ref": "P", "amount": "12500", "currency": "INR"}),
            ("opted_out", "contact.opted_out", {"channel": "whatsapp"}),
            ("hold", "hold.placed", {"kind": "dispute", "reason": "she disputes the amount"}),
        ]
        for expected, type_, own in steps:
            assert (await service.event(type_, borrower, hours=0, **own)).status == 200
            assert (await first())[0] == expected


async def test_a_hold_that_ends_says_when_to_ask_again(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        until = (service.now + timedelta(days=2)).isoformat()
        await service.event("hold.placed", borrower, kind="represented", reason="by a lawyer", until=until)
        answer = await ask(service, borrower)
        assert (reason(answer), answer["retry_at"]) == ("hold", "2026-11-23T12:00:00Z")
        service.behind.now += timedelta(days=2)
        assert (await ask(service, borrower)).status == 201


async def test_a_stop_beats_a_permit_that_is_held(tmp_path: Path) -> None:
    """Asking again under a stop is refused, also to the holder: what was granted is no licence for what follows."""
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        assert (await ask(service, borrower, "run-1")).status == 201
        await service.event("contact.opted_out", borrower, hours=0, channel="all")
        assert reason(await ask(service, borrower, "run-1")) == "opted_out"


async def test_a_new_attempt_and_a_new_month_may_be_reminded_again(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        await message(service, borrower, "delivered")
        assert reason(await ask(service, borrower)) == "already_done"
        service.behind.now += timedelta(days=6)
        await service.event("promise.broken", borrower, hours=1, due_date=service.day(-1))
        second = await ask(service, borrower)
        assert (second.status, second["attempt"]) == (201, 2)
        due = {
            "due_date": service.day(20),
            "amount_due": "12500",
            "currency": "INR",
            "loan_id": LOAN,
            "cycle_id": "CY-2",
        }
        await service.event("cycle.opened", borrower, hours=0, **due)
        third = await ask(service, borrower)
        assert (third.status, third["cycle_id"], third["attempt"]) == (201, "CY-2", 1)


async def test_loans_are_reminded_each_for_itself(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        due = {"due_date": service.day(20), "amount_due": "1", "currency": "INR", "loan_id": "LN-2", "cycle_id": "CY-9"}
        await service.event("cycle.opened", borrower, hours=1, **due)
        await message(service, borrower, "delivered", loan_id=LOAN)
        assert reason(await ask(service, borrower, loan_id=LOAN)) == "already_done"
        assert (await ask(service, borrower, loan_id="LN-2")).status == 201


@pytest.mark.thorough
@pytest.mark.parametrize("action", ["reminder", "payment_link"])
@pytest.mark.parametrize("outcome", ["attempted", "sent", "failed", "delivered", "read"])
@pytest.mark.parametrize("elsewhere", ["another cycle", "another loan", "another attempt", "before the cycle"])
async def test_what_happens_in_another_cycle_or_attempt_settles_nothing(
    tmp_path: Path, action: str, outcome: str, elsewhere: str
) -> None:
    """The permit of last month's message, or of a broken promise's, is not this one; neither is another loan's."""
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        type_ = {"reminder": "reminder.sent", "payment_link": "payment_link.shared"}[action]
        due = {"due_date": service.day(20), "amount_due": "1", "currency": "INR"}
        told: dict[str, Any] = {"channel": "whatsapp", "message_id": "m-9", "outcome": outcome}
        if elsewhere == "another attempt":
            told |= {"hours": 3}
            await service.event("promise.broken", borrower, hours=1, due_date=service.day(5))
        elif elsewhere == "another loan":
            await service.event("cycle.opened", borrower, hours=60, loan_id="LN-2", cycle_id="CY-9", **due)
            told |= {"loan_id": "LN-2"}
        elif elsewhere == "another cycle":
            await service.event("cycle.opened", borrower, hours=90, loan_id=LOAN, cycle_id="CY-0", **due)
            told |= {"loan_id": LOAN, "cycle_id": "CY-0"}
        else:
            told |= {"hours": 100}
        mine = await ask(service, borrower, "run-1", action, loan_id=LOAN)
        assert mine.status == 201, mine
        service.behind.now += timedelta(seconds=1)
        assert (await service.event(type_, borrower, **told)).status == 200
        assert reason(await ask(service, borrower, "run-2", action, loan_id=LOAN)) == "held_by_other"
        again = await ask(service, borrower, "run-1", action, loan_id=LOAN)
        assert (again.status, again["permit_id"]) == (200, mine["permit_id"])
        await service.event(
            type_, borrower, hours=0, channel="whatsapp", message_id="m-1", outcome="failed", loan_id=LOAN
        )
        assert (await ask(service, borrower, "run-2", action, loan_id=LOAN)).status == 201


async def test_a_late_report_of_an_earlier_attempts_message_settles_nothing(tmp_path: Path) -> None:
    """A message belongs where it was first told of, however late the provider says what became of it."""
    async with api(tmp_path) as service:
        borrower = await somebody(service)
        await message(service, borrower, "attempted", message_id="m-old")
        service.behind.now += timedelta(days=6)
        await service.event("promise.broken", borrower, hours=1, due_date=service.day(-1))
        assert (await ask(service, borrower, "run-1")).status == 201
        service.behind.now += timedelta(seconds=1)
        await message(service, borrower, "failed", message_id="m-old")
        assert reason(await ask(service, borrower, "run-2")) == "held_by_other"
        await message(service, borrower, "failed", message_id="m-new")
        assert (await ask(service, borrower, "run-2")).status == 201


@pytest.mark.parametrize(
    ("own", "field", "code"),
    [
        ({"action": "call"}, "action", "not_in_enum"),
        ({"action": 7}, "action", "wrong_type"),
        ({"channel": "fax"}, "channel", "not_in_enum"),
        ({"holder": " "}, "holder", "missing"),
        ({"holder": "h" * 129}, "holder", "too_long"),
        ({"holder": None}, "holder", "missing"),
        ({"until": "tomorrow"}, "until", "unknown_field"),
    ],
)
async def test_what_cannot_be_asked_is_refused_by_field(tmp_path: Path, own: Body, field: str, code: str) -> None:
    async with api(tmp_path) as service:
        answer = await ask(service, "B-1", **own)
        assert (answer.status, [(e["field"], e["code"]) for e in answer["errors"]]) == (422, [(field, code)])


async def test_of_nobody_and_of_no_loan_there_is_none(tmp_path: Path) -> None:
    async with api(tmp_path) as service:
        assert (await ask(service, "B-404"))["code"] == "unknown_borrower"
        borrower = await somebody(service)
        answer = await ask(service, borrower, loan_id="LN-404")
        assert (answer.status, answer["code"]) == (404, "unknown_loan")
