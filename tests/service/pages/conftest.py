"""The room over the real embedded service without a socket, as one browser after the other sees it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from html import unescape
from pathlib import Path

import httpx
import pytest
from sqlalchemy import delete

from service.keys import SCOPES, create
from service.tables import ApiKey, table_of
from tests.service.api import Api, api
from tests.service.embedded import TENANT
from tests.service.pages.stage import Body, Stage


class Browser:
    """Somebody signed in: keeps the cookie, follows redirects, and sends a page's own form."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.last = httpx.Response(204)

    async def get(self, path: str, status: int = 200) -> str:
        self.last = await self.client.get(path)
        assert self.last.status_code == status, (path, self.last.status_code, self.last.text[-600:])
        return self.last.text

    async def post(self, path: str, status: int = 200, **fields: str) -> str:
        self.last = await self.client.post(path, data=fields)
        assert self.last.status_code == status, (path, self.last.status_code, self.last.text[-900:])
        return self.last.text

    async def send(self, path: str, status: int = 200, **fields: str) -> str:
        """Loads the page that asks, fills its form and sends it."""
        text = await self.get(path)
        form = text[text.index('<form action="/ops/', text.index("<main")) :]
        action = re.search(r'action="([^"]+)"', form)
        assert action is not None
        hidden = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form[: form.index("</form>")])
        given = {name: unescape(value) for name, value in hidden}
        return await self.post(unescape(action[1]), status, **given | fields)

    def token(self) -> str:
        found = re.search(r'name="token" value="([^"]+)"', self.last.text)
        assert found is not None
        return found[1]


Enter = Callable[..., AbstractAsyncContextManager[Browser]]


@pytest.fixture
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Api]:
    """Empty, or `staged`."""
    path = tmp_path / "memory.db"
    if "staged" in request.fixturenames:
        path.write_bytes(await _story(tmp_path))
    async with api(tmp_path) as opened:
        yield opened


@pytest.fixture
def staged(house: Api) -> Api:
    """With the story told."""
    return house


_told: list[bytes] = []
"""The file with the story in it: the clock stands still, so it is the same for each test, and is told once in a process."""


async def _story(folder: Path) -> bytes:
    if not _told:
        path = folder / "story.db"
        async with api(folder, where=path) as teller:

            async def post(path: str, body: Body) -> Body:
                answered: Body = (await teller.post(path, body)).document
                return answered

            await Stage(post, teller.now).play()
            await teller.behind.database.write(lambda c: c.execute(delete(table_of(ApiKey))))
        _told.append(path.read_bytes())
    return _told[0]


@pytest.fixture
def enter(house: Api) -> Enter:
    """Signs somebody in, with a key of these scopes."""

    @contextlib.asynccontextmanager
    async def entered(
        scopes: Sequence[str] = SCOPES, *, name: str | None = "asha", tenant: str = TENANT, status: int = 200
    ) -> AsyncIterator[Browser]:
        key, _ = await house.behind.database.write(lambda c: create(c, tenant, scopes, house.now, name=name))
        async with httpx.AsyncClient(
            transport=house.transport, base_url="http://test", follow_redirects=True
        ) as client:
            browser = Browser(client)
            await browser.post("/ops/sign-in", status, key=key, next="/ops")
            yield browser

    return entered
