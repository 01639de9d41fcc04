"""Templates, and how times, money and numbers of people are written in them.

A page is a frozen dataclass: its fields are the names that its template has, no more and no fewer (a test compares them).
Everything is escaped. Numbers of people are masked here and nowhere else, in texts as well, so that whoever forgets to ask
for a mask gets one. What was told in words that are written from right to left is kept apart from what stands around it.

Nothing here reads a store, knows a route or decides what is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape
from phonenumbers import NumberParseException, PhoneNumberType, is_valid_number, number_type, parse

from channels.identifiers import SHORTEST_WITH_COUNTRY_CODE

TEMPLATES: Final = Path(__file__).parents[2] / "templates"
ROOM: Final = TEMPLATES / "ops"
SHOWN_DIGITS: Final = 2
"""Of a number that is masked, at its end: enough to tell two of one person apart, too few to call."""
REFRESH_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around every page."""

    tenant: str
    name: str
    acts: bool
    keeps_privacy: bool
    token: str
    zone: str
    region: str
    """In which a number without a country code is read."""
    now: datetime
    here: str
    is_further: bool
    """Whether this is a page of a list behind its first."""
    fresh: bool
    """Whether the page may be read anew by itself: what answered a form may not."""
    policy_problem: str
    rooms: tuple[tuple[str, str, str], ...]
    """Path and name of every page that has a place of its own, and the name of the group that begins with it."""


@dataclass(frozen=True)
class Page:
    """A page: what its template is given."""

    template: ClassVar[str]
    reloads: ClassVar[bool] = True
    """Whether it is read anew by itself."""


@dataclass(frozen=True)
class Refused(Page):
    """That it could not be done or read, and why."""

    template: ClassVar[str] = "refused.html.j2"
    reloads: ClassVar[bool] = False
    title: str
    status: int
    detail: str
    fields: tuple[str, ...]
    is_outage: bool
    without: str
    """The page without what was asked of it wrongly; empty when that was not it."""


def draw(page: Page, frame: Frame | None) -> str:
    """The page as HTML; `frame` is None while nobody is signed in."""
    given = {field.name: getattr(page, field.name) for field in fields(page)}
    refresh = REFRESH_SECONDS if page.reloads and frame is not None and frame.fresh else 0
    return environment().get_template(page.template).render(frame=frame, refresh=refresh, **given)


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(ROOM), undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.filters.update(
        when=when, day=day, near_day=near_day, clock=clock, money=money, since=since, lasting=lasting, mask=mask,
        hide=hidden, told=told, own=own, apart=apart, words=words, medium=medium, sentence=sentence, noun=noun, segment=segment,
        chosen=chosen, anchor=anchor, query=query, share=share, many=many,
    )  # fmt: skip
    return made


# -- times ---------------------------------------------------------------------------------------------------------------


def _local(context: Context, at: datetime) -> datetime:
    frame = context.get("frame")
    return at.astimezone(ZoneInfo(frame.zone if frame is not None else "UTC"))


def _instant(at: datetime | str) -> datetime:
    return at if isinstance(at, datetime) else datetime.fromisoformat(at)


@pass_context
def when(context: Context, at: datetime | str | None) -> str:
    """A time where the tenant is: "28 Nov, 13:12", with its year when it is another than this one."""
    if at is None:
        return "–"
    local = _local(context, _instant(at))
    year = "" if local.year == _local(context, context["frame"].now).year else f" {local.year}"
    return f"{local.day} {local:%b}{year}, {local:%H:%M}"


@pass_context
def clock(context: Context, at: datetime) -> str:
    return f"{_local(context, at):%H:%M:%S}"


def day(value: date | str | None) -> str:
    """A day: "Sat 5 Dec 2026"."""
    if value is None:
        return "–"
    read = date.fromisoformat(value) if isinstance(value, str) else value
    return f"{read:%a} {read.day} {read:%b} {read.year}"


@pass_context
def near_day(context: Context, value: date | str | None) -> str:
    """A day in a list: its year only when it is another than this one."""
    told = day(value)
    return told.removesuffix(f" {_local(context, context['frame'].now).year}")


@pass_context
def since(context: Context, at: datetime | str | None) -> str:
    """How long ago, or in how long, in words."""
    if at is None:
        return "–"
    seconds = (context["frame"].now - _instant(at)).total_seconds()
    return f"in {lasting(-seconds)}" if seconds < 0 else f"{lasting(seconds)} ago"


def lasting(seconds: float) -> str:
    """A span in the largest unit that says enough."""
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' if count != 1 else ''}"
    return f"{int(seconds)} s"


# -- money and numbers -----------------------------------------------------------------------------------------------------


def money(amount: Decimal | str | None, currency: str | None = None) -> str:
    """An amount as it is written where its currency is: INR 1,25,000.00 and EUR 125,000.00."""
    if amount is None:
        return "–"
    try:
        value = Decimal(amount)
    except InvalidOperation:
        return str(amount)
    whole, _, rest = format(abs(value), "f").partition(".")
    head, tail = whole[:-3], whole[-3:]
    step = 2 if currency == "INR" else 3
    groups: list[str] = []
    while head:
        groups.insert(0, head[-step:])
        head = head[:-step]
    written = ",".join([*groups, tail]) + (f".{rest}" if rest.strip("0") else "")
    return f"{currency or ''} {'-' if value < 0 else ''}{written}".strip()


def many(count: int) -> str:
    return f"{count:,}"


def noun(count: int, one: str, several: str | None = None) -> str:
    """What is counted, in the form that goes with the number: 1 conversation, 2 conversations, 0 conversations."""
    return one if count == 1 else several or f"{one}s"


