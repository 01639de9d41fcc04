"""Decisions, and what passes them on, as an agent may read them at this moment (DESIGN 12).

    current_of   current decisions that still have words
    decided_of   these as lines
    rechecked    a state in which the words of conversations that pass decisions on are told while all of those are current

A state leaves such words out (`Conversation.claiming`), so whoever does not ask here tells none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace
from sqlalchemy import Connection

from service.decisions import claims, current
from service.decisions.current import CURRENT_TOLD
from service.decisions.rows import Stored
from service.forget.entries import FORGOTTEN
from statemachine.state import BorrowerState

CLAIM_NOT_CURRENT: Final = "claim_not_current"


def current_of(connection: Connection, tenant: str, borrower_id: str, limit: int = CURRENT_TOLD) -> list[Stored]:
    """As `current.current_of`, but for those whose words were forgotten: of them there is nothing to tell."""
    return [one for one in current.current_of(connection, tenant, borrower_id, limit) if one.conclusion != FORGOTTEN]


def decided_of(connection: Connection, tenant: str, borrower_id: str, time_zone: str) -> tuple[str, ...]:
    """Lines, newest first, of the real borrower (`records.resolve_id`). Prose is screened for what is true only when it is
    read; a decision need not be, since its version is: it is told while that is the newest known, with its date."""
    return tuple(current.worded(stored, time_zone) for stored in current_of(connection, tenant, borrower_id))


@dataclass(frozen=True, slots=True)
class Rechecked:
    """A state as it may be told, and the conversations, each with the rule, whose words are left out."""

    state: BorrowerState
    withheld: tuple[tuple[str, str], ...] = ()


def rechecked(connection: Connection, tenant: str, state: BorrowerState) -> Rechecked:
    """Looks at every claim again; a conversation that passes nothing on is as it was."""
    claiming = [c for c in state.conversations if c.claiming is not None]
    if not claiming:
        return Rechecked(state)
    trusted = claims.trusted(connection, tenant, [c.event_id for c in claiming])
    conversations = tuple(
        replace(c, prose=c.claiming, claiming=None) if c.event_id in trusted else c for c in state.conversations
    )
    withheld = tuple((c.conversation_id, CLAIM_NOT_CURRENT) for c in claiming if c.event_id not in trusted)
    return Rechecked(replace(state, conversations=conversations), withheld)
