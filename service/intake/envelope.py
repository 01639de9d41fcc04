"""The one form of an entry outside this process: a CloudEvents 1.0 event in JSON; and the hashes that tell entries apart.

`to_bytes` writes an entry for the log, `from_bytes` reads one, and what it reads is equal to what was written: numbers keep
their digits, nothing that was absent appears. The journal keeps the same bytes of body and stamps (`stored`).

Two hashes, both keyed, because a body holds words that can be guessed:

    body_hash     over the body as it was sent, in canonical form and without stamps: is this the same delivery again?
    entry_digest  over body and stamps: orders elements of one id that differ, and keeps their place when words go

This file knows no log, no table and no clock.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined

from service.secrets import Secrets
from statemachine.entries import Commitment, Fact, PaymentClaim, Summary, Turn
from statemachine.stamps import (
    ENTRY_VERSION,
    INTERNAL_TYPES,
    Body,
    Entry,
    Stamps,
    UnreadableEntry,
    body_of,
)

SOURCE: Final = "/borrower-memory/intake/"
TYPE: Final = "borrower-memory."
PROVISIONAL_DIGITS: Final = 16
DIGEST_DIGITS: Final = 32
"""Of a keyed hash: 128 bits, enough for every entry ever and half the bytes in each element."""

KEPT_BODIES: Final = 512
KEPT_CHARACTERS: Final = 16_384
"""Of the canonical form of one body; a longer one is made again each time."""

KeyedHash = Callable[[str, str], str]
"""`(text, purpose) -> hex` under the service's own key."""


# -- entries as bytes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opened:
    """An entry as it came from the log, with the bytes of its parts for the journal."""

    tenant: str
    entry: Entry
    body: bytes
    stamps: bytes


class _Data(msgspec.Struct):
    v: int
    body: msgspec.Raw
    stamps: msgspec.Raw


class _Event(msgspec.Struct):
    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: str
    datacontenttype: str
    data: _Data


class _Typed(msgspec.Struct):
    type: str


def to_bytes(tenant: str, entry: Entry) -> bytes:
    """The value that goes into the log."""
    stamps = entry.stamps
    return _AS_SENT.encode(
        _Event(
            specversion="1.0",
            id=entry.event_id,
            source=SOURCE + tenant,
            type=TYPE + entry.type,
            subject=stamps.borrower_id,
            time=stamps.received_at.isoformat(timespec="microseconds")[:26] + "Z",
            datacontenttype="application/json",
            data=_Data(
                v=ENTRY_VERSION, body=msgspec.Raw(body_bytes(entry.body)), stamps=msgspec.Raw(stamps_bytes(stamps))
            ),
        )
    )


def from_bytes(raw: bytes) -> Opened:
    """A value of the log; `UnreadableEntry` for anything that `to_bytes` of this version did not write.

    Its message names what is wrong and repeats nothing of the value.
    """
    try:
        event = _EVENT.decode(raw)
    except msgspec.MsgspecError:
        raise UnreadableEntry("it is no event of the intake log") from None
    if event.specversion != "1.0" or event.datacontenttype != "application/json":
        raise UnreadableEntry("it is no CloudEvent 1.0 in JSON")
    if not event.source.startswith(SOURCE) or not event.type.startswith(TYPE):
        raise UnreadableEntry("it is of another source or type")
    if event.data.v != ENTRY_VERSION:
        raise UnreadableEntry(f"it is of version {event.data.v}, this code reads {ENTRY_VERSION}")
    body, stamps = bytes(event.data.body), bytes(event.data.stamps)
    entry = stored(event.type.removeprefix(TYPE), body, stamps)
    if entry.event_id != event.id or entry.stamps.borrower_id != event.subject:
        raise UnreadableEntry("it names another id or borrower than its body and stamps")
    return Opened(event.source.removeprefix(SOURCE), entry, body, stamps)


def kind_of(raw: bytes) -> str:
    """What a value says that it is, `summary` or `event`, though it cannot be read: `event` too when it says nothing."""
    try:
        told = _TYPED.decode(raw).type
    except (msgspec.MsgspecError, RecursionError):
        return "event"
    return "summary" if told == f"{TYPE}summary" else "event"


def rewritten(raw: bytes, body: bytes, stamps: bytes) -> bytes:
    """The same value with another body and other stamps: words were taken out of them (DESIGN 11)."""
    event = _EVENT.decode(raw)
    data = _Data(v=event.data.v, body=msgspec.Raw(body), stamps=msgspec.Raw(stamps))
    return _AS_SENT.encode(msgspec.structs.replace(event, data=data))


def opened_as(raw: bytes, tenant: str, entry: Entry) -> Opened:
    """What `from_bytes` reads of a value that `to_bytes` has just written for this entry."""
    data = _EVENT.decode(raw).data
    return Opened(tenant, entry, bytes(data.body), bytes(data.stamps))


def stored(type_: str, body: bytes, stamps: bytes) -> Entry:
    """An entry from the bytes that the log and the journal keep; `UnreadableEntry` when they are none."""
    try:
        if type_ in INTERNAL_TYPES:
            read: Any = INTERNAL_TYPES[type_].model_validate_json(body)
        else:
            read = body_of(type_, document(body))
        return Entry(read, Stamps.model_validate_json(stamps))
    except ValidationError as wrong:
        fields = sorted({".".join(str(part) for part in error["loc"]) for error in wrong.errors(include_input=False)})
        raise UnreadableEntry(f"it does not check: {', '.join(fields)}") from None


class _Through(msgspec.Struct):
    through: str | None = None


_THROUGH: Final = msgspec.json.Decoder(_Through)


