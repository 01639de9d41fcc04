"""Step 6 of a batch: the rows of its transaction behind the fence, and what became of each entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from service import records
from service.decisions import claims
from service.forget.applying import Forgetter, Late
from service.forget.applying import Merged as Forgetful
from service.forget.entries import Cleaned
from service.intake import envelope
from service.intake.log import (
    Change,
    Position,
)
from service.intake.table_log import NAME as TABLE_LOG
from service.records import Aside
from service.writer.batch import Batch, Fold, Item, Moved
from service.writer.fence import Fence, short_hash
from service.writer.outcomes import Outcome
from statemachine.entries import Summary
from statemachine.stamps import (
    INTERNAL_TYPES,
    DecisionChanged,
    Entry,
    MemoryForgotten,
)

ASIDE_ID_CHARACTERS: Final = 256  # no id of ours is longer; what is none of ours must fit into an index all the same


def write(
    connection: Connection, fence: Fence, batch: Batch, forgetter: Forgetter, cleaned: Mapping[int, Cleaned]
) -> None:
    """`cleaned`: by offset, entries of which words were forgotten before they came (`cleaned_of`)."""
    rows = [_journal_row(fence, item, cleaned.get(item.logged.offset)) for item in batch.items if item.is_merged]
    records.add_to_journal(connection, rows)
    if not records.save_each(connection, [_save_of(fence, fold) for fold in batch.folds.values()]):
        raise Moved
    repeats = []
    aside: dict[str, set[str | None]] = {}
    for item in batch.items:
        if item.opened is not None and (item.fault is not None or item.is_conflict):
            aside.setdefault(item.tenant, set()).add(item.entry.stamps.borrower_id)
        if item.fault is not None:
            item.is_listed = not records.put_aside(connection, _aside(item, item.fault))
        elif isinstance(item.first, Item) and item.first.fault is not None:
            item.is_listed = not records.put_aside(connection, _aside(item, item.first.fault))
        elif not item.is_conflict and (retried := batch.asides[item.tenant].get(item.entry.event_id)):
            for id_ in retried:
                records.settle_set_aside(connection, item.tenant, id_, "merged", attempts=1)
        elif item.first is not None and item.entry.type not in INTERNAL_TYPES and not item.is_echo:
            repeats.append(_repeat_row(item))
            if item.is_conflict:
                _put_conflict_aside(connection, item)
    records.count_repeats(connection, repeats)
    late = (item for item in batch.items if item.logged.offset in cleaned)
    if fence.log == TABLE_LOG:
        forgetter.clean_late(
            connection,
            (Late(fence.partition, i.logged.offset, i.logged.value, cleaned[i.logged.offset]) for i in late),
        )
    for tenant, borrower_ids in aside.items():
        forgetter.cover(connection, tenant, borrower_ids)
    forgetter.apply(connection, fence.log, {fence.partition: batch.end}, _forgotten(batch))


def cleaned_of(batch: Batch, forgetter: Forgetter) -> dict[int, Cleaned]:
    """By offset, what came with words that its borrower's record has a tombstone for."""
    found: dict[int, Cleaned] = {}
    for fold in batch.folds.values():
        if fold.record.tombstones:
            for item in fold.items:
                assert item.opened is not None
                told = forgetter.cleaned(item.entry, item.opened.body, fold.record)
                if told is not None:
                    found[item.logged.offset] = told
    return found


def _forgotten(batch: Batch) -> list[Forgetful]:
    found = []
    for fold in batch.folds.values():
        assert fold.before is not None
        for item in fold.items:
            if isinstance(item.entry.body, MemoryForgotten):
                found.append(Forgetful(*fold.key, item.entry.body, fold.before.record, fold.record))
    return found


def _save_of(fence: Fence, fold: Fold) -> records.Save:
    assert fold.before is not None
    assert fold.state is not None
    at = Position(fence.partition, fold.items[-1].logged.offset)
    row = records.record_row(fold.record, fold.record_bytes, fold.state, fold.version, fence.log, *at)
    return records.Save(*fold.key, fold.before.version, row, fold.before.derived, fold.derived)


def internal_ids(batch: Batch) -> dict[str, list[str]]:
    """By tenant, the entries of writers' own that the batch takes up, whatever becomes of them."""
    found: dict[str, list[str]] = {}
    for item in batch.items:
        if item.opened is not None and item.entry.type in INTERNAL_TYPES:
            found.setdefault(item.tenant, []).append(item.entry.event_id)
    return found


def claims_of(batch: Batch) -> list[claims.Carried]:
    """What the summaries pass on that the batch merges."""
    merged = (item for item in batch.items if item.is_merged and item.entry.stamps.claims)
    carried = [
        claims.carried(*item.key, item.entry.stamps.effective_at, item.entry.body)
        for item in merged
        if isinstance(item.entry.body, Summary)
    ]
    return [one for one in carried if one is not None]


