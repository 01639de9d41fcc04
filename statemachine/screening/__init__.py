"""What prose may be shown: named, versioned rules that judge what each sentence asserts (DESIGN 11 "Screening").

A balance, a payment, a pending step are true only when read; a sentence that states one is withheld, whole, whenever it
is shown, so that a rule added today hides yesterday's sentence too. What the borrower said stays, because that she said
it never becomes untrue. So a sentence is read in two steps:

1. `own_of` takes out of it what it hands on as the borrower's words ("she says ...", "She said: ...", "..., she says"), and
   marks what it only supposes ("once she has paid") or plans ("will be paid");
2. each rule looks at what is left, which is what the sentence itself asserts.

Only a borrower who *says* takes a sentence's word back. Who confirms, admits or was told a balance has been told one.
A wrong refusal costs one line; a wrong pass is repeated for ever.

This module must not know records, channels or clocks. Numbers are read by a callable that is passed in; the words are in
`words`. Every text is read front to back once, in linear time.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from statemachine import words as w
from statemachine.screening.claims import Claim, claims_sent
from statemachine.screening.money_rules import BALANCE, BARE_AMOUNT, OFFER
from statemachine.screening.order_rules import INSTRUCTION
from statemachine.screening.orders import as_quotation, instructs
from statemachine.screening.payment_rules import HAS_PAID
from statemachine.screening.reading import Numbers, glance_at, own_of
from statemachine.screening.rule import Rule
from statemachine.screening.secret_rules import SECRET
from statemachine.screening.sentences import Sentence, sentences_of
from statemachine.screening.standing_rules import BUCKET, COUNT_OF, DAYS_PAST_DUE, STANDING
from statemachine.screening.step_rules import BLOCKED, OUTSTANDING_STEP, PENDING

__all__ = ["RULES", "Claim", "Numbers", "Rule", "Screened", "as_quotation", "claims_sent", "instructs", "screened"]

CACHED_READINGS = 512

RULES: tuple[Rule, ...] = (
    INSTRUCTION,
    SECRET,
    BALANCE,
    HAS_PAID,
    BLOCKED,
    OUTSTANDING_STEP,
    COUNT_OF,
    STANDING,
    BUCKET,
    DAYS_PAST_DUE,
    PENDING,
    OFFER,
    BARE_AMOUNT,
)
"""In the order in which they are asked: the first that a sentence breaks is named."""


@dataclass(frozen=True, slots=True)
class Screened:
    """Prose as it may be shown.

    `text`: the sentences that pass, in their order; one that carries an order to a model is there as a quotation of the
    borrower. `withheld`: for each other sentence its place in the prose, from "0", and the name of the rule.
    """

    text: str
    withheld: tuple[tuple[str, str], ...]


def screened(text: str, *, amounts_allowed: frozenset[Decimal], numbers: Numbers) -> Screened:
    """Judge prose sentence by sentence. `amounts_allowed`: this conversation's commitment, which is no balance.

    Screening what was screened changes nothing. The newest readings are kept, since prose is screened whenever it is
    read; `numbers` must give the same answer for the same text.
    """
    return _screened(text, amounts_allowed, numbers)


@lru_cache(maxsize=CACHED_READINGS)
def _screened(text: str, amounts_allowed: frozenset[Decimal], numbers: Numbers) -> Screened:
    shown: list[str] = []
    withheld: list[tuple[str, str]] = []
    for place, sentence in enumerate(sentences_of(text)):
        rule = broken_rule(sentence, amounts_allowed, numbers)
        if rule is not None:
            withheld.append((str(place), rule))
        elif glance_at(sentence.text).instructs:
            shown.append(as_quotation(sentence.text) + sentence.gap)
        else:
            shown.append(sentence.text + sentence.gap)
    return Screened("".join(shown).strip(), tuple(withheld))


def broken_rule(sentence: Sentence, amounts_allowed: frozenset[Decimal], numbers: Numbers) -> str | None:
    """The first rule that the sentence breaks. Only those are asked whose words it holds."""
    seen = glance_at(sentence.text)
    rules = _rules_for(seen.held)
    if not rules:
        return None
    own = own_of(sentence, seen, amounts_allowed, numbers)
    return next((rule.name for rule in rules if rule.is_broken_by(own, sentence)), None)


@lru_cache(maxsize=w.CACHED_TEXTS)
def _rules_for(held: int) -> tuple[Rule, ...]:
    return tuple(rule for rule in RULES if rule.may_be_broken(held))
