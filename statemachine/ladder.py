"""The ladder of commitment: `none < proposed < confirmed`, which only climbs (DESIGN 4).

Theory of operation. The strongest commitment counts, as a whole: its amount, date and evidence are one unit and never mixed
from two conversations. Strength is one total order (`strength`), so it cannot matter what arrived first. What a channel's
model claims is bounded by ceilings (`settled`): text proposes at most, speech confirms only what was read back with an amount
and a date. An excess claim is lowered with a warning; it is no error.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any, Literal

from statemachine.elements import CommitmentSaid

RUNGS = ("none", "proposed", "confirmed")
Rung = Literal["none", "proposed", "confirmed"]
AMOUNT_MAX = Decimal(1_000_000_000)
"""Above this an amount is absurd and withheld (DESIGN 4.9)."""


def rung_of(said: CommitmentSaid) -> Rung:
    """The rung of a stored commitment; an old document without a status derives `proposed` (DESIGN 4.3)."""
    return "confirmed" if said.status == "confirmed" else "proposed"


def names_terms(said: CommitmentSaid) -> bool:
    return bool(
        said.amount is not None or said.due_date is not None or said.amount_candidates or said.due_date_candidates
    )


def strength(said: CommitmentSaid) -> tuple[Any, ...]:
    """Higher rung, then one that names an amount or a date, then later, then revision, then id (DESIGN 4.1)."""
    return (said.status == "confirmed", names_terms(said), said.at, said.revision, said.event_id, said.digest)


def differs(said: CommitmentSaid, other: CommitmentSaid) -> bool:
    """Whether a claim names terms that are not those of another: then it is a counter-proposal beside it (DESIGN 4.4)."""
    return _other(_amounts(said), _amounts(other)) or _other(_dates(said), _dates(other)) or said_elsewhere(said, other)


def said_elsewhere(said: CommitmentSaid, other: CommitmentSaid) -> bool:
    """The same figure in another currency is another sum."""
    return bool(said.amount and other.amount and said.currency != other.currency)


def _amounts(said: CommitmentSaid) -> frozenset[object]:
    return frozenset((said.amount,) if said.amount is not None else said.amount_candidates)


def _dates(said: CommitmentSaid) -> frozenset[object]:
    return frozenset((said.due_date,) if said.due_date is not None else said.due_date_candidates)


def _other(claimed: frozenset[object], standing: frozenset[object]) -> bool:
    return bool(claimed) and claimed != standing


# -- ceilings ------------------------------------------------------------------------------------------------


def ceiling(
    claimed: str | None,
    *,
    speech: bool,
    read_back: bool,
    seen: bool | None,
    amount: Decimal | None,
    due_date: date | None,
) -> tuple[Literal["proposed", "confirmed"], str | None]:
    """The rung a claim reaches, and the code of the warning when it claimed more (DESIGN 4.2).

    `seen` says whether the read-back stands in the turns; `None` when no turns were sent. No status is `proposed`.
    """
    if claimed != "confirmed":
        return "proposed", None
    if not speech or not read_back:
        return "proposed", "lowered_to_proposed"
    if amount is None or due_date is None:
        return "proposed", "promise_incomplete"
    if seen is False:
        return "proposed", "read_back_not_seen"
    return "confirmed", None
