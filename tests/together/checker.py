"""Proves from the raw tables that nothing that was answered is lost, and nothing is there twice or made up.

It is given rows as the database's own client reads them, and knows the tables by their names. Of the service it uses nothing,
neither its reading nor its merging, so that a fault there cannot hide itself here: what evidence should be there, and where
it should stand, it derives anew from the bodies that the journal keeps. What was sent and answered it learns from a `Ledger`.
The intake log must be merged to its end.

Each fault is a sentence that begins with a word for its kind, so that a test can ask for one.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.together.stream import Body, Ledger, event_id_of

INTERNAL = {"borrower.redirected", "evidence.joined"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")

Key = tuple[str, str]
"""Tenant and borrower."""


@dataclass(frozen=True)
class Row:
    """What the checker looks at of one entry of the journal."""

    tenant: str
    event_id: str
    partition: int
    offset: int
    epoch: int
    borrower_id: str
    type: str
    effective_at: str
    body: Body
    version: int

    @property
    def key(self) -> Key:
        return self.tenant, self.borrower_id

    @property
    def is_internal(self) -> bool:
        """Sent by a writer; no client can send an id that begins with a blank."""
        return self.event_id.startswith(" ")


Rows = Callable[[str], Iterable[Mapping[str, Any]]]
"""All rows of a table, by its name."""


@dataclass(frozen=True)
class Place:
    """What stands at one offset of the intake log."""

    partition: int
    offset: int
    event_id: str


@dataclass(frozen=True)
class Announced:
    """A saved record as it was announced to others."""

    tenant: str
    borrower_id: str
    version: int
    rung: str


class Tables:
    """All rows that matter, read at once; `ends` is where each partition of the log ends."""

    def __init__(
        self, rows: Rows, log: Iterable[Place], ends: Mapping[int, int], announced: Sequence[Announced] | None = None
    ) -> None:
        self.journal = [
            Row(
                tenant=row["tenant"],
                event_id=row["event_id"],
                partition=row["partition"],
                offset=row["log_offset"],
                epoch=row["epoch"],
                borrower_id=row["borrower_id"],
                type=row["type"],
                effective_at=row["effective_at"],
                body=json.loads(row["body"]),
                version=row["record_version"],
            )
            for row in rows("journal")
        ]
        self.borrowers = {(row["tenant"], row["borrower_id"]): row for row in rows("borrower")}
        self.journeys = {(row["tenant"], row["borrower_id"], row["loan_id"]): row for row in rows("journey")}
        self.log = list(log)
        self.ends = dict(ends)
        self.fences = {row["partition"]: row for row in rows("writer_partition")}
        self.aside = list(rows("set_aside"))
        self.repeats = len(list(rows("repeat")))
        self.announced = announced
        """None where nothing is announced."""
        self.by_id: dict[str, list[Row]] = defaultdict(list)
        for row in self.journal:
            self.by_id[row.event_id].append(row)
        self.by_borrower: dict[Key, list[Row]] = defaultdict(list)
        for row in sorted(self.journal, key=lambda row: row.version):
            self.by_borrower[row.key].append(row)
        self.conflicts = {row["event_id"] for row in self.aside if row["reason"] == "id_conflict"}
        self.kept_aside = {row["event_id"] for row in self.aside if row["reason"] != "id_conflict"}


def of_sqlite(connection: sqlite3.Connection) -> Tables:
    """Those of an embedded service, whose log is a table as well."""
    connection.row_factory = sqlite3.Row

    def rows(table: str) -> list[Any]:
        return connection.execute(f"SELECT * FROM {table}").fetchall()

    log = [Place(row["partition"], row["log_offset"], row["event_id"]) for row in rows("intake")]
    return Tables(rows, log, {row["partition"]: row["next_offset"] for row in rows("intake_head")})


def of_file(database: Path) -> Tables:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return of_sqlite(connection)


def faults(tables: Tables, ledger: Ledger) -> list[str]:
    """Everything that is wrong; an empty list is the proof."""
    return [
        *ledger.refused,
        *_lost_or_doubled(tables, ledger),
        *_made_up(tables, ledger),
        *_answers(tables, ledger),
        *_positions(tables),
        *_passed_over(tables),
        *_versions(tables),
        *_evidence(tables),
        *_poison(tables, ledger),
        *_conclusions(tables),
        *_announcements(tables),
    ]


def _lost_or_doubled(tables: Tables, ledger: Ledger) -> Iterator[str]:
    for event_id in sorted({told.answer["event_id"] for told in ledger.told if told.status < 300}):
        if event_id not in tables.by_id and event_id not in tables.kept_aside:
            yield f"lost: {event_id!r} was answered 2xx and is neither in the journal nor set aside"
    for event_id, rows in tables.by_id.items():
        if len(rows) > 1:
            yield f"doubled: {event_id!r} stands in the journal {len(rows)} times"


def _made_up(tables: Tables, ledger: Ledger) -> Iterator[str]:
    """Every row was sent by a client, in these words, or follows from a row that was."""
    for row in tables.journal:
        if row.is_internal:
            yield from _internal(tables, row)
        elif row.event_id not in ledger.sent:
            yield f"made up: nobody sent {row.event_id!r}"
        elif _plain(row.body) not in [_plain(body) for body in ledger.sent[row.event_id]]:
            yield f"made up: {row.event_id!r} stands there in words that nobody sent"


def _internal(tables: Tables, row: Row) -> Iterator[str]:
    kind, _, cause = row.event_id[1:].partition(":")
    if row.type not in INTERNAL:
        yield f"made up: {row.event_id!r} is of the type {row.type!r}"
    elif kind == "redirected" and cause not in tables.by_id:
        yield f"made up: {row.event_id!r} follows from an entry that is not there"
    elif kind == "joined" and (row.tenant, cause.rpartition(":")[0]) not in tables.borrowers:
        yield f"made up: {row.event_id!r} comes from a record that is not there"


def _answers(tables: Tables, ledger: Ledger) -> Iterator[str]:
    """What was answered is what is stored."""
    for told in ledger.told:
        code = told.answer.get("code")
        if code == "ambiguous_identifier":
            continue
        event_id = told.answer["event_id"] if code is None else event_id_of(told.body)
        row = tables.by_id.get(event_id, [None])[0]  # type: ignore[list-item]
        if row is None:
            continue  # lost, which has been said, or set aside
        is_first = _plain(row.body) == _plain(told.body)
        if code == "id_conflict":
            if is_first or event_id not in tables.conflicts:
                yield f"untrue: {event_id!r} was refused as a conflict and is none, or is not listed"
        elif not is_first and not (told.status == 202 and event_id in tables.conflicts):
            yield f"untrue: {event_id!r} was answered 2xx for another body than the one that stands there"
        elif told.answer["record_version"] not in (None, row.version):
            yield f"untrue: {event_id!r} was answered with version {told.answer['record_version']}, not {row.version}"
        elif told.answer["record_version"] and told.answer["borrower_id"] != row.borrower_id:
            yield f"untrue: {event_id!r} was answered for another borrower"


def _positions(tables: Tables) -> Iterator[str]:
    """Offsets and epochs grow, and none is ahead of the fence."""
    for partition, fence in tables.fences.items():
        rows = sorted((row for row in tables.journal if row.partition == partition), key=lambda row: row.offset)
        for before, row in pairwise(rows):
            if row.offset == before.offset:
                yield f"position: two entries at offset {row.offset} of partition {partition}"
            if row.epoch < before.epoch:
                yield f"position: the epoch falls at offset {row.offset} of partition {partition}"
        if rows and (rows[-1].epoch > fence["epoch"] or rows[-1].offset >= fence["next_offset"]):
            yield f"position: the journal is ahead of the fence of partition {partition}"
    for partition, end in tables.ends.items():
        if tables.fences.get(partition, {"next_offset": 0})["next_offset"] != end:
            yield f"position: partition {partition} is not merged to its end"


def _passed_over(tables: Tables) -> Iterator[str]:
    """Nothing of the log was passed over, and what stands in the journal came from where it says."""
    there = {(place.partition, place.offset): place.event_id for place in tables.log}
    for position, event_id in there.items():
        if event_id not in tables.by_id and event_id not in tables.kept_aside:
            yield f"lost: {event_id!r} at {position} of the log was passed over"
    for row in tables.journal:
        if there.get((row.partition, row.offset)) != row.event_id:
            yield f"position: {row.event_id!r} is not what stands at its offset of the log"


def _versions(tables: Tables) -> Iterator[str]:
    """The version counts the entries of the journal, our own included, and grows along the log."""
    by_borrower = tables.by_borrower
    for key in sorted(by_borrower.keys() ^ tables.borrowers.keys()):
        yield f"version: {key} has a record or entries, and not both"
    for key in by_borrower.keys() & tables.borrowers.keys():
        rows, record = by_borrower[key], tables.borrowers[key]
        if [row.version for row in rows] != list(range(1, record["version"] + 1)):
            yield f"version: {key} is at {record['version']} with {len(rows)} entries"
        if any(a.offset >= b.offset or a.partition != b.partition for a, b in pairwise(rows)):
            yield f"version: the entries of {key} are not in the order of the log"
        if (record["partition"], record["log_offset"]) != (rows[-1].partition, rows[-1].offset):
            yield f"version: the record of {key} does not stand where its last entry does"


def _evidence(tables: Tables) -> Iterator[str]:
    """Every entry left its evidence in the record, and in that of whom a provisional record turned out to be."""
    seen: dict[Key, set[str]] = {}
    for key, record in tables.borrowers.items():
        if hashlib.sha256(record["record"]).hexdigest() != record["content_hash"]:
            yield f"evidence: the record of {key} is not what its hash says"
        document = json.loads(record["record"])
        seen[key] = {element["event_id"] for bucket in document["buckets"] for element in bucket["elements"]}
    for row in tables.journal:
        if row.is_internal:
            continue
        if row.event_id not in seen.get(row.key, ()):
            yield f"evidence: {row.event_id!r} is in the journal and not in its record"
        whose = tables.borrowers.get(row.key)
        if whose is None or whose["redirected_to"] is None:
            continue
        theirs = seen.get((row.tenant, whose["redirected_to"]), set())
        if row.effective_at > (whose["redirected_after"] or "") and row.event_id not in theirs:
            yield f"evidence: {row.event_id!r} is not in the record of whom its number belongs to"
    known = set(tables.by_id)
    for key, ids in seen.items():
        for event_id in sorted(ids - known):
            yield f"evidence: {event_id!r} is in the record of {key} and not in the journal"


# -- what is set aside -------------------------------------------------------------------------------------------------


def _poison(tables: Tables, ledger: Ledger) -> Iterator[str]:
    """What was planted is set aside, once, and nothing else is."""
    aside = Counter(row["event_id"] for row in tables.aside if row["reason"] != "id_conflict")
    for event_id in sorted(aside.keys() - ledger.planted):
        yield f"poison: {event_id!r} was set aside and is none"
    for event_id in sorted(ledger.planted - aside.keys()):
        yield f"poison: {event_id!r} was planted and is not set aside"
    for event_id in sorted(ledger.planted & tables.by_id.keys() - ledger.sent.keys()):
        yield f"poison: {event_id!r} was merged"


# -- conclusions, drawn anew -------------------------------------------------------------------------------------------

RUNGS = ("none", "proposed", "confirmed")
OUTCOMES = ("attempted", "sent", "failed", "delivered", "read")
FLAGS = {"reminder.sent": "reminded", "payment_link.shared": "payment_link_shared"}
PLAIN = {"summary", "payment.confirmed", "identity.verified", "contact.opted_out", "hold.placed", "hold.lifted",
         "fact.stated", "conversation.started", *FLAGS}  # fmt: skip
FEW = 60
"""Of so many entries nothing has been let go yet."""


def _conclusions(tables: Tables) -> Iterator[str]:
    """Rung and flags of those of whom nothing names a loan, opens a cycle or takes anything back."""
    for key, rows in tables.by_borrower.items():
        if any(row.type not in PLAIN or "loan_id" in row.body for row in rows) or len(rows) > FEW:
            continue
        stored = tables.journeys.get((*key, ""))
        expected = {"rung": _rung(rows), **{flag: _is_set(rows, type_) for type_, flag in FLAGS.items()}}
        expected["payment_confirmed"] = any(row.type == "payment.confirmed" for row in rows)
        if stored is None:
            if any(value not in ("none", False) for value in expected.values()):
                yield f"conclusion: {key} should stand at {expected} and stands nowhere"
            continue
        for name, value in expected.items():
            if stored[name] != value:
                yield f"conclusion: {name} of {key} is {stored[name]!r}, by the journal {value!r}"


def _rung(rows: Sequence[Row]) -> str:
    """Text proposes at most; speech confirms what was read back with an amount and a date (DESIGN 4)."""
    reached = "none"
    for row in rows:
        said = row.body.get("commitment") if row.type == "summary" else None
        if not said:
            continue
        whole = said.get("read_back") is True and said.get("amount") and said.get("due_date")
        confirmed = row.body["channel"] == "voice" and said.get("status") == "confirmed" and whole
        reached = max(reached, "confirmed" if confirmed else "proposed", key=RUNGS.index)
    return reached


def _is_set(rows: Sequence[Row], type_: str) -> bool:
    """Whether a message stands at sent, delivered or read; of each the highest outcome counts (DESIGN 5)."""
    highest: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.type == type_:
            message = row.body["channel"], row.body["message_id"]
            highest[message] = max(highest.get(message, "attempted"), row.body["outcome"], key=OUTCOMES.index)
    return any(outcome in ("sent", "delivered", "read") for outcome in highest.values())


MAY_LOWER = {"promise.broken", "promise.retracted", "payment.reversed", "cycle.opened", "cycle.closed",
             "identifier.unlinked", *INTERNAL}  # fmt: skip
"""The events that may lower a rung, or bring one that moves evidence between cycles (DESIGN 3, law 4)."""


def _announcements(tables: Tables) -> Iterator[str]:
    """Every record's last version was announced, none that never was, and along them a rung falls by the laws alone."""
    if tables.announced is None:
        return
    told: dict[Key, dict[int, str]] = defaultdict(dict)
    for one in tables.announced:
        before = told[one.tenant, one.borrower_id].setdefault(one.version, one.rung)
        if before != one.rung:
            yield f"announced: version {one.version} of {one.borrower_id!r} at two rungs"
    for key in sorted(tables.borrowers.keys() | told.keys()):
        versions = sorted(told[key])
        stored = tables.borrowers.get(key, {"version": 0})["version"]
        if (versions[-1] if versions else 0) != stored:
            yield f"announced: {key} at {versions[-1:]} and is at version {stored}"
        for before, after in pairwise(versions):
            if RUNGS.index(told[key][after]) >= RUNGS.index(told[key][before]):
                continue
            between = {row.type for row in tables.by_borrower[key] if before < row.version <= after}
            if not between & MAY_LOWER:
                yield f"rung: of {key} fell at version {after} through {sorted(between)}"


# -- bodies, compared --------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """A body without its nulls, and times as instants: what the journal writes otherwise than it was sent."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, str) and _TIME.match(value):
        return datetime.fromisoformat(value).astimezone(UTC)
    return value


# -- figures -----------------------------------------------------------------------------------------------------------


def figures(tables: Tables, ledger: Ledger) -> dict[str, Any]:
    """What was proved over how much."""
    cut = set(ledger.cut)
    return {
        "ids sent": len(ledger.sent),
        "answers": dict(sorted(ledger.statuses().items())),
        "broke off": len(ledger.cut),
        "of these given up": len(ledger.given_up),
        "given up and durable": len({id_ for id_ in ledger.given_up if id_ in tables.by_id}),
        "given up and not there": len({id_ for id_ in ledger.given_up if id_ not in tables.by_id}),
        "ids that broke off": len(cut),
        "journal": len(tables.journal),
        "of the writers themselves": dict(Counter(row.type for row in tables.journal if row.is_internal)),
        "records": len(tables.borrowers),
        "repeats": tables.repeats,
        "set aside": dict(Counter(row["reason"] for row in tables.aside)),
        "epochs": sorted(fence["epoch"] for fence in tables.fences.values()),
    }
