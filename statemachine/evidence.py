"""The evidence of a record that counts: one element of each id, none that came through an identifier of somebody else.

With it, what decides how it is read: the last link of each identifier, and the zone that was linked with one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from statemachine.bucket_names import WITHDRAWN_WORDS
from statemachine.elements import (
    WRONG_BORROWER,
    CommitmentSaid,
    ContactChoice,
    ConversationBegun,
    ConversationTold,
    CycleBegun,
    CycleEnded,
    Element,
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
from statemachine.record import Record
from statemachine.redirects import whose
from statemachine.withdrawing import without_words

_NEVER = datetime.max.replace(tzinfo=UTC)


class Policy(Protocol):
    """What `derive` takes from a tenant's policy (API 13)."""

    @property
    def time_zone(self) -> str: ...
    @property
    def identity_days(self) -> float: ...
    @property
    def currency(self) -> str: ...
    @property
    def prose_days(self) -> float: ...


SORTED_ONCE_FROM = 16
"""A bucket of fewer elements is sorted anew in less time than it takes to keep how it was sorted."""


class Counted:
    """The elements that count, by what they are. Of one id that came with different bytes, the smallest counts."""

    __slots__ = (
        "anothers", "begun", "breaks", "closings", "commitments", "contact", "facts", "holds", "identifiers", "judged", "loans",
        "messages", "payments", "prose", "redirects", "reversals", "started", "strangers", "told", "withdrawals",
    )  # fmt: skip

    def __init__(self, record: Record) -> None:
        by_type, loans, told_otherwise = _by_type(record)
        smallest = _smallest(by_type.values()) if told_otherwise else {}
        wrong = _wrong_until(by_type[IdentifierFact])
        moved = whose(by_type[Redirected]).after if by_type[Redirected] else None
        if smallest or wrong or moved:
            _leave_out(by_type, smallest, wrong, moved)
            loans = _named_first(by_type)
        self.anothers = wrong
        self.begun: list[CycleBegun] = by_type[CycleBegun]
        self.breaks: list[PromiseFailed] = by_type[PromiseFailed]
        self.closings: list[CycleEnded] = by_type[CycleEnded]
        self.commitments: list[CommitmentSaid] = by_type[CommitmentSaid]
        self.contact: list[ContactChoice] = by_type[ContactChoice]
        self.facts: list[FactStatedOnce] = by_type[FactStatedOnce]
        self.holds: list[HoldSet] = by_type[HoldSet]
        self.identifiers: list[IdentifierFact] = by_type[IdentifierFact]
        self.judged: list[TextJudged] = by_type[TextJudged]
        self.messages: list[MessageReported] = by_type[MessageReported]
        self.payments: list[PaymentMade] = by_type[PaymentMade]
        self.prose: list[ProseTold] = by_type[ProseTold]
        self.redirects: list[Redirected] = by_type[Redirected]
        self.reversals: list[PaymentUndone] = by_type[PaymentUndone]
        self.started: list[ConversationBegun] = by_type[ConversationBegun]
        self.strangers: list[StrangerMet] = by_type[StrangerMet]
        self.told: list[ConversationTold] = by_type[ConversationTold]
        self.withdrawals: list[PromiseWithdrawn] = by_type[PromiseWithdrawn]
        self.loans = loans
        if any(bucket.name[0] == WITHDRAWN_WORDS for bucket in record.buckets):
            self.commitments = without_words(self.commitments, by_type[WordsWithdrawn], record)


def _by_type(record: Record) -> tuple[dict[type, list[Any]], dict[str, datetime], bool]:
    """Every element by its class; when each loan was first named; whether one id came with different bytes."""
    by_type: dict[type, list[Any]] = defaultdict(list)
    loans: dict[str, datetime] = {}
    first: dict[str, Element] = {}
    told_otherwise = False
    for bucket in record.buckets:
        if len(bucket.elements) >= SORTED_ONCE_FROM:
            held = bucket.contents
            for kind, elements in held.by_type:
                by_type[kind] += elements
            for loan, at in held.loans.items():
                if loan not in loans or at < loans[loan]:
                    loans[loan] = at
            told_otherwise = told_otherwise or held.is_told_otherwise
            for id_ in first.keys() & held.first.keys():
                told_otherwise = told_otherwise or first[id_].key != held.first[id_].key
            first |= held.first
            continue
        for element in bucket.elements:
            by_type[type(element)].append(element)
            known = first.setdefault(element.event_id, element)
            if known is not element and (known.digest != element.digest or known.at != element.at):
                told_otherwise = True
            if (loan_id := element.loan_id) is not None and element.at < loans.get(loan_id, _NEVER):
                loans[loan_id] = element.at
    return by_type, loans, told_otherwise


def _leave_out(
    by_type: dict[type, list[Any]], smallest: dict[str, Key], wrong: dict[str, datetime], moved: datetime | None
) -> None:
    """Evidence that does not count: of one id the larger, somebody else's, and what went to somebody else (DESIGN 7)."""
    for kind, elements in by_type.items():
        by_type[kind] = [
            e
            for e in elements
            if smallest.get(e.event_id, e.key) == e.key
            and not _is_anothers(e, wrong)
            and (moved is None or kind is Redirected or e.at > moved)
        ]


def _named_first(by_type: dict[type, list[Any]]) -> dict[str, datetime]:
    """When each loan was first named by evidence that counts."""
    loans: dict[str, datetime] = {}
    for elements in by_type.values():
        for e in elements:
            if e.loan_id is not None and e.at < loans.get(e.loan_id, _NEVER):
                loans[e.loan_id] = e.at
    return loans


def _smallest(kinds: Iterable[list[Any]]) -> dict[str, Key]:
    """The smallest key of each id that came with more than one; the journal lets no such second one in."""
    smallest: dict[str, Key] = {}
    first: dict[str, Element] = {}
    for elements in kinds:
        for element in elements:
            known = first.setdefault(element.event_id, element)
            if known.digest != element.digest or known.at != element.at:
                smallest[element.event_id] = min(element.key, smallest.get(element.event_id, known.key))
    return smallest


def _wrong_until(identifiers: Iterable[IdentifierFact]) -> dict[str, datetime]:
    """Until when what came through an identifier was somebody else's (DESIGN 7)."""
    wrong: dict[str, datetime] = {}
    for element in identifiers:
        if element.what == "unlinked" and element.reason == WRONG_BORROWER:
            wrong[element.identifier] = max(element.at, wrong.get(element.identifier, element.at))
    return wrong


def _is_anothers(element: Element, wrong: dict[str, datetime]) -> bool:
    return element.through is not None and element.through in wrong and element.at <= wrong[element.through]


@lru_cache(maxsize=512)
def is_zone(name: str) -> bool:
    """Whether a name is that of a time zone."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True


def zone_of(links: Mapping[str, IdentifierFact], policy: Policy) -> str:
    """The zone linked last with an identifier that is still linked, else the policy's."""
    zones = [e for e in links.values() if e.what == "linked" and e.time_zone and is_zone(e.time_zone)]
    return max(zones, key=key_of).time_zone or policy.time_zone if zones else policy.time_zone


def last_links(identifiers: Iterable[IdentifierFact]) -> dict[str, IdentifierFact]:
    """The last link or unlink of each identifier."""
    last: dict[str, IdentifierFact] = {}
    for element in identifiers:
        if element.what in ("linked", "unlinked"):
            known = last.get(element.identifier)
            if known is None or element.key > known.key:
                last[element.identifier] = element
    return last
