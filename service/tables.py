"""The tables: what is stored, in which column, under which key.

Rows only. A table model checks nothing when it is built, so values are judged at the edge and in the pure core; nothing
here knows what a column means to anybody. Every key begins with the tenant, but for what is looked up before the tenant is
known (API keys) and for what belongs to the service as a whole (the log and its writers).

Times are aware and in UTC. Money is a decimal as text. Bodies are bytes, because a text column can not hold what a
client may send. Every change of a table is a migration; a test compares the two.
"""

from datetime import date, datetime
from typing import Any, ClassVar, Final

from sqlalchemy import BigInteger, CheckConstraint, Index, Integer, String, Table, text
from sqlmodel import AutoString, Field, SQLModel

SUMMARY: Final = "summary"
BROKEN: Final = "promise.broken"
Counted: Final[Any] = BigInteger().with_variant(Integer(), "sqlite")
"""A number that the database counts up; SQLite does so for its own integers only."""


class _Rows(SQLModel):
    """What the rows below share; no table of its own."""

    __tablename__: ClassVar[str]
    __table_args__: ClassVar[Any] = ()


# -- who may call ------------------------------------------------------------------------------------------------------


class ApiKey(_Rows, table=True):
    """A key of a tenant. The key itself is shown once; what is kept is its hash."""

    __tablename__ = "api_key"
    __table_args__ = (Index("api_key_of_tenant", "tenant", "created_at"),)

    key_id: str = Field(primary_key=True)
    tenant: str
    key_hash: str
    scopes: str
    """Separated by blanks."""
    name: str | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


# -- the record and what is derived from it ----------------------------------------------------------------------------


class Borrower(_Rows, table=True):
    """One record: its canonical bytes, and beside them its version and its place in the log."""

    __tablename__ = "borrower"
    __table_args__ = (
        Index(
            "borrower_redirected",
            "tenant",
            "redirected_to",
            sqlite_where=text("redirected_to IS NOT NULL"),
            postgresql_where=text("redirected_to IS NOT NULL"),
        ),
    )

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    version: int
    record: bytes
    content_hash: str
    provisional: bool
    redirected_to: str | None = None
    """Of a provisional record: whose it turned out to be."""
    redirected_after: datetime | None = None
    """Of a provisional record: what took effect up to here went to somebody else, or was nobody's."""
    time_zone: str
    log: str
    partition: int
    log_offset: int = Field(sa_type=BigInteger)
    """Of the entry merged last."""


class Gist(_Rows, table=True):
    """What `resume` tells of one record version, as bytes. A copy, which may be missing or out of date."""

    __tablename__ = "gist"

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    version: int
    gist: bytes


class RecallWord(_Rows, table=True):
    """A word that one borrower's notes have, as its keyed hash: to find in whose notes to look."""

    __tablename__ = "recall_word"
    __table_args__ = (Index("recall_word_of_borrower", "tenant", "borrower_id"),)

    tenant: str = Field(primary_key=True)
    word: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)


class RecallIndexed(_Rows, table=True):
    """Up to which version of a record its words are in `recall_word`."""

    __tablename__ = "recall_indexed"

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    version: int


class Journey(_Rows, table=True):
    """Where a borrower stands with one loan, as the lists show it: the loan's cycle last opened, else the implicit one."""

    __tablename__ = "journey"
    __table_args__ = (
        # Each holds the order of its list behind what it filters by, so that a page reads no more rows than it shows.
        Index("journey_stage", "tenant", "stage", "borrower_id", "loan_id"),
        Index("journey_rung", "tenant", "rung", "borrower_id", "loan_id"),
        Index("journey_channel", "tenant", "last_channel", "borrower_id", "loan_id"),
        Index("journey_due", "tenant", "promise_due_date", "borrower_id", "loan_id"),
        Index("journey_overdue", "tenant", "overdue_at", "borrower_id", "loan_id"),
        Index(
            "journey_held",
            "tenant",
            "borrower_id",
            "loan_id",
            sqlite_where=text("hold_kinds != ''"),
            postgresql_where=text("hold_kinds != ''"),
        ),
    )

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    loan_id: str = Field(primary_key=True)
    """Blank for evidence that names no loan."""
    cycle_id: str | None = None
    attempt: int
    stage: str
    rung: str
    amount: str | None = None
    currency: str
    promise_due_date: date | None = None
    overdue_at: datetime | None = None
    reminded: bool
    payment_link_shared: bool
    payment_confirmed: bool
    outstanding: str | None = None
    holds: str
    """A JSON list of objects `kind reason loan_id placed_at until`, those that end included until they are saved again."""
    hold_kinds: str
    """`|kind|kind|`, blank without a hold."""
    hold_until: datetime | None = None
    """When the last hold ends; null when one of them does not end by itself."""
    last_contact_at: datetime | None = None
    last_channel: str | None = None
    """On which that was."""


