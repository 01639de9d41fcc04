"""Hooks of vendors, the bodies they brought, the keys of what the bodies told, and what our own messages were."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "hook",
        sa.Column("hook_id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("vendor", TEXT, nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("verify_token", sa.LargeBinary(), nullable=True),
        sa.Column("public_url", TEXT, nullable=True),
        sa.Column("time_zone", TEXT, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("hook_id"),
    )
    op.create_index("hook_of_tenant", "hook", ["tenant", "created_at"])
    op.create_table(
        "hook_body",
        sa.Column("id", COUNTED, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("hook_id", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("vendor", TEXT, nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content_type", TEXT, nullable=True),
        sa.Column("time_zone", TEXT, nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("is_done", sa.Boolean(), nullable=False),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    is_waiting = sa.text("NOT is_done")
    op.create_index("hook_body_waiting", "hook_body", ["id"], sqlite_where=is_waiting, postgresql_where=is_waiting)
    op.create_index("hook_body_time", "hook_body", ["tenant", "received_at"])
    op.create_table(
        "hook_item",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("body_id", sa.BigInteger(), nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("waits_for", TEXT, nullable=True),
        sa.Column("borrower_id", TEXT, nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "key"),
    )
    waits = sa.text("waits_for IS NOT NULL")
    op.create_index("hook_item_waits", "hook_item", ["tenant", "waits_for"], sqlite_where=waits, postgresql_where=waits)
    op.create_index("hook_item_of_body", "hook_item", ["tenant", "body_id"])
    op.create_index("hook_item_of_borrower", "hook_item", ["tenant", "borrower_id"])
    op.create_table(
        "our_message",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("message_id", TEXT, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("loan_id", TEXT, nullable=True),
        sa.Column("cycle_id", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("tenant", "message_id"),
    )


def downgrade() -> None:
    op.drop_table("our_message")
    op.drop_table("hook_item")
    op.drop_table("hook_body")
    op.drop_table("hook")
