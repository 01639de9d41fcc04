"""Who may call and who did what; forgetting, and what ends by its retention."""

from datetime import datetime

from sqlalchemy import Index
from sqlmodel import Field

from service.tables.rows import Counted, Rows


class ApiKey(Rows, table=True):
    """A key of a tenant. The key itself is shown once; what is kept is its hash."""

    __tablename__ = "api_key"
    __table_args__ = (Index("api_key_of_tenant", "tenant", "created_at"),)

    key_id: str = Field(primary_key=True)
    tenant: str
    key_hash: str
    scopes: str
    """Separated by blanks."""
    name: str | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class Audit(Rows, table=True):
    """Who did what, without a word of what was said."""

    __tablename__ = "audit"
    __table_args__ = (
        Index("audit_of_tenant", "tenant", "id"),
        Index("audit_of_borrower", "tenant", "borrower_id", "id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    at: datetime
    who: str
    """A key's id and name."""
    action: str
    borrower_id: str | None = None
    detail: str


class Forgotten(Rows, table=True):
    """One forget request and its receipt, without a word of what it forgot."""

    __tablename__ = "forgotten"
    __table_args__ = (Index("forgotten_of_borrower", "tenant", "borrower_id", "target"),)

    tenant: str = Field(primary_key=True)
    receipt_id: str = Field(primary_key=True)
    borrower_id: str
    target: str
    """What was to be forgotten: `everything`, or a keyed hash of the fact or term."""
    event_id: str
    at: datetime
    by: str
    """A key's id and name."""
    reason: str
    """A keyed hash: a person's reason may hold what was to be forgotten."""
    status: str
    """`asked` until it is merged; then `forgotten`, `already_forgotten` or `nothing_found`."""
    facts: int
    texts_cleaned: int
    texts_removed: int
    kept: str
    """A JSON list of objects `what count why`."""
    log_clear_after: datetime


class RetentionRun(Rows, table=True):
    """One run of the retention job, and what it ended: its receipt."""

    __tablename__ = "retention_run"
    __table_args__ = (Index("retention_run_time", "at"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    at: datetime
    by: str
    ended: str
    """A JSON list of objects `tenant kind before count`."""


class ScreeningExample(Rows, table=True):
    """A real sentence that screening judged wrongly, sealed, copied by a person for whoever writes the rules."""

    __tablename__ = "screening_example"
    __table_args__ = (Index("screening_example_of_borrower", "tenant", "borrower_id"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    borrower_id: str
    """From whose conversation it is: it goes when that borrower is forgotten."""
    event_id: str
    should: str
    """`pass` or `fail`."""
    rule: str | None = None
    """The rule that withheld it when it was copied; null when it passed."""
    at: datetime
    by: str
    sentence: bytes
