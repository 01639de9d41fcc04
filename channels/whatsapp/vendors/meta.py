"""Meta's Cloud API: messages, statuses, preferences, changed numbers, edits and revocations (VENDORS B.1, B.2).

Entries, changes, messages and statuses are all lists, up to 3 MB of them, and every one is read for itself. Everything here is
the provider's word; what a borrower wrote is theirs. A picture, a voice note or a place is kept as what it is and never as
what it shows. A thumbs-up is no promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from channels import fields, signatures
from channels.delivery import Delivery, Item, Moved, Vendor, each
from channels.whatsapp.said import Said, item, people, status, wished

NAME: Final = "meta"
OUTCOMES: Final = {"sent": "sent", "delivered": "delivered", "read": "read", "played": "read", "failed": "failed"}
MEDIA: Final = ("image", "video", "audio", "document", "sticker", "location", "contacts", "order")
SILENT: Final = ("reaction", "request_welcome", "ephemeral")
"""Types that say nothing: a reaction is no promise."""


def parse(delivery: Delivery) -> list[Item]:
    """The items of all entries and changes."""
    return parse_document(delivery.document(), delivery, NAME)


def parse_document(document: Mapping[str, Any], delivery: Delivery, provider: str) -> list[Item]:
    """As `parse`, for providers that pass Meta's form through."""

    def of_entry(entry: Any, at: str) -> Iterable[Item]:
        return each(f"{at}:change", fields.listed(fields.at(entry, "changes")), of_change)

    def of_change(change: Any, at: str) -> Iterable[Item]:
        field, value = fields.at(change, "field"), fields.members(fields.at(change, "value"))
        read = _FIELDS.get(str(field))
        if read is None:
            return [Item(at, ignored=f"no field for us: {fields.label(field) or '?'}")]
        return read(_Change(provider, at, value, delivery))

    return each("entry", fields.listed(document.get("entry")), of_entry)


class _Change:
    """One change: whose it is, and where in the body it stands."""

    def __init__(self, provider: str, at: str, value: Mapping[str, Any], delivery: Delivery) -> None:
        self.provider, self.at, self.value, self.delivery = provider, at, value, delivery
        self._numbers = {
            fields.at(contact, "user_id"): fields.at(contact, "wa_id") for contact in fields.listed(value.get("contacts"))
            if isinstance(fields.at(contact, "user_id"), str)
        }  # fmt: skip

    def people(self, number: object, bsuid: object) -> tuple[tuple[str, str], ...]:
        known = self._numbers.get(bsuid) if isinstance(bsuid, str) else None
        return people(self.delivery, fields.first(number, known), bsuid)

    def time(self, value: object) -> datetime:
        return fields.epoch(value, fields.SECONDS) or self.delivery.received_at

    def each(self, name: str, read: Any) -> list[Item]:
        return each(f"{self.at}:{name}", fields.listed(self.value.get(name)), read)


def _messages(change: _Change) -> Iterable[Item]:
    """Messages and statuses come under the same field."""
    return [
        *change.each("messages", lambda message, at: [_message(message, at, change)]),
        *change.each("statuses", lambda told, at: [_status(told, at, change)]),
    ]


def _message(message: Any, at: str, change: _Change) -> Item:
    kind = fields.label(fields.at(message, "type")) or "?"
    id_ = fields.an_id(fields.at(message, "id"))
    said = Said(
        provider=change.provider,
        key=f"wa:msg:{id_}" if id_ else at,
        message_id=id_,
        people=change.people(fields.at(message, "from"), fields.at(message, "from_user_id")),
        at=change.time(fields.at(message, "timestamp")),
        answers=fields.an_id(fields.at(message, "context", "id")),
    )
    if kind == "system":
        return _system(message, said, change)
    if kind in SILENT:
        return Item(said.key, ignored=f"says nothing: {kind}")
    return item(_filled(said, kind, message))


def _filled(said: Said, kind: str, message: Any) -> Said:
    """With what a message of this type holds."""
    own = fields.members(fields.at(message, kind))
    match kind:
        case "text":
            said.text = fields.text(own.get("body"))
        case "button":
            said.kind, said.text = "button", fields.text(own.get("text"))
            said.choice = fields.label(own.get("payload")) or said.text
        case "interactive":
            reply = fields.members(own.get(str(own.get("type"))))
            said.kind, said.text = "button", fields.text(fields.first(reply.get("title"), reply.get("body")))
            said.choice = fields.label(reply.get("id"))
        case "edit":
            said.kind, said.replaces = "edit", fields.an_id(own.get("original_message_id"))
            edited = fields.members(own.get("message"))
            said.text = fields.text(fields.first(fields.at(edited, "text", "body"), _caption(edited)))
        case "revoke":
            said.kind, said.replaces = "revoke", fields.an_id(own.get("original_message_id"))
        case _:
            said.kind, said.media = "media", kind if kind in MEDIA else "unreadable"
            said.text = fields.text(own.get("caption")) if kind in MEDIA else None
    return said


