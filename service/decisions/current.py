"""What of decisions may be told now: the one filter of every read (DESIGN 12).

Whoever shows a decision to anybody who acts (decisions, briefing, recall, context, tools) takes it from `current_of`, or asks
`is_current` for each hit that came from elsewhere: an index is a pre-filter and no proof. Both read the table and what is
known of versions in the caller's transaction, so that a version reported a moment ago counts, before anything is corrected.

`worded` is the only way to put one in words: never without its version and its date.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from service.decisions import rows
from service.decisions.rows import Stored
from statemachine.decisions import Seen, judged, newest

CURRENT_TOLD: Final = 50
"""Of one borrower's, the newest so many."""
WORDED_CHARACTERS: Final = 300


def current_of(connection: Connection, tenant: str, borrower_id: str, limit: int = CURRENT_TOLD) -> list[Stored]:
    """A borrower's decisions that may be used now, newest first. `borrower_id` is the real one (`records.resolve_id`)."""
    found: list[Stored] = []
    before = None
    while len(found) < limit:
        page = rows.of_borrower(connection, tenant, borrower_id, active_only=True, limit=limit, before=before)
        found += usable(connection, tenant, page)
        if len(page) < limit:
            break
        before = (page[-1].decided_at, page[-1].decision_id)
    return found[:limit]


def is_current(connection: Connection, tenant: str, borrower_id: str, decision_id: str) -> bool:
    """Whether this is a decision of this very borrower that may be used now."""
    stored = rows.decision(connection, tenant, decision_id)
    return stored is not None and stored.borrower_id == borrower_id and bool(usable(connection, tenant, [stored]))


def usable(connection: Connection, tenant: str, found: Sequence[Stored]) -> list[Stored]:
    """Those of these decisions of one tenant that may be used now."""
    seen = rows.seen_of(connection, tenant, ((one.source, one.entity) for one in found if one.status == "active"))
    return [one for one in found if judged(one.status, one.source_version, known_to(one, seen)).usable]


def known_to(stored: Stored, seen: dict[tuple[str, str], Seen]) -> Seen | None:
    """The newest known version of what a decision rests on."""
    of = (seen.get((stored.source, stored.entity)), seen.get((stored.source, "")))
    return newest(one for one in of if one is not None)


def statuses(connection: Connection, tenant: str, decision_ids: Iterable[str]) -> dict[str, str]:
    """What each of these is now, for reads with the purpose `history`; active and out of date is `stale` already."""
    found = rows.decisions(connection, tenant, decision_ids)
    may_be_used = {one.decision_id for one in usable(connection, tenant, list(found.values()))}
    return {
        id_: "stale" if one.status == "active" and id_ not in may_be_used else one.status for id_, one in found.items()
    }


def worded(stored: Stored, time_zone: str) -> str:
    """A decision in one line, with the version and the date without which it must not stand."""
    said = " ".join(stored.conclusion.split())
    if len(said) > WORDED_CHARACTERS:
        said = said[: WORDED_CHARACTERS - 1].rstrip() + "…"
    of = f"{stored.source} {stored.source_version}" + (f", {stored.entity}" if stored.entity else "")
    return f"Decided on {_day(stored.decided_at, time_zone)} ({of}): “{_unmarked(said)}”"


def _unmarked(said: str) -> str:
    """Without marks by which a quotation could end itself, or signs that shape a line."""
    plain = said.translate(_MARKS)
    return plain if plain.isprintable() else "".join(c for c in plain if c.isprintable())


_MARKS: Final = str.maketrans("“”„‟", "‘’‘‘")
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def _day(at: datetime, time_zone: str) -> str:
    local = at.astimezone(ZoneInfo(time_zone))
    return f"{local.day} {MONTHS[local.month - 1]} {local.year}"
