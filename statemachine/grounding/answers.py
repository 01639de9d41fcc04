"""Whether a promise was read back and agreed to: an agent's turn with the terms, and what the borrower answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import groupby
from typing import Literal, TypeVar

from statemachine import words as w
from statemachine.grounding.denials import denials_of, run_of
from statemachine.grounding.heard import AGENT, BORROWER, SYSTEM, Heard, Spoken, heard_of

REPEATED_TERMS_WORDS = 24
SMALLEST_AMOUNT = 100
"""A number below this, said beside terms, is a day, a month or a count."""

Answer = Literal["agrees", "objects", "neither"]
Numbers = Callable[[str], frozenset[Decimal]]
Dates = Callable[[str], frozenset[date]]
Term = TypeVar("Term", Decimal, date)


def read_back_seen(
    turns: Sequence[Spoken], amount: Decimal | None, due_date: date | None, numbers: Numbers, dates: Dates
) -> bool:
    """Whether an agent said the amount or the date and the borrower's next turn agreed to it (DESIGN 4.2).

    The last answer to such a turn counts, and a promise taken back later was not agreed to. An agent that says one of the
    terms right and the other wrong has not read them back; neither has a borrower agreed who names other terms.
    """
    terms = _Terms(amount, due_date, numbers, dates)
    seen = False
    asked: str | None = None
    heard = (turn for turn in turns if turn.speaker != SYSTEM)
    for speaker, spoken in groupby(heard, key=lambda turn: turn.speaker):
        texts = [turn.text for turn in spoken]
        if speaker == BORROWER:
            seen = _seen_after(texts, terms, asked, seen)
        text = "\n".join(texts)
        asked = text if speaker == AGENT and terms.stand_in(text) else None
    return seen


def agrees(text: str) -> bool:
    """Whether a borrower's turn is a plain yes: not taken back, not put off, not tied to a condition, no question."""
    return _answer(heard_of(text)) == "agrees"


def _answer(heard: Heard) -> Answer:
    """A denial, a doubt or a condition anywhere objects; a yes counts in a clause that asks nothing."""
    if any(not _is_reassurance(at, heard) for at in heard.denying) or w.QUALIFIERS.in_(heard.words):
        return "objects"
    if w.NEITHER.in_(heard.words):
        return "neither"
    clauses = groupby(range(len(heard.words)), key=lambda at: heard.clause[at])
    for clause, places in clauses:
        spoken = [heard.words[at] for at in places]
        if clause not in heard.asking and w.AGREEMENTS.in_(spoken) and not w.QUESTIONS.in_(_without_why_not(spoken)):
            return "agrees"
    return "neither"


def _without_why_not(spoken: list[str]) -> list[str]:
    harmless = w.HARMLESS_DENIALS.places(spoken)
    return [word for at, word in enumerate(spoken) if at not in harmless]


def _is_reassurance(at: int, heard: Heard) -> bool:
    """ "nahi nahi, pakka de dunga": a doubled no right before a promise. A single one is a no."""
    words = heard.words
    if words[at] not in w.ANSWERING_NO:
        return False
    first, last = run_of(at, words, w.ANSWERING_OR_CALLING)
    following = words[last + 1] if last + 1 < len(words) else ""
    doubled = sum(word in w.ANSWERING_NO for word in words[first : last + 1]) > 1
    return doubled and (following in w.ASSURANCES or following in w.SUBJECTS)


def _taken_back(text: str) -> bool:
    heard = heard_of(text)
    if w.TAKE_BACKS.in_(heard.words):
        return True
    denied = {heard.clause[denial.at] for denial in denials_of(heard)}
    return any(clause in denied and word in w.PAY_WORDS for word, clause in zip(heard.words, heard.clause, strict=True))


@dataclass(frozen=True, slots=True)
class _Terms:
    amount: Decimal | None
    due_date: date | None
    numbers: Numbers
    dates: Dates

    def stand_in(self, text: str) -> bool:
        """Whether an agent's words say the amount or the date, and not one of them right and the other wrong."""
        numbers, days = self.numbers(text), self.dates(text)
        if (not numbers and not days) or w.ANYTHING_ELSE.in_(w.words_of(text)):
            return False
        amounts = self._amounts(numbers)
        says_amount = self.amount is not None and self.amount in numbers
        says_date = self.due_date is not None and self.due_date in days
        if says_amount and says_date:
            return True
        wrong_date = self.due_date is not None and bool(days)
        wrong_amount = self.amount is not None and bool(amounts)
        return (says_amount and not wrong_date) or (says_date and not wrong_amount)

    def answer(self, text: str, asked: str) -> Answer:
        """What the borrower's next words say to terms that stand in `asked`."""
        heard = heard_of(text)
        spoken = _without_emphasis(text, heard)
        amounts, days = self._amounts(self.numbers(spoken)), self.dates(spoken)
        other_amounts = amounts - _agreed(self.amount, self.numbers(asked))
        other_days = days and not days & _agreed(self.due_date, self.dates(asked))
        if other_amounts or other_days:
            return "objects"
        answer = _answer(heard)
        if answer == "neither" and self._only_repeats(spoken, heard):
            return "agrees"
        return answer

    def _amounts(self, numbers: frozenset[Decimal]) -> frozenset[Decimal]:
        year = self.due_date.year if self.due_date else None
        return frozenset([number for number in numbers if number >= SMALLEST_AMOUNT and number != year])

    def _only_repeats(self, spoken: str, heard: Heard) -> bool:
        """ "25th, 5000": the terms once more, and nothing that could object to them."""
        if heard.asking or len(heard.words) > REPEATED_TERMS_WORDS:
            return False
        if self.amount not in self.numbers(spoken) and self.due_date not in self.dates(spoken):
            return False
        return all(word in w.TERM_WORDS or word[0].isdigit() or self.numbers(word) for word in w.words_of(spoken))


def _seen_after(texts: Sequence[str], terms: _Terms, asked: str | None, seen: bool) -> bool:
    """Whether the read-back stands after the borrower's next turns: once agreed, only a taking back undoes it.

    What is said after a yes in turns of its own may be about anything, another payment or when to call; but a turn that
    takes up the yes with a "but" belongs to it.
    """
    answered = asked is None
    for text in texts:
        if answered:
            seen = seen and not _taken_back(text) and not (asked is not None and _goes_on_with_but(text))
            continue
        answer = terms.answer(text, asked or "")
        answered = answer == "agrees"
        seen = answered or (seen and answer == "neither")
    return seen


def _goes_on_with_but(text: str) -> bool:
    words = w.words_of(text)
    return bool(words) and words[0] in w.BUTS


def _agreed(term: Term | None, asked: frozenset[Term]) -> frozenset[Term]:
    """What a reply may name: the term if the agent said it, else whatever the agent said."""
    if term is None:
        return asked
    return frozenset({term}) if term in asked else asked | {term}


def _without_emphasis(text: str, heard: Heard) -> str:
    places = w.EMPHASIS.places(heard.words)
    return " ".join(word for at, word in enumerate(heard.words) if at not in places) if places else text
