"""What a revision of a summary tells anew of a chat, and what an earlier one told already: nothing is said twice (DESIGN 4, 5).

A chat that goes on is summarised again as a whole, and a commitment stands at the time of the revision that tells it. One that
was told before stands where it was told: told again it would be a promise of a later day, made after it was broken, and behind
the payments that kept it. Which turn a commitment rests on is known by the time at which that was written, which goes along with
each summary (`promised_at` in its `extra`).

When the promise that was told last was taken back since, by an edit or a revocation, what stands of the chat is told anew, unless
what was promised may have been kept, was broken or retracted, or its cycle is over. No storage and no clock here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from statemachine.state import BorrowerState

Report: TypeAlias = tuple[str, Mapping[str, Any]]
"""A summary: its event id, and its body as it was posted."""
SUMMARISED_BY: Final = "summarised_by"
"""In the `extra` of a summary of ours: by a model or by rules."""
PROMISED_AT: Final = "promised_at"
OVERLAP: Final = timedelta(seconds=60)
"""A channel's own summary that ended so shortly before a line covers it: clocks differ."""
ENDED: Final = ("kept", "partly_kept", "broken", "retracted")


def is_told_already(promised_at: datetime, told: Sequence[Report], withdrawn: Set[str], *, alive: bool) -> bool:
    """Whether a promise that rests on a turn of that time was told. `told`: the summaries of the chat, the newest first;
    `withdrawn`: those of ours whose promise's words were taken back; `alive`: see `is_alive`."""
    promises = [(report, at) for report, body in told if (at := _promised_at(body)) is not None]
    if promises and promises[0][0] in withdrawn and alive:
        return False
    return any(at >= promised_at and report not in withdrawn for report, at in promises)


def _promised_at(body: Mapping[str, Any]) -> datetime | None:
    """Of a channel's own summary all that it covers may be what its promise rests on."""
    if not body.get("commitment"):
        return None
    if not is_ours(body):
        return datetime.fromisoformat(body["ended_at"]) + OVERLAP
    at = (body.get("extra") or {}).get(PROMISED_AT)
    return datetime.fromisoformat(at) if isinstance(at, str) else None


def is_ours(body: Mapping[str, Any]) -> bool:
    return bool((body.get("extra") or {}).get(SUMMARISED_BY))


def is_alive(
    state: BorrowerState,
    conversation: tuple[str, str],
    named: Mapping[str, Any],
    promised_at: datetime,
    ended_at: datetime,
) -> bool:
    """Whether what was promised in the chat then may be promised still at its end. `named`: loan and cycle as its summary names
    them."""
    loan, cycle = named.get("loan_id"), named.get("cycle_id")
    place = state.place(loan, cycle, promised_at)
    if place != state.place(loan, cycle, ended_at):
        return False
    every = (
        promise
        for one in state.cycles
        for promise in (*((one.promise,) if one.promise else ()), *one.counter_proposals, *one.history)
    )
    if any((p.channel, p.conversation_id) == conversation and p.outcome in ENDED for p in every):
        return False
    # Of one conversation only the strongest promise is told: whether an earlier one was kept, what was paid since may tell.
    its = (one for one in state.cycles if (one.loan_id, one.cycle_id) == place[:2])
    return not any(payment.received and payment.at >= promised_at for one in its for payment in one.payments)
