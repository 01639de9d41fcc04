"""Decisions that agents drew, the versions they rest on, and what came of both."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, text
from sqlmodel import Field

from service.tables.rows import Counted, Rows


class Decision(Rows, table=True):
    """A conclusion that an agent drew at one version of a source. It goes stale and is replaced; it is never deleted."""

    __tablename__ = "decision"
    __table_args__ = (
        CheckConstraint("status IN ('active', 'stale', 'superseded')", name="decision_status"),
        Index("decision_of_borrower", "tenant", "borrower_id", "decided_at", "decision_id"),
        Index(
            "decision_active",
            "tenant",
            "source",
            "entity",
            sqlite_where=text("status = 'active'"),
            postgresql_where=text("status = 'active'"),
        ),
    )

    tenant: str = Field(primary_key=True)
    decision_id: str = Field(primary_key=True)
    borrower_id: str
    kind: str
    conclusion: str
    source: str
    entity: str
    """Blank for the source as a whole."""
    source_version: str
    decided_at: datetime
    agent: str | None = None
    execution_id: str | None = None
    replaces: str
    """A JSON list of ids, or one of them as text, as it was posted; blank without any."""
    body_hash: str
    recorded_at: datetime
    recorded_by: str
    """A key's id and name, as in all columns that say by whom."""
    status: str
    reason: str | None = None
    stale_at: datetime | None = None
    observed_version: str | None = None
    """The version that made it stale."""
    noticed_by: str | None = None
    superseded_by: str | None = None
    superseded_at: datetime | None = None


class SourceVersion(Rows, table=True):
    """The version of a source, or of one entity of it, that was observed last."""

    __tablename__ = "source_version"

    tenant: str = Field(primary_key=True)
    source: str = Field(primary_key=True)
    entity: str = Field(primary_key=True)
    """Blank for the source as a whole."""
    version: str
    observed_at: datetime
    reported_at: datetime
    reported_by: str


class Correction(Rows, table=True):
    """That a decision is not so any more, on its way to every layer that may hold it; done when all have answered."""

    __tablename__ = "correction"
    __table_args__ = (
        Index("correction_once", "tenant", "decision_id", "observed_version", unique=True),
        Index("correction_list", "tenant", "status", "created_at", "correction_id"),
        Index(
            "correction_pending",
            "try_at",
            sqlite_where=text("status = 'pending'"),
            postgresql_where=text("status = 'pending'"),
        ),
    )

    tenant: str = Field(primary_key=True)
    correction_id: str = Field(primary_key=True)
    decision_id: str
    borrower_id: str
    source: str
    entity: str
    observed_version: str
    event_id: str
    """Of its entry in the intake log."""
    status: str
    created_at: datetime
    done_at: datetime | None = None
    record_at: datetime | None = None
    index_at: datetime | None = None
    proposals_at: datetime | None = None
    open_conversations_at: datetime | None = None
    announcement_at: datetime | None = None
    source_read_at: datetime | None = None
    """When the source itself answered; where one can be asked, a correction is not done before."""
    try_at: datetime
    tries: int
    last_reason: str | None = None


class DecisionUse(Rows, table=True):
    """That somebody was about to act on a decision, and what was answered."""

    __tablename__ = "decision_use"
    __table_args__ = (Index("decision_use_of", "tenant", "decision_id", "id"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    decision_id: str
    at: datetime
    by: str
    source_version: str | None = None
    execution_id: str | None = None
    action: str | None = None
    allowed: bool


class Claim(Rows, table=True):
    """That a summary passes a decision on. One that names no decision of its borrower can not be traced."""

    __tablename__ = "claim"
    __table_args__ = (
        Index("claim_of_decision", "tenant", "decision_id"),
        Index("claim_of_borrower", "tenant", "borrower_id", "event_id"),
        Index("claim_untraceable", "tenant", "is_traceable", "at", "event_id", "number"),
    )

    tenant: str = Field(primary_key=True)
    event_id: str = Field(primary_key=True)
    """Of the summary that carries it."""
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    borrower_id: str
    channel: str
    conversation_id: str
    at: datetime
    decision_id: str | None = None
    entity: str | None = None
    source: str | None = None
    version: str | None = None
    is_traceable: bool
    corrected_at: datetime | None = None
