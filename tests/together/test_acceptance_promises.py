"""The ladder, what payments and breaks make of a promise, cycles and attempts (AC-39, 42 to 45, 70, DESIGN 4 to 6)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest

from tests.together.conftest import Borrower, Json, Tenant, another, confirmed, day, promise, said, terms, warned
from tests.together.service import ago

pytestmark = pytest.mark.process


def outcomes(read: Json) -> list[tuple[Any, ...]]:
    """The history of a borrower's cycle as outcome, amount and due date."""
    return [(p["outcome"], p["amount"], p["due_date"]) for p in read["history"]]


# -- ceilings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channel", "fields", "commitment", "code"),
    [
        ("whatsapp", {}, confirmed(), "lowered_to_proposed"),
        ("voice", {"modality": "text"}, confirmed(), "lowered_to_proposed"),
        ("voice", {}, promise(status="confirmed"), "lowered_to_proposed"),
        ("voice", {}, confirmed(None), "promise_incomplete"),
        ("voice", {}, {"amount": 5, "status": "confirmed", "read_back": True}, "promise_incomplete"),
    ],
)
def test_an_excess_claim_is_lowered_and_noted(
    borrower: Borrower, channel: str, fields: Json, commitment: Json, code: str
) -> None:
    """AC-43."""
    answer = borrower.says(channel, commitment, **fields)
    assert (answer["status"], warned(answer)) == ("merged", {code})
    assert borrower.commitment()["status"] == "proposed"


def test_speech_on_whatsapp_confirms(borrower: Borrower) -> None:
    answer = borrower.says("whatsapp", confirmed(), modality="speech")
    assert (borrower.commitment()["status"], answer["warnings"]) == ("confirmed", [])


@pytest.mark.parametrize(
    ("turns", "status", "code"),
    [
        (("agent: So 5,000 by {due}, right?", "borrower: haan, theek hai"), "confirmed", None),
        (("agent: to aap paanch hazaar denge?", "borrower: ji haan"), "confirmed", None),
        (("agent: So 5,000 by {due}, right?", "borrower: nahi, itna nahi"), "proposed", "read_back_not_seen"),
        (("agent: So 5,000 by {due}, right?",), "proposed", "read_back_not_seen"),
        (("borrower: haan", "agent: So 5,000 by {due}, right?"), "proposed", "read_back_not_seen"),
        (("agent: Shall we call again?", "borrower: haan"), "proposed", "read_back_not_seen"),
        (("agent: So 9,000 rupees, right?", "borrower: haan"), "proposed", "read_back_not_seen"),
        (("borrower: So 5,000 by {due}", "borrower: haan"), "proposed", "read_back_not_seen"),
        (("agent: So 5,000 by {due}, right?", "third_party: haan"), "proposed", "read_back_not_seen"),
    ],
)
def test_with_turns_a_read_back_has_to_be_seen_in_them(
    borrower: Borrower, turns: tuple[str, ...], status: str, code: str | None
) -> None:
    due = datetime.fromisoformat(day(5)).strftime("%-d %B")
    answer = borrower.says("voice", confirmed(), turns=said(*(t.format(due=due) for t in turns)))
    assert borrower.commitment()["status"] == status
    assert warned(answer) == ({code} if code else set())


def test_the_agents_question_is_not_the_borrowers_answer(borrower: Borrower) -> None:
    """AC-55."""
    answer = borrower.says(
        "voice",
        confirmed(quote="you will pay 5000 on 2 Feb"),
        turns=said("agent: So you will pay 5000 on 2 Feb?", "borrower: let me see"),
    )
    assert borrower.commitment() is None
    assert warned(answer) == {"quote_not_borrower"}


@pytest.mark.parametrize(
    ("quote", "code"),
    [
        ("5000 de dunga", None),
        ("5,000 DE DUNGA!", None),
        ("10000 de dunga", "quote_not_found"),
        ("haan ji bilkul", "quote_not_found"),
    ],
)
def test_a_quote_has_to_stand_in_the_borrowers_turns(borrower: Borrower, quote: str, code: str | None) -> None:
    answer = borrower.says(
        "whatsapp",
        promise(5000 if code is None else None, quote=quote),
        turns=said("agent: kitna?", "borrower: 5000 de dunga bhai"),
    )
    assert warned(answer) == ({code} if code else set())
    found = borrower.commitment()
    assert (
        (found is None)
        if code
        else (terms(found) == ("proposed", "5000.00", day(5)) and found["grounding"] == "quoted")
    )


