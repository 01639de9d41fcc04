"""The summary of a chat, as the sweeper posts it: what the summariser made of it, and what is known of the chat without one.

How a chat is claimed, looked at and posted (`sweeper`), and who made the draft (`summariser`), is not known here. No storage and
no clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from channels.chats import Line, Said, modality_of, within
from service.chats.claims import Stored
from service.chats.revising import OVERLAP, PROMISED_AT, SUMMARISED_BY
from service.chats.withdrawn import Withdrawn
from service.intake import envelope
from service.reading import Known
from service.summariser import Summarised
from statemachine.entries import Identifier, Summary
from statemachine.wire import TURNS

TURNS_CHARACTERS: Final = 150_000
"""Of the turns that go with a summary: an entry of the log has its limit."""
EVIDENCE_TURNS: Final = 20
"""Older turns that go with a summary because it quotes them, at most."""


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a chat before it is summarised."""

    chat: Stored
    zone: str
    memory: Known | None
    revision: int
    """The highest of this conversation in the journal."""
    covered_until: datetime | None
    """Up to when a summary that is not ours tells it."""
    lines: Sequence[Line]
    """Its newest, opened."""

    @property
    def ended_at(self) -> datetime:
        """When it ended, as far as is known: with its last line, or later."""
        return max(self.chat.last_at, self.chat.ended_at or self.chat.last_at)

    @property
    def is_covered(self) -> bool:
        """Whether the channel's own summary tells all that was said."""
        return self.covered_until is not None and self.covered_until + OVERLAP >= self.chat.last_at


def summary_of(look: Look, said: Sequence[Said], made: Summarised, withdrawn: Withdrawn) -> Summary:
    """The summary as it is posted. Its turns are those that a model may see: a live value is in no summary (AC-77)."""
    chat, draft = look.chat, made.draft
    first = min((line for line in look.lines if line.kind == "said"), key=lambda line: line.at, default=None)
    named: dict[str, Any] = json.loads(chat.named)
    identifier = named.pop("identifier", None)
    quotes = (draft.commitment, draft.payment_claim, draft.callback)
    turns = _with_evidence(made.turns, [part.quote for part in quotes if part is not None and part.quote])
    return Summary(
        **named,
        identifier=Identifier(**identifier) if identifier else None,
        channel=chat.channel,  # type: ignore[arg-type]  # as the table holds it
        modality=modality_of(said),
        direction="inbound" if first is not None and first.speaker == "borrower" else "outbound" if first else None,
        conversation_id=chat.conversation_id,
        revision=look.revision + 1,
        started_at=first.at if first is not None else None,
        ended_at=look.ended_at,
        outcome=_outcome(look, draft.outcome),
        disposition=draft.disposition,
        reached=draft.reached,
        summary=draft.summary if said else None,
        commitment=draft.commitment,
        payment_claim=draft.payment_claim,
        callback=draft.callback,
        facts=list(draft.facts),
        turns=[turn.turn() for turn in turns],
        extra=_extra(made, withdrawn),
    )


def summary_from(raw: bytes) -> Summary:
    """One that was prepared before, as it was."""
    return Summary.model_validate(envelope.document(raw))


def _outcome(look: Look, of_what_stands: str | None) -> str | None:
    """Whoever wrote was there, also when nothing of it stands any more: words are taken back, and not that they were written."""
    wrote = {line.speaker for line in look.lines if line.kind == "said"}
    return "connected" if "borrower" in wrote else of_what_stands


def _extra(made: Summarised, withdrawn: Withdrawn) -> dict[str, Any]:
    promised_at = made.draft.promised_at if made.draft.commitment is not None else None
    return {
        SUMMARISED_BY: made.by,
        **({PROMISED_AT: promised_at.isoformat()} if promised_at else {}),
        **withdrawn.extra(),
    }


def _with_evidence(every: tuple[Said, ...], quotes: Sequence[str]) -> tuple[Said, ...]:
    """The newest turns that fit into one summary; of a very long chat also the older ones that are quoted, before them."""
    start = within(every, TURNS - EVIDENCE_TURNS, TURNS_CHARACTERS)
    older = [turn for turn in every[:start] if turn.speaker == "borrower" and any(q in turn.text for q in quotes)]
    return (*older[-EVIDENCE_TURNS:], *every[start:])
