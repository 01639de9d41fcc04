"""Intake's one act: a posted body becomes an entry, stamped once with all that later steps may not compute again.

    1 the time it took effect: when it happened, or its arrival when that is missing, absurd or ahead of us
    2 whose zone it was said in, and what its words mean (`terms`)
    3 which of its facts are grounded, and which of its prose would be withheld (a warning for the sender)
    4 a keyed hash over body and stamps, which keeps its place when words are forgotten

Who the borrower is has been found before (`receive`). This file knows no storage and reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from channels import CHANNELS, said
from channels.summarise.fed import untagged
from service.errors import FieldError, InvalidBody
from service.intake.terms import Warnings, settle
from statemachine.elements import FactSaid
from statemachine.entries import Event, Fact, FactStated, Summary
from statemachine.grounding import folded, judge_fact
from statemachine.screening import screened
from statemachine.stamps import Stamps
from statemachine.volatility import FACT_KINDS, Volatility
from statemachine.wire import CONTACT_OUTCOMES, ID_CHARACTERS, NOBODY_OUTCOMES, YEAR_OF_FILLERS

FACTS_COUNTED = 5
CLOCK_TOLERANCE = timedelta(minutes=5)
FUTURE_LIMIT = timedelta(hours=24)
WORDS_WITHDRAWN = "words_withdrawn"
"""In the `extra` of a report: the event ids of earlier reports of the conversation of which words were taken back since."""
WITHDRAWN_NAMED = 64
"""By one report."""

KeyedHash = Callable[[str, str], str]
"""`(text, purpose) -> hex`: a keyed hash of the service's own key."""


@dataclass(frozen=True, slots=True)
class Found:
    """Who it is about, as `receive` found it; identifiers are `kind:canonical value`."""

    borrower_id: str
    identifier: str | None
    through: str | None
    time_zone: str
    currency: str


def stamps_of(
    body: Summary | Event, found: Found, received_at: datetime, keyed_hash: KeyedHash, warnings: Warnings
) -> Stamps:
    """All stamps but the digest, which covers them. Raises `InvalidBody` for a time more than a day ahead."""
    if isinstance(body, Summary):
        return _of_summary(body, found, received_at, keyed_hash, warnings)
    return Stamps(
        borrower_id=found.borrower_id,
        digest="",
        effective_at=_effective(body.occurred_at, received_at, "occurred_at", warnings),
        fact=_stated(body, keyed_hash, warnings) if isinstance(body, FactStated) else None,
        identifier=found.identifier,
        received_at=received_at,
        through=found.through,
        time_zone=found.time_zone,
        warnings=tuple(warnings.found),
    )


def _of_summary(
    body: Summary, found: Found, received_at: datetime, keyed_hash: KeyedHash, warnings: Warnings
) -> Stamps:
    effective_at = _effective(body.ended_at, received_at, "ended_at", warnings)
    _check_past(body, received_at, warnings)
    heard = _without_memory(body)
    terms = settle(heard, ended_at=effective_at, zone=found.time_zone, currency=found.currency, warnings=warnings)
    facts = _facts(heard, keyed_hash, warnings)
    flow = CHANNELS[body.channel].flow
    step = flow.step_reached(body.reached) if body.reached else None
    if body.reached and step is None:
        warnings.add("unknown_state", "reached", "this channel's flow has no such state")
    if body.summary:
        _warn_of_prose(body.summary, terms.promise, warnings)
    spoke = any(t.speaker == "borrower" and t.text.strip() for t in heard.turns)
    captured = body.commitment is not None and not body.commitment.is_empty
    contact = body.outcome in CONTACT_OUTCOMES or (body.outcome is None and (captured or spoke))
    return Stamps(
        borrower_id=found.borrower_id,
        callback=terms.callback,
        claim=terms.claim,
        claims=carries_claims(body),
        contact=contact,
        digest="",
        effective_at=effective_at,
        facts=facts,
        identifier=found.identifier,
        promise=terms.promise,
        received_at=received_at,
        step=str(step) if step else None,
        through=found.through,
        time_zone=found.time_zone,
        warnings=tuple(warnings.found),
        withdrawn=withdrawn_in(body.extra or {}),
    )


def _without_memory(body: Summary) -> Summary:
    """What we handed out and comes back in a turn, whoever is said to have spoken it, is nobody's word and no evidence."""
    told = [untagged(turn.text) for turn in body.turns]
    if all(text == turn.text for text, turn in zip(told, body.turns, strict=True)):
        return body
    turns = [turn.model_copy(update={"text": text}) for text, turn in zip(told, body.turns, strict=True)]
    return body.model_copy(update={"turns": turns})


def withdrawn_in(extra: Mapping[str, Any], name: str = WORDS_WITHDRAWN) -> tuple[str, ...]:
    """The reports that the `extra` of a later one names there; what is no list of ids means nothing."""
    named = extra.get(name)
    ids = (
        [one for one in named if isinstance(one, str) and 0 < len(one) <= ID_CHARACTERS]
        if isinstance(named, list)
        else []
    )
    return tuple(dict.fromkeys(ids[:WITHDRAWN_NAMED]))