class AskedCallback(_Rows, table=True):
    """An appointment that a borrower asked for, without the words of it."""

    __tablename__ = "callback"
    __table_args__ = (Index("callback_ends", "tenant", "ends_at", "borrower_id"),)

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    at: datetime | None = None
    """Null where the words name no time."""
    ends_at: datetime
    """When it is past, and on no list any more."""
    channel: str
    conversation_id: str


class IdentifierLink(_Rows, table=True):
    """An identifier that is linked to a borrower now."""

    __tablename__ = "identifier"
    # It holds all columns: SQLite would read all of a tenant's rows rather than go from an index to the table.
    __table_args__ = (Index("identifier_of_borrower", "tenant", "borrower_id", "kind", "value"),)

    tenant: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    value: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)


class Loan(_Rows, table=True):
    """Whose loan it is, by `cycle.opened`."""

    __tablename__ = "loan"
    __table_args__ = (Index("loan_of_borrower", "tenant", "borrower_id", "loan_id"),)

    tenant: str = Field(primary_key=True)
    loan_id: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)


class Started(_Rows, table=True):
    """A conversation that began and of which no summary has come."""

    __tablename__ = "started"
    __table_args__ = (Index("started_since", "tenant", "started_at"),)

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    conversation_id: str = Field(primary_key=True)
    started_at: datetime


# -- what came in ------------------------------------------------------------------------------------------------------


class Journal(_Rows, table=True):
    """Every merged entry once: the source of rebuilds, of the time line and of the first answer to a repeat."""

    __tablename__ = "journal"
    __table_args__ = (
        Index("journal_position", "log", "partition", "log_offset", unique=True),
        Index("journal_timeline", "tenant", "borrower_id", "effective_at", "event_id"),
        Index("journal_arrival", "tenant", "received_at"),
        Index(
            "journal_conversation",
            "tenant",
            "borrower_id",
            "channel",
            "conversation_id",
            sqlite_where=text(f"type = '{SUMMARY}'"),
            postgresql_where=text(f"type = '{SUMMARY}'"),
        ),
        Index(
            "journal_broken",
            "tenant",
            "received_at",
            "event_id",
            sqlite_where=text(f"type = '{BROKEN}'"),
            postgresql_where=text(f"type = '{BROKEN}'"),
        ),
    )

    tenant: str = Field(primary_key=True)
    event_id: str = Field(primary_key=True)
    log: str
    partition: int
    log_offset: int = Field(sa_type=BigInteger)
    epoch: int
    borrower_id: str
    type: str
    channel: str | None = None
    conversation_id: str | None = None
    revision: int | None = None
    loan_id: str | None = None
    cycle_id: str | None = None
    effective_at: datetime
    received_at: datetime
    body: bytes
    stamps: bytes
    body_hash: str
    record_version: int


