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
from statemachine.withholding import NOTHING, without
from statemachine.words import folded

EXPIRED: Final = "[expired]"
WITHHELD: Final = "[withheld]"
"""Where a text must stand."""


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
    """Prose and facts without what a person withheld; what the borrower said in turns stays as it was said."""
    if isinstance(prose := kept.get("summary"), str):
        kept["summary"] = without(prose, hidden)[0]
    if "facts" in kept:
        kept["facts"] = [fact for fact in kept["facts"] if folded(fact.get("text") or "") not in hidden]
    if kept.get("type") == "fact.stated" and folded(kept.get("text") or "") in hidden:
        kept["text"] = WITHHELD
    return kept


def _is_over(at: datetime, days: float, now: datetime) -> bool:
    return now >= at + timedelta(days=days)


def _lives(fact: Mapping[str, Any], at: datetime, now: datetime) -> bool:
    """A fact of a kind that we do not know was never kept as one, and goes with its conversation."""
    kind = FACT_KINDS.get(fact.get("kind", ""))
    return kind is None or not kind.lifetime_days or not _is_over(at, kind.lifetime_days, now)
