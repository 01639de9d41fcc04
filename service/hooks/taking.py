"""The items of one body become entries of the log, lines of chats, or are set aside. For each handful of them, in this order:

    1 hide     ids that hold a number are hashed
    2 claim    each item by its key: what another body told before is a repeat and goes no further
    3 prepare  what a provider's status is about, and whose number has changed, is looked up
    4 post     bodies through intake like anybody's, lines to the chats
    5 settle   each item is done, waits for an event of ours, or is set aside with its reason

A crash anywhere leaves the body unread, and it is taken again from its beginning: what was posted is then a repeat for intake
and for the chats. A world that is not ready (`Unavailable`) is raised: nothing is set aside for it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from channels import fields
from channels.delivery import Item, Moved, Status
from channels.messages import ChatMessage
from service import naming, records
from service.errors import AmbiguousIdentifier, IdConflict, InvalidBody, Problem, Unavailable
from service.hooks import bodies
from service.hooks.bodies import Body, Claimed
from service.intake.message_ids import hashed
from service.intake.receive import Received, receive
from statemachine.entries import EVENT_TYPES, Event, Identifier, IdentifierLinked, IdentifierUnlinked, Summary
from statemachine.holding import end_of_day

if TYPE_CHECKING:
    from service.wiring import Parts

ITEMS_AT_ONCE: Final = 25
"""In one transaction, and between two turns of everybody else's."""
LATEST_REPORT: Final = timedelta(days=14)
"""So late a report without a time is believed to have come, twice as late as any vendor delivers (VENDORS 0). A promised day
that lies further back is a month or a year that a model got wrong, and is withheld."""
UNREADABLE: Final = "@unreadable"
"""The key of a whole body that nothing could be made of."""


@dataclass(frozen=True, slots=True)
class Source:
    """As whom a hook posts: its tenant. What a hook may tell is what its adapter makes, whatever a key would be allowed."""

    parts: Parts
    tenant: str


@dataclass(slots=True)
class _Work:
    """One item on its way."""

    item: Item
    claimed: Claimed
    posts: list[Summary | Event] = field(default_factory=list)
    waits_for: str | None = None
    reason: str | None = None
    detail: str = ""
    borrower_id: str | None = None

    def aside(self, reason: str, detail: str) -> None:
        self.reason = self.reason or reason
        self.detail = self.detail or detail


async def take(parts: Parts, body: Body, items: Sequence[Item]) -> dict[str, int]:
    """Takes all items of a body; how many became what (`done`, `repeat`, `waiting`, `aside`, `ignored`).

    Raises `Unavailable` and `DatabaseUnavailable`.
    """
    became = dict.fromkeys(("done", "repeat", "waiting", "aside", "ignored"), 0)
    ours = [_hidden(item, body, parts) for item in items if item.ignored is None]
    became["ignored"] = len(items) - len(ours)
    for start in range(0, len(ours), ITEMS_AT_ONCE):
        for word, count in (await _take_some(parts, body, ours[start : start + ITEMS_AT_ONCE])).items():
            became[word] += count
    return became


def keys_of(parts: Parts, body: Body, items: Sequence[Item]) -> list[str]:
    """The keys under which `take` claims the items of a body."""
    return [_hidden(item, body, parts).key for item in items if item.ignored is None]


async def _take_some(parts: Parts, body: Body, items: Sequence[Item]) -> dict[str, int]:
    now = parts.clock()
    # 2.
    claims = await parts.database.write(lambda conn: _claimed(conn, body, items, now))
    work = [_Work(item, claim) for item, claim in zip(items, claims, strict=True) if claim.is_ours]
    # 3.
    await parts.database.read(lambda conn: _prepare(conn, parts, body.tenant, work))
    # 4.
    await _post(parts, body.tenant, work)
    await _tell_chats(parts, body.tenant, work)
    # 5.
    await parts.database.write(lambda conn: _settle(conn, parts, body, work))
    for reason in (one.reason for one in work if one.reason is not None and not one.claimed.was_aside):
        parts.deliveries.put_aside(reason)
    aside = sum(one.reason is not None for one in work)
    waits = sum(one.waits_for is not None and one.reason is None for one in work)
    repeats = sum(claim.is_repeat for claim in claims)
    return {"done": len(work) - aside - waits, "repeat": repeats, "waiting": waits, "aside": aside}


# -- 1 and 2 ------------------------------------------------------------------------------------------------------------


def _hidden(item: Item, body: Body, parts: Parts) -> Item:
    """With a key that is one among all bodies, and no number in any id."""

    def hide(text: str | None) -> Any:
        return hashed(text, parts.keyed_hash) if text is not None else None

    def message(one: ChatMessage) -> ChatMessage:
        ids = {name: hide(getattr(one, name)) for name in ("message_id", "replaces", "answers")}
        return dataclasses.replace(one, **ids)

    def posted(one: Summary | Event) -> Summary | Event:
        return one.model_copy(update={"event_id": hide(one.id)})

    key = f"{body.vendor}:{body.id}:{item.key}" if item.key.startswith("@") else hide(item.key)
    status = item.status
    if status is not None:
        status = dataclasses.replace(status, message_ids=tuple(hide(id_) for id_ in status.message_ids))
    return dataclasses.replace(
        item,
        key=key,
        bodies=tuple(posted(one) for one in item.bodies),
        messages=tuple(message(one) for one in item.messages),
        status=status,
    )