# -- the ladder ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fuzzy", [{"status": "proposed"}, {"due_date_said": "dekhte hain"}, {"quote": "haan haan"}, {"amount": -1}]
)
def test_a_fuzzy_chat_does_not_undo_a_confirmed_promise(borrower: Borrower, fuzzy: Json) -> None:
    """AC-42."""
    borrower.says("voice", confirmed(5000), ended_at=ago(days=1))
    borrower.says("whatsapp", fuzzy, summary="The borrower says he will see.", ended_at=ago(hours=1))
    read = borrower.read()
    assert terms(read["commitment"]) == ("confirmed", "5000.00", day(5))
    assert (read["counter_proposals"], read["history"]) == ([], [])
    assert "The borrower says he will see." in borrower.briefing()


def test_a_later_weaker_claim_with_other_terms_stands_beside_the_confirmed_one(borrower: Borrower) -> None:
    borrower.says("voice", confirmed(5000, day(2)), ended_at=ago(hours=9))
    borrower.says("whatsapp", promise(3000, day(6)), conversation_id="k1", ended_at=ago(hours=5))
    borrower.says("whatsapp", promise(2000, day(8)), ended_at=ago(hours=2))
    borrower.says("whatsapp", promise(5000, day(2)), ended_at=ago(hours=1))
    read = borrower.read()
    assert terms(read["commitment"]) == ("confirmed", "5000.00", day(2))
    assert [terms(c) for c in read["counter_proposals"]] == [
        ("proposed", "2000.00", day(8)),
        ("proposed", "3000.00", day(6)),
    ]
    assert "Counter-proposal" in borrower.briefing()


def test_an_earlier_weaker_claim_is_no_counter_proposal(borrower: Borrower) -> None:
    borrower.says("whatsapp", promise(3000, day(6)), ended_at=ago(hours=9))
    borrower.says("voice", confirmed(5000, day(2)), ended_at=ago(hours=5))
    assert borrower.read()["counter_proposals"] == []


def test_the_borrower_moves_the_date_on_a_call(borrower: Borrower) -> None:
    """AC-44."""
    first = borrower.says("voice", confirmed(5000, day(2)), conversation_id=f"k-{another()}", ended_at=ago(days=1))
    moved = ago(hours=1)
    second = borrower.says("voice", confirmed(5000, day(6)), conversation_id=f"k-{another()}", ended_at=moved)
    read = borrower.read()
    assert terms(read["commitment"]) == ("confirmed", "5000.00", day(6))
    (old,) = read["history"]
    assert (old["outcome"], old["due_date"], old["promise_id"]) == ("replaced", day(2), first["event_id"][:-2])
    assert old["replaced_by"] == second["event_id"][:-2]
    assert datetime.fromisoformat(old["replaced_at"]) == datetime.fromisoformat(moved)


def test_a_proposal_is_replaced_by_a_later_one_and_a_chain_says_by_which(borrower: Borrower) -> None:
    ids = [
        borrower.says("whatsapp", promise(1000 * n, day(n)), ended_at=ago(hours=9 - n))["event_id"][:-2]
        for n in range(1, 4)
    ]
    read = borrower.read()
    assert terms(read["commitment"]) == ("proposed", "3000.00", day(3))
    assert [(p["promise_id"], p["replaced_by"]) for p in read["history"]] == [(ids[0], ids[1]), (ids[1], ids[2])]


def test_terms_are_never_mixed_from_two_conversations(borrower: Borrower) -> None:
    borrower.says("voice", {"amount": 5000}, ended_at=ago(hours=5))
    borrower.says("whatsapp", {"due_date": day(3)}, ended_at=ago(hours=1))
    assert terms(borrower.commitment()) == ("proposed", None, day(3))