def through(stamps: bytes) -> str | None:
    """The identifier by which a stored entry came (`kind:value`). Raises `UnreadableEntry`."""
    try:
        return _THROUGH.decode(stamps).through
    except msgspec.MsgspecError:
        raise UnreadableEntry("its stamps are no JSON") from None


def document(body: bytes) -> Any:
    """A stored body as it was sent, its numbers exact; for showing it again. Raises `UnreadableEntry`."""
    try:
        return _NUMBERS_AS_SENT.decode(body)
    except msgspec.MsgspecError:
        raise UnreadableEntry("its body is no JSON") from None


def body_bytes(body: Body) -> bytes:
    """A body as it is stored: the fields that were sent, `extra` digit for digit."""
    if isinstance(body, _INTERNAL):
        return body.model_dump_json(exclude_defaults=True).encode()
    return _AS_SENT.encode(body)


def stamps_bytes(stamps: Stamps) -> bytes:
    return stamps.model_dump_json(exclude_defaults=True).encode()


def _sent_fields(model: object) -> dict[str, Any]:
    if not isinstance(model, BaseModel):
        raise TypeError(f"{type(model).__name__} has no form in the log")
    sent, values = model.model_fields_set, model.__dict__
    return {name: _sent(name, value) for name, value in values.items() if name in sent and value is not None}


def _sent(name: str, value: Any) -> Any:
    """Money is text wherever it goes (API 1); every other number stays one."""
    return f"{value:f}" if isinstance(value, Decimal) and name != "confidence" else value


_AS_SENT: Final = msgspec.json.Encoder(enc_hook=_sent_fields, decimal_format="number")
_NUMBERS_AS_SENT: Final = msgspec.json.Decoder(float_hook=Decimal)
_EVENT: Final = msgspec.json.Decoder(_Event)
_TYPED: Final = msgspec.json.Decoder(_Typed)


# -- the same again? ---------------------------------------------------------------------------------------------------


def body_hash(body: Body, keyed_hash: KeyedHash) -> str:
    """Equal for bodies that are equal after parsing (API 1): the order of keys, `5000` and `"5000.00"`, null and absent
    and the default, one instant in two zones make no difference; the order of a list does."""
    return keyed_hash(_canonical(body), "body")[:DIGEST_DIGITS]


def entry_digest(body: Body, stamps: Stamps, keyed_hash: KeyedHash) -> str:
    """Of body and stamps; a digest that the stamps have already is not looked at."""
    rest = stamps.model_dump_json(exclude_defaults=True, exclude={"digest"})
    return keyed_hash(f"{_canonical(body)}\n{rest}", "entry")[:DIGEST_DIGITS]


def _canonical(body: Body) -> str:
    """One body is asked for several times on its way: by its hash, by its digest, by its writer."""
    known = _KEPT.get(id(body))
    if known is not None and known[0] is body:
        return known[1]
    if isinstance(body, _INTERNAL):
        return body.model_dump_json(exclude_defaults=True)
    text = _CANONICAL.encode(body).decode()
    if len(text) <= KEPT_CHARACTERS:
        _KEPT[id(body)] = body, text
        if len(_KEPT) > KEPT_BODIES:
            _KEPT.popitem(last=False)
    return text


_KEPT: Final[OrderedDict[int, tuple[Body, str]]] = OrderedDict()
_INTERNAL: Final = tuple(INTERNAL_TYPES.values())


def _telling_fields(model: object) -> dict[str, Any]:
    """The fields of a posted model that say something: neither null nor the default, amounts in one form."""
    defaults = _defaults(type(model))
    told, values = model.model_fields_set, model.__dict__  # type: ignore[attr-defined]  # `_defaults` takes nothing else
    fields = {n: v for n in told if (v := values[n]) is not None and v != defaults.get(n)}
    if (extra := fields.get("extra")) is not None:
        fields["extra"] = _plain(extra)
    if type(model) is Turn:  # by far the most
        return fields
    match model:
        case Commitment() | PaymentClaim():
            if model.amount is not None and _NUMBER.fullmatch(model.amount):
                fields["amount"] = _shortest(Decimal(model.amount))
        case Fact() if model.about == "borrower":
            fields.pop("about", None)
        case Summary():
            fields["event_id"] = model.id
            fields["modality"] = "speech" if model.is_speech else "text"
    return fields


_DEFAULTS: dict[type, Mapping[str, Any]] = {}
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?")


def _defaults(model: type) -> Mapping[str, Any]:
    known = _DEFAULTS.get(model)
    if known is None:
        if not issubclass(model, BaseModel):
            raise TypeError(f"{model.__name__} has no canonical form")
        all_of_them = (
            (n, f.get_default(call_default_factory=True, validated_data={})) for n, f in model.model_fields.items()
        )
        known = _DEFAULTS[model] = {n: d for n, d in all_of_them if d is not PydanticUndefined}
    return known


def _shortest(number: Decimal) -> str:
    """All of its digits but for zeros that say nothing."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.removeprefix("+") if text not in ("-0", "+0") else "0"


def _plain(value: Any) -> Any:
    """What a client put into `extra`, with numbers in one form. A NUL, which no text of a client has, marks a number."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return "\0" + _shortest(Decimal(value))
    return value


_CANONICAL: Final = msgspec.json.Encoder(enc_hook=_telling_fields, decimal_format=_shortest, order="sorted")


# -- ids that are ours -------------------------------------------------------------------------------------------------


def provisional_id(secrets: Secrets, kind: str, value: str) -> str:
    """The borrower under whom entries of an unknown identifier (or loan) are kept: never the number itself (API 1)."""
    return f"~{kind}:{secrets.keyed_hash(f'{kind}:{value}', 'provisional')[:PROVISIONAL_DIGITS]}"


def internal_id(kind: str, of: str) -> str:
    """An event id that no client can send: it begins with a blank (API 1, "Ids")."""
    return f" {kind}:{of}"
