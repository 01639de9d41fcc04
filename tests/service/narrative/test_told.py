"""What must be told in a briefing, and what must not (DESIGN 10)."""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal
from itertools import permutations

import pytest
from msgspec.structs import replace

from service.narrative import Withheld, narrative, previous_step
from statemachine.elements import CallbackSaid, ClaimSaid
from statemachine.stamps import Entry, PromiseTerms
from tests.service.narrative.histories import (
    DUE,
    LATER_DUE,
    STORY,
    T,
    briefing,
    confirmed,
    event,
    inferred,
    opened,
    paid,
    promise,
    state_of,
    step,
    told,
)

# -- the story --------------------------------------------------------------------------------------------------------


def test_the_story_reads_like_this() -> None:
    told_story = briefing(*STORY)
    assert told_story.text == (
        "Loan LN-1, cycle 2026-11, attempt 1: open. The due was set at INR 12,500 for 5 December 2026.\n"
        "Promise in force: confirmed; INR 12,500 by 2 December 2026; said on a voice call on 28 November 2026.\n"
        "A reminder was sent on WhatsApp on 29 November 2026 (delivered).\n"
        "On 28 November 2026 on a voice call the agent said that a payment link was sent; there is no record of it.\n"
        "Attempts in this cycle that did not reach the borrower: 2 (1 no answer, 1 voicemail), the last on a voice call on"
        " 28 November 2026.\n"
        "Stated facts:\n"
        "- preferred language: “prefers Hindi” (stated on 20 November 2026)\n"
        "Facts inferred from what was said:\n"
        "- income day: “salary on the 7th” (inferred on 28 November 2026, quoted)\n"
        "Conversations, in the order they ended:\n"
        "- 28 November 2026, 08:42, voice call: a message was left; the borrower was not spoken to."
        " Reported then: “Left a message about the dues”\n"
        "- 28 November 2026, 18:42, WhatsApp chat (inbound): with the borrower, as far as negotiation."
        " Reported then: “She said: ok I will pay 12,500 by the 2nd.”\n"
        "- 28 November 2026, 23:42, voice call (outbound): with the borrower."
        " Reported then: “She agreed to the read-back. I have sent you the payment link.” Part of its report is withheld.\n"
        "- 29 November 2026, 00:42, WhatsApp chat: with the borrower. Reported then: “She says she will see.”"
    )
    assert told_story.withheld == (Withheld("c-2", "balance"),)


def test_the_order_of_arrival_changes_nothing() -> None:
    tie = [
        opened(),
        told("v", "She agreed.", promise=confirmed()),
        told("w", "She offered less.", channel="whatsapp", promise=promise(4000, LATER_DUE)),
        told("late", "She wrote before.", channel="whatsapp", hours=-1),
    ]
    texts = {briefing(*order).text for order in permutations(tie)}
    assert len(texts) == 1
    (text,) = texts
    assert text.index("wrote before") < min(text.index("She agreed"), text.index("offered less"))
    assert "confirmed; INR 5,000 by 2 December 2026" in text


def test_of_nobody_it_says_that_nothing_is_known() -> None:
    assert briefing().text == "No due is on record.\nNo conversation is on record."
    assert step() == "No earlier step is known."


# -- what must be told ------------------------------------------------------------------------------------------------