def _claimed(conn: Connection, body: Body, items: Sequence[Item], now: datetime) -> list[Claimed]:
    claims: list[Claimed] = []
    here: set[str] = set()
    for item in items:
        claim = (
            Claimed(False, True) if item.key in here else bodies.claim_item(conn, body.tenant, item.key, body.id, now)
        )
        here.add(item.key)
        if claim.is_repeat:
            records.count_repeat(
                conn, body.tenant, item.bodies[0].id if item.bodies else item.key, now, is_conflict=False
            )
        claims.append(claim)
    return claims


# -- 3 ------------------------------------------------------------------------------------------------------------------


def _prepare(conn: Connection, parts: Parts, tenant: str, work: Sequence[_Work]) -> None:
    for one in work:
        one.posts = list(one.item.bodies)
        if one.item.is_undated:
            one.posts = [_dated(conn, parts, tenant, told) for told in one.posts]
        if one.item.aside is not None:
            one.aside("unreadable" if "cannot be read" in one.item.aside else "invalid", one.item.aside)
        elif one.item.status is not None:
            _of_message(conn, tenant, one, one.item.status)
        elif one.item.moved is not None:
            _of_person(conn, parts, tenant, one, one.item.moved)
        if one.item.messages:
            one.borrower_id = _whose(conn, parts, tenant, one.item.messages[0])


def _dated(conn: Connection, parts: Parts, tenant: str, told: Summary | Event) -> Summary | Event:
    """A summary without a time of its own ended when another report of its conversation says so (VENDORS A.7).

    Without one, its arrival and the day that it promises are the two things that are known: it was over by either.
    """
    if not isinstance(told, Summary):
        return told
    policy = parts.policies.for_tenant(tenant)
    known: set[str] = set()
    for borrower_id, identifier in ((told.borrower_id, None), (None, told.identifier)):
        try:
            named = naming.find(conn, tenant, naming.called(borrower_id, identifier, None, policy), parts.secrets)
        except InvalidBody:
            continue
        known |= {id_ for id_ in (named.borrower_id, named.provisional_id) if id_ is not None}
    at = records.ended_at(conn, tenant, sorted(known), told.channel, told.conversation_id)
    if at is None:
        zones = (records.time_zone_of(conn, tenant, id_) for id_ in sorted(known))
        at = _by_its_promise(told, next((zone for zone in zones if zone), policy.time_zone))
    return told if at is None or at > told.ended_at else told.model_copy(update={"ended_at": at})


def _by_its_promise(told: Summary, zone: str) -> datetime | None:
    """The end of the promised day, where the report came later than that, and not too late to be believed: nobody promises
    a day that is past. None where arrival is the better bound."""
    due = fields.day(told.commitment.due_date) if told.commitment is not None else None
    if due is None or not timedelta() < told.ended_at.astimezone(ZoneInfo(zone)).date() - due <= LATEST_REPORT:
        return None
    return end_of_day(due, zone) - timedelta(seconds=1)


def _whose(conn: Connection, parts: Parts, tenant: str, message: ChatMessage) -> str | None:
    """Whose message it is, provisional ids included: so that a forget finds the body that it came in."""
    try:
        called = naming.called(None, _identifier(message.identifier), None, parts.policies.for_tenant(tenant))
    except InvalidBody:
        return None
    named = naming.find(conn, tenant, called, parts.secrets)
    return named.borrower_id or named.provisional_id


def _of_message(conn: Connection, tenant: str, one: _Work, status: Status) -> None:
    """What the message was: our own text that came back says so, else the event of ours with its id (API 11)."""
    ours = bodies.message_of_ours(conn, tenant, status.message_ids)
    if status.purpose is None and ours is None:
        one.waits_for = status.message_ids[0]
        return
    type_ = status.purpose or (ours.type if ours else "")
    who: dict[str, Any] = {
        "identifier": _identifier(status.identifier),
        "loan_id": status.loan_id,
        "cycle_id": status.cycle_id,
    }
    if ours is not None:
        named = None if records.is_provisional(ours.borrower_id) else ours.borrower_id
        who = {
            "borrower_id": named,
            "loan_id": status.loan_id or ours.loan_id,
            "cycle_id": status.cycle_id or ours.cycle_id,
        }
        if named is None:
            who["identifier"] = _identifier(status.identifier)
    if not any(who.get(name) for name in ("borrower_id", "identifier", "loan_id")):
        one.aside("invalid", "a status of a message to nobody that is known")
        return
    told = {
        "event_id": one.item.key,
        "type": type_,
        "occurred_at": status.at,
        "channel": "whatsapp",
        "message_id": ours.message_id if ours is not None else status.message_ids[0],
        "outcome": status.outcome,
        **who,
    }
    one.posts.append(EVENT_TYPES[type_].model_validate(told))


