"""What belongs to the borrower and to no cycle: conversations, identity, holds, stops, facts, the appointment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from statemachine.bucket_names import ALL_IDENTIFIERS
from statemachine.conclusions import (
    NO_IDENTITY,
    Callback,
    Conversation,
    Hold,
    Identity,
    KnownFact,
    KnownIdentifier,
    OptOut,
    StartedConversation,
)
from statemachine.elements import (
    CommitmentSaid,
    ContactChoice,
    ConversationBegun,
    ConversationTold,
    FactSaid,
    FactStatedOnce,
    HoldSet,
    IdentifierFact,
    Key,
    ProseTold,
    StrangerMet,
    key_of,
)
from statemachine.evidence import Counted, Policy
from statemachine.record import PROSE_CONVERSATIONS
from statemachine.volatility import FACT_KINDS, volatility_of
from statemachine.wire import CHANNELS, NOBODY_OUTCOMES, STRANGER_OUTCOMES
from statemachine.withholding import unquoted, without
from statemachine.words import folded

CALLBACK_WITHOUT_TIME_DAYS = 7
"""An appointment whose time nobody could read is shown this long."""


def conversations_of(told: Iterable[ConversationTold]) -> list[ConversationTold]:
    """Each conversation by its highest revision, in the order in which they ended."""
    highest: dict[tuple[str, str], ConversationTold] = {}
    for element in told:
        key = (element.channel, element.conversation_id)
        if key not in highest or _revision(element) > _revision(highest[key]):
            highest[key] = element
    return sorted(highest.values(), key=key_of)


def _revision(element: ConversationTold) -> tuple[Any, ...]:
    return (element.revision, *element.key)


def conversations_told(
    conversations: list[ConversationTold],
    prose: Iterable[ProseTold],
    now: datetime,
    prose_days: float,
    hidden: frozenset[str],
    commitments: Iterable[CommitmentSaid],
) -> tuple[tuple[Conversation, ...], list[datetime]]:
    """Conversations with their prose: of the newest few, not past its retention, and without what a person withheld. Amounts
    that any revision of one promised are no balance in it."""
    life = timedelta(days=prose_days)
    words = {e.event_id: e for e in prose if e.text and now < e.at + life}
    in_words = [c for c in reversed(conversations) if c.event_id in words][:PROSE_CONVERSATIONS]
    shown = {c.event_id for c in in_words}
    promised: dict[tuple[str, str], tuple[Decimal, ...]] = {}
    for said in commitments:
        amounts = said.amount_candidates if said.amount is None else (said.amount,)
        if amounts:
            chat = (said.channel, said.conversation_id)
            promised[chat] = tuple(dict.fromkeys((*promised.get(chat, ()), *amounts)))
    told = [
        _told(
            c,
            words.get(c.event_id) if c.event_id in shown else None,
            hidden,
            promised.get((c.channel, c.conversation_id), ()),
        )
        for c in conversations
    ]
    return tuple(told), [c.at + life for c in in_words]


def _told(
    c: ConversationTold, prose: ProseTold | None, hidden: frozenset[str], promised: tuple[Decimal, ...]
) -> Conversation:
    """A conversation is concluded once for the prose it is told with, and kept with what it rests on: most of a record's
    are the same after a merge as before it."""
    kept: tuple[ProseTold | None, tuple[Decimal, ...], Conversation] | None = c.__dict__.get(_KEPT)
    if kept is not None and kept[0] is prose and kept[1] == promised and not hidden:
        return kept[2]
    text, held_back = without(prose.text, hidden) if prose else (None, 0)
    claims = prose is not None and prose.claims
    conversation = Conversation(
        channel=c.channel,
        conversation_id=c.conversation_id,
        event_id=c.event_id,
        revision=c.revision,
        at=c.at,
        outcome=c.outcome,
        contact=c.contact,
        disposition=c.disposition,
        reached=c.reached,
        step=c.step,
        third_party=c.third_party,
        direction=c.direction,
        language=c.language,
        agent=c.agent,
        resume_id=c.resume_id,
        entered_state=c.entered_state,
        prose=None if claims else text,
        claiming=text if claims else None,
        amounts=tuple(dict.fromkeys((*prose.amounts, *promised))) if prose else (),
        loan_id=c.loan_id,
        cycle_id=c.cycle_id,
        held_back=held_back,
    )
    if not hidden:
        c.__dict__[_KEPT] = (prose, promised, conversation)
    return conversation


_KEPT = "told"


def started_of(
    started: Iterable[ConversationBegun], told: Iterable[ConversationTold]
) -> tuple[StartedConversation, ...]:
    reported = {(c.channel, c.conversation_id) for c in told}
    first: dict[tuple[str, str], ConversationBegun] = {}
    for element in sorted(started, key=key_of):
        first.setdefault((element.channel, element.conversation_id), element)
    return tuple(
        StartedConversation(e.channel, e.conversation_id, e.event_id, e.at, e.direction, e.loan_id)
        for key, e in first.items()
        if key not in reported
    )


def identities_of(
    counted: Counted, conversations: Iterable[ConversationTold], now: datetime, policy: Policy
) -> tuple[dict[str, Identity], list[datetime]]:
    """Where identity holds, and when that lapses (DESIGN 5)."""
    verified: dict[str, IdentifierFact] = {}
    ended: dict[str, Key] = {}
    everywhere: Key | None = None
    for element in counted.identifiers:
        if element.what == "verified":
            known = verified.get(element.identifier)
            if known is None or element.key > known.key:
                verified[element.identifier] = element
        elif element.what == "revoked" and element.identifier == ALL_IDENTIFIERS:
            everywhere = max(element.key, everywhere or element.key)
        elif element.what in ("revoked", "unlinked"):
            ended[element.identifier] = max(element.key, ended.get(element.identifier, element.key))
    for identifier, key in _strangers(counted.strangers, conversations):
        if identifier is None:
            everywhere = max(key, everywhere or key)
        else:
            ended[identifier] = max(key, ended.get(identifier, key))
    holding: dict[str, Identity] = {}
    expiries = []
    for identifier, element in verified.items():
        expires = element.at + timedelta(days=policy.identity_days)
        stops = [key for key in (ended.get(identifier), everywhere) if key is not None]
        if now < expires and all(element.key > key for key in stops):
            holding[identifier] = Identity(True, element.at, expires, element.method, element.channel)
            expiries.append(expires)
    return holding, expiries


def _strangers(
    strangers: Sequence[StrangerMet], conversations: Iterable[ConversationTold]
) -> Iterable[tuple[str | None, Key]]:
    """Where somebody else was met; a higher revision that says it was the borrower takes that back."""
    highest = {(c.channel, c.conversation_id): c for c in conversations} if strangers else {}
    for met in strangers:
        top = highest.get((met.channel, met.conversation_id))
        if top is None or top.outcome in STRANGER_OUTCOMES or top.revision < met.revision:
            yield met.through, met.key


def linked_of(links: Mapping[str, IdentifierFact], holding: dict[str, Identity]) -> tuple[KnownIdentifier, ...]:
    linked = sorted(name for name, e in links.items() if e.what == "linked")
    known = []
    for name in linked:
        kind, value = name.split(":", 1)
        identity = holding.get(name, NO_IDENTITY)
        known.append(KnownIdentifier(kind, value, identity.verified_at, identity.expires_at))
    return tuple(known)


def holds_of(elements: Iterable[HoldSet], now: datetime) -> tuple[tuple[Hold, ...], list[datetime]]:
    """The holds in force: placed after the last lifting of their kind and loan, and not past their own end."""
    lifted: dict[tuple[str, str | None], datetime] = {}
    elements = list(elements)
    for e in elements:
        if not e.placed:
            lifted[e.hold, e.loan_id] = max(e.at, lifted.get((e.hold, e.loan_id), e.at))
    force: dict[tuple[str, str | None], HoldSet] = {}
    ends = []
    for e in sorted(elements, key=key_of):
        place = (e.hold, e.loan_id)
        if not e.placed or (place in lifted and e.at < lifted[place]) or (e.until is not None and e.until <= now):
            continue
        force[place] = e
        if e.until is not None:
            ends.append(e.until)
    holds = (Hold(e.hold, e.reason, e.loan_id, e.at, e.until) for e in force.values())
    return tuple(sorted(holds, key=lambda h: (h.placed_at, h.kind, h.loan_id or ""))), ends


def opt_outs_of(elements: Iterable[ContactChoice]) -> tuple[OptOut, ...]:
    """The stops in force; an opt-in lifts its channel out of `all`, and at the same time the stop counts."""
    last: dict[tuple[str, str], ContactChoice] = {}
    for e in elements:
        place = (e.channel, e.purpose)
        if place not in last or (e.at, e.out, e.key) > (last[place].at, last[place].out, last[place].key):
            last[place] = e
    stops: list[OptOut] = []
    for purpose in sorted({p for _, p in last}):
        everywhere = last.get(("all", purpose))
        stop_all = everywhere if everywhere and everywhere.out else None
        own = {c: last.get((c, purpose)) for c in CHANNELS}
        lifted = {c for c, e in own.items() if stop_all and e and not e.out and e.at > stop_all.at}
        if stop_all and not lifted:
            stops.append(OptOut("all", purpose, stop_all.at))
        for channel in CHANNELS:
            mine = own[channel]
            if mine and mine.out:
                stops.append(OptOut(channel, purpose, mine.at))
            elif stop_all and lifted and channel not in lifted:
                stops.append(OptOut(channel, purpose, stop_all.at))
    return tuple(sorted(stops, key=lambda o: (o.at, o.channel, o.purpose)))


def facts_of(
    stated: Iterable[FactStatedOnce], conversations: Iterable[ConversationTold], now: datetime, hidden: frozenset[str]
) -> tuple[tuple[KnownFact, ...], list[datetime]]:
    """One fact per kind, subject and folded text, newest first; stated before inferred (DESIGN 11). None that a person
    withheld."""
    found: dict[str, KnownFact] = {}
    readings: list[tuple[datetime, str, str | None, FactSaid]] = [(e.at, "stated", None, e.fact) for e in stated]
    readings += [(c.at, "inferred", c.conversation_id, f) for c in conversations for f in c.facts]
    ends = []
    for at, source, conversation_id, said in sorted(readings, key=lambda r: (r[0], r[1] == "stated", r[3].fact_id)):
        fact = _known(said, at, source, conversation_id, now, hidden)
        if fact is None or (hidden and folded(fact.text) in hidden):
            continue
        known = found.get(said.fact_id)
        if known is None or fact.source == "stated" or known.source == "inferred":
            found[said.fact_id] = fact
    for fact in found.values():
        if fact.expires_at:
            ends.append(fact.expires_at)
    return tuple(sorted(found.values(), key=lambda f: (f.observed_at, f.fact_id), reverse=True)), ends


def _known(
    said: FactSaid, at: datetime, source: Any, conversation_id: str | None, now: datetime, hidden: frozenset[str]
) -> KnownFact | None:
    kind = FACT_KINDS.get(said.kind)
    if not said.text or kind is None:
        return None
    expires = at + timedelta(days=kind.lifetime_days) if kind.lifetime_days is not None else None
    if expires is not None and expires <= now:
        return None
    return KnownFact(
        fact_id=said.fact_id,
        kind=said.kind,
        text=said.text,
        about=said.about,
        source=source,
        volatility=str(volatility_of(said.kind)),
        observed_at=at,
        expires_at=expires,
        conversation_id=conversation_id,
        quote=unquoted(said.quote, hidden),
        grounding=said.grounding,
    )


def callback_of(conversations: list[ConversationTold], now: datetime) -> tuple[Callback | None, list[datetime]]:
    """The appointment asked for last, until it is past."""
    for c in reversed(conversations):
        if c.callback is None or c.outcome in NOBODY_OUTCOMES:
            continue
        ends = c.callback.at or c.at + timedelta(days=CALLBACK_WITHOUT_TIME_DAYS)
        if ends <= now:
            return None, []
        said = c.callback
        return Callback(said.at, said.said, said.quote, c.channel, c.conversation_id), [ends]
    return None, []
