"""How long a thing that was said or read stays true: every kind of fact, every tool and every writer in one table.

The question to ask of a new row is the one of DESIGN 11: *would repeating this later, out of context, ever be wrong?*
It is about meaning, not about the name of a call. What is in no table is live.

This module must not know texts, turns or records: it answers for names only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Volatility(StrEnum):
    """DESIGN 11: true only when read; happened and stays true; changes only when the borrower changes it."""

    LIVE = "live"
    EVENT = "event"
    STABLE = "stable"


class Kind(StrEnum):
    """The kinds of fact that API 3 names. A fact of any other kind is not kept."""

    PREFERRED_CONTACT_TIME = "preferred_contact_time"
    PREFERRED_CHANNEL = "preferred_channel"
    PREFERRED_LANGUAGE = "preferred_language"
    INCOME_DAY = "income_day"
    EMPLOYMENT = "employment"
    HOUSEHOLD = "household"
    GOAL = "goal"
    REASON_FOR_DELAY = "reason_for_delay"
    REQUEST = "request"
    COMPLAINT = "complaint"
    PAYMENT_METHOD = "payment_method"
    PAYER = "payer"
    MANDATE = "mandate"
    SETTLEMENT_REQUEST = "settlement_request"
    ALLOCATION = "allocation"
    BALANCE = "balance"
    AMOUNT_PENDING = "amount_pending"
    DAYS_PAST_DUE = "days_past_due"
    OUTSTANDING_STEP = "outstanding_step"
    OFFER = "offer"


@dataclass(frozen=True, slots=True)
class FactKind:
    """What holds for one kind of fact.

    `lifetime_days`: days from its observation until it expires; None: until it is changed or forgotten; 0: never kept.
    `inferred_allowed`: whether a summary may teach it, or `fact.stated` alone.
    """

    volatility: Volatility
    lifetime_days: int | None
    inferred_allowed: bool


LIFETIME_DAYS = 180
GOAL_LIFETIME_DAYS = 90

_OF_THE_BORROWER = FactKind(Volatility.STABLE, LIFETIME_DAYS, inferred_allowed=True)
_GOAL = FactKind(Volatility.STABLE, GOAL_LIFETIME_DAYS, inferred_allowed=True)
_HAPPENED = FactKind(Volatility.EVENT, LIFETIME_DAYS, inferred_allowed=True)
# These move money or change how it is booked: a model never infers them (DESIGN 11), and API 3 names no lifetime.
_STATED_ONLY = FactKind(Volatility.STABLE, None, inferred_allowed=False)
_NEVER_KEPT = FactKind(Volatility.LIVE, 0, inferred_allowed=False)

FACT_KINDS: Mapping[str, FactKind] = MappingProxyType(
    {
        Kind.PREFERRED_CONTACT_TIME: _OF_THE_BORROWER,
        Kind.PREFERRED_CHANNEL: _OF_THE_BORROWER,
        Kind.PREFERRED_LANGUAGE: _OF_THE_BORROWER,
        Kind.INCOME_DAY: _OF_THE_BORROWER,
        Kind.EMPLOYMENT: _OF_THE_BORROWER,
        Kind.HOUSEHOLD: _OF_THE_BORROWER,
        Kind.GOAL: _GOAL,
        Kind.REASON_FOR_DELAY: _HAPPENED,
        Kind.REQUEST: _HAPPENED,
        Kind.COMPLAINT: _HAPPENED,
        Kind.PAYMENT_METHOD: _STATED_ONLY,
        Kind.PAYER: _STATED_ONLY,
        Kind.MANDATE: _STATED_ONLY,
        Kind.SETTLEMENT_REQUEST: _STATED_ONLY,
        Kind.ALLOCATION: _STATED_ONLY,
        Kind.BALANCE: _NEVER_KEPT,
        Kind.AMOUNT_PENDING: _NEVER_KEPT,
        Kind.DAYS_PAST_DUE: _NEVER_KEPT,
        Kind.OUTSTANDING_STEP: _NEVER_KEPT,
        Kind.OFFER: _NEVER_KEPT,
    }
)


class Tool(StrEnum):
    """Our own calls, by their operation ids: what an agent's turn may name as what it was answered from."""

    POST_SUMMARY = "post_summary"
    POST_EVENT = "post_event"
    POST_EVENTS = "post_events"
    TAKE_PERMIT = "take_permit"
    TAKE_DECISION = "take_decision"
    CHECK_DECISION = "check_decision"
    REPORT_SOURCE = "report_source"
    FORGET = "forget"
    RESUME = "resume"
    LOOKUP = "lookup"
    GET_BORROWER = "get_borrower"
    GET_BRIEFING = "get_briefing"
    GET_FACTS = "get_facts"
    GET_FLAGS = "get_flags"
    GET_TIMELINE = "get_timeline"
    GET_DECISIONS = "get_decisions"
    RECALL = "recall"
    CONTEXT = "context"
    LIST_BORROWERS = "list_borrowers"
    SEARCH = "search"
    EXPORT_BORROWER = "export_borrower"


