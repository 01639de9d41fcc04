"""What is forgotten is the same in any order, and an entry whose words were taken out is the entry cleaned (DESIGN 3, 11)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.forget import entries as forgetting
from service.intake import envelope
from statemachine.forgetting import cleaned, is_code, mentions, term_of, without_mentions
from statemachine.lifting import lift
from statemachine.merge import join, merge
from statemachine.record import Record, Tombstone
from statemachine.stamps import Entry, MemoryForgotten
from tests.statemachine import histories


@st.composite
def tombstones(draw: st.DrawFn) -> Tombstone:
    kind = draw(st.sampled_from(["everything", "prose", "words"]))
    at = histories.NOON + timedelta(hours=12 * draw(st.integers(-1, 21)))
    words = tuple(
        sorted(
            {
                term_of(w, histories.hasher)
                for w in draw(st.lists(st.sampled_from(histories.WORDS), min_size=1, max_size=2))
            }
        )
    )
    return Tombstone(
        at=at,
        event_id=f" forgotten:{draw(st.integers(1, 4))}",
        everything=kind == "everything",
        prose=kind == "prose",
        words=words if kind == "words" else (),
    )


def forgotten(tombstone: Tombstone, entry: Entry) -> Entry:
    body = MemoryForgotten(event_id=tombstone.event_id, tombstone=tombstone, type="memory.forgotten")
    return Entry(body, entry.stamps)


@given(
    st.lists(histories.entries, min_size=1, max_size=6), st.lists(tombstones(), min_size=1, max_size=3), st.randoms()
)
@settings(max_examples=40, deadline=None)
def test_a_record_is_the_same_whenever_the_request_came(
    history: list[Entry], told: list[Tombstone], chance: object
) -> None:
    unique = {t.key: t for t in told}.values()
    everything = [*history, *(forgotten(t, history[0]) for t in unique)]

    def merged(order: list[Entry]) -> bytes:
        record = Record.new("B-1")
        for entry in order:
            record = merge(record, entry, histories.hasher)
        return record.to_bytes()

    in_order = merged(everything)
    assert merged(everything[::-1]) == in_order
    shuffled = list(everything)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merged(shuffled) == in_order
    half = len(everything) // 2
    one, other = Record.new("B-1"), Record.new("B-1")
    for entry in everything[:half]:
        one = merge(one, entry, histories.hasher)
    for entry in everything[half:]:
        other = merge(other, entry, histories.hasher)
    assert join(one, other, histories.hasher).to_bytes() == in_order


@given(histories.entries, st.lists(tombstones(), min_size=1, max_size=2))
@settings(max_examples=100, deadline=None)
def test_an_entry_without_the_words_lifts_to_its_elements_without_them(entry: Entry, told: list[Tombstone]) -> None:
    """So a rebuild from the cleaned journal gives the record that was cleaned."""
    without = forgetting.cleaned(entry, envelope.body_bytes(entry.body), told, histories.hasher)
    wanted = [cleaned(element, told, histories.hasher) for element in lift(entry)]
    if (
        without is None
    ):  # what was told after everything was forgotten names its number in the journal, and not in the record
        assert wanted == [
            cleaned(e, [t.changed(at=histories.NOON - timedelta(days=9), words=()) for t in told], histories.hasher)
            for e in lift(entry)
        ]
        return
    again = envelope.stored(entry.type, without.body, without.stamps)
    found = [cleaned(element, told, histories.hasher) for element in lift(again)]
    assert [e.encoded for e in found] == [e.encoded for e in wanted]
    assert forgetting.cleaned(again, without.body, told, histories.hasher) is None, "cleaning twice is cleaning once"


def test_a_term_stands_at_the_bounds_of_words() -> None:
    words = [term_of("Ram", histories.hasher)]
    assert mentions("Ask RAM, please", words, histories.hasher)
    assert mentions("Ram's brother", words, histories.hasher)
    assert not mentions("Ramesh and drama", words, histories.hasher)
    assert not mentions("", words, histories.hasher)


def test_labels_that_are_codes_are_known() -> None:
    assert all(map(is_code, ("otp", "payment_link", "hi-IN", "en", "r_5KQ", "flow.v2:opening")))
    assert not any(map(is_code, ("Zebulon", "her wife", "बीवी", "")))


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ("His wife Ram answered. He will pay on Friday.", "He will pay on Friday."),
        ("He will pay. Spoke to Ram Kumar! Call later.", "He will pay. Call later."),
        ("Spoke to Smt. Ram. He will pay.", "He will pay."),
        ("Spoke to Md. Ram Kumar about it. He will pay.", "He will pay."),
        ("- promised 5000\n- wife is Ram\n- call at 6", "- promised 5000\n- call at 6"),
        ("promised 5000 and wife is\nRam answers", ""),
        ("- wife is\n  Ram\n- call at 6", "- call at 6"),
        ("वह राम है। राम आएगा।", "वह राम है। राम आएगा।"),
        ("Ram", ""),
        ("", ""),
    ],
)
def test_of_prose_only_the_sentences_go_that_hold_the_term(told: str, left: str) -> None:
    words = [term_of("Ram", histories.hasher)]
    assert without_mentions(told, words, histories.hasher) == left
    assert without_mentions(left, words, histories.hasher) == left


TERMS = ("Ram", "Ram Kumar", "wife", "5000", "राम", "Md Ram")
pieces = st.sampled_from(
    [
        "Ram",
        "Kumar",
        "wife",
        "5000",
        "राम",
        "Md.",
        "ok",
        ". ",
        "! ",
        "\n",
        "\n- ",
        "\n\n",
        "। ",
        " ",
        '." ',
        "1. ",
        "- ",
    ]
)


@given(st.lists(pieces, max_size=14), st.permutations(TERMS), st.integers(1, len(TERMS)))
@settings(max_examples=200, deadline=None)
def test_sentences_go_the_same_whatever_went_before(told: list[str], order: list[str], many: int) -> None:
    terms = [term_of(text, histories.hasher) for text in order[:many]]
    prose = " ".join(told)
    together = without_mentions(prose, terms, histories.hasher)
    one_by_one = prose
    for term in terms:
        one_by_one = without_mentions(one_by_one, [term], histories.hasher)
    assert one_by_one == together
    assert without_mentions(together, terms, histories.hasher) == together
