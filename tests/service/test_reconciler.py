"""What a hook lost is fetched from the vendor's list: a stand-in speaks each vendor's shapes."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from channels.voice.listing import LISTINGS, PAGE
from service.hooks import bodies
from service.hooks.taking import take
from service.hooks.worker import parsed
from service.reconciler import Address, CannotReconcile, Reconciled, reconcile
from tests.limits import STAND_IN_POLL_SECONDS
from tests.service.api import Api, api
from tests.service.embedded import TENANT

KEY = "key-of-a-test"
CALLS = 5


class Vendor:
    """A vendor's API on loopback. `documents`: by id, calls as its detail tells them; `page`: how many of a page."""

    def __init__(self, name: str, documents: list[dict[str, Any]], page: int) -> None:
        self.name, self.documents, self.page = name, documents, page
        self.asked: list[str] = []
        self.fails_with: int | None = None
        self.fails_at: dict[str, int] = {}
        """By the id of a call, with which status its whole is refused."""

    def __enter__(self) -> Vendor:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer({})

            def do_POST(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, posted: dict[str, Any]) -> None:
                url = urlsplit(self.path)
                outer.asked.append(f"{self.command} {url.path}")
                keys = (self.headers.get("Authorization"), self.headers.get("xi-api-key"))
                allowed = KEY in {(key or "").removeprefix("Bearer ") for key in keys}
                of_one = outer.fails_at.get(url.path.rpartition("/")[2])
                status = outer.fails_with or of_one or (200 if allowed else 401)
                answer = json.dumps(outer.answer(self.command, url.path, dict(parse_qsl(url.query)), posted)).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(STAND_IN_POLL_SECONDS,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, query: Mapping[str, str], posted: Mapping[str, Any]) -> Any:
        match self.name, method, path.rpartition("/"):
            case "vapi", "GET", ("", "/", "call"):
                older = [d for d in self.documents if d["createdAt"] < query.get("createdAtLt", "9")]
                return older[: self.page]
            case "retell", "POST", ("/v3", "/", "list-calls"):
                names = ("call_id", "call_status", "start_timestamp")
                return self._paged([{n: d[n] for n in names} for d in self.documents], posted.get("pagination_key"))
            case "bland", "GET", ("/v1", "/", "calls"):
                start = int(query["from"])
                shown = self.documents[start : int(query["to"])]
                return {"calls": [{"call_id": d["call_id"], "completed": d["completed"]} for d in shown]}
            case "elevenlabs", "GET", ("/v1/convai", "/", "conversations"):
                names = ("conversation_id", "status")
                told = self._paged([{n: d[n] for n in names} for d in self.documents], query.get("cursor"))
                key = told.get("pagination_key")
                return {"conversations": told["items"], "has_more": key is not None, "next_cursor": key}
            case _, "GET", (_, _, id_):
                return next(d for d in self.documents if id_ in (d.get("call_id"), d.get("conversation_id")))
        raise AssertionError(f"{self.name} was asked {method} {path}")

    def _paged(self, items: list[dict[str, Any]], key: Any) -> dict[str, Any]:
        start = int(key or 0)
        end = start + self.page
        return {"items": items[start:end], **({"pagination_key": str(end)} if end < len(items) else {})}


def call(vendor: str, number: int, service: Api) -> dict[str, Any]:
    """A call of an hour and more ago, as the vendor's API has it."""
    at = service.now - timedelta(hours=1 + number)
    end = at + timedelta(minutes=2)
    who = f"+9190000{number:05d}"
    turns = ("Namaste", "ok 25 ko 5000 de dungi")
    ms, stamp = int(at.timestamp() * 1000), at.isoformat().replace("+00:00", "Z")
    match vendor:
        case "vapi":
            return {
                "id": f"v-{number}", "type": "outboundPhoneCall", "status": "ended", "createdAt": stamp,
                "startedAt": stamp, "endedAt": end.isoformat(), "endedReason": "customer-ended-call",
                "customer": {"number": who}, "analysis": {"summary": "They said ok."},
                "artifact": {"messages": [{"role": "bot", "message": turns[0]}, {"role": "user", "message": turns[1]}]},
            }  # fmt: skip
        case "retell":
            return {
                "call_id": f"r-{number}", "call_status": "ended", "direction": "outbound", "to_number": who,
                "from_number": "+918000000000", "start_timestamp": ms, "end_timestamp": ms + 120_000,
                "disconnection_reason": "user_hangup", "call_analysis": {"call_summary": "They said ok."},
                "transcript_object": [{"role": "agent", "content": turns[0]}, {"role": "user", "content": turns[1]}],
            }  # fmt: skip
        case "bland":
            return {
                "call_id": f"b-{number}", "completed": True, "inbound": False, "to": who, "from": "+918000000000",
                "started_at": stamp, "created_at": stamp, "call_length": 2.0, "status": "completed",
                "answered_by": "human", "summary": "They said ok.",
                "transcripts": [{"user": "assistant", "text": turns[0]}, {"user": "user", "text": turns[1]}],
            }  # fmt: skip
    return {
        "conversation_id": f"e-{number}", "status": "done", "agent_id": "a",
        "transcript": [{"role": "agent", "message": turns[0], "time_in_call_secs": 0},
                       {"role": "user", "message": turns[1], "time_in_call_secs": 5}],
        "metadata": {"start_time_unix_secs": ms // 1000, "call_duration_secs": 120,
                     "phone_call": {"direction": "outbound", "external_number": who}},
        "analysis": {"transcript_summary": "They said ok."},
    }  # fmt: skip


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Api]:
    async with api(tmp_path) as opened:
        yield opened


