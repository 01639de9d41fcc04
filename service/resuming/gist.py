"""The gist of a record: what `resume` tells of a borrower, concluded once and kept as bytes (DESIGN 3, 10).

To read a record, derive its state and put it into words takes a hundred times as long as to fetch a row. So the writer
concludes the gist of every record that it saves, and it is kept beside the record. It holds all of an answer but what a
request has of its own: on which channel, which way, from which number, with which proposal, and when.

A gist is used only as long as it is what would be made now: of this version of the record, by this policy and this very
code, before `until` (`Gist.holds`). It is a copy and may be missing; then it is made from the record, by the same function.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec

from service import strictjson
from service.narrative import previous_step
from service.policy import Policy
from statemachine.conclusions import Cycle, Promise
from statemachine.state import BorrowerState
from statemachine.wire import CHANNELS

ABSENT: Final = "none"
"""What a variable says that has nothing to say: voice platforms' templates take any text for true (DESIGN 10)."""
STEPS_PAST_OPENING: Final = frozenset({"inform", "negotiate", "confirm", "remind", "pay", "close"})


class Gist(msgspec.Struct, frozen=True, array_like=True):
    """Of one borrower in one cycle. Bytes are pieces of the answer in JSON: members of an object, or one value."""

    basis: str
    until: datetime | None
    """When time alone changes something of it."""
    loan_id: str | None
    time_zone: str

    contact_made: bool
    informed: bool
    rung: str
    promise_stands: bool
    reminded: bool
    payment_link_shared: bool
    closed: bool
    opted_out: tuple[str, ...]
    """Channels, for collections."""
    hold_ends: tuple[datetime | None, ...]
    """Of the holds in force when each ends; null for one that does not by itself."""
    identities: dict[str, bytes]
    """By `kind:value`, where identity holds."""
    counter_proposal: bool
    payment_claim: bool
    dropped_step: str | None
    """Where the last conversation broke off."""
    attempts: tuple[tuple[str, datetime], ...]
    """Channel and time of our own conversations, where the policy counts them."""
    started: tuple[tuple[str, str, datetime], ...]
    """Channel, id and beginning of conversations that nobody has reported on."""

    who: bytes
    told: bytes
    step: bytes
    variables: bytes

    def holds(self, basis: str, now: datetime, loan_id: str | None) -> bool:
        """Whether it is what would be made now, for a read that means this loan (none: the current one)."""
        return (
            self.basis == basis
            and (self.until is None or now < self.until)
            and (loan_id is None or loan_id == self.loan_id)
        )

    def to_bytes(self) -> bytes:
        return _ENCODER.encode(self)


def from_bytes(raw: bytes) -> Gist | None:
    """A stored gist; None for one of another form, which other code made."""
    try:
        return _DECODER.decode(raw)
    except msgspec.MsgspecError:
        return None


def gist_of(state: BorrowerState, cycle: Cycle, policy: Policy) -> Gist:
    """What is told of this borrower in this cycle; the state was derived under the same policy."""
    step = previous_step(state, cycle, now=None)
    last = state.conversations[-1] if state.conversations else None
    return Gist(
        basis=basis_of(policy),
        until=state.valid_until,
        loan_id=cycle.loan_id,
        time_zone=state.time_zone,
        contact_made=cycle.contact_made,
        informed=cycle.informed,
        rung=cycle.rung,
        promise_stands=cycle.promise_stands,
        reminded=cycle.reminded.value,
        payment_link_shared=cycle.payment_link_shared.value,
        closed=cycle.is_over,
        opted_out=tuple([c for c in CHANNELS if state.opted_out(c)]) if state.opt_outs else (),
        hold_ends=tuple([h.until for h in state.holds_on(cycle.loan_id)]) if state.holds else (),
        identities={name: strictjson.dump(identity) for name, identity in state.identities.items()},
        counter_proposal=bool(cycle.counter_proposals),
        payment_claim=cycle.payment_claim is not None,
        dropped_step=last.step if last and last.outcome == "failed" and last.step in STEPS_PAST_OPENING else None,
        attempts=_attempts(state) if policy.attempts_in_7_days else (),
        started=tuple([(s.channel, s.conversation_id, s.at) for s in state.started]),
        who=members(
            {
                "found": True,
                "borrower_id": state.borrower_id,
                "loan_id": cycle.loan_id,
                "other_loans": [loan for loan in state.loans if loan != cycle.loan_id],
            }
        ),
        told=members(
            {
                "cycle": cycle.terms,
                "commitment": cycle.promise,
                "counter_proposals": cycle.counter_proposals,
                "payment_claim": cycle.payment_claim,
                "callback": state.callback,
                "holds": state.holds_on(cycle.loan_id),
                "flags": {
                    "reminded": cycle.reminded.value,
                    "payment_link_shared": cycle.payment_link_shared.value,
                    "payment_confirmed": cycle.payment_confirmed.value,
                },
            }
        ),
        step=strictjson.dump(step),
        variables=members(_variables(state, cycle, step)),
    )


