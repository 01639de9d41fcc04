"""What a vendor's model captured of a conversation, found by name: the fields of a summary that a model may fill.

The names are those that agents' builders choose for the same things. Nothing here can make a hard event: a captured
`identity_verified` or `payment_confirmed` is a model's word and stays a remark. Amounts and days that are no plain values are
people's words and are kept as such, to be resolved at intake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from channels import fields
from channels.dispositions import Family, family
from statemachine.entries import Callback, Commitment, PaymentClaim
from statemachine.wire import OUTCOMES

NESTED: Final = ("commitment", "promise", "collections_outcome", "outcome", "result", "analysis")
"""Objects that hold fields of ours, wherever they stand."""
DEPTH_LEVELS: Final = 3
AMOUNT: Final = (
    "amount", "amount_rupees", "promise_amount", "promised_amount", "ptp_amount", "committed_amount", "commitment_amount",
)  # fmt: skip
AMOUNT_SAID: Final = ("amount_said", "promised_amount_said")
DUE_DATE: Final = ("due_date", "promised_date", "promise_date", "ptp_date", "promise_due_date", "commitment_date")
DUE_DATE_SAID: Final = ("due_date_said", "promised_date_said", "promise_date_said", "date_said")
CURRENCY: Final = ("currency", "promise_currency")
READ_BACK: Final = ("read_back", "read_back_confirmed", "readback_confirmed", "readback")
PROMISED: Final = ("promise_made", "promised", "commitment_made", "ptp_made", "has_promised")
QUOTE: Final = ("quote", "promise_quote", "borrower_quote")
CLAIMED: Final = ("payment_claimed", "already_paid", "claims_paid", "claimed_payment")
PAID_ON: Final = ("paid_on", "paid_date")
PAID_AMOUNT: Final = ("paid_amount", "amount_paid")
CALLBACK: Final = ("callback_at", "callback_time", "callback")
OUTCOME: Final = ("call_outcome", "outcome")
DISPOSITION: Final = ("disposition", "disposition_code", "call_disposition")
THIRD_PARTY: Final = ("third_party", "third_party_relation", "who_answered")
LANGUAGE: Final = ("language", "borrower_language")
REACHED: Final = ("reached", "state_reached", "last_state")

ABSENT: Final = frozenset(
    {"", "none", "null", "n/a", "na", "nil", "unknown", "not mentioned", "not specified", "not provided"}
)
LEFTOVERS: Final = 40
LEFTOVER_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Captured:
    """In our own terms, with what was not understood as a remark."""

    commitment: Commitment | None = None
    claim: PaymentClaim | None = None
    callback: Callback | None = None
    outcome: str | None = None
    disposition: str | None = None
    family: Family | None = None
    third_party: str | None = None
    language: str | None = None
    reached: str | None = None
    remarks: Mapping[str, str] = field(default_factory=dict)


def absent(value: object) -> bool:
    """Nothing, or a word for it. Our own variables say `none` for what is not there, and come back in reports."""
    return value is None or (isinstance(value, str) and value.strip().lower() in ABSENT)


def captured(found: Mapping[str, Any]) -> Captured:
    """What these fields say. Never raises."""
    values = _Values(found)
    label = fields.label(values.take(*DISPOSITION))
    kind = family(label)
    outcome = values.take(*OUTCOME)
    outcome = outcome.strip().lower().replace(" ", "_") if isinstance(outcome, str) else None
    if outcome is not None and outcome not in OUTCOMES:
        values.remark("outcome", outcome)
        outcome = None
    return Captured(
        commitment=_commitment(values),
        claim=_claim(values, kind),
        callback=_callback(values),
        outcome=outcome,
        disposition=label,
        family=kind,
        third_party=fields.label(values.take(*THIRD_PARTY), 80),
        language=fields.label(values.take(*LANGUAGE), 200),
        reached=fields.label(values.take(*REACHED), 200),
        remarks=values.remarks(),
    )


class _Values:
    """Fields by name, the known objects among them opened; what nobody takes is a remark."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self._values: dict[str, Any] = {}
        self._taken: set[str] = set()
        self._add(found, "", 0)

    def _add(self, found: Mapping[str, Any], prefix: str, depth: int) -> None:
        """Plain values before what stands deeper. An object that is not known is opened for its remarks alone: an amount in
        it is an amount of something else."""
        deeper = []
        for name, value in found.items():
            if isinstance(value, Mapping) and "value" in value:
                value = value["value"]
            if isinstance(value, Mapping):
                deeper.append((name.lower(), value))
            else:
                self._values.setdefault(prefix + name.lower(), value)
        for name, value in deeper:
            if depth < DEPTH_LEVELS:
                self._add(value, prefix if name in NESTED else f"{prefix}{name}.", depth + 1)

    def take(self, *names: str) -> Any:
        """The first of these that is there."""
        self._taken.update(names)
        return next((self._values[name] for name in names if not absent(self._values.get(name))), None)

    def remark(self, name: str, value: str) -> None:
        self._values[name] = value
        self._taken.discard(name)

    def remarks(self) -> dict[str, str]:
        left: dict[str, str] = {}
        for name, value in sorted(self._values.items()):
            if name not in self._taken and isinstance(value, str | int | bool | Decimal) and not absent(value):
                said = str(value).lower() if isinstance(value, bool) else str(value)
                shown, key = fields.text(said, LEFTOVER_CHARACTERS), fields.text(name, 100)
                if shown and key and len(left) < LEFTOVERS:
                    left[key] = shown
        return left


