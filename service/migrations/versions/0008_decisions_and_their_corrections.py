"""Decisions, the versions that they rest on, and what corrects them."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "decision",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("decision_id", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("conclusion", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("source_version", TEXT, nullable=False),
        sa.Column("decided_at", TIME, nullable=False),
        sa.Column("agent", TEXT),
        sa.Column("execution_id", TEXT),
        sa.Column("replaces", TEXT, nullable=False),
        sa.Column("body_hash", TEXT, nullable=False),
        sa.Column("recorded_at", TIME, nullable=False),
        sa.Column("recorded_by", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("reason", TEXT),
        sa.Column("stale_at", TIME),
        sa.Column("observed_version", TEXT),
        sa.Column("noticed_by", TEXT),
        sa.Column("superseded_by", TEXT),
        sa.Column("superseded_at", TIME),
        sa.PrimaryKeyConstraint("tenant", "decision_id"),
        sa.CheckConstraint("status IN ('active', 'stale', 'superseded')", name="decision_status"),
    )
    op.create_index("decision_of_borrower", "decision", ["tenant", "borrower_id", "decided_at", "decision_id"])
    active = sa.text("status = 'active'")
    op.create_index(
        "decision_active", "decision", ["tenant", "source", "entity"], sqlite_where=active, postgresql_where=active
    )
    op.create_table(
        "source_version",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("version", TEXT, nullable=False),
        sa.Column("observed_at", TIME, nullable=False),
        sa.Column("reported_at", TIME, nullable=False),
        sa.Column("reported_by", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "source", "entity"),
    )
    op.create_table(
        "correction",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("correction_id", TEXT, nullable=False),
        sa.Column("decision_id", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("observed_version", TEXT, nullable=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("done_at", TIME),
        sa.Column("record_at", TIME),
        sa.Column("index_at", TIME),
        sa.Column("proposals_at", TIME),
        sa.Column("open_conversations_at", TIME),
        sa.Column("announcement_at", TIME),
        sa.Column("source_read_at", TIME),
        sa.Column("try_at", TIME, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("last_reason", TEXT),
        sa.PrimaryKeyConstraint("tenant", "correction_id"),
    )
    once = ["tenant", "decision_id", "observed_version"]
    op.create_index("correction_once", "correction", once, unique=True)
    op.create_index("correction_list", "correction", ["tenant", "status", "created_at", "correction_id"])
    pending = sa.text("status = 'pending'")
    op.create_index("correction_pending", "correction", ["try_at"], sqlite_where=pending, postgresql_where=pending)
    op.create_table(
        "decision_use",
        sa.Column("id", COUNTED, primary_key=True),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("decision_id", TEXT, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("by", TEXT, nullable=False),
        sa.Column("source_version", TEXT),
        sa.Column("execution_id", TEXT),
        sa.Column("action", TEXT),
        sa.Column("allowed", sa.Boolean(), nullable=False),
    )
    op.create_index("decision_use_of", "decision_use", ["tenant", "decision_id", "id"])
    op.create_table(
        "claim",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("conversation_id", TEXT, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("decision_id", TEXT),
        sa.Column("entity", TEXT),
        sa.Column("source", TEXT),
        sa.Column("version", TEXT),
        sa.Column("is_traceable", sa.Boolean(), nullable=False),
        sa.Column("corrected_at", TIME),
        sa.PrimaryKeyConstraint("tenant", "event_id", "number"),
    )
    op.create_index("claim_of_decision", "claim", ["tenant", "decision_id"])
    op.create_index("claim_of_borrower", "claim", ["tenant", "borrower_id", "event_id"])
    op.create_index("claim_untraceable", "claim", ["tenant", "is_traceable", "at", "event_id", "number"])


def downgrade() -> None:
    for table in ("claim", "decision_use", "correction", "source_version", "decision"):
        op.drop_table(table)