# A tool is what an agent's turn was answered from (`turns[].tools`). Tenants name theirs as they like and a name proves
# nothing: even one that sends a link may answer with a balance, and what is in no table is live. Of our own calls, those that
# only take something in answer that it was taken; a permit lapses, a decision goes stale, and every read holds live values.
TOOLS: Mapping[str, Volatility] = MappingProxyType(
    {
        Tool.POST_SUMMARY: Volatility.EVENT,
        Tool.POST_EVENT: Volatility.EVENT,
        Tool.POST_EVENTS: Volatility.EVENT,
        Tool.REPORT_SOURCE: Volatility.EVENT,
        Tool.FORGET: Volatility.EVENT,
        Tool.TAKE_PERMIT: Volatility.LIVE,
        Tool.TAKE_DECISION: Volatility.LIVE,
        Tool.CHECK_DECISION: Volatility.LIVE,
        Tool.RESUME: Volatility.LIVE,
        Tool.LOOKUP: Volatility.LIVE,
        Tool.GET_BORROWER: Volatility.LIVE,
        Tool.GET_BRIEFING: Volatility.LIVE,
        Tool.GET_FACTS: Volatility.LIVE,
        Tool.GET_FLAGS: Volatility.LIVE,
        Tool.GET_TIMELINE: Volatility.LIVE,
        Tool.GET_DECISIONS: Volatility.LIVE,
        Tool.RECALL: Volatility.LIVE,
        Tool.CONTEXT: Volatility.LIVE,
        Tool.LIST_BORROWERS: Volatility.LIVE,
        Tool.SEARCH: Volatility.LIVE,
        Tool.EXPORT_BORROWER: Volatility.LIVE,
    }
)


class Writer(StrEnum):
    """Whoever writes into a text that reaches a model (DESIGN 10). Where each stands in the code, `service.writers` says."""

    INSTRUCTION = "instruction"
    RECORD = "record"
    FACT = "fact"
    REPORT = "report"
    DECISION = "decision"
    CONVERSATION = "conversation"
    WITHHELD = "withheld"
    READING = "reading"
    QUESTION = "question"
    FRAME = "frame"
    BRIEFING = "briefing"
    PREVIOUS_STEP = "previous_step"
    VARS = "vars"
    MCP = "mcp"
    PROPOSE = "propose"
    POSITION = "position"
    SUMMARISE = "summarise"
    REFUSED = "refused"


# The worst that a writer may write; a block of a fact or of a turn has its own. Instructions may be replayed, measurements
# never. A turn that is withheld stays live, though its placeholder says nothing. The briefing, the step just taken and the
# variables hold what was open when they were read.
WRITERS: Mapping[str, Volatility] = MappingProxyType(
    {
        Writer.INSTRUCTION: Volatility.STABLE,
        Writer.RECORD: Volatility.EVENT,
        Writer.FACT: Volatility.EVENT,
        Writer.REPORT: Volatility.EVENT,
        Writer.DECISION: Volatility.EVENT,
        Writer.CONVERSATION: Volatility.EVENT,
        Writer.WITHHELD: Volatility.LIVE,
        Writer.READING: Volatility.LIVE,
        Writer.QUESTION: Volatility.EVENT,
        Writer.FRAME: Volatility.STABLE,
        Writer.BRIEFING: Volatility.LIVE,
        Writer.PREVIOUS_STEP: Volatility.LIVE,
        Writer.VARS: Volatility.LIVE,
        Writer.MCP: Volatility.LIVE,
        Writer.PROPOSE: Volatility.STABLE,
        Writer.POSITION: Volatility.LIVE,
        Writer.SUMMARISE: Volatility.STABLE,
        Writer.REFUSED: Volatility.STABLE,
    }
)

_WORST_FIRST = (Volatility.LIVE, Volatility.EVENT, Volatility.STABLE)


def volatility_of(kind: str) -> Volatility:
    """The volatility of a kind of fact; unknown is live (DESIGN 11)."""
    known = FACT_KINDS.get(kind)
    return known.volatility if known else Volatility.LIVE


def tool_volatility(tool: str) -> Volatility:
    """The volatility of an answer drawn from the tool of this name; unknown is live."""
    return TOOLS.get(tool, Volatility.LIVE)


def turn_volatility(tools: Iterable[str]) -> Volatility:
    """An agent's turn has the worst of the tools it was answered from (DESIGN 11). Of a turn that names none: live."""
    return worst(tool_volatility(tool) for tool in tools)


def worst(volatilities: Iterable[Volatility]) -> Volatility:
    """The one that spoils the rest: live before event before stable. Of none nothing is known: live."""
    given = frozenset(volatilities)
    return next((each for each in _WORST_FIRST if each in given), Volatility.LIVE)


def _check_exhaustive() -> None:
    for names, table in ((Kind, FACT_KINDS), (Tool, TOOLS), (Writer, WRITERS)):
        if missing := {str(name) for name in names} ^ set(table):
            raise RuntimeError(f"{names.__name__} and its table differ in {sorted(missing)}")


_check_exhaustive()
