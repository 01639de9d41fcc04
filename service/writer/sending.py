"""Step 5 of a batch: what its records have to tell others: redirects, what was forgotten, and the evidence of redirected
ones (DESIGN 7, 11)."""

from __future__ import annotations

from collections.abc import Sequence

from service import naming, records
from service.intake import envelope
from service.intake.envelope import internal_id
from service.intake.log import (
    Pending,
)
from service.secrets import Secrets
from service.writer.batch import Batch, Fold, Item
from statemachine.elements import WRONG_BORROWER
from statemachine.entries import CycleOpened, IdentifierLinked, IdentifierUnlinked
from statemachine.record import Bucket, Record
from statemachine.stamps import (
    BorrowerRedirected,
    Entry,
    EvidenceJoined,
    MemoryForgotten,
    Stamps,
)


def send(batch: Batch, fold: Fold, secrets: Secrets) -> None:
    """5: of a real borrower, where provisional records belong now; of a redirected one, its evidence."""
    if records.is_provisional(fold.borrower_id):
        _send_evidence(batch, fold, secrets)
    else:
        _send_redirects(batch, fold, secrets)


def _send_redirects(batch: Batch, fold: Fold, secrets: Secrets) -> None:
    """What is linked now and was not, and the other way round; what only was said again changes nothing."""
    assert fold.before is not None
    before, after = fold.before.derived, fold.derived
    links: dict[tuple[str, str], Item] = {}
    loans: dict[str, Item] = {}
    for item in sorted(fold.items, key=lambda i: (i.entry.stamps.effective_at, i.entry.event_id)):
        body = item.entry.body
        if isinstance(body, IdentifierLinked | IdentifierUnlinked):
            links[identifier_of(item.entry)] = item
        elif isinstance(body, CycleOpened):
            loans[body.loan_id] = item
    for identifier, cause in links.items():
        names = {identifier, (identifier[0], naming.hidden_value(*identifier, secrets))}
        is_linked = not names.isdisjoint(after.identifiers)
        wrong = getattr(cause.entry.body, "reason", None) == WRONG_BORROWER
        if is_linked == (not names.isdisjoint(before.identifiers)) and not wrong:
            continue
        _send_redirect(batch, fold, identifier, cause, secrets, is_linked=is_linked, wrong=wrong and not is_linked)
    for loan, cause in loans.items():
        if loan in after.loans and batch.linked[fold.tenant, "loan", loan] != {fold.borrower_id}:
            _send_redirect(batch, fold, ("loan", loan), cause, secrets, is_linked=True)


def _send_redirect(
    batch: Batch,
    fold: Fold,
    identifier: tuple[str, str],
    cause: Item,
    secrets: Secrets,
    *,
    is_linked: bool,
    wrong: bool = False,
) -> None:
    event_id = internal_id("redirected", cause.entry.event_id)
    to, ended = (fold.borrower_id, None) if is_linked else (None, fold.borrower_id)
    body = BorrowerRedirected(event_id=event_id, to=to, ended=ended, wrong=wrong, type="borrower.redirected")
    provisional_id = envelope.provisional_id(secrets, *identifier)
    _send_entry(batch, fold, provisional_id, body, [cause], secrets)
    if is_linked:
        _send_tombstones(batch, fold, provisional_id, cause, secrets)


def _send_tombstones(batch: Batch, fold: Fold, provisional_id: str, cause: Item, secrets: Secrets) -> None:
    """What was forgotten of this borrower is forgotten in the records that turn out to be theirs as well (DESIGN 11)."""
    for tombstone in fold.record.tombstones:
        body = MemoryForgotten(
            event_id=internal_id("forgotten-too", f"{tombstone.event_id.strip()}:{provisional_id}"),
            tombstone=tombstone,
            type="memory.forgotten",
        )
        _send_entry(batch, fold, provisional_id, body, [cause], secrets)


def _send_evidence(batch: Batch, fold: Fold, secrets: Secrets) -> None:
    """The evidence of a redirected record, whole, whenever it has grown: joining it again adds nothing."""
    assert fold.before is not None
    to, evidence = _evidence(fold.record)
    if to is None or evidence.is_empty:
        return
    raw = evidence.to_bytes()
    to_before, evidence_before = _evidence(fold.before.record)
    if to_before == to and evidence_before.to_bytes() == raw:
        return
    mark = secrets.keyed_hash(f"{to}\n{raw.decode()}", "joined")[: envelope.DIGEST_DIGITS]
    event_id = internal_id("joined", f"{fold.borrower_id}:{mark}")
    body = EvidenceJoined(event_id=event_id, record=evidence, type="evidence.joined")
    _send_entry(batch, fold, to, body, fold.items, secrets)


def _send_entry(
    batch: Batch,
    fold: Fold,
    borrower_id: str,
    body: BorrowerRedirected | EvidenceJoined | MemoryForgotten,
    causes: Sequence[Item],
    secrets: Secrets,
) -> None:
    """Stamped as its cause was, so that a replay stamps it alike; what it follows from is answered for with it."""
    cause = causes[-1].entry.stamps
    stamps = Stamps(
        borrower_id=borrower_id,
        digest="",
        effective_at=cause.effective_at,
        received_at=cause.received_at,
        time_zone=cause.time_zone,
    )
    digest = envelope.entry_digest(body, stamps, secrets.keyed_hash)
    value = envelope.to_bytes(fold.tenant, Entry(body, stamps.changed(digest=digest)))
    for item in causes:
        item.sent = len(batch.outgoing)
    told = tuple(item.entry.event_id for item in causes)
    batch.outgoing.append(Pending(fold.tenant, borrower_id, body.event_id, value, told))


def _evidence(record: Record) -> tuple[str | None, Record]:
    """Whose a provisional record is, and what of it is theirs."""
    to, after = records.redirect_of(record)
    buckets = []
    for bucket in record.buckets:
        if bucket.name[0] == "redirect":
            continue
        if after is None:
            buckets.append(bucket)
            continue
        elements = tuple(e for e in bucket.elements if e.at > after)
        let_go = bucket.let_go if bucket.let_go and bucket.let_go[0] > after else None
        if elements or let_go:
            buckets.append(Bucket(name=bucket.name, elements=elements, let_go=let_go))
    return to, record.changed(buckets=tuple(buckets))


def identifier_of(entry: Entry) -> tuple[str, str]:
    kind, _, value = (entry.stamps.identifier or "").partition(":")
    return kind, value
