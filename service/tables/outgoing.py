"""What is still to go to Kafka, and who is waiting for an answer."""

from datetime import datetime

from sqlalchemy import Index
from sqlmodel import Field

from service.tables.rows import Counted, Rows


class Outbox(Rows, table=True):
    """What a topic shall have and does not have yet: the spool, what writers send each other, announcements."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index("outbox_of_owner", "owner", "id"),
        Index("outbox_of_borrower", "tenant", "borrower_id", "topic", "id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    topic: str
    """`intake` or `changes`."""
    tenant: str
    borrower_id: str
    event_id: str
    value: bytes
    owner: str
    """The process that is to send it."""
    claimed_at: datetime
    """Since when; if it is still here long after, another process may."""
    added_at: datetime


class Awaited(Rows, table=True):
    """An entry of a writer's own that is not merged yet, and what was posted that is only answered for with it."""

    __tablename__ = "awaited"
    __table_args__ = (Index("awaited_entry", "tenant", "event_id"),)

    tenant: str = Field(primary_key=True)
    cause: str = Field(primary_key=True)
    event_id: str = Field(primary_key=True)
