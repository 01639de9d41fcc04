"""How words meet: in any Unicode form and case, stemmed, by how they sound, and in three languages that say the same."""

from __future__ import annotations

import pytest

from service.recall.ranking import FullText
from service.recall.words import keys_of

RANKING = FullText()


def found(query: str, *notes: str) -> list[str]:
    """The notes that answer a query, best first."""
    return [notes[hit.place] for hit in RANKING.ranked(query, [(note, "") for note in notes])]


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("José", "her brother Jose\u0301 pays"),
        ("jose", "her brother José pays"),
        ("MARTHA", "martha's number"),
        ("calls", "call only after 6 pm"),
        ("preferred", "prefers Hindi"),
        ("tareekh", "salary 7 tarikh ko"),
        ("तारीख", "salary 7 tareekh ko"),
        ("tareekh", "वेतन सात तारीख को"),
        ("zyada", "jyada paise nahi hai"),
        ("wife", "मेरी पत्नी से बात करो"),
        ("biwi", "wife is Martha"),
        ("तनख्वाह", "salary on the 7th"),
        ("5000", "she promised 5,000"),
        ("अस्पताल", "son is in hospital"),
    ],
)
def test_a_word_is_found_however_it_is_written(query: str, note: str) -> None:
    assert found(query, "something else entirely", note) == [note]


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("दिन", "दान दिया"),  # vowel signs are kept: a day is no gift
        ("Ram", "Ramesh answers"),
        ("refund", "prefers Hindi"),
        ("when may we do it", "she may do it when we are there"),  # little words find nothing
        ("…!?", "anything"),
        ("", "anything"),
    ],
)
def test_another_word_is_not_found(query: str, note: str) -> None:
    assert found(query, note) == []


def test_vowel_signs_stay_in_the_stem() -> None:
    assert [keys.exact for keys in keys_of("दिन दान की कि")] == ["दिन", "दान", "की", "कि"]


def test_the_word_itself_ranks_before_one_that_sounds_alike_or_means_the_same() -> None:
    assert found("wife", "patni se baat", "wife answers") == ["wife answers", "patni se baat"]
    assert found("tarikh", "tareekh ko", "tarikh ko") == ["tarikh ko", "tareekh ko"]


def test_rare_words_and_more_of_them_rank_first() -> None:
    notes = ("salary is late", "salary comes on the 7th from Infosys", "salary salary salary")
    assert found("salary Infosys", *notes)[0] == notes[1]


def test_what_a_note_is_counts_less_than_what_it_says() -> None:
    hits = RANKING.ranked("contact", [("after 6", "preferred contact time"), ("contact after 6", "request")])
    assert [hit.place for hit in hits] == [1, 0]


def test_of_equal_hits_the_earlier_comes_first() -> None:
    assert [hit.place for hit in RANKING.ranked("late", [("late", ""), ("late", "")])] == [0, 1]
