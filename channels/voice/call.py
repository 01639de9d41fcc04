"""A call as a vendor's report tells it, brought to one form and then to a summary: what the voice vendors share.

The borrower is the other side of the call, by direction (VENDORS E 8); custom data that names a borrower or a loan wins over
the number (API 11). How the call went is the provider's word; a model's may only lower it, to "it was not the borrower". What
was fed into the call from memory, and came back in the report, is left out (VENDORS E 16). A vendor's module says where things
stand; this file knows no vendor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from channels import CHANNELS, fields
from channels.delivery import NOBODY, Delivery, Item, fitting, phone
from channels.dispositions import Family
from channels.voice.captured import absent, captured
from channels.wishes import asked
from statemachine.entries import ContactOptedIn, ContactOptedOut, ConversationStarted, Identifier, Summary, Turn
from statemachine.wire import CONTACT_OUTCOMES, STRANGER_OUTCOMES, SUMMARY_CHARACTERS, TURNS

TURNS_LIMIT_CHARACTERS: Final = 400_000
"""Of all turns of a conversation together; the newest are kept."""
TOOLS: Final = 20
LABELS: Final[Mapping[str, str]] = {"no_answer": "RNR", "busy": "BUSY", "voicemail": "VOICEMAIL"}
"""How a collections house calls a try that reached nobody, where the vendor gave no label."""


@dataclass(slots=True)
class Lines:
    """The turns as they are read, with what an agent's turn was answered from."""

    turns: list[Turn] = field(default_factory=list)
    _tools: list[str] = field(default_factory=list)
    _read_at: datetime | None = None

    def tool(self, name: object, at: datetime | None) -> None:
        """A tool was called, or answered: what the agent says next rests on it."""
        called = fields.label(name, 200)
        if called and called not in self._tools and len(self._tools) < TOOLS:
            self._tools.append(called)
        self._read_at = self._read_at or at

    def say(self, speaker: str, said: object, at: datetime | None) -> None:
        words = fields.text(said)
        if words is None:
            return
        tools, read_at = (self._tools, self._read_at) if speaker == "agent" else ([], None)
        turn = {
            "speaker": speaker,
            "text": words,
            "at": at,
            "tools": list(tools),
            "observed_at": read_at if tools else None,
        }
        self.turns.append(Turn.model_validate(turn))
        if speaker == "agent":
            self._tools, self._read_at = [], None


@dataclass(slots=True)
class Told:
    """What one report tells. `custom` are the places where our own data comes back, the likeliest first."""

    vendor: str
    conversation_id: str | None
    phase: str
    ended_at: datetime | None
    revision: int = 1
    channel: str = "voice"
    modality: str = "speech"
    direction: str | None = None
    their_number: object = None
    their_id: tuple[str, str] | None = None
    """Another identifier than a number, where the vendor has one."""
    custom: tuple[Mapping[str, Any], ...] = ()
    started_at: datetime | None = None
    outcome: str | None = None
    """The provider's word, of API 3; None when it does not say."""
    is_pending: bool = False
    """The analysis is still to come: nothing is concluded yet."""
    turns: list[Turn] = field(default_factory=list)
    prose: object = None
    captured: Mapping[str, Any] = field(default_factory=dict)
    disposition: object = None
    language: object = None
    agent: object = None
    end_reason: object = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    opted_out: bool = False
    entered_state: object = None
    notes: tuple[str, ...] = ()
    kind: str = "call"
    """What the vendor's id is of: a part of the key."""
    inner_id: str | None = None
    """The vendor's id where it is not that of the conversation."""
    whole_key: str | None = None
    """The key itself, where a mapping makes it."""

    @property
    def key(self) -> str:
        """Vendor, inner id and phase."""
        if self.whole_key is not None:
            return self.whole_key
        phase = f":{self.phase}" if self.phase else ""
        return fitting(f"{self.vendor}:{self.kind}:{self.inner_id or self.conversation_id}{phase}")


@dataclass(frozen=True, slots=True)
class Who:
    """Who the call was with, as far as it tells."""

    borrower_id: str | None
    loan_id: str | None
    cycle_id: str | None
    identifier: Identifier | None
    resume_id: str | None
    entered_state: str | None

    @property
    def is_nobody(self) -> bool:
        return self.borrower_id is None and self.loan_id is None and self.identifier is None

    @property
    def named(self) -> dict[str, Any]:
        return {"borrower_id": self.borrower_id, "loan_id": self.loan_id, "identifier": self.identifier}


