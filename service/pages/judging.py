"""A sentence that screening judged wrongly, copied for whoever writes its rules.

Copying withholds nothing by itself: what is shown is decided by rules alone, and these are written with such examples.
"""

from __future__ import annotations

from typing import Final, Literal

from sqlalchemy import Connection
from starlette.responses import Response

from channels.said import numbers
from service import records, screening_examples
from service.errors import FieldError, InvalidBody, NotFound
from service.pages import reading
from service.pages.actions import Ask, Asked
from service.pages.drawing import segment
from service.pages.page import ACT, Visit, page, pages, seen_again
from service.pages.reading import Seen
from statemachine.screening import screened
from statemachine.screening.sentences import sentences_of

router = pages()

SENTENCE_CHARACTERS: Final = 160
SHOULD: Final[dict[str, Literal["pass", "fail"]]] = {"be withheld": "fail", "be shown": "pass"}


async def _sentences(visit: Visit, who: Seen) -> tuple[str, tuple[str, ...]]:
    """The report that is meant, and its sentences. Raises `NotFound` for one of somebody else, or without words."""
    event_id = visit.form.get("event_id", "") or visit.request.query_params.get("event_id", "")

    def look(conn: Connection) -> str:
        first = records.merged_entry(conn, visit.tenant, event_id)
        if first is None or records.resolve_id(conn, visit.tenant, first.borrower_id) != who.one.borrower_id:
            raise NotFound
        return str(records.bodies(conn, visit.tenant, [event_id]).get(event_id, {}).get("summary") or "")

    found = tuple(one.text.strip() for one in sentences_of(await visit.parts.database.read(look)))
    if not found:
        raise NotFound
    return event_id, found


def _labelled(place: int, text: str) -> str:
    broken = screened(text, amounts_allowed=frozenset(), numbers=numbers).withheld
    verdict = f"withheld, {broken[0][1].replace('_', ' ')}" if broken else "shown"
    return f"{place + 1}: {text[:SENTENCE_CHARACTERS]} ({verdict})"


@page(router, "GET", "/ops/borrowers/{borrower_id}/judge", scope=ACT)
async def ask(visit: Visit) -> Response:
    who = await reading.seen(visit)
    event_id, found = await _sentences(visit, who)
    return visit.show(
        Ask(
            title="A sentence judged wrongly",
            borrower_id=who.one.borrower_id,
            effect="The sentence is copied, sealed, for whoever writes the rules of screening. It goes when the borrower is"
            " forgotten. Until a rule is changed it is shown or withheld as before.",
            button="Copy it",
            action=visit.request.url.path,
            ticket="",
            asked=(
                Asked("event_id", "Report", value=event_id, is_hidden=True),
                Asked("sentence", "Sentence", options=tuple(_labelled(n, text) for n, text in enumerate(found))),
                Asked("should", "It should", options=tuple(SHOULD)),
            ),
            back=f"/ops/borrowers/{segment(who.one.borrower_id)}",
            problem="",
        )
    )


@page(router, "POST", "/ops/borrowers/{borrower_id}/judge", scope=ACT)
async def copy(visit: Visit) -> Response:
    who = await reading.seen(visit)
    event_id, found = await _sentences(visit, who)
    number, should = visit.form.get("sentence", "").partition(":")[0], SHOULD.get(visit.form.get("should", ""))
    if not (number.isascii() and number.isdigit() and len(number) < 6 and 0 < int(number) <= len(found)):
        raise InvalidBody([FieldError("sentence", "not_in_enum")])
    if should is None:
        raise InvalidBody([FieldError("should", "not_in_enum")])
    await screening_examples.copy(visit.parts, visit.tenant, visit.person.who, event_id, int(number) - 1, should)
    return seen_again(f"/ops/borrowers/{segment(who.one.borrower_id)}")
