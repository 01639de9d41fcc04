"""What vendors post, and what became of it."""

from datetime import datetime

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field

from service.tables.rows import Counted, Rows


class Hook(Rows, table=True):
    """An address that one vendor of one tenant posts to."""

    __tablename__ = "hook"
    __table_args__ = (Index("hook_of_tenant", "tenant", "created_at"),)

    hook_id: str = Field(primary_key=True)
    tenant: str
    channel: str
    vendor: str
    secret: bytes
    """Sealed; of a vendor that signs nothing it may be empty."""
    verify_token: bytes | None = None
    """Sealed; of Meta's handshake."""
    public_url: str | None = None
    time_zone: str | None = None
    """In which naive times are read, where the operator said so."""
    created_at: datetime
    revoked_at: datetime | None = None


class HookRefused(Rows, table=True):
    """How often a post to a hook was refused for its signature, by slots of time and reasons."""

    __tablename__ = "hook_refused"

    tenant: str = Field(primary_key=True)
    hook_id: str = Field(primary_key=True)
    slot_at: datetime = Field(primary_key=True)
    """When the slot begins."""
    why: str = Field(primary_key=True)
    count: int = Field(sa_type=BigInteger)
    last_at: datetime


class HookBody(Rows, table=True):
    """A body as it came, sealed, until its retention ends; answered for once it is here, read after."""

    __tablename__ = "hook_body"
    __table_args__ = (
        Index("hook_body_waiting", "id", sqlite_where=text("NOT is_done"), postgresql_where=text("NOT is_done")),
        Index("hook_body_time", "tenant", "received_at"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    hook_id: str
    channel: str
    vendor: str
    received_at: datetime
    content_type: str | None = None
    time_zone: str | None = None
    body: bytes
    is_done: bool
    claimed_until: datetime | None = None
    """Until when the process that reads it has for that; another may take it up after."""
    tries: int


class HookItem(Rows, table=True):
    """One thing that a body told, by the vendor's key: a second one with it is a repeat, whatever its bytes."""

    __tablename__ = "hook_item"
    __table_args__ = (
        Index(
            "hook_item_waits",
            "tenant",
            "waits_for",
            sqlite_where=text("waits_for IS NOT NULL"),
            postgresql_where=text("waits_for IS NOT NULL"),
        ),
        Index("hook_item_of_body", "tenant", "body_id"),
        Index("hook_item_of_borrower", "tenant", "borrower_id"),
    )

    tenant: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    body_id: int = Field(sa_type=BigInteger)
    """The body that told it first."""
    state: str
    """`taken`; `done`; `aside`: set aside, and another body may still bring it; `waiting` for an event of ours."""
    waits_for: str | None = None
    """The id of the message whose event of ours would tell what it was."""
    borrower_id: str | None = None
    at: datetime


class OurMessage(Rows, table=True):
    """What a message of ours was, by the event that says so: a provider's status names the message alone."""

    __tablename__ = "our_message"

    tenant: str = Field(primary_key=True)
    message_id: str = Field(primary_key=True)
    type: str
    """`reminder.sent` or `payment_link.shared`."""
    borrower_id: str
    loan_id: str | None = None
    cycle_id: str | None = None
