"""What makes words no evidence of a fact: asked, supposed, denied, of another time, somebody else's (DESIGN 11)."""

import ast
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from statemachine import words
from statemachine.grounding import FactVerdict, judge_fact


@dataclass(frozen=True)
class Turn:
    speaker: str
    text: str


def numbers(text: str) -> frozenset[Decimal]:
    """Digits only, in the place of the service's own reader."""
    return frozenset(Decimal(word) for word in words.words_of(text) if word.isdigit())


def judged(kind: str, text: str, quote: str, turn: str | None = None, *, has_turns: bool = True) -> FactVerdict:
    """`turn`: what the borrower said, turns of theirs apart by "|"; else the quote."""
    said = [Turn("borrower", text) for text in (turn or quote).split("|")]
    turns = [Turn("agent", "Theek hai."), *said] if has_turns else None
    return judge_fact(
        kind=kind, text=text, confidence=Decimal("0.9"), quote=quote, about="borrower", turns=turns, numbers=numbers
    )


SALARY = "salary on the 7 of every month"


@pytest.mark.parametrize(
    ("kind", "text", "quote", "turn"),
    [
        ("employment", "has a job", "I have a job", "you think I have a job?"),
        ("employment", "has a job", "I have a job", "if I have a job I will pay"),
        ("employment", "has a job", "I have a job", "I wish I have a job"),
        ("employment", "has a job", "naukri hai", "agar naukri hai to de dunga"),
        ("employment", "has a job", "naukri hai", "kaunsi naukri hai? koi naukri nahi hai"),
        ("employment", "नौकरी है", "नौकरी है", "अगर नौकरी है तो दे दूंगा"),
        ("household", "has a wife", "I have a wife", "Do I have a wife? No."),
        ("income_day", SALARY, "salary har mahine 7 ko aati hai", "agar salary har mahine 7 ko aati hai to bhi nahi"),
    ],
)
def test_what_is_asked_or_supposed_is_not_said(kind: str, text: str, quote: str, turn: str) -> None:
    assert judged(kind, text, quote, turn).code == "fact_refused"


@pytest.mark.parametrize(
    ("kind", "text", "quote", "turn"),
    [
        ("employment", "has a job", "I have a job", "Do I have a job?|I have a job."),
        ("employment", "works in a bank", "main bank mein kaam karta hoon", "main bank mein kaam karta hoon na?"),
        ("employment", "works in a bank", "I work in a bank", "I work in a bank, right?"),
        ("employment", "has a job", "I have a job", "I have a job, if you want to know"),
        ("request", "asks for a statement", "can you send a statement", "can you send a statement?"),
        ("request", "a woman agent", "agar koi lady ho to unse baat karwao", "agar koi lady ho to unse baat karwao"),
        ("preferred_contact_time", "after 6", "can you always call after 6", "can you always call after 6?"),
    ],
)
def test_what_is_said_once_is_said_and_a_request_may_be_a_question(kind: str, text: str, quote: str, turn: str) -> None:
    assert judged(kind, text, quote, turn).taken


@pytest.mark.parametrize("turn", ["I have ? ? a job", "I have?? a job?!", "? I have a job ?", "I have a job na??"])
def test_marks_without_words_between_them_are_read_too(turn: str) -> None:
    assert judged("employment", "has a job", "I have a job", turn).code in (None, "fact_refused")


@pytest.mark.parametrize(
    ("kind", "text", "quote"),
    [
        ("employment", "works at a bank", "main bank mein kaam nahi karta"),
        ("employment", "works at a bank", "मैं बैंक में काम नहीं करता"),
        ("employment", "has a job", "naukri hai hi nahi"),
        ("household", "has two sons", "mere koi bete nahi hain"),
        ("income_day", SALARY, "salary har mahine 7 ko nahi aati hai"),
        ("preferred_language", "prefers English", "main hamesha English nahi bolta"),
        ("preferred_channel", "prefers calls", "I never prefer calls"),
        ("request", "wants a waiver", "mujhe waiver nahi chahiye"),
        ("goal", "wants to buy a house", "I don't want to buy a house"),
    ],
)
@pytest.mark.parametrize("has_turns", [True, False])
def test_a_fact_does_not_leave_out_the_denial_of_its_quote(kind: str, text: str, quote: str, has_turns: bool) -> None:
    assert judged(kind, text, quote, has_turns=has_turns).code == "fact_refused"


