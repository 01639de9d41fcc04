"""What came in: the journal, what was set aside, the log of its own and who writes it."""

from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, Index, text
from sqlmodel import Field

from service.tables.rows import Counted, Rows

SUMMARY: Final = "summary"
BROKEN: Final = "promise.broken"


class Journal(Rows, table=True):
    """Every merged entry once: the source of rebuilds, of the time line and of the first answer to a repeat."""

    __tablename__ = "journal"
    __table_args__ = (
        Index("journal_position", "log", "partition", "log_offset", unique=True),
        Index("journal_timeline", "tenant", "borrower_id", "effective_at", "event_id"),
        Index("journal_arrival", "tenant", "received_at"),
        Index(
            "journal_conversation",
            "tenant",
            "borrower_id",
            "channel",
            "conversation_id",
            sqlite_where=text(f"type = '{SUMMARY}'"),
            postgresql_where=text(f"type = '{SUMMARY}'"),
        ),
        Index(
            "journal_broken",
            "tenant",
            "received_at",
            "event_id",
            sqlite_where=text(f"type = '{BROKEN}'"),
            postgresql_where=text(f"type = '{BROKEN}'"),
        ),
    )

    tenant: str = Field(primary_key=True)
    event_id: str = Field(primary_key=True)
    log: str
    partition: int
    log_offset: int = Field(sa_type=BigInteger)
    epoch: int
    borrower_id: str
    type: str
    channel: str | None = None
    conversation_id: str | None = None
    revision: int | None = None
    loan_id: str | None = None
    cycle_id: str | None = None
    effective_at: datetime
    received_at: datetime
    body: bytes
    stamps: bytes
    body_hash: str
    record_version: int


class Repeat(Rows, table=True):
    """One delivery of an id that was there already; a conflict when its body was another."""

    __tablename__ = "repeat"
    __table_args__ = (Index("repeat_arrival", "tenant", "at"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    event_id: str
    at: datetime
    is_conflict: bool


class SetAside(Rows, table=True):
    """Kept, not merged, listed with its reason."""

    __tablename__ = "set_aside"
    __table_args__ = (
        CheckConstraint("status IN ('open', 'merged', 'refused')", name="set_aside_status"),
        Index("set_aside_list", "tenant", "status", "id"),
        Index(
            "set_aside_open_event",
            "tenant",
            "event_id",
            "reason",
            "body_hash",
            unique=True,
            sqlite_where=text("status = 'open'"),
            postgresql_where=text("status = 'open'"),
        ),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    reason: str
    detail: str
    kind: str
    vendor: str | None = None
    borrower_id: str | None = None
    event_id: str | None = None
    body_hash: str | None = None
    received_at: datetime
    attempts: int
    status: str
    value: bytes
    """What came: an entry of the log, or a hook's body."""


class Intake(Rows, table=True):
    """The embedded log. Offsets grow within a partition and may have gaps."""

    __tablename__ = "intake"

    partition: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    log_offset: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    tenant: str
    borrower_id: str
    event_id: str
    value: bytes
    appended_at: datetime


class IntakeHead(Rows, table=True):
    """The end of each partition of the embedded log, and which log it is."""

    __tablename__ = "intake_head"

    partition: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    next_offset: int = Field(sa_type=BigInteger)
    identity: str


class WriterPartition(Rows, table=True):
    """The fence: who may write what comes from a partition, and up to where it is merged."""

    __tablename__ = "writer_partition"

    log: str = Field(primary_key=True)
    partition: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    epoch: int
    next_offset: int = Field(sa_type=BigInteger)
    owner: str
    log_identity: str
    partition_count: int
    last_entry: str | None = None
    """A hash of the entry before `next_offset`, by which a log that is not the one we left is known."""
    taken_at: datetime
