"""What a person may do to a record or a list: each behind a page that asks whether it is meant, each with an audit line.

A doing is an event posted through the same intake as everybody's (`receive`), under an id that the asking page was made with:
sending its form twice does it once. Who did it stands in the event too. The audit line is added when the event is durable, and
holds no word of what was said: a reason is the event's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Final

from starlette.responses import Response

from service import audit, naming
from service.errors import FieldError, InvalidBody, NotFound, Problem
from service.intake.receive import receive, retried
from service.pages import reading, session
from service.pages.drawing import Page, mask, segment
from service.pages.page import ACT, Visit, page, pages, seen_again, what_is_wrong
from service.pages.reading import Seen
from service.records import set_aside_item
from service.web.calls import checked
from statemachine.conclusions import KnownIdentifier
from statemachine.entries import EVENT_TYPES, Identifier
from statemachine.wire import HOLD_KINDS

router = pages()

REASON_CHARACTERS: Final = 500
UNLINK_REASONS: Final = ("wrong_borrower", "number_changed", "asked_to")
KINDS: Final = ("phone", "bsuid", "messenger", "email", "crm")

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A field of the page that asks. `options`, each a value and its words, make it a choice. A hidden one is read as `says`,
    and where that is blank not at all; without a name it is only read."""

    name: str
    label: str
    hint: str = ""
    options: tuple[tuple[str, str], ...] = ()
    is_long: bool = False
    value: str = ""
    is_hidden: bool = False
    says: str = ""
    is_optional: bool = False


ALSO_NAMED: Final = {"identifier": "Identifier", "event_id": "Report"}
"""Fields of an event, by the labels of those that they are made of."""


@dataclass(frozen=True)
class Ask(Page):
    """Is this meant? What it will do, and what is needed for it."""

    template: ClassVar[str] = "ask.html.j2"
    reloads: ClassVar[bool] = False
    title: str
    borrower_id: str | None
    effect: str
    button: str
    action: str
    ticket: str
    asked: tuple[Asked, ...]
    back: str
    problem: str = ""
    is_grave: bool = False
    """Whether it cannot be undone."""
    typed: Mapping[str, str] = field(default_factory=dict)
    """What the form was sent with, where it is asked once more."""

    def once_more(self, wrong: InvalidBody, form: Mapping[str, str]) -> Ask:
        """With what is wrong, and what was typed."""
        labels = {one.name: one.label for one in self.asked} | ALSO_NAMED
        return replace(self, problem=what_is_wrong(wrong, labels), typed=form)


@dataclass(frozen=True, slots=True)
class Doing:
    """One kind of doing: how it is asked for, and the event that it is."""

    title: str
    effect: str
    button: str
    type: str
    asked: Callable[[Visit, Seen], tuple[Asked, ...]]
    fields: Callable[[Visit, Seen], Fields]
    detail: Callable[[Fields], str]


def hidden(name: str, value: str, label: str = "", says: str = "") -> Asked:
    return Asked(name, label, value=value, is_hidden=True, says=says)


def choices(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, name.replace("_", " ")) for name in names)


def _reason(hint: str) -> Asked:
    return Asked("reason", "Reason", hint, is_long=True)


def _given(visit: Visit, name: str) -> str:
    """A field of the form, or before there is one, of the address."""
    return visit.form.get(name, "") or visit.request.query_params.get(name, "")


def reason_of(visit: Visit) -> str:
    """What the form gives as the reason; raises `InvalidBody`."""
    reason = visit.form.get("reason", "")
    if not reason or len(reason) > REASON_CHARACTERS:
        raise InvalidBody([FieldError("reason", "missing" if not reason else "too_long")])
    return reason


def _lift_asked(visit: Visit, who: Seen) -> tuple[Asked, ...]:
    kind, loan = _given(visit, "kind"), _given(visit, "loan_id")
    if kind not in HOLD_KINDS:
        raise NotFound
    return (
        hidden("kind", kind, "Hold", kind.replace("_", " ")),
        hidden("loan_id", loan, "Loan", loan),
        _reason("What ended it, or who said so."),
    )


def _lift_fields(visit: Visit, who: Seen) -> Fields:
    return {"kind": _given(visit, "kind"), "loan_id": _given(visit, "loan_id") or None, "reason": reason_of(visit)}


def _retract_asked(visit: Visit, who: Seen) -> tuple[Asked, ...]:
    loan, conversation = _given(visit, "loan_id"), _given(visit, "conversation_id")
    return (
        hidden("loan_id", loan, "Loan", loan),
        hidden("conversation_id", conversation, "Conversation", conversation),
        _reason("Why it never was a promise."),
    )


