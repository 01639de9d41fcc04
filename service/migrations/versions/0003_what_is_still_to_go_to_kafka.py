"""What is still to go to Kafka: the outbox, and what of the writers' own entries is waited for."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("topic", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("outbox_of_owner", "outbox", ["owner", "id"], unique=False)
    op.create_index("outbox_of_borrower", "outbox", ["tenant", "borrower_id", "topic", "id"], unique=False)
    op.create_table(
        "awaited",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("cause", TEXT, nullable=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "cause", "event_id"),
    )
    op.create_index("awaited_entry", "awaited", ["tenant", "event_id"], unique=False)


def downgrade() -> None:
    op.drop_table("awaited")
    op.drop_table("outbox")
