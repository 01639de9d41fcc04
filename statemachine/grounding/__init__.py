"""Evidence in the borrower's own words: does a quote stand, was a promise read back, may a fact be taken.

A model offers a quote; the turns decide (DESIGN 11 "Grounding", 4.2). A quote stands in one of the borrower's own turns,
at word boundaries, or it does not stand. Leaving words out is where meaning is turned round, so what was left out is
looked at as well: an elision may hide no denial, and a quote cut out of a denied clause does not stand.

When it is unclear, evidence is refused: a promise that was not taken is asked for once more, one that was never made is
collected on. Numbers and dates are read by whoever reads them for the whole service and are passed in; this module must
not know how, and it must not know channels, records or clocks. The words themselves are in `words`.
"""

from statemachine.grounding.answers import agrees, read_back_seen
from statemachine.grounding.facts import FACT_RULES, FactVerdict, judge_fact
from statemachine.grounding.heard import AGENT, BORROWER, SYSTEM, Spoken
from statemachine.grounding.quotes import Standing, quote_stands
from statemachine.words import folded

__all__ = [
    "AGENT", "BORROWER", "FACT_RULES", "SYSTEM", "FactVerdict", "Spoken", "Standing", "agrees", "folded", "judge_fact",
    "quote_stands", "read_back_seen",
]  # fmt: skip
