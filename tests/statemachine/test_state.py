"""What is concluded of the borrower as a whole: identity, holds, stops, facts, appointments, which cycle a read means."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from statemachine.elements import CallbackSaid, ClaimSaid, FactSaid
from statemachine.entries import EVENT_TYPES, Summary
from statemachine.merge import merge
from statemachine.record import Limits
from statemachine.stamps import Entry
from statemachine.state import BorrowerState, UnknownLoan, derive
from tests.statemachine.histories import NOON, POLICY, Terms, empty, hasher, stamped
from tests.statemachine.test_ladder import call, event, opened, paid

PHONE = "phone:+919000000001"
OTHER = "phone:+919000000002"


def state_after(*history: Entry, days: float = 3, policy: Any = POLICY) -> BorrowerState:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher)
    return derive(record, NOON + timedelta(days=days), policy)


def about(kind: str, identifier: str | None, *, days: float, **own: Any) -> Entry:
    at = NOON + timedelta(days=days)
    body = {"event_id": f"{kind}@{days}@{identifier}", "type": kind, "occurred_at": at, "borrower_id": "B-1", **own}
    if identifier:
        body["identifier"] = {"kind": "phone", "value": identifier.split(":")[1]}
    return stamped(EVENT_TYPES[kind].model_validate(body), at, identifier=identifier)


def verified(identifier: str = PHONE, *, days: float = 0) -> Entry:
    return about("identity.verified", identifier, days=days, method="otp", channel="whatsapp")


def told(
    conversation: str, *, days: float, outcome: str | None = "connected", revision: int = 1, **stamps: Any
) -> Entry:
    at = NOON + timedelta(days=days)
    body = Summary(
        channel="voice", conversation_id=conversation, ended_at=at, outcome=outcome, revision=revision  # type: ignore[arg-type]
    )  # fmt: skip
    return stamped(body, at, contact=outcome == "connected", **stamps)


# -- identity ---------------------------------------------------------------------------------------------------


def test_a_verification_holds_for_its_number_for_its_days() -> None:
    state = state_after(verified())
    assert state.identities.keys() == {PHONE}
    identity = state.identities[PHONE]
    assert (identity.holds, identity.method, identity.channel) == (True, "otp", "whatsapp")
    assert identity.expires_at == NOON + timedelta(days=30)
    assert PHONE in state_after(verified(), days=29.9).identities
    assert PHONE not in state_after(verified(), days=30).identities


def test_with_no_days_no_identity_ever_holds() -> None:
    policy = Terms()
    policy.identity_days = 0
    assert PHONE not in state_after(verified(), days=0, policy=policy).identities


ENDINGS = [
    about("identity.revoked", PHONE, days=1, reason="fraud"),
    about("identity.revoked", None, days=1, reason="fraud"),
    about("identifier.unlinked", PHONE, days=1, reason="changed"),
    told("c-1", days=1, outcome="third_party", through=PHONE),
    told("c-1", days=1, outcome="wrong_number", through=PHONE),
    told("c-1", days=1, outcome="third_party"),
]


@pytest.mark.parametrize(
    "ending", ENDINGS, ids=lambda e: f"{e.type}-{getattr(e.body, 'outcome', '')}-{e.stamps.through}"
)
def test_what_ends_an_identity_and_what_brings_it_back(ending: Entry) -> None:
    assert PHONE not in state_after(verified(), ending).identities
    assert PHONE not in state_after(ending, verified()).identities
    assert PHONE in state_after(verified(), ending, verified(days=2)).identities


def test_a_stranger_on_one_number_says_nothing_of_another() -> None:
    met = told("c-1", days=1, outcome="third_party", through=OTHER)
    assert PHONE in state_after(verified(), met).identities


def test_a_revision_that_says_it_was_the_borrower_takes_the_stranger_back() -> None:
    met = told("c-1", days=1, outcome="third_party", through=PHONE)
    corrected = told("c-1", days=1, outcome="connected", revision=2, through=PHONE)
    assert PHONE in state_after(verified(), met, corrected).identities


def test_a_stranger_of_the_newest_revision_counts_when_what_else_it_told_was_let_go() -> None:
    """What ends an identity holds of the bounded record as of all evidence (DESIGN 3, law 3)."""
    first = told("c-1", days=1, outcome="connected", through=PHONE)
    met = told("c-1", days=1.1, outcome="third_party", revision=2, through=PHONE)
    tries = [told(f"c-{n}", days=2 + n / 10, outcome="no_answer") for n in (5, 6)]
    record = empty()
    for entry in (verified(), first, met, *tries):
        record = merge(record, entry, hasher, Limits(bucket=2))
    state = derive(record, NOON + timedelta(days=3), POLICY)
    assert ("c-1", 1) in {(c.conversation_id, c.revision) for c in state.conversations}
    assert state.identities == {}


def test_what_came_through_somebody_elses_number_is_left_out() -> None:
    promise = stamped(call("c-1").body, NOON, promise=call("c-1").stamps.promise, contact=True, through=PHONE)
    link, unlink = (
        about("identifier.linked", PHONE, days=-1),
        about("identifier.unlinked", PHONE, days=2, reason="wrong_borrower"),
    )
    assert state_after(link, promise).cycle_of(None).rung == "confirmed"
    state = state_after(link, promise, unlink)
    assert (state.cycle_of(None).rung, state.conversations, state.identifiers) == ("none", (), ())


@pytest.mark.parametrize(("days", "counts"), [(1.9, False), (2, False), (2.1, True)])
def test_what_comes_through_a_number_after_it_was_said_to_be_somebody_elses_counts_again(
    days: float, counts: bool
) -> None:
    """Whoever links it once more is believed: only what came up to then was the other's."""
    unlink = about("identifier.unlinked", PHONE, days=2, reason="wrong_borrower")
    came = stamped(call("c-1", days=days).body, NOON + timedelta(days=days), contact=True, through=PHONE)
    assert bool(state_after(unlink, came).conversations) is counts


