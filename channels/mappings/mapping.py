"""The form of a mapping: which body is what, and where in it our fields stand. Checked as a whole, before any body is read.

    channel, body          "voice" or "whatsapp"; "json" or "form"
    items                  the path of a list whose members are items; absent: the body is one item
    times, time_zone       "iso", "seconds" or "milliseconds"; where naive times are read unless the hook says
    [signature]            scheme, and of `header` and `hmac` the header, its prefix and encoding
    [dispositions]         the vendor's labels as ours; one that is not there stays as it is
    [[kind]]               what an item is, by the first `when` that holds of it:
        kind               "report", "started", "message", "status" or "ignored"
        when               path = a list of words, or true (it is there), or false (it is not)
        key                vendor's inner id and phase, with paths in braces: "call:{id}:{status}"
        [kind.fields]      our field = path, or a list of paths of which the first that is there counts
        [kind.outcomes]    the vendor's word for how it went = ours; "" where it does not say; "*" for any other word
        revision, pending  of a report in phases: which one it is, and whether the analysis is still to come

A path is names and places between dots: "data.message.id", "results.0.to". Nothing here reads a body.
"""

from __future__ import annotations

import re
import tomllib
from typing import Annotated, Any, Final, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from statemachine.wire import MESSAGE_OUTCOMES, OUTCOMES

NAME: Final = re.compile(r"[a-z0-9_]{1,40}")
_PATH: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", re.ASCII)
_BRACES: Final = re.compile(r"\{([^{}]*)\}")

FIELDS: Final = {
    "report": frozenset(
        "conversation_id direction from to number started_at ended_at seconds talk_seconds status machine summary captured "
        "custom turns turn_role turn_text turn_at transcript disposition language agent ended_reason carrier_call_id".split()
    ),
    "started": frozenset("conversation_id direction from to number started_at custom".split()),
    "message": frozenset("message_id number bsuid at text choice media answers from_us replaces".split()),
    "status": frozenset("message_id other_id number bsuid at status ours".split()),
    "ignored": frozenset[str](),
}
NEEDED: Final = {
    "report": ("conversation_id",),
    "started": ("conversation_id",),
    "message": ("message_id", "number"),
    "status": ("message_id", "status"),
    "ignored": (),
}


class InvalidMapping(ValueError):
    """A mapping that does not check. The service does not start, and says this sentence."""


def _path(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError(f"{text!r} is no path: names and places between dots")
    return text


Path = Annotated[str, AfterValidator(_path)]
Paths = Path | list[Path]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Signature(_Form):
    """How bodies are signed. `optional`: a signature that is there must be right, and none is needed, for the path is the
    guard; for a vendor of whom it is not settled that it always signs."""

    scheme: Literal["none", "bearer", "header", "hmac", "twilio", "plivo"]
    header: str | None = None
    prefix: str = ""
    encoding: Literal["hex", "base64"] = "hex"
    optional: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Signature:
        if (self.scheme in ("header", "hmac")) != (self.header is not None):
            raise ValueError("`header` belongs to the schemes header and hmac, and they need it")
        if self.header is not None and self.header != self.header.lower():
            raise ValueError("a header's name is written in small letters")
        return self


class Kind(_Form):
    """What an item is, when, and where its fields stand."""

    kind: Literal["report", "started", "message", "status", "ignored"]
    when: dict[Path, bool | list[str]] = Field(default_factory=dict)
    key: str | None = None
    fields: dict[str, Paths] = Field(default_factory=dict)
    outcomes: dict[str, str] = Field(default_factory=dict)
    times: Literal["iso", "seconds", "milliseconds"] | None = None
    revision: int = Field(default=1, ge=1)
    pending: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Kind:
        if unknown := sorted(set(self.fields) - FIELDS[self.kind]):
            raise ValueError(f"a {self.kind} has no field {unknown[0]!r}")
        if missing := [name for name in NEEDED[self.kind] if name not in self.fields and name != "number"]:
            raise ValueError(f"a {self.kind} needs the field {missing[0]!r}")
        if self.kind in ("report", "message", "status", "started") and not self.key:
            raise ValueError(f"a {self.kind} needs a key")
        for name in _BRACES.findall(self.key or ""):
            _path(name)
        known = MESSAGE_OUTCOMES if self.kind == "status" else OUTCOMES
        if wrong := sorted({word for word in self.outcomes.values() if word and word not in known}):
            raise ValueError(f"{wrong[0]!r} is no outcome of a {self.kind}")
        return self


class Mapping(_Form):
    """One vendor's bodies."""

    vendor: str
    channel: Literal["voice", "whatsapp"]
    body: Literal["json", "form"] = "json"
    items: Path | None = None
    times: Literal["iso", "seconds", "milliseconds"] = "iso"
    time_zone: str = "UTC"
    signature: Signature
    dispositions: dict[str, str] = Field(default_factory=dict)
    kind: list[Kind] = Field(min_length=1)

    @model_validator(mode="after")
    def _whole(self) -> Mapping:
        if not NAME.fullmatch(self.vendor):
            raise ValueError("a vendor is called as its file is: small letters, digits and underscores")
        if self.time_zone not in available_timezones():
            raise ValueError(f"{self.time_zone!r} is no time zone of the IANA list")
        return self


def read(name: str, text: str) -> Mapping:
    """The mapping of a file of this name. Raises `InvalidMapping`, which names the file and the place in it."""
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise InvalidMapping(f"mapping {name}: {wrong}") from None
    try:
        return Mapping.model_validate({"vendor": name, **document})
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidMapping(f"mapping {name}: {place}: {first['msg']}") from None


def filled(template: str, value: Any) -> str:
    """A key with the values of its paths; `value` gives that of a path."""
    return _BRACES.sub(lambda found: str(value(found[1]) or "?"), template)
