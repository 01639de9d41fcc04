"""Whether a quote stands in the borrower's own turns (DESIGN 11)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachine.grounding import folded, quote_stands
from tests.examples import often
from tests.statemachine.grounding.conversations import Turn, borrower, call

# -- folding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("José", "Jose\u0301"),
        ("5,000", "5000"),
        ("1,25,000", "125000"),
        ("५,०००", "5000"),
        ("Don’t", "dont"),
        ("हाँ\u200d", "हाँ"),
        ("क़िस्त", "क़िस्त"),
        ("SALARY 7 tareekh  ko", "salary 7 tareekh ko!"),
        ("ＨＤＦＣ", "hdfc"),
        ("Straße", "STRASSE"),
        ("Rs.5,000", "rs 5000"),
        ("read-back", "read back"),
        ("👍🏽 ok", "ok"),
    ],
)
def test_forms_of_the_same_words_fold_equal(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    ("one", "other"), [("की", "का"), ("कल", "काल"), ("José", "Jose"), ("1.5 lakh", "15 lakh"), ("5k", "5")]
)
def test_different_words_stay_different(one: str, other: str) -> None:
    assert folded(one) != folded(other)


def test_a_name_stands_apart_from_its_possessive() -> None:
    assert folded("Martha's number").split()[0] == "martha"


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(list("5,.'’sSé ́-/:़०")), max_size=20).map("".join)))
@settings(max_examples=often(400), deadline=None)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


# -- quotes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "quote"),
    [
        ("Salary 7 tareekh ko aati hai, bhai!", "salary 7 tareekh ko aati hai"),
        ("Salary 7 tareekh ko aati hai, bhai!", "SALARY 7 tareekh  ko aati hai bhai"),
        ("हाँ, पच्चीस तारीख तक दे दूँगी।", "पच्चीस तारीख तक दे दूँगी"),
        ("I can pay 5,000 on Friday", "I can pay 5000"),
        ("de dunga kal", "dedunga kal"),
        ("Haan main 25 tarikh ko 5000 de dunga", "haan ... 5000 de dunga"),
        ("Haan main 25 tarikh ko 5000 de dunga", "25 tarikh … de dunga"),
        ("haan... kal de dunga", "haan... kal de dunga"),
        ("I will not pay 5000", "I will not pay 5000"),
        ("nahi dunga", "nahi dunga"),
        # A no that denies nothing.
        ("no problem, I will pay 5000", "I will pay 5000"),
        ("no problem I will pay 5000", "I will pay 5000"),
        ("nahi nahi, pakka de dunga", "pakka de dunga"),
        ("nahi nahi pakka de dunga", "pakka de dunga"),
        ("nahi main 5000 de dunga", "5000 de dunga"),
        ("No I will pay on Friday", "I will pay on Friday"),
        ("nahi sir main 5000 de dunga", "main 5000 de dunga"),
        ("koi baat nahi 5000 de dunga", "5000 de dunga"),
        ("25 ko de dunga na", "25 ko de dunga"),
        ("bola na 5000 de dunga", "5000 de dunga"),
        ("pay kar dunga koi dikkat nahi", "pay kar dunga"),
        ("kyun nahi de dunga 5000", "de dunga 5000"),
        # A no of another clause.
        ("I am not at home. I will pay 5000 tomorrow", "I will pay 5000 tomorrow"),
        ("I am not working I will pay 5000 on Friday", "I will pay 5000"),
        ("abhi paise nahi hai lekin kal 5000 de dunga", "kal 5000 de dunga"),
        ("abhi paise nahi hai kal 5000 de dunga", "kal 5000 de dunga"),
        ("25 ko de dunga abhi paise nahi hai", "25 ko de dunga"),
        ("agar salary nahi aayi to 5000 kal dunga", "5000 kal dunga"),
        ("nahi toh main 5000 de dunga", "main 5000 de dunga"),
        ("12500 nahi 5000 de dunga", "5000 de dunga"),
        ("aaj nahi kal 5000 de dunga", "kal 5000 de dunga"),
        ("25 ko nahi 28 ko de dunga", "28 ko de dunga"),
        ("don't call me I will pay 5000", "I will pay 5000"),
        ("maine bhar diya aap dekh nahi rahe", "maine bhar diya"),
        ("I paid on 27 you did not update", "I paid on 27"),
        ("I will pay 5000 not 6000", "I will pay 5000"),
        ("I will pay 5000 because I do not want trouble", "I will pay 5000"),
        ("I will pay 5000 and I won't be late", "I will pay 5000"),
        ("I will pay it, no doubt", "I will pay it"),
    ],
)
def test_a_quote_of_the_borrower_stands(turn: str, quote: str) -> None:
    assert quote_stands(quote, borrower("hello", turn)) == "stands"


@pytest.mark.parametrize(
    ("turn", "quote"),
    [
        ("Salary 7 tareekh ko aati hai, bhai!", "salary comes on the 7th"),
        ("main kal dunga", "main ka"),
        ("I will repay it", "pay it"),
        ("5000 de dunga", "500"),
        ("15000 de dunga", "5000 de dunga"),
        ("25 12500 dunga", "2512500 dunga"),
        ("de dunga kal", "kal de dunga"),
        ("कल दे दूँगा", "काल दे दूँगा"),
        # A denial that was left out.
        ("I will not pay 5000", "pay 5000"),
        ("I will not pay 5000 on Friday", "I will ... pay 5000"),
        ("I will not pay 5000 on Friday", "on Friday"),
        ("I won't pay 5000", "pay 5000"),
        ("I don’t think I will pay 5000", "I will pay 5000"),
        ("not sure if I will pay 5000", "I will pay 5000"),
        ("I can't say I will pay 5000", "I will pay 5000"),
        ("I refuse to pay 5000", "pay 5000"),
        ("I never said I will pay 5000", "I will pay 5000"),
        ("main nahi dunga 5000", "dunga 5000"),
        ("main 25 ko nahi dunga", "main 25 ko"),
        ("main 25 ko nahi dunga", "main 25 ko ... dunga"),
        ("main 25 tarikh ko 5000 nahi de paunga", "25 tarikh ko"),
        ("5000 de dunga nahi", "5000 de dunga"),
        ("mujhe nahi lagta main 5000 de paunga", "main 5000 de paunga"),
        ("मैं 5000 नहीं दूँगा", "मैं 5000"),
        ("मैं 5000 नहीं दूँगा", "मैं 5000 … दूँगा"),
        ("mat karo call har mahine", "call har mahine"),
        ("nahi nahi dunga", "dunga"),
        ("I cannot come and pay 5000", "pay 5000"),
        ("12500 nahi 5000 de dunga", "12500"),
        ("25 ko nahi 28 ko de dunga", "25 ko"),
        ("I will pay 5000 not 6000", "6000"),
        ("na main dunga na woh", "main dunga"),
        ("no way I will pay 5000", "way I will pay"),
        ("5000 I cannot pay", "5000"),
        ("there is no way I can pay 5000", "I can pay 5000"),
        ("neither can I pay 5000", "I pay 5000"),
        ("mere paas 5000 nahi hai", "mere paas 5000"),
        ("maine payment nahi kiya", "payment ... kiya"),
        ("", "de dunga"),
    ],
)
def test_other_words_and_words_turned_round_do_not_stand(turn: str, quote: str) -> None:
    assert quote_stands(quote, borrower("hello", turn)) == "not_found"


@pytest.mark.parametrize("quote", ["", "  ", "...", "!?", "x" * 5_000, " ... ".join("abcdefghij")])
def test_no_words_too_many_or_too_many_pieces_are_no_quote(quote: str) -> None:
    assert quote_stands(quote, borrower("x" * 5_000, "a b c d e f g h i j")) == "not_found"


def test_an_elision_joins_words_of_one_turn_in_their_order() -> None:
    turns = borrower("haan main dunga", "25 ko 5000")
    assert quote_stands("haan ... 5000", turns) == "not_found"
    assert quote_stands("5000 ... 25", turns) == "not_found"
    assert quote_stands("25 ... 5000", turns) == "stands"


def test_an_elision_is_judged_by_the_words_nearest_to_each_other() -> None:
    turn = "I will not pay today. I will surely pay 5000"
    assert quote_stands("I will ... pay 5000", borrower(turn)) == "stands"
    assert quote_stands("I will ... pay today", borrower(turn)) == "not_found"


def test_a_quote_that_is_denied_once_and_said_once_stands() -> None:
    assert quote_stands("5000 de dunga", borrower("nahi 5000 de dunga kaise", "haan 5000 de dunga")) == "stands"


@pytest.mark.parametrize("speaker", ["agent", "third_party", "system"])
def test_words_of_somebody_else_are_not_the_borrowers(speaker: str) -> None:
    turns = [Turn(speaker, "So you will pay 5000 on 2 Feb?"), Turn("borrower", "let me see")]
    assert quote_stands("you will pay 5000 on 2 Feb", turns) == "agent"


def test_words_that_the_borrower_denies_and_the_agent_says_are_the_agents() -> None:
    turns = call("A: You will pay 5000?", "B: I will not pay 5000")
    assert quote_stands("pay 5000", turns) == "agent"