TOLD: list[tuple[str, tuple[Entry, ...], list[str], list[str]]] = [
    # what, history, sentences that must be there, words that must not
    (
        "a proposed promise with its words",
        (opened(), told("c", channel="whatsapp", promise=promise(12500, quote="ok 12,500"))),
        [
            "Promise in force: proposed, not confirmed; INR 12,500 by 2 December 2026;"
            " said on WhatsApp on 28 November 2026. The borrower’s words, unchecked: “ok 12,500”."
        ],
        ["To ask"],
    ),
    (
        "two candidate dates are read back",
        (
            told(
                "c",
                channel="whatsapp",
                promise=promise(
                    due=None, due_date_candidates=(date(2026, 12, 4), date(2026, 12, 11)), said="next Friday"
                ),
            ),
        ),
        [
            "INR 5,000, the date not settled (4 December 2026 or 11 December 2026)",
            "Said: “next Friday”.",
            "To ask: which date is meant; read the date back.",
        ],
        ["income day"],
    ),
    (
        "a promise without a date asks for one and guesses none",
        (told("c", promise=promise(due=None, said="salary aane par de dunga", quote="salary aane par de dunga")),),
        ["INR 5,000, no date settled", "Said: “salary aane par de dunga”.", "To ask: the date; read the date back."],
        ["words", "income day"],
    ),
    (
        "a known income day is a question and no date",
        (
            told(
                "c",
                promise=promise(due=None, said="salary aane par"),
                facts=(inferred("income_day", "salary on the 7th", grounding="quoted"),),
            ),
        ),
        [
            "To ask: the date; read the date back. As a question only, never as the promised date,"
            " the income day may be offered: “salary on the 7th” (inferred, quoted)."
        ],
        ["by 7"],
    ),
    (
        "somebody else's income day is not offered",
        (told("c", promise=promise(due=None), facts=(inferred("income_day", "salary on the 7th", about="brother"),)),),
        ["- income day of brother: “salary on the 7th”"],
        ["may be offered"],
    ),
    (
        "a day that does not exist is kept as said",
        (told("c", promise=promise(due=None, said="29 Feb")),),
        ["no date settled", "Said: “29 Feb”.", "read the date back"],
        ["March"],
    ),
    (
        "two candidate amounts are read back",
        (told("c", promise=promise(None, amount_candidates=(Decimal(15000), Decimal(50000)), said="pandrah hazaar")),),
        [
            "the amount not settled (INR 15,000 or INR 50,000) by 2 December 2026",
            "Said: “pandrah hazaar”.",
            "To ask: which amount is meant; read the amount back.",
        ],
        ["Promise in force: confirmed"],
    ),
    (
        "a promise without an amount",
        (told("c", promise=promise(None)),),
        ["no amount settled by 2 December 2026", "To ask: the amount; read the amount back."],
        [],
    ),
    (
        "another currency is neither added nor compared",
        (opened(), told("c", promise=PromiseTerms(amount=Decimal(699990), currency="NGN", due_date=DUE))),
        ["NGN 699,990 by", "That promise is in NGN and the loan in INR: neither add nor compare the two."],
        ["INR 699"],
    ),
    (
        "a part payment leaves a part open",
        (opened(), told("c", promise=confirmed()), paid(2000, 10)),
        [
            "Partly kept: INR 2,000 has come in since it was made; INR 3,000 of it was open at 00:42 on 30 November 2026,"
            " so ask for no more than that and check again first.",
            "Received in this cycle: INR 2,000 in 1 payment, on 29 November 2026."
            " Of the due INR 10,500 was open at 00:42 on 30 November 2026: check again before repeating it.",
        ],
        ["overdue"],
    ),
    (
        "no more is open of a promise than of the due",
        (opened(amount=2500), told("c", promise=confirmed()), paid(2000, 10)),
        ["INR 500 of it was open"],
        [],
    ),
    (
        "a kept promise with a rest of the due open",
        (opened(), told("c", promise=confirmed()), paid(5000, 10)),
        ["Promise in force: confirmed", "It was kept: INR 5,000 was paid in time.", "INR 7,500 was open"],
        ["Partly", "ask for"],
    ),
    (
        "a later offer stands beside the promise",
        (
            opened(),
            told("c", promise=confirmed()),
            told("d", channel="whatsapp", hours=2, promise=promise(700, LATER_DUE)),
        ),
        [
            "confirmed; INR 5,000 by 2 December 2026",
            "Counter-proposal, later than the promise: INR 700 by 6 December 2026; said on WhatsApp on 28 November 2026."
            " Bring it up.",
        ],
        [],
    ),
    (
        "a moved date",
        (opened(), told("c", promise=confirmed()), told("d", hours=20, promise=confirmed(due=LATER_DUE))),
        [
            "Promise in force: confirmed; INR 5,000 by 6 December 2026",
            "Earlier promise: confirmed; INR 5,000 by 2 December 2026; said on a voice call on 28 November 2026;"
            " replaced on 29 November 2026 by what was said on a voice call.",
        ],
        [],
    ),
    (
        "the same terms confirmed are one promise",
        (opened(), told("c", channel="whatsapp", promise=promise()), told("d", hours=2, promise=confirmed())),
        ["Promise in force: confirmed"],
        ["Earlier promise"],
    ),
    (
        "a promise that a person took off the record",
        (opened(), told("c", promise=confirmed()), event("promise.retracted", 3, reason="typed wrong")),
        ["Earlier promise: confirmed; INR 5,000 by 2 December 2026", "taken off the record by a person."],
        ["in force"],
    ),
    (
        "payment claimed, not confirmed",
        (
            opened(),
            told(
                "c",
                disposition="user_claimed_payment_with_date",
                claim=ClaimSaid(paid_on=date(2026, 11, 27), quote="27 ko bhar diya"),
            ),
        ),
        [
            "The borrower says they already paid on 27 November 2026 (said on a voice call on 28 November 2026:"
            " “27 ko bhar diya”). It is a claim, not a payment: check before asking again."
        ],
        ["Received"],
    ),
    (
        "an appointment",
        (told("c", callback=CallbackSaid(at=T + timedelta(hours=47), said="parso shaam")),),
        ["The borrower asked on a voice call to be called back on 30 November 2026 at 17:42 (“parso shaam”)."],
        [],
    ),
    (
        "a hold",
        (
            opened(),
            told("c", promise=promise(due=None)),
            event("hold.placed", 1, kind="do_not_contact", reason="asked\nby e-mail"),
        ),
        [
            "On hold: do not contact (“asked by e-mail”), since 28 November 2026.\nNothing is asked for while a hold stands.",
            "Promise in force: proposed",
        ],
        ["To ask", "check before"],
    ),
    (
        "stops, of contact and of marketing",
        (
            event("contact.opted_out", 1, channel="whatsapp"),
            event("contact.opted_out", 3, channel="voice"),
            event("contact.opted_out", 2, channel="all", purpose="marketing"),
        ),
        [
            "Opted out of being contacted on WhatsApp on 28 November 2026, on a voice call on 28 November 2026.",
            "Opted out of marketing on every channel on 28 November 2026.",
        ],
        [],
    ),
    (
        "messages of ours by channel and day",
        (
            opened(),
            event("payment_link.shared", 1, channel="whatsapp", message_id="L-1", outcome="delivered"),
            event("reminder.sent", 2, channel="voice", message_id="m-1", outcome="sent"),
        ),
        [
            "The payment link was shared on WhatsApp on 28 November 2026 (delivered).",
            "A reminder was sent on a voice call on 28 November 2026 (sent).",
        ],
        ["no record"],
    ),
    (
        "a message that may have gone out",
        (opened(), event("reminder.sent", 1, channel="whatsapp", message_id="m-1", outcome="attempted")),
        ["Whether a reminder that was tried on 28 November 2026 went out is unclear: check first."],
        ["was sent"],
    ),
    (
        "what an agent says it sent, without an event",
        (opened(), told("c", "I have sent you the payment link and a reminder.")),
        [
            "On 28 November 2026 on a voice call the agent said that a payment link and a reminder were sent;"
            " there is no record of it."
        ],
        ["was shared on"],
    ),
    (
        "what an agent says it sent, with an event",
        (
            opened(),
            told("c", "I have sent you the payment link."),
            event("payment_link.shared", 1, channel="whatsapp", message_id="L-1", outcome="sent"),
        ),
        ["The payment link was shared on WhatsApp"],
        ["no record"],
    ),
    (
        "voicemail",
        (told("c", "Left a message about the dues", outcome="voicemail"),),
        ["a message was left; the borrower was not spoken to.", "(voicemail)"],
        ["with the borrower."],
    ),
    (
        "the brother, in his words",
        (told("c", "The brother said he will pay.", outcome="third_party", third_party="brother"),),
        [
            "the brother answered; the borrower was not spoken to."
            " As reported, the brother said: “The brother said he will pay.”"
        ],
        ["Promise", "with the borrower", "Reported then"],
    ),
    (
        "a stranger's name is a quotation",
        (told("c", outcome="third_party", third_party="Ramesh\nfrom next door"),),
        ["somebody else (“Ramesh from next door”) answered"],
        [],
    ),
    (
        "attempts are counted, the last is dated",
        (
            opened(),
            told("a", outcome="no_answer", hours=-30),
            told("b", outcome="no_answer", hours=-20),
            told("c", outcome="busy", hours=-15),
            told("d", outcome="wrong_number", hours=20),
        ),
        [
            "Attempts in this cycle that did not reach the borrower: 4 (2 no answer, 1 busy, 1 wrong number),"
            " the last on a voice call on 29 November 2026."
        ],
        ["Conversations"],
    ),
    (
        "a report whose outcome is still to come",
        (told("k-1", outcome=None),),
        ["voice call: its outcome is not known yet."],
        ["not reach", "with the borrower"],
    ),
    (
        "a report that never came",
        (event("conversation.started", -3, channel="voice", conversation_id="k-2"),),
        [
            "A voice call was started on 28 November 2026 at 15:42; no report of it has come, so nothing is known of it.",
            "No conversation is on record.",
        ],
        ["Promise"],
    ),
    (
        "a payment that was taken back",
        (
            opened(),
            paid(2000, 1),
            paid(300, 2, ref="P-2"),
            event("payment.reversed", 5, payment_ref="P-1", reason="bounced"),
        ),
        [
            "Received in this cycle: INR 300 in 1 payment",
            "Reversed in part or whole: 1 payment, INR 2,000 of 28 November 2026.",
        ],
        [],
    ),
    (
        "a payment in another currency",
        (opened(), paid(2000, 1, currency="NGN")),
        ["Not counted here: 1 payment in another currency, NGN 2,000 on 28 November 2026."],
        ["Received"],
    ),
    (
        "a payment that names none of several loans",
        (
            event("reminder.sent", -5, loan_id="LN-1", channel="voice", message_id="m-1", outcome="sent"),
            event("reminder.sent", -4, loan_id="LN-2", channel="voice", message_id="m-2", outcome="sent"),
            paid(1000, 1),
        ),
        [
            "Counted for no loan, because none was named: 1 payment, INR 1,000 on 28 November 2026."
            " Check before asking again."
        ],
        ["Received"],
    ),
    (
        "other loans are named",
        (opened(), opened(-700, loan="LN-2", cycle="CY-9")),
        ["Loan LN-1, cycle CY-1", "Other loans of the borrower: LN-2."],
        [],
    ),
    (
        "a chat is told by its highest revision, once",
        (
            told("c-1", "no reply", channel="whatsapp"),
            told("c-1", "She will pay.", channel="whatsapp", revision=2, hours=1, promise=promise()),
        ),
        ["“She will pay.”"],
        ["no reply"],
    ),
    (
        "what came before a promise is no part of it",
        (opened(), paid(2000, -10), told("c", promise=confirmed())),
        ["Received in this cycle: INR 2,000"],
        ["has come in since"],
    ),
    (
        "what came in another currency is no part of a promise",
        (opened(), told("c", promise=confirmed()), paid(2000, 1, currency="USD")),
        ["USD 2,000"],
        ["has come in since"],
    ),
    (
        "what an agent says it sent and a provider has yet to confirm",
        (
            opened(),
            told("c", "I have sent you the payment link.", promise=confirmed()),
            event("payment_link.shared", 1, channel="whatsapp", message_id="L-1", outcome="attempted"),
        ),
        ["“I have sent you the payment link.”"],
        ["no record"],
    ),
    (
        "what was said of another cycle",
        (told("c", "She will pay.", hours=-700, loan_id="LN-1"), opened()),
        ["voice call, in another loan or cycle: with the borrower. Reported then: “She will pay.”"],
        ["Promise"],
    ),
]


