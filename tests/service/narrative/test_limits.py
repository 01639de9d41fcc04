"""It always fits, and of any history it tells only what is known (DESIGN 10, 18)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from channels import CHANNELS
from service.narrative import NARRATIVE_CHARACTERS, narrative, previous_step
from service.narrative.values import date_in_words, moment_in_words
from statemachine.conclusions import Claim, Conversation, Cycle, Hold, KnownFact, OptOut, Promise, StartedConversation
from statemachine.elements import CallbackSaid, ClaimSaid
from statemachine.entries import Summary
from statemachine.merge import merge
from statemachine.stamps import Entry
from statemachine.state import BorrowerState, derive
from statemachine.wire import HOLD_KINDS, NOBODY_OUTCOMES, OUTCOMES
from tests.examples import often
from tests.service.narrative.histories import (
    DUE,
    STORY,
    T,
    inferred,
    opened,
    paid,
    state_of,
    told,
    unquoted,
)
from tests.statemachine.histories import LATER, NOON, POLICY, empty, entries, hasher, stamped

# -- it always fits ---------------------------------------------------------------------------------------------------


LONG, ID = "Words upon words. " * 1111, "L" * 128


def largest() -> tuple[BorrowerState, Cycle, datetime]:
    """Everything a record can hold at its largest, and more."""
    state, cycle, now = state_of(STORY)
    money = Decimal("999999999999999999.99")
    one = replace(
        cycle.promise,  # type: ignore[type-var]
        amount=None,
        due_date=None,
        amount_candidates=(Decimal("999999999.99"),) * 9,
        due_date_candidates=(date(2026, 9, 30),) * 9,
        quote=LONG,
        said="s" + LONG,
        overdue=True,
    )
    assert isinstance(one, Promise)
    payment = state_of([opened(), paid(1, 1)])[1].payments[0]
    reversed_ = replace(payment, amount=money, received=money / 2)
    foreign = replace(reversed_, currency="NGN")
    history = tuple(
        replace(one, outcome=outcome, replaced_at=T, replaced_by="whatsapp:x", due_date=DUE + timedelta(days=n))
        for n in range(64)
        for outcome in ("broken", "replaced", "retracted")
    )
    cycle = replace(
        cycle,
        promise=replace(one, outcome="partly_kept"),
        counter_proposals=(one,) * 64,
        history=history,
        payments=(reversed_, foreign),
        received=money,
        amount_due=money,
        outstanding=money,
        payment_claim=Claim(money, "INR", DUE, LONG, LONG, "whatsapp", "c", T),
        broken_at=(T - timedelta(days=1),) * 64,
        reminded=replace(cycle.reminded, value=False, evidence=None),
        attempted_at={},
        reports=(),
    )
    prose = LONG + "I have sent you a reminder and the payment link."
    conversations = tuple(
        Conversation(
            "whatsapp", f"c-{n}", f"e-{n}", 1, T + timedelta(minutes=n), outcome, outcome == "connected", None, None, None,
            "brother" + ID, "outbound", None, None, None, None, prose if n > 60 else None, (), None, None,
        )
        for n in range(80)
        for outcome in ("connected", *OUTCOMES)
    )  # fmt: skip
    holds = tuple(Hold(kind, LONG, loan, T, T) for kind in HOLD_KINDS for loan in (None, "LN-1"))
    stops = tuple(OptOut(c, p, T) for c in ("all", *CHANNELS) for p in ("collections", "marketing"))
    started = tuple(StartedConversation("whatsapp", f"s-{n}", f"s-{n}", T, None, None) for n in range(64))
    facts = tuple(
        KnownFact(f"f-{n}", "income_day", f"{n} {LONG}", "borrower", "inferred", "stable", T, None, ID)
        for n in range(99)
    )
    state = replace(
        state,
        loans=tuple(f"{n}{ID}" for n in range(64)),
        holds=holds,
        opt_outs=stops,
        facts=facts,
        conversations=conversations,
        started=started,
        callback=state_of([told("c", callback=CallbackSaid(said=LONG))])[0].callback,
        unplaced_payments=(reversed_,) * 3,
    )
    return state, cycle, now


@pytest.mark.parametrize("on_hold", [True, False])
def test_the_largest_record_there_can_be_fits_and_its_structure_is_whole(on_hold: bool) -> None:
    state, cycle, now = largest()
    if not on_hold:
        state = replace(state, holds=())
    text = narrative(state, cycle, now=now).text
    assert len(text) <= NARRATIVE_CHARACTERS
    for needed in (
        "attempt 1: open",
        "Promise in force: confirmed",
        "Counter-proposal",
        "INR 999,999,999.99 or another)",
        "30 September 2026 or another)",
        "63 earlier counter-proposals are not told here.",
        "64 broken promises",
        "already paid",
        "called back",
        "Received in this cycle",
        "Reversed",
        "in another currency",
        "Counted for no loan",
        "Opted out of marketing on every channel",
        "no report of it has come",
        "there is no record of it",
        "Attempts in this cycle",
        "99 further facts are not told here.",
        "Conversations, in the order they ended:",
        "earlier conversations are not told here.",
        *(["On hold: ", "8 earlier holds are not told here."] if on_hold else ["To ask: which date is meant"]),
    ):
        assert needed in text, text


# -- any history ------------------------------------------------------------------------------------------------------


LIVE = ("Her balance is 98,765.", "98,765 is overdue. She has paid it.", "In bucket 7.\nOutstanding: 98,765")
LIVE_WORDS = re.compile("98,765|bucket|has paid")


@st.composite
def live_summaries(draw: st.DrawFn) -> Entry:
    at = NOON + timedelta(hours=draw(st.integers(0, 200)))
    outcome = draw(st.sampled_from([None, *OUTCOMES]))
    body = Summary(
        channel=draw(st.sampled_from(tuple(CHANNELS))),
        conversation_id=f"c-{draw(st.integers(1, 9))}",
        ended_at=at,
        outcome=outcome,
        third_party=draw(st.sampled_from([None, "brother", "a man"])),
        summary=draw(st.sampled_from(LIVE)) + draw(st.sampled_from(["", " She will see.", " I sent the link."])),
    )
    facts = draw(st.sampled_from([(), (inferred("goal", LIVE[0]),), (inferred("goal", "a house"),)]))
    claim = draw(st.sampled_from([None, ClaimSaid(quote="already paid")]))
    facts, claim = ((), None) if outcome in NOBODY_OUTCOMES else (facts, claim)
    return stamped(body, at, contact=outcome in ("connected", "transferred"), facts=facts, claim=claim)


def values(thing: object) -> Iterator[object]:
    """All values in a conclusion, however deep."""
    if isinstance(thing, msgspec.Struct):
        for field in fields(thing):
            if field.name != "calendar":
                yield from values(getattr(thing, field.name))
    elif isinstance(thing, tuple | list):
        for item in thing:
            yield from values(item)
    elif isinstance(thing, dict):
        yield from values(list(thing.values()))
    else:
        yield thing


@settings(max_examples=often(120), deadline=None)
@given(st.lists(st.one_of(entries, live_summaries()), max_size=20))
def test_whatever_happened_it_fits_repeats_and_tells_only_what_is_known(history: list[Entry]) -> None:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher)
    state = derive(record, LATER, POLICY)
    zone = ZoneInfo(state.time_zone)
    known = [*values(state), LATER]
    days = {
        date_in_words(v.astimezone(zone).date() if isinstance(v, datetime) else v) for v in known if isinstance(v, date)
    }
    ended = {
        (moment_in_words(c.at, zone), {"voice": "voice call", "whatsapp": "WhatsApp chat"}[c.channel])
        for c in state.conversations
    }
    for cycle in state.cycles:
        told_once, told_again = (narrative(state, cycle, now=LATER) for _ in range(2))
        text, spoken = told_once.text, previous_step(state, cycle, now=LATER)
        assert told_once == told_again
        assert 0 < len(text) <= NARRATIVE_CHARACTERS
        assert spoken
        for said in (text, spoken):
            assert LIVE_WORDS.search(said) is None, said
            assert set(re.findall(r"\d{1,2} [A-Z][a-z]+ \d{4}", unquoted(said))) <= days
        lines = re.findall(r"^- (\d.*?, \d\d:\d\d), (voice call|WhatsApp chat)", text, re.M)
        assert set(lines) <= ended
        assert len(lines) <= len(state.conversations)
        conversations = {c.conversation_id for c in state.conversations} | {f.fact_id for f in state.facts}
        assert {w.conversation_id for w in told_once.withheld} <= conversations
        if cycle.promise is not None:
            p = cycle.promise
            assert p.amount is None or f"INR {p.amount:,.0f}" in spoken
            assert p.due_date is None or date_in_words(p.due_date) in spoken
