"""Something happened: `POST /v1/events` and its batch (API 4)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from service.errors import FieldError, InvalidBody, MissingScope, Problem
from service.intake.receive import SCOPE_OF, receive, refused
from service.web.calls import Call, answered, call, checked, routes
from service.web.invalid import refuse_broken_ids
from statemachine.entries import EVENT_TYPES, Event, FactStated, HardEvent

BATCH_EVENTS = 500

router = routes("events")

EXAMPLES: dict[str, dict[str, Any]] = {
    "a due is opened": {
        "event_id": "e-1",
        "type": "cycle.opened",
        "occurred_at": "2026-11-01T00:00:00+05:30",
        "borrower_id": "B-101",
        "cycle_id": "2026-11",
        "loan_id": "LN-1",
        "due_date": "2026-12-05",
        "amount_due": "12500.00",
        "currency": "INR",
    },
    "a number is linked": {
        "event_id": "e-2",
        "type": "identifier.linked",
        "occurred_at": "2026-11-01T00:00:00+05:30",
        "borrower_id": "B-101",
        "identifier": {"kind": "phone", "value": "+919000000101"},
    },
    "identity is verified": {
        "event_id": "e-3",
        "type": "identity.verified",
        "occurred_at": "2026-11-28T18:26:00+05:30",
        "identifier": {"kind": "phone", "value": "+919000000101"},
        "channel": "whatsapp",
        "method": "otp",
    },
    "a reminder was delivered": {
        "event_id": "e-4",
        "type": "reminder.sent",
        "occurred_at": "2026-11-29T10:30:00+05:30",
        "borrower_id": "B-101",
        "channel": "whatsapp",
        "message_id": "m-1",
        "outcome": "delivered",
    },
    "a payment arrived": {
        "event_id": "e-5",
        "type": "payment.confirmed",
        "occurred_at": "2026-11-29T12:00:00+05:30",
        "borrower_id": "B-101",
        "payment_ref": "P-1",
        "amount": "5000.00",
        "currency": "INR",
    },
}


class Batch(BaseModel):
    """1 to 500 events, each answered for itself."""

    events: list[HardEvent]


@call(
    router,
    "POST",
    "/v1/events",
    "post_event",
    scope=None,
    body=HardEvent,
    examples=EXAMPLES,
    answers="`200 merged` or `duplicate`, `202 accepted`; `403 missing_scope` names the scope its type needs.",
)
async def post_event(call: Call) -> Response:
    """A hard event, told by the system that did it."""
    body = event_of(call, await call.read(), call.repaired)
    return (await receive(call, [(body, call.repaired)]))[0].response()


@call(
    router,
    "POST",
    "/v1/events/batch",
    "post_events",
    scope=None,
    body=Batch,
    examples={"two events": {"events": [EXAMPLES["identity is verified"], EXAMPLES["a reminder was delivered"]]}},
    answers="200 with a result for each event, in order; a bad one does not lose its neighbours.",
)
async def post_events(call: Call) -> Response:
    """Up to 500 hard events in one call."""
    document, repaired = await call.read_batch("events")
    events = _listed(document)
    read: list[Event | Problem] = []
    for index, item in enumerate(events):
        try:
            texts = repaired.get(index, ())
            refuse_broken_ids(texts)
            read.append(event_of(call, item, texts))
        except Problem as problem:
            read.append(problem)
    events_read = [(e, repaired.get(index, ())) for index, e in enumerate(read) if isinstance(e, Event)]
    taken = iter(await receive(call, events_read))
    results = [refused(e) if isinstance(e, Problem) else next(taken) for e in read]
    return answered({"results": [result.in_batch(index) for index, result in enumerate(results)]})


def event_of(call: Call, document: Any, repaired: tuple[str, ...]) -> Event:
    """The document as the event of its type. Raises `MissingScope` before its fields are looked at, and `InvalidBody`."""
    if not isinstance(document, dict):
        return checked(FactStated, document, repaired)
    type_ = document.get("type")
    if not isinstance(type_, str):
        raise InvalidBody([FieldError("type", "missing" if type_ is None else "wrong_type")])
    model = EVENT_TYPES.get(type_)
    if model is None:
        raise InvalidBody([FieldError("type", "unknown_type")])
    scopes = [SCOPE_OF[letter] for letter in model.senders]
    if not any(scope in call.key.scopes for scope in scopes):
        raise MissingScope(scopes[0])
    return checked(model, document, repaired)


def _listed(document: Any) -> list[Any]:
    """The events of a batch; raises `InvalidBody` for anything else than 1 to 500 in a list."""
    if not isinstance(document, dict):
        raise InvalidBody([FieldError("body", "wrong_type")])
    if unknown := sorted(set(document) - {"events"}):
        raise InvalidBody([FieldError(name, "unknown_field") for name in unknown])
    events = document.get("events")
    if not isinstance(events, list):
        raise InvalidBody([FieldError("events", "missing" if events is None else "wrong_type")])
    if not events:
        raise InvalidBody([FieldError("events", "missing")])
    if len(events) > BATCH_EVENTS:
        raise InvalidBody([FieldError("events", "too_many")])
    return events
