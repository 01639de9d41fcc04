"""By which words a borrower's notes are found: keyed hashes, never a word."""

from sqlalchemy import Index
from sqlmodel import Field

from service.tables.rows import Rows


class RecallWord(Rows, table=True):
    """A word that one borrower's notes have, as its keyed hash: to find in whose notes to look."""

    __tablename__ = "recall_word"
    __table_args__ = (Index("recall_word_of_borrower", "tenant", "borrower_id"),)

    tenant: str = Field(primary_key=True)
    word: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)


class RecallIndexed(Rows, table=True):
    """Up to which version of a record its words are in `recall_word`."""

    __tablename__ = "recall_indexed"

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    version: int
