"""A text that a person withheld is told to nobody: not again, not as a fact, and not because something newer came (DESIGN 16)."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachine.elements import CallbackSaid, ClaimSaid, FactSaid
from statemachine.entries import Summary
from statemachine.forgetting import term_of
from statemachine.merge import merge
from statemachine.record import Limits, Record, Tombstone
from statemachine.stamps import Entry, MemoryForgotten, PromiseTerms, TextWithheld
from statemachine.state import BorrowerState, derive
from statemachine.withholding import hidden_by, unquoted, without
from statemachine.words import folded
from tests.examples import often
from tests.statemachine.histories import LATER, NOON, POLICY, empty, entries, hasher, stamped

SENTENCE = "Her friend Martha called."
PROSE = f"She will pay. {SENTENCE} She was kind."


def told(conversation: str, days: int, prose: str = PROSE, revision: int = 1) -> Entry:
    at = NOON + timedelta(days=days)
    body = Summary(
        channel="voice",
        conversation_id=conversation,
        revision=revision,
        ended_at=at,
        outcome="connected",
        summary=prose,
    )
    fact = FactSaid(fact_id=f"f-{conversation}", kind="goal", text="her friend Martha called")
    return stamped(body, at, contact=True, facts=(fact,))


def judged(days: float, sentence: str = SENTENCE, *, shown: bool = False) -> Entry:
    at = NOON + timedelta(days=days)
    body = TextWithheld(
        by="asha", event_id=f"j-{days}-{shown}", sentence=sentence, shown=shown, type="text.withheld", why="untrue"
    )
    return stamped(body, at)


def state_of(*history: Entry, limits: Limits | None = None) -> BorrowerState:
    record = empty()
    for entry in history:
        record = merge(record, entry, hasher, limits or Limits())
    return derive(Record.from_bytes(record.to_bytes()), LATER, POLICY)


def test_the_sentence_is_in_no_conversation_and_no_fact_and_the_rest_stays() -> None:
    state = state_of(told("c-1", 1), judged(2))
    (conversation,) = state.conversations
    assert (conversation.prose, conversation.held_back) == ("She will pay. She was kind.", 1)
    assert state.facts == ()
    (withheld,) = state.withheld_texts
    assert (withheld.text, withheld.by, withheld.why) == (SENTENCE, "asha", "untrue")


def test_a_higher_revision_and_a_later_conversation_do_not_bring_it_back() -> None:
    spelled = PROSE.replace(SENTENCE, "her friend, MARTHA, called!")
    state = state_of(told("c-1", 1), judged(2), told("c-1", 3, revision=2), told("c-2", 4, spelled))
    assert [c.prose for c in state.conversations] == ["She will pay. She was kind."] * 2
    assert state.facts == ()


def test_all_of_a_report_may_be_withheld() -> None:
    (conversation,) = state_of(told("c-1", 1, SENTENCE), judged(2)).conversations
    assert (conversation.prose, conversation.held_back) == ("", 1)


def test_what_was_withheld_may_be_shown_again_and_the_last_word_counts() -> None:
    shown = state_of(told("c-1", 1), judged(2), judged(3, shown=True))
    assert (shown.conversations[0].prose, shown.withheld_texts) == (PROSE, ())
    assert [f.text for f in shown.facts] == ["her friend Martha called"]
    again = state_of(told("c-1", 1), judged(4), judged(3, shown=True), judged(2))
    assert [one.at for one in again.withheld_texts] == [NOON + timedelta(days=4)]
    assert state_of(judged(2, shown=True), judged(2)).withheld_texts, "at the same time withholding counts"


def test_it_is_never_let_go_however_much_is_said_after_it() -> None:
    chatter = [told(f"c-{n}", 3 + n) for n in range(9)]
    state = state_of(judged(2), *chatter, limits=Limits(bucket=1, payments=1, prose=1, total=2))
    assert state.withheld_texts
    assert all(SENTENCE not in (c.prose or "") for c in state.conversations)


def test_what_was_forgotten_of_it_leaves_no_word() -> None:
    stone = Tombstone(at=NOON + timedelta(days=9), event_id="f-1", words=(term_of("Martha", hasher),))
    forgotten = stamped(MemoryForgotten(event_id="f-1", tombstone=stone, type="memory.forgotten"), NOON)
    for history in ([told("c-1", 1), judged(2), forgotten], [forgotten, judged(2), told("c-1", 1)]):
        record = empty()
        for entry in history:
            record = merge(record, entry, hasher)
        assert b"Martha" not in record.to_bytes()
        assert derive(record, LATER, POLICY).withheld_texts == ()


def quoting(conversation: str, days: int, quote: str) -> Entry:
    """A report that says nothing in prose, and quotes these words as promise, claim, appointment and fact."""
    at = NOON + timedelta(days=days)
    body = Summary(channel="voice", conversation_id=conversation, ended_at=at, outcome="connected")
    return stamped(
        body,
        at,
        contact=True,
        promise=PromiseTerms(
            amount=Decimal(500), currency="INR", due_date=(at + timedelta(days=30)).date(), grounding="quoted",
            quote=quote, said="500", status="proposed",
        ),
        claim=ClaimSaid(quote=quote),
        callback=CallbackSaid(at=LATER + timedelta(days=2), quote=quote),
        facts=(FactSaid(fact_id=f"f-{conversation}", kind="goal", text="to be free of it", quote=quote),),
    )  # fmt: skip


def quotes_of(state: BorrowerState) -> list[str | None]:
    promises = [p for c in state.cycles for p in (c.promise, *c.counter_proposals, *c.history) if p]
    claims = [c.payment_claim for c in state.cycles if c.payment_claim]
    said = [*promises, *claims, *([state.callback] if state.callback else []), *state.facts]
    return [one.quote for one in said]


@pytest.mark.parametrize(
    "quote", [SENTENCE, "her friend Martha called", "sir, her friend Martha called me", "friend martha called"]
)
def test_words_that_are_withheld_are_in_no_quote_and_what_they_stand_for_stays(quote: str) -> None:
    assert quotes_of(state_of(quoting("c-1", 1, quote))) == [quote] * 4
    state = state_of(quoting("c-1", 1, quote), judged(2), quoting("c-2", 3, quote))
    assert set(quotes_of(state)) == {None}
    (promise,) = [c.promise for c in state.cycles if c.promise]
    assert (promise.amount, promise.said, promise.status) == (Decimal("500.00"), "500", "proposed")
    assert [fact.text for fact in state.facts] == ["to be free of it"] * 2
    assert quotes_of(state_of(quoting("c-1", 1, quote), judged(2), judged(3, shown=True))) == [quote] * 4


@pytest.mark.parametrize(
    ("quote", "left"),
    [
        ("I will pay. Her friend Martha called. Ok.", "I will pay. Ok."),
        ("yes", "yes"),
        ("Martha called", "Martha called"),
        ("I called her friend", "I called her friend"),
        ("", ""),
        (None, None),
    ],
)
def test_of_a_quote_no_more_goes_than_says_what_is_withheld(quote: str | None, left: str | None) -> None:
    assert unquoted(quote, frozenset({folded(SENTENCE)})) == left


def test_a_quote_of_several_sentences_that_was_withheld_as_a_whole_is_told_by_none_of_them() -> None:
    hidden = frozenset({folded("Martha called. He paid.")})
    assert unquoted("Martha called. He paid.", hidden) is None
    assert unquoted("Martha called.", hidden) == "Martha called."


def test_words_that_only_name_terms_stay_while_they_say_but_a_part() -> None:
    hidden = frozenset({folded("She will pay 500 on the 25th.")})
    assert unquoted("500 on the 25th", hidden) is None
    assert unquoted("500 on the 25th", hidden, is_terms=True) == "500 on the 25th"
    assert unquoted("ok, she will pay 500 on the 25th", hidden, is_terms=True) is None


@given(history=st.lists(entries, max_size=12), sentence=st.sampled_from(["She will see.", SENTENCE]))
@settings(max_examples=often(60), deadline=None)
def test_after_any_history_a_text_withheld_last_is_nowhere(history: list[Entry], sentence: str) -> None:
    state = state_of(*history, stamped(judged(0, sentence).body, LATER - timedelta(hours=1)))
    hidden = hidden_by(state.withheld_texts)
    assert all(without(c.prose, hidden)[1] == 0 and sentence not in c.prose for c in state.conversations if c.prose)
    assert all(folded(sentence) not in folded(quote) for quote in quotes_of(state) if quote)