@pytest.mark.parametrize(("history", "there", "not_there"), [row[1:] for row in TOLD], ids=[row[0] for row in TOLD])
def test_the_briefing_tells(history: tuple[Entry, ...], there: list[str], not_there: list[str]) -> None:
    text = briefing(*history).text
    for sentence in there:
        assert sentence in text, text
    for words in not_there:
        assert words not in text, text


def test_an_overdue_promise_is_called_so_and_late_money_is_not_asked_for_again() -> None:
    late = briefing(opened(), told("c", promise=confirmed()), hours=24 * 6).text
    assert "Its date is past: it is overdue." in late
    with_money = briefing(opened(), told("c", promise=confirmed()), paid(2000, 24 * 5), hours=24 * 6).text
    assert "INR 2,000 has come in since it was made; INR 3,000 of it was open" in with_money
    assert "Partly kept" not in with_money
    in_time = briefing(opened(), told("c", promise=confirmed()), hours=24).text
    assert "overdue" not in in_time


def test_broken_promises_are_counted_once_for_each_date_and_named() -> None:
    first = (opened(), told("c", promise=confirmed()), event("promise.broken", 120, due_date="2026-12-02"))
    again = told("d", channel="whatsapp", hours=121, promise=promise(due=LATER_DUE))
    text = briefing(*first, again, hours=122).text
    assert (
        "1 broken promise in this cycle: INR 5,000 by 2 December 2026; said on a voice call on 28 November 2026."
        in text
    )
    assert "Promise in force: proposed, not confirmed; INR 5,000 by 6 December 2026" in text
    assert "attempt 2: open" in text
    both = briefing(*first, again, event("promise.broken", 220, due_date="2026-12-06"), hours=221).text
    assert (
        "2 broken promises in this cycle: INR 5,000 by 2 December 2026; said on a voice call on 28 November 2026 |"
        in both
    )
    assert "Promise in force" not in both


