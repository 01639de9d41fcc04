"""What the acceptance tests share: one running service, tenants of it, and borrowers who say and do things through HTTP.

Every test has borrowers of its own, so they do not see each other. Nothing here knows what is right: it posts, reads, and
hands back what was answered. A call that answers another status than was expected fails there and then.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from service.keys import create
from service.sqlite import SqliteDatabase
from tests.together.service import ALL_SCOPES, ALWAYS, Service, ago, running

Json = dict[str, Any]

_NUMBERS = itertools.count()


def another() -> int:
    """A number that no other caller of this run gets."""
    return next(_NUMBERS)


def phone(number: str) -> Json:
    return {"kind": "phone", "value": number}


def day(ahead: int = 0) -> str:
    """A date so many days from today, where the borrowers are."""
    return (datetime.now(ZoneInfo("Asia/Kolkata")) + timedelta(days=ahead)).date().isoformat()


def promise(amount: object = "5000", due: str | None = None, status: str | None = "proposed", **more: Any) -> Json:
    """A commitment with an amount and a date, by default five days ahead."""
    terms = {"amount": amount, "currency": "INR", "due_date": due or day(5), "status": status}
    return {name: value for name, value in (terms | more).items() if value is not None}


def confirmed(amount: object = "5000", due: str | None = None, **more: Any) -> Json:
    """A commitment that was read back on the phone."""
    return promise(amount, due, "confirmed", read_back=True, **more)


def said(*turns: str) -> list[Json]:
    """Turns from lines such as `borrower: kal de dunga`."""
    pairs = (turn.split(": ", 1) for turn in turns)
    return [{"speaker": speaker, "text": text} for speaker, text in pairs]


def warned(answer: Json) -> set[str]:
    """The codes of the warnings of a write."""
    return {warning["code"] for warning in answer["warnings"]}


def rules(answer: Json) -> set[str]:
    """The rules that refused what was proposed to a resume."""
    return {refusal["rule"] for refusal in answer["refusals"]}


def terms(commitment: Json | None) -> tuple[Any, ...] | None:
    """Status, amount and due date of a commitment as it is answered."""
    return commitment and (commitment["status"], commitment["amount"], commitment["due_date"])


class Tenant:
    """The calls of one tenant."""

    def __init__(self, service: Service, name: str = "acme", scopes: str = ALL_SCOPES, key: str | None = None) -> None:
        self.service, self.name = service, name
        self.key = key or new_key(service, name, scopes)
        headers = {"Authorization": f"Bearer {self.key}"}
        self.http = httpx.Client(base_url=service.url, headers=headers, timeout=30)

    def call(self, method: str, path: str, body: Any = None, *, status: int | None = 200, **query: Any) -> Any:
        """What is answered, as JSON; `status` is what is expected, None for anything."""
        params = {name: value for name, value in query.items() if value is not None}
        answer = self.http.request(method, path, json=body, params=params or None)
        assert status is None or answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def get(self, path: str, *, status: int | None = 200, **query: Any) -> Any:
        return self.call("GET", path, status=status, **query)

    def post(self, path: str, body: Any, *, status: int | None = 200) -> Any:
        return self.call("POST", path, body, status=status)

    def raw(self, path: str, content: bytes) -> httpx.Response:
        """A post of these very bytes."""
        return self.http.post(path, content=content, headers={"Content-Type": "application/json"})

    def summary(self, *, status: int | None = 200, **fields: Any) -> Any:
        """Posts a conversation with the borrower that ended a minute ago, but for what is named."""
        body = {
            "channel": "whatsapp",
            "conversation_id": f"c-{another()}",
            "ended_at": ago(minutes=1),
            "outcome": "connected",
        }
        return self.post("/v1/summaries", body | fields, status=status)

    def event(self, type_: str, *, status: int | None = 200, **fields: Any) -> Any:
        """Posts an event of half a minute ago, but for what is named."""
        body = {"event_id": f"e-{another()}", "type": type_, "occurred_at": ago(seconds=30)}
        return self.post("/v1/events", body | fields, status=status)

    def resume(self, channel: str = "voice", *, status: int | None = 200, **fields: Any) -> Any:
        return self.post("/v1/resume", {"channel": channel, **fields}, status=status)

    def lookup(self, *, status: int | None = 200, **who: Any) -> Any:
        return self.post("/v1/borrowers/lookup", who, status=status)

    def borrower(self, id_: str | None = None, number: str | None = None) -> Borrower:
        count = another()
        return Borrower(self, id_ or f"B-{count}", number or f"+91900000{count:04d}")

    def close(self) -> None:
        self.http.close()


class Borrower:
    """One borrower of a tenant, by id; `number` is linked to them by `link` or `verify` alone."""

    def __init__(self, tenant: Tenant, id_: str, number: str) -> None:
        self.tenant, self.id, self.number = tenant, id_, number

    @property
    def phone(self) -> Json:
        return phone(self.number)

    # -- what happens

    def says(self, channel: str = "whatsapp", commitment: Json | None = None, **fields: Any) -> Any:
        """A conversation that ended, and the answer to its summary."""
        own = {"borrower_id": self.id, "channel": channel, "commitment": commitment}
        return self.tenant.summary(**(own | fields))

    def event(self, type_: str, **fields: Any) -> Any:
        return self.tenant.event(type_, **({"borrower_id": self.id} | fields))

    def link(self, **fields: Any) -> Any:
        return self.event("identifier.linked", **({"identifier": self.phone, "occurred_at": ago(days=9)} | fields))

    def verify(self, **fields: Any) -> Any:
        """The number is linked, and then verified an hour ago."""
        self.link()
        verified = {"identifier": self.phone, "method": "otp", "channel": "whatsapp", "occurred_at": ago(hours=1)}
        return self.event("identity.verified", **(verified | fields))

    def opens(self, cycle: str = "CY-1", loan: str | None = None, amount: str = "12500", **fields: Any) -> Any:
        """A due of a loan of theirs, opened ten days ago for five days ahead."""
        opened = {
            "cycle_id": cycle,
            "loan_id": loan or f"LN-{self.id}",
            "amount_due": amount,
            "currency": "INR",
            "due_date": day(5),
            "occurred_at": ago(days=10),
        }
        return self.event("cycle.opened", **(opened | fields))

    def pays(self, amount: str, ref: str | None = None, **fields: Any) -> Any:
        paid = {"payment_ref": ref or f"P-{another()}", "amount": amount, "currency": "INR"}
        return self.event("payment.confirmed", **(paid | fields))

    def is_sent(self, type_: str = "reminder.sent", outcome: str = "delivered", **fields: Any) -> Any:
        """A message of ours to them."""
        sent = {"channel": "whatsapp", "message_id": f"m-{another()}", "outcome": outcome}
        return self.event(type_, **(sent | fields))

    # -- what is read

    def resume(self, channel: str = "voice", **fields: Any) -> Any:
        """From their own number, as a caller who knows the id as well."""
        return self.tenant.resume(channel, **({"borrower_id": self.id, "identifier": self.phone} | fields))

    def proposed(self, state: Any, channel: str = "voice", **fields: Any) -> Any:
        """What a resume answers to a proposal of this state."""
        return self.resume(channel, proposal={"state": state}, **fields)

    def read(self, what: str = "", *, status: int | None = 200, **query: Any) -> Any:
        path = f"/v1/borrowers/{self.id}" + (f"/{what}" if what else "")
        return self.tenant.get(path, status=status, **query)

    def commitment(self, **query: Any) -> Any:
        return self.read(**query)["commitment"]

    def flags(self, **query: Any) -> dict[str, bool]:
        answer = self.read("flags", **query)
        return {name: answer[name]["value"] for name in ("reminded", "payment_link_shared", "payment_confirmed")}

    def briefing(self, channel: str = "voice", **query: Any) -> str:
        text: str = self.read("briefing", channel=channel, **query)["text"]
        return text

    def timeline(self) -> list[Json]:
        items: list[Json] = self.read("timeline", limit=200)["items"]
        return items

    def permit(self, action: str = "reminder", *, status: int | None = 201, **fields: Any) -> Any:
        asked = {"action": action, "channel": "whatsapp", "holder": f"run-{another()}"}
        return self.tenant.post(f"/v1/borrowers/{self.id}/permits", asked | fields, status=status)

    def refused(self, action: str = "reminder", **fields: Any) -> str:
        """Why there is no permit."""
        reason: str = self.permit(action, status=409, **fields)["reason"]
        return reason


def new_key(service: Service, tenant: str, scopes: str = ALL_SCOPES) -> str:
    """A key made beside the running service; the command that does so is tried in a test of its own."""

    async def make() -> str:
        database = await SqliteDatabase.open(service.folder / "memory.db")
        try:
            wanted = scopes.split(",")
            return (await database.write(lambda conn: create(conn, tenant, wanted, datetime.now(UTC))))[0]
        finally:
            await database.close()

    return asyncio.run(make())


def log_lines(service: Service) -> list[Json]:
    """The service's log so far, which is JSON but for the line that says where it listens."""
    lines = (service.folder / "log").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests that need no other: to start one takes longer than most of them."""
    with running(tmp_path_factory.mktemp("shared"), policy=ALWAYS) as service:
        yield service


@pytest.fixture(scope="session")
def acme(shared_service: Service) -> Iterator[Tenant]:
    tenant = Tenant(shared_service)
    yield tenant
    tenant.close()


@pytest.fixture
def borrower(acme: Tenant) -> Borrower:
    return acme.borrower()
