"""The index to search with in half the bytes: short hashes in one tree, and a borrower's as one value beside the version.

What it held is dropped: whoever it does not know is read all the same, and caught up with.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def _indexed(*words: sa.Column[Any]) -> None:
    op.create_table(
        "recall_indexed",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        *words,
        sa.PrimaryKeyConstraint("tenant", "borrower_id"),
    )


def _words(kind: sa.types.TypeEngine[Any], **options: bool) -> None:
    op.create_table(
        "recall_word",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("word", kind, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "word", "borrower_id"),
        **options,
    )


def _drop() -> None:
    op.drop_table("recall_indexed")
    op.drop_table("recall_word")


def upgrade() -> None:
    _drop()
    _words(sa.LargeBinary(), sqlite_with_rowid=False)
    _indexed(sa.Column("words", sa.LargeBinary(), nullable=False))


def downgrade() -> None:
    _drop()
    _words(TEXT)
    op.create_index("recall_word_of_borrower", "recall_word", ["tenant", "borrower_id"])
    _indexed()
