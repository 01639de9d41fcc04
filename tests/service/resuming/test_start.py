"""Where the next conversation starts, row by row: what happened, what is asked, and what is answered (DESIGN 8, API 6)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
import pytest_asyncio

from channels import CHANNELS
from tests.service.api import Answer, Api, Body, api

pytestmark = pytest.mark.asyncio(loop_scope="module")

Step = Callable[[Api, str], Awaitable[Answer]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Api]:
    async with api(tmp_path_factory.mktemp("resume")) as opened:
        yield opened


# -- what can have happened to a borrower, each step by itself -------------------------------------------------------------


def loan_of(borrower: str) -> str:
    return f"LN-{borrower}"


def opened(hours: float = 240, cycle: str = "CY-1", amount: str = "12500") -> Step:
    def step(a: Api, b: str) -> Awaitable[Answer]:
        due = {"due_date": a.day(20), "amount_due": amount, "currency": "INR"}
        return a.event("cycle.opened", b, hours=hours, cycle_id=cycle, loan_id=loan_of(b), **due)

    return step


def call(hours: float = 20, **own: Any) -> Step:
    return lambda a, b: a.told(b, hours=hours, **own)


def said(status: str, hours: float = 20, channel: str = "voice", amount: str = "5000", days: int = 5) -> Step:
    return lambda a, b: a.told(b, hours=hours, channel=channel, commitment=a.promise(status, amount=amount, days=days))


def happened(type_: str, hours: float = 10, **own: Any) -> Step:
    return lambda a, b: a.event(type_, b, hours=hours, **own)


def message(type_: str, outcome: str = "delivered", hours: float = 10) -> Step:
    return lambda a, b: a.event(type_, b, hours=hours, channel="whatsapp", message_id=a.name("m"), outcome=outcome)


def paid(amount: str, hours: float = 5) -> Step:
    return lambda a, b: a.event(
        "payment.confirmed", b, hours=hours, payment_ref=a.name("P"), amount=amount, currency="INR"
    )


REMINDED, LINKED = message("reminder.sent"), message("payment_link.shared", hours=9)
HELD = happened("hold.placed", kind="dispute", reason="she disputes the amount")
OUT = happened("contact.opted_out", channel="voice")
LATER_OFFER = said("proposed", hours=4, channel="whatsapp", amount="700", days=9)
CLAIMED = call(hours=4, payment_claim={"quote": "I have already paid"})


def looked_up(answer: Any, path: str) -> Any:
    for name in path.split("."):
        answer = answer[int(name)] if name.isdigit() else answer[name]
    return answer


def rules(answer: Answer) -> list[str]:
    return [refusal["rule"] for refusal in answer["refusals"]]


# -- the memory's own place --------------------------------------------------------------------------------------------------

PLACES: list[tuple[str, Sequence[Step], str, str]] = [
    ("nothing said yet", [], "dues", "negotiation"),
    ("a due is opened after she was verified", [opened(hours=100)], "opening", "opening"),
    ("she was reached", [opened(hours=100), call()], "dues", "negotiation"),
    ("nobody answered", [opened(hours=100), call(outcome="no_answer")], "opening", "opening"),
    ("told of her dues", [opened(), call(reached="dues")], "negotiation", "negotiation"),
    ("told on the other channel", [opened(), call(reached="negotiation", channel="whatsapp")], "negotiation", "negotiation"),
    ("proposed in a chat", [opened(), said("proposed", channel="whatsapp")], "confirmation", "reminder"),
    ("a chat claims to confirm", [opened(), said("confirmed", channel="whatsapp")], "confirmation", "reminder"),
    ("confirmed in a call", [opened(), said("confirmed")], "reminder", "reminder"),
    ("reminded", [opened(), said("confirmed"), REMINDED], "payment_link", "payment_link"),
    ("a reminder that failed", [opened(), said("confirmed"), message("reminder.sent", "failed")], "reminder", "reminder"),
    ("link shared", [opened(), said("confirmed"), REMINDED, LINKED], "closing", "closing"),
    ("paid in full", [opened(), said("confirmed"), paid("12500")], "closing", "closing"),
    ("the promise kept, a rest of the due open", [opened(), said("confirmed"), paid("5000")], "negotiation", "negotiation"),
    ("part of the promise paid", [opened(), said("confirmed"), paid("100")], "reminder", "reminder"),
    ("overdue", [opened(), said("confirmed", hours=100, days=-2)], "negotiation", "negotiation"),
    ("broken", [opened(), said("confirmed", hours=100, days=-2), happened("promise.broken")], "negotiation", "negotiation"),
    ("promised anew after a break", [opened(), said("confirmed", hours=100, days=-2), happened("promise.broken"),
                                     said("proposed", hours=5)], "confirmation", "reminder"),
    ("closed by the lender", [opened(), lambda a, b: a.event("cycle.closed", b, cycle_id="CY-1", loan_id=loan_of(b),
                                                             reason="recalled")], "closing", "closing"),
    ("the next month", [opened(), said("confirmed"), REMINDED, opened(hours=2, cycle="CY-2")], "opening", "opening"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "channel", "place"),
    [(steps, channel, place) for _, steps, *both in PLACES for channel, place in zip(CHANNELS, both, strict=True)],
    ids=[f"{what}, {channel}" for what, *_ in PLACES for channel in CHANNELS],
)
async def test_the_memory_knows_its_place(service: Api, steps: Sequence[Step], channel: str, place: str) -> None:
    borrower, phone = await service.known()
    for step in steps:
        assert (await step(service, borrower)).status == 200
    answer = await service.resume(borrower, channel, identifier=phone)
    assert (answer["found"], answer["borrower_id"], answer["source"]) == (True, borrower, "position")
    assert answer["position"] == place
    assert answer["identity"]["holds"] is True
    assert answer["after_identity"] is None
    assert answer["vars"]["state"] == answer["state"]
    if not answer["proposed_by"]:
        assert answer["state"] == place


@pytest.mark.parametrize("channel", CHANNELS)
async def test_without_a_verified_identifier_it_goes_no_further_than_identity(service: Api, channel: str) -> None:
    borrower, phone = await service.known()
    for step in (opened(), said("proposed", channel="whatsapp")):
        await step(service, borrower)
    verified = await service.resume(borrower, channel, identifier=phone)
    assert verified["previous_step"]["speakable"] is True
    for who in ({}, {"identifier": service.phone()}):
        answer = await service.resume(borrower, channel, **who)
        assert (answer["state"], answer["step"]) == ("identity", "identify")
        assert answer["after_identity"] == verified["state"]
        assert answer["identity"] == {
            "holds": False, "verified_at": None, "expires_at": None, "method": None, "channel": None,
        }  # fmt: skip
        assert answer["vars"]["identity_verified"] == "no"
        assert answer["previous_step"]["speakable"] is (channel == "whatsapp")


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(
            lambda a, b, p: a.told(b, identifier=p, outcome="third_party", third_party="brother"), id="a brother"
        ),
        pytest.param(lambda a, b, p: a.told(b, identifier=p, outcome="wrong_number"), id="a wrong number"),
        pytest.param(lambda a, b, p: a.event("identity.revoked", b, identifier=p, reason="fraud"), id="revoked"),
        pytest.param(lambda a, b, p: a.event("identity.revoked", b, reason="fraud"), id="all revoked"),
        pytest.param(
            lambda a, b, p: a.event("identifier.unlinked", b, identifier=p, reason="wrong_borrower"), id="unlinked"
        ),
    ],
)
async def test_what_was_verified_does_not_hold_any_more(service: Api, step: Any) -> None:
    borrower, phone = await service.known()
    assert (await service.resume(borrower, identifier=phone))["identity"]["holds"] is True
    assert (await step(service, borrower, phone)).status == 200
    answer = await service.resume(borrower, identifier=phone)
    assert answer["identity"]["holds"] is False
    assert answer["state"] in ("opening", "identity")


# -- proposals ---------------------------------------------------------------------------------------------------------------

CONFIRMED = [opened(), said("confirmed")]
PROPOSALS: list[tuple[str, Sequence[Step], Any, str, str, list[str]]] = [
    ("its own place", CONFIRMED, {"state": "reminder"}, "reminder", "classifier", []),
    ("one step on", CONFIRMED, {"state": "payment_link"}, "payment_link", "classifier", []),
    ("two steps on", CONFIRMED, {"state": "closing"}, "reminder", "position", ["too_far_ahead"]),
    ("back to negotiation", CONFIRMED, {"state": "negotiation"}, "negotiation", "classifier", []),
    ("back to the opening", CONFIRMED, {"state": "opening"}, "opening", "classifier", []),
    ("confirmed already", CONFIRMED, {"state": "confirmation"}, "reminder", "position", ["closed_state"]),
    ("a second reminder", [*CONFIRMED, REMINDED], {"state": "reminder"}, "payment_link", "position", ["closed_state"]),
    ("the end", CONFIRMED, {"state": "closed"}, "reminder", "position", ["closed_state", "too_far_ahead"]),
    ("no state", CONFIRMED, {"state": "PAYMENT_LINK_SENDING"}, "reminder", "position", ["unknown_state"]),
    ("in other letters", CONFIRMED, {"state": " Payment_Link "}, "payment_link", "classifier", []),
    ("money after it is paid", [*CONFIRMED, paid("12500")], {"state": "negotiation"}, "closing", "position", ["closed_state"]),
    ("a skip over what is done", [*CONFIRMED, LINKED], {"state": "closing"}, "closing", "classifier", []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "proposal", "state", "source", "refused"),
    [row[1:] for row in PROPOSALS],
    ids=[row[0] for row in PROPOSALS],
)
async def test_the_floor_judges_what_a_caller_proposes(
    service: Api, steps: Sequence[Step], proposal: Body, state: str, source: str, refused: list[str]
) -> None:
    borrower, phone = await service.known()
    for step in steps:
        await step(service, borrower)
    answer = await service.resume(borrower, identifier=phone, proposal=proposal)
    assert (answer["state"], answer["source"], rules(answer)) == (state, source, refused)
    assert (answer["proposed_by"], answer["fallback"]) == ("caller", None)
    asked_for = proposal["state"].strip().casefold()
    assert answer["proposed"].strip().casefold() == asked_for
    assert all(set(refusal) == {"rule", "message"} and refusal["message"] for refusal in answer["refusals"])


@pytest.mark.parametrize("proposal", [7, "reminder", [], ["reminder"], {"state": None}, {"state": ["reminder"]}, {}])
async def test_what_is_no_proposal_falls_back_and_says_so(service: Api, proposal: Any) -> None:
    borrower, phone = await service.known()
    for step in CONFIRMED:
        await step(service, borrower)
    answer = await service.resume(borrower, identifier=phone, proposal=proposal)
    assert (answer["state"], answer["source"], answer["proposed"], answer["fallback"]) == (
        "reminder", "position", None, "unreadable",
    )  # fmt: skip


async def test_a_proposal_past_identity_is_refused_while_it_does_not_hold(service: Api) -> None:
    borrower, _ = await service.known()
    await said("confirmed")(service, borrower)
    answer = await service.resume(borrower, proposal={"state": "reminder"})
    assert (answer["state"], rules(answer), answer["after_identity"]) == ("identity", ["identity_required"], "reminder")


# What the channel's rules propose when nobody else does (DESIGN 9): always a step back.
RULED: list[tuple[str, Sequence[Step], str]] = [
    ("another offer beside the promise", [*CONFIRMED, LATER_OFFER], "negotiation"),
    ("she says she has paid", [*CONFIRMED, CLAIMED], "dues"),
    ("the call broke off", [opened(), call(hours=30, reached="dues"), call(hours=2, outcome="failed", reached="dues")], "dues"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "state"), [row[1:] for row in RULED], ids=[row[0] for row in RULED])
async def test_the_rules_step_back_where_the_record_calls_for_it(
    service: Api, steps: Sequence[Step], state: str
) -> None:
    borrower, phone = await service.known()
    for step in steps:
        await step(service, borrower)
    answer = await service.resume(borrower, identifier=phone)
    assert (answer["state"], answer["proposed"], answer["proposed_by"]) == (state, state, "rules")
    assert (answer["source"], answer["fallback"]) == ("classifier", "no_model")


# -- stops -------------------------------------------------------------------------------------------------------------------

STOPS: list[tuple[str, Step, str, str, str | None]] = [
    ("a hold, outbound", HELD, "voice", "outbound", None),
    ("a hold, inbound", HELD, "voice", "inbound", None),
    ("opted out, outbound", OUT, "voice", "outbound", None),
    ("opted out, she calls in", OUT, "voice", "inbound", "reminder"),
    ("opted out of the other channel", OUT, "whatsapp", "outbound", "reminder"),
    ("opted out of all", happened("contact.opted_out", channel="all"), "whatsapp", "outbound", None),
    ("marketing only", happened("contact.opted_out", channel="voice", purpose="marketing"), "voice", "outbound", "reminder"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("stop", "channel", "direction", "state"), [row[1:] for row in STOPS], ids=[row[0] for row in STOPS]
)
@pytest.mark.parametrize("proposal", [None, {"state": "opening"}], ids=["nothing proposed", "the opening proposed"])
async def test_a_stop_grants_no_state_and_tells_the_place(
    service: Api, stop: Step, channel: str, direction: str, state: str | None, proposal: Any
) -> None:
    borrower, phone = await service.known()
    for step in (*CONFIRMED, stop):
        await step(service, borrower)
    answer = await service.resume(borrower, channel, identifier=phone, direction=direction, proposal=proposal)
    assert answer["position"] == "reminder"
    if state is None:
        assert (answer["state"], answer["step"], rules(answer)) == (None, None, ["on_hold"])
        assert (answer["vars"]["state"], answer["vars"]["on_hold"]) == ("none", "yes")
    else:
        assert answer["state"] == ("opening" if proposal else state)
        assert (rules(answer), answer["vars"]["on_hold"]) == ([], "no")


async def test_a_hold_is_told_and_lifted(service: Api) -> None:
    borrower, phone = await service.known()
    for step in (*CONFIRMED, HELD):
        await step(service, borrower)
    (hold,) = (await service.resume(borrower, identifier=phone))["holds"]
    assert (hold["kind"], hold["until"]) == ("dispute", None)
    await happened("hold.lifted", hours=1, kind="dispute", reason="settled")(service, borrower)
    answer = await service.resume(borrower, identifier=phone)
    assert (answer["holds"], answer["state"]) == ([], "reminder")


# -- the answer --------------------------------------------------------------------------------------------------------------

FIELDS = {
    "resume_id", "found", "borrower_id", "loan_id", "other_loans", "state", "step", "after_identity", "source", "position",
    "proposed", "proposed_by", "fallback", "refusals", "identity", "contact", "cycle", "commitment", "counter_proposals",
    "payment_claim", "callback", "holds", "open_conversations", "flags", "previous_step", "vars", "record_version", "as_of",
    "degraded", "degraded_reason",
}  # fmt: skip
VARS = {
    "found", "borrower_id", "loan_id", "other_loans", "state", "step", "after_identity", "identity_verified",
    "promise_status", "promise_amount", "promise_currency", "promise_due_date", "promise_overdue", "counter_proposal",
    "payment_claimed", "reminded", "payment_link_shared", "payment_confirmed", "amount_received", "amount_outstanding",
    "contact_allowed", "contact_reason", "on_hold", "language", "speakable", "narrative", "degraded",
}  # fmt: skip
YES_OR_NO = {
    "found", "identity_verified", "promise_overdue", "payment_claimed", "reminded", "payment_link_shared",
    "payment_confirmed", "contact_allowed", "on_hold", "speakable", "degraded",
}  # fmt: skip
SITUATIONS: list[tuple[str, Sequence[Step]]] = [
    ("nothing", []),
    ("proposed", [opened(), said("proposed", channel="whatsapp")]),
    ("everything", [opened(), said("confirmed"), REMINDED, LINKED, LATER_OFFER, CLAIMED, paid("500")]),
    ("a hold", [opened(), said("confirmed"), HELD]),
]  # fmt: skip


@pytest.mark.parametrize("steps", [row[1] for row in SITUATIONS], ids=[row[0] for row in SITUATIONS])
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("named", ["by number", "by id", "unknown"])
async def test_every_field_and_every_variable_is_always_there(
    service: Api, steps: Sequence[Step], channel: str, named: str
) -> None:
    borrower, phone = await service.known()
    for step in steps:
        await step(service, borrower)
    who: Body = {
        "by number": {"identifier": phone},
        "by id": {"borrower_id": borrower},
        "unknown": {"identifier": service.phone()},
    }[named]
    answer = await service.post("/v1/resume", {"channel": channel} | who)
    assert answer.status == 200
    assert answer.document.keys() == FIELDS
    variables: Body = answer["vars"]
    assert variables.keys() == VARS
    assert all(isinstance(value, str) and value.strip() for value in variables.values())
    assert {name for name in variables if variables[name] in ("yes", "no")} >= YES_OR_NO
    assert answer["found"] is (named != "unknown")
    _variables_say_what_the_answer_says(answer)


def _variables_say_what_the_answer_says(answer: Answer) -> None:
    variables, promise = answer["vars"], answer["commitment"] or {}
    told = {
        "found": answer["found"],
        "borrower_id": answer["borrower_id"],
        "loan_id": answer["loan_id"],
        "other_loans": ", ".join(answer["other_loans"]),
        "state": answer["state"],
        "step": answer["step"],
        "after_identity": answer["after_identity"],
        "identity_verified": answer["identity"]["holds"],
        "promise_status": promise.get("status"),
        "promise_amount": promise.get("amount"),
        "promise_currency": promise.get("currency"),
        "promise_due_date": promise.get("due_date"),
        "promise_overdue": promise.get("overdue", False),
        "payment_claimed": answer["payment_claim"] is not None,
        **answer["flags"],
        "contact_allowed": answer["contact"]["allowed"],
        "contact_reason": ", ".join(answer["contact"]["reasons"]),
        "narrative": (answer["previous_step"] or {}).get("text"),
        "language": (answer["previous_step"] or {}).get("language"),
        "speakable": (answer["previous_step"] or {}).get("speakable", False),
        "amount_received": (answer["cycle"] or {}).get("received"),
        "amount_outstanding": (answer["cycle"] or {}).get("outstanding"),
        "degraded": answer["degraded"],
    }
    words = {True: "yes", False: "no", None: "none", "": "none"}
    for name, value in told.items():
        assert variables[name] == words.get(value, value), name


async def test_the_terms_of_what_was_promised_come_whole(service: Api) -> None:
    borrower, phone = await service.known()
    for step in (opened(), said("confirmed", hours=20), LATER_OFFER, REMINDED, paid("500")):
        await step(service, borrower)
    answer = await service.resume(borrower, identifier=phone)
    promise = answer["commitment"]
    assert (promise["status"], promise["amount"], promise["currency"], promise["due_date"]) == (
        "confirmed", "5000.00", "INR", service.day(5),
    )  # fmt: skip
    assert (promise["outcome"], promise["overdue"], promise["grounding"]) == ("partly_kept", False, "unchecked")
    assert promise["promise_id"] == f"voice:{promise['conversation_id']}"
    (offer,) = answer["counter_proposals"]
    assert (offer["status"], offer["amount"], offer["due_date"]) == ("proposed", "700.00", service.day(9))
    assert answer["vars"]["counter_proposal"] == f"700.00 INR by {service.day(9)}"
    cycle = answer["cycle"]
    assert (cycle["cycle_id"], cycle["loan_id"], cycle["status"]) == ("CY-1", loan_of(borrower), "open")
    assert (cycle["amount_due"], cycle["received"], cycle["outstanding"]) == ("12500.00", "500.00", "12000.00")
    assert answer["flags"] == {"reminded": True, "payment_link_shared": False, "payment_confirmed": True}
    assert (answer["record_version"], answer["as_of"]) == (7, service.now.isoformat().replace("+00:00", "Z"))


async def test_loans_are_kept_apart_and_the_others_are_named(service: Api) -> None:
    borrower, phone = await service.known()
    for loan, hours in (("A", 90), ("B", 80)):
        due = {"due_date": service.day(20), "amount_due": "100", "currency": "INR"}
        await service.event(
            "cycle.opened", borrower, hours=hours, cycle_id="CY", loan_id=f"{loan}-{borrower}", **due
        )  # fmt: skip
    await service.told(borrower, hours=3, loan_id=f"A-{borrower}", commitment=service.promise("confirmed"))
    newest = await service.resume(borrower, identifier=phone)
    assert (newest["loan_id"], newest["other_loans"]) == (f"B-{borrower}", [f"A-{borrower}"])
    assert newest["commitment"] is None
    first = await service.resume(borrower, identifier=phone, loan_id=f"A-{borrower}")
    assert (first["loan_id"], first["state"]) == (f"A-{borrower}", "reminder")
    unheard_of = await service.resume(borrower, identifier=phone, loan_id=f"C-{borrower}")
    assert (unheard_of["found"], unheard_of["loan_id"], unheard_of["commitment"]) == (True, f"C-{borrower}", None)
    assert unheard_of["cycle"]["cycle_id"] is None


async def test_a_conversation_that_goes_on_is_told_until_its_report_is_missing(service: Api) -> None:
    borrower, phone = await service.known()
    begun = {"channel": "whatsapp", "conversation_id": service.name("c")}
    await service.event("conversation.started", borrower, hours=0.5, **begun)
    await service.event("conversation.started", borrower, hours=2, channel="voice", conversation_id=service.name("c"))
    (open_one,) = (await service.resume(borrower, identifier=phone))["open_conversations"]
    assert open_one == begun | {
        "since": service.ago(hours=0.5).replace("+00:00", "Z"), "last_message_at": None, "last_speaker": None,
    }  # fmt: skip
    await service.told(borrower, hours=0.1, **begun)
    assert (await service.resume(borrower, identifier=phone))["open_conversations"] == []