def _attempts(state: BorrowerState) -> tuple[tuple[str, datetime], ...]:
    return tuple([(c.channel, c.at) for c in state.conversations if c.direction != "inbound"])


def _variables(state: BorrowerState, cycle: Cycle, step: str) -> dict[str, str]:
    """Those that no request has a part in."""
    promise = cycle.promise
    return {
        "found": yes(True),
        "borrower_id": state.borrower_id,
        "loan_id": cycle.loan_id or ABSENT,
        "other_loans": ", ".join(loan for loan in state.loans if loan != cycle.loan_id) or ABSENT,
        "promise_status": promise.status if promise else ABSENT,
        "promise_amount": _money(promise.amount) if promise else ABSENT,
        "promise_currency": (promise.currency if promise else None) or ABSENT,
        "promise_due_date": promise.due_date.isoformat() if promise and promise.due_date else ABSENT,
        "promise_overdue": yes(promise.overdue if promise else False),
        "counter_proposal": _terms(cycle.counter_proposals[0]) if cycle.counter_proposals else ABSENT,
        "payment_claimed": yes(cycle.payment_claim is not None),
        "reminded": yes(cycle.reminded.value),
        "payment_link_shared": yes(cycle.payment_link_shared.value),
        "payment_confirmed": yes(cycle.payment_confirmed.value),
        "amount_received": _money(cycle.received),
        "amount_outstanding": _money(cycle.outstanding),
        "narrative": step or ABSENT,
    }


def yes(value: bool) -> str:
    return "yes" if value else "no"


def _money(amount: Decimal | None) -> str:
    return ABSENT if amount is None else f"{amount:f}"


def _terms(promise: Promise) -> str:
    """An offer in one line: `700.00 INR by 2026-12-09`."""
    amounts = [f"{a:f}" for a in ((promise.amount,) if promise.amount is not None else promise.amount_candidates)]
    days = [d.isoformat() for d in ((promise.due_date,) if promise.due_date else promise.due_date_candidates)]
    amount = f"{' or '.join(amounts)} {promise.currency or ''}".strip() if amounts else ""
    return f"{amount} {'by ' + ' or '.join(days) if days else ''}".strip() or ABSENT


def members(of: Mapping[str, Any]) -> bytes:
    """An object's members, without its braces."""
    return strictjson.dump(of)[1:-1]


NOBODY: Final = Gist(
    basis="",
    until=None,
    loan_id=None,
    time_zone="",
    contact_made=False,
    informed=False,
    rung="none",
    promise_stands=False,
    reminded=False,
    payment_link_shared=False,
    closed=False,
    opted_out=(),
    hold_ends=(),
    identities={},
    counter_proposal=False,
    payment_claim=False,
    dropped_step=None,
    attempts=(),
    started=(),
    who=members({"found": False, "borrower_id": None, "loan_id": None, "other_loans": []}),
    told=members(
        {
            "cycle": None,
            "commitment": None,
            "counter_proposals": [],
            "payment_claim": None,
            "callback": None,
            "holds": [],
            "flags": {"reminded": False, "payment_link_shared": False, "payment_confirmed": False},
        }
    ),
    step=b"",
    variables=members(
        {
            **dict.fromkeys(("found", "promise_overdue", "payment_claimed"), yes(False)),
            **dict.fromkeys(("reminded", "payment_link_shared", "payment_confirmed"), yes(False)),
            **dict.fromkeys(("borrower_id", "loan_id", "other_loans", "counter_proposal", "narrative"), ABSENT),
            **dict.fromkeys(("promise_status", "promise_amount", "promise_currency", "promise_due_date"), ABSENT),
            **dict.fromkeys(("amount_received", "amount_outstanding"), ABSENT),
        }
    ),
)
"""Of somebody of whom nothing is known, or may be told."""


# -- what a gist rests on ----------------------------------------------------------------------------------------------

_ROOT: Final = Path(__file__).resolve().parents[2]
_MADE_BY: Final = (
    "statemachine/**/*.py",
    "channels/**/*.py",
    "service/resuming/gist.py",
    "service/narrative/*.py",
    "service/policy.py",
    "service/strictjson.py",
    "templates/*.j2",
)
_BASIS_DIGITS: Final = 16


def made_by() -> list[Path]:
    """Every file that has a part in what a gist says."""
    return sorted(file for pattern in _MADE_BY for file in _ROOT.glob(pattern))


def _code_version() -> str:
    """A hash of all of it, so that no gist outlives the code that made it."""
    seen = hashlib.sha256()
    for file in made_by():
        seen.update(str(file.relative_to(_ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return seen.hexdigest()[:_BASIS_DIGITS]


_CODE: Final = _code_version()


def basis_of(policy: Policy) -> str:
    return f"{_CODE}:{policy.version}"


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Gist)
