"""What a model answered lately is counted and listed by when it was asked."""

from alembic import op

revision = "0016"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("proposal_asked", "proposal", ["tenant", "asked_at"])


def downgrade() -> None:
    op.drop_index("proposal_asked", table_name="proposal")
