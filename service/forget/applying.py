"""What a writer's transaction does when it merges a tombstone, or evidence that an earlier one speaks of (DESIGN 11).

    journal   each entry up to the tombstone's time without the words; the hash of what was sent stays, so a repeat is one
    log       the embedded one at once, as far as it is merged; a topic keeps its copy for its retention
    places    everything else (`covered`)
    receipt   what was removed, and what was kept and why

All of it is in or out with the merge itself, so a receipt that says "forgotten" is true.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import structlog
from sqlalchemy import Connection, select, update

from service.forget import arriving, entries
from service.forget.covered import PLACES, Forgetting, copies, set_aside
from service.intake import envelope
from service.intake.table_log import NAME as TABLE_LOG
from service.records import JOURNAL
from service.secrets import Secrets
from service.tables import Forgotten, Intake, table_of
from statemachine.elements import (
    CommitmentSaid,
    ContactChoice,
    CycleBegun,
    HoldSet,
    IdentifierFact,
    MessageReported,
    PaymentMade,
)
from statemachine.record import Record, Tombstone
from statemachine.stamps import Entry, MemoryForgotten, UnreadableEntry

FORGOTTEN, INTAKE = table_of(Forgotten), table_of(Intake)
ID_PREFIX: Final = " forgotten:"
ASKED, DONE, AGAIN, NOTHING = "asked", "forgotten", "already_forgotten", "nothing_found"

log = structlog.get_logger("service.forget")


@dataclass(frozen=True, slots=True)
class Merged:
    """A tombstone that is being merged: the record before it and after."""

    tenant: str
    borrower_id: str
    body: MemoryForgotten
    before: Record
    after: Record


@dataclass(frozen=True, slots=True)
class Late:
    """Evidence that is being merged after a tombstone that speaks of it, and where it stands in the log."""

    partition: int
    offset: int
    value: bytes
    cleaned: entries.Cleaned


class Forgetter:
    """Takes words out, under the service's keys. `log`: of which log the writer's partitions are."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def hasher(self, words: str) -> str:
        return self._secrets.keyed_hash(words, "words")

    def cleaned(self, entry: Entry, body: bytes, record: Record) -> entries.Cleaned | None:
        """An entry as it is to be journalled beside this record; None when it may stay as it came."""
        return entries.cleaned(entry, body, record.tombstones, self.hasher) if record.tombstones else None

    def apply(self, connection: Connection, log_name: str, ends: dict[int, int], merged: Iterable[Merged]) -> None:
        """Each tombstone, everywhere. `ends`: by partition, up to where the embedded log is merged with this save."""
        for one in merged:
            forgetting = Forgetting(one.tenant, one.borrower_id, one.body.tombstone, self._secrets, self.hasher)
            facts, texts = self._clean_journal(connection, forgetting)
            if log_name == TABLE_LOG:
                self._clean_log(connection, forgetting, ends)
            if one.body.tombstone.prose:
                copies(connection, forgetting)
                continue
            removed = sum(place(connection, forgetting) for place in PLACES)
            _receipt(connection, one, len(facts | _facts_gone(one)), texts, removed)
            log.info("forgotten", tenant=one.tenant, facts=len(facts), texts_cleaned=texts, texts_removed=removed)

    def clean_late(self, connection: Connection, late: Iterable[Late]) -> None:
        """The embedded log's copy of evidence that came after a tombstone."""
        for one in late:
            value = envelope.rewritten(one.value, one.cleaned.body, one.cleaned.stamps)
            its = (INTAKE.c.partition == one.partition, INTAKE.c.log_offset == one.offset)
            connection.execute(update(INTAKE).where(*its).values(value=value))

    def cover(self, connection: Connection, tenant: str, borrower_ids: Iterable[str | None]) -> None:
        """What was set aside of somebody just now."""
        arriving.cover(connection, tenant, borrower_ids, self._secrets, (set_aside,))

    def _clean_journal(self, connection: Connection, forgetting: Forgetting) -> tuple[frozenset[str], int]:
        """The facts that went, and out of how many entries words were taken."""
        columns = (JOURNAL.c.event_id, JOURNAL.c.type, JOURNAL.c.body, JOURNAL.c.stamps)
        facts: frozenset[str] = frozenset()
        texts = 0
        for event_id, type_, body, stamps in connection.execute(select(*columns).where(*forgetting.of(JOURNAL))).all():
            cleaned = self._cleaned(forgetting, type_, body, stamps)
            if cleaned is None:
                continue
            its = (JOURNAL.c.tenant == forgetting.tenant, JOURNAL.c.event_id == event_id)
            connection.execute(update(JOURNAL).where(*its).values(body=cleaned.body, stamps=cleaned.stamps))
            facts |= cleaned.facts
            texts += type_ != "evidence.joined"  # a copy of entries that are counted where they stand
        return facts, texts

    def _cleaned(self, forgetting: Forgetting, type_: str, body: bytes, stamps: bytes) -> entries.Cleaned | None:
        try:
            entry = envelope.stored(type_, body, stamps)
        except UnreadableEntry:
            log.error("stored.unreadable", tenant=forgetting.tenant, type=type_)
            return None  # a rebuild names it; nobody can read it, and `rebuild` stops at it
        return entries.cleaned(entry, body, [forgetting.tombstone], self.hasher)

    def _clean_log(self, connection: Connection, forgetting: Forgetting, ends: dict[int, int]) -> None:
        for partition, end in ends.items():
            its = (*forgetting.of(INTAKE), INTAKE.c.partition == partition, INTAKE.c.log_offset < end)
            for offset, value in connection.execute(select(INTAKE.c.log_offset, INTAKE.c.value).where(*its)).all():
                try:
                    opened = envelope.from_bytes(value)
                except UnreadableEntry:
                    blank: bytes | None = b""  # it was set aside as what it is
                else:
                    told = entries.cleaned(opened.entry, opened.body, [forgetting.tombstone], self.hasher)
                    blank = envelope.rewritten(value, told.body, told.stamps) if told is not None else None
                if blank is not None:
                    row = (INTAKE.c.partition == partition, INTAKE.c.log_offset == offset)
                    connection.execute(update(INTAKE).where(*row).values(value=blank))


