"""Words of a chat that were taken back after they were summarised: a message that is revoked, or edited into something else.

The next summary names, in its `extra`, the earlier ones of ours that hold such words:

    words_withdrawn   those whose promise was made in them: it is told in their words no more (`statemachine.withdrawing`)
    turns_withdrawn   those that hold others

In an export both are structure, the latter with the words of its promise. What they said otherwise, the next summary tells anew,
without what was taken back. Lines that were posted as events are told as they stand. No storage and no clock here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from channels.chats import Line, Said, posted_line, said_in
from channels.summarise.shown import is_placeholder
from service.chats.revising import PROMISED_AT, Report
from service.intake.stamping import WITHDRAWN_NAMED, WORDS_WITHDRAWN, withdrawn_in
from statemachine.entries import ConversationMessage
from statemachine.grounding import folded, quote_stands

TURNS_WITHDRAWN: Final = "turns_withdrawn"
MESSAGE: Final = "conversation.message"
WITHDRAWN: Final = "[withdrawn]"
"""Where a text must stand."""
WORDS: Final = {
    "commitment": ("quote", "amount_said", "due_date_said"),
    "payment_claim": ("quote", "paid_on_said"),
    "callback": ("quote", "at_said"),
}


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Ids of earlier summaries. `promises`: of which the promise's words were taken back; `turns`: other words."""

    promises: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()

    def extra(self) -> dict[str, Any]:
        told = {WORDS_WITHDRAWN: list(self.promises), TURNS_WITHDRAWN: list(self.turns)}
        return {name: reports for name, reports in told.items() if reports}


def withdrawn_from(
    told: Sequence[Report], said: Sequence[Said], shown: Sequence[Said], since: datetime | None = None
) -> Withdrawn:
    """Which of our own summaries (`told`, the newest first) say what does not stand any more, those left out that an earlier
    one named. `said`: the chat as it stands, of a long one what was said `since`; `shown`: as it is kept beside a summary."""
    known = promises_withdrawn(told, Withdrawn())
    known_turns = {report for _, body in told for report in withdrawn_in(body.get("extra") or {}, TURNS_WITHDRAWN)}
    promises: list[str] = []
    turns: list[str] = []
    stands = {(turn.speaker, folded(turn.text)) for turn in (*said, *shown)}
    for report, body in told:
        before = [turn for turn in body.get("turns") or () if since is not None and _at(turn) < since]
        if not _promise_stands(body, (*said, *map(_as_said, before))):
            promises.append(report)
        elif any(not _stands(turn, stands, said) for turn in body.get("turns") or () if turn not in before):
            (turns if body.get("commitment") else promises).append(report)
    return Withdrawn(
        tuple(report for report in promises if report not in known)[:WITHDRAWN_NAMED],
        tuple(report for report in turns if report not in known | known_turns)[:WITHDRAWN_NAMED],
    )


def promises_withdrawn(told: Sequence[Report], now: Withdrawn) -> frozenset[str]:
    """Those whose promise's words were taken back, now or before."""
    return frozenset(now.promises).union(*(withdrawn_in(body.get("extra") or {}) for _, body in told))


def _promise_stands(body: Mapping[str, Any], said: Sequence[Said]) -> bool:
    """Whether all the words in which a report's promise was made still stand. A promise made by a button has no words: it stands
    while a line of that time does."""
    commitment = body.get("commitment") or {}
    words = [commitment[name] for name in WORDS["commitment"] if commitment.get(name)]
    if words or not commitment:
        return all(quote_stands(text, said) == "stands" for text in words)
    at = (body.get("extra") or {}).get(PROMISED_AT)
    return at is None or any(turn.at == datetime.fromisoformat(at) for turn in said)


def _at(turn: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(turn["at"])


def _as_said(turn: Mapping[str, Any]) -> Said:
    return Said(str(turn["speaker"]), str(turn["text"]), _at(turn))


def _stands(turn: Mapping[str, Any], stands: set[tuple[str, str]], said: Sequence[Said]) -> bool:
    speaker, text = str(turn["speaker"]), str(turn["text"])
    if (speaker, folded(text)) in stands or is_placeholder(text):
        return True
    # What was fed into a turn is taken out of it, and by now that may be more or less than it was.
    return speaker == "borrower" and quote_stands(text, said) == "stands"


# -- what was posted, as it may be told -----------------------------------------------------------------------------------


def as_it_stands(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The bodies of these entries (`event_id type entry`), all of one borrower, without words that were taken back. The structure
    of a report stays, and a message's place."""
    lines: dict[tuple[str, str], list[Line]] = defaultdict(list)
    named: dict[bool, set[tuple[str, str, str]]] = {True: set(), False: set()}
    for one in entries:
        body = one["entry"]
        if one["type"] == "summary":
            extra, chat = body.get("extra") or {}, (body["channel"], body["conversation_id"])
            named[False] |= {(*chat, report) for report in withdrawn_in(extra)}
            named[True] |= {(*chat, report) for report in withdrawn_in(extra, TURNS_WITHDRAWN)}
        elif one["type"] == MESSAGE:
            lines[body["channel"], body["conversation_id"]].append(_line(body))
    stands = {chat: {(said.speaker, said.text) for said in said_in(told)} for chat, told in lines.items()}

    def told(event_id: str, type_: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if type_ == MESSAGE and (body["speaker"], body["text"]) not in stands[body["channel"], body["conversation_id"]]:
            return {**body, "text": WITHDRAWN}
        report = (body.get("channel"), body.get("conversation_id"), event_id)
        if type_ == "summary" and (report in named[False] or report in named[True]):
            return _structure(body, with_promise=report not in named[False])
        return dict(body)

    return [told(one["event_id"], one["type"], one["entry"]) for one in entries]


def _line(body: Mapping[str, Any]) -> Line:
    return posted_line(ConversationMessage.model_validate({**body, "extra": None}))


def _structure(body: Mapping[str, Any], *, with_promise: bool) -> dict[str, Any]:
    kept = {name: value for name, value in body.items() if name not in ("summary", "turns", "facts")}
    for name, words in WORDS.items():
        if kept.get(name) and not (with_promise and name == "commitment"):
            kept[name] = {field: value for field, value in kept[name].items() if field not in words}
    return kept
