"""A promise that stands though its words were withdrawn: a message that was summarised is revoked, or edited into something else.

No summary takes a promise back (DESIGN 3, law 4), and words that were revoked are shown nowhere any more. So the next revision
tells the same terms once more, without words: of one conversation's commitments of the same rung the later one counts, and with
it the earlier one's words are gone from every read. Where the terms cannot be told again as they stand (several candidates, a
day that is past, another cycle or attempt by now) they are left as they are. No storage and no clock here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from channels.chats import Said
from statemachine.conclusions import Promise
from statemachine.entries import Commitment
from statemachine.grounding import quote_stands
from statemachine.state import BorrowerState


def without_words(
    state: BorrowerState,
    conversation: tuple[str, str],
    named: Mapping[str, Any],
    told: Sequence[Mapping[str, Any]],
    said: Sequence[Said],
    ended_at: datetime,
    zone: str,
) -> Commitment | None:
    """The promise of this conversation, without words, if its words are ours (`told`: commitments of our own summaries of it)
    and do not stand in what is `said` any more. `named`: loan and cycle as the summary will name them."""
    promise = _alive(state, conversation)
    if promise is None or not _is_withdrawn(promise, told, said):
        return None
    if promise.amount is None and promise.due_date is None:
        return None
    if promise.due_date is not None and promise.due_date < ended_at.astimezone(ZoneInfo(zone)).date():
        return None
    loan, cycle = named.get("loan_id"), named.get("cycle_id")
    if state.place(loan, cycle, promise.at) != state.place(loan, cycle, ended_at):
        return None
    return Commitment(
        status="proposed",
        amount=str(promise.amount) if promise.amount is not None else None,
        currency=promise.currency,
        due_date=promise.due_date.isoformat() if promise.due_date is not None else None,
    )


def _alive(state: BorrowerState, conversation: tuple[str, str]) -> Promise | None:
    """The conversation's promise in force, or beside the one in force."""
    for cycle in state.cycles:
        for promise in (*((cycle.promise,) if cycle.promise else ()), *cycle.counter_proposals):
            if (promise.channel, promise.conversation_id) == conversation and promise.status == "proposed":
                found: Promise = promise
                return found
    return None


def _is_withdrawn(promise: Promise, told: Sequence[Mapping[str, Any]], said: Sequence[Said]) -> bool:
    words = {str(one["quote"]) for one in told if one.get("quote")}
    return promise.quote in words and quote_stands(promise.quote or "", said) != "stands"