def who(told: Told, delivery: Delivery) -> Who:
    """The other side: custom data, and the number where it can be one."""
    found = phone(told.their_number, delivery)
    if found is None and told.their_id is not None and fields.an_id(told.their_id[1]):
        found = Identifier(kind=told.their_id[0], value=told.their_id[1])
    return Who(
        borrower_id=_borrower_id(told.custom),
        loan_id=_custom_id(told.custom, "loan_id", "loan_ref"),
        cycle_id=_custom_id(told.custom, "cycle_id", "cycle_ref"),
        identifier=found,
        resume_id=_custom_id(told.custom, "resume_id"),
        entered_state=fields.label(_custom(told.custom, "entered_state"), 200) or fields.label(told.entered_state, 200),
    )


def _custom(places: Iterable[Mapping[str, Any]], *names: str) -> Any:
    return next((place[name] for place in places for name in names if not absent(place.get(name))), None)


def _custom_id(places: Iterable[Mapping[str, Any]], *names: str) -> str | None:
    return fields.an_id(_custom(places, *names))


def _borrower_id(places: Iterable[Mapping[str, Any]]) -> str | None:
    """A provisional id that came back is none of the lender's: then the number tells."""
    found = _custom_id(places, "borrower_id", "borrower_ref")
    return found if found is not None and found[0] != "~" and not set(found) & set("/\\?#%|") else None


def report(told: Told, delivery: Delivery) -> Item:
    """The summary of a call, and a stop where the borrower asked for one."""
    if told.conversation_id is None:
        return Item(f"@{told.vendor}:{told.kind}:{told.phase}", aside="the report has no usable id of its call")
    them = who(told, delivery)
    if them.is_nobody:
        return Item(told.key, aside=NOBODY, notes=told.notes)
    known_end = (
        told.ended_at or told.started_at
    )  # one that tells no end ended after it began, and long before it came perhaps
    ended_at = known_end or delivery.received_at
    own_label = {"disposition": told.disposition} if fields.label(told.disposition) else {}
    said = captured({} if told.is_pending else {**told.captured, **own_label})
    promised = said.commitment is not None
    outcome = _outcome(told, said.outcome, said.family, promised)
    notes = list(told.notes)
    if said.family is Family.other:
        notes.append("unknown_disposition")
    turns = _bounded(told.turns, notes)
    if outcome in STRANGER_OUTCOMES:
        turns = [t if t.speaker != "borrower" else t.model_copy(update={"speaker": "third_party"}) for t in turns]
    prose = fields.text(told.prose, SUMMARY_CHARACTERS)
    if prose is None and fields.text(told.prose, 1 << 30):
        notes.append("prose_too_long")
    reached = said.reached if said.reached in {state.name for state in CHANNELS[told.channel].flow.states} else None
    extra = _extra(told, dict(said.remarks) | ({"reached": said.reached} if said.reached and not reached else {}))
    summary = {
        **them.named,
        "event_id": told.key,
        "cycle_id": them.cycle_id,
        "channel": told.channel,
        "modality": told.modality,
        "direction": told.direction,
        "conversation_id": told.conversation_id,
        "revision": told.revision,
        "started_at": told.started_at if told.started_at and told.started_at <= ended_at else None,
        "ended_at": ended_at,
        "outcome": outcome,
        "disposition": said.disposition or LABELS.get(outcome or ""),
        "reached": reached,
        "summary": prose,
        "commitment": said.commitment,
        "payment_claim": said.claim,
        "third_party": said.third_party if outcome == "third_party" else None,
        "callback": said.callback,
        "turns": turns,
        "language": said.language or fields.label(told.language, 200),
        "agent": fields.label(told.agent, 200),
        "resume_id": them.resume_id,
        "entered_state": them.entered_state,
        "extra": extra,
    }
    bodies: list[Any] = [Summary.model_validate(summary)]
    if told.opted_out:
        bodies.append(_opted_out(told, them, ended_at))
    bodies += _wished(told, them, ended_at)
    return Item(told.key, bodies=tuple(bodies), notes=tuple(dict.fromkeys(notes)), is_undated=known_end is None)


def started(told: Told, delivery: Delivery) -> Item:
    """A call began: until its summary comes, its report is missing."""
    if told.conversation_id is None:
        return Item(f"@{told.vendor}:{told.kind}:{told.phase}", ignored="a call began that has no usable id")
    them = who(told, delivery)
    if them.is_nobody:
        return Item(told.key, ignored="a call began that names nobody yet")
    event = ConversationStarted(
        event_id=told.key,
        type="conversation.started",
        occurred_at=told.started_at or delivery.received_at,
        channel=told.channel,  # type: ignore[arg-type]
        conversation_id=told.conversation_id,
        direction=told.direction,  # type: ignore[arg-type]
        resume_id=them.resume_id,
        entered_state=them.entered_state if them.resume_id else None,
        **them.named,
    )
    return Item(told.key, bodies=(event,))


