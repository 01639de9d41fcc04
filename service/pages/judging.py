"""A text that is to be told to nobody, one that may be told again, and a sentence that a rule judged wrongly.

To withhold is to do it from now on, for every reader (`service.withheld`); the sentence is copied into the screening examples
too, for whoever writes the rules. To say that a rule was wrong only copies: what it withholds is shown once it is another rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection
from starlette.responses import Response

from channels.said import numbers
from service import records, screening_examples, withheld
from service.anothers import is_anothers
from service.errors import FieldError, InvalidBody, NotFound
from service.pages import reading, session
from service.pages.actions import Ask, Asked, Moved, hidden, reason_of, ticket_of
from service.pages.drawing import segment
from service.pages.page import ACT, Visit, page, pages, seen_again
from service.pages.reading import Seen
from service.retention.reading import QUOTED
from statemachine.conclusions import WithheldText
from statemachine.screening import screened
from statemachine.screening.sentences import sentences_of
from statemachine.stamps import Stamps
from statemachine.withholding import hidden_by
from statemachine.words import folded

router = pages()

SENTENCE_CHARACTERS: Final = 160


@dataclass(frozen=True, slots=True)
class _Report:
    """A report's sentences, by the entry that told it; then those of its quotes that are none of these."""

    event_id: str
    sentences: tuple[str, ...]
    quoted: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return self.sentences + self.quoted


def _field(visit: Visit, name: str) -> str:
    return visit.form.get(name, "") or visit.request.query_params.get(name, "")


async def _report(visit: Visit, who: Seen) -> _Report:
    """The report that is meant. Raises `NotFound` for one of somebody else, or without words."""
    event_id = _field(visit, "event_id")

    def look(conn: Connection) -> Mapping[str, Any]:
        first = records.merged_entry(conn, visit.tenant, event_id)
        if first is None or records.resolve_id(conn, visit.tenant, first.borrower_id) != who.one.borrower_id:
            raise NotFound
        stamps = Stamps.model_validate_json(first.stamps)
        if is_anothers(who.one.state, stamps.through, stamps.effective_at, visit.parts.keyed_hash):
            raise NotFound
        return records.bodies(conn, visit.tenant, [event_id]).get(event_id, {})

    body = await visit.parts.database.read(look)
    told = _sentences(body.get("summary"))
    known = {folded(text) for text in told}
    quotes = [text for name in QUOTED for text in _sentences((body.get(name) or {}).get("quote"))]
    report = _Report(event_id, told, tuple(dict.fromkeys(text for text in quotes if folded(text) not in known)))
    if not report.texts:
        raise NotFound
    return report


def _sentences(text: str | None) -> tuple[str, ...]:
    return tuple(one.text.strip() for one in sentences_of(text or ""))


def _labelled(place: int, text: str, texts: frozenset[str]) -> tuple[str, str]:
    broken = screened(text, amounts_allowed=frozenset(), numbers=numbers).withheld
    if folded(text) in texts:
        verdict = "withheld by a person"
    else:
        verdict = f"withheld, {broken[0][1].replace('_', ' ')}" if broken else "shown"
    return str(place + 1), f"{place + 1}: {text[:SENTENCE_CHARACTERS]} ({verdict})"


def _chosen(visit: Visit, texts: Sequence[str]) -> int:
    """Which of these the form names, from 0."""
    number = visit.form.get("sentence", "")
    if not (number.isascii() and number.isdigit() and len(number) < 6 and 0 < int(number) <= len(texts)):
        raise InvalidBody([FieldError("sentence", "not_in_enum")])
    return int(number) - 1