def _facts_gone(one: Merged) -> frozenset[str]:
    return fact_ids(one.before) - fact_ids(one.after)


def fact_ids(record: Record) -> frozenset[str]:
    """The facts that a record holds."""
    stated = (e.fact for e in record.all_of("facts"))
    inferred = (fact for e in record.all_of("conversations") for fact in e.facts)
    return frozenset(fact.fact_id for fact in (*stated, *inferred) if fact.fact_id)


def _receipt(connection: Connection, one: Merged, facts: int, texts: int, removed: int) -> None:
    """Adds to the receipt of the request that this tombstone belongs to; the borrower's own tombstone settles it."""
    receipt_id, _, part = one.body.event_id.removeprefix(ID_PREFIX).partition(":")
    its = (FORGOTTEN.c.tenant == one.tenant, FORGOTTEN.c.receipt_id == receipt_id)
    counted = {
        "facts": FORGOTTEN.c.facts + facts,
        "texts_cleaned": FORGOTTEN.c.texts_cleaned + texts,
        "texts_removed": FORGOTTEN.c.texts_removed + removed,
    }
    row = connection.execute(
        select(FORGOTTEN.c.facts, FORGOTTEN.c.texts_cleaned, FORGOTTEN.c.texts_removed).where(*its)
    ).first()
    if row is None:
        return  # of a database that was restored to before the request: what is forgotten is, and nobody waits
    found = any(row) or facts or texts or removed
    settled: dict[str, Any] = {}
    if not part:
        known = any(_covers(t, one.body.tombstone) for t in one.before.tombstones)
        settled = {"status": DONE if found else AGAIN if known else NOTHING, "kept": json.dumps(kept_of(one.after))}
    elif found:
        settled = {"status": DONE}
    connection.execute(update(FORGOTTEN).where(*its).values(**counted, **settled))


def _covers(earlier: Tombstone, later: Tombstone) -> bool:
    """Whether what the later one forgets was forgotten by name; that everything was does not say that a term was said."""
    return earlier.everything if later.everything else set(later.words) <= set(earlier.words)


_KEPT: Final = (
    ("payments", "payments", PaymentMade, "the lender's record"),
    ("cycles", "boundaries", CycleBegun, "the lender's record"),
    ("promise_terms", "commitments", CommitmentSaid, "what was agreed, without the words"),
    ("flags", "messages", MessageReported, "what was sent is not sent again"),
    ("holds", "holds", HoldSet, "a forget never lifts a stop"),
    ("opt_outs", "contact", ContactChoice, "a forget never lifts a stop"),
)


def kept_of(record: Record) -> list[dict[str, Any]]:
    """What stays of a borrower whatever is forgotten (API 10)."""
    kept = [
        {"what": what, "count": sum(isinstance(e, type_) for e in record.all_of(bucket)), "why": why}
        for what, bucket, type_, why in _KEPT
    ]
    identifiers = [e for kind in ("identifiers", "wrong_borrower") for e in record.all_of(kind)]
    revoked = sum(isinstance(e, IdentifierFact) and e.what == "revoked" for e in identifiers)
    kept.append({"what": "identity_revocations", "count": revoked, "why": "a forget never lifts a stop"})
    linked = len({e.identifier for e in identifiers if isinstance(e, IdentifierFact) and e.what == "linked"})
    everything = any(t.everything for t in record.tombstones)
    why = "as keyed hashes: by them a stop binds" if everything else "they find the borrower whom a stop binds"
    kept.append({"what": "identifiers", "count": linked, "why": why})
    return [item for item in kept if item["count"]]
