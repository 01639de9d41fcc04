"""Indexes in the order of the dashboard's lists, callbacks that were asked for, and the channel that was spoken on last."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
LISTED = {
    "journey_stage": ["tenant", "stage", "borrower_id", "loan_id"],
    "journey_rung": ["tenant", "rung", "borrower_id", "loan_id"],
    "journey_channel": ["tenant", "last_channel", "borrower_id", "loan_id"],
    "journey_due": ["tenant", "promise_due_date", "borrower_id", "loan_id"],
    "journey_overdue": ["tenant", "overdue_at", "borrower_id", "loan_id"],
}
WAS = {"journey_stage": "stage", "journey_due": "promise_due_date", "journey_overdue": "overdue_at"}


def upgrade() -> None:
    op.add_column("journey", sa.Column("last_channel", TEXT))
    for name in WAS:
        op.drop_index(name, table_name="journey")
    for name, columns in LISTED.items():
        op.create_index(name, "journey", columns)
    _partial("journey_held", "journey", ["tenant", "borrower_id", "loan_id"], "hold_kinds != ''")
    _partial("journal_broken", "journal", ["tenant", "received_at", "event_id"], "type = 'promise.broken'")
    _partial("resume_ignored", "resume", ["tenant", "at", "resume_id"], "ignored", "ignored = 1")
    _partial("resume_refused", "resume", ["tenant", "at", "resume_id"], "refusals != '[]'")
    _partial("resume_shadow", "resume", ["tenant", "at", "resume_id"], "mode = 'shadow'")
    _partial("resume_as_proposed", "resume", ["tenant", "at", "resume_id"], "source = 'classifier'")
    _partial("resume_degraded", "resume", ["tenant", "at", "resume_id"], "degraded", "degraded = 1")
    op.create_index("resume_fallback", "resume", ["tenant", "fallback", "at", "resume_id"])
    op.create_table(
        "callback",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("borrower_id", TEXT, nullable=False),
        sa.Column("at", TIME),
        sa.Column("ends_at", TIME, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("conversation_id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "borrower_id"),
    )
    op.create_index("callback_ends", "callback", ["tenant", "ends_at", "borrower_id"])
    op.drop_index("audit_time", table_name="audit")
    op.create_index("audit_of_tenant", "audit", ["tenant", "id"])
    op.create_index("audit_of_borrower", "audit", ["tenant", "borrower_id", "id"])


def _partial(name: str, table: str, columns: list[str], where: str, in_sqlite: str | None = None) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(in_sqlite or where), postgresql_where=sa.text(where))


def downgrade() -> None:
    op.drop_index("audit_of_borrower", table_name="audit")
    op.drop_index("audit_of_tenant", table_name="audit")
    op.create_index("audit_time", "audit", ["tenant", "at"])
    op.drop_table("callback")
    op.drop_index("journal_broken", table_name="journal")
    for name in ("ignored", "refused", "shadow", "as_proposed", "degraded", "fallback"):
        op.drop_index(f"resume_{name}", table_name="resume")
    for name in ("journey_held", *LISTED):
        op.drop_index(name, table_name="journey")
    op.drop_column("journey", "last_channel")
    for name, column in WAS.items():
        op.create_index(name, "journey", ["tenant", column])