def test_the_zone_is_the_one_linked_last_with_a_number_that_is_still_theirs() -> None:
    first = about("identifier.linked", PHONE, days=0, time_zone="Asia/Dubai")
    second = about("identifier.linked", OTHER, days=1, time_zone="Europe/London")
    assert state_after().time_zone == POLICY.time_zone
    assert state_after(first).time_zone == "Asia/Dubai"
    for order in ((first, second), (second, first)):
        assert state_after(*order).time_zone == "Europe/London"
        ended = about("identifier.unlinked", OTHER, days=2, reason="changed")
        assert state_after(*order, ended).time_zone == "Asia/Dubai"
    nowhere = about("identifier.linked", OTHER, days=1, time_zone="Nowhere/Atall")
    assert state_after(first, nowhere).time_zone == "Asia/Dubai", "what is no zone is passed over"


# -- holds and stops --------------------------------------------------------------------------------------------


def placed(*, days: float, until: float | None = None, loan: str | None = None) -> Entry:
    end = None if until is None else NOON + timedelta(days=until)
    return event("hold.placed", days=days, kind="dispute", reason="not hers", until=end, loan_id=loan)


def lifted(*, days: float, loan: str | None = None) -> Entry:
    return event("hold.lifted", days=days, kind="dispute", reason="settled", loan_id=loan)


def test_a_hold_stands_until_it_is_lifted_or_ends_by_itself() -> None:
    assert state_after(placed(days=0)).holds
    assert not state_after(placed(days=0), lifted(days=1)).holds
    assert state_after(placed(days=0), lifted(days=1), placed(days=2)).holds
    assert state_after(placed(days=0, until=3.5)).holds
    assert not state_after(placed(days=0, until=3)).holds
    assert state_after(placed(days=0), placed(days=1, until=2)).holds, "the one that does not end still stands"
    assert state_after(placed(days=1), lifted(days=1)).holds, "at the same time the stop counts"


def test_a_hold_of_a_loan_is_lifted_for_that_loan_only() -> None:
    state = state_after(placed(days=0, loan="LN-1"), placed(days=0.5, loan="LN-2"), lifted(days=1, loan="LN-1"))
    assert [h.loan_id for h in state.holds] == ["LN-2"]
    assert (state.holds_on("LN-1"), len(state.holds_on("LN-2"))) == ((), 1)


