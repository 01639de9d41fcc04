"""The step that was just taken, in one sentence."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from service.narrative import previous_step
from statemachine.stamps import Entry
from tests.service.narrative.histories import (
    STORY,
    confirmed,
    event,
    opened,
    paid,
    promise,
    state_of,
    step,
    told,
)

STEPS: list[tuple[str, tuple[Entry, ...], str]] = [
    (
        "a proposed promise",
        (opened(), told("c", channel="whatsapp", promise=promise(12500, quote="ok"))),
        "On 28 November 2026 on WhatsApp the borrower said they would pay INR 12,500 by 2 December 2026;"
        " it is not confirmed yet.",
    ),
    (
        "a confirmed promise",
        (opened(), told("c", promise=confirmed(12500))),
        "On 28 November 2026 on a voice call the borrower promised INR 12,500 by 2 December 2026, and confirmed it when it"
        " was read back.",
    ),
    (
        "a promise without a date",
        (told("c", promise=promise(due=None, said="salary aane par")),),
        "On 28 November 2026 on a voice call the borrower said they would pay INR 5,000 by a date not settled yet"
        " (“salary aane par”); it is not confirmed yet.",
    ),
    (
        "a promise without terms",
        (told("c", promise=promise(None, None, said="jaldi de dunga")),),
        "On 28 November 2026 on a voice call the borrower said they would pay, with neither an amount nor a date settled"
        " (“jaldi de dunga”); it is not confirmed yet.",
    ),
    (
        "a promise without an amount",
        (told("c", channel="whatsapp", promise=promise(None)),),
        "On 28 November 2026 on WhatsApp the borrower said they would pay by 2 December 2026, with no amount named; it is"
        " not confirmed yet.",
    ),
    (
        "two candidate amounts",
        (told("c", promise=promise(None, amount_candidates=(Decimal(15000), Decimal(50000)))),),
        "On 28 November 2026 on a voice call the borrower said they would pay an amount not settled yet (INR 15,000 or"
        " INR 50,000) by 2 December 2026; it is not confirmed yet.",
    ),
    (
        "a promise kept in part",
        (opened(), told("c", promise=confirmed()), paid(2000, 10)),
        "On 28 November 2026 on a voice call the borrower promised INR 5,000 by 2 December 2026, and confirmed it when it"
        " was read back. INR 2,000 of it had come in by 00:42 on 30 November 2026.",
    ),
    (
        "a promise kept",
        (opened(amount=5000), told("c", promise=confirmed()), paid(5000, 10)),
        "On 28 November 2026 on a voice call the borrower promised INR 5,000 by 2 December 2026; it was kept."
        " The due is paid.",
    ),
    (
        "a payment without a promise",
        (opened(), paid(2000, 10)),
        "On 29 November 2026 a payment came in; INR 2,000 had been received in all by 00:42 on 30 November 2026.",
    ),
    (
        "a cycle closed",
        (opened(), event("cycle.closed", 10, cycle_id="CY-1", loan_id="LN-1", reason="recalled")),
        "The lender has closed the cycle.",
    ),
    (
        "a conversation",
        (opened(), told("c", "She asked for time. She will call.", reached="negotiation", step="negotiate")),
        "On 28 November 2026 on a voice call the borrower spoke with us, as far as negotiation."
        " Reported then: “She asked for time. She will call.”",
    ),
    (
        "a conversation of which only the end fits",
        (told("c", "She spoke of this and that. " * 9 + "She will call.", channel="whatsapp"),),
        "On 28 November 2026 on WhatsApp the borrower chatted with us. Reported then: “"
        + "She spoke of this and that. " * 8
        + "She will call.”",
    ),
    (
        "a conversation whose report may not be shown",
        (told("c", "Her balance is 12,400."),),
        "On 28 November 2026 on a voice call the borrower spoke with us.",
    ),
    (
        "a report that tells of a message without a record",
        (told("c", "I have sent you the payment link."),),
        "On 28 November 2026 on a voice call the borrower spoke with us.",
    ),
    (
        "a link",
        (
            opened(),
            event("reminder.sent", 1, channel="voice", message_id="m-1", outcome="sent"),
            event("payment_link.shared", 2, channel="whatsapp", message_id="L-1", outcome="read"),
        ),
        "On 28 November 2026 on WhatsApp the payment link was shared (read).",
    ),
    (
        "a reminder",
        (opened(), event("reminder.sent", 1, channel="voice", message_id="m-1", outcome="sent")),
        "On 28 November 2026 on a voice call a reminder was sent (sent).",
    ),
    (
        "a voicemail",
        (opened(), told("c", "Left a message", outcome="voicemail")),
        "On 28 November 2026 on a voice call the borrower was not reached: a message was left.",
    ),
    (
        "an outcome still to come",
        (told("c", outcome=None),),
        "On 28 November 2026 on a voice call there was a conversation whose outcome is not known yet.",
    ),
    (
        "nothing in this cycle, something before",
        (told("c", "She will pay.", hours=-700, loan_id="LN-1"), opened()),
        "No earlier step is known of this loan and cycle; in another the borrower spoke with us on 30 October 2026.",
    ),
]


@pytest.mark.parametrize(("history", "words"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS])
def test_the_previous_step_is(history: tuple[Entry, ...], words: str) -> None:
    assert step(*history) == words


def test_the_previous_step_of_an_overdue_and_of_a_broken_promise() -> None:
    history = (opened(), told("c", promise=confirmed()))
    said = "On 28 November 2026 on a voice call the borrower promised INR 5,000 by 2 December 2026; "
    assert step(*history, hours=120) == said + "that date is past."
    broken = event("promise.broken", 121, due_date="2026-12-02")
    assert step(*history, broken, hours=122) == said + "that promise was broken, as reported on 3 December 2026."
    since = told("d", "She asked for time.", hours=130)
    assert step(*history, broken, since, hours=131).endswith("Reported then: “She asked for time.”")


def test_a_loan_that_the_record_does_not_know_has_no_step() -> None:
    state, cycle, now = state_of(STORY)
    other = replace(state_of([])[1], loan_id="LN-none")
    assert previous_step(state, other, now=now).startswith("No earlier step is known of this loan and cycle;")
    assert cycle.promise is not None
