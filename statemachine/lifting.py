"""What one entry contributes to a record: its elements (DESIGN 3). An entry's elements depend on that entry alone.

    a summary    the conversation; apart from it its commitment, its prose, that a stranger was met, and which words of
                 earlier reports were taken back, so that chatter never pushes out a promise
    an event     one element, by the table at the foot; none for the messages and the end of an open conversation, which is
                 told when it is summarised

All elements of one entry share its key. What a record holds already, and how much of it is kept, is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from statemachine import entries
from statemachine.bucket_names import ALL_IDENTIFIERS
from statemachine.elements import (
    AnyElement,
    CommitmentSaid,
    ContactChoice,
    ConversationBegun,
    ConversationTold,
    CycleBegun,
    CycleEnded,
    FactStatedOnce,
    HoldSet,
    IdentifierFact,
    MessageReported,
    PaymentMade,
    PaymentUndone,
    PromiseFailed,
    PromiseWithdrawn,
    ProseTold,
    Redirected,
    StrangerMet,
    TextJudged,
    WordsWithdrawn,
)
from statemachine.entries import Event, Summary
from statemachine.stamps import BorrowerRedirected, Entry, PromiseTerms, Stamps, TextWithheld
from statemachine.wire import NOBODY_OUTCOMES, STRANGER_OUTCOMES

Place: TypeAlias = dict[str, Any]
"""Fields that several elements share: the key, the loan and cycle that were named, the identifier it came through."""


def lift(entry: Entry) -> list[AnyElement]:
    """The elements of one entry. `DecisionChanged` is no evidence and has none; `EvidenceJoined` and `MemoryForgotten` have
    none either: `merge` applies them to a whole record."""
    body, stamp = entry.body, entry.stamps
    if isinstance(body, Summary):
        return _of_summary(body, stamp)
    key: Place = {"at": stamp.effective_at, "digest": stamp.digest, "event_id": body.event_id}
    match body:
        case Event():
            if type(body) in NO_EVIDENCE:
                return []
            element = OF_EVENT[type(body)](body, stamp, {**key, **_belongs(body, stamp)})
            return [] if element is None else [element]
        case BorrowerRedirected():
            return [Redirected(to=body.to, ended=body.ended, wrong=body.wrong, **key)]
        case TextWithheld():
            return [TextJudged(by=body.by, sentence=body.sentence, shown=body.shown, why=body.why, **key)]
    return []


def _belongs(body: Summary | Event, stamp: Stamps) -> Place:
    return {"cycle_id": body.cycle_id, "loan_id": body.loan_id, "through": stamp.through}


# -- a summary -----------------------------------------------------------------------------------------------


def _of_summary(body: Summary, stamp: Stamps) -> list[AnyElement]:
    key: Place = {"at": stamp.effective_at, "digest": stamp.digest, "event_id": body.id}
    named: Place = {"channel": body.channel, "conversation_id": body.conversation_id}
    revision: Place = {**key, **named, **_belongs(body, stamp), "revision": body.revision}
    promise = stamp.promise if body.outcome not in NOBODY_OUTCOMES else None
    elements: list[AnyElement] = [_conversation(body, stamp, revision)]
    if promise:
        elements.append(_commitment(promise, revision))
    if body.summary or "summary" in stamp.forgotten:  # what was forgotten keeps its place
        amounts = tuple(a for a in (promise.amount, *promise.amount_candidates) if a is not None) if promise else ()
        elements.append(ProseTold(text=body.summary or "", amounts=amounts, claims=stamp.claims, **revision))
    if body.outcome in STRANGER_OUTCOMES:
        elements.append(StrangerMet(**revision))
    if stamp.withdrawn:  # through no identifier: that a number was somebody else's brings no words back
        elements.append(WordsWithdrawn(reports=stamp.withdrawn, **key, **named))
    return elements


def _conversation(body: Summary, stamp: Stamps, revision: Place) -> ConversationTold:
    return ConversationTold(
        agent=body.agent,
        callback=stamp.callback,
        claim=stamp.claim,
        contact=stamp.contact,
        direction=body.direction,
        disposition=body.disposition,
        entered_state=body.entered_state,
        facts=stamp.facts,
        language=body.language,
        outcome=body.outcome,
        reached=body.reached,
        resume_id=body.resume_id,
        step=stamp.step,
        third_party=body.third_party,
        **revision,
    )


def _commitment(promise: PromiseTerms, revision: Place) -> CommitmentSaid:
    return CommitmentSaid(
        amount=promise.amount,
        amount_candidates=promise.amount_candidates,
        currency=promise.currency,
        due_date=promise.due_date,
        due_date_candidates=promise.due_date_candidates,
        grounding=promise.grounding,
        quote=promise.quote,
        status=promise.status,
        terms_said=promise.said,
        **revision,
    )


# -- messages of ours, money, promises, cycles ---------------------------------------------------------------


def _reminder(body: entries.ReminderSent, _: Stamps, place: Place) -> MessageReported:
    return _message("reminder", body, place)


def _payment_link(body: entries.PaymentLinkShared, _: Stamps, place: Place) -> MessageReported:
    return _message("payment_link", body, place)


def _message(action: Literal["reminder", "payment_link"], body: entries.Message, place: Place) -> MessageReported:
    message: Place = {"channel": body.channel, "message_id": body.message_id, "outcome": body.outcome}
    return MessageReported(action=action, **message, **place)


def _payment(body: entries.PaymentConfirmed, _: Stamps, place: Place) -> PaymentMade:
    money: Place = {"amount": body.amount, "currency": body.currency}
    return PaymentMade(payment_ref=body.payment_ref, settles=body.settles, **money, **place)


def _reversal(body: entries.PaymentReversed, _: Stamps, place: Place) -> PaymentUndone:
    money: Place = {"amount": body.amount, "currency": body.currency}
    return PaymentUndone(payment_ref=body.payment_ref, reason=body.reason, **money, **place)


def _broken(body: entries.PromiseBroken, _: Stamps, place: Place) -> PromiseFailed:
    return PromiseFailed(due_date=body.due_date, **place)


def _retracted(body: entries.PromiseRetracted, stamp: Stamps, place: Place) -> PromiseWithdrawn:
    conversation: Place = {"channel": body.channel, "conversation_id": body.conversation_id}
    return PromiseWithdrawn(reason=_unless_forgotten(stamp, "reason", body.reason), **conversation, **place)


def _opened(body: entries.CycleOpened, _: Stamps, place: Place) -> CycleBegun:
    return CycleBegun(amount_due=body.amount_due, currency=body.currency, due_date=body.due_date, **place)


def _closed(body: entries.CycleClosed, _: Stamps, place: Place) -> CycleEnded:
    return CycleEnded(reason=body.reason, **place)


# -- stops, identifiers, conversations, facts ----------------------------------------------------------------


def _placed(body: entries.HoldPlaced, stamp: Stamps, place: Place) -> HoldSet:
    reason = _unless_forgotten(stamp, "reason", body.reason)
    return HoldSet(hold=body.kind, placed=True, reason=reason, until=body.until, **place)


def _lifted(body: entries.HoldLifted, stamp: Stamps, place: Place) -> HoldSet:
    return HoldSet(hold=body.kind, placed=False, reason=_unless_forgotten(stamp, "reason", body.reason), **place)


def _opted_out(body: entries.ContactOptedOut, _: Stamps, place: Place) -> ContactChoice:
    return ContactChoice(channel=body.channel, purpose=body.purpose, out=True, **place)


def _opted_in(body: entries.ContactOptedIn, _: Stamps, place: Place) -> ContactChoice:
    return ContactChoice(channel=body.channel, purpose=body.purpose, out=False, **place)


def _verified(body: entries.IdentityVerified, stamp: Stamps, place: Place) -> IdentifierFact:
    method = _unless_forgotten(stamp, "method", body.method)
    return IdentifierFact(what="verified", identifier=_spoken_of(stamp), channel=body.channel, method=method, **place)


def _revoked(body: entries.IdentityRevoked, stamp: Stamps, place: Place) -> IdentifierFact:
    reason = _unless_forgotten(stamp, "reason", body.reason)
    return IdentifierFact(what="revoked", identifier=_spoken_of(stamp), reason=reason, **place)


def _linked(body: entries.IdentifierLinked, stamp: Stamps, place: Place) -> IdentifierFact:
    return IdentifierFact(what="linked", identifier=_spoken_of(stamp), time_zone=body.time_zone, **place)


def _unlinked(body: entries.IdentifierUnlinked, stamp: Stamps, place: Place) -> IdentifierFact:
    reason = _unless_forgotten(stamp, "reason", body.reason)
    return IdentifierFact(what="unlinked", identifier=_spoken_of(stamp), reason=reason, **place)


def _started(body: entries.ConversationStarted, _: Stamps, place: Place) -> ConversationBegun:
    return ConversationBegun(
        channel=body.channel,
        conversation_id=body.conversation_id,
        direction=body.direction,
        entered_state=body.entered_state,
        resume_id=body.resume_id,
        **place,
    )


def _fact(_: entries.FactStated, stamp: Stamps, place: Place) -> FactStatedOnce | None:
    """As intake stamped it; none where it was not taken."""
    return FactStatedOnce(fact=stamp.fact, **place) if stamp.fact else None


def _spoken_of(stamp: Stamps) -> str:
    """The identifier about which an event decides; the one it came through is told apart from it."""
    return stamp.identifier or ALL_IDENTIFIERS


def _unless_forgotten(stamp: Stamps, name: str, text: str) -> str | None:
    """A text that a body cannot be without; where it was forgotten, something else stands in its place."""
    return None if name in stamp.forgotten else text


# -- the table -----------------------------------------------------------------------------------------------

OF_EVENT: Final[Mapping[type[Event], Callable[[Any, Stamps, Place], AnyElement | None]]] = MappingProxyType(
    {
        entries.ReminderSent: _reminder,
        entries.PaymentLinkShared: _payment_link,
        entries.PaymentConfirmed: _payment,
        entries.PaymentReversed: _reversal,
        entries.PromiseBroken: _broken,
        entries.PromiseRetracted: _retracted,
        entries.CycleOpened: _opened,
        entries.CycleClosed: _closed,
        entries.HoldPlaced: _placed,
        entries.HoldLifted: _lifted,
        entries.ContactOptedOut: _opted_out,
        entries.ContactOptedIn: _opted_in,
        entries.IdentityVerified: _verified,
        entries.IdentityRevoked: _revoked,
        entries.IdentifierLinked: _linked,
        entries.IdentifierUnlinked: _unlinked,
        entries.ConversationStarted: _started,
        entries.FactStated: _fact,
    }
)
NO_EVIDENCE: Final = frozenset({entries.ConversationMessage, entries.ConversationEnded})
"""What they say is in the summary of their conversation."""


def _check_exhaustive() -> None:
    if missing := set(entries.EVENT_TYPES.values()) ^ (OF_EVENT.keys() | NO_EVIDENCE):
        raise RuntimeError(f"what these events contribute is not said: {sorted(c.__name__ for c in missing)}")


_check_exhaustive()
