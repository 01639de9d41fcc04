"""What of people's and models' prose may be told: screened at each reading, its last whole sentences, who is said to have spoken.

A rule added today hides yesterday's sentence. It must not know the record's structure, nor the room that there is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from channels.said import numbers
from service.narrative.values import NAME_CHARACTERS, quoted
from service.narrative.wording import WORDS
from statemachine.conclusions import KnownFact
from statemachine.screening import Screened, screened
from statemachine.volatility import Volatility
from statemachine.words import RELATIVES, words_of

READ_CHARACTERS: Final = 4_000
"""Of a longer report only the end is read when it is told: screening takes its time."""
RELATIVE_WORDS: Final = 3
"""A third party in more words than this is no relative's name but a sentence."""
BY_A_PERSON: Final = "by_a_person"
"""In the place of a rule, for sentences that no rule withholds but somebody of the lender's."""
SENTENCE_END_CHARACTERS: Final = 8
_SENTENCE_ENDS = re.compile(
    r"(?i)(?<!\brs)(?<!\bmr)(?<!\bms)(?<!\bdr)(?<!\bno)(?<!\bst)(?<!\bmrs)[.!?।…][\"'”’)\]]{0,3}\s+(?=[^\d\s])|\n\s*(?=\S)"
)


@dataclass(frozen=True, slots=True)
class Withheld:
    """What was not worded, and by which rule of `screening`, or `BY_A_PERSON`. A fact that was stated in no conversation is
    named by its `fact_id`."""

    conversation_id: str
    rule: str


def judged(text: str, amounts: Sequence[Decimal]) -> Screened:
    return screened(text, amounts_allowed=frozenset(amounts), numbers=numbers)


def is_live(fact: KnownFact) -> bool:
    """Whether a fact says, whatever its kind, something that is true only when read."""
    return fact.volatility == Volatility.LIVE or bool(judged(fact.text[:READ_CHARACTERS], ()).withheld)


def end_of(prose: str) -> str:
    return last_sentences(prose.strip(), READ_CHARACTERS)


def last_sentences(text: str, limit: int) -> str:
    """The text, or as many whole sentences from its end as fit; that is where the agreement usually stands (AC-50)."""
    if len(text) <= limit:
        return text
    ends = (end.end() for end in _SENTENCE_ENDS.finditer(text, max(0, len(text) - limit - SENTENCE_END_CHARACTERS)))
    return next((text[start:] for start in ends if len(text) - start <= limit), "")


def person_in_words(third_party: str | None) -> str:
    """Who answered in the borrower's place. Only a relative is called by the word; anything else is a quotation."""
    words = words_of(third_party or "")
    if words and len(words) <= RELATIVE_WORDS and words[-1] in RELATIVES:
        return WORDS["person"](RELATIVES[words[-1]], None)
    return WORDS["person"](None, quoted(third_party, NAME_CHARACTERS) if third_party else None)
