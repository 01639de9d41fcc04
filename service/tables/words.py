"""By which words a borrower's notes are found: keyed hashes, never a word."""

from sqlmodel import Field

from service.tables.rows import Rows


class RecallWord(Rows, table=True):
    """A word that one borrower's notes have, as a few bytes of its keyed hash: to find in whose notes to look."""

    __tablename__ = "recall_word"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 (SQLAlchemy reads it once)

    tenant: str = Field(primary_key=True)
    word: bytes = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)


class RecallIndexed(Rows, table=True):
    """Up to which version of a record its words are in `recall_word`, and which those are: their hashes, one behind the other."""

    __tablename__ = "recall_indexed"

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    version: int
    words: bytes
