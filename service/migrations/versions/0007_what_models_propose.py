"""What models propose of a record, and of which records a proposal is wanted."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "proposal",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("loan_id", TEXT, nullable=False),
        sa.Column("record_version", sa.Integer(), nullable=False),
        sa.Column("flow_version", TEXT, nullable=False),
        sa.Column("prompt_hash", TEXT, nullable=False),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("proposed", TEXT),
        sa.Column("failure", TEXT),
        sa.Column("why", TEXT),
        sa.Column("asked_at", TIME, nullable=False),
        sa.Column("latency_ms", sa.Integer(), nullable=False),
        sa.Column("raw", sa.LargeBinary()),
        sa.Column("expires_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "borrower_id", "channel", "loan_id"),
    )
    op.create_index("proposal_expiry", "proposal", ["expires_at"])
    op.create_table(
        "proposal_wanted",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("loan_id", TEXT, nullable=False),
        sa.Column("wanted", TEXT, nullable=False),
        sa.Column("wanted_at", TIME, nullable=False),
        sa.Column("try_at", TIME, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("claimed_until", TIME),
        sa.PrimaryKeyConstraint("tenant", "borrower_id", "channel", "loan_id"),
    )
    op.create_index("proposal_wanted_newest", "proposal_wanted", ["wanted_at"])


def downgrade() -> None:
    op.drop_table("proposal_wanted")
    op.drop_table("proposal")