class Repeat(_Rows, table=True):
    """One delivery of an id that was there already; a conflict when its body was another."""

    __tablename__ = "repeat"
    __table_args__ = (Index("repeat_arrival", "tenant", "at"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    event_id: str
    at: datetime
    is_conflict: bool


class SetAside(_Rows, table=True):
    """Kept, not merged, listed with its reason."""

    __tablename__ = "set_aside"
    __table_args__ = (
        CheckConstraint("status IN ('open', 'merged', 'refused')", name="set_aside_status"),
        Index("set_aside_list", "tenant", "status", "id"),
        Index(
            "set_aside_open_event",
            "tenant",
            "event_id",
            "reason",
            "body_hash",
            unique=True,
            sqlite_where=text("status = 'open'"),
            postgresql_where=text("status = 'open'"),
        ),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    reason: str
    detail: str
    kind: str
    vendor: str | None = None
    borrower_id: str | None = None
    event_id: str | None = None
    body_hash: str | None = None
    received_at: datetime
    attempts: int
    status: str
    value: bytes
    """What came: an entry of the log, or a hook's body."""


class Intake(_Rows, table=True):
    """The embedded log. Offsets grow within a partition and may have gaps."""

    __tablename__ = "intake"

    partition: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    log_offset: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    tenant: str
    borrower_id: str
    event_id: str
    value: bytes
    appended_at: datetime


class IntakeHead(_Rows, table=True):
    """The end of each partition of the embedded log, and which log it is."""

    __tablename__ = "intake_head"

    partition: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    next_offset: int = Field(sa_type=BigInteger)
    identity: str


class WriterPartition(_Rows, table=True):
    """The fence: who may write what comes from a partition, and up to where it is merged."""

    __tablename__ = "writer_partition"

    log: str = Field(primary_key=True)
    partition: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    epoch: int
    next_offset: int = Field(sa_type=BigInteger)
    owner: str
    log_identity: str
    partition_count: int
    last_entry: str | None = None
    """A hash of the entry before `next_offset`, by which a log that is not the one we left is known."""
    taken_at: datetime


# -- chats that go on -----------------------------------------------------------------------------------------------------


class Chat(_Rows, table=True):
    """A conversation by text that messages make up, until it is summarised and after: a late message revises it."""

    __tablename__ = "chat"
    __table_args__ = (
        Index("chat_of_borrower", "tenant", "borrower_id", "last_at"),
        Index("chat_by_time", "tenant", "last_at"),
        Index(
            "chat_to_do",
            "try_at",
            sqlite_where=text("try_at IS NOT NULL"),
            postgresql_where=text("try_at IS NOT NULL"),
        ),
        Index("chat_named", "tenant", "channel", "conversation_id", "borrower_id", unique=True),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    channel: str
    conversation_id: str
    borrower_id: str
    """As it was resolved last, which may be provisional."""
    named: str
    """Who it is, as the messages name them: a JSON object of `borrower_id identifier loan_id cycle_id`."""
    opened_at: datetime | None = None
    last_at: datetime
    """Of the newest message; before there is one, of what was told of the chat."""
    last_speaker: str | None = None
    ended_at: datetime | None = None
    """When `conversation.ended` says that it did."""
    changes: int
    """How many lines have been told; grows with each that was not told before."""
    summarised: int
    """How many of them the newest summary is of."""
    revision: int
    """Of the newest summary; 0 before the first."""
    due_at: datetime | None = None
    """Since when a summary is due; null when none is."""
    try_at: datetime | None = None
    """When it is tried next."""
    tries: int
    last_reason: str | None = None
    prepared: bytes | None = None
    """A summary that was decided upon and is being posted, sealed: after a crash it is posted as it is."""
    prepared_changes: int | None = None
    fence: int
    """Raised by whoever takes the chat to summarise it; what was done under an older one does not count."""
    claimed_by: str | None = None
    claimed_until: datetime | None = None


class ChatLine(_Rows, table=True):
    """One line of a chat, or a change to one, sealed. `line` is a keyed hash of what it says and is about."""

    __tablename__ = "chat_line"

    tenant: str = Field(primary_key=True)
    chat: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    line: str = Field(primary_key=True)
    about: str
    """A keyed hash of the message that it tells or changes."""
    at: datetime
    body: bytes


# -- what vendors post ------------------------------------------------------------------------------------------------------


class Hook(_Rows, table=True):
    """An address that one vendor of one tenant posts to."""

    __tablename__ = "hook"
    __table_args__ = (Index("hook_of_tenant", "tenant", "created_at"),)

    hook_id: str = Field(primary_key=True)
    tenant: str
    channel: str
    vendor: str
    secret: bytes
    """Sealed; of a vendor that signs nothing it may be empty."""
    verify_token: bytes | None = None
    """Sealed; of Meta's handshake."""
    public_url: str | None = None
    time_zone: str | None = None
    """In which naive times are read, where the operator said so."""
    created_at: datetime
    revoked_at: datetime | None = None


class HookBody(_Rows, table=True):
    """A body as it came, sealed, until its retention ends; answered for once it is here, read after."""

    __tablename__ = "hook_body"
    __table_args__ = (
        Index("hook_body_waiting", "id", sqlite_where=text("NOT is_done"), postgresql_where=text("NOT is_done")),
        Index("hook_body_time", "tenant", "received_at"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    hook_id: str
    channel: str
    vendor: str
    received_at: datetime
    content_type: str | None = None
    time_zone: str | None = None
    body: bytes
    is_done: bool
    claimed_until: datetime | None = None
    """Until when the process that reads it has for that; another may take it up after."""
    tries: int


class HookItem(_Rows, table=True):
    """One thing that a body told, by the vendor's key: a second one with it is a repeat, whatever its bytes."""

    __tablename__ = "hook_item"
    __table_args__ = (
        Index(
            "hook_item_waits",
            "tenant",
            "waits_for",
            sqlite_where=text("waits_for IS NOT NULL"),
            postgresql_where=text("waits_for IS NOT NULL"),
        ),
        Index("hook_item_of_body", "tenant", "body_id"),
        Index("hook_item_of_borrower", "tenant", "borrower_id"),
    )

    tenant: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    body_id: int = Field(sa_type=BigInteger)
    """The body that told it first."""
    state: str
    """`taken`; `done`; `aside`: set aside, and another body may still bring it; `waiting` for an event of ours."""
    waits_for: str | None = None
    """The id of the message whose event of ours would tell what it was."""
    borrower_id: str | None = None
    at: datetime


class OurMessage(_Rows, table=True):
    """What a message of ours was, by the event that says so: a provider's status names the message alone."""

    __tablename__ = "our_message"

    tenant: str = Field(primary_key=True)
    message_id: str = Field(primary_key=True)
    type: str
    """`reminder.sent` or `payment_link.shared`."""
    borrower_id: str
    loan_id: str | None = None
    cycle_id: str | None = None


# -- what is still to go to Kafka --------------------------------------------------------------------------------------


class Outbox(_Rows, table=True):
    """What a topic shall have and does not have yet: the spool, what writers send each other, announcements."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index("outbox_of_owner", "owner", "id"),
        Index("outbox_of_borrower", "tenant", "borrower_id", "topic", "id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    topic: str
    """`intake` or `changes`."""
    tenant: str
    borrower_id: str
    event_id: str
    value: bytes
    owner: str
    """The process that is to send it."""
    claimed_at: datetime
    """Since when; if it is still here long after, another process may."""
    added_at: datetime


class Awaited(_Rows, table=True):
    """An entry of a writer's own that is not merged yet, and what was posted that is only answered for with it."""

    __tablename__ = "awaited"
    __table_args__ = (Index("awaited_entry", "tenant", "event_id"),)

    tenant: str = Field(primary_key=True)
    cause: str = Field(primary_key=True)
    event_id: str = Field(primary_key=True)


# -- what was answered and granted -------------------------------------------------------------------------------------


class Resume(_Rows, table=True):
    """One answer of `resume`, and later whether the conversation started as it was told."""

    __tablename__ = "resume"
    __table_args__ = (
        Index("resume_time", "tenant", "at"),
        Index("resume_of_borrower", "tenant", "borrower_id", "at"),
        Index("resume_of_conversation", "tenant", "channel", "conversation_id"),
        Index(
            "resume_ignored",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("ignored = 1"),
            postgresql_where=text("ignored"),
        ),
        Index(
            "resume_refused",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("refusals != '[]'"),
            postgresql_where=text("refusals != '[]'"),
        ),
        Index(
            "resume_shadow",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("mode = 'shadow'"),
            postgresql_where=text("mode = 'shadow'"),
        ),
        Index(
            "resume_as_proposed",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("source = 'classifier'"),
            postgresql_where=text("source = 'classifier'"),
        ),
        Index(
            "resume_degraded",
            "tenant",
            "at",
            "resume_id",
            sqlite_where=text("degraded = 1"),
            postgresql_where=text("degraded"),
        ),
        Index("resume_fallback", "tenant", "fallback", "at", "resume_id"),
    )

    tenant: str = Field(primary_key=True)
    resume_id: str = Field(primary_key=True)
    borrower_id: str | None = None
    at: datetime
    channel: str
    direction: str
    loan_id: str | None = None
    position: str | None = None
    proposed: str | None = None
    proposed_by: str | None = None
    granted: str | None = None
    refusals: str
    """A JSON list of rules."""
    fallback: str | None = None
    source: str
    record_version: int | None = None
    mode: str
    degraded: bool
    entered_state: str | None = None
    agent: str | None = None
    ignored: bool
    conversation_id: str | None = None


class Proposal(_Rows, table=True):
    """What a model answered when it was asked where a conversation on one channel should start, or why it did not.

    It is used only while the version of the record, that of the flow and the hash of what is asked are all current.
    """

    __tablename__ = "proposal"
    __table_args__ = (Index("proposal_expiry", "expires_at"),)

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    loan_id: str = Field(primary_key=True)
    """Whose cycle it is of; blank without a loan."""
    record_version: int
    flow_version: str
    prompt_hash: str
    model: str
    proposed: str | None = None
    """What was read as the proposed state, state or not; null when nothing was."""
    failure: str | None = None
    """`timeout`, `unavailable` or `unreadable`; null when something was read."""
    why: str | None = None
    """Of an answer that could not be read: in which way."""
    asked_at: datetime
    latency_ms: int
    raw: bytes | None = None
    """The answer itself, sealed."""
    expires_at: datetime


class ProposalWanted(_Rows, table=True):
    """That a proposal is wanted. One row however often it is wanted: what is newer takes the place of what was."""

    __tablename__ = "proposal_wanted"
    __table_args__ = (Index("proposal_wanted_newest", "wanted_at"),)

    tenant: str = Field(primary_key=True)
    borrower_id: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    loan_id: str = Field(primary_key=True)
    wanted: str
    """Another with each change of the record: by it whoever asks a model sees that the question is out of date."""
    wanted_at: datetime
    try_at: datetime
    tries: int
    claimed_until: datetime | None = None
    """Until when a proposer has it in hand; another may take it up after."""


class Permit(_Rows, table=True):
    """A claim to act once: one holder, for a time."""

    __tablename__ = "permit"
    __table_args__ = (Index("permit_of_attempt", "tenant", "borrower_id", "loan_id", "cycle_id", "attempt", "action"),)

    tenant: str = Field(primary_key=True)
    permit_id: str = Field(primary_key=True)
    borrower_id: str
    loan_id: str | None = None
    cycle_id: str | None = None
    attempt: int
    action: str
    channel: str
    holder: str
    granted_at: datetime
    expires_at: datetime
    settled_by: str | None = None
    """The event that settled it."""


# -- decisions that agents drew, and the versions they rest on -----------------------------------------------------------


class Decision(_Rows, table=True):
    """A conclusion that an agent drew at one version of a source. It goes stale and is replaced; it is never deleted."""

    __tablename__ = "decision"
    __table_args__ = (
        CheckConstraint("status IN ('active', 'stale', 'superseded')", name="decision_status"),
        Index("decision_of_borrower", "tenant", "borrower_id", "decided_at", "decision_id"),
        Index(
            "decision_active",
            "tenant",
            "source",
            "entity",
            sqlite_where=text("status = 'active'"),
            postgresql_where=text("status = 'active'"),
        ),
    )

    tenant: str = Field(primary_key=True)
    decision_id: str = Field(primary_key=True)
    borrower_id: str
    kind: str
    conclusion: str
    source: str
    entity: str
    """Blank for the source as a whole."""
    source_version: str
    decided_at: datetime
    agent: str | None = None
    execution_id: str | None = None
    replaces: str
    """A JSON list of ids, or one of them as text, as it was posted; blank without any."""
    body_hash: str
    recorded_at: datetime
    recorded_by: str
    """A key's id and name, as in all columns that say by whom."""
    status: str
    reason: str | None = None
    stale_at: datetime | None = None
    observed_version: str | None = None
    """The version that made it stale."""
    noticed_by: str | None = None
    superseded_by: str | None = None
    superseded_at: datetime | None = None


class SourceVersion(_Rows, table=True):
    """The version of a source, or of one entity of it, that was observed last."""

    __tablename__ = "source_version"

    tenant: str = Field(primary_key=True)
    source: str = Field(primary_key=True)
    entity: str = Field(primary_key=True)
    """Blank for the source as a whole."""
    version: str
    observed_at: datetime
    reported_at: datetime
    reported_by: str


class Correction(_Rows, table=True):
    """That a decision is not so any more, on its way to every layer that may hold it; done when all have answered."""

    __tablename__ = "correction"
    __table_args__ = (
        Index("correction_once", "tenant", "decision_id", "observed_version", unique=True),
        Index("correction_list", "tenant", "status", "created_at", "correction_id"),
        Index(
            "correction_pending",
            "try_at",
            sqlite_where=text("status = 'pending'"),
            postgresql_where=text("status = 'pending'"),
        ),
    )

    tenant: str = Field(primary_key=True)
    correction_id: str = Field(primary_key=True)
    decision_id: str
    borrower_id: str
    source: str
    entity: str
    observed_version: str
    event_id: str
    """Of its entry in the intake log."""
    status: str
    created_at: datetime
    done_at: datetime | None = None
    record_at: datetime | None = None
    index_at: datetime | None = None
    proposals_at: datetime | None = None
    open_conversations_at: datetime | None = None
    announcement_at: datetime | None = None
    source_read_at: datetime | None = None
    """When the source itself answered; where one can be asked, a correction is not done before."""
    try_at: datetime
    tries: int
    last_reason: str | None = None


class DecisionUse(_Rows, table=True):
    """That somebody was about to act on a decision, and what was answered."""

    __tablename__ = "decision_use"
    __table_args__ = (Index("decision_use_of", "tenant", "decision_id", "id"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    decision_id: str
    at: datetime
    by: str
    source_version: str | None = None
    execution_id: str | None = None
    action: str | None = None
    allowed: bool


class Claim(_Rows, table=True):
    """That a summary passes a decision on. One that names no decision of its borrower can not be traced."""

    __tablename__ = "claim"
    __table_args__ = (
        Index("claim_of_decision", "tenant", "decision_id"),
        Index("claim_of_borrower", "tenant", "borrower_id", "event_id"),
        Index("claim_untraceable", "tenant", "is_traceable", "at", "event_id", "number"),
    )

    tenant: str = Field(primary_key=True)
    event_id: str = Field(primary_key=True)
    """Of the summary that carries it."""
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    borrower_id: str
    channel: str
    conversation_id: str
    at: datetime
    decision_id: str | None = None
    entity: str | None = None
    source: str | None = None
    version: str | None = None
    is_traceable: bool
    corrected_at: datetime | None = None


# -- forgetting, and what ends by its retention ------------------------------------------------------------------------


class Forgotten(_Rows, table=True):
    """One forget request and its receipt, without a word of what it forgot."""

    __tablename__ = "forgotten"
    __table_args__ = (Index("forgotten_of_borrower", "tenant", "borrower_id", "target"),)

    tenant: str = Field(primary_key=True)
    receipt_id: str = Field(primary_key=True)
    borrower_id: str
    target: str
    """What was to be forgotten: `everything`, or a keyed hash of the fact or term."""
    event_id: str
    at: datetime
    by: str
    """A key's id and name."""
    reason: str
    """A keyed hash: a person's reason may hold what was to be forgotten."""
    status: str
    """`asked` until it is merged; then `forgotten`, `already_forgotten` or `nothing_found`."""
    facts: int
    texts_cleaned: int
    texts_removed: int
    kept: str
    """A JSON list of objects `what count why`."""
    log_clear_after: datetime


class RetentionRun(_Rows, table=True):
    """One run of the retention job, and what it ended: its receipt."""

    __tablename__ = "retention_run"
    __table_args__ = (Index("retention_run_time", "at"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    at: datetime
    by: str
    ended: str
    """A JSON list of objects `tenant kind before count`."""


class ScreeningExample(_Rows, table=True):
    """A real sentence that screening judged wrongly, sealed, copied by a person for whoever writes the rules."""

    __tablename__ = "screening_example"
    __table_args__ = (Index("screening_example_of_borrower", "tenant", "borrower_id"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    borrower_id: str
    """From whose conversation it is: it goes when that borrower is forgotten."""
    event_id: str
    should: str
    """`pass` or `fail`."""
    rule: str | None = None
    """The rule that withheld it when it was copied; null when it passed."""
    at: datetime
    by: str
    sentence: bytes


class Audit(_Rows, table=True):
    """Who did what, without a word of what was said."""

    __tablename__ = "audit"
    __table_args__ = (
        Index("audit_of_tenant", "tenant", "id"),
        Index("audit_of_borrower", "tenant", "borrower_id", "id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Counted)
    tenant: str
    at: datetime
    who: str
    """A key's id and name."""
    action: str
    borrower_id: str | None = None
    detail: str


METADATA: Final = SQLModel.metadata
# By code points, whatever a PostgreSQL database was made for: so the core orders ids, and so do cursors.
_TEXT: Final = String().with_variant(String(collation="C"), "postgresql")
for _column in (column for table in METADATA.tables.values() for column in table.columns):
    if isinstance(_column.type, AutoString):
        _column.type = _TEXT


def table_of(rows: type[SQLModel]) -> Table:
    """The table of a model, for statements."""
    return METADATA.tables[str(rows.__tablename__)]
