"""A stored entry as it may be told now: without turns, prose and facts whose time is over (DESIGN 11 "Expiry").

Payments, stops and holds do not expire, nor does the structure of what was said. Counted from when it was said. What the job
has not taken out of the tables yet is not told all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from service.policy import Policy
from statemachine.volatility import FACT_KINDS

EXPIRED: Final = "[expired]"
"""Where a text must stand."""


def told(document: Mapping[str, Any], type_: str, at: datetime, now: datetime, policy: Policy) -> dict[str, Any]:
    """The body of an entry of this type that took effect then."""
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
    return kept


def _is_over(at: datetime, days: float, now: datetime) -> bool:
    return now >= at + timedelta(days=days)


def _lives(fact: Mapping[str, Any], at: datetime, now: datetime) -> bool:
    """A fact of a kind that we do not know was never kept as one, and goes with its conversation."""
    kind = FACT_KINDS.get(fact.get("kind", ""))
    return kind is None or not kind.lifetime_days or not _is_over(at, kind.lifetime_days, now)
