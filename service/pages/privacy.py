"""What the law gives a borrower: all that is kept of them as one document, and that it is forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from starlette.responses import Response

from service import strictjson
from service.errors import FieldError, InvalidBody, Unreadable
from service.exported import exported
from service.forget import asking
from service.pages import reading
from service.pages.actions import Ask, Asked, choices, hidden, note, reason_of
from service.pages.drawing import Page, segment
from service.pages.page import HEADERS, Visit, page, pages
from service.pages.reading import Seen
from statemachine.record import UnreadableRecord
from statemachine.stamps import UnreadableEntry

router = pages()

TERM_CHARACTERS: Final = 200
TERM, EVERYTHING = "a term", "everything"


@page(router, "POST", "/ops/borrowers/{borrower_id}/export", scope="privacy")
async def export(visit: Visit) -> Response:
    """A data-access request, as the API answers it; kept in the audit."""
    one = (await reading.seen(visit)).one
    try:
        document = await exported(visit.parts, visit.tenant, one)
    except (UnreadableRecord, UnreadableEntry) as why:
        raise Unreadable from why
    await note(visit, "exported", one.borrower_id, f"version {one.version}")
    headers = {**HEADERS, "Content-Disposition": 'attachment; filename="borrower.json"'}
    return Response(strictjson.dump(document), media_type="application/json", headers=headers)


@dataclass(frozen=True)
class Receipt(Page):
    """What was forgotten, what was kept and why."""

    template: ClassVar[str] = "receipt.html.j2"
    borrower_id: str
    receipt: dict[str, Any]


@page(router, "GET", "/ops/borrowers/{borrower_id}/forget", scope="privacy")
async def ask_forget(visit: Visit) -> Response:
    return visit.show(_ask(visit, await reading.seen(visit)))


def _ask(visit: Visit, who: Seen) -> Ask:
    fact_id = visit.form.get("fact_id", "") or visit.request.query_params.get("fact_id", "")
    fact = next((f for f in who.one.state.facts if f.fact_id == fact_id), None)
    asked = (
        (hidden("fact_id", fact.fact_id, fact.kind.replace("_", " "), fact.text),)
        if fact is not None
        else (
            Asked("what", "What", options=choices((TERM, EVERYTHING))),
            Asked(
                "term",
                "The term",
                "A name, a place, a word: wherever it stands. Blank for everything.",
                is_optional=True,
            ),
            Asked("sure", "For everything: the borrower's id once more", "So that it is meant.", is_optional=True),
        )
    )
    return Ask(
        title="Forget",
        borrower_id=who.one.borrower_id,
        effect="It goes from the record, from what agents read and from what is stored, and cannot be told again from before."
        " Payments, flags, promise terms, holds and opt-outs stay: a forget never lifts a stop. It cannot be undone.",
        button="Forget it",
        action=visit.request.url.path,
        ticket="",
        asked=(
            *asked,
            Asked("reason", "Reason", "Who asked for it. Only a keyed hash of it is kept.", is_long=True),
        ),
        back=f"/ops/borrowers/{segment(who.one.borrower_id)}",
        is_grave=True,
    )


@page(router, "POST", "/ops/borrowers/{borrower_id}/forget", scope="privacy")
async def forget(visit: Visit) -> Response:
    """As the API's call, with the same receipt and audit line."""
    who = await reading.seen(visit)
    try:
        wanted = _wanted(visit, who)
        receipt = await asking.forget(visit.parts, visit.tenant, visit.person.who, who.one.borrower_id, wanted)
    except InvalidBody as wrong:
        return visit.show(_ask(visit, who).once_more(wrong, visit.form), wrong.status)
    return visit.show(Receipt(who.one.borrower_id, receipt))


def _wanted(visit: Visit, who: Seen) -> asking.Wanted:
    form, reason = visit.form, reason_of(visit)
    if form.get("fact_id"):
        return asking.Wanted(reason, form["fact_id"], None, False)
    if form.get("what") == EVERYTHING:
        if form.get("sure") != who.one.borrower_id:
            raise InvalidBody([FieldError("sure", "not_the_borrowers_id")])
        return asking.Wanted(reason, None, None, True)
    term = form.get("term", "")
    if not term or len(term) > TERM_CHARACTERS:
        raise InvalidBody([FieldError("term", "missing" if not term else "too_long")])
    return asking.Wanted(reason, None, term, False)