def test_a_denial_behind_the_verb_is_not_cut_off() -> None:
    assert judged("employment", "has a job", "naukri hai", "naukri hai hi nahi").code == "quote_not_found"


@pytest.mark.parametrize(
    ("kind", "text", "quote"),
    [
        ("employment", "lost the job", "mere paas naukri nahi hai"),
        ("employment", "does not work", "main kaam nahi karta"),
        ("household", "father passed away", "mere papa nahi rahe"),
        ("household", "lives alone", "ghar mein koi nahi hai"),
        ("reason_for_delay", "salary is delayed", "salary nahi aayi"),
        ("complaint", "no receipt came", "receipt nahi mili"),
        ("preferred_channel", "prefers WhatsApp", "call mat karo, hamesha WhatsApp karo"),
        ("preferred_contact_time", "after 6", "kabhi 6 baje se pehle call mat karo"),
        ("preferred_contact_time", "not in office hours", "office time mein kabhi call mat karna"),
        ("employment", "drives a taxi", "no no, I drive a taxi"),
    ],
)
def test_a_denial_that_is_told_or_belongs_to_the_kind_is_kept(kind: str, text: str, quote: str) -> None:
    assert judged(kind, text, quote).taken


@pytest.mark.parametrize(
    ("text", "quote", "taken"),
    [
        ("works at a bank", "I used to work at a bank", False),
        ("worked at a bank", "I used to work at a bank", True),
        ("works at a bank", "main bank mein kaam karta tha", False),
        ("works at a bank", "I will work at a bank from Monday", False),
        ("will work at a bank", "I will work at a bank from Monday", True),
        ("works at a bank", "main pehle se bank mein kaam karta hoon", True),
    ],
)
def test_work_is_told_of_the_time_that_was_meant(text: str, quote: str, taken: bool) -> None:
    assert judged("employment", text, quote).taken is taken


@pytest.mark.parametrize(
    ("quote", "about"),
    [
        ("mere sasur ki pension har mahine 7 ko aati hai", "father-in-law"),
        ("my mother-in-law's pension comes on the 7 every month", "mother-in-law"),
        ("my father in law gets a pension on the 7 of every month", "father-in-law"),
        ("hubby ko salary 7 ko milti hai har mahine", "husband"),
        ("meri bhabhi ki salary har mahine 7 ko aati hai", "sister-in-law"),
        ("company ki salary har mahine 7 ko aati hai", "borrower"),
        ("har mahine ki salary 7 ko aati hai", "borrower"),
        ("the company's salary comes on the 7 every month", "borrower"),
    ],
)
def test_an_income_is_of_the_one_whose_it_is(quote: str, about: str) -> None:
    verdict = judged("income_day", SALARY, quote)
    assert (verdict.taken, verdict.about) == (True, about), verdict


@pytest.mark.parametrize(
    "quote",
    [
        "Ramesh ki salary har mahine 7 ko aati hai",
        "Sharma ji ki salary har mahine 7 ko aati hai",
        "mere boss ki salary har mahine 7 ko aati hai",
        "Priya's salary comes on the 7 every month",
        "the salary of Priya comes on the 7 every month",
        "us ki salary har mahine 7 ko aati hai",
        "रमेश की सैलरी हर महीने 7 को आती है",
    ],
)
def test_a_name_that_nobody_told_us_of_is_not_the_borrower(quote: str) -> None:
    assert judged("income_day", SALARY, quote).code == "fact_refused"
    assert judged("income_day", SALARY, quote, has_turns=False).code == "fact_refused"


def test_no_list_of_words_is_hidden_by_another_of_its_name() -> None:
    """They are read as one vocabulary, so the later of two would be read for both."""
    names: Counter[str] = Counter()
    for path in Path(words.__file__).parent.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    assert [name for name, count in names.items() if count > 1] == []
