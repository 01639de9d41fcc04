"""How voice platforms list what a hook may have lost: what to ask, what a page holds, and the body that the hook would have had.

    vapi         GET  /call                        whole calls, newest first
    retell       POST /v3/list-calls               ids and stamps, newest first; GET /v2/get-call/{id}
    bland        GET  /v1/calls                    ids and stamps; GET /v1/calls/{id}
    elevenlabs   GET  /v1/convai/conversations     ids and states; GET /v1/convai/conversations/{id}

A body that is made here goes the way of one that was posted, under the same keys, so what came already is a repeat. Whatever a
page does not say as expected ends the listing; nothing here speaks to anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from channels import fields

PAGE: Final = 100
ENDED_VAPI: Final = "ended"
ENDED_RETELL: Final = frozenset({"ended", "error", "not_connected"})
ENDED_ELEVENLABS: Final = frozenset({"done", "failed"})

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: a path beneath the vendor's origin, with its query, and with a body when it is posted."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    posted: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The calls of one answer that are over: whole (`documents`), or by their ids. `next_ask` is null on the last page."""

    ids: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()
    next_ask: Ask | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """One vendor. `detail`: where a call is read by its id, null where the list has it whole."""

    origin: str
    headers: Callable[[str], Mapping[str, str]]
    first: Callable[[datetime], Ask]
    page: Callable[[Any, Ask, datetime], Page]
    detail: Callable[[str], Ask] | None
    body: Callable[[Document], Document]


def _bearer(key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _listed(answer: Any, *names: str) -> Sequence[Document]:
    """The objects of a list, or of the member that holds it."""
    held = answer
    if isinstance(answer, dict):
        held = next((answer[name] for name in names if isinstance(answer.get(name), list)), None)
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []


def _ids(found: Sequence[Document], *names: str) -> tuple[str, ...]:
    told = (next((one[name] for name in names if isinstance(one.get(name), str) and one[name]), None) for one in found)
    return tuple(id_ for id_ in told if id_ is not None)


# -- vapi -----------------------------------------------------------------------------------------------------------------


def _vapi_first(since: datetime) -> Ask:
    return Ask("/call", {"createdAtGe": since.isoformat(), "limit": str(PAGE)})


def _vapi_page(answer: Any, asked: Ask, since: datetime) -> Page:
    found = _listed(answer)
    oldest = min((at for one in found if isinstance(at := one.get("createdAt"), str)), default=None)
    further = len(found) == PAGE and oldest is not None and asked.query.get("createdAtLt") != oldest
    return Page(
        documents=tuple(one for one in found if one.get("status") == ENDED_VAPI),
        next_ask=Ask(asked.path, {**asked.query, "createdAtLt": oldest}) if further and oldest else None,
    )


def _vapi_body(call: Document) -> Document:
    told = ("startedAt", "endedAt", "endedReason", "cost", "costs", "customer", "phoneNumber", "artifact", "analysis")
    message = {name: call[name] for name in told if name in call}
    return {"message": {"type": "end-of-call-report", **message, "call": call}}


# -- retell ---------------------------------------------------------------------------------------------------------------


def _retell_first(since: datetime) -> Ask:
    return Ask("/v3/list-calls", posted={"limit": PAGE, "sort_order": "descending"})


def _started(call: Document) -> datetime | None:
    return fields.epoch(call.get("start_timestamp"), fields.MILLISECONDS)


def _retell_page(answer: Any, asked: Ask, since: datetime) -> Page:
    found = _listed(answer, "items", "calls", "data")
    starts = [at for one in found if (at := _started(one)) is not None]
    recent = [one for one in found if (at := _started(one)) is None or at >= since]
    key = answer.get("pagination_key") if isinstance(answer, dict) else None
    if not isinstance(key, str) and isinstance(answer, list) and len(found) == PAGE:
        key = next(iter(_ids(found[-1:], "call_id")), None)
    further = bool(found) and isinstance(key, str) and (not starts or min(starts) >= since)
    return Page(
        ids=_ids([one for one in recent if one.get("call_status") in ENDED_RETELL], "call_id"),
        next_ask=Ask(asked.path, posted={**(asked.posted or {}), "pagination_key": key}) if further else None,
    )


def _retell_body(call: Document) -> Document:
    return {"event": "call_analyzed" if call.get("call_analysis") else "call_ended", "call": call}


# -- bland ----------------------------------------------------------------------------------------------------------------


def _bland_first(since: datetime) -> Ask:
    return Ask("/v1/calls", {"start_date": since.date().isoformat(), "from": "0", "to": str(PAGE)})


def _bland_page(answer: Any, asked: Ask, since: datetime) -> Page:
    found = _listed(answer, "calls")
    start = int(asked.query["from"]) + PAGE
    query = {**asked.query, "from": str(start), "to": str(start + PAGE)}
    return Page(
        ids=_ids([one for one in found if fields.truth(one.get("completed")) is not False], "call_id", "c_id"),
        next_ask=Ask(asked.path, query) if len(found) >= PAGE else None,
    )


# -- elevenlabs -----------------------------------------------------------------------------------------------------------


def _elevenlabs_first(since: datetime) -> Ask:
    query = {"call_start_after_unix": str(int(since.timestamp())), "page_size": str(PAGE)}
    return Ask("/v1/convai/conversations", query)


def _elevenlabs_page(answer: Any, asked: Ask, since: datetime) -> Page:
    found = _listed(answer, "conversations")
    cursor = answer.get("next_cursor") if isinstance(answer, dict) and answer.get("has_more") is True else None
    return Page(
        ids=_ids([one for one in found if one.get("status") in ENDED_ELEVENLABS], "conversation_id"),
        next_ask=Ask(asked.path, {**asked.query, "cursor": cursor}) if isinstance(cursor, str) and cursor else None,
    )


def _elevenlabs_body(conversation: Document) -> Document:
    return {"type": "post_call_transcription", "data": conversation}


def _at(path: str) -> Callable[[str], Ask]:
    return lambda id_: Ask(path.format(quote(id_, safe="")))


LISTINGS: Final[Mapping[str, Listing]] = MappingProxyType(
    {
        "vapi": Listing("https://api.vapi.ai", _bearer, _vapi_first, _vapi_page, None, _vapi_body),
        "retell": Listing(
            "https://api.retellai.com", _bearer, _retell_first, _retell_page, _at("/v2/get-call/{}"), _retell_body
        ),
        "bland": Listing(
            "https://api.bland.ai",
            lambda key: {"authorization": key},
            _bland_first,
            _bland_page,
            _at("/v1/calls/{}"),
            lambda call: call,
        ),
        "elevenlabs": Listing(
            "https://api.elevenlabs.io",
            lambda key: {"xi-api-key": key},
            _elevenlabs_first,
            _elevenlabs_page,
            _at("/v1/convai/conversations/{}"),
            _elevenlabs_body,
        ),
    }
)
"""By the vendor's name. Each origin is the default; another one is given for an account in another region."""
