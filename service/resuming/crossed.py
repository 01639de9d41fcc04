"""Resumes that went on from another channel, as conditions of a query: which count, and which are listed (DESIGN 16)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import ColumnElement, and_, exists, literal_column, select

from service.tables import SUMMARY, Journal, Resume, table_of

JOURNAL: Final = table_of(Journal)
RESUME: Final = table_of(Resume)

ELSEWHERE: ColumnElement[bool] = exists(
    select(literal_column("1")).where(
        JOURNAL.c.tenant == RESUME.c.tenant,
        JOURNAL.c.borrower_id == RESUME.c.borrower_id,
        JOURNAL.c.type == literal_column(f"'{SUMMARY}'"),
        JOURNAL.c.channel != RESUME.c.channel,
        JOURNAL.c.effective_at <= RESUME.c.at,
    )
)
"""Of a resume: that something had been said on another channel before."""
CROSSED: ColumnElement[bool] = and_(
    RESUME.c.mode == literal_column("'enabled'"), RESUME.c.source != literal_column("'cold_start'"), ELSEWHERE
)
"""Of a resume: that it handed that out, which is the point of it all."""