def test_an_opt_in_lifts_its_channel_out_of_all() -> None:
    everywhere = event("contact.opted_out", days=0, channel="all")
    back = event("contact.opted_in", days=1, channel="voice")
    state = state_after(everywhere, back)
    assert (state.opted_out("voice"), state.opted_out("whatsapp")) == (False, True)
    assert [(o.channel, o.purpose) for o in state.opt_outs] == [("whatsapp", "collections")]
    assert state_after(everywhere, back, event("contact.opted_out", days=2, channel="all")).opted_out("voice")


@pytest.mark.parametrize("ids", ["ab", "ba"])
@pytest.mark.parametrize("stopped", ["all", "voice"])
def test_of_a_stop_and_an_opt_in_at_the_same_time_the_stop_counts(stopped: str, ids: str) -> None:
    stop = event("contact.opted_out", days=1, channel=stopped, event_id=ids[0])
    back = event("contact.opted_in", days=1, channel="voice", event_id=ids[1])
    assert state_after(stop, back).opted_out("voice")


# -- claim, appointment, facts ----------------------------------------------------------------------------------


def test_a_claim_stands_until_a_payment_of_that_day_or_later_answers_it() -> None:
    claim = told("c-1", days=1, claim=ClaimSaid(paid_on=date(2026, 11, 1), quote="kal bhar diya"))
    base = [opened(days=-5), claim]
    assert state_after(*base).cycle_of(None).payment_claim
    assert state_after(*base, paid(100, days=-3)).cycle_of(None).payment_claim, "an older payment is not what she means"
    assert state_after(*base, paid(100, days=0.1)).cycle_of(None).payment_claim is None
    bounced = event("payment.reversed", days=2, payment_ref="P-1", reason="bounced")
    assert state_after(*base, paid(100, days=0.1), bounced).cycle_of(None).payment_claim, "nothing was received"


def test_an_appointment_is_over_when_it_is_past() -> None:
    asked = told("c-1", days=1, callback=CallbackSaid(at=NOON + timedelta(days=2), said="parso"))
    assert state_after(asked, days=1.9).callback
    assert state_after(asked, days=2).callback is None
    before = told("c-0", days=0.5, callback=CallbackSaid(at=NOON + timedelta(days=9)))
    assert state_after(before, asked, days=2).callback is None, "the one asked for last took its place"


def test_what_somebody_else_says_was_paid_is_no_claim_of_the_borrowers() -> None:
    claim = ClaimSaid(quote="he paid it yesterday")
    for outcome, claimed in (("third_party", False), ("wrong_number", False), ("connected", True)):
        state = state_after(told("c-1", days=1, outcome=outcome, claim=claim))
        assert bool(state.cycle_of(None).payment_claim) is claimed


def test_nobody_else_makes_an_appointment_for_the_borrower() -> None:
    asked = CallbackSaid(at=NOON + timedelta(days=5), said="parso")
    assert state_after(told("c-1", days=1, outcome="third_party", callback=asked)).callback is None
    hers = told("c-0", days=0.5, callback=asked)
    state = state_after(hers, told("c-1", days=1, outcome="wrong_number", callback=asked))
    assert state.callback
    assert state.callback.conversation_id == "c-0"


def fact(text: str, kind: str = "goal", source: str = "f") -> FactSaid:
    return FactSaid(fact_id=source, kind=kind, text=text)


def test_a_stated_fact_is_not_overwritten_by_an_inferred_one() -> None:
    stated = stamped(event("fact.stated", days=0, kind="goal", text="a house").body, NOON, fact=fact("a house"))
    state = state_after(stated, told("c-1", days=1, facts=(fact("a house"),)))
    assert [(f.text, f.source) for f in state.facts] == [("a house", "stated")]


def test_facts_expire_by_kind() -> None:
    said = told("c-1", days=0, facts=(fact("a house"),))
    assert state_after(said, days=89).facts
    assert not state_after(said, days=90).facts


# -- which cycle ------------------------------------------------------------------------------------------------


def test_a_read_means_the_newest_cycle_that_is_still_open() -> None:
    story = [opened(days=-5, loan="LN-1"), opened(days=-2, loan="LN-2", cycle="CY-9")]
    assert state_after(*story).cycle_of(None).loan_id == "LN-2"
    closed = event("cycle.closed", days=1, cycle_id="CY-9", loan_id="LN-2", reason="paid")
    state = state_after(*story, closed)
    assert (state.cycle_of(None).loan_id, state.cycle_of("LN-2").status) == ("LN-1", "closed")


