"""One borrower as the pages see them: the same record, state and floor as the API's answers, at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError
from sqlalchemy import Connection

from channels import CHANNELS
from service import records
from service.errors import UnknownBorrower, UnknownLoan, Unreadable
from service.pages.page import Visit
from service.proposer.rows import Key
from service.reading import Known
from service.resuming import start
from service.resuming.gist import Gist
from service.web.calls import Parameters
from statemachine.conclusions import Cycle
from statemachine.contact import Contact, contact_of
from statemachine.floor import Refusal, judge
from statemachine.journey import is_done, position
from statemachine.record import UnreadableRecord
from statemachine.stamps import UnreadableEntry
from statemachine.state import UnknownLoan as NoSuchLoan
from statemachine.wire import AnyBorrowerId


class _InPath(Parameters):
    borrower_id: AnyBorrowerId


def id_in_path(visit: Visit) -> str:
    """The borrower of the path; raises `UnknownBorrower` for what can be no id."""
    try:
        return _InPath(borrower_id=visit.path("borrower_id")).borrower_id
    except ValidationError:
        raise UnknownBorrower from None


@dataclass(frozen=True, slots=True)
class Seen:
    """A borrower, and the record from which it is known."""

    one: Known
    stored: records.Stored

    def gist(self, visit: Visit, cycle: Cycle) -> Gist:
        policy = visit.parts.policies.for_tenant(visit.tenant)
        return visit.parts.reader.gist(visit.tenant, self.stored, cycle.loan_id, policy, visit.parts.clock())


async def seen(visit: Visit) -> Seen:
    """The borrower of the path as it is now. Raises `UnknownBorrower` and `Unreadable`."""
    borrower_id = id_in_path(visit)

    def look(conn: Connection) -> records.Stored | None:
        return records.stored(conn, visit.tenant, records.resolve_id(conn, visit.tenant, borrower_id))

    stored = await visit.parts.database.read(look)
    if stored is None:
        raise UnknownBorrower
    policy = visit.parts.policies.for_tenant(visit.tenant)
    try:
        return Seen(visit.parts.reader.known(visit.tenant, stored, policy, visit.parts.clock()), stored)
    except (UnreadableRecord, UnreadableEntry) as why:
        raise Unreadable from why


def cycle_of(one: Known, loan_id: str | None) -> Cycle:
    """The cycle a page means; raises `UnknownLoan`."""
    try:
        return one.state.cycle_of(loan_id)
    except NoSuchLoan:
        raise UnknownLoan from None


# -- what would be granted -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the floor says of one state of a flow, were it proposed now."""

    state: str
    is_done: bool
    is_position: bool
    is_granted: bool
    """Were it proposed, it would be given."""
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """Where a conversation of ours on one channel would start now, and the verdict on each state of its flow."""

    channel: str
    mode: str
    state: str | None
    position: str
    proposed: str | None
    proposed_by: str | None
    fallback: str | None
    after_identity: str | None
    identity_holds: bool
    identifier: str | None
    contact: Contact
    refusals: tuple[Refusal, ...]
    verdicts: tuple[Verdict, ...]


async def starts(visit: Visit, who: Seen, cycle: Cycle) -> tuple[Start, ...]:
    """For every channel, were we to start a conversation there now on the identifier on which identity holds, if any."""
    now, one, gist = visit.parts.clock(), who.one, who.gist(visit, cycle)
    return tuple([await _start(visit, one, cycle, gist, channel, now) for channel in CHANNELS])


async def _start(visit: Visit, one: Known, cycle: Cycle, gist: Gist, channel: str, now: datetime) -> Start:
    policy = visit.parts.policies.for_tenant(visit.tenant)
    identifier = next(iter(gist.identities), None)
    asked = start.Asked(channel, "outbound", identifier, cycle.loan_id, None)
    key = Key(visit.tenant, one.borrower_id, channel, cycle.loan_id or "")
    modelled = await visit.parts.proposals.proposed(key, one.version, now)
    begun = start.started(gist, asked, modelled)
    flow = CHANNELS[channel].flow
    standing = start.standing_of(gist, channel, identity_holds=identifier is not None, outbound=True)
    here = position(flow, standing).name
    verdicts = tuple(
        Verdict(
            state=state.name,
            is_done=is_done(state, standing),
            is_position=state.name == here,
            is_granted=(grant := judge(flow, standing, state.name)).granted_proposal,
            refusals=grant.refusals,
        )
        for state in flow.states
    )
    grant = judge(flow, standing, begun.proposed)
    return Start(
        channel=channel,
        mode=policy.mode_for(channel, one.borrower_id),
        state=begun.state,
        position=here,
        proposed=begun.proposed,
        proposed_by=begun.proposed_by,
        fallback=begun.fallback,
        after_identity=grant.after_identity,
        identity_holds=identifier is not None,
        identifier=identifier,
        contact=contact_of(one.state, channel, cycle.loan_id, now, policy),
        refusals=begun.refusals,
        verdicts=verdicts,
    )