def carries_claims(body: Summary) -> bool:
    """Whether it passes on decisions, under `claims` in its `extra` (DESIGN 12)."""
    return bool(body.extra and body.extra.get("claims"))


# -- time -------------------------------------------------------------------------------------------------------


def _effective(at: datetime, received_at: datetime, field: str, warnings: Warnings) -> datetime:
    """When it took effect (DESIGN 3): a filler counts as no time, and what lies ahead counts from its arrival."""
    if at.year < YEAR_OF_FILLERS:
        return received_at
    return received_at if _is_ahead(at, received_at, field, warnings) else at


def _is_ahead(at: datetime, received_at: datetime, field: str, warnings: Warnings) -> bool:
    ahead = at - received_at
    if ahead > FUTURE_LIMIT:
        raise InvalidBody([FieldError(field, "time_in_future")])
    if ahead > CLOCK_TOLERANCE:
        warnings.add("time_clamped", field, "more than 5 minutes ahead of its arrival: the arrival counts")
        return True
    return False


def _check_past(body: Summary, received_at: datetime, warnings: Warnings) -> None:
    """The other times of what has happened; an appointment may lie ahead."""
    if body.started_at:
        _is_ahead(body.started_at, received_at, "started_at", warnings)
    for number, turn in enumerate(body.turns):
        if turn.at:
            _is_ahead(turn.at, received_at, f"turns.{number}.at", warnings)
        if turn.observed_at:
            _is_ahead(turn.observed_at, received_at, f"turns.{number}.observed_at", warnings)


# -- facts and prose --------------------------------------------------------------------------------------------


def _facts(body: Summary, keyed_hash: KeyedHash, warnings: Warnings) -> tuple[FactSaid, ...]:
    """The facts that are grounded; the first five count. Of a conversation without the borrower, none."""
    if len(body.facts) > FACTS_COUNTED:
        warnings.add("too_many_facts", "facts", f"the first {FACTS_COUNTED} count")
    if body.outcome in NOBODY_OUTCOMES:
        if body.facts:
            warnings.add("fact_refused", "facts", "the borrower was not there")
        return ()
    kept: dict[str, FactSaid] = {}
    for number, fact in enumerate(body.facts[:FACTS_COUNTED]):
        taken = _judged(fact, body, f"facts.{number}", keyed_hash, warnings)
        if taken and taken.fact_id not in kept:
            kept[taken.fact_id] = taken
    return tuple(kept.values())


def _judged(fact: Fact, body: Summary, at: str, keyed_hash: KeyedHash, warnings: Warnings) -> FactSaid | None:
    verdict = judge_fact(
        kind=fact.kind,
        text=fact.text,
        confidence=fact.confidence,
        quote=fact.quote,
        about=fact.about or "borrower",
        turns=body.turns or None,
        numbers=said.numbers,
    )
    if not verdict.taken:
        warnings.add(verdict.code or "fact_refused", at, verdict.message)
        return None
    return FactSaid(
        about=verdict.about,
        confidence=fact.confidence,
        fact_id=fact_id_of(fact.kind, verdict.about, fact.text, keyed_hash),
        grounding=verdict.grounding,
        kind=fact.kind,
        quote=fact.quote,
        text=fact.text,
    )


def _stated(body: FactStated, keyed_hash: KeyedHash, warnings: Warnings) -> FactSaid | None:
    """A stated fact needs no grounding; of an unknown or a live kind it is not kept (API 3)."""
    kind = FACT_KINDS.get(body.kind)
    if kind is None:
        warnings.add("unknown_kind", "kind", "a fact of no known kind is not kept")
        return None
    if kind.volatility is Volatility.LIVE:
        warnings.add("live_not_kept", "kind", "true only when it is read: never kept")
        return None
    fact_id = fact_id_of(body.kind, "borrower", body.text, keyed_hash)
    return FactSaid(fact_id=fact_id, grounding="unchecked", kind=body.kind, text=body.text)


def fact_id_of(kind: str, about: str, text: str, keyed_hash: KeyedHash) -> str:
    """One id for one kind, subject and folded text (DESIGN 11)."""
    return "f_" + keyed_hash(f"{kind}\x1f{about}\x1f{folded(text)}", "fact")[:16]


def _warn_of_prose(prose: str, promise: object, warnings: Warnings) -> None:
    amounts = frozenset(
        a for a in (getattr(promise, "amount", None), *getattr(promise, "amount_candidates", ())) if a is not None
    )
    withheld = screened(prose, amounts_allowed=amounts, numbers=said.numbers).withheld
    for rule in sorted({rule for _, rule in withheld}):
        warnings.add(
            "prose_withheld", "summary", f"a sentence will not be shown to agents ({rule}): send a higher revision"
        )