def test_an_unknown_loan_is_said_to_be_unknown() -> None:
    with pytest.raises(UnknownLoan):
        state_after(opened(days=0)).cycle_of("LN-7")


def test_the_same_cycle_id_of_two_loans_is_two_cycles() -> None:
    story = [opened(days=-5, loan="LN-1"), opened(days=-4, loan="LN-2"), paid(5000, days=1, loan_id="LN-1")]
    state = state_after(*story)
    assert (state.cycle_of("LN-1").status, state.cycle_of("LN-2").status) == ("paid", "open")


def test_evidence_that_names_a_cycle_belongs_there_before_it_is_opened() -> None:
    early = event(
        "reminder.sent", days=-3, cycle_id="CY-1", loan_id="LN-1", channel="voice", message_id="m", outcome="sent"
    )
    assert state_after(early, opened(days=0)).cycle_of("LN-1").reminded.value


# -- messages ---------------------------------------------------------------------------------------------------


def sent(outcome: str, *, days: float, message: str = "m-1") -> Entry:
    return event("reminder.sent", days=days, channel="whatsapp", message_id=message, outcome=outcome)


@pytest.mark.parametrize(
    ("outcomes", "reminded"),
    [
        (["attempted"], False),
        (["attempted", "failed"], False),
        (["sent"], True),
        (["sent", "failed"], False),
        (["failed", "sent"], False),
        (["read", "sent"], True),
        (["delivered", "failed"], True),
        (["failed", "delivered"], True),
    ],
)
def test_a_message_stands_at_the_highest_it_was_reported_at(outcomes: list[str], reminded: bool) -> None:
    history = [sent(outcome, days=n / 10) for n, outcome in enumerate(outcomes)]
    assert state_after(*history).cycle_of(None).reminded.value is reminded
    assert state_after(*reversed(history)).cycle_of(None).reminded.value is reminded


def test_a_message_belongs_to_the_loan_that_any_of_its_reports_names() -> None:
    def report(outcome: str, days: float, **own: Any) -> Entry:
        return event("reminder.sent", days=days, channel="whatsapp", message_id="m-1", outcome=outcome, **own)

    due = [opened(days=-2, loan="LN-1"), opened(days=-1, loan="LN-2", cycle="CY-2")]
    state = state_after(*due, report("attempted", 0), report("sent", 1, loan_id="LN-1"))
    assert (state.cycle_of("LN-1").reminded.value, state.cycle_of("LN-2").reminded.value) == (True, False)


def test_one_failed_message_does_not_undo_another() -> None:
    assert state_after(sent("delivered", days=0), sent("failed", days=1, message="m-2")).cycle_of(None).reminded.value


def test_the_last_attempt_of_any_message_is_told_until_that_message_is_known_to_have_gone_out() -> None:
    tried = [sent("attempted", days=0), sent("attempted", days=1, message="m-2"), sent("attempted", days=2)]
    assert state_after(*tried).cycle_of(None).attempted_at == {"reminder": NOON + timedelta(days=2)}
    went_out = state_after(*tried, sent("sent", days=2.5))
    assert went_out.cycle_of(None).attempted_at == {"reminder": NOON + timedelta(days=1)}


# -- time -------------------------------------------------------------------------------------------------------


def test_nothing_changes_by_time_alone_before_it_says_so() -> None:
    history = [
        verified(days=-29), placed(days=0, until=5), call("c-1"), told("c-2", days=1, facts=(fact("a house"),)),
        told("c-3", days=1, callback=CallbackSaid(at=NOON + timedelta(days=4))),
    ]  # fmt: skip
    now = 2.0
    seen = 0
    while (state := state_after(*history, days=now)).valid_until is not None and seen < 20:
        assert state.valid_until
        just_before = (state.valid_until - NOON) / timedelta(days=1) - 1e-6
        again = state_after(*history, days=just_before)
        assert again == state
        now = just_before + 1e-6
        seen += 1
    assert seen == 4, "the appointment, the due date, the hold, the fact"


