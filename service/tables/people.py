"""Who borrows: records, what is derived from each, and by what they are found."""

from datetime import date, datetime

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field

from service.tables.rows import Rows


class Borrower(Rows, table=True):
    """One record: its canonical bytes, and beside them its version and its place in the log."""

    __tablename__ = "borrower"
    __table_args__ = (
        Index(
            "borrower_redirected",
            "tenant",
            "redirected_to",
            sqlite_where=text("redirected_to IS NOT NULL"),
            postgresql_where=text("redirected_to IS NOT NULL"),
        ),
    )

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    version: int
    record: bytes
    content_hash: str
    provisional: bool
    redirected_to: str | None = None
    """Of a provisional record: whose it turned out to be."""
    redirected_after: datetime | None = None
    """Of a provisional record: what took effect up to here went to somebody else, or was nobody's."""
    time_zone: str
    log: str
    partition: int
    log_offset: int = Field(sa_type=BigInteger)
    """Of the entry merged last."""


class Gist(Rows, table=True):
    """What `resume` tells of one record version, as bytes. A copy, which may be missing or out of date."""

    __tablename__ = "gist"

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    version: int
    gist: bytes


class Journey(Rows, table=True):
    """Where a borrower stands with one loan, as the lists show it: the loan's cycle last opened, else the implicit one."""

    __tablename__ = "journey"
    __table_args__ = (
        # Each holds the order of its list behind what it filters by, so that a page reads no more rows than it shows.
        Index("journey_stage", "tenant", "stage", "borrower_id", "loan_id"),
        Index("journey_rung", "tenant", "rung", "borrower_id", "loan_id"),
        Index("journey_channel", "tenant", "last_channel", "borrower_id", "loan_id"),
        Index("journey_due", "tenant", "promise_due_date", "borrower_id", "loan_id"),
        Index("journey_overdue", "tenant", "overdue_at", "borrower_id", "loan_id"),
        Index(
            "journey_held",
            "tenant",
            "borrower_id",
            "loan_id",
            sqlite_where=text("hold_kinds != ''"),
            postgresql_where=text("hold_kinds != ''"),
        ),
    )

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    loan_id: str = Field(primary_key=True)
    """Blank for evidence that names no loan."""
    cycle_id: str | None = None
    attempt: int
    stage: str
    rung: str
    amount: str | None = None
    currency: str
    promise_due_date: date | None = None
    overdue_at: datetime | None = None
    reminded: bool
    payment_link_shared: bool
    payment_confirmed: bool
    outstanding: str | None = None
    holds: str
    """A JSON list of objects `kind reason loan_id placed_at until`, those that end included until they are saved again."""
    hold_kinds: str
    """`|kind|kind|`, blank without a hold."""
    hold_until: datetime | None = None
    """When the last hold ends; null when one of them does not end by itself."""
    last_contact_at: datetime | None = None
    last_channel: str | None = None
    """On which that was."""


class AskedCallback(Rows, table=True):
    """An appointment that a borrower asked for, without the words of it."""

    __tablename__ = "callback"
    __table_args__ = (Index("callback_ends", "tenant", "ends_at", "borrower_id"),)

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    at: datetime | None = None
    """Null where the words name no time."""
    ends_at: datetime
    """When it is past, and on no list any more."""
    channel: str
    conversation_id: str


class IdentifierLink(Rows, table=True):
    """An identifier that is linked to a borrower now."""

    __tablename__ = "identifier"
    # It holds all columns: SQLite would read all of a tenant's rows rather than go from an index to the table.
    __table_args__ = (Index("identifier_of_borrower", "tenant", "borrower_id", "kind", "value"),)

    tenant: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    value: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)


class Loan(Rows, table=True):
    """Whose loan it is, by `cycle.opened`."""

    __tablename__ = "loan"
    __table_args__ = (Index("loan_of_borrower", "tenant", "borrower_id", "loan_id"),)

    tenant: str = Field(primary_key=True)
    loan_id: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)


class Started(Rows, table=True):
    """A conversation that began and of which no summary has come."""

    __tablename__ = "started"
    __table_args__ = (Index("started_since", "tenant", "started_at"),)

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    conversation_id: str = Field(primary_key=True)
    started_at: datetime
