"""Chats that go on."""

from datetime import datetime

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field

from service.tables.rows import Counted, Rows


class Chat(Rows, table=True):
    """A conversation by text that messages make up, until it is summarised and after: a late message revises it."""

    __tablename__ = "chat"
    __table_args__ = (
        Index("chat_of_borrower", "tenant", "borrower_id", "last_at"),
        Index("chat_by_time", "tenant", "last_at"),
        Index(
            "chat_to_do",
            "try_at",
            sqlite_where=text("try_at IS NOT NULL"),
            postgresql_where=text("try_at IS NOT NULL"),
        ),
        Index("chat_named", "tenant", "channel", "conversation_id", "borrower_id", unique=True),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    channel: str
    conversation_id: str
    borrower_id: str
    """As it was resolved last, which may be provisional."""
    named: str
    """Who it is, as the messages name them: a JSON object of `borrower_id identifier loan_id cycle_id`."""
    opened_at: datetime | None = None
    last_at: datetime
    """Of the newest message; before there is one, of what was told of the chat."""
    last_speaker: str | None = None
    ended_at: datetime | None = None
    """When `conversation.ended` says that it did."""
    changes: int
    """How many lines have been told; grows with each that was not told before."""
    summarised: int
    """How many of them the newest summary is of."""
    revision: int
    """Of the newest summary; 0 before the first."""
    due_at: datetime | None = None
    """Since when a summary is due; null when none is."""
    try_at: datetime | None = None
    """When it is tried next."""
    tries: int
    last_reason: str | None = None
    prepared: bytes | None = None
    """A summary that was decided upon and is being posted, sealed: after a crash it is posted as it is."""
    prepared_changes: int | None = None
    fence: int
    """Raised by whoever takes the chat to summarise it; what was done under an older one does not count."""
    claimed_by: str | None = None
    claimed_until: datetime | None = None


class ChatLine(Rows, table=True):
    """One line of a chat, or a change to one, sealed. `line` is a keyed hash of what it says and is about."""

    __tablename__ = "chat_line"

    tenant: str = Field(primary_key=True)
    chat: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    line: str = Field(primary_key=True)
    about: str
    """A keyed hash of the message that it tells or changes."""
    at: datetime
    body: bytes