def _retract_fields(visit: Visit, who: Seen) -> Fields:
    return {
        "loan_id": _given(visit, "loan_id") or None,
        "conversation_id": _given(visit, "conversation_id") or None,
        "reason": reason_of(visit),
    }


def _link_asked(visit: Visit, who: Seen) -> tuple[Asked, ...]:
    return (
        Asked("kind", "Kind", options=choices(KINDS)),
        Asked("value", "Identifier", "A number in any spelling, an e-mail address, or an id."),
    )


def _link_fields(visit: Visit, who: Seen) -> Fields:
    return {"identifier": {"kind": visit.form.get("kind", ""), "value": visit.form.get("value", "")}}


def _unlink_asked(visit: Visit, who: Seen) -> tuple[Asked, ...]:
    """The identifier is named by its place in the record at one version: no number stands in an address."""
    known = who.one.state.identifiers
    place, version = _given(visit, "n"), _given(visit, "v")
    if not (place.isascii() and place.isdigit() and len(place) < 6 and int(place) < len(known)):
        raise NotFound
    if version != str(who.one.version):
        raise Moved
    one = known[int(place)]
    itself = Asked(
        "value",
        "The identifier itself",
        "Everything was forgotten of this borrower, so only its keyed hash is kept. Type it: if it is this one, it is unlinked.",
    )
    return (
        hidden("n", place),
        hidden("v", version),
        hidden("", "", one.kind, mask(one.value, one.kind)),
        *((itself,) if naming.is_hidden(one.value) else ()),
        Asked(
            "reason",
            "Reason",
            "Wrong borrower: what was said through it is left out from now on.",
            choices(UNLINK_REASONS),
        ),
    )


def _unlink_fields(visit: Visit, who: Seen) -> Fields:
    _unlink_asked(visit, who)
    one = who.one.state.identifiers[int(_given(visit, "n"))]
    if visit.form.get("reason") not in UNLINK_REASONS:
        raise InvalidBody([FieldError("reason", "not_in_enum")])
    value = _value_behind(visit, one) if naming.is_hidden(one.value) else one.value
    return {"identifier": {"kind": one.kind, "value": value}, "reason": visit.form["reason"]}


def _value_behind(visit: Visit, one: KnownIdentifier) -> str:
    """The identifier that the form gives, if the record's keyed hash is of it; raises `InvalidBody`."""
    given = visit.form.get("value", "").strip()
    if not given:
        raise InvalidBody([FieldError("value", "missing")])
    policy = visit.parts.policies.for_tenant(visit.tenant)
    typed = naming.identified(Identifier(kind=one.kind, value=given), policy, "value")
    found = naming.hidden_as(one.value, typed, visit.parts.secrets)
    if found is None:
        raise InvalidBody([FieldError("value", "unknown_identifier")])
    return found.value


class Moved(Problem):
    status, code, title = 409, "moved_on", "The record has moved on"
    sentence = "something was told of this borrower since the page was made: look at it again first"


def _kind_of(fields: Fields) -> str:
    return str(fields["identifier"]["kind"])


DOINGS: Final[Mapping[str, Doing]] = {
    "lift-hold": Doing(
        "Lift a hold", "Agents may be given a state again, and contact is no longer refused for this hold.", "Lift the hold",
        "hold.lifted", _lift_asked, _lift_fields, lambda fields: str(fields["kind"]),
    ),
    "retract-promise": Doing(
        "Retract a promise", "The promise no longer counts; whatever stood before it does. It stays in the history.",
        "Retract the promise", "promise.retracted", _retract_asked, _retract_fields,
        lambda fields: str(fields["conversation_id"] or "the current one"),
    ),
    "link": Doing(
        "Link an identifier", "Whoever writes or calls from it is this borrower from now on, and what was told of it before is"
        " joined into this record.", "Link it", "identifier.linked", _link_asked, _link_fields, _kind_of,
    ),
    "unlink": Doing(
        "Unlink an identifier", "It no longer leads to this borrower, and identity that was verified on it no longer holds.",
        "Unlink it", "identifier.unlinked", _unlink_asked, _unlink_fields, _kind_of,
    ),
}  # fmt: skip


# -- of one borrower -------------------------------------------------------------------------------------------------------