GIVEN_ONE_BY_ONE = [name for name, listing in sorted(LISTINGS.items()) if listing.detail is not None]
"""Vendors whose list has not the calls whole."""


@pytest.fixture(params=sorted(LISTINGS))
def vendor(request: pytest.FixtureRequest, service: Api) -> Iterator[Vendor]:
    name: str = request.param
    documents = [call(name, number, service) for number in range(CALLS)]
    if name == "retell":
        documents.append({**call(name, 400, service), "call_id": "r-old"})
    page = PAGE if name in ("vapi", "bland") else 2
    with Vendor(name, documents, page) as running:
        yield running


async def reconciled(service: Api, vendor: Vendor, key: str = KEY) -> Reconciled:
    address = Address("h_1", TENANT, "voice", vendor.name, None)
    return await reconcile(service.parts, address, key, service.now - timedelta(days=1), origin=vendor.url)


async def read_bodies(service: Api) -> None:
    """As the service reads what is stored."""
    database = service.parts.database
    for id_ in await database.read(lambda conn: bodies.waiting(conn, service.now, 100)):
        body = await database.read(lambda conn, id_=id_: bodies.load(conn, id_))  # type: ignore[misc]
        assert body is not None
        await take(service.parts, body, parsed(service.parts, body))
        await database.write(lambda conn, id_=id_: bodies.finish(conn, id_))  # type: ignore[misc]


async def test_what_a_hook_lost_is_fetched_once_and_told_like_what_was_posted(service: Api, vendor: Vendor) -> None:
    first = await reconciled(service, vendor)
    assert (first.listed, first.stored, first.known, first.unreadable, first.ignored) == (CALLS, CALLS, 0, 0, 0)
    await read_bodies(service)
    stats = (await service.get("/v1/ops/stats")).document
    assert (stats["conversations"], stats["set_aside"]) == (CALLS, 0)
    again = await reconciled(service, vendor)
    assert (again.stored, again.known) == (0, CALLS)
    found = await service.post("/v1/borrowers/lookup", {"identifier": {"kind": "phone", "value": "+919000000003"}})
    assert found.status == 404, "nothing is linked by it"


async def test_a_call_that_goes_on_is_not_taken(service: Api, vendor: Vendor) -> None:
    state = {"vapi": ("status", "in-progress"), "retell": ("call_status", "ongoing"), "bland": ("completed", False),
             "elevenlabs": ("status", "processing")}  # fmt: skip
    name, value = state[vendor.name]
    vendor.documents[0][name] = value
    assert (await reconciled(service, vendor)).stored == CALLS - 1


@pytest.mark.parametrize("status", [401, 429, 500])
async def test_a_vendor_that_refuses_is_told_in_a_sentence(service: Api, vendor: Vendor, status: int) -> None:
    vendor.fails_with = status
    with pytest.raises(CannotReconcile, match=str(status)):
        await reconciled(service, vendor)


@pytest.mark.thorough
@pytest.mark.parametrize("vendor", GIVEN_ONE_BY_ONE, indirect=True)
@pytest.mark.parametrize("status", [404, 410, 500, 503])
async def test_a_call_that_the_vendor_does_not_give_keeps_none_of_the_others_from_coming(
    service: Api, vendor: Vendor, status: int
) -> None:
    vendor.fails_at = {str(vendor.documents[1].get("call_id") or vendor.documents[1].get("conversation_id")): status}
    done = await reconciled(service, vendor)
    assert (done.listed, done.stored, done.unreadable) == (CALLS, CALLS - 1, 1)
    vendor.fails_at = {}
    await read_bodies(service)
    again = await reconciled(service, vendor)
    assert (again.stored, again.unreadable) == (1, 0)


@pytest.mark.parametrize("vendor", GIVEN_ONE_BY_ONE, indirect=True)
@pytest.mark.parametrize("status", [401, 403, 429])
async def test_what_would_be_so_with_every_call_ends_it(service: Api, vendor: Vendor, status: int) -> None:
    vendor.fails_at = {str(vendor.documents[0].get("call_id") or vendor.documents[0].get("conversation_id")): status}
    with pytest.raises(CannotReconcile, match=str(status)):
        await reconciled(service, vendor)


async def test_the_key_goes_to_the_vendor_as_the_vendor_wants_it(service: Api, vendor: Vendor) -> None:
    with pytest.raises(CannotReconcile, match="401"):
        await reconciled(service, vendor, key="another")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "answer", [None, 5, "x", {}, [], [5], {"calls": "x"}, {"conversations": [None]}, {"items": [{}]}]
)
async def test_an_answer_of_another_form_takes_nothing_and_breaks_nothing(
    service: Api, vendor: Vendor, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendor, "answer", lambda *_: answer)
    assert (await reconciled(service, vendor)).stored == 0


async def test_a_vendor_without_a_list_is_named(service: Api) -> None:
    address = Address("h_1", TENANT, "voice", "exotel", None)
    with pytest.raises(CannotReconcile, match="exotel"):
        await reconcile(service.parts, address, KEY, service.now)


async def test_many_calls_are_asked_for_page_by_page(service: Api) -> None:
    documents = [call("vapi", 0, service) for _ in range(PAGE + 3)]
    for number, document in enumerate(documents):
        at = service.now - timedelta(hours=1, seconds=number)
        document.update(id=f"v-{number}", createdAt=at.isoformat())
    with Vendor("vapi", documents, PAGE) as vendor:
        assert (await reconciled(service, vendor)).stored == PAGE + 3
        assert vendor.asked == ["GET /call"] * 2
