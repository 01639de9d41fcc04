"""An open chat as its lines tell it: in any order, repeated, edited and revoked, they make up the same turns (DESIGN 5).

    1 a line that was told twice is one line, at the earliest time it was told with
    2 an edit takes the text of what it replaces, never its place; of several the latest counts
    3 what was revoked is withheld, whatever else was told of it
    4 turns stand in the order in which they were written

It also says when a chat is over. It knows no vendor, no storage and no clock; what the words mean, it must not know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Literal

from channels.messages import ChatMessage
from statemachine.entries import ConversationMessage, Turn
from statemachine.wire import TEXT_CHARACTERS

LineKind = Literal["said", "edit", "revoke"]
EDITS_FOLLOWED: Final = 64
"""So many edits of edits are followed to what they change."""
SETTLE_SECONDS: Final = 2.0
"""After what was told of a chat that is over: lines of one delivery come together."""
LAST_WORD_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it is kept: something said, or a change to what was said (`replaces`).

    `tools` and `observed_at`: what a line of ours was answered from, and when that was read (DESIGN 11).
    """

    provider: str
    message_id: str
    kind: LineKind
    speaker: str
    text: str
    at: datetime
    replaces: str | None = None
    tools: tuple[str, ...] = ()
    observed_at: datetime | None = None
    disposition: str | None = None
    due_date: date | None = None

    @property
    def says(self) -> tuple[str, ...]:
        """All but its time, which differs between deliveries: by this a line is known again."""
        told = (self.provider, self.message_id, self.kind, self.speaker, self.text, self.replaces, self.disposition)
        return tuple(str(part or "") for part in told)


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of the chat as it stands, with what a button stood for."""

    speaker: str
    text: str
    at: datetime
    tools: tuple[str, ...] = ()
    observed_at: datetime | None = None
    disposition: str | None = None
    due_date: date | None = None

    def turn(self) -> Turn:
        return Turn.model_validate(
            {
                "speaker": self.speaker,
                "text": self.text,
                "at": self.at,
                "tools": list(self.tools),
                "observed_at": self.observed_at,
            }
        )


MEDIA: Final = {"audio": "a voice note", "image": "a picture", "video": "a video", "document": "a document"}
VOICE_NOTE: Final = f"[{MEDIA['audio']}]"


def modality_of(said: Sequence[Said]) -> Literal["speech", "text"]:
    """`speech` where the borrower sent nothing but voice notes: modality is the conversation's, not its hook's (DESIGN 1)."""
    theirs = [turn.text for turn in said if turn.speaker == "borrower"]
    return "speech" if theirs and all(text == VOICE_NOTE for text in theirs) else "text"


def line_of(message: ChatMessage) -> Line:
    """A messenger's message as a line. A picture or a voice note without words is told as what it is."""
    kinds: dict[str, LineKind] = {"edit": "edit", "revoke": "revoke"}
    text = message.text.strip()
    if not text and message.kind == "media":
        text = f"[{MEDIA.get(message.media or '', message.media or 'something')}]"
    return Line(
        provider=message.provider,
        message_id=message.message_id,
        kind=kinds.get(message.kind, "said"),
        speaker=message.speaker,
        text=text[:TEXT_CHARACTERS],
        at=message.at,
        replaces=message.replaces,
        disposition=message.disposition,
        due_date=message.due_date,
    )


def posted_line(event: ConversationMessage) -> Line:
    """What `conversation.message` tells: `deleted` revokes the message that it names, `replaces` edits it (API 4).

    `extra` may name `tools` and `observed_at`, as a turn of a summary does.
    """
    kind: LineKind = "revoke" if event.deleted else "edit" if event.replaces else "said"
    extra = event.extra or {}
    tools = extra.get("tools")
    observed = extra.get("observed_at")
    return Line(
        provider="api",
        message_id=event.message_id,
        kind=kind,
        speaker=event.speaker,
        text=event.text,
        at=event.occurred_at,
        replaces=(event.replaces or event.message_id) if event.deleted else event.replaces,
        tools=tuple(str(name) for name in tools) if isinstance(tools, list) else (),
        observed_at=_aware(observed) if isinstance(observed, str) else None,
    )


def _aware(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


# -- what was said ------------------------------------------------------------------------------------------------------


def said_in(lines: Iterable[Line]) -> tuple[Said, ...]:
    """The turns that stand, in the order in which they were written, whatever order the lines came in."""
    kept: dict[tuple[str, ...], Line] = {}
    for line in lines:
        known = kept.get(line.says)
        if known is None or line.at < known.at:
            kept[line.says] = line
    told = sorted(kept.values(), key=_place)
    changed = {(line.provider, line.message_id): line.replaces for line in told if line.kind == "edit"}
    originals: dict[tuple[str, str], Line] = {}
    edits: dict[tuple[str, str], list[Line]] = defaultdict(list)
    revoked: set[tuple[str, str]] = set()
    for line in told:
        if line.kind == "said":
            originals.setdefault((line.provider, line.message_id), line)
            continue
        root = _root((line.provider, line.replaces or line.message_id), changed)
        if line.kind == "revoke":
            revoked.add(root)
        else:
            edits[root].append(line)
    stands: list[tuple[tuple[datetime, str, tuple[str, ...]], Said]] = []
    for message in originals.keys() | edits.keys():
        if message in revoked:
            continue
        original = originals.get(message)
        own = [edit for edit in edits.get(message, ()) if original is None or edit.speaker == original.speaker]
        first = original or own[0]
        stands.append((_place(first), _said(first, own[-1] if own else first)))
    return tuple(said for _, said in sorted(stands, key=lambda pair: pair[0]) if said.text.strip())


def _place(line: Line) -> tuple[datetime, str, tuple[str, ...]]:
    return line.at, line.message_id, line.says


def _root(message: tuple[str, str], changed: dict[tuple[str, str], str | None]) -> tuple[str, str]:
    """What an edit of an edit changes in the end."""
    for _ in range(EDITS_FOLLOWED):
        before = changed.get(message)
        if before is None or before == message[1]:
            return message
        message = (message[0], before)
    return message


def _said(first: Line, newest: Line) -> Said:
    return Said(
        speaker=first.speaker,
        text=newest.text,
        at=first.at,
        tools=newest.tools or first.tools,
        observed_at=newest.observed_at or first.observed_at,
        disposition=newest.disposition,
        due_date=newest.due_date,
    )


# -- when it is over ----------------------------------------------------------------------------------------------------


def over_at(last_at: datetime, ended_at: datetime | None, quiet: timedelta) -> datetime:
    """From when on the chat counts as over: it was ended, or its channel's quiet time has passed since its last line.

    Whoever ends it may say a last word at the same moment; what is said later than that goes on.
    """
    if is_ended(last_at, ended_at):
        return max(last_at, ended_at or last_at)
    return last_at + quiet


def is_ended(last_at: datetime, ended_at: datetime | None) -> bool:
    return ended_at is not None and last_at - ended_at <= timedelta(seconds=LAST_WORD_SECONDS)


def within(texts: Sequence[Said], turns: int, characters: int) -> int:
    """From which turn on the newest fit into so many turns and characters; the newest always does."""
    size = 0
    for place in range(len(texts) - 1, -1, -1):
        size += len(texts[place].text)
        if len(texts) - place > turns or (size > characters and place < len(texts) - 1):
            return place + 1
    return 0