@pytest.mark.parametrize("outcome", ["third_party", "wrong_number", "voicemail", "no_answer", "busy"])
def test_nobodys_commitment_is_none(borrower: Borrower, outcome: str) -> None:
    borrower.verify()
    borrower.says(
        "voice",
        confirmed(2000),
        outcome=outcome,
        payment_claim={"paid_on": day(-1)},
        callback={"at_said": "tomorrow 5 pm"},
        facts=[{"kind": "request", "text": "x", "confidence": 1}],
    )
    read = borrower.read()
    assert (read["commitment"], read["payment_claim"], read["facts"], read["contact_attempts"]) == (None, None, [], 1)
    assert borrower.resume()["callback"] is None


# -- payments -----------------------------------------------------------------------------------------------------


def test_part_of_the_promised_sum_is_paid(borrower: Borrower) -> None:
    """AC-39."""
    borrower.opens(amount="5000", due_date=day(2))
    borrower.verify()
    borrower.says("voice", confirmed(5000, day(2)), ended_at=ago(days=1))
    borrower.pays("2000", "P-1", occurred_at=ago(hours=2))
    read = borrower.read()
    assert read["flags"]["payment_confirmed"] is True
    assert (read["commitment"]["outcome"], read["cycle"]["status"]) == ("partly_kept", "open")
    assert (read["cycle"]["received"], read["cycle"]["outstanding"]) == ("2000.00", "3000.00")
    answer = borrower.resume()
    assert answer["state"] == "reminder"
    assert answer["vars"]["amount_outstanding"] == "3000.00"
    briefing = borrower.briefing()
    assert "INR 2,000 has come in" in briefing
    assert "INR 3,000 of it was open" in briefing
    assert "ask for no more than that" in briefing


def test_part_payments_add_up_until_the_promise_is_kept(borrower: Borrower) -> None:
    borrower.opens(amount="9000")
    borrower.says("voice", confirmed(5000), ended_at=ago(days=1))
    for number, amount in enumerate(("1000", "1500.50", "2499.49")):
        borrower.pays(amount, f"P-{borrower.id}-{number}")
        assert borrower.commitment()["outcome"] == "partly_kept"
    borrower.pays("0.01", f"P-{borrower.id}-last")
    read = borrower.read()
    assert (read["commitment"]["outcome"], read["cycle"]["status"]) == ("kept", "open")
    assert read["cycle"]["outstanding"] == "4000.00"
    assert borrower.resume(identifier=None)["state"] == "identity"
    borrower.verify()
    assert borrower.resume()["state"] == "negotiation", "a kept promise with a rest of the due open"


def test_a_full_payment_closes_and_a_reversal_opens_again(borrower: Borrower) -> None:
    loan = f"LN-{borrower.id}"
    borrower.opens(amount="5000", loan=loan)
    ref = f"P-{borrower.id}"
    borrower.pays("5000", ref, loan_id=loan, occurred_at=ago(hours=3))
    assert (borrower.read()["stage"], borrower.read()["cycle"]["status"]) == ("paid", "paid")
    borrower.event("payment.reversed", payment_ref=ref, reason="bounced", amount="1200", currency="INR")
    read = borrower.read()
    assert (read["cycle"]["status"], read["cycle"]["received"], read["cycle"]["outstanding"]) == (
        "open", "3800.00", "1200.00",
    )  # fmt: skip
    assert read["flags"]["payment_confirmed"] is True
    borrower.event("payment.reversed", payment_ref=ref, reason="chargeback")
    read = borrower.read()
    assert (read["cycle"]["received"], read["flags"]["payment_confirmed"]) == ("0.00", False)


def test_a_reversal_that_arrives_before_its_payment_counts_all_the_same(borrower: Borrower) -> None:
    borrower.opens(amount="5000")
    borrower.event("payment.reversed", payment_ref="P-early", reason="bounced", loan_id=f"LN-{borrower.id}")
    assert borrower.read()["cycle"]["received"] == "0.00"
    borrower.pays("5000", "P-early", occurred_at=ago(hours=2), loan_id=f"LN-{borrower.id}")
    assert borrower.read()["cycle"]["received"] == "0.00"
    assert len(borrower.timeline()) == 3