def test_what_an_agent_said_it_sent_in_an_earlier_attempt_is_no_matter_of_this_one() -> None:
    history = (
        opened(),
        told("c", "I have sent you the payment link.", promise=confirmed()),
        event("payment_link.shared", 1, channel="whatsapp", message_id="L-1", outcome="sent"),
        event("promise.broken", 120, due_date="2026-12-02"),
    )
    text = briefing(*history, hours=121).text
    assert "no record" not in text
    assert "was shared" not in text


OVER: dict[str, tuple[Entry, ...]] = {
    "paid": (opened(), told("c", promise=promise(due=None)), paid(12500, 10)),
    "closed": (
        opened(),
        told("c", promise=promise(None)),
        event("cycle.closed", 10, cycle_id="CY-1", loan_id="LN-1", reason="other"),
    ),
    "unknown": (opened(), told("c", promise=confirmed())),
}


@pytest.mark.parametrize("status", OVER)
def test_in_a_cycle_that_is_over_it_says_so_and_asks_for_nothing(status: str) -> None:
    state, cycle, now = state_of(OVER[status], hours=24 * 9)
    cycle = replace(cycle, status=status)  # type: ignore[arg-type]
    text = narrative(state, cycle, now=now).text
    assert "nothing is asked for" in text.splitlines()[0]
    assert "Promise: " in text
    assert re.search(r"To ask|ask for no more|overdue|Bring it up|was open at|in force", text) is None, text
    spoken = previous_step(state, cycle, now=now)
    assert {"paid": "The due is paid", "closed": "closed", "unknown": "not fully known"}[status] in spoken


def test_a_payment_is_in_the_very_next_reading() -> None:
    before = briefing(opened(), told("c", promise=confirmed(12500)))
    after = briefing(opened(), told("c", promise=confirmed(12500)), paid(12500, 1))
    assert "Received" not in before.text
    assert "paid, so nothing is asked for" in after.text
    assert "Received in this cycle: INR 12,500" in after.text
