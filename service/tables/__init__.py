"""The tables: what is stored, in which column, under which key.

Rows only. A table model checks nothing when it is built, so values are judged at the edge and in the pure core; nothing
here knows what a column means to anybody. Every key begins with the tenant, but for what is looked up before the tenant is
known (API keys) and for what belongs to the service as a whole (the log and its writers).

Times are aware and in UTC. Money is a decimal as text. Bodies are bytes, because a text column can not hold what a
client may send. Every change of a table is a migration; a test compares the two.
"""

from typing import Final

from sqlalchemy import String
from sqlmodel import AutoString, SQLModel

from service.tables.answers import Permit, Proposal, ProposalWanted, Resume
from service.tables.chats import Chat, ChatLine
from service.tables.decisions import Claim, Correction, Decision, DecisionUse, SourceVersion
from service.tables.entries import BROKEN, SUMMARY, Intake, IntakeHead, Journal, Repeat, SetAside, WriterPartition
from service.tables.hooks import Hook, HookBody, HookItem, HookRefused, OurMessage
from service.tables.outgoing import Awaited, Outbox
from service.tables.people import AskedCallback, Borrower, Gist, IdentifierLink, Journey, Loan, Started
from service.tables.privacy import ApiKey, Audit, Forgotten, RetentionRun, ScreeningExample
from service.tables.rows import table_of
from service.tables.words import RecallIndexed, RecallWord

METADATA: Final = SQLModel.metadata
# By code points, whatever a PostgreSQL database was made for: so the core orders ids, and so do cursors.
_TEXT: Final = String().with_variant(String(collation="C"), "postgresql")
for _column in (column for table in METADATA.tables.values() for column in table.columns):
    if isinstance(_column.type, AutoString):
        _column.type = _TEXT

__all__ = [
    "BROKEN",
    "METADATA",
    "SUMMARY",
    "ApiKey",
    "AskedCallback",
    "Audit",
    "Awaited",
    "Borrower",
    "Chat",
    "ChatLine",
    "Claim",
    "Correction",
    "Decision",
    "DecisionUse",
    "Forgotten",
    "Gist",
    "Hook",
    "HookBody",
    "HookItem",
    "HookRefused",
    "IdentifierLink",
    "Intake",
    "IntakeHead",
    "Journal",
    "Journey",
    "Loan",
    "OurMessage",
    "Outbox",
    "Permit",
    "Proposal",
    "ProposalWanted",
    "RecallIndexed",
    "RecallWord",
    "Repeat",
    "Resume",
    "RetentionRun",
    "ScreeningExample",
    "SetAside",
    "SourceVersion",
    "Started",
    "WriterPartition",
    "table_of",
]
