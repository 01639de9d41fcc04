"""What of a borrower may be recalled, as it may be shown now: facts, conversations in their own words, decisions.

Everything here comes from a state that was derived of one borrower's record, so what expired, what was forgotten and what came
through somebody else's number is not in it. Texts are screened when they are shown: what is withheld can not be found either.

The purpose: `current` is what an agent may act upon, so of several values of one thing only the newest, and no decision that is
not current. `history` is what was known, said and decided, with its dates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal

from channels.said import numbers
from service.policy import Policy
from statemachine.conclusions import Conversation, KnownFact
from statemachine.screening import screened
from statemachine.state import BorrowerState
from statemachine.volatility import Kind, Volatility
from statemachine.withholding import hidden_by, without

Purpose = Literal["current", "history"]
PURPOSES: Final = ("current", "history")
READ_CHARACTERS: Final = 20_000
SHOWN_CHARACTERS: Final = 1_200
"""Of a longer report only its end is shown, where the agreement usually stands."""

ONE_VALUE: Final = frozenset(
    {Kind.PREFERRED_CONTACT_TIME, Kind.PREFERRED_CHANNEL, Kind.PREFERRED_LANGUAGE, Kind.INCOME_DAY, Kind.EMPLOYMENT}
)
"""Kinds of which a person has one at a time; of the others several hold together."""


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that can be found. `owner` is checked again before it leaves."""

    owner: str
    kind: Literal["fact", "conversation", "decision"]
    id: str
    text: str
    at: datetime
    channel: str | None
    volatility: str
    status: str | None = None
    label: str = ""
    """In words what it is, which is looked at too."""

    def shown(self, score: float) -> dict[str, Any]:
        """As API 7 has it."""
        fields = ("kind", "id", "text", "at", "channel", "volatility", "status")
        return {**{name: getattr(self, name) for name in fields}, "score": score}


def facts_as_notes(state: BorrowerState, purpose: Purpose) -> list[Note]:
    """Each fact as it may be shown; of a fact whose text is withheld there is none."""
    channels = {(c.conversation_id, c.at): c.channel for c in state.conversations}
    known = state.facts if purpose == "history" else newest_values(state.facts)
    found = []
    for fact in known:
        told = _shown(fact.text, ())
        if told and fact.volatility != Volatility.LIVE:
            channel = channels.get((fact.conversation_id or "", fact.observed_at))
            label = fact.kind.replace("_", " ")
            found.append(
                Note(
                    state.borrower_id,
                    "fact",
                    fact.fact_id,
                    told,
                    fact.observed_at,
                    channel,
                    fact.volatility,
                    label=label,
                )
            )
    return found


def newest_values(facts: Sequence[KnownFact]) -> list[KnownFact]:
    """Of a kind that has one value at a time, the fact that holds: stated before inferred (DESIGN 11), then the newest. Of other
    kinds all."""
    holds: dict[tuple[str, str], KnownFact] = {}
    for fact in facts:
        key = (fact.kind, fact.about)
        held = holds.get(key)
        if held is None or _ranks(fact) > _ranks(held):
            holds[key] = fact
    return [fact for fact in facts if fact.kind not in ONE_VALUE or holds[fact.kind, fact.about] is fact]


def _ranks(fact: KnownFact) -> tuple[bool, datetime]:
    return fact.source == "stated", fact.observed_at


def untold(state: BorrowerState, policy: Policy, now: datetime) -> list[str]:
    """The entries of conversations whose prose the record does not keep any more, and the journal may."""
    life = timedelta(days=policy.prose_days)
    return [c.event_id for c in state.conversations if c.prose is None and c.claiming is None and now < c.at + life]


def conversations_as_notes(state: BorrowerState, older: Mapping[str, Mapping[str, Any]]) -> list[Note]:
    """Each conversation of which there is prose; `older`: bodies by entry, of those that the record has no prose of."""
    found = []
    hidden = hidden_by(state.withheld_texts)
    for c in state.conversations:
        prose, amounts = (c.prose, c.amounts) if c.prose is not None else _of_body(older.get(c.event_id))
        told = _shown(without(prose, hidden)[0], amounts) if prose else ""
        if told:
            found.append(_conversation(state, c, told))
    return found


def _conversation(state: BorrowerState, c: Conversation, told: str) -> Note:
    return Note(state.borrower_id, "conversation", c.conversation_id, told, c.at, c.channel, Volatility.EVENT)


def _of_body(body: Mapping[str, Any] | None) -> tuple[str | None, tuple[Decimal, ...]]:
    """Prose, and the amount that its own commitment names, of a summary as it was posted."""
    if body is None:
        return None, ()
    said = (body.get("commitment") or {}).get("amount")
    try:
        amounts = (Decimal(str(said)),) if said is not None else ()
    except InvalidOperation:
        amounts = ()
    return body.get("summary"), amounts


def _shown(text: str, amounts: Sequence[Decimal]) -> str:
    """What of a text may be shown now, on one line; blank when that is nothing."""
    told = screened(text[-READ_CHARACTERS:], amounts_allowed=frozenset(amounts), numbers=numbers).text
    line = " ".join(told.split())
    if len(line) <= SHOWN_CHARACTERS:
        return line
    end = line[-SHOWN_CHARACTERS:]
    return end[end.find(" ") + 1 :]
