"""A vendor posting to the API of the embedded service, without a socket, at a time that stands still."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from channels.vendors import VENDORS
from service.chats.sweeper import Sweeper
from service.hooks import registry
from service.summariser import Summariser
from tests.service.api import Answer, Api, api
from tests.service.embedded import SECRETS, TENANT
from tests.vendors import SECRET, Sample, signed

ORIGIN = "https://hooks.example.invalid"
AFTER_ALL = datetime(2026, 11, 28, 6, tzinfo=UTC)
"""A time behind every body's."""


@dataclass
class Posting:
    """The API, and a vendor that posts to it."""

    api: Api

    async def hook(self, channel: str, vendor: str, **own: Any) -> registry.Hook:
        made = {"secret": SECRET, "public_url": ORIGIN, **own}
        return await self.api.parts.database.write(
            lambda conn: registry.create(
                conn, VENDORS, SECRETS, self.api.now, tenant=TENANT, channel=channel, vendor=vendor, **made
            )
        )

    async def raw(
        self,
        hook: registry.Hook,
        body: bytes,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Posted and signed afresh, or with these headers; read to its end before it is answered here."""
        if headers is None:
            headers = signed(hook.channel, hook.vendor, body, self.api.now, url=ORIGIN + hook.path)
        answer = await self.api.client.post(
            hook.path, content=body, headers={"authorization": "", **headers, "content-type": content_type}
        )
        await self.read()
        return Answer(answer.status_code, answer.json())

    async def post(self, sample: Sample, hook: registry.Hook | None = None) -> Answer:
        return await self.raw(hook or await self.hook(sample.channel, sample.vendor), sample.raw, sample.content_type)

    async def read(self) -> None:
        """Until everything that was stored is read, and everything that was told is merged."""
        await self.api.parts.hook_worker.settle()
        await self.api.behind.settled()

    async def summarise(self) -> None:
        """Chats that fell quiet are summarised, a minute later."""
        self.api.behind.now += timedelta(minutes=1)
        sweeper = Sweeper(self.api.parts, Summariser(None), "test")
        while await sweeper.sweep():
            pass
        await self.api.behind.settled()

    async def asides(self, status: str = "open") -> list[dict[str, Any]]:
        answer = await self.api.get(f"/v1/ops/set-aside?status={status}")
        items: list[dict[str, Any]] = answer["items"]
        return items

    async def borrower(self, borrower: str) -> Answer:
        return await self.api.get(f"/v1/borrowers/{borrower}")

    async def promise(self, borrower: str) -> dict[str, Any]:
        """The promise in force, as it is concluded."""
        promise = (await self.api.behind.state(borrower)).cycle_of(None).promise
        assert promise is not None
        names = ("amount", "currency", "due_date", "status", "outcome", "overdue")
        return {name: str(getattr(promise, name)) for name in names}


@contextlib.asynccontextmanager
async def posting(folder: Path, at: datetime = AFTER_ALL, **policy: Any) -> AsyncIterator[Posting]:
    async with api(folder, **policy) as opened:
        opened.behind.now = at
        yield Posting(opened)
