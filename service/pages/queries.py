"""What the addresses of pages may ask for, checked as the API checks its own, and lists in pages by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from sqlalchemy import Connection

from service import records
from service.errors import FieldError, InvalidBody, Unreadable
from service.pages.page import Visit
from service.records.aside import REASONS
from service.watching import rollout_cases, vendor_bodies
from service.web.calls import Parameters
from statemachine.conclusions import STAGES
from statemachine.ladder import RUNGS
from statemachine.record import UnreadableRecord
from statemachine.stamps import UnreadableEntry
from statemachine.wire import HOLD_KINDS, Channel, Day, Id, Instant, Name

ROWS = 50
ROWS_OF_A_FILE = 5_000
WHOLE_DIGITS = 6


def one_of(*names: str) -> BeforeValidator:
    def check(value: object) -> object:
        if value not in names:
            raise PydanticCustomError("not_in_enum", "one of {names}", {"names": ", ".join(names)})
        return value

    return BeforeValidator(check)


def _yes(value: object) -> bool:
    if value not in ("true", "false"):
        raise PydanticCustomError("wrong_type", "true or false")
    return value == "true"


def _whole(value: object) -> int:
    if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < WHOLE_DIGITS):
        raise PydanticCustomError("wrong_type", "a whole number")
    return int(value)


Yes = Annotated[bool, BeforeValidator(_yes)]
Whole = Annotated[int, BeforeValidator(_whole)]


class OfNothing(Parameters):
    """A page of which nothing can be asked."""


class OfPage(Parameters):
    """A page of a list; `as` is `csv` for a file of it."""

    cursor: str | None = None
    form: Annotated[str, one_of("csv")] | None = None

    @property
    def limit(self) -> int:
        return ROWS_OF_A_FILE if self.form == "csv" else ROWS

    def filters(self) -> dict[str, Any]:
        """What is asked for beyond the page."""
        return {name: value for name, value in dict(self).items() if name not in ("cursor", "form")}


class OfBorrowers(OfPage):
    stage: Annotated[str, one_of(*STAGES)] | None = None
    rung: Annotated[str, one_of(*RUNGS)] | None = None
    promise_due_from: Day | None = None
    promise_due_to: Day | None = None
    overdue: Yes | None = None
    reminded: Yes | None = None
    hold: Annotated[str, one_of("true", "false", *HOLD_KINDS)] | None = None
    last_channel: Channel | None = None


class OfPromises(OfPage):
    """`day`: of the calendar, when one of its days is shown."""

    show: Annotated[str, one_of("today", "week", "day", "overdue", "broken", "ledger")] = "today"
    day: Day | None = None


class OfResumes(OfPage):
    """`today`: only those of this day, as the counts are; `since` and `until`: those of a period of a roll-out."""

    today: Yes | None = None
    since: Instant | None = None
    until: Instant | None = None
    crossed: Yes | None = None
    borrower_id: Id | None = None
    channel: Channel | None = None
    agent: Name | None = None
    as_proposed: Yes | None = None
    degraded: Yes | None = None
    rule: Id | None = None
    fallback: Id | None = None
    ignored: Yes | None = None
    entered: Yes | None = None
    unnamed: Yes | None = None
    shadow: Yes | None = None
    differs: Yes | None = None
    granted: Id | None = None


class OfSetAside(OfPage):
    """`delivery`: those that count as deliveries of their own, so what was merged since is not among them."""

    status: Annotated[str, one_of("open", "merged", "refused")] | None = None
    vendor: Name | None = None
    reason: Annotated[str, one_of(*REASONS)] | None = None
    today: Yes | None = None
    delivery: Yes | None = None


class OfBodies(OfPage):
    show: Annotated[str, one_of(*vendor_bodies.SHOWN)] = "all"


class OfConversations(OfPage):
    channel: Channel | None = None


class OfDeliveries(OfPage):
    show: Annotated[str, one_of("merged", "events", "repeats", "conflicts")] = "merged"


class OfCorrections(OfPage):
    status: Annotated[str, one_of("pending", "done")] | None = None


class OfCallbacks(OfPage):
    today: Yes | None = None


class OfAudit(OfPage):
    borrower_id: Id | None = None
    action: Name | None = None


class OfCases(OfPage):
    """Of which channel, of which of its periods from 0, and what is measured."""

    channel: Channel
    period: Whole
    measure: Annotated[str, one_of(*rollout_cases.MEASURES)]


class OfAnswers(OfPage):
    """What a model answered; `read`: what could be."""

    model: Name | None = None
    failure: Annotated[str, one_of("read", "timeout", "unavailable", "unreadable")] | None = None


class OfWaiting(OfPage):
    partition: Whole | None = None


class OfOne(Parameters):
    """One borrower's page: of which loan, and from where on its time line is read."""

    loan_id: Id | None = None
    channel: Channel | None = None
    cursor: str | None = None


async def listed(visit: Visit, look: Callable[[Connection], records.Page]) -> records.Page:
    """A page of a list. Raises `InvalidBody` for a cursor that is none of ours and `Unreadable` for what is damaged."""
    try:
        return await visit.parts.database.read(look)
    except records.BadCursor:
        raise InvalidBody([FieldError("cursor", "wrong_type")]) from None
    except (UnreadableRecord, UnreadableEntry) as why:
        raise Unreadable from why