def _options(who: Seen, texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    hidden = hidden_by(who.one.state.withheld_texts)
    return tuple(_labelled(n, text, hidden) for n, text in enumerate(texts))


def _home(who: Seen) -> str:
    return f"/ops/borrowers/{segment(who.one.borrower_id)}"


# -- withholding -----------------------------------------------------------------------------------------------------------


async def _withhold_asked(visit: Visit, who: Seen) -> tuple[Asked, ...]:
    """A fact by its id, or one sentence of a report or of what it quotes."""
    if fact_id := _field(visit, "fact_id"):
        fact = next((fact for fact in who.one.state.facts if fact.fact_id == fact_id), None)
        if fact is None:
            raise NotFound
        return (hidden("fact_id", fact_id, fact.kind.replace("_", " "), fact.text),)
    report = await _report(visit, who)
    return (
        hidden("event_id", report.event_id, "Report", report.event_id),
        Asked("sentence", "Sentence", options=_options(who, report.texts)),
    )


async def _ask_withhold(visit: Visit, who: Seen) -> Ask:
    asked = await _withhold_asked(visit, who)
    return Ask(
        title="Withhold a text",
        borrower_id=who.one.borrower_id,
        effect="No agent is told it from now on: not in the briefing, the step before, recall, the context of a turn or a"
        " time line, and not when a later report says it again. What was promised, paid and placed stays."
        " It can be shown again.",
        button="Withhold it",
        action=visit.request.url.path,
        ticket=session.ticket(visit.person, visit.parts.secrets, visit.parts.clock()),
        asked=(*asked, Asked("reason", "Reason", "Why it must not be told. Stands beside it.", is_long=True)),
        back=_home(who),
    )


@page(router, "GET", "/ops/borrowers/{borrower_id}/withhold", scope=ACT)
async def ask_withhold(visit: Visit) -> Response:
    return visit.show(await _ask_withhold(visit, await reading.seen(visit)))


@page(router, "POST", "/ops/borrowers/{borrower_id}/withhold", scope=ACT)
async def withhold(visit: Visit) -> Response:
    who, ticket = await reading.seen(visit), ticket_of(visit)
    state = who.one.state
    try:
        why = reason_of(visit)
        if fact_id := _field(visit, "fact_id"):
            texts = [fact.text for fact in state.facts if fact.fact_id == fact_id]
            if not texts:
                return seen_again(_home(who))  # nobody is told it any more
            text, source = texts[0], None
        else:
            report = await _report(visit, who)
            place = _chosen(visit, report.texts)
            text = report.texts[place]
            source = (report.event_id, place) if place < len(report.sentences) else None
        if folded(text) in hidden_by(state.withheld_texts):
            return seen_again(_home(who))
        asked = withheld.Judgement(ticket.event_id, who.one.borrower_id, text, why, False, state.time_zone)
        await withheld.judge(visit.parts, visit.tenant, visit.person.who, asked)
    except InvalidBody as wrong:
        return visit.show((await _ask_withhold(visit, who)).once_more(wrong, visit.form), wrong.status)
    if source is not None:
        await screening_examples.copy(visit.parts, visit.tenant, visit.person.who, *source, "fail")
    return seen_again(f"{_home(who)}#briefing")


def _withheld_text(visit: Visit, who: Seen) -> WithheldText:
    """By the id of its entry. Raises `Moved` when it is not withheld any more."""
    event_id = f"{withheld.ID_PREFIX}{_field(visit, 'name')}"
    found = next((one for one in who.one.state.withheld_texts if one.event_id == event_id), None)
    if found is None:
        raise Moved
    return found


@page(router, "GET", "/ops/borrowers/{borrower_id}/show-again", scope=ACT)
async def ask_show_again(visit: Visit) -> Response:
    return visit.show(_ask_show_again(visit, await reading.seen(visit)))


def _ask_show_again(visit: Visit, who: Seen) -> Ask:
    one = _withheld_text(visit, who)
    return Ask(
        title="Show a text again",
        borrower_id=who.one.borrower_id,
        effect="Agents may be told it again, unless a rule of screening withholds it.",
        button="Show it again",
        action=visit.request.url.path,
        ticket=session.ticket(visit.person, visit.parts.secrets, visit.parts.clock()),
        asked=(
            hidden("name", _field(visit, "name"), "Withheld", one.text),
            Asked("reason", "Reason", "Why it may be told after all.", is_long=True),
        ),
        back=_home(who),
    )


@page(router, "POST", "/ops/borrowers/{borrower_id}/show-again", scope=ACT)
async def show_again(visit: Visit) -> Response:
    who, ticket = await reading.seen(visit), ticket_of(visit)
    one, zone = _withheld_text(visit, who), who.one.state.time_zone
    try:
        asked = withheld.Judgement(
            ticket.event_id, who.one.borrower_id, one.text, reason_of(visit), True, zone, after=one.at
        )
        await withheld.judge(visit.parts, visit.tenant, visit.person.who, asked)
    except InvalidBody as wrong:
        return visit.show(_ask_show_again(visit, who).once_more(wrong, visit.form), wrong.status)
    return seen_again(f"{_home(who)}#briefing")


# -- a rule that was wrong ---------------------------------------------------------------------------------------------------


@page(router, "GET", "/ops/borrowers/{borrower_id}/judge", scope=ACT)
async def ask_judge(visit: Visit) -> Response:
    who = await reading.seen(visit)
    report = await _report(visit, who)
    if not report.sentences:
        raise NotFound  # rules judge prose, and no quotes
    return visit.show(
        Ask(
            title="A sentence that a rule withholds wrongly",
            borrower_id=who.one.borrower_id,
            effect="The sentence is copied, sealed, for whoever writes the rules of screening. It goes when the borrower is"
            " forgotten. Until the rule is changed it is withheld as before.",
            button="Copy it",
            action=visit.request.url.path,
            ticket="",
            asked=(
                hidden("event_id", report.event_id, "Report", report.event_id),
                Asked("sentence", "Sentence", options=_options(who, report.sentences)),
            ),
            back=_home(who),
        )
    )


@page(router, "POST", "/ops/borrowers/{borrower_id}/judge", scope=ACT)
async def judge(visit: Visit) -> Response:
    who = await reading.seen(visit)
    report = await _report(visit, who)
    place = _chosen(visit, report.sentences)
    await screening_examples.copy(visit.parts, visit.tenant, visit.person.who, report.event_id, place, "pass")
    return seen_again(_home(who))
