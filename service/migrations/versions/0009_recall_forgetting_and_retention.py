"""The index to search with, receipts of what was forgotten and of what ended, and examples for screening."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "recall_word",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("word", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "word", "borrower_id"),
    )
    op.create_index("recall_word_of_borrower", "recall_word", ["tenant", "borrower_id"])
    op.create_table(
        "recall_indexed",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "borrower_id"),
    )
    op.create_table(
        "forgotten",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("receipt_id", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("by", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("facts", sa.Integer(), nullable=False),
        sa.Column("texts_cleaned", sa.Integer(), nullable=False),
        sa.Column("texts_removed", sa.Integer(), nullable=False),
        sa.Column("kept", TEXT, nullable=False),
        sa.Column("log_clear_after", TIME, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "receipt_id"),
    )
    op.create_index("forgotten_of_borrower", "forgotten", ["tenant", "borrower_id", "target"])
    op.create_table(
        "retention_run",
        sa.Column("id", COUNTED, primary_key=True),
        sa.Column("at", TIME, nullable=False),
        sa.Column("by", TEXT, nullable=False),
        sa.Column("ended", TEXT, nullable=False),
    )
    op.create_index("retention_run_time", "retention_run", ["at"])
    op.create_table(
        "screening_example",
        sa.Column("id", COUNTED, primary_key=True),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.Column("should", TEXT, nullable=False),
        sa.Column("rule", TEXT),
        sa.Column("at", TIME, nullable=False),
        sa.Column("by", TEXT, nullable=False),
        sa.Column("sentence", sa.LargeBinary(), nullable=False),
    )
    op.create_index("screening_example_of_borrower", "screening_example", ["tenant", "borrower_id"])


def downgrade() -> None:
    op.drop_table("screening_example")
    op.drop_table("retention_run")
    op.drop_table("forgotten")
    op.drop_table("recall_indexed")
    op.drop_table("recall_word")
