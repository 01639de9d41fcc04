"""The API over the embedded service without a socket, at a time that stands still: for tables of what is answered.

The service beneath is the real one (`embedded`); only the clock is the test's.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from service import settings
from service.intake.durable import TableIntake
from service.keys import SCOPES, create
from service.policy import Policies, Policy
from service.web.app import application
from service.wiring import Parts
from tests.service.embedded import SECRETS, TENANT, Embedded, embedded

Body = dict[str, Any]
ALWAYS = ("00:00", "24:00")
NOWHERE = "http://127.0.0.1:9"


@dataclass
class Answer:
    """A status and a document; `[...]` looks into the document."""

    status: int
    document: Any

    def __getitem__(self, name: str) -> Any:
        return self.document[name]


@dataclass
class Api:
    """What callers see, and what stands behind it. Times in bodies count from `now`."""

    parts: Parts
    behind: Embedded
    client: httpx.AsyncClient
    transport: httpx.ASGITransport
    """For clients of a test's own."""
    made: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        return self.behind.now

    def ago(self, **span: float) -> str:
        return (self.now - timedelta(**span)).isoformat()

    def day(self, days: int) -> str:
        return (self.now + timedelta(days=days)).date().isoformat()

    def name(self, kind: str) -> str:
        """A fresh id, so that rows of one table know nothing of each other."""
        self.made += 1
        return f"{kind}-{self.made}"

    def phone(self) -> Body:
        self.made += 1
        return {"kind": "phone", "value": f"+9190000{self.made:05d}"}

    async def call(self, method: str, path: str, body: Any = None) -> Answer:
        content = None if body is None else json.dumps(body).encode()
        answer = await self.client.request(method, path, content=content)
        return Answer(answer.status_code, answer.json())

    async def get(self, path: str) -> Answer:
        return await self.call("GET", path)

    async def post(self, path: str, body: Any) -> Answer:
        return await self.call("POST", path, body)

    async def event(self, type_: str, borrower: str | None = None, hours: float = 1, **own: Any) -> Answer:
        """Something that happened so many hours ago."""
        body = {"event_id": self.name("e"), "type": type_, "occurred_at": self.ago(hours=hours)}
        who = {} if borrower is None else {"borrower_id": borrower}
        return await self.post("/v1/events", body | who | own)

    async def told(self, borrower: str | None = None, hours: float = 1, channel: str = "voice", **own: Any) -> Answer:
        """A conversation that ended so many hours ago."""
        body = {"channel": channel, "conversation_id": self.name("c"), "ended_at": self.ago(hours=hours)}
        who = {} if borrower is None else {"borrower_id": borrower}
        return await self.post("/v1/summaries", body | {"outcome": "connected"} | who | own)

    def promise(self, status: str = "proposed", amount: str = "5000", days: int = 5, **own: Any) -> Body:
        read_back = {"read_back": True} if status == "confirmed" else {}
        return {"amount": amount, "due_date": self.day(days), "status": status} | read_back | own

    async def resume(self, borrower: str | None = None, channel: str = "voice", **own: Any) -> Answer:
        who = {} if borrower is None else {"borrower_id": borrower}
        return await self.post("/v1/resume", {"channel": channel, **who, **own})

    async def known(self, hours: float = 200) -> tuple[str, Body]:
        """Somebody with a number, verified on it so many hours ago."""
        borrower, phone = self.name("B"), self.phone()
        await self.event("identifier.linked", borrower, hours=hours, identifier=phone)
        await self.event("identity.verified", borrower, hours=hours, identifier=phone, method="otp", channel="whatsapp")
        return borrower, phone


class _Lent:
    """An application that is given to one `api` after the other: the framework works out each call anew in each application,
    which takes longer than most tests. What is of a test, its parts, the application looks up at each request."""

    def __init__(self) -> None:
        self.app = application(self)  # type: ignore[arg-type]

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        self.app.state.parts.observe(method, route, status, seconds)


_idle: list[_Lent] = []


@contextlib.contextmanager
def _lent(parts: Parts, *, fresh: bool) -> Iterator[httpx.ASGITransport]:
    """The API over these parts, in nobody else's hands meanwhile."""
    lent = _idle.pop() if _idle and not fresh else _Lent()
    lent.app.state.parts = parts
    yield httpx.ASGITransport(lent.app)
    if not fresh:
        _idle.append(lent)


@contextlib.asynccontextmanager
async def api(
    folder: Path,
    policies: Policies | None = None,
    *,
    model: str | None = None,
    where: Path | str | None = None,
    fresh: bool = False,
    **policy: Any,
) -> AsyncIterator[Api]:
    """Opened on a store of its own, or `where`, with a key of every scope. `model`: one that is there, and that nobody asks.
    `fresh`: with an application of its own, which nobody has asked yet."""
    async with embedded(where or folder / "memory.db", writing=False) as behind:
        writer = behind.write(
            saved=lambda saved: parts.proposals.saved(saved), counted=lambda batch: parts.deliveries.saved(batch)
        )
        environment = {"BORROWER_MEMORY_LLM_BASE_URL": NOWHERE, "BORROWER_MEMORY_LLM_MODEL": model} if model else {}
        parts = Parts(
            settings=settings.load(environment, directory=folder),
            policies=policies or Policies(Policy(**{"contact_hours": ALWAYS, **policy})),
            secrets=SECRETS,
            database=behind.database,
            intake=TableIntake(behind.log, behind.outcomes, writer),
            clock=behind.clock,
        )
        key, _ = await behind.database.write(lambda c: create(c, TENANT, SCOPES, behind.now))
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        with _lent(parts, fresh=fresh) as transport:
            async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
                yield Api(parts, behind, client, transport)
        await parts.proposals.close()
        await parts.resumes.flush()
