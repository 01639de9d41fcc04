"""Where the next conversation starts: gathers what the record says, lets the floor decide, words the answer (API 6).

    1 what stands: identity on the caller's identifier, the cycle meant, holds and stops        (`Standing`)
    2 who proposes: the caller, a stored model's proposal, else the channel's rules              (`channels.classifier`)
    3 the floor disposes                                                                          (`statemachine.floor`)
    4 the answer, with a flat map of variables in which every key is always there                (`vars_of`)

Everything here is a pure function of what it is given. A cold start has the same form; it is what a caller gets who is not
known, whose memory may not be handed out, or whose memory cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from channels import CHANNELS
from channels.classifier import read_proposal, rules_propose
from service.narrative import previous_step
from statemachine.conclusions import Cycle, Promise
from statemachine.contact import Contact
from statemachine.floor import Grant, Refusal, judge
from statemachine.journey import Standing
from statemachine.state import NO_IDENTITY, BorrowerState, Identity

LANGUAGE = "en"
"""The language of our own templates."""
STEPS_PAST_OPENING = frozenset({"inform", "negotiate", "confirm", "remind", "pay", "close"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A resume request after its borrower was found; `identifier` is `kind:canonical value`."""

    channel: str
    direction: str
    identifier: str | None
    loan_id: str | None
    proposal: Any


@dataclass(frozen=True, slots=True)
class Judged:
    """What was proposed, by whom, and what the floor gave."""

    grant: Grant
    proposed: str | None
    proposed_by: str | None
    fallback: str | None

    @property
    def source(self) -> str:
        return "classifier" if self.grant.granted_proposal else "position"


def standing_of(state: BorrowerState, cycle: Cycle, asked: Asked) -> Standing:
    """All that the floor needs to know."""
    return Standing(
        identity_holds=state.identity_on(asked.identifier).holds,
        contact_made=cycle.contact_made,
        informed=cycle.informed,
        rung=cycle.rung,  # type: ignore[arg-type]
        promise_stands=cycle.promise_stands,
        reminded=cycle.reminded.value,
        payment_link_shared=cycle.payment_link_shared.value,
        closed=cycle.is_over,
        on_hold=bool(state.holds_on(cycle.loan_id)),
        opted_out=state.opted_out(asked.channel),
        outbound=asked.direction == "outbound",
    )


def judged(state: BorrowerState, cycle: Cycle, asked: Asked) -> Judged:
    """The caller's proposal if there is one that can be read, else what the channel's rules propose (DESIGN 9)."""
    flow = CHANNELS[asked.channel].flow
    standing = standing_of(state, cycle, asked)
    proposed, unreadable = read_proposal(asked.proposal)
    if proposed is not None:
        return Judged(judge(flow, standing, proposed), flow.spelled(proposed), "caller", None)
    fallback = unreadable or "no_model"
    by_rules = rules_propose(
        flow,
        standing,
        counter_proposal=bool(cycle.counter_proposals),
        payment_claim=cycle.payment_claim is not None,
        dropped_at=_dropped_at(state, asked.channel),
    )
    if by_rules is not None:
        return Judged(judge(flow, standing, by_rules), by_rules, "rules", fallback)
    return Judged(judge(flow, standing, None), None, None, fallback)


def _dropped_at(state: BorrowerState, channel: str) -> str | None:
    """Where the last conversation broke off, as a state of this channel's flow."""
    last = state.conversations[-1] if state.conversations else None
    if last is None or last.outcome != "failed" or last.step not in STEPS_PAST_OPENING:
        return None
    return next((s.name for s in CHANNELS[channel].flow.states if s.step == last.step), None)


# -- the answer -------------------------------------------------------------------------------------------------

Answer = dict[str, Any]


def answer(
    state: BorrowerState, cycle: Cycle, asked: Asked, given: Judged, *, now: datetime, missing_after: timedelta
) -> Answer:
    """The answer of a borrower who is known, without what each request has of its own (`finished`)."""
    grant = given.grant
    identity = state.identity_on(asked.identifier)
    speakable = identity.holds or CHANNELS[asked.channel].modality == "text"
    text = previous_step(state, cycle, now=now)
    holds = state.holds_on(cycle.loan_id)
    body: Answer = {
        "found": True,
        "borrower_id": state.borrower_id,
        "loan_id": cycle.loan_id,
        "other_loans": [loan for loan in state.loans if loan != cycle.loan_id],
        "state": grant.state,
        "step": grant.step,
        "after_identity": grant.after_identity,
        "source": given.source,
        "position": grant.position,
        "proposed": given.proposed,
        "proposed_by": given.proposed_by,
        "fallback": given.fallback,
        "refusals": grant.refusals,
        "identity": identity,
        "cycle": cycle.terms,
        "commitment": cycle.promise,
        "counter_proposals": cycle.counter_proposals,
        "payment_claim": cycle.payment_claim,
        "callback": state.callback,
        "holds": holds,
        "open_conversations": _open(state, now, missing_after),
        "flags": _flags(cycle),
        "previous_step": {"text": text, "language": LANGUAGE, "speakable": speakable},
        "degraded": False,
        "degraded_reason": None,
    }
    body["vars"] = vars_of(body, cycle)
    return body


