"""The shapes of answers as the document of the calls tells them, so that a client can be generated from it (API 1, 6 to 10).

They are told and not used to answer: what goes out is put together where it is known, and tests compare it with what is told
here. A call that is not in the table answers an object of which the contract says more than a schema could.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema

from channels.resumed import Resumed
from service.web.rendering import MEDIA_TYPE

JSON: Final = "application/json"
REFERENCE: Final = "#/components/schemas/{model}"


class _Told(BaseModel):
    model_config = ConfigDict(extra="allow")


class WrongField(_Told):
    """`field` is its dotted path as the client wrote it."""

    field: str
    code: str


class Problem(_Told):
    """RFC 9457, with a stable `code`. Further members by code: `scope`, `reason`, `retry_at`, `candidates`, ..."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[WrongField] = []


class Warned(_Told):
    field: str
    code: str
    message: str


class Written(_Told):
    """`record_version` is null while the entry is not merged yet."""

    status: str
    event_id: str
    borrower_id: str
    record_version: int | None
    warnings: list[Warned]


class BatchProblem(_Told):
    code: str
    status: int


class BatchResult(_Told):
    index: int
    http_status: int
    answer: Written | None
    problem: BatchProblem | None


class BatchWritten(_Told):
    results: list[BatchResult]


class LookedUp(_Told):
    borrower_id: str
    provisional: bool


class Withheld(_Told):
    conversation_id: str
    rule: str


class Briefing(_Told):
    borrower_id: str
    text: str
    language: str
    record_version: int
    as_of: datetime
    withheld: list[Withheld]


class KnownFact(_Told):
    fact_id: str
    kind: str
    text: str
    about: str
    source: str
    volatility: str
    observed_at: datetime
    expires_at: datetime | None
    conversation_id: str | None
    said: str


class Facts(_Told):
    items: list[KnownFact]
    next_cursor: str | None


class FlagEvidence(_Told):
    event_id: str
    at: datetime
    channel: str | None
    message_id: str | None
    outcome: str | None


class FlagTold(_Told):
    value: bool
    evidence: FlagEvidence | None


class FlagsTold(_Told):
    borrower_id: str
    loan_id: str | None
    cycle_id: str | None
    attempt: int
    record_version: int
    as_of: datetime
    reminded: FlagTold
    payment_link_shared: FlagTold
    payment_confirmed: FlagTold


class Permit(_Told):
    permit_id: str
    action: str
    channel: str
    holder: str
    borrower_id: str
    loan_id: str | None
    cycle_id: str | None
    attempt: int
    granted_at: datetime
    expires_at: datetime


class CorrectionTold(_Told):
    """`layers`: by name, when each answered; null while it has not."""

    correction_id: str
    status: str
    layers: dict[str, datetime | None]


class DecisionTold(_Told):
    decision_id: str
    borrower_id: str
    kind: str
    conclusion: str
    source: str
    source_version: str
    entity: str | None
    decided_at: datetime
    agent: str | None
    execution_id: str | None
    replaces: str | list[str] | None
    status: str
    reason: str | None
    stale_at: datetime | None
    observed_version: str | None
    superseded_by: str | None
    correction: CorrectionTold | None


class DecisionsTold(_Told):
    items: list[DecisionTold]
    next_cursor: str | None


class SourceTold(_Told):
    """`stale_decisions`: how many this report made stale."""

    source: str
    entity: str | None
    version: str
    observed_at: datetime
    stale_decisions: int


class Found(_Told):
    """`kind`: fact, conversation or decision; `status` of a decision."""

    kind: str
    id: str
    text: str
    at: datetime
    channel: str | None
    volatility: str
    status: str | None
    score: float


class Recalled(_Told):
    items: list[Found]
    next_cursor: str | None


class FoundOfAll(Found):
    borrower_id: str


class Searched(_Told):
    """`unreadable`: borrowers whose records are damaged, only told when there are any."""

    items: list[FoundOfAll]
    next_cursor: str | None
    unreadable: list[str] = []


class ContextBlock(_Told):
    """`age_s`: whole seconds since it was observed. `fresh`: it may be repeated as it stands."""

    kind: str
    source: str
    subject: str | None
    turn_id: str | None
    observed_at: datetime | None
    text: str
    volatility: str
    writer: str
    age_s: int | None
    fresh: bool
    tokens: int


class ContextDropped(_Told):
    source: str
    subject: str | None
    turn_id: str | None
    reason: str


class ContextTold(_Told):
    """`record_version` is null where nothing of the memory is handed out, or it could not be read (`degraded`)."""

    blocks: list[ContextBlock]
    dropped: list[ContextDropped]
    text: str
    record_version: int | None
    as_of: datetime
    degraded: bool
    degraded_reason: str | None


class Removed(_Told):
    facts: int
    texts_cleaned: int
    texts_removed: int


class KeptBack(_Told):
    what: str
    count: int
    why: str


class Receipt(_Told):
    """`log_clear_after`: until when a copy may still stand in the log."""

    status: str
    receipt_id: str
    at: datetime
    removed: Removed
    kept: list[KeptBack]
    log_clear_after: datetime


ANSWERS: Final[Mapping[str, tuple[type[BaseModel], tuple[int, ...]]]] = MappingProxyType(
    {
        "post_summary": (Written, (200, 202)),
        "post_event": (Written, (200, 202)),
        "post_events": (BatchWritten, (200,)),
        "resume": (Resumed, (200,)),
        "lookup": (LookedUp, (200,)),
        "get_briefing": (Briefing, (200,)),
        "get_facts": (Facts, (200,)),
        "get_flags": (FlagsTold, (200,)),
        "take_permit": (Permit, (200, 201)),
        "take_decision": (DecisionTold, (200, 201)),
        "check_decision": (DecisionTold, (200,)),
        "get_decisions": (DecisionsTold, (200,)),
        "report_source": (SourceTold, (200,)),
        "recall": (Recalled, (200,)),
        "search": (Searched, (200,)),
        "context": (ContextTold, (200,)),
        "forget": (Receipt, (200,)),
    }
)
"""By operation id: what is answered, and with which statuses."""

ANY_OBJECT: Final = {"type": "object", "additionalProperties": True}
REFUSALS: Final = {"4XX": "refused: a retry cures only 429, and a refused permit at `retry_at`", "503": "try again"}


def document_answers(document: dict[str, Any]) -> None:
    """Adds what the calls that need a key answer, in place. Raises `ValueError` when a name of a shape is taken."""
    models: list[type[BaseModel]] = [*dict.fromkeys(model for model, _ in ANSWERS.values()), Problem]
    _, told = models_json_schema([(model, "serialization") for model in models], ref_template=REFERENCE)
    schemas = document["components"]["schemas"]
    for name, schema in told["$defs"].items():
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two shapes are called {name}")
    problem = {MEDIA_TYPE: {"schema": _named(Problem)}}
    for calls in document["paths"].values():
        for call in calls.values():
            if "security" not in call:
                call["responses"].pop("422", None)
                continue
            model, statuses = ANSWERS.get(call["operationId"], (None, (200,)))
            text = call["responses"]["200"]["description"]
            schema = _named(model) if model else ANY_OBJECT
            answers = {str(s): {"description": text, "content": {JSON: {"schema": schema}}} for s in statuses}
            refusals = {status: {"description": why, "content": problem} for status, why in REFUSALS.items()}
            call["responses"] = answers | refusals
    for name in ("HTTPValidationError", "ValidationError"):  # the framework's own, which is never answered
        schemas.pop(name, None)


def _named(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REFERENCE.format(model=model.__name__)}
