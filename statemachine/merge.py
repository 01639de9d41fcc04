"""The merge: old record + entry = new record; pure, the same in any order and any repetition (DESIGN 3).

    lift(entry)        the elements that an entry contributes, each with the bucket it belongs to
    merge(record, e)   == join(record, a record of lift(e) alone)
    join(a, b)         the union, newest elements kept, tombstones applied

An entry's elements depend on that entry alone. Several elements of one entry share its key: prose stands apart from the
conversation, and the commitment apart from both, so that chatter never pushes out a promise.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from statemachine import entries, stamps
from statemachine.elements import (
    WRONG_BORROWER,
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
    Key,
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
    key_of,
)
from statemachine.entries import Summary
from statemachine.forgetting import cleaned, cleaned_bucket
from statemachine.record import (
    KEPT_ALWAYS,
    LIMITS,
    Bucket,
    Hasher,
    Limits,
    Name,
    Record,
    Tombstone,
)
from statemachine.stamps import BorrowerRedirected, Entry, EvidenceJoined, MemoryForgotten, TextWithheld
from statemachine.wire import NOBODY_OUTCOMES, STRANGER_OUTCOMES
from statemachine.withdrawing import WITHDRAWN_WORDS

ALL_IDENTIFIERS = "*"


def merge(record: Record, entry: Entry, hasher: Hasher, limits: Limits = LIMITS) -> Record:
    """The record with what this entry contributes. Raises nothing for any entry that `stamps` can express."""
    if isinstance(entry.body, EvidenceJoined):
        return join(record, entry.body.record, hasher, limits)
    if isinstance(entry.body, MemoryForgotten):
        tombstones = _united(record.tombstones, (entry.body.tombstone,))
        united = _united_buckets((), _recleaned(record.buckets, tombstones, hasher), limits)
        return _of(record.borrower_id, _bounded(united, limits), tombstones)
    added = lift(entry)
    if not added:
        return record
    if record.tombstones:
        added = [cleaned(e, record.tombstones, hasher) for e in added]
    buckets = dict(record.by_name)
    for element in added:
        name = bucket_of(element)
        buckets[name] = _with(buckets.get(name) or Bucket(name=name), (element,), None, limits)
    return _of(record.borrower_id, _bounded(buckets.values(), limits), record.tombstones)


def join(a: Record, b: Record, hasher: Hasher, limits: Limits = LIMITS) -> Record:
    """Both records as one, under the name of the first. Commutative but for that name, associative, idempotent."""
    tombstones = _united(a.tombstones, b.tombstones)
    mine, theirs = a.buckets, b.buckets
    if tombstones:  # first: a bucket may have another name then
        mine, theirs = (_recleaned(buckets, tombstones, hasher) for buckets in (mine, theirs))
    return _of(a.borrower_id, _bounded(_united_buckets(mine, theirs, limits), limits), tombstones)


def lift_record(entry: Entry, hasher: Hasher, limits: Limits = LIMITS) -> Record:
    """A record of this entry alone."""
    return merge(Record.new(entry.stamps.borrower_id), entry, hasher, limits)


# -- what an entry contributes -------------------------------------------------------------------------------


def lift(entry: Entry) -> list[Any]:
    """The elements of one entry; none for the messages of an open conversation, which is told when it is summarised."""
    body, stamp = entry.body, entry.stamps
    if isinstance(body, Summary):
        return _lift_summary(body, stamp)
    common: dict[str, Any] = {"at": stamp.effective_at, "digest": stamp.digest, "event_id": body.event_id}
    if isinstance(body, BorrowerRedirected):
        return [Redirected(to=body.to, ended=body.ended, wrong=body.wrong, **common)]
    if isinstance(body, TextWithheld):
        judged: dict[str, Any] = {"by": body.by, "sentence": body.sentence, "shown": body.shown, "why": body.why}
        return [TextJudged(**judged, **common)]
    if not isinstance(body, entries.Event):
        return []
    common |= {"loan_id": body.loan_id, "cycle_id": body.cycle_id, "through": stamp.through}
    match body:
        case entries.ReminderSent() | entries.PaymentLinkShared():
            action: Any = "reminder" if isinstance(body, entries.ReminderSent) else "payment_link"
            return [
                MessageReported(
                    action=action,
                    channel=body.channel,
                    message_id=body.message_id,
                    outcome=body.outcome,
                    **common,
                )
            ]
        case entries.PaymentConfirmed():
            return [
                PaymentMade(
                    payment_ref=body.payment_ref,
                    amount=body.amount,
                    currency=body.currency,
                    settles=body.settles,
                    **common,
                )
            ]
        case entries.PaymentReversed():
            return [
                PaymentUndone(
                    payment_ref=body.payment_ref,
                    amount=body.amount,
                    currency=body.currency,
                    reason=body.reason,
                    **common,
                )
            ]
        case entries.PromiseBroken():
            return [PromiseFailed(due_date=body.due_date, **common)]
        case entries.PromiseRetracted():
            return [
                PromiseWithdrawn(
                    channel=body.channel,
                    conversation_id=body.conversation_id,
                    reason=_unless_forgotten(stamp, "reason", body.reason),
                    **common,
                )
            ]
        case entries.CycleOpened():
            return [
                CycleBegun(
                    amount_due=body.amount_due,
                    currency=body.currency,
                    due_date=body.due_date,
                    **common,
                )
            ]
        case entries.CycleClosed():
            return [CycleEnded(reason=body.reason, **common)]
        case entries.HoldPlaced():
            reason = _unless_forgotten(stamp, "reason", body.reason)
            return [HoldSet(hold=body.kind, placed=True, reason=reason, until=body.until, **common)]
        case entries.HoldLifted():
            reason = _unless_forgotten(stamp, "reason", body.reason)
            return [HoldSet(hold=body.kind, placed=False, reason=reason, **common)]
        case entries.ContactOptedOut() | entries.ContactOptedIn():
            out = isinstance(body, entries.ContactOptedOut)
            return [ContactChoice(channel=body.channel, purpose=body.purpose, out=out, **common)]
        case entries.IdentityVerified():
            method = _unless_forgotten(stamp, "method", body.method)
            return [_identifier(stamp, "verified", common, channel=body.channel, method=method)]
        case entries.IdentityRevoked():
            reason = _unless_forgotten(stamp, "reason", body.reason)
            return [_identifier(stamp, "revoked", common, reason=reason)]
        case entries.IdentifierLinked():
            return [_identifier(stamp, "linked", common, time_zone=body.time_zone)]
        case entries.IdentifierUnlinked():
            return [_identifier(stamp, "unlinked", common, reason=_unless_forgotten(stamp, "reason", body.reason))]
        case entries.ConversationStarted():
            return [
                ConversationBegun(
                    channel=body.channel,
                    conversation_id=body.conversation_id,
                    direction=body.direction,
                    resume_id=body.resume_id,
                    entered_state=body.entered_state,
                    **common,
                )
            ]
        case entries.FactStated():
            return [FactStatedOnce(fact=stamp.fact, **common)] if stamp.fact else []
        case _:
            return []


def _unless_forgotten(stamp: stamps.Stamps, name: str, text: str) -> str | None:
    """A text that a body cannot be without; where it was forgotten, something else stands in its place."""
    return None if name in stamp.forgotten else text


def _identifier(stamp: stamps.Stamps, what: Any, common: dict[str, Any], **own: Any) -> IdentifierFact:
    """Links and unlinks do not come through the identifier they speak of: they decide about it."""
    identifier = stamp.identifier or ALL_IDENTIFIERS
    return IdentifierFact(identifier=identifier, what=what, **own, **common)


def _lift_summary(body: Summary, stamp: stamps.Stamps) -> list[Any]:
    conversation: dict[str, Any] = {
        "at": stamp.effective_at,
        "channel": body.channel,
        "conversation_id": body.conversation_id,
        "cycle_id": body.cycle_id,
        "digest": stamp.digest,
        "event_id": body.id,
        "loan_id": body.loan_id,
        "revision": body.revision,
        "through": stamp.through,
    }
    elements: list[Any] = [
        ConversationTold(
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
            **conversation,
        )
    ]
    promise = stamp.promise if body.outcome not in NOBODY_OUTCOMES else None
    if promise:
        elements.append(
            CommitmentSaid(
                amount=promise.amount,
                amount_candidates=promise.amount_candidates,
                currency=promise.currency,
                due_date=promise.due_date,
                due_date_candidates=promise.due_date_candidates,
                grounding=promise.grounding,
                quote=promise.quote,
                status=promise.status,
                terms_said=promise.said,
                **conversation,
            )
        )
    if body.summary or "summary" in stamp.forgotten:  # what was forgotten keeps its place
        amounts = tuple(a for a in ((promise.amount, *promise.amount_candidates) if promise else ()) if a is not None)
        prose = ProseTold(text=body.summary or "", amounts=amounts, claims=stamp.claims, **conversation)
        elements.append(prose)
    if body.outcome in STRANGER_OUTCOMES:
        elements.append(StrangerMet(**conversation))
    if stamp.withdrawn:  # through no identifier: that a number was somebody else's brings no words back
        place = {name: conversation[name] for name in ("at", "channel", "conversation_id", "digest", "event_id")}
        elements.append(WordsWithdrawn(reports=stamp.withdrawn, **place))
    return elements


def bucket_of(element: Any) -> Name:
    """The bucket an element belongs to (DESIGN 3, "Bounded"); its kind comes first."""
    loan = element.loan_id or ""
    match element:
        case CommitmentSaid():
            return ("commitments", loan, element.status or "")
        case ConversationTold():
            return ("conversations", "contact" if element.contact else "attempt")
        case ProseTold():
            return ("prose",)
        case MessageReported():
            return ("messages", element.action, loan, element.outcome)
        case PaymentMade() | PaymentUndone():
            return ("payments", loan)
        case CycleBegun() | CycleEnded() | PromiseFailed():
            return ("boundaries", loan)
        case PromiseWithdrawn():
            return ("retractions", loan)
        case HoldSet():
            return ("holds", element.hold, loan)
        case ContactChoice():
            return ("contact", element.channel, element.purpose)
        case IdentifierFact() if element.what == "unlinked" and element.reason == WRONG_BORROWER:
            return ("wrong_borrower", element.identifier)
        case IdentifierFact():
            return ("identifiers", element.identifier)
        case StrangerMet():
            return ("identifiers", element.through or ALL_IDENTIFIERS)
        case FactStatedOnce():
            return ("facts", element.fact.kind)
        case ConversationBegun():
            return ("started", element.channel)
        case Redirected():
            return ("redirect",)
        case TextJudged():
            return ("withheld",)
        case WordsWithdrawn():
            return (WITHDRAWN_WORDS, element.channel)
    raise TypeError(f"{type(element).__name__} has no bucket")


def _united_buckets(mine: Iterable[Bucket], theirs: Iterable[Bucket], limits: Limits) -> Iterable[Bucket]:
    """Of one name one bucket. `mine` is bounded, but two of its buckets may have come to have one name."""
    buckets: dict[Name, Bucket] = {}
    for bucket in mine:
        known = buckets.get(bucket.name)
        buckets[bucket.name] = _with(known, bucket.elements, bucket.let_go, limits) if known is not None else bucket
    for bucket in theirs:
        known = buckets.get(bucket.name) or Bucket(name=bucket.name)
        buckets[bucket.name] = _with(known, bucket.elements, bucket.let_go, limits)
    return buckets.values()


# -- keeping the newest --------------------------------------------------------------------------------------


def _with(bucket: Bucket, added: Sequence[AnyElement], let_go: Key | None, limits: Limits) -> Bucket:
    """The bucket with these elements too, its newest kept; elements of one key are one."""
    if len(added) == 1 and let_go is None:
        return _with_one(bucket, added[0], limits)
    known = {e.key: e for e in bucket.elements}
    united = sorted({**{e.key: e for e in added}, **known}.values(), key=key_of)
    limit = limits.of(bucket.name[0])
    gone = united[:-limit] if limit is not None and len(united) > limit else []
    kept = tuple(united[len(gone) :])
    newest_gone = _latest(bucket.let_go, let_go, gone[-1].key if gone else None)
    if len(kept) == len(bucket.elements) and newest_gone == bucket.let_go and all(e.key in known for e in kept):
        return bucket
    bucket.give_pieces()
    return Bucket(bucket.name, kept, newest_gone)


def _with_one(bucket: Bucket, added: AnyElement, limits: Limits) -> Bucket:
    """As `_with`, of one element, as nearly always: it is put in its place."""
    elements, key = bucket.elements, added.key
    place = bisect_left(elements, key, key=key_of)
    if place < len(elements) and elements[place].key == key:
        return bucket
    bucket.give_pieces()
    united = (*elements[:place], added, *elements[place:])
    limit = limits.of(bucket.name[0])
    too_many = len(united) - limit if limit is not None else 0
    if too_many <= 0:
        return Bucket(bucket.name, united, bucket.let_go)
    newest_gone = _latest(bucket.let_go, united[too_many - 1].key)
    if place == 0 and too_many == 1 and newest_gone == bucket.let_go:
        return bucket
    return Bucket(bucket.name, united[too_many:], newest_gone)


def _bounded(buckets: Iterable[Bucket], limits: Limits) -> Iterable[Bucket]:
    """The newest of all buckets together. Buckets that never let go are not counted."""
    kept = list(buckets)
    counted = sum(len(b.elements) for b in kept if b.name[0] not in KEPT_ALWAYS)
    if counted <= limits.total:
        return kept
    keys = sorted((e.key, b.name) for b in kept if b.name[0] not in KEPT_ALWAYS for e in b.elements)
    last_gone = keys[counted - limits.total - 1]
    return [b if b.name[0] in KEPT_ALWAYS else _without_older(b, last_gone) for b in kept]


def _without_older(bucket: Bucket, last_gone: tuple[Key, Name]) -> Bucket:
    kept = tuple(e for e in bucket.elements if (e.key, bucket.name) > last_gone)
    if len(kept) == len(bucket.elements):
        return bucket
    gone = bucket.elements[len(bucket.elements) - len(kept) - 1].key
    return Bucket(bucket.name, kept, _latest(bucket.let_go, gone))


def _latest(*keys: Key | None) -> Key | None:
    return max((k for k in keys if k is not None), default=None)


def _of(borrower_id: str, buckets: Iterable[Bucket], tombstones: tuple[Tombstone, ...]) -> Record:
    return Record(borrower_id, tuple(sorted(buckets, key=attrgetter("name"))), tombstones=tombstones)


def _united(a: Iterable[Tombstone], b: Iterable[Tombstone]) -> tuple[Tombstone, ...]:
    """Of those that end the retention of prose the latest, which speaks of all that the others do."""
    every = {t.key: t for t in (*a, *b)}
    latest = max((key for key, t in every.items() if t.prose), default=None)
    return tuple(t for key, t in sorted(every.items()) if not t.prose or key == latest)


def _recleaned(buckets: Iterable[Bucket], tombstones: tuple[Tombstone, ...], hasher: Hasher) -> tuple[Bucket, ...]:
    return tuple(cleaned_bucket(bucket, tombstones, hasher) for bucket in buckets)
