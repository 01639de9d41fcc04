"""What was answered, proposed and granted."""

from datetime import datetime

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field

from service.tables.rows import Rows


class Resume(Rows, table=True):
    """One answer of `resume`, and later whether the conversation started as it was told."""

    __tablename__ = "resume"
    __table_args__ = (
        Index("resume_time", "tenant", "at"),
        Index("resume_of_borrower", "tenant", "borrower_id", "at"),
        Index("resume_of_conversation", "tenant", "channel", "conversation_id"),
        Index(
            "resume_ignored",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("ignored = 1"),
            postgresql_where=text("ignored"),
        ),
        Index(
            "resume_refused",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("refusals != '[]'"),
            postgresql_where=text("refusals != '[]'"),
        ),
        Index(
            "resume_shadow",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("mode = 'shadow'"),
            postgresql_where=text("mode = 'shadow'"),
        ),
        Index(
            "resume_as_proposed",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("source = 'classifier'"),
            postgresql_where=text("source = 'classifier'"),
        ),
        Index(
            "resume_degraded",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("degraded = 1"),
            postgresql_where=text("degraded"),
        ),
        Index("resume_fallback", "tenant", "fallback", "at", "resume_id"),
    )

    tenant: str = Field(primary_key=True)
    resume_id: str = Field(primary_key=True)
    borrower_id: str | None = None
    at: datetime
    channel: str
    direction: str
    loan_id: str | None = None
    position: str | None = None
    proposed: str | None = None
    proposed_by: str | None = None
    granted: str | None = None
    refusals: str
    """A JSON list of rules."""
    fallback: str | None = None
    source: str
    record_version: int | None = None
    flow_version: str | None = None
    """Of the channel's flow by which it was judged; null in answers of before this was kept, as is the latency."""
    latency_us: int | None = Field(default=None, sa_type=BigInteger)
    """From the request to its answer, a wait that was asked for included."""
    mode: str
    degraded: bool
    entered_state: str | None = None
    agent: str | None = None
    ignored: bool
    conversation_id: str | None = None


class Proposal(Rows, table=True):
    """What a model answered when it was asked where a conversation on one channel should start, or why it did not.

    It is used only while the version of the record, that of the flow and the hash of what is asked are all current.
    """

    __tablename__ = "proposal"
    __table_args__ = (Index("proposal_expiry", "expires_at"), Index("proposal_asked", "tenant", "asked_at"))

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    loan_id: str = Field(primary_key=True)
    """Whose cycle it is of; blank without a loan."""
    record_version: int
    flow_version: str
    prompt_hash: str
    model: str
    proposed: str | None = None
    """What was read as the proposed state, state or not; null when nothing was."""
    failure: str | None = None
    """`timeout`, `unavailable` or `unreadable`; null when something was read."""
    why: str | None = None
    """Of an answer that could not be read: in which way."""
    asked_at: datetime
    latency_ms: int
    raw: bytes | None = None
    """The answer itself, sealed."""
    expires_at: datetime


class ProposalWanted(Rows, table=True):
    """That a proposal is wanted. One row however often it is wanted: what is newer takes the place of what was."""

    __tablename__ = "proposal_wanted"
    __table_args__ = (Index("proposal_wanted_newest", "wanted_at"),)

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    loan_id: str = Field(primary_key=True)
    wanted: str
    """Another with each change of the record: by it whoever asks a model sees that the question is out of date."""
    wanted_at: datetime
    try_at: datetime
    tries: int
    claimed_until: datetime | None = None
    """Until when a proposer has it in hand; another may take it up after."""


class Permit(Rows, table=True):
    """A claim to act once: one holder, for a time."""

    __tablename__ = "permit"
    __table_args__ = (Index("permit_of_attempt", "tenant", "borrower_id", "loan_id", "cycle_id", "attempt", "action"),)

    tenant: str = Field(primary_key=True)
    permit_id: str = Field(primary_key=True)
    borrower_id: str
    loan_id: str | None = None
    cycle_id: str | None = None
    attempt: int
    action: str
    channel: str
    holder: str
    granted_at: datetime
    expires_at: datetime
    settled_by: str | None = None
    """The event that settled it."""
