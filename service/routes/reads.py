"""What every read of the API shares: waiting for one's writes, what is stored and damaged, and lists in pages (API 1).

A cursor belongs to the list that gave it: the call, its filters, the borrower and the tenant. It says so by a keyed hash behind
the place where the rest begins, so that it holds as long as the keys do and is refused by any other list. No noun is known here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Final

import structlog
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from sqlalchemy import Connection

from service import strictjson
from service.after import all_merged
from service.errors import FieldError, InvalidBody, NotYetMerged, Unreadable
from service.records.pages import BadCursor, Page, instant_in, place_in
from service.web.calls import Call, Parameters
from statemachine.record import UnreadableRecord
from statemachine.stamps import UnreadableEntry
from statemachine.wire import Id

log = structlog.get_logger("service.routes")

PAGE_LIMIT: Final = 200
PAGE_DEFAULT: Final = 50
SEAL_CHARACTERS: Final = 16
"""Of a cursor's hash: enough that no cursor of one list passes for another's by chance."""


def _limit(value: object) -> int:
    if not isinstance(value, str) or not value.isascii() or not value.isdigit() or len(value) > 6 or int(value) < 1:
        raise PydanticCustomError("wrong_type", "a whole number from 1")
    if int(value) > PAGE_LIMIT:
        raise PydanticCustomError("too_many", "at most {limit}", {"limit": PAGE_LIMIT})
    return int(value)


Limit = Annotated[int, BeforeValidator(_limit)]


class OfNothing(Parameters):
    after: Id | None = None


class OfPage(Parameters):
    limit: Limit = PAGE_DEFAULT
    cursor: str | None = None
    after: Id | None = None


async def after(call: Call, *event_ids: str | None) -> None:
    """Waits for entries of the caller's, named in the body or the query, a second for all; raises `NotYetMerged`."""
    if not await all_merged(call.parts, call.tenant, event_ids):
        raise NotYetMerged


# -- what is stored and damaged -------------------------------------------------------------------------------------


@contextlib.contextmanager
def readable(call: Call) -> Iterator[None]:
    """Around whatever understands what is stored: raises `Unreadable` for what is damaged, counted and logged."""
    try:
        yield
    except (UnreadableRecord, UnreadableEntry) as why:
        count_unreadable(call, str(why))
        raise Unreadable from why


def count_unreadable(call: Call, why: str, found: int = 1) -> None:
    """What is stored and damaged, met in this call."""
    route = getattr(call.request.scope.get("route"), "path", "-")
    call.parts.unreadable.labels(route).inc(found)
    log.error("stored.unreadable", tenant=call.tenant, route=route, why=why, found=found)


# -- lists in pages -------------------------------------------------------------------------------------------------


async def paged(
    call: Call, wanted: OfPage, look: Callable[[Connection, str | None], Page], whose: Sequence[str] = ("",)
) -> Page:
    """A page of a list; `look` reads it from behind a place. Raises `InvalidBody` naming a cursor of any other list."""
    place = place_of(call, wanted, whose)
    with readable(call), going_on():
        page = await call.parts.database.read(lambda conn: look(conn, place))
    return page if page.next_cursor is None else Page(page.items, cursor_of(call, wanted, page.next_cursor, whose))


@contextlib.contextmanager
def going_on() -> Iterator[None]:
    """Around whatever reads from a cursor's place: one that an earlier version gave, in another form, is named as wrong."""
    try:
        yield
    except BadCursor:
        raise InvalidBody([FieldError("cursor", "wrong_type")], _OF_ANOTHER) from None


def place_of(call: Call, wanted: OfPage, whose: Sequence[str] = ("",)) -> str | None:
    """Where the list goes on, of the cursor that it gave; raises `InvalidBody` for one of any other list.

    `whose`: the borrower whose list it is, under each id that they answer to.
    """
    if wanted.cursor is None:
        return None
    place, _, seal = wanted.cursor.rpartition(".")
    if seal not in [_seal(call, wanted, id_, place) for id_ in whose]:
        raise InvalidBody([FieldError("cursor", "wrong_type")], _OF_ANOTHER)
    return place


def cursor_of(call: Call, wanted: OfPage, place: str, whose: Sequence[str] = ("",)) -> str:
    """The cursor of this list for what is behind the place; it is of the first of those ids."""
    return f"{place}.{_seal(call, wanted, whose[0], place)}"


def time_and_id(place: str | None) -> tuple[datetime, str] | None:
    """The place of a list that is ordered by these; raises `BadCursor`."""
    if place is None:
        return None
    at, id_ = place_in(place, str, str)
    return instant_in(at), id_


_OF_ANOTHER: Final = "a cursor goes on in the list that gave it, asked for with the same filters"


def _seal(call: Call, wanted: OfPage, whose: str, place: str) -> str:
    """Of a place in the list that is asked for; how much of it at a time, and after what, makes it no other."""
    filters = wanted.model_dump(mode="json", exclude={"limit", "cursor", "after"}, exclude_none=True)
    named = strictjson.dump([call.tenant, call.operation, whose, sorted(filters.items()), place]).decode()
    return call.parts.keyed_hash(named, "cursor")[:SEAL_CHARACTERS]