def _commitment(values: _Values) -> Commitment | None:
    promised = fields.truth(values.take(*PROMISED))
    amount, amount_said = (
        _value_or_words(values.take(*AMOUNT), fields.number),
        fields.text(values.take(*AMOUNT_SAID), 500),
    )
    due, due_said = _value_or_words(values.take(*DUE_DATE), fields.day), fields.text(values.take(*DUE_DATE_SAID), 500)
    currency = fields.label(values.take(*CURRENCY), 8)
    read_back = fields.truth(values.take(*READ_BACK)) is True
    quote = fields.text(values.take(*QUOTE), 2_000)
    if isinstance(amount[0], Decimal) and amount[0] == 0:
        amount = (None, None)  # a model's way to say that there is none
    words = amount_said or amount[1], due_said or due[1]
    terms = (amount[0], due[0], *words)
    if promised is False or all(term is None for term in terms):
        return None
    return Commitment(
        amount=format(amount[0], "f") if amount[0] is not None else None,
        currency=currency,
        due_date=due[0].isoformat() if due[0] is not None else None,
        status="confirmed" if read_back else None,
        amount_said=words[0],
        due_date_said=words[1],
        quote=quote,
        read_back=read_back,
    )


def _value_or_words(value: object, read: Any) -> tuple[Any, str | None]:
    """A plain value, else the words that stand in its place."""
    plain = read(value)
    return (plain, None) if plain is not None else (None, fields.text(value, 500))


def _claim(values: _Values, kind: Family | None) -> PaymentClaim | None:
    """ "I have already paid": a claim, whoever captured it; it sets no flag (DESIGN 4.10)."""
    claimed = fields.truth(values.take(*CLAIMED))
    paid_on = _value_or_words(values.take(*PAID_ON), fields.day)
    amount = fields.number(values.take(*PAID_AMOUNT))
    if claimed is not True and not (claimed is None and kind is Family.paid):
        return None
    return PaymentClaim(
        amount=format(amount, "f") if amount else None,
        paid_on=paid_on[0].isoformat() if paid_on[0] else None,
        paid_on_said=paid_on[1],
    )


def _callback(values: _Values) -> Callback | None:
    wanted = values.take(*CALLBACK)
    moment: datetime | None = fields.iso(wanted)
    said = None if moment or fields.truth(wanted) is not None else fields.text(wanted, 500)
    return Callback(at=moment, at_said=said) if moment or said else None
