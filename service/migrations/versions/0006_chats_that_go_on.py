"""Chats that are built from messages until they are summarised, and their lines."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "chat",
        sa.Column("id", COUNTED, primary_key=True),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("conversation_id", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("named", TEXT, nullable=False),
        sa.Column("opened_at", TIME),
        sa.Column("last_at", TIME, nullable=False),
        sa.Column("last_speaker", TEXT),
        sa.Column("ended_at", TIME),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("summarised", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("due_at", TIME),
        sa.Column("try_at", TIME),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("last_reason", TEXT),
        sa.Column("prepared", sa.LargeBinary()),
        sa.Column("prepared_changes", sa.Integer()),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("claimed_by", TEXT),
        sa.Column("claimed_until", TIME),
    )
    op.create_index("chat_of_borrower", "chat", ["tenant", "borrower_id", "last_at"])
    op.create_index("chat_by_time", "chat", ["tenant", "last_at"])
    waiting = sa.text("try_at IS NOT NULL")
    op.create_index("chat_to_do", "chat", ["try_at"], sqlite_where=waiting, postgresql_where=waiting)
    op.create_index("chat_named", "chat", ["tenant", "channel", "conversation_id", "borrower_id"], unique=True)
    op.create_table(
        "chat_line",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("chat", sa.BigInteger(), nullable=False),
        sa.Column("line", TEXT, nullable=False),
        sa.Column("about", TEXT, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "chat", "line"),
    )


def downgrade() -> None:
    op.drop_table("chat_line")
    op.drop_table("chat")