def cold_start(*, degraded_reason: str | None = None, refusals: Iterable[Refusal] = ()) -> Answer:
    """Nothing of any memory: `found` false, the opening, all else null, false or empty (API 6)."""
    body: Answer = {
        "found": False,
        "borrower_id": None,
        "loan_id": None,
        "other_loans": [],
        "state": "opening",
        "step": "greet",
        "after_identity": None,
        "source": "cold_start",
        "position": None,
        "proposed": None,
        "proposed_by": None,
        "fallback": None,
        "refusals": tuple(refusals),
        "identity": NO_IDENTITY,
        "cycle": None,
        "commitment": None,
        "counter_proposals": (),
        "payment_claim": None,
        "callback": None,
        "holds": (),
        "open_conversations": (),
        "flags": {"reminded": False, "payment_link_shared": False, "payment_confirmed": False},
        "previous_step": None,
        "degraded": degraded_reason is not None,
        "degraded_reason": degraded_reason,
    }
    body["vars"] = vars_of(body, None)
    return body


def finished(body: Answer, *, resume_id: str, contact: Contact, record_version: int | None, as_of: datetime) -> Answer:
    """The answer as it goes out: its id, whether they may be contacted now, and as of when."""
    variables = body["vars"] | {
        "contact_allowed": _yes(contact.allowed),
        "contact_reason": ", ".join(contact.reasons) or ABSENT,
    }
    return {
        "resume_id": resume_id,
        **body,
        "contact": contact,
        "vars": variables,
        "record_version": record_version,
        "as_of": as_of,
    }


def _flags(cycle: Cycle) -> dict[str, bool]:
    return {
        "reminded": cycle.reminded.value,
        "payment_link_shared": cycle.payment_link_shared.value,
        "payment_confirmed": cycle.payment_confirmed.value,
    }


def _open(state: BorrowerState, now: datetime, missing_after: timedelta) -> list[dict[str, Any]]:
    """Conversations that were begun and may still be going on; after a while they are reports that are missing."""
    return [
        {
            "channel": s.channel,
            "conversation_id": s.conversation_id,
            "since": s.at,
            "last_message_at": None,
            "last_speaker": None,
        }
        for s in state.started
        if now - s.at < missing_after
    ]


# -- the variables ----------------------------------------------------------------------------------------------

ABSENT = "none"
VARS = (
    "found borrower_id loan_id other_loans state step after_identity identity_verified promise_status promise_amount "
    "promise_currency promise_due_date promise_overdue counter_proposal payment_claimed reminded payment_link_shared "
    "payment_confirmed amount_received amount_outstanding contact_allowed contact_reason on_hold language speakable "
    "narrative degraded"
).split()
"""Every key is always there and no value is empty: voice platforms' templates take any text for true (DESIGN 10)."""


def vars_of(body: Mapping[str, Any], cycle: Cycle | None) -> dict[str, str]:
    """The flat map of strings; booleans are `yes` and `no`, what is absent is `none`. Contact is added by `finished`."""
    promise: Promise | None = body["commitment"]
    identity: Identity = body["identity"]
    step = body["previous_step"]
    counters: tuple[Promise, ...] = body["counter_proposals"]
    flags = body["flags"]
    return {
        "found": _yes(body["found"]),
        "borrower_id": body["borrower_id"] or ABSENT,
        "loan_id": body["loan_id"] or ABSENT,
        "other_loans": ", ".join(body["other_loans"]) or ABSENT,
        "state": body["state"] or ABSENT,
        "step": str(body["step"] or ABSENT),
        "after_identity": body["after_identity"] or ABSENT,
        "identity_verified": _yes(identity.holds),
        "promise_status": promise.status if promise else ABSENT,
        "promise_amount": _money(promise.amount) if promise else ABSENT,
        "promise_currency": (promise.currency if promise else None) or ABSENT,
        "promise_due_date": promise.due_date.isoformat() if promise and promise.due_date else ABSENT,
        "promise_overdue": _yes(promise.overdue if promise else False),
        "counter_proposal": _terms(counters[0]) if counters else ABSENT,
        "payment_claimed": _yes(body["payment_claim"] is not None),
        "reminded": _yes(flags["reminded"]),
        "payment_link_shared": _yes(flags["payment_link_shared"]),
        "payment_confirmed": _yes(flags["payment_confirmed"]),
        "amount_received": _money(cycle.received) if cycle else ABSENT,
        "amount_outstanding": _money(cycle.outstanding) if cycle else ABSENT,
        "contact_allowed": _yes(False),
        "contact_reason": ABSENT,
        "on_hold": _yes(any(r.rule == "on_hold" for r in body["refusals"])),
        "language": step["language"] if step else ABSENT,
        "speakable": _yes(bool(step and step["speakable"])),
        "narrative": (step["text"] if step else None) or ABSENT,
        "degraded": _yes(body["degraded"]),
    }


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _money(amount: Decimal | None) -> str:
    return ABSENT if amount is None else f"{amount:f}"


def _terms(promise: Promise) -> str:
    """An offer in one line: `700.00 INR by 2026-12-09`."""
    amounts = [f"{a:f}" for a in ((promise.amount,) if promise.amount is not None else promise.amount_candidates)]
    days = [d.isoformat() for d in ((promise.due_date,) if promise.due_date else promise.due_date_candidates)]
    amount = f"{' or '.join(amounts)} {promise.currency or ''}".strip() if amounts else ""
    return f"{amount} {'by ' + ' or '.join(days) if days else ''}".strip() or ABSENT