def share(part: int, whole: int) -> str:
    """A part in per cent; of nothing, a dash."""
    return f"{100 * part / whole:.0f} %" if whole else "–"


_NUMBER: Final = re.compile(r"(?<![\w.,])\+?\d(?:[\s().-]{0,2}\d){7,14}(?![\w])")
_RUN: Final = re.compile(r"\+?\d{7,15}")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_AMOUNT: Final = re.compile(r"\d+\.\d\d")
"""Of money, as the API writes it: 100000.00 has as many digits as a short number."""
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def mask(value: str, kind: str = "phone") -> str:
    """An identifier of a person as the pages show it before it is asked for."""
    if kind == "email" and "@" in value:
        return f"{value[:1]}•••@{value.rpartition('@')[2]}"
    if value.startswith("~"):
        return f"forgotten, its hash ends in {value[-SHOWN_DIGITS:]}"
    shown = value[-SHOWN_DIGITS:] if len(value) > SHOWN_DIGITS + 3 else ""
    head = value[:3] if kind == "phone" and value.startswith("+") else ""
    return f"{head}••••••{shown}"


def hide(text: str | None) -> str:
    """A text in which whatever may be somebody's number or address is masked."""
    return "".join(part for part, _ in _parts(text or ""))


def hide_in_id(name: str | None, region: str, *, abroad: bool = False) -> str:
    """An id, for a file: masked in it is what a mobile phone there can be called by, and not every long number. A customer's
    number, or a time, is nobody's, and tells one row from another. `abroad`: also what is a mobile's elsewhere, as in ids that
    vendors make of a number."""
    return "".join(part for part, _ in _parts(name or "", region, abroad=abroad))


def hidden(text: str | None) -> Markup:
    """`hide` for a page. Within words written from right to left a masked number would be turned round."""
    return _drawn(_parts(text or ""))


def told(text: str | None) -> Markup:
    """`hide` for words that stand in a line of ours: they have a direction of their own and do not change the line's."""
    return _apart(hidden(text), text or "")


@pass_context
def own(context: Context, name: str | None, *, abroad: bool = True) -> Markup:
    """`hide_in_id` for a page."""
    return _apart(_drawn(_parts(name or "", context["frame"].region, abroad=abroad)), name or "")


def apart(text: str | None) -> Markup:
    """Somebody else's words in which no number of a person can stand, in a line of ours."""
    return _apart(escape(text or ""), text or "")


def _apart(drawn: Markup, text: str) -> Markup:
    return drawn if text.isascii() else Markup("<bdi>{}</bdi>").format(drawn)


def _drawn(parts: list[tuple[str, bool]]) -> Markup:
    return Markup("").join(
        Markup('<bdi dir="ltr">{}</bdi>').format(part) if masked else escape(part) for part, masked in parts
    )


def _parts(text: str, region: str | None = None, *, abroad: bool = True) -> list[tuple[str, bool]]:
    """A text in order, each part with whether it was masked. With a region: as an id."""
    found = sorted(
        [
            (number.span(), _number(number[0]))
            for number in _NUMBER.finditer(text)
            if region is None or _is_mobile_in(number[0], region, abroad=abroad)
        ]
        + [(address.span(), mask(address[0], "email")) for address in _ADDRESS.finditer(text)],
        key=lambda one: one[0],
    )
    parts: list[tuple[str, bool]] = []
    end = 0
    for (start, stop), shown in found:
        if shown is None or start < end:
            continue
        parts += [(text[end:start], False), (shown, True)]
        end = stop
    return [part for part in (*parts, (text[end:], False)) if part[0]]


def _number(digits: str) -> str | None:
    """A number as it is masked; None for what is none."""
    if _DATE.match(digits) or _AMOUNT.fullmatch(digits):
        return None
    return mask(re.sub(r"[\s().-]", "", digits))


def _is_mobile_in(digits: str, region: str, *, abroad: bool) -> bool:
    """Whether a mobile's number stands there, perhaps between other numbers of the same spelling."""
    return any(
        _is_mobile(one, region) or (abroad and len(one) >= SHORTEST_WITH_COUNTRY_CODE and _is_mobile(f"+{one}", region))
        for one in (digits, *_RUN.findall(digits))
    )


@lru_cache(maxsize=8_192)
def _is_mobile(digits: str, region: str) -> bool:
    try:
        number = parse(digits, region)
    except NumberParseException:
        return False
    mobile = number_type(number) in (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE_OR_MOBILE)
    return mobile and is_valid_number(number)


# -- words and addresses -----------------------------------------------------------------------------------------------------


_NAMES: Final = {"whatsapp": "WhatsApp", "voice": "Voice"}


def words(code: str | None) -> str:
    """A code of the contract as people read it: `link_shared` is "link shared"."""
    return "–" if code is None else code.replace("_", " ").replace(".", " ")


def medium(code: str) -> str:
    """A channel's name as people write it; another code as `words` has it."""
    return _NAMES.get(code) or words(code)


def sentence(text: str) -> str:
    """A sentence of the API's on a page of its own."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def segment(value: str) -> str:
    """A part of a path."""
    return quote(value, safe="")


def anchor(value: str) -> str:
    """A name for a place within a page, of any id."""
    return "e-" + re.sub(r"[^A-Za-z0-9_-]", lambda found: f".{ord(found[0]):x}", value)


def query(values: dict[str, Any], **changed: Any) -> str:
    """A query with these values; what is None is left out, and yes and no are written as the API writes them."""
    wanted = {name: value for name, value in {**values, **changed}.items() if value is not None}
    told = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in wanted.items()}
    return f"?{urlencode(told)}" if told else ""


def chosen(filters: dict[str, Any]) -> bool:
    """Whether anything is filtered by."""
    return any(value is not None for value in filters.values())
