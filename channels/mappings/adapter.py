"""Reads bodies by a mapping: the same items as a vendor's module makes, from fields that a file names."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import Delivery, Item, Vendor, each, fitting
from channels.mappings.mapping import Kind, Mapping, Signature, filled
from channels.signatures import Received, Scheme
from channels.voice.call import Lines, Told, direction_of, other_side, report, spoke, started
from channels.whatsapp.said import Said, item, people, status

LONGEST_CALL_SECONDS: Final = 86_400
UNITS: Final = {"seconds": fields.SECONDS, "milliseconds": fields.MILLISECONDS}
SPEAKERS: Final = {
    "assistant": "agent", "agent": "agent", "bot": "agent", "ai": "agent",
    "user": "borrower", "human": "borrower", "customer": "borrower", "borrower": "borrower",
}  # fmt: skip


def vendor_of(mapping: Mapping) -> Vendor:
    """The vendor that a mapping tells of."""

    def parse(delivery: Delivery) -> list[Item]:
        document = delivery.document()
        found = fields.listed(_at(document, mapping.items)) if mapping.items else [document]
        return each(mapping.vendor, found, lambda one, at: _items(mapping, one, at, delivery))

    signature = mapping.signature
    needs_secret = signature.scheme != "none" and not signature.optional
    return Vendor(mapping.vendor, mapping.channel, scheme_of(signature), parse, needs_secret)


def scheme_of(signature: Signature) -> Scheme:
    """The scheme that a mapping names."""
    if signature.scheme == "header" and signature.header:
        scheme = signatures.header(signature.header)
    elif signature.scheme == "hmac" and signature.header:
        scheme = signatures.body_hmac(signature.header, prefix=signature.prefix, encoding=signature.encoding)
    else:
        scheme = signatures.SCHEMES[signature.scheme]
    if not signature.optional:
        return scheme

    def check(received: Received, secret: str, now: datetime) -> signatures.Why | None:
        why = scheme(received, secret, now) if secret else None
        return None if why == "missing" else why

    return check


def _items(mapping: Mapping, one: Any, at: str, delivery: Delivery) -> Iterable[Item]:
    for kind in mapping.kind:
        if all(_holds(_at(one, path), wanted) for path, wanted in kind.when.items()):
            return [_One(mapping, kind, one, at, delivery).item()]
    return [Item(at, ignored="no kind of this mapping")]


def _at(document: Any, path: str) -> Any:
    return fields.at(document, *(int(step) if step.isdigit() else step for step in path.split(".")))


def _holds(value: Any, wanted: bool | list[str]) -> bool:
    if isinstance(wanted, bool):
        return (value not in (None, "", [], {})) is wanted
    return _word(value) in [word.lower() for word in wanted]


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else (fields.label(value) or "").lower()


class _One:
    """One item and the kind that it is."""

    def __init__(self, mapping: Mapping, kind: Kind, one: Any, at: str, delivery: Delivery) -> None:
        self._mapping, self._kind, self._one, self._at, self._delivery = mapping, kind, one, at, delivery

    def item(self) -> Item:
        match self._kind.kind:
            case "report":
                return report(self._told(), self._delivery)
            case "started":
                return started(self._told(), self._delivery)
            case "message":
                return item(self._said())
            case "status":
                return self._status()
        return Item(self._at, ignored="nothing for us")

    # -- fields

    def _get(self, name: str) -> Any:
        paths = self._kind.fields.get(name, [])
        return fields.first(*(_at(self._one, path) for path in ([paths] if isinstance(paths, str) else paths)))

    def _all(self, name: str) -> list[Any]:
        paths = self._kind.fields.get(name, [])
        return [_at(self._one, path) for path in ([paths] if isinstance(paths, str) else paths)]

    def _time(self, name: str, value: Any = None) -> datetime | None:
        found = self._get(name) if value is None else value
        times = self._kind.times or self._mapping.times
        if times in UNITS:
            return fields.epoch(found, UNITS[times])
        return fields.iso(found, self._delivery.zone or self._mapping.time_zone)

    def _key(self) -> str:
        return fitting(
            f"{self._mapping.vendor}:{filled(self._kind.key or '', lambda path: fields.label(_at(self._one, path)))}"
        )

    def _outcome(self) -> tuple[str | None, bool]:
        """Ours for the vendor's word, and whether the mapping knows the word."""
        word = _word(self._get("status"))
        known = {name.lower(): ours for name, ours in self._kind.outcomes.items()}
        return known.get(word, known.get("*", "")) or None, word in known or "*" in known or not word

    # -- a call

    def _told(self) -> Told:
        turns = self._turns()
        outcome, known = self._outcome()
        talked = fields.number(self._get("talk_seconds"))
        if outcome is None and fields.truth(self._get("machine")) is True:
            outcome = "voicemail"
        # Where the provider says that nobody talked, what a model found in it nobody said (VENDORS A.8).
        is_silent = talked is not None and talked <= 0
        if outcome is None and spoke(turns) and not is_silent:
            outcome = "connected"
        began, ended = self._time("started_at"), self._time("ended_at")
        seconds = fields.number(self._get("seconds"))
        length = (
            timedelta(seconds=float(seconds)) if seconds is not None and 0 <= seconds <= LONGEST_CALL_SECONDS else None
        )
        if ended is None and began is not None and length is not None:
            ended = began + length
        direction = direction_of(self._get("direction"))
        number = fields.first(self._get("number"), other_side(direction, self._get("from"), self._get("to")))
        label = fields.label(self._get("disposition"))
        dispositions = {name.lower(): ours for name, ours in self._mapping.dispositions.items()}
        return Told(
            vendor=self._mapping.vendor,
            conversation_id=fields.an_id(self._get("conversation_id")),
            phase="",
            whole_key=self._key(),
            channel=self._mapping.channel,
            modality="speech" if self._mapping.channel == "voice" else "text",
            direction=direction,
            their_number=number,
            custom=tuple(fields.members(value) for value in self._all("custom")),
            started_at=began,
            ended_at=ended,
            revision=self._kind.revision,
            is_pending=self._kind.pending,
            outcome=outcome,
            turns=[] if is_silent else turns,
            prose=None if is_silent else self._get("summary"),
            captured={} if is_silent else fields.members(self._get("captured")),
            disposition=dispositions.get(label.lower(), label) if label else None,
            language=self._get("language"),
            agent=self._get("agent"),
            end_reason=fields.first(self._get("ended_reason"), self._get("status")),
            extra={"carrier_call_id": self._get("carrier_call_id"), "talk_seconds": self._get("talk_seconds")},
            notes=(*(() if known else ("unknown_end",)), *(("talk_without_talking",) if is_silent and turns else ())),
        )

    def _turns(self) -> list[Any]:
        lines = Lines()
        for turn in fields.listed(self._get("turns")):
            speaker = SPEAKERS.get(_word(self._of_turn(turn, "turn_role")))
            if speaker is not None:
                lines.say(speaker, self._of_turn(turn, "turn_text"), self._time("", self._of_turn(turn, "turn_at")))
        transcript = self._get("transcript")
        if not lines.turns and isinstance(transcript, str):
            for line in transcript.splitlines():
                role, _, said = line.partition(":")
                speaker = SPEAKERS.get(role.strip().lower())
                if speaker is not None:
                    lines.say(speaker, said, None)
        return lines.turns

    def _of_turn(self, turn: Any, name: str) -> Any:
        paths = self._kind.fields.get(name)
        return _at(turn, paths) if isinstance(paths, str) else None

    # -- a message

    def _people(self) -> tuple[tuple[str, str], ...]:
        return people(self._delivery, self._get("number"), self._get("bsuid"))

    def _said(self) -> Said:
        said = Said(
            provider=self._mapping.vendor,
            key=self._key(),
            message_id=fields.an_id(self._get("message_id")),
            people=self._people(),
            at=self._time("at") or self._delivery.received_at,
            text=fields.text(self._get("text")),
            speaker="agent" if fields.truth(self._get("from_us")) is True else "borrower",
            answers=fields.an_id(self._get("answers")),
        )
        if chosen := fields.label(self._get("choice")):
            said.kind, said.choice = "button", chosen
        elif (media := _word(self._get("media"))) and media != "text":
            said.kind, said.media = "media", media
        return said

    def _status(self) -> Item:
        outcome, known = self._outcome()
        if outcome is None:
            return Item(self._key(), ignored="no outcome of a message", notes=() if known else ("unknown_status",))
        ids = [fields.an_id(self._get("message_id")), fields.an_id(self._get("other_id"))]
        return status(
            self._key(), ids, outcome, self._time("at") or self._delivery.received_at, self._people(), self._get("ours")
        )