def test_a_payment_stated_twice_counts_once_by_its_newest_amount(borrower: Borrower) -> None:
    borrower.opens(amount="5000")
    borrower.pays("500", "P-1", occurred_at=ago(hours=3))
    borrower.pays("700", "P-1", occurred_at=ago(hours=2))
    borrower.pays("900", "P-1", occurred_at=ago(hours=4))
    assert borrower.read()["cycle"]["received"] == "700.00"


def test_a_payment_made_before_the_promise_does_not_keep_it(borrower: Borrower) -> None:
    borrower.opens(amount="9000")
    borrower.pays("5000", occurred_at=ago(days=2))
    borrower.says("voice", confirmed(4000), ended_at=ago(days=1))
    assert borrower.commitment()["outcome"] == "open"


def test_a_payment_made_in_time_keeps_the_promise_whenever_it_is_reported(borrower: Borrower) -> None:
    borrower.opens(amount="9000", occurred_at=ago(days=20))
    borrower.says("voice", confirmed(4000, day(-3)), ended_at=ago(days=6))
    borrower.event("promise.broken", due_date=day(-3), occurred_at=ago(days=2))
    read = borrower.read()
    assert (read["commitment"], outcomes(read), read["cycle"]["attempt"]) == (
        None, [("broken", "4000.00", day(-3))], 2,
    )  # fmt: skip
    borrower.pays("4000", occurred_at=ago(days=4))
    read = borrower.read()
    assert (read["commitment"]["outcome"], read["commitment"]["overdue"], read["cycle"]["attempt"]) == (
        "kept",
        False,
        1,
    )


def test_a_payment_after_the_due_date_does_not_keep_the_promise(borrower: Borrower) -> None:
    borrower.opens(amount="9000", occurred_at=ago(days=20))
    borrower.says("voice", confirmed(4000, day(-3)), ended_at=ago(days=6))
    borrower.pays("4000", occurred_at=ago(days=1))
    assert (borrower.commitment()["outcome"], borrower.commitment()["overdue"]) == ("open", True)


def test_an_overdue_promise_stands_at_negotiation(borrower: Borrower) -> None:
    borrower.opens(occurred_at=ago(days=20))
    borrower.verify()
    borrower.says("voice", confirmed(4000, day(-1)), ended_at=ago(days=6))
    answer = borrower.resume()
    assert (answer["state"], answer["commitment"]["overdue"], answer["vars"]["promise_overdue"]) == (
        "negotiation", True, "yes",
    )  # fmt: skip
    assert "overdue" in borrower.briefing()


def test_a_promise_due_today_is_not_overdue(borrower: Borrower) -> None:
    borrower.says("voice", confirmed(4000, day(0)), ended_at=ago(days=1))
    assert borrower.commitment()["overdue"] is False


# -- breaks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_a_broken_promise_and_a_new_one(borrower: Borrower, named: bool, late: bool) -> None:
    """AC-45; `late`: the break is reported after the new promise."""
    borrower.opens(occurred_at=ago(days=20))
    borrower.verify()
    borrower.says("voice", confirmed(5000, day(-1)), ended_at=ago(days=6))
    borrower.is_sent(occurred_at=ago(days=3))

    def breaks() -> None:
        borrower.event(
            "promise.broken",
            occurred_at=ago(hours=9),
            **({"due_date": day(-1)} if named else {}),
            loan_id=f"LN-{borrower.id}",
        )

    if not late:
        breaks()
        assert borrower.commitment() is None
        assert borrower.flags()["reminded"] is False
        assert borrower.resume()["state"] == "negotiation"
    borrower.says("whatsapp", promise(5000, day(4)), ended_at=ago(hours=2))
    if late:
        breaks()
    read = borrower.read()
    assert terms(read["commitment"]) == ("proposed", "5000.00", day(4))
    assert outcomes(read) == [("broken", "5000.00", day(-1))]
    assert (read["cycle"]["attempt"], read["flags"]["reminded"]) == (2, False)
    assert "1 broken promise" in borrower.briefing()
    assert borrower.resume()["state"] == "confirmation"


