"""Most sentences are let pass by the words that they do not hold: that never lets one pass which a rule would stop."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels import said
from statemachine import words as w
from statemachine.screening import RULES, Rule, money_rules, orders, payment_rules, standing_rules, step_rules
from statemachine.screening.patterns import KINDS, Kinds, Pattern
from statemachine.screening.reading import Glance, glance_at, own_of
from statemachine.screening.sentences import Sentence

PATTERNS = [
    (f"{name}.{place}", pattern)
    for module in (money_rules, orders, payment_rules, standing_rules, step_rules)
    for name, value in vars(module).items()
    for place, pattern in enumerate(value if isinstance(value, tuple) else [value])
    if isinstance(pattern, Pattern)
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "pattern"), PATTERNS, ids=[name for name, _ in PATTERNS])
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_a_pattern_matches_holds_the_words_that_it_needs(
    name: str, pattern: Pattern, data: st.DataObject
) -> None:
    body = pattern.regex.pattern.removeprefix("(?<= )").partition("(?= ")[0].removesuffix(" $")
    words = st.from_regex(body, fullmatch=True)
    matched = data.draw(words.filter(lambda text: any(pattern.regex.search(f" {text} {end}") for end in ("", ". "))))
    held = KINDS.held(matched.split(" "))
    assert held & pattern.needs == pattern.needs, matched


def _asked(rule: Rule, sentence: Sentence, allowed: frozenset[Decimal]) -> bool:
    """What the rule says when it is asked, whatever words the sentence holds."""
    seen = glance_at(sentence.text)
    everything = Glance(seen.told, seen.marked, seen.instructs, -1)
    return rule.is_broken_by(own_of(sentence, everything, allowed, said.numbers), sentence)


@pytest.mark.thorough
def test_a_rule_that_is_not_asked_would_not_be_broken() -> None:
    """Sentences put together from the words of all rules' examples, in any order."""
    draw = random.Random(11)
    examples = [text for rule in RULES for text in (*rule.passes, *rule.fails)]
    vocabulary = sorted({token for text in examples for token in w.tokens(text)} | {"12,400", "50", "2 of 3", "SMA-1"})
    for _ in range(1_500):
        text = " ".join(draw.choices(vocabulary, k=draw.randint(2, 9)))
        if draw.random() < 0.4:
            text = f"{draw.choice(examples).rstrip('.')} {text}"
        sentence = Sentence(text, "", borrowers_line=False)
        held = glance_at(text).held
        for rule in RULES:
            if not rule.may_be_broken(held):
                assert not _asked(rule, sentence, frozenset()), (rule.name, text)


def test_a_group_of_words_is_one_bit_whoever_names_it() -> None:
    kinds = Kinds()
    assert kinds.needed("pay paid", "due") == kinds.needed("due", "paid pay")
    assert kinds.held(["due"]) & kinds.needed("pay paid") == 0
