"""Words of a chat that were taken back after they were summarised: a message that is revoked, or edited into something else.

The next summary names each earlier one of ours that holds such words (`words_withdrawn` in its `extra`): from then on no promise
is told in that one's words (`statemachine.withdrawing`), and of an export it is structure alone. What it said otherwise, the next
summary tells anew, without what was taken back. Lines that were posted as events are told as they stand.

No storage and no clock here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from channels.chats import Line, Said, posted_line, said_in
from channels.summarise.shown import is_placeholder
from service.intake.stamping import WITHDRAWN_NAMED, withdrawn_in
from statemachine.entries import ConversationMessage
from statemachine.grounding import folded, quote_stands

MESSAGE: Final = "conversation.message"
WITHDRAWN: Final = "[withdrawn]"
"""Where a text must stand."""
WORDS: Final = {
    "commitment": ("quote", "amount_said", "due_date_said"),
    "payment_claim": ("quote", "paid_on_said"),
    "callback": ("quote", "at_said"),
}


def reports_of_withdrawn(
    told: Sequence[tuple[str, Mapping[str, Any]]],
    said: Sequence[Said],
    shown: Sequence[Said],
    since: datetime | None = None,
) -> list[str]:
    """The ids of those of our own summaries (`told`: id and body, the newest first) in which a turn stands that is not there
    any more. `said`: the chat as it stands, of a long one what was said `since`; `shown`: the same as it is kept beside a
    summary."""
    stands = {(turn.speaker, folded(turn.text)) for turn in (*said, *shown)}
    named = {report for _, body in told for report in withdrawn_in(body.get("extra") or {})}
    found = [
        report
        for report, body in told
        if report not in named
        and any(not _stands(turn, stands, said) for turn in body.get("turns") or () if not _is_before(turn, since))
    ]
    return found[:WITHDRAWN_NAMED]


def _is_before(turn: Mapping[str, Any], since: datetime | None) -> bool:
    return since is not None and datetime.fromisoformat(turn["at"]) < since


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
    reports: set[tuple[str, str, str]] = set()
    for one in entries:
        body = one["entry"]
        if one["type"] == "summary":
            named = withdrawn_in(body.get("extra") or {})
            reports |= {(body["channel"], body["conversation_id"], report) for report in named}
        elif one["type"] == MESSAGE:
            lines[body["channel"], body["conversation_id"]].append(_line(body))
    stands = {chat: {(said.speaker, said.text) for said in said_in(told)} for chat, told in lines.items()}

    def told(event_id: str, type_: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if type_ == MESSAGE and (body["speaker"], body["text"]) not in stands[body["channel"], body["conversation_id"]]:
            return {**body, "text": WITHDRAWN}
        if type_ == "summary" and (body["channel"], body["conversation_id"], event_id) in reports:
            return _structure(body)
        return dict(body)

    return [told(one["event_id"], one["type"], one["entry"]) for one in entries]


def _line(body: Mapping[str, Any]) -> Line:
    return posted_line(ConversationMessage.model_validate({**body, "extra": None}))


def _structure(body: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in body.items() if name not in ("summary", "turns", "facts")}
    for name, words in WORDS.items():
        if kept.get(name):
            kept[name] = {field: value for field, value in kept[name].items() if field not in words}
    return kept