def test_a_break_counts_once_for_a_due_date(borrower: Borrower) -> None:
    borrower.says("voice", confirmed(5000, day(-1)), ended_at=ago(days=6))
    for hours in (9, 8, 7):
        borrower.event("promise.broken", occurred_at=ago(hours=hours), due_date=day(-1))
    assert borrower.read()["cycle"]["attempt"] == 2


def test_what_was_said_for_another_date_after_the_broken_promise_stands(borrower: Borrower) -> None:
    borrower.says("voice", confirmed(5000, day(-1)), ended_at=ago(days=6))
    borrower.says("voice", confirmed(4000, day(3)), ended_at=ago(days=3))
    borrower.event("promise.broken", occurred_at=ago(hours=9), due_date=day(-1))
    assert terms(borrower.commitment()) == ("confirmed", "4000.00", day(3))


def test_two_breaks_are_two_attempts_and_the_payments_stay_with_the_cycle(borrower: Borrower) -> None:
    loan = f"LN-{borrower.id}"
    borrower.opens(cycle="2026-11", loan=loan, amount="9000", occurred_at=ago(days=25))
    for due, made, broken in ((-12, 15, 11), (-5, 9, 4)):
        borrower.says("voice", confirmed(3000, day(due)), loan_id=loan, ended_at=ago(days=made))
        borrower.event("promise.broken", due_date=day(due), loan_id=loan, occurred_at=ago(days=broken))
        borrower.pays("500", loan_id=loan, cycle_id="2026-11", occurred_at=ago(days=broken, hours=-5))
    read = borrower.read()
    assert (read["cycle"]["attempt"], read["cycle"]["cycle_id"], read["cycle"]["received"]) == (3, "2026-11", "1000.00")
    assert len(read["history"]) == 2
    attempts = {i["event_id"]: i["attempt"] for i in borrower.timeline() if i["kind"] == "conversation"}
    assert sorted(attempts.values()) == [1, 2]


def test_a_person_takes_a_promise_back(borrower: Borrower) -> None:
    borrower.says("voice", confirmed(5000), conversation_id="k-9", ended_at=ago(hours=6))
    borrower.says("whatsapp", promise(2000, day(7)), ended_at=ago(hours=5))
    borrower.event("promise.retracted", reason="was a test call", conversation_id="k-9")
    read = borrower.read()
    assert terms(read["commitment"]) == ("proposed", "2000.00", day(7))
    assert outcomes(read) == [("retracted", "5000.00", day(5))]
    borrower.event("promise.retracted", reason="and this one")
    assert borrower.commitment() is None
    assert borrower.read()["cycle"]["attempt"] == 1


