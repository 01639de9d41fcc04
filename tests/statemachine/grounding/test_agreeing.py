"""Whether a read-back was heard and agreed to (DESIGN 4)."""

from datetime import date
from decimal import Decimal

import pytest

from statemachine.grounding import agrees, read_back_seen
from tests.statemachine.grounding.conversations import AMOUNT, DUE, call, dates, numbers


@pytest.mark.parametrize(
    "text",
    [
        "haan",
        "Haan ji.",
        "ji",
        "ji haan, theek hai",
        "yes",
        "Yes, correct.",
        "yes sir",
        "ok",
        "Okay done",
        "theek hai",
        "thik h",
        "correct",
        "That's right",
        "pakka",
        "bilkul",
        "sahi hai",
        "हाँ",
        "हां जी, ठीक है",
        "बिल्कुल",
        "yeah sure",
        "I agree",
        "haan de dunga",
        "haan haan kar dunga",
        "no problem, yes",
        "no problem",
        "nahi nahi, pakka de dunga",
        "kyun nahi",
        "Yes. Where do I pay?",
        "yes, will you send the link?",
        "25th, 5000, done",
        "ok bhai",
        "haan na",
        "Yes I will pay on 25th",
        "100% pakka",
        "ek dum pakka",
        "confirmed",
        "koi dikkat nahi, ho jayega",
        "That works.",
        "yes on 25th only",
    ],
)
def test_a_plain_yes_agrees(text: str) -> None:
    assert agrees(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "...",
        "no",
        "nahi",
        "नहीं",
        "let me see",
        "ji nahi",
        "haan lekin baad mein",
        "yes but not now",
        "ok let me check",
        "haan dekhta hoon",
        "theek hai dekhte hain",
        "yes if my salary comes",
        "haan agar salary aayi to",
        "maybe yes",
        "haan shayad",
        "yes, no wait",
        "haan nahi",
        "haan... nahi nahi",
        "ok I will try",
        "koshish karunga haan",
        "yes?",
        "haan?",
        "Yes, speaking.",
        "haan boliye",
        "haan bol raha hoon",
        "haan kitna?",
        "what",
        "not correct",
        "pakka nahi hai",
        "haan baad mein",
        "yes later",
        "ok but half only",
        "haan thoda kam karo",
        "hmm",
        "acha",
        "hello yes",
        "sochta hoon",
        "I will not pay",
        "can't say yes",
        "haan par abhi nahi",
        "हाँ लेकिन बाद में",
        "No, I will pay 3000",
        "call me later ok",
        "haan phir baat karte hain",
        "yes I know",
        "haan pata hai",
        "Yes, I think so",
        "ok I'll see",
        "let's see",
        "confirm karke batata hoon",
        "haan, salary aane par",
    ],
)
def test_a_no_a_doubt_a_condition_or_a_question_does_not(text: str) -> None:
    assert not agrees(text)


def seen(*told: str, amount: Decimal | None = AMOUNT, due_date: date | None = DUE) -> bool:
    return read_back_seen(call(*told), amount, due_date, numbers, dates)


@pytest.mark.parametrize(
    "told",
    [
        ("A: So 5,000 by 25th, correct?", "B: haan"),
        ("A: So 5,000 by 25th, correct?", "B: 25th, 5000, done"),
        ("A: So 5,000 by 25th, correct?", "B: 25 tarikh, 5000"),
        ("A: You will pay 5000?", "B: yes"),
        ("A: On the 25th then?", "B: ji haan"),
        ("A: 5000 on the 25th.", "A: Is that right?", "B: correct"),
        ("A: 5000 on 25th?", "S: silence", "B: theek hai"),
        ("A: 5000 on 25th?", "B: no, how?", "A: By UPI. So 5000 on 25th?", "B: ok pakka"),
        ("A: 5000 on 25th?", "B: yes", "A: Thank you. Anything else?", "B: no, nothing"),
        ("A: 5000 on 25th?", "B: yes", "A: 5000, I noted it. Anything else?", "B: nahi"),
        ("A: 5000 on 25th?", "B: yes", "A: I send the link for 5000 to this number.", "B: this number is of my office"),
        ("A: Your outstanding is 12,400; you pay 5000 on 25th?", "B: haan ji"),
        ("A: 5000 on 25th?", "B: haan", "B: 100% pakka"),
        ("B: 5000 de dunga", "A: 5000 on 25th, yes?", "B: haan 5000"),
    ],
)
def test_terms_said_by_the_agent_and_agreed_to_were_read_back(told: tuple[str, ...]) -> None:
    assert seen(*told)


@pytest.mark.parametrize(
    "told",
    [
        (),
        ("B: haan",),
        ("A: So 5000 by 25th?",),
        ("A: So 5000 by 25th?", "B: let me see"),
        ("A: So 5000 by 25th?", "B: haan lekin baad mein"),
        ("A: So 5000 by 25th?", "B: haan", "B: lekin 25 ko nahi"),
        ("A: So 5000 by 25th?", "B: nahi"),
        ("A: So 5000 by 25th?", "T: haan"),
        ("A: So 5000 by 25th?", "T: haan", "B: haan"),
        ("A: Will you pay?", "B: haan"),
        ("B: 5000 on 25th?", "A: yes"),
        ("A: So 5000 by 25th?", "B: haan 3000 de dunga"),
        ("A: So 5000 by 25th?", "B: haan 26 ko"),
        ("A: So 5000 by 25th?", "B: 5000 is too much"),
        ("A: So 5000 by 25th?", "B: 5000?"),
        ("A: So 5000 by 26th?", "B: haan"),
        ("A: So 50,000 by 25th?", "B: haan"),
        ("A: So 5000 by 25th?", "B: haan", "A: Good.", "B: sorry I can't pay"),
        ("A: So 5000 by 25th?", "B: haan", "A: So 5000, fixed?", "B: let me see"),
        ("A: This is about your 5000. Am I speaking with Asha?", "B: Yes, speaking."),
        ("A: So 5000 by 25th? Anything else?", "B: yes"),
    ],
)
def test_what_was_not_agreed_to_was_not_read_back(told: tuple[str, ...]) -> None:
    assert not seen(*told)


def test_the_year_of_the_day_is_no_other_amount() -> None:
    assert seen("A: So by 25 Feb 2026?", "B: haan")
    assert seen("A: So 5000 by 25th?", "B: haan, 25 Feb 2026")
    assert not seen("A: So 2025 by 25 Feb 2026?", "B: haan")


def test_one_of_the_terms_is_enough_when_there_is_only_one() -> None:
    assert seen("A: So on the 25th?", "B: haan", amount=None)
    assert seen("A: So 5000?", "B: haan", due_date=None)
    assert not seen("A: So 5000 on the 25th?", "B: haan", amount=None, due_date=None)
