"""How often the signature of a post to a hook was refused."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "hook_refused",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("hook_id", TEXT, nullable=False),
        sa.Column("slot_at", TIME, nullable=False),
        sa.Column("why", TEXT, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("last_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "hook_id", "slot_at", "why"),
    )


def downgrade() -> None:
    op.drop_table("hook_refused")
