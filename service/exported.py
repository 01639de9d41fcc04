"""Everything kept of one borrower, as one document: what a data-access request is answered with (API 10).

The call and the operations room hand out the same document. Entries are as posted and as they may be told now: what has expired
is not in it, and words that whoever said them took back are not. What a person withheld from agents is in it, since it is kept.
Of what was somebody else's (`wrong_borrower`) there is a marked line and no word: it is not the data of whoever asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection

from service import records
from service.anothers import MARK, is_anothers, wordless
from service.chats.withdrawn import as_it_stands
from service.narrative import narrative
from service.reading import Known
from service.retention.reading import told
from service.strictjson import as_sent
from statemachine.conclusions import KnownFact

if TYPE_CHECKING:
    from service.wiring import Parts

_FACT_FIELDS: Final = (
    "fact_id", "kind", "text", "about", "source", "volatility", "observed_at", "expires_at", "conversation_id", "grounding",
)  # fmt: skip


def fact_answer(fact: KnownFact) -> dict[str, Any]:
    """A fact as API 7 has it."""
    return {name: getattr(fact, name) for name in _FACT_FIELDS}


async def exported(parts: Parts, tenant: str, one: Known) -> dict[str, Any]:
    """Raises `DatabaseUnavailable`, and `UnreadableEntry` for what is damaged."""
    state, now, policy = one.state, parts.clock(), parts.policies.for_tenant(tenant)
    await parts.resumes.flush()

    def look(conn: Connection) -> dict[str, Any]:
        return records.export(conn, tenant, one.borrower_id)

    kept = await parts.database.read_slow(look)
    anothers = {
        entry["event_id"]
        for entry in kept["entries"]
        if is_anothers(state, entry.pop("through"), entry["effective_at"], parts.keyed_hash)
    }
    return {
        "borrower_id": one.borrower_id,
        "provisional": one.is_provisional,
        "record_version": one.version,
        "as_of": now,
        "identifiers": state.identifiers,
        "cycles": state.cycles,
        "holds": state.holds,
        "opt_outs": state.opt_outs,
        "facts": [fact_answer(fact) for fact in state.facts],
        "withheld_texts": state.withheld_texts,
        "narrative": narrative(state, state.cycle_of(None), now=now).text,
        "decisions": await parts.decisions.history(tenant, one.borrower_id),
        **kept,
        "set_aside": [
            row | {"value": None} | MARK if row["event_id"] in anothers else row for row in kept["set_aside"]
        ],
        "entries": [
            entry | {"entry": as_sent(wordless(body))} | MARK
            if entry["event_id"] in anothers
            else entry | {"entry": as_sent(told(body, entry["type"], entry["effective_at"], now, policy))}
            for entry, body in zip(kept["entries"], as_it_stands(kept["entries"]), strict=True)
        ],
    }
