"""May we remind, may we send the link: an atomic, expiring claim (DESIGN 5, API 8).

A boolean that is read and then acted upon is a race; a permit is the claim that settles it. `refusal` says why there is none,
by a table of rules in the contract's order. Whoever calls it holds the borrower's row, so that two callers cannot both see
that nobody has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from statemachine.conclusions import Cycle
from statemachine.contact import Contact
from statemachine.state import BorrowerState

ACTIONS = ("reminder", "payment_link")
EVENT_OF = {"reminder": "reminder.sent", "payment_link": "payment_link.shared"}
UNCLEAR_HOURS = 24
"""How long a message that was only attempted blocks another one."""
BEHIND_RETRY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Permit:
    """One holder's claim, as it is answered."""

    permit_id: str
    action: str
    channel: str
    holder: str
    borrower_id: str
    loan_id: str | None
    cycle_id: str | None
    attempt: int
    granted_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Asking:
    """All that decides about one request."""

    state: BorrowerState
    cycle: Cycle
    action: str
    channel: str
    holder: str
    contact: Contact
    is_behind: bool
    """Whether an accepted entry of this borrower is not merged yet."""
    now: datetime


@dataclass(frozen=True, slots=True)
class Refused:
    reason: str
    retry_at: datetime | None = None


def standing_refusal(asking: Asking) -> Refused | None:
    """Why nobody may do it at all: the reasons that hold even against a permit that was granted before."""
    cycle = asking.cycle
    if asking.state.holds_on(cycle.loan_id):
        return Refused("hold", _next_of(asking.contact, "hold"))
    if asking.state.opted_out(asking.channel):
        return Refused("opted_out")
    if cycle.status == "paid":
        return Refused("paid")
    if cycle.status in ("closed", "unknown"):
        return Refused("closed")
    flag = cycle.reminded if asking.action == "reminder" else cycle.payment_link_shared
    if flag.value:
        return Refused("already_done")
    attempted_at = cycle.attempted_at.get(asking.action)
    if attempted_at and asking.now < (clear_at := attempted_at + timedelta(hours=UNCLEAR_HOURS)):
        return Refused("unclear_outcome", clear_at)
    return None


def new_refusal(asking: Asking, live: Permit | None) -> Refused | None:
    """Why a new permit is not given now; `live` is one that is neither expired nor settled, whoever holds it."""
    if live is not None:
        return Refused("held_by_other", live.expires_at)
    if asking.is_behind:
        return Refused("behind", asking.now + BEHIND_RETRY)
    for reason in ("outside_hours", "attempts_exceeded"):
        if reason in asking.contact.reasons:
            return Refused(reason, asking.contact.next_allowed_at)
    return None


def _next_of(contact: Contact, reason: str) -> datetime | None:
    return contact.next_allowed_at if reason in contact.reasons else None