def _caption(edited: Mapping[str, Any]) -> Any:
    return fields.at(edited, str(edited.get("type")), "caption")


def _system(message: Any, said: Said, change: _Change) -> Item:
    """A person who goes by another number, or whose scoped id changed with it; a changed profile is nothing to us."""
    own = fields.members(fields.at(message, "system"))
    kind = own.get("type")
    if kind == "user_changed_number":
        before = people(change.delivery, fields.first(own.get("customer"), fields.at(message, "from")))
        after = people(change.delivery, fields.first(own.get("wa_id"), own.get("new_wa_id")))
    elif kind == "user_changed_user_id":
        before = people(change.delivery, None, fields.first(own.get("previous_user_id"), own.get("old_user_id"),
                                                            fields.at(message, "from_user_id")))  # fmt: skip
        after = people(change.delivery, None, fields.first(own.get("user_id"), own.get("new_user_id")))
    else:
        return Item(said.key, ignored=f"says nothing: {fields.label(kind) or 'system'}")
    return _moved(said.key, before, after, said.at)


def _moved(key: str, before: tuple[tuple[str, str], ...], after: tuple[tuple[str, str], ...], at: datetime) -> Item:
    if not before or not after or before[0] == after[0]:
        return Item(key, aside="a change of number or id that does not name both")
    return Item(key, moved=Moved(before[0], after[0], at))


def _status(told: Any, at: str, change: _Change) -> Item:
    word, id_ = fields.label(fields.at(told, "status")) or "?", fields.an_id(fields.at(told, "id"))
    key = f"wa:msg:{id_}:{word}" if id_ else at
    if word not in OUTCOMES:
        return Item(key, ignored=f"no outcome: {word}", notes=("unknown_status",))
    them = change.people(fields.at(told, "recipient_id"), fields.at(told, "recipient_user_id"))
    when = change.time(fields.at(told, "timestamp"))
    return status(key, [id_], OUTCOMES[word], when, them, fields.at(told, "biz_opaque_callback_data"))


def _preferences(change: _Change) -> Iterable[Item]:
    """A stop of marketing is no cease (DESIGN 5)."""
    return change.each("user_preferences", lambda told, at: [_preference(told, at, change)])


def _preference(told: Any, at: str, change: _Change) -> Item:
    them = change.people(fields.at(told, "wa_id"), fields.at(told, "user_id"))
    value, category = fields.label(fields.at(told, "value")), fields.label(fields.at(told, "category"))
    stamp = fields.label(fields.at(told, "timestamp"))
    if not them:
        return Item(at, aside="a preference of nobody")
    key = f"{change.provider}:preference:tel:{them[0][1]}:{category}:{value}:{stamp}"
    wish = {"stop": "stop", "resume": "start"}.get((value or "").lower())
    if wish is None or not str(category).startswith("marketing"):
        return Item(key, ignored=f"no preference for us: {category} {value}")
    return Item(key, bodies=(wished(key, (wish, "marketing"), them, change.time(stamp)),))  # type: ignore[arg-type]


def _echoes(change: _Change) -> Iterable[Item]:
    """What our own people wrote in the telephone's app: our side of the chat."""

    def echo(message: Any, at: str) -> list[Item]:
        id_ = fields.an_id(fields.at(message, "id"))
        kind = fields.label(fields.at(message, "type")) or "?"
        said = Said(
            provider=change.provider,
            key=f"wa:msg:{id_}" if id_ else at,
            message_id=id_,
            people=change.people(fields.at(message, "to"), fields.at(message, "to_user_id")),
            at=change.time(fields.at(message, "timestamp")),
            speaker="agent",
        )
        return [
            Item(said.key, ignored=f"says nothing: {kind}") if kind in SILENT else item(_filled(said, kind, message))
        ]

    return change.each("message_echoes", echo)


def _user_ids(change: _Change) -> Iterable[Item]:
    def update(told: Any, at: str) -> list[Item]:
        before, after = (
            people(
                change.delivery,
                None,
                fields.first(fields.at(told, "user_id", name), fields.at(told, f"{name}_user_id")),
            )
            for name in ("previous", "current")
        )
        key = f"{change.provider}:user-id:{before[0][1] if before else '?'}:{after[0][1] if after else '?'}"
        return [_moved(key, before, after, change.time(fields.at(told, "timestamp")))]

    return change.each("user_id_update", update)


_FIELDS: Final[Mapping[str, Callable[[_Change], Iterable[Item]]]] = {
    "messages": _messages,
    "user_preferences": _preferences,
    "smb_message_echoes": _echoes,
    "user_id_update": _user_ids,
}

VENDOR: Final = Vendor(NAME, "whatsapp", signatures.meta, parse, get="handshake")