def test_forgetting_everything_does_not_bring_back_what_was_somebody_elses() -> None:
    from statemachine.record import Tombstone
    from statemachine.stamps import MemoryForgotten

    promise = stamped(call("c-1").body, NOON, promise=call("c-1").stamps.promise, contact=True, through=PHONE)
    unlink = about("identifier.unlinked", PHONE, days=1, reason="wrong_borrower")
    stone = Tombstone(at=NOON + timedelta(days=2), event_id="f-1", everything=True)
    forgotten = stamped(MemoryForgotten(event_id="f-1", tombstone=stone, type="memory.forgotten"), stone.at)
    for order in ((promise, unlink, forgotten), (forgotten, unlink, promise), (unlink, forgotten, promise)):
        assert state_after(*order).cycle_of(None).rung == "none"


def test_a_payment_stays_where_a_statement_put_it_when_a_later_one_names_no_loan() -> None:
    named, unnamed = paid(1000, days=1, loan_id="LN-2"), paid(1000, days=1.5)
    known = event("reminder.sent", days=0, loan_id="LN-1", channel="voice", message_id="m", outcome="sent")
    state = state_after(known, named, unnamed)
    assert (state.cycle_of("LN-2").received, state.unplaced_payments) == (1000, ())


def test_at_the_same_time_the_opening_comes_first() -> None:
    assert state_after(opened(days=1), call("c-1", days=1)).cycle_of("LN-1").rung == "confirmed"
    assert state_after(opened(days=1), call("c-1", days=0.9)).cycle_of("LN-1").rung == "none"


def test_a_loan_that_is_first_named_with_a_payment_takes_it_from_no_other() -> None:
    def named(loan: str, days: float) -> Entry:
        return event("reminder.sent", days=days, loan_id=loan, channel="voice", message_id=loan, outcome="sent")

    for days, received in ((0.9, 0), (1, 1000), (1.1, 1000)):
        state = state_after(named("LN-1", 0), named("LN-2", days), paid(1000, days=1))
        assert (state.cycle_of("LN-1").received, state.cycle_of("LN-2").received) == (received, 0)
        assert bool(state.unplaced_payments) is not bool(received)


def test_a_loan_that_is_spoken_of_later_takes_no_payment_away() -> None:
    history = [call("c-1"), paid(5000, days=1)]
    later = [stamped(call(f"c-{n}").body.model_copy(update={"loan_id": loan}), NOON + timedelta(days=2))
             for n, loan in ((5, "LN-1"), (6, "LN-2"))]  # fmt: skip
    for told_later in ([], later[:1], later):
        assert state_after(*history, *told_later).cycle_of(None).payment_confirmed.value
        assert all(c.payment_confirmed.value for c in state_after(*history, *told_later).current_cycles())


def test_without_a_due_only_the_promise_in_force_at_a_payment_is_paid_by_it() -> None:
    before = [paid(2500, days=-1), call("c-1", amount=100)]
    assert state_after(*before).cycle_of(None).status == "open", "a promise made after a payment is not paid by it"
    story = [call("c-1", amount=2500), paid(2500, days=1)]
    assert state_after(*story).cycle_of(None).status == "paid"
    assert state_after(*story, call("c-2", days=2, amount=5000)).cycle_of(None).status == "paid", (
        "only a reversal reopens"
    )
    back = event("payment.reversed", days=2.5, payment_ref="P-1", reason="bounced")
    assert state_after(*story, back).cycle_of(None).status == "open"
    raised = [call("c-1", amount=2500), call("c-2", days=0.5, amount=5000), paid(2500, days=1)]
    assert state_after(*raised).cycle_of(None).status == "open"
    rest = [
        call("c-1", amount=5000),
        paid(2000, days=1),
        call("c-2", days=1.5, amount=3000),
        paid(3000, days=2, ref="P-2"),
    ]
    assert state_after(*rest).cycle_of(None).status == "paid"


@pytest.mark.parametrize(
    ("outcome", "informed"),
    [("failed", True), (None, True), ("connected", True), ("voicemail", False), ("third_party", False), ("no_answer", False)],
)  # fmt: skip
def test_what_a_dropped_call_reached_was_reached(outcome: str | None, informed: bool) -> None:
    """DESIGN 8 and 9: the next conversation takes it up where it broke off; with somebody else nothing was reached."""
    state = state_after(opened(days=0), told("c-1", days=1, outcome=outcome, step="negotiate"))
    assert state.cycle_of("LN-1").informed is informed