def _doing(visit: Visit) -> Doing:
    doing = DOINGS.get(visit.path("action"))
    if doing is None:
        raise NotFound
    return doing


def _ask(visit: Visit, who: Seen, doing: Doing) -> Ask:
    return Ask(
        title=doing.title,
        borrower_id=who.one.borrower_id,
        effect=doing.effect,
        button=doing.button,
        action=visit.request.url.path,
        ticket=session.ticket(visit.person, visit.parts.secrets, visit.parts.clock()),
        asked=doing.asked(visit, who),
        back=f"/ops/borrowers/{segment(who.one.borrower_id)}",
    )


@page(router, "GET", "/ops/borrowers/{borrower_id}/do/{action}", scope=ACT)
async def ask(visit: Visit) -> Response:
    """Is it meant?"""
    return visit.show(_ask(visit, await reading.seen(visit), _doing(visit)))


@page(router, "POST", "/ops/borrowers/{borrower_id}/do/{action}", scope=ACT)
async def do(visit: Visit) -> Response:
    """It is: posted as an event, audited, and shown."""
    doing, who = _doing(visit), await reading.seen(visit)
    ticket = ticket_of(visit)
    borrower_id = who.one.borrower_id
    try:
        fields = doing.fields(visit, who)
        await _post(visit, borrower_id, doing.type, ticket, fields)
    except InvalidBody as wrong:
        return visit.show(_ask(visit, who, doing).once_more(wrong, visit.form), wrong.status)
    await note(visit, doing.type.replace(".", "_"), borrower_id, f"{ticket.event_id} {doing.detail(fields)}")
    return seen_again(f"/ops/borrowers/{segment(borrower_id)}")


def ticket_of(visit: Visit) -> session.Ticket:
    """Raises `Moved` for a page that was made too long ago."""
    ticket = session.read_ticket(visit.form.get("ticket", ""), visit.person, visit.parts.secrets, visit.parts.clock())
    if ticket is None:
        raise Moved("this page was made too long ago, or in another session: go back and begin again")
    return ticket


async def _post(visit: Visit, borrower_id: str, type_: str, ticket: session.Ticket, fields: Fields) -> None:
    """Raises what the API answers to such an event."""
    body = {
        "event_id": ticket.event_id,
        "type": type_,
        "occurred_at": ticket.at.isoformat(),
        "borrower_id": borrower_id,
        "extra": {"by": visit.person.name, "key_id": visit.person.key.key_id, "through": "dashboard"},
        **{name: value for name, value in fields.items() if value is not None},
    }
    event = checked(EVENT_TYPES[type_], body)
    (told,) = await receive(visit, [(event, ())])
    if told.problem is not None:
        raise told.problem


async def note(visit: Visit, action: str, borrower_id: str | None, detail: str, at: datetime | None = None) -> None:
    """Adds an audit line."""
    line = audit.Line(visit.tenant, at or visit.parts.clock(), visit.person.who, action, borrower_id, detail)
    await visit.parts.database.write(lambda conn: audit.add(conn, line))


# -- of what was set aside -------------------------------------------------------------------------------------------------


def _number(visit: Visit) -> int:
    number = visit.path("id")
    if not (number.isascii() and number.isdigit() and len(number) < 18):
        raise NotFound
    return int(number)


@page(router, "GET", "/ops/set-aside/{id}/retry", scope=ACT)
async def ask_retry(visit: Visit) -> Response:
    number = _number(visit)
    found = await visit.parts.database.read(lambda conn: set_aside_item(conn, visit.tenant, number))
    if found is None:
        raise NotFound
    item = found[0]
    effect = (
        "Its id was merged before with another body, so trying again cannot merge it: it will be listed as refused."
        if item["reason"] == "id_conflict"
        else "It goes back into the log once. What can be merged now is merged; what cannot is set aside again."
    )
    return visit.show(
        Ask(
            title=f"Try number {number} again",
            borrower_id=item["borrower_id"],
            effect=effect,
            button="Try again",
            action=visit.request.url.path,
            ticket="",
            asked=(),
            back=f"/ops/set-aside?status={item['status']}",
        )
    )


@page(router, "POST", "/ops/set-aside/{id}/retry", scope=ACT)
async def retry(visit: Visit) -> Response:
    number = _number(visit)
    item = await retried(visit.parts, visit.tenant, number)
    if item is None:
        raise NotFound
    await note(visit, "set_aside_retried", item["borrower_id"], f"{number} {item['status']}")
    return seen_again(f"/ops/set-aside#n-{number}")