def _outcome(told: Told, said: str | None, kind: Family | None, promised: bool) -> str | None:
    """The provider's word first. A model that says it was not the borrower is believed, for that only lowers; its label
    is, where it captured no promise, for a label never decides about one."""
    if told.is_pending:
        return told.outcome
    if told.outcome is not None and told.outcome not in CONTACT_OUTCOMES:
        return told.outcome
    if said is not None and said not in CONTACT_OUTCOMES:
        return said
    if not promised and kind is Family.wrong_number:
        return "wrong_number"
    if not promised and kind is Family.third_party:
        return "third_party"
    return told.outcome


def _bounded(turns: list[Turn], notes: list[str]) -> list[Turn]:
    kept: list[Turn] = []
    characters = 0
    for turn in reversed(turns):
        characters += len(turn.text)
        if len(kept) == TURNS or (kept and characters > TURNS_LIMIT_CHARACTERS):
            notes.append("turns_left_out")
            break
        kept.append(turn)
    return kept[::-1]


def _extra(told: Told, remarks: Mapping[str, str]) -> dict[str, Any]:
    """What the vendor calls things, and what was captured and is no field of ours: shown to ops, decides nothing."""
    kept: dict[str, Any] = {"vendor": told.vendor}
    if reason := fields.label(told.end_reason, 200):
        kept["ended_reason"] = reason
    for name, value in told.extra.items():
        if shown := fields.label(value, 200):
            kept[name] = shown
    if remarks:
        kept["captured"] = dict(remarks)
    return kept


def _opted_out(told: Told, them: Who, at: datetime) -> ContactOptedOut:
    """A do-not-call."""
    return ContactOptedOut(
        event_id=_id_in_all_phases(told, "do-not-call"),
        type="contact.opted_out",
        occurred_at=at,
        channel=told.channel,  # type: ignore[arg-type]
        conversation_id=told.conversation_id,
        **them.named,
    )


def _id_in_all_phases(told: Told, what: str) -> str:
    """Of the call, because each phase of the report tells it; where no time is told, of the phase, for each came at another."""
    phase = "" if told.ended_at or told.started_at else f":{told.phase}"
    return fitting(f"{told.vendor}:call:{told.conversation_id}:{what}{phase}")


def _wished(told: Told, them: Who, at: datetime) -> list[ContactOptedOut | ContactOptedIn]:
    """Of texts to a number, stops and starts that the borrower wrote: they are hard events whichever hook brings them (DESIGN 5).
    Of one purpose the last one written, at its own time."""
    last: dict[str, tuple[str, datetime]] = {}
    for turn in told.turns if told.channel == "whatsapp" and told.modality == "text" else ():
        wish = asked(turn.text) if turn.speaker == "borrower" else None
        if wish is not None:
            last[wish[1]] = (wish[0], turn.at or at)
    events: list[ContactOptedOut | ContactOptedIn] = []
    for purpose, (what, when) in last.items():
        common: dict[str, Any] = {
            "event_id": _id_in_all_phases(told, f"{purpose}:{what}"),
            "occurred_at": when,
            "channel": told.channel,
            "purpose": purpose,
            "conversation_id": told.conversation_id,
            **them.named,
        }
        if what == "stop":
            events.append(ContactOptedOut(type="contact.opted_out", **common))
        else:
            events.append(ContactOptedIn(type="contact.opted_in", **common))
    return events


def other_side(direction: str | None, from_: object, to: object) -> object:
    """The number that is not ours: who was called, or who calls (VENDORS E 8)."""
    return to if direction == "outbound" else from_ if direction == "inbound" else None


def spoke(turns: Iterable[Turn]) -> bool:
    """Whether anybody on the other side said a word."""
    return any(turn.speaker == "borrower" for turn in turns)


def direction_of(word: object) -> str | None:
    """`inbound` or `outbound` of any longer word for it (`outboundPhoneCall`, `outbound-api`)."""
    if isinstance(word, str):
        low = word.strip().lower()
        for known in ("inbound", "outbound"):
            if low.startswith(known):
                return known
        return {"incoming": "inbound", "outgoing": "outbound"}.get(low)
    return None