def _of_person(conn: Connection, parts: Parts, tenant: str, one: _Work, moved: Moved) -> None:
    """The new number is linked, not verified, and the old one unlinked, for it may be a stranger's some day (API 11)."""
    policy = parts.policies.for_tenant(tenant)
    try:
        before = naming.called(None, _identifier(moved.before), None, policy)
    except InvalidBody:
        one.aside("invalid", "the number that changed is one of ours")
        return
    named = naming.find(conn, tenant, before, parts.secrets)
    if named.candidates:
        one.aside("ambiguous_identifier", "several borrowers share the number that changed")
        return
    if named.borrower_id is None or records.is_provisional(named.borrower_id):
        one.aside("invalid", "the number that changed is linked to nobody: link the new one")
        return
    common: dict[str, Any] = {"occurred_at": moved.at, "borrower_id": named.borrower_id}
    one.posts = [
        IdentifierLinked(
            event_id=f"{one.item.key}:linked", type="identifier.linked", identifier=_identifier(moved.after), **common
        ),
        IdentifierUnlinked(
            event_id=f"{one.item.key}:unlinked",
            type="identifier.unlinked",
            identifier=_identifier(moved.before),
            reason="number_changed",
            **common,
        ),
    ]


def _identifier(pair: tuple[str, str] | None) -> Any:
    return Identifier(kind=pair[0], value=pair[1]) if pair is not None else None


# -- 4 ------------------------------------------------------------------------------------------------------------------


async def _post(parts: Parts, tenant: str, work: Sequence[_Work]) -> None:
    posts = [(one, post) for one in work if one.reason is None for post in one.posts]
    if not posts:
        return
    for (one, _), result in zip(posts, await receive(Source(parts, tenant), [(p, ()) for _, p in posts]), strict=True):
        if result.problem is not None:
            _refused(one, result.problem)
        else:
            one.borrower_id = _told_of(result)


def _told_of(result: Received) -> str | None:
    return str(result.answer["borrower_id"]) if result.answer else None


def _refused(one: _Work, problem: Problem) -> None:
    """Why an item is set aside. A conflict is listed by intake itself; the first told stays."""
    if isinstance(problem, Unavailable):
        raise problem
    if isinstance(problem, IdConflict):
        return
    if isinstance(problem, AmbiguousIdentifier):
        one.aside(
            "ambiguous_identifier", "several borrowers share the number: custom data with a borrower_id would tell"
        )
    elif isinstance(problem, InvalidBody):
        wrong = ", ".join(f"{error.field} ({error.code})" for error in problem.errors)
        one.aside("invalid", wrong or problem.detail)
    else:
        one.aside("cannot_merge", problem.detail)


async def _tell_chats(parts: Parts, tenant: str, work: Sequence[_Work]) -> None:
    """All lines at once; when one of them is of nobody in particular, each for itself."""
    telling = [one for one in work if one.item.messages and (one.reason is None or one.item.bodies)]
    if not telling:
        return
    try:
        await parts.chats.take(tenant, [message for one in telling for message in one.item.messages])
    except (AmbiguousIdentifier, InvalidBody):
        for one in telling:
            try:
                await parts.chats.take(tenant, one.item.messages)
            except (AmbiguousIdentifier, InvalidBody) as problem:
                _refused(one, problem)


# -- 5 ------------------------------------------------------------------------------------------------------------------


def _settle(conn: Connection, parts: Parts, body: Body, work: Sequence[_Work]) -> None:
    for one in work:
        key = one.item.key
        if one.reason is not None:
            bodies.settle_item(conn, body.tenant, key, bodies.ASIDE)
            put_aside(conn, parts, body, key, one.reason, one.detail)
        elif one.waits_for is not None:
            bodies.settle_item(conn, body.tenant, key, bodies.WAITING, waits_for=one.waits_for)
        else:
            bodies.settle_item(conn, body.tenant, key, bodies.DONE, borrower_id=one.borrower_id)
            if one.claimed.was_aside:
                for number in records.open_set_aside(conn, body.tenant, [key]).get(key, []):
                    records.settle_set_aside(conn, body.tenant, number, "merged", attempts=1)


def put_aside(conn: Connection, parts: Parts, body: Body, key: str, reason: str, detail: str) -> None:
    """Lists an item, or a whole body; what is kept is where it stands, for the body is sealed and has its own expiry."""
    records.put_aside(
        conn,
        records.Aside(
            tenant=body.tenant,
            reason=reason,
            detail=detail,
            kind="hook",
            received_at=body.received_at,
            value=json.dumps({"body": body.id, "key": key}).encode(),
            vendor=body.vendor,
            event_id=key,
            body_hash=parts.keyed_hash(key, "hook item"),
        ),
    )
