"""What is set aside is listed once for each body, also when several processes list it at the same time."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NAME = "set_aside_open_event"


def upgrade() -> None:
    op.drop_index(NAME, "set_aside")
    _index(["tenant", "event_id", "reason", "body_hash"], unique=True)


def downgrade() -> None:
    op.drop_index(NAME, "set_aside")
    _index(["tenant", "event_id"], unique=False)


def _index(columns: list[str], *, unique: bool) -> None:
    is_open = sa.text("status = 'open'")
    op.create_index(NAME, "set_aside", columns, unique=unique, sqlite_where=is_open, postgresql_where=is_open)