def redirects_of(batch: Batch) -> list[tuple[str, str, str]]:
    """Tenant, provisional id and real one, of the redirected records that the batch changes."""
    found = []
    for (tenant, borrower_id), fold in batch.folds.items():
        if records.is_provisional(borrower_id):
            to, _ = records.redirect_of(fold.record)
            if to is not None:
                found.append((tenant, borrower_id, to))
    return found


def decisions_of(batch: Batch) -> list[tuple[str, str, DecisionChanged]]:
    """Tenant, borrower and what changed, of the decisions that the batch merges."""
    merged = (item for item in batch.items if item.is_merged)
    return [(*item.key, item.entry.body) for item in merged if isinstance(item.entry.body, DecisionChanged)]


def change_of(fold: Fold) -> Change:
    assert fold.state is not None
    cycle = fold.state.cycle_of(None)
    last = fold.items[-1].entry.event_id
    return Change(fold.tenant, fold.borrower_id, fold.version, last, cycle.stage, cycle.rung)


def _repeat_row(item: Item) -> dict[str, Any]:
    at = item.entry.stamps.received_at
    return {"tenant": item.tenant, "event_id": item.entry.event_id, "at": at, "is_conflict": item.is_conflict}


def _put_conflict_aside(connection: Connection, item: Item) -> None:
    entry = item.entry
    records.set_aside_conflict(
        connection,
        tenant=item.tenant,
        event_id=entry.event_id,
        kind=_kind(entry),
        borrower_id=entry.stamps.borrower_id,
        body_hash=item.body_hash,
        value=item.logged.value,
        at=entry.stamps.received_at,
    )


def _aside(item: Item, detail: str) -> Aside:
    """What could not even be read is kept under what its key in the log says, and as what it says that it is."""
    logged, opened = item.logged, item.opened
    return Aside(
        tenant=_storable(item.tenant),
        reason="cannot_merge" if opened else "unreadable",
        detail=detail,
        kind=_kind(opened.entry) if opened else envelope.kind_of(logged.value),
        received_at=opened.entry.stamps.received_at if opened else logged.appended_at,
        value=logged.value,
        borrower_id=_storable(opened.entry.stamps.borrower_id if opened else logged.borrower_id),
        event_id=_storable(opened.entry.event_id if opened else logged.event_id),
        body_hash=item.body_hash or short_hash(logged.value),
        attempts=max(1, item.tries),
    )


def _kind(entry: Entry) -> str:
    return "summary" if isinstance(entry.body, Summary) else "event"


def _storable(text: str) -> str:
    """What may be the very reason why it is set aside must not stop that as well."""
    whole = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    return whole[:ASIDE_ID_CHARACTERS]


def _journal_row(fence: Fence, item: Item, cleaned: Cleaned | None) -> dict[str, Any]:
    assert item.opened is not None
    entry, stamps = item.entry, item.entry.stamps
    return {
        "tenant": item.tenant,
        "event_id": entry.event_id,
        "log": fence.log,
        "partition": fence.partition,
        "log_offset": item.logged.offset,
        "epoch": fence.epoch,
        "borrower_id": stamps.borrower_id,
        "type": entry.type,
        "channel": getattr(entry.body, "channel", None),
        "conversation_id": getattr(entry.body, "conversation_id", None),
        "revision": getattr(entry.body, "revision", None),
        "loan_id": getattr(entry.body, "loan_id", None),
        "cycle_id": getattr(entry.body, "cycle_id", None),
        "effective_at": stamps.effective_at,
        "received_at": stamps.received_at,
        "body": cleaned.body if cleaned else item.opened.body,
        "stamps": cleaned.stamps if cleaned else item.opened.stamps,
        "body_hash": item.body_hash,
        "record_version": item.version,
    }


def outcome_of(item: Item) -> Outcome:
    first = item.first
    if item.opened is None:
        return Outcome("set_aside", item.logged.event_id, item.logged.borrower_id, None)
    event_id, stamps = item.entry.event_id, item.entry.stamps
    if item.fault is not None or (isinstance(first, Item) and first.fault is not None):
        return Outcome("set_aside", event_id, stamps.borrower_id, None)
    if first is None:
        return Outcome("merged", event_id, stamps.borrower_id, item.version, stamps.warnings)
    if isinstance(first, Item):
        of, version, warnings = first.key[1], first.version, first.entry.stamps.warnings
    else:
        of, version, warnings = first.borrower_id, first.record_version, first.warnings
    if item.is_conflict:
        return Outcome("conflict", event_id, of, None)
    return Outcome("duplicate", event_id, of, version, warnings)
