"""The bucket in which an element is kept (DESIGN 3, "Bounded"): its name follows from that element alone.

The first part of a name is its kind, by which its limit is found. How many elements a bucket keeps is not known here.
"""

from __future__ import annotations

from typing import Final, TypeAlias, assert_never

from statemachine.elements import (
    WRONG_BORROWER,
    AnyElement,
    CommitmentSaid,
    ContactChoice,
    ConversationBegun,
    ConversationTold,
    CycleBegun,
    CycleEnded,
    FactStatedOnce,
    HoldSet,
    IdentifierFact,
    MessageReported,
    PaymentMade,
    PaymentUndone,
    PromiseFailed,
    PromiseWithdrawn,
    ProseTold,
    Redirected,
    StrangerMet,
    TextJudged,
    WordsWithdrawn,
)

Name: TypeAlias = tuple[str, ...]

ALL_IDENTIFIERS: Final = "*"
"""In the place of an identifier, of a revocation that names none."""
WITHDRAWN_WORDS: Final = "withdrawn_words"
"""Of the buckets that hold which words were taken back; their second name is the channel's."""


def bucket_of(element: AnyElement) -> Name:
    """The name of the bucket an element belongs to."""
    match element:
        case CommitmentSaid():
            return ("commitments", element.loan_id or "", element.status or "")
        case ConversationTold():
            return ("conversations", "contact" if element.contact else "attempt")
        case ProseTold():
            return ("prose",)
        case MessageReported():
            return ("messages", element.action, element.loan_id or "", element.outcome)
        case PaymentMade() | PaymentUndone():
            return ("payments", element.loan_id or "")
        case CycleBegun() | CycleEnded() | PromiseFailed():
            return ("boundaries", element.loan_id or "")
        case PromiseWithdrawn():
            return ("retractions", element.loan_id or "")
        case HoldSet():
            return ("holds", element.hold, element.loan_id or "")
        case ContactChoice():
            return ("contact", element.channel, element.purpose)
        case IdentifierFact() if element.what == "unlinked" and element.reason == WRONG_BORROWER:
            return ("wrong_borrower", element.identifier)
        case IdentifierFact():
            return ("identifiers", element.identifier)
        case StrangerMet():
            return ("identifiers", element.through or ALL_IDENTIFIERS)
        case FactStatedOnce():
            return ("facts", element.fact.kind)
        case ConversationBegun():
            return ("started", element.channel)
        case Redirected():
            return ("redirect",)
        case TextJudged():
            return ("withheld",)
        case WordsWithdrawn():
            return (WITHDRAWN_WORDS, element.channel)
    assert_never(element)
