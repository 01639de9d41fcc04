"""What the rows of every table share."""

from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, Integer, Table
from sqlmodel import SQLModel

Counted: Final[Any] = BigInteger().with_variant(Integer(), "sqlite")
"""A number that the database counts up; SQLite does so for its own integers only."""


class Rows(SQLModel):
    """No table of its own."""

    __tablename__: ClassVar[str]
    __table_args__: ClassVar[Any] = ()


def table_of(rows: type[SQLModel]) -> Table:
    """The table of a model, for statements."""
    return SQLModel.metadata.tables[str(rows.__tablename__)]