# -- claims and appointments --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "paid_on"),
    [
        ({"paid_on": "2026-01-27", "quote": "27 ko bhar diya"}, "2026-01-27"),
        ({"paid_on_said": "kal"}, "2026-01-27"),
        ({"quote": "parso hi bhej diya tha"}, "2026-01-26"),
        ({"quote": "already paid"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("channel", ["voice", "whatsapp"])
def test_i_have_already_paid_is_a_claim(borrower: Borrower, channel: str, claim: Json, paid_on: str | None) -> None:
    """AC-70."""
    borrower.opens(occurred_at="2026-01-01T00:00:00+05:30", due_date="2026-02-05")
    borrower.says(
        channel,
        None,
        payment_claim=claim,
        disposition="user_claimed_payment_with_date",
        ended_at="2026-01-28T18:00:00+05:30",
    )
    read = borrower.read()
    assert (read["flags"]["payment_confirmed"], read["cycle"]["status"]) == (False, "open")
    assert read["payment_claim"]["paid_on"] == paid_on
    briefing = borrower.briefing()
    assert "check before asking again" in briefing
    assert paid_on is None or f"{int(paid_on[-2:])} January 2026" in briefing


@pytest.mark.parametrize("paid_on", ["0001-01-01", "1999-12-31", "9999-12-31", day(1), "2026-02-30"])
def test_a_claim_of_a_day_that_cannot_be_is_a_claim_without_a_day(borrower: Borrower, paid_on: str) -> None:
    answer = borrower.says("voice", None, payment_claim={"paid_on": paid_on})
    assert (answer["status"], warned(answer)) == ("merged", {"due_date_withheld"})
    assert borrower.read()["payment_claim"]["paid_on"] is None


def test_a_payment_answers_a_claim(borrower: Borrower) -> None:
    borrower.opens()
    borrower.says("voice", None, payment_claim={"paid_on": day(-1), "amount": 400}, ended_at=ago(hours=5))
    borrower.pays("10", occurred_at=ago(days=4))
    assert borrower.read()["payment_claim"]["amount"] == "400.00"
    borrower.pays("400", occurred_at=ago(hours=7))
    assert borrower.read()["payment_claim"] is None
    assert borrower.resume()["vars"]["payment_claimed"] == "no"


def test_a_callback_is_shown_until_it_is_past(acme: Tenant) -> None:
    one, two = acme.borrower(), acme.borrower()
    one.says("voice", None, callback={"at": f"{day(2)}T17:00:00+05:30", "quote": "parso 5 baje"})
    assert one.resume()["callback"] == {
        "at": f"{day(2)}T11:30:00Z", "at_said": None, "quote": "parso 5 baje",
        "channel": "voice", "conversation_id": one.timeline()[0]["entry"]["conversation_id"],
    }  # fmt: skip
    assert "asked" in one.briefing()
    two.says("voice", None, callback={"at": ago(minutes=1), "quote": "abhi"}, ended_at=ago(hours=1))
    assert two.resume()["callback"] is None


# -- cycles -------------------------------------------------------------------------------------------------------


def test_a_boundary_that_arrives_late_still_sorts_everything_right(acme: Tenant) -> None:
    early, late = acme.borrower(), acme.borrower()
    for one, is_late in ((early, False), (late, True)):
        loan = f"LN-{one.id}"
        one.opens(cycle="CY-1", loan=loan, amount="500", occurred_at=ago(days=40))
        if not is_late:
            one.opens(cycle="CY-2", loan=loan, amount="700", occurred_at=ago(days=10))
        one.says("voice", confirmed(500, day(-20)), ended_at=ago(days=30), conversation_id=f"a{one.id}")
        one.is_sent(occurred_at=ago(days=25))
        one.says("whatsapp", promise(600), ended_at=ago(days=2), conversation_id=f"b{one.id}")
        if is_late:
            one.opens(cycle="CY-2", loan=loan, amount="700", occurred_at=ago(days=10))
        read = one.read()
        assert terms(read["commitment"]) == ("proposed", "600.00", day(5))
        assert read["flags"]["reminded"] is False
        assert read["cycle"]["cycle_id"] == "CY-2"
        placed = {i["event_id"]: i["cycle_id"] for i in one.timeline()}
        assert placed[f"voice:a{one.id}:1"] == "CY-1"
        assert placed[f"whatsapp:b{one.id}:1"] == "CY-2"


def test_opened_twice_the_earliest_opens_and_the_newest_gives_date_and_amount(borrower: Borrower) -> None:
    first = ago(days=9)
    borrower.opens(amount="500", due_date=day(3), occurred_at=first)
    borrower.opens(amount="650", due_date=day(4), occurred_at=ago(days=8))
    cycle = borrower.read()["cycle"]
    assert (cycle["amount_due"], cycle["due_date"]) == ("650.00", day(4))
    assert datetime.fromisoformat(cycle["opened_at"]) == datetime.fromisoformat(first)


def test_what_follows_a_close_belongs_to_the_cycle_until_the_next_opening(borrower: Borrower) -> None:
    loan = f"LN-{borrower.id}"
    borrower.opens(cycle="CY-1", loan=loan, amount="500", occurred_at=ago(days=40))
    borrower.event("cycle.closed", cycle_id="CY-1", loan_id=loan, reason="recalled", occurred_at=ago(days=30))
    paid = borrower.pays("200", loan_id=loan, occurred_at=ago(days=20))
    item = next(i for i in borrower.timeline() if i["event_id"] == paid["event_id"])
    assert item["cycle_id"] == "CY-1"
    assert borrower.read()["cycle"]["status"] == "closed"
    borrower.opens(cycle="CY-2", loan=loan, amount="500", occurred_at=ago(days=10))
    assert [c["status"] for c in borrower.read()["cycles"]] == ["closed", "open"]


def test_before_any_opening_what_names_no_loan_counts_in_each(borrower: Borrower) -> None:
    borrower.says("voice", confirmed(900), ended_at=ago(hours=9))
    for loan in ("LN-a", "LN-b"):
        borrower.is_sent(loan_id=loan, occurred_at=ago(hours=5))
    unplaced = borrower.pays("50")
    for loan in ("LN-a", "LN-b"):
        read = borrower.read(loan_id=loan)
        assert terms(read["commitment"]) == ("confirmed", "900.00", day(5))
        assert (read["flags"]["reminded"], read["cycle"]["received"]) == (True, "0.00")
    assert borrower.read()["cycle"]["loan_id"] is None
    assert "Counted for no loan" in borrower.briefing()
    assert unplaced["status"] == "merged"


def test_an_implicit_cycle_has_nulls_where_nothing_is_known(borrower: Borrower) -> None:
    borrower.says("voice", confirmed(900))
    cycle = borrower.resume()["cycle"]
    assert {n: cycle[n] for n in ("cycle_id", "opened_at", "due_date", "amount_due", "outstanding")} == dict.fromkeys(
        ("cycle_id", "opened_at", "due_date", "amount_due", "outstanding")
    )
    assert (cycle["status"], cycle["attempt"], cycle["received"], cycle["currency"]) == ("open", 1, "0.00", "INR")
    borrower.pays("900")
    assert borrower.read()["cycle"]["status"] == "paid", "without a due the promised amount is what is due"


@pytest.mark.parametrize("then", [{"cycle_id": None}, {"cycle_id": "CY-8"}, {"ended_at": ago(hours=1)}])
def test_a_revision_that_names_another_cycle_moves_its_conversation(borrower: Borrower, then: Json) -> None:
    borrower.says("voice", conversation_id=f"k-{borrower.id}", cycle_id="CY-7", ended_at=ago(days=20))
    borrower.opens(cycle="CY-9", occurred_at=ago(days=10))
    moved = {"conversation_id": f"k-{borrower.id}", "revision": 2, "ended_at": ago(days=20)} | then
    assert borrower.says("voice", **moved)["status"] == "merged"
    assert borrower.says("voice")["status"] == "merged", "the line goes on"


# -- bounds -------------------------------------------------------------------------------------------------------


def test_chatter_never_pushes_out_a_promise(borrower: Borrower) -> None:
    borrower.says("voice", confirmed(777), ended_at=ago(days=9))

    def chats(number: int) -> None:
        borrower.says(
            "whatsapp", {"status": "proposed"}, ended_at=ago(days=8, minutes=-number), summary=f"Chat {number}."
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(chats, range(66)))
    assert terms(borrower.commitment()) == ("confirmed", "777.00", day(5))
    assert borrower.read()["record_version"] == len(borrower.timeline()) == 67
    briefing = borrower.briefing()
    assert ["Chat 57." in briefing, "Chat 58." in briefing, "Chat 65." in briefing] == [False, True, True]


def test_a_cycle_whose_payments_are_not_all_known_any_more_is_never_asked_for_money(borrower: Borrower) -> None:
    loan = f"LN-{borrower.id}"
    borrower.opens(cycle="CY-1", loan=loan, amount="900000", occurred_at=ago(days=90))
    borrower.verify()
    payment = {
        "type": "payment.confirmed",
        "borrower_id": borrower.id,
        "loan_id": loan,
        "amount": "1",
        "currency": "INR",
    }
    events = [
        payment | {"event_id": f"{borrower.id}-{n}", "payment_ref": f"{n}", "occurred_at": ago(days=60, seconds=n)}
        for n in range(513)
    ]
    for some in (events[:500], events[500:]):
        borrower.tenant.post("/v1/events/batch", {"events": some})
    read = borrower.read(after=events[-1]["event_id"])
    assert read["cycle"]["status"] == "unknown"
    assert borrower.refused() == "closed"
    assert borrower.proposed("payment_link")["state"] == "closing"
    borrower.opens(cycle="CY-2", loan=loan, occurred_at=ago(days=5))
    assert [c["status"] for c in borrower.read()["cycles"]] == ["unknown", "open"]
    assert borrower.permit()["cycle_id"] == "CY-2"
