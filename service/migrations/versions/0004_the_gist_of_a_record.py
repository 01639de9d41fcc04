"""What `resume` tells of a record is kept beside it."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "gist",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("gist", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "borrower_id"),
    )


def downgrade() -> None:
    op.drop_table("gist")
