"""A stored entry as it may be told now: without turns, prose and facts whose time is over (DESIGN 11 "Expiry"), and for whoever
is not to read it without the texts that a person withheld.

Payments, stops and holds do not expire, nor does the structure of what was said. Counted from when it was said. What the job
has not taken out of the tables yet is not told all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from service.policy import Policy
from statemachine.volatility import FACT_KINDS
from statemachine.withholding import NOTHING, unquoted, without
from statemachine.words import folded

EXPIRED: Final = "[expired]"
WITHHELD: Final = "[withheld]"
"""Where a text must stand."""
QUOTED: Final = ("commitment", "payment_claim", "callback")
TERMS_SAID: Final = ("amount_said", "due_date_said", "paid_on_said", "at_said")


def told(
    document: Mapping[str, Any],
    type_: str,
    at: datetime,
    now: datetime,
    policy: Policy,
    hidden: frozenset[str] = NOTHING,
) -> dict[str, Any]:
    """The body of an entry of this type that took effect then. `hidden`: the texts that a person withheld from this reader."""
    kept = dict(document)
    if type_ == "conversation.message":
        kept |= {"text": EXPIRED} if _is_over(at, policy.retention.turns, now) else {}
    elif type_ == "fact.stated":
        kept |= {} if _lives(kept, at, now) else {"text": EXPIRED}
    elif type_ == "summary":
        if _is_over(at, policy.retention.turns, now):
            kept.pop("turns", None)
        if _is_over(at, policy.retention.prose, now):
            kept.pop("summary", None)
        if "facts" in kept:
            kept["facts"] = [fact for fact in kept["facts"] if _lives(fact, at, now)]
    return _without_hidden(kept, hidden) if hidden else kept


def _without_hidden(kept: dict[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    """Prose, quotes, facts and turns without what a person withheld; terms stay."""
    if isinstance(prose := kept.get("summary"), str):
        kept["summary"] = without(prose, hidden)[0]
    for name in QUOTED:
        if kept.get(name):
            kept[name] = _unquoted(kept[name], hidden)
    if kept.get("facts"):
        facts = (fact for fact in kept["facts"] if folded(fact.get("text") or "") not in hidden)
        kept["facts"] = [_unquoted(fact, hidden) for fact in facts]
    if kept.get("turns"):
        kept["turns"] = [turn | {"text": _spoken(turn.get("text"), hidden)} for turn in kept["turns"]]
    if kept.get("type") in ("fact.stated", "conversation.message"):
        kept["text"] = _spoken(kept.get("text"), hidden)
    return kept


def _unquoted(part: Mapping[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    """A part of a report without hidden words; what was posted without a quote is told without one."""
    quote = {"quote": unquoted(part["quote"], hidden)} if part.get("quote") else {}
    terms = {name: unquoted(part[name], hidden, is_terms=True) for name in TERMS_SAID if part.get(name)}
    return {**part, **quote, **terms}


def _spoken(text: str | None, hidden: frozenset[str]) -> str | None:
    """A text that must stand, without hidden sentences."""
    if not text:
        return text
    return WITHHELD if folded(text) in hidden else without(text, hidden)[0] or WITHHELD


def _is_over(at: datetime, days: float, now: datetime) -> bool:
    return now >= at + timedelta(days=days)


def _lives(fact: Mapping[str, Any], at: datetime, now: datetime) -> bool:
    """A fact of a kind that we do not know was never kept as one, and goes with its conversation."""
    kind = FACT_KINDS.get(fact.get("kind", ""))
    return kind is None or not kind.lifetime_days or not _is_over(at, kind.lifetime_days, now)
