"""One body that a vendor posted, and what an adapter makes of it, item by item.

An adapter is a pure function `parse(delivery) -> list[Item]`: no I/O, no clock; the time of arrival comes with the delivery,
so that parsing it again gives the same. It never loses a parseable item for a bad neighbour (`each`), and never raises but
`Unreadable`, for a body that is no document at all. Who a number belongs to, and where anything is stored, is not known here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeVar

from pydantic import ValidationError

from channels.fields import Unreadable, form_document, json_document
from channels.identifiers import InvalidIdentifier, canonical
from channels.messages import ChatMessage
from channels.signatures import Scheme
from statemachine.entries import Event, Identifier, Summary
from statemachine.wire import ID_CHARACTERS

FORM: Final = "application/x-www-form-urlencoded"
NOBODY: Final = "nobody is named: neither a borrower, nor a loan, nor a number of the other side that can be one"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A body as it came. `zone` is where the vendor's naive times are read (the hook's `--time-zone`; none: where this
    vendor's usually are, else UTC), `region` where national numbers are; `own_numbers` are ours in canonical form, never a
    borrower's."""

    body: bytes = field(repr=False)
    received_at: datetime
    content_type: str | None = None
    zone: str | None = None
    region: str = "IN"
    own_numbers: frozenset[str] = frozenset()

    @property
    def is_form(self) -> bool:
        return (self.content_type or "").partition(";")[0].strip().lower() == FORM

    def document(self) -> dict[str, Any]:
        """The body as an object, of a form or of JSON as its content type says. Raises `Unreadable`."""
        document = form_document(self.body) if self.is_form else json_document(self.body)
        if not isinstance(document, dict):
            raise Unreadable("the body is no object")
        return document


@dataclass(frozen=True, slots=True)
class Status:
    """What a provider says became of a message of ours. What the message was (`purpose`) it says only where it gives our own
    text back; else the event of ours with one of these ids tells."""

    message_ids: tuple[str, ...]
    outcome: str
    at: datetime
    identifier: tuple[str, str] | None
    purpose: Literal["reminder.sent", "payment_link.shared"] | None = None
    loan_id: str | None = None
    cycle_id: str | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """A person goes by another number or id from now on."""

    before: tuple[str, str]
    after: tuple[str, str]
    at: datetime


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a body tells.

    `key` is vendor, inner id and phase: a second item with it is a repeat, whatever its bytes. Exactly one of these is so:
    something is told (`bodies`, `messages`, `status`, `moved`), it is not for us (`ignored` says why), or it cannot be taken
    (`aside` says why). `notes` are codes of what was met and not understood; they are counted.
    """

    key: str
    bodies: tuple[Summary | Event, ...] = ()
    messages: tuple[ChatMessage, ...] = ()
    status: Status | None = None
    moved: Moved | None = None
    ignored: str | None = None
    aside: str | None = None
    is_undated: bool = False
    """The vendor told no time, and arrival stands in the bodies: another report of the same conversation may know better."""
    notes: tuple[str, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether the vendor is told that it was received: all but parts of a body that are no thing by themselves."""
        return self.ignored is None or not self.key.startswith("@")


@dataclass(frozen=True, slots=True)
class CallStart:
    """A vendor asks how a call shall begin. `answer` makes the vendor's shape of `vars` and the `resume_id`."""

    call_id: str | None
    identifier: Identifier | None
    answer: Callable[[Mapping[str, str], str | None], dict[str, Any]]


Parse = Callable[[Delivery], list[Item]]


@dataclass(frozen=True, slots=True)
class Vendor:
    """One vendor of one channel: how its bodies are signed, and what they tell."""

    name: str
    channel: str
    scheme: Scheme
    parse: Parse
    needs_secret: bool = True
    call_start: Callable[[Delivery, Mapping[str, str]], CallStart | None] | None = None
    """Given the query parameters of the hook's address too; None for a body that asks nothing."""
    get: Literal["handshake", "delivery"] | None = None
    """What a GET is: Meta's handshake, or a delivery in the query (Exotel's Passthru)."""


def fitting(key: str) -> str:
    """A key as an id of ours: one that is too long is its hash."""
    if len(key) <= ID_CHARACTERS:
        return key
    vendor = key.partition(":")[0][:40]
    return f"{vendor}:sha256:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()}"


def each(prefix: str, found: Iterable[T], read: Callable[[T, str], Iterable[Item]]) -> list[Item]:
    """The items of a list, each for itself: what cannot be read of one is set aside alone.

    `prefix` and the place name an item that has no key of its own; such a name begins with `@`, for it is one only within
    its body.
    """
    items: list[Item] = []
    for place, one in enumerate(found):
        at = f"@{prefix.removeprefix('@')}:{place}"
        try:
            items += read(one, at)
        except ValidationError as wrong:
            items.append(Item(at, aside=f"not in the form of ours: {_fields(wrong)}"))
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, ArithmeticError, RecursionError) as wrong:
            # Whatever a mutated body does to one item, its neighbours are read.
            items.append(Item(at, aside=f"cannot be read ({type(wrong).__name__})"))
    return items


def _fields(wrong: ValidationError) -> str:
    named = sorted(
        {".".join(map(str, error["loc"])) or "body" for error in wrong.errors(include_url=False, include_input=False)}
    )
    return ", ".join(named[:5])


def phone(value: object, delivery: Delivery) -> Identifier | None:
    """A number of the other side in canonical form; None for what cannot be one, and for one of ours."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        found = canonical("phone", value, region=delivery.region)
    except InvalidIdentifier:
        return None
    return None if found in delivery.own_numbers else Identifier(kind="phone", value=found)
