"""By which version of a flow a resume was judged, and how long its answer took."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("resume", sa.Column("flow_version", TEXT))
    op.add_column("resume", sa.Column("latency_us", sa.BigInteger()))


def downgrade() -> None:
    op.drop_column("resume", "latency_us")
    op.drop_column("resume", "flow_version")
