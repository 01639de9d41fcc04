"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")

TABLES = (
    "api_key",
    "audit",
    "borrower",
    "identifier",
    "intake",
    "intake_head",
    "journal",
    "journey",
    "loan",
    "permit",
    "repeat",
    "resume",
    "set_aside",
    "started",
    "writer_partition",
)


def upgrade() -> None:
    op.create_table(
        "api_key",
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("key_hash", TEXT, nullable=False),
        sa.Column("scopes", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("key_id"),
    )
    op.create_index("api_key_of_tenant", "api_key", ["tenant", "created_at"], unique=False)

    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=True),
        sa.Column("detail", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("audit_time", "audit", ["tenant", "at"], unique=False)

    op.create_table(
        "borrower",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("content_hash", TEXT, nullable=False),
        sa.Column("provisional", sa.Boolean(), nullable=False),
        sa.Column("redirected_to", TEXT, nullable=True),
        sa.Column("redirected_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("time_zone", TEXT, nullable=False),
        sa.Column("log", TEXT, nullable=False),
        sa.Column("partition", sa.Integer(), nullable=False),
        sa.Column("log_offset", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "borrower_id"),
    )
    op.create_index(
        "borrower_redirected",
        "borrower",
        ["tenant", "redirected_to"],
        unique=False,
        sqlite_where=sa.text("redirected_to IS NOT NULL"),
        postgresql_where=sa.text("redirected_to IS NOT NULL"),
    )

    op.create_table(
        "identifier",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("value", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "kind", "value", "borrower_id"),
    )
    op.create_index("identifier_of_borrower", "identifier", ["tenant", "borrower_id", "kind", "value"], unique=False)

    op.create_table(
        "intake",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("log_offset", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.Column("appended_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("partition", "log_offset"),
    )
    op.create_table(
        "intake_head",
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("next_offset", sa.BigInteger(), nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("partition"),
    )
    op.create_table(
        "journal",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.Column("log", TEXT, nullable=False),
        sa.Column("partition", sa.Integer(), nullable=False),
        sa.Column("log_offset", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=True),
        sa.Column("conversation_id", TEXT, nullable=True),
        sa.Column("revision", sa.Integer(), nullable=True),
        sa.Column("loan_id", TEXT, nullable=True),
        sa.Column("cycle_id", TEXT, nullable=True),
        sa.Column("effective_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("stamps", sa.LargeBinary(), nullable=False),
        sa.Column("body_hash", TEXT, nullable=False),
        sa.Column("record_version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "event_id"),
    )
    op.create_index("journal_arrival", "journal", ["tenant", "received_at"], unique=False)
    op.create_index(
        "journal_conversation",
        "journal",
        ["tenant", "borrower_id", "channel", "conversation_id"],
        unique=False,
        sqlite_where=sa.text("type = 'summary'"),
        postgresql_where=sa.text("type = 'summary'"),
    )
    op.create_index("journal_position", "journal", ["log", "partition", "log_offset"], unique=True)
    op.create_index("journal_timeline", "journal", ["tenant", "borrower_id", "effective_at", "event_id"], unique=False)

    op.create_table(
        "journey",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("loan_id", TEXT, nullable=False),
        sa.Column("cycle_id", TEXT, nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("stage", TEXT, nullable=False),
        sa.Column("rung", TEXT, nullable=False),
        sa.Column("amount", TEXT, nullable=True),
        sa.Column("currency", TEXT, nullable=False),
        sa.Column("promise_due_date", sa.Date(), nullable=True),
        sa.Column("overdue_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reminded", sa.Boolean(), nullable=False),
        sa.Column("payment_link_shared", sa.Boolean(), nullable=False),
        sa.Column("payment_confirmed", sa.Boolean(), nullable=False),
        sa.Column("outstanding", TEXT, nullable=True),
        sa.Column("holds", TEXT, nullable=False),
        sa.Column("hold_kinds", TEXT, nullable=False),
        sa.Column("hold_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_contact_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "borrower_id", "loan_id"),
    )
    op.create_index("journey_due", "journey", ["tenant", "promise_due_date"], unique=False)
    op.create_index("journey_overdue", "journey", ["tenant", "overdue_at"], unique=False)
    op.create_index("journey_stage", "journey", ["tenant", "stage"], unique=False)

    op.create_table(
        "loan",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("loan_id", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "loan_id", "borrower_id"),
    )
    op.create_index("loan_of_borrower", "loan", ["tenant", "borrower_id", "loan_id"], unique=False)

    op.create_table(
        "permit",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("permit_id", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("loan_id", TEXT, nullable=True),
        sa.Column("cycle_id", TEXT, nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("holder", TEXT, nullable=False),
        sa.Column("granted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_by", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("tenant", "permit_id"),
    )
    op.create_index(
        "permit_of_attempt",
        "permit",
        ["tenant", "borrower_id", "loan_id", "cycle_id", "attempt", "action"],
        unique=False,
    )

    op.create_table(
        "repeat",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("event_id", TEXT, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("is_conflict", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("repeat_arrival", "repeat", ["tenant", "at"], unique=False)

    op.create_table(
        "resume",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("resume_id", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("direction", TEXT, nullable=False),
        sa.Column("loan_id", TEXT, nullable=True),
        sa.Column("position", TEXT, nullable=True),
        sa.Column("proposed", TEXT, nullable=True),
        sa.Column("proposed_by", TEXT, nullable=True),
        sa.Column("granted", TEXT, nullable=True),
        sa.Column("refusals", TEXT, nullable=False),
        sa.Column("fallback", TEXT, nullable=True),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("record_version", sa.Integer(), nullable=True),
        sa.Column("mode", TEXT, nullable=False),
        sa.Column("degraded", sa.Boolean(), nullable=False),
        sa.Column("entered_state", TEXT, nullable=True),
        sa.Column("agent", TEXT, nullable=True),
        sa.Column("ignored", sa.Boolean(), nullable=False),
        sa.Column("conversation_id", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("tenant", "resume_id"),
    )
    op.create_index("resume_of_borrower", "resume", ["tenant", "borrower_id", "at"], unique=False)
    op.create_index("resume_of_conversation", "resume", ["tenant", "channel", "conversation_id"], unique=False)
    op.create_index("resume_time", "resume", ["tenant", "at"], unique=False)

    op.create_table(
        "set_aside",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("vendor", TEXT, nullable=True),
        sa.Column("borrower_id", TEXT, nullable=True),
        sa.Column("event_id", TEXT, nullable=True),
        sa.Column("body_hash", TEXT, nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("status IN ('open', 'merged', 'refused')", name="set_aside_status"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("set_aside_list", "set_aside", ["tenant", "status", "id"], unique=False)
    op.create_index(
        "set_aside_open_event",
        "set_aside",
        ["tenant", "event_id"],
        unique=False,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )

    op.create_table(
        "started",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("conversation_id", TEXT, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "borrower_id", "channel", "conversation_id"),
    )
    op.create_index("started_since", "started", ["tenant", "started_at"], unique=False)

    op.create_table(
        "writer_partition",
        sa.Column("log", TEXT, nullable=False),
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("next_offset", sa.BigInteger(), nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("log_identity", TEXT, nullable=False),
        sa.Column("partition_count", sa.Integer(), nullable=False),
        sa.Column("last_entry", TEXT, nullable=True),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("log", "partition"),
    )


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
